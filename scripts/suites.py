# SPDX-License-Identifier: GPL-2.0-only
"""Test suites: each runs, leaves its log in build/check/ and says how it went."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import ktap
from ktap import Tally
from lablib import ROOT

LOGS = ROOT / "build" / "check"
SKIP_CODE = 4  # what a whole KTAP program that is skipped exits with


@dataclass(frozen=True)
class Suite:
    """A named part of the run; `run` returns its results and writes its own log."""

    name: str
    run: Callable[[Path], Tally]


def command(words: Sequence[object], log: Path, env: Mapping[str, str] | None = None) -> int:
    """Run a command with its output added to a log; returns its exit code."""
    with log.open("a") as file:
        text = [str(word) for word in words]
        return subprocess.run(
            text, cwd=ROOT, stdout=file, stderr=file, env=env, check=False
        ).returncode


def run_ktap(words: Sequence[object], log: Path, env: Mapping[str, str] | None = None) -> Tally:
    """Run a program that prints KTAP; an exit code without a failed result is a failure."""
    start = log.stat().st_size if log.exists() else 0
    code = command(words, log, env)
    with log.open(encoding="utf-8", errors="replace") as file:
        file.seek(start)
        lines = file.read().splitlines()
    if code == SKIP_CODE:
        return Tally(skipped=[line for line in lines if line.startswith(("1..0", "kmarkers:"))])
    tally = ktap.parse(lines)
    if code and not tally.failed:
        tally.failed.append(f"{Path(str(words[0])).name}: exit code {code}")
    return tally


def run_suite(suite: Suite) -> Tally:
    """Run one suite and say how it went."""
    started = time.monotonic()
    print(f"{suite.name} ...", flush=True)
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{suite.name}.log"
    log.unlink(missing_ok=True)
    tally = suite.run(log)
    seconds = time.monotonic() - started
    print(f"{suite.name}: {tally.closing_line()} in {seconds:.0f} s", flush=True)
    for name in tally.failed:
        print(f"  FAILED {name}")
    for name in tally.skipped:
        print(f"  SKIP {name}")
    if tally.failed:
        print(f"  see {log}")
    return tally


def run_all(suites: Iterable[Suite]) -> Tally:
    """Run suites one after the other; what they add up to."""
    total = Tally()
    for suite in suites:
        total.add(run_suite(suite))
    return total
