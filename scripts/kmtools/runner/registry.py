# SPDX-License-Identifier: GPL-2.0-only
"""The one list of tests. A row is a test: `kmarkers check NAME` runs it, `make check-NAME` too.

The code of a test is imported only when the test runs: a row names the function that makes its
suites.
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
from kmtools.base.progress import duration
from kmtools.runner.ask import Ask
from kmtools.runner.suite import Suite

LIST = Path(__file__).with_name("tests.csv")
SETS = ("short", "full", "weekly")
GUEST, BARE = "test kernel", "bare root"
# Programs, and files of this checkout, that an option of scripts/setup installs.
PROGRAMS = {
    "": ("gcc", "make"),
    "--tools": ("clang",),
    "--page": ("build/page/bin/python",),
    "--fresh": ("mmdebstrap",),
    "--packages": ("mmdebstrap", "dh_dkms"),
    "--lint": ("build/lint/bin/mypy",),
    "--fleet": ("build/venv/.fleet",),
}
JOB = ROOT / "tests" / "vm" / "jobs" / "check.sh"
GUEST_SUITES = ROOT / "tests" / "vm" / "suites"
# Options NAME=VALUE of rows, for help and for errors.
OPTIONS = {
    "batches": "how long storms are, in changes",
    "blocks": "blocks of each process of a run",
    "budget": "the longest time that a run measures: 90, 90s or 5m",
    "benchmarks": "patterns of benchmarks (all)",
    "cached": "1: every bare root uses the test kernels of this machine",
    "files": "C files of the module (500)",
    "kinds": "kinds of noise (all)",
    "missing": "1: only rows that never ran; of coverage: list lines that never ran",
    "model": "1: ask the model checker, too",
    "mutants": "names of mutants (all)",
    "no_kernel": "1: leave out mutants that need a boot",
    "numbers": "numbers of rows of the table of processors (all)",
    "programs": "some of memcached, tcl and perl (all)",
    "quick": "1: run every command of the README with QUICK=1",
    "readme": "1: write the times into CONTRIBUTING.md",
    "root": "only this release of Debian",
    "runs": "how many runs",
    "seconds": "how long",
    "seed": "chooses what is done at random (the time)",
    "sites": "sites in all files of the module (10000)",
    "step": "only these commands of the README",
    "targets": "targets of the fuzzer (all)",
    "tools": "linters (all)",
    "turns": "loads of each module (7)",
    "who": "only as root, or only as user",
}


@dataclass(frozen=True)
class Row:
    """A test: its name, a description in one line, where it runs, the sets that hold it.

    `make` is the function that returns its suites, as MODULE:FUNCTION; it gets an Ask and the names
    of all chosen rows that it makes. `usual` is their time in seconds on 2 idle cores, `needs` the
    option of scripts/setup, `options` are names of OPTIONS. The names of groups stand for each of
    their rows.
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

    def matches(self, pattern: str) -> bool:
        """Return whether a pattern matches this test or one of its groups."""
        return any(fnmatchcase(name, pattern) for name in (self.name, *self.groups.split()))


# Times of suites inside the test kernel that are longer than SUITE_SECONDS, in seconds on 2 idle
# cores.
SUITE_SECONDS = 8.0
SECONDS = {
    "entry_many": 89.0, "nomem": 75.0, "orders": 67.0, "tables": 57.0, "kprobes": 52.0,
    "notes": 46.0, "core": 45.0, "functions": 44.0, "sdt": 36.0, "cases": 30.0,
    "handler_path": 30.0, "cycles": 27.0, "lockdown": 22.0, "landing": 20.0, "many": 20.0,
    "hundred": 16.0, "entry": 16.0, "packets": 12.0,
}  # fmt: skip
# Suites that are left out of the short set: others test the same code with fewer functions, notes
# and names, without failing each allocation in turn, and without tracing the handler's path.
LONG = ("entry_many", "notes_many", "hundred", "nomem", "handler_path")


def guest_lists() -> list[list[str]]:
    """Return the suites that the job check.sh lists, for each of two guests."""
    text = JOB.read_text(encoding="utf-8")
    lists = re.findall(r'^(?:first|second)_suites="([^"]*)"', text, re.M)
    return [names.split() for names in lists]


def suite_seconds(name: str) -> float:
    """Return how long a suite inside the test kernel usually takes."""
    return SECONDS.get(name, SUITE_SECONDS)


def first_sentence(file: Path) -> str:
    """Return the first sentence of the comments at the head of a script."""
    said = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("# ") and not line.startswith(("# SPDX", "# shellcheck")):
            said += f" {line[2:]}"
        elif said:
            break
    return re.split(r"[.:;] ", said.strip())[0].rstrip(".")


def guest_rows() -> Iterator[Row]:
    """Yield a row for each suite that check.sh lists."""
    make = "kmtools.suites.testkernel:suites_of"
    for name in (name for names in guest_lists() for name in names):
        what = first_sentence(GUEST_SUITES / f"{name}.sh")
        sets = "full" if name in LONG else "short full"
        yield Row(name, what, GUEST, sets, make, suite_seconds(name), groups="kernel")


def table() -> Iterator[Row]:
    """Yield the rows of tests.csv."""
    with LIST.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            usual = float(row.pop("usual"))
            yield Row(usual=usual, **row)


def all_rows() -> list[Row]:
    """Return every test, in the order in which they run."""
    return [*table(), *guest_rows()]


def chosen(patterns: Sequence[str], form: str) -> list[Row]:
    """Return the tests that match patterns, or those of a set; raise UnableError for a pattern that
    matches nothing."""
    rows = all_rows()
    if not patterns:
        return [row for row in rows if form in row.sets.split()]
    found = []
    for pattern in patterns:
        some = [row for row in rows if row.matches(pattern)]
        if not some:
            known = sorted({name for row in rows for name in (row.name, *row.groups.split())})
            near = get_close_matches(pattern, known, 5, 0.5) or [
                name for name in known if pattern[:3] in name
            ]
            hint = f"; near it: {', '.join(near)}" if near else ""
            raise UnableError(f"no test {pattern!r}{hint}; kmarkers check --list shows all")
        found += some
    return [row for row in rows if row in found]


def refuse_unknown(options: Iterable[str], rows: Sequence[Row]) -> None:
    """Raise UnableError for an option that none of the tests has."""
    known = sorted({name for row in rows for name in row.options.split()})
    for name in options:
        if name not in known:
            there = f"they have: {', '.join(known)}" if known else "they have none"
            raise UnableError(f"-o {name}: these tests have no such option; {there}")


def suites(rows: Sequence[Row], ask: Ask) -> list[Suite]:
    """Return the suites of tests: each function that makes suites is imported and called once, with
    the names of its tests."""
    names: dict[str, list[str]] = {}
    for row in rows:
        names.setdefault(row.make, []).append(row.name)
    found = []
    for make, some in names.items():
        module, _, function = make.partition(":")
        if not source_of(make).is_file():
            raise UnableError(f"{some[0]} is not installed; call scripts/kmarkers of a checkout")
        found += getattr(import_module(module), function)(ask, some)
    return found


def source_of(make: str) -> Path:
    """Return the file that makes the suites of a row; a few are not installed."""
    module = make.partition(":")[0]
    return OWN / "scripts" / f"{module.replace('.', '/')}.py"


def lacks(row: Row) -> str:
    """Return why a test cannot run here, as far as a quick check shows; empty if no reason is
    found."""
    if row.where in (GUEST, BARE) and os.geteuid() != 0:
        return "needs root"
    lacking = [name for name in PROGRAMS.get(row.needs, ("gcc", "make")) if not program(name)]
    remedy = f"scripts/setup {row.needs}".rstrip()
    return f"no {', '.join(lacking)}: {remedy}" if lacking else ""


def program(name: str) -> bool:
    """Return whether a program is installed, or a file of this checkout is there."""
    return (ROOT / name).exists() if "/" in name else shutil.which(name) is not None


def listing(rows: Iterable[Row]) -> list[list[str]]:
    """Return a line for each test: name, sets, where, usual time, needs, description and why it
    cannot run here."""
    lines = [["test", "sets", "where", "usual", "needs", "what"]]
    for row in rows:
        why = lacks(row)
        what = f"{row.what} [cannot run here: {why}]" if why else row.what
        sets = row.sets.replace(" ", "+")
        lines.append([row.name, sets, row.where, duration(row.usual), row.needs or "-", what])
    return lines
