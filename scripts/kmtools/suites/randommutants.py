# SPDX-License-Identifier: GPL-2.0-only
"""Random mutation tests: inserts random faults into the code, and counts how many the tests detect.

The mutants of tests/mutants/ are chosen by hand, so they show what their authors thought of. Random
mutants show how much of the code the tests check. The option random=N sets the number of mutants,
seed=S makes the choice repeatable, and where= says what is changed: "native" (C code that also runs
in user space), "C" (C code that only runs in kernels, and kmlive, which needs the modules) or
"python" (scripts/kmtools, except the long tests in its folder suites/). The same seed and commit
give the same mutants; changes that are not committed are left out. A mutant that has no effect on
the compiled code is replaced by the next one.

Mutants that no test can notice are listed in tests/mutants/unnoticed.txt, and are not counted.
Survivors (other mutants that no test detects) are printed as diffs, and are also written to
build/mutants/random-WHERE-SEED.txt.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import math
import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from kmtools.base import processes
from kmtools.base.errors import UnableError
from kmtools.base.paths import ROOT
from kmtools.base.progress import format_duration
from kmtools.lab.build import build_modules, get_object_dir, make_stripped_module_copies
from kmtools.lab.machine import Request
from kmtools.lab.userspace import build_make_command
from kmtools.runner import ktap, registry
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import cmutations, kernelsuite, mutants, testkernel, testlines
from kmtools.suites.mutants import SCRATCH, TREE, Environment, Mutant, MutantError
from kmtools.suites.testlines import TestTimes

# The minimum percentage of mutants that tests must detect. A sample of mutants fails if it shows
# that tests detect significantly fewer: see is_caught_share_too_low().
LIMITS = {"native": 92.0, "C": 85.0, "python": 92.0}
# The number of random mutants of each kind in the set of weekly tests.
WEEKLY = 10
USUAL_SECONDS = {"native": 60.0, "C": 500.0, "python": 60.0}
# The folders of modules.
MODULES = ("base", "patcher", "events", "immediate", "markers", "sdt", "entry", "bench_modules")
# The number of patch batches of a stress test in user space, and the test program's time limit.
BATCHES, PROGRAM_SECONDS = 200, 300.0
# Runs a program until its first failed result; the exit code is then 5.
UNTIL_FAILURE = 'set -o pipefail; "$@" 2>&1 | sed -u "/^not ok/q5"'
# Matches a file of tests/tools that uses native programs.
USES_PROGRAMS = re.compile(r"native_?programs")


@dataclass(frozen=True)
class Change:
    """A random mutant: the changed text of a file, its first changed line, and the name of the
    operator that changed it."""

    file: str
    line: int
    what: str
    text: str

    @property
    def name(self) -> str:
        """The file, the line and the operator, as text."""
        return f"{self.file}:{self.line} {self.what}"


@dataclass(frozen=True)
class Judgement:
    """What happened to a mutant: `caught` is the test or failure that detected the mutant, or "".
    `seen_by` are the tests that ran without detecting the mutant. If `counted` is False, the mutant
    has no effect or cannot be compiled."""

    caught: str = ""
    seen_by: Sequence[str] = ()
    counted: bool = True


@dataclass(frozen=True)
class Guest:
    """A test kernel, and the modules and the program kmlive for it. The modules or kmlive are built
    with a mutant's change in `file`, or without a change. `file` determines the order of suites."""

    file: str
    kernel: str
    modules: Path
    kmlive: Path


# A judge is called while the file has the mutant's change. The judge returns a judgement, or a
# LateJudgement: a function that returns the judgement and does not read the changed file.
LateJudgement = Callable[[], Judgement]
Judge = Callable[[Change, Path], Judgement | LateJudgement]
# The number of test kernels that run at the same time.
GUESTS = 2


def clone_last_commit() -> str:
    """Make a clone of the last commit in TREE, and return the name of the commit."""
    shutil.rmtree(TREE, ignore_errors=True)
    SCRATCH.mkdir(parents=True, exist_ok=True)
    said = processes.capture_output(["git", "clone", "--quiet", "--shared", ROOT, TREE])
    if said.returncode:
        raise UnableError(f"git cannot clone {ROOT}: {said.stderr.strip()}")
    if processes.capture_output(["git", "status", "--porcelain"], ROOT).stdout.strip():
        print("mutants are made from the last commit, without uncommitted changes", flush=True)
    (TREE / "build").mkdir()
    # scripts/kmarkers restarts itself with the Python of build/venv, so TREE must have this Python.
    (TREE / "build" / "venv").symlink_to(testlines.PYTHON.parents[1])
    return processes.capture_output(["git", "rev-parse", "HEAD"], TREE).stdout.strip()


def list_native_c_files(*names: str) -> set[str]:
    """Return the C files that the targets list-NAME of native/Makefile print."""
    words = ["make", "-s", "-C", TREE / "native", *(f"list-{name}" for name in names)]
    return {*processes.capture_output(words).stdout.split()}


def list_c_files(where: str, tree: Path = TREE) -> list[str]:
    """Return C files. If `where` is "native": the files that are compiled for user space and run
    without the modules. Otherwise: the files that only run in kernels, and the files of kmlive,
    which needs the modules."""
    shared, kmlive = list_native_c_files("shared", "shims"), list_native_c_files("kmlive")
    if where == "native":
        return sorted(shared - kmlive)
    of_modules = {
        str(path.relative_to(tree)) for one in MODULES for path in (tree / one).glob("*.c")
    }
    return sorted(of_modules - shared | kmlive)


def draw_c_mutants(files: Sequence[str], seed: int, tree: Path = TREE) -> Iterator[Change]:
    """Yield all mutants of C files, in an order that depends only on the sources and the seed."""
    texts = {file: (tree / file).read_text(encoding="utf-8") for file in files}
    edits = [
        (file, edit)
        for file, text in texts.items()
        for edit in cmutations.list_c_source_edits(text)
    ]
    for file, edit in random.Random(seed).sample(edits, len(edits)):
        line = texts[file].count("\n", 0, edit.start) + 1
        yield Change(file, line, edit.what, cmutations.apply_edit(texts[file], edit))


def draw_python_mutants(count: int, seed: int) -> Iterator[Change]:
    """Yield `count` mutants of scripts/kmtools."""
    program = TREE / "scripts" / "kmtools" / "suites" / "pymutations.py"
    words = [testlines.PYTHON, program, TREE / "scripts" / "kmtools", seed, count]
    said = processes.capture_output(words)
    if said.returncode:
        raise MutantError(f"pymutations.py makes no mutants: {said.stderr.strip()}")
    for text in said.stdout.splitlines():
        file, line, what, changed = json.loads(text)
        yield Change(f"scripts/kmtools/{file}", line, what, changed)


def make_python_judge(_commit: str) -> Judge:
    """Return a function that judges a mutant of scripts/kmtools by the tests that execute the
    changed line. These tests are recorded again if scripts/ or tests/ has changed."""
    words = ["git", "rev-parse", "HEAD:scripts", "HEAD:tests"]
    key = "-".join(name[:12] for name in processes.capture_output(words, TREE).stdout.split())
    lines = testlines.record_lines_of_tests(TREE, SCRATCH / f"lines-{key}.log")

    def judge_python_mutant(change: Change, log: Path) -> Judgement:
        # Find the lines in the unchanged source, for which the tests were recorded.
        sound = read_unchanged_text(change.file)
        numbers = testlines.find_statement_lines(sound, change.line)
        return judge_by_quick_tests(
            lines.times, lines.find_tests_of_lines(change.file, numbers), log
        )

    return judge_python_mutant


def judge_by_quick_tests(times: TestTimes, tests: Sequence[str], log: Path) -> Judgement:
    """Judge a mutant by the quickest of `tests`, which are tests of tests/tools."""
    chosen = times.choose_quick_tests(tests)
    if not chosen:
        return Judgement()
    code = testlines.run_pytest_in_tree(
        TREE, ["-x", *chosen], log, times.compute_test_time_limit(chosen)
    )
    if code == 0:
        return Judgement(seen_by=chosen)
    said = log.read_text(encoding="utf-8", errors="replace")
    if code == testlines.USAGE_CODE and not re.search("ERROR collecting|loading conftest", said):
        raise MutantError(f"pytest does not find the tests that execute the line, see {log}")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", said, re.M)
    return Judgement("hangs" if code is None else failed[1] if failed else f"exit code {code}")


def compile_object(make: Sequence[object], path: Path, log: Path) -> bytes | None:
    """Run a make command that makes an object file; return the object without debug information, or
    None if it cannot be compiled."""
    if processes.run_program(make, log):
        return None
    bare = log.with_suffix(".o")
    if processes.run_program(["objcopy", "--strip-debug", path, bare], log):
        raise MutantError(f"objcopy cannot read {path}; see {log}")
    return bare.read_bytes()


def judge_by_compiler(change: Change, out: Path, log: Path) -> Judgement | None:
    """Compile the changed file of a program, with and without the change, into `out`. Return None
    if the objects differ and the compiler does not warn; else the judgement of the mutant."""
    path = out / Path(change.file).with_suffix(".o")
    make = build_make_command(path, out=out, tree=TREE)
    lax = build_make_command(path, out=out, tree=TREE, extra="-Wno-error")
    strict = compile_object(make, path, log)
    new = strict or compile_object(lax, path, log)
    with replace_file_text_temporarily(change.file, read_unchanged_text(change.file), TREE):
        if new is None or new == compile_object(make, path, log):
            return Judgement(counted=False)
    return None if strict else Judgement("a warning of the compiler")


def build_and_run_test_program(log: Path) -> str:
    """Build and run the C test cases in user space until the first failure; return this failure, or
    ""."""
    program = mutants.build_test_program(Environment.USER, log)
    said = log.with_suffix(".ktap")
    said.unlink(missing_ok=True)
    words = ["bash", "-c", UNTIL_FAILURE, "bash", program, BATCHES]
    code = mutants.run_with_time_limit(words, said, PROGRAM_SECONDS)
    if code is None:
        return "the test program hangs"
    failed = re.findall(
        r"^not ok \d+ (\S+)", said.read_text(encoding="utf-8", errors="replace"), re.M
    )
    return [*failed, f"exit code {code} of the test program"][0] if code else ""


def make_native_judge(commit: str) -> Judge:
    """Return a function that judges a mutant by the C test cases in user space, and by the tests of
    tests/tools that execute the changed line in a program of native/."""
    sound_log = SCRATCH / f"lines-{commit}-native.log"
    tools = [
        path.relative_to(TREE)
        for path in sorted((TREE / "tests" / "tools").glob("test_*.py"))
        if USES_PROGRAMS.search(path.read_text(encoding="utf-8"))
    ]
    if failed := build_and_run_test_program(SCRATCH / "sound-user.log"):
        raise MutantError(f"tests fail with the unchanged code: {failed}")

    def judge_native_mutant(change: Change, log: Path) -> Judgement:
        if judgement := judge_by_compiler(change, SCRATCH / "user", log):
            return judgement
        if caught := build_and_run_test_program(log):
            return Judgement(caught)
        with replace_file_text_temporarily(change.file, read_unchanged_text(change.file), TREE):
            lines = testlines.record_native_lines_of_tests(TREE, sound_log, tools)
        tests = lines.find_tests_of_lines(change.file, change.line)
        judgement = judge_by_quick_tests(lines.times, tests, log)
        return replace(judgement, seen_by=["native-plain", *judgement.seen_by])

    return judge_native_mutant


def order_suites_by_detections(file: str) -> list[str]:
    """Return the suites of a test kernel. The first suites run the tests of most hand-chosen
    mutants in the module of `file`. For a file in native/, return only the suites that run
    kmlive."""
    module = Path(file).parts[0]
    known = [mutant for mutant in mutants.ALL_MUTANTS if Path(mutant.file).parts[0] == module]
    often = Counter(suite for mutant in known for suite in mutant.suites)
    suites = [suite for suites in registry.read_suite_names_by_guest() for suite in suites]
    if module == "native":
        wanted = testkernel.add_partner_suites(mutants.KMLIVE_SUITES)
        return [suite for suite in suites if suite in wanted]
    return sorted(suites, key=lambda suite: (-often[suite], suites.index(suite)))


def make_kernel_judge(kernel: str) -> Judge:
    """Return a function that judges a mutant of a module or of kmlive by suites in a test kernel.
    The first failure ends the boot."""
    modules, objects = SCRATCH / "modules", get_object_dir(kernel, TREE)
    sound, live_files = SCRATCH / "sound-modules", list_native_c_files("kmlive")
    make = list(kernelsuite.MAKE_ARGS)
    if build_modules(kernel, TREE, modules, make, SCRATCH / "sound-modules.log"):
        raise MutantError(f"the modules do not build for kernel {kernel}")
    kmlive = SCRATCH / "kmlive"
    shutil.copy2(mutants.build_kmlive(SCRATCH / "sound-kmlive.log"), kmlive)
    copy_and_strip_modules(modules, sound)
    guest = Guest(MODULES[0], kernel, sound, kmlive)
    if fault := boot_until_failure(guest, SCRATCH / "sound-kernel.log"):
        raise MutantError(f"tests fail with the unchanged code: {fault}")

    def judge_kmlive_mutant(change: Change, log: Path) -> Judgement | LateJudgement:
        if judgement := judge_by_compiler(change, SCRATCH / "guest", log):
            return judgement
        own = log.with_suffix(".kmlive")
        shutil.copy2(mutants.build_kmlive(log), own)
        return partial(judge_by_test_kernel, Guest(change.file, kernel, sound, own), log)

    def judge_kernel_mutant(change: Change, log: Path) -> Judgement | LateJudgement:
        if change.file in live_files:
            return judge_kmlive_mutant(change, log)
        path = objects / Path(change.file).with_suffix(".o")
        before = path.read_bytes() if path.exists() else b""
        failed = build_modules(kernel, TREE, modules, make, log)
        same = failed or (path.read_bytes() if path.exists() else b"") == before
        warns = kernelsuite.find_build_warnings(log.read_text(encoding="utf-8", errors="replace"))
        if not same and not warns:
            own = log.with_suffix(".modules")
            copy_and_strip_modules(modules, own)
        restore_kernel_object(change, kernel, modules, make, log)
        if same:
            return Judgement(counted=False)
        if warns:
            return Judgement("a warning of the compiler")
        return partial(judge_by_test_kernel, Guest(change.file, kernel, own, kmlive), log, own)

    return judge_kernel_mutant


def copy_and_strip_modules(modules: Path, copy: Path) -> None:
    """Copy a folder of modules, and add stripped modules, which some suites load, to the copy."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(modules, copy)
    make_stripped_module_copies(copy, kernelsuite.STRIPPED)


def judge_by_test_kernel(guest: Guest, log: Path, temporary: Path | None = None) -> Judgement:
    """Judge a mutant by the suites in a test kernel. Then delete the folder `temporary`."""
    caught = boot_until_failure(guest, log)
    if temporary:
        shutil.rmtree(temporary)
    return Judgement(caught, order_suites_by_detections(guest.file))


def restore_kernel_object(
    change: Change, kernel: str, modules: Path, make: Sequence[str], log: Path
) -> None:
    """Build the modules without the change, for comparison with the objects of the next mutant."""
    with replace_file_text_temporarily(change.file, read_unchanged_text(change.file), TREE):
        if build_modules(kernel, TREE, modules, make, log):
            raise MutantError(f"the unchanged modules do not build: no mutant is judged; see {log}")


def boot_until_failure(guest: Guest, log: Path) -> str:
    """Run the suites in a test kernel until the first failure; return this failure, or ""."""
    suites = order_suites_by_detections(guest.file)
    request = Request(
        kernel=guest.kernel,
        job=TREE / "tests" / "vm" / "jobs" / "check.sh",
        out=log.with_suffix(""),
        modules=guest.modules,
        additions=mutants.list_mutant_guest_files([(guest.kmlive, "/kmlive")]),
        settings={
            **kernelsuite.FEW_SETTINGS,
            **{"KMARKERS_STOP": 1, "KMARKERS_SUITES": " ".join(suites)},
        },
        timeout=mutants.BOOT_SECONDS,
    )
    retries: list[str] = []
    result = kernelsuite.boot_and_retry_emulator_crashes(request, retries)
    kernelsuite.print_boot_retries(retries)
    failed = ktap.parse_ktap(result.status.splitlines()).failed
    return "" if result.ok else (failed or [result.reason])[0]


def read_unchanged_text(file: str) -> str:
    """Return the text of a file of TREE without the change of a mutant."""
    return processes.capture_output(["git", "show", f"HEAD:{file}"], TREE).stdout


@contextlib.contextmanager
def replace_file_text_temporarily(file: str, text: str, tree: Path) -> Iterator[None]:
    """Replace the text of a file in `tree` until the end of the `with` block."""
    before = (tree / file).read_text(encoding="utf-8")
    (tree / file).write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        (tree / file).write_text(before, encoding="utf-8")


def list_unnoticed_mutants() -> list[Mutant]:
    """Return the mutants that no test can notice."""
    lines = mutants.UNNOTICED.read_text(encoding="utf-8")
    heads = re.compile(r"^(@@ .*)\n", re.M)
    return [*mutants.parse_mutant_table(heads.sub(r"\1\nuser: none\n", lines), "unnoticed.txt")]


def is_known_unnoticed_mutant(change: Change, unchanged_text: str, known: Sequence[Mutant]) -> bool:
    """Return True if the change is one of `known`, the mutants that no test can notice."""
    return any(
        mutants.apply_mutant(mutant, unchanged_text) == change.text
        for mutant in known
        if mutant.file == change.file
    )


def format_survivor(change: Change, unchanged_text: str, seen_by: Sequence[str]) -> str:
    """Return a mutant that no test has noticed as a diff, with the tests that ran."""
    old, new = (text.splitlines(keepends=True) for text in (unchanged_text, change.text))
    diff = "".join(difflib.unified_diff(old, new, f"a/{change.file}", f"b/{change.file}"))
    more = f" and {len(seen_by) - 8} more" if len(seen_by) > 8 else ""
    seen = f"seen by {', '.join(seen_by[:8])}{more}" if seen_by else "no test executes it"
    return f"# {change.name}: {seen}\n{diff}"


def is_caught_share_too_low(caught: int, judged: int, limit: float) -> bool:
    """Return True if tests detect significantly fewer than `limit` percent of mutants: a one-sided
    binomial test of `caught` mutants out of `judged` gives a probability below 5 %."""
    share = limit / 100
    ways = (
        math.comb(judged, n) * share**n * (1 - share) ** (judged - n) for n in range(caught + 1)
    )
    return sum(ways) < 0.05


@dataclass
class Sample:
    """The results of a sample of `count` mutants of the kind `where`: the numbers of mutants that
    are judged, caught, and listed as unnoticed, the survivors as diffs, and the reasons why mutants
    could not be judged. `known` are the mutants that no test can notice."""

    where: str
    count: int
    known: Sequence[Mutant] = field(default_factory=list_unnoticed_mutants)
    judged: int = 0
    caught: int = 0
    listed: int = 0
    survivors: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def recorded(self) -> int:
        """The number of mutants whose results are recorded."""
        return self.judged + self.listed + len(self.failures)

    def record_judgement(
        self, change: Change, unchanged_text: str, future: Future[Judgement]
    ) -> None:
        """Wait for the judgement of a mutant, count the mutant and print a row."""
        try:
            judgement = future.result()
            unnoticed = not judgement.caught and is_known_unnoticed_mutant(
                change, unchanged_text, self.known
            )
        except MutantError as error:
            # Continue with the next mutant after a mutant that cannot be judged.
            self.failures.append(f"{change.name}: {error}")
            verdict = f"NOT JUDGED: {error}"
        else:
            verdict = judgement.caught or "SURVIVES"
            if unnoticed:
                verdict, self.listed = "survives, is listed as unnoticed", self.listed + 1
            else:
                self.judged += 1
                self.caught += bool(judgement.caught)
                if not judgement.caught:
                    self.survivors.append(
                        format_survivor(change, unchanged_text, judgement.seen_by)
                    )
        took = (time.monotonic() - self.began) / self.recorded
        left = format_duration(took * (self.count - self.recorded))
        print(f"[{self.recorded}/{self.count}] {change.name:58} {verdict}; {left} left", flush=True)

    def describe_caught_share(self) -> str:
        """Return a line with the number and the percentage of caught mutants."""
        rate = 100.0 * self.caught / self.judged if self.judged else 100.0
        took = (time.monotonic() - self.began) / max(self.recorded, 1)
        counts = f"{self.caught} of {self.judged} mutants caught, {rate:.0f} %"
        listed = f"; {self.listed} listed as unnoticed" if self.listed else ""
        return f"{self.where}: {counts}, {took:.0f} s each{listed}"


def start_judgement(
    judge: Judge, change: Change, log: Path, pool: ThreadPoolExecutor
) -> Future[Judgement] | None:
    """Judge a mutant while the file has the mutant's change. Return the judgement, which `pool` may
    compute later. Return None if the mutant is not counted."""
    done: Future[Judgement] = Future()
    try:
        judgement = judge(change, log)
    except MutantError as error:
        done.set_exception(error)
        return done
    if not isinstance(judgement, Judgement):
        return pool.submit(judgement)
    done.set_result(judgement)
    return done if judgement.counted else None


def judge_mutants(
    where: str, changes: Iterator[Change], count: int, judge: Judge, report: Path, tree: Path = TREE
) -> Tally:
    """Judge the first `count` mutants that have an effect; print a row for each, and the survivors.
    Return a result: a pass if the tests detect enough of the mutants."""
    sample, started = Sample(where, count), 0
    print(f"{where}: {'mutant':58} caught by", flush=True)
    waiting: list[tuple[Change, str, Future[Judgement]]] = []
    pool = ThreadPoolExecutor(GUESTS)
    try:
        for change in changes:
            if started == count:
                break
            sound = (tree / change.file).read_text(encoding="utf-8")
            log = SCRATCH / f"random-{where}-{started}.log"
            log.unlink(missing_ok=True)
            with replace_file_text_temporarily(change.file, change.text, tree):
                future = start_judgement(judge, change, log, pool)
            if future is None:
                continue
            started += 1
            waiting.append((change, sound, future))
            while waiting and (len(waiting) > GUESTS or waiting[0][2].done()):
                sample.record_judgement(*waiting.pop(0))
        for one in waiting:
            sample.record_judgement(*one)
    finally:
        # Do not boot the waiting mutants after an interruption.
        pool.shutdown(cancel_futures=True)
    total = sample.describe_caught_share()
    report.write_text("\n".join([*sample.survivors, total, ""]), encoding="utf-8")
    print("\n".join([*sample.survivors, total]), flush=True)
    failures = sample.failures
    if started < count:
        failures.append(f"{where}: only {started} mutants have an effect")
    if is_caught_share_too_low(sample.caught, sample.judged, LIMITS[where]):
        failures.append(f"{total}; the limit is {LIMITS[where]:.0f} %, see {report}")
    return Tally(passed=0 if failures else 1, failed=failures)


def run_random_mutants(counts: dict[str, int], seed: int, kernel: str) -> Tally:
    """Judge random mutants: `counts` has the number of mutants for each value of where=."""
    commit = clone_last_commit()
    tally = Tally()
    print(f"random mutants of commit {commit[:12]}, seed {seed}", flush=True)
    for where, count in counts.items():
        report = SCRATCH / f"random-{where}-{seed}.txt"
        if where == "python":
            # Make all mutants first: a failure of this step must not come after
            # make_python_judge(), which may take long to record the tests of each line.
            changes = iter([*draw_python_mutants(count, seed)])
        else:
            changes = draw_c_mutants(list_c_files(where), seed)
        make = {"python": make_python_judge, "native": make_native_judge, "C": make_kernel_judge}
        judge = make[where](kernel if where == "C" else commit)
        tally.add_tally(judge_mutants(where, changes, count, judge, report))
    return tally


def find_random_mutants_obstacle(kernel: str) -> str:
    """Return the reason why random mutants cannot be judged (the tools are missing, or `kernel`
    cannot boot), with the remedy; else "". `kernel` is "" if no test kernel is needed."""
    if not testlines.PYTHON.exists():
        return "the tools are missing: run scripts/setup --mutants"
    return kernelsuite.make_boot_obstacle_finder(kernel)() if kernel else ""


def make_random_suite(suite_request: SuiteRequest) -> Suite:
    """Return the suite that judges random mutants."""
    places = suite_request.get_option_choices("where", tuple(LIMITS)) or [*LIMITS]
    number = suite_request.get_option_number("random", WEEKLY * len(places))
    seed = suite_request.get_option_number("seed", int(time.time()))
    kernel = testkernel.choose_kernel(suite_request)
    counts = {where: len(range(place, number, len(places))) for place, where in enumerate(places)}
    return Suite(
        "mutants-random",
        lambda _: run_random_mutants({one: n for one, n in counts.items() if n}, seed, kernel),
        f"{number} random faults, most of which tests must detect",
        partial(find_random_mutants_obstacle, kernel if counts.get("C") else ""),
        sum(USUAL_SECONDS[where] * count for where, count in counts.items()),
        # Run after the suite `mutants`, because both suites change the same copy of the sources.
        after="mutants",
        loud=True,
    )


def make_requested_random_mutant_suites(
    suite_request: SuiteRequest, names: Sequence[str]
) -> list[Suite]:
    """Return the requested suites: a suite of hand-chosen mutants and a suite of random mutants. If
    the option random, where or seed is given, return only the suite of random mutants."""
    chosen = any(suite_request.get_option_text(name) for name in ("random", "where", "seed"))
    wanted = "mutants-random" in names or chosen
    by_hand = "mutants" in names and not chosen
    found = mutants.make_requested_mutant_suites(suite_request, names) if by_hand else []
    return [*found, *([make_random_suite(suite_request)] if wanted else [])]
