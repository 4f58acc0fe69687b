# SPDX-License-Identifier: GPL-2.0-only
"""Draws curves on two logarithmic axes. The name of each curve is at the end of the curve, or below
the axes in a narrow figure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from kmtools.base.text import replace_chars_forbidden_in_html, use_minus_signs
from kmtools.report.figures import look
from kmtools.report.figures.charts import Chart, Curve
from kmtools.report.figures.scales import Scale, format_tick, make_log_scale

# The height of the axes, the distance between the names of two curves, and the radius of a point,
# in units of font.size / 13.
HEIGHT, APART, POINT_RADIUS = 210.0, 15.0, 3.5
# The space to the left of the axes, above and below them, and for a line of the legend, in units of
# font.size / 13.
LEFT, ABOVE, BELOW, LEGEND = 48.0, 22.0, 42.0, 20.0


def spread_label_positions(positions: Sequence[float], low: float, high: float) -> list[float]:
    """Return the positions of labels: each close to the wanted position in `positions`, between
    `low` and `high`, and at least APART from the position of the next label."""
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    found, last = [0.0] * len(positions), low - APART
    for index in order:
        last = found[index] = max(positions[index], last + APART)
    limit = high
    for index in reversed(order):
        found[index] = min(found[index], limit)
        limit = found[index] - APART
    return found


def measure_curve_names_width(chart: Chart) -> float:
    """Return the width of the curves' names to the right of the axes."""
    return max(look.estimate_text_width(curve.name) for curve in chart.curves) + 14


def compute_chart_height(chart: Chart, narrow: bool) -> float:
    """Return the height of a chart with its labels and its legend, in units of font.size / 13."""
    return ABOVE + HEIGHT + BELOW + (LEGEND * len(chart.curves) if narrow else 0.0)


def make_axis_scales(chart: Chart) -> tuple[Scale, Scale]:
    """Return the scale of the horizontal axis and the scale of the vertical axis of a chart."""
    points = [point for curve in chart.curves for point in curve.points]
    return (
        make_log_scale([point[0] for point in points]),
        make_log_scale([end for point in points for end in point[1:]]),
    )


def set_chart_axes_frame(axes: Axes, chart: Chart, narrow: bool) -> None:
    """Set the range of both axes, and draw ticks with labels and grid lines."""
    x_scale, y_scale = make_axis_scales(chart)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(x_scale.low, x_scale.high)
    axes.set_ylim(y_scale.low, y_scale.high)
    for side in ("left", "top", "right"):
        axes.spines[side].set_visible(False)
    figure, unit = axes.get_figure(), look.get_points_per_unit()
    assert isinstance(figure, Figure)
    wide = axes.get_position().width * look.get_figure_width(figure)
    ticks, labels, end = x_scale.choose_ticks(4 if narrow else 6), [], -math.inf
    for tick in ticks:
        x = wide * math.log(tick / x_scale.low) / math.log(x_scale.high / x_scale.low)
        half = look.estimate_label_width(format_tick(tick)) / 2
        labels.append(format_tick(tick) if x - half > end + 6 else "")
        end = x + half if labels[-1] else end
    axes.set_xticks(ticks, labels)
    levels = y_scale.choose_ticks(6)
    axes.set_yticks(levels, [format_tick(level) for level in levels])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.grid(True, color=look.get_colour("noise"), lw=unit, ls="-", clip_on=False, zorder=1.0)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, pad=5 * unit, labelsize=look.SMALL * unit)
    axes.spines["bottom"].set_linewidth(unit)


def draw_curve(axes: Axes, curve: Curve) -> None:
    """Draw the points of a curve, their intervals and the line through the points."""
    xs = [point[0] for point in curve.points]
    look.draw_line(axes, xs, [point[1] for point in curve.points], curve.look, 1.8, 3.0)
    for x, middle, low, high in curve.points:
        look.draw_line(axes, [x, x], [low, high], curve.look, 1.2, 3.2)
        look.draw_mark(axes, x, middle, look.MARKS[curve.look], curve.look, POINT_RADIUS)


def draw_curve_names(axes: Axes, chart: Chart) -> None:
    """Draw the name of each curve to the right of its last point. A dotted line joins a name that
    is not next to that point."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    box, unit = axes.get_position(), look.get_points_per_unit()
    wide = box.width * look.get_figure_width(figure)
    tall = box.height * figure.get_figheight() * 72 / unit
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = [to_axes.transform(curve.points[-1][:2]) for curve in chart.curves]
    at = spread_label_positions([tall * (1 - float(y)) for _, y in ends], 0.0, tall)
    for curve, (x, y), down in zip(chart.curves, ends, at, strict=True):
        if abs(down - tall * (1 - y)) > 3 or (1 - x) * wide > 20:
            axes.plot(
                [x + 5 / wide, 1 + 6 / wide], [y, 1 - down / tall], transform=axes.transAxes,
                color=look.get_colour(curve.look), lw=unit, ls=look.DOTS, clip_on=False, zorder=2.5,
            )  # fmt: skip
        where = axes.transAxes
        label = axes.text(
            1 + 9 / wide,
            1 - (down + 4) / tall,
            use_minus_signs(replace_chars_forbidden_in_html(curve.name)),
        )
        label.set(
            transform=where, color=look.get_colour(curve.look), parse_math=False, va="baseline"
        )
        label.set(fontsize=look.SMALL * unit, clip_on=False)


def draw_legend(axes: Axes, chart: Chart, height: float) -> None:
    """Draw the name and the shape of each curve below the axes, which are `height` units high."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    wide, left = axes.get_position().width * look.get_figure_width(figure), LEFT
    for number, curve in enumerate(chart.curves):
        y = 1 - (height + BELOW + LEGEND * number + 6) / height
        shape, own = look.MARKS[curve.look], look.get_colour(curve.look)
        ring = shape == "ring"
        axes.plot(
            [(8 - left) / wide], [y], marker="o" if ring else shape, transform=axes.transAxes,
            ls="", markersize=2 * POINT_RADIUS * look.get_points_per_unit(), color=own,
            clip_on=False,
            markerfacecolor=look.get_colour("paper") if ring else own,
            markeredgewidth=1.8 * look.get_points_per_unit() if ring else 0.0,
        )  # fmt: skip
        label = axes.text(
            (20 - left) / wide,
            y - 4 / height,
            use_minus_signs(replace_chars_forbidden_in_html(curve.name)),
        )
        label.set(transform=axes.transAxes, color=own, parse_math=False, va="baseline")
        label.set(fontsize=look.SMALL * look.get_points_per_unit(), clip_on=False)


def draw_chart(axes: Axes, chart: Chart) -> None:
    """Draw the curves of a chart. The names of the curves are to the right of the axes, or below
    the axes if the figure is narrower than 500 units. The unit of the vertical axis is above that
    axis."""
    figure, unit = axes.get_figure(), look.get_points_per_unit()
    assert isinstance(figure, Figure)
    narrow, box = look.is_narrow(figure), axes.get_position()
    tall = box.height * figure.get_figheight() * 72 / unit
    set_chart_axes_frame(axes, chart, narrow)
    for curve in chart.curves:
        draw_curve(axes, curve)
    wide = box.width * look.get_figure_width(figure)
    for x, y, words in ((-LEFT / wide, 1 + 10 / tall, chart.y_unit), (0, -34 / tall, chart.x_unit)):
        label = axes.text(x, y, words, transform=axes.transAxes, color=look.get_colour("soft"))
        label.set(fontsize=look.SMALL * unit, va="baseline", parse_math=False, clip_on=False)
    if narrow:
        draw_legend(axes, chart, tall)
    else:
        draw_curve_names(axes, chart)
