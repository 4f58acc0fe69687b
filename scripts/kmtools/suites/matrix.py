# SPDX-License-Identifier: GPL-2.0-only
"""Runs the tests inside the kernels of kernels.txt, and keeps the results in build/matrix/.

`kmarkers publish kernels` writes them to Documentation/kernels.md; see kernelpage.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from kmtools.base.text import aligned
from kmtools.runner import registry
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelpage, kernelsuite, testkernel
from kmtools.suites.kernelpage import Kept
from kmtools.suites.kernelsuite import Outcome

USUAL_SECONDS = 240.0
# The suites that another kernel can break. The order of loading modules does not depend on the
# kernel.
GATE_SUITES = [
    row.name for row in registry.guest_rows() if "short" in row.sets and row.name != "orders"
]
# Short storms and small samples: long ones are run by the default kernel, and by the matrix.
GATE_SETTINGS = {**kernelsuite.FEW_SETTINGS, "KMARKERS_SUITES": " ".join(GATE_SUITES)}


def cell(tally: Tally | None) -> str:
    """Return one suite's results in a few characters."""
    if tally is None:
        return "-"
    parts = [str(tally.passed)]
    if tally.failed:
        parts.append(f"{len(tally.failed)} FAILED")
    if tally.skipped:
        parts.append(f"{len(tally.skipped)} skipped")
    return ", ".join(parts)


def rows(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Return the table with its head: one line per kernel, one column per suite."""
    names = list(dict.fromkeys(name for outcome in outcomes for name in outcome.suites))
    table = [
        ["kernel", "version", "QEMU", *names, "passed", "failed", "skipped", "seconds", "retries"]
    ]
    for one in outcomes:
        tally = one.tally
        numbers = (tally.passed, len(tally.failed), len(tally.skipped))
        table.append(
            [
                *(one.kernel, one.version, short_version(one.qemu)),
                *(cell(one.suites.get(name)) for name in names),
                *(str(number) for number in numbers),
                *(f"{one.seconds:.0f}", str(len(one.retries))),
            ]
        )
    return table


def short_version(qemu: str) -> str:
    """Return the number from QEMU's description of its version."""
    match = re.search(r"version ([0-9.]+)", qemu)
    return match[1] if match else qemu


def notes(outcomes: Iterable[Outcome]) -> list[str]:
    """Return a line for every failure, skip, retry and slow kernel."""
    lines = []
    for one in outcomes:
        for suite, tally in one.suites.items():
            lines += [f"FAILED {one.kernel} {suite}: {why}" for why in tally.failed]
            lines += [f"SKIP {one.kernel} {suite}: {why}" for why in tally.skipped]
        lines += [
            f"RETRIED {one.kernel}: the emulator was at fault, not our code: {why}"
            for why in one.retries
        ]
        if one.short:
            lines.append(f"SHORT {one.kernel}: the storms were short")
        if one.seconds > one.may_take:
            lines.append(f"SLOW {one.kernel}: slower than {one.may_take / 60:g} minutes")
    return lines


def total_time(outcomes: Sequence[Outcome]) -> str:
    """Return the time of all rows together, as a sentence."""
    seconds = sum(one.seconds for one in outcomes)
    return f"Building, booting and testing took {seconds:.0f} s in all."


def as_text(outcomes: Sequence[Outcome]) -> str:
    """Return the table for a terminal."""
    return "\n".join([*aligned(rows(outcomes)), total_time(outcomes), *notes(outcomes)]) + "\n"


def keep(outcome: Outcome) -> None:
    """Keep the results of a kernel for the page."""
    suites = outcome.suites
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    kernelpage.keep(
        Kept(
            outcome.kernel, outcome.version, short_version(outcome.qemu), today,
            kernelpage.commit(), suites,
        )
    )  # fmt: skip


def in_kernel(kernel: str, keeps: bool, log: Path) -> Tally:
    """Build for a kernel and run tests inside it: if `keeps` is set, all suites in two boots, whose
    results are kept; else the gate suites in one boot."""
    settings = None if keeps else GATE_SETTINGS
    # A single boot for all suites would exceed the time limit of a guest if other programs run in
    # parallel.
    lists = registry.guest_lists() if keeps else ()
    outcome = kernelsuite.run_or_say(kernel, log.with_suffix(""), settings=settings, lists=lists)
    if keeps:
        keep(outcome)
    log.write_text(as_text([outcome]))
    kernelsuite.tell_retries(outcome.retries)
    return outcome.tally


def suites_of(ask: Ask, names: Sequence[str]) -> list[Suite]:
    """Return a suite for each kernel: the named one, the gating ones, or all of a kind."""
    listed = kernelpage.listed()
    default = testkernel.kernel_of(ask)
    chosen: dict[str, bool] = {}
    if "gates" in names:
        gates = [one.name for one in listed if one.role == "gates" and one.name != default]
        chosen |= dict.fromkeys(gates, False)
    for name, debug in (("matrix", False), ("debug", True)):
        if name in names:
            of_kind = [one.name for one in listed if bool(one.debug) == debug]
            chosen |= dict.fromkeys([default] if ask.named else of_kind, True)
    return [
        Suite(
            f"kernel-{kernel}",
            partial(in_kernel, kernel, keeps),
            f"every module and file inside kernel {kernel}",
            kernelsuite.obstacle(kernel),
            USUAL_SECONDS,
        )
        for kernel, keeps in chosen.items()
    ]
