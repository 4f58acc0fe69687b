# SPDX-License-Identifier: GPL-2.0-only
"""The minimum number of results of each test: a test that ends early, or skips parts, fails.

tests/results.csv has a line for each row, and for each suite in each gating kernel. Added tests
need no change of the file; `kmarkers publish results` writes it from build/check.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.files import write_whole
from kmtools.base.paths import ROOT
from kmtools.runner import ktap
from kmtools.runner.ktap import Tally

TABLE = ROOT / "tests" / "results.csv"
LOGS = ROOT / "build" / "check"
HEAD = "test,kernel,results"
# Boots of several suites, which are listed one by one.
BOOTS = re.compile(r"kernel-(.+?)(-[12])?")
SUITES = ROOT / "tests" / "vm" / "suites"
# Tests whose number of results is not fixed: it depends on the machine's tools, or on options.
LEFT_OUT = ("build-", "lint", "mutants", "fuzz-")
Key = tuple[str, str]


@cache
def table() -> Mapping[Key, int]:
    """Return the least number of results of each test; the kernel is empty for a test that is no
    suite in a kernel."""
    if not TABLE.is_file():
        return {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {(row["test"], row["kernel"]): int(row["results"]) for row in csv.DictReader(file)}


def check_count(tally: Tally, test: str, kernel: str = "") -> None:
    """Add a failure if a test has fewer results than the table says. A test that cannot run here at
    all has a reason already."""
    least = table().get((test, kernel), 0)
    if not tally.absent and tally.count < least:
        tally.failed.append(f"{test}: {tally.count} results, of at least {least}")


def check_suites(suites: dict[str, Tally], kernel: str, wanted: Collection[str]) -> None:
    """Check the results of every suite of a boot; a requested suite without results is a
    failure."""
    for name in wanted:
        if name not in suites:
            suites[name] = Tally(failed=[f"{name}: it has no result"])
    for name, tally in suites.items():
        check_count(tally, name, kernel)


def found_results(logs: Path) -> dict[Key, int]:
    """Return the results of the last passing runs, by test and kernel. Rows are read from runs of
    the full set, in which nobody chooses options."""
    found: dict[Key, int] = {}
    times = logs / "times-full.json"
    for name, (_, count) in json.loads(times.read_text()).items() if times.is_file() else ():
        if not BOOTS.fullmatch(name) and not name.startswith(LEFT_OUT):
            found[name, ""] = count
    for path in sorted(logs.glob("kernel-*/**/status.log")):
        boot = BOOTS.fullmatch(path.relative_to(logs).parts[0])
        suites = ktap.by_suite(path.read_text(errors="replace").splitlines())
        if not boot or any(tally.failed for tally in suites.values()):
            continue
        for name, tally in suites.items():
            if not (SUITES / f"{name}.sh").is_file():
                continue
            key = (name, boot[1])
            found[key] = min(tally.count, found.get(key, tally.count))
    return found


def publish() -> None:
    """Write the table: numbers from build/check, and the previous numbers of tests that did not
    run."""
    found = found_results(LOGS)
    if not found:
        raise UnableError(f"{LOGS} has no results: run make check-full first")
    known = {**table(), **found}
    lines = [f"{test},{kernel},{count}\n" for (test, kernel), count in sorted(known.items())]
    write_whole(TABLE, f"{HEAD}\n{''.join(lines)}")
