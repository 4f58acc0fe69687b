# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the progress display: one changing line on a terminal, few lines in a log, time left."""

from __future__ import annotations

import io

import pytest
from kmtools.base.progress import Line, Progress, format_duration


class Terminal(io.StringIO):
    """A stream whose isatty() is true."""

    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def run_step(stream: io.StringIO) -> str:
    """Run a step of two minutes that reports progress ten times a second; return the output."""
    clock = Clock()
    progress = Progress(3, stream, clock)
    progress.begin_step("measuring")
    for tick in range(1201):
        clock.now = 1000 + tick / 10
        progress.show_completed_share(tick, 1200, "loop")
    progress.begin_step("plotting", "15 s")
    return stream.getvalue()


def test_log_gets_few_progress_lines() -> None:
    lines = run_step(io.StringIO()).splitlines()
    assert lines[0] == "[1/3]    0 s  measuring"
    assert lines[1].strip() == "12 %, loop; about 1 min 45 s left"
    assert len(lines) == 10
    assert lines[-1] == "[2/3]  120 s  plotting (usually 15 s)"


def test_a_terminal_gets_one_line_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    text = run_step(Terminal())
    assert text.count("\n") == 2
    assert 200 < text.count("\r") < 300
    assert " 50 %, loop; about 60 s left\033[K\r" in text
    assert text.endswith("\r\033[K[2/3]  120 s  plotting (usually 15 s)\n")


def test_no_remaining_time_before_the_first_progress() -> None:
    clock = Clock()
    stream = io.StringIO()
    progress = Progress(1, stream, clock)
    progress.begin_step("measuring")
    clock.now += 60
    progress.show_completed_share(3, 8, "process 4 of 8")
    assert stream.getvalue().splitlines()[1].strip() == "38 %, process 4 of 8"


def test_long_permanent_line_is_wrapped_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long line is wrapped on a terminal, but a path in the line is kept whole; in a log no line
    is wrapped."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    path = "/" + "long/" * 30
    text = f"{' ' * 11}pilot: {'differences of 0.18 TSC cycles, ' * 8}in {path}"
    terminal, log = Terminal(), io.StringIO()
    for stream in (terminal, log):
        Progress(1, stream).print_line(text)
    assert log.getvalue() == f"{text}\n"
    *lines, last = terminal.getvalue().replace("\r\033[K", "").splitlines()
    assert lines[0].startswith(f"{' ' * 11}pilot:") and last.strip() == path
    assert len(lines) > 3 and max(map(len, lines)) <= 80


@pytest.mark.parametrize(("width", "shown"), [(80, 79), (120, 119), (300, 200)])
def test_temporary_line_is_cut_to_the_width_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch, width: int, shown: int
) -> None:
    """A line of 200 characters is cut, so that it leaves the last column free: a terminal may wrap
    a full line. A log has the whole line."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    text = "".join(str(n % 10) for n in range(200))
    terminal, log = Terminal(), io.StringIO()
    for stream in (terminal, log):
        Line(stream).print_temporary(text)
    assert terminal.getvalue() == f"\r{text[:shown]}\033[K"
    assert log.getvalue() == f"{text}\n"


def test_durations_are_formatted_in_minutes_and_seconds() -> None:
    assert [format_duration(s) for s in (-1, 0.4, 99, 100, 3599)] == [
        "0 s", "0 s", "99 s", "1 min 40 s", "59 min 59 s",
    ]  # fmt: skip
