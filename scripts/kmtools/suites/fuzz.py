# SPDX-License-Identifier: GPL-2.0-only
"""Runs the fuzz targets with libFuzzer. An input that fails is stored in build/fuzz/."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kmtools.base import processes
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.paths import ROOT
from kmtools.lab.userspace import build_make_command
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import LOGS, Suite

TARGETS = ("control", "words", "format", "insn", "table", "imv", "markers", "typed")
FUZZ = ROOT / "build" / "fuzz"
# The default time for each fuzz target, and the maximum length of an input.
SECONDS = 60
MAX_BYTES = 2048
FLAGS = "-O1 -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all"
REMEDY = "scripts/setup --tools installs it"
PROGRESS = re.compile(r"#(\d+)\s+DONE\s+cov: (\d+)")


def build_fuzz_targets(log: Path) -> bool:
    """Build the fuzz targets with libFuzzer; return True if the build succeeds."""
    words = build_make_command(
        "CC=clang", "ENGINE=-fsanitize=fuzzer", "fuzz", out=FUZZ, extra=FLAGS
    )
    return processes.run_program(["nice", *words], log) == 0


def run_fuzz_target(name: str, seconds: int) -> Tally:
    """Run the fuzz target `name` for `seconds` seconds; print and return one pass or failure."""
    corpus = FUZZ / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"fuzz-{name}.log"
    log.unlink(missing_ok=True)
    words: list[object] = ["nice", FUZZ / f"fuzz-{name}", f"-max_total_time={seconds}"]
    # -rss_limit_mb=0 disables the memory limit, because the target insn maps a small file
    # repeatedly, over 4 GiB of address space.
    words += [f"-max_len={MAX_BYTES}", "-rss_limit_mb=0", "-print_final_stats=1"]
    words += [f"-artifact_prefix={FUZZ}/{name}-", corpus]
    if processes.run_program(words, log):
        print(f"fuzz-{name}: failed, see {log}", flush=True)
        return Tally(failed=[f"fuzz-{name}"])
    done = PROGRESS.search(log.read_text(encoding="utf-8", errors="replace"))
    did = f"{int(done[1]):,} inputs, {done[2]} edges" if done else "no summary"
    print(f"fuzz-{name}: {did} in {seconds} s", flush=True)
    return Tally(passed=1)


def build_and_run_fuzz_targets(targets: Sequence[str], seconds: int) -> Tally:
    """Build and run fuzz targets, as many in parallel as there are CPUs."""
    if shutil.which("clang") is None:
        raise UnableError(f"clang is missing: {REMEDY}")
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / "fuzz-build.log"
    log.unlink(missing_ok=True)
    if not build_fuzz_targets(log):
        raise FailedError(
            f"the fuzz targets cannot be built, see {log}; if libclang-rt is missing, {REMEDY}"
        )
    total = Tally()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for tally in pool.map(run_fuzz_target, targets, [seconds] * len(targets)):
            total.add_tally(tally)
    return total


def make_requested_fuzz_suites(suite_request: SuiteRequest, _: Sequence[str]) -> list[Suite]:
    """Return a list of one suite, which runs the requested fuzz targets."""
    targets = suite_request.get_option_choices("targets", TARGETS) or list(TARGETS)
    # For libFuzzer, 0 seconds means no limit.
    seconds = suite_request.get_option_number("seconds", os.environ.get("FUZZ_SECONDS") or SECONDS)
    usual = 60.0 + seconds * len(targets) / (os.cpu_count() or 1)
    what = f"fuzz targets {', '.join(targets)}, for {seconds} s each"
    return [
        Suite(
            "fuzz",
            lambda _: build_and_run_fuzz_targets(targets, seconds),
            what,
            usual=usual,
            loud=True,
        )
    ]
