# SPDX-License-Identifier: GPL-2.0-only
"""Runs the suites in the kernels of kernels.txt, and stores the results in build/matrix/.

`kmarkers publish kernels` writes the results to Documentation/kernels.md; see kernelpage.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from kmtools.base.errors import FailedError, UnableError
from kmtools.base.text import align_table
from kmtools.lab import catalogue
from kmtools.lab.kernels import ensure_kernel_is_unpacked
from kmtools.runner import registry
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelpage, kernelsuite, testkernel
from kmtools.suites.kernelpage import KernelResults
from kmtools.suites.kernelsuite import Outcome

# Usual times of all suites in a kernel, in seconds: in their short form and in their full length.
SHORT_SECONDS, FULL_SECONDS = 450.0, 850.0
# The usual time in seconds of what is done beside the suites: the build, a boot, the test `alarm`.
OTHER_SECONDS = testkernel.BUILD_SECONDS + testkernel.BOOT_SECONDS + testkernel.ALARM_SECONDS
# The suites that run in kernels with the role "gates". The suite `orders` does not run there,
# because the orders in which modules can be loaded do not depend on the kernel.
GATE_SUITES = [
    test.name
    for test in registry.list_guest_tests()
    if "short" in test.sets and test.name != "orders"
]
# Settings of the test `gates`: short stress tests and small samples. The tests `matrix` and `debug`
# do not use these settings.
GATE_SETTINGS = {**kernelsuite.FEW_SETTINGS, "KMARKERS_SUITES": " ".join(GATE_SUITES)}


def format_tally_cell(tally: Tally | None) -> str:
    """Return the numbers of passed, failed and skipped tests of a suite as text; "-" for a suite
    that did not run."""
    if tally is None:
        return "-"
    parts = [str(tally.passed)]
    if tally.failed:
        parts.append(f"{len(tally.failed)} FAILED")
    if tally.skipped:
        parts.append(f"{len(tally.skipped)} skipped")
    return ", ".join(parts)


def format_outcome_rows(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Return the table of results with its heading: one row for each kernel, and one column for
    each suite."""
    names = list(dict.fromkeys(name for outcome in outcomes for name in outcome.suites))
    table = [
        ["kernel", "version", "QEMU", *names, "passed", "failed", "skipped", "seconds", "retries"]
    ]
    for one in outcomes:
        tally = one.tally
        numbers = (tally.passed, len(tally.failed), len(tally.skipped))
        table.append(
            [
                *(one.kernel, one.version, shorten_qemu_version(one.qemu)),
                *(format_tally_cell(one.suites.get(name)) for name in names),
                *(str(number) for number in numbers),
                *(f"{one.seconds:.0f}", str(len(one.retries))),
            ]
        )
    return table


def shorten_qemu_version(qemu: str) -> str:
    """Return the version number in the output of `qemu --version`."""
    match = re.search(r"version ([0-9.]+)", qemu)
    return match[1] if match else qemu


def list_outcome_notes(outcomes: Iterable[Outcome]) -> list[str]:
    """Return a line for each failure, skipped test, repeated boot and slow kernel."""
    lines = []
    for one in outcomes:
        for suite, tally in one.suites.items():
            lines += [f"FAILED {one.kernel} {suite}: {why}" for why in tally.failed]
            lines += [f"SKIP {one.kernel} {suite}: {why}" for why in tally.skipped]
        lines += [
            f"RETRIED {one.kernel}: fault of the emulator, not of kmarkers: {why}"
            for why in one.retries
        ]
        if one.seconds > one.may_take:
            lines.append(f"SLOW {one.kernel}: slower than {one.may_take / 60:g} minutes")
    return lines


def format_total_time(outcomes: Sequence[Outcome]) -> str:
    """Return a sentence with the total time of all kernels."""
    seconds = sum(one.seconds for one in outcomes)
    return f"Building, booting and testing took {seconds:.0f} s in all."


def format_outcome_table(outcomes: Sequence[Outcome]) -> str:
    """Return the table of results, the total time, and the notes of list_outcome_notes() as plain
    text."""
    return (
        "\n".join(
            [
                *align_table(format_outcome_rows(outcomes)),
                format_total_time(outcomes),
                *list_outcome_notes(outcomes),
            ]
        )
        + "\n"
    )


def store_kernel_outcome(
    outcome: Outcome, commit: str, published: KernelResults | None = None
) -> None:
    """Store the results of a kernel until they are published in Documentation/kernels.md. `commit`
    describes the commit of this tree at the beginning of the run. If the published results of the
    kernel are given, keep them for the suites that did not run now."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    # `commit` describes the tree at the beginning of the run. If a file was changed since then, the
    # changed file may have been tested.
    if kernelpage.describe_checkout_commit().endswith("-dirty"):
        commit = f"{commit.removesuffix('-dirty')}-dirty"
    found = KernelResults(
        outcome.kernel, outcome.version, shorten_qemu_version(outcome.qemu), today, commit,
        outcome.suites,
    )  # fmt: skip
    if published:
        # Drop published failures that belong to no suite, such as `run`: the run was repeated now.
        kept = [name for name in kernelpage.list_guest_suite_names() if name in published.suites]
        found = replace(
            published,
            suites={name: published.suites[name] for name in kept} | found.suites,
            repeated=published.repeated | {name: [today, commit] for name in found.suites},
        )
    kernelpage.store_kernel_results(found)


def read_results_of_this_version(kernel: str) -> KernelResults:
    """Return the published results of a kernel. Raise FailedError if these results are of another
    version of the kernel."""
    published = kernelpage.read_published_results()[kernel]
    version = ensure_kernel_is_unpacked(catalogue.find_kernel_entry(kernel)).version
    if published.version != version:
        raise FailedError(
            f"kernel {kernel} has version {version}, but its published results are of version"
            f" {published.version}: run all suites by `make check-matrix K={kernel}`"
        )
    return published


def run_suites_in_kernel(
    kernel: str, full: bool, log: Path, *, repeat: Sequence[str] = ()
) -> Tally:
    """Build the modules for a kernel and run suites in it. With `full`, run all suites in two
    boots, and store their results; else run GATE_SUITES in one boot. If `repeat` names suites, run
    only these, and store their results with the published results of the other suites."""
    commit = kernelpage.describe_checkout_commit()
    published = read_results_of_this_version(kernel) if repeat else None
    settings = None if full else GATE_SETTINGS
    # Use two boots: if other programs run in parallel, one boot with all suites would exceed its
    # time limit.
    suite_lists = registry.read_suite_names_by_guest() if full else ()
    if repeat:
        suite_lists = testkernel.split_suites_between_guests(repeat)
    outcome = kernelsuite.run_kernel_suites(
        kernel, log.with_suffix(""), settings=settings, suite_lists=suite_lists
    )
    if full:
        store_kernel_outcome(outcome, commit, published)
    log.write_text(format_outcome_table([outcome]), encoding="utf-8")
    kernelsuite.print_boot_retries(outcome.retries)
    return outcome.tally


def make_requested_matrix_suites(suite_request: SuiteRequest, names: Sequence[str]) -> list[Suite]:
    """Return a suite for each kernel that the tests `names` select:

    - `gates`: all kernels with the role "gates", except the requested or default kernel;
    - `matrix`: the requested kernel, by default all stock kernels;
    - `debug`: the requested kernel, by default all debug kernels.

    With the option missing, `matrix` and `debug` run only the suites that list_suites_to_repeat()
    returns. A kernel for which it returns none is left out.
    """
    listed = kernelpage.list_catalogue_kernels()
    default = testkernel.choose_kernel(suite_request)
    published = (
        kernelpage.read_published_results() if suite_request.is_option_set("missing") else {}
    )
    # The function that runs the suites in a kernel, and the usual time in seconds.
    chosen: dict[str, tuple[Callable[[Path], Tally], float]] = {}
    if "gates" in names:
        gates = [one.name for one in listed if one.role == "gates" and one.name != default]
        chosen |= {
            kernel: (partial(run_suites_in_kernel, kernel, False), SHORT_SECONDS)
            for kernel in gates
        }
    for name, debug in (("matrix", False), ("debug", True)):
        if name not in names:
            continue
        of_kind = [one.name for one in listed if bool(one.debug_kinds) == debug]
        for kernel in [default] if suite_request.kernel else of_kind:
            if kernel not in published:
                chosen[kernel] = partial(run_suites_in_kernel, kernel, True), FULL_SECONDS
            elif repeat := kernelpage.list_suites_to_repeat(published[kernel]):
                seconds = OTHER_SECONDS + testkernel.sum_suite_seconds(repeat)
                run = partial(run_suites_in_kernel, kernel, True, repeat=repeat)
                chosen[kernel] = run, seconds
    if not chosen:
        raise UnableError(f"no suite has changed since the results in {kernelpage.STORE}")
    return [
        Suite(
            f"kernel-{kernel}",
            run,
            f"the suites in kernel {kernel}",
            kernelsuite.make_boot_obstacle_finder(kernel),
            usual,
        )
        for kernel, (run, usual) in chosen.items()
    ]
