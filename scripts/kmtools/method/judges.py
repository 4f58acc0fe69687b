# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the measurement method: A/A copies of the same code, and simulated noise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kmtools.measure import choice
from kmtools.measure.aa import Plan
from kmtools.measure.bench import BUDGET_SECONDS, FULL
from kmtools.method import aa, estimators, frequency, independent, noises
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, judged

# Benchmarks of dormant sites in hot loops, where they are executed most often.
DORMANT = (
    *("empty-loop", "memcpy-4096", "density-empty", "density-full", "nop-encodings"),
    *("function-entry", "sdt-dormant", "cold-icache-l1"),
)
BURSTS_BLOCKS, RUNS, SIMULATIONS = 64, 20, 2000


def of_copies(ask: Ask, bursts: bool) -> Suite:
    """Return the suite of copies of the same code, beside bursts of another process or not."""
    blocks = ask.number("blocks", BURSTS_BLOCKS if bursts else FULL["native"])
    budget = choice.budget(ask.text("budget", f"{BUDGET_SECONDS}s"))
    some = tuple(ask.words("benchmarks")) or (DORMANT if bursts else ())
    plan, runs = Plan(blocks, budget, some, bursts), ask.number("runs", RUNS)

    def run(_: Path) -> Tally:
        return judged(aa.judge(runs, plan), "copies of the same code differ too often")

    name, usual = "bursts" if bursts else "aa", float(BUDGET_SECONDS * runs)
    return Suite(name, run, f"{runs} runs of two copies of the same code", usual=usual, loud=True)


def of_noise(ask: Ask) -> Suite:
    """Return the suite of simulated noise."""
    known = (*noises.KINDS, *frequency.CHANGES)
    kinds = ask.choice("kinds", known) or list(known)
    runs = ask.number("runs", SIMULATIONS)

    def run(_: Path) -> Tally:
        return judged(estimators.judge(kinds, runs), "the estimator misses its limits")

    return Suite("estimators", run, f"{runs} simulated runs of each kind", usual=600, loud=True)


def of_another_program(ask: Ask) -> Suite:
    """Return the suite that compares costs with those of a program without kmarkers."""
    blocks, budget = ask.number("blocks", FULL["native"]), choice.budget(ask.text("budget", "60s"))
    plan = Plan(blocks, budget, tuple(independent.BENCHMARKS.values()))

    def run(_: Path) -> Tally:
        return judged(independent.judge(plan), "the cost of a site differs in another program")

    what = "the cost of a site in another program"
    return Suite("independent", run, what, usual=70.0, loud=True)


def suites_of(ask: Ask, names: Sequence[str]) -> list[Suite]:
    """Return the suites of these names."""
    found = [of_copies(ask, name == "bursts") for name in ("aa", "bursts") if name in names]
    found += [of_noise(ask)] if "estimators" in names else []
    return [*found, *([of_another_program(ask)] if "independent" in names else [])]
