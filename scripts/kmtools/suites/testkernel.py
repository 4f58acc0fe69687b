# SPDX-License-Identifier: GPL-2.0-only
"""Runs the suites inside the test kernel, all or some by name, in two guests in parallel; and
builds the modules, for which every suite in a test kernel waits."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kmtools.base.errors import UnableError
from kmtools.lab import catalogue
from kmtools.runner import registry
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite
from kmtools.suites.kernelsuite import Outcome

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

BUILD_SECONDS, BOOT_SECONDS, ALARM_SECONDS = 60.0, 8.0, 10.0
WAIT_SECONDS = 1.0
# Pairs of suites that run in the same guest, because one leaves a module loaded for the other.
TOGETHER = {"modules": "cases", "cases": "modules"}


def kernel_of(ask: Ask) -> str:
    """Return the kernel that was named, or the default one."""
    return catalogue.find(ask.named).name if ask.named else catalogue.default_name()


def build(kernel: str, built: Event, log: Path) -> Tally:
    """Build the modules, tests and programs for a kernel, and wake the suites that wait for the
    build."""
    try:
        return kernelsuite.build(kernel, kernelsuite.MODULES / kernel, log)
    finally:
        built.set()


def wait_for(built: Event) -> None:
    """Wait until a build has ended, whether it succeeded or failed."""
    parent = multiprocessing.parent_process()
    while not built.wait(WAIT_SECONDS):
        if parent and not parent.is_alive():
            raise UnableError("the run of which this is a part was killed")


def run_built(suite: Suite, log: Path) -> Tally:
    """Run a suite if the modules that it needs were built."""
    if not any((kernelsuite.MODULES / suite.modules).glob("*.ko")):
        return Tally(failed=[f"not run: no modules for {suite.modules}, see the build above"])
    return suite.run(log)


def with_builds(suites: Iterable[Suite]) -> list[Suite]:
    """Put the build for each kernel before the suites that need its modules, which wait for it."""
    builds: dict[str, Suite] = {}
    ready, found = {}, []
    for suite in suites:
        kernel = suite.modules
        if not kernel:
            found.append(suite)
            continue
        if kernel not in builds:
            built = multiprocessing.get_context("fork").Event()
            ready[kernel] = partial(wait_for, built)
            obstacle = partial(obstacle_of_build, kernel, built)
            what = f"modules, tests and programs for kernel {kernel}"
            run = partial(build, kernel, built)
            usual = BUILD_SECONDS
            builds[kernel] = Suite(f"build-{kernel}", run, what, obstacle, usual, builds=True)
        found.append(replace(suite, run=partial(run_built, suite), ready=ready[kernel]))
    return [*builds.values(), *found]


def obstacle_of_build(kernel: str, built: Event) -> str:
    """Return why a kernel cannot be used here, and end the wait for its modules; empty if it can be
    used."""
    if why := kernelsuite.obstacle(kernel)():
        built.set()
    return why


def settings_of(ask: Ask) -> kernelsuite.Settings:
    """Return the sizes of storms and samples: suites that are called by name get the long ones."""
    if ask.form == "named":
        return {}
    return kernelsuite.FEW_SETTINGS if ask.form == "short" else kernelsuite.SHORT_SETTINGS


def boot(kernel: str, settings: kernelsuite.Settings, log: Path) -> Tally:
    """Boot a kernel, run the suites that the settings name, and judge its log."""
    outcome = Outcome(kernel)
    out = log.with_suffix("")
    modules = kernelsuite.MODULES / kernel
    entry = catalogue.find(kernel)
    result = kernelsuite.boot_and_run(entry, modules, out, outcome, "check.sh", settings)
    kernelsuite.judge(result, outcome, settings)
    log.write_text(result.status)
    kernelsuite.tell_retries(outcome.retries)
    return outcome.tally


def alarm(kernel: str, log: Path) -> Tally:
    """Make a kernel warn on purpose."""
    modules, outcome = kernelsuite.MODULES / kernel, Outcome(kernel)
    return kernelsuite.alarm(catalogue.find(kernel), modules, log.with_suffix(""), outcome)


def shares(names: Sequence[str]) -> list[list[str]]:
    """Return the suites of each guest: of one guest, or of two if there are enough suites."""
    wanted = {*names, *(TOGETHER[name] for name in names if name in TOGETHER)}
    lists = [[name for name in some if name in wanted] for some in registry.guest_lists()]
    enough = all(map(usual_seconds, lists))
    return lists if enough else [[name for some in lists for name in some]]


def usual_seconds(names: Iterable[str]) -> float:
    """Return how long suites usually take, without the boot."""
    return sum(registry.suite_seconds(name) for name in names)


def suites_of(ask: Ask, names: Sequence[str]) -> list[Suite]:
    """Return the boots for suites of the job check.sh, and the alarm."""
    kernel = kernel_of(ask)
    why = kernelsuite.obstacle(kernel)
    found = []
    lists = shares([name for name in names if name != "alarm"])
    for number, some in enumerate(lists, 1):
        if not some:
            continue
        settings = {**settings_of(ask), "KMARKERS_SUITES": " ".join(some)}
        name = f"kernel-{kernel}" + (f"-{number}" if len(lists) > 1 else "")
        what = f"inside kernel {kernel}: {', '.join(some[:3])}{' ...' if some[3:] else ''}"
        run = partial(boot, kernel, settings)
        usual = BOOT_SECONDS + usual_seconds(some)
        found.append(Suite(name, run, what, why, usual, modules=kernel))
    if "alarm" in names:
        what = "a warning of the kernel fails the test during which it appears"
        run = partial(alarm, kernel)
        found.append(Suite(f"alarm-{kernel}", run, what, why, ALARM_SECONDS, modules=kernel))
    return found


def of_kernel(
    ask: Ask, names: Sequence[str], suites: Callable[[str, Path], Sequence[Suite]]
) -> list[Suite]:
    """Return those suites of a kernel, named NAME-KERNEL, whose names are chosen."""
    kernel = kernel_of(ask)
    found = suites(kernel, kernelsuite.MODULES / kernel)
    chosen = [suite for suite in found if suite.name.removesuffix(f"-{kernel}") in names]
    return [replace(suite, modules=kernel) for suite in chosen]
