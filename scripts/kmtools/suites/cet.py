# SPDX-License-Identifier: GPL-2.0-only
"""Checks that the modules work where control-flow enforcement (CET) is on.

QEMU has no CET, so Bochs emulates the processor. The kernel enforces indirect branch tracking; a
program that uses our library has user shadow stacks. Each rule is broken once, to show that both
are enforced.
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
from kmtools.lab.machine import Request, boot
from kmtools.lab.result import Result
from kmtools.runner import ktap
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, testkernel

PROCESSOR = "arrow_lake"
# A processor with the flaw ITS: while the kernel loads a module, it makes thunks for the module's
# indirect branches, and warns about the mapping of these thunks.
FLAWED = "tigerlake"
FLAWED_SUITES = "sdt"
APPEND = f"ibt=on {bochs.APPEND}"
# The first kernel of kernels.txt with OPTION.
KERNEL = "6.12"
OPTION = "CONFIG_X86_KERNEL_IBT"
TIMEOUT_SECONDS = 2400.0
# The kernel's message for an indirect branch to an instruction other than ENDBR.
MISSED = "Missing ENDBR: kmarkers_test_entry+0x4/"
# A warning with its call trace, and the functions in the trace of the kernel's own warning about
# its thunks.
REPORT = re.compile(r"WARNING: (?:.*\n)*?.*</TASK>")
ITS_TRACE = ("__change_page_attr_set_clr", "set_memory_rw", "module_finalize")
FIRST_LOAD = "the modules load"
Run = Callable[[str, Path, Path], Tally]
# The failure of results that end before the suite does.
NO_PLAN = "no plan: the suite did not run to its end"
PROGRAM = ROOT / "build" / "native" / "shadow-stack"


@dataclass(frozen=True)
class Part:
    """A boot: its suites, its number of CPUs, and its usual time in seconds."""

    name: str
    what: str
    suites: str
    cpus: int
    usual: float
    bench: bool = True  # whether the benchmarks are loaded, too


PARTS = (
    Part(
        "cet-one",
        "all that patches and traces, with indirect branches tracked",
        "cases modules examples tables typed sdt settable events functions core kprobes",
        1,
        780,
        bench=False,
    ),
    Part("cet-two", "the same on two CPUs, in part", "typed sdt", 2, 300),
    Part("cet-sdt", "SDT probes as trace events and as notes", "sdt_events notes", 1, 400),
    Part("cet-entry", "recorded functions", "entry", 1, 300),
)


def request(kernel: str, modules: Path, log: Path, job: str, processor: str = PROCESSOR) -> Request:
    """Return a boot on a processor with CET."""
    return Request(
        kernel=kernel,
        job=kernelsuite.JOBS / job,
        out=log.with_suffix(""),
        modules=modules,
        additions=[(kernelsuite.TESTS, "/tests"), (kernelsuite.READER, "/examples")],
        settings=kernelsuite.SLOW_SETTINGS,
        append=APPEND,
        cpus=1,
        timeout=TIMEOUT_SECONDS,
        bochs=processor,
    )


def run_part(part: Part, kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel for the suites of one part."""
    loaded = {"KMARKERS_SUITES": part.suites, "KMARKERS_BENCH": int(part.bench)}
    settings = {**kernelsuite.SLOW_SETTINGS, **loaded}
    base = request(kernel, modules, log, "cet.sh")
    return kernelsuite.run_alone(replace(base, settings=settings, cpus=part.cpus), log)


def judge_missed(result: Result) -> Tally:
    """Judge a boot with a call to the instruction after an ENDBR: the kernel must die of that call
    alone."""
    said = ktap.parse(result.status.splitlines())
    tally = Tally(passed=said.passed)
    tally.judge(said.passed > 0, "an entry with ENDBR was not called")
    tally.judge(MISSED in result.console, "no fault: indirect branches are not tracked")
    # The kernel dies before the suite ends, so the results have no plan.
    ended = [] if result.exit_code is not None else [NO_PLAN]
    tally.failed += [name for name in said.failed if name not in ended]
    tally.judge(result.exit_code is None, "the kernel goes on after a call behind an ENDBR")
    return tally


def run_missed(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel in which a call goes to the instruction after an ENDBR."""
    result = boot(request(kernel, modules, log, "noendbr.sh"))
    log.write_text(result.status)
    return judge_missed(result)


def judge_flawed(result: Result) -> Tally:
    """Judge a boot on a processor with ITS: each warning must be the kernel's own warning about
    thunks."""
    said = ktap.parse(result.status.splitlines())
    tally = Tally(passed=said.passed, skipped=said.skipped)
    console = result.console
    for report in REPORT.findall(console):
        its = all(call in report for call in ITS_TRACE)
        tally.judge(its, f"not the kernel's own warning: {report.splitlines()[0]}")
    tally.failed += logscan.scan_log(REPORT.sub("", console))
    # The kernel warns while the first module is loaded.
    tally.failed += [name for name in said.failed if name != FIRST_LOAD]
    tally.judge(result.exit_code is not None, f"the guest did not end: {result.reason}")
    return tally


def run_flawed(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel on a processor with ITS, for which the kernel makes thunks while it loads a
    module."""
    base = request(kernel, modules, log, "cet.sh", FLAWED)
    settings = {**kernelsuite.SLOW_SETTINGS, "KMARKERS_SUITES": FLAWED_SUITES}
    result = boot(replace(base, settings=settings))
    log.write_text(result.status)
    return judge_flawed(result)


def run_program(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel for a program with user shadow stacks."""
    if processes.run(["make", "-s", "-C", ROOT / "native", PROGRAM], log):
        return Tally(failed=[f"make: cannot build {PROGRAM.name}, see {log}"])
    base = request(kernel, modules, log, "shadowstack.sh")
    added = [*base.additions, (PROGRAM, "/shadow-stack")]
    return kernelsuite.run_alone(replace(base, additions=added, cpus=2), log)


BOOTS: dict[str, tuple[str, Run, float]] = {
    "cet-missed": ("a call behind an ENDBR is a fault", run_missed, 40),
    "cet-program": ("a program with shadow stacks uses the library", run_program, 60),
    "cet-its": ("the warning on a processor with ITS is the kernel's", run_flawed, 60),
    **{part.name: (part.what, partial(run_part, part), part.usual) for part in PARTS},
}


def obstacle(kernel: str) -> Callable[[], str]:
    """Return a function that returns why the kernel cannot boot under Bochs here; empty if it
    can."""

    def why() -> str:
        if found := kernelsuite.obstacle(kernel)():
            return found
        if f"{OPTION}=y" not in catalogue.require(kernel).config.read_text().splitlines():
            return f"kernel {kernel} is built without indirect branch tracking ({OPTION})"
        try:
            bochs.tools(catalogue.find(kernel).qemu)
        except FetchError as error:
            return f"Bochs is missing and cannot be fetched: {error}"
        return ""

    return why


def suites(kernel: str, modules: Path) -> list[Suite]:
    """Return the boots of `make check-cet`."""
    cannot = obstacle(kernel)

    return [
        Suite(f"{name}-{kernel}", partial(run, kernel, modules), what, cannot, usual)
        for name, (what, run, usual) in BOOTS.items()
    ]


def suites_of(ask: Ask, names: Sequence[str]) -> list[Suite]:
    """Return the boots of these names."""
    return testkernel.of_kernel(replace(ask, named=ask.named or KERNEL), names, suites)
