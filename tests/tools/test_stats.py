# SPDX-License-Identifier: GPL-2.0-only
"""Slopes, intervals and verdicts: exact values, and error rates where values are random."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import rawdata
from kmtools.analyse import location, stats, verdicts
from kmtools.analyse.corecycles import CoreCycles
from kmtools.analyse.grade import Evidence, grade_of
from kmtools.analyse.slopes import Slope, find_baseline, line, paired, slopes
from kmtools.analyse.stats import Interval
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


def window(variant: str, block: int, loops: int, value: int, **more: object) -> Sample:
    fields: dict[str, object] = {
        "tier": "native", "kernel": "k", "process": 1, "benchmark": "b", "variant": variant,
        "measured": "loop", "layout": block % 4, "block": block, "position": 0, "cpu": 0,
        "loops": loops, "sites": None, "value": value, "unit": rundir.UNIT_TSC,
        "core_cycles": None, "flags": (),
    }  # fmt: skip
    return Sample(**(fields | more))  # type: ignore[arg-type]


def series(values: Sequence[float] | NDArray[np.float64], layouts: int = 4) -> list[Slope]:
    return [Slope.of(i, i % layouts, Fraction(float(x))) for i, x in enumerate(values)]


def zeros(like: Sequence[Slope]) -> list[Slope]:
    return [Slope.of(slope.block, slope.layout, Fraction(0)) for slope in like]


def test_slope_of_two_points_is_exact_and_signed() -> None:
    assert Fraction(*line([(1000, 5090), (3000, 9090)])) == 2
    assert Fraction(*line([(1000, 9090), (3000, 5090)])) == -2
    assert Fraction(*line([(3, 0), (10, 1)])) == Fraction(1, 7)


def test_slope_of_more_points_is_least_squares() -> None:
    points = [(1, 3), (2, 4), (4, 9), (8, 10)]
    expected = np.polyfit([1.0, 2.0, 4.0, 8.0], [3.0, 4.0, 9.0, 10.0], 1)[0]
    assert Fraction(*line(points)) == pytest.approx(expected)


def test_one_loop_count_has_no_slope() -> None:
    assert line([(5, 1), (5, 3)])[1] == line([(5, 1), (5, 3), (5, 4)])[1] == 0


def test_flagged_windows_take_no_part_but_are_counted() -> None:
    samples = []
    for block in range(8):
        for variant in ("none", "none-clone", "x"):
            for loops in (10, 20):
                spoilt = variant == "x" and block == 3 and loops == 20
                flags = ("preempted", "migrated") if spoilt else ()
                value = 10**9 if spoilt else 7 * loops
                samples.append(window(variant, block, loops, value, flags=flags))
    fitted = slopes(samples)
    assert [s.block for s in fitted["x"]] == [0, 1, 2, 4, 5, 6, 7]
    assert {s.value for s in fitted["x"]} == {Fraction(7)}
    x = {r.variant: r for r in verdicts.analyse(samples, [NATIVE])}["x"]
    assert (x.n, x.windows, x.flagged) == (7, 16, 1)
    assert x.flags == {"migrated": 1, "preempted": 1}


def test_a_variant_whose_windows_are_all_flagged_is_not_lost() -> None:
    samples = [
        window(v, block, loops, loops, flags=("preempted",) if v == "x" else ())
        for block in range(8) for v in ("none", "none-clone", "x") for loops in (1, 2)
    ]  # fmt: skip
    x = {r.variant: r for r in verdicts.analyse(samples, [NATIVE])}["x"]
    assert (x.n, x.flagged, x.verdict) == (0, 16, UNRESOLVED)


def test_differences_are_taken_inside_a_block() -> None:
    variant = [Slope.of(0, 0, Fraction(5)), Slope.of(2, 2, Fraction(9))]
    baseline = [
        Slope.of(0, 0, Fraction(3)),
        Slope.of(1, 1, Fraction(100)),
        Slope.of(2, 2, Fraction(10)),
    ]
    assert [(d.block, int(d.value)) for d in paired(variant, baseline)] == [(0, 2), (2, -1)]


@pytest.mark.parametrize(("n", "rank"), [(5, 0), (6, 1), (9, 2), (20, 6), (50, 18), (100, 40)])
def test_sign_test_ranks_are_those_of_the_tables(n: int, rank: int) -> None:
    assert stats.sign_rank(n) == rank


@pytest.mark.parametrize(("n", "correlation"), [(40, 0.0), (200, 0.0), (200, 0.7)])
def test_sign_interval_covers_a_skewed_median(n: int, correlation: float) -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(300):
        skewed = np.exp(rawdata.correlated(rng, n, correlation))
        interval = stats.sign_interval(series(skewed))
        hits += interval.lo <= 1.0 <= interval.hi
    assert hits >= 0.9 * 300


def test_correlation_is_seen() -> None:
    rng = np.random.default_rng(6)
    alone = stats.correlation_time(series(rng.standard_normal(400)))
    together = stats.correlation_time(series(rawdata.correlated(rng, 400, 0.9)))
    assert alone < 2 < 4 < together


def test_layout_interval_knows_that_layouts_are_few() -> None:
    values = np.tile([0.0, 0.0, 0.0, 1.0], 250)
    found = location.of_series(series(values))
    assert found.interval.lo < 0 < 0.5 < found.interval.hi
    assert found.over_layouts is not None
    assert location.of_series(series(values, layouts=1)).over_layouts is None


def noisy(rng: np.random.Generator, n: int, shape: rawdata.Noise, effect: float) -> list[Slope]:
    """Paired differences with everything that makes timing hard, around a true effect."""
    x = effect + shape.jitter * rawdata.correlated(rng, n, shape.correlation)
    x = x + shape.drift * np.cumsum(rng.standard_normal(n)) / np.sqrt(n)
    tail = rng.random(n) < shape.tails
    x[tail] += rng.choice([-1, 1], tail.sum()) * shape.jitter * 20 * rng.pareto(1.2, tail.sum())
    return series(x + shape.layout * rng.standard_normal(4)[np.arange(n) % 4])


def verdict_counts(shape: rawdata.Noise, n: int, effect: float, runs: int) -> list[Counter[str]]:
    """Verdicts of A/A clones, and of variants with a true effect in the same runs."""
    rng = np.random.default_rng(7)
    clones: Counter[str] = Counter()
    variants: Counter[str] = Counter()
    for _ in range(runs):
        clone, variant = noisy(rng, n, shape, 0.0), noisy(rng, n, shape, effect)
        noise = verdicts.difference(clone, zeros(clone), exact=False)
        found = verdicts.difference(variant, zeros(variant), exact=False)
        clones[verdicts.decide(noise.delta, noise.wide, MARGIN, None)] += 1
        variants[verdicts.decide(found.delta, found.wide, MARGIN, noise.wide.reach)] += 1
    return [clones, variants]


SHAPES = {
    "calm": rawdata.Noise(jitter=0.3, correlation=0.0, drift=0.0, tails=0.0, layout=0.0),
    "tails": rawdata.Noise(jitter=0.3, correlation=0.0, drift=0.0, tails=0.1, layout=0.05),
    "correlated": rawdata.Noise(jitter=0.3, correlation=0.9, drift=0.0, tails=0.02, layout=0.05),
    "drifting": rawdata.Noise(jitter=0.3, correlation=0.5, drift=0.25, tails=0.02, layout=0.05),
    "layout": rawdata.Noise(jitter=0.3, correlation=0.5, drift=0.0, tails=0.02, layout=0.3),
    "layout-large": rawdata.Noise(jitter=0.3, correlation=0.5, drift=0.1, tails=0.02, layout=2.0),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("blocks", [40, 200])
def test_identical_code_is_rarely_called_slower_or_faster(name: str, blocks: int) -> None:
    """At most 5 %. Layout effects far beyond the margin make it 5 % and no less, so that shape
    alone is allowed two standard deviations of counting."""
    runs = 200
    allowed = 0.05 * runs + (2 * (0.05 * 0.95 * runs) ** 0.5 if name == "layout-large" else 0)
    clones, variants = verdict_counts(SHAPES[name], blocks, 0.0, runs)
    assert clones[SLOWER] + clones[FASTER] <= allowed
    assert variants[SLOWER] + variants[FASTER] <= allowed


@pytest.mark.parametrize("name", ["calm", "tails", "correlated", "drifting"])
@pytest.mark.parametrize(("effect", "verdict"), [(1.0, SLOWER), (-1.0, FASTER)])
def test_a_true_difference_of_one_is_found(name: str, effect: float, verdict: str) -> None:
    assert verdict_counts(SHAPES[name], 200, effect, 60)[1][verdict] >= 0.9 * 60


def test_no_difference_found_is_not_equivalence() -> None:
    assert verdicts.decide(0.0, Interval(-3.0, 3.1), MARGIN, 0.1) == UNRESOLVED
    assert verdicts.decide(0.0, Interval(-0.1, 0.2), MARGIN, 0.1) == EQUIVALENT
    assert verdicts.decide(0.0, Interval(-0.1, 0.2), MARGIN, 5.0) == UNRESOLVED


def test_a_difference_clears_the_margin_and_the_noise_floor() -> None:
    assert verdicts.decide(0.4, Interval(0.3, 0.5), MARGIN, 0.35) == SLOWER
    assert verdicts.decide(-0.4, Interval(-0.5, -0.3), MARGIN, 0.35) == FASTER
    assert verdicts.decide(0.4, Interval(0.3, 0.5), MARGIN, 0.45) == UNRESOLVED
    assert verdicts.decide(0.4, Interval(-0.1, 0.9), MARGIN, 0.1) == UNRESOLVED
    assert verdicts.decide(0.4, Interval(0.3, 0.5), MARGIN, None) == SLOWER


def test_what_costs_as_much_as_the_margin_differs() -> None:
    """The interval excludes zero and straddles the margin; the noise floor counts as usual."""
    for sign in (1, -1):
        ends = Interval(*sorted((sign * 0.24, sign * 0.26)))
        assert verdicts.decide(sign * 0.25, ends, 0.25, 0.1) == DIFFERS
        assert verdicts.decide(sign * 0.25, ends, 0.25, 0.3) == UNRESOLVED
        assert verdicts.decide(sign * 0.25, ends, 0.27, 0.3) == UNRESOLVED
        assert verdicts.decide(sign * 0.25, ends, 0.27, 0.1) == EQUIVALENT
    assert verdicts.decide(0.3, Interval(0.0, 0.6), 0.25, 0.1) == UNRESOLVED


MIRRORED = {SLOWER: FASTER, FASTER: SLOWER, MORE: FEWER, FEWER: MORE}
# Below, at and above the margin and each noise floor.
AMOUNTS = (0.0, 0.05, 0.1, 0.2, 0.25, 0.3, 0.45, 0.5, 2.0)


def mirror(interval: Interval) -> Interval:
    return Interval(-interval.hi, -interval.lo)


@pytest.mark.parametrize("floor", [None, 0.0, 0.1, 0.25, 0.45])
def test_faster_is_the_mirror_of_slower(floor: float | None) -> None:
    seen = set()
    for delta, below, above in itertools.product(AMOUNTS, repeat=3):
        interval = Interval(delta - below, delta + above)
        verdict = verdicts.decide(delta, interval, MARGIN, floor)
        other = verdicts.decide(-delta, mirror(interval), MARGIN, floor)
        assert other == MIRRORED.get(verdict, verdict), (delta, interval)
        seen.add(verdict)
    assert {SLOWER, DIFFERS, UNRESOLVED} <= seen and FASTER not in seen


def test_fewer_is_the_mirror_of_more() -> None:
    seen = set()
    for low, width in itertools.product((-2, -1, 0, 1, 2), (0, 1, 3)):
        interval = Interval(low, low + width)
        verdict = verdicts.decide_exact(interval)
        assert verdicts.decide_exact(mirror(interval)) == MIRRORED.get(verdict, verdict)
        seen.add(verdict)
    assert seen == {MORE, FEWER, IDENTICAL, UNRESOLVED}


def test_too_few_blocks_prove_nothing() -> None:
    samples = [
        window(variant, block, loops, loops * cost)
        for block in range(5)
        for variant, cost in (("none", 1), ("none-clone", 1), ("x", 900))
        for loops in (1000, 2000)
    ]
    results = {r.variant: r for r in verdicts.analyse(samples, [NATIVE])}
    assert results["x"].verdict == results["none-clone"].verdict == UNRESOLVED
    assert "too few" in results["x"].note


@pytest.mark.parametrize("still", [{}, {"x": 1}, {"none": 1, "none-clone": 1}])
def test_what_was_not_measured_is_named(still: dict[str, int]) -> None:
    """A clock that stands still while loops run, or loops that do nothing, give no verdict."""
    costs = {"none": 0, "none-clone": 0, "x": 0} | still
    samples = [
        window(variant, block, loops, 300 + loops * cost + block % 3)
        for block in range(64)
        for variant, cost in costs.items()
        for loops in (1000, 2000)
    ]
    results = verdicts.analyse(samples, [NATIVE])
    x = {r.variant: r for r in results}["x"]
    assert (x.verdict, x.note) == (verdicts.WITHHELD, verdicts.UNMEASURED)
    grade = grade_of(Evidence(NATIVE, {}, results))
    assert grade.word == "poor"
    assert "a clock or loops without effect in b: nothing was measured" in grade.reasons[0].words


def exact_samples(costs: dict[str, int], odd: int = 0) -> list[Sample]:
    """Instruction counts; block 2 of variant x has `odd` more per operation."""
    return [
        window(
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
    samples = exact_samples({"none": 3, "none-clone": 3, "x": cost})
    x = {r.variant: r for r in verdicts.analyse(samples, [ICOUNT])}["x"]
    assert (x.verdict, x.note, x.median) == (verdict, note, cost)
    assert x.delta_ci == Interval(cost - 3, cost - 3)


def test_the_note_says_how_often_sites_of_an_operation_run() -> None:
    samples = exact_samples({"none": 3, "none-clone": 3, "x": 5})
    env = {f"hits:{samples[0].benchmark}:x": "4 in an operation, 9 in a second"}
    found = {r.variant: r.note for r in verdicts.analyse(samples, [replace(ICOUNT, env=env)])}
    assert found["x"] == "+2 instructions; hits: 4 in an operation, 9 in a second"
    assert found["none"] == ""


def test_disagreeing_exact_blocks_are_reported() -> None:
    samples = exact_samples({"none": 3, "none-clone": 3, "x": 3}, odd=1)
    x = {r.variant: r for r in verdicts.analyse(samples, [ICOUNT])}["x"]
    assert x.verdict == UNRESOLVED
    assert x.note == "blocks disagree: +0 to +1 instructions"


def test_no_interval_is_narrower_than_the_clock_resolves() -> None:
    """A clock that advances by 26 makes equal slopes of unequal costs."""
    costs = {"none": 100, "none-clone": 100, "marker": 101}
    samples = [
        window(variant, block, loops, cost * loops // 26 * 26)
        for block in range(40)
        for variant, cost in costs.items()
        for loops in (27, 157)
    ]
    assert stats.clock_resolution(samples) == pytest.approx(dict.fromkeys(costs, 26 / 130))
    marker = verdicts.analyse(samples, [NATIVE])[2]
    assert marker.delta is not None and abs(marker.delta - 1) <= 26 / 130
    assert marker.delta_ci is not None
    assert marker.delta_ci.half_width == pytest.approx(26 / 130)


def test_the_baseline_is_whatever_has_a_clone() -> None:
    assert find_baseline(["a", "zebra", "zebra-clone", "none"]) == "zebra"
    assert find_baseline(["none", "x"]) is None


def test_a_margin_is_declared_for_every_unit() -> None:
    for unit in (rundir.UNIT_TSC, rundir.UNIT_GUEST, rundir.UNIT_EMULATED):
        assert verdicts.margin_for(unit, "never-seen", 1.0) > 0
        assert verdicts.margin_for(unit, "never-seen", -1e6) >= 1e4
    assert verdicts.margin_for(rundir.UNIT_INSTRUCTIONS, "never-seen", 1e6) == 0


def test_margins_are_those_promised() -> None:
    """A quarter of a core cycle where code is hot, one percent of whole operations."""
    core = CoreCycles("counted", 1.25)
    for benchmark in ("empty-loop", "memcpy-4096", "density-full"):
        assert verdicts.margin_for(rundir.UNIT_TSC, benchmark, 1e4, core) == 0.2
    assert verdicts.margin_for(rundir.UNIT_TSC, "getppid-pressure", 9000.0, core) == 90
    assert verdicts.margin_for(rundir.UNIT_TSC, "getppid-quiet", 1.0, core) == 0.2


def test_detectable_difference_comes_from_the_clone() -> None:
    samples = [
        window(v, b, n, n * (9 if v == "x" else 4) + len(v) * (7 * b % 11 - 5) * n // 99)
        for b in range(60) for v in ("base", "base-clone", "x") for n in (1000, 4000)
    ]  # fmt: skip
    clone = {r.variant: r for r in verdicts.analyse(samples, [NATIVE])}["base-clone"]
    assert clone.is_clone and clone.delta_ci and clone.delta_ci.half_width > 0.02
    assert clone.margin and clone.noise_floor is not None
    half = clone.delta_ci.half_width
    expected = max(clone.margin + half, clone.noise_floor) + 0.8416 / 1.96 * half
    assert clone.detectable == pytest.approx(expected, rel=1e-4)
