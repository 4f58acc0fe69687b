# SPDX-License-Identifier: GPL-2.0-only
"""Estimates the location of paired differences: a trimmed mean, with an interval that respects
clusters (processes, layouts). The estimand is the usual cost, which Documentation/usual-cost.md
defines.

Blocks are not independent observations: many blocks share a process, a code layout or a state of
the machine. The location is found in three steps: the effect of each layout is removed, as far as
noise does not explain it; the blocks of each process are taken as one batch, or as several if there
are few processes; and the midmeans of all batches are averaged. The midmean, a 25 % trimmed mean,
is robust against disturbed windows, and resolves less than a step of the clock.

The variance of the location is the sum of two parts:
- the variance over time, computed from the batches alone, because blocks of one batch may depend on
  each other. This variance is the average of the first squared cosine coefficients of the series of
  batches, which includes slow changes (Lazarus, Lewis, Stock and Watson 2018, "HAR inference"). A
  first-order autoregression, whose bias is corrected in part (Kendall 1954), extrapolates the
  average to slower changes;
- the variance over layouts, minus the part that the noise of blocks explains. The measured layouts
  are a sample of all offsets in a cache line, and a loop may cost one more cycle at several
  neighbouring offsets. MANY_LAYOUTS or more layouts are evenly spaced: the variance of their mean
  is estimated from differences between neighbours (von Neumann, Kent, Bellinson and Hart 1941;
  Wolter 2007, "Introduction to variance estimation", systematic samples). If neighbours are alike,
  this estimate tends to be too large. Fewer layouts are taken as a simple random sample.
The interval uses the quantile of Student's t distribution with the degrees of freedom of the sum
(Satterthwaite 1946).

If the processes are of two groups, a cheap and a costly one, the number of costly processes is
binomial, and a variance estimated from a few costly processes is too small. The exact interval of
the share of costly processes (Clopper and Pearson 1934) then gives a second interval of the mean
over processes, and the result contains both intervals.

The variance cannot be estimated if the machine changed its state only a few times. If all batches
are in one of two states, with only a few changes between the states, the interval is the smallest
one that contains the estimate and the intervals of the costs in both states. A state that lasted
for less than a fiftieth of the time is a disturbance, which hardly moves the mean.

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
from kmtools.analyse.layouts import (
    EIGHTHS,
    compute_offset_in_cache_line,
    has_too_few_blocks_per_layout,
)
from kmtools.analyse.slopes import Slope
from kmtools.analyse.stats import CONFIDENCE, UNBOUNDED, Interval, convert_slopes_to_floats

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# The error probability of an interval in a run whose length is fixed.
ERROR_PROBABILITY = 1 - CONFIDENCE
# The approximate number of batches into which the blocks of all processes are split.
BATCHES = 16
# FEWEST_BLOCKS: the fewest blocks in a batch.
# FEWEST_BATCHES: the fewest batches for an interval.
# FEWEST_PROCESSES: if a run has fewer processes, its intervals are extended to contain the interval
# over processes.
FEWEST_BLOCKS, FEWEST_BATCHES, FEWEST_PROCESSES = 4, 6, 6
# The number of cosine coefficients that are averaged for the variance over time.
COSINE_COEFFICIENTS = 6
# The share of the bias of the autoregression coefficient that is corrected.
BIAS_SHARE = 0.75
# The largest autoregression coefficient.
LARGEST_AUTOCORRELATION = 0.9
# The share of the values that a midmean leaves out at either end.
TRIMMED_SHARE = 0.25
# Limits for find_two_machine_states(), which compares the midmeans of parts of the blocks:
# TOGETHER: the number of blocks in a part. EXPLAINED: the smallest share of the variance of the
# midmeans that two states must explain. FEW_CHANGES: the largest number of changes between the
# states; with more changes, the estimated variance suffices. BRIEF: a state that lasts for less
# than this share of the time is a disturbance, which hardly moves the mean.
TOGETHER, EXPLAINED, FEW_CHANGES, BRIEF = 32, 0.8, 10, 1 / 50

# Notes that say why the interval of a location is wide.
TWO_STATES = "two machine states with few changes: the interval contains the costs in both"
FEW_PROCESSES = "few processes"
WIDENED_BY_STEP = "wider by a step of the clock"
# The fewest layouts at which neighbouring layouts are assumed to have similar effects.
MANY_LAYOUTS = 16
# The interval of an endless run is given only if the variance over layouts, divided by the variance
# of the noise, is larger than this number.
KNOWN_VARIANCE_RATIO = 10


@dataclass(frozen=True)
class Location:
    """The usual value of a series of blocks (its location, `value`), and `interval`, the interval
    of this value. `over_time` is the interval computed from the variance over time alone.
    `over_layouts` is the interval computed from the variance over layouts alone, None for a single
    layout. `endless` is the interval that an endless run would have, from the variance over layouts
    alone, without noise; None if the noise of blocks hides this variance. `spread` is the
    interquartile range of the residuals. `mean` is the mean over time of all blocks. `left_out` is
    the interval of `mean` minus `value`, None if this interval cannot be estimated."""

    value: float
    interval: Interval
    over_time: Interval
    over_layouts: Interval | None
    spread: float
    notes: tuple[str, ...] = ()
    endless: Interval | None = None
    mean: float = math.nan
    left_out: Interval | None = None


def compute_midmean(x: Floats) -> Floats:
    """Return the midmean (25 % trimmed mean) of each row of `x`, or of `x` itself if it is one row.
    For fewer than four values return the median, for none NaN. All values must be finite."""
    n = x.shape[-1]
    if n == 0:
        return np.full(x.shape[:-1], math.nan)
    if n < 4:
        # The median; np.median() takes ten times as long for so few values.
        ordered = np.sort(x, axis=-1)
        return np.asarray((ordered[..., (n - 1) // 2] + ordered[..., n // 2]) / 2)
    cut = int(n * TRIMMED_SHARE)
    return np.asarray(np.partition(x, (cut, n - cut - 1))[..., cut : n - cut].mean(axis=-1))


def compute_midmeans(parts: Sequence[Floats]) -> Floats:
    """Return the midmean of each part of the blocks. Parts of equal length, the usual case, are
    computed in one call, which is five times as fast."""
    if len({len(part) for part in parts}) == 1:
        return compute_midmean(np.stack(parts))
    return np.array([compute_midmean(part) for part in parts], dtype=np.float64)


def merge_sparse_layouts(layout: Integers) -> Integers:
    """Return the layout of each block. If there are too few blocks per layout, the layouts in one
    eighth of a cache line count as one layout."""
    return (
        layout % EIGHTHS
        if has_too_few_blocks_per_layout(len(layout), len(np.unique(layout)))
        else layout
    )


def compute_layout_effects(x: Floats, layout: Integers) -> tuple[Floats, Floats]:
    """Return the effect of each code layout on the cost, ordered by the offset in a cache line;
    and, for each block, the effect of its layout. The mean of the effects of all layouts is
    zero."""
    which = np.unique(compute_offset_in_cache_line(layout), return_inverse=True)[1]
    ends = np.cumsum(np.bincount(which))[:-1]
    effects = compute_midmeans(np.split(x[np.argsort(which, kind="stable")], ends))
    effects -= effects.mean()
    return effects, effects[which]


def estimate_layout_variance(effects: Floats) -> tuple[float, float]:
    """Return the variance of the mean over two or more layouts, and the degrees of freedom of this
    variance. `effects` are the effects of the layouts, ordered by the offset in a cache line."""
    count = len(effects)
    if count < MANY_LAYOUTS:
        return float(np.var(effects, ddof=1)) / count, count - 1
    apart = np.diff(effects, append=effects[:1])
    return float(np.mean(apart**2)) / 2 / count, 2 * count / 3


def split_blocks_evenly(start: int, end: int, parts: int) -> list[slice]:
    """Split the blocks from `start` up to `end` into `parts` parts of about the same length."""
    edges = [start + (end - start) * part // parts for part in range(parts + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def split_blocks_into_batches(process: Integers, batch_count: int = BATCHES) -> list[slice]:
    """Split the blocks into batches, as slices; a batch has neighbouring blocks of one process.
    `process` has the process of each block. There are about `batch_count` batches, and at least one
    for each process."""
    starts = np.flatnonzero(np.diff(process, prepend=process[0] - 1))
    ends = [*starts[1:], len(process)]
    share = round(batch_count / len(starts))
    batches = []
    for start, end in zip(starts, ends, strict=True):
        parts = max(1, min(share, int(end - start) // FEWEST_BLOCKS))
        batches += split_blocks_evenly(int(start), int(end), parts)
    return batches


def estimate_long_run_variance(batches: Floats) -> tuple[float, int]:
    """Return the variance of the mean of `batches`, the estimates of successive batches, and the
    degrees of freedom of this variance. The variance accounts for slow changes."""
    n = len(batches)
    away = batches - batches.mean()
    energy = float(away @ away)
    count = min(COSINE_COEFFICIENTS, n // 2)
    if energy == 0:
        return 0.0, count
    angles = math.pi * np.arange(1, count + 1)
    waves = np.cos(np.outer((np.arange(n) + 0.5) / n, angles)) * math.sqrt(2 / n)
    found = float(np.mean((away @ waves) ** 2)) / n
    alike = float(away[1:] @ away[:-1]) / energy
    alike += BIAS_SHARE * (1 + 3 * max(0.0, alike)) / n
    alike = min(max(0.0, alike), LARGEST_AUTOCORRELATION)
    shape = 1 / (1 - 2 * alike * np.cos(angles / n) + alike**2)
    return found / (1 - alike) ** 2 / float(shape.mean()), count


def estimate_noise_variance(values: Floats) -> float:
    """Return the variance of the midmean of independent values, computed from their Winsorized
    variance."""
    low, high = np.quantile(values, (TRIMMED_SHARE, 1 - TRIMMED_SHARE))
    return float(np.var(np.clip(values, low, high))) / (1 - 2 * TRIMMED_SHARE) ** 2 / len(values)


def split_into_two_groups(values: Floats) -> NDArray[np.bool_] | None:
    """Split values into a lower and an upper group such that the values of a group differ as little
    as possible. Return which values are in the upper group; None if the two groups do not explain
    most of the variance."""
    ordered, n = np.sort(values), len(values)
    total = float(np.sum((values - values.mean()) ** 2))
    if not total:
        return None
    below = np.arange(1, n)
    gap = np.cumsum(ordered)[:-1] - below * ordered.mean()
    between = gap**2 * n / (below * (n - below))
    cut = int(between.argmax())
    if between[cut] / total < EXPLAINED:
        return None
    upper = np.asarray(values > ordered[cut])
    return upper if upper.any() else None


def find_two_machine_states(x: Floats, process: Integers) -> tuple[Floats, Floats] | None:
    """Find two states of the machine, a cheap and a costly one, with only a few changes between the
    two. Split the blocks into parts, and return the midmeans of the parts in each state; None if
    there are no two states. At least one change must lie within a process: changes at the start of
    a process are differences between processes. The two parts next to a change are left out,
    because they may contain blocks of both states. A state without any other part gets the smallest
    midmean if it is the cheap state, else the largest."""
    found, owners = [], []
    for number in np.unique(process):
        own = x[process == number]
        for part in split_blocks_evenly(0, len(own), max(1, len(own) // TOGETHER)):
            found.append(own[part])
            owners.append(number)
    seen, owner = compute_midmeans(found), np.array(owners)
    upper = split_into_two_groups(seen)
    if len(seen) < FEWEST_BATCHES or upper is None:
        return None
    changes = upper[1:] != upper[:-1]
    inside = changes & (owner[1:] == owner[:-1])
    if not inside.any() or changes.sum() > FEW_CHANGES:
        return None
    if min(upper.mean(), 1 - upper.mean()) < BRIEF:
        return None
    mixed = np.append(changes, False) | np.insert(changes, 0, False)
    cheap, costly = seen[~upper & ~mixed], seen[upper & ~mixed]
    cheap = cheap if len(cheap) else np.sort(seen)[:1]
    costly = costly if len(costly) else np.sort(seen)[-1:]
    return cheap, costly


def compute_interval_of_both_states(
    states: tuple[Floats, Floats],
    part_variance: float,
    layout_variance: float,
    freedom: float,
    alpha: float,
) -> Interval:
    """Return the smallest interval that contains the intervals of the costs in both states of the
    machine. `alpha` is the error probability of each interval, `states` has the midmeans of the
    parts in each state. `part_variance` is the variance of the midmean of a part. `layout_variance`
    is the variance over layouts. `freedom` is the degrees of freedom of the intervals."""
    cheap, costly = (
        compute_mean_interval(
            float(own.mean()), part_variance / len(own) + layout_variance, freedom, alpha
        )
        for own in states
    )
    return cheap.union(costly)


def compute_mean_interval(value: float, variance: float, freedom: float, alpha: float) -> Interval:
    """Return the confidence interval around `value`, a mean whose variance `variance` was estimated
    with `freedom` degrees of freedom. The error probability is `alpha`."""
    half = student.compute_capped_t_quantile(alpha, freedom) * math.sqrt(variance)
    return Interval(value - half, value + half)


def compute_process_interval(
    batches: Floats, process_of_batch: Integers, value: float, alpha: float
) -> Interval:
    """Return the confidence interval of the mean over processes, centred at `value`. The mean of
    the batches of each process is one observation; `process_of_batch` has the process number of
    each batch."""
    numbers = np.unique(process_of_batch)
    means = np.array([batches[process_of_batch == number].mean() for number in numbers])
    variance = float(np.var(means, ddof=1)) / len(means)
    return compute_mean_interval(value, variance, len(means) - 1, alpha)


def compute_interval_of_two_process_groups(
    x: Floats, process: Integers, alpha: float
) -> Interval | None:
    """Return the interval of the mean over processes, computed from the exact interval of the share
    of costly processes; None unless each process is cheap or costly from its start to its end."""
    numbers = np.unique(process)
    if len(numbers) < FEWEST_PROCESSES:
        return None
    parts = [np.array_split(x[process == number], 2) for number in numbers]
    halves = compute_midmeans([half for both in parts for half in both]).reshape(-1, 2)
    means = halves.mean(axis=1)
    costly = split_into_two_groups(means)
    if costly is None:
        return None
    low, high = float(means[~costly].mean()), float(means[costly].mean())
    if np.any((halves > (low + high) / 2) != costly[:, None]):
        return None
    share = student.compute_clopper_pearson_interval(int(costly.sum()), len(costly), alpha)
    return Interval(low + share[0] * (high - low), low + share[1] * (high - low))


def remove_layout_effects(x: Floats, layout: Integers) -> tuple[Floats, Floats]:
    """Return the effects of the layouts, and the values without the effects. Each effect is removed
    in part: by the share of the variance of the effects that noise does not explain (James and
    Stein 1961). Removing noise would blur the distribution of the values, and so their midmean."""
    effects, in_block = compute_layout_effects(x, merge_sparse_layouts(layout))
    level = x - in_block
    if len(effects) < 2 or not (variance := float(np.var(effects, ddof=1))):
        return effects, level
    noise = estimate_noise_variance(level) * len(effects)
    return effects, x - max(0.0, 1 - noise / variance) * in_block


def compute_residuals(
    values: Floats, batches: Floats, batch_slices: Sequence[slice]
) -> tuple[Floats, float]:
    """Return, for each block, its value minus the estimate of its batch (the residual), and the
    interquartile range of the residuals. `values` has the value of each block, `batches` the
    estimate of each batch, `batch_slices` the blocks of each batch."""
    rest = values - np.repeat(batches, [part.stop - part.start for part in batch_slices])
    return rest, float(np.subtract(*np.quantile(rest, (0.75, 0.25))))


def estimate_batch_locations(
    x: Floats, layout: Integers, batch_slices: Sequence[slice]
) -> tuple[Floats, Floats, float]:
    """Return the effects of the layouts on the values `x` of the blocks, the midmean of each batch
    without the effects, and the interquartile range of the residuals. `layout` has the layout of
    each block, `batch_slices` the blocks of each batch."""
    effects, level = remove_layout_effects(x, layout)
    batches = compute_midmeans([level[part] for part in batch_slices])
    return effects, batches, compute_residuals(level, batches, batch_slices)[1]


def estimate_location(
    x: Floats, process: Integers, layout: Integers, alpha: float = ERROR_PROBABILITY
) -> Location:
    """Return the location of the values `x` of blocks, with an interval of error probability
    `alpha`. The values are in the order of the blocks; `process` and `layout` have the process
    and the layout of each block."""
    if len(x) == 0:
        return Location(math.nan, UNBOUNDED, UNBOUNDED, None, math.nan)
    effects, level = remove_layout_effects(x, layout)
    slices = split_blocks_into_batches(process)
    batches = compute_midmeans([level[part] for part in slices])
    owners = np.array([process[part.start] for part in slices])
    value = float(batches.mean())
    rest, spread = compute_residuals(level, batches, slices)
    if len(batches) < FEWEST_BATCHES:
        return Location(value, UNBOUNDED, UNBOUNDED, None, spread)
    left_out = np.array([level[part].mean() for part in slices]) - batches
    missed, own_freedom = estimate_long_run_variance(left_out)
    gap = compute_mean_interval(float(left_out.mean()), missed, own_freedom, alpha)
    variance, freedom = estimate_long_run_variance(batches)
    over_time = whole = compute_mean_interval(value, variance, freedom, alpha)
    over_layouts, more, noise = None, 0.0, estimate_noise_variance(rest)
    endless = None
    if len(effects) > 1:
        placed, free = estimate_layout_variance(effects)
        over_layouts = compute_mean_interval(value, placed, free, alpha)
        more = max(0.0, placed - noise)
        if more > KNOWN_VARIANCE_RATIO * noise:
            endless = compute_mean_interval(value, more, free, alpha)
        both = variance + more
        parts = variance**2 / freedom + more**2 / free
        whole = compute_mean_interval(value, both, both**2 / parts if parts else freedom, alpha)
    notes = []
    states = find_two_machine_states(level, process)
    if states:
        part = noise * len(x) / TOGETHER
        whole = compute_interval_of_both_states(states, part, more, freedom, alpha)
        whole = whole.union(Interval(value, value))
    elif groups := compute_interval_of_two_process_groups(level, process, alpha):
        whole = whole.union(groups)
    if 1 < len(np.unique(owners)) < FEWEST_PROCESSES:
        whole = whole.union(compute_process_interval(batches, owners, value, alpha))
        notes.append(FEW_PROCESSES)
    if states:
        notes.append(TWO_STATES)
    mean = value + float(left_out.mean())
    return Location(value, whole, over_time, over_layouts, spread, tuple(notes), endless, mean, gap)


def dither_values(x: Floats, step: float) -> Floats:
    """Return the values after adding a different fraction of `step`, the step of the clock, to
    each. Without the fractions, there would be only a few distinct values, and a midmean would jump
    from one to the next. Multiples of the golden ratio fill the step evenly."""
    turns = np.arange(1, len(x) + 1) * ((math.sqrt(5) - 1) / 2)
    return np.asarray(x + step * (turns % 1 - 0.5))


def estimate_location_of_stepped_values(
    x: Floats, process: Integers, layout: Integers, step: float, alpha: float = ERROR_PROBABILITY
) -> Location:
    """Return the location of values of a clock that advances in steps of `step`. If the
    interquartile range of the residuals is below one step, the interval is widened by one step,
    because the rounding error may be the same in all values."""
    if step <= 0 or len(x) == 0:
        return estimate_location(x, process, layout, alpha)
    if estimate_batch_locations(x, layout, split_blocks_into_batches(process))[2] >= step:
        return estimate_location(dither_values(x, step), process, layout, alpha)
    found = estimate_location(x, process, layout, alpha)
    return replace(
        found, interval=found.interval.widened(step), notes=(*found.notes, WIDENED_BY_STEP)
    )


def estimate_series_location(
    series: Sequence[Slope], step: float = 0.0, alpha: float = ERROR_PROBABILITY
) -> Location:
    """Return the location of paired differences, measured by a clock that advances in steps of
    `step`."""
    process = np.array([slope.process for slope in series], dtype=np.int64)
    layout = np.array([slope.layout for slope in series], dtype=np.int64)
    return estimate_location_of_stepped_values(
        convert_slopes_to_floats(series), process, layout, step, alpha
    )
