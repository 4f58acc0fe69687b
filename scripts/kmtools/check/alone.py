# SPDX-License-Identifier: GPL-2.0-only
"""Runs the modules' cases in a test kernel that has one CPU.

A task that waits there for another one, and leaves it no time, stands still. With one CPU nothing
runs beside a change of text either, so the storms are short.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kmtools.check import kernelsuite
from kmtools.check.ktap import Tally
from kmtools.check.suites import Suite
from kmtools.lab.machine import Request

BATCHES = 200


def in_kernel(kernel: str, modules: Path) -> Callable[[Path], Tally]:
    """The suite that boots a kernel with one CPU."""

    def run(log: Path) -> Tally:
        request = Request(
            kernel=kernel,
            job=kernelsuite.TESTS / "check_alone.sh",
            out=log.with_suffix(""),
            modules=modules,
            additions=[(kernelsuite.TESTS, "/tests")],
            settings={"KMARKERS_BATCHES": BATCHES},
            cpus=1,
            timeout=kernelsuite.TIMEOUT_SECONDS,
        )
        return kernelsuite.run_alone(request, log)

    return run


def suites(kernel: str, modules: Path) -> list[Suite]:
    """The suite, as a list of one."""
    what = "the modules' cases with a single CPU"
    return [
        Suite(f"alone-{kernel}", in_kernel(kernel, modules), what, kernelsuite.obstacle(kernel))
    ]


def main() -> int:
    """Run it for one kernel; 1 if anything failed, 2 if it could not run here."""
    return kernelsuite.check_main(__doc__, "check-alone", suites)
