# SPDX-License-Identifier: GPL-2.0-only
"""Computes verdicts from samples: baselines, equivalence margins, and the rule of decision.

The rule: location.py estimates the difference and its interval, and accounts for processes,
layouts, neighbouring blocks and steps of the clock. The noise floor is the largest distance from
zero in that interval for the A/A clone, a second copy of the baseline's own code. A variant is
- slower (faster) when its whole interval lies beyond the margin and its difference beyond the
  noise floor,
- equivalent when its whole interval and the noise floor lie inside the margin,
- different (the verdict "differs") when its interval excludes zero and straddles the margin, and
  its difference is beyond the noise floor: it costs about as much as the margin,
- unresolved otherwise: the data show neither a difference nor equivalence.

Where core cycles are known, slopes are in core cycles; one ratio for each benchmark converts the
estimates to TSC cycles, see corecycles.py. If the windows of a variant are not on a line over their
loop counts, the interval is widened, see linearity.py. The verdict is withheld if long loops of the
variant or of its baseline took no longer than their short loops. The clone itself is judged by the
margin alone, because its difference never exceeds its own noise floor. Instruction counts are exact
and compared as integers: identical, more or fewer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from statistics import NormalDist

from kmtools.analyse import corecycles, lateness, linearity, location, stats, stopping
from kmtools.analyse.corecycles import CoreCycleRatio
from kmtools.analyse.kept_blocks import KeptBlocks, count_kept_and_planned_blocks
from kmtools.analyse.lateness import NOT_LATE, Lateness
from kmtools.analyse.layouts import find_layout_of_executed_copy
from kmtools.analyse.slopes import (
    CLONE_SUFFIX,
    ONE,
    Slope,
    find_baseline_variant,
    fit_slopes,
    group_unflagged_windows,
    subtract_baseline,
)
from kmtools.analyse.stats import Interval
from kmtools.analyse.words import (
    BASELINE,
    DIFFERS,
    EQUIVALENT,
    FASTER,
    FEWER,
    IDENTICAL,
    MORE,
    NO_BASELINE,
    SLOWER,
    TIMED_VERDICTS,
    UNRESOLVED,
    WITHHELD,
)
from kmtools.base.text import format_count
from kmtools.measure import caches, rundir
from kmtools.measure.rundir import Tier
from kmtools.measure.samples import LOOP, Sample, pause_gc

VERDICTS = (
    *TIMED_VERDICTS,
    UNRESOLVED,
    WITHHELD,
    MORE,
    FEWER,
    IDENTICAL,
    BASELINE,
    NO_BASELINE,
)

# The note on a row whose longer loops took no longer than its shorter loops.
UNMEASURED = "nothing was measured: longer loops take no longer on this clock"
# The note on a row whose interval is wide because of the variance over code layouts, which more
# time does not reduce.
LIMITED_BY_LAYOUTS = "code layouts differ, and more time does not help"

# The first words of the note on a row whose mean over time differs from its usual cost; see
# Documentation/usual-cost.md.
MEAN_OVER_TIME = "mean over time"

# The equivalence margin of whole operations, as a share of the cost of the baseline.
WHOLE_OPERATION_SHARE = 0.01

# Equivalence margins. Columns: unit, patterns of benchmarks, a number of core cycles per operation,
# and a share of the cost of the baseline. Of the first row that matches, the larger of the two
# numbers is the margin. Margins are the same for all runs; quoted verdicts need data measured after
# the last change of this table.
# - Hot loops: a quarter of a core cycle, less than any instruction costs on a dependent path. At
#   3 GHz, this is 8 % of the time of a loop that makes 10^9 iterations a second.
# - Whole operations: one percent, less than the costs change from one build of a kernel to the next
#   because of the layout of code and data. A smaller cost does not affect the decision whether to
#   instrument code.
# - Emulated ticks: 5 %, because only rough ratios of whole operations are meaningful.
# History: wider margins for cold-* and getppid-* were removed after a first look at native numbers;
# the verdict on a cold branch that costs 0.6 cycles then changed from equivalent to slower. Three
# margins were removed later, because instructions take core cycles: 2 % under cache pressure, one
# percent for hot loops, and margins in TSC cycles.
HOT_LOOPS = ("empty-loop*", "memcpy-4096", "nop-encodings", "density-*", "cold-icache-l1")
MARGINS: tuple[tuple[str, tuple[str, ...], float, float], ...] = (
    (rundir.UNIT_TSC, HOT_LOOPS, 0.25, 0.0),
    (rundir.UNIT_TSC, ("*",), 0.25, WHOLE_OPERATION_SHARE),
    (rundir.UNIT_GUEST, HOT_LOOPS, 0.25, 0.0),
    (rundir.UNIT_GUEST, ("*",), 0.25, WHOLE_OPERATION_SHARE),
    (rundir.UNIT_EMULATED, ("*",), 0.0, 0.05),
    (rundir.UNIT_INSTRUCTIONS, ("*",), 0.0, 0.0),
)


# Statistical power: the probability that a difference of the smallest detectable size gets the
# verdict slower or faster.
POWER = 0.8


@dataclass(frozen=True)
class Result:
    """One variant of one benchmark in one tier (measurement environment): `median` is the cost,
    `delta` the difference from the baseline. Costs, differences and intervals are in `unit` per
    operation. `alpha` is the error probability of the intervals."""

    tier: str
    kernel: str
    benchmark: str
    variant: str
    unit: str
    n: int
    median: float
    ci: Interval
    baseline: str | None
    delta: float | None
    delta_ci: Interval | None
    time_ci: Interval | None
    layout_ci: Interval | None
    noise_floor: float | None
    margin: float | None
    detectable: float | None
    verdict: str
    is_clone: bool
    note: str
    correlation: float
    windows: int
    flagged: int
    late: Lateness
    flags: Mapping[str, int]
    resolution: float
    core: CoreCycleRatio | None
    alpha: float
    slopes: Sequence[Slope] = field(repr=False)
    deltas: Sequence[Slope] = field(repr=False)
    # The density of the paired differences, as pairs of value and height. figuredata.py sets the
    # fields `distribution` and `also_over`.
    distribution: Sequence[tuple[float, float]] = ()
    # One step of the clock, as a cost per operation of this variant. `resolution` is the larger of
    # the steps of this variant and of its baseline.
    step: float = 0.0
    # The mean of the paired differences over time; see Documentation/usual-cost.md.
    mean: float | None = None
    # The numbers of blocks. None if the result was read from a file and no block is missing.
    blocks: KeptBlocks | None = None
    also_over: Mapping[str, tuple[float, Interval]] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The identity of the result in its run: tier, kernel, benchmark, variant."""
        return (self.tier, self.kernel, self.benchmark, self.variant)


def find_equivalence_margin(
    unit: str, benchmark: str, baseline_cost: float, core: CoreCycleRatio | None = None
) -> float:
    """Return the equivalence margin that MARGINS declares, in `unit` per operation, for a baseline
    of the cost `baseline_cost`. If core cycles are not known, a tick counts as a core cycle."""
    for row_unit, patterns, absolute, share in MARGINS:
        if row_unit == unit and any(fnmatchcase(benchmark, one) for one in patterns):
            return max(absolute / (core.per_tick if core else 1.0), share * abs(baseline_cost))
    raise KeyError(f"no margin declared for {unit}")


def decide_verdict(
    delta: float, interval: Interval, margin: float, noise_floor: float | None
) -> str:
    """Return the verdict on a timed difference `delta` with the interval `interval`, by the rule of
    this file. If `noise_floor` is None, the noise floor is zero."""
    floor = 0.0 if noise_floor is None else noise_floor
    if interval.lo > margin and delta > floor:
        return SLOWER
    if interval.hi < -margin and delta < -floor:
        return FASTER
    if interval.max_distance_from_zero <= margin and floor <= margin:
        return EQUIVALENT
    if (interval.lo > 0 and delta > floor) or (interval.hi < 0 and delta < -floor):
        return DIFFERS
    return UNRESOLVED


def decide_exact_verdict(interval: Interval) -> str:
    """Return the verdict on a difference of exact counts: more if the differences of all blocks are
    positive, fewer if all are negative, identical if all are zero, else unresolved."""
    if interval.lo == interval.hi == 0:
        return IDENTICAL
    if interval.lo > 0:
        return MORE
    return FEWER if interval.hi < 0 else UNRESOLVED


def describe_exact_difference(interval: Interval) -> str:
    """Return the difference of two instruction counts in words, or a note that blocks disagree."""
    low, high = (format_count(end, signed=True) for end in (interval.lo, interval.hi))
    if interval.lo == interval.hi:
        return "" if interval.lo == 0 else f"{low} instructions"
    return f"blocks disagree: {low} to {high} instructions"


@dataclass(frozen=True)
class Difference:
    """The paired differences of one variant, their location `delta`, and the intervals of this
    location; see location.py."""

    deltas: Sequence[Slope]
    delta: float
    wide: Interval
    over_time: Interval
    over_layouts: Interval | None
    notes: tuple[str, ...] = ()
    endless: Interval | None = None
    mean: float | None = None
    left_out: Interval | None = None


def estimate_difference(
    variant: Sequence[Slope],
    baseline: Sequence[Slope],
    exact: bool,
    resolution: float = 0.0,
    alpha: float = location.ERROR_PROBABILITY,
    copies: int = 0,
    late_blocks: frozenset[int] = frozenset(),
) -> Difference:
    """Return the location of the paired differences with its intervals of error probability
    `alpha`; `resolution` is one step of the clock as a cost per operation. `copies` is the number
    of copies of the variant's code, 0 if each layout has its own copy. The field `wide` contains
    the interval of all blocks and the interval of the blocks outside `late_blocks`; see
    lateness.py."""
    deltas = subtract_baseline(variant, baseline)
    if copies:
        deltas = [
            one._replace(layout=find_layout_of_executed_copy(one.layout, copies)) for one in deltas
        ]
    if exact and deltas:
        interval = stats.find_slope_range(deltas)
        return Difference(deltas, stats.compute_median_slope(deltas), interval, interval, interval)
    found = location.estimate_series_location(deltas, resolution, alpha)
    wide = widen_for_late_blocks(found.interval, deltas, resolution, alpha, late_blocks)
    return Difference(
        deltas, found.value, wide, found.over_time, found.over_layouts, found.notes, found.endless,
        found.mean, found.left_out,
    )  # fmt: skip


def widen_for_late_blocks(
    interval: Interval, series: Sequence[Slope], resolution: float, alpha: float,
    late_blocks: frozenset[int],
) -> Interval:  # fmt: skip
    """Return the smallest interval that contains two intervals: `interval`, of all slopes in
    `series`, and the interval of the slopes outside `late_blocks`. If the slopes outside
    `late_blocks` are more than half of all slopes, but too few for an interval, the result contains
    `interval` and the location of these slopes."""
    others = [slope for slope in series if slope.block not in late_blocks]
    if len(others) == len(series):
        return interval
    found = location.estimate_series_location(others, resolution, alpha)
    if found.interval == stats.UNBOUNDED and 2 * len(others) > len(series):
        return interval.union(Interval(found.value, found.value))
    return interval.union(found.interval)


@dataclass(frozen=True)
class BenchmarkGroup:
    """The data of one benchmark in one tier, from which the verdicts on its variants are
    computed."""

    tier: Tier
    benchmark: str
    samples: Mapping[str, Sequence[Sample]]
    slopes: Mapping[str, Sequence[Slope]]
    baseline: str | None
    margin: float | None
    noise: Difference | None
    resolution: Mapping[str, float]
    core: CoreCycleRatio | None
    alpha: float
    bends: Mapping[str, Sequence[Slope]] = field(default_factory=dict)
    late: Mapping[str, Lateness] = field(default_factory=dict)

    def find_late_blocks(self, variant: str) -> frozenset[int]:
        """Return the blocks in which the variant or the baseline has a late window."""
        return lateness.collect_late_blocks_of_variants(
            self.late.get(name or variant, NOT_LATE) for name in (variant, self.baseline)
        )

    def has_increasing_loop_times(self, variant: str) -> bool:
        """Return True if longer loops take longer, in the variant and in the baseline. Missing
        slopes are not checked. Emulated ticks are not checked, because they do not measure the time
        of a loop."""
        if self.tier.emulated and not self.tier.exact:
            return True
        both = (self.slopes.get(name or variant, []) for name in (variant, self.baseline))
        return all(stats.compute_median_slope(series) > 0 for series in both if series)

    def get_clock_resolution(self, variant: str) -> float:
        """Return one step of the clock as a cost per operation: the larger of the costs for the
        variant and for the baseline."""
        return choose_coarser_clock_resolution(self.resolution, variant, self.baseline)

    def count_code_copies(self, variant: str) -> int:
        """Return the number of copies of a variant's code; 0 if each code layout has its own
        copy."""
        return int(self.tier.env.get(f"{rundir.LAYOUTS}{self.benchmark}:{variant}", 0))


def choose_coarser_clock_resolution(
    resolution: Mapping[str, float], variant: str, baseline: str | None
) -> float:
    """Return one step of the clock as a cost per operation: the larger of the costs for the variant
    and for the baseline."""
    return max(resolution.get(name or variant, 0.0) for name in (variant, baseline))


def make_benchmark_group(tier: Tier, benchmark: str, samples: Sequence[Sample]) -> BenchmarkGroup:
    """Compute the slopes, baseline, margin and A/A difference of one benchmark."""
    per_variant: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        per_variant[sample.variant].append(sample)
    core = corecycles.estimate_core_cycle_ratio(tier, samples)
    points = (
        group_unflagged_windows(samples, core.count_core_cycles)
        if core
        else group_unflagged_windows(samples)
    )
    per = core.exact_ratio if core else ONE
    slopes = fit_slopes(points, per)
    resolution = stats.estimate_clock_resolution(samples)
    baseline = find_baseline_variant(slopes)
    alpha = stopping.choose_error_probability(tier.env, samples, location.ERROR_PROBABILITY)
    late = lateness.compute_lateness_by_variant(samples, read_tick_rate_khz(tier))
    margin = noise = None
    if baseline is not None:
        margin = find_equivalence_margin(
            tier.unit, benchmark, stats.compute_median_slope(slopes[baseline]), core
        )
        clone = baseline + CLONE_SUFFIX
        step = choose_coarser_clock_resolution(resolution, clone, baseline)
        blocks = lateness.collect_late_blocks_of_variants(
            late[name] for name in (baseline, clone) if name in late
        )
        noise = estimate_difference(
            slopes[clone], slopes[baseline], tier.exact, step, alpha, late_blocks=blocks
        )
    return BenchmarkGroup(
        tier, benchmark, per_variant, slopes, baseline, margin, noise, resolution, core, alpha,
        linearity.compute_bends_by_variant(points, per), late,
    )  # fmt: skip


def describe_mean_over_time(group: BenchmarkGroup, diff: Difference) -> str:
    """Return a note with the mean over time if this mean differs significantly from the usual cost,
    and by more than the margin; else an empty text."""
    if diff.mean is None or diff.left_out is None or group.margin is None:
        return ""
    beyond = diff.left_out.lo > 0 or diff.left_out.hi < 0
    if not beyond or abs(diff.mean - diff.delta) <= group.margin:
        return ""
    words = "more" if diff.left_out.lo > 0 else "less"
    mean = f"{diff.mean:+.3g} {group.tier.unit}"
    return f"{MEAN_OVER_TIME} {mean}: some blocks cost {words} than usual"


def describe_late_window_caveat(tier: Tier, late: Lateness, core: CoreCycleRatio | None) -> str:
    """Return the caveat of rows of a benchmark with many late windows; see lateness.py."""
    return lateness.describe_late_windows(tier.env, late, core.spread if core else 0.0)


def judge_variant(group: BenchmarkGroup, variant: str, diff: Difference) -> tuple[str, str]:
    """Return the verdict and the note on the difference between a variant and the baseline."""
    assert group.margin is not None and group.noise is not None
    if group.tier.exact and diff.deltas:
        return decide_exact_verdict(diff.wide), describe_exact_difference(diff.wide)
    is_clone = variant == f"{group.baseline}{CLONE_SUFFIX}"
    floor = None if is_clone else group.noise.wide.max_distance_from_zero
    verdict = decide_verdict(diff.delta, diff.wide, group.margin, floor)
    notes = [*diff.notes]
    # The verdict that an endless run would give: without noise, the noise floor is zero.
    endless = diff.endless and decide_verdict(diff.delta, diff.endless, group.margin, None)
    if verdict == endless == UNRESOLVED:
        notes.append(LIMITED_BY_LAYOUTS)
    late = group.late.get(variant, NOT_LATE)
    caveats = (
        describe_mean_over_time(group, diff),
        describe_late_window_caveat(group.tier, late, group.core),
    )
    notes += filter(None, caveats)
    if diff.wide == stats.UNBOUNDED:
        notes.append("too few blocks")
    elif diff.over_layouts is None:
        notes.append("one layout only")
    return verdict, "; ".join(notes)


def read_tick_rate_khz(tier: Tier) -> float | None:
    """Return the number of ticks in a millisecond; None if this number is not known, if ticks are
    emulated, or if ticks are instructions."""
    khz = str(tier.env.get("tsc_khz", ""))
    known = khz.isdecimal() and int(khz) and not tier.emulated and not tier.exact
    return float(khz) if known else None


def compute_smallest_detectable_difference(
    noise: Interval, margin: float, alpha: float = location.ERROR_PROBABILITY
) -> float:
    """Return the smallest difference that is detected with a probability of POWER, in a variant as
    noisy as the A/A clone. `noise` is the interval of the clone, with the error probability
    `alpha`. The result is the smallest estimate that gets a verdict, plus the POWER quantile of
    the error of an estimate."""
    short = NormalDist().inv_cdf(POWER) / NormalDist().inv_cdf(1 - alpha / 2)
    return max(margin + noise.half_width, noise.max_distance_from_zero) + short * noise.half_width


def compute_group_detectable_difference(group: BenchmarkGroup) -> float | None:
    """Return the smallest difference that could be detected in a variant as noisy as the A/A
    clone."""
    if group.noise is None or group.margin is None:
        return None
    return compute_smallest_detectable_difference(group.noise.wide, group.margin, group.alpha)


def find_variant_bend(group: BenchmarkGroup, variant: str) -> float | None:
    """Return the bend of a variant, or of its difference from the baseline; see linearity.py.
    Return None if there is no significant bend."""
    series = group.bends.get(variant, [])
    if group.tier.exact:
        return linearity.find_largest_exact_bend(series)
    step = group.resolution.get(variant, 0.0)
    if group.baseline is not None and variant != group.baseline:
        series = subtract_baseline(series, group.bends.get(group.baseline, []))
        step = group.get_clock_resolution(variant)
    cost = stats.compute_median_slope(group.slopes.get(variant, []))
    return linearity.find_significant_bend(series, cost, group.margin or 0.0, step, group.alpha)


def make_variant_result(group: BenchmarkGroup, variant: str) -> Result:
    """Return the result of the variant `variant` of a benchmark, with its verdict."""
    series, windows = group.slopes.get(variant, []), group.samples[variant]
    exact = group.tier.exact
    diff, verdict, note = None, NO_BASELINE, ""
    bend = find_variant_bend(group, variant)
    if variant == group.baseline:
        verdict = BASELINE
        if exact and len({slope.value for slope in series}) > 1:
            note = "blocks disagree"
    elif group.baseline is not None:
        base = group.slopes[group.baseline]
        step, copies = group.get_clock_resolution(variant), group.count_code_copies(variant)
        late_blocks = group.find_late_blocks(variant)
        diff = estimate_difference(series, base, exact, step, group.alpha, copies, late_blocks)
        if bend is not None and not exact:
            # The widened interval contains the differences in short and in long windows.
            diff = replace(diff, wide=diff.wide.widened(abs(bend)))
        verdict, note = judge_variant(group, variant, diff)
    if not series:
        verdict, note = UNRESOLVED, "every window is flagged"
    if bend is not None:
        said = linearity.describe_bend(bend, diff is not None and not exact)
        note = "; ".join(filter(None, (said, note)))
    if not group.has_increasing_loop_times(variant):
        verdict, note = WITHHELD if diff else verdict, UNMEASURED
    n = len(diff.deltas) if diff else len(series)
    blocks = count_kept_and_planned_blocks(group.tier, group.benchmark, windows, n)
    missing = blocks.describe_missing_blocks() if series else ""
    hits = group.tier.env.get(f"{rundir.HITS}{group.benchmark}:{variant}")
    caveat = caches.describe_too_small_buffer(group.tier, group.benchmark, variant)
    note = "; ".join(filter(None, (note, missing, caveat, f"hits: {hits}" if hits else "")))
    return Result(
        tier=group.tier.tier,
        kernel=group.tier.kernel,
        benchmark=group.benchmark,
        variant=variant,
        unit=group.tier.unit,
        n=n,
        median=stats.compute_median_slope(series),
        ci=stats.find_slope_range(series)
        if exact and series
        else stats.compute_sign_test_interval(series),
        baseline=group.baseline,
        delta=diff.delta if diff else None,
        delta_ci=diff.wide if diff else None,
        time_ci=diff.over_time if diff else None,
        layout_ci=diff.over_layouts if diff else None,
        noise_floor=group.noise.wide.max_distance_from_zero if group.noise else None,
        margin=group.margin,
        detectable=compute_group_detectable_difference(group),
        verdict=verdict,
        is_clone=group.baseline is not None and variant == group.baseline + CLONE_SUFFIX,
        note=note,
        correlation=1.0
        if exact
        else stats.estimate_correlation_time(diff.deltas if diff else series),
        windows=len(windows),
        flagged=sum(1 for window in windows if window.flags),
        late=group.late.get(variant, NOT_LATE),
        flags=stats.count_flagged_windows(windows),
        resolution=group.get_clock_resolution(variant),
        step=group.resolution.get(variant, 0.0),
        core=group.core,
        alpha=group.alpha,
        mean=diff.mean if diff else None,
        blocks=blocks,
        slopes=series,
        deltas=diff.deltas if diff else [],
    )


@pause_gc()
def compute_results(samples: Iterable[Sample], tiers: Sequence[Tier]) -> list[Result]:
    """Return the results of all variants, ordered by tier, kernel and benchmark."""
    known = {(tier.tier, tier.kernel): tier for tier in tiers}
    groups: dict[tuple[str, str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.measured == LOOP:
            groups[sample.tier, sample.kernel, sample.benchmark].append(sample)
    results = []
    for name in sorted(groups, key=lambda key: (rundir.get_tier_table_position(key[0]), key[1:])):
        group = make_benchmark_group(known[name[0], name[1]], name[2], groups[name])
        # The order of the results: the baseline, its A/A clone, then the other variants by name.
        first = [group.baseline, f"{group.baseline}{CLONE_SUFFIX}"] if group.baseline else []
        order = [*first, *sorted(set(group.samples) - set(first))]
        results += [make_variant_result(group, variant) for variant in order]
    return results
