# SPDX-License-Identifier: GPL-2.0-only
"""Makes the rows of a run that can be compared with the rows of another run.

A row is a variant of a benchmark in a tier (measurement environment). There are three kinds of
rows. Because clocks and machines differ, most rows are shares: the cost of the variant divided by
the cost of the baseline in the same block. A whole row is an absolute cost in the unit of the tier:
the cost of a baseline, or the time to switch sites on or off. An exact row is a count of
instructions.

A cost is estimated once for each cluster, by the method of location.py: the effect of each code
layout is removed, and the estimate is the midmean of the blocks of the cluster. Clusters are the
processes of a run or, if there is only one process, stretches of neighbouring blocks. If a run has
too few blocks to tell its layouts apart, the layouts in an eighth of a cache line are merged. A row
with merged layouts is compared only with rows with merged layouts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kmtools.analyse import location, stats
from kmtools.analyse.layouts import compute_offset_in_cache_line, has_too_few_blocks_per_layout
from kmtools.analyse.slopes import CLONE_SUFFIX, Slope, find_baseline_variant
from kmtools.analyse.verdicts import Result
from kmtools.measure.rundir import Tier, get_tier_table_position
from kmtools.measure.samples import LOOP, Sample

# The kinds of rows: a share of the cost of the baseline, an absolute cost, or an exact count.
SHARE, WHOLE, EXACT = "share", "whole", "exact"
# The kernel of a row that is merged from runs in different kernels; it is not the name of a kernel.
SEVERAL_KERNELS = ""
# The largest number of clusters (stretches of neighbouring blocks) of a run with one process.
MOST_STRETCHES = 8

Floats = NDArray[np.float64]


@dataclass(frozen=True, order=True)
class RowName:
    """The identity of a row (the results of a variant). Rows of two runs are compared if they have
    the same name and unit."""

    tier: str
    benchmark: str
    variant: str
    measured: str = LOOP
    sites: int = 0

    @property
    def sort_key(self) -> tuple[object, ...]:
        """The sort key of the row in tables."""
        return (
            get_tier_table_position(self.tier),
            self.benchmark,
            self.variant,
            self.measured,
            self.sites,
        )

    def __str__(self) -> str:
        sites = f" at {self.sites} sites" if self.sites else ""
        return f"{self.tier} {self.benchmark} {self.variant}{sites}"


@dataclass(frozen=True)
class Row:
    """A row of one run: the results of a variant. `cost` is the median cost per operation or per
    switch, in `unit`. `values` has the estimate of each cluster (process), `layouts` the estimate
    of each code layout; the estimates are shares of the cost of the baseline, or in `unit`.
    `resolution` is one step of the clock as a share of the cost; 0 if the step does not limit the
    precision of the estimates. `lo` and `hi` are the smallest and the largest of several exact
    counts."""

    name: RowName
    kernel: str
    unit: str
    kind: str
    baseline: str
    cost: float
    blocks: int
    processes: int
    values: Floats = field(repr=False)
    layouts: Mapping[int, float] = field(repr=False)
    resolution: float = 0.0
    lo: float = 0.0
    hi: float = 0.0
    # The code layouts at which the row was measured; empty for exact counts.
    places: frozenset[int] = frozenset()
    # True if the row has too few blocks to tell its code layouts apart.
    crowded: bool = False
    # The reason why the row has no verdict, if the grade of its benchmark is poor; else empty.
    poor: str = ""

    @property
    def single_kernel(self) -> str | None:
        """The kernel of the row; None if the row is merged from runs in different kernels."""
        return None if self.kernel == SEVERAL_KERNELS else self.kernel

    @property
    def is_clone(self) -> bool:
        """True if the row is the A/A clone, the second copy of its baseline."""
        return bool(self.baseline) and self.name.variant == self.baseline + CLONE_SUFFIX

    @property
    def is_baseline(self) -> bool:
        """True if the row is the baseline, by whose cost the costs of other rows are divided."""
        return self.name.variant == self.baseline


def make_timed_row(
    name: RowName, tier: Tier, kind: str, baseline: str, cost: float, series: Sequence[Slope],
    resolution: float = 0.0,
) -> Row:  # fmt: skip
    """Make the row of a variant from measured times. `series` has for each block the cost, or the
    cost divided by the cost of the baseline, in block order. `resolution` is one step of the clock
    as a share of the cost."""
    x = stats.convert_slopes_to_floats(series)
    step = resolution * abs(float(np.median(x)))
    process = np.array([one.process for one in series], dtype=np.int64)
    layout = np.array([one.layout for one in series], dtype=np.int64)
    processes = len(np.unique(process))
    parts = location.split_blocks_into_batches(
        process, processes if processes > 1 else MOST_STRETCHES
    )
    effects, values, spread = location.estimate_batch_locations(x, layout, parts)
    if step and step <= spread:
        # The blocks vary by more than a step of the clock. So after dithering (adding a fraction of
        # a step to each value) the step does not limit the precision of the mean.
        effects, values, _ = location.estimate_batch_locations(
            location.dither_values(x, step), layout, parts
        )
        resolution = 0.0
    places = np.unique(layout)
    crowded = has_too_few_blocks_per_layout(len(series), len(places))
    known = np.unique(compute_offset_in_cache_line(location.merge_sparse_layouts(layout)))
    means = dict(zip(known.tolist(), (effects + values.mean()).tolist(), strict=True))
    return Row(
        name, tier.kernel, tier.unit, kind, baseline, cost, len(series), processes, values, means,
        resolution, places=frozenset(places.tolist()), crowded=crowded,
    )  # fmt: skip


def divide_by_baseline(series: Sequence[Slope], baseline: Mapping[int, Slope]) -> list[Slope]:
    """Return the cost of a variant divided by the cost of the baseline, in each block that has both
    costs. `baseline` has the slope of the baseline by the number of the block."""
    found = []
    for one in series:
        own = baseline.get(one.block)
        if own is not None and own.top:
            top, bottom = one.top * own.bottom, one.bottom * own.top
            found.append(Slope(one.block, one.layout, top, bottom, one.process))
    return found


def make_exact_row(name: RowName, tier: Tier, baseline: str, series: Sequence[Slope]) -> Row:
    """Make the row of a variant from exact counts, with their smallest and largest value over
    blocks."""
    found, cost = stats.find_slope_range(series), stats.compute_median_slope(series)
    none: Floats = np.array([], dtype=np.float64)
    return Row(
        name, tier.kernel, tier.unit, EXACT, baseline, cost, len(series), 1, none, {}, 0.0,
        found.lo, found.hi,
    )  # fmt: skip


def make_loop_rows(
    tier: Tier, benchmark: str, slopes: Mapping[str, Sequence[Slope]], steps: Mapping[str, float]
) -> list[Row]:
    """Make the rows of one benchmark whose loop passes were timed or counted, from the slopes of
    its variants. `steps` has one step of the clock as a cost per operation, for each variant."""
    baseline = find_baseline_variant(slopes) or ""
    base = {slope.block: slope for slope in slopes.get(baseline, [])}
    rows = []
    for variant, series in sorted(slopes.items()):
        name = RowName(tier.tier, benchmark, variant)
        cost = stats.compute_median_slope(series)
        if tier.exact:
            rows.append(make_exact_row(name, tier, baseline, series))
            continue
        whole = variant == baseline or not baseline
        blocks = series if whole else divide_by_baseline(series, base)
        if blocks:
            kind = WHOLE if whole else SHARE
            step = steps.get(variant, 0.0) / abs(cost or 1)
            rows.append(make_timed_row(name, tier, kind, baseline, cost, blocks, step))
    return rows


def make_switching_time_row(tier: Tier, name: RowName, samples: Sequence[Sample]) -> Row:
    """Make the row of the time to switch a fixed number of sites on or off, from `samples`, the
    times of single switches. A block may hold several switches."""
    ordered = sorted(samples, key=lambda one: (one.process, one.block))
    series = [Slope(s.block, s.layout, s.value, 1, s.process) for s in ordered]
    return make_timed_row(name, tier, WHOLE, "", stats.compute_median_slope(series), series)


def make_run_rows(
    samples: Iterable[Sample], tiers: Sequence[Tier], results: Sequence[Result]
) -> list[Row]:
    """Make all rows of a run from its samples and results, sorted as in tables."""
    known = {(tier.tier, tier.kernel): tier for tier in tiers}
    loops: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
    for result in results:
        if result.slopes:
            loops[result.tier, result.kernel, result.benchmark].append(result)
    switches: dict[tuple[str, RowName], list[Sample]] = defaultdict(list)
    for s in samples:
        if s.measured != LOOP:
            name = RowName(s.tier, s.benchmark, s.variant, s.measured, s.size)
            switches[s.kernel, name].append(s)
    rows = []
    for (tier, kernel, benchmark), several in loops.items():
        slopes = {result.variant: result.slopes for result in several}
        steps = {result.variant: result.step for result in several}
        rows += make_loop_rows(known[tier, kernel], benchmark, slopes, steps)
    for (kernel, name), switched in switches.items():
        rows.append(make_switching_time_row(known[name.tier, kernel], name, switched))
    return sorted(rows, key=lambda row: (row.name.sort_key, row.kernel))
