# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers macro` with --on and --off: times of whole programs in two states of one
boot."""

from __future__ import annotations

import math
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from kmtools.analyse.rounds import (
    FEWEST_ROUNDS,
    MARGIN,
    AddedTime,
    estimate_time_added_by_on_state,
    make_added_time_table,
)
from kmtools.base.errors import FailedError, UnableError
from kmtools.cli import main
from kmtools.measure import macro, rounds
from kmtools.measure.macro import OFF, ON, CommandTime

ROOT = Path(__file__).resolve().parents[2]
# The noise of one run in the simulations, as a standard deviation of the logarithm.
NOISE = 0.01


def simulate_on_off_rounds(
    chance: random.Random, truth: float, noise: float = NOISE, count: int = 40
) -> list[CommandTime]:
    """Return simulated times of one boot. The speed drifts by a third during the boot, and the
    first run of each round takes 5 % longer. `truth` is the ratio of the times in the two
    states."""
    times = []
    for number, order in enumerate(rounds.choose_orders_of_states(count), 1):
        for place, state in enumerate(order):
            log = number / count / 3 + (0 if place else 0.05) + chance.gauss(0, noise)
            seconds = math.exp(log) * (truth if state == ON else 1)
            times.append(CommandTime("x", "b", "6.1", seconds, number, state, state))
    return times


def estimate_simulated_added_times(
    truth: float, noise: float = NOISE, count: int = 40
) -> list[AddedTime]:
    """Return the added times that are estimated from 200 simulated boots."""
    chance = random.Random(1)
    # choose_orders_of_states() uses the global generator of the Python module random.
    random.seed(1)
    return [
        estimate_time_added_by_on_state(simulate_on_off_rounds(chance, truth, noise, count))
        for _ in range(200)
    ]


def test_interval_contains_the_known_added_time() -> None:
    """The interval contains the true added time, 20 %, in about 95 % of the simulations, although
    the drift of the machine is larger. The verdict is always "slower"."""
    found = estimate_simulated_added_times(1.2)
    assert {one.verdict for one in found} == {"slower"}
    covered = sum(one.interval.lo <= 20 <= one.interval.hi for one in found)
    assert covered >= 0.91 * len(found)
    assert all(18 < one.percent < 22 for one in found)


@pytest.mark.parametrize(("noise", "usual"), [(0.001, "equivalent"), (0.05, "unresolved")])
def test_on_state_equal_to_off_is_not_slower_or_faster(noise: float, usual: str) -> None:
    verdicts = Counter(one.verdict for one in estimate_simulated_added_times(1.0, noise))
    assert verdicts["slower"] + verdicts["faster"] <= 2
    assert verdicts[usual] > 180


def test_too_few_on_off_rounds_have_no_interval() -> None:
    few, enough = (
        estimate_simulated_added_times(1.2, count=count)[0]
        for count in (FEWEST_ROUNDS - 1, FEWEST_ROUNDS)
    )
    assert few.verdict == "unresolved" and f"{FEWEST_ROUNDS} rounds in one boot" in few.note
    assert enough.verdict == "slower" and not enough.note


def make_rounds_of_constant_times(count: int, on_seconds: float, **more: str) -> list[CommandTime]:
    """Return `count` rounds of a boot, in which a command takes `on_seconds` in the state "on", and
    2 s in the state "off". `more` replaces fields."""
    one = replace(CommandTime("x", "b", "6.1", 2.0), **more)  # type: ignore[arg-type]
    return [
        replace(one, seconds=seconds, round=number, state=state)
        for number in range(1, count + 1)
        for state, seconds in ((ON, on_seconds), (OFF, 2.0))
    ]


def test_table_of_added_times_has_a_row_for_each_label_and_kernel() -> None:
    """The ratio of constant times is exact. Times without a round are left out; a long label is
    shortened."""
    times = [
        CommandTime("x", "b", "6.1", 9.0),
        *make_rounds_of_constant_times(24, 2.2),
        *make_rounds_of_constant_times(24, 1.8, kernel="6.2"),
        *make_rounds_of_constant_times(23, 2.2, label="a" * 41),
        *make_rounds_of_constant_times(24, 2.01, label="a" * 40),
    ]
    heads, *rows = make_added_time_table(times)
    assert heads == [
        *("command", "kernel", "rounds", "off s", "on s", "added", "95 % interval", "verdict"),
        "note",
    ]
    assert rows == [
        ["x", "6.1", "24", "2.0000", "2.2000", "+10.00 %", "[+10.00, +10.00] %", "slower", ""],
        ["x", "6.2", "24", "2.0000", "1.8000", "-10.00 %", "[-10.00, -10.00] %", "faster", ""],
        [
            *("a" * 26 + "…" + "a" * 13, "6.1", "23", "2.0000", "2.2000", "+10.00 %", "-"),
            *("unresolved", "24 rounds in one boot are needed"),
        ],
        [
            "a" * 40,
            "6.1",
            "24",
            "2.0000",
            "2.0100",
            "+0.50 %",
            "[+0.50, +0.50] %",
            "equivalent",
            "",
        ],
    ]


def test_interval_contains_the_added_times_of_all_boots() -> None:
    """The added time is 17, 20 and 23 % in three boots; the interval contains all three values."""
    chance, times = random.Random(3), []
    for boot, truth in (("b", 1.17), ("a", 1.2), ("c", 1.23)):
        times += [replace(one, boot=boot) for one in simulate_on_off_rounds(chance, truth)]
    found = estimate_time_added_by_on_state(times)
    assert found.note == "few boots" and found.rounds == 120
    assert found.interval.lo < 17 and found.interval.hi > 23


def test_order_of_on_and_off_is_random_and_balanced() -> None:
    orders = [tuple(rounds.choose_orders_of_states(9)) for _ in range(50)]
    assert len(set(orders)) > 10
    for order in orders:
        assert sorted(Counter(order[:8]).values()) == [4, 4]


@pytest.fixture(name="command_dir")
def make_simulated_command_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Simulate the measured command; return a directory. The time of the command grows from run to
    run, and is 20 % longer while the file `state` contains "on". The file `ran` lists the states in
    which the command ran."""
    chance, state, ran = random.Random(2), tmp_path / "state", tmp_path / "ran"

    def simulate_time(_: Sequence[str]) -> float:
        now = state.read_text().strip()
        with ran.open("a") as file:
            print(now, file=file)
        speed = 1 + len(ran.read_text().split()) / 200
        return speed * (1.2 if now == ON else 1.0) * math.exp(chance.gauss(0, NOISE))

    monkeypatch.setattr(rounds, "time_command", simulate_time)
    return tmp_path


def make_state_command(folder: Path, word: str) -> str:
    """Return the shell command that writes a word to the file `state`."""
    return f"echo {word} >{shlex.quote(str(folder / 'state'))}"


def make_macro_command(folder: Path, on: str, off: str, *more: str) -> list[str]:
    """Return the arguments of kmarkers for measuring in two states."""
    return ["macro", "--times", str(folder / "t"), "--on", on, "--off", off, *more]


def test_rounds_are_recorded_and_get_a_verdict(
    command_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = make_macro_command(
        command_dir,
        make_state_command(command_dir, "on"),
        make_state_command(command_dir, "off"),
        "--",
        "make",
        "x y",
    )
    assert main(words) == 0
    said = capsys.readouterr()
    head, row, margin = said.out.splitlines()
    assert head.split()[:3] == ["command", "kernel", "rounds"]
    assert row.startswith("make 'x y'") and row.split()[4] == "40" and row.endswith("slower")
    assert f"margin: {MARGIN:g} %" in margin
    assert "40 rounds of make 'x y'" in said.err
    assert (command_dir / "state").read_text() == "off\n"
    ran = (command_dir / "ran").read_text().split()
    assert ran[:2] == [OFF, ON]
    assert [one.state for one in macro.load_command_times(command_dir / "t")] == ran[2:]
    assert Counter(zip(ran[2::2], ran[3::2], strict=True)) == {(OFF, ON): 20, (ON, OFF): 20}
    # A second measurement adds times to the file. Without COMMAND, all times in the file are
    # judged.
    assert main([*words[:-3], "--runs", "2", "--", "make", "x y"]) == 0
    capsys.readouterr()
    assert main(words[:3]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[4] == "42"


def test_changed_on_command_needs_a_new_label(
    command_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    off, on = make_state_command(command_dir, "off"), make_state_command(command_dir, "on")
    assert main(make_macro_command(command_dir, on, off, "--runs", "1", "--", "true")) == 0
    before = (command_dir / "t").read_bytes()
    assert main(make_macro_command(command_dir, f"{on} ", off, "--runs", "1", "--", "true")) == 2
    assert "name the new measurement with --label" in capsys.readouterr().err
    assert (command_dir / "t").read_bytes() == before
    more = ["--label", "other", "--runs", "1", "--", "true"]
    assert main(make_macro_command(command_dir, f"{on} ", off, *more)) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith("other ")


def test_macro_continues_times_of_a_command_with_newlines(command_dir: Path) -> None:
    """The shell commands of --on and --off contain newlines; the measured command contains a
    newline and a byte that is not UTF-8."""
    off, on = (f"true\n{make_state_command(command_dir, state)}" for state in ("off", "on"))
    command = ["true", "two\nlines", os.fsdecode(b"caf\xe9")]
    for _ in range(2):
        assert main(make_macro_command(command_dir, on, off, "--runs", "1", "--", *command)) == 0
    times = macro.load_command_times(command_dir / "t")
    assert [one.round for one in times] == [1, 1, 2, 2]
    assert {one.command for one in times} == {shlex.join(command)}
    assert {one.switch for one in times} == {on, off}


def test_changed_measured_command_needs_a_new_label(
    command_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    off, on = make_state_command(command_dir, "off"), make_state_command(command_dir, "on")
    words = ["--label", "one", "--runs", "1", "--"]
    assert main(make_macro_command(command_dir, on, off, *words, "true")) == 0
    before = (command_dir / "t").read_bytes()
    assert main(make_macro_command(command_dir, on, off, *words, "true", "2")) == 2
    assert "label one was recorded in" in capsys.readouterr().err
    assert (command_dir / "t").read_bytes() == before


def test_rounds_are_kept_if_the_terminal_is_gone(
    command_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds are kept although writing to the terminal fails, as after a hangup."""

    def fail_to_close(_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("kmtools.measure.rounds.Progress.erase_temporary_line", fail_to_close)
    off, on = make_state_command(command_dir, "off"), make_state_command(command_dir, "on")
    assert main(make_macro_command(command_dir, on, off, "--runs", "1", "--", "true")) == 0
    assert [one.round for one in macro.load_command_times(command_dir / "t")] == [1, 1]


def test_times_file_may_have_kernel_runs_and_on_off_rounds(
    command_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (command_dir / "t").write_text("label,boot,kernel,seconds\nlock,1,6.1,2.000000\n")
    off, on = make_state_command(command_dir, "off"), make_state_command(command_dir, "on")
    assert main(make_macro_command(command_dir, on, off, "--runs", "1", "--", "true")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["lock", "1", "1", "2.000", "-", "-"]
    assert lines[3].startswith("true ")
    # Rounds give this boot no label, so that the times of this boot can be recorded as "nop".
    words = [
        "macro",
        "--times",
        str(command_dir / "t"),
        "--label",
        "nop",
        "--runs",
        "1",
        "--",
        "true",
    ]
    assert main(words) == 0
    assert "kernel to boot next: " in capsys.readouterr().out
    assert [one.label for one in macro.load_command_times(command_dir / "t")] == [
        "lock",
        "true",
        "true",
        "nop",
    ]


def test_missing_numpy_is_reported_before_anything_is_measured(
    command_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Times of two states need numpy. Times of kernels need numpy only if the file also has times
    of two states."""
    words = make_macro_command(
        command_dir,
        make_state_command(command_dir, "on"),
        make_state_command(command_dir, "off"),
        "--",
        "true",
    )
    of_kernel = [*words[:3], "--label", "nop", "--runs", "1", "--", "true"]
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert main(words) == 2
    assert "macro: needs the Python package numpy: " in capsys.readouterr().err
    assert not (command_dir / "ran").exists() and not (command_dir / "t").exists()
    assert main(of_kernel) == 0
    (command_dir / "t").write_text(
        f"{','.join(macro.COLUMNS)}\na,1,6.1,1.0,1,on,x,y\na,1,6.1,1.0,1,off,x,y\n"
    )
    before = (command_dir / "t").read_bytes()
    assert main(of_kernel) == 2
    assert (command_dir / "t").read_bytes() == before


@pytest.mark.parametrize(
    ("make_words", "code", "said"),
    [
        (lambda on, off: ["--on", on, "--", "true"], 2, "--on, --off and COMMAND must be given"),
        (lambda on, off: ["--on", on, "--off", off], 2, "--on, --off and COMMAND must be given"),
        (
            lambda on, off: ["--on", "exit 3", "--off", off, "--", "true"],
            1,
            "--on 'exit 3': exit code 3. Make it succeed by hand first",
        ),
        (
            lambda on, off: ["--on", on, "--off", f"{off}; exit 4", "--", "true"],
            1,
            "exit 4': exit code 4. Make it succeed by hand first",
        ),
        (
            lambda on, off: ["--on", on, "--off", off, "--", "sh", "-c", "exit 5"],
            1,
            "sh -c exit 5: exit code 5; its time is not recorded. Run the command",
        ),
        (lambda on, off: ["--on", on, "--off", off, "--", "/no/such"], 2, "/no/such: No such file"),
    ],
)
def test_failed_command_is_reported_and_the_off_command_runs_last(
    make_words: Callable[[str, str], list[str]],
    code: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "state").write_text("off\n")
    words = make_words(make_state_command(tmp_path, "on"), make_state_command(tmp_path, "off"))
    assert main(["macro", "--times", str(tmp_path / "t"), *words]) == code
    assert said in capsys.readouterr().err
    assert (tmp_path / "state").read_text() == "off\n"
    assert not (tmp_path / "t").exists()


def test_failure_in_a_later_round_keeps_complete_rounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command fails in the fourth round: the times of three rounds are kept."""
    count = "echo >>count; [ $(wc -l <count) -lt 9 ]"
    words = ["--", "sh", "-c", f"cd {shlex.quote(str(tmp_path))}; {count}"]
    assert main(
        make_macro_command(
            tmp_path,
            make_state_command(tmp_path, "on"),
            make_state_command(tmp_path, "off"),
            *words,
        )
    )
    assert "3 complete rounds were added" in capsys.readouterr().err
    assert [one.round for one in macro.load_command_times(tmp_path / "t")] == [1, 1, 2, 2, 3, 3]
    assert (tmp_path / "state").read_text() == "off\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_off_command_runs_after_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    """Send a signal to the process group, as a terminal does, while the command runs in the state
    "on". Repeat the signal until the off-command has ended: no signal interrupts the
    off-command."""
    hang = "read now <state; [ $now = off ] || { touch reached; exec sleep 60; }"
    off = f"sleep 0.3; {make_state_command(tmp_path, 'off')}; rm -f reached"
    words = make_macro_command(
        tmp_path, make_state_command(tmp_path, "on"), off, "--", "sh", "-c", hang
    )
    # Child processes inherit ignored signals, and pytest may have been started with SIGINT ignored.
    process = subprocess.Popen(
        ["env", "--default-signal", sys.executable, str(ROOT / "scripts/kmarkers"), *words],
        cwd=tmp_path,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 60
    while not (tmp_path / "reached").exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert (tmp_path / "state").read_text() == "on\n"
    while (tmp_path / "reached").exists() and time.monotonic() < end:
        os.killpg(process.pid, number)
        time.sleep(0.1)
    assert process.wait(10) == 128 + number
    assert (tmp_path / "state").read_text() == "off\n"
    assert not (tmp_path / "reached").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a,1,6.1,1.0,1,on,x,y", "round 1 of a must have one time in each state"),
        ("a,1,6.1,1.0,0,on,x,y", "t:2: invalid value for the columns label,"),
        ("a,1,6.1,1.0,1,half,x,y", "t:2: invalid value for the columns label,"),
        ("a,1,6.1,1.0,1,on,x", "t:2: invalid value for the columns label,"),
    ],
)
def test_invalid_line_of_a_round_is_reported(line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text(f"{','.join(macro.COLUMNS)}\n{line}\n")
    with pytest.raises(FailedError, match=said):
        macro.load_command_times(tmp_path / "t")


def test_rounds_are_numbered_per_boot_and_label() -> None:
    """Rounds of other labels, and times of kernels, are not counted."""
    own = CommandTime("a", "b", "6.1", 1.0, 4, ON, "go", "run")
    off = replace(own, state=OFF, switch="stop")
    other = replace(own, label="z", round=50, switch="x", command="y")
    kernel = CommandTime("a", "b", "6.1", 1.0)
    new = replace(own, round=0, state="", switch="")
    switches, file = {ON: "go", OFF: "stop"}, Path("t")
    for times, last in (
        ([], 0),
        ([kernel, other], 0),
        ([replace(own, round=7), own, off, other], 7),
        ([replace(own, round=7, boot="c"), own], 4),
        ([replace(own, boot="c")], 0),
    ):
        assert rounds.find_last_round_number(file, times, new, switches) == last
    with pytest.raises(UnableError) as refused:
        rounds.find_last_round_number(file, [own, replace(off, switch="halt it")], new, switches)
    assert str(refused.value).startswith(
        "label a was recorded in t with --off 'halt it'; name the new"
    )
    with pytest.raises(UnableError) as refused:
        rounds.find_last_round_number(file, [off, replace(own, command="fly")], new, switches)
    assert str(refused.value).startswith(
        "label a was recorded in t for fly; name the new measurement"
    )


def test_times_are_written_in_microseconds_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "t"
    times = [
        CommandTime("a, b", "1", "6.1", 1.23456789),
        CommandTime("x", "1", "6.1", 0.5, 1, OFF, "stop", "make 'x y'"),
        CommandTime("x", "1", "6.1", 2.0, 1, ON, 'say "go"', "make 'x y'"),
    ]
    macro.write_command_times(file, times)
    lines = file.read_text().splitlines()
    assert lines[0] == "label,boot,kernel,seconds,round,state,switch,command"
    assert lines[1] == '"a, b",1,6.1,1.234568,,,,'
    assert lines[2] == "x,1,6.1,0.500000,1,off,stop,make 'x y'"
    assert macro.load_command_times(file) == [replace(times[0], seconds=1.234568), *times[1:]]
    assert macro.load_command_times(tmp_path / "none") == []
    for text in ("", "label,boot\n"):
        file.write_text(text)
        with pytest.raises(FailedError, match="t:1: not a file of times"):
            macro.load_command_times(file)
    file.write_text(f"{','.join(macro.COLUMNS)}\n{lines[2]}\n{lines[2]}\n")
    with pytest.raises(FailedError, match="round 1 of x must have one time in each state"):
        macro.load_command_times(file)
    for seconds in ("0", "-1", "nan"):
        file.write_text(f"{lines[0]}\n{lines[1]}\nc,1,6.1,{seconds},,,,\n")
        with pytest.raises(FailedError, match="t:3: seconds is not above 0"):
            macro.load_command_times(file)
