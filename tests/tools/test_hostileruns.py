# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the commands fleet, history and compare with runs that have different code layouts,
unusual names or invalid samples."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import manyruns
import pytest
from kmtools.analyse import comparison_key, estimates
from kmtools.cli import main
from kmtools.measure import fetch
from kmtools.measure.rundir import make_tiers, read_env
from kmtools.measure.samples import WHOLE_RUN, read_samples
from kmtools.report import machines

REMEDY = "scripts/setup --fleet installs it"
NAMES = (
    "a[1]",
    "**",
    "*",
    "{a,b}",
    "q?",
    "quo'te",
    "two\nlines",
    "\x1b[31mred",
    "$plain",
    "\udcff",
)


def read_run_rows(run: Path) -> machines.LoadedRows:
    """Read the rows of a run as `fleet` and `history` do."""
    found = machines.LoadedRows()
    found.add_run_rows("x", run)
    return found


def write_runs_of_four_layouts(
    folder: Path, numbers: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Write the runs `numbers` with four code layouts, as older versions of kmarkers measured."""
    with monkeypatch.context() as four:
        four.setattr(manyruns, "LAYOUTS", 4)
        writer = manyruns.RunWriter(folder)
        for number in numbers:
            writer.write_simulated_run(number)


def test_runs_of_other_layouts_are_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_runs_of_four_layouts(tmp_path, range(1), monkeypatch)
    new = manyruns.RunWriter(tmp_path).write_simulated_run(4)
    old = tmp_path / "machine-00000"
    assert main(["compare", str(old), str(new)]) == 1
    why = "A at 4 code layouts, B at 8"
    assert f"no row of {old.name} and {new.name} can be compared: {why}" in capsys.readouterr().err


def test_rows_with_other_layouts_are_listed_and_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one of two runs, getppid-quiet was measured at four code layouts instead of eight. Only
    the other benchmark is compared."""
    a, b = manyruns.write_simulated_runs(tmp_path, 2)
    text = (b / "samples.csv").read_text().splitlines(keepends=True)
    for number, line in enumerate(text):
        cells = line.split(",")
        if cells[3:4] == ["getppid-quiet"]:
            cells[6] = str(int(cells[6]) % 4)
        text[number] = ",".join(cells)
    (b / "samples.csv").write_text("".join(text))
    out = tmp_path / "out.json"
    words = ["compare", str(a), str(b), f"--json={out}"]
    assert main([*words, "--fail-on", "faster"]) == 0
    said = capsys.readouterr().out
    assert "4 rows are not comparable: A at 8 code layouts, B at 4." in said
    assert "getppid-quiet" not in said
    rows = json.loads(out.read_text())["pairs"][0]["rows"]
    lost = {row["benchmark"] for row in rows if row["verdict"] == "not comparable"}
    assert lost == {"getppid-quiet"} and "slower" in {row["verdict"] for row in rows}
    assert main([*words, "--fail-on", "missing"]) == 1


def test_exact_counts_are_compared_without_layouts() -> None:
    assert comparison_key.are_layouts_incomparable(
        {0, 1}, {0, 2}
    ) and not comparison_key.are_layouts_incomparable(set(), {0})
    assert comparison_key.describe_layout_difference({0, 1}, {0, 2}) == (
        "code layouts 0, 1",
        "0, 2",
    )


def test_random_subsets_of_32_layouts_are_comparable() -> None:
    """Two halves of 32 layouts are comparable with each other, and with all 32 layouts. The first
    eight layouts are not comparable with all 32 layouts. The first four layouts are not comparable
    with the first eight."""
    halves = [{8 * (n % 4) + n % 8 for n in range(start, start + 16)} for start in (0, 3)]
    assert halves[0] != {*range(32)} and not comparison_key.are_layouts_incomparable(*halves)
    assert not comparison_key.are_layouts_incomparable(halves[0], range(32))
    assert comparison_key.are_layouts_incomparable(
        range(8), range(32)
    ) and comparison_key.are_layouts_incomparable({0, 8, 16}, range(32))
    assert comparison_key.are_layouts_incomparable(range(4), range(8))


def test_fleet_refuses_a_machine_with_other_layouts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    manyruns.write_simulated_runs(tmp_path, 6)
    shutil.rmtree(tmp_path / "machine-00003")
    write_runs_of_four_layouts(tmp_path, range(3, 4), monkeypatch)
    assert main(["fleet", str(tmp_path), "--by", "cpu"]) == 1
    why = "measured at 4 code layouts, most runs at 8"
    out = capsys.readouterr().out
    assert f"refused: machine-00003: {why}" in out and "B: Intel Xeon (2 runs)" in out


def test_history_leaves_out_older_runs_with_other_layouts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ruptures", reason=f"Python's ruptures is missing: {REMEDY}")
    manyruns.write_dated_runs(tmp_path / "runs", 12, 99)
    first = [path for path in tmp_path.glob("runs/*") if "-01-0" in (path / "env.json").read_text()]
    write_runs_of_four_layouts(tmp_path / "old", range(9), monkeypatch)
    for path, old in zip(sorted(first), sorted((tmp_path / "old").iterdir()), strict=True):
        shutil.copy(old / "samples.csv", path)
        kernel = json.loads((old / "env.json").read_text())["tiers"][0]["kernel"]
        env = json.loads((path / "env.json").read_text())
        env["tiers"][0]["kernel"] = kernel
        (path / "env.json").write_text(json.dumps(env))
    out = tmp_path / "out.json"
    assert main(["history", str(tmp_path / "runs"), "--fail-on=changed", f"--json={out}"]) == 0
    said = capsys.readouterr().out
    assert "3 runs, 8 rows, 0 shifts" in said
    assert "measured at 4 code layouts, the newest run at 8" in " ".join(said.split())
    whole = json.loads(out.read_text())
    assert len(whole["left_out"]) == 9 and not whole["refused"] and len(whole["runs"]) == 3


def flag_windows_of_layout(run: Path, benchmark: str, variant: str, layout: int) -> None:
    """Flag all windows of a variant at a code layout, so that the row lacks this layout."""
    file = run / "samples.csv"
    window = rf"(native,[^,]+,\d+,{benchmark},{variant},loop,{layout},.*),"
    file.write_text(re.sub(rf"^{window}$", r"\1,preempted", file.read_text(), flags=re.MULTILINE))


def test_fleet_leaves_out_only_the_row_that_lacks_a_code_layout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    manyruns.write_simulated_runs(tmp_path / "runs", 6)
    flag_windows_of_layout(tmp_path / "runs" / "machine-00003", "memcpy-4096", "marker-jump", 2)
    out = tmp_path / "out.json"
    assert main(["fleet", str(tmp_path / "runs"), "--by", "cpu", f"--json={out}"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    why = "measured at 7 code layouts, most runs at 8"
    row = "native memcpy-4096 marker-jump of run machine-00003"
    assert f"left out: {row}: {why}" in said and "refused" not in said
    (pair,) = json.loads(out.read_text())["pairs"]
    assert pair["b"]["remarks"] == [f"left out: {row}: {why}"] and pair["a"]["remarks"] == []
    counts = {row["variant"]: row["b"]["processes"] for row in pair["rows"]}
    assert counts.pop("marker-jump") == 2 and {*counts.values()} == {3}


def test_history_leaves_out_only_the_row_that_lacks_a_code_layout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The row of one run is left out of its series, in which a later shift is still found."""
    pytest.importorskip("ruptures", reason=f"Python's ruptures is missing: {REMEDY}")
    monkeypatch.setenv("COLUMNS", "1000")
    manyruns.write_dated_runs(tmp_path / "runs", 25, 14)
    env = '"date": "2026-01-03T00:00:00Z"'
    (third,) = [p for p in (tmp_path / "runs").iterdir() if env in (p / "env.json").read_text()]
    flag_windows_of_layout(third, *manyruns.COSTLIER[:2], 2)
    out = tmp_path / "out.json"
    assert main(["history", str(tmp_path / "runs"), f"--json={out}"]) == 0
    said = capsys.readouterr().out
    line = (
        f"left out: native memcpy-4096 marker-generic of run {third.name}: measured at 7 code"
        " layouts, the newest run at 8"
    )
    assert line in said and "25 runs, 8 rows, 1 shifts" in said
    whole = json.loads(out.read_text())
    assert whole["left_out"] == {} and whole["left_out_rows"] == [line]
    (row,) = [row for row in whole["rows"] if row["variant"] == manyruns.COSTLIER[1]]
    assert [index for index, value in enumerate(row["values"]) if value is None] == [2]
    (shift,) = row["shifts"]
    assert whole["runs"][14]["run"] == shift["run"] and shift["percent_lo"] < 1


@pytest.mark.parametrize("date", ["", "yesterday", "2026-13-01T00:00:00Z"])
def test_history_refuses_a_run_without_a_date(
    tmp_path: Path, date: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ruptures", reason=f"Python's ruptures is missing: {REMEDY}")
    manyruns.write_dated_runs(tmp_path, 3, 99)
    path = tmp_path / "run-00" / "env.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "date": date}))
    assert main(["history", str(tmp_path)]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert f"date is {date!r}, not like 2026-01-31T12:00:00Z" in out and "2 runs, 8 rows" in out


def test_run_in_two_kernels_gives_one_value_per_row(tmp_path: Path) -> None:
    """A tier (measurement environment) of a run was measured in two kernels. Each variant has two
    rows, and the run has one value in each row."""
    (run,) = manyruns.write_simulated_runs(tmp_path, 1)
    env, file = json.loads((run / "env.json").read_text()), run / "samples.csv"
    (tier,) = env["tiers"]
    body = file.read_text().splitlines(keepends=True)
    more = [line.replace(tier["kernel"], "other") for line in body[2:]]
    file.write_text("".join([*body, *more]))
    env["tiers"].append({**tier, "kernel": "other"})
    (run / "env.json").write_text(json.dumps(env))
    found = comparison_key.merge_rows_of_runs(read_run_rows(run).entries)
    assert len(found) == 16 and {len(row.values) for row in found} == {1}
    assert {row.kernel for row in found} == {tier["kernel"], "other"}


@pytest.mark.parametrize("name", NAMES)
def test_run_directory_names_may_have_special_characters(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wildcards, quotes and control characters in names have no special meaning."""
    manyruns.write_simulated_runs(tmp_path / "runs", 6)
    shutil.move(tmp_path / "runs" / "machine-00001", tmp_path / "runs" / name)
    kinds = ("json", "junit", "html", "markdown")
    words = [f"--{kind}={tmp_path / kind}" for kind in kinds]
    assert main(["fleet", str(tmp_path / "runs"), "--by", "cpu", *words]) == 0
    assert "Intel Xeon (3 runs)" in capsys.readouterr().out
    runs = [str(tmp_path / "runs" / one) for one in (name, "machine-00003")]
    assert main(["compare", *runs, *words]) == 0
    assert "\x1b" not in capsys.readouterr().out
    ElementTree.parse(tmp_path / "junit")
    for kind in kinds:
        assert "\x1b" not in (tmp_path / kind).read_text(encoding="utf-8")


def test_markup_in_names_is_escaped(tmp_path: Path) -> None:
    a, b = manyruns.write_simulated_runs(tmp_path, 2)
    link = "[x](y)`*_"
    for run in (a, b):
        file = run / "samples.csv"
        file.write_text(file.read_text().replace("marker-jump", link))
    assert main(["compare", str(a), str(b), "--all", f"--markdown={tmp_path / 'md'}"]) == 0
    assert "\\[x\\](y)\\`\\*\\_" in (tmp_path / "md").read_text()


def test_runs_with_the_same_name_are_distinguished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, number in (("yesterday", 0), ("today", 4)):
        manyruns.RunWriter(tmp_path).write_simulated_run(number).rename(
            (tmp_path / folder).with_suffix(".run")
        )
        (tmp_path / folder).mkdir()
        (tmp_path / folder).with_suffix(".run").rename(tmp_path / folder / "run")
    runs = [str(tmp_path / folder / "run") for folder in ("yesterday", "today")]
    assert main(["compare", *runs]) == 0
    out = capsys.readouterr().out.replace("\n  ", "")
    assert "yesterday/run" in out and "today/run" in out
    assert main(["compare", runs[0], runs[0]]) == 0
    assert "A and B are the same run" in capsys.readouterr().out


def change_samples_csv_line(run: Path, change: tuple[int, str]) -> None:
    """Change one line of samples.csv. `change` is a pair: the index of a field, and its new text.
    If the index is the number of fields, the text is appended to the line."""
    column, text = change
    file = run / "samples.csv"
    lines = file.read_text().splitlines(keepends=True)
    number = 2 + 7 * (column + 1)
    cells = lines[number].rstrip("\n").split(",")
    if column < len(cells):
        cells[column] = text
    lines[number] = ",".join(cells) + (text if column == len(cells) else "") + "\n"
    file.write_text("".join(lines), newline="")


def test_fleet_refuses_a_duplicate_window(tmp_path: Path) -> None:
    (run,) = manyruns.write_simulated_runs(tmp_path, 1)
    lines = (run / "samples.csv").read_text().splitlines(keepends=True)
    lines[20] = lines[10]
    (run / "samples.csv").write_text("".join(lines))
    found = read_run_rows(run)
    assert ":21: " in found.refused["x"] and "has two windows of" in found.refused["x"]


def test_fleet_refuses_a_block_with_two_layouts_or_processes(tmp_path: Path) -> None:
    (run,) = manyruns.write_simulated_runs(tmp_path, 1)
    change_samples_csv_line(run, (6, "7"))
    found = read_run_rows(run)
    assert "has windows of several layouts" in found.refused["x"]


def test_fleet_reads_runs_of_schema_1(tmp_path: Path) -> None:
    """Compressed samples in schema 1 give the same estimates as the same samples in the newest
    schema."""
    (run,) = manyruns.write_simulated_runs(tmp_path, 1)
    tiers = make_tiers(read_env(run / "env.json"))
    samples = read_samples(run / "samples.csv", tiers)
    lines = [",".join(WHOLE_RUN[1])]
    for s in samples:
        cells = (s.tier, s.kernel, s.benchmark, s.variant, s.layout, s.block, s.position, s.cpu)
        lines.append(",".join(map(str, (*cells, s.loops, s.value, "", "", ""))))
    packed = tmp_path / "samples.csv.gz"
    packed.write_bytes(gzip.compress("\n".join([*lines, ""]).encode()))
    told = {"blocks": str(manyruns.BLOCKS), "processes": str(manyruns.PROCESSES)}
    before = [replace(tier, env={**tier.env, **told}) for tier in tiers]
    old, new = (estimates.compute_estimates(read_samples(packed, before), before, {}).rows,
                estimates.compute_estimates(samples, tiers, {}).rows)  # fmt: skip
    assert len(old) == 8
    for ours, theirs in zip(old, new, strict=True):
        assert (ours.name, ours.cost) == (theirs.name, theirs.cost)
        assert ours.values == pytest.approx(theirs.values)


def test_fleet_reports_unreadable_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One run is in a directory that cannot be read, and samples.csv of another run is a symbolic
    link to itself. Both runs are reported as refused, and the remaining runs are compared.
    PermissionError is simulated, because root can read every directory."""
    manyruns.write_simulated_runs(tmp_path, 4)
    loop = tmp_path / "machine-00003" / "samples.csv"
    loop.unlink()
    loop.symlink_to(loop.name)
    (tmp_path / "machine-00002" / "again").symlink_to(tmp_path)
    walk = os.walk

    def walk_with_denied_directory(top: Path, onerror: object) -> object:
        onerror(PermissionError(13, "Permission denied", f"{top}/machine-00009"))  # type: ignore[operator]
        return walk(top)

    monkeypatch.setattr("kmtools.report.machines.os.walk", walk_with_denied_directory)
    assert main(["fleet", str(tmp_path), "--by", "kernel"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "refused: machine-00009: " in out and "Permission denied" in out
    assert "refused: machine-00003: " in out and "2 6.1.0-test" in out


@pytest.mark.parametrize(
    ("reported_date", "fresh", "right"),
    [
        ("now", True, True),
        ("1970-01-01T00:00:09Z", True, False),
        ("1970-01-01T00:00:09Z", False, True),
        ("2999-01-01T00:00:00Z", True, False),
        ("2999-01-01T00:00:00Z", False, False),
        ("soon", True, False),
    ],
)
def test_date_of_a_wrong_clock_is_corrected_and_reported(
    tmp_path: Path, reported_date: str, fresh: bool, right: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    said = now if reported_date == "now" else reported_date
    file = tmp_path / "machine"
    file.write_text(f"kernel=x\ndate={said}\n")
    fetch.correct_reported_date(file, "host", fresh)
    text = file.read_text()
    assert (f"date={said}\n" in text and "clock_said" not in text) is right
    assert (f"clock_said={said}\n" in text and f"date={now[:14]}" in text) is not right
    assert (f"the clock of that machine shows {said}" in capsys.readouterr().err) is not right
