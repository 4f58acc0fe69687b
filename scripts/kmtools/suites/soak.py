# SPDX-License-Identifier: GPL-2.0-only
"""Soak test: patches kernel text with all mechanisms in parallel for an hour or longer. A round
takes a minute; after each round, the test checks that all changes are undone.

The suite soak-faults injects a fault of each kind in a short boot: the check for this fault must
fail, and no other check may fail. One thread of QEMU emulates all CPUs, because with several
threads an emulated CPU may execute an int3 after it was replaced in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kmtools.base.progress import Line
from kmtools.lab import triage
from kmtools.lab.machine import Request, boot_guest
from kmtools.lab.result import Result, print_boot_failure
from kmtools.runner import ktap
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, testkernel

# The default duration of the soak in seconds.
SECONDS = 3600
# The part of the time limit that is for boot and shutdown, long enough for a busy machine.
AROUND_SECONDS = 900.0
# The memory of the guest in MiB: so little that a leak soon exhausts the memory.
MEMORY = 512
# The prefix of the summary line that the guest prints after each round.
SUMMARY_PREFIX = "# soak: "

# The injected faults, by kind: the number of the round in which the fault is injected, and the
# check that must then fail. The fault "leak" is injected after the second round, because the check
# compares the memory in use with the memory in use at the end of the second round.
FAULTS = {
    "byte": (3, "the text is the same as before the first round"),
    "count": (3, "the counts of entries, exits, SDT probes and records are exact"),
    "leak": (3, "the growth of kernel memory is within the limit"),
    "marker": (4, "the counts of ten markers are exact"),
    "owner": (4, "modules, probes and ftrace are as before the first round"),
    "log": (4, "the kernel logged no fault"),
}
# The number of rounds of the soak with faults, and the duration of a round in seconds.
FAULT_ROUNDS, FAULT_ROUND_SECONDS = 4, 8
# The maximum duration of the soak with faults, in seconds. This soak ends earlier, after
# FAULT_ROUNDS rounds.
FAULTS_SECONDS = 1200


def make_soak_request(
    kernel: str, modules: Path, out: Path, seconds: int, **settings: object
) -> Request:
    """Return the request for a boot of a kernel in which the soak test runs for `seconds`
    seconds."""
    return Request(
        kernel=kernel,
        job=kernelsuite.JOBS / "soak.sh",
        out=out,
        modules=modules,
        additions=kernelsuite.list_guest_test_files(),
        settings={"KMARKERS_SECONDS": seconds, **settings},
        append="preempt=full",
        timeout=seconds + AROUND_SECONDS,
        memory=MEMORY,
        one_thread=True,
    )


def print_round_summary(line: str) -> None:
    """Print a line of the guest if it is the summary of a round."""
    if line.startswith(SUMMARY_PREFIX):
        Line().print_permanent_line(f"  {line.removeprefix('# ')}")


def run_soak(kernel: str, modules: Path, seconds: int, log: Path) -> Tally:
    """Boot a kernel, and run the soak test in it for `seconds` seconds."""
    asked = make_soak_request(kernel, modules, log.with_suffix(""), seconds)
    result = boot_guest(asked, print_round_summary)
    log.write_text(result.status, encoding="utf-8")
    tally = ktap.parse_ktap(result.status.splitlines())
    if not result.ok:
        print_boot_failure(result)
        names = [module.stem.replace("-", "_") for module in modules.glob("*.ko")]
        crash = triage.find_emulator_fault(result, names)
        tally.failed.append(f"{result.reason} ({crash})" if crash else result.reason)
    return tally


def list_injected_fault_checks() -> list[str]:
    """Return the names of the checks that must fail in the boot with injected faults."""
    return [f"round {number}: {check}" for number, check in FAULTS.values()]


def judge_injected_fault_boot(result: Result) -> Tally:
    """Judge the boot with injected faults: the checks for these faults must fail, and no other
    check may fail."""
    said = ktap.parse_ktap(result.status.splitlines())
    wanted = list_injected_fault_checks()
    tally = Tally(skipped=said.skipped)
    for name in wanted:
        tally.add_result(name in said.failed, f"an injected fault is not detected: {name}")
    tally.failed += [name for name in said.failed if name not in wanted]
    tally.add_result(result.exit_code is not None, f"the job did not end: {result.reason}")
    return tally


def run_soak_with_faults(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel, and run a short soak test in it, in which a fault of each kind is injected."""
    faults = " ".join(f"{number}:{kind}" for kind, (number, _) in FAULTS.items())
    asked = make_soak_request(
        kernel,
        modules,
        log.with_suffix(""),
        FAULTS_SECONDS,
        KMARKERS_ROUND=FAULT_ROUND_SECONDS,
        KMARKERS_ROUNDS=FAULT_ROUNDS,
        KMARKERS_FAULTS=faults,
    )
    result = boot_guest(asked)
    log.write_text(result.status, encoding="utf-8")
    return judge_injected_fault_boot(result)


def make_soak_suites(kernel: str, modules: Path, seconds: int) -> list[Suite]:
    """Return the suites of `make soak` for a kernel."""
    obstacle = kernelsuite.make_boot_obstacle_finder(kernel)
    faults = Suite(
        f"soak-faults-{kernel}",
        partial(run_soak_with_faults, kernel, modules),
        "each kind of injected fault is detected",
        obstacle,
        180,
    )
    soak = Suite(
        f"soak-rounds-{kernel}",
        partial(run_soak, kernel, modules, seconds),
        f"text patching by all mechanisms in parallel, for {seconds} s",
        obstacle,
        seconds + 60,
    )
    return [faults, soak]


def make_requested_soak_suites(suite_request: SuiteRequest, names: Sequence[str]) -> list[Suite]:
    """Return the suites of this file whose names are in `names`, for the requested kernel."""
    some = partial(make_soak_suites, seconds=suite_request.get_option_number("seconds", SECONDS))
    return testkernel.make_named_suites_for_kernel(suite_request, names, some)
