# SPDX-License-Identifier: GPL-2.0-only
"""The figure of switching many sites: time and stall over the number of sites, log-log."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from kmtools.analyse.switching import SCALING, WORDS, Point
from kmtools.measure.samples import GAP
from kmtools.report.figures.style import MUTED, PALETTE, Drawn, Picture, legend_above, panels

MARKERS = "os^vDP*"
HEIGHT = 2.9


def _draw(axes: Axes, points: Sequence[Point], way: str) -> bool:
    index = list(WORDS).index(way)
    own = sorted((p for p in points if p.way == way), key=lambda p: p.sites)
    if not own:
        return False
    sites, medians = [p.sites for p in own], [max(p.median, 1) for p in own]
    colour = PALETTE[index % len(PALETTE)]
    axes.plot(sites, medians, marker=MARKERS[index], color=colour, markersize=4, label=WORDS[way])
    bounded = [p for p in own if np.isfinite(p.ci.lo)]
    axes.vlines(
        [p.sites for p in bounded],
        [max(p.ci.lo, 1) for p in bounded],
        [p.ci.hi for p in bounded],
        color=colour,
        linewidth=1,
    )
    return True


def _panel(axes: Axes, points: Sequence[Point], title: str) -> list[str]:
    drawn = [way for way in WORDS if _draw(axes, points, way)]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.grid(color=MUTED, alpha=0.25, linewidth=0.6)
    axes.set_title(title)
    axes.set_xlabel("sites")
    axes.set_ylabel(points[0].unit)
    return drawn


def switching(points: Sequence[Point], name: str) -> Drawn:
    """The time and the longest gap, a line for each method; None without data."""
    scaling = [p for p in points if p.benchmark == SCALING]
    times = [p for p in scaling if p.is_time]
    stalls = [p for p in scaling if p.measured == GAP]
    if not times or not stalls:
        return None
    figure, grid = panels([HEIGHT, HEIGHT])
    drawn = _panel(grid[0][0], times, "time of one switch")
    _panel(grid[1][0], stalls, "longest gap meanwhile of a CPU that executes no site")
    legend_above(figure, grid[0][0].get_legend_handles_labels()[0], 3)
    last = {way: max((p for p in times if p.way == way), key=lambda p: p.sites) for way in drawn}
    words = "; ".join(
        f"{WORDS[way]} {p.median:,.0f} for {p.sites:,} sites" for way, p in last.items()
    )
    return figure, Picture(
        name,
        f"Switching many sites, {times[0].tier}",
        "Medians with 95 % intervals, of whole switches: validation, mapping and synchronisation"
        " included. Sites stand side by side and are not executed meanwhile.",
        f"Two log-log panels over the number of sites, in {times[0].unit}. {words}.",
    )
