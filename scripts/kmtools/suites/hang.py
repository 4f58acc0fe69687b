# SPDX-License-Identifier: GPL-2.0-only
"""Tests the detection of hung guests: each kind of hang must be reported with its reason, and a
busy guest must not be ended.

Each kind has a boot of its own: a module disables interrupts, a module executes int3 in an endless
loop, all CPUs are idle, or QEMU's monitor pauses the guest.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kmtools.lab import triage
from kmtools.lab.machine import Request, boot_guest
from kmtools.lab.qmp import Monitor
from kmtools.lab.result import Result
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, testkernel

# The number of seconds without output after which the CPUs of the guest are inspected.
SILENCE = 5.0
# For each kind of hang, the pattern of the reason that must be reported; None for a busy guest, for
# which no hang may be reported.
EXPECTED_REASONS: dict[str, str | None] = {
    "interrupts": r"CPU [01] takes no interrupt and stays at ffffffffc",
    "breakpoint": r"CPU [01] executes a breakpoint at ffffffffc\w+ endlessly; memory holds cc",
    "idle": r"every CPU is idle",
    "stopped": r"the guest is paused",
    "busy": None,
}
# The line of the guest's output at which the test makes QEMU pause the guest.
STOP = "# stop now"


def judge_hang_report(kind: str, result: Result) -> Tally:
    """Check that a boot with the hang `kind` reported the reason in EXPECTED_REASONS."""
    wanted = EXPECTED_REASONS[kind]
    missed = []
    if wanted is None:
        if result.finding:
            missed.append(f"{kind}: a busy guest was ended: {result.reason}")
        elif not result.ok:
            missed.append(f"{kind}: {result.reason}")
    elif result.finding is None or not re.search(wanted, result.reason):
        missed.append(f"{kind}: {result.reason or 'no hang is reported'}")
    elif result.finding.stale or triage.find_emulator_fault(result, []):
        missed.append(f"{kind}: reported as a fault of the emulator: {result.reason}")
    return Tally(passed=0 if missed else 1, failed=missed)


def boot_hung_guest(kernel: str, modules: Path, kind: str, out: Path) -> Tally:
    """Boot a guest with the hang `kind` (no hang if `kind` is "busy"), and check the reported
    reason."""
    with tempfile.TemporaryDirectory(prefix="kmarkers-hang-") as scratch:
        control = Path(scratch, "control")

        def pause_guest_at_stop_line(line: str) -> None:
            if line == STOP:
                with contextlib.closing(Monitor(control)) as monitor:
                    monitor.execute_qmp_command("stop")

        request = Request(
            kernel=kernel,
            job=kernelsuite.JOBS / "hang.sh",
            out=out / kind,
            modules=modules,
            settings={"KMARKERS_HOW": kind},
            control=control,
            silence=SILENCE,
        )
        return judge_hang_report(kind, boot_guest(request, pause_guest_at_stop_line))


def boot_hung_guests(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel once for each kind of hang."""
    total = Tally()
    for kind in EXPECTED_REASONS:
        tally = boot_hung_guest(kernel, modules, kind, log.with_suffix(""))
        total.add_tally(tally)
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{kind}: {tally.format_summary()}\n")
    return total


def make_hang_suites(kernel: str, modules: Path) -> list[Suite]:
    """Return a list of one suite, which boots a kernel once for each kind of hang."""
    what = "hung guests are detected, with the reason of the hang"
    obstacle = kernelsuite.make_boot_obstacle_finder(kernel)
    return [Suite(f"hang-{kernel}", partial(boot_hung_guests, kernel, modules), what, obstacle, 65)]


def make_requested_hang_suites(suite_request: SuiteRequest, names: Sequence[str]) -> list[Suite]:
    """Return the suites of this file whose names are in `names`, for the requested kernel."""
    return testkernel.make_named_suites_for_kernel(suite_request, names, make_hang_suites)
