# SPDX-License-Identifier: GPL-2.0-only
"""Runs every fuzz target for a while: FUZZ_SECONDS each, 60 unless set.

What was found to be interesting stays in build/fuzz/corpus/ for the next time; an input that fails
is left in build/fuzz/, and `build/sanitize/fuzz/fuzz-TARGET FILE` repeats it without a fuzzer. The
last line of the output is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kmtools.base.errors import positive
from kmtools.base.paths import ROOT
from kmtools.check.ktap import Tally
from kmtools.check.suites import LOGS, command

TARGETS = ("control", "words", "format", "insn", "table", "imv", "markers", "typed")
FUZZ = ROOT / "build" / "fuzz"
SECONDS = 60
MAX_BYTES = 2048
FLAGS = "-O1 -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all"
PACKAGES = "apt-get install clang libclang-rt-14-dev"
PROGRESS = re.compile(r"#(\d+)\s+DONE\s+cov: (\d+)")


def build(log: Path) -> bool:
    """Build the targets with libFuzzer; False if that fails."""
    words: list[object] = ["nice", "make", "-s", f"-j{os.cpu_count() or 1}", "-C", "native"]
    words += [f"OUT={FUZZ}", "CC=clang", "ENGINE=-fsanitize=fuzzer", f"EXTRA={FLAGS}", "fuzz"]
    return command(words, log) == 0


def describe(log: Path) -> str:
    """What a run that ended well did."""
    done = PROGRESS.search(log.read_text(encoding="utf-8", errors="replace"))
    return f"{int(done[1]):,} inputs, {done[2]} edges" if done else "no summary"


def run_target(name: str, seconds: int) -> Tally:
    """Fuzz one target."""
    corpus = FUZZ / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"fuzz-{name}.log"
    log.unlink(missing_ok=True)
    words: list[object] = ["nice", FUZZ / f"fuzz-{name}", f"-max_total_time={seconds}"]
    # The sandbox of the emulator maps 4 GiB of one small file.
    words += [f"-max_len={MAX_BYTES}", "-rss_limit_mb=0", "-print_final_stats=1"]
    words += [f"-artifact_prefix={FUZZ}/{name}-", corpus]
    if command(words, log):
        print(f"fuzz-{name}: failed, see {log}", flush=True)
        return Tally(failed=[f"fuzz-{name}"])
    print(f"fuzz-{name}: {describe(log)} in {seconds} s", flush=True)
    return Tally(passed=1)


def fuzz(targets: list[str], seconds: int) -> Tally:
    """Fuzz targets, as many at a time as there are CPUs."""
    total = Tally()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for tally in pool.map(run_target, targets, [seconds] * len(targets)):
            total.add(tally)
    return total


def main() -> int:
    """Run the targets named, or all; 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    # To a fuzzer 0 seconds are for ever.
    seconds = os.environ.get("FUZZ_SECONDS") or str(SECONDS)
    parser.add_argument("--seconds", type=positive, default=seconds, help="for each target")
    args = parser.parse_args()
    if unknown := set(args.targets) - set(TARGETS):
        parser.error(f"no target {', '.join(sorted(unknown))}")
    if shutil.which("clang") is None:
        print(f"SKIP fuzzing: no clang ({PACKAGES})")
        print(Tally(skipped=["fuzzing"]).closing_line())
        return 0
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / "fuzz-build.log"
    log.unlink(missing_ok=True)
    if not build(log):
        print(f"fuzz: building failed, see {log}; is libclang-rt installed? ({PACKAGES})")
        return 1
    total = fuzz(args.targets or list(TARGETS), args.seconds)
    print(total.closing_line())
    return 1 if total.failed else 0
