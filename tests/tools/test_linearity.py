# SPDX-License-Identifier: GPL-2.0-only
"""Windows of three loop counts: slopes of them, and rows whose windows are not on a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from kmtools.analyse import linearity, stats, verdicts
from kmtools.analyse.slopes import points_of, slopes
from kmtools.analyse.verdicts import EQUIVALENT, SLOWER, WITHHELD, Result
from kmtools.measure.rundir import UNIT_INSTRUCTIONS, UNIT_TSC, Tier
from kmtools.measure.samples import LOOP, Sample

NATIVE = Tier("native", "6.1", UNIT_TSC, False, {}, {})
ICOUNT = Tier("icount", "6.1", UNIT_INSTRUCTIONS, True, {}, {})
COUNTS = (1000, 1600, 2400)
PROCESSES, BLOCKS, LAYOUTS = 8, 16, 8

Time = Callable[[str, int, int], float]


def window(variant: str, process: int, block: int, loops: int, value: int, *flags: str) -> Sample:
    return Sample(
        "native", "6.1", process, "own", variant, LOOP, block % LAYOUTS, block, 0, 1, loops, None,
        value, UNIT_TSC, None, flags,
    )  # fmt: skip


def measured(time: Time, counts: Sequence[int] = COUNTS, seed: int = 1) -> list[Sample]:
    """Windows of a baseline, its clone and x, of which `time` knows how long they take; with
    noise, reading the clock, and processes that have loop counts of their own."""
    draw = np.random.default_rng(seed)
    return [
        window(
            variant, process, process * BLOCKS + block, loops,
            round(90 + time(variant, loops, process) + 30 * draw.standard_normal()),
        )
        for process in range(PROCESSES) for block in range(BLOCKS)
        for variant in ("none", "none-clone", "x")
        for loops in (count * (1 + process % 2) for count in counts)
    ]  # fmt: skip


def straight(variant: str, loops: int, _: int) -> float:
    return (10.6 if variant == "x" else 10.0) * loops


def judged(samples: list[Sample], tier: Tier = NATIVE) -> dict[str, Result]:
    return {result.variant: result for result in verdicts.analyse(samples, [tier])}


def least_squares(points: Sequence[tuple[int, int]]) -> Fraction:
    """The slope by the means of both coordinates."""
    x, y = (Fraction(sum(values), len(points)) for values in zip(*points, strict=True))
    across = sum(((a - x) * (b - y) for a, b in points), Fraction())
    return across / sum(((a - x) ** 2 for a, _ in points), Fraction())


def test_slopes_of_three_windows_are_those_of_least_squares() -> None:
    samples = measured(straight)
    fitted = slopes(samples)
    assert len(fitted["x"]) == PROCESSES * BLOCKS
    for (variant, block, _, _), windows in points_of(samples).items():
        one = next(slope for slope in fitted[variant] if slope.block == block)
        assert one.value == least_squares(windows) and one.bottom > 0


def test_two_windows_of_three_are_a_slope_and_no_bend() -> None:
    samples = [window("x", 1, 0, 10, 75), window("x", 1, 0, 20, 10**9, "preempted")]
    samples.append(window("x", 1, 0, 30, 215))
    assert [slope.value for slope in slopes(samples)["x"]] == [Fraction(7)]
    assert not linearity.bends(points_of(samples))


def test_windows_on_a_line_have_verdicts() -> None:
    found = judged(measured(straight))
    assert found["x"].verdict == SLOWER
    assert found["none-clone"].verdict == EQUIVALENT
    assert not any("line" in result.note for result in found.values())


def test_samples_of_two_counts_have_verdicts() -> None:
    found = judged(measured(straight, COUNTS[:2]))
    assert found["x"].verdict == SLOWER and not found["x"].note


@pytest.mark.parametrize(("more", "named"), [(1.0, True), (-1.0, True), (0.2, False)])
def test_a_row_that_is_not_on_a_line_is_named(more: float, named: bool) -> None:
    """From 1,600 passes on, an operation of x costs more or less; the margin is a quarter."""

    def bent(variant: str, loops: int, process: int) -> float:
        knee = COUNTS[1] * (1 + process % 2)
        return straight(variant, loops, process) + more * max(0, loops - knee) * (variant == "x")

    found = judged(measured(bent))
    x = found["x"]
    assert (x.verdict == WITHHELD) == ("not on a line" in x.note) == named
    if named:
        added = float(x.note.split("costs ")[1].split()[0])
        assert added == pytest.approx(more, abs=0.05)
    assert not any("line" in found[name].note for name in ("none", "none-clone"))


def test_a_clone_that_is_not_on_a_line_keeps_its_verdict() -> None:
    def bent(variant: str, loops: int, process: int) -> float:
        return straight(variant, loops, process) + max(0, loops - 1600) * (variant == "none-clone")

    clone = judged(measured(bent))["none-clone"]
    assert "not on a line" in clone.note and clone.verdict != WITHHELD


def test_lines_are_rarely_taken_for_bent() -> None:
    """At a bend of just the margin, at most one row in twenty is named; without a bend, none."""
    named = {0.0: 0, 0.25: 0}
    for most in named:
        for seed in range(200):
            draw = np.random.default_rng(seed)
            effects = most + 0.2 * draw.standard_normal(PROCESSES)

            def bent(
                variant: str, loops: int, process: int, effects: np.ndarray = effects
            ) -> float:
                knee = COUNTS[1] * (1 + process % 2)
                return 10.0 * loops + float(effects[process]) * max(0, loops - knee)

            points = points_of(measured(bent, seed=seed + 1000))
            for series in linearity.bends(points).values():
                named[most] += linearity.bend_of(series, 10.0, 0.25, 0.0, 0.05) is not None
    assert named[0.0] == 0
    assert named[0.25] <= 0.05 * 600


def test_exact_counts_are_on_a_line_exactly() -> None:
    def counts(odd: int) -> list[Sample]:
        return [
            window(variant, 1, block, loops, 7 * loops + 3 + odd * (variant == "x" and loops == 20))
            ._replace(unit=UNIT_INSTRUCTIONS, tier="icount")
            for block in range(4) for variant in ("none", "none-clone", "x")
            for loops in (10, 20, 40)
        ]  # fmt: skip

    assert "line" not in judged(counts(0), ICOUNT)["x"].note
    assert "not on a line" in judged(counts(1), ICOUNT)["x"].note


def test_the_clock_resolves_more_of_a_variant_with_more_passes() -> None:
    """A step of 26 over 1,400 passes, and over 14; where processes differ, the fewest count."""
    samples = [
        window(variant, process, block, loops * many * process, 26 * loops * process)
        for process in (1, 2) for block in range(8)
        for variant, many in (("none", 100), ("none-clone", 100), ("x", 1))
        for loops in (10, 16, 24)
    ]  # fmt: skip
    found = stats.clock_resolution(samples)
    step = 26 * 2
    assert found["none"] == pytest.approx(step / 1400) and found["x"] == pytest.approx(step / 14)
    assert judged(samples)["x"].resolution == found["x"]
