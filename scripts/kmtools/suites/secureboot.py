# SPDX-License-Identifier: GPL-2.0-only
"""Tests signed modules in a kernel under UEFI Secure Boot. Unsigned modules, and a kernel whose
signature the firmware does not trust, must be refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from kmtools.lab import catalogue, secureboot
from kmtools.lab.apt import FetchError
from kmtools.lab.machine import Request, boot_guest
from kmtools.lab.result import Result
from kmtools.lab.tracers import TRACERS_MEMORY, fetch_tracers
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import boots, kernelsuite, testkernel

# Modules that are copied to the guest without a signature. The kernel must refuse to load them.
UNSIGNED = ("kmarkers_patcher.ko", "kmarkers_test_fields_again.ko")
# Settings for short stress tests and few load cycles, because other suites run the long tests.
SETTINGS = {"KMARKERS_BATCHES": 100, "KMARKERS_CYCLES": 5}
# The first message of a booting kernel.
STARTED = "Linux version"
# The time limit of the boot that the firmware must refuse.
REFUSAL_SECONDS = 240.0
USUAL_SECONDS = 150


def boot_signed_kernel(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a signed kernel, and run the job secureboot.sh in it."""
    files, missing = fetch_tracers(catalogue.find_kernel_entry(kernel).suite)
    unsigned = [(modules / name, f"/unsigned/{name}") for name in UNSIGNED]
    request = Request(
        kernel=kernel,
        job=kernelsuite.JOBS / "secureboot.sh",
        out=log.with_suffix(""),
        modules=modules,
        additions=[
            *kernelsuite.list_guest_test_files(),
            (boots.TRACING, "/tracing.md"),
            *unsigned,
            *files.items(),
        ],
        settings=SETTINGS,
        timeout=kernelsuite.TIMEOUT_SECONDS,
        memory=TRACERS_MEMORY,
        secure_boot=True,
    )
    tally = kernelsuite.boot_and_tally_job(request, log)
    tally.skipped += missing
    return tally


def judge_firmware_refusal(result: Result) -> Tally:
    """Judge a boot of a kernel without a trusted signature: the firmware must refuse this
    kernel."""
    console = result.console
    if STARTED in console or result.exit_code is not None:
        return Tally(failed=["the firmware starts a kernel that it must refuse"])
    if secureboot.REFUSAL not in console:
        return Tally(
            failed=[f"the firmware does not print that it refuses the kernel: {result.reason}"]
        )
    return Tally(passed=1)


def boot_untrusted_kernel(kernel: str, log: Path) -> Tally:
    """Try to boot the unchanged kernel of the Debian package, with a signature that the firmware
    does not trust; check that the firmware refuses this kernel."""
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
    return judge_firmware_refusal(boot_guest(request))


def boot_signed_and_untrusted_kernel(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a signed kernel and run its tests, then boot a kernel that the firmware must refuse."""
    tally = boot_signed_kernel(kernel, modules, log)
    tally.add_tally(boot_untrusted_kernel(kernel, log))
    return tally


def make_firmware_obstacle_finder(kernel: str) -> Callable[[], str]:
    """Return a function for Suite.obstacle. The function returns "" if the kernel can boot under
    Secure Boot on this machine, else the reason why the kernel cannot boot."""

    def find_secure_boot_obstacle() -> str:
        if found := kernelsuite.make_boot_obstacle_finder(kernel)():
            return found
        try:
            secureboot.fetch_firmware(catalogue.find_kernel_entry(kernel).qemu)
        except FetchError as error:
            return f"firmware with Secure Boot is missing and cannot be fetched: {error}"
        return ""

    return find_secure_boot_obstacle


def make_secureboot_suites(kernel: str, modules: Path) -> list[Suite]:
    """Return a list of one suite, which boots a kernel under Secure Boot: once signed, and once
    with a signature that the firmware must refuse."""
    what = "under Secure Boot, signed modules are loaded, unsigned modules refused"
    run_it = partial(boot_signed_and_untrusted_kernel, kernel, modules)
    return [
        Suite(
            f"secureboot-{kernel}",
            run_it,
            what,
            make_firmware_obstacle_finder(kernel),
            USUAL_SECONDS,
        )
    ]


def make_requested_secure_boot_suites(
    suite_request: SuiteRequest, names: Sequence[str]
) -> list[Suite]:
    """Return a list of the suite of this file, for the requested kernel; empty if `names` does not
    have the name of this suite."""
    return testkernel.make_named_suites_for_kernel(suite_request, names, make_secureboot_suites)
