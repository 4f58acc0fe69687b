# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers collect`, which merges raw files: valid data, and broken files."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import rawdata
from kmtools.base.errors import UnableError
from kmtools.cli import main
from kmtools.measure import collect, hostenv, rundir, samples
from kmtools.measure.rundir import RunError

LOOP = rawdata.Bench("loop", {"none": 2.0, "none-clone": 2.0, "x": 3.0})


@pytest.fixture
def raw_directory(tmp_path: Path) -> Path:
    return rawdata.write_raw_folder(tmp_path / "raw", blocks=4, benches=[LOOP], emulated="0")


def run_collect(tmp_path: Path, *raws: str, name: str = "one") -> int:
    arguments = ["collect", str(tmp_path / "results" / name)]
    for text in raws:
        arguments += ["--raw", text]
    return main(arguments)


def read_merged_samples(tmp_path: Path, name: str = "one") -> list[dict[str, str]]:
    with (tmp_path / "results" / name / "samples.csv").open(newline="") as stream:
        assert next(stream) == "# schema=2\n"
        return list(csv.DictReader(stream))


def test_collect_merges_all_samples_and_writes_env_json(
    tmp_path: Path, raw_directory: Path
) -> None:
    assert run_collect(tmp_path, f"native={raw_directory}") == 0
    rows = read_merged_samples(tmp_path)
    assert len(rows) == 4 * 3 * 2
    assert tuple(rows[0]) == samples.SAMPLE_COLUMNS
    assert {(row["tier"], row["kernel"]) for row in rows} == {("native", "6.12.0-test")}
    env = json.loads((tmp_path / "results/one/env.json").read_text())
    assert env["tiers"][0]["unit"] == "TSC cycles"
    assert env["tiers"][0]["seed"] == "1"
    assert {"machine", "kernel", "mitigations", "tools", "source", "date"} <= set(env)


def test_link_latest_points_to_a_complete_run_only(tmp_path: Path, raw_directory: Path) -> None:
    latest = tmp_path / "results" / "latest"
    assert run_collect(tmp_path, f"native={raw_directory}", name="one") == 0
    assert latest.readlink() == Path("one")
    (raw_directory / "loop.csv").write_text("# schema=3\n")
    assert run_collect(tmp_path, f"native={raw_directory}", name="two") == 1
    assert latest.readlink() == Path("one")
    assert not (tmp_path / "results" / "two").exists()


def make_field_replacement(index: int, text: str) -> Callable[[str], str]:
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
    "float": (4, make_field_replacement(9, "1.5"), ":5:"),
    "missing value": (4, make_field_replacement(9, ""), ":5:"),
    "unknown quantity": (4, make_field_replacement(2, "time"), ":5:"),
    "unknown unit": (4, make_field_replacement(10, "seconds"), ":5:"),
    "unit of another quantity": (4, make_field_replacement(10, "rounds"), ":5:"),
    "sites of a loop": (4, make_field_replacement(8, "5"), ":5:"),
    "loops of a switch": (4, make_field_replacement(2, "switch"), ":5:"),
    "fields": (4, lambda line: line + ",", ":5:"),
    "short": (4, lambda line: line[:9], ":5:"),
    "negative loops": (4, make_field_replacement(7, "-1"), ":5:"),
    "other benchmark": (4, lambda line: line.replace("loop,", "pool,", 1), ":5:"),
    "empty line": (4, lambda line: "", ":5:"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_collect_reports_an_invalid_line_and_writes_nothing(
    name: str, tmp_path: Path, raw_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index, spoil, place = BROKEN[name]
    lines = (raw_directory / "loop.csv").read_text().splitlines()
    lines[index] = spoil(lines[index])
    (raw_directory / "loop.csv").write_text("\n".join(lines) + "\n")
    assert run_collect(tmp_path, f"native={raw_directory}") == 1
    assert f"loop.csv{place}" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("cut", [1, 40, 400])
def test_collect_refuses_a_truncated_file(
    cut: int, tmp_path: Path, raw_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = raw_directory / "loop.csv"
    path.write_bytes(path.read_bytes()[:-cut])
    assert run_collect(tmp_path, f"native={raw_directory}") == 1
    error = capsys.readouterr().err
    assert "loop.csv:" in error and "truncated" in error
    assert not (tmp_path / "results").exists()


def test_collect_refuses_a_file_truncated_between_lines(
    tmp_path: Path, raw_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = raw_directory / "loop.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:-2]) + "\n")
    assert run_collect(tmp_path, f"native={raw_directory}") == 1
    assert "block 3 lacks" in capsys.readouterr().err


def test_collect_refuses_a_block_with_two_layouts(
    tmp_path: Path, raw_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (raw_directory / "loop.csv").read_text().splitlines()
    fields = lines[5].split(",")
    lines[5] = ",".join([*fields[:3], "3", *fields[4:]])
    (raw_directory / "loop.csv").write_text("\n".join(lines) + "\n")
    assert run_collect(tmp_path, f"native={raw_directory}") == 1
    assert "has windows of several layouts" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["kernel 6.12\n", "=1\n", "tsc_khz=1\n"])
def test_collect_refuses_an_invalid_env_file(
    content: str, tmp_path: Path, raw_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (raw_directory / "env").write_text(content)
    assert run_collect(tmp_path, f"native={raw_directory}") == 1
    assert "env:" in capsys.readouterr().err


def test_collect_refuses_a_tier_that_is_given_twice(
    tmp_path: Path, raw_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_collect(tmp_path, f"native={raw_directory}", f"native={raw_directory}") == 1
    assert "give only one of these folders" in capsys.readouterr().err


def test_collect_refuses_an_unknown_tier(tmp_path: Path, raw_directory: Path) -> None:
    with pytest.raises(SystemExit) as caught:
        run_collect(tmp_path, f"cloud={raw_directory}")
    assert caught.value.code == 2


def test_unit_of_icount_samples_is_instructions(tmp_path: Path) -> None:
    raw = rawdata.write_raw_folder(tmp_path / "raw", blocks=2, benches=[LOOP], exact=True)
    assert run_collect(tmp_path, f"icount={raw}") == 0
    rows = read_merged_samples(tmp_path)
    assert all(row["unit"] == "instructions" and int(row["value"]) > 0 for row in rows)
    env = json.loads((tmp_path / "results/one/env.json").read_text())
    assert env["tiers"][0]["unit"] == "instructions"


def test_cycle_counts_of_an_emulated_cpu_are_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = rawdata.write_raw_folder(tmp_path / "raw", blocks=2, benches=[LOOP], emulated="1")
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
def test_unit_of_samples_depends_on_tier_and_emulation(
    tier: str, env: dict[str, str], vm: dict[str, object], unit: str
) -> None:
    assert rundir.get_tier_unit(tier, rundir.is_emulated(tier, env, vm)) == unit


def test_env_file_is_parsed_without_comments_and_blanks(tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_text("# comment=1\n\n  \n kernel = 6.1 \ncmd=a=b\nempty=\nkernel=6.2\n")
    found = collect.read_key_values(file)
    assert found == {"kernel": "6.2", "cmd": "a=b", "empty": ""}
    for line in ("word", " =1", "  # x"):
        file.write_text(f"# comment\na=1\n{line}\n")
        with pytest.raises(RunError) as refused:
            collect.read_key_values(file)
        assert str(refused.value) == f"{file}:3: line is not KEY=VALUE: {line!r}"
    file.write_bytes(b"a=\xff\n")
    for path in (file, tmp_path / "none"):
        with pytest.raises(RunError, match=re.escape(str(path))):
            collect.read_key_values(path)


@pytest.mark.parametrize(
    ("env", "vm", "kernel"),
    [
        ("kernel=a\n", {"release": "b", "kernel": "c"}, "a"),
        ("x=1\n", {"release": "b", "kernel": "c"}, "b"),
        ("kernel=\n", {"kernel": "c"}, "c"),
        ("x=1\n", {}, None),
    ],
)
def test_kernel_of_a_tier_is_read_from_env_then_from_vm_json(
    tmp_path: Path, env: str, vm: dict[str, str], kernel: str | None
) -> None:
    (tmp_path / "env").write_text(env)
    (tmp_path / "vm.json").write_text(json.dumps(vm))
    if kernel is None:
        with pytest.raises(RunError, match="env: line kernel=RELEASE is missing"):
            collect.read_tier_of_raw_folder("vm", tmp_path)
    else:
        assert collect.read_tier_of_raw_folder("vm", tmp_path).kernel == kernel
    with pytest.raises(RunError, match="none: not a directory"):
        collect.read_tier_of_raw_folder("vm", tmp_path / "none")


ROW = "b,{},{},0,{},0,1,{},ticks,,"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("x", "loop", 0, "10,,5"), ("x", "loop", 0, "20,,5")], ""),
        ([("x", "switch", 0, ",4,5"), ("x", "switch", 0, ",4,5")], ""),
        (
            [("x", "loop", 0, "10,,5"), ("x", "loop", 1, "10,,5")],
            "variant x has only one loop count",
        ),
        (
            [("x", "loop", 0, "10,,5"), ("x", "loop", 0, "20,,5"), ("x", "loop", 1, "10,,5")],
            "b.csv:5: block 1 lacks a window of x with 20 loops (truncated?)",
        ),
        (
            [("x", "switch", 0, ",4,5"), ("x", "switch", 0, ",8,5"), ("x", "switch", 1, ",8,5")],
            "b.csv:5: block 1 lacks a window of x with 4 sites (truncated?)",
        ),
        ([], "b.csv:2: the file holds no samples"),
    ],
)
def test_collect_refuses_a_block_that_lacks_windows_of_other_blocks(
    tmp_path: Path, rows: list[tuple[str, str, int, str]], expected: str
) -> None:
    """A slope needs two loop counts. Windows of switches may repeat in a block, and need only one
    number of sites."""
    lines = ["# schema=2", ",".join(samples.RAW_COLUMNS), *(ROW.format(*row) for row in rows)]
    path = tmp_path / "b.csv"
    path.write_text("\n".join([*lines, ""]))
    tier = rundir.Tier("native", "k", rundir.UNIT_TSC, False, {}, {})
    if expected:
        with pytest.raises(RunError, match=re.escape(expected)):
            collect.read_checked_samples(path, tier)
    else:
        assert len(collect.read_checked_samples(path, tier)) == len(rows)


def write_raws_of_two_tiers(tmp_path: Path, *machines: str) -> list[collect.RawDir]:
    """Write the raw directory of one process for the tier native, and of two processes for the tier
    metal. `machines` has the text of the file `machine` for each tier; "" means no file. Return the
    loaded directories."""
    raws = []
    for index, (tier, machine) in enumerate(zip(("native", "metal"), machines, strict=True)):
        raw = tmp_path / tier
        for number in range(1, index + 2):
            part = raw / f"process-{number}"
            rawdata.write_raw_folder(part, 2, 7, [LOOP], emulated="0")
        if machine:
            (raw / "machine").write_text(machine)
        raws.append(collect.load_raw_folder(tier, raw))
    return raws


@pytest.mark.parametrize(
    ("changed_env", "expected"),
    [
        ({}, ""),
        ({"kernel": "6.1-other"}, "kernel is 6.1-other, but 6.1-test in process-1"),
        ({"emulated": "1"}, "emulated is True, but False in process-1"),
    ],
)
def test_clusters_of_two_environments_are_refused(
    changed_env: dict[str, str], expected: str, tmp_path: Path
) -> None:
    """A boot that fell back to an emulator, or that had another kernel, is refused."""
    raw = tmp_path / "vm"
    for number in (1, 2, 3):
        own = changed_env if number == 3 else {}
        rawdata.write_raw_folder(
            raw / f"process-{number}", 2, 7, [LOOP], emulated="0", kernel="6.1-test"
        )
        env = raw / f"process-{number}" / "env"
        for key, value in own.items():
            text = re.sub(f"^{key}=.*$", f"{key}={value}", env.read_text(), flags=re.M)
            env.write_text(text)
    if expected:
        with pytest.raises(RunError, match=f"process-3: {expected}"):
            collect.load_raw_folder("vm", raw)
    else:
        assert len(collect.load_raw_folder("vm", raw).rows) == 36


ONE = "cpu_model=A\nmicrocode=1\nkernel=6.9\n"


@pytest.mark.parametrize(
    ("machines", "release"),
    [
        (("", ""), "here"),
        ((ONE, ONE), "6.9"),
        ((ONE, f"{ONE}date=2026\n"), "6.9"),
        ((ONE, ONE.replace("=A", "=B")), None),
        ((ONE, ONE.replace("=1", "=2")), None),
        ((ONE, ""), None),
        (("", ONE), None),
    ],
)
def test_raw_folders_of_several_machines_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machines: tuple[str, str], release: str | None
) -> None:
    monkeypatch.setattr(hostenv, "describe_host", lambda: {"kernel": {"release": "here"}})
    raws = write_raws_of_two_tiers(tmp_path, *machines)
    if release is None:
        with pytest.raises(RunError, match="machine: the raw folders were measured on several"):
            collect.describe_machine(raws)
    else:
        assert collect.describe_machine(raws)["kernel"]["release"] == release


def test_entry_of_a_tier_counts_processes_windows_and_flags(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A process has two blocks of three variants at two loop counts: 12 windows."""
    first, second = write_raws_of_two_tiers(tmp_path, "", "")
    second.rows[:] = [
        row._replace(flags=("preempted", "migrated") if index < 3 else ())
        for index, row in enumerate(second.rows)
    ]
    entry = collect.make_env_tier_entry(second)
    names = (
        "tier",
        "processes",
        "windows",
        "windows_flagged",
        "cycle_fields_dropped",
        "seed",
        "vm",
    )
    assert [entry[name] for name in names] == ["metal", 2, 24, 3, 0, "7", None]
    assert entry["counters"] == [] and entry["env"]["kernel"] == "6.12.0-test"
    second.tier = replace(second.tier, vm={"accel": "kvm"})
    assert collect.make_env_tier_entry(second)["vm"] == {"accel": "kvm"}
    collect.print_window_totals(Path("run"), [first])
    collect.print_window_totals(Path("run"), [first, second])
    assert capsys.readouterr().out == "run: 12 windows, 1 tier\nrun: 36 windows, 2 tiers\n"


def test_folder_named_latest_is_not_replaced_by_the_link(tmp_path: Path) -> None:
    """A folder named `latest` is kept, and a run named `latest` gets no link."""
    for name in ("a", "b", "latest"):
        (tmp_path / name).mkdir()
    collect.update_latest_link(tmp_path / "a")
    collect.update_latest_link(tmp_path / "latest")
    assert not (tmp_path / "latest").is_symlink()
    (tmp_path / "latest").rmdir()
    for name in ("a", "b"):
        collect.update_latest_link(tmp_path / name)
        assert (tmp_path / "latest").readlink() == Path(name)
    assert len([*tmp_path.iterdir()]) == 3


def test_run_without_tiers_or_variants_is_reported(
    tmp_path: Path, raw_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_collect(tmp_path) == 2
    assert "the folder of the run does not exist" in capsys.readouterr().err
    (tmp_path / "results" / "one").mkdir(parents=True)
    assert run_collect(tmp_path) == 1
    assert "one: the run holds no measured tier; name a raw folder" in capsys.readouterr().err
    loaded = collect.load_raw_folder("native", raw_directory)
    with pytest.raises(RunError, match="raw: no variant matches y, z"):
        collect.keep_chosen_variants(loaded, ["y", "z"])
    assert collect.keep_chosen_variants(loaded, []) is loaded


@pytest.mark.parametrize("value", ["1", 1, "y", " Yes\n", "TRUE", True])
def test_env_json_values_yes_true_and_1_mean_true(value: object) -> None:
    assert rundir.means_true(value)
    assert not any(map(rundir.means_true, ("0", 0, "", None, "n", "on", 10, False, "yes!")))


def test_tiers_are_sorted_by_environment_and_kernel() -> None:
    entries: list[dict[str, Any]]
    entries = [{"tier": tier, "kernel": kernel} for tier, kernel in (("icount", "a"), ("vm", "b"))]
    entries += [{"tier": "native", "kernel": kernel} for kernel in "zyx"]
    entries += [{"tier": "metal", "kernel": "a", "windows": 7}]
    found = rundir.make_tiers({"tiers": entries})
    assert [f"{tier.tier} {tier.kernel}" for tier in found] == [
        "native x", "native y", "native z", "metal a", "vm b", "icount a",
    ]  # fmt: skip
    assert [tier.windows for tier in found] == [None] * 3 + [7] + [None] * 2
    assert [tier.exact for tier in found] == [False] * 5 + [True]
    assert [*map(rundir.get_tier_table_position, ("native", "icount", "cloud"))] == [0, 3, 4]
    with pytest.raises(
        RunError, match=r"unknown tier 'cloud'; the tiers are native, metal, vm, icount"
    ):
        rundir.get_tier_unit("cloud", False)


def test_missing_tiers_are_named_once_for_each_reason() -> None:
    """Warnings about a single tier name neither missing tiers nor the command that resumes the run.
    Runs of older versions have no such command."""
    missing: list[Any] = [
        {"tier": tier, "why": why} for tier, why in (("vm", "no"), ("native", "x"))
    ]
    missing += [{"tier": "icount", "why": "no"}]
    entry = {"tier": "metal", "kernel": "k", "env": {"planned_processes": "4"}}
    env: dict[str, Any] = {
        "run": {"quick": True, "missing": missing, "resume": "make bench RESUME=y"},
        "tiers": [
            {**entry, "processes": 4},
            {**entry, "tier": "native", "processes": 3},
            {**entry, "tier": "vm", "env": {"planned_processes": "many"}, "processes": 1},
            {**entry, "env": None, "processes": 1},
            {**entry, "tier": "vm", "processes": 2},
            entry,
        ],
    }
    vm = "vm: 2 of 4 planned boots measured before the time limit; --budget sets this limit."
    late = (
        "native: 3 of 4 planned processes measured before the time limit; --budget sets this limit."
    )
    assert rundir.list_warnings(env) == [
        rundir.QUICK,
        late,
        vm,
        "Not measured: vm and icount, because no.",
        "Not measured: native, because x.",
        "To resume the run: make bench RESUME=y",
    ]
    del env["run"]["resume"]
    assert rundir.list_warnings(env)[-1] == "Not measured: native, because x."
    assert rundir.list_warnings(env, "native") == [rundir.QUICK, late]
    assert rundir.list_warnings(env, "metal") == [rundir.QUICK]
    assert not rundir.is_quick_run({"run": None}) and not rundir.is_quick_run({})


def test_missing_benchmarks_are_listed_with_their_reasons() -> None:
    env = {"lacks:b:v": "no b", "kernel": "k", "lacks:a": "no a", "xlacks:c": "no c"}
    tiers = [
        rundir.Tier("vm", "6.1", "u", False, env, {}),
        rundir.Tier("native", "k", "u", False, {}, {}),
    ]
    assert rundir.list_unmeasured_benchmarks(tiers) == [
        "vm, kernel 6.1: a: no a",
        "vm, kernel 6.1: b v: no b",
    ]


def test_samples_csv_is_preferred_to_compressed_files(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"samples\.csv: no such file; `kmarkers collect`"):
        rundir.find_samples_file(tmp_path)
    for name in ("samples.parquet", "samples.csv.gz", "samples.csv"):
        (tmp_path / name).touch()
        assert rundir.find_samples_file(tmp_path).name == name
    with pytest.raises(UnableError, match=r"not the folder of a run, because env\.json is"):
        rundir.read_env(tmp_path / "env.json")
    with pytest.raises(UnableError, match="the folder of the run does not exist"):
        rundir.read_env(tmp_path / "none" / "env.json")
