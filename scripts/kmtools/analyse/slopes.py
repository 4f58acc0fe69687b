# SPDX-License-Identifier: GPL-2.0-only
"""Slopes over loop counts, which do not contain the fixed cost of starting and stopping the clock.

A slope is in the tier's unit per operation. This file uses the standard library alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from kmtools.measure.samples import Sample

CLONE_SUFFIX = "-clone"


@dataclass(frozen=True)
class Slope:
    """One variant in one block: cost per operation, signed."""

    block: int
    layout: int
    value: Fraction
    process: int = 1


def fit_slope(points: Sequence[tuple[int, int | Fraction]]) -> Fraction | None:
    """Least-squares slope of (x, value) points, exact; None below two different x.

    With two points it is their difference quotient. A negative slope stays negative."""
    n = len(points)
    sum_x = sum(x for x, _ in points)
    sum_y = sum(y for _, y in points)
    denominator = n * sum(x * x for x, _ in points) - sum_x * sum_x
    if denominator == 0:
        return None
    return Fraction(n * sum(x * y for x, y in points) - sum_x * sum_y, denominator)


def slopes(samples: Iterable[Sample]) -> dict[str, list[Slope]]:
    """Slopes of every variant of one benchmark, ordered by block.

    Flagged windows are left out; a block with fewer than two loop counts left for a variant has no
    slope of it."""
    points: dict[tuple[str, int, int, int], list[tuple[int, int]]] = defaultdict(list)
    for sample in samples:
        if not sample.flags:
            place = (sample.variant, sample.block, sample.layout, sample.process)
            points[place].append((sample.size, sample.value))
    fitted: dict[str, list[Slope]] = defaultdict(list)
    for (variant, block, layout, process), several in sorted(points.items()):
        slope = fit_slope(several)
        if slope is not None:
            fitted[variant].append(Slope(block, layout, slope, process))
    return dict(fitted)


def find_baseline(variants: Iterable[str]) -> str | None:
    """The variant that has an A/A clone; None when there is no such pair."""
    names = set(variants)
    return min((name for name in names if name + CLONE_SUFFIX in names), default=None)


def paired(variant: Sequence[Slope], baseline: Sequence[Slope]) -> list[Slope]:
    """Variant minus baseline in every block that has both."""
    reference = {(slope.block, slope.layout): slope.value for slope in baseline}
    return [
        replace(slope, value=slope.value - reference[slope.block, slope.layout])
        for slope in variant
        if (slope.block, slope.layout) in reference
    ]
