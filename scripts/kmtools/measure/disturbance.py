# SPDX-License-Identifier: GPL-2.0-only
"""Measures what disturbed a process (interrupts, stolen time, other programs) from counters in
/proc, which are read before and after the process.

The process itself notices neither interrupts nor a hypervisor that takes the CPU away. Times are in
seconds. Counters that the machine lacks are left out.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
# The counters of an env file that are sums over processes.
STEAL_SECONDS, OTHERS_SECONDS = "steal_seconds", "others_seconds"
SIBLING_SECONDS = "sibling_seconds"
SUMMED = (
    *("seconds", STEAL_SECONDS, OTHERS_SECONDS, SIBLING_SECONDS),
    *("interrupts", "page_faults", "switches"),
)
# In a CPU's line of /proc/stat: the indices of the fields with the times of programs, and the index
# of the field with steal time. The fields are in units of the kernel's clock tick (USER_HZ).
RUNNING, STEAL = (0, 1, 2), 7
# was_suspended() does not detect suspensions of the machine that are shorter than this time.
SHORTEST_SUSPENSION_SECONDS = 0.5
# Keys of an env file: the TSC frequency that a process measured, in kHz; and, for a tier
# (measurement environment), the difference between the highest and the lowest of these frequencies,
# as a share of the lowest.
TSC_RATE, TSC_RATE_SPREAD = "tsc_khz", "tsc_khz_spread"


@dataclass(frozen=True)
class CounterSnapshot:
    """All counters at one time: times and interrupts of each CPU, the resource usage of all
    children that have ended, and the seconds for which the machine was suspended since boot."""

    at: float
    times: Mapping[int, tuple[float, ...]]
    interrupts: Mapping[int, int]
    children: resource.struct_rusage
    asleep: float = 0.0


def parse_cpu_times(text: str, tick: float) -> dict[int, tuple[float, ...]]:
    """Return the times of each CPU in /proc/stat, in seconds. The fields of /proc/stat are in units
    of `tick` seconds."""
    found = {}
    for line in text.splitlines():
        name, *fields = line.split() or [""]
        if name.startswith("cpu") and name[3:].isdecimal():
            found[int(name[3:])] = tuple(int(field) * tick for field in fields)
    return found


def parse_interrupt_counts(text: str) -> dict[int, int]:
    """Return the number of interrupts of each CPU in /proc/interrupts. A line with fewer columns
    than CPUs counts errors, not interrupts."""
    head, *lines = text.splitlines() or [""]
    cpus = [int(name[3:]) for name in head.split()]
    totals = dict.fromkeys(cpus, 0)
    for line in lines:
        cells = line.split()[1 : len(cpus) + 1]
        if len(cells) == len(cpus) and all(cell.isdecimal() for cell in cells):
            for cpu, cell in zip(cpus, cells, strict=True):
                totals[cpu] += int(cell)
    return totals


def _read_proc_file(name: str) -> str:
    """Return the text of a file in /proc; "" if the file cannot be read."""
    try:
        return (PROC / name).read_text(encoding="utf-8")
    except OSError:
        return ""


def read_disturbance_counters() -> CounterSnapshot:
    """Return a snapshot of the current values of all counters."""
    tick = 1 / os.sysconf("SC_CLK_TCK")
    return CounterSnapshot(
        time.monotonic(),
        parse_cpu_times(_read_proc_file("stat"), tick),
        parse_interrupt_counts(_read_proc_file("interrupts")),
        resource.getrusage(resource.RUSAGE_CHILDREN),
        time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic(),
    )


def parse_cpu_list(text: str) -> set[int]:
    """Return the CPUs of a list such as "0,4-6"."""
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def find_sibling_cpus(cpu: int) -> set[int]:
    """Return the other hardware threads of the core that the CPU `cpu` belongs to. The set is empty
    if the kernel lists none, as in many virtual machines."""
    try:
        return parse_cpu_list(Path(SIBLINGS.format(cpu)).read_text(encoding="ascii")) - {cpu}
    except (OSError, ValueError):
        return set()


def compute_running_seconds(before: CounterSnapshot, after: CounterSnapshot, cpu: int) -> float:
    """Return the time for which programs ran on a CPU between two snapshots."""
    pairs = list(zip(before.times[cpu], after.times[cpu], strict=True))
    return sum(pairs[field][1] - pairs[field][0] for field in RUNNING)


def was_suspended(before: CounterSnapshot, after: CounterSnapshot) -> bool:
    """Return True if the machine was suspended between two snapshots. A snapshot reads two clocks
    to compute `asleep`. A preemption between these two reads also increases `asleep`, so a small
    increase does not count."""
    return after.asleep - before.asleep > SHORTEST_SUSPENSION_SECONDS


def compute_disturbances(
    before: CounterSnapshot, after: CounterSnapshot, cpu: int
) -> dict[str, float]:
    """Return the disturbances of a process on a CPU between two snapshots. The process must be the
    only child of this program that ended between the snapshots, because the resource usage in the
    snapshots is a sum over all ended children."""
    found = {"seconds": after.at - before.at}
    own = after.children.ru_utime + after.children.ru_stime
    own -= before.children.ru_utime + before.children.ru_stime
    if cpu in before.times and cpu in after.times:
        spent = [b - a for a, b in zip(before.times[cpu], after.times[cpu], strict=True)]
        if len(spent) > STEAL:
            found[STEAL_SECONDS] = max(0.0, spent[STEAL])
            running = compute_running_seconds(before, after, cpu)
            found[OTHERS_SECONDS] = max(0.0, running - own)
    siblings = find_sibling_cpus(cpu) & set(before.times) & set(after.times)
    if siblings:
        found[SIBLING_SECONDS] = max(
            compute_running_seconds(before, after, sibling) for sibling in siblings
        )
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


def format_counter_env_lines(counters: Mapping[str, float]) -> str:
    """Return the counters as lines of an env file."""
    return "".join(f"{name}={round(value, 2):.10g}\n" for name, value in counters.items())


def sum_disturbance_counters(envs: list[Mapping[str, str]]) -> dict[str, str]:
    """Return the sum of each counter over several env files, and the spread of the TSC frequency as
    a share of the lowest frequency. `envs` has the content of the files. Counters that any of the
    files lacks are left out."""
    sums = {}
    for name in SUMMED:
        try:
            sums[name] = f"{round(sum(float(env[name]) for env in envs), 2):.10g}"
        except (KeyError, ValueError):
            continue
    rates = [env.get(TSC_RATE, "") for env in envs]
    if all(rate.isdecimal() and int(rate) for rate in rates):
        least, most = min(map(int, rates)), max(map(int, rates))
        sums[TSC_RATE_SPREAD] = f"{(most - least) / least:.6f}"
    return sums
