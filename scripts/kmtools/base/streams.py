# SPDX-License-Identifier: GPL-2.0-only
"""Makes a command work with closed standard streams, pipes whose reader exits, and encodings that
lack characters."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import TYPE_CHECKING

from kmtools.base.errors import UnableError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# ASCII replacements of characters that an encoding may lack. "…" becomes a single character, so
# that the width of a shortened name is unchanged.
SIGNS = {"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "±": "+-", "…": "~"}
# The name under which replace_unencodable_chars() is registered as a codec error handler.
PLAIN = "kmarkers-plain"


def replace_unencodable_chars(error: UnicodeError) -> tuple[str | bytes, int]:
    """Codec error handler: replace characters that the encoding lacks by their replacements in
    SIGNS, or else by escape sequences."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    made = (SIGNS.get(c) or c.encode("ascii", "backslashreplace").decode() for c in lacking)
    return "".join(made), error.end


codecs.register_error(PLAIN, replace_unencodable_chars)


class TolerantOutput(io.FileIO):
    """Standard output that discards text once the reader of the pipe, such as `head -1`, has
    exited. The command and the programs that it starts then continue, with unchanged exit codes. On
    any other write error, the first write raises the error, and later text is discarded."""

    _failed = False

    def write(self, data: ReadableBuffer) -> int:
        """Write data, or discard it after the first error."""
        size = memoryview(data).nbytes
        if self._failed:
            return size
        try:
            return super().write(data) or 0
        except OSError as error:
            self._failed = True
            if isinstance(error, BrokenPipeError):
                nothing = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nothing, self.fileno())
                os.close(nothing)
                return size
            raise


def open_missing_standard_streams() -> None:
    """Open closed standard streams on /dev/null. Otherwise the next file to be opened would get the
    file descriptor of a standard stream."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def prepare_standard_streams() -> None:
    """Prepare the standard streams for the output of a command. Raises UnableError if standard
    output is closed."""
    open_missing_standard_streams()
    was = sys.stdout
    if was is None:
        raise UnableError(
            "standard output is closed; to discard the output, redirect it to /dev/null"
        )
    if isinstance(was, io.TextIOWrapper):
        was.flush()
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(TolerantOutput(was.fileno(), "w", closefd=False)),
            was.encoding,
            PLAIN,
            line_buffering=was.line_buffering,
            write_through=was.write_through,
        )
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors=PLAIN)
