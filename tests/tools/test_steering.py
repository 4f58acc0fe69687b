# SPDX-License-Identifier: GPL-2.0-only
"""Tests of early stopping: a native run ends as soon as its rows are resolved. The intervals are
wider, to allow for several evaluations of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kmtools.analyse import interim, location, stopping, verdicts
from kmtools.analyse.interim import BenchmarkChooser
from kmtools.analyse.stats import UNBOUNDED, Interval
from kmtools.measure import collect, native
from kmtools.measure.clusters import INTERIM_ENV_LINE, ChooseBenchmarks
from kmtools.measure.run_cache import RunCache
from kmtools.measure.samples import RAW_COLUMNS, Sample
from kmtools.method import estimators, noises
from verdictrows import make_result

FEW = 40
PASSES = (1000, 2000)
# Ticks per pass of each variant. x is resolved at once; y is too noisy to be resolved.
COSTS = {"plain": {"none": 2.0, "none-clone": 2.0, "x": 4.0},
         "close": {"none": 2.0, "none-clone": 2.0, "y": 2.0}}  # fmt: skip
NOISY = {"close": 100}
# Variant w adds exactly the margin, 0.25.
MARGIN = {"margin": {"none": 2.0, "none-clone": 2.0, "w": 2.25}}
# Variant z costs 0.5 more in one of four layouts, so more time does not narrow the interval of its
# cost.
PLACED = {"placed": {"none": 2.0, "none-clone": 2.0, "z": 2.0}}
ADDS = {("z", 3): 0.5}


def write_simulated_process(part: Path, number: int, benchmarks: list[str], more: str) -> None:
    """Write samples of a simulated process to the directory `part`: 16 blocks, with noise of 25
    ticks per window, multiplied by the factor in NOISY. `number` is the seed; `more` are further
    lines of the file env."""
    part.mkdir(parents=True)
    (part / "env").write_text(f"kernel=k\ncycles=none\nemulated=0\n{more}")
    random = np.random.default_rng(number)
    for name in benchmarks or COSTS:
        lines = ["# schema=2", ",".join(RAW_COLUMNS)]
        for block in range(16):
            for position, (variant, cost) in enumerate((COSTS | PLACED | MARGIN)[name].items()):
                here = cost + ADDS.get((variant, block % 4), 0.0)
                for loops in PASSES:
                    noise = 25 * NOISY.get(name, 1) * random.standard_normal()
                    value = max(0, round(5000 + here * loops + noise))
                    lines.append(
                        f"{name},{variant},loop,{block % 4},{block},{position},0,{loops},,{value},"
                        "ticks,,"
                    )
        (part / f"{name}.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture(name="events")
def make_event_list() -> list[tuple[str, dict[str, Any]]]:
    """Return a list for the recorded events."""
    return []


@pytest.fixture(name="variants")
def make_variant_patterns() -> list[str]:
    """Return the patterns of the variants whose samples are kept, to which a test may append."""
    return []


@pytest.fixture(name="steer")
def make_simulated_benchmark_chooser(
    monkeypatch: pytest.MonkeyPatch,
    events: list[tuple[str, dict[str, Any]]],
    variants: list[str],
) -> ChooseBenchmarks:
    """Return a ChooseBenchmarks for a measurement whose processes are simulated."""

    def simulate_process(
        part: Path, words: list[object], _: object, more: str, *__: object
    ) -> None:
        write_simulated_process(part, int(str(words[3])), [str(word) for word in words[4:]], more)

    monkeypatch.setattr(native, "run_kmbench", simulate_process)
    said: list[str] = []
    tell = lambda event, **parts: events.append((event, parts))  # noqa: E731
    return BenchmarkChooser("native", 16, RunCache(variants), tell, said.append)


def test_a_benchmark_ends_when_its_rows_are_resolved(
    tmp_path: Path, steer: ChooseBenchmarks, events: list[tuple[str, dict[str, Any]]]
) -> None:
    raw = tmp_path / "native"
    done = native.measure_processes(raw, blocks=16, processes=40, seed=1, choose_benchmarks=steer)
    assert done == 40
    counts = {name: len(list(raw.glob(f"process-*/{name}.csv"))) for name in COSTS}
    assert counts == {"plain": 16, "close": 40}
    assert [(name, parts.get("processes")) for name, parts in events] == [
        ("pilot", 16), ("look", 16), ("look", 32),
    ]  # fmt: skip
    assert events[1][1]["unresolved"] == ["close"]
    assert (events[1][1]["rows"], events[1][1]["resolved"]) == (2, 1)
    assert 0 < events[0][1]["detectable"]["plain"] < 2
    data = collect.load_raw_folder("native", raw)
    found = {(r.benchmark, r.variant): r for r in verdicts.compute_results(data.rows, [data.tier])}
    assert found["plain", "x"].verdict == verdicts.SLOWER
    assert found["close", "y"].verdict == verdicts.UNRESOLVED
    assert (found["plain", "x"].alpha, found["close", "y"].alpha) == (0.03, 0.01)


def test_run_ends_when_the_rows_of_chosen_variants_are_resolved(
    tmp_path: Path,
    steer: ChooseBenchmarks,
    events: list[tuple[str, dict[str, Any]]],
    variants: list[str],
) -> None:
    """Rows of variants that were not chosen are neither counted nor waited for."""
    variants.append("x")
    words: dict[str, Any] = {"blocks": 16, "processes": 40, "seed": 1, "choose_benchmarks": steer}
    assert native.measure_processes(tmp_path / "native", **words) == 16
    assert (events[1][1]["rows"], events[1][1]["resolved"]) == (1, 1)


def test_verdict_differs_ends_the_benchmark(tmp_path: Path, steer: ChooseBenchmarks) -> None:
    raw = tmp_path / "native"
    words: dict[str, Any] = {"blocks": 16, "processes": 64, "seed": 1, "choose_benchmarks": steer}
    assert native.measure_processes(raw, benchmarks=["margin"], **words) == 16
    data = collect.load_raw_folder("native", raw)
    found = {r.variant: r for r in verdicts.compute_results(data.rows, [data.tier])}
    assert found["w"].verdict == verdicts.DIFFERS


def test_run_ends_when_all_rows_are_resolved(tmp_path: Path, steer: ChooseBenchmarks) -> None:
    raw = tmp_path / "native"
    words: dict[str, Any] = {"blocks": 16, "processes": 64, "seed": 1, "choose_benchmarks": steer}
    assert native.measure_processes(raw, benchmarks=["plain"], **words) == 16


def test_effects_of_code_layouts_do_not_prolong_a_benchmark(
    tmp_path: Path, steer: ChooseBenchmarks, events: list[tuple[str, dict[str, Any]]]
) -> None:
    """If only more code layouts could resolve a row, more processes are useless, and the run ends.
    The row is unresolved, with a note."""
    raw = tmp_path / "native"
    words: dict[str, Any] = {"blocks": 16, "processes": 64, "seed": 1, "choose_benchmarks": steer}
    assert native.measure_processes(raw, benchmarks=["plain", "placed"], **words) == 16
    assert (events[1][1]["rows"], events[1][1]["resolved"]) == (2, 1)
    data = collect.load_raw_folder("native", raw)
    found = {r.variant: r for r in verdicts.compute_results(data.rows, [data.tier])}
    assert (found["z"].verdict, found["z"].note) == (
        verdicts.UNRESOLVED,
        verdicts.LIMITED_BY_LAYOUTS,
    )
    assert found["z"].delta == pytest.approx(0.125, abs=0.02)
    assert not found["none-clone"].note


def test_noisy_row_may_be_resolved_by_more_time() -> None:
    """If noise is large compared with the differences of layouts, more time may resolve the row."""
    random = np.random.default_rng(1)
    layout, process = np.arange(1024) % 8, np.arange(1024) // 64
    for noise, known in ((0.1, True), (8.0, False)):
        x = noise * random.standard_normal(1024) + 0.5 * (layout == 3)
        assert (location.estimate_location(x, process, layout).endless is not None) == known


def test_resumed_run_repeats_the_same_interim_evaluations(
    tmp_path: Path, steer: ChooseBenchmarks
) -> None:
    """A resumed run evaluates its rows after the same numbers of processes as before the
    interruption."""
    raw = tmp_path / "native"
    parts = raw.with_name("native.parts")
    for number in range(18):
        name = ["plain", "close"] if number < 16 else ["close"]
        write_simulated_process(parts / f"process-{number + 1}", number + 1, name, INTERIM_ENV_LINE)
    assert (
        native.measure_processes(raw, blocks=16, processes=20, seed=1, choose_benchmarks=steer)
        == 20
    )
    counts = {name: len(list(raw.glob(f"process-*/{name}.csv"))) for name in COSTS}
    assert counts == {"plain": 16, "close": 20}


def test_error_probabilities_of_interim_looks_sum_to_alpha() -> None:
    assert sum(stopping.LOOKS.values()) == pytest.approx(location.ERROR_PROBABILITY)
    assert [stopping.get_interim_error_probability(n) for n in (1, 16, 17, 32, 33, 64, 65)] == [
        0.03, 0.03, 0.01, 0.01, 0.01, 0.01, 0.01,
    ]  # fmt: skip


def test_run_without_interim_looks_has_the_total_error_probability() -> None:
    assert stopping.choose_error_probability({}, [], 0.05) == 0.05


def test_predicted_detectable_difference_shrinks_with_processes() -> None:
    clone = make_result("b", "none-clone")
    at_16, at_64 = (interim.forecast_detectable_difference(clone, n) or 0 for n in (16, 64))
    assert clone.margin is not None and at_16 > at_64 > clone.margin
    alone = replace(clone, layout_ci=None)
    half = 0.1 * (stopping.PILOT_CLUSTERS / 16) ** 0.5
    alpha = stopping.get_interim_error_probability(16)
    wanted = verdicts.compute_smallest_detectable_difference(
        Interval(-half, half), clone.margin, alpha
    )
    assert interim.forecast_detectable_difference(alone, 16) == pytest.approx(wanted)


@pytest.mark.parametrize("lacking", [{"time_ci": None}, {"time_ci": UNBOUNDED}, {"margin": None}])
def test_no_difference_is_forecast_from_a_pilot_that_is_too_short(lacking: dict[str, Any]) -> None:
    """A clone without a bounded interval or without a margin has no forecast. The event and the
    printed line have only benchmarks with a forecast; if there are none, no line is printed."""
    events: list[tuple[str, dict[str, Any]]] = []
    lines: list[str] = []
    clone, short = make_result("b", "none-clone"), make_result("c", "none-clone", **lacking)
    assert interim.forecast_detectable_difference(short, 16) is None
    for results in ([clone, short], [short]):
        interim.report_detectable_differences(
            results, "vm", 16, lambda event, **parts: events.append((event, parts)), lines.append
        )
    assert [(event, [*parts["detectable"]]) for event, parts in events] == [
        ("pilot", ["b"]),
        ("pilot", []),
    ]
    assert len(lines) == 1 and " in b" in lines[0] and " in c" not in lines[0]


def make_unresolved_result(benchmark: str, variant: str, note: str = "") -> verdicts.Result:
    return make_result(benchmark, variant, 0.0, verdict=verdicts.UNRESOLVED, note=note)


LAYOUTS = f"few processes; {verdicts.LIMITED_BY_LAYOUTS}"
BENT = "not on a line: from short to long windows, the difference changes by +1"


@pytest.mark.parametrize(
    ("results", "look"),
    [
        ([], ([], 0, 0, 0)),
        # Baselines and clones are not counted as rows.
        (
            [make_result("b", "none", None), make_unresolved_result("b", "none-clone")],
            ([], 0, 0, 0),
        ),
        ([make_result("b", "x"), make_result("b", "y", verdict=verdicts.SLOWER)], ([], 0, 0, 2)),
        (
            [
                make_unresolved_result("d", "x"),
                make_unresolved_result("a", "x", LAYOUTS),
                make_unresolved_result("b", "x", BENT),
                make_unresolved_result("b", "y"),
                make_unresolved_result("d", "y"),
                make_result("c", "x"),
            ],
            (["d", "b"], 5, 2, 6),
        ),
    ],
)
def test_benchmarks_are_measured_further_if_time_may_resolve_a_row(
    results: list[verdicts.Result], look: tuple[list[str], int, int, int]
) -> None:
    assert interim.analyse_interim_results(results) == interim.InterimLook(*look)


@pytest.mark.parametrize(
    ("results", "said"),
    [
        (
            [
                make_unresolved_result("d", "x"),
                make_unresolved_result("a", "x", LAYOUTS),
                make_unresolved_result("b", "x", BENT),
                make_result("c", "x"),
            ],
            "after 32 processes 1 of 4 rows are resolved; more processes do not resolve 2: layouts"
            " differ, or windows are not on a line",
        ),
        ([make_unresolved_result("d", "x")], "after 32 processes 0 of 1 rows are resolved"),
    ],
)
def test_interim_look_prints_the_number_of_resolved_rows(
    results: list[verdicts.Result], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line and an event are written after 32 processes, and nothing after 31 or 33."""
    events: list[tuple[str, dict[str, Any]]] = []
    lines: list[str] = []
    monkeypatch.setattr(interim, "compute_results_of_first_clusters", lambda *_: results)
    steer = BenchmarkChooser(
        "native", 64, RunCache(), lambda event, **parts: events.append((event, parts)), lines.append
    )
    assert [steer(Path("x"), processes) for processes in (31, 32, 33)] == [None, ["d"], None]
    assert lines == [said]
    (event,) = events
    resolved = int(said.split()[3])
    assert event == (
        "look",
        {
            "tier": "native",
            "processes": 32,
            "rows": len(results),
            "resolved": resolved,
            "unresolved": ["d"],
        },
    )


def test_pilot_prints_a_range_of_detectable_differences() -> None:
    """If a clone has no noise, the smallest detectable difference is the margin. For four
    benchmarks, the third smallest difference is printed as the middle difference."""
    margins = {"e": 3.0, "a": 1.23456, "d": 0.5, "c": 2.0}
    none = Interval(0, 0)
    clones = [
        make_result(name, "none-clone", time_ci=none, layout_ci=none, margin=margin)
        for name, margin in margins.items()
    ]
    for count, middle in ((4, "2 in c"), (3, "1.2 in a")):
        events: list[dict[str, Any]] = []
        lines: list[str] = []
        given = [make_result("e", "x"), *(one for one in clones[:3] + clones[3:][: count - 3])]
        interim.report_detectable_differences(
            given, "metal", 16, lambda _, events=events, **parts: events.append(parts), lines.append
        )
        assert lines == [
            "pilot: with 16 module loads, four of five runs will detect differences of 0.5 TSC"
            f" cycles in d, {middle}, 3 in e"
        ]
        assert events[0]["tier"] == "metal" and events[0]["processes"] == 16
        assert events[0]["detectable"]["a"] == 1.235


@pytest.mark.parametrize(("processes", "alpha"), [(16, 0.03), (17, 0.01)])
def test_error_probability_of_a_run_with_looks_depends_on_its_processes(
    processes: int, alpha: float
) -> None:
    window = Sample(
        "native", "k", 1, "b", "v", "loop", 0, 0, 0, 0, 9, None, 7, "TSC cycles", None, ()
    )
    samples = [window._replace(process=number % processes) for number in range(40)]
    for env, wanted in (({stopping.LOOKS_KEY: "1"}, alpha), ({}, 0.05)):
        assert stopping.choose_error_probability(env, samples, 0.05) == wanted


@pytest.mark.parametrize("kind", ["normal", "process-1", "neighbour-500", "stepping"])
def test_early_stopping_keeps_the_coverage_of_intervals(kind: str) -> None:
    """The intervals of runs that stop early contain the true cost as often as the intervals of
    other runs. The test `estimators` simulates more runs."""
    assert not estimators.score_estimator_on_stopped_runs(kind, FEW).list_missed_limits(slack=3)


def test_too_many_interim_evaluations_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """If each of many interim evaluations has an error probability of 50 %, coverage is too low."""
    often = dict.fromkeys(range(2, 65, 2), 0.5)
    monkeypatch.setattr(stopping, "LOOKS", often)
    assert estimators.score_estimator_on_stopped_runs("normal", FEW).list_missed_limits(slack=3)


def test_simulated_noise_has_unit_variance_in_all_pieces() -> None:
    """The noise is generated in pieces of PIECE_BLOCKS values. The first eight pieces have the same
    variance as the later pieces, and the last value of a piece correlates with the next value."""
    x = noises.KINDS["ar-0.9"](np.random.default_rng(3), 64 * noises.PIECE_BLOCKS)
    assert np.var(x[: noises.PIECE_BLOCKS * 8]) == pytest.approx(1, abs=0.2)
    assert np.var(x[noises.PIECE_BLOCKS * 8 :]) == pytest.approx(1, abs=0.1)
    joined = (
        x[noises.PIECE_BLOCKS - 1 :: noises.PIECE_BLOCKS][:-1]
        * x[noises.PIECE_BLOCKS :: noises.PIECE_BLOCKS]
    )
    assert joined.mean() > 0.3
