# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmbench step`, which shows the bytes of an instruction while it is replaced."""

from __future__ import annotations

import re
import subprocess

import pytest
from nativeprograms import EXIT_USAGE, KMBENCH, run_kmbench

pytestmark = pytest.mark.usefixtures("native_programs")

STOP = re.compile(r"^(\S.*?) {2,}((?:[0-9a-f]{2} ){5}) +(.*)$", re.MULTILINE)


def read_stops(output: str) -> dict[str, tuple[list[str], str]]:
    """Return the five bytes of the instruction and what happened at each stop, keyed by the title
    of the stop."""
    return {title: (shown.split(), what) for title, shown, what in STOP.findall(output)}


def test_bytes_are_replaced_in_three_rounds() -> None:
    """The first byte of the nop is int3 while the other bytes are replaced. From round 1 on, the
    thread that executes the instruction jumps."""
    done = run_kmbench("step")
    assert done.returncode == 0, done.stderr
    stops = read_stops(done.stdout)
    assert list(stops) == [
        "before",
        "round 1: first byte is int3",
        "round 2: bytes 2 to 5 are new",
        "round 3: first byte is new",
    ]
    code = [shown for shown, _ in stops.values()]
    assert code[0] == ["0f", "1f", "44", "00", "00"]
    assert code[1] == ["cc", *code[0][1:]]
    assert code[2] == ["cc", *code[3][1:]]
    assert code[3][0] == "e9"
    counts = [[int(n) for n in re.findall(r"\d+", what)] for _, what in stops.values()]
    assert counts[0][0] > 0 and counts[0][1] == 0
    # At most one pass does not jump after each round: a pass that began before the round.
    assert all(passed <= 1 and jumped > 0 for passed, jumped in counts[1:])
    traps = re.search(r"hit int3 (\d+) times", done.stdout)
    assert traps is not None
    assert int(traps[1]) >= counts[1][1] + counts[2][1]


def test_without_int3_a_torn_jump_leaves_the_code() -> None:
    """In two of the five states between old and new bytes, the jump leads to an address without
    code."""
    done = run_kmbench("step", "--without-int3")
    assert done.returncode == 0, done.stderr
    stops = read_stops(done.stdout)
    torn = [title for title, (_, what) in stops.items() if "where there is no code" in what]
    assert torn == ["byte 1 is new", "byte 2 is new"]
    assert stops["before"][1] == "passed"
    assert stops["byte 5 is new"][1] == "jumped"


def test_unknown_words_are_refused() -> None:
    """An unknown word is named, and nothing is replaced."""
    done = run_kmbench("step", "--slowly")
    assert done.returncode == EXIT_USAGE
    assert "step takes no argument '--slowly'" in done.stderr
    assert done.stdout == ""


def test_each_stop_waits_if_stdin_is_a_terminal() -> None:
    """On a terminal, each stop waits for Enter, so a debugger can look at the bytes."""
    done = subprocess.run(
        ["script", "-qec", f"{KMBENCH} step", "/dev/null"],
        input="\n" * 4,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.count("press Enter") == 4
