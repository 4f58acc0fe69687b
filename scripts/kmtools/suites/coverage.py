# SPDX-License-Identifier: GPL-2.0-only
"""Measures how many lines of the shared sources the tests in user space run.

The tests, one short benchmark run and the fuzz targets on random inputs are counted together.
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
from kmtools.base.processes import captured
from kmtools.lab.userspace import make
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, judged
from kmtools.suites.fuzz import TARGETS

OUT = ROOT / "build" / "coverage"
FLAGS = "-Og --coverage -fprofile-update=atomic"
REQUIRED = 90.0
BATCHES = 500
INPUTS = 3000
# The operations of the benchmarks are code to time, not logic to test.
NOT_PURE = tuple(f"bench_modules/{name}" for name in ("ops_", "groups.c", "sites.c", "observer.c"))

Lines = dict[str, dict[int, int]]


def step(*words: object) -> str:
    """Run a command and return its output."""
    done = captured(words, ROOT)
    if done.returncode:
        raise FailedError(f"{words[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def run_everything() -> None:
    """Build from scratch, so that all counters begin at 0, and run the tests."""
    shutil.rmtree(OUT, ignore_errors=True)
    main, targets = OUT / "main", OUT / "fuzz"
    step(*make(main / "test", main / "kmbench", out=main, extra=FLAGS))
    step(*make("fuzz", out=targets, extra=FLAGS))
    step(main / "test", BATCHES)
    with tempfile.TemporaryDirectory() as scratch:
        step(main / "kmbench", "run", "--blocks", 2, "--out", Path(scratch) / "raw", "empty-loop")
    step(main / "kmbench", "run", "--blocks", 2, "empty-loop")
    for target in TARGETS:
        step(targets / f"fuzz-{target}", INPUTS)


def counted_lines(source: str) -> Iterator[tuple[int, int]]:
    """Yield the line numbers of a source and how often each ran, from every build."""
    for build in ("main", "fuzz"):
        data = OUT / build / Path(source).with_suffix(".gcda")
        if not data.exists():
            continue
        report = json.loads(step("gcov", "--json-format", "--stdout", data))
        for file in report["files"]:
            if Path(file["file"]).name == Path(source).name:
                yield from ((line["line_number"], line["count"]) for line in file["lines"])


def collect() -> Lines:
    """Return how often each line of each file ran, without the benchmarks."""
    lines: Lines = {}
    for source in step("make", "-s", "-C", "native", "list-shared").split():
        if source.startswith(NOT_PURE):
            continue
        counts: dict[int, int] = defaultdict(int)
        for number, count in counted_lines(source):
            counts[number] += count
        if not counts:
            raise FailedError(f"{source}: no counters")
        lines[source] = counts
    return lines


def share(counts: Mapping[int, int]) -> float:
    """Return the percentage of lines that ran."""
    return 100.0 * sum(count > 0 for count in counts.values()) / len(counts)


def show(lines: Lines, missing: bool) -> float:
    """Print the table and return the total in per cent."""
    for source, counts in sorted(lines.items()):
        print(f"{share(counts):6.1f} %  {len(counts):4} lines  {source}")
        text = (ROOT / source).read_text(encoding="utf-8").splitlines()
        for number in sorted(n for n, count in counts.items() if not count and missing):
            print(f"          {number:4}: {text[number - 1]}")
    everything = {(name, n): c for name, counts in lines.items() for n, c in counts.items()}
    total = 100.0 * sum(count > 0 for count in everything.values()) / len(everything)
    print(f"{total:6.1f} %  {len(everything):4} lines  in all, at least {REQUIRED:.0f} % required")
    return total


def measure(missing: bool) -> bool:
    """Run everything and print the table; return whether enough lines ran."""
    run_everything()
    return show(collect(), missing) >= REQUIRED


def suites_of(ask: Ask, _: Sequence[str]) -> list[Suite]:
    """Return the suite of the coverage."""

    def run(_: Path) -> Tally:
        return judged(measure(ask.flag("missing")), "fewer than 90 % of the lines ran")

    return [Suite("coverage", run, "line coverage of the pure parts", usual=60, loud=True)]
