# SPDX-License-Identifier: GPL-2.0-only
"""Core cycles: their source, and that tables name the source correctly."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from kmtools.analyse import verdicts
from kmtools.analyse.corecycles import CoreCycles, ratio_of
from kmtools.analyse.grade import Evidence, grade_of
from kmtools.analyse.stats import Interval
from kmtools.analyse.summary import in_core_cycles
from kmtools.measure import rundir
from kmtools.measure.rundir import Tier
from kmtools.measure.samples import Sample
from kmtools.method import estimators, frequency


def tier(name: str = "native", **env: str) -> Tier:
    """Return a tier whose kernel gives this information."""
    emulated = rundir.is_emulated(name, env, {})
    return Tier(name, "6.12", rundir.tier_unit(name, emulated), emulated, env, {})


def window(ticks: int, cycles: int | None, *flags: str) -> Sample:
    """Return a window with these ticks and core cycles."""
    return Sample(
        "native", "6.12", 1, "b", "v", "loop", 0, 0, 0, 1, 100, None, ticks, "TSC cycles", cycles,
        flags,
    )  # fmt: skip


def test_the_ratio_is_the_median_of_undisturbed_windows() -> None:
    """One outlying block and a flagged window do not change the median."""
    samples = [window(1000, 1500), window(2000, 3000), window(1000, 1900)]
    samples += [window(1000, 9000, "preempted"), window(1000, None)]
    core = ratio_of(tier(cycles="estimated"), samples)
    assert core == CoreCycles("estimated", 1.5)
    assert core is not None
    assert core.of(2.0) == 3.0
    assert core.of(None) is None
    assert core.words() == "1 TSC cycle is 1.500 core cycles (estimated)"


@pytest.mark.parametrize("kind", frequency.CHANGES)
def test_a_changing_frequency_does_not_bias_core_cycles(kind: str) -> None:
    """Each block is converted by its own ratio: intervals cover the truth as often as they say."""
    score = estimators.score_changing(kind, 300)
    assert score.runs == 30 and not score.faults(slack=3)
    assert abs(score.bias) < 0.005 and score.half_width < 0.05


def test_one_ratio_for_a_run_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test that a core cycle is a block's own fails if it is the usual one."""
    monkeypatch.setattr(
        CoreCycles, "cycles_of", lambda core, sample: round(sample.value * core.per_tick)
    )
    score = estimators.score_changing("frequency-often", 100)
    assert "covers less than 93%" in score.faults(slack=3) and abs(score.bias) > 0.2


def test_a_changing_frequency_is_said_and_graded() -> None:
    own = tier(cycles="estimated", hypervisor="none")
    samples = frequency.windows(1, frequency.CHANGES["frequency-often"])
    results = verdicts.analyse(samples, [replace(own, kernel="k")])
    assert results[0].core is not None
    assert "from block to block" in results[0].core.words()
    grade = grade_of(Evidence(own, {}, results))
    assert any("frequency changed by up to" in reason.words for reason in grade.reasons)
    assert {r.verdict for r in results if r.variant == "dearer"} == {verdicts.SLOWER}


def test_counted_and_estimated_are_told_apart() -> None:
    """The word in the data is the word in the table."""
    core = ratio_of(tier(cycles="counted"), [window(1000, 1250)])
    assert core is not None
    assert core.words().endswith("(counted)")


@pytest.mark.parametrize(
    "unknown",
    [
        tier(),
        tier(cycles="none"),
        tier(cycles="guessed"),
        tier("vm", cycles="estimated", emulated="1"),
        tier("icount", cycles="estimated"),
    ],
)
def test_what_has_no_cycles_gets_none(unknown: Tier) -> None:
    """An emulated CPU gets none; a CPU without a known source gets none either."""
    assert ratio_of(unknown, [window(1000, 1500)]) is None


def test_json_has_no_infinite_numbers() -> None:
    """An unbounded interval has no ends."""
    entry = in_core_cycles(CoreCycles("estimated", 2.0), 1.25, 0.5, Interval(-math.inf, 0.75))
    assert entry == {
        "source": "estimated",
        "per_tick": 2.0,
        "spread": 0.0,
        "median": 2.5,
        "delta": 1.0,
        "delta_ci_lo": None,
        "delta_ci_hi": 1.5,
    }
