# SPDX-License-Identifier: GPL-2.0-only
"""A test kernel as a machine of a fleet: what an interrupted measurement leaves in it, and the
Ansible role that measures in it over ssh, beside two machines of user space."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kmtools.base.paths import ROOT
from kmtools.check import kernelsuite
from kmtools.check.ktap import Tally
from kmtools.check.suites import Suite
from kmtools.lab.machine import Request

SCRIPTS = ROOT / "scripts"
# What the role copies to a machine.
FILES = ("target/measure.sh", "target/machine.sh", "guest/bench.sh")
SECONDS = 120


def additions() -> list[tuple[Path, str]]:
    """The tests, and the scripts of a machine in /target."""
    files = [(SCRIPTS / name, f"/target/{Path(name).name}") for name in FILES]
    return [(kernelsuite.TESTS, "/tests"), *files]


def interrupted(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel in which the script of a machine is interrupted at several points."""
    request = Request(
        kernel=kernel,
        job=kernelsuite.JOBS / "target.sh",
        out=log.with_suffix(""),
        modules=modules,
        additions=additions(),
        timeout=kernelsuite.TIMEOUT_SECONDS,
    )
    return kernelsuite.run_alone(request, log)


def suites(kernel: str, modules: Path) -> Sequence[Suite]:
    """The suites of one kernel."""
    return [
        Suite(
            f"target-{kernel}",
            partial(interrupted, kernel, modules),
            "an interrupted measurement leaves no module and no change of the kernel",
            kernelsuite.obstacle(kernel),
            SECONDS,
        )
    ]
