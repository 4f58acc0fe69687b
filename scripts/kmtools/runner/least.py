# SPDX-License-Identifier: GPL-2.0-only
"""Checks that each test has at least a minimum number of results, so that a test fails if it ends
early or skips parts.

tests/results.csv has the minimum for each test, and for each suite in each kernel with the role
"gates" in kernels.txt. A test without a line in this file is not checked; `kmarkers publish
results` writes the file from build/check. That command reads only boots in which suites had their
short form: the long form has more results, so a minimum from it would fail the short form.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.files import write_file_atomically
from kmtools.base.jsonfile import read_json
from kmtools.base.paths import ROOT
from kmtools.lab import catalogue
from kmtools.lab.result import VM_JSON
from kmtools.runner import ktap
from kmtools.runner.ktap import Tally

# The file with the minimum numbers of results.
TABLE = ROOT / "tests" / "results.csv"
LOGS = ROOT / "build" / "check"
HEAD = "test,kernel,results"
# The names of tests that boot a kernel to run several suites. tests/results.csv has a line for each
# of these suites, and none for the boot.
BOOTS = re.compile(r"kernel-(.+?)(-[12])?")
SUITES = ROOT / "tests" / "vm" / "suites"
# A setting that a guest has only if its suites run in their short form; see
# did_boot_run_short_suites().
SHORT_SETTING = "KMARKERS_ORDERS"
# Name prefixes of tests without a minimum in tests/results.csv: their number of results depends on
# installed tools or on options.
LEFT_OUT = ("build-", "lint", "mutants", "fuzz-")
# The names of a test and of a kernel. The kernel is "" for a test that is not a suite inside a test
# kernel.
Key = tuple[str, str]


@cache
def read_minimum_result_counts() -> Mapping[Key, int]:
    """Return the minimum number of results of each test, from tests/results.csv."""
    if not TABLE.is_file():
        return {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {(row["test"], row["kernel"]): int(row["results"]) for row in csv.DictReader(file)}


def require_minimum_result_count(tally: Tally, test: str, kernel: str = "") -> None:
    """Add a failure to the results of a test that has fewer results than its minimum. A test
    that cannot run on this machine at all is not checked."""
    least = read_minimum_result_counts().get((test, kernel), 0)
    if not tally.absent and tally.count < least:
        tally.failed.append(
            f"{test}: {tally.count} results, fewer than the minimum of {least} in {TABLE.name}"
        )


def require_minimum_result_counts_by_suite(
    suites: dict[str, Tally], kernel: str, requested: Collection[str]
) -> None:
    """Add a failure to each suite of a boot that has fewer results than its minimum, and to each
    requested suite that has no results."""
    for name in requested:
        if name not in suites:
            suites[name] = Tally(failed=[f"{name}: the suite has no result"])
    for name, tally in suites.items():
        require_minimum_result_count(tally, name, kernel)


def did_boot_run_short_suites(boot: Path) -> bool:
    """Return True if vm.json in the output directory of a boot says that suites had their short
    form."""
    described = boot / VM_JSON
    vm = read_json(described, dict) if described.is_file() else {}
    return SHORT_SETTING in vm.get("settings", {})


def count_results_of_last_runs(logs: Path) -> dict[Key, int]:
    """Return the number of results of each test in its last passing run, by test and kernel. The
    directory `logs` has the logs of the runs. Tests outside test kernels are counted only in runs
    of the full set: other runs may have options, which can change the number of results. Suites in
    test kernels are counted only in their short form, and in kernels with the role "gates"."""
    found: dict[Key, int] = {}
    times = logs / "times-full.json"
    for name, (_, count) in (
        json.loads(times.read_text(encoding="utf-8")).items() if times.is_file() else ()
    ):
        if not BOOTS.fullmatch(name) and not name.startswith(LEFT_OUT):
            found[name, ""] = count
    gates = {entry.name for entry in catalogue.load_kernel_entries() if entry.role == "gates"}
    for path in sorted(logs.glob("kernel-*/**/status.log")):
        boot = BOOTS.fullmatch(path.relative_to(logs).parts[0])
        if not boot or boot[1] not in gates or not did_boot_run_short_suites(path.parent):
            continue
        suites = ktap.parse_ktap_by_suite(
            path.read_text(encoding="utf-8", errors="replace").splitlines()
        )
        if any(tally.failed for tally in suites.values()):
            continue
        for name, tally in suites.items():
            if not (SUITES / f"{name}.sh").is_file():
                continue
            key = (name, boot[1])
            found[key] = min(tally.count, found.get(key, tally.count))
    return found


def publish_minimum_result_counts() -> None:
    """Write tests/results.csv: the numbers from build/check, and the previous numbers of tests that
    did not run."""
    found = count_results_of_last_runs(LOGS)
    if not found:
        raise UnableError(f"{LOGS} has no results: run `make check-full` first")
    known = {**read_minimum_result_counts(), **found}
    lines = [f"{test},{kernel},{count}\n" for (test, kernel), count in sorted(known.items())]
    write_file_atomically(TABLE, f"{HEAD}\n{''.join(lines)}")
