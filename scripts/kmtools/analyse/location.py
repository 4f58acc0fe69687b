# SPDX-License-Identifier: GPL-2.0-only
"""Estimates the location of paired differences: a trimmed mean, with an interval that respects
clusters (processes, layouts).

Blocks are not independent observations: a process, a code layout or the state of the machine is the
same in many of them. The location is found in three steps: the effect of each layout is removed;
the blocks of each process are taken as one batch, or as several if there are few processes; and the
midmeans of all batches are averaged. The midmean, a 25 % trimmed mean, is robust against disturbed
windows, and resolves less than a step of the clock.

The variance of that location is the sum of two parts:
- over time, computed from the batches alone, because blocks of one batch may depend on each other.
  It is the average of the first squared cosine coefficients of the series of batches, which
  includes slow changes (Lazarus, Lewis, Stock and Watson 2018, "HAR inference"), extrapolated to
  slower ones by a first-order autoregression, whose bias is corrected in part (Kendall 1954);
- over layouts, as far as they differ by more than blocks do. The measured layouts are a sample of
  all places in a cache line, and a loop may cost one more cycle in a stretch of neighbouring
  places. If there are many layouts, they are evenly spaced, and the variance of the mean of such a
  sample is estimated from differences between neighbours (von Neumann, Kent, Bellinson and Hart
  1941; Wolter 2007, "Introduction to variance estimation", systematic samples). If neighbours are
  alike, this estimate is rather too large than too small. Fewer than MANY_LAYOUTS layouts are taken
  as a simple random sample.
The quantile is Student's with the degrees of freedom of the sum (Satterthwaite 1946).

The variance cannot be estimated if the machine changed its state only a few times. If all batches
are in one of two states, with only a few changes between the states, the interval is extended to
contain both. A state that lasted for less than a fiftieth of the time is a disturbance, which
hardly moves the mean.

Values are in the tier's unit per operation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kmtools.analyse import student
from kmtools.analyse.layouts import EIGHTHS, compute_offset_in_cache_line, has_too_few_blocks
from kmtools.analyse.slopes import Slope
from kmtools.analyse.stats import CONFIDENCE, UNBOUNDED, Interval, convert_to_floats

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

OUTSIDE = 1 - CONFIDENCE
BATCHES = 16
FEWEST_BLOCKS, FEWEST_BATCHES, FEWEST_PROCESSES = 4, 6, 6
COSINES = 6
BIAS = 0.75
STEEPEST = 0.9
TRIMMED = 0.25
# States of the machine: the number of blocks in a part, the share of the parts' variance that two
# states must explain, the number of changes above which the estimated variance suffices, and the
# share of the time below which a state is a disturbance that hardly moves the mean.
TOGETHER, EXPLAINED, FEW_CHANGES, BRIEF = 32, 0.8, 10, 1 / 50

TWO_STATES = "two states of the machine, seen too rarely: the interval holds both"
FEW_PROCESSES = "few processes"
STEPS = "wider by a step of the clock"
# The fewest layouts at which neighbouring layouts are assumed to have similar effects.
MANY_LAYOUTS = 16
# The variance over layouts counts as known if it exceeds the variance of the noise by this factor.
PLAIN = 10


@dataclass(frozen=True)
class Location:
    """A location and its interval. `over_time` is the interval that the variance over time alone
    would give, `over_layouts` the one from the variance over layouts alone (None for a single
    layout). `endless` is the interval that would remain in an endless run, from layouts alone; None
    if the noise of blocks hides the variance over layouts. `spread` is the interquartile range of
    the residuals."""

    value: float
    interval: Interval
    over_time: Interval
    over_layouts: Interval | None
    spread: float
    notes: tuple[str, ...] = ()
    endless: Interval | None = None


def compute_midmean(x: Floats) -> float:
    """Return the midmean (25 % trimmed mean). For fewer than four values return the median, for
    none NaN."""
    n = len(x)
    if n < 4:
        return float(np.median(x)) if n else math.nan
    cut = int(n * TRIMMED)
    return float(np.partition(x, (cut, n - cut - 1))[cut : n - cut].mean())


def merge_sparse_layouts(layout: Whole) -> Whole:
    """Return the layout of each block; layouts in one eighth of a cache line count as one if there
    are too few blocks of each."""
    return layout % EIGHTHS if has_too_few_blocks(len(layout), len(np.unique(layout))) else layout


def compute_layout_effects(x: Floats, layout: Whole) -> tuple[Floats, Floats]:
    """Return the effect of each code layout on the cost, ordered by the offset in a cache line;
    and, for each block, the effect of its layout. The mean of the effects of all layouts is
    zero."""
    which = np.unique(compute_offset_in_cache_line(layout), return_inverse=True)[1]
    effects = np.array([compute_midmean(x[which == i]) for i in range(which.max() + 1)])
    effects -= effects.mean()
    return effects, effects[which]


def estimate_layout_variance(effects: Floats) -> tuple[float, float]:
    """Return the variance of the mean over two or more layouts, ordered by the offset in a cache
    line, and its degrees of freedom."""
    count = len(effects)
    if count < MANY_LAYOUTS:
        return float(np.var(effects, ddof=1)) / count, count - 1
    apart = np.diff(effects, append=effects[:1])
    return float(np.mean(apart**2)) / 2 / count, 2 * count / 3


def split_blocks_into_batches(process: Whole, wanted: int = BATCHES) -> list[slice]:
    """Split the blocks into batches, as slices; a batch has neighbouring blocks of one process.
    `process` has the process of each block. There are about `wanted` batches, and at least one for
    each process."""
    starts = np.flatnonzero(np.diff(process, prepend=process[0] - 1))
    ends = [*starts[1:], len(process)]
    share = max(1, round(wanted / len(starts)))
    batches = []
    for start, end in zip(starts, ends, strict=True):
        parts = max(1, min(share, int(end - start) // FEWEST_BLOCKS))
        edges = np.linspace(start, end, parts + 1).astype(int)
        batches += [slice(a, b) for a, b in pairwise(edges)]
    return batches


def estimate_long_run_variance(batches: Floats) -> tuple[float, int]:
    """Return the variance of the mean of `batches`, the estimates of successive batches, and the
    degrees of freedom of this variance. The variance accounts for slow changes."""
    n = len(batches)
    away = batches - batches.mean()
    energy = float(away @ away)
    count = min(COSINES, n // 2)
    if energy == 0:
        return 0.0, count
    angles = math.pi * np.arange(1, count + 1)
    waves = np.cos(np.outer((np.arange(n) + 0.5) / n, angles)) * math.sqrt(2 / n)
    found = float(np.mean((away @ waves) ** 2)) / n
    alike = float(away[1:] @ away[:-1]) / energy
    alike += BIAS * (1 + 3 * max(0.0, alike)) / n
    alike = min(max(0.0, alike), STEEPEST)
    shape = 1 / (1 - 2 * alike * np.cos(angles / n) + alike**2)
    return found / (1 - alike) ** 2 / float(shape.mean()), count


def estimate_noise_variance(values: Floats) -> float:
    """Return the variance of the midmean of independent values, computed from their Winsorized
    variance."""
    low, high = np.quantile(values, (TRIMMED, 1 - TRIMMED))
    return float(np.var(np.clip(values, low, high))) / (1 - 2 * TRIMMED) ** 2 / len(values)


def find_two_machine_states(x: Floats, process: Whole) -> Interval | None:
    """If the machine was in one of two states and changed between them only a few times, return the
    two states as an interval; else None. At least one change must lie within a process: changes at
    the start of a process are differences between processes."""
    found, owners = [], []
    for number in np.unique(process):
        own = x[process == number]
        for part in np.array_split(own, max(1, len(own) // TOGETHER)):
            found.append(compute_midmean(part))
            owners.append(number)
    seen, owner = np.array(found), np.array(owners)
    ordered, n = np.sort(seen), len(seen)
    total = float(np.sum((seen - seen.mean()) ** 2))
    if n < FEWEST_BATCHES or total == 0:
        return None
    below = np.arange(1, n)
    gap = np.cumsum(ordered)[:-1] - below * ordered.mean()
    between = gap**2 * n / (below * (n - below))
    cut = int(between.argmax())
    if between[cut] / total < EXPLAINED:
        return None
    upper = seen > (ordered[cut] + ordered[cut + 1]) / 2
    changes = upper[1:] != upper[:-1]
    inside = changes & (owner[1:] == owner[:-1])
    if not inside.any() or changes.sum() > FEW_CHANGES:
        return None
    if min(upper.mean(), 1 - upper.mean()) < BRIEF:
        return None
    return Interval(float(seen[~upper].mean()), float(seen[upper].mean()))


def compute_mean_interval(
    value: float, variance: float, freedom: float, outside: float
) -> Interval:
    """Return the confidence interval around `value`, a mean whose variance `variance` was estimated
    with `freedom` degrees of freedom. The error probability is `outside`."""
    half = student.compute_capped_t_quantile(outside, freedom) * math.sqrt(variance)
    return Interval(value - half, value + half)


def compute_process_interval(
    batches: Floats, owners: Whole, value: float, outside: float
) -> Interval:
    """Return the interval of the mean over processes, around `value`. The mean of the batches of
    each process is one observation; `owners` has the process of each batch."""
    means = np.array([batches[owners == number].mean() for number in np.unique(owners)])
    variance = float(np.var(means, ddof=1)) / len(means)
    return compute_mean_interval(value, variance, len(means) - 1, outside)


def remove_layout_effects(x: Floats, layout: Whole) -> tuple[Floats, Floats]:
    """Return the effects of the layouts, and the values without these effects."""
    effects, in_block = compute_layout_effects(x, merge_sparse_layouts(layout))
    return effects, x - in_block


def compute_residuals(
    level: Floats, batches: Floats, parts: Sequence[slice]
) -> tuple[Floats, float]:
    """Return the residuals of the blocks `level` from the estimates `batches` of their batches, and
    the interquartile range of the residuals. `parts` are the blocks of each batch."""
    rest = level - np.repeat(batches, [part.stop - part.start for part in parts])
    return rest, float(np.subtract(*np.quantile(rest, (0.75, 0.25))))


def estimate_batch_locations(
    x: Floats, layout: Whole, parts: Sequence[slice]
) -> tuple[Floats, Floats, float]:
    """Return the effects of the layouts, the estimate of each batch, and the interquartile range of
    the residuals. `parts` are the blocks of each batch."""
    effects, level = remove_layout_effects(x, layout)
    batches = np.array([compute_midmean(level[part]) for part in parts], dtype=np.float64)
    return effects, batches, compute_residuals(level, batches, parts)[1]


def estimate_location(
    x: Floats, process: Whole, layout: Whole, outside: float = OUTSIDE
) -> Location:
    """Return the location of values in block order, with the process and the layout of each, and
    its interval with error probability `outside`."""
    if len(x) == 0:
        return Location(math.nan, UNBOUNDED, UNBOUNDED, None, math.nan)
    effects, level = remove_layout_effects(x, layout)
    slices = split_blocks_into_batches(process)
    batches = np.array([compute_midmean(level[part]) for part in slices])
    owners = np.array([process[part.start] for part in slices])
    value = float(batches.mean())
    rest, spread = compute_residuals(level, batches, slices)
    if len(batches) < FEWEST_BATCHES:
        return Location(value, UNBOUNDED, UNBOUNDED, None, spread)
    variance, freedom = estimate_long_run_variance(batches)
    over_time = whole = compute_mean_interval(value, variance, freedom, outside)
    over_layouts, more, noise = None, 0.0, estimate_noise_variance(rest)
    endless = None
    if len(effects) > 1:
        placed, free = estimate_layout_variance(effects)
        over_layouts = compute_mean_interval(value, placed, free, outside)
        more = max(0.0, placed - noise)
        if more > PLAIN * noise:
            endless = compute_mean_interval(value, more, free, outside)
        both = variance + more
        parts = variance**2 / freedom + more**2 / free
        whole = compute_mean_interval(value, both, both**2 / parts if parts else freedom, outside)
    notes = []
    if 1 < len(np.unique(owners)) < FEWEST_PROCESSES:
        whole = whole.union(compute_process_interval(batches, owners, value, outside))
        notes.append(FEW_PROCESSES)
    if found := find_two_machine_states(level, process):
        half = student.compute_capped_t_quantile(outside, freedom) * math.sqrt(noise + more)
        whole = found.widened(half).union(Interval(value, value))
        notes.append(TWO_STATES)
    return Location(value, whole, over_time, over_layouts, spread, tuple(notes), endless)


def dither_values(x: Floats, step: float) -> Floats:
    """Return the values of a clock that advances in steps of `step`, each value moved by another
    part of a step, because midmeans of a few distinct values would jump. Multiples of the golden
    ratio fill the step evenly."""
    turns = np.arange(1, len(x) + 1) * ((math.sqrt(5) - 1) / 2)
    return np.asarray(x + step * (turns % 1 - 0.5))


def estimate_stepped_location(
    x: Floats, process: Whole, layout: Whole, step: float, outside: float = OUTSIDE
) -> Location:
    """Return the location of values of a clock that advances in steps of `step`. If the
    interquartile range of the residuals is below one step, all values may be rounded in the same
    way, and the interval is widened by one step."""
    found = estimate_location(x, process, layout, outside)
    if step <= 0 or math.isnan(found.spread):
        return found
    if found.spread >= step:
        return estimate_location(dither_values(x, step), process, layout, outside)
    return replace(found, interval=found.interval.widened(step), notes=(*found.notes, STEPS))


def estimate_series_location(
    series: Sequence[Slope], step: float = 0.0, outside: float = OUTSIDE
) -> Location:
    """Return the location of paired differences, measured by a clock that advances in steps of
    `step`."""
    process = np.array([slope.process for slope in series], dtype=np.int64)
    layout = np.array([slope.layout for slope in series], dtype=np.int64)
    return estimate_stepped_location(convert_to_floats(series), process, layout, step, outside)
