#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs all tests that a machine without special hardware can run.

In user space: the C cases on the real CPU, also under sanitizers, and pytest for the scripts. In a
test kernel: the modules' own cases and every file they have. Under instruction counting: that two
runs agree to the instruction. Each suite's output is kept in build/check/. The last line of the
output is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import checknative
import counts
import ktap
from ktap import Tally
from lablib import ROOT, LabError, catalogue
from lablib.build import build_modules
from lablib.machine import Request, boot, report
from suites import Suite, command, run_suite


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


def main() -> int:
    """Run every suite; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", default=catalogue.default_name(), help="name in kernels.txt")
    args = parser.parse_args()
    modules = ROOT / "build" / "modules" / args.kernel
    suites = [
        *checknative.native_suites(),
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
