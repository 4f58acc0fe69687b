# SPDX-License-Identifier: GPL-2.0-only
"""The suites that make check runs, and those that make check-full adds."""

from __future__ import annotations

import importlib.util
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from functools import partial
from pathlib import Path

from kmtools.base import processes
from kmtools.check import (
    boots,
    counts,
    fresh,
    kernelsuite,
    lint,
    matrix,
    native,
    still,
)
from kmtools.check.ktap import Tally
from kmtools.check.suites import Suite, nothing
from kmtools.lab import catalogue

# Times of suites on 2 idle cores.
SCRIPTS_SECONDS, LINT_SECONDS, COUNTS_SECONDS = 74, 100, 43
SHORT_KERNEL_SECONDS, KERNEL_SECONDS = 227, 270


def scripts(log: Path) -> Tally:
    """Run the Python tests, and count them from pytest's own record."""
    record = log.with_suffix(".xml")
    record.unlink(missing_ok=True)
    code = processes.run([sys.executable, "-m", "pytest", "-q", f"--junitxml={record}"], log)
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
    if code and not tally.failed:
        tally.failed.append(f"pytest: exit code {code}")
    return tally


def without(module: str, package: str) -> str:
    """Return a text with the remedy if a Python module is missing."""
    if importlib.util.find_spec(module):
        return ""
    return f"Python's {module} is missing: run scripts/setup or apt-get install {package}"


def in_kernel(kernel: str, short: bool, log: Path) -> Tally:
    """Build for a test kernel and run all tests inside it."""
    settings = kernelsuite.SHORT_SETTINGS if short else {}
    outcome = kernelsuite.run_or_say(kernel, log.with_suffix(""), settings=settings)
    log.write_text(matrix.as_text([outcome]))
    kernelsuite.tell_retries(outcome.retries)
    return outcome.tally


def report_only(suite: Suite) -> Suite:
    """Return a suite whose failures are shown as skipped, and do not count."""

    def run(log: Path) -> Tally:
        why_not = suite.obstacle()
        tally = Tally(failed=[why_not]) if why_not else suite.run(log)
        shown = [f"{suite.name} only reports: {why}" for why in tally.failed]
        return Tally(passed=tally.passed, skipped=[*tally.skipped, *shown])

    return replace(suite, run=run, obstacle=nothing)


def exact_counts(kernel: str, modules: Path, log: Path) -> Tally:
    """Compare two runs that count instructions."""
    if not any(modules.glob("*.ko")):
        return Tally(failed=[f"not run: the modules for {kernel} were not built, see above"])
    return counts.compare(kernel, modules, log)


def kernel_suite(kernel: str, short: bool = True) -> Suite:
    """Return the suite of all tests inside one test kernel."""
    storms = "short storms" if short else "long storms"
    what = f"every module and file inside kernel {kernel}, with {storms}"
    usual = SHORT_KERNEL_SECONDS if short else KERNEL_SECONDS
    obstacle = kernelsuite.obstacle(kernel)
    return Suite(f"kernel-{kernel}", partial(in_kernel, kernel, short), what, obstacle, usual)


def suites(kernel: str, full: bool) -> list[Suite]:
    """Return all suites for one kernel; with `full` also those that take long."""
    modules = kernelsuite.MODULES / kernel
    pytest = partial(without, "pytest", "python3-pytest")
    what = "the scripts' own tests"
    in_user = [*native.suites(full), Suite("scripts", scripts, what, pytest, SCRIPTS_SECONDS)]
    found = [
        # These suites need no modules, so they run beside the others. They do not run beside long
        # storms, because a guest then lacks the time to end what it began.
        *(replace(suite, aside=not full) for suite in in_user),
        kernel_suite(kernel, short=not full),
        Suite(
            f"counts-{kernel}",
            partial(exact_counts, kernel, modules),
            "two runs that count instructions agree",
            kernelsuite.obstacle(kernel),
            COUNTS_SECONDS,
        ),
    ]
    if full:
        found += full_suites(kernel, modules)
    return found


def full_suites(kernel: str, modules: Path) -> list[Suite]:
    """Return the suites that take long."""
    entries = catalogue.load()
    gates = [entry.name for entry in entries if entry.role == "gates" and entry.name != kernel]
    newest = [entry.name for entry in entries if entry.role == "reports"]
    return [
        *still.suites(kernel, modules),
        *boots.alone(kernel, modules),
        *boots.tracers(kernel, modules),
        *boots.suites(kernel, modules, boots.FEW_BATCHES, boots.COEXIST),
        *(kernel_suite(name) for name in gates),
        lint.suite(LINT_SECONDS),
        *(report_only(kernel_suite(name)) for name in newest),
        *fresh.suites(),
    ]
