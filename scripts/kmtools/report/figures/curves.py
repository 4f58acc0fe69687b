# SPDX-License-Identifier: GPL-2.0-only
"""Curves on two logarithmic axes, each with its name at its end: switching many sites."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kmtools.analyse.switching import SCALING, WORDS, Point
from kmtools.measure.samples import GAP
from kmtools.report.figures.axis import Axis, plain, positive
from kmtools.report.figures.svg import SIZE, SMALL, Drawing, shortened, width_of, width_of_label

HEIGHT, APART = 210.0, 15.0
MARKS = ("disc", "square", "up", "diamond", "ring", "right", "left")
# As many as there are marks; the tables have the others.
DRAWN = tuple(WORDS)[: len(MARKS)]


@dataclass(frozen=True)
class Curve:
    """Points (x, y, low, high) with a name; `look` is the class of its colour."""

    name: str
    look: str
    mark: str
    points: Sequence[tuple[float, float, float, float]]


@dataclass(frozen=True)
class Chart:
    """Curves on common axes."""

    title: str
    x_unit: str
    y_unit: str
    curves: Sequence[Curve]


def apart(places: Sequence[float], low: float, high: float) -> list[float]:
    """Places for labels, near the given ones, inside the limits and not upon each other."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    found, last = [0.0] * len(places), low - APART
    for index in order:
        last = found[index] = max(places[index], last + APART)
    limit = high
    for index in reversed(order):
        found[index] = min(found[index], limit)
        limit = found[index] - APART
    return found


def draw_grid(
    drawing: Drawing, x_axis: Axis, y_axis: Axis, box: tuple[float, float, float, float]
) -> None:
    """Ticks with labels and lines across."""
    left, right, top, bottom = box
    lines, end = [], -math.inf
    for tick in x_axis.ticks(4 if drawing.narrow else 6):
        x, label = left + (right - left) * x_axis.share(tick), plain(tick)
        half = width_of_label(label) / 2
        lines.append((x, top, x, bottom))
        if x - half > end + 6:
            drawing.text(x, bottom + 16, label, "soft", "middle", SMALL)
            end = x + half
    for tick in y_axis.ticks(6):
        y = bottom - (bottom - top) * y_axis.share(tick)
        lines.append((left, y, right, y))
        drawing.text(left - 6, y + 4, plain(tick), "soft", "end", SMALL)
    drawing.segments(lines, "noise")
    drawing.line(left, bottom, right, bottom, "axis")


def draw_chart(drawing: Drawing, chart: Chart, y: float, titled: bool) -> float:
    """One chart; returns the place below it."""
    if titled:
        drawing.text(0, y + 14, shortened(chart.title, drawing.width), "strong")
        y += 24
    drawing.text(0, y + 12, chart.y_unit, "soft", size=SMALL)
    room = max(width_of(curve.name, SMALL) for curve in chart.curves) + 14
    names = not drawing.narrow
    box = (48.0, drawing.width - (room if names else 12.0), y + 22, y + 22 + HEIGHT)
    left, right, top, bottom = box
    x_axis = positive([point[0] for curve in chart.curves for point in curve.points])
    y_axis = positive(
        [end for curve in chart.curves for point in curve.points for end in point[1:]]
    )
    draw_grid(drawing, x_axis, y_axis, box)
    ends = []
    for curve in chart.curves:
        places = [
            [left + (right - left) * x_axis.share(point[0])]
            + [bottom - (bottom - top) * y_axis.share(end) for end in point[1:]]
            for point in curve.points
        ]
        drawing.path([(x, middle) for x, middle, _, _ in places], curve.look)
        for x, middle, low, high in places:
            drawing.line(x, high, x, low, curve.look)
            drawing.mark(x, middle, curve.mark, curve.look, 3.5)
        ends.append((places[-1][0], places[-1][1]))
    y = bottom + 34
    drawing.text(left, y, chart.x_unit, "soft", size=SMALL)
    if names:
        at = apart([end for _, end in ends], top, bottom)
        for curve, (x, middle), label in zip(chart.curves, ends, at, strict=True):
            if abs(label - middle) > 3 or x < right - 20:
                drawing.line(x + 5, middle, right + 6, label, f"{curve.look} dots")
            drawing.text(right + 9, label + 4, curve.name, curve.look, size=SMALL)
        return y + 8
    for curve in chart.curves:
        y += 20
        drawing.mark(8, y - 4, curve.mark, curve.look, 3.5)
        drawing.text(20, y, curve.name, curve.look, size=SMALL)
    return y + 8


def draw(charts: Sequence[Chart], width: int, titled: bool = True) -> Drawing:
    """Charts below each other."""
    drawing, y = Drawing(width), 0.0
    for chart in charts:
        y = draw_chart(drawing, chart, y, titled) + SIZE
    return drawing


def curve_of(points: Sequence[Point], way: str) -> Curve | None:
    """The medians of a method with their intervals."""
    own = sorted((p for p in points if p.way == way), key=lambda p: p.sites)
    if not own:
        return None
    index = DRAWN.index(way)
    places = []
    for point in own:
        middle = max(point.median, 1.0)
        known = math.isfinite(point.ci.lo) and math.isfinite(point.ci.hi)
        ends = (max(point.ci.lo, 1.0), max(point.ci.hi, 1.0)) if known else (middle, middle)
        places.append((float(point.sites), middle, *ends))
    return Curve(WORDS[way], f"s{index % 7}", MARKS[index], places)


def switching(points: Sequence[Point]) -> list[Chart]:
    """The time of a switch and the longest gap of another CPU, over the number of sites."""
    scaling = [p for p in points if p.benchmark == SCALING]
    charts = []
    for title, own in (
        ("Time of one switch", [p for p in scaling if p.is_time]),
        ("Longest gap meanwhile of a CPU that executes no site",
         [p for p in scaling if p.measured == GAP]),
    ):  # fmt: skip
        curves = [curve for way in DRAWN if (curve := curve_of(own, way))]
        if curves:
            charts.append(Chart(title, "sites", own[0].unit, curves))
    return charts
