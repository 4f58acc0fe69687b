# SPDX-License-Identifier: GPL-2.0-only
"""Several processes become one series of blocks."""

from __future__ import annotations

from pathlib import Path

import nativebench

HEAD = (
    "# schema=1\nbenchmark,variant,layout,block,position,cpu,loops,tsc,cycles,instructions,flags\n"
)


def test_blocks_of_later_processes_follow(tmp_path: Path) -> None:
    source, target = tmp_path / "one.csv", tmp_path / "all.csv"
    source.write_text(HEAD + "b,none,0,0,1,0,10,100,,,\nb,none,1,1,0,0,10,90,,,preempted\n")
    nativebench.append_samples(source, target, 0)
    nativebench.append_samples(source, target, 2)
    lines = target.read_text().splitlines()
    assert lines[:2] == HEAD.splitlines()
    assert [line.split(",")[3] for line in lines[2:]] == ["0", "1", "2", "3"]
    assert lines[5] == "b,none,1,3,0,0,10,90,,,preempted"
