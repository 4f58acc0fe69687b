# SPDX-License-Identifier: GPL-2.0-only
"""Tests commands of this checkout on an emulated machine with AMD's virtualisation: the choice of
the accelerator, test kernels under KVM, and a measurement in the running kernel.

A test kernel is booted with the root directory of this machine (see lab/hostguest.py), and the job
kvm.sh runs the commands in it, step by step. The tables CHOICE, GUESTS and BENCH_HOST say what each
step must print, and with which exit code the step must end.
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kmtools.base import processes
from kmtools.lab import accel, hostguest, userspace
from kmtools.lab.hostguest import HostJob
from kmtools.lab.result import VM_JSON, print_boot_failure
from kmtools.measure import bench
from kmtools.measure.rundir import UNIT_EMULATED
from kmtools.runner import ktap
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, testkernel

JOB = kernelsuite.JOBS / "kvm.sh"
# The time limits in seconds of a whole part, and of the suites in a test kernel under KVM. Both
# limits are long: when other programs used both CPUs, the suites took more than 900 s. A guest that
# hangs is noticed earlier, by the state of its CPUs.
PART_SECONDS, GUEST_SECONDS = 3000.0, 1500.0
# The suites that kvm.sh runs in a test kernel under KVM.
GUEST_SUITES = ("orders", "cases", "modules", "examples", "typed", "sdt")
# The accelerator in the description of a test kernel: KVM on a machine that is itself emulated.
UNDER_EMULATED_KVM = {"accel": "kvm", "emulated": True}

ABSENT = f"there is no /dev/kvm; {accel.REMEDY}"
NO_DEVICE = f"/dev/kvm is no device of KVM (Inappropriate ioctl for device); {accel.REMEDY}"
NO_ACCESS = "/dev/kvm cannot be opened; add yourself to the group kvm"
EMULATED, FORCED = "vm: emulated: ", "vm accel: KMARKERS_ACCEL is kvm, and "
UNDER_KVM = "vm: under KVM"
TRYING = f"vm: trying kernel .* under KVM, at most {accel.TRIAL_BOOT_SECONDS:.0f} s"
TIME_OUT = (
    f"{FORCED}kernel .* fails under KVM: no exit status after {accel.TRIAL_BOOT_SECONDS:.0f} s"
    ".*; the log is in .*"
)

# The beginning and end of a line in which kvm.sh prints a marker's hit count, which must not be 0.
HITS_PREFIX, NONZERO = "hits of ", r": [1-9]\d*"


@dataclass(frozen=True)
class Step:
    """What a step of kvm.sh must do: end with the exit code `code`, and print a matching line for
    each regular expression in `lines`. Further lines are allowed only if `more` is set."""

    code: int
    lines: Sequence[str] = ()
    more: bool = False

    def describe_step_deviation(self, folder: Path, name: str) -> str:
        """Return the difference between the exit code and output of the step `name`, which the
        directory `folder` has, and the required exit code and output; "" if there is none."""
        code, output = folder / f"{name}.code", folder / f"{name}.log"
        if not code.is_file():
            return "the step did not end"
        said = output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        last = said[-1] if said else "none"
        if code.read_text(encoding="utf-8").strip() != str(self.code):
            found = code.read_text(encoding="utf-8").strip()
            return f"exit code {found} instead of {self.code}; last line of output: {last}"
        for line in self.lines:
            if not any(re.fullmatch(line, found) for found in said):
                return f"the output lacks the line {line!r}; last line of output: {last}"
        if not self.more and len(said) != len(self.lines):
            count = f"{len(said)} lines of output instead of {len(self.lines)}"
            return f"{count}; last line of output: {last}"
        return ""


# What each step of kvm.sh must do: one table for each of the three parts.
CHOICE = {
    "absent": Step(0, [re.escape(EMULATED + ABSENT)]),
    "absent-forced": Step(2, [re.escape(FORCED + ABSENT)]),
    "plain-file-forced": Step(2, [re.escape(FORCED + NO_DEVICE)]),
    "other-device": Step(0, [re.escape(EMULATED + NO_DEVICE)]),
    "other-device-forced": Step(2, [re.escape(FORCED + NO_DEVICE)]),
    "no-access": Step(0, [re.escape(EMULATED + NO_ACCESS)]),
    "no-access-forced": Step(2, [re.escape(FORCED + NO_ACCESS)]),
    "time-out-forced": Step(2, [TRYING, TIME_OUT]),
    "time-out-verdicts": Step(0),
    "chosen": Step(0, [TRYING, UNDER_KVM]),
    "chosen-again": Step(0, [UNDER_KVM]),
}
GUESTS = {
    "suites": Step(0, [f"# suite: {name}" for name in GUEST_SUITES], more=True),
    "bench": Step(0, [f" *{UNDER_KVM}"], more=True),
    "table": Step(
        0,
        [
            f"vm, kernel .*: {re.escape(UNIT_EMULATED)} per operation",
            *(rf" {name}: .*" for name in bench.QUICK_GUEST_BENCHMARKS),
        ],
        more=True,
    ),
}
BENCH_HOST = {
    "unattended": Step(2, ["host: nothing done"], more=True),
    "loaded": Step(0, more=True),
    "macro-syscall": Step(
        0,
        [r"perf bench syscall basic -l 1000 .* 2 .*", f"{HITS_PREFIX}live_getppid_entry{NONZERO}"],
        more=True,
    ),
    "macro-messaging": Step(
        0,
        [
            r"perf bench sched messaging -g 1 -l 10 .* 2 .*",
            f"{HITS_PREFIX}unix_stream_sendmsg{NONZERO}",
        ],
        more=True,
    ),
    "macro-compile": Step(
        0,
        [r"make -sBC native .*sdt/list\.o .* 2 .*", f"{HITS_PREFIX}handle_mm_fault{NONZERO}"],
        more=True,
    ),
    "unloaded": Step(0, more=True),
    "no-module-left": Step(0),
    "measured": Step(0, more=True),
    "measured-unloaded": Step(0),
    "terminal-declined": Step(2, [r".*Continue\? \[y/N\] .*host: nothing done"], more=True),
    "terminal-declined-unloaded": Step(0),
    "terminal-measured": Step(0, [r".*Continue\? \[y/N\] .*"], more=True),
    "terminal-measured-unloaded": Step(0),
    "terminal-report": Step(0, ["the kernel of a virtual machine, emulated"], more=True),
    "interrupted": Step(130, ["bench: interrupted; .*"], more=True),
    "interrupted-unloaded": Step(0),
}


def judge_job_steps(steps: Mapping[str, Step], folder: Path) -> Tally:
    """Judge steps by their exit codes and outputs in `folder`; return one result for each step. A
    step that printed "SKIP REASON" is skipped."""
    tally = Tally()
    for name, step in steps.items():
        output = folder / f"{name}.log"
        said = output.read_text(encoding="utf-8", errors="replace") if output.is_file() else ""
        if said.startswith("SKIP "):
            tally.skipped.append(f"{name}: {said.removeprefix('SKIP ').strip()}")
            continue
        why = step.describe_step_deviation(folder, name)
        tally.add_result(not why, f"{name}: {why}")
    return tally


def read_json_object(path: Path) -> dict[str, Any]:
    """Read a JSON object; return an empty dictionary if the file does not exist, or is incomplete
    because the guest was ended while it wrote the file."""
    found: dict[str, Any] = {}
    with contextlib.suppress(FileNotFoundError, ValueError):
        found = json.loads(path.read_text(encoding="utf-8"))
    return found


def judge_accelerator_choice(folder: Path) -> Tally:
    """Judge the steps of the part `choice`."""
    return judge_job_steps(CHOICE, folder)


def judge_kvm_guests(folder: Path) -> Tally:
    """Judge the part `guests`: its steps, and the results of the suites under KVM. The stored
    descriptions of the test kernels must name KVM as the accelerator."""
    tally = judge_job_steps(GUESTS, folder)
    log = folder / "suites.log"
    tally.add_tally(
        ktap.parse_ktap(log.read_text(encoding="utf-8").splitlines() if log.is_file() else [])
    )
    env = read_json_object(folder / "env.json")
    described = [
        ("suites", read_json_object(folder / "suites" / VM_JSON)),
        *(("bench", tier["vm"]) for tier in env.get("tiers", [{"vm": {}}])),
    ]
    for name, vm in described:
        found = {key: vm.get(key) for key in UNDER_EMULATED_KVM}
        tally.add_result(found == UNDER_EMULATED_KVM, f"{name}: the test kernel ran with {found}")
    return tally


def judge_bench_host(folder: Path) -> Tally:
    """Judge the part `bench-host`: its steps, and its page of results. The page must say that the
    kernel ran in an emulated virtual machine."""
    tally = judge_job_steps(BENCH_HOST, folder)
    page = folder / "report.html"
    said = page.read_text(encoding="utf-8") if page.is_file() else ""
    tally.add_result(
        "the kernel of a virtual machine, emulated" in said and "on the real machine" not in said,
        "the page of results does not say that the kernel ran in an emulated virtual machine",
    )
    tally.add_result(
        "kernel of a real machine, run make bench-host" not in said,
        "the page of results advises to run `make bench-host`, which has run here",
    )
    return tally


@dataclass(frozen=True)
class Part:
    """A part of kvm.sh: a description, the function that judges its results, and its usual time in
    seconds."""

    what: str
    judge: Callable[[Path], Tally]
    usual: float


PARTS = {
    "kvm-choice": Part(
        "KVM is used where it works, else the reason is named", judge_accelerator_choice, 240
    ),
    "kvm-guests": Part("suites and benchmarks in test kernels under KVM", judge_kvm_guests, 700),
    "bench-host": Part("`make bench-host` in an emulated machine", judge_bench_host, 240),
}


def run_kvm_job_part(name: str, kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel with the root directory of this machine, run a part of kvm.sh in it, and judge
    the results. A fault in the log of this kernel is a failure, too."""
    # Build the programs on this machine: compiling in the emulated guest would take long.
    if processes.run_program(userspace.build_make_command("bench"), log):
        return Tally(failed=[f"kmbench does not build: see {log}"])
    settings = {
        "KMARKERS_PART": name,
        "KMARKERS_GUEST_SECONDS": f"{GUEST_SECONDS:.0f}",
        "KMARKERS_GUEST_SUITES": " ".join(GUEST_SUITES),
    }
    job = HostJob(kernel, JOB, log.with_suffix(""), PART_SECONDS, modules, settings)
    remove_existing_files(job.output.rglob("*"))
    retries: list[str] = []
    with tempfile.TemporaryDirectory(prefix="kmarkers-host-") as scratch:
        request = hostguest.make_host_guest_request(job, Path(scratch))
        result = kernelsuite.boot_and_retry_emulator_crashes(request, retries)
    kernelsuite.print_boot_retries(retries)
    log.write_text(result.status, encoding="utf-8")
    tally = PARTS[name].judge(job.output)
    if not result.ok:
        print_boot_failure(result)
        tally.failed.append(result.reason)
    return tally


def remove_existing_files(paths: Iterable[Path]) -> None:
    """Remove the files of an earlier run, so that their results are not judged."""
    for path in paths:
        if path.is_file():
            path.unlink()


def make_host_guest_obstacle_finder(kernel: str) -> Callable[[], str]:
    """Return a function for Suite.obstacle. The function returns "" if the kernel can boot with
    this machine's root directory and /dev/kvm, else the reason why the kernel cannot boot."""

    def find_host_guest_boot_obstacle() -> str:
        return kernelsuite.make_boot_obstacle_finder(
            kernel
        )() or hostguest.find_host_guest_obstacle(kernel)

    return find_host_guest_boot_obstacle


def make_kvm_suites(kernel: str, modules: Path) -> list[Suite]:
    """Return a suite for each part of kvm.sh. The suites run with nothing in parallel: otherwise a
    trial boot under emulated KVM could exceed its time limit."""
    return [
        Suite(
            f"{name}-{kernel}",
            partial(run_kvm_job_part, name, kernel, modules),
            part.what,
            make_host_guest_obstacle_finder(kernel),
            part.usual,
            calm=True,
        )
        for name, part in PARTS.items()
    ]


def make_requested_kvm_suites(suite_request: SuiteRequest, names: Sequence[str]) -> list[Suite]:
    """Return the suites of this file whose names are in `names`, for the requested kernel."""
    return testkernel.make_named_suites_for_kernel(suite_request, names, make_kvm_suites)
