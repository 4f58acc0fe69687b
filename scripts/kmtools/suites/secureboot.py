# SPDX-License-Identifier: GPL-2.0-only
"""Checks that signed modules work under UEFI Secure Boot, and that unsigned ones are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from kmtools.lab import catalogue, secureboot
from kmtools.lab.apt import FetchError
from kmtools.lab.machine import Request, boot
from kmtools.lab.result import Result
from kmtools.lab.tracers import TRACERS_MEMORY, fetch_tracers
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import boots, kernelsuite, testkernel

# Modules that the guest gets without a signature and must refuse.
UNSIGNED = ("kmarkers_patcher.ko", "kmarkers_test_fields_again.ko")
# Short storms and few cycles of loading, because other suites run long ones.
SETTINGS = {"KMARKERS_BATCHES": 100, "KMARKERS_CYCLES": 5}
# The first message of a kernel.
STARTED = "Linux version"
REFUSAL_SECONDS = 240.0
USUAL_SECONDS = 150


def run_suites(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel that is signed, and run the suites in it."""
    files, missing = fetch_tracers(catalogue.find(kernel).suite)
    unsigned = [(modules / name, f"/unsigned/{name}") for name in UNSIGNED]
    request = Request(
        kernel=kernel,
        job=kernelsuite.JOBS / "secureboot.sh",
        out=log.with_suffix(""),
        modules=modules,
        additions=[
            (kernelsuite.TESTS, "/tests"),
            (boots.TRACING, "/tracing.md"),
            *unsigned,
            *files.items(),
        ],
        settings=SETTINGS,
        timeout=kernelsuite.TIMEOUT_SECONDS,
        memory=TRACERS_MEMORY,
        secure_boot=True,
    )
    tally = kernelsuite.run_alone(request, log)
    tally.skipped += missing
    return tally


def judge_refusal(result: Result) -> Tally:
    """Judge a boot whose kernel is not signed with the key that the firmware trusts."""
    console = result.console
    if STARTED in console or result.exit_code is not None:
        return Tally(failed=["the firmware starts a kernel that it must refuse"])
    if secureboot.REFUSAL not in console:
        return Tally(failed=[f"the firmware does not say that it refuses it: {result.reason}"])
    return Tally(passed=1)


def run_refusal(kernel: str, log: Path) -> Tally:
    """Boot the kernel as its packages have it, without a signature that the firmware trusts."""
    request = Request(
        kernel=kernel,
        job=kernelsuite.JOBS / "secureboot.sh",
        out=log.with_suffix("") / "refusal",
        timeout=REFUSAL_SECONDS,
        silence=0.0,
        secure_boot=True,
        signed=False,
        until=secureboot.REFUSAL,
    )
    return judge_refusal(boot(request))


def run(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel that the firmware starts, and one that it refuses."""
    tally = run_suites(kernel, modules, log)
    tally.add(run_refusal(kernel, log))
    return tally


def obstacle(kernel: str) -> Callable[[], str]:
    """Return a function that returns why the kernel cannot boot under Secure Boot here; empty if it
    can."""

    def why() -> str:
        if found := kernelsuite.obstacle(kernel)():
            return found
        try:
            secureboot.tools(catalogue.find(kernel).qemu)
        except FetchError as error:
            return f"firmware with Secure Boot is missing and cannot be fetched: {error}"
        return ""

    return why


def suites(kernel: str, modules: Path) -> list[Suite]:
    """Return the suite, as a list of one."""
    what = "signed modules under Secure Boot, and unsigned ones, which are refused"
    run_it = partial(run, kernel, modules)
    return [Suite(f"secureboot-{kernel}", run_it, what, obstacle(kernel), USUAL_SECONDS)]


def suites_of(ask: Ask, names: Sequence[str]) -> list[Suite]:
    """Return the suites of these names."""
    return testkernel.of_kernel(ask, names, suites)
