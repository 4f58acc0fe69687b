# SPDX-License-Identifier: GPL-2.0-only
"""Fits slopes of time over loop counts (numbers of passes of a timed loop), which exclude the fixed
cost of starting and stopping the clock.

A slope is in the tier's unit per operation. This file uses the standard library alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from operator import attrgetter
from typing import NamedTuple

from kmtools.measure.samples import Sample

# The suffix of the name of an A/A clone, after the name of its baseline.
CLONE_SUFFIX = "-clone"
ONE = Fraction(1)


class Slope(NamedTuple):
    """The cost per operation of one variant in one block, as an exact fraction of two integers,
    `top` and `bottom`. A report has a million slopes, so fractions are not reduced, to save
    time."""

    block: int
    layout: int
    top: int
    bottom: int = 1
    process: int = 1

    @classmethod
    def from_fraction(cls, block: int, layout: int, value: Fraction, process: int = 1) -> Slope:
        """Return a slope with the value `value`, which is a fraction."""
        return cls(block, layout, value.numerator, value.denominator, process)

    @property
    def value(self) -> Fraction:
        """The cost per operation, as a reduced fraction."""
        return Fraction(self.top, self.bottom)


# For each (variant, block, layout, process): the windows without a flag, as pairs of loop count and
# value.
Points = Mapping[tuple[str, int, int, int], Sequence[tuple[int, int]]]


def group_unflagged_windows(
    samples: Iterable[Sample], value_of: Callable[[Sample], int] = attrgetter("value")
) -> Points:
    """Return the unflagged windows of each variant, block, layout and process of a benchmark. Each
    window is a pair: the loop count, and the value that `value_of` returns for the sample."""
    points: dict[tuple[str, int, int, int], list[tuple[int, int]]] = defaultdict(list)
    for sample in samples:
        if not sample.flags:
            place = (sample.variant, sample.block, sample.layout, sample.process)
            points[place].append((sample.loops or sample.sites or 0, value_of(sample)))
    return points


def fit_line(points: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the least-squares slope of points as a numerator and a denominator. The denominator is
    0 if the points have fewer than two different x."""
    if len(points) == 2:
        (x, y), (last_x, last_y) = points
        return (last_y - y, last_x - x) if last_x >= x else (y - last_y, x - last_x)
    n = len(points)
    sum_x = sum_y = sum_xx = sum_xy = 0
    for x, y in points:
        sum_x += x
        sum_y += y
        sum_xx += x * x
        sum_xy += x * y
    return n * sum_xy - sum_x * sum_y, n * sum_xx - sum_x * sum_x


def fit_slopes(points: Points, cycles_per_tick: Fraction = ONE) -> dict[str, list[Slope]]:
    """Fit the slopes of every variant of one benchmark, ordered by block. Each slope is divided by
    `cycles_per_tick`, the number of core cycles in a TSC cycle. No slope is fitted in a block in
    which a variant has fewer than two different loop counts."""
    top_by, bottom_by = cycles_per_tick.denominator, cycles_per_tick.numerator
    found: dict[str, list[Slope]] = defaultdict(list)
    for place in sorted(points):
        variant, block, layout, process = place
        top, bottom = fit_line(points[place])
        if bottom:
            found[variant].append(Slope(block, layout, top * top_by, bottom * bottom_by, process))
    return dict(found)


def fit_slopes_of_samples(
    samples: Iterable[Sample], value_of: Callable[[Sample], int] = attrgetter("value")
) -> dict[str, list[Slope]]:
    """Return the slopes of each variant of one benchmark, in the order of the blocks. The slopes
    are fitted to the values that `value_of` returns for the samples."""
    return fit_slopes(group_unflagged_windows(samples, value_of))


def find_baseline_variant(variants: Iterable[str]) -> str | None:
    """Return the baseline: the variant that has an A/A clone (a second copy of its code). Return
    None if no variant has a clone."""
    names = set(variants)
    return min((name for name in names if name + CLONE_SUFFIX in names), default=None)


def subtract_baseline(variant: Sequence[Slope], baseline: Sequence[Slope]) -> list[Slope]:
    """Return the cost of the variant minus the cost of the baseline in every block that has both
    costs."""
    reference = {(slope.block, slope.layout): slope for slope in baseline}
    deltas = []
    for block, layout, top, bottom, process in variant:
        if (base := reference.get((block, layout))) is None:
            continue
        if bottom == base.bottom:
            deltas.append(Slope(block, layout, top - base.top, bottom, process))
        else:
            both = top * base.bottom - base.top * bottom
            deltas.append(Slope(block, layout, both, bottom * base.bottom, process))
    return deltas
