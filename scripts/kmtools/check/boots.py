# SPDX-License-Identifier: GPL-2.0-only
"""Suites that are a boot of their own: beside everyone else who changes text, and on one CPU."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kmtools.check import kernelsuite
from kmtools.check.ktap import Tally
from kmtools.check.suites import Suite
from kmtools.lab.machine import Request

BATCHES = 1000
# In "make check-full".
FEW_BATCHES = 200
# Whoever else changes text holds text_mutex most of the time: each takes its turn.
SECONDS_PER_BATCH = 3.0


@dataclass(frozen=True)
class Part:
    """A boot of a job of tests/vm/jobs, and what it is booted with.

    `usual` is how many seconds it takes on 2 idle cores, with few batches.
    """

    name: str
    what: str
    usual: float
    job: str = "coexist.sh"
    append: str = ""
    nmi: float = 0.0
    cpus: int = 2
    # A storm takes several times as long if CPUs take turns: of the batches it applies a share.
    one_thread: bool = False
    share: int = 1


# A task is preempted inside a run only by a kernel that preempts itself. Without apic_extnmi the
# kernel keeps interrupts of the emulator's from all CPUs but the first.
COEXIST = (
    Part("owners", "beside kprobes, ftrace and live patches on the same call", 60, one_thread=True),
    Part(
        "storms",
        "storms beside everyone who changes text",
        110,
        append="preempt=full",
        one_thread=True,
        share=10,
    ),
    Part("nmis", "storms with non-maskable interrupts", 13, append="apic_extnmi=all", nmi=50.0),
)
# A task that waits there for another one, and leaves it no time, stands still. With one CPU nothing
# runs beside a change of text either, so the storms are short.
ALONE = (Part("alone", "the modules' cases with a single CPU", 17, "alone.sh", cpus=1),)


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
    """The parts as suites, with storms as long as `batches` says."""
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


def alone(kernel: str, modules: Path) -> list[Suite]:
    """The modules' cases with a single CPU."""
    return suites(kernel, modules, FEW_BATCHES, ALONE)
