# SPDX-License-Identifier: GPL-2.0-only
"""Runs test suites. Each suite writes a log to build/check/ and returns its results."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kmtools.base import processes
from kmtools.base.errors import OBSTACLES, FailedError, UnableError, explain_error
from kmtools.base.files import hold_lock
from kmtools.base.paths import ROOT
from kmtools.base.processes import run_in_thread
from kmtools.base.progress import Line, format_duration
from kmtools.runner import ktap, least
from kmtools.runner.ktap import Tally
from kmtools.runner.pace import Clock, History, print_suite_progress, remove_suite_logs

LOGS = ROOT / "build" / "check"
# The states of a suite in a SuitePool: not started, running, ended.
FREE, TAKEN, ENDED = range(3)
# The interval at which a process checks whether a suite may start.
WAIT_SECONDS = 0.2
SKIP_CODE = 4  # exit code of a KTAP program that skips all of its tests


def find_no_obstacle() -> str:
    """Return "": nothing prevents a suite from running."""
    return ""


@dataclass(frozen=True)
class Suite:
    """A part of a test run: `run` writes the log of the suite and returns its results.

    `what` is a description of the suite. `obstacle` returns the reason why the suite cannot run on
    this machine, with the remedy, or "". `usual` is the time of the suite in seconds on 2 idle
    cores. A suite with `after` starts when the suite of that name has ended, if that suite is in
    the same run. Suites with `calm` run after all others, with nothing in parallel. `modules` is
    the name of the kernel whose modules the suite needs. The output of a suite with `loud` is
    printed while the suite runs.
    """

    name: str
    run: Callable[[Path], Tally]
    what: str = ""
    obstacle: Callable[[], str] = find_no_obstacle
    usual: float = 0.0
    calm: bool = False
    modules: str = ""
    after: str = ""
    loud: bool = False


def make_one_result_tally(good: bool, what: str) -> Tally:
    """Return a tally of one result: a pass, or a failure named `what`."""
    return Tally(passed=1) if good else Tally(failed=[what])


def make_run_with_output_in_log(work: Callable[[], Tally]) -> Callable[[Path], Tally]:
    """Return a function for Suite.run that calls `work` and writes its standard output to the
    log."""

    def call_with_output_in_log(log: Path) -> Tally:
        with log.open("w", encoding="utf-8") as file, contextlib.redirect_stdout(file):
            return work()

    return call_with_output_in_log


def run_ktap_program(
    words: Sequence[object], log: Path, env: Mapping[str, str] | None = None
) -> Tally:
    """Run a program that prints KTAP, and return its results; a nonzero exit code without a failed
    result is a failure."""
    start = log.stat().st_size if log.exists() else 0
    code = processes.run_program(words, log, env)
    with log.open(encoding="utf-8", errors="replace") as file:
        file.seek(start)
        lines = file.read().splitlines()
    if code == SKIP_CODE and any(line.startswith("1..0 # SKIP") for line in lines):
        return Tally(skipped=[line for line in lines if line.startswith(("1..0", "kmarkers:"))])
    tally = ktap.parse_ktap(lines)
    if code and not tally.failed:
        tally.failed.append(f"{Path(str(words[0])).name}: exit code {code}")
    return tally


def run_pytest(log: Path, *words: str, env: Mapping[str, str] | None = None) -> Tally:
    """Run the Python tests that the arguments `words` of pytest select, such as files, and read the
    results from pytest's XML report."""
    record = log.with_suffix(".xml")
    record.unlink(missing_ok=True)
    code = processes.run_program(
        [sys.executable, "-m", "pytest", "-q", f"--junitxml={record}", *words], log, env
    )
    tally = Tally()
    if not record.is_file():
        tally.failed.append(f"pytest wrote no report, see {log}")
        return tally
    try:
        cases = list(ElementTree.parse(record).iter("testcase"))
    except ElementTree.ParseError as error:
        tally.failed.append(f"pytest's report {record} is incomplete ({error}), see {log}")
        return tally
    for case in cases:
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            tally.failed.append(name)
        elif (skip := case.find("skipped")) is not None:
            tally.skipped.append(f"{name}: {skip.get('message')}")
        else:
            tally.passed += 1
    if code and not tally.failed:
        tally.failed.append(f"pytest: exit code {code}")
    return tally


def run_suite(suite: Suite, history: History, prefix: str = "", seconds_left: float = 0.0) -> Tally:
    """Run one suite; print its progress and result, in lines that begin with `prefix`.
    `seconds_left` is the expected time of this and all remaining suites."""
    log = LOGS / f"{suite.name}.log"
    forecast = history.format_expected_time(suite.name, suite.usual)
    forecast += f"; {format_duration(seconds_left)} left in all" if seconds_left else ""
    print(f"{prefix}{suite.name}: {suite.what} ({forecast}) ...", flush=True)
    clock = Clock()
    try:
        if why := suite.obstacle():
            print(f"  SKIP {why}", flush=True)
            return Tally(skipped=[f"{suite.name}: {why}"], absent=1)
        LOGS.mkdir(parents=True, exist_ok=True)
        remove_suite_logs(log)
        expected = history.estimate_suite_seconds(suite.name, suite.usual)
        if suite.loud:
            tally = suite.run(log)
        else:
            with print_suite_progress(
                suite.name, log, expected, history.get_result_count_of_last_run(suite.name)
            ):
                tally = suite.run(log)
    except UnableError as error:
        tally = Tally(failed=[str(error)])
        if suite.loud:
            tally = Tally(skipped=[f"{suite.name}: {error}"], absent=1)
    except (*OBSTACLES, FailedError) as error:
        # A failed suite does not stop the other suites.
        tally = Tally(failed=[explain_error(error)])
    least.require_minimum_result_count(tally, suite.name)
    print(
        f"{prefix}{suite.name}: {tally.format_summary()} in {clock.format_elapsed_and_cpu_time()}",
        flush=True,
    )
    if not tally.failed and not tally.absent:
        history.add_suite_run(suite.name, clock.get_elapsed_seconds(), tally.count, suite.usual)
    for name in tally.failed:
        print(f"  FAILED {name}")
    for line in group_skips_by_reason(tally.skipped):
        print(f"  SKIP {line}")
    if tally.failed and log.exists():
        print(f"  see {log}")
    return tally


def group_skips_by_reason(skipped: Iterable[str]) -> Iterator[str]:
    """Yield a line for each reason in `skipped`, which has lines of the form "NAME: REASON". The
    yielded line has the reason, and the name of the skipped test or the number of skipped tests."""
    names: dict[str, list[str]] = {}
    for line in skipped:
        name, _, reason = line.partition(": ")
        names.setdefault(reason or line, []).append(name)
    for reason, some in names.items():
        yield f"{some[0]}: {reason}" if len(some) == 1 else f"{len(some)} tests: {reason}"


class SuitePool:
    """Suites that one or two processes run: an idle process takes the next suite of the pool.

    Suites for which other suites wait are taken first, and then the longest suites, because one
    process would be idle if the last suite was long.
    """

    def __init__(self, suites: Sequence[Suite], history: History) -> None:
        awaited = {suite.after for suite in suites}

        def make_sort_key(suite: Suite) -> tuple[bool, float]:
            seconds = history.estimate_suite_seconds(suite.name, suite.usual)
            return suite.name not in awaited, -seconds

        self._suites = sorted(suites, key=make_sort_key)
        self._history = history
        # The state of each suite, in the memory that the two processes share.
        self._states = multiprocessing.get_context("fork").Array("b", [FREE] * len(suites))

    def take_next_suite(self, is_other_alive: Callable[[], bool]) -> Suite | None:
        """Return the next suite that may start, and mark this suite as taken; None if all suites
        are taken. If no suite may start yet, wait. A suite with `after` may start when the suite of
        that name has ended, or when the other process has died."""
        while True:
            waits = is_other_alive()
            with self._states.get_lock():
                free = [n for n, state in enumerate(self._states[:]) if state == FREE]
                first = next((n for n in free if not (waits and self._must_suite_wait(n))), None)
                if first is not None:
                    self._states[first] = TAKEN
                    return self._suites[first]
            if not free:
                return None
            time.sleep(WAIT_SECONDS)

    def _must_suite_wait(self, number: int) -> bool:
        """Return True if the suite `number` must run after a suite that has not ended."""
        after = self._suites[number].after
        return any(
            suite.name == after and state != ENDED
            for suite, state in zip(self._suites, self._states[:])
        )

    def mark_suite_as_ended(self, suite: Suite) -> None:
        """Mark a suite as ended, so that the suites that must run after it can start."""
        self._states[self._suites.index(suite)] = ENDED

    def estimate_seconds_left(self, taken: Suite, processes: int) -> float:
        """Return the expected time in seconds until all suites of the pool have ended, if the suite
        `taken` starts now, and `processes` processes run the suites."""
        seconds = {
            suite.name: self._history.estimate_suite_seconds(suite.name, suite.usual)
            for suite, state in zip(self._suites, self._states[:])
            if state != ENDED
        }
        return max(seconds[taken.name], sum(seconds.values()) / processes)


def run_all_suites(suites: Sequence[Suite], form: str = "single") -> Tally:
    """Run suites, in two processes if there is more than one CPU; return the sum of their results,
    and write it to build/check/closing. Return one failure with the reason if no suite can run,
    for example because another process runs suites, whose results are in this file.

    The times of suites are stored in a file for each `form` ("short", "full" and so on), because
    `form` affects the length of suites.
    """
    prefixes = {suite.name: f"[{n}/{len(suites)}] " for n, suite in enumerate(suites, 1)}
    calm = [suite for suite in suites if suite.calm]
    others = [suite for suite in suites if not suite.calm]
    try:
        with hold_lock(LOGS / "lock", "other tests are running in this checkout"):
            history = History(LOGS / f"times-{form}.json")
            pool = SuitePool(others, history)
            rest = sum(history.estimate_suite_seconds(suite.name, suite.usual) for suite in calm)
            if len(others) > 1 and len(os.sched_getaffinity(0)) > 1:
                run_in_child = partial(run_suites_of_pool, pool, history, prefixes)
                with run_suites_in_second_process(run_in_child) as (wait, is_alive):
                    total = run_suites_of_pool(pool, history, prefixes, is_alive, rest, 2)
                    total.add_tally(wait())
            else:
                total = run_suites_of_pool(pool, history, prefixes, lambda: True, rest, 1)
            last = SuitePool(calm, history)
            total.add_tally(run_suites_of_pool(last, history, prefixes, lambda: True, 0, 1))
            with contextlib.suppress(OSError):
                (LOGS / "closing").write_text(f"{total.format_summary()}\n", encoding="utf-8")
            return total
    except (UnableError, OSError) as error:
        print(f"check: {explain_error(error)}", file=sys.stderr)
        return Tally(failed=[explain_error(error)])


def run_suites_of_pool(
    pool: SuitePool,
    history: History,
    prefixes: Mapping[str, str],
    is_other_alive: Callable[[], bool],
    seconds_outside_pool: float = 0.0,
    processes: int = 0,
) -> Tally:
    """Run suites of a pool one after the other until all suites are taken; return the sum of the
    results of the suites that this process ran. Before each suite, print the time left: the time
    that `processes` processes need, plus `seconds_outside_pool`, the time of suites outside the
    pool. If `processes` is 0, print no time."""
    total = Tally()
    while suite := pool.take_next_suite(is_other_alive):
        left = (
            pool.estimate_seconds_left(suite, processes) + seconds_outside_pool
            if processes
            else 0.0
        )
        total.add_tally(run_suite(suite, history, prefixes[suite.name], left))
        pool.mark_suite_as_ended(suite)
    return total


@contextmanager
def run_suites_in_second_process(
    run_suites: Callable[[Callable[[], bool]], Tally],
) -> Iterator[tuple[Callable[[], Tally], Callable[[], bool]]]:
    """Call `run_suites` in a child process during the `with` block. The argument of `run_suites` is
    a function that returns True while this process is alive.

    Yield a function that waits for the suites of the child and returns the sum of their results,
    and a function that returns True while the child is alive. This process prints the output of the
    child line by line, so that each line replaces the progress line of this process on a terminal.
    """
    fork = multiprocessing.get_context("fork")
    result, sender = fork.Pipe(duplex=False)
    output, said = os.pipe()

    def run_suites_and_send_tally() -> None:
        parent = multiprocessing.parent_process()
        assert parent
        sys.stdout = os.fdopen(said, "w", buffering=1, encoding="utf-8")
        with contextlib.suppress(KeyboardInterrupt):
            sender.send(run_suites(parent.is_alive))

    # Print the output of the child to this stdout, even if a suite of this process redirects
    # sys.stdout meanwhile.
    stdout = sys.stdout

    def print_child_output(stop_event: threading.Event) -> None:
        with os.fdopen(output, encoding="utf-8") as lines:
            for line in lines:
                Line(stdout).print_permanent_line(line.rstrip("\n"))

    def wait_for_tally() -> Tally:
        try:
            tally = result.recv()
        except EOFError:
            process.join()
            return Tally(failed=[f"second test process: exit code {process.exitcode}"])
        assert isinstance(tally, Tally)
        return tally

    process = fork.Process(target=run_suites_and_send_tally)
    process.start()
    sender.close()
    os.close(said)
    with run_in_thread(print_child_output):
        try:
            yield wait_for_tally, process.is_alive
        finally:
            process.terminate()
            process.join()
