# SPDX-License-Identifier: GPL-2.0-only
"""Builds modules and tests for a test kernel, boots this kernel to run the suites, and judges the
results."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kmtools.base import processes
from kmtools.base.errors import OBSTACLES, explain_error
from kmtools.base.paths import ROOT
from kmtools.lab import catalogue, chroot, emulator, symbols, triage, userspace
from kmtools.lab.apt import FetchError
from kmtools.lab.build import build_modules, make_stripped_module_copies, remove_objects
from kmtools.lab.catalogue import Entry
from kmtools.lab.kernels import ensure_kernel_is_unpacked
from kmtools.lab.machine import Request, boot_guest
from kmtools.lab.result import LOOK_LOG, Result, print_boot_failure
from kmtools.runner import ktap, least, registry
from kmtools.runner.ktap import Tally

TESTS = ROOT / "tests" / "vm"
JOBS = TESTS / "jobs"
MODULES = ROOT / "build" / "modules"
# The arguments of make, which must be equal to the arguments in `lab shell`: with other arguments,
# make would recompile all files when tests and `lab shell` are run in turn.
MAKE_ARGS = ["-s", "KMARKERS_TESTS=m"]
# The module that make_stripped_module_copies() copies and strips.
STRIPPED = "example_client"
# The time limit of a boot.
TIMEOUT_SECONDS = 1200.0
# The usual time in seconds of the boot that triggers a kernel warning on purpose (the test `alarm`)
# on 2 idle cores, for a stock kernel and a debug kernel. If the boot takes longer, the time limit
# of the following boots is raised in proportion.
ALARM_SECONDS, ALARM_DEBUG_SECONDS = 15.0, 30.0
# The table marks a kernel as slow if its tests together take longer than this: the limit for a
# stock kernel, and the limit for a debug kernel.
SLOW_SECONDS, SLOW_DEBUG_SECONDS = 240.0, 360.0
# The module that triggers a WARN, and the test that loads this module.
WARN_MODULE = "kmarkers_test_warn"
WARN_TEST = "module that warns loads"
# The module that hits a marker in code where RCU is not watching, the test that loads this module,
# and RCU's report. The module is built only for kernels with PROVE_RCU.
UNWATCHED_MODULE = "kmarkers_test_unwatched"
UNWATCHED_TEST = "a marker is hit where RCU does not watch"
UNWATCHED_REPORT = "a marker where RCU is not watching"

# A boot parameter of debug kernels: a kernel warning (WARN) causes a panic.
PANIC_ON_WARN = "panic_on_warn=1"
# A boot parameter that seeds the random number generator at boot: before this generator is seeded,
# printk() prints no hashed addresses.
RANDOMNESS = "random.trust_cpu=on"
# A boot parameter that disables 5-level page tables. With these tables, KASAN reports valid
# addresses as wild if an interrupt comes while the kernel identifies the first CPU, because the
# recorded features of this CPU are cleared at that time.
NO_5_LEVEL_PAGE_TABLES = "no5lvl"
# The boot parameters for each kind of debug kernel.
APPEND = {"kasan": (PANIC_ON_WARN, NO_5_LEVEL_PAGE_TABLES), "kcsan": (), "clang": ()}
# Settings of the tests in debug kernels: fewer batches, cycles and samples.
DEBUG_SETTINGS = {
    "KMARKERS_BATCHES": 100,
    "KMARKERS_CYCLES": 10,
    "KMARKERS_SAMPLE": "many_*[05]0",
    "KMARKERS_ORDERS": "example_client example_probe",
    "KMARKERS_PATIENCE": 60,
    "KMARKERS_SAMPLES": 4,
    "KMARKERS_STEP": 6,
}

# Settings for slow emulators: short stress tests and few samples.
SLOW_SETTINGS = {"KMARKERS_BATCHES": 30, "KMARKERS_CYCLES": 3, "KMARKERS_SAMPLES": 4}

# Settings for short stress tests. If the user names a suite, the suite runs its long stress tests
# instead.
SHORT_SETTINGS = {
    "KMARKERS_BATCHES": 200,
    "KMARKERS_CYCLES": 20,
    "KMARKERS_ORDERS": "example_client example_probe",
}

# Settings with the shortest tests, for `make check`, the test `gates` and random mutants.
FEW_SETTINGS = {
    **SHORT_SETTINGS,
    "KMARKERS_BATCHES": 100,
    "KMARKERS_CYCLES": 5,
    "KMARKERS_SAMPLES": 4,
    "KMARKERS_SAMPLE": "many_*[05]0",
}

# Lines of a build's output that report a warning or an error.
FINDING = re.compile(r"\b(warning|error|WARNING|ERROR)\b[: ]|\bundefined!")
# Kbuild prints this warning, and then the versions of two compilers, if the compiler of the modules
# has not exactly the version of the compiler that built the kernel.
HARMLESS = re.compile(r"the compiler differs from the one used to build the kernel")

Settings = Mapping[str, object]


@dataclass
class Outcome:
    """The results of all suites in one kernel.

    `retries` has the reasons why boots were repeated. If `seconds`, the time of all tests, is above
    `may_take`, the table marks the kernel as slow.
    """

    kernel: str
    version: str = "-"
    release: str = "-"
    qemu: str = "-"
    suites: dict[str, Tally] = field(default_factory=dict)
    seconds: float = 0.0
    may_take: float = SLOW_SECONDS
    retries: list[str] = field(default_factory=list)

    @property
    def tally(self) -> Tally:
        """The results of all suites."""
        total = Tally()
        for suite in self.suites.values():
            total.add_tally(suite)
        return total

    def add_failure(self, suite: str, why: str) -> None:
        """Add the failure of a step that is not a test, such as a build, to the results of
        `suite`."""
        self.suites.setdefault(suite, Tally()).failed.append(why)


def list_guest_test_files(tree: Path = ROOT) -> list[tuple[Path, str]]:
    """Return the additions to an initramfs that jobs of tests/vm need: the scripts, and the example
    that reads trace events, which the suite `events` runs."""
    return [(tree / "tests" / "vm", "/tests"), (tree / "examples" / "reader", "/examples")]


def find_build_warnings(log: str) -> list[str]:
    """Return the warnings and errors in a build's output."""
    return [line for line in log.splitlines() if FINDING.search(line) and not HARMLESS.search(line)]


def make_boot_obstacle_finder(kernel: str) -> Callable[[], str]:
    """Return a function for Suite.obstacle. The function returns "" if the kernel can boot on this
    machine, else the reason why the kernel cannot boot (no privileges, no kernel)."""

    def find_boot_obstacle() -> str:
        if found := chroot.find_chroot_obstacle():
            return found
        try:
            ensure_kernel_is_unpacked(catalogue.find_kernel_entry(kernel))
        except FetchError as error:
            return f"kernel {kernel} is missing and cannot be fetched: {error}"
        return ""

    return find_boot_obstacle


def get_modules_dir(kernel: str, test: str) -> Path:
    """Return the directory of the modules that `test` builds for a kernel itself. A build removes
    the modules of the previous build, with which a suite in another process may boot the kernel."""
    return MODULES / f"{kernel}-{test}"


def get_kmlive_path(modules: Path) -> Path:
    """Return the path of kmlive, the program that the suite `bench` runs in the guest."""
    return modules.with_name(f"{modules.name}-programs") / "kmlive"


def build_modules_and_kmlive(kernel: str, modules: Path, log: Path) -> Tally:
    """Build the modules with tests and examples for a kernel, into the directory `modules`, and the
    program kmlive. Return one result: a compiler warning counts as a failure."""
    log.unlink(missing_ok=True)
    program = get_kmlive_path(modules)
    words = userspace.build_make_command(program, out=program.parent)
    if not userspace.find_compiler_obstacle() and processes.run_program(words, log):
        return Tally(failed=[f"kmlive does not build: see {log}"])
    code = build_modules(kernel, ROOT, modules, MAKE_ARGS, log)
    found = find_build_warnings(log.read_text(encoding="utf-8", errors="replace"))
    if code and not found:
        found = [f"make failed, see {log}"]
    if found:
        # Remove the objects: otherwise the next make would neither compile these files nor repeat
        # the warning.
        remove_objects(kernel, ROOT)
    else:
        make_stripped_module_copies(modules, STRIPPED)
    return Tally(passed=0 if found else 1, failed=found)


def boot_and_retry_emulator_crashes(request: Request, retries: list[str]) -> Result:
    """Boot a kernel, and repeat the boot if the emulator caused a crash. The descriptions of
    the crashes are appended to `retries`, and the logs of each boot are kept."""
    built = request.modules.glob("*.ko") if request.modules else ()
    names = [module.stem.replace("-", "_") for module in built]
    while True:
        result = boot_guest(request)
        if (request.out / LOOK_LOG).is_file():
            symbols.add_function_names_to_file(request.kernel, request.out / LOOK_LOG)
        crash = triage.find_emulator_fault(result, names)
        if crash is None or len(retries) == triage.MOST_RETRIES:
            return result
        retries.append(crash)
        kept = request.out.with_name(f"{request.out.name}.crash-{len(retries)}")
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(request.out, kept)


def print_boot_retries(retries: Iterable[str]) -> None:
    """Print the reasons why a boot was repeated."""
    for reason in retries:
        print(f"  RETRIED, fault of the emulator: {reason}", flush=True)


def boot_and_tally_job(request: Request, log: Path) -> Tally:
    """Boot a kernel and run one job in it; return the results of the job, and write its output to
    `log`."""
    retries: list[str] = []
    result = boot_and_retry_emulator_crashes(request, retries)
    print_boot_retries(retries)
    log.write_text(result.status, encoding="utf-8")
    tally = ktap.parse_ktap(result.status.splitlines())
    if not result.ok:
        print_boot_failure(result)
        tally.failed.append(result.reason)
    return tally


def list_boot_parameters(entry: Entry) -> list[str]:
    """Return the additional boot parameters that a debug kernel needs; an empty list for other
    kernels."""
    words = [word for part in entry.debug_kinds for word in APPEND[part]]
    return [RANDOMNESS, *words] if entry.debug_kinds else []


def boot_and_run_job(
    entry: Entry,
    modules: Path,
    out: Path,
    outcome: Outcome,
    job: str,
    settings: Settings | None = None,
    time_factor: float = 1.0,
) -> Result:
    """Boot a kernel and run a job of tests/vm/jobs with the test files. The time limit is
    multiplied by `time_factor`. The reasons for repeated boots are added to `outcome`."""
    program = get_kmlive_path(modules)
    request = Request(
        kernel=entry.name,
        job=JOBS / job,
        out=out,
        modules=modules,
        additions=[
            *list_guest_test_files(),
            *([(program, "/kmlive")] if program.exists() else []),
        ],
        settings=settings or {},
        append=" ".join(list_boot_parameters(entry)),
        timeout=TIMEOUT_SECONDS * time_factor,
        memory=2048 if entry.debug_kinds else 1024,
    )
    return boot_and_retry_emulator_crashes(request, outcome.retries)


def judge_warning_detection(entry: Entry, modules: Path, out: Path, outcome: Outcome) -> Tally:
    """Boot a kernel and trigger a kernel warning on purpose. Check that both the running test and
    the job in the guest are reported as failed."""
    result = boot_and_run_job(entry, modules, out, outcome, "alarm.sh")
    said = ktap.parse_ktap(result.status.splitlines())
    missed = []
    if result.ok or not any(WARN_MODULE in line for line in result.fault_lines):
        missed.append("a warning in the kernel log does not fail the run")
    if PANIC_ON_WARN in list_boot_parameters(entry):
        # This kernel must panic at the warning: the console reports the panic, and the job has no
        # exit code, because the kernel stops before the job ends.
        if result.exit_code is not None or not any(
            "Kernel panic" in line for line in result.fault_lines
        ):
            missed.append(f"a warning does not make a kernel panic despite {PANIC_ON_WARN}")
    elif result.exit_code is None or said.failed != [WARN_TEST]:
        missed.append(f"a warning does not fail the test during which it appears: {said}")
    return Tally(passed=0 if missed else 1, failed=missed)


def judge_marker_without_rcu(entry: Entry, modules: Path, out: Path, outcome: Outcome) -> Tally:
    """Boot a kernel with PROVE_RCU, hit a marker where RCU is not watching, and check that RCU
    reports only this marker."""
    result = boot_and_run_job(entry, modules, out, outcome, "unwatched.sh")
    failed = ktap.parse_ktap(result.status.splitlines()).failed
    if failed == [UNWATCHED_TEST] and UNWATCHED_REPORT in result.console:
        return Tally(passed=1)
    return Tally(failed=[f"no RCU report about a marker where RCU is not watching: {failed}"])


def build_boot_and_test(
    outcome: Outcome,
    out: Path,
    modules: Path | None = None,
    settings: Settings | None = None,
    suite_lists: Sequence[list[str]] = (),
) -> None:
    """Build the modules for the kernel outcome.kernel, boot this kernel and run the suites. Add the
    results to `outcome`, and write the logs to the directory `out`. Run each list of suites in
    `suite_lists` in a boot of its own. Without such lists, run all suites in one boot."""
    entry = catalogue.find_kernel_entry(outcome.kernel)
    kernel = ensure_kernel_is_unpacked(entry)
    outcome.version, outcome.release = kernel.version, kernel.release
    outcome.qemu = emulator.choose_qemu_of_suite(entry.qemu).version
    outcome.may_take = SLOW_DEBUG_SECONDS if entry.debug_kinds else SLOW_SECONDS
    started = time.monotonic()
    modules = modules or get_modules_dir(entry.name, "matrix")
    try:
        out.mkdir(parents=True, exist_ok=True)
        chosen = DEBUG_SETTINGS if entry.debug_kinds else settings or {}
        build_and_run_suites(entry, modules, out, outcome, chosen, suite_lists)
    finally:
        outcome.seconds = time.monotonic() - started


def build_and_run_suites(
    entry: Entry,
    modules: Path,
    out: Path,
    outcome: Outcome,
    settings: Settings,
    suite_lists: Sequence[list[str]] = (),
) -> None:
    """Build the modules for a kernel, check that a kernel warning is detected, and run the suites.
    For the arguments see build_boot_and_test()."""
    outcome.suites["build"] = build_modules_and_kmlive(entry.name, modules, out / "build.log")
    if not outcome.suites["build"].failed:
        started = time.monotonic()
        outcome.suites["alarm"] = judge_warning_detection(entry, modules, out / "alarm", outcome)
        usual = ALARM_DEBUG_SECONDS if entry.debug_kinds else ALARM_SECONDS
        time_factor = max(1.0, (time.monotonic() - started) / usual)
        if (modules / f"{UNWATCHED_MODULE}.ko").exists():
            outcome.suites["unwatched"] = judge_marker_without_rcu(
                entry, modules, out / "unwatched", outcome
            )
        lists = suite_lists or [[]]
        if entry.debug_kinds:
            lists = split_suites_for_debug_kernel(
                suite_lists or registry.read_suite_names_by_guest()
            )
        for share in lists:
            chosen = {**settings, "KMARKERS_SUITES": " ".join(share)} if share else settings
            log = out / f"boot-{share[0]}" if share else out / "boot"
            result = boot_and_run_job(entry, modules, log, outcome, "check.sh", chosen, time_factor)
            add_boot_results(result, outcome, chosen)


def split_suites_for_debug_kernel(suite_lists: Sequence[list[str]]) -> list[list[str]]:
    """Return a list of suites for each of the at most four boots of a debug kernel, which is too
    slow to run all suites in one boot. `suite_lists` has the suites to run."""
    wanted = {name for names in suite_lists for name in names}
    cut = [(names, len(names) // 2) for names in registry.read_suite_names_by_guest()]
    parts = [part for names, half in cut for part in (names[:half], names[half:])]
    return [some for part in parts if (some := [name for name in part if name in wanted])]


def add_boot_results(result: Result, outcome: Outcome, settings: Settings) -> None:
    """Add the results of a boot to `outcome`, the outcome of the booted kernel. A suite in
    settings["KMARKERS_SUITES"] without results counts as failed."""
    suites = ktap.parse_ktap_by_suite(result.status.splitlines())
    wanted = str(settings.get("KMARKERS_SUITES", "")).split()
    # Report missing results only if the job in the guest has ended. Otherwise the reason is enough.
    if result.exit_code is not None:
        least.require_minimum_result_counts_by_suite(suites, outcome.kernel, wanted)
    for name, tally in suites.items():
        outcome.suites.setdefault(name, Tally()).add_tally(tally)
    if not result.ok:
        print_boot_failure(result)
        # Add no further failure if the run failed only because tests failed.
        if not (result.exit_code and outcome.tally.failed):
            outcome.add_failure("log", result.reason)


def run_kernel_suites(
    kernel: str,
    out: Path,
    modules: Path | None = None,
    settings: Settings | None = None,
    suite_lists: Sequence[list[str]] = (),
) -> Outcome:
    """Build the modules for a kernel, boot it, run the suites and return the results. For the
    arguments see build_boot_and_test(). An exception listed in OBSTACLES counts as a failure."""
    outcome = Outcome(kernel)
    try:
        build_boot_and_test(outcome, out, modules, settings, suite_lists)
    except OBSTACLES as error:
        outcome.add_failure("fetch" if outcome.qemu == "-" else "run", explain_error(error))
    return outcome
