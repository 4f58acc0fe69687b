# SPDX-License-Identifier: GPL-2.0-only
"""Measures the time and memory of `kmarkers fleet` for the runs of thousands of machines."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kmtools.base.errors import FailedError
from kmtools.base.paths import ROOT
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, make_one_result_tally

# The limits for a comparison: time in seconds, and peak memory in megabytes.
SECONDS, MEGABYTES = 60.0, 2000.0
# The maximum share of all CPU time that other programs may use. Above this share, the CPU time of
# the comparison is compared with the limit SECONDS, instead of the elapsed time.
OTHERS = 0.1
RUNS = ROOT / "build" / "fleet" / "runs"
STAT = Path("/proc/stat")
MAKER = ROOT / "tests" / "tools" / "manyruns.py"


@dataclass(frozen=True)
class ComparisonCost:
    """The cost of a comparison: elapsed seconds, CPU seconds, the share of all CPUs that other
    programs used meanwhile, and the peak memory in megabytes."""

    seconds: float
    busy: float
    others: float
    megabytes: float

    @property
    def seconds_compared_with_limit(self) -> float:
        """The seconds that are compared with the limit: elapsed time, or CPU time if other programs
        use the machine and lengthen the elapsed time."""
        return self.busy if self.others > OTHERS else self.seconds

    @property
    def is_within_limits(self) -> bool:
        """True if time and memory are within the limits."""
        return self.seconds_compared_with_limit <= SECONDS and self.megabytes <= MEGABYTES

    def format_cost(self) -> str:
        """Return a text with the times, the share of the CPUs that other programs used, the peak
        memory and the limits. The text says which of the two times is compared with SECONDS."""
        compared = "CPU time" if self.others > OTHERS else "elapsed time"
        return (
            f"{self.seconds:.1f} s, {self.busy:.1f} s of CPU time; other programs used"
            f" {100 * self.others:.0f} % of the CPUs\n"
            f"compared with the limit: {compared} {self.seconds_compared_with_limit:.1f} s"
            f" (at most {SECONDS:g})\n"
            f"peak memory: {self.megabytes:.0f} MB (at most {MEGABYTES:g})"
        )


def parse_busy_and_total_seconds(stat: str) -> tuple[float, float]:
    """Return the busy seconds and the total seconds of all processors, from the first line of
    /proc/stat."""
    fields = [int(word) for word in stat.splitlines()[0].split()[1:9]]
    ticks = os.sysconf("SC_CLK_TCK")
    return (sum(fields) - fields[3] - fields[4]) / ticks, sum(fields) / ticks


def measure_cost_of_comparison(run_count: int) -> tuple[ComparisonCost, str]:
    """Run `kmarkers fleet` on the `run_count` runs in RUNS, in a child process; return the cost and
    the output of this process."""
    words = [sys.executable, str(ROOT / "scripts" / "kmarkers"), "fleet", str(RUNS), "--by", "cpu"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start, at_start = (
        time.monotonic(),
        parse_busy_and_total_seconds(STAT.read_text(encoding="utf-8")),
    )
    done = subprocess.run(
        words, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    at_end = parse_busy_and_total_seconds(STAT.read_text(encoding="utf-8"))
    if done.returncode:
        raise FailedError(f"comparing {run_count} runs failed: {done.stderr or done.stdout}")
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    worked, passed = (b - a for a, b in zip(at_start, at_end, strict=True))
    others = max(0.0, worked - busy) / passed if passed else 0.0
    return ComparisonCost(seconds, busy, others, after.ru_maxrss / 1000), done.stdout


def judge_fleet_comparison(run_count: int) -> bool:
    """Generate `run_count` runs, compare them, and print the cost of the comparison; return True if
    the cost is within the limits. The limits do not depend on the number of runs."""
    shutil.rmtree(RUNS, ignore_errors=True)
    path = os.pathsep.join([str(ROOT / "scripts"), os.environ.get("PYTHONPATH", "")])
    try:
        subprocess.run(
            [sys.executable, MAKER, RUNS, str(run_count)],
            env={**os.environ, "PYTHONPATH": path},
            check=True,
        )
        cost, said = measure_cost_of_comparison(run_count)
    finally:
        shutil.rmtree(RUNS, ignore_errors=True)
    print(said)
    print(f"{run_count} runs: {cost.format_cost()}")
    return cost.is_within_limits


def make_requested_fleet_suites(suite_request: SuiteRequest, _: Sequence[str]) -> list[Suite]:
    """Return a list of one suite, which compares as many runs as the option `runs` says."""
    count = suite_request.get_option_number("runs", 10000)

    def measure_and_judge_fleet(_: Path) -> Tally:
        return make_one_result_tally(
            judge_fleet_comparison(count), "comparing the runs takes too much time or memory"
        )

    return [
        Suite(
            "fleet",
            measure_and_judge_fleet,
            f"time and memory of comparing {count} runs",
            usual=60,
            loud=True,
        )
    ]
