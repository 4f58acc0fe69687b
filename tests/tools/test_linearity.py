# SPDX-License-Identifier: GPL-2.0-only
"""Tests of windows with three loop counts: the slopes between them, and rows whose windows are not
on a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from kmtools.analyse import linearity, stats, verdicts
from kmtools.analyse.slopes import Slope, fit_slopes_of_samples, group_unflagged_windows
from kmtools.analyse.verdicts import DIFFERS, EQUIVALENT, SLOWER, UNRESOLVED, WITHHELD, Result
from kmtools.measure.rundir import UNIT_INSTRUCTIONS, UNIT_TSC, Tier
from kmtools.measure.samples import LOOP, Sample

NATIVE = Tier("native", "6.1", UNIT_TSC, False, {}, {})
ICOUNT = Tier("icount", "6.1", UNIT_INSTRUCTIONS, True, {}, {})
COUNTS = (1000, 1600, 2400)
PROCESSES, BLOCKS, LAYOUTS = 8, 16, 8

Time = Callable[[str, int, int], float]


def make_loop_window(
    variant: str, process: int, block: int, loops: int, value: int, *flags: str
) -> Sample:
    return Sample(
        "native", "6.1", process, "own", variant, LOOP, block % LAYOUTS, block, 0, 1, loops, None,
        value, UNIT_TSC, None, flags,
    )  # fmt: skip


def simulate_loop_windows(
    time: Time, counts: Sequence[int] = COUNTS, seed: int = 1
) -> list[Sample]:
    """Simulate windows of a baseline, its clone and the variant x. time() returns the duration of a
    window; noise and the time to read the clock are added. Every second process has twice the loop
    counts `counts`."""
    draw = np.random.default_rng(seed)
    return [
        make_loop_window(
            variant, process, process * BLOCKS + block, loops,
            round(90 + time(variant, loops, process) + 30 * draw.standard_normal()),
        )
        for process in range(PROCESSES) for block in range(BLOCKS)
        for variant in ("none", "none-clone", "x")
        for loops in (count * (1 + process % 2) for count in counts)
    ]  # fmt: skip


def compute_linear_time(variant: str, loops: int, _: int) -> float:
    return (10.6 if variant == "x" else 10.0) * loops


def compute_results_by_variant(samples: list[Sample], tier: Tier = NATIVE) -> dict[str, Result]:
    return {result.variant: result for result in verdicts.compute_results(samples, [tier])}


def fit_least_squares_line(points: Sequence[tuple[int, int]]) -> Fraction:
    """Return the least-squares slope of points, computed with exact fractions."""
    x, y = (Fraction(sum(values), len(points)) for values in zip(*points, strict=True))
    across = sum(((a - x) * (b - y) for a, b in points), Fraction())
    return across / sum(((a - x) ** 2 for a, _ in points), Fraction())


def test_slope_of_three_windows_is_the_least_squares_slope() -> None:
    samples = simulate_loop_windows(compute_linear_time)
    fitted = fit_slopes_of_samples(samples)
    assert len(fitted["x"]) == PROCESSES * BLOCKS
    for (variant, block, _, _), windows in group_unflagged_windows(samples).items():
        one = next(slope for slope in fitted[variant] if slope.block == block)
        assert one.value == fit_least_squares_line(windows) and one.bottom > 0


def test_bend_is_slope_of_long_minus_slope_of_short_windows() -> None:
    """The bend is the slope of longer windows minus the slope of shorter windows. The slopes are 10
    from 1 to 2 loops and 20 from 2 to 4 loops; a tick is 3/2 core cycles.
    Blocks without three different loop counts have no bend. Bends are in the order of their
    blocks."""
    points = {
        ("x", 1, 5, 2): [(4, 60), (1, 10), (2, 20)],
        ("x", 0, 4, 1): [(1, 10), (2, 30), (4, 50)],
        ("x", 2, 4, 1): [(1, 10), (1, 20), (4, 50)],
        ("x", 3, 4, 1): [(1, 10), (4, 20), (4, 50)],
        ("x", 4, 4, 1): [(1, 10), (2, 30)],
    }
    found = linearity.compute_bends_by_variant(points, Fraction(3, 2))["x"]
    assert [(one.block, one.layout, one.process, one.value) for one in found] == [
        (0, 4, 1, Fraction(-20, 3)),
        (1, 5, 2, Fraction(20, 3)),
    ]


@pytest.mark.parametrize(
    ("bend", "cost", "resolution", "found"),
    [
        # A bend may be 1 % of the cost, or the margin of 0.25 if the margin is larger.
        (0.9, 100.0, 0.0, False),
        (1.1, 100.0, 0.0, True),
        (1.1, -100.0, 0.0, True),
        (0.2, 10.0, 0.0, False),
        (0.3, 10.0, 0.0, True),
        (0.25, 10.0, 0.0, False),
        # A clock step widens the interval of a bend by twice the step.
        (1.1, 100.0, 0.04, True),
        (1.1, 100.0, 0.06, False),
    ],
)
def test_reported_slope_change_exceeds_margin_and_1_percent(
    bend: float, cost: float, resolution: float, found: bool
) -> None:
    for sign in (1, -1):
        series = [Slope(block, 0, round(sign * bend * 100), 100) for block in range(64)]
        got = linearity.find_significant_bend(series, cost, 0.25, resolution, 0.05)
        assert got == (pytest.approx(sign * bend) if found else None)
    assert linearity.find_significant_bend([], cost, 0.25, resolution, 0.05) is None


def test_largest_slope_change_of_exact_counts_keeps_its_sign() -> None:
    bends = [Slope(block, 0, top, 2) for block, top in enumerate((3, -5, 0))]
    assert linearity.find_largest_exact_bend(bends) == -2.5
    assert linearity.find_largest_exact_bend(bends[2:]) is None
    assert linearity.find_largest_exact_bend([]) is None


def test_nonlinearity_note_says_cost_or_difference() -> None:
    assert linearity.describe_bend(-0.51239, True) == (
        "not on a line: from short to long windows, the difference changes by -0.512, and the"
        " interval contains both differences"
    )
    assert linearity.describe_bend(2.0, False) == (
        "not on a line: from short to long windows, the cost changes by +2"
    )


def test_two_windows_give_a_slope_without_a_linearity_test() -> None:
    samples = [
        make_loop_window("x", 1, 0, 10, 75),
        make_loop_window("x", 1, 0, 20, 10**9, "preempted"),
    ]
    samples.append(make_loop_window("x", 1, 0, 30, 215))
    assert [slope.value for slope in fit_slopes_of_samples(samples)["x"]] == [Fraction(7)]
    assert not linearity.compute_bends_by_variant(group_unflagged_windows(samples))


def test_variants_with_linear_windows_have_verdicts() -> None:
    found = compute_results_by_variant(simulate_loop_windows(compute_linear_time))
    assert found["x"].verdict == SLOWER
    assert found["none-clone"].verdict == EQUIVALENT
    assert not any("line" in result.note for result in found.values())


def test_variants_with_two_loop_counts_have_verdicts() -> None:
    found = compute_results_by_variant(simulate_loop_windows(compute_linear_time, COUNTS[:2]))
    assert found["x"].verdict == SLOWER and not found["x"].note


@pytest.mark.parametrize(
    ("more", "verdict"), [(1.0, DIFFERS), (-1.0, UNRESOLVED), (0.3, SLOWER), (0.2, SLOWER)]
)
def test_nonlinear_row_interval_has_short_and_long_window_costs(more: float, verdict: str) -> None:
    """In the variant x, each operation beyond the second of three loop counts costs `more` more
    ticks. If abs(more) exceeds the margin, 0.25 ticks, the interval contains the added cost in
    short windows, 0.6, and the added cost in long windows, 0.6 + `more`."""

    def compute_nonlinear_time(variant: str, loops: int, process: int) -> float:
        knee = COUNTS[1] * (1 + process % 2)
        return compute_linear_time(variant, loops, process) + more * max(0, loops - knee) * (
            variant == "x"
        )

    found = compute_results_by_variant(simulate_loop_windows(compute_nonlinear_time))
    x = found["x"]
    assert x.verdict == verdict and x.delta_ci is not None
    assert (linearity.NOT_ON_A_LINE in x.note) == (abs(more) > 0.25)
    if abs(more) > 0.25:
        larger = float(x.note.split("changes by ")[1].split(",")[0])
        assert larger == pytest.approx(more, abs=0.05)
        assert x.delta_ci.lo <= 0.6 + min(0, more) and x.delta_ci.hi >= 0.6 + max(0, more)
    assert not any("line" in found[name].note for name in ("none", "none-clone"))


@pytest.mark.parametrize(("bend", "named"), [(0.1, True), (0.004, False)])
def test_nonlinear_baseline_leaves_differences_linear(bend: float, named: bool) -> None:
    """If the core becomes slower in long windows, the row of the baseline has a note. A variant
    keeps its verdict, because its difference from the baseline is linear."""

    def compute_slowed_time(variant: str, loops: int, process: int) -> float:
        knee = COUNTS[1] * (1 + process % 2)
        return compute_linear_time(variant, loops, process) + bend * 10.0 * max(0, loops - knee)

    found = compute_results_by_variant(simulate_loop_windows(compute_slowed_time))
    assert (linearity.NOT_ON_A_LINE in found["none"].note) == named
    assert found["x"].verdict == SLOWER and "line" not in found["x"].note
    assert found["none-clone"].verdict == EQUIVALENT


def test_nonlinear_aa_clone_keeps_its_verdict() -> None:
    def compute_nonlinear_time(variant: str, loops: int, process: int) -> float:
        knee = COUNTS[1] * (1 + process % 2)
        return compute_linear_time(variant, loops, process) + max(0, loops - knee) * (
            variant == "none-clone"
        )

    clone = compute_results_by_variant(simulate_loop_windows(compute_nonlinear_time))["none-clone"]
    assert "not on a line" in clone.note and clone.verdict != WITHHELD


def test_linear_rows_are_rarely_reported_as_nonlinear() -> None:
    """If the cost of an operation changes by the margin at the second loop count, at most one row
    in twenty is reported. Without a change, no row is reported."""
    named = {0.0: 0, 0.25: 0}
    for most in named:
        for seed in range(200):
            draw = np.random.default_rng(seed)
            effects = most + 0.2 * draw.standard_normal(PROCESSES)

            def compute_nonlinear_time(
                variant: str, loops: int, process: int, effects: np.ndarray = effects
            ) -> float:
                knee = COUNTS[1] * (1 + process % 2)
                return 10.0 * loops + float(effects[process]) * max(0, loops - knee)

            points = group_unflagged_windows(
                simulate_loop_windows(compute_nonlinear_time, seed=seed + 1000)
            )
            for series in linearity.compute_bends_by_variant(points).values():
                named[most] += (
                    linearity.find_significant_bend(series, 10.0, 0.25, 0.0, 0.05) is not None
                )
    assert named[0.0] == 0
    assert named[0.25] <= 0.05 * 600


def test_exact_counts_must_be_exactly_linear() -> None:
    def make_nonlinear_counts(odd: int) -> list[Sample]:
        return [
            make_loop_window(
                variant, 1, block, loops, 7 * loops + 3 + odd * (variant == "x" and loops == 20)
            )
            ._replace(unit=UNIT_INSTRUCTIONS, tier="icount")
            for block in range(4) for variant in ("none", "none-clone", "x")
            for loops in (10, 20, 40)
        ]  # fmt: skip

    assert "line" not in compute_results_by_variant(make_nonlinear_counts(0), ICOUNT)["x"].note
    assert "not on a line" in compute_results_by_variant(make_nonlinear_counts(1), ICOUNT)["x"].note


def test_clock_step_is_divided_by_the_number_of_passes() -> None:
    """The clock step is 52 ticks, because all values are multiples of 52 ticks. The resolution is
    the clock step divided by the smallest difference of loop counts in a process: 1,400 passes for
    `none`, 14 for `x`."""
    samples = [
        make_loop_window(variant, process, block, loops * many * process, 26 * loops * process)
        for process in (1, 2) for block in range(8)
        for variant, many in (("none", 100), ("none-clone", 100), ("x", 1))
        for loops in (10, 16, 24)
    ]  # fmt: skip
    found = stats.estimate_clock_resolution(samples)
    step = 26 * 2
    assert found["none"] == pytest.approx(step / 1400) and found["x"] == pytest.approx(step / 14)
    assert compute_results_by_variant(samples)["x"].resolution == found["x"]
