# SPDX-License-Identifier: GPL-2.0-only
"""Panels of rows: a name, a point with its interval on a common axis, and the number in words.

On a wide drawing the name is on the left and the number on the right. On a narrow one both stand
above the row, whose axis then has the whole width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from kmtools.report.figures.axis import Axis, plain
from kmtools.report.figures.svg import SIZE, SMALL, Drawing, shortened, width_of

ROW, TALL, LABEL = 24.0, 40.0, 18.0
# Shapes repeat what the colours say.
SHAPES = {
    "slower": "right", "more": "right", "faster": "left", "fewer": "left",
    "equivalent": "disc", "identical": "disc", "unresolved": "ring", "withheld": "ring",
    "then": "diamond",
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A value with its interval; `inner` is a second one, drawn thicker. `look` is the class of
    its colour, `density` the height of its distribution (0 to 1) at places of the axis. `caveat`
    stands below the number, and `odd` is a value that is marked with a cross."""

    name: str
    value: float
    lo: float
    hi: float
    look: str
    words: str
    inner: tuple[float, float] | None = None
    density: Sequence[tuple[float, float]] = ()
    caveat: str = ""
    odd: float | None = None
    bar: bool = False


@dataclass(frozen=True)
class Panel:
    """Rows on one axis. `margin` is dotted and `noise` shaded, both to either side of zero;
    `remark` stands below."""

    title: str
    unit: str
    axis: Axis
    rows: Sequence[Row]
    margin: float | None = None
    noise: float | None = None
    remark: str = ""
    extra: Sequence[str] = field(default_factory=tuple)


def place(drawing: Drawing, axis: Axis, value: float) -> float:
    """Where a value is drawn."""
    left, right = drawing.frame
    return left + (right - left) * axis.share(value)


def heights(drawing: Drawing, row: Row) -> tuple[float, float]:
    """The room above a row's axis for its words, and its whole height."""
    caveat = SMALL * 1.4 if row.caveat else 0.0
    if not drawing.narrow:
        return 0.0, (TALL if row.density else ROW) + caveat
    both = width_of(row.name) + width_of(row.words, SMALL) + 8
    above = LABEL * (1 if both <= drawing.width else 2)
    return above, above + (TALL if row.density else 22.0) + caveat


def draw_label(drawing: Drawing, row: Row, y: float, middle: float, above: float) -> None:
    """Name and number."""
    if not drawing.narrow:
        left, right = drawing.frame
        if row.name:
            name = shortened(row.name, left - 12, SMALL)
            drawing.text(left - 10, middle + 4.5, name, anchor="end", size=SMALL)
        drawing.text(right + 10, middle + 4.5, row.words, row.look, size=SMALL)
        return
    drawing.text(0, y + 13, shortened(row.name, drawing.width))
    drawing.text(drawing.width, y + above - 5, row.words, row.look, "end", SMALL)


def draw_range(drawing: Drawing, axis: Axis, row: Row, middle: float) -> None:
    """The interval, thicker where the inner one is; an end that is not known is the frame's."""
    for ends, width in (((row.lo, row.hi), 1.6), (row.inner, 4.0)):
        if ends is not None and not any(map(math.isnan, ends)):
            low, high = (place(drawing, axis, end) for end in ends)
            drawing.line(low, middle, high, middle, row.look, width)


def draw_row(drawing: Drawing, panel: Panel, row: Row, y: float) -> float:
    """One row; returns the place below it."""
    above, height = heights(drawing, row)
    caveat = SMALL * 1.4 if row.caveat else 0.0
    middle = y + above + (height - above - caveat) / 2
    base = middle + (12 if row.density else 0)
    if row.density:
        shape = [(place(drawing, panel.axis, x), base - 30 * share) for x, share in row.density]
        outline = [(shape[0][0], base), *shape, (shape[-1][0], base)]
        drawing.path(outline, f"{row.look} pale", closed=True)
    if row.bar:
        zero, end = place(drawing, panel.axis, 0.0), place(drawing, panel.axis, row.value)
        drawing.box(min(zero, end), base - 5, abs(end - zero), 10, f"{row.look} pale")
    draw_range(drawing, panel.axis, row, base)
    if row.odd is not None:
        drawing.mark(place(drawing, panel.axis, row.odd), base, "cross", "ink", 4)
    if not row.bar and math.isfinite(row.value):
        shape_of = SHAPES.get(row.look, "square")
        drawing.mark(place(drawing, panel.axis, row.value), base, shape_of, row.look)
    draw_label(drawing, row, y, base if not drawing.narrow else middle, above)
    if row.caveat:
        left = drawing.frame[0]
        caveat_words = shortened(row.caveat, drawing.width - left, SMALL)
        drawing.text(left, y + height - 4, caveat_words, "soft", size=SMALL)
    return y + height


def draw_axis(drawing: Drawing, panel: Panel, y: float) -> float:
    """Ticks with labels, none beside another too closely, and the unit; returns the place below."""
    left, right = drawing.frame
    drawing.line(left, y, right, y, "axis")
    end = -math.inf
    for tick in panel.axis.ticks(5 if drawing.narrow else 7):
        x, label = place(drawing, panel.axis, tick), plain(tick)
        half = width_of(label, SMALL) / 2
        drawing.line(x, y, x, y + 4, "axis")
        at = min(max(x, half), drawing.width - half)
        if at - half > end + 6:
            drawing.text(at, y + 17, label, "soft", "middle", SMALL)
            end = at + half
    room = drawing.width - left if drawing.narrow else right - left + 100
    unit = shortened(panel.unit, room, SMALL)
    drawing.text(left, y + 34, unit, "soft", size=SMALL)
    return y + 38


def draw_reference(drawing: Drawing, panel: Panel, top: float, bottom: float) -> None:
    """The shaded noise, zero, and the dotted margin."""
    if panel.noise is not None and not math.isnan(panel.noise):
        low, high = (place(drawing, panel.axis, end) for end in (-panel.noise, panel.noise))
        drawing.box(low, top, high - low, bottom - top, "noise")
    if panel.axis.linear != 0:
        zero = place(drawing, panel.axis, 0.0)
        drawing.line(zero, top, zero, bottom, "axis")
    for end in (-(panel.margin or 0.0), panel.margin or 0.0):
        if end and panel.axis.low < end < panel.axis.high:
            x = place(drawing, panel.axis, end)
            drawing.line(x, top, x, bottom, "ink dots")


def draw_panel(drawing: Drawing, panel: Panel, y: float = 0.0, titled: bool = False) -> float:
    """A panel; returns the place below it. Its remark is text of the page, unless `titled`."""
    if titled:
        drawing.text(0, y + 14, shortened(panel.title, drawing.width), "strong")
        y += 24
    if panel.rows:
        for row in panel.rows:
            above, height = heights(drawing, row)
            draw_reference(drawing, panel, y + above, y + height)
            y = draw_row(drawing, panel, row, y)
        y = draw_axis(drawing, panel, y)
    if titled and panel.remark:
        y = drawing.lines(0, y + SIZE, panel.remark, "soft")
    return y


def draw(panels: Sequence[Panel], width: int, titled: bool = True) -> Drawing:
    """Panels below each other."""
    drawing, y = Drawing(width), 0.0
    for panel in panels:
        y = draw_panel(drawing, panel, y, titled) + 22
    return drawing
