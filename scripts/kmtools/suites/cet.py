# SPDX-License-Identifier: GPL-2.0-only
"""Tests the modules in a kernel with control-flow enforcement technology (CET).

QEMU does not emulate CET, so Bochs emulates the processor. The kernel enforces indirect branch
tracking (IBT), and a program that uses the kmarkers library has user shadow stacks. Each protection
is violated once on purpose, to prove that it is active.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from kmtools.base import processes
from kmtools.base.paths import ROOT
from kmtools.lab import bochs, catalogue, logscan
from kmtools.lab.apt import FetchError
from kmtools.lab.machine import Request, boot_guest
from kmtools.lab.result import Result
from kmtools.lab.userspace import build_make_command
from kmtools.runner import ktap
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, testkernel

PROCESSOR = "arrow_lake"
# A processor with the flaw ITS (indirect target selection). On this processor, the kernel allocates
# thunks for the indirect branches of each module that is loaded, and prints a warning about the
# mapping of the thunks.
FLAWED = "tigerlake"
FLAWED_SUITES = "sdt"
APPEND = f"ibt=on {bochs.APPEND}"
# The default kernel of these suites: the first kernel in kernels.txt with OPTION.
KERNEL = "6.12"
OPTION = "CONFIG_X86_KERNEL_IBT"
TIMEOUT_SECONDS = 2400.0
# The kernel's message about an indirect call to an address without ENDBR: here to the instruction 4
# bytes after the start of a function.
MISSED = "Missing ENDBR: kmarkers_test_entry+0x4/"
# Matches a warning with its call trace. The call trace of the warning about ITS thunks has all
# functions of ITS_TRACE.
REPORT = re.compile(r"WARNING: (?:.*\n)*?.*</TASK>")
ITS_TRACE = ("__change_page_attr_set_clr", "set_memory_rw", "module_finalize")
# The test during which the first module is loaded.
FIRST_LOAD = "the modules load"
# A function that boots a kernel and returns results, called with the name of the kernel, the
# directory of the modules, and the log.
Run = Callable[[str, Path, Path], Tally]
# The failure that the KTAP parser reports if the output ends without a plan.
NO_PLAN = "no plan: the suite did not run to its end"
PROGRAM = ROOT / "build" / "native" / "shadow-stack"


@dataclass(frozen=True)
class BootSetup:
    """The parameters of a boot: the suites to run, the number of CPUs, the usual time in
    seconds."""

    name: str
    what: str
    suites: str
    cpus: int
    usual: float


SETUPS = (
    BootSetup(
        "cet-one",
        "tests of patching and tracing with indirect branch tracking (IBT)",
        "cases modules examples tables typed sdt settable events functions core kprobes",
        1,
        780,
    ),
    BootSetup(
        "cet-two", "tests of typed markers and SDT probes with IBT on two CPUs", "typed sdt", 2, 300
    ),
    BootSetup(
        "cet-sdt", "SDT probes as trace events and as notes, with IBT", "sdt_events notes", 1, 400
    ),
    BootSetup("cet-entry", "recording of function entries and exits, with IBT", "entry", 1, 300),
)


def make_bochs_request(
    kernel: str, modules: Path, log: Path, job: str, processor: str = PROCESSOR
) -> Request:
    """Return the request for a boot of a kernel under Bochs, which emulates `processor`. The boot
    runs a job of tests/vm/jobs."""
    return Request(
        kernel=kernel,
        job=kernelsuite.JOBS / job,
        out=log.with_suffix(""),
        modules=modules,
        additions=kernelsuite.list_guest_test_files(),
        settings=kernelsuite.SLOW_SETTINGS,
        append=APPEND,
        cpus=1,
        timeout=TIMEOUT_SECONDS,
        bochs=processor,
    )


def boot_cet_kernel(setup: BootSetup, kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel under Bochs with the parameters of `setup`, and run the suites that `setup`
    names."""
    settings = {**kernelsuite.SLOW_SETTINGS, "KMARKERS_SUITES": setup.suites}
    base = make_bochs_request(kernel, modules, log, "cet.sh")
    return kernelsuite.boot_and_tally_job(replace(base, settings=settings, cpus=setup.cpus), log)


def judge_skipped_endbr(result: Result) -> Tally:
    """Judge a boot in which a call skips the ENDBR of a function: this call must crash the kernel,
    and no earlier call may crash it."""
    said = ktap.parse_ktap(result.status.splitlines())
    tally = Tally(passed=said.passed)
    tally.add_result(said.passed > 0, "no call of a function with ENDBR succeeded")
    tally.add_result(
        MISSED in result.console, "a call that skips ENDBR raises no fault: IBT is off"
    )
    # The kernel must crash before the suite ends, so a missing plan is no failure.
    ended = [] if result.exit_code is not None else [NO_PLAN]
    tally.failed += [name for name in said.failed if name not in ended]
    tally.add_result(result.exit_code is None, "the kernel survives a call that skips ENDBR")
    return tally


def boot_and_skip_endbr(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel and call the instruction after the ENDBR of a function; the kernel must
    crash."""
    result = boot_guest(make_bochs_request(kernel, modules, log, "noendbr.sh"))
    log.write_text(result.status, encoding="utf-8")
    return judge_skipped_endbr(result)


def judge_flawed_processor_warnings(result: Result) -> Tally:
    """Judge a boot on a processor with the flaw ITS: the kernel may warn about the thunks for ITS,
    and about nothing else."""
    said = ktap.parse_ktap(result.status.splitlines())
    tally = Tally(passed=said.passed, skipped=said.skipped)
    console = result.console
    for report in REPORT.findall(console):
        its = all(call in report for call in ITS_TRACE)
        tally.add_result(its, f"a warning that is not about ITS thunks: {report.splitlines()[0]}")
    tally.failed += logscan.find_fault_lines(REPORT.sub("", console))
    # The kernel warns while it loads the first module, so the test FIRST_LOAD always fails.
    tally.failed += [name for name in said.failed if name != FIRST_LOAD]
    tally.add_result(result.exit_code is not None, f"the job did not end: {result.reason}")
    return tally


def boot_on_flawed_processor(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel on a processor with the flaw ITS, load the modules and run FLAWED_SUITES."""
    base = make_bochs_request(kernel, modules, log, "cet.sh", FLAWED)
    settings = {**kernelsuite.SLOW_SETTINGS, "KMARKERS_SUITES": FLAWED_SUITES}
    result = boot_guest(replace(base, settings=settings))
    log.write_text(result.status, encoding="utf-8")
    return judge_flawed_processor_warnings(result)


def run_shadow_stack_program(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel and run a program with user shadow stacks in it."""
    if processes.run_program(build_make_command(PROGRAM), log):
        return Tally(failed=[f"make: cannot build {PROGRAM.name}, see {log}"])
    base = make_bochs_request(kernel, modules, log, "shadowstack.sh")
    added = [*base.additions, (PROGRAM, "/shadow-stack")]
    return kernelsuite.boot_and_tally_job(replace(base, additions=added, cpus=2), log)


# For each suite: a description, the function that runs the suite, and the usual time in seconds.
BOOTS: dict[str, tuple[str, Run, float]] = {
    "cet-missed": ("a call that skips ENDBR crashes the kernel", boot_and_skip_endbr, 40),
    "cet-program": (
        "a program with user shadow stacks uses the kmarkers library",
        run_shadow_stack_program,
        60,
    ),
    "cet-its": (
        "a processor with ITS causes no kernel warnings except about thunks",
        boot_on_flawed_processor,
        60,
    ),
    **{setup.name: (setup.what, partial(boot_cet_kernel, setup), setup.usual) for setup in SETUPS},
}


def make_bochs_obstacle_finder(kernel: str) -> Callable[[], str]:
    """Return a function for Suite.obstacle. The function returns the reason why the kernel cannot
    boot under Bochs on this machine, or "" if the kernel can."""

    def find_bochs_boot_obstacle() -> str:
        if found := kernelsuite.make_boot_obstacle_finder(kernel)():
            return found
        if (
            f"{OPTION}=y"
            not in catalogue.require_unpacked_kernel(kernel)
            .config.read_text(encoding="utf-8")
            .splitlines()
        ):
            return f"kernel {kernel} is built without indirect branch tracking ({OPTION})"
        try:
            bochs.fetch_bochs(catalogue.find_kernel_entry(kernel).qemu)
        except FetchError as error:
            return f"Bochs is missing and cannot be fetched: {error}"
        return ""

    return find_bochs_boot_obstacle


def make_cet_suites(kernel: str, modules: Path) -> list[Suite]:
    """Return the suites of `make check-cet` for a kernel."""
    cannot = make_bochs_obstacle_finder(kernel)

    return [
        Suite(f"{name}-{kernel}", partial(run, kernel, modules), what, cannot, usual)
        for name, (what, run, usual) in BOOTS.items()
    ]


def make_requested_cet_suites(suite_request: SuiteRequest, names: Sequence[str]) -> list[Suite]:
    """Return the suites of this file whose names are in `names`, for the requested kernel or, if no
    kernel is requested, for KERNEL."""
    return testkernel.make_named_suites_for_kernel(
        replace(suite_request, kernel=suite_request.kernel or KERNEL), names, make_cet_suites
    )
