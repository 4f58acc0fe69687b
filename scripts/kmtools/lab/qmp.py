# SPDX-License-Identifier: GPL-2.0-only
"""Sends commands to a running QEMU over its monitor protocol, QMP."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from kmtools.base.errors import UnableError
from kmtools.base.processes import beside

ANSWER_SECONDS = 60.0


class MonitorError(UnableError):
    """The emulator does not answer, or answers with an error."""


class Monitor:
    """A connection to a socket of an emulator; a socket serves one connection at a time."""

    def __init__(self, path: Path, seconds: float = ANSWER_SECONDS) -> None:
        """Connect; `seconds` is how long an answer may take."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(seconds)
        try:
            self._socket.connect(str(path))
            self._lines = self._socket.makefile("rw")
            self._read()
            self.ask("qmp_capabilities")
        except OSError as error:
            self._socket.close()
            raise MonitorError(
                f"the emulator cannot be asked: {error.strerror or error}"
            ) from error
        except MonitorError:
            self._socket.close()
            raise

    @staticmethod
    def options(path: Path) -> list[str]:
        """Return QEMU's options for a socket that a monitor connects to."""
        # QEMU wants a comma in the value of an option written twice.
        name = str(path).replace(",", ",,")
        return ["-qmp", f"unix:{name},server=on,wait=off"]

    def ask(self, command: str, **arguments: object) -> Any:
        """Send a command and skip events until its answer; return the value in the answer."""
        words: dict[str, object] = {"execute": command}
        if arguments:
            words["arguments"] = {key.replace("_", "-"): to for key, to in arguments.items()}
        try:
            self._lines.write(json.dumps(words) + "\n")
            self._lines.flush()
            while "event" in (answer := self._read()):
                pass
        except OSError as error:
            raise MonitorError(f"the emulator does not answer {command}") from error
        if "error" in answer:
            raise MonitorError(f"{command}: {answer['error'].get('desc')}")
        return answer.get("return")

    def _read(self) -> dict[str, Any]:
        line = self._lines.readline()
        if not line:
            raise MonitorError("the emulator has hung up")
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise MonitorError("the emulator says what is no JSON") from error
        return answer

    def human(self, command: str, cpu: int = 0) -> str:
        """Run a command of the human monitor for one CPU; return its output."""
        said = self.ask("human-monitor-command", command_line=command, cpu_index=cpu)
        return str(said).replace("\r", "")

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def injecting(path: Path, rate: float, status: Path) -> AbstractContextManager[None]:
    """Send a non-maskable interrupt to every CPU, `rate` times a second, until the block is left.

    Injection begins after the first line on the guest's status channel, because an interrupt would
    kill a kernel that has just begun to boot. With apic_extnmi=all on the command line every CPU
    takes the interrupts.
    """

    def work(left: threading.Event) -> None:
        while not (status.is_file() and status.stat().st_size):
            if left.wait(0.1):
                return
        # The guest may end at any time.
        with (
            contextlib.suppress(MonitorError, OSError),
            contextlib.closing(Monitor(path)) as monitor,
        ):
            while not left.wait(1 / rate):
                monitor.ask("inject-nmi")

    return beside(work)
