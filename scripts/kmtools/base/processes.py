# SPDX-License-Identifier: GPL-2.0-only
"""Runs other programs and threads, and ends all of them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from kmtools.base.paths import ROOT

GRACE_SECONDS = 3.0
_running: set[subprocess.Popen[bytes]] = set()


def run(
    words: Sequence[object],
    log: Path | None = None,
    env: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> int:
    """Run a program to its end; returns its exit code. TimeoutExpired after `seconds`.

    The output is appended to `log`, or goes to the output of this process. `env` is added to the
    environment. The program runs in a new session, so that every process it started ends with it.
    """
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(log.open("a")) if log else None
        process = subprocess.Popen(
            [str(word) for word in words],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
        _running.add(process)
        try:
            return process.wait(seconds)
        finally:
            _end(process)
            _running.discard(process)


def captured(
    words: Sequence[object], cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a short program, with `env` added to the environment; returns its exit code and its
    output."""
    return subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a session: SIGTERM, after which programs remove temporary files, then SIGKILL."""
    _signal(process, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_SECONDS)
    _signal(process, signal.SIGKILL)
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to all processes of a session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _interrupted(number: int, _: object) -> NoReturn:
    """Send SIGTERM to every running program, whichever thread started it."""
    for process in list(_running):
        _signal(process, signal.SIGTERM)
    raise KeyboardInterrupt(number)


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn SIGINT and SIGTERM into a KeyboardInterrupt that holds the number of the signal."""
    before = {n: signal.signal(n, _interrupted) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def beside(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run `work` in a thread; its event is set when the block is left."""
    left = threading.Event()
    thread = threading.Thread(target=work, args=(left,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        left.set()
        thread.join()
