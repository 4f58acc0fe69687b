# SPDX-License-Identifier: GPL-2.0-only
"""The list of all tests, from tests.csv and check.sh: `kmarkers check NAME` and `make check-NAME`
run one of the tests.

Each test names the function that makes its suites. The module of that function is imported only
when the test runs.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.paths import OWN, ROOT
from kmtools.base.progress import format_duration
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.suite import Suite

LIST = Path(__file__).with_name("tests.csv")
SETS = ("short", "full", "weekly")
# Values of Test.where for tests that need root privileges. GUEST: tests in a test kernel. EMULATED:
# tests that count instructions or emulate a processor, so that their test kernel is emulated even
# where KVM works. MINIMAL: tests in a minimal Debian system, which is unpacked into a directory.
GUEST, EMULATED, MINIMAL = "test kernel", "emulated kernel", "minimal Debian"
# Programs (or files of this checkout) that scripts/setup installs, by the option of scripts/setup
# that installs them.
PROGRAMS = {
    "": ("gcc", "make"),
    "--tools": ("clang",),
    "--mutants": ("build/mutation/bin/python",),
    "--page": ("build/page/bin/python",),
    "--fresh": ("mmdebstrap",),
    "--packages": ("mmdebstrap", "dh_dkms"),
    "--lint": ("build/lint/bin/mypy",),
    "--fleet": ("build/venv/.fleet",),
    "--html": ("sphinx-build",),
}
JOB = ROOT / "tests" / "vm" / "jobs" / "check.sh"
GUEST_SUITES = ROOT / "tests" / "vm" / "suites"
# Options NAME=VALUE of tests, and what each value means.
OPTIONS = {
    "batches": "number of patch batches in a stress test",
    "blocks": "number of blocks (groups of measurements) in each process of a run",
    "budget": "time limit of a run: 90, 90s or 5m",
    "benchmarks": "patterns of benchmarks (default: all)",
    "cached": "1: minimal Debian systems use the test kernels that this machine has downloaded",
    "files": "number of C files of the module (default: 500)",
    "kinds": "kinds of simulated noise, or of neighbour processes (default: all)",
    "missing": "1: processors: run only rows without a result; matrix, debug: run only suites that"
    " changed after their result; coverage: list unexecuted lines",
    "model": "1: also run the model checker on mutants that it can check",
    "mutants": "names of mutants (default: all)",
    "no_kernel": "1: skip mutants that need a boot",
    "numbers": "row numbers in the processor table (default: all)",
    "packages": "names of DKMS packages to build (default: all)",
    "programs": "programs to build: some of memcached, tcl and perl (default: all)",
    "quick": "1: run every command of the README with QUICK=1",
    "random": "number of random mutants (default: none, only the mutants chosen by hand)",
    "readme": "1: write the times of the README's commands into CONTRIBUTING.md",
    "root": "Debian releases to test in (default: all)",
    "runs": "number of runs of the benchmarks to measure, simulate or generate",
    "seconds": "duration of a stress test, or of each fuzz target, in seconds",
    "seed": "seed of random actions or mutants (default: the time)",
    "sites": "number of sites in all files of the module (default: 10000)",
    "step": "commands of the README to run (default: all)",
    "targets": "fuzz targets to run (default: all)",
    "tools": "linters to run (default: all)",
    "turns": "number of loads of each module (default: 7)",
    "where": "where random mutants are: some of native, C and python (default: all)",
    "who": "who runs the commands: root or user (default: both)",
}

# The value of the option `where` for random mutants that need a test kernel.
KERNEL_MUTANTS = "C"


@dataclass(frozen=True)
class Test:
    """A test: its name, a description in one line, where it runs, the sets that contain it.

    `make` is the function that returns the suites of the test, as MODULE:FUNCTION. The arguments of
    this function are a SuiteRequest and the names of all selected tests that have the same
    function. `usual` is the time of the test in seconds on 2 idle cores, `needs` the option of
    scripts/setup that installs the tools of the test, `options` names from OPTIONS. `groups` are
    names of groups of tests: the name of a group selects all its tests.
    """

    name: str
    what: str
    where: str
    sets: str
    make: str
    usual: float
    needs: str = ""
    options: str = ""
    groups: str = ""

    def matches_pattern(self, pattern: str) -> bool:
        """Return true if a pattern matches the name of this test or of one of its groups."""
        return any(fnmatchcase(name, pattern) for name in (self.name, *self.groups.split()))


# The time that each suite takes inside the test kernel, in seconds on 2 idle cores. A suite that is
# not listed takes about SUITE_SECONDS.
SUITE_SECONDS = 5.0
SECONDS = {
    "entry_many": 70.0, "orders": 44.0, "entry": 29.0, "notes": 29.0, "core": 26.0,
    "sdt": 25.0, "many": 23.0, "functions": 23.0, "nomem": 22.0, "cases": 22.0, "cycles": 17.0,
    "fields": 15.0, "hundred": 12.0, "landing": 11.0, "packets": 11.0, "bench_groups": 10.0,
    "lockdown": 10.0, "references": 9.0, "bench": 9.0, "events": 9.0, "kprobes": 8.0,
    "handler_path": 8.0,
}  # fmt: skip
# Suites that are too long for the short set. Shorter suites test the same code, but with fewer
# functions, notes or names, without failing every allocation in turn, or without tracing the
# functions that the breakpoint handler calls.
LONG = ("entry_many", "notes_many", "hundred", "nomem", "handler_path")


def read_suite_names_by_guest() -> list[list[str]]:
    """Return the names of the suites that the job check.sh runs: one list for each of the two
    guests that run these suites."""
    text = JOB.read_text(encoding="utf-8")
    lists = re.findall(r'^(?:first|second)_suites="([^"]*)"', text, re.M)
    return [names.split() for names in lists]


def get_usual_suite_seconds(name: str) -> float:
    """Return the usual time of a suite inside the test kernel, in seconds."""
    return SECONDS.get(name, SUITE_SECONDS)


def read_first_comment_sentence(script: Path) -> str:
    """Return the first sentence of the comment at the head of a script."""
    said = ""
    for line in script.read_text(encoding="utf-8").splitlines():
        if line.startswith("# ") and not line.startswith(("# SPDX", "# shellcheck")):
            said += f" {line[2:]}"
        elif said:
            break
    return re.split(r"[.:;] ", said.strip())[0].rstrip(".")


def list_guest_tests() -> Iterator[Test]:
    """Yield a test for each suite that check.sh runs."""
    make = "kmtools.suites.testkernel:make_requested_test_kernel_suites"
    for name in (name for names in read_suite_names_by_guest() for name in names):
        what = read_first_comment_sentence(GUEST_SUITES / f"{name}.sh")
        sets = "full" if name in LONG else "short full"
        yield Test(name, what, GUEST, sets, make, get_usual_suite_seconds(name), groups="kernel")


def read_test_table() -> Iterator[Test]:
    """Yield the tests in tests.csv."""
    with LIST.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            usual = float(row.pop("usual"))
            yield Test(usual=usual, **row)


def list_tests() -> list[Test]:
    """Return all tests, in the order in which they run."""
    return [*read_test_table(), *list_guest_tests()]


def select_tests(patterns: Sequence[str], form: str) -> list[Test]:
    """Return the tests that match the patterns, or without patterns the tests of the set `form`;
    raise UnableError for a pattern that matches no test."""
    tests = list_tests()
    if not patterns:
        return [test for test in tests if form in test.sets.split()]
    found = []
    for pattern in patterns:
        some = [test for test in tests if test.matches_pattern(pattern)]
        if not some:
            known = sorted({name for test in tests for name in (test.name, *test.groups.split())})
            near = get_close_matches(pattern, known, 5, 0.5) or [
                name for name in known if pattern[:3] in name
            ]
            hint = f"; similar names: {', '.join(near)}" if near else ""
            raise UnableError(f"no test {pattern!r}{hint}; `kmarkers check --list` shows all tests")
        found += some
    return [test for test in tests if test in found]


def refuse_unknown_test_options(options: Iterable[str], tests: Sequence[Test]) -> None:
    """Raise UnableError for an option that none of the tests has."""
    known = sorted({name for test in tests for name in test.options.split()})
    for name in options:
        if name not in known:
            there = f"their options are: {', '.join(known)}" if known else "they have no options"
            raise UnableError(f"-o {name}: the selected tests have no such option; {there}")


def make_suites_of_tests(tests: Sequence[Test], suite_request: SuiteRequest) -> list[Suite]:
    """Return the suites of tests. Each function that makes suites is imported and called once, with
    the names of all the tests that have this function."""
    names: dict[str, list[str]] = {}
    for test in tests:
        names.setdefault(test.make, []).append(test.name)
    found = []
    for make, some in names.items():
        module, _, function = make.partition(":")
        if not get_suite_module_path(make).is_file():
            raise UnableError(
                f"test {some[0]} is not installed; run `scripts/kmarkers check` in a checkout"
            )
        found += getattr(import_module(module), function)(suite_request, some)
    # The logs of a suite have the name of the suite, and two suites may run at the same time.
    every = [suite.name for suite in found]
    if twice := next((name for name in every if every.count(name) > 1), ""):
        raise UnableError(
            f"two of the given tests run the suite {twice}: run these tests one after the other"
        )
    return found


def get_suite_module_path(module_and_function: str) -> Path:
    """Return the path of MODULE in a text of the form MODULE:FUNCTION, such as Test.make. A few of
    these modules are not installed."""
    module = module_and_function.partition(":")[0]
    return OWN / "scripts" / f"{module.replace('.', '/')}.py"


def can_use_kvm(test: Test, suite_request: SuiteRequest) -> bool:
    """Return true if a test, run with these options, boots a test kernel that need not be emulated:
    the test runs in such a kernel, and the option `where` of random mutants is empty or contains
    KERNEL_MUTANTS."""
    places = suite_request.get_option_words("where") if "where" in test.options.split() else []
    return test.where == GUEST and (not places or KERNEL_MUTANTS in places)


def find_test_obstacle(test: Test) -> str:
    """Return the reason why a test cannot run on this machine, or "". To be quick, this function
    checks only root privileges and installed programs."""
    if test.where in (GUEST, EMULATED, MINIMAL) and os.geteuid() != 0:
        return "needs root"
    lacking = [
        name for name in PROGRAMS.get(test.needs, ("gcc", "make")) if not is_program_installed(name)
    ]
    remedy = f"scripts/setup {test.needs}".rstrip()
    return f"no {', '.join(lacking)}: {remedy}" if lacking else ""


def is_program_installed(name: str) -> bool:
    """Return true if the program `name` is installed. A name with "/" is the path of a file in the
    checkout: return true if this file exists."""
    return (ROOT / name).exists() if "/" in name else shutil.which(name) is not None


def format_test_list(tests: Iterable[Test]) -> list[list[str]]:
    """Return a heading, and a row of cells for each test: name, sets, where the test runs, usual
    time, option of scripts/setup, and description with the reason why the test cannot run on this
    machine."""
    lines = [["test", "sets", "where", "usual", "needs", "what"]]
    for test in tests:
        why = find_test_obstacle(test)
        what = f"{test.what} [cannot run here: {why}]" if why else test.what
        sets = test.sets.replace(" ", "+")
        lines.append(
            [test.name, sets, test.where, format_duration(test.usual), test.needs or "-", what]
        )
    return lines
