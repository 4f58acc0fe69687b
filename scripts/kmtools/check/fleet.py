# SPDX-License-Identifier: GPL-2.0-only
"""Measures what comparing the runs of very many machines costs: seconds and memory."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time

from kmtools.base.errors import FailedError
from kmtools.base.paths import ROOT

SECONDS, MEGABYTES = 60.0, 2000.0
RUNS = ROOT / "build" / "fleet" / "runs"
MAKER = ROOT / "tests" / "tools" / "manyruns.py"


def measure(count: int) -> tuple[float, float, float, str]:
    """Compare the runs in a process; returns its seconds, those of processors, its peak of memory
    in megabytes, and what it printed."""
    words = [sys.executable, str(ROOT / "scripts" / "kmarkers"), "fleet", str(RUNS), "--by", "cpu"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise FailedError(f"comparing {count} runs failed: {done.stderr or done.stdout}")
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, busy, after.ru_maxrss / 1000, done.stdout


def judge(count: int) -> bool:
    """Make runs, compare them, and print the cost; returns whether it is within the limits. On
    fewer runs the limits are the same."""
    shutil.rmtree(RUNS, ignore_errors=True)
    path = os.pathsep.join([str(ROOT / "scripts"), os.environ.get("PYTHONPATH", "")])
    try:
        subprocess.run(
            [sys.executable, MAKER, RUNS, str(count)],
            env={**os.environ, "PYTHONPATH": path},
            check=True,
        )
        seconds, busy, megabytes, said = measure(count)
    finally:
        shutil.rmtree(RUNS, ignore_errors=True)
    print(said)
    print(f"{count} runs: {seconds:.1f} s (at most {SECONDS:g}), {busy:.1f} s of processors,")
    print(f"{megabytes:.0f} MB at the peak (at most {MEGABYTES:g})")
    return seconds <= SECONDS and megabytes <= MEGABYTES
