# SPDX-License-Identifier: GPL-2.0-only
"""Tests that a run says how many of the planned blocks were kept, and why blocks were lost."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
import rawdata
from kmtools.analyse.kept_blocks import (
    KeptBlocks,
    count_kept_and_planned_blocks,
    make_kept_blocks_field,
    parse_kept_blocks_field,
)
from kmtools.cli import main
from kmtools.measure import rundir
from kmtools.measure.samples import Sample
from kmtools.report import report
from verdictrows import make_tier

BLOCKS = 8
COSTS = {"none": 1.0, "none-clone": 1.0, "marker": 1.9}
LOOP = rawdata.Bench("empty-loop", COSTS, rawdata.Noise(flagged=0.0))


def make_loop_sample_rows(kept: int) -> list[tuple[object, ...]]:
    """Return the windows of BLOCKS blocks. In all blocks except the first `kept`, the windows of
    the variant `marker` are flagged."""
    lines = rawdata.simulate_windows(LOOP, BLOCKS, 1)
    return [
        (*line[:-1], "preempted")
        if line[1] == "marker" and line[4] in range(kept, BLOCKS)
        else line
        for line in lines
    ]


def make_switch_sample_rows(blocks: Iterable[int]) -> list[tuple[object, ...]]:
    """Return one switch of ten sites for each block."""
    return [
        ("arm-scaling", "batched", "switch", 0, block, 0, 1, "", 10, 500 + block, "ticks", "", "")
        for block in blocks
    ]


def make_run_and_read_report(
    root: Path, loop_blocks: int, switch_blocks: int, capsys: pytest.CaptureFixture[str]
) -> str:
    """Make a run with BLOCKS planned blocks of a loop and BLOCKS of switches, and report the run.
    `loop_blocks` and `switch_blocks` are the numbers of blocks that were kept. Return the summary
    and the tables as one line."""
    planned = {"planned:arm-scaling": f"{BLOCKS} blocks in 40 s"}
    raw = rawdata.write_raw_folder(root / "vm", BLOCKS, 1, [LOOP], False, emulated="1", **planned)
    rawdata.write_raw_csv(raw / "empty-loop.csv", make_loop_sample_rows(loop_blocks))
    rawdata.write_raw_csv(raw / "arm-scaling.csv", make_switch_sample_rows(range(switch_blocks)))
    assert main(["collect", str(root / "run"), f"--raw=vm={raw}"]) == 0
    capsys.readouterr()
    assert main(["report", str(root / "run"), "--no-figures"]) == 0
    said = capsys.readouterr().out + report.render_tables(root / "run", "vm", [], True)
    return " ".join(said.split())


@pytest.fixture(autouse=True)
def _set_wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_lost_blocks_are_named_at_the_end_and_in_the_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = make_run_and_read_report(tmp_path, 1, 1, capsys)
    end = "fewer blocks were kept than planned: vm empty-loop: 1 of 8 blocks: 7 flagged"
    assert f"{end}; vm arm-scaling: 1 of 8 blocks: time limit of 40 s" in said
    assert "too few blocks; 1 of 8 blocks: 7 flagged" in said
    assert "ours, one batch 500 1 of 8 blocks: time limit of 40 s" in said
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    found = {one["variant"]: one.get("blocks") for one in summary["results"]}
    assert found["marker"] == {"kept": 1, "measured": 8, "planned": 8, "seconds": 0}
    assert found["none"] is found["none-clone"] is None


def test_complete_run_names_no_lost_block(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = make_run_and_read_report(tmp_path, BLOCKS, BLOCKS, capsys)
    assert "of 8 blocks" not in said and "than planned" not in said


def test_loss_of_less_than_a_tenth_of_the_blocks_has_no_note() -> None:
    assert KeptBlocks(36, 40, 40).describe_missing_blocks() == "36 of 40 blocks: 4 flagged"
    assert KeptBlocks(37, 40, 40).describe_missing_blocks() == ""


def test_time_limit_and_flags_are_named_as_causes() -> None:
    assert (
        KeptBlocks(3, 5, 8, 40).describe_missing_blocks()
        == "3 of 8 blocks: time limit of 40 s, 2 flagged"
    )


@pytest.mark.parametrize(
    ("plan", "kept", "found"),
    [
        ("8 blocks in 40 s", None, KeptBlocks(5, 5, 16, 40)),
        ("8 blocks in 40 s", 4, KeptBlocks(4, 5, 16, 40)),
        # More blocks were kept than planned, as when a process was measured again.
        ("2 blocks in 40 s", 5, KeptBlocks(5, 5, 5, 40)),
        ("8 blocks", None, KeptBlocks(5, 5, 5, 0)),
        ("", 0, KeptBlocks(0, 5, 5, 0)),
    ],
)
def test_kept_blocks_of_two_processes_are_counted(
    plan: str, kept: int | None, found: KeptBlocks
) -> None:
    """Two processes measured three and two blocks, with two windows each."""
    places = ((1, 0), (1, 1), (1, 2), (2, 0), (2, 1))
    samples = [
        Sample(
            "native", "k", process, "b", "v", "loop", 0, block, 0, 0, loops, None, 7, "TSC cycles",
            None, (),
        )
        for process, block in places for loops in (1, 2)
    ]  # fmt: skip
    tier = replace(make_tier(), env={"planned:b": plan, "planned:c": "99 blocks in 9 s"})
    assert count_kept_and_planned_blocks(tier, "b", samples, kept) == found


def test_summary_stores_block_counts_if_blocks_are_missing() -> None:
    one, all_kept = KeptBlocks(7, 7, 8, 40), KeptBlocks(8, 8, 8, 40)
    assert make_kept_blocks_field(all_kept) == make_kept_blocks_field(None) == {}
    assert (
        parse_kept_blocks_field(make_kept_blocks_field(one)) == one
        and parse_kept_blocks_field({}) is None
    )
    assert make_kept_blocks_field(KeptBlocks(7, 8, 8))["blocks"]["seconds"] == 0


def test_warning_has_the_processes_before_the_time_limit() -> None:
    tier = {"tier": "native", "kernel": "k", "processes": 3, "env": {"planned_processes": "16"}}
    whole = {**tier, "processes": 16}
    assert rundir.list_warnings({"tiers": [whole]}) == []
    assert rundir.list_warnings({"tiers": [tier]}, "vm") == []
    (line,) = rundir.list_warnings({"tiers": [tier]})
    assert line.startswith("native: 3 of 16 planned processes measured before the time limit")
