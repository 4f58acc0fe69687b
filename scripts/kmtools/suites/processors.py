# SPDX-License-Identifier: GPL-2.0-only
"""Runs tests in kernels with different emulated processors, mitigations, numbers of CPUs and
preemption models, and stores the results for `kmarkers publish processors`.

Each row of the table of results is a combination of kernel, processor, mitigations, number of CPUs
and preemption model. The table marks combinations that never ran. The result of a combination is
stored until the tests run with this combination again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from kmtools.base.errors import OBSTACLES, UnableError, explain_error, require_root
from kmtools.base.files import write_file_atomically
from kmtools.base.paths import ROOT
from kmtools.base.progress import format_duration
from kmtools.lab import bochs, catalogue
from kmtools.lab.kernels import ensure_kernel_is_unpacked
from kmtools.lab.machine import Request
from kmtools.lab.result import print_boot_failure
from kmtools.runner import ktap
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelpage, kernelsuite, pairs
from kmtools.suites.kernelpage import NOT_RUN, RED
from kmtools.suites.pairs import Combination

LOGS = ROOT / "build" / "processors"
TITLE = "Processors, mitigations, CPUs, preemption models"
COMMAND = "make check-processors"
HEAD = ("kernel", "processor", "mitigations", "CPUs", "preemption")
RESULTS = ("the kernel's own words", "passed", "failed", "skipped", "seconds", "day")
INTRODUCTION = f"""\
`{COMMAND}` runs these rows. Any two values of two columns occur together in a row, where
this is possible. The tests are in short form, and the benchmarks are not loaded. With 4 and 8 CPUs,
fewer tests run, and one thread of the emulator runs all CPUs. The processors are models of QEMU, or
of Bochs where a row says so; Bochs is slow and runs few of the tests, and none with ten thousand
probes. The kernel's own words are its mitigations of attacks on branch prediction, from
/sys/devices/system/cpu/vulnerabilities. Each row tests that it has its number of CPUs and its
preemption model. {NOT_RUN} marks a row that was never run. No emulator here has FRED or INVLPGB.
"""
# The file of results that are not yet published, with the same table as Documentation/kernels.md.
KEPT = ROOT / "build" / "processors.md"
# Rows of the table for features of processors that no available emulator has.
NOWHERE = (("any", "with FRED", "any", "any", "any"), ("any", "with INVLPGB", "any", "any", "any"))

# The suites that run for each row of the processor table. The suite "modules" is after "cases",
# because "modules" unloads a module that "cases" needs.
SUITES = "cases modules typed sdt entry core functions"
# Up to this number of CPUs, QEMU emulates each CPU with a thread of its own. With more CPUs, one
# thread emulates all CPUs. Some CPUs would then starve in long tests, so only FEW_SUITES run.
MOST_THREADS = 2
FEW_SUITES = "cases modules sdt entry"
FEW_CYCLES = 1
BOCHS_SUITES = "cases modules sdt"
# The time limit and the usual time, in seconds, of the tests of one row of the table: a pair for
# QEMU, and a pair for Bochs.
TIMEOUT_SECONDS, USUAL_SECONDS = 900.0, 150.0
BOCHS_TIMEOUT_SECONDS, BOCHS_USUAL_SECONDS = 2400.0, 300.0

# Lines of the guest's output from /sys/devices/system/cpu/vulnerabilities: flaw and mitigation.
FLAW = re.compile(
    r"# (spectre_v2|retbleed|spec_rstack_overflow|indirect_target_selection): "
    r"(?:Mitigation: )?([^;\n]*)"
)
# The text in /sys/devices/system/cpu/vulnerabilities for a flaw that the processor does not have.
NOT_AFFECTED = "Not affected"
# The date, in the last cell of each row that was run.
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

# The rows of the table: the key has the cells with a combination, the value has the cells with its
# results.
Results = Mapping[tuple[str, ...], Sequence[str]]


def make_boot_request(combination: Combination, modules: Path, out: Path) -> Request:
    """Return the request for a boot with a combination. `modules` is the directory of modules for
    combination.kernel, `out` the directory of logs."""
    many = combination.cpus > MOST_THREADS
    suites = FEW_SUITES if many else SUITES
    settings = {
        **kernelsuite.SLOW_SETTINGS,
        "KMARKERS_SUITES": BOCHS_SUITES if combination.is_bochs else suites,
        "KMARKERS_MANY": int(not combination.is_bochs),
        "KMARKERS_CPUS": combination.cpus,
        "KMARKERS_PREEMPTION": combination.preemption,
    }
    if many:
        settings["KMARKERS_CYCLES"] = FEW_CYCLES
    asked = Request(
        kernel=combination.kernel,
        job=kernelsuite.JOBS / "row.sh",
        out=out,
        modules=modules,
        additions=kernelsuite.list_guest_test_files(),
        settings=settings,
        append=combination.kernel_parameters,
        cpus=combination.cpus,
        one_thread=many,
        timeout=BOCHS_TIMEOUT_SECONDS if combination.is_bochs else TIMEOUT_SECONDS,
    )
    if combination.is_bochs:
        return replace(
            asked, bochs=combination.model, append=f"{combination.kernel_parameters} {bochs.APPEND}"
        )
    return replace(asked, accel="tcg", model=combination.model)


def format_mitigations(status: str) -> str:
    """Return, for each flaw of the processor, which mitigation the kernel reports; `status` is the
    output of the guest."""
    said = [(flaw, words.strip()) for flaw, words in FLAW.findall(status)]
    known = (f"{flaw}: {words}" for flaw, words in said if words != NOT_AFFECTED)
    return "; ".join(known) or NOT_AFFECTED


def run_combination_tests(combination: Combination, modules: Path) -> tuple[Tally, list[str]]:
    """Boot a kernel with the processor, CPUs, mitigations and preemption model of a combination,
    and run the tests; return the tally, and the table cells with the results."""
    out = LOGS / "-".join(combination.cells).replace(" ", "-")
    retries: list[str] = []
    result = kernelsuite.boot_and_retry_emulator_crashes(
        make_boot_request(combination, modules, out), retries
    )
    kernelsuite.print_boot_retries(retries)
    tally = ktap.parse_ktap(result.status.splitlines())
    if not result.ok:
        print_boot_failure(result)
        if not (result.exit_code and tally.failed):
            tally.failed.append(result.reason)
    failed = f"{RED} **{len(tally.failed)} FAILED**" if tally.failed else "0"
    cells = [format_mitigations(result.status), str(tally.passed), failed, str(len(tally.skipped))]
    return tally, [*cells, f"{result.seconds:.0f}", f"{datetime.now(UTC):%Y-%m-%d}"]


def read_page_results(page: Path) -> dict[tuple[str, ...], list[str]]:
    """Parse the table of results in a page; return the results of the combinations that have
    run."""
    known: dict[tuple[str, ...], list[str]] = {}
    if not page.is_file():
        return known
    wanted = {tuple(combination.cells) for combination in pairs.choose_tested_combinations()}
    text = page.read_text(encoding="utf-8")
    section = text.partition(f"## {TITLE}\n")[2].partition("\n## ")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if DAY.fullmatch(cells[-1]) and (first := tuple(cells[: len(HEAD)])) in wanted:
            known[first] = cells[len(HEAD) :]
    return known


def format_processors_section(combinations: Sequence[Combination], results: Results) -> str:
    """Return the text of the section of the page: introduction, table, and number of combinations
    that ran. Combinations that are not in `results` are marked as not run."""
    lines = [
        INTRODUCTION,
        "| " + " | ".join((*HEAD, *RESULTS)) + " |",
        "|" + " --- |" * (len(HEAD) + 1) + " ---: |" * (len(RESULTS) - 2) + " --- |",
    ]
    missing = 0
    for cells in [*(tuple(combination.cells) for combination in combinations), *NOWHERE]:
        found = results.get(cells)
        missing += found is None and cells not in NOWHERE
        shown = found or [NOT_RUN, *["-"] * (len(RESULTS) - 1)]
        lines.append("| " + " | ".join((*cells, *shown)) + " |")
    summary = f"{len(combinations) - missing} of {len(combinations)} rows were run."
    return "\n".join([*lines, "", summary]) + "\n"


def build_processor_test_modules(kernel: str) -> Tally:
    """Build the modules and tests for a kernel."""
    ensure_kernel_is_unpacked(catalogue.find_kernel_entry(kernel))
    LOGS.mkdir(parents=True, exist_ok=True)
    return kernelsuite.build_modules_and_kmlive(
        kernel, kernelsuite.get_modules_dir(kernel, "processors"), LOGS / f"build-{kernel}.log"
    )


def select_combinations(
    kernels: Iterable[str], numbers: Sequence[int], only_missing: bool
) -> list[Combination]:
    """Return the combinations to run: the rows of the table whose kernel is in `kernels` and whose
    number is in `numbers`. An empty list selects all rows. With `only_missing`, combinations that
    have results are left out. Raise UnableError for a number that no row has."""
    combinations = pairs.choose_tested_combinations()
    known = read_stored_combination_results() if only_missing else {}
    for number in numbers:
        if not 0 < number <= len(combinations):
            raise UnableError(
                f"processors: no row {number}; the rows have the numbers 1 to {len(combinations)}"
            )
    some = {combinations[number - 1] for number in numbers}
    return [
        combination
        for combination in combinations
        if (not kernels or combination.kernel in kernels)
        and (not some or combination in some)
        and tuple(combination.cells) not in known
    ]


def sum_combination_seconds(combinations: Iterable[Combination]) -> float:
    """Return the usual time in seconds of the tests with these combinations."""
    return sum(
        BOCHS_USUAL_SECONDS if combination.is_bochs else USUAL_SECONDS
        for combination in combinations
    )


def run_combinations(combinations: Sequence[Combination]) -> Tally:
    """Run the tests with one combination after the other, and store the results of each
    combination in KEPT."""
    require_root("building and booting test kernels")
    total, built = Tally(), dict[str, Tally]()
    for number, combination in enumerate(combinations, 1):
        place = f"[{number}/{len(combinations)}] {' '.join(combination.cells)}"
        left = format_duration(sum_combination_seconds(combinations[number - 1 :]))
        print(f"{place} (about {left} left) ...", flush=True)
        try:
            if combination.kernel not in built:
                built[combination.kernel] = build_processor_test_modules(combination.kernel)
                total.add_tally(built[combination.kernel])
            if built[combination.kernel].failed:
                continue
            tally, cells = run_combination_tests(
                combination, kernelsuite.get_modules_dir(combination.kernel, "processors")
            )
        except OBSTACLES as error:
            total.failed.append(f"{' '.join(combination.cells)}: {explain_error(error)}")
            print(f"{place}: {explain_error(error)}", flush=True)
            continue
        print(f"{place}: {tally.format_summary()} in {cells[-2]} s; {cells[0]}", flush=True)
        for name in tally.failed:
            print(f"  FAILED {name}")
        total.add_tally(tally)
        store_combination_results({tuple(combination.cells): cells})
    return total


def read_stored_combination_results() -> Results:
    """Return the results of all combinations that have run: the unpublished results, and the
    published results of all other combinations."""
    return {**read_page_results(kernelpage.PAGE), **read_page_results(KEPT)}


def store_combination_results(new: Results) -> None:
    """Add results to KEPT, the file of unpublished results."""
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    text = format_processors_section(
        pairs.choose_tested_combinations(), {**read_page_results(KEPT), **new}
    )
    write_file_atomically(KEPT, f"## {TITLE}\n\n{text}")


def publish_processor_results() -> None:
    """Write the unpublished results to Documentation/kernels.md, and remove KEPT, the file of
    unpublished results."""
    kernelpage.replace_page_section(
        kernelpage.PAGE,
        TITLE,
        format_processors_section(
            pairs.choose_tested_combinations(), read_stored_combination_results()
        ),
    )
    KEPT.unlink(missing_ok=True)
    print(f"{kernelpage.PAGE.name}: the section '{TITLE}' is written")


def make_requested_processor_suites(suite_request: SuiteRequest, _: Sequence[str]) -> list[Suite]:
    """Return a list of one suite, which tests the requested combinations."""
    kernels = [suite_request.kernel] if suite_request.kernel else []
    numbers = suite_request.get_option_numbers("numbers")
    combinations = select_combinations(kernels, numbers, suite_request.is_option_set("missing"))
    what = f"{len(combinations)} rows of processors, mitigations, CPUs, preemption models"
    usual = sum_combination_seconds(combinations)

    def find_combination_obstacle() -> str:
        some = select_combinations(kernels, numbers, only_missing=False)
        known = ", ".join(pairs.KERNELS)
        return "" if some else f"no such row has kernel {kernels[0]}; rows have kernels {known}"

    return [
        Suite(
            "processors",
            lambda _: run_combinations(combinations),
            what,
            find_combination_obstacle,
            usual,
            loud=True,
        )
    ]
