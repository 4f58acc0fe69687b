# SPDX-License-Identifier: GPL-2.0-only
"""Runs tests of tests/tools in a copy of the sources. Finds the tests that execute a line of
scripts/kmtools (with coverage.py), or a line of C code in user space (with gcov). A test executes a
line itself, or in programs that it starts."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kmtools.base import processes
from kmtools.base.errors import FailedError
from kmtools.base.paths import ROOT

# The Python that scripts/setup --mutants installs.
PYTHON = ROOT / "build" / "mutation" / "bin" / "python"
# The configuration of coverage.py, which each process reads. The lines that are executed by a
# program of a test are stored under the name of the test.
CONFIG = """[run]
source = {tree}/scripts/kmtools
data_file = {data}/coverage
parallel = True
concurrency = thread, multiprocessing
sigterm = True
patch = execv
context = ${{KMARKERS_TEST-}}
"""
# The time limit of tests is START_SECONDS plus SLOWER times the usual time of these tests.
START_SECONDS, SLOWER = 60.0, 6.0
# The maximum time of all tests that execute a line. If it is exceeded, only the quickest tests run.
MOST_SECONDS = 300.0
# The time limit of a run of all tests.
ALL_SECONDS = 7200.0
# The exit code of pytest if a test that is named does not exist.
USAGE_CODE = 4
EXECUTED = """SELECT context, numbits FROM line_bits JOIN context ON context_id = context.id
    JOIN file ON file_id = file.id WHERE path = ?"""
# Compiler flags with which a C program writes its execution counts.
COUNTING_FLAGS = "--coverage -fprofile-update=atomic"


@dataclass(frozen=True)
class TestTimes:
    """The tests that pass with the unchanged code. `seconds` has the time of each test without the
    fixtures that it shares with other tests, `fixtures` the names of these fixtures, and
    `fixture_seconds` the time of each shared fixture."""

    seconds: Mapping[str, float]
    fixtures: Mapping[str, Sequence[str]] = field(default_factory=dict)
    fixture_seconds: Mapping[str, float] = field(default_factory=dict)

    def sort_tests_by_time(self, names: set[str]) -> list[str]:
        """Return the tests that are in `names` or use a shared fixture in `names`, quickest
        first."""
        tests = [
            test
            for test in self.seconds
            if test in names or not names.isdisjoint(self.fixtures.get(test, ()))
        ]
        return sorted(tests, key=lambda test: (self.sum_test_seconds([test]), test))

    def sum_test_seconds(self, tests: Sequence[str]) -> float:
        """Return the time of a run of tests, in which each shared fixture runs once."""
        shared = {name for test in tests for name in self.fixtures.get(test, ())}
        own = sum(self.seconds[test] for test in tests)
        return own + sum(self.fixture_seconds.get(name, 0.0) for name in shared)

    def choose_quick_tests(self, tests: Iterable[str]) -> list[str]:
        """Return the first tests that together take no longer than MOST_SECONDS."""
        chosen: list[str] = []
        for test in tests:
            if chosen and self.sum_test_seconds([*chosen, test]) > MOST_SECONDS:
                break
            chosen.append(test)
        return chosen

    def compute_test_time_limit(self, tests: Sequence[str]) -> float:
        """Return the time limit of a run of `tests` in seconds."""
        return START_SECONDS + SLOWER * self.sum_test_seconds(tests)


@dataclass(frozen=True)
class TestLines:
    """The tests that execute a line of Python code. `data` is the data file of coverage.py, and
    `tree` is the tree of the tests."""

    times: TestTimes
    data: Path
    tree: Path

    def find_tests_of_lines(self, file: str, numbers: Iterable[int]) -> list[str]:
        """Return the tests that execute one of the lines `numbers` of a file, quickest first. If an
        import executes a line outside of the tests, return all tests that execute the file: each of
        these tests may depend on the line."""
        tests, all_tests = set(), set()
        with contextlib.closing(sqlite3.connect(self.data)) as database:
            for test, bits in database.execute(EXECUTED, [str(self.tree / file)]):
                all_tests.add(test)
                if any(bits[n // 8 : n // 8 + 1] and bits[n // 8] >> n % 8 & 1 for n in numbers):
                    tests.add(test)
        return self.times.sort_tests_by_time(all_tests if "" in tests else tests)


@dataclass(frozen=True)
class NativeTestLines:
    """The tests that execute a line of C code in user space: `lines` has the names of the tests and
    of the shared fixtures by file and line number, with an empty list for compiled lines that no
    test executes."""

    times: TestTimes
    lines: Mapping[str, Mapping[str, Sequence[str]]]

    def find_tests_of_lines(self, file: str, number: int) -> list[str]:
        """Return the tests that execute the line `number` of a file, quickest first. If no code was
        compiled from this line alone, for example if the line is a part of an initializer, return
        all tests that execute the file. If no program with this file counts, return all tests."""
        of_file = self.lines.get(file)
        if of_file is None:
            return self.times.sort_tests_by_time({*self.times.seconds})
        found = of_file.get(str(number))
        if found is None:
            found = [test for tests in of_file.values() for test in tests]
        return self.times.sort_tests_by_time({*found})


def find_statement_lines(text: str, line: int) -> range:
    """Return the lines of the innermost statement of a Python source that contains the line `line`.
    Of a compound statement, such as `if`, only the lines before the body count."""
    found = range(line, line + 1)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or line
            if node.lineno <= line <= end:
                found = range(node.lineno, end + 1)
    return found


def run_pytest_in_tree(
    tree: Path, words: Sequence[object], log: Path, seconds: float, **env: object
) -> int | None:
    """Run pytest in the tree `tree` with arguments; `env` are variables of the environment. Return
    its exit code, or None after `seconds`."""
    # Write no bytecode: a mutant may have the same size and time as the unchanged file.
    variables = {
        **{"PYTHONDONTWRITEBYTECODE": 1, "PYTHONPATH": tree / "tests" / "mutants"},
        **{"RECORD": log.with_suffix(".jsonl"), **env},
    }
    options = ["-q", "-p", "record_tests", "-p", "no:cacheprovider", "-c", "pyproject.toml"]
    command = ["env", f"--chdir={tree}", PYTHON, "-m", "pytest", *options, *words]
    with contextlib.suppress(subprocess.TimeoutExpired):
        texts = {name: str(value) for name, value in variables.items()}
        return processes.run_program(command, log, texts, seconds)
    return None


def read_passed_tests(record: Path) -> TestTimes:
    """Return the tests that passed, from a file that the plugin tests/mutants/record_tests.py has
    written."""
    seconds: dict[str, float] = defaultdict(float)
    fixtures: dict[str, list[str]] = {}
    fixture_seconds: dict[str, float] = defaultdict(float)
    not_passed = set()
    for entry in map(json.loads, record.read_text(encoding="utf-8").splitlines()):
        if "uses" in entry:
            fixtures[entry["test"]] = entry["uses"]
        elif "fixture" in entry:
            fixture_seconds[entry["fixture"]] += entry["seconds"]
            seconds[entry["test"]] -= entry["seconds"]
        else:
            test, outcome, duration = entry
            seconds[test] += duration
            if outcome != "passed":
                not_passed.add(test)
    passed = {test: max(0.0, seconds[test]) for test in seconds if test not in not_passed}
    used = {test: fixtures[test] for test in passed if fixtures.get(test)}
    return TestTimes(passed, used, dict(fixture_seconds))


def run_tests_without_mutants(
    tree: Path, words: Sequence[object], log: Path, **env: object
) -> TestTimes:
    """Run tests in a tree without a change: the tests without the mark `long` in the files `words`,
    by default in all files of tests/tools. Return the tests that passed, and store these results
    next to the log."""
    record, result = log.with_suffix(".jsonl"), log.with_suffix(".json")
    for old in (log, record, result):
        old.unlink(missing_ok=True)
    code = run_pytest_in_tree(tree, ["-m", "not long", *words], log, ALL_SECONDS, **env)
    if code not in (0, 1):
        how = "time is up" if code is None else f"exit code {code}"
        raise FailedError(f"the tests of tests/tools were not run to the end ({how}), see {log}")
    passed = read_passed_tests(record) if record.exists() else TestTimes({})
    if not passed.seconds:
        raise FailedError(f"no test of tests/tools passes with the unchanged code, see {log}")
    result.write_text(json.dumps(asdict(passed)), encoding="utf-8")
    return passed


def load_or_run_passing_tests(tree: Path, words: Sequence[object], log: Path) -> TestTimes:
    """Return the results that run_tests_without_mutants() stored next to `log`; if no results are
    stored, run the tests."""
    if not log.with_suffix(".json").exists():
        return run_tests_without_mutants(tree, words, log)
    return TestTimes(**json.loads(log.with_suffix(".json").read_text(encoding="utf-8")))


def record_lines_of_tests(tree: Path, log: Path, words: Sequence[object] = ()) -> TestLines:
    """Run the tests in the files `words`, by default in tests/tools, under coverage.py. Return the
    tests that execute each line. If an earlier run with the same log is complete, return its
    results instead."""
    data = log.with_suffix(".sqlite")
    if not data.exists():
        parts = log.with_suffix("")
        shutil.rmtree(parts, ignore_errors=True)
        parts.mkdir(parents=True)
        config = parts / "rc"
        config.write_text(CONFIG.format(tree=tree, data=parts), encoding="utf-8")
        run_tests_without_mutants(tree, words, log, COVERAGE_PROCESS_START=config)
        combine = [PYTHON, "-m", "coverage", "combine", "-q", f"--rcfile={config}", parts]
        if processes.run_program(combine, log):
            raise FailedError(f"coverage.py cannot combine its data, see {log}")
        (parts / "coverage").rename(data)
        shutil.rmtree(parts)
    return TestLines(load_or_run_passing_tests(tree, words, log), data, tree)


def read_execution_counts(counts: Path, tree: Path) -> Iterator[tuple[str, int, int]]:
    """Yield (file, line number, execution count) for each compiled line of the C programs that
    wrote their execution counts to the directory `counts`. Files of other trees are left out."""
    data = sorted((counts / tree.relative_to("/")).rglob("*.gcda"))
    for path in data:
        note = path.with_suffix(".gcno")
        note.unlink(missing_ok=True)
        note.symlink_to(Path("/", note.relative_to(counts)))
    if not data:
        return
    done = processes.capture_output(["gcov", "--json-format", "--stdout", *data], counts)
    if done.returncode:
        raise FailedError(f"gcov cannot read {counts}: {done.stderr.strip()}")
    for report in map(json.loads, done.stdout.splitlines()):
        for file in report["files"]:
            path = Path(os.path.normpath(Path(report["current_working_directory"], file["file"])))
            if path.is_relative_to(tree):
                name = str(path.relative_to(tree))
                yield from ((name, line["line_number"], line["count"]) for line in file["lines"])


def record_native_lines_of_tests(tree: Path, log: Path, words: Sequence[object]) -> NativeTestLines:
    """Run the tests in the files `words` with the programs of native/, and once more with programs
    that count how often each line is executed. Return the tests that execute each line. If an
    earlier run with the same log is complete, return its results instead."""
    data = log.with_suffix(".lines")
    if not data.exists():
        counting, programs = log.with_name(f"{log.stem}-counting.log"), tree / "build" / "native"
        counts = log.with_suffix("")
        for folder in (counts, programs):
            shutil.rmtree(folder, ignore_errors=True)
        counts.mkdir(parents=True)
        run_tests_without_mutants(tree, words, counting, COUNTS=counts, EXTRA=COUNTING_FLAGS)
        lines: dict[str, dict[int, list[str]]] = {}
        for name in sorted(counts.glob("*/name")):
            found: dict[tuple[str, int], int] = defaultdict(int)
            for file, number, count in read_execution_counts(name.parent, tree):
                found[file, number] += count
            for (file, number), count in found.items():
                tests = lines.setdefault(file, {}).setdefault(number, [])
                tests.extend([name.read_text(encoding="utf-8")] if count else [])
        if not lines:
            raise FailedError(f"no test of {words} executes C code, see {counting}")
        data.write_text(json.dumps(lines), encoding="utf-8")
        for folder in (counts, programs):
            shutil.rmtree(folder)
    return NativeTestLines(
        load_or_run_passing_tests(tree, words, log), json.loads(data.read_text(encoding="utf-8"))
    )
