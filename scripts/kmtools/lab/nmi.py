# SPDX-License-Identifier: GPL-2.0-only
"""Sends non-maskable interrupts into a running guest."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from types import TracebackType

from kmtools.lab.qmp import Monitor, MonitorError


class Injector:
    """A thread that sends one to every CPU, so many times a second, until it is left.

    It begins when the guest says something on its status channel: a kernel that has only just
    been started would be killed by one. The kernel lets its other CPUs take part by
    apic_extnmi=all.
    """

    def __init__(self, path: Path, rate: float, status: Path) -> None:
        self._path = path
        self._status = status
        self._rate = rate
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

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
        while not self._is_up():
            if self._left.wait(0.1):
                return
        # The guest may end at any time.
        with contextlib.suppress(MonitorError, OSError):
            monitor = Monitor(self._path)
            try:
                while not self._left.wait(1 / self._rate):
                    monitor.ask("inject-nmi")
            finally:
                monitor.close()

    def _is_up(self) -> bool:
        return self._status.is_file() and self._status.stat().st_size > 0
