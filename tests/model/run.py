#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks a model of the patching protocol with spin, and that spin finds faults in wrong variants.

Runs spin on tests/model/protocol.pml for every variant of tests/model/variants.py: first a search
for forbidden states, then a search for endless loops. A counterexample is stored as readable text
in build/model/. The last line of the output is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from variants import LONG, MUTANTS, PROTOCOL, Ground, SearchResult, Variant

MODEL = Path(__file__).with_name("protocol.pml")
OUTPUT = MODEL.parents[2] / "build" / "model"
APT = ["apt-get", "install", "-y", "--no-install-recommends", "spin"]
VIOLATIONS = {
    "torn": SearchResult.TORN,
    "wrong": SearchResult.WRONG,
    "unclaimed": SearchResult.UNCLAIMED,
    "freed": SearchResult.FREED,
}
# Patterns that match the value of one part of an instruction in a replay. format_replay() writes
# the word int3 for the value that stands for a breakpoint.
VALUES = (
    re.compile(r"(?<=part \d := )\d+"),
    re.compile(r"(?<=part \d: )\d+"),
)


@dataclass(frozen=True)
class Search:
    """A kind of search, for forbidden states or for endless loops, with its -D switches."""

    name: str
    switches: Sequence[str]


# Options of gcc. A breadth-first search finds the shortest counterexample; a depth-first search is
# faster, and used if no counterexample is expected.
SHORTEST = ("-O0", "-DBFS")
FAST = ("-O1",)
# Options that limit the length of a path in a search. A search that needs longer paths has the
# result `broken`.
DEPTH = "-m1000000"
LONG_DEPTH = "-m8000000"
STATES = Search("states", ())
LOOPS = Search("loops", ("LIVE",))


@dataclass
class Outcome:
    """The result of checking one variant in one environment."""

    variant: Variant
    ground: Ground
    result: SearchResult
    states: int
    seconds: float
    trail: Path | None = None

    @property
    def expected(self) -> SearchResult:
        """Return the result that the variant must have."""
        return self.variant.expected[self.ground]

    @property
    def passed(self) -> bool:
        """Return True if the result equals the expected result."""
        return self.result == self.expected


class ModelError(Exception):
    """A tool failed, or the name of a variant is unknown."""


def run_tool(words: Sequence[str], directory: Path) -> str:
    """Run a tool in a directory; return its output, or raise ModelError."""
    run = subprocess.run(
        words,
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if run.returncode:
        raise ModelError(f"{' '.join(words)}: exit code {run.returncode}\n{run.stdout}")
    return run.stdout


def make_spin_arguments(variant: Variant, ground: Ground, search: Search) -> list[str]:
    """Return the -D arguments of spin for a variant, an environment and a kind of search."""
    # The model numbers the environments from 1, in the order of Ground.
    number = list(Ground).index(ground) + 1
    return [
        f"-D{word}" for word in (f"GROUND={number}", *variant.switches.split(), *search.switches)
    ]


def classify_search_output(text: str) -> SearchResult:
    """Return the result of a search, from the output of the checker."""
    if "invalid end state (at" in text:
        return SearchResult.ENDLESS
    violation = re.search(r"assertion violated\s+!\((\w+)\)", text)
    if violation and violation[1] in VIOLATIONS:
        return VIOLATIONS[violation[1]]
    complete = "errors: 0" in text and "Search not completed" not in text
    if complete and "max search depth too small" not in text:
        return SearchResult.HOLDS
    return SearchResult.BROKEN


def format_replay(replay: str, int3: str) -> str:
    """Return the steps of a replay, one per line. Write the value `int3` as the word int3."""
    lines = []
    for raw in replay.splitlines():
        line = raw.strip()
        if not line.startswith(("cpu", "writer")):
            continue
        for value in VALUES:
            line = value.sub(lambda match: "int3" if match[0] == int3 else match[0], line)
        lines.append(line)
    return "\n".join(lines)


def write_counterexample_file(
    outcome: Outcome, search: Search, defines: list[str], directory: Path
) -> Path:
    """Write the steps of the counterexample to a text file; return its path."""
    batches = re.search(r"BATCHES=(\d)", outcome.variant.switches)
    int3 = str(int(batches[1]) + 1 if batches else 3)
    replay = run_tool(["spin", "-t", "-T", *defines, MODEL.name], directory)
    path = OUTPUT / f"{outcome.variant.name}-{outcome.ground}.txt"
    path.write_text(
        f"# {outcome.variant.what}; on: {outcome.ground}; found: {outcome.result}\n"
        f"# spin {' '.join(defines)} {MODEL.name}, search for {search.name}\n"
        f"# level 0 is the writer, 1 a task or an interrupt, 2 an NMI\n"
        f"{format_replay(replay, int3)}\n"
    )
    return path


def run_search(variant: Variant, ground: Ground, search: Search) -> Outcome:
    """Run one exhaustive search for a variant in an environment."""
    expected = variant.expected[ground]
    nothing = expected == SearchResult.HOLDS or (
        expected == SearchResult.ENDLESS and search == STATES
    )
    options = FAST if nothing else SHORTEST
    directory = OUTPUT / "work" / f"{variant.name}-{ground}-{search.name}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    shutil.copy(MODEL, directory)
    defines = make_spin_arguments(variant, ground, search)
    start = time.monotonic()
    run_tool(["spin", "-a", *defines, MODEL.name], directory)
    run_tool(["gcc", "-w", "-DSAFETY", "-DNOREDUCE", *options, "-o", "pan", "pan.c"], directory)
    text = run_tool(["./pan", LONG_DEPTH if variant in LONG else DEPTH, "-w22"], directory)
    (directory / "pan.txt").write_text(text)
    states = re.search(r"(\S+) states, stored", text)
    outcome = Outcome(
        variant,
        ground,
        classify_search_output(text),
        int(float(states[1])) if states else 0,
        time.monotonic() - start,
    )
    if outcome.result not in (SearchResult.HOLDS, SearchResult.BROKEN):
        outcome.trail = write_counterexample_file(outcome, search, defines, directory)
    return outcome


def check_variant(variant: Variant, ground: Ground) -> Outcome:
    """Search a variant for forbidden states and, if none is found, for endless loops."""
    outcome = run_search(variant, ground, STATES)
    if outcome.result != SearchResult.HOLDS:
        return outcome
    loops = run_search(variant, ground, LOOPS)
    loops.states += outcome.states
    loops.seconds += outcome.seconds
    return loops


def install_spin_if_missing() -> bool:
    """Install spin if spin is missing and the user is root. Return True if spin is installed."""
    if not shutil.which("spin") and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(APT, env=environment, capture_output=True, check=False)
    return bool(shutil.which("spin"))


def print_outcome(outcome: Outcome) -> None:
    """Print a line of the table of results and, after a failure, the path of the counterexample."""
    line = (
        f"{'ok' if outcome.passed else 'FAIL':5}{outcome.ground:9} {outcome.variant.name:24}"
        f"{outcome.variant.what:48}{outcome.expected:10} {outcome.result:10}"
        f"{outcome.states:>9} {outcome.seconds:5.1f}"
    )
    print(line, flush=True)
    if not outcome.passed:
        print(f"     {outcome.variant.name}: see {outcome.trail or OUTPUT / 'work'}", flush=True)


def print_unneeded_steps(outcomes: Sequence[Outcome]) -> None:
    """Print each step that an environment does not need, and why the protocol has the step."""
    print("steps that an environment does not need, and why the protocol has these steps:")
    for variant in MUTANTS:
        grounds = [
            outcome.ground
            for outcome in outcomes
            if outcome.variant == variant and outcome.result == SearchResult.HOLDS
        ]
        if grounds:
            where = ", ".join(grounds)
            print(f"  {variant.name} ({where}): {variant.kept or 'NO REASON GIVEN'}")


def check_variants(chosen: Sequence[Variant], grounds: Sequence[Ground]) -> list[Outcome]:
    """Check all pairs of variant and environment in parallel; print the results in order."""
    pairs = [
        (variant, ground) for variant in chosen for ground in grounds if ground in variant.expected
    ]
    outcomes = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for outcome in pool.map(lambda pair: check_variant(*pair), pairs):
            print_outcome(outcome)
            outcomes.append(outcome)
    return outcomes


def choose_variants(names: Sequence[str], long: bool) -> list[Variant]:
    """Return the variants with the given names. Without names, return PROTOCOL, MUTANTS and, if
    `long` is true, LONG."""
    if not names:
        return [*PROTOCOL, *MUTANTS, *(LONG if long else [])]
    known = [*PROTOCOL, *MUTANTS, *LONG]
    unknown = sorted(set(names) - {variant.name for variant in known})
    if unknown:
        known_names = ", ".join(variant.name for variant in known)
        raise ModelError(f"unknown variant {unknown[0]!r}; known variants: {known_names}")
    return [variant for variant in known if variant.name in names]


def main() -> int:
    """Check the variants. Return 1 if a result is unexpected, 2 if a tool fails or is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("variants", nargs="*", help="names of variants to check; default: all")
    parser.add_argument(
        "--long", action="store_true", help="also check large variants, which take minutes each"
    )
    arguments = parser.parse_args()
    try:
        chosen = choose_variants(arguments.variants, arguments.long)
    except ModelError as error:
        print(f"check-model: {error}", file=sys.stderr)
        return 2
    if not install_spin_if_missing():
        print(f"SKIP: spin is missing; run as root: {' '.join(APT)}")
        print("0 passed, 0 failed, 1 skipped")
        return 2
    print(
        f"{'':5}{'ground':9} {'variant':24}{'what is different':48}{'expected':10} {'found':10}"
        f"{'states':>9}     s"
    )
    try:
        outcomes = check_variants(chosen, list(Ground))
    except (ModelError, OSError) as error:
        print(f"check-model: {error}", file=sys.stderr)
        return 2
    print("counterexamples: build/model/*.txt")
    print_unneeded_steps(outcomes)
    failed = sum(not outcome.passed for outcome in outcomes)
    print(f"{len(outcomes) - failed} passed, {failed} failed")
    return 1 if failed or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
