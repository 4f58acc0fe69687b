# SPDX-License-Identifier: GPL-2.0-only
"""Compares the cost of dormant markers with the cost of nops in a program that shares no code with
kmarkers: tests/tools/nopcost.c has the loops of density-full and density-spread in assembler, and
its own clock of core cycles and estimator.

The cost of a site is the cost of a pass with 16 sites minus the cost of a pass without sites,
divided by 16. The sites are side by side at the head of the loop, or spread among its instructions.
Both programs must agree within MAX_COST_DIFFERENCE core cycles in at least one of TRIES tries: a
neighbour process may disturb one program in one try, but an error of either program shows in every
try.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from kmtools.base.errors import FailedError, UnableError
from kmtools.base.paths import ROOT
from kmtools.measure.aa import RunSettings
from kmtools.method import aa

PROGRAM = ROOT / "tests" / "tools" / "nopcost.c"
# The largest difference of the two costs of a site, in core cycles; the number of tries, of sites
# in a pass, and of rounds that nopcost measures.
MAX_COST_DIFFERENCE, TRIES, SITES, ROUNDS = 0.01, 3, 16, 4000
VARIANT = f"marker-jump-{SITES}"
BENCHMARKS = {"together": "density-full", "spread": "density-spread"}


def build_nopcost(folder: Path) -> Path:
    """Build nopcost.c in the directory `folder`; return the program. Raise FailedError if
    nopcost.c does not compile."""
    made = folder / "nopcost"
    command = ["gcc", "-O2", "-o", str(made), str(PROGRAM)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedError(f"{PROGRAM} cannot be built: {done.stderr.strip().splitlines()[-1]}")
    return made


def measure_nopcost_costs(program: Path, rounds: int) -> dict[str, float]:
    """Return the cost of a site in core cycles, as nopcost measures it: for sites side by side and
    for spread sites."""
    done = subprocess.run([str(program), str(rounds)], capture_output=True, text=True, check=True)
    return {name: float(cost) for name, cost in map(str.split, done.stdout.splitlines())}


def measure_kmbench_costs(run_number: int, plan: RunSettings) -> dict[str, float]:
    """Return the cost of a site in core cycles, measured by kmbench and estimated as in reports:
    for sites side by side and for spread sites. `run_number` sets the seeds."""
    found = {(row.benchmark, row.variant): row for row in aa.measure_results(run_number, plan)}
    rows = {name: found[benchmark, VARIANT] for name, benchmark in BENCHMARKS.items()}
    if any(row.core is None for row in rows.values()):
        raise UnableError(
            "core cycles are neither counted nor estimated on this machine (see kmbench env)"
        )
    return {name: aa.get_added_core_cycles(row) / SITES for name, row in rows.items()}


def judge_site_cost(plan: RunSettings, rounds: int = ROUNDS) -> bool:
    """Measure the cost of a site with kmbench and with nopcost, up to TRIES times: for sites side
    by side and for spread sites. Print the costs. Return True if, for each of these two
    arrangements, the costs from both programs agreed at least once."""
    agree: set[str] = set()
    with tempfile.TemporaryDirectory() as scratch:
        program = build_nopcost(Path(scratch))
        for number in range(1, TRIES + 1):
            here, there = (
                measure_kmbench_costs(number, plan),
                measure_nopcost_costs(program, rounds),
            )
            for name, cost in here.items():
                apart = abs(cost - there[name])
                agree |= {name} if apart <= MAX_COST_DIFFERENCE else set()
                costs = f"kmbench {cost:.4f}, nopcost {there[name]:.4f} core cycles a site"
                print(
                    f"try {number}, {name}: {costs}, {apart:.4f} apart"
                    f" (at most {MAX_COST_DIFFERENCE})",
                    flush=True,
                )
            if len(agree) == len(BENCHMARKS):
                break
    print(f"{len(agree)} passed, {len(BENCHMARKS) - len(agree)} failed")
    return len(agree) == len(BENCHMARKS)
