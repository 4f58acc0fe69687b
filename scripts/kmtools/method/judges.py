# SPDX-License-Identifier: GPL-2.0-only
"""Makes the suites that test the measurement method: A/A copies of the same code, simulated noise,
and an independent program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kmtools.measure import choice
from kmtools.measure.aa import Plan
from kmtools.measure.bench import BUDGET_SECONDS, FULL
from kmtools.method import aa, estimators, frequency, independent, noises
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, make_tally

# Benchmarks of dormant sites in hot loops, where they are executed most often.
DORMANT = (
    *("empty-loop", "memcpy-4096", "density-empty", "density-full", "nop-encodings"),
    *("function-entry", "sdt-dormant", "cold-icache-l1"),
)
BURSTS_BLOCKS, RUNS, SIMULATIONS = 64, 20, 2000


def make_copies_suite(ask: Ask, bursts: bool) -> Suite:
    """Return the suite that measures copies of the same code; with `bursts`, beside a neighbour
    process that uses a core in bursts."""
    blocks = ask.number("blocks", BURSTS_BLOCKS if bursts else FULL["native"])
    budget = choice.parse_budget(ask.text("budget", f"{BUDGET_SECONDS}s"))
    some = tuple(ask.words("benchmarks")) or (DORMANT if bursts else ())
    plan, runs = Plan(blocks, budget, some, bursts), ask.number("runs", RUNS)

    def run(_: Path) -> Tally:
        return make_tally(aa.judge_copies(runs, plan), "copies of the same code differ too often")

    name, usual = "bursts" if bursts else "aa", float(BUDGET_SECONDS * runs)
    return Suite(name, run, f"{runs} runs of two copies of the same code", usual=usual, loud=True)


def make_noise_suite(ask: Ask) -> Suite:
    """Return the suite that tests the estimator with simulated noise."""
    known = (*noises.KINDS, *frequency.CHANGES)
    kinds = ask.choice("kinds", known) or list(known)
    runs = ask.number("runs", SIMULATIONS)

    def run(_: Path) -> Tally:
        return make_tally(
            estimators.judge_estimator(kinds, runs), "the estimator misses its limits"
        )

    return Suite("estimators", run, f"{runs} simulated runs of each kind", usual=600, loud=True)


def make_program_suite(ask: Ask) -> Suite:
    """Return the suite that compares the cost of a site with its cost in a program without
    kmarkers."""
    blocks, budget = (
        ask.number("blocks", FULL["native"]),
        choice.parse_budget(ask.text("budget", "60s")),
    )
    plan = Plan(blocks, budget, tuple(independent.BENCHMARKS.values()))

    def run(_: Path) -> Tally:
        return make_tally(
            independent.judge_site_cost(plan), "the cost of a site differs in another program"
        )

    what = "the cost of a site in another program"
    return Suite("independent", run, what, usual=70.0, loud=True)


def suites_of(ask: Ask, names: Sequence[str]) -> list[Suite]:
    """Return the suites with these names."""
    found = [make_copies_suite(ask, name == "bursts") for name in ("aa", "bursts") if name in names]
    found += [make_noise_suite(ask)] if "estimators" in names else []
    return [*found, *([make_program_suite(ask)] if "independent" in names else [])]
