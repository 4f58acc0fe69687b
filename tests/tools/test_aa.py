# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers check aa`, which compares copies of the same code in core cycles."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import rawdata
from kmtools.analyse.corecycles import CoreCycleRatio
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import Result, compute_results
from kmtools.base.errors import FailedError
from kmtools.base.paths import ROOT
from kmtools.cli import main
from kmtools.measure import collect, native, neighbour
from kmtools.measure.aa import RunSettings
from kmtools.method import aa

BLOCKS = 24
PLAN = RunSettings(BLOCKS, 60)


@pytest.fixture
def clones(tmp_path: Path) -> list[Result]:
    """Return the results of the clones in a simulated run, without core cycles."""
    raw = rawdata.write_tier(tmp_path / "raw", BLOCKS, 1, rawdata.BENCHES[:2], emulated="0")
    loaded = collect.load_raw_folder("native", raw)
    results = compute_results(loaded.rows, [loaded.tier])
    found = [result for result in results if result.is_clone]
    assert {result.benchmark for result in found} == set(aa.HOTTEST_LOOPS)
    return found


def test_runs_share_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process of each run gets its own seed."""
    seeds: list[int] = []

    def write_samples(
        raw: Path, *, blocks: int, processes: int, seed: int, **_more: object
    ) -> None:
        seeds.extend(range(seed, seed + processes))
        rawdata.write_tier(raw, blocks, 1, rawdata.BENCHES[:2], emulated="0")

    monkeypatch.setattr(native, "measure_processes", write_samples)
    for number in (1, 2):
        assert {result.benchmark for result in aa.measure_results(number, PLAN)} == set(
            aa.HOTTEST_LOOPS
        )
    assert len(seeds) == len(set(seeds)) > 2


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


def replace_cost(result: Result, delta: float) -> Result:
    """Return `result` with the added cost `delta` and the interval `delta` ± 0.1."""
    return replace(result, delta=delta, delta_ci=Interval(delta - 0.1, delta + 0.1))


def run_check_aa(monkeypatch: pytest.MonkeyPatch, *runs: list[Result]) -> int:
    """Run `kmarkers check aa` with the results `runs` in place of measurements; return the exit
    code."""
    measured = iter(runs)
    monkeypatch.setattr(aa, "measure_results", lambda _number, _plan: next(measured))
    return main(["check", "aa", "-o", f"runs={len(runs)}"])


def test_without_core_cycles_there_is_no_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], clones: list[Result]
) -> None:
    """If core cycles are unknown, the check is skipped, because its limit is in core cycles."""
    assert run_check_aa(monkeypatch, clones, clones) == 2
    said = capsys.readouterr()
    assert "SKIP aa: core cycles of empty-loop are neither counted nor estimated" in said.out
    assert "A/A clones" not in said.out


def test_differences_are_in_core_cycles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], clones: list[Result]
) -> None:
    """If a tick is two core cycles, a difference in core cycles is twice the difference in
    ticks."""
    core = CoreCycleRatio("estimated", 2.0)
    near, far = (
        [replace_cost(replace(result, core=core, verdict="same"), delta) for result in clones]
        for delta in (0.0, 0.04)
    )
    assert run_check_aa(monkeypatch, near, far) == 0
    out = capsys.readouterr().out
    assert "empty-loop: A/A differences within 0.080 core cycles (at most 0.1)" in out
    assert "0 of 4 A/A clones slower or faster" in out


@pytest.mark.parametrize(("cost", "code"), [(1.13, 0), (1.15, 1)])
def test_two_runs_with_different_costs_fail(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    clones: list[Result],
    cost: float,
    code: int,
) -> None:
    """The check fails if the cost of a variant differs too much between two runs, although the
    clones are equal."""
    core = CoreCycleRatio("estimated", 1.0)
    same = [replace_cost(replace(result, core=core, verdict="same"), 0.0) for result in clones]
    other = replace(same[0], variant="marker", is_clone=False, verdict="slower")
    assert (
        run_check_aa(
            monkeypatch, [*same, replace_cost(other, 1.0)], [*same, replace_cost(other, cost)]
        )
        == code
    )
    out = capsys.readouterr().out
    assert f"{code} of 3 added costs differ from run to run" in out
    assert ("empty-loop marker: +1.000 in one run, +1.150 in the next" in out) == bool(code)


@pytest.mark.parametrize(
    ("apart", "rows", "said", "code"),
    [
        (0, 20, "0 of 20 added costs differ from run to run (0.0%, at most 5%)", 0),
        (1, 20, "1 of 20 added costs differ from run to run (5.0%, at most 5%)", 0),
        (1, 19, "1 of 19 added costs differ from run to run (5.3%, at most 5%)", 1),
        (4, 32, "4 of 32 added costs differ from run to run (12.5%, at most 5%)", 1),
    ],
)
def test_one_added_cost_of_twenty_may_differ_from_run_to_run(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    clones: list[Result],
    apart: int,
    rows: int,
    said: str,
    code: int,
) -> None:
    """The added costs of `apart` of `rows` rows differ by 1 in two runs, more than the intervals of
    ± 0.1 explain."""
    core = CoreCycleRatio("estimated", 1.0)
    same = [replace_cost(replace(result, core=core, verdict="same"), 0.0) for result in clones]
    first = same + [
        replace(same[0], variant=f"v{n}", is_clone=False, verdict="slower")
        for n in range(rows - len(same))
    ]
    far = {result.key for result in first[len(first) - apart :]}
    second = [replace_cost(result, 1.0 if result.key in far else 0.0) for result in first]
    assert run_check_aa(monkeypatch, first, second) == code
    assert said in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("verdicts", "code", "said"),
    [
        (["slower"] * 20, 0, "0 of 20 verdicts are false (0.0%, at most 5%)"),
        (["slower"] * 19 + ["equivalent"], 0, "1 of 20 verdicts are false (5.0%"),
        (["slower"] * 17 + ["faster"] + ["unresolved"] * 2, 1, "1 of 18 verdicts are false"),
        (["slower"] * 16 + ["unresolved"] * 4, 0, "16 of 20 rows of hot loops are resolved (80.0%"),
        (["slower"] * 15 + ["withheld"] * 5, 1, "15 of 20 rows of hot loops are resolved (75.0%"),
    ],
)
def test_contradicting_or_too_few_verdicts_fail(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    clones: list[Result],
    verdicts: list[str],
    code: int,
    said: str,
) -> None:
    """A verdict is false if it contradicts the verdict of most runs. The check fails if more than
    5 % of the verdicts are false, or if too few rows have a verdict."""
    core = CoreCycleRatio("estimated", 1.0)
    same = [
        replace_cost(replace(result, core=core, verdict="equivalent"), 0.0) for result in clones
    ]
    other = replace_cost(replace(same[0], variant="marker", is_clone=False), 1.0)
    runs = [[*same, replace(other, verdict=verdict)] for verdict in verdicts]
    assert run_check_aa(monkeypatch, *runs) == code
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("words", [("runs", "0"), ("runs", "-1"), ("blocks", "0")])
def test_options_below_one_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, str]
) -> None:
    """Numbers below 1 are refused before anything is measured."""
    monkeypatch.setattr(aa, "judge_clone_runs", None)
    assert main(["check", "aa", "-o", "=".join(words)]) == 2
    assert f"{words[0]}: '{words[1]}' is no whole number above 0" in capsys.readouterr().err


def test_message_of_a_failed_run_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error message of kmbench is printed without a traceback."""

    def raise_failed_error(_runs: int, _plan: RunSettings) -> bool:
        raise FailedError("kmbench failed: no blocks")

    monkeypatch.setattr(aa, "judge_clone_runs", raise_failed_error)
    assert main(["check", "aa"]) == 1
    assert "FAILED kmbench failed: no blocks" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "code"), [("aa", 1), ("bursts", 0)])
def test_clones_may_differ_up_to_the_margin_beside_a_neighbour(
    monkeypatch: pytest.MonkeyPatch, clones: list[Result], name: str, code: int
) -> None:
    """The added cost of a clone differs by 0.13 core cycles between two runs. The test `aa` allows
    0.1 core cycles. In the test `bursts`, which measures while a neighbour process runs, only the
    margin is a limit."""
    core = CoreCycleRatio("estimated", 1.0)
    here = [replace(result, core=core, verdict="same", margin=0.25) for result in clones]
    measured = iter([[replace_cost(result, delta) for result in here] for delta in (-0.07, 0.06)])
    monkeypatch.setattr(aa, "measure_results", lambda _number, _plan: next(measured))
    assert main(["check", name, "-o", "runs=2"]) == code


def test_clone_beyond_its_margin_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], clones: list[Result]
) -> None:
    """The check fails if a clone differs from its baseline by more than the margin, even if the
    verdict of the clone is "unresolved"."""
    core = CoreCycleRatio("estimated", 1.0)
    here = [replace(result, core=core, verdict="unresolved", margin=0.25) for result in clones]
    for delta, code in ((0.24, 0), (0.26, 1)):
        assert run_check_aa(monkeypatch, [replace_cost(result, delta) for result in here]) == code
        out = capsys.readouterr().out
        assert f"{2 * code} of 2 A/A clones in hot loops are beyond their margin" in out
