# SPDX-License-Identifier: GPL-2.0-only
"""Suites that need a boot of their own: beside other code that changes text, on one CPU, and with
the distribution's tracers."""

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
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, testkernel

BATCHES = 1000
# The number of batches in "make check-full".
FEW_BATCHES = 100
# Seconds for a batch in the time limit: other code that changes text holds text_mutex most of the
# time, and a batch waits for the mutex.
SECONDS_PER_BATCH = 3.0
# The Debian suite whose tracers are tested with every kernel, in addition to those of its own
# suite.
NEWER_TRACERS = "trixie"
TRACERS_SECONDS = 60
# The test kernel runs the commands of this page.
TRACING = ROOT / "Documentation" / "tracing.md"


@dataclass(frozen=True)
class Part:
    """A boot of a job of tests/vm/jobs, and its settings.

    `usual` is its time in seconds on 2 idle cores, with few batches.
    """

    name: str
    what: str
    usual: float
    job: str = "coexist.sh"
    append: str = ""
    nmi: float = 0.0
    cpus: int = 2
    # If one thread runs all CPUs, a storm takes several times as long, so it applies batches /
    # share.
    one_thread: bool = False
    share: int = 1


# Only a kernel with full preemption preempts a task inside a run. Without apic_extnmi the kernel
# lets the interrupts that the emulator sends reach the first CPU only.
COEXIST = (
    Part("owners", "beside kprobes, ftrace and live patches on the same call", 60, one_thread=True),
    Part(
        "storms",
        "storms beside all other code that changes text",
        60,
        append="preempt=full",
        one_thread=True,
        share=10,
    ),
    Part("nmis", "storms with non-maskable interrupts", 13, append="apic_extnmi=all", nmi=50.0),
)
# On a single CPU, a task that waits for another task without yielding waits for ever. Nothing runs
# there in parallel to a change of text, so the storms are short.
ALONE = (
    Part("alone", "the modules' cases with a single CPU", 17, "alone.sh", cpus=1),
    Part("isolated", "benchmarks on an isolated CPU", 20, append="isolcpus=1 nohz_full=1"),
)


def run(kernel: str, modules: Path, part: Part, batches: int, log: Path) -> Tally:
    """Boot a kernel for one part."""
    request = Request(
        kernel=kernel,
        job=kernelsuite.JOBS / part.job,
        out=log.with_suffix(""),
        modules=modules,
        additions=[(kernelsuite.TESTS, "/tests")],
        settings={"KMARKERS_PART": part.name, "KMARKERS_BATCHES": batches // part.share},
        append=part.append,
        cpus=part.cpus,
        timeout=max(kernelsuite.TIMEOUT_SECONDS, SECONDS_PER_BATCH * batches),
        nmi=part.nmi,
        one_thread=part.one_thread,
    )
    return kernelsuite.run_alone(request, log)


def suites(kernel: str, modules: Path, batches: int, parts: Iterable[Part]) -> list[Suite]:
    """Return the parts as suites; `batches` sets the length of their storms."""
    return [
        Suite(
            f"{part.name}-{kernel}",
            partial(run, kernel, modules, part, batches),
            part.what,
            kernelsuite.obstacle(kernel),
            part.usual * batches / FEW_BATCHES,
        )
        for part in parts
    ]


def build_usdt(program: Path) -> int:
    """Build the program whose probes the tracers read; return the compiler's exit code."""
    words = ["gcc", "-static", "-O2", "-Wl,--build-id", f"-I{ROOT / 'include' / 'usdt'}"]
    return processes.run([*words, "-o", program, ROOT / "tests" / "native" / "usdt.c"])


def run_tracers(kernel: str, suite: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel with the tracers of a Debian suite, which must show every hit with its
    values."""
    files, missing = fetch_tracers(suite)
    if not files:
        return Tally(skipped=missing, absent=1)
    program = log.with_name(f"{log.stem}-usdt")
    if not userspace.obstacle():
        if build_usdt(program):
            return Tally(failed=["the program with a USDT probe does not build"])
        files[program] = "/usdt"
    request = Request(
        kernel=kernel,
        job=kernelsuite.JOBS / "tracers.sh",
        out=log.with_suffix(""),
        modules=modules,
        additions=[(kernelsuite.TESTS, "/tests"), (TRACING, "/tracing.md"), *files.items()],
        timeout=kernelsuite.TIMEOUT_SECONDS,
        memory=TRACERS_MEMORY,
    )
    tally = kernelsuite.run_alone(request, log)
    tally.skipped += missing
    return tally


def tracers(kernel: str, modules: Path) -> list[Suite]:
    """Return the suites of the tracers: those of the kernel's Debian, and those of Debian 13."""
    obstacle = kernelsuite.obstacle(kernel)
    own = catalogue.find(kernel).suite
    return [
        Suite(
            f"tracers-{kernel}" if suite == own else f"tracers-{kernel}-{suite}",
            partial(run_tracers, kernel, suite, modules),
            f"our trace events as trace-cmd, perf and bpftrace of {suite} show them",
            obstacle,
            TRACERS_SECONDS,
        )
        for suite in dict.fromkeys((own, NEWER_TRACERS))
    ]


def suites_of(ask: Ask, names: Sequence[str]) -> list[Suite]:
    """Return the suites of these names. Storms beside other changes of text run after all other
    suites: a guest does not finish in time if another program runs in parallel."""
    kernel = testkernel.kernel_of(ask)
    modules = kernelsuite.MODULES / kernel
    batches = ask.number("batches", BATCHES if ask.form == "named" else FEW_BATCHES)
    coexist = suites(kernel, modules, batches, (one for one in COEXIST if one.name in names))
    some = suites(kernel, modules, FEW_BATCHES, (one for one in ALONE if one.name in names))
    some += tracers(kernel, modules) if "tracers" in names else []
    return [
        *(replace(suite, modules=kernel) for suite in some),
        *(replace(suite, modules=kernel, calm=True) for suite in coexist),
    ]
