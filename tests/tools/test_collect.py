# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers collect`, which merges raw files: valid data, and broken files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import rawdata
from kmtools.cli import main
from kmtools.measure import rundir, samples

LOOP = rawdata.Bench("loop", {"none": 2.0, "none-clone": 2.0, "x": 3.0})


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return rawdata.write_tier(tmp_path / "raw", blocks=4, benches=[LOOP], emulated="0")


def run_collect(tmp_path: Path, *raws: str, name: str = "one") -> int:
    arguments = ["collect", str(tmp_path / "results" / name)]
    for text in raws:
        arguments += ["--raw", text]
    return main(arguments)


def read_merged_samples(tmp_path: Path, name: str = "one") -> list[dict[str, str]]:
    with (tmp_path / "results" / name / "samples.csv").open(newline="") as stream:
        assert next(stream) == "# schema=2\n"
        return list(csv.DictReader(stream))


def test_collect_merges_all_samples_and_writes_env_json(tmp_path: Path, raw: Path) -> None:
    assert run_collect(tmp_path, f"native={raw}") == 0
    rows = read_merged_samples(tmp_path)
    assert len(rows) == 4 * 3 * 2
    assert tuple(rows[0]) == samples.SAMPLE_COLUMNS
    assert {(row["tier"], row["kernel"]) for row in rows} == {("native", "6.12.0-test")}
    env = json.loads((tmp_path / "results/one/env.json").read_text())
    assert env["tiers"][0]["unit"] == "TSC cycles"
    assert env["tiers"][0]["seed"] == "1"
    assert {"machine", "kernel", "mitigations", "tools", "source", "date"} <= set(env)


def test_link_latest_points_to_a_complete_run_only(tmp_path: Path, raw: Path) -> None:
    latest = tmp_path / "results" / "latest"
    assert run_collect(tmp_path, f"native={raw}", name="one") == 0
    assert latest.readlink() == Path("one")
    (raw / "loop.csv").write_text("# schema=3\n")
    assert run_collect(tmp_path, f"native={raw}", name="two") == 1
    assert latest.readlink() == Path("one")
    assert not (tmp_path / "results" / "two").exists()


def replace_cell(index: int, text: str) -> Callable[[str], str]:
    """Return a function that replaces a field of a CSV line by a text."""

    def replace_field(line: str) -> str:
        fields = line.split(",")
        return ",".join([*fields[:index], text, *fields[index + 1 :]])

    return replace_field


BROKEN: dict[str, tuple[int, Callable[[str], str], str]] = {
    "schema": (0, lambda line: "# schema=3", ":1:"),
    "header": (1, lambda line: line.replace("block,position", "position,block"), ":2:"),
    "integer": (4, lambda line: line.replace(",1,", ",one,", 1), ":5:"),
    "column": (1, lambda line: line.replace(",unit", ""), ":2:"),
    "float": (4, replace_cell(9, "1.5"), ":5:"),
    "missing value": (4, replace_cell(9, ""), ":5:"),
    "unknown quantity": (4, replace_cell(2, "time"), ":5:"),
    "unknown unit": (4, replace_cell(10, "seconds"), ":5:"),
    "unit of another quantity": (4, replace_cell(10, "rounds"), ":5:"),
    "sites of a loop": (4, replace_cell(8, "5"), ":5:"),
    "loops of a switch": (4, replace_cell(2, "switch"), ":5:"),
    "fields": (4, lambda line: line + ",", ":5:"),
    "short": (4, lambda line: line[:9], ":5:"),
    "negative loops": (4, replace_cell(7, "-1"), ":5:"),
    "other benchmark": (4, lambda line: line.replace("loop,", "pool,", 1), ":5:"),
    "empty line": (4, lambda line: "", ":5:"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_invalid_line_is_reported_and_nothing_written(
    name: str, tmp_path: Path, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index, spoil, place = BROKEN[name]
    lines = (raw / "loop.csv").read_text().splitlines()
    lines[index] = spoil(lines[index])
    (raw / "loop.csv").write_text("\n".join(lines) + "\n")
    assert run_collect(tmp_path, f"native={raw}") == 1
    assert f"loop.csv{place}" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("cut", [1, 40, 400])
def test_a_truncated_file_is_refused(
    cut: int, tmp_path: Path, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = raw / "loop.csv"
    path.write_bytes(path.read_bytes()[:-cut])
    assert run_collect(tmp_path, f"native={raw}") == 1
    error = capsys.readouterr().err
    assert "loop.csv:" in error and "truncated" in error
    assert not (tmp_path / "results").exists()


def test_file_truncated_between_lines_is_refused(
    tmp_path: Path, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = raw / "loop.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:-2]) + "\n")
    assert run_collect(tmp_path, f"native={raw}") == 1
    assert "block 3 lacks" in capsys.readouterr().err


def test_block_with_two_layouts_is_refused(
    tmp_path: Path, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (raw / "loop.csv").read_text().splitlines()
    fields = lines[5].split(",")
    lines[5] = ",".join([*fields[:3], "3", *fields[4:]])
    (raw / "loop.csv").write_text("\n".join(lines) + "\n")
    assert run_collect(tmp_path, f"native={raw}") == 1
    assert "changes its layout" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["kernel 6.12\n", "=1\n", "tsc_khz=1\n"])
def test_invalid_env_file_is_refused(
    content: str, tmp_path: Path, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (raw / "env").write_text(content)
    assert run_collect(tmp_path, f"native={raw}") == 1
    assert "env:" in capsys.readouterr().err


def test_one_tier_twice_is_refused(
    tmp_path: Path, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_collect(tmp_path, f"native={raw}", f"native={raw}") == 1
    assert "a second time" in capsys.readouterr().err


def test_an_unknown_tier_is_a_usage_error(tmp_path: Path, raw: Path) -> None:
    with pytest.raises(SystemExit) as caught:
        run_collect(tmp_path, f"cloud={raw}")
    assert caught.value.code == 2


def test_unit_of_icount_samples_is_instructions(tmp_path: Path) -> None:
    raw = rawdata.write_tier(tmp_path / "raw", blocks=2, benches=[LOOP], exact=True)
    assert run_collect(tmp_path, f"icount={raw}") == 0
    rows = read_merged_samples(tmp_path)
    assert all(row["unit"] == "instructions" and int(row["value"]) > 0 for row in rows)
    env = json.loads((tmp_path / "results/one/env.json").read_text())
    assert env["tiers"][0]["unit"] == "instructions"


def test_cycle_counts_of_an_emulated_cpu_are_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = rawdata.write_tier(tmp_path / "raw", blocks=2, benches=[LOOP], emulated="1")
    path = raw / "loop.csv"
    lines = path.read_text().splitlines()
    fields = lines[4].split(",")
    lines[4] = ",".join([*fields[:11], "777", *fields[12:]])
    path.write_text("\n".join(lines) + "\n")
    assert run_collect(tmp_path, f"vm={raw}") == 0
    assert "1 cycle counts of an emulated CPU dropped" in capsys.readouterr().err
    assert all(row["core_cycles"] == "" for row in read_merged_samples(tmp_path))


@pytest.mark.parametrize(
    ("tier", "env", "vm", "unit"),
    [
        ("native", {"emulated": "0"}, {}, "TSC cycles"),
        ("native", {}, {}, "TSC cycles"),
        ("native", {"emulated": "1"}, {}, "ticks (emulated)"),
        ("metal", {"emulated": "0"}, {}, "TSC cycles"),
        ("metal", {"emulated": "1"}, {}, "ticks (emulated)"),
        ("vm", {"emulated": "0"}, {"accel": "kvm", "emulated": False}, "TSC cycles (guest)"),
        ("vm", {}, {"accel": "kvm"}, "TSC cycles (guest)"),
        ("vm", {}, {}, "ticks (emulated)"),
        ("vm", {"emulated": "0"}, {"emulated": True}, "ticks (emulated)"),
        ("vm", {"emulated": "0"}, {"accel": "tcg,thread=multi"}, "ticks (emulated)"),
        ("vm", {"emulated": "1"}, {"accel": "kvm"}, "ticks (emulated)"),
        ("icount", {"emulated": "0"}, {}, "instructions"),
    ],
)
def test_each_tier_has_its_unit(
    tier: str, env: dict[str, str], vm: dict[str, object], unit: str
) -> None:
    assert rundir.get_tier_unit(tier, rundir.is_emulated(tier, env, vm)) == unit
