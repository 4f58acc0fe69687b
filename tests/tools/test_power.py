# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the statistical power of `kmarkers compare`, in data with known changes: simulated runs,
and pairs of halves of the reference run, with one half scaled by 1 %."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from kmtools.analyse import changes
from kmtools.analyse.changes import Change
from kmtools.analyse.rows import SHARE, WHOLE, Row, RowName
from kmtools.analyse.verdicts import DIFFERS, EQUIVALENT, FASTER, SLOWER, UNRESOLVED
from numpy.random import Generator
from test_compare import select_alarming_changes, split_reference_run_in_halves

pytestmark = pytest.mark.long

SIMULATIONS = 500
PROCESSES = 8
# Standard deviations of a variant's cost between processes, in per cent, as in the reference run.
SPREADS = (0.02, 0.05, 0.1, 0.3, 1.0, 3.0)
VARIANTS = ("clone", "jump", "immediate", "generic")
Noise = Callable[[Generator, int], np.ndarray]


def draw_normal_noise(rng: Generator, count: int) -> np.ndarray:
    """Return normally distributed noise, as the statistics of `kmarkers compare` assume."""
    return rng.standard_normal(count)


def draw_heavy_tailed_noise(rng: Generator, count: int) -> np.ndarray:
    """Return noise with heavy tails: a few processes cost much more or much less than most."""
    return np.asarray(rng.standard_t(3, count) / np.sqrt(3))


def draw_skewed_noise(rng: Generator, count: int) -> np.ndarray:
    """Return skewed noise: one process in four is slower."""
    return np.where(rng.random(count) < 0.25, rng.exponential(2.0, count), 0.0)


def simulate_compared_run(
    rng: Generator, noise: Noise, factor: float = 1.0, noisier: float = 1.0
) -> list[Row]:
    """Return the rows of a simulated run: for each of SPREADS, a benchmark with a baseline, the
    clone of the baseline, and variants. The cost of the variant "jump" is multiplied by
    `factor`, and each standard deviation by `noisier`."""
    rows = []
    for spread in SPREADS:
        benchmark = f"spread-{spread}"
        for variant in ("base", *VARIANTS):
            kind = WHOLE if variant == "base" else SHARE
            name = "base-clone" if variant == "clone" else variant
            values = 1 + noisier * spread / 100 * noise(rng, PROCESSES)
            values *= factor if variant == "jump" else 1.0
            rows.append(
                Row(
                    RowName("native", benchmark, name), "k", "TSC cycles", kind, "base", 75.0, 250,
                    PROCESSES, values, {},
                )
            )  # fmt: skip
    return rows


def find_verdict_on_variant_jump(compared: Sequence[Change], spread: float) -> str:
    """Return the verdict about the variant "jump" in the benchmark with this spread."""
    name = RowName("native", f"spread-{spread}", "jump")
    return next(change.verdict for change in compared if change.name == name)


@pytest.mark.parametrize("noise", [draw_normal_noise, draw_heavy_tailed_noise, draw_skewed_noise])
def test_pairs_of_runs_without_a_change_raise_few_alarms(noise: Noise) -> None:
    """At most one pair of runs in twenty may raise an alarm, even with a margin of 0. (The command
    is designed for one pair in a hundred if noise is normally distributed.)"""
    rng = np.random.default_rng(20)
    loud = sum(
        bool(
            select_alarming_changes(
                changes.compare_rows(
                    simulate_compared_run(rng, noise), simulate_compared_run(rng, noise), margin=0.0
                )
            )
        )
        for _ in range(SIMULATIONS)
    )
    assert loud <= SIMULATIONS / 20


def test_quiet_and_noisy_run_without_change_raise_few_alarms() -> None:
    """The second run has ten times the noise of the first, as on a busier machine. With the degrees
    of freedom for equal noise, 6 % of these pairs would raise an alarm."""
    rng = np.random.default_rng(24)
    loud = 0
    for _ in range(SIMULATIONS):
        quiet = simulate_compared_run(rng, draw_normal_noise, noisier=0.1)
        noisy = simulate_compared_run(rng, draw_normal_noise)
        loud += bool(select_alarming_changes(changes.compare_rows(quiet, noisy, margin=0.0)))
    assert loud <= SIMULATIONS * 0.03


@pytest.mark.parametrize("noise", [draw_normal_noise, draw_heavy_tailed_noise, draw_skewed_noise])
@pytest.mark.parametrize(("factor", "verdict"), [(1.01, SLOWER), (0.99, FASTER)])
def test_change_of_1_percent_is_detected_or_unresolved(
    noise: Noise, factor: float, verdict: str
) -> None:
    """A change of 1 % is found in variants with little noise. In noisy variants, the verdict on the
    change may be "unresolved", but never "equivalent"."""
    rng = np.random.default_rng(21)
    found: dict[float, list[str]] = {spread: [] for spread in SPREADS}
    for _ in range(SIMULATIONS):
        pair = changes.compare_rows(
            simulate_compared_run(rng, noise), simulate_compared_run(rng, noise, factor)
        )
        for spread in SPREADS:
            found[spread].append(find_verdict_on_variant_jump(pair, spread))
    for spread, said in found.items():
        assert set(said) <= {verdict, DIFFERS, UNRESOLVED}, spread
        if spread <= 0.1:
            assert said.count(verdict) >= 0.95 * SIMULATIONS, spread
    assert found[3.0].count(UNRESOLVED) >= 0.95 * SIMULATIONS


def test_only_rows_with_little_noise_are_called_equivalent() -> None:
    rng = np.random.default_rng(22)
    said: dict[float, list[str]] = {spread: [] for spread in SPREADS}
    for _ in range(SIMULATIONS):
        pair = changes.compare_rows(
            simulate_compared_run(rng, draw_normal_noise),
            simulate_compared_run(rng, draw_normal_noise),
        )
        for spread in SPREADS:
            said[spread].append(find_verdict_on_variant_jump(pair, spread))
    assert said[0.02].count(EQUIVALENT) >= 0.9 * SIMULATIONS
    assert said[1.0].count(UNRESOLVED) == said[3.0].count(UNRESOLVED) == SIMULATIONS


def test_printed_detectable_change_is_detected() -> None:
    """`kmarkers compare` prints a detectable change: a change of this size would be detected in
    half of the rows. Here, all rows are equally noisy, and the cost of one row is increased by this
    change. In at least half of the simulations, the change of this row is detected."""
    rng = np.random.default_rng(23)
    found = []
    for _ in range(SIMULATIONS):
        a, b = (
            [r for r in simulate_compared_run(rng, draw_normal_noise) if "-0.3" in r.name.benchmark]
            for _ in range(2)
        )
        size = changes.compute_median_detectable_change(changes.compare_rows(a, b))
        assert size is not None
        more = [
            replace(r, values=r.values * (1 + size / 100)) if r.name.variant == "jump" else r
            for r in b
        ]
        found.append(find_verdict_on_variant_jump(changes.compare_rows(a, more), 0.3))
    assert found.count(SLOWER) >= 0.5 * SIMULATIONS


def test_change_of_1_percent_in_reference_rows_is_detected_or_unresolved() -> None:
    """If one half of the reference run is scaled by 1 %, some rows are detected as slower. Rows
    that are too noisy for 1 % are unresolved."""
    for a, b in split_reference_run_in_halves()[::18]:
        more = [replace(r, values=r.values * (1 if r.is_clone else 1.01)) for r in b]
        found = [c for c in changes.compare_rows(a, more) if c.kind == SHARE]
        said = [c.verdict for c in found if c.a and not c.a.is_clone]
        assert {SLOWER, UNRESOLVED} <= set(said) <= {SLOWER, DIFFERS, UNRESOLVED}
