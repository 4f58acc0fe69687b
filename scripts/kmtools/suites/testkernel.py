# SPDX-License-Identifier: GPL-2.0-only
"""Builds the modules for the test kernel, then runs suites of tests/vm/suites in this kernel,
divided between two guests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from kmtools.lab import catalogue
from kmtools.runner import registry
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite
from kmtools.suites.kernelsuite import Outcome

# The usual times in seconds of the build, of a boot without suites, and of the suite `alarm`.
BUILD_SECONDS, BOOT_SECONDS, ALARM_SECONDS = 105.0, 8.0, 10.0
# Pairs of suites that must run in the same guest, because one suite of a pair keeps a module
# loaded, which the other suite needs.
TOGETHER = {"modules": "cases", "cases": "modules"}


def choose_kernel(suite_request: SuiteRequest) -> str:
    """Return the name of the requested kernel, or of the default kernel."""
    return (
        catalogue.find_kernel_entry(suite_request.kernel).name
        if suite_request.kernel
        else catalogue.get_default_kernel_name()
    )


def run_suite_if_modules_exist(suite: Suite, log: Path) -> Tally:
    """Run a suite, or return a failure if the modules that the suite needs do not exist."""
    if not any((kernelsuite.MODULES / suite.modules).glob("*.ko")):
        return Tally(
            failed=[
                f"not run: kernel {suite.modules} has no modules, see the failure of"
                f" build-{suite.modules}"
            ]
        )
    return suite.run(log)


def insert_build_suites(suites: Iterable[Suite]) -> list[Suite]:
    """Return `suites`, preceded by suites that build the modules: one for each kernel whose modules
    are needed. The suites that need modules start after the build for their kernel."""
    builds: dict[str, Suite] = {}
    found = []
    for suite in suites:
        kernel = suite.modules
        if not kernel:
            found.append(suite)
            continue
        name = f"build-{kernel}"
        if kernel not in builds:
            run = partial(build_kernel_modules, kernel)
            why = kernelsuite.make_boot_obstacle_finder(kernel)
            what = f"modules, tests and programs for kernel {kernel}"
            builds[kernel] = Suite(name, run, what, why, BUILD_SECONDS)
        found.append(replace(suite, run=partial(run_suite_if_modules_exist, suite), after=name))
    return [*builds.values(), *found]


def build_kernel_modules(kernel: str, log: Path) -> Tally:
    """Build the modules, tests and programs for a kernel."""
    return kernelsuite.build_modules_and_kmlive(kernel, kernelsuite.MODULES / kernel, log)


def choose_stress_settings(suite_request: SuiteRequest) -> kernelsuite.Settings:
    """Return the settings that shorten stress tests and reduce the number of samples. If the user
    named the suites, return no settings, so that the long stress tests run."""
    if suite_request.form == "named":
        return {}
    return kernelsuite.FEW_SETTINGS if suite_request.form == "short" else kernelsuite.SHORT_SETTINGS


def boot_and_run_suites(kernel: str, settings: kernelsuite.Settings, log: Path) -> Tally:
    """Boot a kernel, run the suites that the settings name, and return their results."""
    outcome = Outcome(kernel)
    out = log.with_suffix("")
    modules = kernelsuite.MODULES / kernel
    entry = catalogue.find_kernel_entry(kernel)
    result = kernelsuite.boot_and_run_job(entry, modules, out, outcome, "check.sh", settings)
    kernelsuite.add_boot_results(result, outcome, settings)
    log.write_text(result.status, encoding="utf-8")
    kernelsuite.print_boot_retries(outcome.retries)
    return outcome.tally


def run_warning_detection_test(kernel: str, log: Path) -> Tally:
    """Boot a kernel, trigger a kernel warning on purpose, and check that both the running test and
    the job in the guest are reported as failed."""
    modules, outcome = kernelsuite.MODULES / kernel, Outcome(kernel)
    return kernelsuite.judge_warning_detection(
        catalogue.find_kernel_entry(kernel), modules, log.with_suffix(""), outcome
    )


def add_partner_suites(names: Iterable[str]) -> set[str]:
    """Return the suites `names`. If `names` has only one suite of a pair in TOGETHER, add the other
    suite of the pair."""
    wanted = {*names}
    return wanted | {TOGETHER[name] for name in wanted if name in TOGETHER}


def split_suites_between_guests(names: Sequence[str]) -> list[list[str]]:
    """Divide the suites `names` between two guests: return a list for each guest. If one list would
    be empty, return only the other list. If `names` has only one suite of a pair in TOGETHER, the
    other suite of the pair is added."""
    wanted = add_partner_suites(names)
    lists = [
        [name for name in some if name in wanted] for some in registry.read_suite_names_by_guest()
    ]
    enough = all(map(sum_suite_seconds, lists))
    return lists if enough else [[name for some in lists for name in some]]


def sum_suite_seconds(names: Iterable[str]) -> float:
    """Return the usual time of suites in seconds, without the boot."""
    return sum(registry.get_usual_suite_seconds(name) for name in names)


def make_requested_test_kernel_suites(
    suite_request: SuiteRequest, names: Sequence[str]
) -> list[Suite]:
    """Return the suites of this file for the requested kernel: one suite for each guest, and the
    suite `alarm` if `names` has it. Each guest runs some of the other suites in `names`."""
    kernel = choose_kernel(suite_request)
    why = kernelsuite.make_boot_obstacle_finder(kernel)
    found = []
    lists = split_suites_between_guests([name for name in names if name != "alarm"])
    for number, some in enumerate(lists, 1):
        if not some:
            continue
        settings = {**choose_stress_settings(suite_request), "KMARKERS_SUITES": " ".join(some)}
        name = f"kernel-{kernel}" + (f"-{number}" if len(lists) > 1 else "")
        what = f"in kernel {kernel}: {', '.join(some[:3])}{' ...' if some[3:] else ''}"
        run = partial(boot_and_run_suites, kernel, settings)
        usual = BOOT_SECONDS + sum_suite_seconds(some)
        found.append(Suite(name, run, what, why, usual, modules=kernel))
    if "alarm" in names:
        what = "a kernel warning makes the test that triggers it fail"
        run = partial(run_warning_detection_test, kernel)
        found.append(Suite(f"alarm-{kernel}", run, what, why, ALARM_SECONDS, modules=kernel))
    return found


def make_named_suites_for_kernel(
    suite_request: SuiteRequest,
    names: Sequence[str],
    make_kernel_suites: Callable[[str, Path], Sequence[Suite]],
) -> list[Suite]:
    """Call `make_kernel_suites` for the requested kernel and the directory of its modules; return
    the suites whose names, without the suffix -KERNEL, are in `names`."""
    kernel = choose_kernel(suite_request)
    found = make_kernel_suites(kernel, kernelsuite.MODULES / kernel)
    chosen = [suite for suite in found if suite.name.removesuffix(f"-{kernel}") in names]
    return [replace(suite, modules=kernel) for suite in chosen]
