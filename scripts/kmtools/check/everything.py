# SPDX-License-Identifier: GPL-2.0-only
"""The suites that make check runs, and those that make check-full adds."""

from __future__ import annotations

import importlib.util
import multiprocessing
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kmtools.base import processes
from kmtools.base.errors import UnableError
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
from kmtools.check.suites import Suite
from kmtools.lab import catalogue

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

# Makes an event that processes share which were forked after it.
new_event = multiprocessing.get_context("fork").Event
# Times of suites on 2 idle cores.
SCRIPTS_SECONDS, LINT_SECONDS, COUNTS_SECONDS = 74, 100, 43
WAIT_SECONDS = 1.0
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


def in_kernel(kernel: str, short: bool, built: Event, log: Path) -> Tally:
    """Build for a test kernel and run all tests inside it; set `built` after the build."""
    settings = kernelsuite.SHORT_SETTINGS if short else {}
    try:
        outcome = kernelsuite.run_or_say(
            kernel, log.with_suffix(""), settings=settings, built=built.set
        )
    finally:
        built.set()
    log.write_text(matrix.as_text([outcome]))
    kernelsuite.tell_retries(outcome.retries)
    return outcome.tally


def exact_counts(kernel: str, modules: Path, built: Event, log: Path) -> Tally:
    """Compare two runs that count instructions, when the modules are built."""
    parent = multiprocessing.parent_process()
    while not built.wait(WAIT_SECONDS):
        if parent and not parent.is_alive():
            raise UnableError("the run of which this is a part was killed")
    if not any(modules.glob("*.ko")):
        return Tally(failed=[f"not run: the modules for {kernel} were not built, see above"])
    return counts.compare(kernel, modules, log)


def kernel_suite(kernel: str, short: bool = True, built: Event | None = None) -> Suite:
    """Return the suite of all tests inside one test kernel, which sets `built` after the build."""
    storms = "short storms" if short else "long storms"
    what = f"every module and file inside kernel {kernel}, with {storms}"
    usual = SHORT_KERNEL_SECONDS if short else KERNEL_SECONDS
    done = built or new_event()

    def obstacle() -> str:
        if found := kernelsuite.obstacle(kernel)():
            done.set()
        return found

    run = partial(in_kernel, kernel, short, done)
    return Suite(f"kernel-{kernel}", run, what, obstacle, usual)


def suites(kernel: str, full: bool) -> list[Suite]:
    """Return all suites for one kernel; with `full` also those that take long."""
    modules = kernelsuite.MODULES / kernel
    built = new_event()
    pytest = partial(without, "pytest", "python3-pytest")
    what = "the scripts' own tests"
    in_user = [*native.suites(full), Suite("scripts", scripts, what, pytest, SCRIPTS_SECONDS)]
    counting = Suite(
        f"counts-{kernel}",
        partial(exact_counts, kernel, modules, built),
        "two runs that count instructions agree",
        kernelsuite.obstacle(kernel),
        COUNTS_SECONDS,
    )
    tests = kernel_suite(kernel, short=not full, built=built)
    # The tests of the kernel take half of the time. Beside them the others run, but not beside long
    # storms: a guest then lacks the time to end what it began.
    beside = [replace(suite, aside=True) for suite in in_user]
    if not full:
        return [*beside, tests, replace(counting, aside=True)]
    lines = replace(lint.suite(LINT_SECONDS), aside=True)
    long = [tests, counting, *long_suites(kernel, modules)]
    return [*beside, lines, *other_kernels(kernel), *(replace(suite, calm=True) for suite in long)]


def other_kernels(kernel: str) -> list[Suite]:
    """Return the tests inside the other kernels that must not fail, with short storms."""
    entries = catalogue.load()
    gates = [entry.name for entry in entries if entry.role == "gates" and entry.name != kernel]
    return [kernel_suite(name) for name in gates]


def long_suites(kernel: str, modules: Path) -> list[Suite]:
    """Return the suites with further boots of one kernel, and with a bare system."""
    return [
        *still.suites(kernel, modules),
        *boots.alone(kernel, modules),
        *boots.tracers(kernel, modules),
        *boots.suites(kernel, modules, boots.FEW_BATCHES, boots.COEXIST),
        *fresh.suites(),
    ]
