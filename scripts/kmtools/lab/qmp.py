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
from kmtools.base.processes import run_in_thread

ANSWER_SECONDS = 60.0


class MonitorError(UnableError):
    """Raised if QEMU's monitor does not answer, or answers with an error."""


class Monitor:
    """A connection to a QMP socket. QEMU serves one connection to a socket at a time."""

    def __init__(self, path: Path, seconds: float = ANSWER_SECONDS) -> None:
        """Connect to the socket `path`; `seconds` is the time limit of each answer."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(seconds)
        self._files = contextlib.ExitStack()
        self._files.enter_context(self._socket)
        try:
            self._socket.connect(str(path))
            # This file is only for reading. A file for reading and writing would discard, at each
            # write, the data that it has read ahead, such as the beginning of an event.
            self._lines = self._files.enter_context(self._socket.makefile())
            self._read_answer()
            self.execute_qmp_command("qmp_capabilities")
        except OSError as error:
            self.close()
            raise MonitorError(
                f"cannot connect to the emulator's monitor: {error.strerror or error}"
            ) from error
        except MonitorError:
            self.close()
            raise

    @staticmethod
    def make_socket_options(path: Path) -> list[str]:
        """Return the QEMU options that create a QMP socket."""
        # A comma in the value of a QEMU option must be doubled.
        name = str(path).replace(",", ",,")
        return ["-qmp", f"unix:{name},server=on,wait=off"]

    def execute_qmp_command(self, command: str, **arguments: object) -> Any:
        """Send a QMP command; return the value of the answer. Events before the answer are
        ignored."""
        words: dict[str, object] = {"execute": command}
        if arguments:
            words["arguments"] = {key.replace("_", "-"): to for key, to in arguments.items()}
        try:
            self._socket.sendall(json.dumps(words).encode() + b"\n")
            while "event" in (answer := self._read_answer()):
                pass
        except OSError as error:
            raise MonitorError(f"the emulator does not answer {command}") from error
        if "error" in answer:
            raise MonitorError(f"the emulator refuses {command}: {answer['error'].get('desc')}")
        return answer.get("return")

    def _read_answer(self) -> dict[str, Any]:
        line = self._lines.readline()
        if not line:
            raise MonitorError("the emulator has closed its monitor connection")
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise MonitorError("the emulator's monitor sent invalid JSON") from error
        return answer

    def execute_hmp_command(self, command: str, cpu: int = 0) -> str:
        """Run a command of QEMU's human monitor protocol (HMP) for one CPU; return its output."""
        said = self.execute_qmp_command(
            "human-monitor-command", command_line=command, cpu_index=cpu
        )
        return str(said).replace("\r", "")

    def close(self) -> None:
        """Close the connection."""
        self._files.close()


class ShutdownWatch:
    """Finds out why a QEMU process ended, from a QMP connection that exists before QEMU starts."""

    def __init__(self) -> None:
        self._own_end, self.end_of_qemu = socket.socketpair()
        # QEMU sends events only after this command.
        self._own_end.sendall(b'{"execute": "qmp_capabilities"}\n')

    def make_qmp_options(self) -> list[str]:
        """Return the QEMU options for the connection. The QEMU process must inherit the socket
        `end_of_qemu`."""
        number = self.end_of_qemu.fileno()
        return ["-chardev", f"socket,id=shutdown,fd={number}", "-mon", "shutdown,mode=control"]

    def read_shutdown_reason(self) -> str:
        """Return the reason of the event SHUTDOWN, such as "guest-reset"; "" if QEMU sent no such
        event. Close the connection. Call this only after QEMU has ended."""
        self.end_of_qemu.close()
        # Ignore a reset of the connection: QEMU may have ended before it read qmp_capabilities.
        with self._own_end, self._own_end.makefile() as lines, contextlib.suppress(OSError):
            for line in lines:
                if line.endswith("\n") and (message := json.loads(line)).get("event") == "SHUTDOWN":
                    return str(message["data"]["reason"])
        return ""


def inject_nmis(path: Path, rate: float, status: Path) -> AbstractContextManager[None]:
    """Send an NMI to the guest `rate` times a second, through the QMP socket `path`, until the
    `with` block ends.

    No NMI is sent while `status`, the log of the guest's status channel, is empty, because an NMI
    during early boot kills the kernel. Every CPU receives the NMIs if the kernel's command line has
    apic_extnmi=all, else only the first CPU.
    """

    def send_nmis(stop_event: threading.Event) -> None:
        while not (status.is_file() and status.stat().st_size):
            if stop_event.wait(0.1):
                return
        # Ignore errors of the connection, because QEMU may exit at any time.
        with (
            contextlib.suppress(MonitorError, OSError),
            contextlib.closing(Monitor(path)) as monitor,
        ):
            while not stop_event.wait(1 / rate):
                monitor.execute_qmp_command("inject-nmi")

    return run_in_thread(send_nmis)
