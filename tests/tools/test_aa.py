# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers check aa`, which compares copies of the same code in core cycles."""

from __future__ import annotations

import math
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import rawdata
from kmtools.analyse.corecycles import CoreCycleRatio
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import HOT_LOOPS, Result, compute_results
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.paths import ROOT
from kmtools.cli import main
from kmtools.measure import collect, native, neighbour
from kmtools.measure.aa import RunSettings
from kmtools.method import aa, estimators, independent, judges, neighbours
from kmtools.runner.ask import SuiteRequest
from verdictrows import make_result

BLOCKS = 24
PLAN = RunSettings(BLOCKS, 60)


@pytest.fixture(autouse=True)
def skip_kmbench_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not build kmbench, which no test of this file runs."""
    monkeypatch.setattr(judges, "build_kmbench", lambda: None)


@pytest.fixture
def clones(tmp_path: Path) -> list[Result]:
    """Return the results of the clones in a simulated run, without core cycles."""
    raw = rawdata.write_raw_folder(tmp_path / "raw", BLOCKS, 1, rawdata.BENCHES[:2], emulated="0")
    loaded = collect.load_raw_folder("native", raw)
    results = compute_results(loaded.rows, [loaded.tier])
    found = [result for result in results if result.is_clone]
    assert {result.benchmark for result in found} == set(aa.HOTTEST_LOOPS)
    return found


def test_all_processes_of_aa_have_different_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process of each run gets its own seed."""
    seeds: list[int] = []

    def record_seeds_and_write_samples(
        raw: Path, *, blocks: int, processes: int, seed: int, **_more: object
    ) -> None:
        seeds.extend(range(seed, seed + processes))
        rawdata.write_raw_folder(raw, blocks, 1, rawdata.BENCHES[:2], emulated="0")

    monkeypatch.setattr(native, "measure_processes", record_seeds_and_write_samples)
    for number in (1, 2):
        assert {result.benchmark for result in aa.measure_added_cost_results(number, PLAN)} == set(
            aa.HOTTEST_LOOPS
        )
    assert len(seeds) == len(set(seeds)) > 2


@pytest.mark.parametrize("name", ["aa", "bursts", "neighbours", "independent"])
def test_kmbench_is_built_before_a_run(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Each suite that measures builds kmbench first, as a new clone has no kmbench. If the build
    fails, nothing is measured."""

    def refuse_to_build() -> None:
        raise UnableError("no compiler")

    monkeypatch.setattr(judges, "build_kmbench", refuse_to_build)
    monkeypatch.setattr(native, "measure_processes", pytest.fail)
    (suite,) = judges.make_requested_suites(SuiteRequest(), [name])
    with pytest.raises(UnableError, match="no compiler"):
        suite.run(Path("a.log"))


@pytest.mark.long
def test_neighbour_process_uses_a_core_until_the_block_ends() -> None:
    """The neighbour process uses a core in bursts until the `with` block ends, also if the block
    ends by an exception."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with neighbour.run_neighbour_process("bursts", 1):
        time.sleep(5)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert 0.5 < used < 4.5
    script = (
        "from kmtools.measure.neighbour import run_neighbour_process\n"
        "with run_neighbour_process('bursts', 1): print(1/0)"
    )
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": str(ROOT / "scripts")}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert "ZeroDivisionError" in done.stderr and time.monotonic() - began < 10


def replace_added_cost(result: Result, delta: float) -> Result:
    """Return `result` with the added cost `delta` and the interval `delta` ± 0.1."""
    return replace(result, delta=delta, delta_ci=Interval(delta - 0.1, delta + 0.1))


def run_check_aa(monkeypatch: pytest.MonkeyPatch, *runs: list[Result]) -> int:
    """Run `kmarkers check aa` with the results `runs` in place of measurements; return the exit
    code."""
    measured = iter(runs)
    monkeypatch.setattr(aa, "measure_added_cost_results", lambda _number, _plan: next(measured))
    return main(["check", "aa", "-o", f"runs={len(runs)}"])


def test_aa_is_skipped_without_core_cycles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], clones: list[Result]
) -> None:
    """If core cycles are unknown, the check is skipped, because its limit is in core cycles."""
    assert run_check_aa(monkeypatch, clones, clones) == 2
    said = capsys.readouterr()
    assert "SKIP aa: core cycles of empty-loop are neither counted nor estimated" in said.out
    assert "A/A clones" not in said.out


def test_aa_prints_differences_in_core_cycles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], clones: list[Result]
) -> None:
    """If a tick is two core cycles, a difference in core cycles is twice the difference in
    ticks."""
    core = CoreCycleRatio("estimated", 2.0)
    near, far = (
        [replace_added_cost(replace(result, core=core, verdict="same"), delta) for result in clones]
        for delta in (0.0, 0.04)
    )
    assert run_check_aa(monkeypatch, near, far) == 0
    out = capsys.readouterr().out
    assert "empty-loop: A/A differences span 0.080 core cycles (at most 0.1)" in out
    assert "0 of 4 A/A clones slower or faster" in out


@pytest.mark.parametrize(("cost", "exit_code"), [(1.13, 0), (1.15, 1)])
def test_aa_fails_if_costs_of_two_runs_differ(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    clones: list[Result],
    cost: float,
    exit_code: int,
) -> None:
    """The check fails if the cost of a variant differs too much between two runs, although the
    clones are equal."""
    core = CoreCycleRatio("estimated", 1.0)
    same = [
        replace_added_cost(replace(result, core=core, verdict="same"), 0.0) for result in clones
    ]
    other = replace(same[0], variant="marker", is_clone=False, verdict="slower")
    assert (
        run_check_aa(
            monkeypatch,
            [*same, replace_added_cost(other, 1.0)],
            [*same, replace_added_cost(other, cost)],
        )
        == exit_code
    )
    out = capsys.readouterr().out
    assert f"{exit_code} of 3 added costs differ from run to run" in out
    assert ("empty-loop marker: added cost +1.000 in one run, +1.150 in the" in out) == bool(
        exit_code
    )


@pytest.mark.parametrize(
    ("apart", "rows", "expected", "exit_code"),
    [
        (0, 20, "0 of 20 added costs differ from run to run (0.0%, at most 5%)", 0),
        (1, 20, "1 of 20 added costs differ from run to run (5.0%, at most 5%)", 0),
        (1, 19, "1 of 19 added costs differ from run to run (5.3%, at most 5%)", 1),
        (4, 32, "4 of 32 added costs differ from run to run (12.5%, at most 5%)", 1),
    ],
)
def test_up_to_5_percent_of_added_costs_may_differ_between_runs(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    clones: list[Result],
    apart: int,
    rows: int,
    expected: str,
    exit_code: int,
) -> None:
    """In the second run, `apart` of `rows` rows cost 1 more, which intervals of ± 0.1 do not
    explain."""
    core = CoreCycleRatio("estimated", 1.0)
    same = [
        replace_added_cost(replace(result, core=core, verdict="same"), 0.0) for result in clones
    ]
    first = same + [
        replace(same[0], variant=f"v{n}", is_clone=False, verdict="slower")
        for n in range(rows - len(same))
    ]
    far = {result.key for result in first[len(first) - apart :]}
    second = [replace_added_cost(result, 1.0 if result.key in far else 0.0) for result in first]
    assert run_check_aa(monkeypatch, first, second) == exit_code
    assert expected in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("verdicts", "exit_code", "expected"),
    [
        (["slower"] * 20, 0, "0 of 20 verdicts are false (0.0%, at most 5%)"),
        (["slower"] * 19 + ["equivalent"], 0, "1 of 20 verdicts are false (5.0%"),
        (["slower"] * 17 + ["faster"] + ["unresolved"] * 2, 1, "1 of 18 verdicts are false"),
        (["slower"] * 16 + ["unresolved"] * 4, 0, "16 of 20 rows of hot loops are resolved (80.0%"),
        (["slower"] * 15 + ["withheld"] * 5, 1, "15 of 20 rows of hot loops are resolved (75.0%"),
    ],
)
def test_aa_fails_on_contradicting_or_too_few_verdicts(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    clones: list[Result],
    verdicts: list[str],
    exit_code: int,
    expected: str,
) -> None:
    """A verdict is false if it contradicts the verdict of most runs. The check fails if more than
    5 % of the verdicts are false, or if too few rows have a verdict."""
    core = CoreCycleRatio("estimated", 1.0)
    same = [
        replace_added_cost(replace(result, core=core, verdict="equivalent"), 0.0)
        for result in clones
    ]
    other = replace_added_cost(replace(same[0], variant="marker", is_clone=False), 1.0)
    runs = [[*same, replace(other, verdict=verdict)] for verdict in verdicts]
    assert run_check_aa(monkeypatch, *runs) == exit_code
    assert expected in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [("runs", "0"), ("runs", "-1"), ("blocks", "0")])
def test_aa_refuses_options_below_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, str]
) -> None:
    """Numbers below 1 are refused before anything is measured."""
    monkeypatch.setattr(aa, "judge_aa_clone_runs", None)
    assert main(["check", "aa", "-o", "=".join(arguments)]) == 2
    assert (
        f"{arguments[0]}: '{arguments[1]}' is not a whole number above 0" in capsys.readouterr().err
    )


def test_aa_prints_the_message_of_a_failed_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error message of kmbench is printed without a traceback."""

    def raise_failed_error(_runs: int, _plan: RunSettings) -> bool:
        raise FailedError("kmbench failed: no blocks")

    monkeypatch.setattr(aa, "judge_aa_clone_runs", raise_failed_error)
    assert main(["check", "aa"]) == 1
    assert "FAILED kmbench failed: no blocks" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "exit_code"), [("aa", 1), ("bursts", 0)])
def test_clones_may_differ_up_to_the_margin_beside_a_neighbour(
    monkeypatch: pytest.MonkeyPatch, clones: list[Result], name: str, exit_code: int
) -> None:
    """The added cost of a clone differs by 0.13 core cycles between two runs. The test `aa` allows
    0.1 core cycles. In the test `bursts`, which measures while a neighbour process runs, only the
    margin is a limit."""
    core = CoreCycleRatio("estimated", 1.0)
    here = [replace(result, core=core, verdict="same", margin=0.25) for result in clones]
    measured = iter(
        [[replace_added_cost(result, delta) for result in here] for delta in (-0.07, 0.06)]
    )
    monkeypatch.setattr(aa, "measure_added_cost_results", lambda _number, _plan: next(measured))
    assert main(["check", name, "-o", "runs=2"]) == exit_code


def test_aa_fails_if_a_clone_is_beyond_its_margin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], clones: list[Result]
) -> None:
    """The check fails if a clone differs from its baseline by more than the margin, even if the
    verdict of the clone is "unresolved"."""
    core = CoreCycleRatio("estimated", 1.0)
    here = [replace(result, core=core, verdict="unresolved", margin=0.25) for result in clones]
    for delta, code in ((0.24, 0), (0.26, 1)):
        assert (
            run_check_aa(monkeypatch, [replace_added_cost(result, delta) for result in here])
            == code
        )
        out = capsys.readouterr().out
        assert f"{2 * code} of 2 A/A clones in hot loops are beyond their margin" in out


def make_aa_results(*rows: tuple[str, str, float, str]) -> list[Result]:
    """Return results with these benchmarks, variants, added costs and verdicts."""
    return [make_result(name, variant, cost, verdict=word) for name, variant, cost, word in rows]


def test_aa_compares_runs_in_consecutive_pairs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The intervals are ± 0.1, so costs that are 0.14 apart agree, and costs 0.15 apart differ. The
    fifth run has no partner. Rows that only one run of a pair has are not compared."""
    runs = [make_aa_results(("b", "x", cost, "slower")) for cost in (1.0, 1.14, 3.0, 3.15, 9.0)]
    runs[0] += make_aa_results(("b", "y", 1.0, "slower"))
    runs[1] += make_aa_results(("b", "z", 5.0, "slower"))
    pairs = [(one.delta, other.delta) for one, other in aa.pair_results_of_runs(runs)]
    assert pairs == [(1.0, 1.14), (3.0, 3.15)]
    assert not aa.judge_run_agreement(runs)
    said = "b x: added cost +3.000 in one run, +3.150 in the next run\n"
    said += "1 of 2 added costs differ from run to run"
    assert capsys.readouterr().out == f"{said} (50.0%, at most 5%)\n"
    assert aa.judge_run_agreement(runs[:1])
    assert "only one run was measured" in capsys.readouterr().out
    wide = replace(runs[1][0], delta_ci=Interval(-math.inf, math.inf))
    assert not aa.have_different_costs(runs[2][0], wide)
    other = replace(runs[1][0], delta=1.5, delta_ci=Interval(1.1, 1.9))
    assert not aa.have_different_costs(runs[0][0], replace(other, delta=1.41))
    assert aa.have_different_costs(runs[0][0], replace(other, delta=1.42))
    assert aa.have_different_costs(replace(other, delta=1.42), runs[0][0])


def test_false_verdicts_are_printed_with_the_most_frequent_verdict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Verdicts on clones, the verdict "differs" (a cost close to the margin) and missing verdicts
    are not counted."""
    words = ["slower"] * 3 + ["faster"] * 2 + ["equivalent", "differs", "unresolved", "withheld"]
    runs = [
        make_aa_results(("b", "x", 1.0, word), ("b", "none-clone", 0.0, word)) for word in words
    ]
    assert not aa.judge_verdict_consistency(runs)
    assert capsys.readouterr().out.splitlines() == [
        "b x: faster in 2 runs, but slower in 3 runs",
        "b x: equivalent in 1 runs, but slower in 3 runs",
        "3 of 6 verdicts are false (50.0%, at most 5%)",
    ]
    assert aa.judge_verdict_consistency(runs[7:])
    assert capsys.readouterr().out == "0 of 0 verdicts are false (0.0%, at most 5%)\n"


def test_share_of_resolved_rows_counts_variants_in_hot_loops_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = make_aa_results(
        ("empty-loop", "x", 1.0, "slower"), ("empty-loop", "y", 1.0, "unresolved"),
        ("empty-loop", "none-clone", 0.0, "slower"), ("getppid-quiet", "x", 1.0, "slower"),
    )  # fmt: skip
    assert aa.count_hot_loop_rows(rows) == (1, 2)
    assert aa.judge_share_of_rows_with_verdict([rows[3:]]) and capsys.readouterr().out == ""
    assert not aa.judge_share_of_rows_with_verdict([rows, rows[:1]])
    assert (
        capsys.readouterr().out == "2 of 3 rows of hot loops are resolved (66.7%, at least 80%)\n"
    )


def test_clone_whose_difference_equals_its_margin_passes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = make_aa_results(
        ("empty-loop", "none-clone", -0.25, ""), ("empty-loop", "y-clone", 0.25, "")
    )
    assert aa.judge_aa_clone_margins(rows)
    cold = make_aa_results(("getppid-quiet", "none-clone", 9.0, ""))
    assert aa.judge_aa_clone_margins([*rows, *cold])
    capsys.readouterr()
    assert not aa.judge_aa_clone_margins([*rows, replace(rows[0], delta=-0.2501)])
    assert capsys.readouterr().out.splitlines() == [
        "empty-loop none-clone: A/A difference -0.250 beyond margin 0.250",
        "1 of 3 A/A clones in hot loops are beyond their margin (allowed: 0)",
    ]


@pytest.mark.parametrize(
    ("wrong", "every", "passes"), [(1, 20, True), (1, 19, False), (2, 40, True), (0, 1, True)]
)
def test_up_to_5_percent_of_clones_may_be_slower_or_faster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wrong: int, every: int,
    passes: bool,
) -> None:  # fmt: skip
    """The printed line of each clone that is judged slower or faster has a mark."""
    words = ["slower", "faster"][:wrong] + ["equivalent"] * (every - wrong)
    rows = make_aa_results(*(("b", f"v{n}-clone", 0.0, word) for n, word in enumerate(words)))
    monkeypatch.setattr(aa, "measure_added_cost_results", lambda *_: rows)
    assert aa.judge_aa_clone_runs(1, PLAN) is passes
    out = capsys.readouterr().out
    assert out.count("  <-- wrong\n") == wrong
    assert (
        f"{wrong} of {every} A/A clones slower or faster ({wrong / every:.1%}, at most 5%)" in out
    )
    assert f"run 1: b                     +0.000 [-0.100, +0.100]       {words[-1]}\n" in out
    monkeypatch.setattr(aa, "measure_added_cost_results", lambda *_: [])
    with pytest.raises(UnableError, match="no A/A clone was measured"):
        aa.judge_aa_clone_runs(1, PLAN)


@pytest.mark.parametrize(
    ("name", "options", "plan", "runs", "usual"),
    [
        ("aa", {}, RunSettings(128, 150), 20, 3000),
        ("bursts", {}, RunSettings(64, 150, judges.DORMANT, "bursts"), 20, 3000),
        (
            "aa",
            {"blocks": "7", "budget": "2m", "runs": "3", "benchmarks": "x,y z"},
            RunSettings(7, 120, ("x", "y", "z")),
            3,
            450,
        ),
        (
            "bursts",
            {"benchmarks": "x", "runs": "1"},
            RunSettings(64, 150, ("x",), "bursts"),
            1,
            150,
        ),
        ("neighbours", {}, RunSettings(64, 60, HOT_LOOPS, "", ("planted",)), 20, 5280),
        (
            "neighbours",
            {"kinds": "busy,memory", "budget": "9", "runs": "2", "blocks": "5"},
            RunSettings(5, 9, HOT_LOOPS, "", ("planted",)),
            2,
            264,
        ),
        ("independent", {}, RunSettings(128, 60, ("density-full", "density-spread")), 0, 70),
    ],
)
def test_options_of_measurement_suites_set_runs_blocks_and_benchmarks(
    monkeypatch: pytest.MonkeyPatch, name: str, options: dict[str, str], plan: RunSettings,
    runs: int, usual: float,
) -> None:  # fmt: skip
    asked: list[Any] = []

    def record_judge_arguments(*words: Any) -> bool:
        asked.extend(words)
        return name != "aa"

    monkeypatch.setattr(aa, "judge_aa_clone_runs", record_judge_arguments)
    monkeypatch.setattr(neighbours, "judge_neighbours", record_judge_arguments)
    monkeypatch.setattr(independent, "judge_site_cost_agreement", record_judge_arguments)
    (suite,) = judges.make_requested_suites(SuiteRequest(options=options), [name])
    assert (suite.name, suite.usual, suite.loud) == (name, usual, True)
    tally = suite.run(Path("a.log"))
    assert (tally.passed, len(tally.failed)) == ((0, 1) if name == "aa" else (1, 0))
    kinds = options["kinds"].split(",") if "kinds" in options else [*neighbours.KINDS]
    assert asked == {
        "independent": [plan], "neighbours": [kinds, runs, plan, Path("a.json")],
    }.get(name, [runs, plan])  # fmt: skip


def test_measurement_suites_are_chosen_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["aa", "bursts", "neighbours", "estimators", "independent"]
    found = judges.make_requested_suites(SuiteRequest(), [*names[::-1], "other"])
    assert [suite.name for suite in found] == names
    assert judges.make_requested_suites(SuiteRequest(), ["other"]) == []
    asked: list[Any] = []

    def record_estimator_arguments(*words: Any) -> bool:
        asked.extend(words)
        return True

    monkeypatch.setattr(estimators, "judge_estimator", record_estimator_arguments)
    assert found[3].run(Path("x")).passed == 1
    assert "normal" in asked[0] and "stays-10%-5" in asked[0] and asked[1] == 2000
    assert "frequency" in asked[0] and "late-singles-10%" in asked[0]
