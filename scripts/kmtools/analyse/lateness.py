# SPDX-License-Identifier: GPL-2.0-only
"""Finds late windows, and names their cause from what was observed.

A window is late if it took longer than usual by a microsecond and by a tenth. Late windows are used
like all others, because the rule for which windows to drop must not look at their times. Instead
they widen the interval: it becomes the hull of two intervals, that of all blocks and that of the
blocks without a late window. The first holds the usual cost of the machine as it was, the second
the cost without the disturbance; each with the error probability of the run, so a cost that lies in
neither is as rare as without late windows. If few windows are late, both are the same; if nearly
all are, the second is wide, and the verdict is unresolved.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kmtools.measure import disturbance
from kmtools.measure.samples import Sample

Floats = NDArray[np.float64]

# A late window is longer than the median by more than this share.
LATE = 0.1
# An observation is named if its share is larger: late windows in the windows without a flag, steal
# time and the time of other programs in the time of the measurement, and the range of the core's
# frequency in the frequency.
MANY_LATE, MUCH_STEAL, MUCH_OTHER, STEADY_CORE = 0.01, 0.005, 0.05, 0.05
# The share of late windows that must be in stretches, in which most windows of all variants are
# late, and how many times as long as usual they then take, if a busy sibling thread is the cause: a
# core that executes two threads gives each more than half of what one alone would have.
TOGETHER, SHARED_CORE = 0.5, 2.2
# A window takes up to this time, in seconds, so an interrupt meets it with this probability for
# each interrupt in a second.
WINDOW = 30e-6


@dataclass(frozen=True)
class Lateness:
    """The late windows of a variant, and of its benchmark: the number in the variant; the blocks
    in which the variant has one; the share of late windows of the benchmark; how many times as long
    as usual they took (median); and the share of them in blocks in which most windows are late."""

    late: int = 0
    blocks: frozenset[int] = frozenset()
    share: float = 0.0
    ratio: float = 1.0
    together: float = 0.0


NONE = Lateness()


@dataclass(frozen=True)
class Cause:
    """The cause of late windows, and what would help; both are clauses without a full stop."""

    words: str
    remedy: str


NOTHING_HELPS = "nothing helps on this CPU"
OWN = Cause("no disturbance was seen, so these windows vary by themselves", NOTHING_HELPS)
UNKNOWN = Cause("the cause was not observed", "a quieter machine")


def number_groups(*columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each row the number of its group; rows of a group are equal in all columns."""
    return np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].reshape(-1)


def compute_group_medians(values: Floats, group: NDArray[np.int64]) -> Floats:
    """Return for each value the median of its group."""
    order = np.lexsort((values, group))
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    ordered = values[order]
    medians = (ordered[starts + (sizes - 1) // 2] + ordered[starts + sizes // 2]) / 2
    return np.asarray(medians[group])


def compute_usual_times(windows: Sequence[Sample], values: Floats) -> Floats:
    """Return the usual time of each window: the median of the windows of the same variant, loop
    count, layout and process. A disturbance may last for most of a process: if a process is slower
    than others by more than a tenth, in most variants alike, the usual time is that of the
    others."""
    names = {name: number for number, name in enumerate({one.variant for one in windows})}
    variant = np.array([names[one.variant] for one in windows])
    process, layout, size = np.array(
        [(one.process, one.layout, one.size) for one in windows], dtype=np.int64
    ).T
    usual = compute_group_medians(values, number_groups(variant, process, layout, size))
    in_process = compute_group_medians(
        values / np.maximum(size, 1), number_groups(variant, process, size)
    )
    alike = compute_group_medians(in_process, number_groups(variant))
    slower = np.divide(in_process, alike, out=np.ones_like(values), where=alike != 0)
    slow_process = compute_group_medians(slower, number_groups(process))
    return np.asarray(np.where(slow_process > 1 + LATE, usual / slow_process, usual))


def compute_late_ratios(samples: Sequence[Sample], khz: float) -> list[tuple[Sample, float]]:
    """Return the late windows among those without a flag, each with the time that it took divided
    by the usual time. `khz` is the rate of the clock."""
    windows = [sample for sample in samples if not sample.flags]
    if not windows:
        return []
    values = np.array([window.value for window in windows], dtype=np.float64)
    usual = compute_usual_times(windows, values)
    late = np.flatnonzero(values > usual + np.maximum(khz / 1000, LATE * np.abs(usual)))
    return [(windows[number], float(values[number] / usual[number])) for number in late]


def find_late_windows(samples: Sequence[Sample], khz: float | None) -> dict[str, Lateness]:
    """Return the lateness of each variant of a benchmark; nothing if `khz`, the rate of the clock,
    is not known."""
    if khz is None:
        return {}
    late = compute_late_ratios(samples, khz)
    timed = Counter(sample.block for sample in samples if not sample.flags)
    in_block = Counter(sample.block for sample, _ in late)
    together = sum(number for block, number in in_block.items() if 2 * number > timed[block])
    share = len(late) / max(1, timed.total())
    ratio = float(np.median([ratio for _, ratio in late])) if late else 1.0
    numbers = Counter(sample.variant for sample, _ in late)
    blocks: dict[str, set[int]] = defaultdict(set)
    for sample, _ in late:
        blocks[sample.variant].add(sample.block)
    return {
        variant: Lateness(
            numbers[variant], frozenset(blocks[variant]), share, ratio, together / len(late)
        )
        if late
        else NONE
        for variant in {sample.variant for sample in samples}
    }


def join_blocks(found: Iterable[Lateness]) -> frozenset[int]:
    """Return the blocks in which any of several variants has a late window."""
    return frozenset().union(*(one.blocks for one in found))


def compute_share_of_time(env: Mapping[str, str], counter: str) -> float | None:
    """Return the share of the measuring time that was counted by `counter`, the name of a counter
    of seconds in measure/disturbance.py; None if it was not counted."""
    try:
        return float(env[counter]) / float(env["seconds"])
    except (KeyError, ValueError, ZeroDivisionError):
        return None


def compute_interrupted_share(env: Mapping[str, str]) -> float | None:
    """Return the share of windows that interrupts met at most; None if these were not counted."""
    found = compute_share_of_time(env, "interrupts")
    return None if found is None else found * WINDOW


def find_cause(env: Mapping[str, str], found: Lateness, core_spread: float = 0.0) -> Cause:
    """Return the cause of the late windows `found` of a benchmark. `env` has the counters of the
    tier, `core_spread` is the range of the core's frequency over blocks. Time that was taken from
    the CPU comes first, because a window that does not run is late in any case."""
    stolen = compute_share_of_time(env, disturbance.STEAL_SECONDS)
    if stolen is not None and stolen > MUCH_STEAL:
        words = f"a hypervisor took the CPU away for {100 * stolen:.1f} % of the time"
        return Cause(words, "a machine of your own")
    others = compute_share_of_time(env, disturbance.OTHERS_SECONDS)
    if others is not None and others > MUCH_OTHER:
        words = f"other programs ran on the same CPU for {100 * others:.0f} % of the time"
        return Cause(words, "end the other programs, or choose a CPU that they leave alone")
    sibling = compute_share_of_time(env, disturbance.SIBLING_SECONDS)
    if sibling is not None and sibling > MUCH_OTHER:
        words = f"the sibling thread of the core was busy for {100 * sibling:.0f} % of the time"
        return Cause(words, "leave the sibling thread idle, or switch it off")
    if core_spread > STEADY_CORE:
        words = f"the core's frequency changed by up to {100 * core_spread:.0f} %"
        return Cause(words, "cpupower frequency-set -g performance, without turbo")
    if found.together > TOGETHER and found.ratio < SHARED_CORE:
        words = f"in stretches, all variants took {found.ratio:.1f} times as long, as beside a busy"
        return Cause(
            f"{words} sibling thread", "a machine of your own, or one with an idle sibling thread"
        )
    interrupted = compute_interrupted_share(env)
    if interrupted is not None and interrupted > found.share / 2:
        words = f"interrupts came {float(env['interrupts']) / float(env['seconds']):.0f} times in a"
        return Cause(f"{words} second", "keep interrupts off this CPU (isolcpus=, irqaffinity=)")
    if found.together > TOGETHER or None in (stolen, others, interrupted):
        return UNKNOWN
    return OWN


def describe_late_windows(env: Mapping[str, str], found: Lateness, core_spread: float = 0.0) -> str:
    """Return the caveat of a row of a benchmark with many late windows: their share, the cause and
    what would help. The text is empty if there are few."""
    if found.share <= MANY_LATE:
        return ""
    cause = find_cause(env, found, core_spread)
    return (
        f"{100 * found.share:.1f} % of the windows late, and the interval also holds the cost of"
        f" the other blocks: {cause.words}; next: {cause.remedy}"
    )
