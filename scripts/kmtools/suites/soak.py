# SPDX-License-Identifier: GPL-2.0-only
"""Runs all activities that change text in parallel, for an hour or longer, and checks every minute
that all changes are undone.

A short boot comes first, in which a fault of each kind is injected: the check for the fault must
fail, and no other check may fail. One thread of the emulator runs all CPUs, because with several
threads a CPU may go on executing a breakpoint that memory no longer holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kmtools.base.progress import Line
from kmtools.lab import triage
from kmtools.lab.machine import Request, boot
from kmtools.lab.result import Result, report
from kmtools.runner import ktap
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, testkernel

SECONDS = 3600
# The time limit of boot and shutdown, in addition to the rounds, on a busy machine. The run is
# ended after that.
AROUND_SECONDS = 900.0
# The memory of the guest in MB. Little memory is used up sooner.
MEMORY = 512
TOLD = "# soak: "

# The injected faults: the round of each, and the check that must fail. Memory is compared from the
# second round on.
FAULTS = {
    "byte": (3, "no byte is left"),
    "count": (3, "no count of entries, exits, SDT probes and records is lost"),
    "leak": (3, "the kernel's memory does not grow"),
    "marker": (4, "no count of a marker is lost"),
    "owner": (4, "no owner of text is left"),
    "log": (4, "the kernel's log has no fault"),
}
FAULT_ROUNDS, FAULT_ROUND_SECONDS = 4, 8
# The time limit of the boot with faults, which usually ends earlier, after its last round.
FAULTS_SECONDS = 1200


def request(kernel: str, modules: Path, out: Path, seconds: int, **settings: object) -> Request:
    """Return the boot of a soak."""
    return Request(
        kernel=kernel,
        job=kernelsuite.JOBS / "soak.sh",
        out=out,
        modules=modules,
        additions=[(kernelsuite.TESTS, "/tests")],
        settings={"KMARKERS_SECONDS": seconds, **settings},
        append="preempt=full",
        timeout=seconds + AROUND_SECONDS,
        memory=MEMORY,
        one_thread=True,
    )


def tell(line: str) -> None:
    """Print the guest's summary line after each round."""
    if line.startswith(TOLD):
        Line().keep(f"  {line.removeprefix('# ')}")


def run(kernel: str, modules: Path, seconds: int, log: Path) -> Tally:
    """Run the soak for `seconds` seconds."""
    asked = request(kernel, modules, log.with_suffix(""), seconds)
    result = boot(asked, tell)
    log.write_text(result.status)
    tally = ktap.parse(result.status.splitlines())
    if not result.ok:
        report(result)
        names = [module.stem.replace("-", "_") for module in modules.glob("*.ko")]
        crash = triage.emulators_crash(result, names)
        tally.failed.append(f"{result.reason} ({crash})" if crash else result.reason)
    return tally


def names_of_faults() -> list[str]:
    """Return the names of the checks that must fail."""
    return [f"round {number}: {check}" for number, check in FAULTS.values()]


def judge_faults(result: Result) -> Tally:
    """Judge a soak with faults: exactly the checks for these faults must fail."""
    said = ktap.parse(result.status.splitlines())
    wanted = names_of_faults()
    tally = Tally(skipped=said.skipped)
    for name in wanted:
        tally.judge(name in said.failed, f"a fault made on purpose is not found: {name}")
    tally.failed += [name for name in said.failed if name not in wanted]
    tally.judge(result.exit_code is not None, f"the guest did not end: {result.reason}")
    return tally


def run_faults(kernel: str, modules: Path, log: Path) -> Tally:
    """Soak shortly, with a fault of each kind."""
    faults = " ".join(f"{number}:{kind}" for kind, (number, _) in FAULTS.items())
    asked = request(
        kernel,
        modules,
        log.with_suffix(""),
        FAULTS_SECONDS,
        KMARKERS_ROUND=FAULT_ROUND_SECONDS,
        KMARKERS_ROUNDS=FAULT_ROUNDS,
        KMARKERS_FAULTS=faults,
    )
    result = boot(asked)
    log.write_text(result.status)
    return judge_faults(result)


def suites(kernel: str, modules: Path, seconds: int) -> list[Suite]:
    """Return the parts of `make soak`."""
    obstacle = kernelsuite.obstacle(kernel)
    faults = Suite(
        f"soak-faults-{kernel}",
        partial(run_faults, kernel, modules),
        "a fault of each kind made on purpose is found",
        obstacle,
        180,
    )
    soak = Suite(
        f"soak-rounds-{kernel}",
        partial(run, kernel, modules, seconds),
        f"everything that changes text at once, for {seconds} s",
        obstacle,
        seconds + 60,
    )
    return [faults, soak]


def suites_of(ask: Ask, names: Sequence[str]) -> list[Suite]:
    """Return the suites of these names."""
    some = partial(suites, seconds=ask.number("seconds", SECONDS))
    return testkernel.of_kernel(ask, names, some)
