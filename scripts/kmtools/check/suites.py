# SPDX-License-Identifier: GPL-2.0-only
"""Test suites: each runs, leaves its log in build/check/ and says how it went."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from kmtools.base.errors import OBSTACLES, LabError, explain
from kmtools.base.pace import Clock, History, Reporter, remove_logs
from kmtools.base.paths import ROOT
from kmtools.check import ktap
from kmtools.check.ktap import Tally

LOGS = ROOT / "build" / "check"
GRACE_SECONDS = 3.0
SKIP_CODE = 4  # what a whole KTAP program that is skipped exits with

_running: set[subprocess.Popen[bytes]] = set()


def nothing() -> str:
    """Nothing stands in the way."""
    return ""


@dataclass(frozen=True)
class Suite:
    """A named part of the run; `run` returns its results and writes its own log.

    `what` says what it does, `obstacle` why it cannot run on this machine and what mends that, and
    `usual` how many seconds it takes on 2 cores that do nothing else.
    """

    name: str
    run: Callable[[Path], Tally]
    what: str = ""
    obstacle: Callable[[], str] = nothing
    usual: float = 0.0


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
    if code == SKIP_CODE and any(line.startswith("1..0 # SKIP") for line in lines):
        return Tally(skipped=[line for line in lines if line.startswith(("1..0", "kmarkers:"))])
    tally = ktap.parse(lines)
    if code and not tally.failed:
        tally.failed.append(f"{Path(str(words[0])).name}: exit code {code}")
    return tally


def run_suite(suite: Suite, history: History, place: str = "") -> Tally:
    """Run one suite, with how far it is, and say how it went."""
    log = LOGS / f"{suite.name}.log"
    forecast = history.forecast(suite.name, suite.usual)
    print(f"{place}{suite.name}: {suite.what} ({forecast}) ...", flush=True)
    clock = Clock()
    try:
        if why := suite.obstacle():
            print(f"  SKIP {why}", flush=True)
            return Tally(skipped=[f"{suite.name}: {why}"], absent=1)
        LOGS.mkdir(parents=True, exist_ok=True)
        remove_logs(log)
        with Reporter(suite.name, log, history):
            tally = suite.run(log)
    except OBSTACLES as error:
        # The others are run nevertheless.
        tally = Tally(failed=[explain(error)])
    print(f"{place}{suite.name}: {tally.closing_line()} in {clock.said()}", flush=True)
    if not tally.failed:
        history.add(suite.name, clock.seconds(), tally.count)
    for name in tally.failed:
        print(f"  FAILED {name}")
    for name in tally.skipped:
        print(f"  SKIP {name}")
    if tally.failed and log.exists():
        print(f"  see {log}")
    return tally


@contextmanager
def alone() -> Iterator[None]:
    """One run at a time in a checkout: two would write to each other's logs and builds."""
    LOGS.mkdir(parents=True, exist_ok=True)
    with (LOGS / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError("other tests are running in this checkout") from None
        yield


def run_all(suites: Sequence[Suite]) -> Tally:
    """Run suites one after the other; what they add up to, or what keeps all from running."""
    try:
        with alone():
            return run_each(suites)
    except (LabError, OSError) as error:
        print(f"check: {explain(error)}", file=sys.stderr)
        return Tally(failed=[explain(error)])


def run_each(suites: Sequence[Suite]) -> Tally:
    """Run suites one after the other; what they add up to."""
    total = Tally()
    history = History(LOGS / "times.json")
    for number, suite in enumerate(suites, 1):
        total.add(run_suite(suite, history, f"[{number}/{len(suites)}] "))
    return total


def exit_code(total: Tally) -> int:
    """1 if something failed, 2 if a part could not run here, else 0."""
    return 1 if total.failed else 2 if total.absent else 0
