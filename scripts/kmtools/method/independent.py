# SPDX-License-Identifier: GPL-2.0-only
"""Compares the cost of dormant markers with that of nops in a program that shares no code with
kmarkers: tests/tools/nopcost.c has the loop of density-full and density-spread in assembler, and a
clock of core cycles and an estimator of its own.

The cost is that of a pass with 16 sites less that of one without, per site: side by side at the
head of the loop, and spread among its instructions. Both programs must agree within MOST core
cycles. A neighbour process may disturb one program and not the other. So there are TRIES tries, of
which the best counts: an error of either program shows in every try.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from kmtools.base.errors import FailedError, UnableError
from kmtools.base.paths import ROOT
from kmtools.measure.aa import Plan
from kmtools.method import aa

PROGRAM = ROOT / "tests" / "tools" / "nopcost.c"
MOST, TRIES, SITES, ROUNDS = 0.01, 3, 16, 4000
VARIANT = f"marker-jump-{SITES}"
BENCHMARKS = {"together": "density-full", "spread": "density-spread"}


def build(folder: Path) -> Path:
    """Build the other program."""
    made = folder / "nopcost"
    command = ["gcc", "-O2", "-o", str(made), str(PROGRAM)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedError(f"{PROGRAM} cannot be built: {done.stderr.strip().splitlines()[-1]}")
    return made


def theirs(program: Path, rounds: int) -> dict[str, float]:
    """The cost of a site in each arrangement by the other program, in core cycles."""
    done = subprocess.run([str(program), str(rounds)], capture_output=True, text=True, check=True)
    return {name: float(cost) for name, cost in map(str.split, done.stdout.splitlines())}


def ours(number: int, plan: Plan) -> dict[str, float]:
    """The cost of a site in each arrangement by kmbench and the estimator of reports, in core
    cycles."""
    found = {(row.benchmark, row.variant): row for row in aa.rows(number, plan)}
    rows = {name: found[benchmark, VARIANT] for name, benchmark in BENCHMARKS.items()}
    if any(row.core is None for row in rows.values()):
        raise UnableError("core cycles are not known here (see kmbench env)")
    return {name: aa.in_core_cycles(row) / SITES for name, row in rows.items()}


def judge(plan: Plan, rounds: int = ROUNDS) -> bool:
    """Print both costs of each arrangement in each try; return False if one never agrees."""
    agree: set[str] = set()
    with tempfile.TemporaryDirectory() as scratch:
        program = build(Path(scratch))
        for number in range(1, TRIES + 1):
            here, there = ours(number, plan), theirs(program, rounds)
            for name, cost in here.items():
                apart = abs(cost - there[name])
                agree |= {name} if apart <= MOST else set()
                both = f"{cost:.4f} and {there[name]:.4f} core cycles a site"
                print(f"{number} {name}: {both}, {apart:.4f} apart (at most {MOST})", flush=True)
            if len(agree) == len(BENCHMARKS):
                break
    print(f"{len(agree)} passed, {len(BENCHMARKS) - len(agree)} failed")
    return len(agree) == len(BENCHMARKS)
