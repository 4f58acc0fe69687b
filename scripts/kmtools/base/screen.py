# SPDX-License-Identifier: GPL-2.0-only
"""A full-screen terminal display, which restores the previous content when it is closed."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from kmtools.base import streams

# Escape sequences that enter and leave the alternate screen; ENTER also hides the cursor and turns
# line wrap off.
ENTER, LEAVE = "\033[?1049h\033[?25l\033[?7l", "\033[?7h\033[?25h\033[?1049l"
HOME, REST_OF_LINE, REST = "\033[H", "\033[K", "\033[J"
# Values of TERM: terminals whose text cannot be overwritten, and terminals without an alternate
# screen.
PLAIN, ONE_SCREEN = ("", "dumb", "unknown"), ("linux", "vt100", "vt220")
# The size of a terminal that does not report its size.
DEFAULT_SIZE = os.terminal_size((80, 24))

# A function that returns the lines of a display, from the display's width and height. Each line is
# a text and its colour code, which may be empty.
Lines = Callable[[int, int], Sequence[tuple[str, str]]]


def can_overwrite_text(stream: TextIO) -> bool:
    """Return True if a stream is a terminal whose text can be overwritten."""
    return stream.isatty() and os.environ.get("TERM", "") not in PLAIN


def has_alternate_screen(stream: TextIO) -> bool:
    """Return True if a stream is a terminal with an alternate screen."""
    return can_overwrite_text(stream) and os.environ["TERM"] not in ONE_SCREEN


def uses_colour(stream: TextIO) -> bool:
    """Return True if output gets colour: on a terminal, unless NO_COLOR or TERM=dumb is set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Screen:
    """A full-screen display: draws lines on request, when the size of the terminal changes, and
    when a stopped job continues."""

    def __init__(self, stream: TextIO, lines: Lines) -> None:
        """Store the stream and the function that returns the lines. enter_screen() enters the
        alternate screen."""
        self._stream, self._lines = stream, lines
        self._before: dict[int, Any] = {}

    def enter_screen(self) -> None:
        """Enter the alternate screen, and handle SIGWINCH and SIGTSTP until leave_screen(). The
        caller must call leave_screen() even if this function is interrupted."""
        handlers = {
            signal.SIGWINCH: self._redraw_after_resize,
            signal.SIGTSTP: self._suspend_screen,
        }
        for number, handler in handlers.items():
            self._before[number] = signal.signal(number, handler)
        self._stream.flush()
        self._write_text(ENTER)
        self.draw_lines()

    def _write_text(self, text: str) -> None:
        # Do not use the stream: a signal handler may call this method while the stream is writing.
        os.write(self._stream.fileno(), text.encode(errors="replace"))

    def draw_lines(self) -> None:
        """Draw the lines that fit on the terminal."""
        try:
            columns, rows = os.get_terminal_size(self._stream.fileno())
        except OSError:
            columns, rows = DEFAULT_SIZE
        columns, rows = columns or DEFAULT_SIZE.columns, rows or DEFAULT_SIZE.lines
        colour = uses_colour(self._stream)
        shown = []
        for text, code in [*self._lines(columns, rows)][:rows]:
            cut = text[:columns]
            shown.append(REST_OF_LINE + (f"\033[{code}m{cut}\033[0m" if code and colour else cut))
        self._write_text(HOME + "\r\n".join(shown) + REST)

    def leave_screen(self) -> None:
        """Leave the alternate screen, and restore the signal handlers."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._write_text(LEAVE)

    def _redraw_after_resize(self, *_: object) -> None:
        self.draw_lines()

    def _suspend_screen(self, *_: object) -> None:
        """Handle SIGTSTP: leave the alternate screen, stop this process, and enter the alternate
        screen again when the process continues."""
        self._write_text(LEAVE)
        os.kill(os.getpid(), signal.SIGSTOP)
        self._write_text(ENTER)
        self.draw_lines()


def show_text_in_pager(text: str) -> None:
    """Print a text. On a terminal, show the text in the pager that the variable PAGER names, by
    default less; less exits at once if the text fits on the screen."""
    words = shlex.split(os.environ.get("PAGER") or "less")
    if not has_alternate_screen(sys.stdout) or not words or shutil.which(words[0]) is None:
        print(text)
        return
    environment = {"LESS": "FRX", "LESSCHARSET": "utf-8", **os.environ}
    shown = (text + "\n").encode(sys.stdout.encoding, streams.PLAIN)
    subprocess.run(words, input=shown, check=False, env=environment)
