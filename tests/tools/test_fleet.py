# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers fleet` (runs of many machines) and `kmarkers history` (runs of many days)."""

from __future__ import annotations

import json
import os
import resource
import shutil
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import manyruns
import numpy as np
import pytest
from kmtools.analyse import comparison_key, estimates, rows, verdicts
from kmtools.cli import main
from kmtools.measure.rundir import make_tiers, read_env
from kmtools.measure.samples import read_samples
from kmtools.report import machines
from kmtools.suites import fleet as check_fleet

REMEDY = "scripts/setup --fleet installs it"

COSTLIER = ("memcpy-4096", "marker-generic")
# The memory limit that Documentation/comparing.md states, in megabytes.
MEGABYTES = 2000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write simulated runs of 24 machines; return the directory of the runs."""
    manyruns.write_runs(tmp_path / "runs", 24)
    return tmp_path / "runs"


@pytest.mark.parametrize(("blocks", "layouts"), [(48, 8), (160, 32), (16, 32)])
def test_fleet_reads_the_same_rows_as_compare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: int, layouts: int
) -> None:
    """`fleet` reads the same rows of a run as `compare`, both from the samples and from
    estimates.json alone."""
    monkeypatch.setattr(manyruns, "BLOCKS", blocks)
    monkeypatch.setattr(manyruns, "LAYOUTS", layouts)
    run = manyruns.RunWriter(tmp_path).write_run(3)
    tiers = make_tiers(read_env(run / "env.json"))
    samples = read_samples(run / "samples.csv", tiers)
    plain = rows.make_run_rows(samples, tiers, verdicts.compute_results(samples, tiers))
    found = machines.LoadedRows()
    found.add_run_rows("x", run)
    monkeypatch.setattr(estimates, "read_samples", None)
    found.add_run_rows("y", run)
    assert found.refused == {} and len(found.entries) == 2 * len(plain) == 16
    by_name = {row.name: row for row in comparison_key.merge_rows_of_runs(found.entries)}
    for row in plain:
        other = by_name[row.name]
        assert (other.kind, other.baseline, other.unit) == (row.kind, row.baseline, row.unit)
        assert other.values == pytest.approx([float(np.mean(row.values))] * 2, rel=1e-8)
        assert other.cost == pytest.approx(row.cost) and other.blocks == 2 * row.blocks
        assert other.crowded is (layouts > 3 * blocks * manyruns.PROCESSES / layouts)


def test_cpu_model_that_costs_1_percent_more_is_found(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    words = ["fleet", str(folder), "--by", "cpu", "--against", "AMD", f"--json={out}"]
    assert main([*words, "--fail-on", "costlier"]) == 1
    (pair,) = json.loads(out.read_text())["pairs"]
    assert [pair[side]["run"] for side in "ab"] == ["AMD EPYC (12 runs)", "Intel Xeon (12 runs)"]
    changed = [row for row in pair["rows"] if row["verdict"] in ("slower", "faster")]
    assert [(row["benchmark"], row["variant"], row["verdict"]) for row in changed] == [
        (*COSTLIER, "slower")
    ]
    assert changed[0]["percent_lo"] < 1 < changed[0]["percent_hi"]
    assert main(["fleet", str(folder), "--by", "kernel", "--fail-on", "changed"]) == 0
    assert "12  6.12.0-test" in capsys.readouterr().out


def test_dead_slow_and_invalid_machines_are_reported(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Prevent line wrapping.
    monkeypatch.setenv("COLUMNS", "1000")
    names = [path.name for path in sorted(folder.iterdir())]
    listed = tmp_path / "machines"
    listed.write_text("".join(f"{name}\n" for name in [*names, "machine-dead"]))
    shutil.rmtree(folder / "machine-00006")
    manyruns.RunWriter(folder).write_run(6, slower=3.0)
    lying = folder / "machine-00007" / "samples.csv"
    lines = lying.read_text().splitlines(keepends=True)
    lines[9] = lines[9].replace("TSC cycles", "ns")
    lying.write_text("".join(lines))
    cut = folder / "machine-00008" / "samples.csv"
    cut.write_text(cut.read_text()[:-20])
    short = folder / "machine-00009" / "samples.csv"
    short.write_text("".join(short.read_text().splitlines(keepends=True)[:-2]))
    word = folder / "machine-00010" / "samples.csv"
    word.write_text(word.read_text().replace(",0,1,1000,,", ",0,1,1000,,x", 1))
    mixed = folder / "machine-00011" / "samples.csv"
    mixed.write_text(mixed.read_text().replace("native,", "vm,", 1))
    (folder / "machine-00012" / "env.json").write_text("{}")
    files = {name: tmp_path / name for name in ("json", "junit", "html", "markdown")}
    words = [f"--{name}={path}" for name, path in files.items()]
    assert main(["fleet", str(folder), "--by", "cpu", "--machines", str(listed), *words]) == 1
    out = capsys.readouterr().out
    for said in (
        "dead: machine-dead: there is no run of it",
        "slow: machine-00006: its baselines cost 3 times the median of its group",
        f"refused: machine-00007: {lying}:10: unit is 'ns', not 'TSC cycles' as of 'loop'",
        f"refused: machine-00008: {cut}:514: last line is incomplete (truncated?)",
        f"refused: machine-00009: {short}: 510 samples of native, and env.json has 512",
        f"refused: machine-00010: {word}:3: value is not an integer: 'x",
        f"refused: machine-00011: {mixed}:3: env.json has no tier 'vm'",
        "refused: machine-00012: ",
        "A: AMD EPYC (8 runs)",
        "B: Intel Xeon (9 runs)",
    ):
        assert said in out
    assert len([line for line in out.splitlines() if line.startswith(("refused", "slow"))]) == 7
    for path in files.values():
        assert "machine-dead: there is no run of it" in path.read_text()
    assert len(json.loads(files["json"].read_text())["faults"]) == 8
    *_, suite = ElementTree.parse(files["junit"]).getroot()
    assert (suite.get("name"), suite.get("failures")) == ("machines", "8")


def test_groups_that_share_no_row_do_not_stop_the_others(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One group has no row in common with the other groups, because the group was measured in
    another tier (measurement environment). The other groups are compared."""
    for path in (folder / "machine-00000", folder / "machine-00004"):
        file, env = path / "samples.csv", json.loads((path / "env.json").read_text())
        file.write_text(file.read_text().replace("\nnative,", "\nmetal,"))
        env["tiers"][0]["tier"] = "metal"
        env["machine"]["cpu"]["model_name"] = "Other"
        (path / "env.json").write_text(json.dumps(env))
    out = tmp_path / "out.json"
    assert main(["fleet", str(folder), "--by", "cpu", f"--json={out}"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "not compared: Intel Xeon (12 runs) and Other (2 runs) have no row in common" in said
    assert [pair["b"]["run"] for pair in json.loads(out.read_text())["pairs"]] == [
        "AMD EPYC (10 runs)"
    ]
    manyruns.write_runs(tmp_path / "few", 1)
    assert main(["fleet", str(tmp_path / "few"), f"--json={out}"]) == 0
    assert json.loads(out.read_text())["pairs"] == []


def test_directory_without_runs_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fleet", str(tmp_path)]) == 2
    assert main(["fleet", str(tmp_path / "none")]) == 2
    manyruns.write_runs(tmp_path, 2)
    assert main(["fleet", str(tmp_path), "--by", "colour"]) == 2
    assert main(["fleet", str(tmp_path), "--against", "ARM"]) == 2
    error = capsys.readouterr().err
    for said in (
        "there is no run in it",
        "'colour' is not one of",
        "0 groups have 'ARM' in their names",
    ):
        assert said in error


def test_history_finds_the_first_changed_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ruptures", reason=f"Python's ruptures is missing: {REMEDY}")
    manyruns.write_dated_runs(tmp_path / "runs", 25, 14)
    out = tmp_path / "out.json"
    words = ["history", str(tmp_path / "runs"), f"--json={out}"]
    assert main([*words, "--fail-on", "slower"]) == 1
    assert main([*words, "--fail-on", "faster"]) == 0
    assert main([*words, "--fail-on", "slower", "--margin", "3"]) == 0
    assert main(words) == 0
    whole = json.loads(out.read_text())
    (shift,) = [(row["variant"], s) for row in whole["rows"] for s in row["shifts"]]
    assert shift[0] == COSTLIER[1] and shift[1]["percent_lo"] < 1 < shift[1]["percent_hi"]
    day = next(run["date"] for run in whole["runs"] if run["run"] == shift[1]["run"])
    assert day.startswith("2026-01-15")
    assert [run["date"] for run in whole["runs"]] == sorted(run["date"] for run in whole["runs"])
    assert "25 runs, 8 rows, 1 shifts" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["missing", "unresolved", "slow", ""])
def test_history_refuses_other_words_of_fail_on(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A word of --fail-on that is no verdict of `history` is refused; otherwise the command would
    never fail, and the user would think that runs are checked."""
    with pytest.raises(SystemExit) as ended:
        main(["history", "x", "--fail-on", word])
    assert ended.value.code == 2 and "is not one of slower, faster" in capsys.readouterr().err


def test_history_without_a_change_raises_no_alarm(tmp_path: Path) -> None:
    pytest.importorskip("ruptures", reason=f"Python's ruptures is missing: {REMEDY}")
    from kmtools.analyse import trends  # noqa: PLC0415  trends needs ruptures

    rng = np.random.default_rng(5)
    row = rows.Row(
        rows.RowName("native", "b", "v"), "k", "TSC cycles", rows.SHARE, "none", 1.0, 30, 30,
        np.ones(30), {},
    )  # fmt: skip
    loud = 0
    for _ in range(20):
        many = [
            replace(
                row,
                name=rows.RowName("native", "b", f"v{n}"),
                values=1 + 0.002 * rng.standard_normal(30),
            )
            for n in range(20)
        ]
        loud += bool(trends.find_all_shifts(many, margin=0.0))
    assert loud <= 1


def test_thousand_runs_need_little_time_and_memory(tmp_path: Path) -> None:
    """Compare 1,000 runs, a tenth of the runs of make check-fleet, in at most 12 s of CPU time."""
    manyruns.write_runs_with_estimates(tmp_path / "runs", 1000)
    before = resource.getrusage(resource.RUSAGE_SELF)
    assert main(["fleet", str(tmp_path / "runs"), "--by", "cpu"]) == 0
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 12
    assert after.ru_maxrss < MEGABYTES * 1000


@pytest.mark.parametrize(
    ("seconds", "busy", "others", "megabytes", "within"),
    [
        (59, 100, 0.05, 500, True),
        (61, 30, 0.05, 500, False),
        (145, 30, 0.9, 500, True),
        (145, 61, 0.9, 500, False),
        (30, 30, 0.0, 2001, False),
    ],
)
def test_elapsed_time_is_judged_only_on_an_idle_machine(
    seconds: float, busy: float, others: float, megabytes: float, within: bool
) -> None:
    assert check_fleet.ComparisonCost(seconds, busy, others, megabytes).is_within_limits is within


def test_cpu_use_of_other_programs_is_computed() -> None:
    hertz = os.sysconf("SC_CLK_TCK")
    fields = [hertz * second for second in (1, 2, 4, 80, 10, 1, 1, 1, 0, 0)]
    assert check_fleet.read_cpu_seconds(f"cpu  {' '.join(map(str, fields))}\ncpu0 1\n") == (
        10.0,
        100.0,
    )
