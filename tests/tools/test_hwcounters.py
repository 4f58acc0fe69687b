# SPDX-License-Identifier: GPL-2.0-only
"""Tests of hardware counters in a run: from the files of the processes to the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import rawdata
from kmtools.cli import main
from kmtools.measure import collect, hwcounters
from kmtools.measure.rundir import RunError

HEAD = ",".join(hwcounters.COLUMNS)
ROWS = "empty-loop,none,{},{},{}\nempty-loop,none-clone,instructions,3.5,1.000\n"


def write_processes_with_counters(folder: Path) -> Path:
    """Write the raw directories of three processes with different counts; in one process, the
    counter was active half of the time."""
    for number, (events, share) in enumerate((("3.25", "1.0"), ("9.5", "0.5"), ("3.0", "1.0")), 1):
        part = rawdata.write_raw_folder(
            folder / f"process-{number}", 24, number, rawdata.BENCHES[:2]
        )
        (part / "counters").write_text(f"{HEAD}\n{ROWS.format('instructions', events, share)}")
    return folder


def test_report_has_counted_events_per_pass(tmp_path: Path) -> None:
    """The report has the median over the processes, and marks an event as scaled if one process had
    to scale its count."""
    raw, run = write_processes_with_counters(tmp_path / "raw"), tmp_path / "run"
    assert main(["collect", str(run), "--raw", f"native={raw}"]) == 0
    (entry,) = json.loads((run / "env.json").read_text())["tiers"]
    assert entry["counters"] == [
        ["empty-loop", "none", "instructions", 3.25, 0.5],
        ["empty-loop", "none-clone", "instructions", 3.5, 1.0],
    ]
    assert main(["report", str(run)]) == 0
    (table,) = (run / "report.html").read_text().split("Hardware counters</summary>")[1:]
    table = table.split("</table>")[0]
    assert "3.250 (scaled)" in table and "3.500<" in table and "instructions" in table
    assert "memcpy" not in table


def test_a_run_without_counters_has_no_counter_table(tmp_path: Path) -> None:
    raw = rawdata.write_raw_folder(tmp_path / "raw", 24, 1, rawdata.BENCHES[:2])
    assert collect.load_raw_folder("native", raw).counted == {}
    assert main(["collect", str(tmp_path / "run"), "--raw", f"native={raw}"]) == 0
    assert main(["report", str(tmp_path / "run")]) == 0
    assert "Hardware counters" not in (tmp_path / "run" / "report.html").read_text()


def test_hardware_counts_of_processes_are_merged_by_median(tmp_path: Path) -> None:
    """The number of events is the median over the processes that counted, which is the mean of two
    processes. The share of the time in which the counter was active is the smallest share of these
    processes. A share may be 0 or 1."""
    for number, rows in enumerate(("b,y,cycles,4,1\na,x,cycles,3,1\n", "b,y,cycles,7,0\n", "")):
        part = tmp_path / str(number)
        part.mkdir()
        if rows:
            (part / "counters").write_text(f"{HEAD}\n{rows}")
    found = hwcounters.merge_counted_events([tmp_path / "0", tmp_path / "1", tmp_path / "2"])
    counted = [(("b", "y", "cycles"), (5.5, 0.0)), (("a", "x", "cycles"), (3.0, 1.0))]
    assert [*found.items()] == counted
    assert hwcounters.parse_counter_entries(hwcounters.make_counter_entries(found)) == found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ":1: the columns are not benchmark,"),
        ("benchmark,variant\n", ":1: the columns are not benchmark,"),
        (f"{HEAD}\nempty-loop,none,cycles,3\n", ":2: the row has 4 fields, not 5 (truncated?)"),
        (f"{HEAD}\nempty-loop,none,cycles,many,1\n", ":2: 'many' is not a finite number"),
        (f"{HEAD}\nempty-loop,none,cycles,nan,1\n", ":2: 'nan' is not a finite number"),
        (f"{HEAD}\nempty-loop,none,cycles,3,2\n", ":2: share is '2', not between 0 and 1"),
        (f"{HEAD}\na,b,c,3,1\na,b,d,3,-0.1\n", ":3: share is '-0.1', not between 0 and 1"),
        (f"{HEAD}\na,b,c,inf,1\n", ":2: 'inf' is not a finite number"),
        (f"{HEAD}\na,b,c,3,1,1\n", ":2: the row has 6 fields, not 5 (truncated?)"),
        ("\x00\n", ":1: the columns are not "),
    ],
)
def test_invalid_counter_file_is_reported(tmp_path: Path, text: str, expected: str) -> None:
    raw = rawdata.write_raw_folder(tmp_path / "raw", 24, 1, rawdata.BENCHES[:2])
    (raw / "counters").write_text(text)
    with pytest.raises(RunError, match="counters") as refused:
        collect.load_raw_folder("native", raw)
    assert f"{raw / 'counters'}{expected}" in str(refused.value)


def test_unreadable_counter_file_is_named(tmp_path: Path) -> None:
    folder, binary, long = (tmp_path / name for name in ("folder", "binary", "long"))
    folder.mkdir()
    binary.write_bytes(b"\xff\n")
    long.write_text("x" * 200_000)
    for path, said in ((folder, "Is a dir"), (binary, "'utf-8' codec"), (long, "field larger")):
        with pytest.raises(RunError) as refused:
            hwcounters.read_counted_events(path)
        assert str(refused.value).startswith(f"{path}: {said}")
    assert hwcounters.read_counted_events(tmp_path / "none") == {}


@pytest.mark.parametrize(
    "wrong", ["x", [1], [["a", "b", "c", "many", 1]], {"a": 1}, [["a", "b", "c", 10**400, 1]]]
)
def test_invalid_counter_entry_is_reported(wrong: object) -> None:
    with pytest.raises(RunError, match=r"env\.json: invalid entry in counters"):
        hwcounters.parse_counter_entries(wrong)
