# SPDX-License-Identifier: GPL-2.0-only
"""Runs tests in kernels with different emulated processors, mitigations, numbers of CPUs and
preemption models, and stores the results for `kmarkers publish processors`.

Each row of the table of results is one combination of these. The table marks rows that never ran.
The result of a row is stored until the row runs again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from kmtools.base.errors import OBSTACLES, explain_error, parse_positive_int, require_root
from kmtools.base.files import write_atomically
from kmtools.base.paths import ROOT
from kmtools.base.progress import format_duration
from kmtools.lab import bochs, catalogue
from kmtools.lab.kernels import ensure_kernel
from kmtools.lab.machine import Request
from kmtools.lab.result import print_failure
from kmtools.runner import ktap
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelpage, kernelsuite, pairs
from kmtools.suites.kernelpage import NOT_RUN, RED
from kmtools.suites.pairs import Row

LOGS = ROOT / "build" / "processors"
TITLE = "Processors, mitigations, CPUs, preemption models"
COMMAND = "make check-processors"
HEAD = ("kernel", "processor", "mitigations", "CPUs", "preemption")
RESULTS = ("the kernel's own words", "passed", "failed", "skipped", "seconds", "day")
INTRODUCTION = f"""\
`{COMMAND}` runs these rows. Each two values of two columns are together in a row, if
they can be. The tests are in short form, and the benchmarks are not loaded; with 4 and 8 CPUs the
tests are fewer, and one thread of the emulator runs all CPUs. The processors are models of QEMU,
and of Bochs where that is said; Bochs is slow and runs few of the tests, without those of ten
thousand probes. The kernel's own words say what it does about branches that others can train; they
come from /sys/devices/system/cpu/vulnerabilities. Each row tests that it has its number of CPUs and
its preemption model. {NOT_RUN} marks a row that was never run. No emulator here has FRED or
INVLPGB.
"""
# The file with results that are not yet published, with the same table as the page.
KEPT = ROOT / "build" / "processors.md"
# Rows of the table for processors that no available emulator has.
NOWHERE = (("any", "with FRED", "any", "any", "any"), ("any", "with INVLPGB", "any", "any", "any"))

# The suites of a row. The suite "modules" is after "cases", because "modules" unloads a module that
# "cases" needs.
SUITES = "cases modules typed sdt entry core functions"
# Up to this number of CPUs, QEMU emulates each CPU with a thread of its own. With more CPUs, one
# thread emulates all of them, and fewer tests run, because otherwise CPUs starve.
MOST_THREADS = 2
FEW_SUITES = "cases modules sdt entry"
FEW_CYCLES = 1
BOCHS_SUITES = "cases modules sdt"
# The time limit and the usual time of a row, under QEMU and under Bochs.
TIMEOUT_SECONDS, USUAL_SECONDS = 900.0, 150.0
BOCHS_TIMEOUT_SECONDS, BOCHS_USUAL_SECONDS = 2400.0, 300.0

# Lines of the guest's output from /sys/devices/system/cpu/vulnerabilities: flaw and mitigation.
FLAW = re.compile(
    r"# (spectre_v2|retbleed|spec_rstack_overflow|indirect_target_selection): "
    r"(?:Mitigation: )?([^;\n]*)"
)
# The text in these files for a flaw that the processor does not have.
UNTOLD = "Not affected"
# The date, in the last cell of each row that was run.
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

# The cells with the results of a row, by its first cells.
Results = Mapping[tuple[str, ...], Sequence[str]]


def make_row_request(row: Row, modules: Path, out: Path) -> Request:
    """Return the request for the boot that a row describes."""
    many = row.cpus > MOST_THREADS
    suites = FEW_SUITES if many else SUITES
    settings = {
        **kernelsuite.SLOW_SETTINGS,
        "KMARKERS_SUITES": BOCHS_SUITES if row.is_bochs else suites,
        # The benchmarks are not loaded: their thousands of sites would make each list long.
        "KMARKERS_BENCH": 0,
        "KMARKERS_MANY": int(not row.is_bochs),
        "KMARKERS_CPUS": row.cpus,
        "KMARKERS_PREEMPTION": row.preemption,
    }
    if many:
        settings["KMARKERS_CYCLES"] = FEW_CYCLES
    asked = Request(
        kernel=row.kernel,
        job=kernelsuite.JOBS / "row.sh",
        out=out,
        modules=modules,
        additions=[(kernelsuite.TESTS, "/tests"), (kernelsuite.READER, "/examples")],
        settings=settings,
        append=row.append,
        cpus=row.cpus,
        one_thread=many,
        timeout=BOCHS_TIMEOUT_SECONDS if row.is_bochs else TIMEOUT_SECONDS,
    )
    if row.is_bochs:
        return replace(asked, bochs=row.model, append=f"{row.append} {bochs.APPEND}")
    return replace(asked, accel="tcg", model=row.model)


def format_mitigations(status: str) -> str:
    """Return the kernel's report of its mitigation for each flaw that the processor has; `status`
    is the guest's output."""
    said = [(flaw, words.strip()) for flaw, words in FLAW.findall(status)]
    return "; ".join(f"{flaw}: {words}" for flaw, words in said if words != UNTOLD) or UNTOLD


def run_row_tests(row: Row, modules: Path) -> tuple[Tally, list[str]]:
    """Boot the kernel of a row on its processor and run the tests; return the tally and the cells
    of the row's results."""
    out = LOGS / "-".join(row.cells).replace(" ", "-")
    retries: list[str] = []
    result = kernelsuite.boot_with_retries(make_row_request(row, modules, out), retries)
    kernelsuite.print_retries(retries)
    tally = ktap.parse_ktap(result.status.splitlines())
    if not result.ok:
        print_failure(result)
        if not (result.exit_code and tally.failed):
            tally.failed.append(result.reason)
    failed = f"{RED} **{len(tally.failed)} FAILED**" if tally.failed else "0"
    cells = [format_mitigations(result.status), str(tally.passed), failed, str(len(tally.skipped))]
    return tally, [*cells, f"{result.seconds:.0f}", f"{datetime.now(UTC):%Y-%m-%d}"]


def read_page_results(page: Path) -> dict[tuple[str, ...], list[str]]:
    """Parse the table of results in a page; return the results of the rows that have run."""
    known: dict[tuple[str, ...], list[str]] = {}
    if not page.is_file():
        return known
    wanted = {tuple(row.cells) for row in pairs.choose_table_rows()}
    section = page.read_text().partition(f"## {TITLE}\n")[2].partition("\n## ")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if DAY.fullmatch(cells[-1]) and (row := tuple(cells[: len(HEAD)])) in wanted:
            known[row] = cells[len(HEAD) :]
    return known


def format_processors_section(rows: Sequence[Row], results: Results) -> str:
    """Return the text of the section of the page: introduction, table and number of rows that ran.
    Rows that are not in `results` are marked as not run."""
    lines = [
        INTRODUCTION,
        "| " + " | ".join((*HEAD, *RESULTS)) + " |",
        "|" + " --- |" * (len(HEAD) + 1) + " ---: |" * (len(RESULTS) - 2) + " --- |",
    ]
    missing = 0
    for cells in [*(tuple(row.cells) for row in rows), *NOWHERE]:
        found = results.get(cells)
        missing += found is None and cells not in NOWHERE
        shown = found or [NOT_RUN, *["-"] * (len(RESULTS) - 1)]
        lines.append("| " + " | ".join((*cells, *shown)) + " |")
    summary = f"{len(rows) - missing} of {len(rows)} rows were run."
    return "\n".join([*lines, "", summary]) + "\n"


def build_kernel_modules(kernel: str) -> Tally:
    """Build the modules and tests for a kernel."""
    ensure_kernel(catalogue.find_entry(kernel))
    LOGS.mkdir(parents=True, exist_ok=True)
    return kernelsuite.build_modules_and_kmlive(
        kernel, kernelsuite.MODULES / kernel, LOGS / f"build-{kernel}.log"
    )


def select_rows(kernels: Iterable[str], numbers: Iterable[int], only_missing: bool) -> list[Row]:
    """Return the rows to run: those of the given kernels and with the given numbers, or all if none
    are given. With `only_missing`, rows that have results are left out."""
    rows = pairs.choose_table_rows()
    known = read_row_results() if only_missing else {}
    some = {rows[number - 1] for number in numbers if 0 < number <= len(rows)}
    return [
        row
        for row in rows
        if (not kernels or row.kernel in kernels)
        and (not some or row in some)
        and tuple(row.cells) not in known
    ]


def sum_row_seconds(rows: Iterable[Row]) -> float:
    """Return the usual time of some rows in seconds."""
    return sum(BOCHS_USUAL_SECONDS if row.is_bochs else USUAL_SECONDS for row in rows)


def run_rows(rows: Sequence[Row]) -> Tally:
    """Run rows one after the other, and store the results of each."""
    require_root("building and booting test kernels")
    total, built = Tally(), dict[str, Tally]()
    for number, row in enumerate(rows, 1):
        place = f"[{number}/{len(rows)}] {' '.join(row.cells)}"
        left = format_duration(sum_row_seconds(rows[number - 1 :]))
        print(f"{place} (about {left} left) ...", flush=True)
        try:
            if row.kernel not in built:
                built[row.kernel] = build_kernel_modules(row.kernel)
                total.add_tally(built[row.kernel])
            if built[row.kernel].failed:
                continue
            tally, cells = run_row_tests(row, kernelsuite.MODULES / row.kernel)
        except OBSTACLES as error:
            total.failed.append(f"{' '.join(row.cells)}: {explain_error(error)}")
            print(f"{place}: {explain_error(error)}", flush=True)
            continue
        print(f"{place}: {tally.format_summary()} in {cells[-2]} s; {cells[0]}", flush=True)
        for name in tally.failed:
            print(f"  FAILED {name}")
        total.add_tally(tally)
        store_row_results({tuple(row.cells): cells})
    return total


def read_row_results() -> Results:
    """Return the results of all rows that have run: the published results and, for rows that have
    run since, the unpublished results instead."""
    return {**read_page_results(kernelpage.PAGE), **read_page_results(KEPT)}


def store_row_results(new: Results) -> None:
    """Add results of rows to the file of unpublished results."""
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    text = format_processors_section(pairs.choose_table_rows(), {**read_page_results(KEPT), **new})
    write_atomically(KEPT, f"## {TITLE}\n\n{text}")


def publish_processors() -> None:
    """Write the unpublished results to Documentation/kernels.md, and remove their file."""
    kernelpage.replace_page_section(
        kernelpage.PAGE,
        TITLE,
        format_processors_section(pairs.choose_table_rows(), read_row_results()),
    )
    KEPT.unlink(missing_ok=True)
    print(f"{TITLE} of {kernelpage.PAGE.name} are written")


def make_requested_suites(suite_request: SuiteRequest, _: Sequence[str]) -> list[Suite]:
    """Return the suite that runs the requested rows."""
    kernels = [suite_request.named] if suite_request.named else []
    numbers = [parse_positive_int(word) for word in suite_request.get_words("numbers")]
    rows = select_rows(kernels, numbers, suite_request.get_flag("missing"))
    what = f"{len(rows)} rows of processors, mitigations, CPUs, preemption models"
    usual = sum_row_seconds(rows)
    return [Suite("processors", lambda _: run_rows(rows), what, usual=usual, loud=True)]
