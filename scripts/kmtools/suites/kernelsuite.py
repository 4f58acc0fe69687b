# SPDX-License-Identifier: GPL-2.0-only
"""Builds everything for one test kernel, runs the tests inside it and judges the results."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kmtools.base import processes
from kmtools.base.errors import OBSTACLES, explain
from kmtools.base.paths import ROOT
from kmtools.lab import catalogue, chroot, emulator, symbols, triage, userspace
from kmtools.lab.apt import FetchError
from kmtools.lab.build import build_modules, object_dir, strip_copies
from kmtools.lab.catalogue import Entry
from kmtools.lab.kernels import ensure
from kmtools.lab.machine import Request, boot
from kmtools.lab.result import LOOK_LOG, Result, report
from kmtools.runner import ktap, least, registry
from kmtools.runner.ktap import Tally

TESTS = ROOT / "tests" / "vm"
JOBS = TESTS / "jobs"
READER = ROOT / "examples" / "reader"
MODULES = ROOT / "build" / "modules"
# These flags are the same as for `lab shell`: with other flags, the two kinds of builds would
# recompile everything each time.
MAKE_ARGS = ["-s", "KMARKERS_TESTS=m"]
STRIPPED = "example_client"
TIMEOUT_SECONDS = 1200.0
# The usual time of the first boot, which is short, on 2 idle cores. If it takes longer, the time
# limit of the tests is raised in proportion.
ALARM_SECONDS, ALARM_DEBUG_SECONDS = 15.0, 30.0
# The time above which the table marks a kernel as slow.
SLOW_SECONDS, SLOW_DEBUG_SECONDS = 240.0, 360.0
WARN_MODULE = "kmarkers_test_warn"
WARN_TEST = "module that warns loads"
# This module is built for kernels that check the use of RCU.
UNWATCHED_MODULE = "kmarkers_test_unwatched"
UNWATCHED_TEST = "a marker is hit where RCU does not watch"
UNWATCHED_REPORT = "a marker where RCU is not watching"

# Boot parameters for the parts of debug kernels, and the sizes of their tests.
PANIC_ON_WARN = "panic_on_warn=1"
# Until the kernel has randomness, it prints no hashed addresses.
RANDOMNESS = "random.trust_cpu=on"
# Five levels of page tables are off: an interrupt while the kernel identifies the first CPU sees
# cleared CPU features, and KASAN then reports every address as wild.
FOUR_LEVELS = "no5lvl"
APPEND = {"kasan": (PANIC_ON_WARN, FOUR_LEVELS), "kcsan": (), "clang": ()}
DEBUG_SETTINGS = {
    "KMARKERS_BATCHES": 100,
    "KMARKERS_CYCLES": 10,
    "KMARKERS_SAMPLE": "many_*[05]0",
    "KMARKERS_ORDERS": "example_client example_probe",
    "KMARKERS_SAMPLES": 4,
    "KMARKERS_STEP": 6,
}

# Sizes for slow emulators: other commands run long storms and large samples.
SLOW_SETTINGS = {"KMARKERS_BATCHES": 30, "KMARKERS_CYCLES": 3, "KMARKERS_SAMPLES": 4}

# Sizes for short storms; other commands run the long ones.
SHORT_SETTINGS = {
    "KMARKERS_BATCHES": 200,
    "KMARKERS_CYCLES": 20,
    "KMARKERS_ORDERS": "example_client example_probe",
}

# Sizes for "make check", and for other kernels in "make check-full": even fewer storms and samples.
FEW_SETTINGS = {
    **SHORT_SETTINGS,
    "KMARKERS_BATCHES": 100,
    "KMARKERS_CYCLES": 5,
    "KMARKERS_SAMPLES": 4,
    "KMARKERS_SAMPLE": "many_*[05]0",
}

FINDING = re.compile(r"\b(warning|error|WARNING|ERROR)\b[: ]|\bundefined!")
# Every build with another minor version of the compiler prints this, with both versions.
HARMLESS = re.compile(r"the compiler differs from the one used to build the kernel")

Settings = Mapping[str, object]


@dataclass
class Outcome:
    """The results of one kernel."""

    kernel: str
    version: str = "-"
    release: str = "-"
    qemu: str = "-"
    suites: dict[str, Tally] = field(default_factory=dict)
    seconds: float = 0.0
    may_take: float = SLOW_SECONDS
    short: bool = False
    retries: list[str] = field(default_factory=list)

    @property
    def tally(self) -> Tally:
        """The results of all suites."""
        total = Tally()
        for suite in self.suites.values():
            total.add(suite)
        return total

    def fail(self, suite: str, why: str) -> None:
        """Record a failure outside of the tests."""
        self.suites.setdefault(suite, Tally()).failed.append(why)


def findings(log: str) -> list[str]:
    """Return the warnings and errors in a build's output."""
    return [line for line in log.splitlines() if FINDING.search(line) and not HARMLESS.search(line)]


def obstacle(kernel: str) -> Callable[[], str]:
    """Return a function that returns why a kernel cannot boot here, such as missing privileges or a
    missing kernel; empty if it can."""

    def why() -> str:
        if found := chroot.obstacle():
            return found
        try:
            ensure(catalogue.find(kernel))
        except FetchError as error:
            return f"kernel {kernel} is missing and cannot be fetched: {error}"
        return ""

    return why


def kmlive(modules: Path) -> Path:
    """Return the path of kmlive, the program that the suite of the benchmarks runs."""
    return modules.with_name(f"{modules.name}-programs") / "kmlive"


def build(name: str, modules: Path, log: Path) -> Tally:
    """Build all modules, tests, examples and kmlive; a warning is a failure."""
    log.unlink(missing_ok=True)
    program = kmlive(modules)
    words = userspace.make(program, out=program.parent)
    if not userspace.obstacle() and processes.run(words, log):
        return Tally(failed=[f"kmlive does not build: see {log}"])
    code = build_modules(name, ROOT, modules, MAKE_ARGS, log)
    found = findings(log.read_text(errors="replace"))
    if code and not found:
        found = ["make failed"]
    if found:
        # The objects are removed, because the next make would not compile these files and warn
        # again.
        shutil.rmtree(object_dir(name, ROOT), ignore_errors=True)
    else:
        strip_copies(modules, STRIPPED)
    return Tally(passed=0 if found else 1, failed=found)


def boot_patiently(request: Request, retries: list[str]) -> Result:
    """Boot a kernel, and repeat the boot if the emulator crashed. `retries` gets the reasons; all
    logs are kept."""
    built = request.modules.glob("*.ko") if request.modules else ()
    names = [module.stem.replace("-", "_") for module in built]
    while True:
        result = boot(request)
        if (request.out / LOOK_LOG).is_file():
            symbols.name_addresses(request.kernel, request.out / LOOK_LOG)
        crash = triage.emulators_crash(result, names)
        if crash is None or len(retries) == triage.MOST_RETRIES:
            return result
        retries.append(crash)
        kept = request.out.with_name(f"{request.out.name}.crash-{len(retries)}")
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(request.out, kept)


def tell_retries(retries: Iterable[str]) -> None:
    """Print why a boot was repeated."""
    for reason in retries:
        print(f"  RETRIED, the emulator was at fault: {reason}", flush=True)


def run_alone(request: Request, log: Path) -> Tally:
    """Boot to run one script; `log` gets its results."""
    retries: list[str] = []
    result = boot_patiently(request, retries)
    tell_retries(retries)
    log.write_text(result.status)
    tally = ktap.parse(result.status.splitlines())
    if not result.ok:
        report(result)
        tally.failed.append(result.reason)
    return tally


def appended(entry: Entry) -> list[str]:
    """Return the words of a kernel's command line that other kernels do not have."""
    words = [word for part in entry.debug for word in APPEND[part]]
    return [RANDOMNESS, *words] if entry.debug else []


def boot_and_run(
    entry: Entry,
    modules: Path,
    out: Path,
    outcome: Outcome,
    job: str,
    settings: Settings | None = None,
    pace: float = 1.0,
) -> Result:
    """Boot a kernel and run a script, with all files that it needs. `pace` is a factor for the time
    limit."""
    program = kmlive(modules)
    request = Request(
        kernel=entry.name,
        job=JOBS / job,
        out=out,
        modules=modules,
        additions=[
            *((TESTS, "/tests"), (READER, "/examples")),
            *([(program, "/kmlive")] if program.exists() else []),
        ],
        settings=settings or {},
        append=" ".join(appended(entry)),
        timeout=TIMEOUT_SECONDS * pace,
        memory=2048 if entry.debug else 1024,
    )
    return boot_patiently(request, outcome.retries)


def alarm(entry: Entry, modules: Path, out: Path, outcome: Outcome) -> Tally:
    """Make a kernel warn on purpose: the test during the warning and the run must fail."""
    result = boot_and_run(entry, modules, out, outcome, "alarm.sh")
    said = ktap.parse(result.status.splitlines())
    missed = []
    if result.ok or not any(WARN_MODULE in line for line in result.dirt):
        missed.append("a warning in the kernel log does not fail the run")
    if PANIC_ON_WARN in appended(entry):
        # The kernel panics in the middle of the test.
        if result.exit_code is not None or not any("Kernel panic" in line for line in result.dirt):
            missed.append(f"a warning does not make a kernel panic despite {PANIC_ON_WARN}")
    elif result.exit_code is None or said.failed != [WARN_TEST]:
        missed.append(f"a warning does not fail the test during which it appears: {said}")
    return Tally(passed=0 if missed else 1, failed=missed)


def unwatched(entry: Entry, modules: Path, out: Path, outcome: Outcome) -> Tally:
    """Boot a kernel with PROVE_RCU: it must report only the marker that is hit where RCU does not
    watch."""
    result = boot_and_run(entry, modules, out, outcome, "unwatched.sh")
    failed = ktap.parse(result.status.splitlines()).failed
    if failed == [UNWATCHED_TEST] and UNWATCHED_REPORT in result.console:
        return Tally(passed=1)
    return Tally(failed=[f"RCU does not report a marker where it does not watch: {failed}"])


def run(
    outcome: Outcome,
    out: Path,
    modules: Path | None = None,
    settings: Settings | None = None,
    lists: Sequence[list[str]] = (),
) -> None:
    """Build, boot and test one kernel of kernels.txt; `out` gets the logs. Each of `lists` are
    suites with a boot of their own; by default, all have one boot."""
    entry = catalogue.find(outcome.kernel)
    kernel = ensure(entry)
    outcome.version, outcome.release = kernel.version, kernel.release
    outcome.qemu = emulator.choose(entry.qemu).version
    outcome.may_take = SLOW_DEBUG_SECONDS if entry.debug else SLOW_SECONDS
    started = time.monotonic()
    try:
        out.mkdir(parents=True, exist_ok=True)
        chosen = DEBUG_SETTINGS if entry.debug else settings or {}
        build_and_test(entry, modules or MODULES / entry.name, out, outcome, chosen, lists)
    finally:
        outcome.seconds = time.monotonic() - started


def build_and_test(
    entry: Entry,
    modules: Path,
    out: Path,
    outcome: Outcome,
    settings: Settings,
    lists: Sequence[list[str]] = (),
) -> None:
    """Build, check that a kernel warning is detected, and run the tests."""
    outcome.suites["build"] = build(entry.name, modules, out / "build.log")
    if not outcome.suites["build"].failed:
        started = time.monotonic()
        outcome.suites["alarm"] = alarm(entry, modules, out / "alarm", outcome)
        usual = ALARM_DEBUG_SECONDS if entry.debug else ALARM_SECONDS
        pace = max(1.0, (time.monotonic() - started) / usual)
        if (modules / f"{UNWATCHED_MODULE}.ko").exists():
            outcome.suites["unwatched"] = unwatched(entry, modules, out / "unwatched", outcome)
        for share in halves() if entry.debug else lists or [[]]:
            chosen = {**settings, "KMARKERS_SUITES": " ".join(share)} if share else settings
            log = out / f"boot-{share[0]}" if share else out / "boot"
            result = boot_and_run(entry, modules, log, outcome, "check.sh", chosen, pace)
            judge(result, outcome, chosen)


def halves() -> list[list[str]]:
    """Return the suites of each boot of a debug kernel, which is so slow that it has four."""
    cut = [(names, len(names) // 2) for names in registry.guest_lists()]
    return [part for names, half in cut for part in (names[:half], names[half:])]


def judge(result: Result, outcome: Outcome, settings: Settings) -> None:
    """Add the results of a boot to the outcome of its kernel; the settings name its suites."""
    suites = ktap.by_suite(result.status.splitlines())
    wanted = str(settings.get("KMARKERS_SUITES", "")).split()
    # If the guest did not end, its reason is reported instead.
    if result.exit_code is not None:
        least.check_suites(suites, outcome.kernel, wanted)
    for name, tally in suites.items():
        outcome.suites.setdefault(name, Tally()).add(tally)
    if not result.ok:
        report(result)
        # Failed tests are a sufficient reason.
        if not (result.exit_code and outcome.tally.failed):
            outcome.fail("log", result.reason)


def run_or_say(
    name: str,
    out: Path,
    modules: Path | None = None,
    settings: Settings | None = None,
    lists: Sequence[list[str]] = (),
) -> Outcome:
    """Do as run() does; an obstacle becomes a failed result."""
    outcome = Outcome(name)
    try:
        run(outcome, out, modules, settings, lists)
    except OBSTACLES as error:
        outcome.fail("fetch" if outcome.qemu == "-" else "run", explain(error))
    return outcome
