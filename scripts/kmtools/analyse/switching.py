# SPDX-License-Identifier: GPL-2.0-only
"""Computes how long it takes to switch many sites on or off, by number of sites and by method: the
whole time, the times of parts of the work, the number of rounds of synchronisation, and the gaps
(longest interruptions) of other CPUs.

The numbers describe whole switches, which take milliseconds: the numbers are not divided by the
number of sites, and no baseline is subtracted.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

from kmtools.analyse import stats
from kmtools.analyse.kept_blocks import (
    KeptBlocks,
    count_kept_and_planned_blocks,
    make_kept_blocks_field,
)
from kmtools.analyse.slopes import Slope
from kmtools.analyse.stats import Interval
from kmtools.measure.rundir import Tier, get_tier_table_position
from kmtools.measure.samples import LOOP, ROUNDS, SWITCH, Sample

# SCALING: the benchmark that measures how long switching takes. STALL: the benchmark that measures
# how long switching interrupts another CPU.
SCALING, STALL = "arm-scaling", "arm-stall"
# The suffix of each variant of STALL, after the name of a method of switching.
STALL_SUFFIX = "-stall"
# Variants of SCALING:
# ROUND_COUNT: the number of rounds of synchronisation in a batch.
# OUR_METHOD: switching in one batch.
# STORES_ALONE, ROUNDS_BY_HAND: only the work that a batch cannot avoid, its stores or its rounds.
# BATCH_PARTS: the parts of the time of a batch.
ROUND_COUNT = "batched-round-count"
OUR_METHOD = "batched"
STORES_ALONE, ROUNDS_BY_HAND = "stores-alone", "rounds-by-hand"
BATCH_PARTS = ("batched-validate", "batched-map", "batched-rounds")
# The names of the methods of switching in tables and figures.
METHOD_NAMES = {
    "batched": "ours, one batch",
    "batched-chunk-1000": "ours, a thousand at a time",
    "one-by-one": "ours, one by one",
    "static-key-one": "one static key",
    "static-keys-many": "a static key for each",
    "stop-machine": "stop_machine (in a buffer)",
    "interrupts": "three interrupts, nothing switched",
    "idle": "nothing",
    "batched-off": "ours, one batch, off again",
    "batched-chunk-1000-off": "ours, a thousand at a time, off again",
    "stop-machine-off": "stop_machine (in a buffer), off again",
    "stores-alone": "a map and the stores alone",
    "rounds-by-hand": "a map and three rounds by hand",
}


@dataclass(frozen=True)
class SwitchPoint:
    """A quantity that was measured while `sites` sites were switched on or off by one method: its
    median and 95 % interval, in `unit` per switch. `blocks` says how many blocks of the whole
    benchmark were kept."""

    tier: str
    kernel: str
    benchmark: str
    variant: str
    measured: str
    sites: int
    unit: str
    n: int
    median: float
    ci: Interval
    blocks: KeptBlocks | None = None

    @property
    def method(self) -> str:
        """The method of switching: the name of the variant without the measured quantity."""
        return self.variant.removesuffix(STALL_SUFFIX)

    @property
    def is_time(self) -> bool:
        """True if the quantity is the time of whole switches; False if it is a part of this time, a
        number of rounds, or a gap."""
        return self.measured == SWITCH

    def to_json_entry(self) -> dict[str, Any]:
        """Return the entry of this point in summary.json."""
        entry = asdict(self)
        ci = entry.pop("ci")
        del entry["blocks"]
        bounded = self.ci != stats.UNBOUNDED
        ends = {f"ci_{end}": value if bounded else None for end, value in ci.items()}
        return entry | ends | make_kept_blocks_field(self.blocks)


def make_switch_point(series: Sequence[Sample], blocks: KeptBlocks | None) -> SwitchPoint:
    """Return the median time of the samples `series`, with its interval. All samples are of one
    method and one number of sites. `blocks` says how many blocks of the benchmark were kept."""
    one = series[0]
    values = [Slope(s.block, s.layout, s.value) for s in series]
    return SwitchPoint(
        one.tier, one.kernel, one.benchmark, one.variant, one.measured, one.size, one.unit,
        len(series), stats.compute_median_slope(values), stats.compute_sign_test_interval(values),
        blocks,
    )  # fmt: skip


def compute_switching_medians(
    samples: Iterable[Sample], tiers: Iterable[Tier] = ()
) -> list[SwitchPoint]:
    """Return the medians of every method of switching sites, for every number of sites. The points
    are ordered by tier (measurement environment), kernel and benchmark. A point has the numbers of
    blocks only if `tiers` contains its tier."""
    groups: dict[tuple[str, str, str, str, int], list[Sample]] = defaultdict(list)
    whole: dict[tuple[str, str, str], list[Sample]] = defaultdict(list)
    for s in samples:
        if s.measured != LOOP:
            groups[s.tier, s.kernel, s.benchmark, s.variant, s.size].append(s)
            whole[s.tier, s.kernel, s.benchmark].append(s)
    known = {(tier.tier, tier.kernel): tier for tier in tiers}
    blocks = {
        key: count_kept_and_planned_blocks(known[key[:2]], key[2], own)
        for key, own in whole.items()
        if key[:2] in known
    }
    return [
        make_switch_point(groups[key], blocks.get(key[:3]))
        for key in sorted(groups, key=lambda k: (get_tier_table_position(k[0]), k))
    ]


def find_switch_point(
    points: Iterable[SwitchPoint], benchmark: str, variant: str, sites: int
) -> SwitchPoint | None:
    """Return the point of a benchmark, variant and number of sites; None if there is none."""
    wanted = (benchmark, variant, sites)
    return next((p for p in points if (p.benchmark, p.variant, p.sites) == wanted), None)


def select_switch_points_of_tier(
    points: Iterable[SwitchPoint], tier: str, kernel: str
) -> list[SwitchPoint]:
    """Return the points of one tier (measurement environment) and kernel."""
    return [point for point in points if (point.tier, point.kernel) == (tier, kernel)]


# A function that computes a quantity from measured medians, the points of a tier. The function
# returns None if a point is missing.
Measure = Callable[[Sequence[SwitchPoint]], float | None]


def find_largest_sync_round_count(points: Sequence[SwitchPoint]) -> float | None:
    """Return the maximum, over all numbers of sites, of the median number of synchronisation rounds
    in a batch."""
    return max((p.median for p in points if p.measured == ROUNDS), default=None)


def compute_switch_time_per_further_site(
    points: Sequence[SwitchPoint], method: str, fewer: int, more: int
) -> float | None:
    """Return the time that one more site takes with the method `method`: the slope of the time of a
    switch between `fewer` and `more` sites."""
    low, high = (find_switch_point(points, SCALING, method, sites) for sites in (fewer, more))
    return (high.median - low.median) / (more - fewer) if low and high else None


def divide_if_known(dividend: float | None, divisor: float | None) -> float | None:
    """Return `dividend` / `divisor`; None if either is None, or if `divisor` is not above zero."""
    if dividend is None or divisor is None or divisor <= 0:
        return None
    return dividend / divisor


def compute_batch_to_stores_ratio(points: Sequence[SwitchPoint]) -> float | None:
    """Return the time that one more site takes in a batch, divided by the time that bare stores to
    one more site take. A variant of its own measures the bare stores: as in a batch, three stores
    to each site, in three passes over the sites, through a second mapping."""
    return divide_if_known(
        *(
            compute_switch_time_per_further_site(points, way, 1000, 10_000)
            for way in (OUR_METHOD, STORES_ALONE)
        )
    )


def compute_batch_to_manual_rounds_ratio(points: Sequence[SwitchPoint]) -> float | None:
    """Return the time of a batch of one site, divided by the time of the variant ROUNDS_BY_HAND,
    the work that no batch can avoid: mapping, three rounds of synchronisation and unmapping."""
    ours, other = (
        find_switch_point(points, SCALING, way, 1) for way in (OUR_METHOD, ROUNDS_BY_HAND)
    )
    return divide_if_known(ours.median if ours else None, other.median if other else None)


def compute_batch_to_stores_ratio_at_million_sites(points: Sequence[SwitchPoint]) -> float | None:
    """Return the same ratio as compute_batch_to_stores_ratio(), for the sites from the first
    hundred thousand to a million. A list of a million sites is larger than most caches, which makes
    both a batch and bare stores slower."""
    return divide_if_known(
        *(
            compute_switch_time_per_further_site(points, way, 100_000, 1_000_000)
            for way in (OUR_METHOD, STORES_ALONE)
        )
    )


def make_batch_ratio_function(method: str) -> Measure:
    """Return a function that computes the time to switch 10,000 sites by the method `method`, as a
    multiple of the time to switch the same sites in one batch."""

    def compute_ratio_to_batch(points: Sequence[SwitchPoint]) -> float | None:
        own, ours = (find_switch_point(points, SCALING, m, 10_000) for m in (method, OUR_METHOD))
        return own.median / ours.median if own and ours and ours.median else None

    return compute_ratio_to_batch


def find_batch_and_interrupt_gaps(
    points: Sequence[SwitchPoint],
) -> tuple[SwitchPoint, SwitchPoint] | None:
    """Return two gaps (longest interruptions) of a CPU that executes no site. During the first gap,
    another CPU applies a batch. During the second gap, only the three interrupts of a batch are
    sent, and nothing is switched. Return None if a gap is missing."""
    ways = (OUR_METHOD, "interrupts")
    own, interrupts = (find_switch_point(points, STALL, way + STALL_SUFFIX, 10_000) for way in ways)
    return (own, interrupts) if own and interrupts else None


def compute_batch_to_interrupts_gap_ratio(points: Sequence[SwitchPoint]) -> float | None:
    """Return the gap (longest interruption of another CPU) during a batch, as a multiple of the gap
    that interrupts alone cause."""
    found = find_batch_and_interrupt_gaps(points)
    return divide_if_known(found[0].median, found[1].median) if found else None


def compute_measure_range(measure: Measure, points: Sequence[SwitchPoint]) -> Interval:
    """Return the smallest and the largest value of `measure` that the 95 % intervals of the medians
    permit. Only medians that `measure` needs are varied: `measure` returns None if one of them is
    missing."""
    needed = [p for p in points if measure([other for other in points if other is not p]) is None]
    if any(p.ci == stats.UNBOUNDED for p in needed):
        return stats.UNBOUNDED
    others = [p for p in points if p not in needed]
    values = []
    for ends in product(*((p.ci.lo, p.ci.hi) for p in needed)):
        moved = [replace(p, median=end) for p, end in zip(needed, ends, strict=True)]
        value = measure([*others, *moved])
        # The divisor in `measure` is zero at this end of an interval: the value has no upper bound.
        values.append(math.inf if value is None else value)
    return Interval(min(values), max(values))


@dataclass(frozen=True)
class SwitchingLimit:
    """A limit of switching in one tier. The value that `measure` returns must be at most `limit` if
    `most` is true, else at least `limit`. If the value violates the limit, but the intervals of the
    medians permit a value that keeps the limit, the outcome is unresolved. If `strict` is true, the
    outcome is also unresolved if the intervals permit a value that violates the limit."""

    tier: str
    words: str
    measure: Measure
    most: bool
    limit: float
    strict: bool = False

    def judge_value(self, value: float, points: Sequence[SwitchPoint]) -> str:
        """Return the outcome of the limit for `value`: "kept", "unresolved" or BROKEN."""
        bounds = compute_measure_range(self.measure, points)
        kept = value <= self.limit if self.most else value >= self.limit
        if (self.strict or not kept) and bounds.lo < self.limit < bounds.hi:
            return UNRESOLVED
        return "kept" if kept else BROKEN

    def make_table_row(self, points: Sequence[SwitchPoint]) -> list[str] | None:
        """Return the limited quantity, the limit, the value, and "kept", "unresolved" or BROKEN;
        None if the quantity was not measured."""
        got = self.measure(points)
        if got is None:
            return None
        bound = f"{'at most' if self.most else 'at least'} {self.limit:g}"
        return [self.words, bound, f"{got:.4g}", self.judge_value(got, points)]


# The last cell in the table row of a limit. BROKEN: the limit is violated. UNRESOLVED: the noise is
# too large to say.
BROKEN, UNRESOLVED = "BROKEN", "unresolved"


def list_kernel_switching_limits(tier: str) -> list[SwitchingLimit]:
    """Return the limits for switching in a kernel: for a number of rounds, and for ratios of two
    durations in one run. The limits are the same on a processor and under an emulator. So there is
    no limit against STORES_ALONE, which only programs measure: a store to code takes an emulator
    longer than a store to a buffer."""
    limits = [
        SwitchingLimit(
            tier, "rounds of a batch of any size", find_largest_sync_round_count, True, 3
        )
    ]
    for words, method in (
        ("one static key / one batch", "static-key-one"),
        ("many static keys / one batch", "static-keys-many"),
        ("switched one by one / one batch", "one-by-one"),
    ):
        limits.append(SwitchingLimit(tier, words, make_batch_ratio_function(method), False, 1))
    limits.append(
        SwitchingLimit(
            tier,
            "gap of a batch / gap of its interrupts alone",
            compute_batch_to_interrupts_gap_ratio,
            True,
            2,
            strict=True,
        )
    )
    return limits


LIMITS = (
    SwitchingLimit(
        "native", "rounds of a batch of any size", find_largest_sync_round_count, True, 3
    ),
    SwitchingLimit(
        "native",
        "time of one more site / time of its stores",
        compute_batch_to_stores_ratio,
        True,
        2.5,
    ),
    SwitchingLimit(
        "native",
        "batch of one site / map and three rounds",
        compute_batch_to_manual_rounds_ratio,
        True,
        1.3,
    ),
    SwitchingLimit(
        "native",
        "one more site beyond 100,000 / its stores",
        compute_batch_to_stores_ratio_at_million_sites,
        True,
        2.5,
    ),
    *list_kernel_switching_limits("vm"),
    *list_kernel_switching_limits("metal"),
)
