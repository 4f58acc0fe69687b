# SPDX-License-Identifier: GPL-2.0-only
"""Draws costs as rows: a name, a point with its interval on a shared axis, and the number as text.

In a wide figure the name is to the left of the axis and the number to its right. In a narrow figure
both are above the row, whose axis then has the full width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
from matplotlib.ticker import NullLocator

from kmtools.base.text import use_minus_signs
from kmtools.report.figures import look
from kmtools.report.figures.rows import Pair, Panel, Row
from kmtools.report.figures.scales import format_tick

# Heights of a row, of a row with a distribution, and of a label above a row, in units of font.size
# / 13.
ROW, TALL, LABEL = 24.0, 40.0, 18.0
# Height of the peak of a distribution, in units of font.size / 13.
PEAK = 30.0
# Distance from an axis to the text next to it, and from the lowest row to the unit of the axis, in
# units of font.size / 13.
BESIDE, UNITS = 10.0, 23.0
# (minimum, maximum) width of the names and of the numbers beside an axis, and minimum width of the
# axis, in units of font.size / 13.
NAMES, WORDS, LEAST = (60.0, 290.0), (60.0, 240.0), 150.0
# Radius of a point, in units of font.size / 13.
POINT_RADIUS = 4.5


@dataclass(frozen=True)
class RowPositions:
    """The vertical positions in a row, measured downwards from the top of the figure's axes: the
    baselines of the name, of the number (`words`) and of the first line of the caveat; the top of
    the row's axis, the point (`base`), and the bottom of the row's axis. `lines` are the lines of
    the caveat."""

    name: float
    words: float
    caveat: float
    top: float
    base: float
    bottom: float
    lines: tuple[str, ...]


def compute_row_positions(
    panel: Panel, labels_above: bool, room: float, show_names: bool = True
) -> list[RowPositions]:
    """Return the positions of all rows. With `labels_above`, labels are above the axis. Labels and
    caveats have the width `room`: the full width with `labels_above`, else the width of the names.
    If `show_names` is false, a row without a caveat reserves the space that its text `blank` would
    need."""
    found, y = [], 0.0
    for row in panel.rows:
        caveat = row.caveat if show_names else row.caveat or row.blank
        lines = tuple(look.wrap_text(caveat, room)) if caveat else ()
        more, rise = look.LINE * len(lines), 12.0 if row.density else 0.0
        if labels_above:
            both = (
                look.estimate_text_width(row.name, look.SIZE)
                + look.estimate_text_width(row.words)
                + 8
            )
            words = y + LABEL * (1 if both <= room else 2)
            top = words + more
            bottom = top + (TALL if row.density else 22.0)
            base = (top + bottom) / 2 + rise
            found.append(RowPositions(y + 13, words - 5, words + 11, top, base, bottom, lines))
        else:
            bare = TALL if row.density else ROW
            base, bottom = y + bare / 2 + rise, y + bare + more
            line = base + 4.5
            found.append(RowPositions(line, line, line + look.LINE, y, base, bottom, lines))
        y = found[-1].bottom
    return found


def wrap_axis_unit(panel: Panel, room: float) -> list[str]:
    """Return the unit of an axis as lines, with the value beyond which the axis is logarithmic."""
    words = panel.unit
    if panel.axis.linear:
        words += f"; logarithmic beyond ±{format_tick(float(f'{panel.axis.linear:.2g}'))}"
    return look.wrap_text(words, room)


def measure_panel(
    panel: Panel, labels_above: bool, room: float, unit_room: float
) -> tuple[float, float]:
    """Return the height of the rows of a panel, and the height of the ticks and the unit below the
    rows, in units of font.size / 13. For `labels_above` and `room`, see compute_row_positions().
    `unit_room` is the width for the unit."""
    rows = compute_row_positions(panel, labels_above, room)
    below = UNITS + look.LINE * len(wrap_axis_unit(panel, unit_room))
    return rows[-1].bottom if rows else 0.0, below


def measure_margins(panels: Sequence[Panel], width: float) -> tuple[float, float]:
    """Return the widths of the names on the left and of the numbers on the right of a wide
    figure."""
    names = [look.estimate_text_width(row.name) + 12 for panel in panels for row in panel.rows]
    words = [look.estimate_text_width(row.words) + 12 for panel in panels for row in panel.rows]
    # Caveats are wrapped in the column of the names, so make this column at least 200 units wide.
    names += [200.0 for panel in panels for row in panel.rows if row.caveat or row.blank]
    right = min(max(WORDS[0], *words, 0.0), WORDS[1])
    left = min(max(NAMES[0], *names, 0.0), NAMES[1], width - right - LEAST)
    return left, right


def measure_label_width(axes: Axes) -> float:
    """Return the width for the names to the left of axes, or for all labels in a narrow figure."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    box, width = axes.get_position(), look.get_figure_width(figure)
    if look.is_narrow(figure):
        return width - 2 * measure_label_inset(axes)
    left = float(box.x0) * width - 12
    return left if left >= NAMES[0] else NAMES[1] - 12


def set_cost_axes_frame(axes: Axes, panel: Panel, bottom: float) -> None:
    """Set the range of both axes, and hide all lines of the frame except the lower one."""
    axes.set_ylim(bottom, 0)
    axes.yaxis.set_major_locator(NullLocator())
    for side in ("left", "top", "right"):
        axes.spines[side].set_visible(False)
    if panel.axis.linear:
        # linscale=0.9: draw the linear part, from zero to linthresh, about as long as a decade.
        axes.set_xscale("symlog", linthresh=panel.axis.linear, linscale=0.9)
    axes.set_xlim(panel.axis.low, panel.axis.high)


def draw_ticks(axes: Axes, panel: Panel, room: float) -> None:
    """Draw ticks, and below them the unit, wrapped to the width `room`. Labels that are too close
    to another label or beyond the figure's edge are omitted."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    whole, box = look.get_figure_width(figure), axes.get_position()
    left, wide = box.x0 * whole, (box.x1 - box.x0) * whole
    ticks = panel.axis.choose_ticks(5 if wide < 350 else 7)
    to_axes = axes.transData + axes.transAxes.inverted()
    labels, end = [], -math.inf
    for tick in ticks:
        text = use_minus_signs(format_tick(tick))
        x, half = (
            float(to_axes.transform((tick, 0.0))[0]) * wide,
            look.estimate_label_width(text) / 2,
        )
        fits = x - half > end + 6 and left + x - half >= 0 and left + x + half <= whole
        labels.append(text if fits else "")
        end = x + half if fits else end
    axes.set_xticks(ticks, labels)
    axes.xaxis.set_minor_locator(NullLocator())
    unit = look.get_points_per_unit()
    size = look.SMALL * unit
    axes.tick_params(axis="x", length=4 * unit, width=unit, pad=3 * unit, labelsize=size)
    axes.spines["bottom"].set_linewidth(unit)
    axes.spines["bottom"].set_clip_on(False)
    for number, line in enumerate(wrap_axis_unit(panel, room)):
        down = UNITS + 11 + look.LINE * number
        bottom = axes.get_ylim()[0]
        look.write_text(axes, look.make_offset_transform(axes, 0, down), bottom, line, look="soft")


def merge_row_spans(rows: Sequence[RowPositions]) -> list[tuple[float, float]]:
    """Return the vertical ranges of the rows' axes, and merge ranges that touch."""
    found: list[tuple[float, float]] = []
    for one in rows:
        top = one.top
        if found and found[-1][1] == top:
            top = found.pop()[0]
        found.append((top, one.bottom))
    return found


def draw_row_background(axes: Axes, panel: Panel, rows: Sequence[RowPositions]) -> None:
    """Draw the background of the rows: the shaded noise, the zero line, and the dotted margin."""
    axis = panel.axis
    for top, bottom in merge_row_spans(rows):
        if panel.noise is not None and not math.isnan(panel.noise):
            low, high = axis.clamp_to_axis(-panel.noise), axis.clamp_to_axis(panel.noise)
            box = Rectangle((low, top), high - low, bottom - top, lw=0)
            box.set(facecolor=look.get_colour("noise"), zorder=1.0, clip_on=False)
            axes.add_patch(box)
        look.draw_line(axes, [0, 0], [top, bottom], "soft", layer=1.2)
        margin = panel.margin or 0.0
        for x in (-margin, margin):
            if margin and axis.low < x < axis.high:
                look.draw_line(axes, [x, x], [top, bottom], "ink", layer=1.4, dots=True)


def draw_row(axes: Axes, panel: Panel, row: Row, positions: RowPositions) -> None:
    """Draw the point of a row, its interval, the interval `inner` (thicker), and the distribution
    of its values. An infinite end of an interval is drawn at the end of the axis."""
    axis, base, own = panel.axis, positions.base, look.get_colour(row.look)
    if row.density:
        outline = [(axis.clamp_to_axis(x), base - PEAK * share) for x, share in row.density]
        outline = [(outline[0][0], base), *outline, (outline[-1][0], base)]
        shape = Polygon(outline, closed=True, lw=0, facecolor=own, alpha=0.4)
        axes.add_patch(shape).set(zorder=2.0, clip_on=False)
    if row.bar:
        end = axis.clamp_to_axis(row.value)
        box = Rectangle((min(0.0, end), base - 5), abs(end), 10, lw=0, facecolor=own, alpha=0.4)
        axes.add_patch(box).set(zorder=2.0, clip_on=False)
    for ends, thick, layer in (((row.lo, row.hi), 1.6, 3.0), (row.inner, 4.0, 3.2)):
        if ends is not None and not any(map(math.isnan, ends)):
            xs = [axis.clamp_to_axis(end) for end in ends]
            look.draw_line(axes, xs, [base, base], row.look, thick, layer)
    if not row.bar and math.isfinite(row.value):
        shape_of = look.SHAPES.get(row.look, "s")
        size = {"s": 4.05, "D": 3.9}.get(shape_of, POINT_RADIUS)
        look.draw_mark(axes, axis.clamp_to_axis(row.value), base, shape_of, row.look, size)
    if row.odd is not None:
        look.draw_mark(axes, axis.clamp_to_axis(row.odd), base, "x", "ink", 4.0, 5.0)


def draw_row_labels(
    axes: Axes, row: Row, positions: RowPositions, labels_above: bool, room: float, show_names: bool
) -> None:
    """Draw the name, the number and the caveat of a row."""
    if labels_above:
        edge = look.make_offset_transform(axes, -measure_label_inset(axes), 0)
        other = look.make_offset_transform(axes, measure_label_inset(axes), 0)
        name = look.shorten_to_width(row.name, room, look.SIZE)
        look.write_text(axes, edge, positions.name, name, size=look.SIZE)
        look.write_text(axes, other, positions.words, row.words, x=1, look=row.look, end="right")
        at, end = edge, "left"
    else:
        at, end = look.make_offset_transform(axes, -BESIDE, 0), "right"
        if row.name and show_names:
            look.write_text(
                axes, at, positions.name, look.shorten_to_width(row.name, room), end=end
            )
        words = look.make_offset_transform(axes, BESIDE, 0)
        look.write_text(axes, words, positions.words, row.words, x=1, look=row.look)
    for number, line in enumerate(positions.lines if row.caveat and show_names else ()):
        look.write_text(axes, at, positions.caveat + look.LINE * number, line, look="soft", end=end)


def measure_label_inset(axes: Axes) -> float:
    """Return the distance from the left end of a narrow figure's axis to the start of its
    labels."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    return min(float(axes.get_position().x0) * look.get_figure_width(figure), 12.0)


def draw_costs(
    axes: Axes, panel: Panel, show_names: bool = True, unit_room: float | None = None
) -> None:
    """Draw the rows of a panel from top to bottom: costs with intervals, or exact counts as bars.
    Names and numbers are outside the axes: on both sides, or above each row if the figure is
    narrower than 500 units. If `show_names` is false, the names are omitted. `unit_room` is the
    width for the unit below the axis, by default up to the right edge of the figure."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    labels_above, room = look.is_narrow(figure), measure_label_width(axes)
    rows = compute_row_positions(panel, labels_above, room, show_names)
    set_cost_axes_frame(axes, panel, rows[-1].bottom if rows else 1.0)
    draw_row_background(axes, panel, rows)
    for row, place in zip(panel.rows, rows, strict=True):
        draw_row(axes, panel, row, place)
        draw_row_labels(axes, row, place, labels_above, room, show_names)
    whole = look.get_figure_width(figure)
    draw_ticks(axes, panel, unit_room or whole - axes.get_position().x0 * whole)


def compute_panel_pair_positions(
    pair: Pair, width: float
) -> tuple[list[tuple[float, float, float]], float]:
    """Return a list with the left end, the right end and the width for the unit of each of the two
    axes of a Pair in a wide figure; and the width for the names."""
    names = measure_margins([pair.then], width)[0]
    words = [
        min(max(60.0, *(look.estimate_text_width(row.words) + 22 for row in one.rows)), 150.0)
        for one in (pair.then, pair.now)
    ]
    names = min(names, width - sum(words) - 2 * 90.0)
    each = (width - names - sum(words)) / 2
    second = names + each + words[0]
    return [
        (names, names + each, each + words[0] - 16),
        (second, second + each, width - second),
    ], names - 12


def measure_panel_pair(pair: Pair, width: float) -> tuple[float, float]:
    """Return the height of the rows of a Pair in a wide figure, and the height of the ticks and
    units below the rows."""
    boxes, room = compute_panel_pair_positions(pair, width)
    sizes = [
        measure_panel(one, False, room, unit_room)
        for one, (*_, unit_room) in zip((pair.then, pair.now), boxes, strict=True)
    ]
    return sizes[0][0], max(below for _, below in sizes)


def draw_panel_pair(figure: Figure, pair: Pair, top: float = 0.0) -> None:
    """Draw published costs and the costs of this run side by side, `top` units below the upper end
    of a figure. The figure must be at least 500 units wide, and high enough for all rows."""
    width, whole = (
        look.get_figure_width(figure),
        figure.get_figheight() * 72 / look.get_points_per_unit(),
    )
    tall = measure_panel_pair(pair, width)[0]
    boxes, _ = compute_panel_pair_positions(pair, width)
    both = zip((pair.then, pair.now), boxes, (True, False), strict=True)
    for panel, (left, right, unit_room), show_names in both:
        box = (left / width, 1 - (top + 24 + tall) / whole, (right - left) / width, tall / whole)
        axes = figure.add_axes(box)
        draw_costs(axes, panel, show_names, unit_room)
        title = look.make_offset_transform(axes, 0, -10)
        look.write_text(axes, title, 0, panel.title, size=look.SIZE, strong=True)
