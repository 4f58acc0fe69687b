# SPDX-License-Identifier: GPL-2.0-only
"""Finds late windows (timed loops), and names their cause from what was observed.

A window is late if it took longer than usual by more than a microsecond and more than a tenth. Late
windows are used like all others, because whether a window is used must not depend on its time.
Instead late windows widen the interval of a cost, which becomes the hull of two intervals. The
interval of all blocks covers the usual cost on the machine as it was. The interval of the blocks
without a late window covers the cost without the disturbance. Each of the two intervals has the
error probability of the run, so the true cost is outside the hull as rarely as without late
windows. If few windows are late, the two intervals are nearly the same. If nearly all windows are
late, the interval of the blocks without a late window is wide, and the verdict is unresolved.
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
LATE_SHARE = 0.1
# Shares above which a disturbance is reported:
# MANY_LATE: the share of late windows among the windows without a flag.
# MUCH_STEAL: the share of steal time in the time of the measurement.
# MUCH_OTHER: the share of the time of other programs in the time of the measurement.
# STEADY_CORE: the range of the core's frequency, as a share of the frequency.
MANY_LATE, MUCH_STEAL, MUCH_OTHER, STEADY_CORE = 0.01, 0.005, 0.05, 0.05
# A busy sibling thread is named as the cause of late windows under two conditions:
# - More than the share TOGETHER of the late windows is in blocks in which most windows are late.
# - Late windows take less than SHARED_CORE times as long as usual. A core that executes two threads
#   executes each thread at more than half of the speed that the thread has alone.
TOGETHER, SHARED_CORE = 0.5, 2.2
# The longest duration of a window in seconds. At n interrupts per second, the probability that an
# interrupt hits a window is at most n * LONGEST_WINDOW_SECONDS.
LONGEST_WINDOW_SECONDS = 30e-6


@dataclass(frozen=True)
class Lateness:
    """`late` is the number of late windows of a variant, `blocks` are the blocks in which the
    variant has a late window. The other numbers describe the whole benchmark. `share` is the share
    of windows that are late. `ratio` is the median of the times of late windows, each divided by
    the usual time. `together` is the share of late windows that are in blocks in which most windows
    are late."""

    late: int = 0
    blocks: frozenset[int] = frozenset()
    share: float = 0.0
    ratio: float = 1.0
    together: float = 0.0


# The lateness of a variant of a benchmark without late windows.
NOT_LATE = Lateness()


@dataclass(frozen=True)
class Cause:
    """The cause of late windows, and a remedy; both are clauses without a full stop."""

    words: str
    remedy: str


NOTHING_HELPS = "nothing helps on this CPU"
OWN_VARIATION = Cause("no disturbance was seen, so these windows vary by themselves", NOTHING_HELPS)
UNKNOWN_CAUSE = Cause("the cause was not observed", "a quieter machine")


def assign_group_numbers(*columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each row the number of its group: rows that are equal in all columns are in one
    group. np.unique() with an axis does the same, but compares the rows bytewise, which is slow."""
    group = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, number = np.unique(column, return_inverse=True)
        group = np.unique(group * len(values) + number, return_inverse=True)[1]
    return group


def compute_group_medians(values: Floats, group: NDArray[np.int64]) -> Floats:
    """Return for each value the median of its group."""
    order = np.lexsort((values, group))
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    ordered = values[order]
    medians = (ordered[starts + (sizes - 1) // 2] + ordered[starts + sizes // 2]) / 2
    return np.asarray(medians[group])


def compute_usual_window_times(windows: Sequence[Sample], values: Floats) -> Floats:
    """Return the usual time of each window, in clock ticks: the median of the windows of the same
    variant, loop count, layout and process. If a disturbance lasts for most of a process, this
    median contains the disturbance. So the times of each process are divided by the times of the
    median process: if this ratio is above 1.1 for most variants, the usual times of the process are
    divided by the ratio."""
    names = {name: number for number, name in enumerate({one.variant for one in windows})}
    variant = np.array([names[one.variant] for one in windows])
    process, layout, size = np.array(
        [(one.process, one.layout, one.loops or one.sites or 0) for one in windows], dtype=np.int64
    ).T
    usual = compute_group_medians(values, assign_group_numbers(variant, process, layout, size))
    in_process = compute_group_medians(
        values / np.maximum(size, 1), assign_group_numbers(variant, process, size)
    )
    alike = compute_group_medians(in_process, assign_group_numbers(variant))
    slower = np.divide(in_process, alike, out=np.ones_like(values), where=alike != 0)
    slow_process = compute_group_medians(slower, assign_group_numbers(process))
    return np.asarray(np.where(slow_process > 1 + LATE_SHARE, usual / slow_process, usual))


def compute_late_window_ratios(samples: Sequence[Sample], khz: float) -> list[tuple[Sample, float]]:
    """Return the late windows without a flag, each with a ratio: the time that the window took,
    divided by its usual time. A usual time below one tick counts as one tick. `khz` is the rate of
    the clock in ticks per millisecond."""
    windows = [sample for sample in samples if not sample.flags]
    if not windows:
        return []
    values = np.array([window.value for window in windows], dtype=np.float64)
    usual = compute_usual_window_times(windows, values)
    late = np.flatnonzero(values > usual + np.maximum(khz / 1000, LATE_SHARE * np.abs(usual)))
    return [(windows[number], float(values[number] / max(usual[number], 1.0))) for number in late]


def compute_lateness_by_variant(
    samples: Sequence[Sample], khz: float | None
) -> dict[str, Lateness]:
    """Return the lateness of each variant of a benchmark; an empty dictionary if `khz`, the rate of
    the clock in ticks per millisecond, is not known."""
    if khz is None:
        return {}
    late, variants = (
        compute_late_window_ratios(samples, khz),
        {sample.variant for sample in samples},
    )
    if not late:
        return dict.fromkeys(variants, NOT_LATE)
    timed = Counter(sample.block for sample in samples if not sample.flags)
    in_block = Counter(sample.block for sample, _ in late)
    together = sum(number for block, number in in_block.items() if 2 * number > timed[block])
    share = len(late) / timed.total()
    ratio = float(np.median([ratio for _, ratio in late]))
    numbers = Counter(sample.variant for sample, _ in late)
    blocks: dict[str, set[int]] = defaultdict(set)
    for sample, _ in late:
        blocks[sample.variant].add(sample.block)
    return {
        variant: Lateness(
            numbers[variant], frozenset(blocks[variant]), share, ratio, together / len(late)
        )
        for variant in variants
    }


def collect_late_blocks_of_variants(found: Iterable[Lateness]) -> frozenset[int]:
    """Return the blocks in which any of several variants has a late window."""
    return frozenset().union(*(one.blocks for one in found))


def divide_counter_by_measuring_time(env: Mapping[str, str], counter: str) -> float | None:
    """Return the value of the counter `counter` of measure/disturbance.py divided by the seconds of
    measuring: a share of the time for a counter of seconds, a rate for a counter of events. Return
    None if the counter is absent."""
    try:
        return float(env[counter]) / float(env["seconds"])
    except (KeyError, ValueError, ZeroDivisionError):
        return None


def compute_max_interrupted_share(env: Mapping[str, str]) -> float | None:
    """Return an upper limit of the share of windows that an interrupt hit; None if interrupts were
    not counted."""
    found = divide_counter_by_measuring_time(env, "interrupts")
    return None if found is None else found * LONGEST_WINDOW_SECONDS


def find_lateness_cause(env: Mapping[str, str], found: Lateness, core_spread: float = 0.0) -> Cause:
    """Return the cause of the late windows `found` of a benchmark. `env` has the counters of the
    tier (measurement environment); `core_spread` is the range of the core's frequency over blocks,
    as a share of the frequency. Steal time and other programs are checked first, because a window
    is always late if a hypervisor or another program interrupts it."""
    stolen = divide_counter_by_measuring_time(env, disturbance.STEAL_SECONDS)
    if stolen is not None and stolen > MUCH_STEAL:
        words = f"a hypervisor took the CPU away for {100 * stolen:.1f} % of the time"
        return Cause(words, "a machine of your own")
    others = divide_counter_by_measuring_time(env, disturbance.OTHERS_SECONDS)
    if others is not None and others > MUCH_OTHER:
        words = f"other programs ran on the same CPU for {100 * others:.0f} % of the time"
        return Cause(words, "end the other programs, or choose a CPU that they leave alone")
    sibling = divide_counter_by_measuring_time(env, disturbance.SIBLING_SECONDS)
    if sibling is not None and sibling > MUCH_OTHER:
        words = f"the sibling thread of the core was busy for {100 * sibling:.0f} % of the time"
        return Cause(words, "leave the sibling thread idle, or switch it off")
    if core_spread > STEADY_CORE:
        words = f"the core's frequency changed by up to {100 * core_spread:.0f} %"
        return Cause(words, "run cpupower frequency-set -g performance, and switch off turbo")
    if found.together > TOGETHER and found.ratio < SHARED_CORE:
        words = f"in stretches, all variants took {found.ratio:.1f} times as long, as beside a busy"
        return Cause(
            f"{words} sibling thread", "a machine of your own, or one with an idle sibling thread"
        )
    interrupted = compute_max_interrupted_share(env)
    if interrupted is not None and interrupted > found.share / 2:
        words = f"interrupts came {float(env['interrupts']) / float(env['seconds']):.0f} times in a"
        return Cause(f"{words} second", "keep interrupts off this CPU (isolcpus=, irqaffinity=)")
    if found.together > TOGETHER or None in (stolen, others, interrupted):
        return UNKNOWN_CAUSE
    return OWN_VARIATION


def describe_late_windows(env: Mapping[str, str], found: Lateness, core_spread: float = 0.0) -> str:
    """Return the caveat of rows of a benchmark with many late windows: the share of late windows,
    the cause and a remedy; an empty text if at most the share MANY_LATE of the windows is late."""
    if found.share <= MANY_LATE:
        return ""
    cause = find_lateness_cause(env, found, core_spread)
    return (
        f"{100 * found.share:.1f} % of the windows late, and the interval also holds the cost of"
        f" the other blocks: {cause.words}; next: {cause.remedy}"
    )
