# SPDX-License-Identifier: GPL-2.0-only
"""Tests of slopes, intervals and verdicts: exact values, and error rates in simulations."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import rawdata
from kmtools.analyse import lateness, location, stats, verdicts
from kmtools.analyse.corecycles import CoreCycleRatio
from kmtools.analyse.grade import Evidence, grade_evidence
from kmtools.analyse.lateness import NOT_LATE, Lateness
from kmtools.analyse.rows import divide_by_baseline
from kmtools.analyse.slopes import (
    Slope,
    find_baseline_variant,
    fit_line,
    fit_slopes,
    fit_slopes_of_samples,
    subtract_baseline,
)
from kmtools.analyse.stats import UNBOUNDED, Interval
from kmtools.analyse.verdicts import (
    DIFFERS,
    EQUIVALENT,
    FASTER,
    FEWER,
    IDENTICAL,
    MORE,
    SLOWER,
    UNRESOLVED,
)
from kmtools.measure import rundir
from kmtools.measure.rundir import Tier
from kmtools.measure.samples import Sample
from numpy.typing import NDArray

NATIVE = Tier("native", "k", rundir.UNIT_TSC, False, {}, {})
ICOUNT = Tier("icount", "k", rundir.UNIT_INSTRUCTIONS, True, {}, {})
MARGIN = 0.25


def make_window(variant: str, block: int, loops: int, value: int, **more: object) -> Sample:
    fields: dict[str, object] = {
        "tier": "native", "kernel": "k", "process": 1, "benchmark": "b", "variant": variant,
        "measured": "loop", "layout": block % 4, "block": block, "position": 0, "cpu": 0,
        "loops": loops, "sites": None, "value": value, "unit": rundir.UNIT_TSC,
        "core_cycles": None, "flags": (),
    }  # fmt: skip
    return Sample(**(fields | more))  # type: ignore[arg-type]


def make_slope_series(
    values: Sequence[float] | NDArray[np.float64], layouts: int = 4
) -> list[Slope]:
    return [Slope.from_fraction(i, i % layouts, Fraction(float(x))) for i, x in enumerate(values)]


def make_zero_slopes(like: Sequence[Slope]) -> list[Slope]:
    return [Slope.from_fraction(slope.block, slope.layout, Fraction(0)) for slope in like]


def test_slope_of_two_points_is_exact() -> None:
    assert Fraction(*fit_line([(1000, 5090), (3000, 9090)])) == 2
    assert Fraction(*fit_line([(1000, 9090), (3000, 5090)])) == -2
    assert Fraction(*fit_line([(3, 0), (10, 1)])) == Fraction(1, 7)


def test_slope_of_two_points_in_any_order_has_a_denominator_above_zero() -> None:
    """A denominator below zero would turn a cost of zero into -0, which tables would print."""
    assert fit_line([(3000, 9090), (1000, 5090)]) == (4000, 2000)
    assert fit_line([(3000, 90), (1000, 90)]) == fit_line([(1000, 90), (3000, 90)]) == (0, 2000)


def test_slope_of_more_points_is_least_squares() -> None:
    points = [(1, 3), (2, 4), (4, 9), (8, 10)]
    expected = np.polyfit([1.0, 2.0, 4.0, 8.0], [3.0, 4.0, 9.0, 10.0], 1)[0]
    assert Fraction(*fit_line(points)) == pytest.approx(expected)


def test_one_loop_count_gives_no_slope() -> None:
    assert fit_line([(5, 1), (5, 3)])[1] == fit_line([(5, 1), (5, 3), (5, 4)])[1] == 0


def test_flagged_windows_are_excluded_and_counted() -> None:
    samples = []
    for block in range(8):
        for variant in ("none", "none-clone", "x"):
            for loops in (10, 20):
                spoilt = variant == "x" and block == 3 and loops == 20
                flags = ("preempted", "migrated") if spoilt else ()
                value = 10**9 if spoilt else 7 * loops
                samples.append(make_window(variant, block, loops, value, flags=flags))
    fitted = fit_slopes_of_samples(samples)
    assert [s.block for s in fitted["x"]] == [0, 1, 2, 4, 5, 6, 7]
    assert {s.value for s in fitted["x"]} == {Fraction(7)}
    x = {r.variant: r for r in verdicts.compute_results(samples, [NATIVE])}["x"]
    assert (x.n, x.windows, x.flagged) == (7, 16, 1)
    assert x.flags == {"migrated": 1, "preempted": 1}


def test_variant_with_only_flagged_windows_is_kept() -> None:
    samples = [
        make_window(v, block, loops, loops, flags=("preempted",) if v == "x" else ())
        for block in range(8) for v in ("none", "none-clone", "x") for loops in (1, 2)
    ]  # fmt: skip
    x = {r.variant: r for r in verdicts.compute_results(samples, [NATIVE])}["x"]
    assert (x.n, x.flagged, x.verdict) == (0, 16, UNRESOLVED)


def test_results_are_ordered_by_tier_kernel_benchmark_and_variant() -> None:
    """The tiers are in the order of tables, which is not alphabetical. In a benchmark, the baseline
    comes first, then its clone."""
    wanted = [
        (tier, kernel, benchmark, variant)
        for tier in ("native", "metal", "vm", "icount")
        for kernel in ("5.10", "6.1")
        for benchmark in ("a", "b")
        for variant in ("none", "none-clone", "m", "x")
    ]
    windows = [
        make_window(v, block, loops, loops, tier=tier, kernel=kernel, benchmark=benchmark)
        for tier, kernel, benchmark, v in sorted(wanted, reverse=True)
        for block in range(2) for loops in (1, 2)
    ]  # fmt: skip
    tiers = [
        replace(NATIVE, tier=tier, kernel=kernel)
        for tier, kernel in sorted({name[:2] for name in wanted})
    ]
    found = verdicts.compute_results(windows, tiers)
    assert [(r.tier, r.kernel, r.benchmark, r.variant) for r in found] == wanted


def test_slopes_are_divided_by_the_core_cycles_of_a_tick() -> None:
    """A pass takes 3 core cycles, and a tick is 3/2 core cycles. A block with one loop count has no
    slope."""
    points = {
        ("v", 1, 5, 2): [(10, 130), (20, 160)],
        ("v", 0, 4, 1): [(10, 40), (20, 70), (40, 130)],
        ("v", 2, 6, 2): [(10, 40), (10, 50)],
    }
    found = fit_slopes(points, Fraction(3, 2))["v"]
    assert [(one.block, one.layout, one.process, one.value) for one in found] == [
        (0, 4, 1, Fraction(2)),
        (1, 5, 2, Fraction(2)),
    ]


def test_differences_of_fractions_are_exact() -> None:
    """7/2 - 5/3 is 11/6, and 7/2 - 9/2 is -1. Slopes of different layouts are not subtracted."""
    variant = [Slope(0, 1, 7, 2, 3), Slope(1, 1, 7, 2, 4), Slope(2, 1, 7, 2, 4)]
    baseline = [Slope(0, 1, 5, 3, 3), Slope(1, 1, 9, 2, 4), Slope(2, 2, 9, 2, 4)]
    found = subtract_baseline(variant, baseline)
    assert [(one.block, one.layout, one.process, one.value) for one in found] == [
        (0, 1, 3, Fraction(11, 6)),
        (1, 1, 4, -1),
    ]


def test_differences_are_paired_by_block() -> None:
    variant = [Slope.from_fraction(0, 0, Fraction(5)), Slope.from_fraction(2, 2, Fraction(9))]
    baseline = [
        Slope.from_fraction(0, 0, Fraction(3)),
        Slope.from_fraction(1, 1, Fraction(100)),
        Slope.from_fraction(2, 2, Fraction(10)),
    ]
    assert [(d.block, int(d.value)) for d in subtract_baseline(variant, baseline)] == [
        (0, 2),
        (2, -1),
    ]


def test_shares_are_divided_by_the_baseline_of_the_same_block() -> None:
    """In block 0, 7/2 divided by 5/3 is 21/10. Blocks in which the baseline was not measured, or
    costs nothing, are left out."""
    variant = [Slope(block, block + 1, 7, 2, process=block + 2) for block in range(4)]
    baseline = {0: Slope(0, 1, 5, 3), 1: Slope(1, 2, -1, 4), 2: Slope(2, 3, 0, 4)}
    found = divide_by_baseline(variant, baseline)
    assert [(one.block, one.layout, one.process, one.value) for one in found] == [
        (0, 1, 2, Fraction(21, 10)),
        (1, 2, 3, Fraction(-14)),
    ]


@pytest.mark.parametrize(
    ("n", "rank"), [(0, 0), (1, 0), (5, 0), (6, 1), (9, 2), (20, 6), (50, 18), (100, 40)]
)
def test_sign_test_ranks_match_published_tables(n: int, rank: int) -> None:
    assert stats.compute_sign_test_rank(n) == rank


@pytest.mark.parametrize(("n", "correlation"), [(40, 0.0), (200, 0.0), (200, 0.7)])
def test_sign_interval_covers_a_skewed_median(n: int, correlation: float) -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(300):
        skewed = np.exp(rawdata.make_correlated_series(rng, n, correlation))
        interval = stats.compute_sign_test_interval(make_slope_series(skewed))
        hits += interval.lo <= 1.0 <= interval.hi
    assert hits >= 0.9 * 300


def test_correlation_of_blocks_is_detected() -> None:
    rng = np.random.default_rng(6)
    alone = stats.estimate_correlation_time(make_slope_series(rng.standard_normal(400)))
    together = stats.estimate_correlation_time(
        make_slope_series(rawdata.make_correlated_series(rng, 400, 0.9))
    )
    assert alone < 2 < 4 < together


def make_alternating_runs(runs: int, length: int) -> list[float]:
    """Return different values in runs of `length` values: the runs are alternately below and above
    the median."""
    values = np.arange(1.0, runs * length + 1).reshape(runs, length)
    order = [half for pair in zip(range(runs // 2), range(runs // 2, runs)) for half in pair]
    return [float(value) for value in values[order].reshape(-1)]


@pytest.mark.parametrize(
    ("values", "time"),
    [
        # With fewer than eight blocks, or if all blocks are equal, no correlation is estimated.
        ([0, 0, 0, 0, 1, 1, 1], 1),
        ([3] * 20, 1),
        # The autocorrelation at lags 1 and 2 is 5/8 and 2/8.
        ([0, 0, 0, 0, 1, 1, 1, 1], 1 + 2 * 7 / 8),
        # The autocorrelation at lag k is 1 - 3k/16; the sum of lags 5 and 6 is below zero.
        ([0] * 8 + [1] * 8, 1 + 2 * (23 + 11) / 16),
        # One of nine blocks is a tie. The autocorrelation of the other blocks is 6/8 and 3/8.
        ([1, 1, 1, 1, 2, 3, 3, 3, 3], (1 + 2 * 9 / 8) * 8 / 9),
        # For alternating blocks, or only two blocks without a tie, the estimate would be below 1.
        ([0, 1] * 10, 1),
        ([0, *[1] * 10, 2], 1),
        (make_alternating_runs(10, 4), 1 + 2 * (21 + 2) / 40),
    ],
)
def test_correlation_time_equals_a_computation_by_hand(values: list[float], time: float) -> None:
    assert stats.estimate_correlation_time(make_slope_series(values, layouts=1)) == pytest.approx(
        time
    )


def test_difference_between_layouts_is_not_taken_for_correlation() -> None:
    """Blocks are compared with the median of their layout. Here, the blocks of the second layout
    cost 100 more, and the correlation time is the same as without this cost."""
    values = [0.0] * 8 + [1.0] * 8
    moved = [value + 100 * (block % 2) for block, value in enumerate(values)]
    assert stats.estimate_correlation_time(make_slope_series(moved, layouts=2)) == pytest.approx(
        5.25
    )


@pytest.mark.parametrize(
    ("values", "lo", "hi"),
    [
        ([*make_alternating_runs(4, 1), 5.0], -np.inf, np.inf),
        (make_alternating_runs(6, 1), 1, 6),
        # In tables of the sign test, 20 independent values have the ranks 6 and 15.
        (make_alternating_runs(20, 1), 6, 15),
        # The correlation time tau is 6.7 blocks: n / tau is 2, rounded down, which is too small for
        # a narrower interval than the whole range.
        (make_alternating_runs(2, 10), 1, 20),
        # The correlation time tau is 2.15 blocks: n / tau is 18, rounded down. In tables, 18 values
        # have the ranks 5 and 14; the scaled rank is 5 * 41 / 19, which is 10.8.
        (make_alternating_runs(10, 4), 10, 31),
    ],
)
def test_ends_of_a_sign_test_interval_are_values_at_ranks(
    values: list[float], lo: float, hi: float
) -> None:
    assert stats.compute_sign_test_interval(make_slope_series(values, layouts=1)) == Interval(
        lo, hi
    )


def test_medians_of_layouts_are_ordered_by_layout() -> None:
    series = [Slope(block, layout, top) for block, layout, top in ((0, 9, 4), (1, 2, 7), (2, 9, 5))]
    assert [*stats.compute_layout_medians(series).items()] == [(2, 7), (9, 4.5)]
    assert str(stats.compute_median_slope([])) == "nan"


def test_flags_are_counted_by_name_in_alphabetical_order() -> None:
    flags = [("preempted",), (), ("preempted", "migrated"), ("interrupted",)]
    samples = [make_window("v", block, 1, 1, flags=words) for block, words in enumerate(flags)]
    found = stats.count_flagged_windows(samples)
    assert [*found.items()] == [("interrupted", 1), ("migrated", 1), ("preempted", 2)]


@pytest.mark.parametrize(("flagged", "known"), [(0, True), (1, False)])
def test_clock_resolution_needs_20_windows_without_a_flag(flagged: int, known: bool) -> None:
    """The durations are multiples of 26 ticks, and the loop counts differ by 130 passes. A variant
    with one loop count has no resolution."""
    samples = [
        make_window(name, block, loops, 26 * (block + loops), flags=("preempted",) * (n < flagged))
        for n, (block, (name, loops)) in enumerate(
            itertools.product(range(5), (("a", 27), ("a", 157), ("a", 60), ("b", 27)))
        )
    ]
    found = stats.estimate_clock_resolution(samples)
    assert found == (pytest.approx({"a": 0.2}) if known else {})
    assert stats.estimate_clock_resolution([s for s in samples * 4 if s.variant == "b"]) == {}


def test_few_code_layouts_widen_the_interval() -> None:
    values = np.tile([0.0, 0.0, 0.0, 1.0], 250)
    found = location.estimate_series_location(make_slope_series(values))
    assert found.interval.lo < 0 < 0.5 < found.interval.hi
    assert found.over_layouts is not None
    assert (
        location.estimate_series_location(make_slope_series(values, layouts=1)).over_layouts is None
    )


def simulate_differences(
    rng: np.random.Generator, n: int, shape: rawdata.Noise, effect: float
) -> list[Slope]:
    """Return `n` simulated paired differences around a true effect, with the noise of `shape`."""
    x = effect + shape.jitter * rawdata.make_correlated_series(rng, n, shape.correlation)
    x = x + shape.drift * np.cumsum(rng.standard_normal(n)) / np.sqrt(n)
    tail = rng.random(n) < shape.tails
    x[tail] += rng.choice([-1, 1], tail.sum()) * shape.jitter * 20 * rng.pareto(1.2, tail.sum())
    return make_slope_series(x + shape.layout * rng.standard_normal(4)[np.arange(n) % 4])


def count_simulated_verdicts(
    shape: rawdata.Noise, n: int, effect: float, runs: int
) -> list[Counter[str]]:
    """Return the numbers of verdicts in simulated runs of `n` blocks, in two counters: for A/A
    clones, and for variants with a true effect."""
    rng = np.random.default_rng(7)
    clones: Counter[str] = Counter()
    variants: Counter[str] = Counter()
    for _ in range(runs):
        clone, variant = (
            simulate_differences(rng, n, shape, 0.0),
            simulate_differences(rng, n, shape, effect),
        )
        noise = verdicts.estimate_difference(clone, make_zero_slopes(clone), exact=False)
        found = verdicts.estimate_difference(variant, make_zero_slopes(variant), exact=False)
        clones[verdicts.decide_verdict(noise.delta, noise.wide, MARGIN, None)] += 1
        variants[
            verdicts.decide_verdict(
                found.delta, found.wide, MARGIN, noise.wide.max_distance_from_zero
            )
        ] += 1
    return [clones, variants]


SHAPES = {
    "calm": rawdata.Noise(jitter=0.3, correlation=0.0, drift=0.0, tails=0.0, layout=0.0),
    "tails": rawdata.Noise(jitter=0.3, correlation=0.0, drift=0.0, tails=0.1, layout=0.05),
    "correlated": rawdata.Noise(jitter=0.3, correlation=0.9, drift=0.0, tails=0.02, layout=0.05),
    "drifting": rawdata.Noise(jitter=0.3, correlation=0.5, drift=0.25, tails=0.02, layout=0.05),
    "layout": rawdata.Noise(jitter=0.3, correlation=0.5, drift=0.0, tails=0.02, layout=0.3),
    "layout-large": rawdata.Noise(jitter=0.3, correlation=0.5, drift=0.1, tails=0.02, layout=2.0),
}


@pytest.mark.many
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("blocks", [40, 200])
def test_identical_code_is_rarely_called_slower_or_faster(name: str, blocks: int) -> None:
    """The error rate is at most 5 %. For the noise "layout-large", two standard deviations more are
    allowed: layout effects far larger than the margin make the error rate exactly 5 %."""
    runs = 200
    allowed = 0.05 * runs + (2 * (0.05 * 0.95 * runs) ** 0.5 if name == "layout-large" else 0)
    clones, variants = count_simulated_verdicts(SHAPES[name], blocks, 0.0, runs)
    assert clones[SLOWER] + clones[FASTER] <= allowed
    assert variants[SLOWER] + variants[FASTER] <= allowed


@pytest.mark.parametrize("name", ["calm", "tails", "correlated", "drifting"])
@pytest.mark.parametrize(("effect", "verdict"), [(1.0, SLOWER), (-1.0, FASTER)])
def test_true_difference_of_one_tick_is_detected(name: str, effect: float, verdict: str) -> None:
    assert count_simulated_verdicts(SHAPES[name], 200, effect, 60)[1][verdict] >= 0.9 * 60


def test_zero_difference_is_equivalent_only_with_a_narrow_interval_and_little_noise() -> None:
    assert verdicts.decide_verdict(0.0, Interval(-3.0, 3.1), MARGIN, 0.1) == UNRESOLVED
    assert verdicts.decide_verdict(0.0, Interval(-0.1, 0.2), MARGIN, 0.1) == EQUIVALENT
    assert verdicts.decide_verdict(0.0, Interval(-0.1, 0.2), MARGIN, 5.0) == UNRESOLVED


def test_difference_must_exceed_margin_and_noise_floor() -> None:
    assert verdicts.decide_verdict(0.4, Interval(0.3, 0.5), MARGIN, 0.35) == SLOWER
    assert verdicts.decide_verdict(-0.4, Interval(-0.5, -0.3), MARGIN, 0.35) == FASTER
    assert verdicts.decide_verdict(0.4, Interval(0.3, 0.5), MARGIN, 0.45) == UNRESOLVED
    assert verdicts.decide_verdict(0.4, Interval(-0.1, 0.9), MARGIN, 0.1) == UNRESOLVED
    assert verdicts.decide_verdict(0.4, Interval(0.3, 0.5), MARGIN, None) == SLOWER


def test_cost_equal_to_the_margin_is_a_difference() -> None:
    """For an interval that excludes 0 and contains the margin, the verdict is "differs" if the cost
    exceeds the noise floor, else "unresolved"."""
    for sign in (1, -1):
        ends = Interval(*sorted((sign * 0.24, sign * 0.26)))
        assert verdicts.decide_verdict(sign * 0.25, ends, 0.25, 0.1) == DIFFERS
        assert verdicts.decide_verdict(sign * 0.25, ends, 0.25, 0.3) == UNRESOLVED
        assert verdicts.decide_verdict(sign * 0.25, ends, 0.27, 0.3) == UNRESOLVED
        assert verdicts.decide_verdict(sign * 0.25, ends, 0.27, 0.1) == EQUIVALENT
    assert verdicts.decide_verdict(0.3, Interval(0.0, 0.6), 0.25, 0.1) == UNRESOLVED


@pytest.mark.parametrize(
    ("delta", "ends", "floor", "verdict"),
    [
        # An interval that touches the margin is not beyond the margin.
        (0.5, (0.25, 0.75), 0.0, DIFFERS),
        (0.5, (0.26, 0.74), 0.0, SLOWER),
        # A difference equal to the noise floor does not exceed the noise floor.
        (0.5, (0.26, 0.74), 0.5, UNRESOLVED),
        (0.5, (0.26, 0.74), 0.49, SLOWER),
        # The whole interval, and the noise floor, may reach the margin.
        (0.125, (0.0, 0.25), 0.25, EQUIVALENT),
        (0.125, (-0.25, 0.25), None, EQUIVALENT),
        (0.125, (0.0, 0.26), 0.0, UNRESOLVED),
        (0.125, (0.0, 0.25), 0.26, UNRESOLVED),
        # An interval that excludes zero, but contains the margin.
        (0.3, (0.01, 0.6), 0.29, DIFFERS),
        (0.3, (0.01, 0.6), 0.3, UNRESOLVED),
    ],
)
def test_cost_that_reaches_a_limit_does_not_exceed_the_limit(
    delta: float, ends: tuple[float, float], floor: float | None, verdict: str
) -> None:
    assert verdicts.decide_verdict(delta, Interval(*ends), 0.25, floor) == verdict
    mirrored = verdicts.decide_verdict(-delta, Interval(-ends[1], -ends[0]), 0.25, floor)
    assert mirrored == MIRRORED.get(verdict, verdict)


def make_slopes_of_one_layout(values: Sequence[float], first: int = 0) -> list[Slope]:
    """Return a block of one layout and process for each of `values`, numbered from `first` on."""
    return [Slope(first + n, 0, round(4 * value), 4) for n, value in enumerate(values)]


@pytest.mark.parametrize(
    ("quiet", "late", "ends"),
    [
        (24, 0, (8, 9)),
        # Six batches of blocks without late windows are enough for an interval.
        (24, 24, (2, 9)),
        # Blocks without late windows are too few for an interval, but more than half of all blocks.
        (23, 22, (2, 9)),
        (23, 23, (-np.inf, np.inf)),
        (0, 24, (-np.inf, np.inf)),
    ],
)
def test_interval_contains_the_interval_of_blocks_without_late_windows(
    quiet: int, late: int, ends: tuple[float, float]
) -> None:
    """The interval of all blocks is 8 to 9; blocks without a late window cost 2."""
    series = make_slopes_of_one_layout([2.0] * quiet + [30.0] * late)
    blocks = frozenset(range(quiet, quiet + late))
    found = verdicts.widen_for_late_blocks(Interval(8, 9), series, 0.0, 0.05, blocks)
    assert (found.lo, found.hi) == ends


def make_group_with_margin(**more: object) -> verdicts.BenchmarkGroup:
    """Return a benchmark with the baseline "none" and a margin of 0.25; `more` replaces fields."""
    fields: dict[str, object] = {
        "tier": NATIVE, "benchmark": "b", "samples": {}, "slopes": {}, "baseline": "none",
        "margin": 0.25, "noise": None, "resolution": {}, "core": None, "alpha": 0.05,
    }  # fmt: skip
    return verdicts.BenchmarkGroup(**(fields | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mean", "ends", "said"),
    [
        (1.26, (0.01, 0.5), "+1.26 TSC cycles: some blocks cost more than usual"),
        (0.74, (-0.5, -0.01), "+0.74 TSC cycles: some blocks cost less than usual"),
        # The mean must differ by more than the margin, and its interval must exclude zero.
        (1.25, (0.01, 0.5), None),
        (0.75, (-0.5, -0.01), None),
        (9.0, (0.0, 20.0), None),
        (-9.0, (-20.0, 0.0), None),
    ],
)
def test_mean_that_differs_from_the_median_is_reported(
    mean: float, ends: tuple[float, float], said: str | None
) -> None:
    one = Interval(0, 0)
    difference = verdicts.Difference([], 1.0, one, one, None, (), None, mean, Interval(*ends))
    found = verdicts.describe_mean_over_time(make_group_with_margin(), difference)
    assert found == (f"mean over time {said}" if said else "")
    assert verdicts.describe_mean_over_time(make_group_with_margin(margin=None), difference) == ""


@pytest.mark.parametrize(
    ("blocks", "layouts", "note"),
    [(64, 4, ""), (64, 1, "one layout only"), (23, 4, "too few blocks"), (23, 1, "too few blocks")],
)
def test_note_has_the_reason_of_a_missing_interval(blocks: int, layouts: int, note: str) -> None:
    series = [Slope(n, n % layouts, 2, 1, n // 8) for n in range(blocks)]
    base = [one._replace(top=1) for one in series]
    difference = verdicts.estimate_difference(series, base, exact=False)
    noise = verdicts.estimate_difference(base, base, exact=False)
    group = make_group_with_margin(noise=noise)
    verdict = SLOWER if blocks == 64 else UNRESOLVED
    assert verdicts.judge_variant(group, "x", difference) == (verdict, note)


@pytest.mark.parametrize(
    ("variant", "verdict"),
    [("x", UNRESOLVED), ("x-clone", UNRESOLVED), ("none-clone", SLOWER), ("clone", UNRESOLVED)],
)
@pytest.mark.parametrize(("noise", "sign"), [((-0.5, 0.3), 1), ((-0.1, 0.5), -1)])
def test_noise_floor_is_not_applied_to_its_own_clone(
    variant: str, verdict: str, noise: tuple[float, float], sign: int
) -> None:
    """A difference of 0.4 exceeds the margin of 0.25, but not the noise floor of 0.5; a difference
    of 0.6 exceeds both."""
    floor = Interval(*noise)
    group = make_group_with_margin(noise=verdicts.Difference([], 0.0, floor, floor, floor))
    for size, expected in ((0.4, verdict), (0.6, SLOWER)):
        ends = Interval(*sorted((sign * (size - 0.1), sign * (size + 0.1))))
        difference = verdicts.Difference([], sign * size, ends, ends, ends)
        said = expected if sign > 0 else MIRRORED.get(expected, expected)
        assert verdicts.judge_variant(group, variant, difference) == (said, "")


BY_LAYOUTS = "code layouts differ, and more time does not help"


@pytest.mark.parametrize(
    ("wide", "endless", "note"),
    [
        ((-0.1, 0.9), None, ""),
        ((-0.1, 0.9), (0.0, 0.8), BY_LAYOUTS),
        ((-0.1, 0.9), (0.1, 0.7), ""),
        # The noise floor is 0.5; an endless run has no noise floor.
        ((0.3, 0.5), (0.3, 0.5), ""),
        ((0.3, 0.5), (0.0, 0.5), BY_LAYOUTS),
        ((-0.1, 0.25), (0.0, 0.25), ""),
    ],
)
def test_row_that_more_time_cannot_resolve_has_a_note(
    wide: tuple[float, float], endless: tuple[float, float] | None, note: str
) -> None:
    """Both signs of the difference, 0.4 and -0.4, give the same note."""
    floor = Interval(-0.5, 0.1)
    group = make_group_with_margin(noise=verdicts.Difference([], 0.0, floor, floor, floor))
    for turn in (Interval, lambda lo, hi: Interval(-hi, -lo)):
        ends = turn(*wide)
        delta = 0.4 if turn is Interval else -0.4
        later = turn(*endless) if endless else None
        difference = verdicts.Difference([], delta, ends, ends, ends, (), later)
        assert verdicts.judge_variant(group, "x", difference) == (UNRESOLVED, note)
        resolved = replace(difference, delta=1.5 * delta, wide=turn(0.5, 0.7))
        assert verdicts.judge_variant(group, "x", resolved)[1] == ""


def test_notes_of_a_row_are_in_a_fixed_order() -> None:
    """A row of exact counts has only the note about its counts."""
    one, left_out = Interval(-0.1, 0.9), Interval(0.1, 0.9)
    noise = verdicts.Difference([], 0.0, Interval(0, 0), one, one)
    late = Lateness(share=0.5)
    group = make_group_with_margin(noise=noise, late={"x": late, "y": NOT_LATE})
    series = [Slope(block, 0, 2, 1) for block in range(8)]
    difference = verdicts.Difference(series, 0.4, one, one, None, ("a", "b"), one, 0.8, left_out)
    words = lateness.describe_late_windows({}, late)
    over = "mean over time +0.8 TSC cycles: some blocks cost more than usual"
    for variant, parts in (("x", (over, words)), ("y", (over,)), ("z", (over,))):
        note = "; ".join(("a", "b", BY_LAYOUTS, *parts, "one layout only"))
        assert verdicts.judge_variant(group, variant, difference) == (UNRESOLVED, note)
    exact = replace(group, tier=ICOUNT)
    counted = (UNRESOLVED, "blocks disagree: -0.1 to +0.9 instructions")
    assert verdicts.judge_variant(exact, "x", difference) == counted
    none = verdicts.Difference([], 0.0, UNBOUNDED, UNBOUNDED, None)
    assert verdicts.judge_variant(exact, "y", none) == (UNRESOLVED, "too few blocks")


@pytest.mark.parametrize(
    ("tier", "khz"),
    [
        (replace(NATIVE, env={"tsc_khz": "2500000"}), 2.5e6),
        (replace(NATIVE, env={"tsc_khz": "x"}), None),
        # A kernel that could not find out the rate of its clock writes tsc_khz=0.
        (replace(NATIVE, env={"tsc_khz": "0"}), None),
        (NATIVE, None),
        (replace(NATIVE, env={"tsc_khz": "2500000"}, emulated=True), None),
        (replace(ICOUNT, env={"tsc_khz": "2500000"}), None),
    ],
)
def test_tick_rate_is_known_only_for_real_ticks(tier: Tier, khz: float | None) -> None:
    assert verdicts.read_tick_rate_khz(tier) == khz


def test_difference_has_the_coarser_clock_resolution() -> None:
    steps = {"none": 0.5, "x": 0.25, "y": 0.75}
    group = make_group_with_margin(resolution=steps)
    assert [group.get_clock_resolution(name) for name in ("none", "x", "y", "z")] == [
        *(0.5, 0.5, 0.75, 0.5)
    ]
    assert make_group_with_margin(resolution=steps, baseline=None).get_clock_resolution("x") == 0.25


@pytest.mark.parametrize(
    ("half", "far", "alpha", "smallest"),
    [
        # The 80 % quantile of the normal distribution is 0.8416, the 97.5 % quantile 1.9600, and
        # the 98.5 % quantile 2.1701.
        (1.0, 1.0, 0.05, 0.25 + 1 + 0.8416 / 1.96),
        (1.0, 3.0, 0.05, 3 + 0.8416 / 1.96),
        (1.0, 1.0, 0.03, 0.25 + 1 + 0.8416 / 2.1701),
        (2.0, 2.0, 0.05, 0.25 + 2 + 2 * 0.8416 / 1.96),
    ],
)
def test_smallest_detectable_difference_equals_a_computation_by_hand(
    half: float, far: float, alpha: float, smallest: float
) -> None:
    """The interval of the clone has the half width `half`, and ends at `far`."""
    noise = Interval(far - 2 * half, far)
    found = verdicts.compute_smallest_detectable_difference(noise, 0.25, alpha)
    assert found == pytest.approx(smallest, abs=1e-4)


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((0, 0), ""),
        ((3, 3), "+3 instructions"),
        ((-0.5, -0.5), "-0.5 instructions"),
        ((-1, 1), "blocks disagree: -1 to +1 instructions"),
        ((0, 2), "blocks disagree: +0 to +2 instructions"),
    ],
)
def test_difference_of_counts_is_described_in_words(ends: tuple[float, float], words: str) -> None:
    assert verdicts.describe_exact_difference(Interval(*ends)) == words


def test_baseline_whose_counts_disagree_has_a_note() -> None:
    samples = [
        make_window(
            name, block, loops, loops * (3 + (block == 1 and name == "none")),
            tier="icount", unit=rundir.UNIT_INSTRUCTIONS,
        )
        for block in range(4) for name in ("none", "none-clone") for loops in (100, 300)
    ]  # fmt: skip
    found = verdicts.compute_results(samples, [ICOUNT])
    assert [one.note for one in found] == [
        "blocks disagree",
        "blocks disagree: -1 to +0 instructions",
    ]
    assert found[0].ci == Interval(3, 4) and found[0].verdict == verdicts.BASELINE


MIRRORED = {SLOWER: FASTER, FASTER: SLOWER, MORE: FEWER, FEWER: MORE}
# Differences below, at and above the margin and each noise floor.
AMOUNTS = (0.0, 0.05, 0.1, 0.2, 0.25, 0.3, 0.45, 0.5, 2.0)


def negate_interval(interval: Interval) -> Interval:
    return Interval(-interval.hi, -interval.lo)


@pytest.mark.parametrize("floor", [None, 0.0, 0.1, 0.25, 0.45])
def test_verdicts_faster_and_slower_are_symmetric(floor: float | None) -> None:
    seen = set()
    for delta, below, above in itertools.product(AMOUNTS, repeat=3):
        interval = Interval(delta - below, delta + above)
        verdict = verdicts.decide_verdict(delta, interval, MARGIN, floor)
        other = verdicts.decide_verdict(-delta, negate_interval(interval), MARGIN, floor)
        assert other == MIRRORED.get(verdict, verdict), (delta, interval)
        seen.add(verdict)
    assert {SLOWER, DIFFERS, UNRESOLVED} <= seen and FASTER not in seen


def test_verdicts_fewer_and_more_are_symmetric() -> None:
    seen = set()
    for low, width in itertools.product((-2, -1, 0, 1, 2), (0, 1, 3)):
        interval = Interval(low, low + width)
        verdict = verdicts.decide_exact_verdict(interval)
        assert verdicts.decide_exact_verdict(negate_interval(interval)) == MIRRORED.get(
            verdict, verdict
        )
        seen.add(verdict)
    assert seen == {MORE, FEWER, IDENTICAL, UNRESOLVED}


def test_too_few_blocks_give_no_verdict() -> None:
    samples = [
        make_window(variant, block, loops, loops * cost)
        for block in range(5)
        for variant, cost in (("none", 1), ("none-clone", 1), ("x", 900))
        for loops in (1000, 2000)
    ]
    results = {r.variant: r for r in verdicts.compute_results(samples, [NATIVE])}
    assert results["x"].verdict == results["none-clone"].verdict == UNRESOLVED
    assert "too few" in results["x"].note


@pytest.mark.parametrize("still", [{}, {"x": 1}, {"none": 1, "none-clone": 1}])
def test_verdicts_on_zero_costs_are_withheld(still: dict[str, int]) -> None:
    """If the clock does not advance during the loops, or loops cost nothing, the verdict is
    withheld."""
    costs = {"none": 0, "none-clone": 0, "x": 0} | still
    samples = [
        make_window(variant, block, loops, 300 + loops * cost + block % 3)
        for block in range(64)
        for variant, cost in costs.items()
        for loops in (1000, 2000)
    ]
    results = verdicts.compute_results(samples, [NATIVE])
    x = {r.variant: r for r in results}["x"]
    assert (x.verdict, x.note) == (verdicts.WITHHELD, verdicts.UNMEASURED)
    grade = grade_evidence(Evidence(NATIVE, {}, results))
    assert grade.level_name == "poor"
    assert "no longer than short loops in b: nothing was measured" in grade.reasons[0].words


def make_exact_samples(costs: dict[str, int], odd: int = 0) -> list[Sample]:
    """Return samples of instruction counts with these costs per operation. In block 2, variant x
    has `odd` more instructions per operation."""
    return [
        make_window(
            v, block, loops, 40 + loops * (cost + (odd if v == "x" and block == 2 else 0)),
            tier="icount", unit=rundir.UNIT_INSTRUCTIONS,
        )
        for block in range(4) for v, cost in costs.items() for loops in (100, 300)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cost", "verdict", "note"),
    [(3, IDENTICAL, ""), (5, MORE, "+2 instructions"), (2, FEWER, "-1 instructions")],
)
def test_exact_counts_are_compared_as_integers(cost: int, verdict: str, note: str) -> None:
    samples = make_exact_samples({"none": 3, "none-clone": 3, "x": cost})
    x = {r.variant: r for r in verdicts.compute_results(samples, [ICOUNT])}["x"]
    assert (x.verdict, x.note, x.median) == (verdict, note, cost)
    assert x.delta_ci == Interval(cost - 3, cost - 3)


def test_note_has_the_hits_of_sites_per_operation() -> None:
    samples = make_exact_samples({"none": 3, "none-clone": 3, "x": 5})
    env = {f"hits:{samples[0].benchmark}:x": "4 in an operation, 9 in a second"}
    found = {
        r.variant: r.note for r in verdicts.compute_results(samples, [replace(ICOUNT, env=env)])
    }
    assert found["x"] == "+2 instructions; hits: 4 in an operation, 9 in a second"
    assert found["none"] == ""


def test_disagreeing_exact_blocks_are_reported() -> None:
    samples = make_exact_samples({"none": 3, "none-clone": 3, "x": 3}, odd=1)
    x = {r.variant: r for r in verdicts.compute_results(samples, [ICOUNT])}["x"]
    assert x.verdict == UNRESOLVED
    assert x.note == "blocks disagree: +0 to +1 instructions"


def test_no_interval_is_narrower_than_the_clock_resolves() -> None:
    """If a clock advances in steps of 26 ticks, different costs may have equal slopes. The interval
    is as wide as one step allows."""
    costs = {"none": 100, "none-clone": 100, "marker": 101}
    samples = [
        make_window(variant, block, loops, cost * loops // 26 * 26)
        for block in range(40)
        for variant, cost in costs.items()
        for loops in (27, 157)
    ]
    assert stats.estimate_clock_resolution(samples) == pytest.approx(dict.fromkeys(costs, 26 / 130))
    marker = verdicts.compute_results(samples, [NATIVE])[2]
    assert marker.delta is not None and abs(marker.delta - 1) <= 26 / 130
    assert marker.delta_ci is not None
    assert marker.delta_ci.half_width == pytest.approx(26 / 130)


def test_baseline_is_the_variant_with_a_clone() -> None:
    assert find_baseline_variant(["a", "zebra", "zebra-clone", "none"]) == "zebra"
    assert find_baseline_variant(["b", "b-clone", "a", "a-clone"]) == "a"
    assert find_baseline_variant(["none", "x"]) is None


def test_a_margin_is_declared_for_every_unit() -> None:
    for unit in (rundir.UNIT_TSC, rundir.UNIT_GUEST, rundir.UNIT_EMULATED):
        assert verdicts.find_equivalence_margin(unit, "never-seen", 1.0) > 0
        assert verdicts.find_equivalence_margin(unit, "never-seen", -1e6) >= 1e4
    assert verdicts.find_equivalence_margin(rundir.UNIT_INSTRUCTIONS, "never-seen", 1e6) == 0


def test_margin_is_a_quarter_cycle_or_1_percent_of_an_operation() -> None:
    """The margin is 0.25 core cycles in hot code, and 1 % of the cost of whole operations."""
    core = CoreCycleRatio("counted", 1.25)
    for benchmark in ("empty-loop", "memcpy-4096", "density-full"):
        assert verdicts.find_equivalence_margin(rundir.UNIT_TSC, benchmark, 1e4, core) == 0.2
    assert verdicts.find_equivalence_margin(rundir.UNIT_TSC, "getppid-pressure", 9000.0, core) == 90
    assert verdicts.find_equivalence_margin(rundir.UNIT_TSC, "getppid-quiet", 1.0, core) == 0.2
    for benchmark in ("nop-encodings", "cold-icache-l1", "empty-loop-peers"):
        assert verdicts.find_equivalence_margin(rundir.UNIT_GUEST, benchmark, 1e4) == 0.25
    for benchmark in ("cold-icache-l2", "memcpy-64"):
        assert verdicts.find_equivalence_margin(rundir.UNIT_GUEST, benchmark, -9000.0) == 90
    assert verdicts.find_equivalence_margin(rundir.UNIT_EMULATED, "empty-loop", 300.0) == 15
    with pytest.raises(KeyError, match="no margin declared for ns"):
        verdicts.find_equivalence_margin("ns", "b", 1.0)


def test_detectable_difference_comes_from_the_clone() -> None:
    samples = [
        make_window(v, b, n, n * (9 if v == "x" else 4) + len(v) * (7 * b % 11 - 5) * n // 99)
        for b in range(60) for v in ("base", "base-clone", "x") for n in (1000, 4000)
    ]  # fmt: skip
    clone = {r.variant: r for r in verdicts.compute_results(samples, [NATIVE])}["base-clone"]
    assert clone.is_clone and clone.delta_ci and clone.delta_ci.half_width > 0.02
    assert clone.margin and clone.noise_floor is not None
    half = clone.delta_ci.half_width
    expected = max(clone.margin + half, clone.noise_floor) + 0.8416 / 1.96 * half
    assert clone.detectable == pytest.approx(expected, rel=1e-4)
