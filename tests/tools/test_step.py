# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmbench step`, which shows the bytes of an instruction while it is replaced."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess

import pytest
from nativeprograms import EXIT_USAGE, KMBENCH, run_kmbench

pytestmark = pytest.mark.usefixtures("native_programs")

PROMPT = "    press Enter"
STOP = re.compile(r"^(\S.*?) {2,}((?:[0-9a-f]{2} ){5}) +(.*)$", re.MULTILINE)


def parse_bytes_and_event_of_stops(output: str) -> dict[str, tuple[list[str], str]]:
    """Return the five bytes of the instruction and what happened at each stop, keyed by the title
    of the stop."""
    return {title: (shown.split(), what) for title, shown, what in STOP.findall(output)}


def test_instruction_bytes_are_replaced_in_three_rounds() -> None:
    """The first byte of the nop is int3 while the other bytes are replaced. From round 1 on, the
    thread that executes the instruction jumps."""
    done = run_kmbench("step")
    assert done.returncode == 0, done.stderr
    stops = parse_bytes_and_event_of_stops(done.stdout)
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


def find_jump_target(code: list[str]) -> int:
    """Return the distance from the beginning of a jump of five bytes to its target. The last four
    bytes are the distance from the end of the jump, the lowest byte first."""
    return len(code) + int.from_bytes(bytes.fromhex("".join(code[1:])), "little", signed=True)


def test_partly_written_jump_leaves_the_code_without_int3() -> None:
    """In two of the five states between old and new bytes, the jump leads to an address without
    code."""
    done = run_kmbench("step", "--without-int3")
    assert done.returncode == 0, done.stderr
    stops = parse_bytes_and_event_of_stops(done.stdout)
    assert list(stops) == ["before", *(f"byte {number} is new" for number in range(1, 6))]
    code = [shown for shown, _ in stops.values()]
    assert code[0] == ["0f", "1f", "44", "00", "00"] and code[5] == ["e9", "0b", "00", "00", "00"]
    assert code == [[*code[5][:number], *code[0][number:]] for number in range(6)]
    places = [find_jump_target(shown) for shown in code]
    assert places[3] == places[4] == places[5]
    assert [what for _, what in stops.values()] == [
        "passed",
        f"jumped to the instruction + {places[1]}, where there is no code",
        f"jumped to the instruction + {places[2]}, where there is no code",
        *(["jumped"] * 3),
    ]


@pytest.mark.parametrize(
    ("words", "unknown"),
    [
        (["--slowly"], "--slowly"),
        (["--slowly", "--without-int3"], "--slowly"),
        (["--without-int3", "now"], "now"),
        ([""], ""),
    ],
)
def test_unknown_argument_of_step_is_refused(words: list[str], unknown: str) -> None:
    """The error message names the unknown word, and no instruction is replaced."""
    done = run_kmbench("step", *words)
    assert done.returncode == EXIT_USAGE
    assert done.stderr == f"kmbench: step takes no argument '{unknown}'\n"
    assert done.stdout == ""


@pytest.mark.parametrize(("words", "stops"), [((), 4), (("--without-int3",), 6)])
@pytest.mark.parametrize("answer", [b"\n", b"yes\n", b"\x04"])
def test_each_stop_of_a_step_is_printed_before_kmbench_waits(
    words: tuple[str, ...], stops: int, answer: bytes
) -> None:
    """If stdin is a terminal, kmbench waits at each stop for a line or the end of input, so that a
    debugger can look at the bytes. Each stop is printed before kmbench waits, also if stdout is a
    pipe."""
    main, other = pty.openpty()
    command = [str(KMBENCH), "step", *words]
    with subprocess.Popen(command, stdin=other, stdout=subprocess.PIPE) as process:
        os.close(other)
        assert process.stdout is not None
        shown = ""
        for number in range(stops):
            while shown.count(PROMPT) <= number:
                ready = select.select([process.stdout], [], [], 20)[0]
                piece = os.read(process.stdout.fileno(), 4096).decode() if ready else ""
                if not piece:
                    process.kill()
                    pytest.fail(f"kmbench does not ask for Enter: {shown}")
                shown += piece
            os.write(main, answer)
            # After the end of input, kmbench waits at no further stop.
            if answer != b"\x04":
                assert len(parse_bytes_and_event_of_stops(shown.replace(PROMPT, ""))) == number + 1
        process.stdout.read()
        os.close(main)
    assert process.returncode == 0
    assert len(parse_bytes_and_event_of_stops(shown.replace(PROMPT, ""))) == stops
