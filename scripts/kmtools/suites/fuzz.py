# SPDX-License-Identifier: GPL-2.0-only
"""Runs fuzz targets. An input that fails is kept in build/fuzz/."""

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
from kmtools.lab.userspace import make
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import LOGS, Suite

TARGETS = ("control", "words", "format", "insn", "table", "imv", "markers", "typed")
FUZZ = ROOT / "build" / "fuzz"
SECONDS = 60
MAX_BYTES = 2048
FLAGS = "-O1 -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all"
REMEDY = "scripts/setup --tools installs it"
PROGRESS = re.compile(r"#(\d+)\s+DONE\s+cov: (\d+)")


def build(log: Path) -> bool:
    """Build the targets with libFuzzer; return False if that fails."""
    words = make("CC=clang", "ENGINE=-fsanitize=fuzzer", "fuzz", out=FUZZ, extra=FLAGS)
    return processes.run(["nice", *words], log) == 0


def run_target(name: str, seconds: int) -> Tally:
    """Fuzz one target."""
    corpus = FUZZ / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"fuzz-{name}.log"
    log.unlink(missing_ok=True)
    words: list[object] = ["nice", FUZZ / f"fuzz-{name}", f"-max_total_time={seconds}"]
    # The memory limit is off, because the emulator's sandbox maps one small file repeatedly, over 4
    # GiB.
    words += [f"-max_len={MAX_BYTES}", "-rss_limit_mb=0", "-print_final_stats=1"]
    words += [f"-artifact_prefix={FUZZ}/{name}-", corpus]
    if processes.run(words, log):
        print(f"fuzz-{name}: failed, see {log}", flush=True)
        return Tally(failed=[f"fuzz-{name}"])
    done = PROGRESS.search(log.read_text(encoding="utf-8", errors="replace"))
    did = f"{int(done[1]):,} inputs, {done[2]} edges" if done else "no summary"
    print(f"fuzz-{name}: {did} in {seconds} s", flush=True)
    return Tally(passed=1)


def fuzz(targets: Sequence[str], seconds: int) -> Tally:
    """Fuzz targets, as many at a time as there are CPUs."""
    if shutil.which("clang") is None:
        raise UnableError(f"clang is missing: {REMEDY}")
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / "fuzz-build.log"
    log.unlink(missing_ok=True)
    if not build(log):
        raise FailedError(f"building failed, see {log}; is libclang-rt installed? ({REMEDY})")
    total = Tally()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for tally in pool.map(run_target, targets, [seconds] * len(targets)):
            total.add(tally)
    return total


def suites_of(ask: Ask, _: Sequence[str]) -> list[Suite]:
    """Return the suite of the requested targets."""
    targets = ask.choice("targets", TARGETS) or list(TARGETS)
    # For libFuzzer, 0 seconds means no limit.
    seconds = ask.number("seconds", os.environ.get("FUZZ_SECONDS") or SECONDS)
    usual = 60.0 + seconds * len(targets) / (os.cpu_count() or 1)
    what = f"{', '.join(targets)}, for {seconds} s each"
    return [Suite("fuzz", lambda _: fuzz(targets, seconds), what, usual=usual, loud=True)]
