# SPDX-License-Identifier: GPL-2.0-only
"""The figure of dormant sites in a pass: the cost of one more site of each flavour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from matplotlib.axes import Axes

from kmtools.analyse.density import SiteCost
from kmtools.report.figures.style import (
    BLUE,
    MUTED,
    ROW,
    Drawn,
    Picture,
    finite,
    name_rows,
    note,
    panels,
)
from kmtools.report.table import amount


def reach_of(costs: Sequence[SiteCost]) -> float:
    """Where lines of intervals without an end stop: beyond all finite intervals."""
    known = [value for cost in costs for value in (cost.cost, cost.ci.lo, cost.ci.hi)]
    return 2 * max(abs(value) for value in known if math.isfinite(value)) or 1.0


def _panel(axes: Axes, costs: Sequence[SiteCost]) -> None:
    """One benchmark: a point and an interval for each flavour."""
    reach = reach_of(costs)
    for row, cost in enumerate(costs):
        ends = finite(cost.ci.lo, reach), finite(cost.ci.hi, reach)
        axes.hlines(row, *ends, color=BLUE, linewidth=1.2)
        axes.plot(cost.cost, row, "o", color=BLUE, markersize=4)
        note(axes, row, amount(cost.cost, True))
    axes.axvline(0, color=MUTED, linewidth=0.8)
    axes.set_title(costs[0].benchmark)
    axes.set_xlabel(f"{costs[0].unit} for one more site")
    name_rows(axes, [cost.flavour for cost in costs])


def densities(costs: Sequence[SiteCost], name: str) -> Drawn:
    """A panel for each benchmark; None without data."""
    groups = [list(group) for _, group in groupby(costs, lambda c: c.benchmark)]
    if not groups:
        return None
    figure, grid = panels([ROW * len(group) for group in groups])
    for axes, group in zip(grid, groups, strict=True):
        _panel(axes[0], group)
    words = "; ".join(
        f"{group[0].benchmark}: "
        + ", ".join(f"{cost.flavour} {amount(cost.cost, True)}" for cost in group)
        for group in groups
    )
    return figure, Picture(
        name,
        f"One more dormant site, {costs[0].tier}",
        "The slope of a pass over the number of dormant sites in it, with its 95 % interval. The"
        " flavour none of density-* has no sites under the same names: its slope is noise.",
        f"A panel for each benchmark, in {costs[0].unit} for one more site. {words}.",
    )
