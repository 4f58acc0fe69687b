# SPDX-License-Identifier: GPL-2.0-only
"""Stress test: processes read and write tracefs files at random, while modules with markers, SDT
probes and recorded functions (built with entry.mk) are loaded and unloaded.

The kernel poisons freed memory (slub_debug=FPZU), and reports writes to freed memory. The seed is
printed. The same seed gives the same commands of each process, but processes may be scheduled in
another order.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kmtools.lab.machine import Request
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, testkernel

# The default duration of the suite `monkey`, and the duration of `soak-users`, in seconds.
SECONDS, SHORT_SECONDS = 600, 60
# The kernels of the suite `monkey`, unless a kernel is named.
KERNELS = ("6.1", "6.12", "7.2")
# The part of the time limit that is for boot and shutdown, long enough for a busy machine.
AROUND_SECONDS = 900.0
# The memory of the guest in MiB.
MEMORY = 1536


def run_monkey_job(kernel: str, seconds: int, seed: int, log: Path) -> Tally:
    """Boot a kernel in which freed memory is poisoned, and run the job monkey.sh in it."""
    request = Request(
        kernel=kernel,
        job=kernelsuite.JOBS / "monkey.sh",
        out=log.with_suffix(""),
        modules=kernelsuite.MODULES / kernel,
        additions=kernelsuite.list_guest_test_files(),
        settings={"KMARKERS_SECONDS": seconds, "KMARKERS_SEED": seed},
        append="slub_debug=FPZU",
        timeout=2 * seconds + AROUND_SECONDS,
        memory=MEMORY,
    )
    return kernelsuite.boot_and_tally_job(request, log)


def make_monkey_suite(kernel: str, name: str, seconds: int, seed: int) -> Suite:
    """Return a suite that runs the job monkey.sh for `seconds` seconds in a kernel."""
    return Suite(
        f"{name}-{kernel}",
        partial(run_monkey_job, kernel, seconds, seed),
        f"random use of tracefs for {seconds} s, seed {seed}",
        kernelsuite.make_boot_obstacle_finder(kernel),
        seconds + 60,
        modules=kernel,
    )


def make_requested_monkey_suites(suite_request: SuiteRequest, names: Sequence[str]) -> list[Suite]:
    """Return the suites of this file whose names are in `names`. The default seed of the random
    commands is the current time."""
    seed = suite_request.get_option_number("seed", int(time.time()))
    default = testkernel.choose_kernel(suite_request)
    found = []
    if "monkey" in names:
        seconds = suite_request.get_option_number("seconds", SECONDS)
        kernels = (default,) if suite_request.kernel else KERNELS
        found += [make_monkey_suite(kernel, "monkey", seconds, seed) for kernel in kernels]
    if "soak-users" in names:
        found.append(make_monkey_suite(default, "soak-users", SHORT_SECONDS, seed))
    return found
