# SPDX-License-Identifier: GPL-2.0-only
"""Compares the cost of dormant markers with the cost of nops in a program that shares no code with
kmarkers: tests/tools/nopcost.c has the loops of density-full and density-spread in assembler, and
its own clock of core cycles and estimator.

The cost of a site is the cost of a pass with 16 sites minus the cost of a pass without sites,
divided by 16. The sites are side by side at the head of the loop, or spread among its instructions.
In at least one of TRIES tries, the costs from both programs must differ by at most
MAX_COST_DIFFERENCE core cycles, plus the half width of the 95 % interval of their difference: a
neighbour process may disturb one program in one try, but an error of either program shows in every
try. The intervals allow for the effect of the place of the code: on an Intel CPU with AMX, a site
costs 0.06 core cycles at one place and 0.3 at another, and the two programs have their loops at
different places. A try whose intervals are wider than MAX_UNCERTAINTY is not judged.
"""

from __future__ import annotations

import math
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from kmtools.analyse.verdicts import Result
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.paths import ROOT
from kmtools.measure.aa import RunSettings
from kmtools.method import aa

PROGRAM = ROOT / "tests" / "tools" / "nopcost.c"
# Limits in core cycles. The two costs of a site may differ by MAX_COST_DIFFERENCE more than their
# intervals allow. The interval of the difference may have a half width of MAX_UNCERTAINTY.
MAX_COST_DIFFERENCE, MAX_UNCERTAINTY = 0.01, 0.03
# The number of tries; the number of sites in a pass; the number of rounds that nopcost measures.
TRIES, SITES, ROUNDS = 3, 16, 200
VARIANT = f"marker-jump-{SITES}"
BENCHMARKS = {"together": "density-full", "spread": "density-spread"}


class SiteCost(NamedTuple):
    """The cost of a site, and half the width of its 95 % interval, in core cycles."""

    cost: float
    half_width: float


def build_nopcost(folder: Path) -> Path:
    """Build nopcost.c in the directory `folder`; return the program. Raise FailedError if
    nopcost.c does not compile."""
    made = folder / "nopcost"
    command = ["gcc", "-O2", "-o", str(made), str(PROGRAM), "-lm"]
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if done.returncode:
        raise FailedError(f"{PROGRAM} cannot be built: {done.stderr.strip().splitlines()[-1]}")
    return made


def measure_site_costs_with_nopcost(program: Path, rounds: int) -> dict[str, SiteCost]:
    """Return the cost of a site, as nopcost measures it: for sites side by side and for spread
    sites."""
    done = subprocess.run(
        [str(program), str(rounds)],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=True,
    )
    words = map(str.split, done.stdout.splitlines())
    return {name: SiteCost(float(cost), float(half_width)) for name, cost, half_width in words}


def compute_cost_of_one_site(row: Result) -> SiteCost:
    """Return the cost of one site: the added cost of a result, divided by its number of sites,
    SITES."""
    cost = aa.get_added_core_cycles(row)
    assert row.core is not None and row.delta_ci is not None
    return SiteCost(cost / SITES, row.delta_ci.half_width * row.core.per_tick / SITES)


def measure_site_costs_with_kmbench(run_number: int, plan: RunSettings) -> dict[str, SiteCost]:
    """Return the cost of a site, measured by kmbench and estimated as in reports: for sites side by
    side and for spread sites. `run_number` sets the seeds."""
    found = {
        (row.benchmark, row.variant): row for row in aa.measure_added_cost_results(run_number, plan)
    }
    rows = {name: found[benchmark, VARIANT] for name, benchmark in BENCHMARKS.items()}
    return {name: compute_cost_of_one_site(row) for name, row in rows.items()}


def judge_site_cost_agreement(plan: RunSettings, rounds: int = ROUNDS) -> bool:
    """Measure the cost of a site with kmbench and with nopcost, up to TRIES times: for sites side
    by side and for spread sites. Print the costs. Return True if, for each of these two
    arrangements, the costs from both programs agreed at least once. Raise UnableError if all
    intervals of an arrangement were wider than MAX_UNCERTAINTY."""
    agree: set[str] = set()
    judged: set[str] = set()
    with tempfile.TemporaryDirectory() as scratch:
        program = build_nopcost(Path(scratch))
        for number in range(1, TRIES + 1):
            here, there = (
                measure_site_costs_with_kmbench(number, plan),
                measure_site_costs_with_nopcost(program, rounds),
            )
            for name, ours in here.items():
                theirs = there[name]
                apart = abs(ours.cost - theirs.cost)
                within = math.hypot(ours.half_width, theirs.half_width)
                if within <= MAX_UNCERTAINTY:
                    judged.add(name)
                    agree |= {name} if apart <= MAX_COST_DIFFERENCE + within else set()
                print(
                    f"try {number}, {name}: kmbench {ours.cost:.4f} +-{ours.half_width:.4f},"
                    f" nopcost {theirs.cost:.4f} +-{theirs.half_width:.4f} core cycles a site,"
                    f" {apart:.4f} apart (at most {MAX_COST_DIFFERENCE} +-{within:.4f})",
                    flush=True,
                )
            if len(agree) == len(BENCHMARKS):
                break
    unknown = BENCHMARKS.keys() - judged
    if unknown and judged == agree:
        raise UnableError(
            f"the interval of a site's cost is wider than {MAX_UNCERTAINTY} core cycles"
            f" ({', '.join(sorted(unknown))}): repeat the test on a quiet machine"
        )
    print(f"{len(agree)} passed, {len(BENCHMARKS) - len(agree)} failed")
    return len(agree) == len(BENCHMARKS)
