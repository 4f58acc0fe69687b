# SPDX-License-Identifier: GPL-2.0-only
"""Draws figures in several processes at once: each takes a twentieth of a second, and a page has a
hundred.

Workers are forked after matplotlib was imported, so that they begin at once. With one processor
there are none, and figures are drawn where they are asked for. The result is the same to the byte.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

MOST = 4
# Placeholder of a drawing in a text. No name of a run holds such a character.
TOKEN, TOKENS = "\x00{}\x00", re.compile("\x00([0-9]+)\x00")


def _begin() -> None:
    """Ignore Ctrl-C, which the process that waits handles."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Workers:
    """The worker processes, and the drawings that they make."""

    def __init__(self, pool: ProcessPoolExecutor | None) -> None:
        self._pool = pool
        self._parts: list[Future[str]] = []

    def begin(self, draw: Callable[..., Any], *args: object) -> Future[Any]:
        """Begin a drawing."""
        if self._pool:
            return self._pool.submit(draw, *args)
        done: Future[Any] = Future()
        done.set_result(draw(*args))
        return done

    def later(self, draw: Callable[..., str]) -> Callable[..., str]:
        """The same function, but it returns a placeholder of its result at once; see filled()."""

        def begin(*args: object) -> str:
            self._parts.append(self.begin(draw, *args))
            return TOKEN.format(len(self._parts) - 1)

        return begin

    def filled(self, text: str) -> str:
        """A text with its placeholders replaced by the drawings."""
        return TOKENS.sub(lambda found: self._parts[int(found[1])].result(), text)


@contextmanager
def workers() -> Iterator[Workers]:
    """One worker for each processor, at most MOST; none with a single processor."""
    count = min(MOST, len(os.sched_getaffinity(0)))
    if count == 1:
        yield Workers(None)
        return
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("fork"), _begin)
    try:
        yield Workers(pool)
    finally:
        pool.shutdown(cancel_futures=True)
