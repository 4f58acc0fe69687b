# SPDX-License-Identifier: GPL-2.0-only
"""Shows the current step of a long job, the progress of the step and the time left.

This module uses only the standard library, because the first step of a measurement runs before any
package is installed.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from kmtools.base.processes import run_in_thread
from kmtools.base.screen import Lines, Screen, can_overwrite_text, has_alternate_screen

# Indents the progress of a step below the text of the step.
INDENT = " " * 11
# Seconds between two lines of progress: on a terminal, where each line overwrites the previous
# line, and in a log.
TERMINAL_SECONDS, LOG_SECONDS = 0.5, 15.0


def format_duration(seconds: float) -> str:
    """Return a time as text, in seconds or in minutes and seconds."""
    whole = max(0, round(seconds))
    return f"{whole} s" if whole < 100 else f"{whole // 60} min {whole % 60:02} s"


class Line:
    """A line of output that shows the progress of a job. On a terminal, the next line of progress
    overwrites this line."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.terminal = can_overwrite_text(self.stream)
        self._open = False

    def print_temporary_line(self, text: str) -> None:
        """Show a line that the next line overwrites. If the output is no terminal, print an
        ordinary line."""
        if not self.terminal:
            self.print_permanent_line(text)
            return
        self._open = True
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{text[:width]}\033[K", end="", file=self.stream, flush=True)

    def print_permanent_line(self, text: str) -> None:
        """Print a line that is not overwritten later. On a terminal, this line replaces the
        temporary line."""
        self._open = self._open or self.terminal
        self.erase_temporary_line()
        print(text, file=self.stream, flush=True)

    def erase_temporary_line(self) -> None:
        """Remove the temporary line from the terminal."""
        if self._open:
            self._open = False
            print("\r\033[K", end="", file=self.stream, flush=True)


@contextmanager
def print_text_repeatedly(
    make_text: Callable[[], str], terminal_seconds: float, log_seconds: float
) -> Iterator[None]:
    """During the `with` block, a thread prints the text that `make_text` returns. On a terminal, it
    overwrites the previous text every `terminal_seconds`; in a log, it prints a line every
    `log_seconds`."""
    line = Line()

    def update_line_until_stopped(stop_event: threading.Event) -> None:
        while not stop_event.wait(terminal_seconds if line.terminal else log_seconds):
            line.print_temporary_line(make_text())

    with run_in_thread(update_line_until_stopped):
        yield
    line.erase_temporary_line()


class Progress:
    """Shows numbered steps with the time since the job began, and the completed share of a
    step."""

    def __init__(
        self, total: int, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin a job of `total` steps. The time of the job is counted from this call."""
        self.total = total
        self.number = 0
        self._line = Line(stream)
        self._every = TERMINAL_SECONDS if self._line.terminal else LOG_SECONDS
        self._clock = clock
        self._began = clock()
        self._first: tuple[float, float] | None = None
        self._shown = self._began
        self._step = self._share_line = ""
        self._screen: Screen | None = None
        self._kept: list[str] = []

    def erase_temporary_line(self) -> None:
        """Remove the temporary line from the terminal."""
        self._line.erase_temporary_line()

    def print_line(self, text: str) -> None:
        """Print a permanent line. In full-screen mode, store the line, and print it when this mode
        ends."""
        if self._screen:
            self._kept.append(text)
        else:
            self._print_wrapped(text)

    def _print_wrapped(self, text: str) -> None:
        """Print a permanent line, wrapped to the width of a terminal."""
        lines = [text]
        if self._line.terminal:
            lines = textwrap.wrap(
                text,
                shutil.get_terminal_size().columns,
                subsequent_indent=f"{INDENT}  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        for line in lines or [""]:
            self._line.print_permanent_line(line)

    @contextmanager
    def show_full_screen(self, render: Lines | None) -> Iterator[None]:
        """During the `with` block, show the step and the lines that `render` returns in full-screen
        mode; if the terminal has no alternate screen, do nothing. The lines are redrawn when the
        progress of the step is updated, at most twice a second."""
        if render is None or not has_alternate_screen(self._line.stream):
            yield
            return

        def render_progress_lines(width: int, height: int) -> list[tuple[str, str]]:
            return [(self._step, "1"), (self._share_line, ""), *render(width, height - 2)]

        self._share_line = ""
        self._screen = Screen(self._line.stream, render_progress_lines)
        try:
            self._screen.enter_screen()
            yield
        finally:
            self._screen.leave_screen()
            self._screen = None
            for text in self._kept:
                self._print_wrapped(text)
            self._kept = []

    def begin_step(self, text: str, usual: str = "") -> None:
        """Print the number and the text of the next step; `usual` is the time that this step
        usually takes."""
        self.number += 1
        self._first = None
        self._shown = self._clock()
        hint = f" (usually {usual})" if usual else ""
        elapsed = self._shown - self._began
        self._step = f"[{self.number}/{self.total}] {elapsed:4.0f} s  {text}{hint}"
        self._line.print_permanent_line(self._step)

    def show_completed_share(self, done: float, total: float, text: str) -> None:
        """Show the completed share of the step (`done` of `total`), and an estimate of the time
        left. The estimate uses the progress since this method was first called in this step."""
        now = self._clock()
        start, already = self._first = self._first or (now, done)
        if now - self._shown < self._every or not total:
            return
        self._shown = now
        rest = ""
        if done > already:
            rest = (
                f"; about {format_duration((now - start) * (total - done) / (done - already))} left"
            )
        self._share_line = f"{INDENT}{100 * done / total:3.0f} %, {text}{rest}"
        if self._screen:
            self._screen.draw_lines()
        else:
            self._line.print_temporary_line(self._share_line)
