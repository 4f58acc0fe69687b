# SPDX-License-Identifier: GPL-2.0-only
"""Draws figures in several processes in parallel: a figure takes about 50 ms, and a page has about
a hundred.

The workers are forked after matplotlib was imported, so that they can start drawing at once. On a
single CPU there are no workers: the main process draws. The output does not depend on the number of
workers.
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

# The largest number of worker processes.
MOST_WORKERS = 4
# Placeholder for a drawing in a text. Names in a run cannot contain the NUL character.
TOKEN, TOKENS = "\x00{}\x00", re.compile("\x00([0-9]+)\x00")


def _ignore_signals_of_terminal() -> None:
    """Ignore SIGINT and SIGHUP in a worker; the parent process handles them."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


class Workers:
    """The worker processes and their pending drawings."""

    def __init__(self, pool: ProcessPoolExecutor | None) -> None:
        self._pool = pool
        self._parts: list[Future[str]] = []

    def start_drawing(self, draw: Callable[..., Any], *args: object) -> Future[Any]:
        """Call draw(*args) in a worker process; return a future of its result."""
        if self._pool:
            return self._pool.submit(draw, *args)
        done: Future[Any] = Future()
        done.set_result(draw(*args))
        return done

    def defer_drawing(self, draw: Callable[..., str]) -> Callable[..., str]:
        """Return a function that starts `draw` in a worker process and returns a placeholder text.
        fill_placeholders() later replaces the placeholder by the drawing."""

        def start_and_return_placeholder(*args: object) -> str:
            self._parts.append(self.start_drawing(draw, *args))
            return TOKEN.format(len(self._parts) - 1)

        return start_and_return_placeholder

    def fill_placeholders(self, text: str) -> str:
        """Return a text with its placeholders replaced by the drawings."""
        return TOKENS.sub(lambda found: self._parts[int(found[1])].result(), text)


@contextmanager
def start_workers() -> Iterator[Workers]:
    """Start a worker for each CPU, at most MOST_WORKERS; none on a single CPU."""
    count = min(MOST_WORKERS, len(os.sched_getaffinity(0)))
    if count == 1:
        yield Workers(None)
        return
    pool = ProcessPoolExecutor(
        count, multiprocessing.get_context("fork"), _ignore_signals_of_terminal
    )
    try:
        yield Workers(pool)
    finally:
        pool.shutdown(cancel_futures=True)
