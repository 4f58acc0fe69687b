# SPDX-License-Identifier: GPL-2.0-only
"""Runs the C cases in user space: without a sanitizer, and under three sanitizers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kmtools.base import processes
from kmtools.base.paths import ROOT
from kmtools.lab import userspace
from kmtools.lab.userspace import obstacle
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, run_ktap
from kmtools.suites.fuzz import TARGETS

NATIVE = ROOT / "build" / "native"
SANITIZED = ROOT / "build" / "sanitize"
COMMON_FLAGS = "-O1 -fno-omit-frame-pointer -fno-sanitize-recover=all -DBENCH_FEW_LAYOUTS"
COMPARISONS = 100_000
INPUTS = 3_000
# The number of batches of long storms; one storm applies ten times as many, a million.
LONG_BATCHES = 100_000
LONG_COMPARISONS = 10_000_000
STORM = "patcher_storm_of_kinds"
STORM_SECONDS = 10
LONG_STORM_SECONDS = 600
# The tests fork, and the children start threads.
OPTIONS = {"TSAN_OPTIONS": "die_after_fork=0 halt_on_error=1"}


@dataclass(frozen=True)
class Variant:
    """One way to build everything.

    `batches` sets the length of every storm, and `short` the length of short storms. STORM runs for
    at least `seconds` if storms are long. `usual` is the time of the suite in seconds on 2 idle
    cores, with short storms and with long ones.
    """

    name: str
    out: Path
    flags: str
    batches: int
    short: int = 0
    seconds: int = 0
    usual: tuple[float, float] = (0, 0)


VARIANTS = (
    Variant("native-plain", NATIVE, "", 3_000, 3_000, STORM_SECONDS, usual=(12, 28)),
    Variant("native-asan", SANITIZED / "asan", "-fsanitize=address", 800, 200, usual=(9, 14)),
    Variant("native-ubsan", SANITIZED / "ubsan", "-fsanitize=undefined", 800, 200, usual=(8, 14)),
    Variant("native-tsan", SANITIZED / "tsan", "-fsanitize=thread", 800, 200, usual=(10, 18)),
)


def program(words: list[object], what: str, log: Path) -> Tally:
    """Run a program whose exit code alone is its result."""
    if processes.run(words, log, OPTIONS):
        return Tally(failed=[what])
    return Tally(passed=1)


def too_short(said: str, seconds: int) -> bool:
    """Return whether STORM ended too early, by the output of the tests."""
    if f" {STORM} # SKIP" in said:
        return False
    took = re.search(rf"^# {STORM}: ([0-9.]+) s$", said, re.MULTILINE)
    return not took or float(took[1]) < seconds


def run_variant(variant: Variant, comparisons: int) -> Callable[[Path], Tally]:
    """Return the function that runs the suite of one variant."""

    def run(log: Path) -> Tally:
        flags = f"{variant.flags} {COMMON_FLAGS}" if variant.flags else ""
        programs = [variant.out / name for name in ("test", "flight", "emulate")]
        if processes.run(userspace.make(*programs, out=variant.out, extra=flags), log):
            return Tally(failed=[f"building for user space: see {log}"])
        # Address randomisation is off, because a program at a random address may overlap
        # ThreadSanitizer's shadow memory.
        prefix = ["setarch", "-R"] if "thread" in variant.flags else []
        if prefix and processes.captured([*prefix, "true"]).returncode:
            prefix = []
        words = [*prefix, variant.out / "test", variant.batches, "", variant.seconds]
        tally = run_ktap(words, log, OPTIONS)
        if not tally.passed:
            return tally
        if too_short(log.read_text(errors="replace"), variant.seconds):
            tally.failed.append(f"{STORM} ended before {variant.seconds} s")
        tally.add(program([*prefix, variant.out / "flight"], "flight: wrong phase", log))
        # The emulator is tested in one variant only: its code is the same in all, and its sandbox
        # needs 4 GiB of address space.
        if not variant.flags:
            tally.add(run_ktap([variant.out / "emulate", comparisons], log))
        return tally

    return run


def replay(log: Path) -> Tally:
    """Run the fuzz targets on random inputs, without a fuzzer."""
    out = SANITIZED / "fuzz"
    flags = f"-fsanitize=address,undefined {COMMON_FLAGS}"
    if processes.run(userspace.make("fuzz", out=out, extra=flags), log):
        return Tally(failed=[f"building the fuzz targets: see {log}"])
    total = Tally()
    for target in TARGETS:
        words = [out / f"fuzz-{target}", INPUTS]
        total.add(program(words, f"fuzz-{target}", log))
    return total


def suites(full: bool = True) -> list[Suite]:
    """Return all variants as suites, with long storms or with short ones."""
    short = [replace(one, batches=one.short, seconds=0) for one in VARIANTS]
    found = [
        Suite(
            variant.name,
            run_variant(variant, COMPARISONS),
            f"every case in user space, {variant.flags or 'without a sanitizer'}",
            obstacle,
            variant.usual[full],
        )
        for variant in (VARIANTS if full else short)
    ]
    what = "parsers and tables on random inputs"
    return [*found, Suite("native-replay", replay, what, obstacle, 4)]


def long_suites() -> list[Suite]:
    """Return a suite of a million batches and ten million comparisons, without a sanitizer."""
    variant = Variant("native-long", NATIVE, "", LONG_BATCHES, seconds=LONG_STORM_SECONDS)
    run = run_variant(variant, LONG_COMPARISONS)
    return [Suite(variant.name, run, "a million batches in ten minutes", obstacle, 660)]


def suites_of(ask: Ask, names: Sequence[str]) -> list[Suite]:
    """Return the suites of tests in user space."""
    return [one for one in [*suites(ask.form != "short"), *long_suites()] if one.name in names]
