# SPDX-License-Identifier: GPL-2.0-only
"""Tests that the output of commands fits in 80 columns, also with long names and notes."""

from __future__ import annotations

from pathlib import Path

import manyruns
import pages
import pytest
from kmtools.cli import COMMANDS as ALL
from kmtools.cli import main
from kmtools.measure import rundir
from kmtools.measure.samples import read_samples
from kmtools.report import medians

COMMANDS = (
    ["table", "RUN"],
    ["table", "RUN", "--tier", "vm"],
    ["compare", "RUN", "RUN"],
    ["impact", "RUN"],
    ["rates", "RUN"],
    ["lab", "list"],
    ["sites", "marker-jump", "sdt-breakpoint"],
)
CPU = "AMD EPYC 9965 192-Core Processor, engineering sample of the second stepping"


@pytest.fixture
def set_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def find_long_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if len(line) > 80]


def test_report_fits_in_80_columns(reference_run: Path) -> None:
    printed = (reference_run / "printed").read_text().replace(str(reference_run), "RUN")
    assert len(printed.splitlines()) > 3
    assert find_long_lines(printed) == []


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_tables_fit_in_80_columns(
    reference_run: Path,
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    set_80_columns: None,
) -> None:
    capsys.readouterr()
    assert main([str(reference_run) if word == "RUN" else word for word in words]) == 0
    said = capsys.readouterr().out.replace(str(reference_run), "RUN")
    lines = said.splitlines()
    assert len(lines) > 3
    assert find_long_lines(said) == []
    if words == ["table", "RUN"]:
        assert any(line.startswith(" [1] ") for line in lines)


def test_medians_fit_in_80_columns(tmp_path: Path, set_80_columns: None) -> None:
    run = pages.make_run_with_hostile_names(tmp_path)
    tiers = rundir.make_tiers(rundir.read_env(run / "env.json"))
    said = medians.render_medians(read_samples(run / "samples.csv", tiers), tiers)
    assert find_long_lines(said) == []
    assert any("…" in line for line in said.splitlines())
    (row,) = [line.split() for line in said.splitlines() if line.split()[:1] == ["none-clone"]]
    assert len(row) == 3


@pytest.mark.parametrize("words", [[], ["lab"], ["vm"], *map(str.split, ALL)], ids=" ".join)
def test_help_fits_in_80_columns(
    words: list[str], capsys: pytest.CaptureFixture[str], set_80_columns: None
) -> None:
    try:
        assert main([*words, "--help"]) == 0
    except SystemExit as error:
        assert error.code == 0
    said = capsys.readouterr().out
    assert said.startswith("usage: kmarkers")
    assert find_long_lines(said) == []


def test_fleet_and_history_fit_in_80_columns(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    set_80_columns: None,
) -> None:
    """The output of fleet and history fits, with long names of runs, a machine without a run, a
    refused run, and a change of costs."""
    for package in ("duckdb", "ruptures", "scipy"):
        pytest.importorskip(package, reason=f"{package} is missing: run scripts/setup --fleet")
    monkeypatch.setattr(manyruns, "CPUS", [(CPU, "0x0b10004d"), (f"{CPU} 2", "0x0b10004e")])
    folder, listed = tmp_path / "runs", tmp_path / "machines"
    writer = manyruns.RunWriter(folder)
    for number in range(12):
        path = writer.write_simulated_run(number)
        path.rename(folder / f"a-machine-with-quite-a-long-name-in-the-third-hall-{number:02}")
    cut = folder / "a-machine-with-quite-a-long-name-in-the-third-hall-03" / "samples.csv"
    cut.write_text(cut.read_text()[:-20])
    listed.write_text("a-machine-that-is-dead " + " ".join(p.name for p in folder.iterdir()))
    assert main(["fleet", str(folder), "--machines", str(listed)]) == 1
    said = capsys.readouterr().out.replace(str(folder), "RUNS")
    assert "dead: a-machine" in said and "refused: a-machine" in said
    assert find_long_lines(said) == []
    days = tmp_path / "days"
    manyruns.write_dated_runs(
        days, 25, 14, "a-day-of-the-machine-in-the-second-hall-on-the-left-hand-side"
    )
    assert main(["history", str(days)]) == 0
    said = capsys.readouterr().out
    assert "1 shifts" in said and said.count("a-day-of") == 1
    assert find_long_lines(said) == []
