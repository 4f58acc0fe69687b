# SPDX-License-Identifier: GPL-2.0-only
"""Watches a running guest, and inspects its CPUs after a period of silence."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

from kmtools.lab.look import UNREADABLE, Cpu, Finding, judge, look
from kmtools.lab.qmp import Monitor, MonitorError

LOOKS = 20
# The number of looks in the allowed time of silence; a series of LOOKS takes a third of it.
LOOKS_A_SILENCE = 60
# The kernel's messages about a CPU that is stuck.
LOCKUP = re.compile(rb"(?:soft|hard) lockup|detected stalls|self-detected stall|hard LOCKUP")
# The lowest address of kernel code.
CODE_FROM = 0xFFFFFFFF80000000


class Watch:
    """Inspects a guest whose logs do not grow, and writes the results to the file `record`."""

    def __init__(self, socket: Path, logs: Sequence[Path], silence: float, record: Path) -> None:
        self._socket = socket
        self._logs = logs
        self._silence = silence
        self._record = record
        self._sizes: list[int] = []
        self.looks: list[list[Cpu]] = []
        self._monitor: Monitor | None = None
        self._due = 0.0
        self._patience = silence

    def poll(self) -> Finding | None:
        """Take the next look if it is due; return the reason if the guest hangs."""
        if not self._silence:
            return None
        now = time.monotonic()
        sizes = [log.stat().st_size if log.is_file() else 0 for log in self._logs]
        if sizes != self._sizes:
            locked_up = self._said_lockup(sizes)
            self._sizes = sizes
            self._begin(now if locked_up else now + self._silence)
            self._patience = self._silence
        if now < self._due:
            return None
        return self._look()

    def _begin(self, due: float) -> None:
        """Begin a new series of looks, the first one at the given time."""
        self.looks = []
        self._due = due
        self.close()

    def _said_lockup(self, sizes: Sequence[int]) -> bool:
        """Whether the new lines of a log report a lockup."""
        for log, old, new in zip(self._logs, self._sizes, sizes, strict=False):
            if new > old:
                with log.open("rb") as file:
                    file.seek(old)
                    if LOCKUP.search(file.read(new - old)):
                        return True
        return False

    def _look(self) -> Finding | None:
        """Look once more; judge after the last look."""
        try:
            self._monitor = self._monitor or Monitor(self._socket)
            self.looks.append(look(self._monitor))
        except MonitorError as error:
            finding = Finding(str(error))
            self._write(finding)
            return finding
        self._due = time.monotonic() + self._silence / LOOKS_A_SILENCE
        if len(self.looks) < LOOKS:
            return None
        finding_or_none = judge(self.looks)
        self._write(finding_or_none)
        if finding_or_none is None:
            # The guest is in a long computation: the next series begins later.
            self._patience *= 2
            self._begin(time.monotonic() + self._patience)
        return finding_or_none

    def last_words(self) -> Finding | None:
        """Take a last series of looks at a guest whose time is up."""
        if not self._silence:
            return None
        self._begin(0.0)
        self._sizes = [log.stat().st_size if log.is_file() else 0 for log in self._logs]
        finding = None
        while finding is None and len(self.looks) < LOOKS:
            finding = self._look()
            if not self.looks:
                break
            time.sleep(0.05)
        return finding

    def _write(self, finding: Finding | None) -> None:
        """Add the looks to the record."""
        said = finding.reason if finding else "every CPU goes on"
        lines = [f"== {len(self.looks)} looks: {said}"]
        for number, seen in enumerate(zip(*self.looks, strict=True)):
            places = sorted({f"{cpu.place:x}" for cpu in seen})
            lines.append(f"CPU {number} was at {', '.join(places)}")
        for cpu in self.looks[-1] if self.looks else []:
            lines += [f"CPU {cpu.number}, last look:", cpu.registers, *shown_stack(cpu)]
        with self._record.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    def close(self) -> None:
        """Close the connection to the monitor."""
        if self._monitor:
            self._monitor.close()
            self._monitor = None


def shown_stack(cpu: Cpu) -> list[str]:
    """Return the words of a stack that may be addresses of code, and a breakpoint's registers."""
    code = [f"+{8 * n:03x} {word:x}" for n, word in enumerate(cpu.stack) if word >= CODE_FROM]
    lines = [f"entry of breakpoints: {cpu.entry:x}", "on its stack:", *code] if code else []
    if cpu.trap:
        read = [f"{byte:02x}" for byte in cpu.held if byte != UNREADABLE]
        held = " ".join(read) or "nothing that can be read"
        lines.append(f"interrupted by a breakpoint, from {cpu.trapped_at:x} memory holds {held}")
    return lines
