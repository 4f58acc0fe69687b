#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs the C cases in user space on the real CPU: as they are, and under three sanitizers.

Each build also runs examples/user/flight, a program that uses the library, and compares emulated
instructions with executed ones. --long applies a million batches and compares ten million
instructions instead. The last line of the output is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fuzz import TARGETS
from ktap import Tally
from lablib import ROOT
from suites import Suite, command, run_all, run_ktap, run_main

NATIVE = ROOT / "build" / "native"
SANITIZED = ROOT / "build" / "sanitize"
COMMON_FLAGS = "-O1 -fno-omit-frame-pointer -fno-sanitize-recover=all"
COMPARISONS = 100_000
INPUTS = 3_000
# One of the storms applies ten times as many: a million.
LONG_BATCHES = 100_000
LONG_COMPARISONS = 10_000_000
# Forks are part of the tests, and their children start threads.
OPTIONS = {"TSAN_OPTIONS": "die_after_fork=0 halt_on_error=1"}


@dataclass(frozen=True)
class Variant:
    """One way to build everything; `batches` is how many every storm applies."""

    name: str
    out: Path
    flags: str
    batches: int
    fixed_addresses: bool = False


VARIANTS = (
    Variant("native", NATIVE, "", 6_000),
    Variant("native-asan", SANITIZED / "asan", "-fsanitize=address", 1_000),
    Variant("native-ubsan", SANITIZED / "ubsan", "-fsanitize=undefined", 1_000),
    # Its shadow memory may collide with a program that is mapped at random.
    Variant("native-tsan", SANITIZED / "tsan", "-fsanitize=thread", 1_000, True),
)


def can_fix_addresses() -> bool:
    """Whether address randomisation can be switched off for a child."""
    done = subprocess.run(["setarch", "-R", "true"], capture_output=True, check=False)
    return done.returncode == 0


def make(out: Path, flags: str) -> list[object]:
    """The command that builds things into `out`."""
    words: list[object] = ["make", "-s", f"-j{os.cpu_count() or 1}", "-C", "native", f"OUT={out}"]
    return [*words, f"EXTRA={flags}"] if flags else words


def build(variant: Variant, log: Path) -> bool:
    """Build tests and example; False if that fails."""
    words = make(variant.out, f"{variant.flags} {COMMON_FLAGS}" if variant.flags else "")
    words += [variant.out / name for name in ("test", "flight", "emulate")]
    return command(words, log) == 0


def program(words: list[object], what: str, log: Path, env: Mapping[str, str]) -> Tally:
    """Run a program that says by its exit code alone how it went."""
    if command(words, log, env):
        return Tally(failed=[what])
    return Tally(passed=1)


def run_variant(variant: Variant, batches: int, comparisons: int) -> Callable[[Path], Tally]:
    """The suite of one variant."""

    def run(log: Path) -> Tally:
        if not build(variant, log):
            return Tally(failed=[f"building for user space: see {log}"])
        prefix = ["setarch", "-R"] if variant.fixed_addresses and can_fix_addresses() else []
        env = {**os.environ, **OPTIONS}
        tally = run_ktap([*prefix, variant.out / "test", batches], log, env)
        if not tally.passed:
            return tally
        tally.add(program([*prefix, variant.out / "flight"], "flight: wrong phase", log, env))
        # The judged code is the same in all, and the sandbox needs 4 GiB of addresses.
        if not variant.flags:
            tally.add(run_ktap([variant.out / "emulate", comparisons], log))
        return tally

    return run


def replay(log: Path) -> Tally:
    """The fuzz targets on random inputs, without a fuzzer."""
    out = SANITIZED / "fuzz"
    words = make(out, f"-fsanitize=address,undefined {COMMON_FLAGS}")
    if command([*words, "fuzz"], log):
        return Tally(failed=[f"building the fuzz targets: see {log}"])
    total = Tally()
    for target in TARGETS:
        words = [out / f"fuzz-{target}", INPUTS]
        total.add(program(words, f"fuzz-{target}", log, dict(os.environ)))
    return total


def native_suites() -> list[Suite]:
    """All variants as suites."""
    suites = [
        Suite(variant.name, run_variant(variant, variant.batches, COMPARISONS))
        for variant in VARIANTS
    ]
    return [*suites, Suite("native-replay", replay)]


def long_suites() -> list[Suite]:
    """A million batches and ten million instructions, on the build without sanitizers."""
    return [Suite("native-long", run_variant(VARIANTS[0], LONG_BATCHES, LONG_COMPARISONS))]


def main() -> int:
    """Run every variant; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help="a million batches instead")
    args = parser.parse_args()
    total = run_all(long_suites() if args.long else native_suites())
    print(total.closing_line())
    return 1 if total.failed else 0


if __name__ == "__main__":
    run_main(main)
