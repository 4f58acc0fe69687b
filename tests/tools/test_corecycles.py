# SPDX-License-Identifier: GPL-2.0-only
"""Tests of converting ticks to core cycles, which are counted or estimated."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from kmtools.analyse import verdicts
from kmtools.analyse.corecycles import CoreCycleRatio, estimate_core_cycle_ratio
from kmtools.analyse.grade import Evidence, grade_evidence
from kmtools.analyse.stats import Interval
from kmtools.analyse.summary import make_core_cycle_fields
from kmtools.measure import rundir
from kmtools.measure.rundir import Tier
from kmtools.measure.samples import Sample
from kmtools.method import estimators, frequency


def make_cycle_tier(name: str = "native", **env: str) -> Tier:
    """Return a tier (measurement environment) with these values in its env file."""
    emulated = rundir.is_emulated(name, env, {})
    return Tier(name, "6.12", rundir.get_tier_unit(name, emulated), emulated, env, {})


def make_cycle_window(ticks: int, cycles: int | None, *flags: str) -> Sample:
    """Return a sample with these ticks and core cycles."""
    return Sample(
        "native", "6.12", 1, "b", "v", "loop", 0, 0, 0, 1, 100, None, ticks, "TSC cycles", cycles,
        flags,
    )  # fmt: skip


def test_core_cycle_ratio_is_the_median_of_undisturbed_windows() -> None:
    """An outlier, a flagged window and a window without cycles do not change the median."""
    samples = [
        make_cycle_window(1000, 1500),
        make_cycle_window(2000, 3000),
        make_cycle_window(1000, 1900),
    ]
    samples += [make_cycle_window(1000, 9000, "preempted"), make_cycle_window(1000, None)]
    core = estimate_core_cycle_ratio(make_cycle_tier(cycles="estimated"), samples)
    assert core == CoreCycleRatio("estimated", 1.5)
    assert core is not None
    assert core.convert_ticks(2.0) == 3.0
    assert core.convert_ticks(None) is None
    assert core.describe_ratio() == "1 TSC cycle is 1.500 core cycles (estimated)"


def test_spread_of_core_cycle_ratios_leaves_out_extreme_blocks() -> None:
    """The ratios of 21 blocks are 2.00 to 2.40, so the quantiles are 2.02 and 2.38, and the median
    is 2.20. The ratio of a block is computed from the sums over its windows."""
    samples = [
        make_cycle_window(ticks, cycles)._replace(block=block)
        for block in range(21)
        for ticks, cycles in ((1000, 2200), (500, 800 + 30 * block))
    ]
    found = estimate_core_cycle_ratio(make_cycle_tier(cycles="counted"), samples)
    assert found is not None
    assert found.spread == pytest.approx(0.36 / found.per_tick, abs=1e-6)
    known = CoreCycleRatio("counted", 2.2, 0.36 / 2.2)
    said = "1 TSC cycle is 2.200 core cycles (counted, +-8.2 % from block to block)"
    assert known.describe_ratio() == said


@pytest.mark.parametrize("noise_kind", frequency.CHANGES)
def test_a_changing_frequency_does_not_bias_core_cycles(noise_kind: str) -> None:
    """Each block is converted by its own ratio, so that the intervals contain the true cost as
    often as required."""
    score = estimators.score_estimator_on_changing_frequency(noise_kind, 300)
    assert score.runs == 30 and not score.list_missed_limits(slack=3)
    assert abs(score.bias) < 0.005 and score.half_width < 0.05


def test_simulation_detects_one_core_cycle_ratio_per_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """If all blocks are converted by the ratio of the run, too few intervals contain the true cost,
    and the estimated cost is biased."""
    monkeypatch.setattr(
        CoreCycleRatio,
        "count_core_cycles",
        lambda core, sample: round(sample.value * core.per_tick),
    )
    score = estimators.score_estimator_on_changing_frequency("frequency-often", 100)
    assert "covers less than 93%" in score.list_missed_limits(slack=3) and abs(score.bias) > 0.2


def test_changing_frequency_is_reported_and_lowers_the_grade() -> None:
    own = make_cycle_tier(cycles="estimated", hypervisor="none")
    samples = frequency.simulate_windows(1, frequency.CHANGES["frequency-often"])
    results = verdicts.compute_results(samples, [replace(own, kernel="k")])
    assert results[0].core is not None
    assert "from block to block" in results[0].core.describe_ratio()
    grade = grade_evidence(Evidence(own, {}, results))
    assert any("frequency changed by up to" in reason.words for reason in grade.reasons)
    assert {r.verdict for r in results if r.variant == "large"} == {verdicts.SLOWER}


def test_description_of_core_cycles_names_their_source() -> None:
    """The description of the ratio names the source of core cycles in the env file."""
    core = estimate_core_cycle_ratio(
        make_cycle_tier(cycles="counted"), [make_cycle_window(1000, 1250)]
    )
    assert core is not None
    assert core.describe_ratio().endswith("(counted)")


@pytest.mark.parametrize(
    "unknown",
    [
        make_cycle_tier(),
        make_cycle_tier(cycles="none"),
        make_cycle_tier(cycles="guessed"),
        make_cycle_tier("vm", cycles="estimated", emulated="1"),
        make_cycle_tier("icount", cycles="estimated"),
    ],
)
def test_tier_without_core_cycles_has_no_core_cycle_ratio(unknown: Tier) -> None:
    """A tier of an emulated CPU, and a tier whose env file names no known source of core cycles,
    have no core cycles."""
    assert estimate_core_cycle_ratio(unknown, [make_cycle_window(1000, 1500)]) is None


def test_json_of_core_cycles_has_null_for_infinite_ends() -> None:
    """The ends of an unbounded interval are null."""
    entry = make_core_cycle_fields(
        CoreCycleRatio("estimated", 2.0), 1.25, 0.5, Interval(-math.inf, 0.75)
    )
    assert entry == {
        "source": "estimated",
        "per_tick": 2.0,
        "spread": 0.0,
        "median": 2.5,
        "delta": 1.0,
        "delta_ci_lo": None,
        "delta_ci_hi": 1.5,
    }
