# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers check neighbours`, which measures while neighbour processes run: made-up
results with one fault each must fail."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from kmtools.analyse.lateness import NOT_LATE
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import (
    DIFFERS,
    EQUIVALENT,
    HOT_LOOPS,
    SLOWER,
    UNRESOLVED,
    WITHHELD,
    Result,
)
from kmtools.cli import main
from kmtools.measure import aa as measuring
from kmtools.measure import collect, neighbour
from kmtools.measure.samples import LOOP, Sample
from kmtools.method import aa, judges, neighbours, selftest
from verdictrows import CORE, make_result, make_tier


@pytest.fixture(autouse=True)
def skip_build_of_kmbench(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not build kmbench, which no test of this file runs."""
    monkeypatch.setattr(judges, "build_kmbench", lambda: None)


WHY = "31.0 % of the timed windows disturbed"
NOTE = f"{WHY}; next: a quieter machine"
WINDOW = Sample(
    "native", "6.12", 1, "planted", "chain", LOOP, 0, 0, 0, 1, 100, None, 9, "ticks", None, ()
)


def make_planted_result(row: selftest.Planted, **changed: Any) -> Result:
    """Return a result for `row`, a variant of the benchmark `planted`, with the known cost and the
    expected verdict."""
    cost = row.least / CORE.per_tick
    interval = Interval(cost - 0.02, cost + 0.02)
    given = {
        "verdict": row.verdicts[0], "delta_ci": interval, "margin": 1 / CORE.per_tick, **changed,
    }  # fmt: skip
    is_baseline = row.variant == "chain"
    result = make_result(selftest.BENCHMARK, row.variant, None if is_baseline else cost, **given)
    return replace(result, median=cost, ci=interval, delta_ci=None) if is_baseline else result


def make_run_results(changed: dict[str, dict[str, Any]]) -> list[Result]:
    """Return the results of a run without faults. `changed` maps names of variants to fields of
    their results that get other values."""
    planted = [make_planted_result(row, **changed.get(row.variant, {})) for row in selftest.ROWS]
    names = ("none-clone", *(f"marker-jump-{n}" for n in ("middle", "first", "x", "y", "z")))
    hot = [make_result("density-one", name, 0.0, **changed.get(name, {})) for name in names]
    return [*planted, *hot]


def run_check_neighbours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, results: list[Result], *words: str
) -> int:
    """Run `kmarkers check neighbours` with `results` in place of each measurement; return the exit
    code."""
    plans = []

    def return_results(
        _number: int, plan: measuring.RunSettings
    ) -> tuple[collect.RawDir, list[Result]]:
        plans.append(plan)
        return collect.RawDir(make_tier(), tmp_path, [WINDOW]), results

    monkeypatch.setattr(aa, "measure_run_with_verdicts", return_results)
    code = main(["check", "neighbours", "-o", "runs=2", *words])
    assert {plan.unlisted for plan in plans} == {("planted",)}
    assert {plan.benchmarks for plan in plans} == {HOT_LOOPS}
    return code


def test_right_verdicts_pass_beside_neighbour_processes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run_check_neighbours(monkeypatch, tmp_path, make_run_results({})) == 0
    out = capsys.readouterr().out
    for kind in neighbours.KINDS:
        assert f"{kind}: 10 of 10 rows of hot loops are resolved (100.0%, at least 80%)" in out
    file = Path(out.partition("all runs are in ")[2].split("\n")[0])
    runs = json.loads(file.read_text())
    assert [run["kind"] for run in runs] == [*neighbours.KINDS] * 2
    assert all(run["cpus"] == {"1": 1} for run in runs)


WITHHELD_ROW = {"verdict": WITHHELD, "note": NOTE}


@pytest.mark.parametrize(
    ("changed", "code", "said"),
    [
        ({"nops": {"verdict": UNRESOLVED}}, 0, "0 false verdicts"),
        ({"nops": {"verdict": SLOWER}}, 1, "2 false verdicts"),
        ({"imul": {"verdict": EQUIVALENT}}, 1, "imul: 3.000 core cycles, expected 3"),
        ({"add": {"verdict": SLOWER}}, 1, "false verdicts about planted rows: add: 1.000"),
        ({"imul": {"verdict": WITHHELD, "note": NOTE}}, 0, "0 false verdicts"),
        ({"none-clone": {"verdict": UNRESOLVED}}, 0, "0 A/A clones differ"),
        ({"none-clone": {"verdict": DIFFERS}}, 1, "density-one none-clone: +0.000, differs"),
        ({"chain-clone": {"verdict": SLOWER}}, 1, "A/A clones differ: planted chain-clone"),
        ({"marker-jump-x": {"verdict": UNRESOLVED}}, 0, "8 of 10 rows of hot loops are resolved"),
        (
            {f"marker-jump-{name}": {"verdict": UNRESOLVED} for name in "xy"},
            1,
            "6 of 10 rows of hot loops are resolved (60.0%",
        ),
        ({"marker-jump-first": WITHHELD_ROW}, 0, "2 withheld; 0 false"),
        ({"marker-jump-first": {"verdict": WITHHELD}}, 1, "reason: density-one marker-jump-first"),
        ({"marker-jump-x": WITHHELD_ROW}, 1, f"reason: density-one marker-jump-x: {WHY}"),
    ],
)
def test_each_fault_fails_the_check_but_unresolved_rows_do_not(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    changed: dict[str, dict[str, Any]],
    code: int,
    said: str,
) -> None:
    """The check fails for a false verdict about a planted row, an A/A clone that differs, too few
    verdicts, or a withheld verdict whose reason is not on the first screen. Unresolved rows alone
    do not fail the check."""
    results = make_run_results(changed)
    assert run_check_neighbours(monkeypatch, tmp_path, results, "-o", "kinds=busy") == code
    assert said in capsys.readouterr().out


def test_reason_shared_by_all_rows_is_on_the_first_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """All verdicts of a run are withheld for one reason. The first screen shows this reason for the
    rows of the headline, so no row counts as withheld without a reason. The check fails only
    because too few rows have a verdict."""
    rows = [f"marker-jump-{name}" for name in ("middle", "first", "x", "y", "z")]
    results = make_run_results(dict.fromkeys(rows, WITHHELD_ROW))
    assert run_check_neighbours(monkeypatch, tmp_path, results, "-o", "kinds=busy") == 1
    out = capsys.readouterr().out
    assert "0 of 10" in out and "10 withheld" in out and "0 withheld rows without a reason" in out


def test_unknown_neighbour_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "neighbours", "-o", "kinds=quiet"]) == 2
    assert "is not one of memory, busy, bursts-same-cpu, bursts-pinned" in capsys.readouterr().err


def test_every_kind_of_neighbour_has_a_process() -> None:
    assert set(neighbours.KINDS) < set(neighbour.NEIGHBOURS)


@pytest.mark.parametrize("name", neighbour.NEIGHBOURS)
def test_neighbour_process_ends_and_affinity_is_restored(name: str) -> None:
    """A neighbour process runs until the `with` block ends. While a pinned neighbour process runs,
    this process runs on the last CPU. Afterwards, the affinity of this process is restored."""
    allowed, began = os.sched_getaffinity(0), time.monotonic()
    with neighbour.run_neighbour_process(name, 1):
        kept = {max(allowed)} if neighbour.NEIGHBOURS[name].pinned else allowed
        assert os.sched_getaffinity(0) == kept
    assert os.sched_getaffinity(0) == allowed and time.monotonic() - began < 10


def test_neighbour_load_runs_on_the_given_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A load whose command names a CPU runs on this CPU alone."""
    allowed, seen = os.sched_getaffinity(0), []
    monkeypatch.setattr(signal, "signal", lambda *_words: None)
    monkeypatch.setitem(neighbour.LOADS, "busy", lambda _: seen.append(os.sched_getaffinity(0)))
    try:
        neighbour.main("busy", "1", str(max(allowed)))
    finally:
        os.sched_setaffinity(0, allowed)
    assert seen == [{max(allowed)}]


def test_each_neighbour_run_has_its_own_seed_and_findings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """In each round, one run is measured with each neighbour. The file has the findings of all
    runs, the share of late windows in the worst benchmark, and the windows of each CPU."""
    asked: list[tuple[int, str]] = []
    late = replace(NOT_LATE, share=0.25)
    results = make_run_results({"nops": {"late": late}, "imul": {"delta_ci": Interval(8.0, 9.0)}})
    windows = [WINDOW._replace(cpu=cpu) for cpu in (3, 0, 3)]

    def record_run_and_return_results(
        number: int, plan: measuring.RunSettings
    ) -> tuple[collect.RawDir, list[Result]]:
        asked.append((number, plan.neighbour))
        return collect.RawDir(make_tier(), tmp_path, windows), results

    monkeypatch.setattr(aa, "measure_run_with_verdicts", record_run_and_return_results)
    plan = measuring.RunSettings(64, 12)
    assert neighbours.judge_neighbours(["busy", "memory"], 3, plan, tmp_path / "f.json")
    kinds = [kind for _ in range(3) for kind in ("busy", "memory")]
    assert [kind for _, kind in asked] == kinds
    assert sorted(number for number, _ in asked) == [1, 2, 3, 4, 5, 6]
    runs = json.loads((tmp_path / "f.json").read_text())
    assert [run["kind"] for run in runs] == kinds
    assert {run["late"] for run in runs} == {0.25} and runs[0]["cpus"] == {"3": 2, "0": 1}
    assert [len(run["missed"]) for run in runs] == [1] * 6
    out = capsys.readouterr().out
    line = (
        "5 of 5 rows of hot loops resolved; 25.0% of windows late; windows: 1 on CPU 0, 2 on CPU 3"
    )
    assert f"run 3, busy: {line}\n" in out
    assert "memory: 15 of 15 rows of hot loops are resolved (100.0%, at least 80%), 0 wi" in out
    assert out.count("; 3 planted rows fail in the self-test\n") == 2


def test_runs_without_rows_of_hot_loops_fail() -> None:
    none = neighbours.Findings("busy", 0, 0, 0.0, [], [], [])
    assert not neighbours.judge_neighbour_findings("busy", [none])
    enough = replace(none, hot=10, resolved=8)
    assert neighbours.judge_neighbour_findings("busy", [none, enough])
    assert not neighbours.judge_neighbour_findings("busy", [replace(none, hot=1), enough])


@pytest.mark.parametrize(
    ("name", "words", "pinned"),
    [
        ("bursts", ["bursts", "7"], False),
        ("memory", ["memory", "7", "2"], False),
        ("busy", ["busy", "7", "2"], False),
        ("bursts-same-cpu", ["bursts", "7", "9"], False),
        ("bursts-pinned", ["bursts", "7", "9"], True),
    ],
)
def test_neighbour_process_gets_the_first_or_the_last_cpu(
    monkeypatch: pytest.MonkeyPatch, name: str, words: list[str], pinned: bool
) -> None:
    affinity = [{9, 2, 5}]
    ran: list[list[str]] = []
    process = MagicMock()

    def record_command(command: list[str], **_: object) -> MagicMock:
        ran.append(command)
        return process

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: affinity[0])
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cpus: affinity.append({*cpus}))
    monkeypatch.setattr("subprocess.Popen", record_command)
    with pytest.raises(ZeroDivisionError), neighbour.run_neighbour_process(name, 7):
        assert affinity[-1] == ({9} if pinned else {2, 5, 9})
        raise ZeroDivisionError
    assert ran == [[sys.executable, neighbour.__file__, *words]]
    assert affinity[-1] == {2, 5, 9} and process.__enter__().kill.called


@pytest.mark.parametrize("ending", ["spin_for_seconds", "wait_for_input_end"])
def test_bursts_and_pauses_last_for_a_second_on_average(
    monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """A burst comes before a pause. Both end at the end of the input."""
    lasted: dict[str, list[float]] = {"spin_for_seconds": [], "wait_for_input_end": []}

    def record_burst_or_pause_seconds(name: str, seconds: float) -> bool:
        lasted[name].append(seconds)
        return name == ending and len(lasted[name]) == 2000

    for name in lasted:
        monkeypatch.setattr(neighbour, name, partial(record_burst_or_pause_seconds, name))
    neighbour.alternate_load_and_sleep(1)
    assert len(lasted["spin_for_seconds"]) == 2000
    assert len(lasted["wait_for_input_end"]) == (1999 if ending == "spin_for_seconds" else 2000)
    for seconds in lasted.values():
        assert sum(seconds) / len(seconds) == pytest.approx(1.0, abs=0.1)


def test_busy_loop_ends_after_its_time_or_at_the_end_of_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The clock advances by 10 ms whenever it is read. The input is checked every 50 ms."""
    clock = [0.0]
    checked: list[float] = []

    def read_clock() -> float:
        clock[0] += 0.01
        return clock[0]

    def record_check_of_input(_: float) -> bool:
        checked.append(clock[0])
        return False

    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", read_clock)
        patch.setattr(neighbour, "wait_for_input_end", record_check_of_input)
        assert not neighbour.spin_for_seconds(1.0)
        assert 1.0 <= clock[0] <= 1.1 and 12 <= len(checked) <= 20
        patch.setattr(neighbour, "wait_for_input_end", lambda _: True)
        assert neighbour.spin_for_seconds(1.0) and clock[0] < 1.2
        assert not neighbour.spin_for_seconds(0.0)


def test_memory_is_copied_until_the_input_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def return_true_at_third_check(seconds: float) -> bool:
        asked.append(seconds)
        return len(asked) == 3

    monkeypatch.setattr(neighbour, "COPIED_BYTES", 8)
    monkeypatch.setattr(neighbour, "wait_for_input_end", return_true_at_third_check)
    neighbour.copy_memory(1)
    assert asked == [0, 0, 0]
