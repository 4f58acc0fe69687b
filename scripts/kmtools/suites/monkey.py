# SPDX-License-Identifier: GPL-2.0-only
"""Uses tracefs at random, while modules with markers, SDT probes and functions are loaded and
unloaded.

Freed memory is poisoned in this boot, and the kernel reports writes to it. The seed is printed: it
determines the commands of each user, but not the interleaving of different users.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kmtools.lab.machine import Request
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, testkernel

SECONDS, SHORT_SECONDS = 600, 60
# The kernels of the weekly set, unless one is named.
KERNELS = ("6.1", "6.12", "7.2")
# The time limit of boot and shutdown, in addition to the commands, on a busy machine.
AROUND_SECONDS = 900.0
# The memory of the guest in MB.
MEMORY = 1536


def run(kernel: str, seconds: int, seed: int, log: Path) -> Tally:
    """Boot a kernel in which freed memory is poisoned, and run the job monkey.sh in it."""
    request = Request(
        kernel=kernel,
        job=kernelsuite.JOBS / "monkey.sh",
        out=log.with_suffix(""),
        modules=kernelsuite.MODULES / kernel,
        additions=[(kernelsuite.TESTS, "/tests")],
        settings={"KMARKERS_SECONDS": seconds, "KMARKERS_SEED": seed},
        append="slub_debug=FPZU",
        timeout=2 * seconds + AROUND_SECONDS,
        memory=MEMORY,
    )
    return kernelsuite.run_alone(request, log)


def suite(kernel: str, name: str, seconds: int, seed: int) -> Suite:
    """Return the suite of a kernel."""
    return Suite(
        f"{name}-{kernel}",
        partial(run, kernel, seconds, seed),
        f"users of tracefs at random for {seconds} s, seed {seed}",
        kernelsuite.obstacle(kernel),
        seconds + 60,
        modules=kernel,
    )


def suites_of(ask: Ask, names: Sequence[str]) -> list[Suite]:
    """Return the suites of these names; the default seed is the current time."""
    seed = ask.number("seed", int(time.time()))
    default = testkernel.kernel_of(ask)
    found = []
    if "monkey" in names:
        seconds = ask.number("seconds", SECONDS)
        kernels = (default,) if ask.named else KERNELS
        found += [suite(kernel, "monkey", seconds, seed) for kernel in kernels]
    if "soak-users" in names:
        found.append(suite(default, "soak-users", SHORT_SECONDS, seed))
    return found
