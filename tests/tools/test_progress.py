# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the progress display: one changing line on a terminal, few lines in a log, time left."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from kmtools.base import progress as progress_module
from kmtools.base.progress import Line, Progress, format_duration
from kmtools.base.screen import Screen


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


def run_two_minute_step(stream: io.StringIO) -> str:
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
    lines = run_two_minute_step(io.StringIO()).splitlines()
    assert lines[0] == "[1/3]    0 s  measuring"
    assert lines[1].strip() == "12 %, loop; about 1 min 45 s left"
    assert len(lines) == 10
    assert lines[-1] == "[2/3]  120 s  plotting (usually 15 s)"


def test_terminal_shows_progress_in_one_changing_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    text = run_two_minute_step(Terminal())
    assert text.count("\n") == 2
    assert 200 < text.count("\r") < 300
    assert " 50 %, loop; about 60 s left\033[K\r" in text
    assert text.endswith("\r\033[K[2/3]  120 s  plotting (usually 15 s)\n")


def test_first_progress_shows_no_remaining_time() -> None:
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
        Line(stream).print_temporary_line(text)
    assert terminal.getvalue() == f"\r{text[:shown]}\033[K"
    assert log.getvalue() == f"{text}\n"


def test_durations_from_100_s_are_formatted_in_minutes() -> None:
    assert [format_duration(s) for s in (-1, 0.4, 99, 100, 3599)] == [
        "0 s", "0 s", "99 s", "1 min 40 s", "59 min 59 s",
    ]  # fmt: skip


@pytest.mark.parametrize(("shown", "terminal"), [("", False), ("\r\033[K", True)])
def test_closed_progress_leaves_no_temporary_line(
    shown: str, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, a temporary line is removed only once. In a log, no line is removed."""
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal() if terminal else io.StringIO()
    progress = Progress(1, stream, Clock())
    progress.erase_temporary_line()
    assert stream.getvalue() == ""
    line = Line(stream)
    line.print_temporary_line("x")
    before = stream.getvalue()
    line.erase_temporary_line()
    line.erase_temporary_line()
    assert stream.getvalue() == before + shown


def test_time_left_counts_only_the_progress_of_this_step() -> None:
    """40 of 100 units are done when the step begins, and 50 units 15 s later: 10 units took 15 s,
    so that the remaining 50 units take 75 s. The next step does not use the times of this step."""
    clock, stream = Clock(), io.StringIO()
    progress = Progress(2, stream, clock)
    for _ in range(2):
        progress.begin_step("measuring")
        progress.show_completed_share(40, 100, "a")
        clock.now += 14.9
        progress.show_completed_share(49, 100, "a")
        clock.now += 0.1
        progress.show_completed_share(50, 100, "a")
        progress.show_completed_share(51, 100, "a")
        clock.now += 15
        progress.show_completed_share(0, 0, "nothing to do")
    share = "            50 %, a; about 75 s left"
    assert stream.getvalue().splitlines() == [
        "[1/2]    0 s  measuring", share, "[2/2]   30 s  measuring", share
    ]  # fmt: skip


def test_permanent_empty_line_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    Progress(1, stream).print_line("")
    assert stream.getvalue() == "\r\033[K\n"


@pytest.mark.parametrize("term", ["xterm", "linux"])
def test_rows_fill_the_screen_below_the_step(term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step and its share take two lines of the screen. Other lines are printed after the screen
    is closed. A terminal without an alternate screen shows no rows."""
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("NO_COLOR", "1")
    stream, clock, asked = Terminal(), Clock(), []

    def render_rows(width: int, height: int) -> list[tuple[str, str]]:
        asked.append((width, height))
        return [("row", "")]

    monkeypatch.setattr(Screen, "_write_text", lambda self, text: stream.write(f"<{text}>"))
    monkeypatch.setattr(stream, "fileno", lambda: -1)
    progress = Progress(1, stream, clock)
    with progress.show_full_screen(None):
        progress.begin_step("measuring")
    with progress.show_full_screen(render_rows):
        before = stream.getvalue()
        progress.print_line("a note")
        clock.now += 0.5
        progress.show_completed_share(1, 4, "b")
        inside = stream.getvalue().removeprefix(before)
    progress.print_line("later")
    assert stream.getvalue().count("a note\n") == 1
    if term == "linux":
        assert not asked and inside.startswith("\r\033[Ka note\n")
        return
    assert stream.getvalue().endswith("\r\033[Ka note\n\r\033[Klater\n")
    assert asked == [(80, 22)] * 2
    lines = ["[1/1]    0 s  measuring", "            25 %, b", "row"]
    assert inside == "<\033[H" + "\r\n".join(f"\033[K{line}" for line in lines) + "\033[J>"
    # The next rows have neither the earlier share nor the earlier notes.
    before = stream.getvalue()
    with progress.show_full_screen(render_rows):
        pass
    assert not re.search("25 %|a note", stream.getvalue().removeprefix(before))


@pytest.mark.parametrize(("terminal", "pause"), [(True, 2.0), (False, 60.0)])
def test_repeated_text_is_printed_after_each_pause(
    terminal: bool, pause: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pause is short on a terminal, and long in a log."""
    pauses = []

    class Stop:
        """The event that ends the thread: it is set after three waits."""

        def wait(self, seconds: float) -> bool:
            pauses.append(seconds)
            return len(pauses) > 2

    @contextmanager
    def run_without_thread(work: Callable[[Stop], None]) -> Iterator[None]:
        work(Stop())
        yield

    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setattr(progress_module, "run_in_thread", run_without_thread)
    texts = iter("ab")
    with progress_module.print_text_repeatedly(lambda: next(texts), 2.0, 60.0):
        pass
    assert pauses == [pause] * 3
    assert stream.getvalue() == ("\ra\033[K\rb\033[K\r\033[K" if terminal else "a\nb\n")
