# SPDX-License-Identifier: GPL-2.0-only
"""Measures the CPU time and memory of a report of a million samples, for the suite `page`.

Other suites run in parallel and may slow down every program. So the limit is a multiple of the CPU
time in which csv.reader reads the same file, which is about a second on an idle CPU. The report and
csv.reader run up to three times; the lowest ratio counts.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
from pathlib import Path

from kmtools.base.paths import ROOT
from kmtools.measure import hostenv
from kmtools.measure.samples import SAMPLE_COLUMNS, SCHEMA

TIMES, MEGABYTES, TRIES = 12.0, 1000.0, 3
PROCESSES, BLOCKS, BENCHMARKS, VARIANTS, LOOPS = 16, 125, 50, 5, (1000, 5000)
# A program for comparison, which only reads the samples with csv.reader.
READ = """
import csv, sys
rows = []
with open(sys.argv[1], newline="") as file:
    next(file), next(file)
    for row in csv.reader(file):
        rows.append((row[0], row[3], *map(int, row[6:10])))
"""
SAMPLES = PROCESSES * BLOCKS * BENCHMARKS * VARIANTS * len(LOOPS)


def write_run_of_a_million_samples(path: Path) -> Path:
    """Write a run of a million samples."""
    rng = random.Random(1)
    path.mkdir()
    names = ["none", "none-clone", *(f"variant-{n}" for n in range(VARIANTS - 2))]
    with (path / "samples.csv").open("w") as file:
        file.write(f"# schema={SCHEMA}\n{','.join(SAMPLE_COLUMNS)}\n")
        for number in range(BENCHMARKS * PROCESSES * BLOCKS):
            block, process = number % (PROCESSES * BLOCKS), number // BLOCKS % PROCESSES + 1
            windows = [(name, loops) for name in names for loops in LOOPS]
            for place, (name, loops) in enumerate(windows):
                ticks = round(90 + loops * (2 + rng.gauss(0, 0.02)))
                where = f"native,6.12,{process},b-{number // (PROCESSES * BLOCKS)},{name},loop"
                numbers = f"{block % 4},{block},{place},1,{loops},,{ticks},TSC cycles,{ticks}"
                file.write(f"{where},{numbers},\n")
    tier = {
        "tier": "native", "kernel": "6.12", "unit": "TSC cycles", "emulated": False, "seed": "1",
        "processes": PROCESSES, "windows": SAMPLES, "windows_flagged": 0,
        "cycle_fields_dropped": 0, "env": {"tsc_khz": "2600000", "cycles": "counted"}, "vm": None,
    }  # fmt: skip
    (path / "env.json").write_text(json.dumps({**hostenv.describe_host(), "tiers": [tier]}))
    return path


def measure_python_cpu_seconds(*arguments: object) -> float:
    """Run Python with these arguments; return the CPU time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_report_time_ratio(run: Path) -> float:
    """Make the report of a run without estimates.json; return the CPU time as a multiple of the CPU
    time in which csv.reader reads the samples."""
    (run / "estimates.json").unlink(missing_ok=True)
    own = measure_python_cpu_seconds(ROOT / "scripts" / "kmarkers", "report", run)
    read = measure_python_cpu_seconds("-c", READ, run / "samples.csv")
    print(f"{SAMPLES} samples: report {own:.1f} s, csv.reader {read:.2f} s of CPU time")
    return own / read


def test_report_of_a_million_samples_is_within_time_and_memory_limits(tmp_path: Path) -> None:
    assert SAMPLES == 1_000_000
    run, took = write_run_of_a_million_samples(tmp_path / "run"), [float("inf")]
    while len(took) <= TRIES and min(took) > TIMES:
        took.append(measure_report_time_ratio(run))
    # ru_maxrss is the peak memory of the largest child process.
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    print(f"report: {min(took):.1f} times the CPU time of csv.reader, {megabytes:.0f} MB at peak")
    assert min(took) <= TIMES
    assert megabytes <= MEGABYTES
