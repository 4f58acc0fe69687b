# SPDX-License-Identifier: GPL-2.0-only
"""Defines the data of charts with curves, and makes the charts of switching many sites."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kmtools.analyse.switching import METHOD_NAMES, SCALING, SwitchPoint
from kmtools.measure.samples import GAP

# Maximum number of curves in a chart: the number of distinct colours and shapes. Methods without a
# curve are only in the tables.
MOST_CURVES = 7
DRAWN_METHODS = tuple(METHOD_NAMES)[:MOST_CURVES]


@dataclass(frozen=True)
class Curve:
    """A named curve of points (x, y, low, high), where `low` and `high` are the interval of y;
    `look` is the number of the curve's colour and shape."""

    name: str
    look: int
    points: Sequence[tuple[float, float, float, float]]


@dataclass(frozen=True)
class Chart:
    """Curves on shared logarithmic axes."""

    title: str
    x_unit: str
    y_unit: str
    curves: Sequence[Curve]


def make_switching_curve(points: Sequence[SwitchPoint], method: str) -> Curve | None:
    """Return the curve of a method: medians with their intervals over the number of sites."""
    own = sorted((p for p in points if p.method == method), key=lambda p: p.sites)
    if not own:
        return None
    places = []
    for point in own:
        middle = max(point.median, 1.0)
        known = math.isfinite(point.ci.lo) and math.isfinite(point.ci.hi)
        ends = (max(point.ci.lo, 1.0), max(point.ci.hi, 1.0)) if known else (middle, middle)
        places.append((float(point.sites), middle, *ends))
    return Curve(METHOD_NAMES[method], DRAWN_METHODS.index(method), places)


def make_switching_charts(points: Sequence[SwitchPoint]) -> list[Chart]:
    """Return two charts over the number of sites: the time of a switch, and the longest gap, during
    a switch, in the execution of another CPU."""
    scaling = [p for p in points if p.benchmark == SCALING]
    charts = []
    for title, own in (
        ("Time of one switch", [p for p in scaling if p.is_time]),
        ("Longest gap meanwhile of a CPU that executes no site",
         [p for p in scaling if p.measured == GAP]),
    ):  # fmt: skip
        curves = [curve for way in DRAWN_METHODS if (curve := make_switching_curve(own, way))]
        if curves:
            charts.append(Chart(title, "sites", own[0].unit, curves))
    return charts
