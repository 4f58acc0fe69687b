# SPDX-License-Identifier: GPL-2.0-only
"""Measures the line coverage of the user-space tests in the sources that modules and programs
share.

A line counts as executed if the tests, a short run of the benchmarks, or the fuzz targets on random
inputs execute it.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kmtools.base.errors import FailedError
from kmtools.base.paths import ROOT
from kmtools.base.processes import capture_output
from kmtools.lab.userspace import build_make_command
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, make_one_result_tally
from kmtools.suites.fuzz import TARGETS

OUT = ROOT / "build" / "coverage"
FLAGS = "-Og --coverage -fprofile-update=atomic"
# The required coverage in per cent.
REQUIRED = 90.0
# The number of patch batches of a stress test, and of random inputs of each fuzz target.
BATCHES = 500
INPUTS = 3000
# Prefixes of the files whose lines are not counted: the operations that benchmarks measure, which
# have no logic to test.
NOT_COUNTED = tuple(
    f"bench_modules/{name}" for name in ("ops_", "groups.c", "sites.c", "observer.c")
)

# The execution count of each line, by file and line number.
Lines = dict[str, dict[int, int]]


def require_command_success(*words: object) -> str:
    """Run a command in the source tree; return its output. Raise FailedError if the exit code is
    not 0."""
    done = capture_output(words, ROOT)
    if done.returncode:
        raise FailedError(f"{words[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def build_and_run_covered_programs() -> None:
    """Build the C test cases, kmbench and the fuzz targets with --coverage, and run them. Build
    from scratch, because all execution counts must begin at 0."""
    shutil.rmtree(OUT, ignore_errors=True)
    main, targets = OUT / "main", OUT / "fuzz"
    require_command_success(
        *build_make_command(main / "test", main / "kmbench", out=main, extra=FLAGS)
    )
    require_command_success(*build_make_command("fuzz", out=targets, extra=FLAGS))
    require_command_success(main / "test", BATCHES)
    with tempfile.TemporaryDirectory() as scratch:
        require_command_success(
            main / "kmbench", "run", "--blocks", 2, "--out", Path(scratch) / "raw", "empty-loop"
        )
    require_command_success(main / "kmbench", "run", "--blocks", 2, "empty-loop")
    for target in TARGETS:
        require_command_success(targets / f"fuzz-{target}", INPUTS)


def read_line_execution_counts(source: str) -> Iterator[tuple[int, int]]:
    """Yield (line number, execution count) for each line of a source. A line that was compiled in
    both builds (main and fuzz) is yielded twice."""
    for build in ("main", "fuzz"):
        data = OUT / build / Path(source).with_suffix(".gcda")
        if not data.exists():
            continue
        report = json.loads(require_command_success("gcov", "--json-format", "--stdout", data))
        for file in report["files"]:
            if Path(file["file"]).name == Path(source).name:
                yield from ((line["line_number"], line["count"]) for line in file["lines"])


def collect_line_execution_counts() -> Lines:
    """Return the execution count of each line of the sources that modules and programs share,
    without the files of NOT_COUNTED."""
    lines: Lines = {}
    for source in require_command_success("make", "-s", "-C", "native", "list-shared").split():
        if source.startswith(NOT_COUNTED):
            continue
        counts: dict[int, int] = defaultdict(int)
        for number, count in read_line_execution_counts(source):
            counts[number] += count
        if not counts:
            raise FailedError(f"{source}: gcov reports no line of this file")
        lines[source] = counts
    return lines


def compute_coverage_percentage(counts: Mapping[int, int]) -> float:
    """Return the percentage of lines that were executed; `counts` has the execution count of each
    line."""
    return 100.0 * sum(count > 0 for count in counts.values()) / len(counts)


def print_coverage(lines: Lines, list_unexecuted: bool) -> float:
    """Print the coverage of each file, and with `list_unexecuted` the lines that were not executed;
    return the coverage of all files in per cent."""
    for source, counts in sorted(lines.items()):
        print(f"{compute_coverage_percentage(counts):6.1f} %  {len(counts):4} lines  {source}")
        text = (ROOT / source).read_text(encoding="utf-8").splitlines()
        for number in sorted(n for n, count in counts.items() if not count and list_unexecuted):
            print(f"          {number:4}: {text[number - 1]}")
    everything = {(name, n): c for name, counts in lines.items() for n, c in counts.items()}
    total = 100.0 * sum(count > 0 for count in everything.values()) / len(everything)
    print(f"{total:6.1f} %  {len(everything):4} lines  in all, at least {REQUIRED:.0f} % required")
    return total


def measure_and_judge_coverage(list_unexecuted: bool) -> bool:
    """Run all tests and print the coverage, and with `list_unexecuted` the lines that were not
    executed; return True if the coverage is at least REQUIRED per cent."""
    build_and_run_covered_programs()
    return print_coverage(collect_line_execution_counts(), list_unexecuted) >= REQUIRED


def make_requested_coverage_suites(suite_request: SuiteRequest, _: Sequence[str]) -> list[Suite]:
    """Return a list of one suite, which measures line coverage in user space. With the option
    `missing`, the suite prints the lines that were not executed."""

    def run_coverage(_: Path) -> Tally:
        return make_one_result_tally(
            measure_and_judge_coverage(suite_request.is_option_set("missing")),
            f"fewer than {REQUIRED:.0f} % of the lines were executed",
        )

    return [
        Suite(
            "coverage",
            run_coverage,
            "line coverage of the sources that modules and programs share, in user space",
            usual=60,
            loud=True,
        )
    ]
