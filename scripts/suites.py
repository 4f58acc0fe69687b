# SPDX-License-Identifier: GPL-2.0-only
"""Test suites: each runs, leaves its log in build/check/ and says how it went."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import ktap
from ktap import Tally
from lablib import OBSTACLES, ROOT, explain

LOGS = ROOT / "build" / "check"
GRACE_SECONDS = 3.0
SKIP_CODE = 4  # what a whole KTAP program that is skipped exits with

_running: set[subprocess.Popen[bytes]] = set()


@dataclass(frozen=True)
class Suite:
    """A named part of the run; `run` returns its results and writes its own log."""

    name: str
    run: Callable[[Path], Tally]


def command(words: Sequence[object], log: Path, env: Mapping[str, str] | None = None) -> int:
    """Run a command with its output added to a log; returns its exit code.

    It gets a session of its own, so that everything that it started ends with it when somebody
    interrupts.
    """
    with log.open("a") as file:
        process = subprocess.Popen(
            [str(word) for word in words],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=env,
            start_new_session=True,
        )
        _running.add(process)
        try:
            return process.wait()
        finally:
            _end(process)
            _running.discard(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what a process started and left: politely, so that temporary files go, then not."""
    _signal(process, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_SECONDS)
    _signal(process, signal.SIGKILL)
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to all of a process's session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _interrupted(number: int, _: object) -> NoReturn:
    """End what runs, in whichever thread it was started."""
    for process in list(_running):
        _signal(process, signal.SIGTERM)
    raise SystemExit(128 + number)


def run_main(main: Callable[[], int]) -> NoReturn:
    """Exit with what `main` returns; interrupted, without a traceback and without a child."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupted)
    sys.exit(main())


def run_ktap(words: Sequence[object], log: Path, env: Mapping[str, str] | None = None) -> Tally:
    """Run a program that prints KTAP; an exit code without a failed result is a failure."""
    start = log.stat().st_size if log.exists() else 0
    code = command(words, log, env)
    with log.open(encoding="utf-8", errors="replace") as file:
        file.seek(start)
        lines = file.read().splitlines()
    if code == SKIP_CODE:
        return Tally(skipped=[line for line in lines if line.startswith(("1..0", "kmarkers:"))])
    tally = ktap.parse(lines)
    if code and not tally.failed:
        tally.failed.append(f"{Path(str(words[0])).name}: exit code {code}")
    return tally


def run_suite(suite: Suite) -> Tally:
    """Run one suite and say how it went."""
    started = time.monotonic()
    print(f"{suite.name} ...", flush=True)
    log = LOGS / f"{suite.name}.log"
    try:
        LOGS.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        tally = suite.run(log)
    except OBSTACLES as error:
        # The others are run nevertheless.
        tally = Tally(failed=[explain(error)])
    seconds = time.monotonic() - started
    print(f"{suite.name}: {tally.closing_line()} in {seconds:.0f} s", flush=True)
    for name in tally.failed:
        print(f"  FAILED {name}")
    for name in tally.skipped:
        print(f"  SKIP {name}")
    if tally.failed and log.exists():
        print(f"  see {log}")
    return tally


def run_all(suites: Iterable[Suite]) -> Tally:
    """Run suites one after the other; what they add up to."""
    total = Tally()
    for suite in suites:
        total.add(run_suite(suite))
    return total
