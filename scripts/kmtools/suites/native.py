# SPDX-License-Identifier: GPL-2.0-only
"""Runs the C test cases in user space: without a sanitizer, and under three sanitizers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kmtools.base import processes
from kmtools.base.paths import ROOT
from kmtools.lab import userspace
from kmtools.lab.userspace import find_compiler_obstacle
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, run_ktap_program
from kmtools.suites.fuzz import TARGETS

NATIVE = ROOT / "build" / "native"
SANITIZED = ROOT / "build" / "sanitize"
COMMON_FLAGS = "-O1 -fno-omit-frame-pointer -fno-sanitize-recover=all -DBENCH_UNTIMED"
# The number of random instructions for which the results of the instruction emulator and of the CPU
# are compared, and the number of random inputs of each fuzz target.
COMPARISONS = 100_000
INPUTS = 3_000
# The number of patch batches of a long stress test. The test STORM applies ten times this number.
LONG_BATCHES = 100_000
LONG_COMPARISONS = 10_000_000
STORM = "patcher_storm_of_kinds"
STORM_SECONDS = 10
LONG_STORM_SECONDS = 600
# Options of ThreadSanitizer: tests fork, and their child processes may start threads.
OPTIONS = {"TSAN_OPTIONS": "die_after_fork=0 halt_on_error=1"}


@dataclass(frozen=True)
class Variant:
    """A build of the test programs, without a sanitizer or with one.

    A stress test applies `batches` patch batches in the long form of the suite, `short` in the
    short form. In the long form, the test STORM must run for at least `seconds`. `usual` is the
    time of the suite in seconds on 2 idle cores, in the short and in the long form.
    """

    name: str
    out: Path
    flags: str
    batches: int
    short: int = 0
    seconds: int = 0
    usual: tuple[float, float] = (0, 0)


VARIANTS = (
    Variant("native-plain", NATIVE, "", 3_000, 3_000, STORM_SECONDS, usual=(75, 80)),
    Variant("native-asan", SANITIZED / "asan", "-fsanitize=address", 800, 200, usual=(20, 25)),
    Variant("native-ubsan", SANITIZED / "ubsan", "-fsanitize=undefined", 800, 200, usual=(15, 22)),
    Variant("native-tsan", SANITIZED / "tsan", "-fsanitize=thread", 800, 200, usual=(35, 50)),
)


def run_and_check_exit_code(words: list[object], what: str, log: Path) -> Tally:
    """Run a program; return a pass if its exit code is 0, else a failure named `what`."""
    if processes.run_program(words, log, OPTIONS):
        return Tally(failed=[what])
    return Tally(passed=1)


def has_storm_ended_early(output: str, seconds: int) -> bool:
    """Return True if the output of the tests shows that STORM ran less than `seconds`."""
    if f" {STORM} # SKIP" in output:
        return False
    took = re.search(rf"^# {STORM}: the stress test took ([0-9.]+) s$", output, re.MULTILINE)
    return not took or float(took[1]) < seconds


def make_variant_test_run(variant: Variant, comparisons: int) -> Callable[[Path], Tally]:
    """Return a function for Suite.run that builds and runs the tests of a variant. Without a
    sanitizer, the tests compare the instruction emulator with the CPU for `comparisons`
    instructions."""

    def build_and_test_variant(log: Path) -> Tally:
        flags = f"{variant.flags} {COMMON_FLAGS}" if variant.flags else ""
        programs = [variant.out / name for name in ("test", "flight", "emulate")]
        if processes.run_program(
            userspace.build_make_command(*programs, out=variant.out, extra=flags), log
        ):
            return Tally(failed=[f"the C test cases cannot be built, see {log}"])
        # Disable address space randomisation: a program at a random address may overlap the shadow
        # memory of ThreadSanitizer.
        prefix = ["setarch", "-R"] if "thread" in variant.flags else []
        if prefix and processes.capture_output([*prefix, "true"]).returncode:
            prefix = []
        words = [*prefix, variant.out / "test", variant.batches, "", variant.seconds]
        tally = run_ktap_program(words, log, OPTIONS)
        if not tally.passed:
            return tally
        if has_storm_ended_early(
            log.read_text(encoding="utf-8", errors="replace"), variant.seconds
        ):
            tally.failed.append(f"the test {STORM} ended before {variant.seconds} s")
        flight = [*prefix, variant.out / "flight"]
        what = "examples/user/flight: a phase had a wrong result"
        tally.add_tally(run_and_check_exit_code(flight, what, log))
        # The instruction emulator is tested only without a sanitizer: its code is the same in all
        # variants, and its sandbox needs 4 GiB of address space.
        if not variant.flags:
            tally.add_tally(run_ktap_program([variant.out / "emulate", comparisons], log))
        return tally

    return build_and_test_variant


def run_fuzz_targets(log: Path) -> Tally:
    """Build the fuzz targets with sanitizers, and run them on random inputs, without libFuzzer."""
    out = SANITIZED / "fuzz"
    flags = f"-fsanitize=address,undefined {COMMON_FLAGS}"
    if processes.run_program(userspace.build_make_command("fuzz", out=out, extra=flags), log):
        return Tally(failed=[f"the fuzz targets cannot be built, see {log}"])
    total = Tally()
    for target in TARGETS:
        words = [out / f"fuzz-{target}", INPUTS]
        total.add_tally(run_and_check_exit_code(words, f"fuzz-{target}", log))
    return total


def make_native_suites(full: bool = True) -> list[Suite]:
    """Return a suite for each variant, and one for the fuzz targets; `full` selects the long form
    of the tests."""
    short = [replace(one, batches=one.short, seconds=0) for one in VARIANTS]
    found = [
        Suite(
            variant.name,
            make_variant_test_run(variant, COMPARISONS),
            f"the C test cases in user space, {variant.flags or 'without a sanitizer'}",
            find_compiler_obstacle,
            variant.usual[full],
        )
        for variant in (VARIANTS if full else short)
    ]
    what = "the fuzz targets on random inputs"
    return [*found, Suite("native-replay", run_fuzz_targets, what, find_compiler_obstacle, 4)]


def make_long_native_suites() -> list[Suite]:
    """Return a list of one suite, native-long, which has the longest stress tests: a million patch
    batches, ten million compared instructions."""
    variant = Variant("native-long", NATIVE, "", LONG_BATCHES, seconds=LONG_STORM_SECONDS)
    run = make_variant_test_run(variant, LONG_COMPARISONS)
    return [
        Suite(
            variant.name, run, "a million patch batches in ten minutes", find_compiler_obstacle, 660
        )
    ]


def make_requested_native_suites(suite_request: SuiteRequest, names: Sequence[str]) -> list[Suite]:
    """Return the suites of this file whose names are in `names`: in the short form if the short set
    of tests is requested, else in the long form."""
    return [
        one
        for one in [*make_native_suites(suite_request.form != "short"), *make_long_native_suites()]
        if one.name in names
    ]
