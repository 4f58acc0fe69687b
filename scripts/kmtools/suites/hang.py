# SPDX-License-Identifier: GPL-2.0-only
"""Checks that hung guests are detected soon and classified, and that a busy guest is not ended.

Each guest is a boot of its own. In one, a module keeps interrupts disabled. In others, a module
executes a breakpoint for ever, every CPU is idle, or QEMU's monitor pauses the guest.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kmtools.lab import triage
from kmtools.lab.machine import Request, boot
from kmtools.lab.qmp import Monitor
from kmtools.lab.result import Result
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, testkernel

SILENCE = 5.0
# The pattern of the report about each guest; None if nothing may be reported.
HOW: dict[str, str | None] = {
    "interrupts": r"CPU [01] takes no interrupt and stays at ffffffffc",
    "breakpoint": r"CPU [01] executes a breakpoint at ffffffffc\w+ for ever; memory holds cc",
    "idle": r"every CPU is idle",
    "stopped": r"the guest is paused",
    "busy": None,
}
STOP = "# stop now"


def judge(how: str, result: Result) -> Tally:
    """Check that the expected reason is reported for a guest."""
    wanted = HOW[how]
    missed = []
    if wanted is None:
        if result.finding:
            missed.append(f"{how}: a busy guest was ended: {result.reason}")
        elif not result.ok:
            missed.append(f"{how}: {result.reason}")
    elif result.finding is None or not re.search(wanted, result.reason):
        missed.append(f"{how}: {result.reason or 'nothing was found'}")
    elif result.finding.stale or triage.emulators_crash(result, []):
        missed.append(f"{how}: reported as a fault of the emulator: {result.reason}")
    return Tally(passed=0 if missed else 1, failed=missed)


def run_one(kernel: str, modules: Path, how: str, out: Path) -> Tally:
    """Boot one guest and judge the report about it."""
    with tempfile.TemporaryDirectory(prefix="kmarkers-hang-") as scratch:
        control = Path(scratch, "control")

        def stop(line: str) -> None:
            if line == STOP:
                with contextlib.closing(Monitor(control)) as monitor:
                    monitor.ask("stop")

        request = Request(
            kernel=kernel,
            job=kernelsuite.JOBS / "hang.sh",
            out=out / how,
            modules=modules,
            settings={"KMARKERS_HOW": how},
            control=control,
            silence=SILENCE,
        )
        return judge(how, boot(request, stop))


def run(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot all guests for one kernel."""
    total = Tally()
    for how in HOW:
        tally = run_one(kernel, modules, how, log.with_suffix(""))
        total.add(tally)
        with log.open("a") as file:
            file.write(f"{how}: {tally.closing_line()}\n")
    return total


def suites(kernel: str, modules: Path) -> list[Suite]:
    """Return the suite, as a list of one."""
    what = "guests that stand still are found and told apart"
    obstacle = kernelsuite.obstacle(kernel)
    return [Suite(f"hang-{kernel}", partial(run, kernel, modules), what, obstacle, 65)]


def suites_of(ask: Ask, names: Sequence[str]) -> list[Suite]:
    """Return the suites of these names."""
    return testkernel.of_kernel(ask, names, suites)
