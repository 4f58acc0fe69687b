# SPDX-License-Identifier: GPL-2.0-only
"""Measures the times of test suites, estimates how long they will take, and prints their
progress."""

from __future__ import annotations

import contextlib
import fcntl
import json
import multiprocessing
import re
import resource
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kmtools.base.files import write_file_atomically
from kmtools.base.progress import print_text_repeatedly

# Patterns of KTAP lines: a result, and the name of a test case or of a suite.
RESULT = re.compile(r"^(?:not )?ok \d+", re.M)
CASE = re.compile(r"^(?:not )?ok \d+ (?:- )?([^#\n]+)|^# suite: (.+)$", re.M)
# The percentage that pytest prints at the end of a line of dots.
SHARE = re.compile(r"\[ *(\d+)%\]")
# Seconds between two lines of progress, on a terminal and in a log.
TERMINAL_SECONDS, LOG_SECONDS = 2.0, 60.0


class Clock:
    """Measures the time since its creation, and the CPU time of this process and its ended
    children."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._cpu = self._read_cpu_seconds()

    @staticmethod
    def _read_cpu_seconds() -> float:
        usages = [
            resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        ]
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    def get_elapsed_seconds(self) -> float:
        """Return the seconds since this clock was created."""
        return time.monotonic() - self._began

    def format_elapsed_and_cpu_time(self) -> str:
        """Return the elapsed time and the CPU time since this clock was created, as text."""
        return (
            f"{self.get_elapsed_seconds():.0f} s (CPU {self._read_cpu_seconds() - self._cpu:.0f} s)"
        )


class History:
    """The times and the numbers of results of suites in their last passing runs, stored in a JSON
    file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, list[float]] = {}
        # Two sums of times, over the suites that passed in this run: the measured times, and the
        # stored times of earlier passing runs (usual times, where none are stored). The array is in
        # shared memory, so that a process that is forked later adds to the same sums.
        self._sums = multiprocessing.get_context("fork").Array("d", 2)
        self._read_stored_times()

    def _read_stored_times(self) -> None:
        """Read the times of suites from the file, in which another process may have stored further
        times."""
        with contextlib.suppress(OSError, ValueError):
            known = json.loads(self._path.read_text(encoding="utf-8"))
            self._known |= known if isinstance(known, dict) else {}

    def get_seconds_of_last_run(self, name: str) -> float:
        """Return the seconds that a suite took in its last passing run; 0 if no passing run is
        stored."""
        return self._get_stored_number(name, 0)

    def get_result_count_of_last_run(self, name: str) -> int:
        """Return the number of results of a suite in its last passing run; 0 if no passing run is
        stored."""
        return int(self._get_stored_number(name, 1))

    def _get_stored_number(self, name: str, index: int) -> float:
        """Return the time (index 0) or the number of results (index 1) of a suite in its last
        passing run; 0 if no passing run is stored."""
        entry = self._known.get(name)
        with contextlib.suppress(TypeError, IndexError, ValueError):
            return float(entry[index]) if entry else 0.0
        return 0.0

    def estimate_suite_seconds(self, name: str, usual: float = 0.0) -> float:
        """Return the expected time of a suite in seconds: the time of its last passing run, or
        `usual` (the time on 2 idle cores) if no passing run is stored. The ratio of measured to
        expected times of the suites that passed in this run corrects the expected time."""
        took, foreseen = self._sums[0], self._sums[1]
        return (self.get_seconds_of_last_run(name) or usual) * (
            took / foreseen if foreseen else 1.0
        )

    def format_expected_time(self, name: str, usual: float = 0.0) -> str:
        """Return the expected time of a suite as text."""
        expected = f"about {self.estimate_suite_seconds(name, usual):.0f} s"
        if seconds := self.get_seconds_of_last_run(name):
            return f"{expected}, {seconds:.0f} s the last time"
        return expected if usual else "no earlier time is stored"

    def add_suite_run(self, name: str, seconds: float, count: int, usual: float = 0.0) -> None:
        """Store the time and the number of results of a suite that has passed. The ratio of
        `seconds` to the stored time corrects later estimates in this run; without a stored time,
        the ratio to `usual`, the time on 2 idle cores."""
        if foreseen := self.get_seconds_of_last_run(name) or usual:
            with self._sums.get_lock():
                self._sums[0] += seconds
                self._sums[1] += foreseen
        entry = self._known[name] = [max(0.1, round(seconds, 1)), count]
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.with_suffix(".lock").open("w", encoding="utf-8") as lock:
                # The two processes that run suites may write to this file at the same time.
                fcntl.flock(lock, fcntl.LOCK_EX)
                self._read_stored_times()
                self._known[name] = entry
                write_file_atomically(self._path, json.dumps(self._known, indent=1) + "\n")


def remove_suite_logs(log: Path) -> None:
    """Remove the logs of an earlier run of a suite: the file `log`, and the directory with the same
    name without a suffix."""
    log.unlink(missing_ok=True)
    shutil.rmtree(log.with_suffix(""), ignore_errors=True)


def describe_suite_progress(log: Path, total: int) -> str:
    """Return the progress of a suite as text, read from its log: the number of results so far, the
    expected number `total`, and the name of the last result; or the percentage that pytest
    prints."""
    text = ""
    for file in (log, *sorted(log.with_suffix("").glob("**/status.log"))):
        with contextlib.suppress(OSError):
            text += file.read_text(encoding="utf-8", errors="replace")
    if shares := SHARE.findall(text):
        return f"{shares[-1]} %"
    done = len(RESULT.findall(text))
    last = [case or f"suite {suite}" for case, suite in CASE.findall(text)][-1:]
    of = f" of {max(total, done)}" if total else ""
    return ", ".join([f"{done}{of} results", *(f"after {name.strip()}" for name in last)])


def format_suite_progress(name: str, log: Path, seconds: float, expected: float, count: int) -> str:
    """Return a line with the progress of the suite `name` after `seconds`, and the time left.
    `expected` and `count` are the expected time in seconds and the expected number of results."""
    rest = expected - seconds
    left = f", about {rest:.0f} s left" if rest > 0 else ""
    return f"  {name}: {describe_suite_progress(log, count)}; {seconds:.0f} s{left}"


@contextmanager
def print_suite_progress(name: str, log: Path, expected: float, count: int) -> Iterator[None]:
    """Print the progress of a suite during the `with` block; `expected` is its expected time in
    seconds, `count` its expected number of results."""
    clock = Clock()

    def make_progress_text() -> str:
        return format_suite_progress(name, log, clock.get_elapsed_seconds(), expected, count)

    with print_text_repeatedly(make_progress_text, TERMINAL_SECONDS, LOG_SECONDS):
        yield
