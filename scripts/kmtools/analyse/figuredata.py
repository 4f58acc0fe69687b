# SPDX-License-Identifier: GPL-2.0-only
"""Adds to results the data that figures need from samples: the distribution of paired differences
and, for variants that repeat a published measurement, the differences from reference variants.
Figures can then be drawn from summary.json alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kmtools.analyse import stats
from kmtools.analyse.lateness import collect_late_blocks_of_variants
from kmtools.analyse.published import read_published_numbers, read_successor_variants
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import Result, estimate_difference
from kmtools.measure.rundir import UNIT_GUEST, UNIT_TSC

# The number of points of a drawn distribution, and the length of its drawn tails: the distance of
# their ends from the nearer quartile, in interquartile ranges.
POINTS, TAIL_LENGTH = 48, 3.0
# The fewest values of which a distribution is drawn.
FEWEST_VALUES = 20
# Prefix of the benchmarks whose paired differences are drawn as distributions.
PAIRED = "getppid-"
# Keys: the (benchmark, variant) pairs of kmarkers that repeat the measurement of a published cost.
# Values: the reference variants, whose time is subtracted to get the cost.
ReferenceVariants = dict[tuple[str, str], set[str]]


def estimate_density(values: Sequence[float] | NDArray[np.float64]) -> list[tuple[float, float]]:
    """Return the kernel density estimate of a distribution (Gaussian, Silverman's bandwidth),
    scaled to a maximum of 1; empty if there are fewer than FEWEST_VALUES values or their spread is
    zero."""
    x = np.asarray(values, dtype=np.float64)
    if len(x) < FEWEST_VALUES:
        return []
    first, third = np.quantile(x, 0.25), np.quantile(x, 0.75)
    size = min(float(np.std(x)), float(third - first) / 1.34) * 0.9 * len(x) ** -0.2
    if not size > 0:
        return []
    reach = TAIL_LENGTH * (third - first)
    grid = np.linspace(first - reach, third + reach, POINTS)
    height = np.exp(-0.5 * ((grid[:, None] - x[None, :]) / size) ** 2).sum(axis=1)
    height /= height.max()
    return [(float(place), float(share)) for place, share in zip(grid, height, strict=True)]


def find_reference_variants() -> ReferenceVariants:
    """Return the reference variants of each (benchmark, variant) pair of kmarkers that repeats a
    published measurement. A published cost is the time of a variant minus the time of a reference
    variant."""
    names = read_successor_variants()
    found: ReferenceVariants = defaultdict(set)
    for then in read_published_numbers():
        if then.over is None or then.is_number_of_whole_program:
            continue
        over = names.get((then.source, then.over), [])
        for benchmark, variant in names.get((then.source, f"{then.benchmark}:{then.variant}"), []):
            found[benchmark, variant] |= {base for other, base in over if other == benchmark}
    return dict(found)


def compute_differences_from_variants(
    result: Result, others: Sequence[Result]
) -> dict[str, tuple[float, Interval]]:
    """Return the differences of the cost of a result from the costs of the other variants `others`,
    by the names of these variants. The intervals follow the rules for differences from the
    baseline."""
    found = {}
    for other in others:
        if result.slopes and other.slopes:
            cost = estimate_difference(
                result.slopes,
                other.slopes,
                exact=False,
                resolution=max(result.step, other.step),
                alpha=result.alpha,
                late_blocks=collect_late_blocks_of_variants((result.late, other.late)),
            )
            if math.isfinite(cost.delta):
                found[other.variant] = (cost.delta, cost.wide)
    return found


def add_figure_data(results: Sequence[Result]) -> list[Result]:
    """Return the results with their distributions and their differences from reference variants."""
    known, found = find_reference_variants(), []
    by_key = {result.key: result for result in results}
    for result in results:
        names = known.get((result.benchmark, result.variant), set()) - {result.baseline}
        own = (result.tier, result.kernel, result.benchmark)
        others = [by_key[*own, name] for name in sorted(names) if (*own, name) in by_key]
        if result.unit not in (UNIT_TSC, UNIT_GUEST):
            others = []
        paired = result.benchmark.startswith(PAIRED) and result.delta is not None
        shape = estimate_density(stats.convert_slopes_to_floats(result.deltas)) if paired else []
        costs = compute_differences_from_variants(result, others)
        found.append(replace(result, distribution=shape, also_over=costs))
    return found
