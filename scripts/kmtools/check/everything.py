# SPDX-License-Identifier: GPL-2.0-only
"""The suites that make check runs, and those that make check-full adds."""

from __future__ import annotations

import importlib.util
import multiprocessing
import shutil
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kmtools.base.errors import UnableError
from kmtools.base.paths import ROOT
from kmtools.check import (
    boots,
    counts,
    fresh,
    kernelsuite,
    lint,
    matrix,
    native,
    ownmodule,
    shell,
    target,
)
from kmtools.check.ktap import Tally
from kmtools.check.suites import Suite, scripts
from kmtools.lab import catalogue

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

# Makes an event that processes share which were forked after it.
new_event = multiprocessing.get_context("fork").Event
# Times of suites on 2 idle cores.
SCRIPTS_SECONDS, LINT_SECONDS, COUNTS_SECONDS = 74, 100, 43
WAIT_SECONDS = 1.0
PAGE_SECONDS = 45
BROWSER = Path("build/page/bin/python")
KERNEL_SECONDS = 227


def without(module: str, package: str) -> str:
    """Return a text with the remedy if a Python module is missing."""
    if importlib.util.find_spec(module):
        return ""
    return f"Python's {module} is missing: run scripts/setup or apt-get install {package}"


def no_browser() -> str:
    """Return a text with the remedy if the page cannot be looked at here."""
    lacking = [str(BROWSER)] if not (ROOT / BROWSER).exists() else []
    if not any(map(shutil.which, ("chromium", "chromium-browser"))):
        lacking.append("chromium")
    return f"missing: {' and '.join(lacking)}; run scripts/setup --page" if lacking else ""


def look_at_page(log: Path) -> Tally:
    """Look at the page in a browser, and measure what a large one costs."""
    return scripts(log, "tests/tools/browser_page.py", "tests/tools/page_cost.py")


def in_kernel(kernel: str, built: Event, log: Path) -> Tally:
    """Build for a test kernel and run all tests inside it; set `built` after the build."""
    try:
        outcome = kernelsuite.run_or_say(
            kernel, log.with_suffix(""), settings=kernelsuite.SHORT_SETTINGS, built=built.set
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


def kernel_suite(kernel: str, built: Event | None = None) -> Suite:
    """Return the suite of all tests inside one test kernel, which sets `built` after the build."""
    what = f"every module and file inside kernel {kernel}, with short storms"
    done = built or new_event()

    def obstacle() -> str:
        if found := kernelsuite.obstacle(kernel)():
            done.set()
        return found

    run = partial(in_kernel, kernel, done)
    return Suite(f"kernel-{kernel}", run, what, obstacle, KERNEL_SECONDS)


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
    # On a single CPU all run in this order, and the counts wait for the build.
    one_kernel = [kernel_suite(kernel, built), *beside([counting])]
    if not full:
        return [*beside(in_user), *one_kernel]
    others = other_kernels(kernel)
    what = "the page in a browser, on three screens, light and dark"
    page = Suite("page", look_at_page, what, no_browser, PAGE_SECONDS)
    # Two CPUs have as much to do each. Storms beside other changes of text run after all others: a
    # guest lacks the time to end what it began if another program runs beside it.
    storms = boots.suites(kernel, modules, boots.FEW_BATCHES, boots.COEXIST)
    return [
        *beside([*in_user, page, lint.suite(LINT_SECONDS), *fresh.suites(), *others[::2]]),
        *one_kernel,
        *boots.alone(kernel, modules),
        *boots.tracers(kernel, modules),
        *shell.suites(kernel),
        *target.suites(kernel, modules),
        *ownmodule.suites(kernel, modules),
        *others[1::2],
        *(replace(suite, calm=True) for suite in storms),
    ]


def beside(found: Iterable[Suite]) -> list[Suite]:
    """Return suites as those that run beside the others."""
    return [replace(suite, aside=True) for suite in found]


def other_kernels(kernel: str) -> list[Suite]:
    """Return the tests inside the other kernels that must not fail, with short storms."""
    entries = catalogue.load()
    gates = [entry.name for entry in entries if entry.role == "gates" and entry.name != kernel]
    return [kernel_suite(name) for name in gates]
