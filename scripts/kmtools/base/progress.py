# SPDX-License-Identifier: GPL-2.0-only
"""What a long job is doing, how far it is and how long the rest takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

INDENT = " " * 11
TERMINAL_SECONDS = 0.2
LOG_SECONDS = 15.0


def duration(seconds: float) -> str:
    """A time as people say it."""
    whole = max(0, round(seconds))
    return f"{whole} s" if whole < 100 else f"{whole // 60} min {whole % 60:02} s"


class Progress:
    """Numbered steps with the time since the first, and within a step its share.

    On a terminal the share is one line that is written over; in a log it is a line now and then.
    """

    def __init__(
        self,
        total: int,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Expect `total` steps."""
        self.total = total
        self.number = 0
        self._stream = stream or sys.stdout
        self._terminal = self._stream.isatty()
        self._clock = clock
        self._began = clock()
        self._first: tuple[float, float] | None = None
        self._shown = self._began
        self._open = False

    def step(self, text: str, usual: str = "") -> None:
        """Announce the next step, and how long it usually takes where that cannot be counted."""
        self.number += 1
        self._first = None
        self._shown = self._clock()
        hint = f" (usually {usual})" if usual else ""
        elapsed = self._shown - self._began
        self.say(f"[{self.number}/{self.total}] {elapsed:4.0f} s  {text}{hint}", indent="")

    def say(self, line: str, indent: str = INDENT) -> None:
        """Print a line that stays."""
        self.close()
        print(f"{indent}{line}", file=self._stream, flush=True)

    def share(self, done: float, total: float, text: str) -> None:
        """Show how far the step is; the rest is judged by the pace since the first call."""
        now = self._clock()
        if self._first is None:
            self._first = (now, done)
        every = TERMINAL_SECONDS if self._terminal else LOG_SECONDS
        if now - self._shown < every or not total:
            return
        self._shown = now
        line = f"{100 * done / total:3.0f} %, {text}{self._rest(now, done, total)}"
        if self._terminal:
            self._open = True
            print(f"\r{INDENT}{line}\033[K", end="", file=self._stream, flush=True)
        else:
            self.say(line)

    def _rest(self, now: float, done: float, total: float) -> str:
        assert self._first is not None
        start, already = self._first
        if done <= already:
            return ""
        return f"; about {duration((now - start) * (total - done) / (done - already))} left"

    def close(self) -> None:
        """End the line that is written over; what comes next starts a line of its own."""
        if self._open:
            self._open = False
            print("\r\033[K", end="", file=self._stream, flush=True)
