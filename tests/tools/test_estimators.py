# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the estimator on simulations with known true costs, also with faults inserted into the
estimator."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kmtools.analyse import location, stats, student, verdicts
from kmtools.analyse.layouts import compute_offset_in_cache_line, has_too_few_blocks_per_layout
from kmtools.analyse.slopes import Slope, subtract_baseline
from kmtools.analyse.stats import UNBOUNDED, Interval
from kmtools.base.errors import UnableError
from kmtools.cli import main
from kmtools.measure.aa import RunSettings
from kmtools.method import aa, estimators, frequency, independent, judges, latewindows, noises
from verdictrows import make_result, make_tier

SCIPY_IS_MISSING = "scipy is missing: scripts/setup --fleet installs it"
FEW = 60
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.many
@pytest.mark.parametrize("noise_kind", [*noises.KINDS, *noises.ASYMMETRIC])
def test_intervals_contain_the_true_cost(noise_kind: str) -> None:
    """The share of intervals that contain the true cost is within its limits, with a slack of three
    standard deviations."""
    assert not estimators.score_estimator_on_noise(noise_kind, FEW).list_missed_limits(slack=3)


# The kinds of noise in which each block has the true location 0, if many runs are simulated.
EVENLY_DISTRIBUTED = [kind for kind in noises.KINDS if kind not in ("stretch", noises.STEPPING)]


@pytest.mark.parametrize("noise_kind", EVENLY_DISTRIBUTED)
def test_noise_has_its_true_location_from_the_first_block_to_the_last(noise_kind: str) -> None:
    """For each block, the midmean over 1000 runs is 0 within five standard errors. The standard
    error is computed for the noise process-3, whose standard deviation is 3.2."""
    random = np.random.default_rng(11)
    runs = np.array([noises.KINDS[noise_kind](random, 2 * noises.BLOCKS) for _ in range(1000)])
    middle = location.compute_midmean(runs[:, [0, noises.BLOCKS, -1]].T)
    assert middle == pytest.approx(0, abs=0.6)


@pytest.mark.parametrize("dwell", [5, 100, 1000])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_intermittent_neighbour_runs_in_its_share_of_the_first_and_last_blocks(
    share: float, dwell: int
) -> None:
    random, layout = np.random.default_rng(12), noises.get_layout_of_each_block(2 * noises.BLOCKS)
    runs = np.array(
        [
            noises.simulate_intermittent_neighbour(random, layout, share=share, dwell=dwell)
            for _ in range(1000)
        ]
    )
    assert set(runs.reshape(-1)) == {0.0, noises.DISTURBANCE_COST}
    assert (runs[:, [0, -1]] > 0).mean(axis=0) == pytest.approx(share, abs=0.07)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
def test_the_usual_cost_is_the_midmean_of_the_blocks_of_a_process(share: float) -> None:
    """A share of the blocks of a process costs 3 more. compute_usual_process_costs() returns the
    midmean (mean of the middle half) of the costs with normal noise."""
    dear = (np.arange(noises.BLOCKS) < round(share * noises.BLOCKS)) * 3.0
    random = np.random.default_rng(0)
    drawn = np.sort((dear + random.standard_normal((4000, noises.BLOCKS))).reshape(-1))
    middle = float(drawn[len(drawn) // 4 : -len(drawn) // 4].mean())
    found = noises.compute_usual_process_costs(
        np.concatenate([dear, random.permutation(dear), 0 * dear])
    )
    assert found[:2] == pytest.approx(middle, abs=0.02)
    assert found[2] == pytest.approx(0, abs=1e-9)


def test_usual_costs_agree_with_the_documented_table() -> None:
    """A cost that is added to one block of four or of ten changes the usual cost and the mean as
    the table in usual-cost.md says."""
    text = (ROOT / "Documentation" / "usual-cost.md").read_text()
    for words, every, cost in (("four", 4, 3), ("ten", 10, 3), ("ten", 10, 100)):
        offsets = cost * (np.arange(5 * noises.BLOCKS) % every == 0).astype(float)
        usual = noises.compute_usual_process_costs(offsets).mean()
        (row,) = re.findall(rf"one block in {words}, \+{cost} \| (\S+) \| (\S+) \|", text)
        assert usual == pytest.approx(float(row[0]), abs=0.02)
        assert offsets.mean() == pytest.approx(float(row[1]), rel=0.02)


def test_documented_numbers_of_noise_kinds_and_runs_are_right() -> None:
    """benchmarking.md gives the numbers of kinds of noise, and of simulated runs of each kind."""
    text = " ".join((ROOT / "Documentation" / "benchmarking.md").read_text().split())
    runs, fewer = judges.SIMULATIONS, judges.SIMULATIONS // estimators.FEWER_RUNS_DIVISOR
    assert f"{runs:,} runs of each of {len(noises.KINDS)} kinds, and {fewer} that end" in text
    assert f"Of {len(noises.ASYMMETRIC)} kinds whose disturbances" in text


@pytest.mark.parametrize("noise_kind", noises.ASYMMETRIC)
def test_disturbances_never_make_blocks_cheaper(noise_kind: str) -> None:
    """A disturbance adds an offset of zero or more to each block, so the true cost is at least
    zero, and below the largest offset. The noise stays-SHARE-BLOCKS simulates a neighbour process
    that runs in SHARE of the blocks, for BLOCKS blocks in a row on average."""
    random = np.random.default_rng(1)
    layout = noises.permute_layouts(random, 400 * noises.LENGTH)
    offsets = noises.ASYMMETRIC[noise_kind](random, layout)
    run = noises.simulate_run(noise_kind, 1)
    assert offsets.min() == 0 and len(offsets) == len(layout)
    assert 0 <= run.usual.mean() < offsets.max()
    assert abs(run.keep_first_processes(16).usual.mean()) < 1e-9
    if match := re.fullmatch(r"stays-(\d+)%-(\d+)", noise_kind):
        there = offsets > 0
        stays = np.count_nonzero(np.diff(there.astype(int)) == 1)
        assert there.mean() == pytest.approx(int(match[1]) / 100, rel=0.3)
        assert there.sum() / stays == pytest.approx(int(match[2]), rel=0.3)


def test_true_cost_is_the_mean_over_all_processes_that_may_start() -> None:
    """If one process in five costs 3 more, the true cost is 0.6, even in a run without a costly
    process. If a neighbour process adds a cost, each process has its own true cost."""
    assert noises.simulate_run("one-in-five-3", 0).usual == pytest.approx(0.6, abs=0.06)
    assert np.ptp(noises.simulate_run("stays-25%-500", 0).usual) > 2


def test_simulation_detects_blocks_treated_as_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    """If blocks are treated as independent, the intervals are too narrow."""

    def estimate_as_independent(batches: location.Floats) -> tuple[float, int]:
        return float(np.var(batches)) / len(batches) / noises.BLOCKS, 30

    monkeypatch.setattr(location, "estimate_long_run_variance", estimate_as_independent)
    assert "covers less than 93%" in estimators.score_estimator_on_noise(
        "process-1", FEW
    ).list_missed_limits(slack=3)


def test_simulation_detects_layouts_treated_as_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the measured layouts are treated as the only ones, the intervals are too narrow."""
    monkeypatch.setattr(location, "estimate_noise_variance", lambda _rest: math.inf)
    assert "covers less than 93%" in estimators.score_estimator_on_noise(
        "layout-1", FEW
    ).list_missed_limits(slack=3)


def test_rare_second_machine_state_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a neighbour process rarely starts and stops, the blocks have two states of the machine,
    and most runs have the note TWO_STATES. Without recognition of states, intervals are wider."""
    noted = sum(
        location.TWO_STATES in estimate_noise_location("neighbour-500", seed).notes
        for seed in range(FEW)
    )
    assert noted > 0.8 * FEW
    assert not any(
        location.TWO_STATES in estimate_noise_location("process-1", seed).notes
        for seed in range(20)
    )
    whole = estimators.score_estimator_on_noise("neighbour-500", FEW).width
    monkeypatch.setattr(location, "find_two_machine_states", lambda _x, _process: None)
    assert estimators.score_estimator_on_noise("neighbour-500", FEW).width > whole


@pytest.mark.parametrize(("disturbed", "noted"), [(1, False), (5, False), (6, True), (20, True)])
def test_short_second_machine_state_is_not_noted(disturbed: int, noted: bool) -> None:
    """Of 256 stretches of 32 blocks, `disturbed` stretches cost more. The second state is noted
    only if more than five stretches cost more."""
    random = np.random.default_rng(disturbed)
    x = 0.01 * random.standard_normal(256 * 32)
    x[66 * 32 : (66 + disturbed) * 32] += 5
    process, layout = np.repeat(np.arange(1, 65), 128), np.arange(len(x)) % 8
    found = location.estimate_location(x, process, layout)
    assert (location.TWO_STATES in found.notes) == noted
    assert found.interval.lo <= 0 <= found.interval.hi
    assert found.interval.hi > 4.9 if noted else found.interval.hi < 5 * disturbed / 32
    assert noted or found.value < 5 * disturbed / 128


def simulate_brief_neighbour_process(seed: int, processes: int = 16) -> np.ndarray:
    """Return blocks that cost 0, except one to three stretches of 64 to 200 blocks that cost 1. The
    noise of a block has a standard deviation of 0.01."""
    random = np.random.default_rng(seed)
    dear = np.zeros(processes * 128)
    for _ in range(random.integers(1, 4)):
        begin = random.integers(0, len(dear) - 200)
        dear[begin : begin + random.integers(64, 200)] = 1
    return np.asarray(dear + 0.01 * random.standard_normal(len(dear)))


def test_interval_of_two_states_contains_the_costs_in_both_states() -> None:
    """Stretches of blocks that contain a change of the state belong to neither state. Thus the ends
    of the interval remain near the costs in the two states."""
    noted = quiet = dear = 0
    for seed in range(FEW):
        found = location.estimate_location(
            simulate_brief_neighbour_process(seed), noises.PROCESS, noises.LAYOUT
        )
        if location.TWO_STATES in found.notes:
            noted += 1
            quiet += found.interval.lo <= 0 <= found.interval.hi
            dear += found.interval.lo <= 1 <= found.interval.hi
            assert found.interval.lo > -0.1 and found.interval.hi < 1.1
    assert noted > 0.8 * FEW
    assert min(quiet, dear) > 0.9 * noted, (
        f"of {noted} intervals, {quiet} contain the lower cost and {dear} the higher cost"
    )


def test_interval_of_two_states_contains_the_estimate() -> None:
    """The estimate includes the blocks next to a change of the state; the costs in the two states
    do not. Here, blocks before a change are cheap, so the estimate is below both costs."""
    x = np.zeros(noises.LENGTH)
    for begin in (0, 5 * noises.BLOCKS):
        x[begin + 56 : begin + 96] = -0.3
        x[begin + 96 : begin + 128] = 1
    found = location.estimate_location(x, noises.PROCESS, np.zeros(len(x), dtype=int))
    assert location.TWO_STATES in found.notes
    assert found.interval == Interval(found.value, 1.0)
    assert found.value < -0.001


def estimate_cost_with_slow_processes(slow: int) -> location.Location:
    """Estimate the location of 16 processes, `slow` of which cost 10 more than the others."""
    random = np.random.default_rng(slow)
    offsets = 10.0 * (random.permutation(16) < slow)
    x = offsets[noises.PROCESS] + random.standard_normal(noises.LENGTH)
    return location.estimate_location(x, noises.PROCESS, noises.LAYOUT)


@pytest.mark.parametrize(("slow", "share"), [(1, 0.302), (2, 0.383), (4, 0.524)])
def test_interval_allows_for_more_slow_processes_in_another_run(slow: int, share: float) -> None:
    """In another run, the share of slow processes may be up to `share`, the upper end of the
    Clopper-Pearson interval. The upper end of the interval of the cost allows for this share."""
    found = estimate_cost_with_slow_processes(slow)
    assert found.interval.hi >= 10 * share - 0.1
    assert found.value == pytest.approx(10 * slow / 16, abs=0.2)


def test_clopper_pearson_intervals_equal_results_of_scipy() -> None:
    scipy = pytest.importorskip("scipy.stats", reason=SCIPY_IS_MISSING)
    for every, found in ((16, 0), (16, 1), (16, 5), (16, 16), (64, 7)):
        wanted = scipy.binomtest(found, every).proportion_ci(0.95)
        share = student.compute_clopper_pearson_interval(found, every, 0.05)
        assert share == pytest.approx((wanted.low, wanted.high), abs=1e-9)


def simulate_run_of_modal_noise(seed: int) -> np.ndarray:
    """Return a run whose noise has several modes: a row of blocks for each process."""
    return noises.simulate_run("modal", seed).values.reshape(noises.PROCESSES, -1)


def test_layout_differences_by_noise_alone_are_kept() -> None:
    """If layouts differ by noise alone, the differences are not subtracted, because a subtraction
    would blur a distribution with several modes, and bias the midmean."""
    biases = [
        estimate_noise_location("modal", seed).value
        - float(location.compute_midmean(simulate_run_of_modal_noise(seed)).mean())
        for seed in range(FEW)
    ]
    assert abs(np.mean(biases)) < 0.02


def test_two_states_in_few_processes_keep_the_interval_over_processes() -> None:
    """If few processes have blocks in two states, the interval of the cost contains the interval
    that is computed from the costs of the processes."""
    process = np.repeat([1, 2, 3], 128)
    x = simulate_brief_neighbour_process(4, 3)
    found = location.estimate_location(x, process, np.arange(len(x)) % 8)
    assert set(found.notes) == {location.FEW_PROCESSES, location.TWO_STATES}
    slices = location.split_blocks_into_batches(process)
    batches = location.estimate_batch_locations(x, np.arange(len(x)) % 8, slices)[1]
    owners = np.array([process[part.start] for part in slices])
    over = location.compute_process_interval(
        batches, owners, found.value, location.ERROR_PROBABILITY
    )
    assert found.interval.lo <= over.lo < -0.1
    assert found.interval.hi >= over.hi > 1.1


@pytest.mark.parametrize("noise_kind", [*noises.KINDS, "brief"])
def test_interval_contains_the_estimate(noise_kind: str) -> None:
    """The interval, and each interval that is a part of it, contains the estimate, whatever the
    noise, the numbers of processes, layouts and blocks, and the step of the clock."""
    random = np.random.default_rng(len(noise_kind))
    for seed in range(25):
        processes, layouts = int(random.integers(1, 17)), int(random.choice((1, 2, 8, 32)))
        blocks = int(random.choice((1, 5, 24, 128)))
        x = (
            simulate_brief_neighbour_process(seed)
            if noise_kind == "brief"
            else noises.KINDS[noise_kind](np.random.default_rng(seed), noises.LENGTH)
        )
        x = x.reshape(16, 128)[:processes, :blocks].reshape(-1) * 10.0 ** random.integers(-3, 4)
        step = float(random.choice((0.0, 0.1, 100.0)))
        process, layout = np.repeat(np.arange(processes), blocks), np.arange(len(x)) % layouts
        found = location.estimate_location_of_stepped_values(x, process, layout, step)
        parts = (found.interval, found.over_time, found.over_layouts, found.endless)
        for interval in filter(None, parts):
            assert interval.lo <= found.value <= interval.hi


@pytest.mark.parametrize(("every", "noted"), [(10, True), (0, False), (1, False)])
def test_note_has_the_mean_over_time_if_the_usual_cost_leaves_out_blocks(
    every: int, noted: bool
) -> None:
    """If one block of ten costs 40 more, the usual cost leaves out the costly blocks, and the note
    has the mean over time. If no block or each block costs 40 more (`every` is 0 or 1), there is no
    note."""
    offsets = 40.0 * (np.arange(noises.LENGTH) % every == 0) if every else 0.0
    x = offsets + np.random.default_rng(1).standard_normal(noises.LENGTH)
    found = location.estimate_location(x, noises.PROCESS, noises.LAYOUT)
    assert found.left_out is not None
    assert found.mean == pytest.approx(float(np.mean(offsets)), abs=0.5)
    group = verdicts.BenchmarkGroup(make_tier(), "b", {}, {}, "none", 0.25, None, {}, None, 0.05)
    found_difference = verdicts.Difference(
        [], found.value, found.interval, found.over_time, None, (), None, found.mean, found.left_out
    )
    note = verdicts.describe_mean_over_time(group, found_difference)
    assert note == (
        f"mean over time {found.mean:+.3g} TSC cycles: some blocks cost more than usual"
        if noted
        else ""
    )


def estimate_cost_with_costly_offsets(costly: set[int], layouts: int) -> location.Location:
    """Estimate the cost from 16 processes of 32 blocks with `layouts` code layouts. A loop costs 0,
    or 1 at the offsets `costly` in a cache line."""
    layout, process = np.arange(512) % layouts, np.arange(512) // 32
    cost = np.isin(compute_offset_in_cache_line(layout), list(costly)).astype(float)
    x = cost + 0.01 * np.random.default_rng(1).standard_normal(512)
    return location.estimate_location(x, process, layout)


def test_interval_is_narrower_if_costly_offsets_are_neighbours() -> None:
    """If a loop costs more near the end of a cache line, 32 layouts give a narrower interval than
    eight, because the costly offsets are neighbours. With scattered costly offsets, the interval is
    twice as wide."""
    end, scattered = (
        estimate_cost_with_costly_offsets({56, 58, 60, 62}, 32),
        estimate_cost_with_costly_offsets({0, 16, 32, 48}, 32),
    )
    eight = estimate_cost_with_costly_offsets({56}, 8)
    for found in (end, scattered, eight):
        assert found.value == pytest.approx(0.125, abs=0.005)
        assert found.interval.lo < 0.125 < found.interval.hi
    assert 0.03 < end.interval.half_width < 0.07
    assert scattered.interval.half_width == pytest.approx(2 * end.interval.half_width, rel=0.1)
    assert eight.interval.half_width > 0.2


def test_layouts_with_few_blocks_are_merged() -> None:
    """32 layouts of two blocks each are merged to eight, so that random differences between
    layouts are not mistaken for effects of layouts. Layouts of three blocks each are not merged."""
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
    # The interval is as wide as with 64 independent blocks. If blocks of the same layout were
    # treated as dependent, there would be only 32 pairs of blocks, and a wider interval.
    assert 0.15 < found.over_time.half_width < 1


def estimate_noise_location(noise_kind: str, seed: int) -> location.Location:
    x = noises.KINDS[noise_kind](np.random.default_rng(seed), noises.LENGTH)
    return location.estimate_location(x, noises.PROCESS, noises.LAYOUT)


def test_estimator_with_too_wide_intervals_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(student, "compute_capped_t_quantile", lambda _outside, _freedom: 9.0)
    assert main(["check", "estimators", "-o", f"runs={FEW}", "-o", "kinds=normal"]) == 1
    out = capsys.readouterr().out
    assert "wider than 1.5 times the oracle's" in out
    # Only the runs of fixed length fail. Runs that stop early pass, because the widths of their
    # intervals have no limit.
    assert "\n1 passed, 1 failed\n" in out and out.endswith("0 passed, 1 failed\n")


@pytest.mark.parametrize(
    ("noise_kind", "counts"),
    [
        *(("normal", [50, 10]), ("stays-10%-5", [10, 10])),
        *(("frequency-rare", [5]), ("late-stretches-15%", [2])),
    ],
)
def test_number_of_simulations_is_printed(
    noise_kind: str,
    counts: list[int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The line on a kind of noise has the number of simulated runs, which is smaller if the noise
    takes long or if runs stop early. Runs that stop early have a line of their own."""
    simulated = []

    def record_calls_of_function(module: ModuleType, name: str) -> None:
        function = getattr(module, name)

        def record_name_and_call(*arguments: Any) -> Any:
            simulated.append(name)
            return function(*arguments)

        monkeypatch.setattr(module, name, record_name_and_call)

    record_calls_of_function(estimators, "simulate_run")
    record_calls_of_function(frequency, "simulate_added_costs")
    record_calls_of_function(latewindows, "simulate_costs_of_late_windows")
    estimators.judge_estimator([noise_kind], 50)
    out = capsys.readouterr().out
    lines = re.findall(rf"^({noise_kind}(?: stopped)?) +(\d+) +[01]\.\d+ ", out, re.M)
    names = [noise_kind, f"{noise_kind} stopped"][: len(counts)]
    assert [(name, int(count)) for name, count in lines] == [*zip(names, counts, strict=True)]
    assert len(simulated) == sum(counts)


def test_median_cannot_resolve_a_fifth_of_a_clock_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(location, "compute_midmean", lambda x: np.median(x, axis=-1))
    monkeypatch.setattr(location, "dither_values", lambda x, _step: x)
    assert estimators.score_estimator_on_noise("stepping", FEW).list_missed_limits(slack=3)


Costs = dict[str, independent.SiteCost]


def make_site_costs(together: float, spread: float, half_width: float = 0.0) -> Costs:
    """Return the costs of a site in both arrangements, with intervals of the same half width."""
    return {
        "together": independent.SiteCost(together, half_width),
        "spread": independent.SiteCost(spread, half_width),
    }


THEIRS = make_site_costs(0.0974, 0.0017)


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ([make_site_costs(0.0902, 0.0101)], "2 passed, 0 failed"),
        # The costs may differ by their intervals, too.
        ([make_site_costs(0.0974 + 0.0299, 0.0017 - 0.0299, 0.02)], "2 passed, 0 failed"),
        ([make_site_costs(0.0974 + 0.0301, 0.0017, 0.02)] * 3, "1 passed, 1 failed"),
        # Wide intervals are not judged, unless the other arrangement differs.
        ([make_site_costs(0.0974, 0.0017, 0.031), make_site_costs(0.1, 0.0)], "2 passed, 0 failed"),
        (
            [
                {**make_site_costs(0.2, 0.0, 0.031), "spread": independent.SiteCost(0.5, 0.0)},
            ]
            * 3,
            "0 passed, 2 failed",
        ),
        # Each cost must agree with nopcost in one of the tries; the two costs need not agree in the
        # same try.
        (
            [make_site_costs(0.2, 0), make_site_costs(0.1, 0.9)],
            "2 passed, 0 failed",
        ),
        ([make_site_costs(0.12, 0.0)] * 3, "1 passed, 1 failed"),
    ],
)
def test_kmbench_costs_must_equal_costs_of_nopcost(
    ours: list[Costs],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tries = iter(ours)
    monkeypatch.setattr(
        independent, "measure_site_costs_with_kmbench", lambda _number, _plan: next(tries)
    )
    monkeypatch.setattr(
        independent, "measure_site_costs_with_nopcost", lambda _program, _rounds: THEIRS
    )
    monkeypatch.setattr(judges, "build_kmbench", lambda: None)
    whole = main(["check", "independent"])
    assert expected in capsys.readouterr().out
    assert whole == ("0 failed" not in expected)
    assert next(tries, None) is None


def test_costs_with_wide_intervals_are_not_judged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the interval of an arrangement of sites ("together" or "spread") is too wide in each try,
    the exit code is 2, and a message names the arrangement."""
    wide = {**THEIRS, "spread": independent.SiteCost(0.0, 0.031)}
    monkeypatch.setattr(independent, "measure_site_costs_with_kmbench", lambda _number, _plan: wide)
    monkeypatch.setattr(
        independent, "measure_site_costs_with_nopcost", lambda _program, _rounds: THEIRS
    )
    monkeypatch.setattr(judges, "build_kmbench", lambda: None)
    assert main(["check", "independent"]) == 2
    assert "wider than 0.03 core cycles (spread): repeat the test on a quiet" in " ".join(
        capsys.readouterr().out.split()
    )


def test_cost_of_one_site_is_a_16th_of_the_cost_of_16_sites(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tick is 1.5 core cycles, so that 16 sites that add 3.2 ticks cost 0.3 core cycles each."""
    rows = [
        make_result("density-full", "marker-jump-16", 3.2),
        make_result("density-full", "marker-jump-8", 100.0),
        make_result("density-spread", "marker-jump-16", -0.16),
    ]
    plan = RunSettings(1, 1, ())
    monkeypatch.setattr(aa, "measure_added_cost_results", lambda _number, _plan: rows)
    found = independent.measure_site_costs_with_kmbench(1, plan)
    assert {name: site.cost for name, site in found.items()} == pytest.approx(
        {"together": 0.3, "spread": -0.015}
    )
    interval = rows[0].delta_ci
    assert interval is not None
    assert found["together"].half_width == pytest.approx(1.5 * interval.half_width / 16)
    rows[2] = replace(rows[2], core=None)
    with pytest.raises(UnableError, match="density-spread are neither counted nor estimated"):
        independent.measure_site_costs_with_kmbench(1, plan)


def test_nopcost_prints_two_costs(tmp_path: Path) -> None:
    """nopcost prints a cost and a half width for each benchmark. The costs are not checked, because
    other processes may use the CPU."""
    found = independent.measure_site_costs_with_nopcost(independent.build_nopcost(tmp_path), 5)
    assert set(found) == set(independent.BENCHMARKS)
    assert all(0 < site.half_width < 10 for site in found.values())
    assert "kmarkers/" not in "".join(
        line for line in independent.PROGRAM.read_text().splitlines() if "#include" in line
    )


def test_unknown_kinds_of_noise_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "estimators", "-o", "kinds=loud"]) == 2
    assert "-o kinds: 'loud' is not one of normal, skewed" in capsys.readouterr().err


def make_slopes_of_process(values: list[float], process: int = 1) -> list[Slope]:
    return [Slope.from_fraction(i, i % 4, Fraction(x), process) for i, x in enumerate(values)]


def test_few_blocks_give_an_unbounded_interval() -> None:
    assert location.estimate_series_location([]).interval == UNBOUNDED
    assert (
        location.estimate_series_location(make_slopes_of_process([1.0] * 20)).interval == UNBOUNDED
    )
    assert (
        location.estimate_series_location(make_slopes_of_process([1.0] * 24)).interval != UNBOUNDED
    )


def test_interval_of_cheap_and_costly_processes_follows_from_their_share() -> None:
    """Two of eight processes cost 14, the others 10. The 95 % interval of the share of costly
    processes is 3.2 % to 65.1 % by tables of Clopper and Pearson, so the interval of the mean is 10
    + 4 * 0.032 to 10 + 4 * 0.651. If a process changes from cheap to costly, there is no such
    interval."""
    process = np.repeat(np.arange(8), 64)
    x = np.where((process == 2) | (process == 5), 14.0, 10.0)
    found = location.compute_interval_of_two_process_groups(x, process, 0.05)
    assert found is not None
    assert (found.lo, found.hi) == pytest.approx((10.128, 12.604), abs=0.003)
    x[32:64] = 14.0
    assert location.compute_interval_of_two_process_groups(x, process, 0.05) is None


def test_interval_of_two_machine_states_contains_the_interval_of_each() -> None:
    """The expected ends are computed by hand, with Student's t for four degrees of freedom, 2.776:
    2 - t √(0.5 / 2 + 0.04), and 10 + t √(0.5 / 4 + 0.04)."""
    states = (np.array([1.0, 3.0]), np.full(4, 10.0))
    found = location.compute_interval_of_both_states(states, 0.5, 0.04, 4, 0.05)
    assert (found.lo, found.hi) == pytest.approx((0.505, 11.128), abs=0.001)


def test_two_different_processes_give_a_wide_interval() -> None:
    """The interval from two different processes is much wider than the difference of their
    costs."""
    x = np.repeat([0.0, 1.0], 64) + 0.01 * np.random.default_rng(0).standard_normal(128)
    found = location.estimate_location(x, np.repeat([1, 2], 64), np.arange(128) % 8)
    assert location.FEW_PROCESSES in found.notes
    assert found.interval.half_width > 5


@pytest.mark.parametrize(
    ("values", "upper"),
    [
        ([5], None),
        ([2, 2, 2], None),
        # The computed mean is not exactly 0.1.
        ([0.1, 0.1, 0.1], None),
        ([3, 1], [True, False]),
        # The squared deviations from the mean sum to 1.
        ([1, 0, 0, 1], [True, False, False, True]),
        ([0, 10, 1, 2], [False, True, False, False]),
        # The best split of four values explains 4/5 of the variance; of five values, 3/4.
        ([0, 1, 2, 3], [False, False, True, True]),
        ([0, 1, 2, 3, 4], None),
    ],
)
def test_values_are_split_into_the_two_groups_that_differ_most(
    values: list[float], upper: list[bool] | None
) -> None:
    """Values are split into the two groups that differ most, if the split explains at least 4/5 of
    the variance. Equal values are not split, and give no warning of numpy."""
    with np.errstate(all="raise"):
        found = location.split_into_two_groups(np.array(values, dtype=float))
    assert (None if found is None else [*found]) == upper


@pytest.mark.parametrize(
    ("values", "middle"),
    [
        ([], math.nan),
        ([5], 5),
        ([1, 9], 5),
        ([9, 1, 2], 2),
        ([1, 2, 4, 90], 3),
        ([8, 1, 2, 6, 4], 4),
    ],
)
def test_midmean_leaves_out_a_quarter_of_the_values_at_either_end(
    values: list[float], middle: float
) -> None:
    """A quarter of the values is left out at either end, rounded down; of up to three values the
    midmean is the median. Each row of a table has its own midmean."""
    row = np.array(values, dtype=float)
    assert location.compute_midmean(row) == pytest.approx(middle, nan_ok=True)
    both = location.compute_midmean(np.stack([row, -row]))
    assert [*both] == pytest.approx([middle, -middle], nan_ok=True)
    found = location.compute_midmeans([row, np.array([7.0, 8.0])])
    assert [*found] == pytest.approx([middle, 7.5], nan_ok=True)


@pytest.mark.parametrize(
    ("effects", "variance", "freedom"),
    [
        # The squares sum to 14, so the variance of an effect is 14 / 14.
        ([1, -1] * 7 + [0], 1 / 15, 14),
        # All differences of neighbours are 1; the last value and the first are neighbours, too.
        ([1, 0] * 8, 1 / 2 / 16, 32 / 3),
        # Fifteen differences are 1; the difference between the last value and the first is 15.
        ([*range(16)], 15 / 2 / 16, 32 / 3),
    ],
)
def test_layout_variance_uses_neighbouring_offsets_from_16_layouts_on(
    effects: list[float], variance: float, freedom: float
) -> None:
    """From 16 layouts on, the variance is computed from differences of neighbouring offsets."""
    found = location.estimate_layout_variance(np.array(effects, dtype=float))
    assert found == pytest.approx((variance, freedom))


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [
        ([64], [4] * 16),
        ([128], [8] * 16),
        ([62], [4, 4, 4, 4, 4, 4, 4, 5, 4, 4, 4, 4, 4, 4, 5]),
        ([3], [3]),
        ([7, 8], [7, 4, 4]),
        # Sixteen batches, divided by three processes, are five for each.
        ([20, 40, 20], [4] * 5 + [8] * 5 + [4] * 5),
        ([16] * 40, [16] * 40),
    ],
)
def test_blocks_of_all_processes_are_split_into_about_16_batches(
    lengths: list[int], sizes: list[int]
) -> None:
    process = np.repeat(np.arange(len(lengths)), lengths)
    slices = location.split_blocks_into_batches(process)
    assert sorted(part.stop - part.start for part in slices) == sorted(sizes)
    assert [part.start for part in slices] == [0, *(part.stop for part in slices[:-1])]
    assert slices[-1].stop == len(process)


def test_blocks_are_split_into_parts_of_nearly_equal_length() -> None:
    parts = location.split_blocks_evenly(3, 13, 4)
    assert [(part.start, part.stop) for part in parts] == [(3, 5), (5, 8), (8, 10), (10, 13)]


def test_noise_variance_is_the_variance_of_a_winsorized_mean() -> None:
    """The quartiles of 0 to 7 are 1.75 and 5.25. Values beyond a quartile are replaced by the
    quartile, which gives a variance of 17.25 / 8. This variance is divided by (1/2)², the square of
    the share that is kept, and by the number of values, 8."""
    assert location.estimate_noise_variance(np.arange(8.0)) == pytest.approx(17.25 / 8 * 4 / 8)


@pytest.mark.parametrize(
    ("batches", "alike"),
    [
        # The lagged products sum to -1.25, so the coefficient is -1.25 / 5, and 0.75 / 6 more
        # because of the bias, which is below zero.
        ([1.5, -0.5, 0.5, -1.5, -0.5, 0.5], 0.0),
        # The lagged products sum to 8.75, and the squares to 17.5.
        ([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], 0.5 + 0.75 * 2.5 / 6),
    ],
)
def test_variance_over_time_uses_the_slowest_cosine_coefficients(
    batches: list[float], alike: float
) -> None:
    """The variance at frequency zero is the mean square of the three slowest cosine coefficients,
    divided by the mean shape of an autoregressive spectrum, relative to frequency zero, at the
    frequencies 1/12, 2/12 and 3/12."""
    fft = pytest.importorskip("scipy.fft", reason=SCIPY_IS_MISSING)
    squares = fft.dct(np.array(batches), norm="ortho")[1:4] ** 2
    shapes = [
        (1 - alike) ** 2 / (1 - 2 * alike * math.cos(math.pi * k / 6) + alike**2) for k in (1, 2, 3)
    ]
    found, freedom = location.estimate_long_run_variance(np.array(batches) + 70.0)
    assert found == pytest.approx(squares.mean() / np.mean(shapes) / 6) and freedom == 3
    assert location.estimate_long_run_variance(np.full(13, 5.0)) == (0.0, 6)


def test_interval_over_processes_is_computed_from_process_means() -> None:
    """The processes cost 2 and 6, so the standard error is 2. Student's t is 12.706 for one degree
    of freedom. The interval is centred at the given value."""
    found = location.compute_process_interval(
        np.array([1.0, 3.0, 5.0, 7.0]), np.array([4, 4, 2, 2]), 10.0, 0.05
    )
    assert (found.lo, found.hi) == pytest.approx((10 - 25.412, 10 + 25.412), abs=0.001)


def make_blocks_from_letters(*levels: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the values and the processes of blocks, from a text for each process: a letter stands
    for 32 blocks, which cost 0 for `a`, and 10 for `b`."""
    costs = [10.0 * (letter == "b") for letters in levels for letter in letters]
    owners = [number for number, letters in enumerate(levels) for _ in letters]
    return np.repeat(costs, 32), np.repeat(owners, 32)


@pytest.mark.parametrize(
    ("levels", "cheap", "costly"),
    [
        (["aaaaaabbbbbb"], 5, 5),
        (["aaab", "bbbb"], 2, 4),
        (["baaaaa"], 4, 1),
        (["abbbbb"], 1, 4),
        # With ten changes, only the first and the last part would be left.
        (["abababababa"], 1, 1),
        (["abababababab"], None, None),
        # Changes at the start of a process are differences between processes.
        (["aaaa", "bbbb"], None, None),
        (["aaabb"], None, None),
        (["aaaaaa"], None, None),
    ],
)
def test_two_states_of_the_machine_are_found_in_parts_of_32_blocks(
    levels: list[str], cheap: int | None, costly: int | None
) -> None:
    """`cheap` and `costly` are the numbers of parts in each state; parts next to a change of the
    state do not count."""
    found = location.find_two_machine_states(*make_blocks_from_letters(*levels))
    if cheap is None or costly is None:
        assert found is None
    else:
        assert found is not None
        assert [[*values] for values in found] == [[0.0] * cheap, [10.0] * costly]


@pytest.mark.parametrize(("processes", "known"), [(5, False), (6, True)])
def test_share_of_costly_processes_needs_six_processes(processes: int, known: bool) -> None:
    process = np.repeat(np.arange(processes), 8)
    x = np.where(process == 1, 14.0, 10.0)
    assert (location.compute_interval_of_two_process_groups(x, process, 0.05) is not None) == known


def test_effects_of_layouts_are_removed_without_their_noise() -> None:
    """The midmeans of two layouts are 3.5 and 13.5, so the effects are -5 and 5 with a variance of
    50. Noise explains a variance of 17.25 / 8 * 4 / 16 * 2, so only the remaining share of each
    effect is removed. If noise is larger than the effects, nothing is removed."""
    x, layout = np.concatenate([np.arange(8.0), np.arange(8.0) + 10]), np.repeat([0, 1], 8)
    effects, level = location.remove_layout_effects(x, layout)
    share = 1 - 17.25 / 16 / 50
    assert [*effects] == [-5, 5]
    assert level == pytest.approx(x - share * np.repeat([-5, 5], 8))
    near = np.concatenate([np.arange(8.0), np.arange(8.0) + 0.5])
    assert [*location.remove_layout_effects(near, layout)[1]] == [*near]
    alone = location.remove_layout_effects(x, 0 * layout)
    assert [*alone[0]] == [0] and [*alone[1]] == [*x]


def test_residuals_are_differences_from_batch_estimates() -> None:
    """The residuals are -1, 0, 3, -2 and 2; their quartiles are -1 and 2."""
    found = location.compute_residuals(
        np.array([1.0, 2, 5, 8, 12]), np.array([2.0, 10]), [slice(0, 3), slice(3, 5)]
    )
    assert ([*found[0]], found[1]) == ([-1, 0, 3, -2, 2], 3)


def test_location_without_noise_has_the_interval_over_layouts() -> None:
    """One of eight layouts costs 1, the others cost 0. The variance of their mean is 1/8 / 8, and
    Student's t for seven degrees of freedom is 2.365. Nothing changes over time, so the interval
    over time has no width, and an endless run would have the same interval."""
    layout, process = np.arange(64) % 8, np.repeat(np.arange(8), 8)
    found = location.estimate_location((layout == 3).astype(float), process, layout)
    assert (found.value, found.mean, found.spread) == (0.125, 0.125, 0)
    assert found.over_time == Interval(0.125, 0.125) and found.left_out == Interval(0, 0)
    assert found.over_layouts is not None and found.endless is not None
    for one in (found.interval, found.over_layouts, found.endless):
        assert (one.lo, one.hi) == pytest.approx((0.125 - 0.2956, 0.125 + 0.2956), abs=1e-4)


def test_dithered_values_fill_a_step_of_the_clock_evenly() -> None:
    """Each of 89 values moves by up to half a step, and no gap between the fractions is twice as
    long as the mean gap."""
    found = np.sort(location.dither_values(np.full(89, 7.0), 2.0))
    gaps = np.diff(found)
    assert 6 <= found[0] < 6.05 and 7.95 < found[-1] <= 8
    assert gaps.min() > 0.5 * 2 / 89 and gaps.max() < 2 * 2 / 89


@pytest.mark.parametrize(
    ("blocks", "layouts", "few"),
    [(23, 8, False), (26, 9, True), (27, 9, False), (95, 32, True), (96, 32, False)],
)
def test_more_than_eight_layouts_need_three_blocks_each(
    blocks: int, layouts: int, few: bool
) -> None:
    assert has_too_few_blocks_per_layout(blocks, layouts) is few


def test_batches_of_blocks_do_not_span_processes() -> None:
    process = np.repeat([3, 1, 2], [40, 7, 50])
    for part in location.split_blocks_into_batches(process):
        assert len(set(process[part])) == 1
    assert sum(part.stop - part.start for part in location.split_blocks_into_batches(process)) == 97


def test_paired_differences_keep_the_process_number() -> None:
    (difference,) = subtract_baseline(
        make_slopes_of_process([5.0], process=7), make_slopes_of_process([3.0], process=7)
    )
    assert difference.process == 7 and difference.value == 2


def test_equal_values_have_an_interval_of_the_clock_step() -> None:
    series = make_slopes_of_process([2.0] * 64)
    assert location.estimate_series_location(series).interval.half_width == 0
    stepped = location.estimate_series_location(series, 0.5)
    assert stepped.interval.half_width == 0.5
    assert location.WIDENED_BY_STEP in stepped.notes


def test_midmeans_and_quantiles_equal_results_of_scipy() -> None:
    scipy = pytest.importorskip("scipy.stats", reason=SCIPY_IS_MISSING)
    random = np.random.default_rng(0)
    for count in (4, 5, 37, 128):
        x = random.standard_cauchy(count)
        assert location.compute_midmean(x) == pytest.approx(scipy.trim_mean(x, 0.25))
    for freedom in range(1, 31):
        for alpha in (0.05, 0.02, 0.01, 1e-6):
            wanted = scipy.t.ppf(1 - alpha / 2, freedom)
            assert student.compute_t_quantile(alpha, freedom) == pytest.approx(wanted, rel=1e-6)
    assert student.compute_capped_t_quantile(0.05, 7.9) == student.compute_t_quantile(0.05, 7)
    assert student.compute_capped_t_quantile(0.05, 0.2) == student.compute_t_quantile(0.05, 1)
    assert student.compute_capped_t_quantile(0.05, 1e9) == student.compute_t_quantile(0.05, 30)
    assert noises.compute_lognormal_midmean() == pytest.approx(
        scipy.lognorm(1).expect(lb=scipy.lognorm(1).ppf(0.25), ub=scipy.lognorm(1).ppf(0.75)) * 2,
        abs=1e-6,
    )


def test_sign_test_ranks_equal_results_of_scipy() -> None:
    scipy = pytest.importorskip("scipy.stats", reason=SCIPY_IS_MISSING)
    for n in range(6, 200):
        assert stats.compute_sign_test_rank(n) == int(scipy.binom.ppf(0.025, n, 0.5))


def test_the_smallest_detectable_difference_is_found_in_four_of_five_runs() -> None:
    """The smallest detectable difference is found in more than 70 % of the runs. A difference half
    way between the margin and the smallest detectable difference is found in fewer than 60 %."""
    found = {0.5: 0, 1.0: 0}
    for seed in range(FEW):
        clone, variant = (
            estimate_noise_location("placed", 2 * seed),
            estimate_noise_location("placed", 2 * seed + 1),
        )
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


def test_one_block_in_ten_of_heavy_tailed_noise_is_an_outlier() -> None:
    """One block in ten is an outlier from a Lomax distribution of scale 20 and shape 1.2; half of
    the outliers are negative. The share 2 ** -1.2 of the outliers is beyond 20, and 10 ** -1.2
    beyond 180. The other blocks are white noise."""
    x = noises.KINDS["tailed"](np.random.default_rng(1), 200_000)
    for side in (x, -x):
        assert np.mean(side > 20) == pytest.approx(0.0218, abs=0.0015)
        assert np.mean(side > 180) == pytest.approx(0.0032, abs=0.0006)
    # Half of the blocks of white noise are within 0.6745 of zero, and hardly any outlier is.
    assert np.mean(np.abs(x) < 0.6745) == pytest.approx(0.45, abs=0.01)
    assert np.median(x) == pytest.approx(0, abs=0.02)


def test_simulated_frequency_follows_its_pattern() -> None:
    """A window of LOOPS passes takes the core cycles of the passes, 60 ticks more, and noise of 8
    ticks. Two neighbouring changes are mean_blocks blocks apart on average."""
    change = frequency.FrequencyPattern(1.0, 0.25, 8)
    slow, changes, blocks, extra = 0, 0, 0, []
    for seed in range(30):
        windows = frequency.simulate_windows(seed, change)
        ratios = np.array(
            [(one.core_cycles or 0) / one.value for one in windows if one.loops == 480]
        )
        states = ratios.reshape(-1, len(frequency.TRUTH))[:, 0] < 1.2
        assert len(states) == 16 * 6
        slow, blocks = slow + int(states.sum()), blocks + len(states)
        changes += int((states[1:] != states[:-1]).sum())
        for one in windows[:48]:
            ratio = 1.0 if one.core_cycles == one.value else 1.42
            cost = one.size * (24 + frequency.TRUTH[one.variant]) / ratio
            extra.append(one.value - cost)
    assert slow / blocks == pytest.approx(0.25, abs=0.04)
    assert blocks / changes == pytest.approx(8, rel=0.1)
    assert np.mean(extra) == pytest.approx(59.5, abs=0.6) and np.std(extra) == pytest.approx(
        8, abs=0.6
    )
    first = windows[0]
    assert (first.process, first.block, first.layout, first.loops) == (1, 0, 0, 200)
    last = windows[-1]
    assert (last.process, last.block, last.layout, last.loops) == (16, 95, 95 * 7 % 8, 480)


@pytest.mark.parametrize("pattern", [(0.15, 10), (0.5, 4), (0.1, 60)])
def test_late_stretches_cover_their_share_of_the_blocks(pattern: tuple[float, int]) -> None:
    """Each run begins in a late stretch with the probability of the share. A stretch has
    mean_blocks blocks on average, and at least one."""
    random, some = np.random.default_rng(3), latewindows.Disturbance(*pattern)
    runs = np.array([latewindows.choose_late_blocks(random, some) for _ in range(400)])
    assert runs.shape == (400, 256)
    assert runs.mean() == pytest.approx(some.share, abs=0.04)
    assert runs[:, 0].mean() == pytest.approx(some.share, abs=0.07)
    begins = (runs[:, 1:] & ~runs[:, :-1]).sum() + runs[:, 0].sum()
    assert runs.sum() / begins == pytest.approx(some.mean_blocks, rel=0.25)
    assert not latewindows.choose_late_blocks(random, latewindows.Disturbance(0.9)).any()


def compute_disturbance_ticks(disturbance: latewindows.Disturbance) -> np.ndarray:
    """Return the ticks of simulated windows minus the ticks on a quiet machine: an array with the
    dimensions block, variant and loop count."""
    windows = latewindows.simulate_late_windows(2, disturbance)
    assert [one.process for one in windows] == [one.block // 32 + 1 for one in windows]
    assert sorted(one.layout for one in windows[: 8 * 12 : 12]) == [*range(8)]
    quiet = [one.size * (24 + latewindows.TRUTH[one.variant]) + 60 for one in windows]
    values = np.array([one.value for one in windows]) - np.array(quiet)
    return np.asarray(values.reshape(256, 4, 3))


def test_simulated_late_windows_follow_their_disturbance() -> None:
    """A quiet window has noise of 200 ticks. In a stretch, all windows of a block take 1.2 to 1.5
    times as long, 1.35 on average. Single windows are late by 10 µs of 2600 ticks on average."""
    quiet = compute_disturbance_ticks(latewindows.Disturbance(0.0))
    assert np.mean(quiet) == pytest.approx(-0.5, abs=15) and np.std(quiet) == pytest.approx(
        200, rel=0.05
    )
    stretches = compute_disturbance_ticks(latewindows.Disturbance(0.5, 10, 2.0)) / latewindows.LOOPS
    late = stretches[:, 0].mean(axis=1) > 2
    assert 0.3 < late.mean() < 0.7 and np.abs(stretches[~late]).max() < 1
    slower = 1 + stretches[late][:, 0].mean(axis=1) / 24
    assert (
        slower.min() > 1.17
        and slower.max() < 1.53
        and slower.mean() == pytest.approx(1.35, abs=0.03)
    )
    # The variant `large` adds 3 ticks, or 6 in a late stretch.
    large = 27 + stretches[late][:, 3].mean(axis=1)
    assert large / slower == pytest.approx(30, abs=0.5)
    for one_sided in (False, True):
        singles = compute_disturbance_ticks(latewindows.Disturbance(0.2, one_sided=one_sided))
        hit = singles > 1000
        shares = hit.mean(axis=(0, 2))
        wanted = 0.2 * math.exp(-1000 / 26000)
        assert shares[1:] == pytest.approx(wanted, abs=0.04)
        assert shares[0] == pytest.approx(0 if one_sided else wanted, abs=0.04)
        assert singles[hit].mean() == pytest.approx(27000, rel=0.15)


def test_regular_disturbances_add_their_cost_to_their_share_of_the_blocks() -> None:
    """A process has 128 blocks. Costly processes, and costly pairs of a process and a layout, cost
    the same in all of their blocks."""
    random, length = np.random.default_rng(5), 500 * noises.BLOCKS
    layout = noises.permute_layouts(random, length)
    found = {
        kind: noises.ASYMMETRIC[kind](random, layout).reshape(-1, noises.BLOCKS)
        for kind in ("slow-start-3", "drift-in-process", "period-32", "one-in-five-10", "pairs-4")
    }
    assert (found["slow-start-3"] == np.repeat([3, 0], [32, 96])).all()
    assert found["drift-in-process"] == pytest.approx(np.tile(np.linspace(0, 3, 128), (500, 1)))
    assert (found["period-32"].reshape(-1, 32).sum(axis=1) == 8 * 3).all()
    costly = found["one-in-five-10"]
    assert [*np.unique(costly)] == [0, 10] and (costly == costly[:, :1]).all()
    assert (costly[:, 0] > 0).mean() == pytest.approx(0.2, abs=0.04)
    order = np.argsort(layout.reshape(-1, 128), axis=1, kind="stable")
    pairs = np.take_along_axis(found["pairs-4"], order, axis=1).reshape(500, 32, 4)
    assert [*np.unique(pairs)] == [0, 4] and (pairs == pairs[:, :, :1]).all()
    assert (pairs > 0).mean() == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("noise_kind", ["normal", "skewed", "modal", "tailed"])
def test_midmean_of_independent_noise_is_zero(noise_kind: str) -> None:
    x = noises.KINDS[noise_kind](np.random.default_rng(21), 400_000)
    assert location.compute_midmean(x) == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize(
    ("changed", "slack", "missed"),
    [
        ({}, 0, ""),
        ({"covered": 0.9299}, 0, "covers less than 93%"),
        ({"covered": 0.854}, 3, ""),
        ({"covered": 0.853}, 3, "covers less than 93%"),
        ({"width": 1.5001}, 0, "wider than 1.5 times the oracle's"),
        ({"width": 1.724}, 3, ""),
        ({"width": 1.726}, 3, "wider than 1.5 times the oracle's"),
        ({"width": math.nan}, 0, ""),
        ({"false": 0.0501}, 0, "more than 5% falsely slower or faster"),
        ({"false": 0.115}, 3, ""),
        ({"false": 0.116}, 3, "more than 5% falsely slower or faster"),
        ({"kind": "stepping"}, 0, ""),
        ({"half_width": 9.0, "bias": 9.0}, 0, ""),
        ({"kind": "stepping", "half_width": 9.0, "bias": 9.0, "stopped": True}, 0, ""),
        ({"kind": "stepping", "half_width": 0.201}, 9, "does not resolve a fifth of a clock step"),
        ({"kind": "stepping", "bias": 0.101}, 9, "does not resolve a fifth of a clock step"),
        ({"kind": "stepping", "bias": -0.101}, 9, "does not resolve a fifth of a clock step"),
    ],
)
def test_score_of_100_runs_may_miss_a_limit_by_its_tolerance(
    changed: dict[str, Any], slack: float, missed: str
) -> None:
    """In 100 runs, the standard deviation is 2.55 % for a share of 93 %, 2.18 % for 5 %, and 5 %
    for one half. Only runs of fixed length must resolve a stepping clock, without a tolerance."""
    score = estimators.Score("normal", 100, 0.93, 1.5, 0.05, 0.1, 0.2)
    assert "; ".join(replace(score, **changed).list_missed_limits(slack)) == missed


def test_score_of_stopped_runs_is_the_score_of_the_worst_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The true differences are zero, the margin and the negative margin. In ten runs of each, the
    intervals miss the true difference 1, 3 and 2 times, and 2, 0 and 4 verdicts are false. The
    estimates are 0.1, 0.2 and 0.6 too large, with intervals of ± 1, ± 2 and ± 3."""
    expected = {
        0.0: (1, 2, 0.1, 1.0),
        estimators.MARGIN: (3, 0, 0.2, 2.0),
        -estimators.MARGIN: (2, 4, 0.6, 3.0),
    }
    simulated: list[tuple[str, int, int]] = []
    looked: list[float] = []

    def return_stopped_result(_looks: object, truth: float) -> tuple[SimpleNamespace, str]:
        number = looked.count(truth)
        looked.append(truth)
        misses, false, error, half = expected[truth]
        middle = truth + (half + 0.01 if number < misses else 0)
        interval = Interval(middle - half, middle + half)
        verdict = ("slower", "faster")[number % 2] if number < false else "equivalent"
        return SimpleNamespace(value=truth + error, interval=interval), verdict

    monkeypatch.setattr(estimators, "simulate_run", lambda *words: simulated.append(words))
    monkeypatch.setattr(estimators, "find_first_resolving_analysis", return_stopped_result)
    score = estimators.score_estimator_on_stopped_runs("normal", 10)
    assert {str(truth) for truth in looked} == {"0.0", "0.25", "-0.25"} and len(looked) == 30
    assert simulated == [("normal", seed, 64) for seed in range(10)]
    assert (score.kind, score.runs, score.stopped) == ("normal", 10, True)
    assert math.isnan(score.width)
    found = (score.covered, score.false, score.bias, score.half_width)
    assert found == pytest.approx((0.7, 0.4, 0.3, 2.0))


@pytest.mark.parametrize("sign", [1, -1])
def test_score_of_windows_is_the_score_of_the_worst_variant(
    monkeypatch: pytest.MonkeyPatch, sign: int
) -> None:
    """In five runs, the interval of the variant `large` misses the true cost once, and the
    intervals of the other two variants miss it twice. The verdict of a variant without an added
    cost is false once."""

    def make_added_costs(truths: dict[str, float], seed: int) -> dict[str, frequency.AddedCost]:
        found = {}
        for number, (name, truth) in enumerate(truths.items()):
            missed = seed < (1 if name == "large" else 2)
            lo = truth + (0.01 if missed else -1)
            value = truth + sign * 0.1 * number
            verdict = "slower" if name == "large" or (name == "base-clone" and seed == 3) else ""
            found[name] = frequency.AddedCost(value, lo, lo + 2 * (number + 1), verdict)
        return found

    for module, name in (
        (frequency, "simulate_added_costs"), (latewindows, "simulate_costs_of_late_windows")
    ):  # fmt: skip
        truths = {key: truth for key, truth in module.TRUTH.items() if key != "base"}
        monkeypatch.setattr(
            module, name, lambda seed, _, truths=truths: make_added_costs(truths, seed)
        )
    score = estimators.score_estimator_on_changing_frequency("frequency-rare", 50)
    found = (score.covered, score.false, score.bias, score.half_width)
    assert found == pytest.approx((0.6, 0.2, 0.2 * sign, 3.0)) and score.runs == 5
    score = estimators.score_estimator_on_disturbance("late-long-10%", 125)
    found = (score.covered, score.false, score.bias, score.half_width)
    assert found == pytest.approx((0.6, 0.2, 0.1 * sign, 2.0)) and score.runs == 5
