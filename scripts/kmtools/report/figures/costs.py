# SPDX-License-Identifier: GPL-2.0-only
"""Costs as rows: a name, a point with its interval on a common axis, and the number in words.

In a wide figure the name is on the left of the axis and the number on its right. In a narrow one
both stand above the row, whose axis then has the whole width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
from matplotlib.ticker import NullLocator

from kmtools.base.text import minus
from kmtools.report.figures import look
from kmtools.report.figures.rows import Pair, Panel, Row
from kmtools.report.figures.scales import plain

ROW, TALL, LABEL = 24.0, 40.0, 18.0
# Height of a distribution.
PEAK = 30.0
# Space between an axis and the words beside it, and from the lowest row to the unit of the axis.
BESIDE, UNITS = 10.0, 23.0
# Least and largest width of names and of numbers beside an axis, and least width of the axis.
NAMES, WORDS, LEAST = (60.0, 290.0), (60.0, 240.0), 150.0
MARK = 4.5


@dataclass(frozen=True)
class Place:
    """The vertical places of a row, downwards from the top of its axes: the base lines of its name,
    its number and the first line of its caveat; the top of its axis, the line of its point, and the
    bottom of its axis. `lines` are those of the caveat."""

    name: float
    words: float
    caveat: float
    top: float
    base: float
    bottom: float
    lines: tuple[str, ...]


def places(panel: Panel, above: bool, room: float, named: bool = True) -> list[Place]:
    """The places of all rows. `above`: labels are above the axis, which has all of the `room`;
    otherwise `room` is that of the names."""
    found, y = [], 0.0
    for row in panel.rows:
        caveat = row.caveat if named else row.caveat or row.blank
        lines = tuple(look.lines_of(caveat, room)) if caveat else ()
        more, rise = look.LINE * len(lines), 12.0 if row.density else 0.0
        if above:
            both = look.width_of(row.name, look.SIZE) + look.width_of(row.words) + 8
            words = y + LABEL * (1 if both <= room else 2)
            top = words + more
            bottom = top + (TALL if row.density else 22.0)
            base = (top + bottom) / 2 + rise
            found.append(Place(y + 13, words - 5, words + 11, top, base, bottom, lines))
        else:
            bare = TALL if row.density else ROW
            base, bottom = y + bare / 2 + rise, y + bare + more
            line = base + 4.5
            found.append(Place(line, line, line + look.LINE, y, base, bottom, lines))
        y = found[-1].bottom
    return found


def unit_lines(panel: Panel, room: float) -> list[str]:
    """The unit of an axis, and where the axis is bent, in lines."""
    words = panel.unit
    if panel.axis.linear:
        words += f"; logarithmic beyond ±{plain(float(f'{panel.axis.linear:.2g}'))}"
    return look.lines_of(words, room)


def height(panel: Panel, above: bool, room: float, unit_room: float) -> tuple[float, float]:
    """The height of the rows, and that of the axis below them, in units."""
    rows = places(panel, above, room)
    below = UNITS + look.LINE * len(unit_lines(panel, unit_room))
    return rows[-1].bottom if rows else 0.0, below


def margins(panels: Sequence[Panel], width: float) -> tuple[float, float]:
    """The widths of the names on the left and of the numbers on the right of a wide figure."""
    names = [look.width_of(row.name) + 12 for panel in panels for row in panel.rows]
    words = [look.width_of(row.words) + 12 for panel in panels for row in panel.rows]
    # A caveat is wrapped where the names stand, and so needs some room.
    names += [200.0 for panel in panels for row in panel.rows if row.caveat or row.blank]
    right = min(max(WORDS[0], *words, 0.0), WORDS[1])
    left = min(max(NAMES[0], *names, 0.0), NAMES[1], width - right - LEAST)
    return left, right


def room_of(axes: Axes) -> float:
    """The room of names on the left of axes, or that of all labels in a narrow figure."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    box, width = axes.get_position(), look.width(figure)
    if look.is_narrow(figure):
        return width - 2 * edge_of(axes)
    left = float(box.x0) * width - 12
    return left if left >= NAMES[0] else NAMES[1] - 12


def frame(axes: Axes, panel: Panel, bottom: float) -> None:
    """Set the range of both axes, and remove all lines of the frame but the lower one."""
    axes.set_ylim(bottom, 0)
    axes.yaxis.set_major_locator(NullLocator())
    for side in ("left", "top", "right"):
        axes.spines[side].set_visible(False)
    if panel.axis.linear:
        # The linear part from zero is as long as a factor of ten beyond it.
        axes.set_xscale("symlog", linthresh=panel.axis.linear, linscale=0.9)
    axes.set_xlim(panel.axis.low, panel.axis.high)


def draw_ticks(axes: Axes, panel: Panel, room: float) -> None:
    """Draw ticks, leaving out labels too close to another or beyond the figure's edge, and the unit
    below them, in lines that fit the room."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    whole, box = look.width(figure), axes.get_position()
    left, wide = box.x0 * whole, (box.x1 - box.x0) * whole
    ticks = panel.axis.ticks(5 if wide < 350 else 7)
    to_axes = axes.transData + axes.transAxes.inverted()
    labels, end = [], -math.inf
    for tick in ticks:
        text = minus(plain(tick))
        x, half = float(to_axes.transform((tick, 0.0))[0]) * wide, look.width_of_label(text) / 2
        fits = x - half > end + 6 and left + x - half >= 0 and left + x + half <= whole
        labels.append(text if fits else "")
        end = x + half if fits else end
    axes.set_xticks(ticks, labels)
    axes.xaxis.set_minor_locator(NullLocator())
    unit = look.unit()
    size = look.SMALL * unit
    axes.tick_params(axis="x", length=4 * unit, width=unit, pad=3 * unit, labelsize=size)
    axes.spines["bottom"].set_linewidth(unit)
    axes.spines["bottom"].set_clip_on(False)
    for number, line in enumerate(unit_lines(panel, room)):
        down = UNITS + 11 + look.LINE * number
        bottom = axes.get_ylim()[0]
        look.write(axes, look.beside(axes, 0, down), bottom, line, look="soft")


def spans(rows: Sequence[Place]) -> list[tuple[float, float]]:
    """The vertical ranges of the rows' axes; those of rows without words between them are
    joined."""
    found: list[tuple[float, float]] = []
    for one in rows:
        top = one.top
        if found and found[-1][1] == top:
            top = found.pop()[0]
        found.append((top, one.bottom))
    return found


def draw_reference(axes: Axes, panel: Panel, rows: Sequence[Place]) -> None:
    """Draw behind the rows: the shaded noise, zero, and the dotted margin."""
    axis = panel.axis
    for top, bottom in spans(rows):
        if panel.noise is not None and not math.isnan(panel.noise):
            low, high = axis.inside(-panel.noise), axis.inside(panel.noise)
            box = Rectangle((low, top), high - low, bottom - top, lw=0)
            box.set(facecolor=look.colour("noise"), zorder=1.0, clip_on=False)
            axes.add_patch(box)
        look.draw_line(axes, [0, 0], [top, bottom], "soft", layer=1.2)
        margin = panel.margin or 0.0
        for x in (-margin, margin):
            if margin and axis.low < x < axis.high:
                look.draw_line(axes, [x, x], [top, bottom], "ink", layer=1.4, dots=True)


def draw_row(axes: Axes, panel: Panel, row: Row, place: Place) -> None:
    """Draw the point of a row, its interval, the inner interval thicker, and its distribution; an
    infinite end is drawn at the end of the axis."""
    axis, base, own = panel.axis, place.base, look.colour(row.look)
    if row.density:
        outline = [(axis.inside(x), base - PEAK * share) for x, share in row.density]
        outline = [(outline[0][0], base), *outline, (outline[-1][0], base)]
        shape = Polygon(outline, closed=True, lw=0, facecolor=own, alpha=0.4)
        axes.add_patch(shape).set(zorder=2.0, clip_on=False)
    if row.bar:
        end = axis.inside(row.value)
        box = Rectangle((min(0.0, end), base - 5), abs(end), 10, lw=0, facecolor=own, alpha=0.4)
        axes.add_patch(box).set(zorder=2.0, clip_on=False)
    for ends, thick, layer in (((row.lo, row.hi), 1.6, 3.0), (row.inner, 4.0, 3.2)):
        if ends is not None and not any(map(math.isnan, ends)):
            xs = [axis.inside(end) for end in ends]
            look.draw_line(axes, xs, [base, base], row.look, thick, layer)
    if not row.bar and math.isfinite(row.value):
        shape_of = look.SHAPES.get(row.look, "s")
        size = {"s": 4.05, "D": 3.9}.get(shape_of, MARK)
        look.draw_mark(axes, axis.inside(row.value), base, shape_of, row.look, size)
    if row.odd is not None:
        look.draw_mark(axes, axis.inside(row.odd), base, "x", "ink", 4.0, 5.0)


def draw_labels(axes: Axes, row: Row, place: Place, above: bool, room: float, named: bool) -> None:
    """Draw the name, the number and the caveat of a row."""
    if above:
        edge = look.beside(axes, -edge_of(axes), 0)
        other = look.beside(axes, edge_of(axes), 0)
        name = look.shortened(row.name, room, look.SIZE)
        look.write(axes, edge, place.name, name, size=look.SIZE)
        look.write(axes, other, place.words, row.words, x=1, look=row.look, end="right")
        at, end = edge, "left"
    else:
        at, end = look.beside(axes, -BESIDE, 0), "right"
        if row.name and named:
            look.write(axes, at, place.name, look.shortened(row.name, room), end=end)
        words = look.beside(axes, BESIDE, 0)
        look.write(axes, words, place.words, row.words, x=1, look=row.look)
    for number, line in enumerate(place.lines if row.caveat and named else ()):
        look.write(axes, at, place.caveat + look.LINE * number, line, look="soft", end=end)


def edge_of(axes: Axes) -> float:
    """The distance by which a narrow figure's labels begin on the left of its axis."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    return min(float(axes.get_position().x0) * look.width(figure), 12.0)


def draw_costs(
    axes: Axes, panel: Panel, named: bool = True, unit_room: float | None = None
) -> None:
    """Draw the rows of a panel, from the top down: costs with intervals, or exact counts as bars.
    Names and numbers are outside the axes: on both sides, or above each row where the figure is
    narrower than 500 units. `named` false: without names, beside axes that have them. `unit_room`:
    the width for the unit below; by default up to the right edge of the figure."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    above, room = look.is_narrow(figure), room_of(axes)
    rows = places(panel, above, room, named)
    frame(axes, panel, rows[-1].bottom if rows else 1.0)
    draw_reference(axes, panel, rows)
    for row, place in zip(panel.rows, rows, strict=True):
        draw_row(axes, panel, row, place)
        draw_labels(axes, row, place, above, room, named)
    whole = look.width(figure)
    draw_ticks(axes, panel, unit_room or whole - axes.get_position().x0 * whole)


def pair_places(pair: Pair, width: float) -> tuple[list[tuple[float, float, float]], float]:
    """For each of the axes of a wide pair the left end, the right end, and the width for its unit;
    and the width for names."""
    names = margins([pair.then], width)[0]
    words = [
        min(max(60.0, *(look.width_of(row.words) + 22 for row in one.rows)), 150.0)
        for one in (pair.then, pair.now)
    ]
    names = min(names, width - sum(words) - 2 * 90.0)
    each = (width - names - sum(words)) / 2
    second = names + each + words[0]
    return [
        (names, names + each, each + words[0] - 16),
        (second, second + each, width - second),
    ], names - 12


def pair_height(pair: Pair, width: float) -> tuple[float, float]:
    """The height of the rows of a wide pair, and that of the space below them."""
    boxes, room = pair_places(pair, width)
    sizes = [
        height(one, False, room, unit_room)
        for one, (*_, unit_room) in zip((pair.then, pair.now), boxes, strict=True)
    ]
    return sizes[0][0], max(below for _, below in sizes)


def draw_pair(figure: Figure, pair: Pair, top: float = 0.0) -> None:
    """Draw published costs and ours side by side, `top` units below the upper end of a figure that
    is as high as it takes, and 500 units wide or wider."""
    width, whole = look.width(figure), figure.get_figheight() * 72 / look.unit()
    tall = pair_height(pair, width)[0]
    boxes, _ = pair_places(pair, width)
    both = zip((pair.then, pair.now), boxes, (True, False), strict=True)
    for panel, (left, right, unit_room), named in both:
        box = (left / width, 1 - (top + 24 + tall) / whole, (right - left) / width, tall / whole)
        axes = figure.add_axes(box)
        draw_costs(axes, panel, named, unit_room)
        title = look.beside(axes, 0, -10)
        look.write(axes, title, 0, panel.title, size=look.SIZE, strong=True)
