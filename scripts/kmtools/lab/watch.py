# SPDX-License-Identifier: GPL-2.0-only
"""Watches the logs of a running guest, and inspects its CPUs after a period without output."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

from kmtools.lab.look import UNREADABLE, Cpu, Finding, find_hang_reason, inspect_guest_cpus
from kmtools.lab.qmp import Monitor, MonitorError

# The number of inspections of all CPUs in a series.
INSPECTIONS = 20
# The time between two inspections is the period of silence divided by this number. So a series of
# INSPECTIONS takes a third of the period of silence.
INSPECTIONS_PER_SILENCE = 60
# The kernel's messages about a CPU that is locked up.
LOCKUP = re.compile(
    rb"(?:soft|hard) lockup|detected (?:expedited )?stalls|self-detected stall|hard LOCKUP"
)
# The lowest address of kernel code.
CODE_FROM = 0xFFFFFFFF80000000


class Watch:
    """Inspects the CPUs of a guest whose logs have not grown for `silence` seconds, and writes the
    results to the file `record`."""

    def __init__(self, socket: Path, logs: Sequence[Path], silence: float, record: Path) -> None:
        self._socket = socket
        self._logs = logs
        self._silence = silence
        self._record = record
        self._sizes: list[int] = []
        self.inspections: list[list[Cpu]] = []
        self._monitor: Monitor | None = None
        self._due = 0.0
        self._patience = silence

    def inspect_cpus_if_due(self) -> Finding | None:
        """Inspect the CPUs if an inspection is due: after a period of silence, or at once after a
        lockup message. Return a finding if the guest hangs."""
        if not self._silence:
            return None
        now = time.monotonic()
        sizes = [log.stat().st_size if log.is_file() else 0 for log in self._logs]
        if sizes != self._sizes:
            locked_up = self._has_lockup_message(sizes)
            self._sizes = sizes
            self._begin_inspection_series(now if locked_up else now + self._silence)
            self._patience = self._silence
        if now < self._due:
            return None
        return self._inspect_cpus_once()

    def _begin_inspection_series(self, due: float) -> None:
        """Discard the inspections so far, and schedule a new series of inspections for the time
        `due`."""
        self.inspections = []
        self._due = due
        self.close()

    def _has_lockup_message(self, sizes: Sequence[int]) -> bool:
        """Return True if new lines of a log report a lockup."""
        for log, old, new in zip(self._logs, self._sizes, sizes, strict=False):
            if new > old:
                with log.open("rb") as file:
                    file.seek(old)
                    if LOCKUP.search(file.read(new - old)):
                        return True
        return False

    def _inspect_cpus_once(self) -> Finding | None:
        """Inspect the CPUs once; after the last inspection of the series, return a finding if the
        guest hangs."""
        try:
            self._monitor = self._monitor or Monitor(self._socket)
            self.inspections.append(inspect_guest_cpus(self._monitor))
        except MonitorError as error:
            finding = Finding(str(error))
            self._record_inspection_series(finding)
            return finding
        self._due = time.monotonic() + self._silence / INSPECTIONS_PER_SILENCE
        if len(self.inspections) < INSPECTIONS:
            return None
        finding_or_none = find_hang_reason(self.inspections)
        self._record_inspection_series(finding_or_none)
        if finding_or_none is None:
            # The guest makes progress: double the wait before the next series of inspections.
            self._patience *= 2
            self._begin_inspection_series(time.monotonic() + self._patience)
        return finding_or_none

    def inspect_cpus_at_timeout(self) -> Finding | None:
        """Run a series of inspections of a guest that exceeded its time limit; return a finding if
        the guest hangs."""
        if not self._silence:
            return None
        self._begin_inspection_series(0.0)
        # If a series ends without a finding, the list of inspections is empty, because a new series
        # has begun.
        while (finding := self._inspect_cpus_once()) is None and self.inspections:
            time.sleep(0.05)
        return finding

    def _record_inspection_series(self, finding: Finding | None) -> None:
        """Append the inspections of the series, and the finding, to the file `record`."""
        said = finding.reason if finding else "every CPU makes progress"
        lines = [f"== {len(self.inspections)} inspections: {said}"]
        for number, seen in enumerate(zip(*self.inspections, strict=True)):
            places = ", ".join(f"{rip:x}" for rip in sorted({cpu.rip for cpu in seen}))
            lines.append(f"CPU {number} was at {places}")
        for cpu in self.inspections[-1] if self.inspections else []:
            lines += [f"CPU {cpu.number}, last inspection:", cpu.registers, *format_cpu_stack(cpu)]
        with self._record.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)

    def close(self) -> None:
        """Close the connection to the monitor."""
        if self._monitor:
            self._monitor.close()
            self._monitor = None


def format_cpu_stack(cpu: Cpu) -> list[str]:
    """Return lines for the log of inspections: the code addresses on a CPU's stack. If the CPU
    handles an int3, also return the bytes in memory at the int3."""
    code = [f"+{8 * n:03x} {word:x}" for n, word in enumerate(cpu.stack) if word >= CODE_FROM]
    lines = (
        [f"int3 entry code: {cpu.entry:x}", "code addresses on the stack:", *code] if code else []
    )
    if cpu.trap:
        read = [f"{byte:02x}" for byte in cpu.memory_bytes if byte != UNREADABLE]
        memory_bytes = " ".join(read) or "nothing that can be read"
        lines.append(
            f"a breakpoint interrupted this CPU; memory from {cpu.saved_int3_address:x} holds"
            f" {memory_bytes}"
        )
    return lines
