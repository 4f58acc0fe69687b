# SPDX-License-Identifier: GPL-2.0-only
"""Measures what disturbed a process: the machine's counters before and after it.

In user space interrupts are on, and a hypervisor may take the CPU away. Neither is seen by the
process itself. Times are in seconds. What the machine does not count is left out.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
# The counters of an env file that are sums over processes.
SUMMED = ("seconds", "steal_seconds", "others_seconds", "interrupts", "page_faults", "switches")
# Fields of a CPU's line in /proc/stat, in ticks of the kernel: times of programs, and steal time.
RUNNING, STEAL = (0, 1, 2), 7
SHORTEST_SLEEP = 0.5
# The rate of the clock in the env of a process, and how much it differs among those of a tier.
RATE, RATE_SPREAD = "tsc_khz", "tsc_khz_spread"


@dataclass(frozen=True)
class Reading:
    """The counters of all CPUs by their number, those of all children that have ended, and for how
    long the machine was suspended since it was started."""

    at: float
    times: Mapping[int, tuple[float, ...]]
    interrupts: Mapping[int, int]
    children: resource.struct_rusage
    asleep: float = 0.0


def read_times(text: str, tick: float) -> dict[int, tuple[float, ...]]:
    """The times of each CPU in /proc/stat, whose fields count parts of `tick` seconds."""
    found = {}
    for line in text.splitlines():
        name, *fields = line.split() or [""]
        if name.startswith("cpu") and name[3:].isdecimal():
            found[int(name[3:])] = tuple(int(field) * tick for field in fields)
    return found


def read_interrupts(text: str) -> dict[int, int]:
    """The number of interrupts of each CPU in /proc/interrupts. A line with fewer columns than
    there are CPUs counts errors, not interrupts."""
    head, *lines = text.splitlines() or [""]
    cpus = [int(name[3:]) for name in head.split()]
    totals = dict.fromkeys(cpus, 0)
    for line in lines:
        cells = line.split()[1 : len(cpus) + 1]
        if len(cells) == len(cpus) and all(cell.isdecimal() for cell in cells):
            for cpu, cell in zip(cpus, cells, strict=True):
                totals[cpu] += int(cell)
    return totals


def _text(name: str) -> str:
    """A file of /proc; empty where there is none."""
    try:
        return (PROC / name).read_text(encoding="utf-8")
    except OSError:
        return ""


def read() -> Reading:
    """All counters now."""
    tick = 1 / os.sysconf("SC_CLK_TCK")
    return Reading(
        time.monotonic(),
        read_times(_text("stat"), tick),
        read_interrupts(_text("interrupts")),
        resource.getrusage(resource.RUSAGE_CHILDREN),
        time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic(),
    )


def slept(before: Reading, after: Reading) -> bool:
    """Whether the machine was suspended meanwhile. Its clocks are read one after the other, and a
    program may have to wait between them; a suspension lasts longer than such a wait."""
    return after.asleep - before.asleep > SHORTEST_SLEEP


def between(before: Reading, after: Reading, cpu: int) -> dict[str, float]:
    """The disturbances of a CPU between two readings, while a single child ran there."""
    found = {"seconds": after.at - before.at}
    own = after.children.ru_utime + after.children.ru_stime
    own -= before.children.ru_utime + before.children.ru_stime
    if cpu in before.times and cpu in after.times:
        spent = [b - a for a, b in zip(before.times[cpu], after.times[cpu], strict=True)]
        if len(spent) > STEAL:
            found["steal_seconds"] = max(0.0, spent[STEAL])
            running = sum(spent[field] for field in RUNNING)
            found["others_seconds"] = max(0.0, running - own)
    if cpu in before.interrupts and cpu in after.interrupts:
        found["interrupts"] = after.interrupts[cpu] - before.interrupts[cpu]
    names = {
        "page_faults": ("ru_minflt", "ru_majflt"),
        "switches": ("ru_nvcsw", "ru_nivcsw"),
    }
    for name, fields in names.items():
        counts = [getattr(after.children, f) - getattr(before.children, f) for f in fields]
        found[name] = sum(counts)
    return found


def lines(found: Mapping[str, float]) -> str:
    """The counters as lines of an env file."""
    return "".join(f"{name}={round(value, 2):.10g}\n" for name, value in found.items())


def total(parts: list[Mapping[str, str]]) -> dict[str, str]:
    """The sums of the counters of several env files, and the spread of the clock's rate as a share
    of it; only of what all of them have."""
    sums = {}
    for name in SUMMED:
        try:
            sums[name] = f"{round(sum(float(part[name]) for part in parts), 2):.10g}"
        except (KeyError, ValueError):
            continue
    rates = [part.get(RATE, "") for part in parts]
    if all(rate.isdecimal() and int(rate) for rate in rates):
        least, most = min(map(int, rates)), max(map(int, rates))
        sums[RATE_SPREAD] = f"{(most - least) / least:.6f}"
    return sums
