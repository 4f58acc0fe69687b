#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs all tests that a machine without special hardware can run.

In user space: the C cases on the real CPU, and pytest for the scripts. In a test kernel: the
modules' own cases and every file they have. Under instruction counting: that two runs agree to
the instruction. Each suite's output is kept in build/check/. The last line of the output is
`N passed, N failed`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import counts
import ktap
from ktap import Tally
from lablib import ROOT, LabError, catalogue
from lablib.build import build_modules
from lablib.machine import Request, boot, report

LOGS = ROOT / "build" / "check"
BATCHES = 20_000


@dataclass(frozen=True)
class Suite:
    """A named part of the run; `run` returns its results and writes its own log."""

    name: str
    run: Callable[[Path], Tally]


def command(words: list[str], log: Path) -> int:
    """Run a command with its output in a log; returns its exit code."""
    with log.open("w") as file:
        return subprocess.run(words, cwd=ROOT, stdout=file, stderr=file, check=False).returncode


def native(log: Path) -> Tally:
    """The C cases in user space."""
    if command(["make", "-s", "-C", "native"], log):
        return Tally(failed=[f"building for user space: see {log}"])
    code = command([str(ROOT / "build" / "native" / "test"), str(BATCHES)], log)
    tally = ktap.parse(log.read_text().splitlines())
    if code and not tally.failed:
        tally.failed.append(f"exit code {code}")
    return tally


def scripts(log: Path) -> Tally:
    """The Python tests, counted from pytest's own record."""
    record = log.with_suffix(".xml")
    record.unlink(missing_ok=True)
    command([sys.executable, "-m", "pytest", "-q", f"--junitxml={record}"], log)
    tally = Tally()
    if not record.is_file():
        tally.failed.append("pytest did not run")
        return tally
    for case in ElementTree.parse(record).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            tally.failed.append(name)
        elif (skip := case.find("skipped")) is not None:
            tally.skipped.append(f"{name}: {skip.get('message')}")
        else:
            tally.passed += 1
    return tally


def in_kernel(kernel: str, modules: Path) -> Callable[[Path], Tally]:
    """The suite that runs inside a test kernel."""

    def run(log: Path) -> Tally:
        if build_modules(kernel, ROOT, modules, ["-s", "KMARKERS_TESTS=m"]):
            return Tally(failed=[f"building the modules for {kernel}"])
        request = Request(
            kernel=kernel,
            job=ROOT / "tests" / "vm" / "check.sh",
            out=log.with_suffix(""),
            modules=modules,
            additions=[(ROOT / "tests" / "vm", "/tests")],
            timeout=300.0,
        )
        result = boot(request)
        log.write_text(result.status)
        tally = ktap.parse(result.status.splitlines())
        if not result.ok:
            report(result)
            tally.failed.append(result.reason)
        return tally

    return run


def exact_counts(kernel: str, modules: Path) -> Callable[[Path], Tally]:
    """Two runs under instruction counting, compared."""

    def run(log: Path) -> Tally:
        return counts.compare(kernel, modules, log)

    return run


def run_suite(suite: Suite) -> Tally:
    """Run one suite and say how it went."""
    started = time.monotonic()
    print(f"{suite.name} ...", flush=True)
    log = LOGS / f"{suite.name}.log"
    tally = suite.run(log)
    seconds = time.monotonic() - started
    print(f"{suite.name}: {tally.closing_line()} in {seconds:.0f} s", flush=True)
    for name in tally.failed:
        print(f"  FAILED {name}")
    for name in tally.skipped:
        print(f"  SKIP {name}")
    if tally.failed:
        print(f"  see {log}")
    return tally


def main() -> int:
    """Run every suite; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", default=catalogue.default_name(), help="name in kernels.txt")
    args = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    modules = ROOT / "build" / "modules" / args.kernel
    suites = [
        Suite("native", native),
        Suite("scripts", scripts),
        Suite(f"kernel-{args.kernel}", in_kernel(args.kernel, modules)),
        Suite(f"counts-{args.kernel}", exact_counts(args.kernel, modules)),
    ]
    total = Tally()
    try:
        catalogue.find(args.kernel)
        for suite in suites:
            total.add(run_suite(suite))
    except LabError as error:
        print(f"check: {error}", file=sys.stderr)
        total.failed.append(str(error))
    print(total.closing_line())
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
