# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers fleet` (runs of many machines) and `kmarkers history` (runs of many days)."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import manyruns
import numpy as np
import pytest
from kmtools.analyse import comparison_key, estimates, rows, verdicts
from kmtools.analyse.stats import Interval
from kmtools.analyse.trends import Shift
from kmtools.base.errors import UnableError
from kmtools.cli import main
from kmtools.measure.rundir import RunError, make_tiers, read_env
from kmtools.measure.samples import read_samples
from kmtools.report import history, machines
from kmtools.suites import fleet as check_fleet

REMEDY = "scripts/setup --fleet installs it"

COSTLIER = ("memcpy-4096", "marker-generic")
# The memory limit that Documentation/comparing.md states, in megabytes.
MEGABYTES = 2000


@pytest.fixture
def fleet_runs(tmp_path: Path) -> Path:
    """Write simulated runs of 24 machines; return the directory of the runs."""
    manyruns.write_simulated_runs(tmp_path / "runs", 24)
    return tmp_path / "runs"


@pytest.mark.parametrize(("blocks", "layouts"), [(48, 8), (160, 32), (16, 32)])
def test_fleet_reads_the_same_rows_as_compare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: int, layouts: int
) -> None:
    """`fleet` reads the same rows of a run as `compare`, both from the samples and from
    estimates.json alone."""
    monkeypatch.setattr(manyruns, "BLOCKS", blocks)
    monkeypatch.setattr(manyruns, "LAYOUTS", layouts)
    run = manyruns.RunWriter(tmp_path).write_simulated_run(3)
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
    fleet_runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    words = ["fleet", str(fleet_runs), "--by", "cpu", "--against", "AMD", f"--json={out}"]
    assert main([*words, "--fail-on", "costlier"]) == 1
    (pair,) = json.loads(out.read_text())["pairs"]
    assert [pair[side]["run"] for side in "ab"] == ["AMD EPYC (12 runs)", "Intel Xeon (12 runs)"]
    changed = [row for row in pair["rows"] if row["verdict"] in ("slower", "faster")]
    assert [(row["benchmark"], row["variant"], row["verdict"]) for row in changed] == [
        (*COSTLIER, "slower")
    ]
    assert changed[0]["percent_lo"] < 1 < changed[0]["percent_hi"]
    assert main(["fleet", str(fleet_runs), "--by", "kernel", "--fail-on", "changed"]) == 0
    assert "12  6.12.0-test" in capsys.readouterr().out


def test_missing_slow_and_invalid_machines_are_reported(
    fleet_runs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Prevent line wrapping.
    monkeypatch.setenv("COLUMNS", "1000")
    names = [path.name for path in sorted(fleet_runs.iterdir())]
    listed = tmp_path / "machines"
    listed.write_text("".join(f"{name}\n" for name in [*names, "machine-dead"]))
    shutil.rmtree(fleet_runs / "machine-00006")
    manyruns.RunWriter(fleet_runs).write_simulated_run(6, cost_factor=3.0)
    lying = fleet_runs / "machine-00007" / "samples.csv"
    lines = lying.read_text().splitlines(keepends=True)
    lines[9] = lines[9].replace("TSC cycles", "ns")
    lying.write_text("".join(lines))
    cut = fleet_runs / "machine-00008" / "samples.csv"
    cut.write_text(cut.read_text()[:-20])
    short = fleet_runs / "machine-00009" / "samples.csv"
    short.write_text("".join(short.read_text().splitlines(keepends=True)[:-2]))
    word = fleet_runs / "machine-00010" / "samples.csv"
    word.write_text(word.read_text().replace(",0,1,1000,,", ",0,1,1000,,x", 1))
    mixed = fleet_runs / "machine-00011" / "samples.csv"
    mixed.write_text(mixed.read_text().replace("native,", "vm,", 1))
    (fleet_runs / "machine-00012" / "env.json").write_text("{}")
    files = {name: tmp_path / name for name in ("json", "junit", "html", "markdown")}
    words = [f"--{name}={path}" for name, path in files.items()]
    assert main(["fleet", str(fleet_runs), "--by", "cpu", "--machines", str(listed), *words]) == 1
    out = capsys.readouterr().out
    for said in (
        "dead: machine-dead: this machine has no run",
        "slow: machine-00006: its baselines cost 3 times the median of its group",
        f"refused: machine-00007: {lying}:10: unit of 'loop' is 'ns', not 'TSC cycles'",
        f"refused: machine-00008: {cut}:514: last line is incomplete (truncated?)",
        f"refused: machine-00009: {short}: 510 samples of tier native, but env.json has 512",
        f"refused: machine-00010: {word}:3: value is not an integer: 'x",
        f"refused: machine-00011: {mixed}:3: env.json has no tier 'vm'",
        "refused: machine-00012: ",
        "A: AMD EPYC (8 runs)",
        "B: Intel Xeon (9 runs)",
    ):
        assert said in out
    assert len([line for line in out.splitlines() if line.startswith(("refused", "slow"))]) == 7
    for path in files.values():
        assert "machine-dead: this machine has no run" in path.read_text()
    assert len(json.loads(files["json"].read_text())["faults"]) == 8
    *_, suite = ElementTree.parse(files["junit"]).getroot()
    assert (suite.get("name"), suite.get("failures")) == ("machines", "8")


def test_group_without_a_common_row_does_not_stop_other_comparisons(
    fleet_runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One group has no row in common with the other groups, because the group was measured in
    another tier (measurement environment). The other groups are compared."""
    for path in (fleet_runs / "machine-00000", fleet_runs / "machine-00004"):
        file, env = path / "samples.csv", json.loads((path / "env.json").read_text())
        file.write_text(file.read_text().replace("\nnative,", "\nmetal,"))
        env["tiers"][0]["tier"] = "metal"
        env["machine"]["cpu"]["model_name"] = "Other"
        (path / "env.json").write_text(json.dumps(env))
    out = tmp_path / "out.json"
    assert main(["fleet", str(fleet_runs), "--by", "cpu", f"--json={out}"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "not compared: Intel Xeon (12 runs) and Other (2 runs) have no row in common" in said
    assert [pair["b"]["run"] for pair in json.loads(out.read_text())["pairs"]] == [
        "AMD EPYC (10 runs)"
    ]
    manyruns.write_simulated_runs(tmp_path / "few", 1)
    assert main(["fleet", str(tmp_path / "few"), f"--json={out}"]) == 0
    assert json.loads(out.read_text())["pairs"] == []


def test_directory_without_runs_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fleet", str(tmp_path)]) == 2
    assert main(["fleet", str(tmp_path / "none")]) == 2
    manyruns.write_simulated_runs(tmp_path, 2)
    assert main(["fleet", str(tmp_path), "--by", "colour"]) == 2
    assert main(["fleet", str(tmp_path), "--against", "ARM"]) == 2
    error = capsys.readouterr().err
    for said in (
        "no run in this folder",
        "'colour' is not one of",
        "'ARM' is in the names of 0 groups",
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
def test_history_refuses_unknown_verdicts_in_fail_on(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A word that is no verdict of `history` is refused. Otherwise the command would never fail,
    although the user expects it to check the runs."""
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


def make_fleet_row(variant: str = "v", **more: object) -> rows.Row:
    """Return a row of two clusters that cost 1 and 3, at two code layouts; `more` replaces
    fields."""
    row = rows.Row(
        rows.RowName("native", "b", variant), "6.1", "TSC cycles", rows.SHARE, "none", 2.0, 16, 2,
        np.array([1.0, 3.0]), {0: 1.0, 3: 3.0}, 0.5, places=frozenset((0, 3)),
    )  # fmt: skip
    return replace(row, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "first_shifted_runs", "percent"),
    [
        ([1.0] * 7 + [2.0] * 8, [7], 100),
        ([2.0] * 7 + [1.0] * 8, [7], -50),
        ([1.0] * 4 + [2.0] * 3, [4], 100),
        ([1.0] * 3 + [2.0] * 3, [], None),
        ([1.0] * 9 + [1.0005] * 9, [], None),
        ([1.0] * 20, [], None),
    ],
)
def test_history_shift_begins_with_its_first_run(
    values: list[float], first_shifted_runs: list[int], percent: float | None
) -> None:
    """A shift needs at least seven runs, three of them before and three after the shift, and a
    change beyond the margin."""
    pytest.importorskip("ruptures", reason=f"Python's ruptures is missing: {REMEDY}")
    from kmtools.analyse import trends  # noqa: PLC0415  trends needs ruptures

    row = make_fleet_row(values=np.array(values), resolution=0.0)
    clone = replace(row, name=rows.RowName("native", "c", "none-clone"))
    found = trends.find_all_shifts([clone, replace(row, kind=rows.WHOLE), row])
    assert [shift.at for shift in found] == first_shifted_runs
    for shift in found:
        assert shift.row is row and shift.percent == pytest.approx(percent)
        assert shift.verdict == ("slower" if shift.percent > 0 else "faster")


def test_history_shift_exceeds_the_change_of_the_clone() -> None:
    """The clone of the same kernel costs 3 % more from run 7 on. A value that is left out of a row
    or of the clone does not count."""
    pytest.importorskip("ruptures", reason=f"Python's ruptures is missing: {REMEDY}")
    from kmtools.analyse import trends  # noqa: PLC0415  trends needs ruptures

    def make_row_with_shift(variant: str, after: float, gap: int, kernel: str = "6.1") -> rows.Row:
        values = np.array([1.0] * 7 + [after] * 8)
        values[gap] = np.nan
        return make_fleet_row(variant, values=values, resolution=0.0, kernel=kernel)

    clone = make_row_with_shift("none-clone", 1.03, 2)
    less, more, other = (
        make_row_with_shift(name, after, 4, kernel)
        for name, after, kernel in (("v", 1.02, "6.1"), ("w", 1.04, "6.1"), ("v", 1.02, "6.2"))
    )
    found = trends.find_all_shifts([clone, less, more, other])
    assert [(shift.row is more, shift.row is other, shift.at) for shift in found] == [
        (True, False, 7), (False, True, 7),
    ]  # fmt: skip


def test_spread_of_runs_is_estimated_from_the_median_difference() -> None:
    """The median difference of neighbours is 2. Half of the differences of normal values are within
    0.6745 * sqrt(2) standard deviations."""
    pytest.importorskip("ruptures", reason=f"Python's ruptures is missing: {REMEDY}")
    from kmtools.analyse import trends  # noqa: PLC0415  trends needs ruptures

    found = trends.estimate_spread_of_runs(np.array([0.0, 2, 4, 3, 90, 92]))
    assert found == pytest.approx(2 / (0.6745 * 2**0.5))
    rare = trends.estimate_spread_of_runs(np.array([0.0, 0, 0, 0, 8]))
    assert rare == pytest.approx(2 / (0.6745 * 2**0.5))


def test_interval_of_a_shift_allows_for_all_rows_and_runs() -> None:
    """The error of 1 % is divided by two rows and eight runs. Both segments have three degrees of
    freedom and the relative standard error 0.01."""
    scipy = pytest.importorskip("scipy.stats", reason=f"scipy is missing: {REMEDY}")
    pytest.importorskip("ruptures", reason=f"Python's ruptures is missing: {REMEDY}")
    from kmtools.analyse import trends  # noqa: PLC0415  trends needs ruptures

    away = 0.01 * 3**0.5 * np.array([1.0, -1.0, 1.0, -1.0])
    row = make_fleet_row(values=np.concatenate([1 + away, 2 + 2 * away]), resolution=0.0)
    (shift,) = trends.find_shifts(row, 2)
    half = 100 * scipy.t.isf(0.01 / 2 / 8 / 2, 6) * 2 * 0.01 * 2**0.5
    assert shift.at == 4 and shift.interval.half_width == pytest.approx(half, rel=1e-6)


@pytest.mark.parametrize(
    ("layouts", "key"),
    [
        ((0, 3), 0b1001),
        ((7, 7), 0b10000000),
        # From layout 8 on, the key has a bit for each eighth of a cache line, and bit 8 as a mark.
        ((8,), 0b100000001),
        ((3, 12, 31), 0b110011000),
    ],
)
def test_comparison_key_of_over_eight_layouts_has_a_bit_per_eighth_of_a_line(
    layouts: tuple[int, ...], key: int
) -> None:
    assert comparison_key.make_layouts_key(comparison_key.make_layouts_mask(layouts)) == key


def test_rows_with_the_most_frequent_layouts_are_references() -> None:
    """Two of three runs have the layouts 0 and 3. If layouts are equally frequent, the larger key
    is used; if rows have the same key, the row with the most layouts. Exact counts are left out."""
    some, other = make_fleet_row(), make_fleet_row(places=frozenset((1, 3)))
    few, many = (make_fleet_row("w", places=frozenset(n)) for n in ((8, 9), (8, 9, 16)))
    entries = [("a", some), ("b", other), ("c", some), ("a", few), ("b", many), ("c", few)]
    entries += [("a", make_fleet_row("x")), ("b", make_fleet_row("x", places=frozenset((4,))))]
    entries.append(("a", make_fleet_row("y", kind=rows.EXACT)))
    found = comparison_key.select_rows_with_most_frequent_key(entries)
    assert {key[-1]: sorted(row.places) for key, row in found.items()} == {
        "v": [0, 3], "w": [8, 9, 16], "x": [4],
    }  # fmt: skip
    newest = comparison_key.select_newest_rows(entries)
    assert {key[-1]: sorted(row.places) for key, row in newest.items()} == {
        "v": [0, 3], "w": [8, 9], "x": [4],
    }  # fmt: skip
    refused, odd = comparison_key.find_incomparable_rows(entries, found, "most runs")
    assert refused == {} and odd == {
        1: "measured at code layouts 1, 3, most runs at 0, 3",
        6: "measured at 2 code layouts, most runs at 1",
    }
    refused, odd = comparison_key.find_incomparable_rows(entries[:2], found, "most runs")
    assert refused == {"b": "measured at code layouts 1, 3, most runs at 0, 3"} and odd == {}


def test_left_out_rows_have_a_line_for_each_reason() -> None:
    row, other = make_fleet_row(), make_fleet_row("w")
    left = [(("a", row), "x"), (("b", row), "x"), (("a", row), "y"), (("a", other), "y")]
    assert comparison_key.describe_left_out_rows(left) == [
        "left out: native b v of 2 runs: x", "left out: 2 rows of run a: y",
    ]  # fmt: skip
    assert comparison_key.describe_left_out_rows([]) == []


@pytest.mark.parametrize(("crowded", "expected"), [(True, "too few"), (False, "enough")])
def test_run_with_another_number_of_blocks_is_incomparable(crowded: bool, expected: str) -> None:
    reference = {
        comparison_key.make_row_key(("", make_fleet_row())): make_fleet_row(crowded=not crowded)
    }
    entries = [("a", make_fleet_row(crowded=crowded)), ("b", make_fleet_row(crowded=not crowded))]
    refused, odd = comparison_key.find_incomparable_rows(entries, reference, "the newest run")
    assert odd == {} and refused == {
        "a": f"{expected} blocks to tell code layouts apart, unlike the newest run"
    }


def test_run_of_several_kernels_is_comparable_with_itself() -> None:
    """A flagged block of one kernel may leave a code layout out, so that the rows of two kernels of
    one run have different layouts. Each row is compared with the row of the same kernel."""
    few, many = (
        make_fleet_row(kernel=kernel, places=frozenset(range(count)))
        for kernel, count in (("6.1", 7), ("6.2", 8))
    )
    for runs in ("a", "ab"):
        entries = [(run, row) for run in runs for row in (few, many)]
        for select in (
            comparison_key.select_newest_rows, comparison_key.select_rows_with_most_frequent_key
        ):  # fmt: skip
            found = comparison_key.find_incomparable_rows(entries, select(entries), "others")
            assert found == ({}, {})
    entries = [("a", few), ("a", many), ("b", few), ("b", replace(many, places=few.places))]
    newest = comparison_key.select_newest_rows(entries)
    refused, odd = comparison_key.find_incomparable_rows(entries, newest, "the newest run")
    assert (refused, odd) == ({}, {1: "measured at 8 code layouts, the newest run at 7"})


def test_row_merged_over_runs_has_a_value_for_each_run() -> None:
    """A run's value is the mean of its clusters, or its count. The merged cost is the median of the
    runs, and the first reason for a poor grade is kept."""
    exact = make_fleet_row("count", kind=rows.EXACT, cost=7.0, values=np.array([]))
    entries = [
        ("a", exact), ("b", replace(exact, cost=5.0)),
        ("a", make_fleet_row()),
        ("b", make_fleet_row(values=np.array([5.0]), cost=9.0, poor="p", blocks=4)),
        ("c", make_fleet_row(values=np.array([4.0, 5.0]), cost=3.0, poor="q")),
    ]  # fmt: skip
    count, merged = comparison_key.merge_rows_of_runs(entries)
    assert ([*count.values], count.lo, count.hi, count.cost) == ([7, 5], 5, 7, 6)
    assert ([*merged.values], merged.lo, merged.hi, merged.cost) == ([2, 5, 4.5], 2, 5, 3)
    assert (merged.processes, merged.blocks, merged.poor) == (3, 36, "p")
    assert (merged.layouts, merged.resolution, merged.kernel) == ({}, 0, "6.1")


def test_rows_of_one_run_in_several_kernels_are_merged_by_kernel() -> None:
    """The rows are sorted by name, then by kernel."""
    entries = [
        (run, make_fleet_row(name, kernel=kernel))
        for run in "ab" for name in "wv" for kernel in ("6.2", "6.1")
    ]  # fmt: skip
    found = comparison_key.merge_rows_of_runs(entries)
    assert [(row.name.variant, row.kernel, len(row.values)) for row in found] == [
        ("v", "6.1", 2), ("v", "6.2", 2), ("w", "6.1", 2), ("w", "6.2", 2),
    ]  # fmt: skip


def test_row_in_several_kernels_of_one_run_does_not_split_other_rows() -> None:
    """Run a has the row v in two kernels. The row w, measured under another kernel in each run, is
    still one row with a value of each run."""
    entries = [
        ("a", make_fleet_row("v", kernel="6.1")), ("a", make_fleet_row("v", kernel="6.2")),
        ("a", make_fleet_row("w", kernel="6.1")), ("b", make_fleet_row("w", kernel="6.3")),
    ]  # fmt: skip
    found = comparison_key.merge_rows_of_runs(entries)
    assert [(row.name.variant, row.kernel, len(row.values)) for row in found] == [
        ("v", "6.1", 1), ("v", "6.2", 1), ("w", "", 2),
    ]  # fmt: skip


def test_shifts_in_a_history_belong_to_the_row_of_their_kernel() -> None:
    """Two rows have the same name, and only one of them has a shift."""
    old, new = (
        make_fleet_row("v", kernel=kernel, values=np.array([1.0])) for kernel in ("6.1", "6.2")
    )
    shift = Shift(new, 0, 2.0, Interval(1.0, 3.0), "slower")
    said = history.render_history_text(make_history(rows=[old, new], shifts=[shift]))
    assert "  v (kernel 6.2)  " in said
    both = replace(old, kernel=rows.SEVERAL_KERNELS)
    text = history.render_history_json(make_history(rows=[old, new, both], shifts=[shift]))
    assert [(row["kernel"], len(row["shifts"])) for row in json.loads(text)["rows"]] == [
        ("6.1", 0), ("6.2", 1), (None, 0),
    ]  # fmt: skip


def test_comparison_of_1000_runs_needs_little_time_and_memory(tmp_path: Path) -> None:
    """Compare 1,000 runs in at most 12 s of CPU time. `make check-fleet` compares ten times as
    many."""
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
def test_elapsed_time_of_fleet_is_limited_only_on_an_idle_machine(
    seconds: float, busy: float, others: float, megabytes: float, within: bool
) -> None:
    assert check_fleet.ComparisonCost(seconds, busy, others, megabytes).is_within_limits is within


def test_busy_and_total_cpu_seconds_are_read_from_proc_stat() -> None:
    hertz = os.sysconf("SC_CLK_TCK")
    fields = [hertz * second for second in (1, 2, 4, 80, 10, 1, 1, 1, 0, 0)]
    assert check_fleet.parse_busy_and_total_seconds(
        f"cpu  {' '.join(map(str, fields))}\ncpu0 1\n"
    ) == (
        10.0,
        100.0,
    )


def make_cost_row(
    variant: str, cost: float, kind: str = rows.WHOLE, poor: str = "", at: int = 0
) -> rows.Row:
    """Return a row of one process, measured at the code layout `at`; `poor` is the reason for a
    poor grade."""
    name = rows.RowName("native", "b", variant)
    return rows.Row(
        name, "k", "ns", kind, "none", cost, 8, 1, np.array([cost]), {},
        places=frozenset([at]), poor=poor,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("costs", "slow"),
    [
        ({"x": (10, 10), "y": (10, 10), "z": (15, 15)}, {"z": 1.5}),
        ({"x": (10, 10), "y": (10, 10), "z": (14.9, 14.9)}, {}),
        ({"x": (10, 10), "y": (10, 10), "z": (40, 10)}, {"z": 2.5}),
        ({"x": (0, 0), "y": (0, 0), "z": (9, 9)}, {}),
        ({"x": (10, 10), "z": (90, 90)}, {"z": 1.8}),
    ],
)
def test_machine_is_slow_from_1_5_times_the_cost_of_its_group(
    costs: dict[str, tuple[float, float]], slow: dict[str, float]
) -> None:
    """A machine's ratio is the median of the ratios of its baselines. Costs added to baselines, and
    rows of other groups, are ignored."""
    entries = [
        (run, make_cost_row(v, cost)) for run, two in costs.items() for v, cost in zip("vw", two)
    ]
    entries += [(run, make_cost_row("s", 99.0 * n, rows.SHARE)) for n, run in enumerate(costs)]
    entries.append(("other", make_cost_row("v", 1000.0)))
    groups = {"one": list(costs), "two": ["other"]}
    found = machines.find_slow_machines(machines.LoadedRows(entries), groups)
    assert found == pytest.approx(slow)


def test_machine_is_compared_with_its_group_in_the_same_kernel() -> None:
    """Machine z is slow in one of its kernels, whose row is not the last one. A baseline costs four
    times as much in kernel 6.1, in which machine x alone was measured."""
    fast, slow = (replace(make_cost_row("v", 10.0), kernel=kernel) for kernel in ("6.2", "6.1"))
    slow = replace(slow, cost=40.0)
    entries = [("x", slow), ("x", fast), ("y", fast), ("z", fast)]
    groups = {"one": ["x", "y", "z"]}
    assert machines.find_slow_machines(machines.LoadedRows(entries), groups) == {}
    assert machines.find_slow_machines(machines.LoadedRows(entries[::-1]), groups) == {}
    entries += [("y", slow), ("z", replace(slow, cost=160.0))]
    found = machines.find_slow_machines(machines.LoadedRows(entries[::-1]), groups)
    assert found == {"z": pytest.approx(2.5)}


def make_fleet(groups: dict[str, list[str]], slow: tuple[str, ...] = ()) -> machines.Fleet:
    """Return a fleet in which each run has one row."""
    names = [name for members in groups.values() for name in members]
    entries = [(name, make_cost_row("v", 1.0 + n)) for n, name in enumerate(names)]
    known = {name: machines.Machine(name, "cpu", "m", "k") for name in names}
    return machines.Fleet(known, machines.LoadedRows(entries), [], dict.fromkeys(slow, 2.0), groups)


def test_reference_group_is_the_largest_or_the_chosen_one() -> None:
    """Slow machines are left out of their groups."""
    fleet = make_fleet({"amd": ["a", "b", "c"], "intel 1": ["d"], "intel 2": ["e"]}, ("b",))
    names = ["amd (2 runs)", "intel 1 (1 runs)", "intel 2 (1 runs)"]
    merged = machines.merge_runs_of_groups(fleet)
    assert [run.name for run in merged] == names
    assert [run.rows[0].cost for run in merged] == [2.0, 4.0, 5.0]
    assert [run.name for run in machines.merge_runs_of_groups(fleet, "2")] == [names[2], *names[:2]]
    for against, count in (("intel", 2), ("x", 0)):
        said = f"^'{against}' is in the names of {count} groups, .*: amd; intel 1; intel 2$"
        with pytest.raises(UnableError, match=said):
            machines.merge_runs_of_groups(fleet, against)


def test_poor_rows_are_left_out_if_another_machine_has_them() -> None:
    entries = [
        ("x", make_cost_row("v", 1.0, poor="loud")), ("y", make_cost_row("v", 2.0)),
        ("x", make_cost_row("w", 3.0, poor="loud")), ("z", make_cost_row("v", 4.0, poor="loud")),
    ]  # fmt: skip
    note = "rows of 2 machines are left out, because they are poor"
    assert machines.drop_poorly_graded_rows(entries) == (entries[1:3], note)
    assert machines.drop_poorly_graded_rows(entries[2:]) == (entries[2:], "")
    # The row that is not poor was measured in another kernel of the same machine.
    both = [entries[0], ("x", replace(entries[0][1], kernel="other", poor=""))]
    assert machines.drop_poorly_graded_rows(both) == (both, "")


def test_groups_of_machines_are_listed_with_their_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    groups = {"some words that do not fit": ["a"] * 12, "b": ["c"]}
    assert machines.format_group_table(make_fleet(groups)) == [
        "machines  cpu, microcode,", "          kernel of the group",
        "      12  some words that do",
        "          not fit", "       1  b",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *(("", "?"), (" \n", "?"), ("one\n", "one"), ("one\n\none\n", "one")),
        ("one\ntwo\nthree\n", "one ... three"),
    ],
)
def test_refused_machine_has_first_and_last_line_of_its_reason(
    text: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "refused").write_text(text)
    found = machines.find_run_folders(tmp_path)
    assert (found.paths, found.refusals, found.unreadable) == ({}, {"m": reason}, {})


def test_unreadable_reason_of_a_refused_machine_is_named(tmp_path: Path) -> None:
    link = tmp_path / "m" / "refused"
    link.parent.mkdir()
    link.symlink_to("none")
    reason = f"{link}: No such file or directory"
    assert machines.find_run_folders(tmp_path).refusals == {"m": reason}


def test_machine_without_a_description_has_unknown_properties() -> None:
    assert machines.make_machine_of_run("m", {}) == machines.Machine("m", *["unknown"] * 3)
    cpu = {"model_name": "x\x07", "microcode": "0x1"}
    env = {"machine": {"cpu": cpu}, "kernel": {"release": "6.1"}}
    found = machines.make_machine_of_run("m", env)
    assert found == machines.Machine("m", "x\\x07", "0x1", "6.1")
    assert found.make_group_name(["kernel", "cpu"]) == "6.1, x\\x07"


def make_history(**changed: Any) -> history.History:
    row = make_cost_row("v", 1.0, rows.SHARE)
    other = replace(row, name=replace(row.name, variant="u"), values=np.array([1.0, 2.0]))
    shifts = [
        Shift(one, at, percent, Interval(percent - 1, percent + 1), "slower")
        for one, at, percent in ((row, 1, 2.0), (other, 1, 3.0), (row, 0, -4.0))
    ]
    values: dict[str, Any] = {
        "names": ["r0", "r\x071"], "dates": ["d0", "d1"], "rows": [row, other], "shifts": shifts,
        "refused": {}, "left_out": {}, "poor": {},
    }  # fmt: skip
    return history.History(**{**values, **changed})


def test_history_has_the_rows_of_all_usable_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs are in the order of their dates, then of their names. Run d has no date, e no rows,
    f other layouts; only run b has the variant w. Switches are left out."""
    pytest.importorskip("ruptures", reason=f"Python's ruptures is missing: {REMEDY}")
    dates = {"a": "2026-03-01", "b": "2026-02-01T02:00+02:00", "c": "2026-02-01", "d": "soon",
             "e": "2026-01-01", "f": "2026-01-01"}  # fmt: skip
    slow = [make_fleet_row("none", poor="slow"), make_fleet_row("w", poor="other")]
    switch = make_fleet_row(name=replace(make_fleet_row("s").name, measured="switch"))
    found: dict[str, list[rows.Row]] = {
        "a": [make_fleet_row(values=np.array([1.0, 2.0])), make_fleet_row("none"), switch],
        "b": [make_fleet_row(values=np.array([3.0])), *slow, switch],
        "c": [make_fleet_row(values=np.array([4.0])), make_fleet_row("none"), switch],
        "f": [make_fleet_row(places=frozenset((1,)))],
    }

    def load_estimates(path: Path) -> SimpleNamespace:
        if path.name not in found:
            raise RunError("no samples")
        return SimpleNamespace(rows=found[path.name])

    for name in dates:
        (tmp_path / name).mkdir()
        (tmp_path / name / "env.json").touch()
    monkeypatch.setattr(history, "read_env", lambda file: {"date": dates[file.parent.name]})
    monkeypatch.setattr(estimates, "load_estimates", load_estimates)
    made = history.load_history(tmp_path, 0.1)
    assert (made.names, made.dates) == (["b", "c", "a"], [dates[name] for name in "bca"])
    assert {row.name.variant: [*row.values] for row in made.rows} == {
        "none": [2, 2, 2], "v": [3, 4, 1.5],
    }  # fmt: skip
    assert made.refused.keys() == {"d", "e"} and made.refused["e"] == "no samples"
    assert made.left_out == {"f": "measured at 1 code layouts, the newest run at 2"}
    assert made.poor == {"b": "native b: slow"} and made.shifts == []
    found.clear()
    with pytest.raises(
        UnableError, match=r"^.*: no run in this folder can be used\n  a: no samples\n  b: "
    ):
        history.load_history(tmp_path, 0.1)


def test_shifts_of_a_history_are_listed_by_run_and_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that is wider than the terminal has three lines for each row."""
    notes = {"refused": {"z": "1", "y": "2"}, "poor": {"q": "3", "p": "4"}}
    left = {"a": "old", "b": "old", "c": "new", "d": "old"}
    table = [
        "since run  date  tier    benchmark  variant   change        interval  verdict",
        "r0         d0    native  b          v        -4.00 %  [-5.00, -3.00]  slower",
        "r\\x071     d1    native  b          u        +3.00 %  [+2.00, +4.00]  slower",
        "r\\x071     d1    native  b          v        +2.00 %  [+1.00, +3.00]  slower",
    ]
    end = "2 runs, 2 rows, 3 shifts"
    monkeypatch.setenv("COLUMNS", str(len(table[0])))
    said = history.render_history_text(
        make_history(**notes, left_out=left, left_out_rows=["left out: r\x07"])
    )
    assert said.split("\n") == [
        "refused: y: 2", "refused: z: 1", "left out: a to b: old", "left out: c: new",
        "left out: d: old", "left out: r\\x07", "poor: p: 4", "poor: q: 3", *table, end,
    ]  # fmt: skip
    monkeypatch.setenv("COLUMNS", str(len(table[0]) - 1))
    assert history.render_history_text(make_history()).split("\n") == [
        *("since run  date", "  tier  benchmark  variant", "    change  interval  verdict"),
        *("r0  d0", "  native  b  v", "    -4.00 %  [-5.00, -3.00]  slower"),
        *("r\\x071  d1", "  native  b  u", "    +3.00 %  [+2.00, +4.00]  slower"),
        *("r\\x071  d1", "  native  b  v", "    +2.00 %  [+1.00, +3.00]  slower", end),
    ]
    assert history.render_history_text(make_history(shifts=[])) == "2 runs, 2 rows, 0 shifts"


def test_json_of_a_history_has_values_and_shifts_of_rows() -> None:
    notes = {"refused": {"z": "1"}, "left_out": {"a": "old"}, "poor": {"q": "3"}}
    text = history.render_history_json(make_history(**notes, left_out_rows=["left out: v"]))
    assert text.startswith('{\n "schema": 1,\n') and text.endswith("}\n")
    whole = json.loads(text)
    first, second = whole.pop("rows")
    runs = [{"run": "r0", "date": "d0"}, {"run": "r\x071", "date": "d1"}]
    assert whole == {"schema": 1, "runs": runs, **notes, "left_out_rows": ["left out: v"]}
    shift = {"run": "r\x071", "percent": 2.0, "percent_lo": 1.0, "percent_hi": 3.0,
             "verdict": "slower"}  # fmt: skip
    old = {"run": "r0", "percent": -4.0, "percent_lo": -5.0, "percent_hi": -3.0}
    assert first == {
        "tier": "native", "kernel": first["kernel"], "benchmark": "b", "variant": "v",
        "kind": rows.SHARE, "values": [1.0], "shifts": [shift, {**shift, **old}],
    }  # fmt: skip
    assert (second["values"], len(second["shifts"])) == ([1.0, 2.0], 1)


@pytest.mark.parametrize(
    ("count", "more"),
    [(0, []), (5, []), (6, ["  and 1 more"]), (10, ["  and 5 more"])],
)
def test_history_names_up_to_five_refused_runs(count: int, more: list[str]) -> None:
    refused = {f"r{n}": "why" for n in reversed(range(count))}
    named = [f"  r{n}: why" for n in range(min(count, 5))]
    assert history.format_refused_runs(refused).split("\n") == ["", *named, *more]


@pytest.mark.parametrize(
    ("date", "hour"),
    [
        *(("2026-01-31T12:00:00Z", 12), ("2026-01-31T12:00:00", 12)),
        *(("2026-01-31T12:00:00+02:00", 10), ("", None), ("soon", None), (7, None)),
        ("0001-01-01T00:00:00+02:00", None),
    ],
)
def test_run_date_is_converted_to_utc_or_refused(date: object, hour: int | None) -> None:
    env, path = {"date": date}, Path("run/env.json")
    if hour is None:
        said = re.escape(f"run/env.json: date is '{date}', not like 2026-01-31T12:00:00Z")
        with pytest.raises(RunError, match=f"^{said}$"):
            history.parse_run_date(env, path)
    else:
        assert history.parse_run_date(env, path) == datetime(2026, 1, 31, hour, tzinfo=UTC)
