#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs all tests that a machine without special hardware can run.

In user space: the C cases on the real CPU, also under sanitizers, and pytest for the scripts. In a
test kernel: the modules' own cases and every file they have, also beside everyone else who changes
text. Under instruction counting: that two runs agree to the instruction. Each suite's output is
kept in build/check/. The last line of the output is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import checkcoexist
import checknative
import checktracers
import counts
import kernelsuite
import lint
import matrixtable
from ktap import Tally
from lablib import OBSTACLES, catalogue, explain
from suites import LOGS, Suite, command, run_main, run_suite


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


def in_kernel(kernel: str) -> Callable[[Path], Tally]:
    """The suite that runs inside a test kernel."""

    def run(log: Path) -> Tally:
        outcome = kernelsuite.run_or_say(kernel, log.with_suffix(""))
        log.write_text(matrixtable.as_text([outcome]))
        kernelsuite.tell_retries(outcome.retries)
        return outcome.tally

    return run


def report_only(suite: Suite) -> Suite:
    """A suite whose failures are shown, but do not count as ours."""

    def run(log: Path) -> Tally:
        tally = suite.run(log)
        shown = [f"{suite.name} only reports: {why}" for why in tally.failed]
        return Tally(passed=tally.passed, skipped=[*tally.skipped, *shown])

    return Suite(suite.name, run)


def exact_counts(kernel: str, modules: Path) -> Callable[[Path], Tally]:
    """Two runs under instruction counting, compared."""

    def run(log: Path) -> Tally:
        if not any(modules.glob("*.ko")):
            return Tally(failed=[f"not run: the modules for {kernel} were not built, see above"])
        return counts.compare(kernel, modules, log)

    return run


def suites(kernel: str, integration: bool) -> list[Suite]:
    """All suites for one kernel, with those that continuous integration adds."""
    modules = kernelsuite.MODULES / kernel
    found = [
        *checknative.native_suites(),
        Suite("scripts", scripts),
        Suite(f"kernel-{kernel}", in_kernel(kernel)),
        Suite(f"counts-{kernel}", exact_counts(kernel, modules)),
        Suite(f"tracers-{kernel}", checktracers.in_kernel(kernel, modules)),
        *checkcoexist.suites(kernel, modules, checkcoexist.FEW_BATCHES),
    ]
    if integration:
        found.append(Suite("lint", lint.run_all))
        others = [entry.name for entry in catalogue.with_role("gates") if entry.name != kernel]
        found += [Suite(f"kernel-{name}", in_kernel(name)) for name in others]
        newest = [entry.name for entry in catalogue.with_role("reports")]
        found += [report_only(Suite(f"kernel-{name}", in_kernel(name))) for name in newest]
    return found


def main() -> int:
    """Run every suite; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", default=catalogue.default_name(), help="name in kernels.txt")
    parser.add_argument(
        "--integration",
        action="store_true",
        help="also make lint, and the other kernels whose role is gates or reports",
    )
    args = parser.parse_args()
    if os.geteuid() != 0:
        print("check: not root: what boots a test kernel will fail; sudo make check runs it all")
    total = Tally()
    try:
        catalogue.find(args.kernel)
        for suite in suites(args.kernel, args.integration):
            total.add(run_suite(suite))
    except OBSTACLES as error:
        print(f"check: {explain(error)}", file=sys.stderr)
        total.failed.append(explain(error))
    print(total.closing_line())
    with contextlib.suppress(OSError):
        (LOGS / "closing").write_text(f"{total.closing_line()}\n")
    return 1 if total.failed else 0


if __name__ == "__main__":
    run_main(main)
