# SPDX-License-Identifier: GPL-2.0-only
"""Tests whether the windows (timed loops) of a variant lie on a straight line over their loop
counts.

The slope is the cost of an operation only if the windows lie on a line. In each block with three
windows, the bend is the slope over the two larger loop counts minus the slope over the two smaller
loop counts. If a variant has a baseline, the bend of the baseline in the same block is subtracted:
a change of the core's frequency bends the variant and the baseline alike, so that the difference of
their costs stays on a line. location.py estimates the location of the bends of all blocks. The
windows are not on a line if the whole interval of this location lies beyond two limits: the
equivalence margin, and LARGEST_BEND_SHARE of the cost.

The slope over all three loop counts lies between the slopes over the two halves. So the interval of
a difference that is not on a line is widened by the bend, and then contains the differences in
short and in long windows. Exact counts that are not on a line get a note.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from kmtools.analyse import location
from kmtools.analyse.slopes import ONE, Points, Slope

# A bend is a deviation of the time of a window from a straight line over the loop count. The
# largest permitted bend is this share of the cost of an operation, or the equivalence margin if the
# margin is larger.
LARGEST_BEND_SHARE = 0.01
# The first words of the note on a variant for which the time of a window is not linear in the loop
# count.
NOT_ON_A_LINE = "not on a line"


def compute_bends_by_variant(
    points: Points, cycles_per_tick: Fraction = ONE
) -> dict[str, list[Slope]]:
    """Return the bends of every variant of one benchmark, ordered by block. A bend is the slope
    over the two larger loop counts minus the slope over the two smaller loop counts, divided by
    `cycles_per_tick`, the number of core cycles in a TSC cycle."""
    found: dict[str, list[Slope]] = defaultdict(list)
    for place in sorted(place for place, windows in points.items() if len(windows) == 3):
        variant, block, layout, process = place
        (x, x_value), (y, y_value), (z, z_value) = sorted(points[place])
        below, above = y - x, z - y
        if below and above:
            top = (z_value - y_value) * below - (y_value - x_value) * above
            top, bottom = (
                top * cycles_per_tick.denominator,
                below * above * cycles_per_tick.numerator,
            )
            found[variant].append(Slope(block, layout, top, bottom, process))
    return dict(found)


def find_significant_bend(
    bends: Sequence[Slope], cost: float, margin: float, resolution: float, alpha: float
) -> float | None:
    """Return how much more an operation costs in long windows than in short windows, estimated from
    the bends of all blocks; None unless the whole interval of this bend lies beyond the largest
    permitted bend. `cost` is the cost of an operation, `margin` the equivalence margin,
    `resolution` one step of the clock as a cost per operation, `alpha` the error probability."""
    if not bends:
        return None
    # A bend is the slope over the upper half of the loop counts minus the slope over the lower
    # half. Over half the range, one step of the clock changes a slope twice as much.
    found = location.estimate_series_location(bends, 2 * resolution, alpha)
    most = max(margin, LARGEST_BEND_SHARE * abs(cost))
    beyond = found.interval.lo > most or found.interval.hi < -most
    return found.value if beyond else None


def find_largest_exact_bend(bends: Sequence[Slope]) -> float | None:
    """Return the largest bend of exact counts; None if all bends are zero."""
    worst = max(bends, key=lambda bend: abs(bend.value), default=None)
    return float(worst.value) if worst is not None and worst.top else None


def describe_bend(bend: float, is_difference: bool) -> str:
    """Return the note on a variant for which the time of a window is not linear in the loop count.
    `bend` is how much more an operation costs in long windows than in short windows. If
    `is_difference` is true, `bend` is how much larger the difference from the baseline is in long
    windows."""
    if is_difference:
        said = f"from short to long windows, the difference changes by {bend:+.3g}"
        return f"{NOT_ON_A_LINE}: {said}, and the interval contains both differences"
    return f"{NOT_ON_A_LINE}: from short to long windows, the cost changes by {bend:+.3g}"
