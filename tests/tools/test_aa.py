# SPDX-License-Identifier: GPL-2.0-only
"""kmarkers check aa: copies of the same code are judged in core cycles, or not at all."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import rawdata
from kmtools.analyse.corecycles import CoreCycles
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import Result, analyse
from kmtools.base.errors import FailedError
from kmtools.base.paths import ROOT
from kmtools.cli import main
from kmtools.measure import bursts, collect, native
from kmtools.measure.aa import Plan
from kmtools.method import aa

BLOCKS = 24
PLAN = Plan(BLOCKS, 60)


@pytest.fixture
def clones(tmp_path: Path) -> list[Result]:
    """Return the clones of one run, without core cycles."""
    raw = rawdata.write_tier(tmp_path / "raw", BLOCKS, 1, rawdata.BENCHES[:2], emulated="0")
    loaded = collect.load_raw("native", raw)
    results = analyse(loaded.rows, [loaded.tier])
    found = [result for result in results if result.is_clone]
    assert {result.benchmark for result in found} == set(aa.HOTTEST)
    return found


def test_runs_share_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process of each run has a seed of its own; the baseline has no row."""
    seeds: list[int] = []

    def write(raw: Path, *, blocks: int, processes: int, seed: int, **_more: object) -> None:
        seeds.extend(range(seed, seed + processes))
        rawdata.write_tier(raw, blocks, 1, rawdata.BENCHES[:2], emulated="0")

    monkeypatch.setattr(native, "measure", write)
    for number in (1, 2):
        assert {result.benchmark for result in aa.rows(number, PLAN)} == set(aa.HOTTEST)
    assert len(seeds) == len(set(seeds)) > 2


def test_the_neighbour_is_busy_and_ends() -> None:
    """It uses a core in bursts as long as it is wanted, and not after that."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with bursts.neighbour(1):
        time.sleep(5)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert 0.5 < used < 4.5
    script = "import time\nfrom kmtools.measure import bursts\nwith bursts.neighbour(1): print(1/0)"
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": str(ROOT / "scripts")}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert "ZeroDivisionError" in done.stderr and time.monotonic() - began < 10


def at(result: Result, delta: float) -> Result:
    """The result with another cost, known within 0.1."""
    return replace(result, delta=delta, delta_ci=Interval(delta - 0.1, delta + 0.1))


def run(monkeypatch: pytest.MonkeyPatch, *runs: list[Result]) -> int:
    """Run the command with these measurements."""
    measured = iter(runs)
    monkeypatch.setattr(aa, "rows", lambda _number, _plan: next(measured))
    return main(["check", "aa", "-o", f"runs={len(runs)}"])


def test_without_core_cycles_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], clones: list[Result]
) -> None:
    """A spread in ticks is not compared with a limit in cycles."""
    assert run(monkeypatch, clones, clones) == 2
    said = capsys.readouterr()
    assert "SKIP aa: no core cycles of empty-loop are known here" in said.out
    assert "A/A clones" not in said.out


def test_differences_are_in_core_cycles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], clones: list[Result]
) -> None:
    """Where a tick is two cycles, differences are twice as large in cycles."""
    core = CoreCycles("estimated", 2.0)
    near, far = (
        [at(replace(result, core=core, verdict="same"), delta) for result in clones]
        for delta in (0.0, 0.04)
    )
    assert run(monkeypatch, near, far) == 0
    out = capsys.readouterr().out
    assert "empty-loop: A/A differences within 0.080 core cycles (at most 0.1)" in out
    assert "0 of 4 A/A clones slower or faster" in out


@pytest.mark.parametrize(("cost", "code"), [(1.13, 0), (1.15, 1)])
def test_runs_that_differ_fail(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    clones: list[Result],
    cost: float,
    code: int,
) -> None:
    """The clones agree, and another variant costs more in the second run than in the first."""
    core = CoreCycles("estimated", 1.0)
    same = [at(replace(result, core=core, verdict="same"), 0.0) for result in clones]
    other = replace(same[0], variant="marker", is_clone=False, verdict="slower")
    assert run(monkeypatch, [*same, at(other, 1.0)], [*same, at(other, cost)]) == code
    out = capsys.readouterr().out
    assert f"{code} of 3 added costs differ from run to run" in out
    assert ("empty-loop marker: +1.000 in one run, +1.150 in the next" in out) == bool(code)


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
def test_verdicts_must_agree_and_be_many(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    clones: list[Result],
    verdicts: list[str],
    code: int,
    said: str,
) -> None:
    """A verdict that most other runs contradict is false; a tool must say something."""
    core = CoreCycles("estimated", 1.0)
    same = [at(replace(result, core=core, verdict="equivalent"), 0.0) for result in clones]
    other = at(replace(same[0], variant="marker", is_clone=False), 1.0)
    runs = [[*same, replace(other, verdict=verdict)] for verdict in verdicts]
    assert run(monkeypatch, *runs) == code
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("words", [("runs", "0"), ("runs", "-1"), ("blocks", "0")])
def test_numbers_of_nothing_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, str]
) -> None:
    """They are refused before anything is measured."""
    monkeypatch.setattr(aa, "judge", None)
    assert main(["check", "aa", "-o", "=".join(words)]) == 2
    assert f"{words[0]}: '{words[1]}' is no whole number above 0" in capsys.readouterr().err


def test_a_failed_run_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message of kmbench is shown without a traceback."""

    def fail(_runs: int, _plan: Plan) -> bool:
        raise FailedError("kmbench failed: no blocks")

    monkeypatch.setattr(aa, "judge", fail)
    assert main(["check", "aa"]) == 1
    assert "FAILED kmbench failed: no blocks" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "code"), [("aa", 1), ("bursts", 0)])
def test_clones_are_apart_beside_a_neighbour(
    monkeypatch: pytest.MonkeyPatch, clones: list[Result], name: str, code: int
) -> None:
    """By more than a tenth of a core cycle, but not by more than the margin."""
    core = CoreCycles("estimated", 1.0)
    here = [replace(result, core=core, verdict="same", margin=0.25) for result in clones]
    measured = iter([[at(result, delta) for result in here] for delta in (-0.07, 0.06)])
    monkeypatch.setattr(aa, "rows", lambda _number, _plan: next(measured))
    assert main(["check", name, "-o", "runs=2"]) == code


def test_no_clone_is_beyond_its_margin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], clones: list[Result]
) -> None:
    """Also if its interval says that nothing is known."""
    core = CoreCycles("estimated", 1.0)
    here = [replace(result, core=core, verdict="unresolved", margin=0.25) for result in clones]
    for delta, code in ((0.24, 0), (0.26, 1)):
        assert run(monkeypatch, [at(result, delta) for result in here]) == code
        out = capsys.readouterr().out
        assert f"{2 * code} of 2 A/A clones in hot loops are beyond their margin" in out
