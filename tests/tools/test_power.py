# SPDX-License-Identifier: GPL-2.0-only
"""What kmarkers compare finds and does not find, in data whose truth is known: simulated runs, and
halves of the committed run into which one percent was put."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from kmtools.analyse import changes
from kmtools.analyse.changes import Change
from kmtools.analyse.rows import SHARE, WHOLE, Name, Row
from kmtools.analyse.verdicts import DIFFERS, EQUIVALENT, FASTER, SLOWER, UNRESOLVED
from numpy.random import Generator
from test_compare import alarms, halves

SIMULATIONS = 500
PROCESSES = 8
# The spread of a row from process to process in percent; the committed run has such rows.
SPREADS = (0.02, 0.05, 0.1, 0.3, 1.0, 3.0)
VARIANTS = ("clone", "jump", "immediate", "generic")
Noise = Callable[[Generator, int], np.ndarray]


def normal(rng: Generator, count: int) -> np.ndarray:
    """Noise as the rule assumes it."""
    return rng.standard_normal(count)


def heavy(rng: Generator, count: int) -> np.ndarray:
    """Noise in which some processes are far from the others."""
    return np.asarray(rng.standard_t(3, count) / np.sqrt(3))


def skewed(rng: Generator, count: int) -> np.ndarray:
    """Noise that only adds: a process in four is disturbed."""
    return np.where(rng.random(count) < 0.25, rng.exponential(2.0, count), 0.0)


def run_of(rng: Generator, noise: Noise, factor: float = 1.0) -> list[Row]:
    """A run: for each spread a benchmark with a baseline, its clone and variants. The cost of the
    variant "jump" is multiplied by `factor`."""
    rows = []
    for spread in SPREADS:
        benchmark = f"spread-{spread}"
        for variant in ("base", *VARIANTS):
            kind = WHOLE if variant == "base" else SHARE
            name = "base-clone" if variant == "clone" else variant
            values = 1 + spread / 100 * noise(rng, PROCESSES)
            values *= factor if variant == "jump" else 1.0
            rows.append(
                Row(
                    Name("native", benchmark, name), "k", "TSC cycles", kind, "base", 75.0, 250,
                    PROCESSES, values, {},
                )
            )  # fmt: skip
    return rows


def verdicts(found: Sequence[Change], spread: float) -> str:
    """The verdict of the variant that is changed, in the benchmark of a spread."""
    name = Name("native", f"spread-{spread}", "jump")
    return next(change.verdict for change in found if change.name == name)


@pytest.mark.parametrize("noise", [normal, heavy, skewed])
def test_pairs_without_a_change_are_quiet(noise: Noise) -> None:
    """At most one pair in twenty may raise an alarm, also without a margin; the rule says one in a
    hundred for normal noise."""
    rng = np.random.default_rng(20)
    loud = sum(
        bool(alarms(changes.compare(run_of(rng, noise), run_of(rng, noise), margin=0.0)))
        for _ in range(SIMULATIONS)
    )
    assert loud <= SIMULATIONS / 20


@pytest.mark.parametrize("noise", [normal, heavy, skewed])
@pytest.mark.parametrize(("factor", "verdict"), [(1.01, SLOWER), (0.99, FASTER)])
def test_a_percent_is_found_or_unresolved(noise: Noise, factor: float, verdict: str) -> None:
    """In steady rows it is found. In others it may be missed, but is never called equivalent."""
    rng = np.random.default_rng(21)
    found: dict[float, list[str]] = {spread: [] for spread in SPREADS}
    for _ in range(SIMULATIONS):
        pair = changes.compare(run_of(rng, noise), run_of(rng, noise, factor))
        for spread in SPREADS:
            found[spread].append(verdicts(pair, spread))
    for spread, said in found.items():
        assert set(said) <= {verdict, DIFFERS, UNRESOLVED}, spread
        if spread <= 0.1:
            assert said.count(verdict) >= 0.95 * SIMULATIONS, spread
    assert found[3.0].count(UNRESOLVED) >= 0.95 * SIMULATIONS


def test_equivalent_is_said_of_steady_rows_only() -> None:
    rng = np.random.default_rng(22)
    said: dict[float, list[str]] = {spread: [] for spread in SPREADS}
    for _ in range(SIMULATIONS):
        pair = changes.compare(run_of(rng, normal), run_of(rng, normal))
        for spread in SPREADS:
            said[spread].append(verdicts(pair, spread))
    assert said[0.02].count(EQUIVALENT) >= 0.9 * SIMULATIONS
    assert said[1.0].count(UNRESOLVED) == said[3.0].count(UNRESOLVED) == SIMULATIONS


def test_a_change_of_the_size_that_is_named_is_found() -> None:
    """The line "half of the rows could show a change of" tells the truth, if all rows are alike."""
    rng = np.random.default_rng(23)
    found = []
    for _ in range(SIMULATIONS):
        a, b = ([r for r in run_of(rng, normal) if "-0.3" in r.name.benchmark] for _ in range(2))
        size = changes.smallest(changes.compare(a, b))
        assert size is not None
        more = [
            replace(r, values=r.values * (1 + size / 100)) if r.name.variant == "jump" else r
            for r in b
        ]
        found.append(verdicts(changes.compare(a, more), 0.3))
    assert found.count(SLOWER) >= 0.5 * SIMULATIONS


def test_a_percent_in_a_real_row_is_found_or_unresolved() -> None:
    """In rows of the committed run, halved in two ways. Some are too noisy for one percent."""
    for a, b in halves()[::18]:
        more = [replace(r, values=r.values * (1 if r.is_clone else 1.01)) for r in b]
        found = [c for c in changes.compare(a, more) if c.kind == SHARE]
        said = [c.verdict for c in found if c.a and not c.a.is_clone]
        assert {SLOWER, UNRESOLVED} <= set(said) <= {SLOWER, DIFFERS, UNRESOLVED}
