# SPDX-License-Identifier: GPL-2.0-only
"""Tests of reading and writing samples.csv and raw files, of schemas 1 and 2, and of invalid
files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT
from kmtools.measure import collect, rundir, samples
from kmtools.measure.rundir import RunError, Tier
from kmtools.measure.samples import SAMPLE_COLUMNS, read_samples, write_samples

ENV = {"blocks": "2", "processes": "2"}
NATIVE = Tier("native", "k", rundir.UNIT_TSC, False, ENV, {})
ICOUNT = Tier("icount", "k", rundir.UNIT_INSTRUCTIONS, True, {}, {})
OLD_HEAD = ",".join(samples.OLD_RAW_COLUMNS)
OLD = [
    "native,k,loop,none,1,0,0,1,10,100,150,,",
    "native,k,loop,none,1,3,0,1,20,190,,,preempted|migrated",
    "native,k,arm-scaling,batched,0,0,0,1,1000,5000,,,",
    "native,k,arm-scaling,batched-stall,0,0,0,1,1000,60,,,",
    "native,k,arm-scaling,batched-map,0,0,0,1,1000,70,,,",
    "native,k,arm-scaling,batched-round-count,0,0,0,1,1000,3,,,",
    "icount,k,loop,none,1,0,0,1,10,,,44,",
]
NEW = [
    "native,k,1,loop,none,loop,1,0,0,1,10,,100,TSC cycles,150,",
    "native,k,2,loop,none,loop,1,3,0,1,20,,190,TSC cycles,,preempted|migrated",
    "native,k,1,arm-scaling,batched,switch,0,0,0,1,,1000,5000,TSC cycles,,",
    "native,k,1,arm-scaling,batched-stall,gap,0,0,0,1,,1000,60,TSC cycles,,",
    "native,k,1,arm-scaling,batched-map,part,0,0,0,1,,1000,70,TSC cycles,,",
    "native,k,1,arm-scaling,batched-round-count,rounds,0,0,0,1,,1000,3,rounds,,",
    "icount,k,1,loop,none,loop,1,0,0,1,10,,44,instructions,,",
]


def write_lines(path: Path, *lines: str) -> Path:
    """Write a file with these lines; return its path."""
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_samples_of_schema_1_are_read_as_schema_2(tmp_path: Path) -> None:
    old = write_lines(tmp_path / "old.csv", f"tier,kernel,{OLD_HEAD}", *OLD)
    found = read_samples(old, [NATIVE, ICOUNT])
    new = tmp_path / "samples.csv"
    write_samples(new, found)
    assert new.read_text().splitlines() == ["# schema=2", ",".join(SAMPLE_COLUMNS), *NEW]
    assert read_samples(new, [NATIVE, ICOUNT]) == found


def test_a_raw_file_of_schema_1_is_read(tmp_path: Path) -> None:
    rows = [line.removeprefix("native,k,") for line in OLD[:2]]
    path = write_lines(tmp_path / "loop.csv", "# schema=1", OLD_HEAD, *rows)
    found = [sample for _, sample in samples.read_raw_samples(path, NATIVE, 1)]
    assert [(s.process, s.value, s.core_cycles) for s in found] == [(1, 100, 150), (2, 190, None)]
    exact = [sample for _, sample in samples.read_raw_samples(path, ICOUNT, 1)]
    assert [(s.value, s.unit) for s in exact] == [(100, "instructions"), (190, "instructions")]


Spoil = Callable[[str], str]
HEAD = ",".join(SAMPLE_COLUMNS)
BROKEN: dict[str, tuple[Spoil, str]] = {
    "newer schema": (lambda t: t.replace("=2", "=3", 1), ":1: schema 3 is unknown, the newest"),
    "no schema": (lambda t: t.split("\n", 1)[1], ":1: header of schema 1 lacks tsc, cycles"),
    "old rows": (lambda t: t.replace(NEW[0], OLD[0]), ":3: row has 13 fields, not 16"),
    "old header": (lambda t: t.replace(HEAD, f"tier,kernel,{OLD_HEAD}"), ":2: header of schema 2"),
    "missing column": (lambda t: t.replace(",unit", "", 1), ":2: header of schema 2 lacks unit"),
    "empty": (lambda t: "", ":1: header of schema 1 lacks tier"),
    "cut in a line": (lambda t: t[:-9], ":9: last line is incomplete (truncated?)"),
    "cut at a line": (lambda t: "\n".join(t.split("\n")[:-2]) + "\n", "0 samples of tier icount"),
    "empty line": (lambda t: t.replace(NEW[0], ""), ":3: row has 0 fields"),
    "word": (lambda t: t.replace(",190,", ",many,"), ":4: value is not an integer: 'many'"),
    "fraction": (lambda t: t.replace(",190,", ",1.5,"), ":4: value is not an integer: '1.5'"),
    "no process": (lambda t: t.replace("k,2,", "k,0,"), ":4: process is below 1: 0"),
    "unit": (lambda t: t.replace("TSC cycles", "ns", 1), ":3: unit of 'loop' is 'ns', not 'TSC"),
    "layout": (lambda t: t.replace("loop,1,3,", "loop,32,3,"), ":4: layout is above 31: 32"),
    "flag": (lambda t: t.replace("preempted|", "rubbish|"), ":4: flags is 'rubbish|migrated', not"),
    "only a bar": (lambda t: t.replace("preempted|migrated", "|"), ":4: flags is '|', not empty"),
    "twice": (
        lambda t: t.replace(NEW[0], f"{NEW[0]}\n{NEW[0]}"),
        ":4: variant none has two windows of 10 loops in a block",
    ),
    "emulated cycles": (
        lambda t: t.replace("44,instructions,", "44,instructions,9"),
        ":9: core_cycles of an emulated CPU is not empty: 9",
    ),
    "unknown tier": (lambda t: t.replace("icount,k", "vm,k"), ":9: env.json has no tier 'vm'"),
    "bytes": (lambda t: t.replace("none", "n\udcff"), ": 'utf-8' codec can't decode"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_invalid_samples_csv_is_reported(name: str, tmp_path: Path) -> None:
    spoil, said = BROKEN[name]
    whole = "\n".join(["# schema=2", HEAD, *NEW, ""])
    assert spoil(whole) != whole
    path = tmp_path / "samples.csv"
    path.write_bytes(spoil(whole).encode(errors="surrogateescape"))
    counted = Tier(ICOUNT.tier, ICOUNT.kernel, ICOUNT.unit, True, {}, {}, 1)
    with pytest.raises(RunError, match=r"samples\.csv.*" + re.escape(said)):
        read_samples(path, [NATIVE, counted])


@pytest.mark.parametrize("schema", [1, 2])
def test_line_of_a_field_that_is_too_long_is_reported(schema: int, tmp_path: Path) -> None:
    """The csv module of Python refuses fields of more than 131072 characters. The error names the
    line of the file, with and without a line that names the schema."""
    long = "x" * 131073
    if schema == 1:
        lines = [f"tier,kernel,{OLD_HEAD}", *OLD[:2], OLD[2].replace("arm-scaling", long)]
    else:
        lines = ["# schema=2", HEAD, *NEW[:2], NEW[2].replace("arm-scaling", long)]
    path = write_lines(tmp_path / "samples.csv", *lines)
    line = {1: 4, 2: 5}[schema]
    with pytest.raises(RunError, match=rf"samples\.csv:{line}: field larger than field limit"):
        read_samples(path, [NATIVE, ICOUNT])


def test_largest_number_in_samples_has_64_bits(tmp_path: Path) -> None:
    """The largest number of 64 bits is read, and the next number is refused: both in the first row,
    which is checked field by field, and in a second row with the same names."""
    largest, next_number = "18446744073709551615", "18446744073709551616"
    path = tmp_path / "samples.csv"
    row = "native,k,1,loop,none,loop,1,0,0,1,{},,{},TSC cycles,,"
    write_lines(path, "# schema=2", HEAD, row.format(10, largest), row.format(20, largest))
    assert [sample.value for sample in read_samples(path, [NATIVE])] == [2**64 - 1] * 2
    for values, line in (((next_number, "1"), 3), (("1", next_number), 4)):
        rows = map(row.format, (10, 20), values)
        write_lines(path, "# schema=2", HEAD, *rows)
        said = f"samples.csv:{line}: value is above {largest}: {next_number}"
        with pytest.raises(RunError, match=re.escape(said)):
            read_samples(path, [NATIVE])


@pytest.mark.parametrize("windows", [None, 1])
def test_tier_without_samples_is_reported(windows: int | None, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "samples.csv", "# schema=2", HEAD, *NEW[:-1])
    tier = Tier(ICOUNT.tier, ICOUNT.kernel, ICOUNT.unit, True, {}, {}, windows)
    wanted = windows or "this tier"
    said = f"samples.csv: 0 samples of tier icount, but env.json has {wanted} (truncated?)"
    with pytest.raises(RunError, match=re.escape(said)):
        read_samples(path, [NATIVE, tier])


def test_equal_switching_samples_in_a_block_are_valid(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "samples.csv", "# schema=2", HEAD, NEW[2], NEW[2])
    assert len(read_samples(path, [NATIVE])) == 2


def test_duplicate_window_in_a_raw_file_is_reported(tmp_path: Path) -> None:
    rows = [f"loop,none,loop,0,0,0,1,{loops},,{loops}0,ticks,," for loops in (10, 20, 10)]
    path = tmp_path / "loop.csv"
    write_lines(path, "# schema=2", ",".join(samples.RAW_COLUMNS), *rows)
    with pytest.raises(RunError, match=re.escape(":5: variant none has two windows of 10 loops")):
        collect.read_checked_samples(path, NATIVE)


def test_tiers_of_a_run_can_have_different_schemas(tmp_path: Path) -> None:
    """A run may merge raw files of schemas 1 and 2, because each file contains the number of its
    schema."""
    row = "loop,none,loop,0,0,0,1,{},,{},ticks,,"
    rows = [row.format(10, 100), row.format(20, 200)]
    old = ["pool,none,0,0,0,1,10,100,,,", "pool,none,0,0,0,1,20,200,,,"]
    write_lines(tmp_path / "loop.csv", "# schema=2", ",".join(samples.RAW_COLUMNS), *rows)
    write_lines(tmp_path / "pool.csv", "# schema=1", OLD_HEAD, *old)
    write_lines(tmp_path / "env", "kernel=k")
    rows_read = collect.load_raw_folder("native", tmp_path).rows
    assert [(s.benchmark, s.loops, s.value) for s in rows_read] == [
        (name, loops, 10 * loops) for name in ("loop", "pool") for loops in (10, 20)
    ]


def test_all_sample_columns_are_documented() -> None:
    text = (ROOT / "Documentation" / "data.md").read_text()
    rows = text.split("| column | content |", 1)[1].split("\n\n", 1)[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE)) == SAMPLE_COLUMNS


ROW = (
    "native,k,{process},loop,none,loop,{layout},{block},{position},{cpu},{loops},,{value},"
    "TSC cycles,{core},"
)
USUAL = {
    "process": "1", "layout": "31", "block": "0", "position": "0", "cpu": "0", "loops": "1",
    "value": "0", "core": "0",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"core": ""}, ""),
        ({"core": str(2**64 - 1)}, ""),
        ({"process": "0"}, "process is below 1: 0"),
        ({"layout": "32"}, "layout is above 31: 32"),
        ({"loops": "0"}, "loops is below 1: 0"),
        ({"block": "-1"}, "block is below 0: -1"),
        ({"position": ""}, "position is not an integer: ''"),
        ({"cpu": "+1"}, "cpu is not an integer: '+1'"),
        ({"value": "\u0663"}, "value is not an integer: '\u0663'"),
        ({"core": "x"}, "core_cycles is not an integer: 'x'"),
        ({"core": "-1"}, "core_cycles is below 0: -1"),
        ({"value": "9" * 131}, f"value is above {2**64 - 1}: {'9' * 21}"),
        ({"value": "-" + "9" * 20}, f"value is above {2**64 - 1}: -{'9' * 20}"),
        ({"value": "1" + "0" * 20}, f"value is above {2**64 - 1}: 1{'0' * 20}"),
        ({"cpu": "0" * 30}, ""),
        ({"cpu": "-" + "0" * 30 + "7"}, f"cpu is below 0: -{'0' * 20}"),
    ],
)
@pytest.mark.parametrize("first", [False, True])
def test_number_outside_its_limits_is_reported(
    tmp_path: Path, changed: dict[str, str], said: str, first: bool
) -> None:
    """The limits are the same in the first row of a variant and in later rows, which faster code
    reads."""
    row = {**USUAL, "block": "1", **changed}
    rows = [ROW.format(**USUAL)] * (not first) + [ROW.format(**row)]
    path = write_lines(tmp_path / "samples.csv", "# schema=2", HEAD, *rows)
    if said:
        with pytest.raises(RunError) as refused:
            read_samples(path, [NATIVE])
        assert str(refused.value) == f"{path}:{2 + len(rows)}: {said}"
        return
    found = read_samples(path, [NATIVE])[-1]
    core = int(row["core"]) if row["core"] else None
    assert (found.layout, found.block, found.loops, found.core_cycles) == (31, 1, 1, core)
    assert (found.sites, found.size, found.value, found.cpu, found.position) == (None, 1, 0, 0, 0)


@pytest.mark.parametrize(("layout", "process"), [(2, 1), (1, 2)])
def test_block_with_two_layouts_or_processes_is_reported(
    tmp_path: Path, layout: int, process: int
) -> None:
    """A block of another benchmark with the same number may have another layout and process."""
    row = "native,k,{},{},none,loop,{},5,0,1,{},,9,TSC cycles,,"
    rows = [row.format(1, "a", 1, 10), row.format(process, "b", layout, 10)]
    path = write_lines(tmp_path / "samples.csv", "# schema=2", HEAD, *rows)
    assert len(read_samples(path, [NATIVE])) == 2
    write_lines(path, "# schema=2", HEAD, *rows, row.format(process, "a", layout, 20))
    with pytest.raises(
        RunError, match=r"csv:5: block 5 has windows of several layouts or processes$"
    ):
        read_samples(path, [NATIVE])


@pytest.mark.parametrize(
    ("env", "block", "process"),
    [
        ({}, 9, 1),
        ({"blocks": "4", "processes": "1"}, 9, 1),
        ({"blocks": "4", "processes": "3"}, 3, 1),
        ({"blocks": "4", "processes": "3"}, 4, 2),
        ({"blocks": "4", "processes": "3"}, 11, 3),
        ({"blocks": "0", "processes": "3"}, 2, 3),
        ({"blocks": "many", "processes": "3"}, 9, 1),
    ],
)
def test_process_of_schema_1_follows_from_the_block(
    tmp_path: Path, env: dict[str, str], block: int, process: int
) -> None:
    path = write_lines(tmp_path / "b.csv", OLD_HEAD, f"b,x,0,{block},0,1,10,100,,,")
    tier = Tier("native", "k", rundir.UNIT_TSC, False, env, {})
    ((_, found),) = samples.read_raw_samples(path, tier, 1)
    assert (found.process, found.block) == (process, block)
    write_lines(path, OLD_HEAD, f"b,x,0,{block},0,1,10,100,,7,")
    with pytest.raises(
        RunError, match=r"b\.csv:2: the columns tsc and instructions both have a value"
    ):
        list(samples.read_raw_samples(path, tier, 1))


@pytest.mark.parametrize(
    ("variant", "measured"),
    [
        ("batched", "switch"), ("batched-validate", "part"), ("batched-map", "part"),
        ("batched-rounds", "part"), ("batched-round-count", "rounds"), ("single-stall", "gap"),
        ("stall", "switch"),
    ],
)  # fmt: skip
def test_measured_quantity_of_schema_1_follows_from_the_variant(
    tmp_path: Path, variant: str, measured: str
) -> None:
    for benchmark, wanted in (("arm-x", measured), ("alarm-x", "loop")):
        path = write_lines(
            tmp_path / f"{benchmark}.csv", OLD_HEAD, f"{benchmark},{variant},0,0,0,1,6,100,,,"
        )
        ((_, found),) = samples.read_raw_samples(path, ICOUNT, 1)
        assert (found.measured, found.size) == (wanted, 6)
        assert (found.loops is None) == (wanted != "loop") == (found.sites == 6)
        assert found.unit == ("rounds" if wanted == "rounds" else "instructions")
