# SPDX-License-Identifier: GPL-2.0-only
"""Makes the suites that test the measurement method: A/A copies of the same code, neighbour
processes, simulated noise, and an independent program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kmtools.analyse.verdicts import HOT_LOOPS
from kmtools.measure import choice
from kmtools.measure.aa import RunSettings
from kmtools.measure.bench import BUDGET_SECONDS, FULL, build_kmbench
from kmtools.method import (
    aa,
    estimators,
    frequency,
    independent,
    latewindows,
    neighbours,
    noises,
    selftest,
)
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, make_one_result_tally

# Benchmarks of dormant sites in hot loops, where sites are executed most often.
DORMANT = (
    *("empty-loop", "memcpy-4096", "density-empty", "density-full", "nop-encodings"),
    *("function-entry", "sdt-dormant", "cold-icache-l1"),
)
# Defaults: the number of blocks per process while a neighbour process runs, the number of runs, and
# the number of simulations.
BURSTS_BLOCKS, RUNS, SIMULATIONS = 64, 20, 2000
# The time limit of the measurement while a neighbour process runs, and the usual time of such a run
# with its analysis, in seconds.
NEIGHBOUR_SECONDS, NEIGHBOUR_USUAL = 60, 66.0


def make_identical_code_suite(suite_request: SuiteRequest, name: str) -> Suite:
    """Return the suite `name`, "aa" or "bursts", which measures two copies of the same code (A/A).
    The suite "bursts" measures while another process uses a core in bursts."""
    bursts = name == "bursts"
    blocks = suite_request.get_option_number("blocks", BURSTS_BLOCKS if bursts else FULL["native"])
    budget = suite_request.parse_option("budget", f"{BUDGET_SECONDS}s", choice.parse_time_budget)
    some = tuple(suite_request.get_option_words("benchmarks")) or (DORMANT if bursts else ())
    plan = RunSettings(blocks, budget, some, name if bursts else "")
    runs = suite_request.get_option_number("runs", RUNS)

    def judge_identical_code(_: Path) -> Tally:
        build_kmbench()
        return make_one_result_tally(
            aa.judge_aa_clone_runs(runs, plan), "copies of the same code differ too often"
        )

    what, usual = f"{runs} runs of two copies of the same code", float(BUDGET_SECONDS * runs)
    return Suite(name, judge_identical_code, what, usual=usual, loud=True)


def make_neighbour_suite(suite_request: SuiteRequest) -> Suite:
    """Return the suite that runs a neighbour process and meanwhile measures hot loops and
    instructions of known cost."""
    kinds = suite_request.get_option_choices("kinds", neighbours.KINDS) or list(neighbours.KINDS)
    runs = suite_request.get_option_number("runs", RUNS)
    budget = suite_request.parse_option("budget", f"{NEIGHBOUR_SECONDS}s", choice.parse_time_budget)
    blocks = suite_request.get_option_number("blocks", BURSTS_BLOCKS)
    some = tuple(suite_request.get_option_words("benchmarks")) or HOT_LOOPS
    plan = RunSettings(blocks, budget, some, unlisted=(selftest.BENCHMARK,))

    def judge_runs_with_neighbours(log: Path) -> Tally:
        build_kmbench()
        file = log.with_suffix(".json")
        good = neighbours.judge_neighbours(kinds, runs, plan, file)
        return make_one_result_tally(good, "verdicts are false or missing while a neighbour runs")

    what = f"{runs} runs with each of {len(kinds)} neighbour processes"
    usual = NEIGHBOUR_USUAL * runs * len(kinds)
    return Suite("neighbours", judge_runs_with_neighbours, what, usual=usual, loud=True)


def make_simulated_noise_suite(suite_request: SuiteRequest) -> Suite:
    """Return the suite that tests the estimator with simulated noise."""
    known = (
        *noises.KINDS,
        *noises.ASYMMETRIC,
        *frequency.CHANGES,
        *latewindows.DISTURBANCES,
    )
    kinds = suite_request.get_option_choices("kinds", known) or list(known)
    runs = suite_request.get_option_number("runs", SIMULATIONS)

    def judge_simulated_noise(_: Path) -> Tally:
        return make_one_result_tally(
            estimators.judge_estimator(kinds, runs), "the estimator misses its limits"
        )

    return Suite(
        "estimators",
        judge_simulated_noise,
        f"at most {runs} simulated runs of each kind of noise",
        usual=440,
        loud=True,
    )


def make_independent_program_suite(suite_request: SuiteRequest) -> Suite:
    """Return the suite that compares the cost of a site with the cost of a nop in a program without
    kmarkers."""
    blocks, budget = (
        suite_request.get_option_number("blocks", FULL["native"]),
        suite_request.parse_option("budget", "60s", choice.parse_time_budget),
    )
    plan = RunSettings(blocks, budget, tuple(independent.BENCHMARKS.values()))

    def judge_independent_program(_: Path) -> Tally:
        build_kmbench()
        return make_one_result_tally(
            independent.judge_site_cost_agreement(plan),
            "the cost of a site differs in another program",
        )

    what = "the cost of a site, compared with the cost in a program without kmarkers"
    return Suite("independent", judge_independent_program, what, usual=70.0, loud=True)


def make_requested_suites(suite_request: SuiteRequest, names: Sequence[str]) -> list[Suite]:
    """Return the suites of this file whose names are in `names`."""
    found = [
        make_identical_code_suite(suite_request, name) for name in ("aa", "bursts") if name in names
    ]
    found += [make_neighbour_suite(suite_request)] if "neighbours" in names else []
    found += [make_simulated_noise_suite(suite_request)] if "estimators" in names else []
    return [
        *found,
        *([make_independent_program_suite(suite_request)] if "independent" in names else []),
    ]
