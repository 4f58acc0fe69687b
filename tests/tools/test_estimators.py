# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the estimator on simulations with known true costs, also with faults inserted into the
estimator."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from kmtools.analyse import location, stats, student, verdicts
from kmtools.analyse.layouts import compute_offset_in_cache_line
from kmtools.analyse.slopes import Slope, subtract_baseline
from kmtools.analyse.stats import UNBOUNDED, Interval
from kmtools.cli import main
from kmtools.method import estimators, independent, noises

FEW = 60


@pytest.mark.parametrize("kind", noises.KINDS)
def test_intervals_contain_the_true_cost(kind: str) -> None:
    """The share of intervals that contain the true cost is within its limits, with a slack of three
    standard deviations."""
    assert not estimators.score_estimator_on_noise(kind, FEW).list_missed_limits(slack=3)


def test_treating_blocks_as_independent_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """If blocks are treated as independent, the intervals are too narrow."""

    def independent(batches: location.Floats) -> tuple[float, int]:
        return float(np.var(batches)) / len(batches) / noises.BLOCKS, 30

    monkeypatch.setattr(location, "estimate_long_run_variance", independent)
    assert "covers less than 93%" in estimators.score_estimator_on_noise(
        "process-1", FEW
    ).list_missed_limits(slack=3)


def test_treating_layouts_as_fixed_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the measured layouts are treated as the only ones, the intervals are too narrow."""
    monkeypatch.setattr(location, "estimate_noise_variance", lambda _rest: math.inf)
    assert "covers less than 93%" in estimators.score_estimator_on_noise(
        "layout-1", FEW
    ).list_missed_limits(slack=3)


def test_rare_second_state_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most runs beside a long-lived neighbour process have the note TWO_STATES. If the two states
    were not recognised, the intervals of these runs would be wider."""
    noted = sum(
        location.TWO_STATES in estimate_noise("neighbour-500", seed).notes for seed in range(FEW)
    )
    assert noted > 0.8 * FEW
    assert not any(
        location.TWO_STATES in estimate_noise("process-1", seed).notes for seed in range(20)
    )
    whole = estimators.score_estimator_on_noise("neighbour-500", FEW).width
    monkeypatch.setattr(location, "find_two_machine_states", lambda _x, _process: None)
    assert estimators.score_estimator_on_noise("neighbour-500", FEW).width > whole


@pytest.mark.parametrize(("disturbed", "noted"), [(1, False), (5, False), (6, True), (20, True)])
def test_short_second_state_is_not_noted(disturbed: int, noted: bool) -> None:
    """`disturbed` of 256 stretches of 32 blocks have a higher cost; the second state is noted if
    there are more than five such stretches."""
    random = np.random.default_rng(disturbed)
    x = 0.01 * random.standard_normal(256 * 32)
    x[66 * 32 : (66 + disturbed) * 32] += 5
    process, layout = np.repeat(np.arange(1, 65), 128), np.arange(len(x)) % 8
    found = location.estimate_location(x, process, layout)
    assert (location.TWO_STATES in found.notes) == noted
    assert found.interval.lo <= 0 <= found.interval.hi
    assert found.interval.hi > 4.9 if noted else found.interval.hi < 5 * disturbed / 64
    assert noted or found.value < 5 * disturbed / 128


def estimate_costly_offsets(dear: set[int], layouts: int) -> location.Location:
    """Estimate the cost from 16 processes of 32 blocks with `layouts` code layouts; loops at the
    offsets `dear` in a cache line cost 1 more."""
    layout, process = np.arange(512) % layouts, np.arange(512) // 32
    cost = np.isin(compute_offset_in_cache_line(layout), list(dear)).astype(float)
    x = cost + 0.01 * np.random.default_rng(1).standard_normal(512)
    return location.estimate_location(x, process, layout)


def test_interval_is_narrower_if_costly_offsets_are_neighbours() -> None:
    """If a loop costs more near the end of a cache line, 32 layouts give a narrower interval than
    eight, because the costly offsets are neighbours. With scattered costly offsets, the interval is
    twice as wide."""
    end, scattered = (
        estimate_costly_offsets({56, 58, 60, 62}, 32),
        estimate_costly_offsets({0, 16, 32, 48}, 32),
    )
    eight = estimate_costly_offsets({56}, 8)
    for found in (end, scattered, eight):
        assert found.value == pytest.approx(0.125, abs=0.005)
        assert found.interval.lo < 0.125 < found.interval.hi
    assert 0.03 < end.interval.half_width < 0.07
    assert scattered.interval.half_width == pytest.approx(2 * end.interval.half_width, rel=0.1)
    assert eight.interval.half_width > 0.2


def test_layouts_with_few_blocks_are_merged() -> None:
    """32 layouts of two blocks each are merged to eight, so that random differences between them
    are not taken for effects of layouts. Layouts of three blocks each are not merged."""
    random = np.random.default_rng(1)
    layout, process = np.tile(random.permutation(32), 2), np.repeat([1, 2], 32)
    found = location.estimate_location(random.standard_normal(64), process, layout)
    assert found.over_layouts is not None
    assert (
        len(location.compute_layout_effects(np.zeros(64), location.merge_sparse_layouts(layout))[0])
        == 8
    )
    assert (
        len(
            location.compute_layout_effects(
                np.zeros(96), location.merge_sparse_layouts(np.arange(96) % 32)
            )[0]
        )
        == 32
    )
    # The interval is as wide as from 64 independent blocks, not as from 32 pairs of blocks.
    assert 0.15 < found.over_time.half_width < 1


def estimate_noise(kind: str, seed: int) -> location.Location:
    x = noises.KINDS[kind](np.random.default_rng(seed), noises.LENGTH)
    return location.estimate_location(x, noises.PROCESS, noises.LAYOUT)


def test_estimator_with_too_wide_intervals_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(student, "compute_capped_t_quantile", lambda _outside, _freedom: 9.0)
    assert main(["check", "estimators", "-o", f"runs={FEW}", "-o", "kinds=normal"]) == 1
    out = capsys.readouterr().out
    assert "wider than 1.5 times the oracle's" in out
    # Intervals of runs with early stopping may be wider.
    assert "\n1 passed, 1 failed\n" in out and out.endswith("0 passed, 1 failed\n")


def test_median_cannot_resolve_a_fifth_of_a_clock_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(location, "compute_midmean", lambda x: float(np.median(x)))
    monkeypatch.setattr(location, "dither_values", lambda x, _step: x)
    assert estimators.score_estimator_on_noise("stepping", FEW).list_missed_limits(slack=3)


THEIRS = {"together": 0.0974, "spread": 0.0017}


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        ([{"together": 0.0902, "spread": 0.0101}], "2 passed, 0 failed"),
        # For each of the two costs, the best of several attempts counts.
        (
            [{"together": 0.2, "spread": 0}, {"together": 0.1, "spread": 0.9}],
            "2 passed, 0 failed",
        ),
        ([{"together": 0.12, "spread": 0.0}] * 3, "1 passed, 1 failed"),
    ],
)
def test_independent_program_must_give_the_same_cost(
    ours: list[dict[str, float]],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tries = iter(ours)
    monkeypatch.setattr(independent, "measure_kmbench_costs", lambda _number, _plan: next(tries))
    monkeypatch.setattr(independent, "measure_nopcost_costs", lambda _program, _rounds: THEIRS)
    whole = main(["check", "independent"])
    assert said in capsys.readouterr().out
    assert whole == ("0 failed" not in said)
    assert next(tries, None) is None


def test_independent_program_prints_two_costs(tmp_path: Path) -> None:
    """The values of the costs are not checked, because other processes may use the CPU."""
    found = independent.measure_nopcost_costs(independent.build_nopcost(tmp_path), 40)
    assert set(found) == set(independent.BENCHMARKS)
    assert "kmarkers/" not in "".join(
        line for line in independent.PROGRAM.read_text().splitlines() if "#include" in line
    )


def test_unknown_kinds_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "estimators", "-o", "kinds=loud"]) == 2
    assert "-o kinds: no 'loud'; there are: normal, skewed" in capsys.readouterr().err


def make_slopes(values: list[float], process: int = 1) -> list[Slope]:
    return [Slope.from_fraction(i, i % 4, Fraction(x), process) for i, x in enumerate(values)]


def test_few_blocks_give_an_unbounded_interval() -> None:
    assert location.estimate_series_location([]).interval == UNBOUNDED
    assert location.estimate_series_location(make_slopes([1.0] * 20)).interval == UNBOUNDED
    assert location.estimate_series_location(make_slopes([1.0] * 24)).interval != UNBOUNDED


def test_two_different_processes_give_a_wide_interval() -> None:
    """The interval of two different processes is much wider than their difference."""
    x = np.repeat([0.0, 1.0], 64) + 0.01 * np.random.default_rng(0).standard_normal(128)
    found = location.estimate_location(x, np.repeat([1, 2], 64), np.arange(128) % 8)
    assert location.FEW_PROCESSES in found.notes
    assert found.interval.half_width > 5


def test_batches_do_not_span_processes() -> None:
    process = np.repeat([3, 1, 2], [40, 7, 50])
    for part in location.split_blocks_into_batches(process):
        assert len(set(process[part])) == 1
    assert sum(part.stop - part.start for part in location.split_blocks_into_batches(process)) == 97


def test_paired_differences_keep_the_process_number() -> None:
    (difference,) = subtract_baseline(make_slopes([5.0], process=7), make_slopes([3.0], process=7))
    assert difference.process == 7 and difference.value == 2


def test_equal_values_have_an_interval_of_the_clock_step() -> None:
    series = make_slopes([2.0] * 64)
    assert location.estimate_series_location(series).interval.half_width == 0
    stepped = location.estimate_series_location(series, 0.5)
    assert stepped.interval.half_width == 0.5
    assert location.STEPS in stepped.notes


def test_midmeans_and_quantiles_equal_those_of_scipy() -> None:
    scipy = pytest.importorskip("scipy.stats", reason="python3-scipy is not installed")
    random = np.random.default_rng(0)
    for count in (4, 5, 37, 128):
        x = random.standard_cauchy(count)
        assert location.compute_midmean(x) == pytest.approx(scipy.trim_mean(x, 0.25))
    for freedom in range(1, 31):
        for outside in (0.05, 0.02, 0.01, 1e-6):
            wanted = scipy.t.ppf(1 - outside / 2, freedom)
            assert student.compute_t_quantile(outside, freedom) == pytest.approx(wanted, rel=1e-6)
    assert student.compute_capped_t_quantile(0.05, 7.9) == student.compute_t_quantile(0.05, 7)
    assert student.compute_capped_t_quantile(0.05, 0.2) == student.compute_t_quantile(0.05, 1)
    assert student.compute_capped_t_quantile(0.05, 1e9) == student.compute_t_quantile(0.05, 30)
    assert noises.compute_skewed_midmean() == pytest.approx(
        scipy.lognorm(1).expect(lb=scipy.lognorm(1).ppf(0.25), ub=scipy.lognorm(1).ppf(0.75)) * 2,
        abs=1e-6,
    )


def test_sign_test_ranks_equal_those_of_scipy() -> None:
    scipy = pytest.importorskip("scipy.stats", reason="python3-scipy is not installed")
    for n in range(6, 200):
        assert stats.compute_sign_test_rank(n) == int(scipy.binom.ppf(0.025, n, 0.5))


def test_the_smallest_detectable_difference_is_found_in_four_of_five_runs() -> None:
    """A difference half way between the margin and the smallest detectable difference is found in
    fewer than three of five runs."""
    found = {0.5: 0, 1.0: 0}
    for seed in range(FEW):
        clone, variant = estimate_noise("placed", 2 * seed), estimate_noise("placed", 2 * seed + 1)
        beyond = (
            verdicts.compute_smallest_detectable_difference(clone.interval, estimators.MARGIN)
            - estimators.MARGIN
        )
        for share in found:
            effect = estimators.MARGIN + share * beyond
            there = Interval(variant.interval.lo + effect, variant.interval.hi + effect)
            floor = clone.interval.max_distance_from_zero
            verdict = verdicts.decide_verdict(
                variant.value + effect, there, estimators.MARGIN, floor
            )
            found[share] += verdict == verdicts.SLOWER
    assert found[0.5] < 0.6 * FEW < 0.7 * FEW < found[1.0]
