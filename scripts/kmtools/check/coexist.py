# SPDX-License-Identifier: GPL-2.0-only
"""Changes text beside everyone else who does: other owners, CPUs that go, interrupts.

Each part is a boot of its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from kmtools.check import kernelsuite
from kmtools.check.ktap import Tally
from kmtools.check.suites import Suite
from kmtools.lab import catalogue
from kmtools.lab.machine import Request

BATCHES = 1000
# In "make check".
FEW_BATCHES = 200
# Whoever else changes text holds text_mutex most of the time: each takes its turn.
SECONDS_PER_BATCH = 3.0


@dataclass(frozen=True)
class Part:
    """A part of tests/vm/check_coexist.sh, and what it is booted with."""

    name: str
    what: str
    append: str = ""
    nmi: float = 0.0
    # A storm takes several times as long if CPUs take turns: of the batches it applies a share.
    one_thread: bool = False
    share: int = 1


# A task is preempted inside a run only by a kernel that preempts itself. Without apic_extnmi the
# kernel keeps interrupts of the emulator's from all CPUs but the first.
PARTS = (
    Part("owners", "beside kprobes, ftrace and live patches on the same call", one_thread=True),
    Part(
        "storms",
        "storms beside everyone who changes text",
        "preempt=full",
        one_thread=True,
        share=10,
    ),
    Part("nmis", "storms with non-maskable interrupts", "apic_extnmi=all", nmi=50.0),
)


def in_kernel(kernel: str, modules: Path, part: Part, batches: int) -> Callable[[Path], Tally]:
    """The suite that boots a kernel for one part."""

    def run(log: Path) -> Tally:
        request = Request(
            kernel=kernel,
            job=kernelsuite.TESTS / "check_coexist.sh",
            out=log.with_suffix(""),
            modules=modules,
            additions=[(kernelsuite.TESTS, "/tests")],
            settings={"KMARKERS_PART": part.name, "KMARKERS_BATCHES": batches // part.share},
            append=part.append,
            timeout=max(kernelsuite.TIMEOUT_SECONDS, SECONDS_PER_BATCH * batches),
            nmi=part.nmi,
            one_thread=part.one_thread,
        )
        return kernelsuite.run_alone(request, log)

    return run


def suites(
    kernel: str, modules: Path, batches: int = BATCHES, parts: Iterable[Part] = PARTS
) -> list[Suite]:
    """The parts as suites, with storms as long as `batches` says."""
    return [
        Suite(
            f"{part.name}-{kernel}",
            in_kernel(kernel, modules, part, batches),
            part.what,
            kernelsuite.obstacle(kernel),
        )
        for part in parts
    ]


def main() -> int:
    """Run every part; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", default=catalogue.default_name(), help="name in kernels.txt")
    parser.add_argument("--part", choices=[part.name for part in PARTS], help="only this one")
    args = parser.parse_args()
    parts = [part for part in PARTS if args.part in (None, part.name)]
    return kernelsuite.check_one(
        args.kernel,
        "check-coexist",
        lambda modules: suites(args.kernel, modules, parts=parts),
    )
