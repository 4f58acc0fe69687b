# SPDX-License-Identifier: GPL-2.0-only
"""Sends non-maskable interrupts into a running guest."""

from __future__ import annotations

import contextlib
import threading
from contextlib import AbstractContextManager
from pathlib import Path

from kmtools.base.processes import beside
from kmtools.lab.qmp import Monitor, MonitorError


def injecting(path: Path, rate: float, status: Path) -> AbstractContextManager[None]:
    """Send one to every CPU, `rate` times a second, until the block is left.

    It begins when the guest says something on its status channel: a kernel that has only just
    been started would be killed by one. The kernel lets its other CPUs take part by
    apic_extnmi=all.
    """

    def work(left: threading.Event) -> None:
        while not (status.is_file() and status.stat().st_size):
            if left.wait(0.1):
                return
        # The guest may end at any time.
        with contextlib.suppress(MonitorError, OSError):
            monitor = Monitor(path)
            try:
                while not left.wait(1 / rate):
                    monitor.ask("inject-nmi")
            finally:
                monitor.close()

    return beside(work)
