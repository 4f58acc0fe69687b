# SPDX-License-Identifier: GPL-2.0-only
"""Suites that boot a test kernel for special tests: kprobes, ftrace and live patches patch text in
parallel, NMIs interrupt the patcher, the kernel has a single CPU or an isolated CPU, or the
distribution's tracers run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from kmtools.base import processes
from kmtools.base.paths import ROOT
from kmtools.lab import catalogue, userspace
from kmtools.lab.machine import Request
from kmtools.lab.tracers import TRACERS_MEMORY, fetch_tracers
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, testkernel

# The number of patch batches that a stress test ("storm") applies.
BATCHES = 1000
# The number of patch batches of a stress test in `make check-full`.
FEW_BATCHES = 100
# The time limit for each patch batch. A batch may wait long for text_mutex, because kprobes, ftrace
# and live patches hold this mutex most of the time.
SECONDS_PER_BATCH = 3.0
# The Debian suite whose tracers are tested with every kernel, in addition to the tracers of the
# Debian suite that the kernel is from.
NEWER_TRACERS = "trixie"
TRACERS_SECONDS = 88
# The page of the documentation that is copied to the guest, which runs the commands in the page.
TRACING = ROOT / "Documentation" / "tracing.md"


@dataclass(frozen=True)
class BootSetup:
    """The parameters of a boot that runs a job of tests/vm/jobs.

    `what` is a description of the job. `usual` is the time of the boot in seconds on 2 idle cores,
    with FEW_BATCHES batches.
    """

    name: str
    what: str
    usual: float
    job: str = "coexist.sh"
    append: str = ""
    nmi: float = 0.0
    cpus: int = 2
    # `one_thread` is True if one thread of QEMU emulates all CPUs. A stress test then takes several
    # times as long, so the number of batches may be divided by `share`.
    one_thread: bool = False
    share: int = 1


# The boots in which other code also patches text, or NMIs interrupt the patcher. The parameter
# preempt=full allows the kernel to preempt a task between instructions that are being patched. The
# parameter apic_extnmi=all sends the NMIs of QEMU to all CPUs, not only to the first CPU.
COEXIST = (
    BootSetup(
        "owners",
        "patch text while kprobes, ftrace and live patches patch the same call",
        60,
        one_thread=True,
    ),
    BootSetup(
        "storms",
        "stress tests while kprobes, ftrace and live patches patch text",
        60,
        append="preempt=full",
        one_thread=True,
        share=10,
    ),
    BootSetup(
        "nmis",
        "stress tests while NMIs are sent to all CPUs",
        13,
        append="apic_extnmi=all",
        nmi=50.0,
    ),
)
# The boot `alone` has a single CPU, on which a task deadlocks if it spins until another task runs.
# Its stress tests are short, because no code runs in parallel with text patching.
ALONE = (
    BootSetup("alone", "the modules' test cases with a single CPU", 17, "alone.sh", cpus=1),
    BootSetup("isolated", "benchmarks on an isolated CPU", 20, append="isolcpus=1 nohz_full=1"),
)


def run_boot_job(kernel: str, modules: Path, setup: BootSetup, batches: int, log: Path) -> Tally:
    """Boot a kernel with the parameters of `setup`, and run the job in it; return the results of
    the job. A stress test applies `batches` patch batches."""
    request = Request(
        kernel=kernel,
        job=kernelsuite.JOBS / setup.job,
        out=log.with_suffix(""),
        modules=modules,
        additions=kernelsuite.list_guest_test_files(),
        settings={"KMARKERS_PART": setup.name, "KMARKERS_BATCHES": batches // setup.share},
        append=setup.append,
        cpus=setup.cpus,
        timeout=max(kernelsuite.TIMEOUT_SECONDS, SECONDS_PER_BATCH * batches),
        nmi=setup.nmi,
        one_thread=setup.one_thread,
    )
    return kernelsuite.boot_and_tally_job(request, log)


def make_boot_suites(
    kernel: str, modules: Path, batches: int, setups: Iterable[BootSetup]
) -> list[Suite]:
    """Return a suite for each boot in `setups`; `batches` is the number of patch batches of a
    stress test."""
    return [
        Suite(
            f"{setup.name}-{kernel}",
            partial(run_boot_job, kernel, modules, setup, batches),
            setup.what,
            kernelsuite.make_boot_obstacle_finder(kernel),
            setup.usual * batches / FEW_BATCHES,
        )
        for setup in setups
    ]


def build_usdt_program(program: Path) -> int:
    """Build the program whose USDT probes the tracers read; return the compiler's exit code."""
    words = ["gcc", "-static", "-O2", "-Wl,--build-id", f"-I{ROOT / 'include' / 'usdt'}"]
    return processes.run_program([*words, "-o", program, ROOT / "tests" / "native" / "usdt.c"])


def run_tracer_job(kernel: str, debian_suite: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel, and test whether the tracers of a Debian suite show each hit of a marker with
    its arguments."""
    files, missing = fetch_tracers(debian_suite)
    if not files:
        return Tally(skipped=missing, absent=1)
    program = log.with_name(f"{log.stem}-usdt")
    if not userspace.find_compiler_obstacle():
        if build_usdt_program(program):
            return Tally(failed=["the program with a USDT probe does not build"])
        files[program] = "/usdt"
    request = Request(
        kernel=kernel,
        job=kernelsuite.JOBS / "tracers.sh",
        out=log.with_suffix(""),
        modules=modules,
        additions=[*kernelsuite.list_guest_test_files(), (TRACING, "/tracing.md"), *files.items()],
        timeout=kernelsuite.TIMEOUT_SECONDS,
        memory=TRACERS_MEMORY,
    )
    tally = kernelsuite.boot_and_tally_job(request, log)
    tally.skipped += missing
    return tally


def make_tracer_suites(kernel: str, modules: Path) -> list[Suite]:
    """Return a suite for the tracers of the kernel's Debian release and, if this release is not
    Debian 13, a second suite for the tracers of Debian 13."""
    obstacle = kernelsuite.make_boot_obstacle_finder(kernel)
    own = catalogue.find_kernel_entry(kernel).suite
    return [
        Suite(
            f"tracers-{kernel}" if suite == own else f"tracers-{kernel}-{suite}",
            partial(run_tracer_job, kernel, suite, modules),
            f"trace events of kmarkers, read by trace-cmd, perf and bpftrace of {suite}",
            obstacle,
            TRACERS_SECONDS,
        )
        for suite in dict.fromkeys((own, NEWER_TRACERS))
    ]


def make_requested_boot_suites(suite_request: SuiteRequest, names: Sequence[str]) -> list[Suite]:
    """Return the suites of this file whose names are in `names`, for the requested kernel. The
    suites of COEXIST run after all other suites, with nothing in parallel: otherwise these suites
    would exceed the time limit of their guests."""
    kernel = testkernel.choose_kernel(suite_request)
    modules = kernelsuite.MODULES / kernel
    batches = suite_request.get_option_number(
        "batches", BATCHES if suite_request.form == "named" else FEW_BATCHES
    )
    coexist = make_boot_suites(
        kernel, modules, batches, (one for one in COEXIST if one.name in names)
    )
    some = make_boot_suites(
        kernel, modules, FEW_BATCHES, (one for one in ALONE if one.name in names)
    )
    some += make_tracer_suites(kernel, modules) if "tracers" in names else []
    return [
        *(replace(suite, modules=kernel) for suite in some),
        *(replace(suite, modules=kernel, calm=True) for suite in coexist),
    ]
