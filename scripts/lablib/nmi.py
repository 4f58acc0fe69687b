# SPDX-License-Identifier: GPL-2.0-only
"""Sends non-maskable interrupts into a running guest, through QEMU's own protocol."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import TextIO


class Injector:
    """A thread that sends one to every CPU, so many times a second, until it is left.

    It begins when the guest says something on its status channel: a kernel that has only just
    been started would be killed by one.
    """

    def __init__(self, path: Path, rate: float, status: Path) -> None:
        self._path = path
        self._status = status
        self._rate = rate
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @staticmethod
    def options(path: Path) -> list[str]:
        """Return QEMU's options; the kernel lets its other CPUs take part by apic_extnmi=all."""
        return ["-qmp", f"unix:{path},server=on,wait=off"]

    def __enter__(self) -> Injector:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._left.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            with self._connect() as line, line.makefile("rw") as qmp:
                qmp.readline()
                self._ask(qmp, "qmp_capabilities")
                while not self._is_up():
                    if self._left.wait(0.1):
                        return
                while not self._left.wait(1 / self._rate) and self._ask(qmp, "inject-nmi"):
                    pass
        except OSError:
            # The guest has ended.
            return

    def _is_up(self) -> bool:
        return self._status.is_file() and self._status.stat().st_size > 0

    def _connect(self) -> socket.socket:
        """Connect to an emulator that may still be starting."""
        line = socket.socket(socket.AF_UNIX)
        line.settimeout(60.0)
        while True:
            try:
                line.connect(str(self._path))
                return line
            except OSError:
                if self._left.wait(0.1):
                    raise

    @staticmethod
    def _ask(qmp: TextIO, command: str) -> bool:
        """Send a command and skip events until its answer; tell whether there was one."""
        qmp.write(json.dumps({"execute": command}) + "\n")
        qmp.flush()
        return any("event" not in json.loads(answer) for answer in qmp)
