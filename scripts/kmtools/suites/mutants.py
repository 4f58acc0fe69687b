# SPDX-License-Identifier: GPL-2.0-only
"""Mutation tests: inserts a fault into the code, and checks that a test fails.

Each mutant of tests/mutants/ is a change to the sources. The change is applied to a copy of the
sources, and this copy is built and tested. All tests that the mutant names must pass without the
change, and at least one of these tests must fail with it. A crash or a hang counts as a failure. If
none fails, but one is skipped, the mutant is skipped. On a real CPU a test may pass in spite of a
fault, so the model checker can check the same fault. Logs are stored in build/mutants/.

tests/mutants/ has a file for each module, with a section for each changed source: "--- FILE". A
mutant begins with the line "@@ NAME: DESCRIPTION". The next line is "ENVIRONMENT: TESTS".
ENVIRONMENT is where the tests run: "user" (the test program in user space), "sanitized" (this
program with AddressSanitizer), "kernel" (a test kernel) or "tools" (tests/tools). If TESTS are not
C test cases, "kernel" is followed by the suites of tests/vm/suites that run TESTS. At least one of
TESTS must fail. "; model VARIANT" may follow: the variant of tests/model with the same fault. The
change follows in the form of a diff, without line numbers; "..." separates its hunks. The old lines
must occur in the source exactly once; otherwise the code has changed, and the mutant must be
rewritten.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from kmtools.base import processes
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.paths import ROOT
from kmtools.lab.build import build_modules, make_stripped_module_copies
from kmtools.lab.machine import Request
from kmtools.lab.userspace import build_make_command
from kmtools.runner import ktap
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, target, testkernel

# The list of random mutants that no test can notice.
UNNOTICED = ROOT / "tests" / "mutants" / "unnoticed.txt"
# The files of mutants.
TABLES = sorted({*UNNOTICED.parent.glob("*.txt")} - {UNNOTICED})
# Matches the beginning of a mutant: "NAME: DESCRIPTION", and the line with environment and tests.
HEAD = re.compile(
    r"([\w-]+): (.+)\n(user|sanitized|kernel|tools)((?: \w+)*): "
    r"((?:.*,\n)*[^;\n]+)(?:; model (\S+))?\n"
)
SCRATCH = ROOT / "build" / "mutants"
TREE = SCRATCH / "tree"
# The directories and files of this tree that are copied to TREE.
PARTS = (
    *("base", "patcher", "events", "immediate", "markers", "sdt", "entry", "bench_modules"),
    "native",
    *("include", "tests", "Kbuild", "kmarkers.mk", "entry.mk", "examples"),
    # Files that tests/tools reads.
    *("scripts", "results", "pyproject.toml", "kernels.txt"),
)
# The suite that needs an emulator with exact instruction counts (tier icount).
COUNTING_SUITE = "entry_counts"
# The suites that run kmlive.
KMLIVE_SUITES = frozenset({"bench", "packets"})
# The number of patch batches of a stress test.
BATCHES = 5000
# The time limits of a test in user space, and of a test in tests/tools.
HANG_SECONDS, TOOLS_SECONDS = 30.0, 600.0
# The time limit of a boot: long, because a guest that is only slow must not count as a detected
# mutant. A guest that hangs is ended much earlier.
BOOT_SECONDS = 1200.0
# Compiler flags for Environment.SANITIZED.
SANITIZE = "-fsanitize=address -O1 -fno-omit-frame-pointer"


class MutantError(FailedError):
    """Raised if the change of a mutant cannot be applied, or the changed code cannot be built or
    run."""


class SkippedError(UnableError):
    """Raised if no test of a mutant fails, but at least one test was skipped."""


class Environment(Enum):
    """Where the tests of a mutant run."""

    USER = "user"
    SANITIZED = "sanitized"
    KERNEL = "kernel"
    TOOLS = "tools"


@dataclass(frozen=True)
class Mutant:
    """One mutant: old and new lines of a source file, and tests. At least one of these tests must
    fail.

    `model` is the variant of tests/model/variants.py with the same fault. `suites` are the suites
    of tests/vm/suites that run the tests, if these are not C test cases.
    """

    name: str
    what: str
    file: str
    edits: Sequence[tuple[str, str]]
    tests: Sequence[str]
    environment: Environment = Environment.USER
    model: str = ""
    suites: Sequence[str] = ()


def parse_mutant_table(text: str, table: str = "") -> Iterator[Mutant]:
    """Parse the text of a file in tests/mutants; yield its mutants. `table` is the name of the
    file, for error messages."""
    for section in re.split(r"^--- ", text, flags=re.M)[1:]:
        file, _, rest = section.partition("\n")
        for mutant in re.split(r"^@@ ", rest, flags=re.M)[1:]:
            head = HEAD.match(mutant)
            if head is None:
                raise MutantError(f"{table}, {file}: this mutant cannot be read: {mutant}")
            name, what, environment, suites, tests, model = head.groups(default="")
            hunks = re.split(r"^\.\.\.\n", mutant[head.end() :].rstrip("\n") + "\n", flags=re.M)
            yield Mutant(
                *(name, what, file, [parse_hunk(hunk) for hunk in hunks], re.split(r",\s+", tests)),
                *(Environment(environment), model, suites.split()),
            )


def parse_hunk(hunk: str) -> tuple[str, str]:
    """Return two texts of a hunk: the old text, which is the context lines and the removed lines,
    and the new text, which is the context lines and the added lines."""
    lines = hunk.splitlines(keepends=True)
    old, new = ("".join(line[1:] or line for line in lines if line[0] != sign) for sign in "+-")
    return old, new


ALL_MUTANTS = tuple(
    mutant
    for table in TABLES
    for mutant in parse_mutant_table(table.read_text(encoding="utf-8"), table.name)
)


@dataclass
class Verdict:
    """The result of a mutant: the tests that failed, each with the kind of failure, and the verdict
    of the model checker. If the mutant could not be judged, `fault` is the reason, or `skipped` if
    the reason is a skipped test; else both are empty."""

    mutant: Mutant
    caught: list[str] = field(default_factory=list)
    by_model: str = ""
    fault: str = ""
    skipped: str = ""

    @property
    def failure(self) -> str:
        """The reason why this result is a failure: the mutant could not be judged, or no test
        failed. Empty if a test detects the fault, or was skipped."""
        if self.fault:
            return f"{self.mutant.name}: {self.fault}"
        return "" if self.caught or self.skipped else f"{self.mutant.name}: no test fails"


def copy_sources_to_mutant_tree() -> None:
    """Remove the files of an earlier run, except files of random mutants, and copy the sources."""
    TREE.mkdir(parents=True, exist_ok=True)
    for path in SCRATCH.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif not path.name.startswith(("lines-", "random-")):
            path.unlink()
    TREE.mkdir()
    leave_out = shutil.ignore_patterns(
        *("*.o", "*.ko", "*.cmd", "*.mod", "*.mod.c", "__pycache__", "local")
    )
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, TREE / part, ignore=leave_out)
        else:
            shutil.copy2(source, TREE / part)


def apply_mutant(mutant: Mutant, text: str) -> str:
    """Return the text of a source with a mutant's change applied; raise MutantError if that
    fails."""
    places = []
    for old, new in mutant.edits:
        found = list(re.finditer(f"^{re.escape(old)}", text, re.M))
        if len(found) != 1:
            raise MutantError(f"these lines do not occur exactly once in {mutant.file}:\n{old}")
        places.append((*found[0].span(), new))
    for start, end, new in sorted(places, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def run_with_time_limit(words: Sequence[object], log: Path, seconds: float) -> int | None:
    """Run a command with output to a log; return its exit code, or None if the command was ended
    because it took longer than `seconds`."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return processes.run_program(words, log, seconds=seconds)
    return None


def build_test_program(environment: Environment, log: Path) -> Path:
    """Build the user-space test program from the changed sources, with AddressSanitizer if
    `environment` is SANITIZED; return its path."""
    out = SCRATCH / environment.name.lower()
    flags = SANITIZE if environment is Environment.SANITIZED else ""
    if (
        run_with_time_limit(
            build_make_command(out / "test", out=out, extra=flags, tree=TREE), log, 600.0
        )
        != 0
    ):
        raise MutantError(f"the C test cases do not build; see {log}")
    return out / "test"


def describe_test_failure(code: int | None, failed: Iterable[str]) -> str:
    """Return the kind of failure of a test, such as a signal name; empty if the test passed. `code`
    is the exit code of the test, or None after the time limit; `failed` are the failed results."""
    if code is None:
        return "hangs"
    if code < 0:
        return signal.Signals(-code).name
    if any(failed):
        return "fails"
    return f"exit code {code}" if code else ""


def require_test_that_ran(caught: list[str], skipped: Sequence[str]) -> list[str]:
    """Return `caught`, the tests that fail; raise SkippedError if none fails and a test in
    `skipped`, each with the reason, might have failed on another machine."""
    if skipped and not caught:
        raise SkippedError(f"skipped on this machine: {', '.join(skipped)}")
    return caught


def run_user_space_tests(mutant: Mutant, environment: Environment, log: Path) -> list[str]:
    """Run a mutant's tests in user space; return the tests that fail, with the kind of failure."""
    program = build_test_program(environment, log)
    caught, skipped = [], list[str]()
    for test in mutant.tests:
        one = log.with_name(f"{log.stem}-{test}.log")
        one.unlink(missing_ok=True)
        code = run_with_time_limit([program, BATCHES, test], one, HANG_SECONDS)
        lines = one.read_text(encoding="utf-8", errors="replace").splitlines()
        if "1..0" in lines:
            raise MutantError(f"no C test case is named {test}")
        tally = ktap.parse_ktap(lines)
        if tally.skipped:
            skipped += tally.skipped
        elif reason := describe_test_failure(code, tally.failed if code is not None else []):
            caught.append(f"{test} {reason}")
    return require_test_that_ran(caught, skipped)


def run_tools_tests(mutant: Mutant, log: Path) -> list[str]:
    """Run a mutant's tests in tests/tools; return the tests that fail, with the kind of failure."""
    caught, skipped = [], []
    for test in mutant.tests:
        one = log.with_name(f"{log.stem}-{test.replace(':', '-')}.log")
        one.unlink(missing_ok=True)
        # Do not use bytecode or caches of the unchanged code.
        words = ["-B", "-m", "pytest", "-q", "-x", "-rs", "-p", "no:cacheprovider"]
        test_words = ["-c", TREE / "pyproject.toml", TREE / "tests" / "tools" / test]
        code = run_with_time_limit([sys.executable, *words, *test_words], one, TOOLS_SECONDS)
        said = one.read_text(encoding="utf-8", errors="replace")
        reasons = re.findall(r"^SKIPPED \[\d+\] [^ ]+ (.*)", said, re.M)
        skipped += [f"{test}: {reason}" for reason in reasons]
        if code not in (0, 1, None):
            raise MutantError(f"the test {test} cannot be run, see {one}")
        if reason := describe_test_failure(code, ["it"] if code == 1 else []):
            caught.append(f"{test} {reason}")
    return require_test_that_ran(caught, skipped)


def list_mutant_guest_files(programs: Sequence[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """Return `programs`, and the files of TREE that suites need, as additions to an initramfs."""
    return [
        *kernelsuite.list_guest_test_files(TREE),
        *programs,
        *((TREE / "scripts" / name, f"/target/{Path(name).name}") for name in target.FILES),
    ]


def build_kmlive(log: Path) -> Path:
    """Build kmlive from the changed sources; return its path."""
    out = SCRATCH / "guest"
    if run_with_time_limit(build_make_command(out / "kmlive", out=out, tree=TREE), log, 600.0) != 0:
        raise MutantError(f"kmlive does not build; see {log}")
    return out / "kmlive"


def run_kernel_tests(mutant: Mutant, kernel: str, log: Path) -> list[str]:
    """Run a mutant's tests in a test kernel; return the tests that fail, with the kind of
    failure."""
    modules = SCRATCH / "modules"
    if build_modules(kernel, TREE, modules, ["-s", "KMARKERS_TESTS=m"]):
        raise MutantError(f"the modules do not build for kernel {kernel}")
    make_stripped_module_copies(modules, "example_client")
    runs_kmlive = not KMLIVE_SUITES.isdisjoint(mutant.suites)
    programs = [(build_kmlive(log), "/kmlive")] if runs_kmlive else []
    cases = ["imv_sets_values_of_every_size", *(name for name in mutant.tests if " " not in name)]
    request = Request(
        kernel=kernel,
        job=TREE / "tests" / "vm" / "jobs" / "mutant.sh",
        out=log.with_suffix(""),
        tier="icount" if COUNTING_SUITE in mutant.suites else "vm",
        modules=modules,
        additions=list_mutant_guest_files(programs),
        settings={"KMARKERS_CASES": " ".join(cases), "KMARKERS_SUITES": " ".join(mutant.suites)},
        # With preempt=full, the kernel may preempt a task between instructions that are being
        # patched; with other preemption models it never does. The suite `many` cannot use
        # preempt=full: it tests that long loops call cond_resched(), and preempt=full preempts
        # loops without this call, too.
        append="preempt=voluntary" if "many" in mutant.suites else "preempt=full",
        timeout=BOOT_SECONDS,
    )
    retries: list[str] = []
    result = kernelsuite.boot_and_retry_emulator_crashes(request, retries)
    kernelsuite.print_boot_retries(retries)
    said = result.status.splitlines()
    log.write_text(result.status, encoding="utf-8")
    tally = ktap.parse_ktap(said)
    failed = tally.failed
    caught = [f"{test} fails" for test in mutant.tests if test in failed]
    if result.exit_code is None and not caught:
        # The test that was running is the first test without a result.
        names = [*cases, *mutant.tests]
        running = next((name for name in names if not any(name in line for line in said)), "")
        how_it_ended = "crashes" if result.fault_lines else "hangs"
        caught = [f"{test} {how_it_ended}" for test in mutant.tests if test == running]
    if not caught and not result.ok:
        raise MutantError(
            f"the run failed, but none of the mutant's tests did: {result.reason}; failed tests:"
            f" {', '.join(failed)}"
        )
    own = tuple(f"{test}: " for test in mutant.tests)
    skipped = [line for line in tally.skipped if line.startswith(own)]
    return require_test_that_ran(caught, skipped)


def run_mutant_tests(mutant: Mutant, kernel: str, log: Path) -> list[str]:
    """Run a mutant's tests on the copy of the sources, with or without the mutant's change; return
    the tests that fail, each with the kind of failure."""
    log.unlink(missing_ok=True)
    if mutant.environment is Environment.KERNEL:
        return run_kernel_tests(mutant, kernel, log)
    if mutant.environment is Environment.TOOLS:
        return run_tools_tests(mutant, log)
    return run_user_space_tests(mutant, mutant.environment, log)


def run_mutant(mutant: Mutant, kernel: str) -> Verdict:
    """Apply a mutant's change to the copy of the sources, run its tests, and undo the change."""
    path = TREE / mutant.file
    sound = path.read_text(encoding="utf-8")
    path.write_text(apply_mutant(mutant, sound), encoding="utf-8")
    try:
        return Verdict(mutant, run_mutant_tests(mutant, kernel, SCRATCH / f"{mutant.name}.log"))
    finally:
        path.write_text(sound, encoding="utf-8")


def require_tests_pass_without_mutants(mutants: Sequence[Mutant], kernel: str) -> None:
    """Check that each mutant can be applied, and that all its tests pass with the unchanged
    code."""
    for mutant in mutants:
        apply_mutant(mutant, (TREE / mutant.file).read_text(encoding="utf-8"))
    for environment in Environment:
        of_environment = [mutant for mutant in mutants if mutant.environment is environment]
        if not of_environment:
            continue
        tests = sorted({test for mutant in of_environment for test in mutant.tests})
        suites = sorted(
            testkernel.add_partner_suites(
                suite for mutant in of_environment for suite in mutant.suites
            )
        )
        all_of_them = Mutant("sound", "", "", [], tests, environment, suites=suites)
        log = SCRATCH / f"sound-{environment.name.lower()}.log"
        # Ignore skipped tests here: they are reported later, each with its mutant.
        with contextlib.suppress(SkippedError):
            if failed := run_mutant_tests(all_of_them, kernel, log):
                raise MutantError(f"tests fail with the unchanged code: {', '.join(failed)}")


def run_model_checker_on_mutant(mutant: Mutant) -> str:
    """Run the model checker on the variant of tests/model that has the mutant's fault. Return its
    verdict; empty if there is no such variant, or spin is missing."""
    script = TREE / "tests" / "model" / "run.py"
    if not mutant.model or not script.is_file() or not shutil.which("spin"):
        return ""
    done = processes.capture_output([sys.executable, script, mutant.model])
    (SCRATCH / f"{mutant.name}-model.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    lines = [line.split() for line in done.stdout.splitlines()]
    found = {words[1]: words[-3] for words in lines if words[:1] == ["ok"] and len(words) > 5}
    return ", ".join(f"{what} {verdict}" for what, verdict in found.items() if verdict != "holds")


def run_mutants(mutants: Sequence[Mutant], kernel: str, with_model: bool) -> list[Verdict]:
    """Run mutants; print a row for each mutant as soon as its tests have ended. With `with_model`,
    also run the model checker on the mutant's variant of tests/model."""
    copy_sources_to_mutant_tree()
    require_tests_pass_without_mutants(mutants, kernel)
    print(f"{'mutant':25} {'what is broken':56} caught by")
    verdicts = []
    for mutant in mutants:
        try:
            verdict = run_mutant(mutant, kernel)
        except (MutantError, SkippedError) as error:
            # Continue with the next mutant after a mutant that cannot be judged.
            print(f"{mutant.name:25} {mutant.what:56} NOT JUDGED: {error}", flush=True)
            skips = isinstance(error, SkippedError)
            fault, skipped = ("", str(error)) if skips else (str(error), "")
            verdicts.append(Verdict(mutant, fault=fault, skipped=skipped))
            continue
        if with_model:
            verdict.by_model = run_model_checker_on_mutant(mutant)
        caught = ", ".join(verdict.caught) or "SURVIVES"
        print(f"{mutant.name:25} {mutant.what:56} {caught}", flush=True)
        if verdict.by_model:
            print(f"{'':25} {'':56} model: {verdict.by_model}", flush=True)
        verdicts.append(verdict)
    return verdicts


def select_mutants(names: Sequence[str], no_kernel: bool) -> list[Mutant]:
    """Return the mutants with these names, or all mutants if `names` is empty. With `no_kernel`,
    leave out the mutants whose tests run in a test kernel. Raise UnableError for an unknown
    name."""
    unknown = set(names) - {mutant.name for mutant in ALL_MUTANTS}
    if unknown:
        raise UnableError(f"unknown mutants, not in tests/mutants: {', '.join(sorted(unknown))}")
    return [
        mutant
        for mutant in ALL_MUTANTS
        if (not names or mutant.name in names)
        and not (no_kernel and mutant.environment is Environment.KERNEL)
    ]


def make_requested_mutant_suites(suite_request: SuiteRequest, _: Sequence[str]) -> list[Suite]:
    """Return a list of one suite, which runs the requested mutants."""
    wanted = select_mutants(
        suite_request.get_option_words("mutants"), suite_request.is_option_set("no_kernel")
    )
    kernel = testkernel.choose_kernel(suite_request)

    def run_selected_mutants(_: Path) -> Tally:
        verdicts = run_mutants(wanted, kernel, suite_request.is_option_set("model"))
        failures = [verdict.failure for verdict in verdicts if verdict.failure]
        skipped = [f"{one.mutant.name}: {one.skipped}" for one in verdicts if one.skipped]
        return Tally(len(verdicts) - len(failures) - len(skipped), failures, skipped)

    what = f"{len(wanted)} inserted faults, each detected by a test"
    return [Suite("mutants", run_selected_mutants, what, usual=25.0 * len(wanted), loud=True)]
