# SPDX-License-Identifier: GPL-2.0-only
"""Reads the guest's status channel, the serial port with the job's output and exit code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

EXIT_WORD = "kmarkers-exit"


class StatusChannel:
    """Reads new lines from the file of the status channel. A line counts as the exit line only if
    it contains the nonce of this boot, which the guest finds in the kernel command line."""

    def __init__(self, path: Path, nonce: str, show: Callable[[str], None] | None) -> None:
        self._path = path
        self._exit = re.compile(rf"{EXIT_WORD} {nonce} (\d+)")
        self._show = show
        self._offset = 0
        self._rest = b""
        self.exit_code: int | None = None

    def read_new_lines(self, final: bool = False) -> bool:
        """Read the new lines; return True if the exit code is known. An incomplete last line is
        read only if `final` is true."""
        if self._path.is_file():
            with self._path.open("rb") as file:
                file.seek(self._offset)
                new = file.read()
            self._offset += len(new)
            *lines, self._rest = (self._rest + new).split(b"\n")
            if final and self._rest:
                lines.append(self._rest)
                self._rest = b""
            for line in lines:
                self._store_exit_code_or_show_line(line.decode(errors="replace").rstrip("\r"))
        return self.exit_code is not None

    def _store_exit_code_or_show_line(self, line: str) -> None:
        match = self._exit.fullmatch(line)
        if match:
            self.exit_code = int(match[1])
        elif self._show is not None:
            self._show(line)
