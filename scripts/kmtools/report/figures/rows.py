# SPDX-License-Identifier: GPL-2.0-only
"""Panels of rows: a name, a point with its interval on a common axis, and the number in words.

On a wide drawing the name is on the left and the number on the right. On a narrow one both stand
above the row, whose axis then has the whole width.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

from kmtools.report.figures.axis import Axis, plain
from kmtools.report.figures.svg import (
    NAMES,
    SIZE,
    SMALL,
    Drawing,
    shortened,
    width_of,
    width_of_label,
)

ROW, TALL, LABEL, LINE = 24.0, 40.0, 18.0, 1.4 * SMALL
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
    stands below the name, and is `blank` where its place alone is kept; `odd` is a value that is
    marked with a cross."""

    name: str
    value: float
    lo: float
    hi: float
    look: str
    words: str
    inner: tuple[float, float] | None = None
    density: Sequence[tuple[float, float]] = ()
    caveat: str = ""
    blank: str = ""
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


def caveat_lines(drawing: Drawing, row: Row) -> list[str]:
    """A row's caveat in lines that fit where the names stand, beside the axis and not upon it."""
    room = drawing.width if drawing.narrow else NAMES - 12
    return textwrap.wrap(row.caveat or row.blank, int(room / width_of(" ", SMALL)))


def heights(drawing: Drawing, row: Row) -> tuple[float, float, float]:
    """How far down a row's words reach on a narrow drawing, its caveat, and the whole row."""
    caveat = LINE * len(caveat_lines(drawing, row))
    if not drawing.narrow:
        return 0.0, 0.0, (TALL if row.density else ROW) + caveat
    both = width_of(row.name) + width_of(row.words, SMALL) + 8
    words = LABEL * (1 if both <= drawing.width else 2)
    return words, words + caveat, words + caveat + (TALL if row.density else 22.0)


def draw_label(drawing: Drawing, row: Row, y: float, middle: float) -> None:
    """Name, number and caveat."""
    left, right = drawing.frame
    if drawing.narrow:
        at, below = (0.0, ""), y + heights(drawing, row)[0]
        drawing.text(0, y + 13, shortened(row.name, drawing.width))
        drawing.text(drawing.width, below - 5, row.words, row.look, "end", SMALL)
        below += 11
    else:
        at, below = (left - 10, "end"), middle + 4.5 + LINE
        if row.name:
            name = shortened(row.name, left - 12, SMALL)
            drawing.text(left - 10, middle + 4.5, name, anchor="end", size=SMALL)
        drawing.text(right + 10, middle + 4.5, row.words, row.look, size=SMALL)
    for number, line in enumerate(caveat_lines(drawing, row) if row.caveat else ()):
        drawing.text(at[0], below + LINE * number, line, "soft", at[1], SMALL)


def draw_range(drawing: Drawing, axis: Axis, row: Row, middle: float) -> None:
    """The point, and its interval, thicker where the inner one is; an end that is not known is the
    frame's."""
    bars = []
    for ends, thick in (((row.lo, row.hi), 1.6), (row.inner, 4.0)):
        if ends is not None and not any(map(math.isnan, ends)):
            low, high = (place(drawing, axis, end) for end in ends)
            bars.append((low, high, thick))
    known = not row.bar and math.isfinite(row.value)
    shape = SHAPES.get(row.look, "square") if known else ""
    drawing.ranged(place(drawing, axis, row.value) if known else 0.0, middle, shape, row.look, bars)


def draw_row(drawing: Drawing, panel: Panel, row: Row, y: float) -> float:
    """One row; returns the place below it."""
    _, above, height = heights(drawing, row)
    bare = (TALL if row.density else ROW) if not drawing.narrow else height - above
    middle = y + above + bare / 2
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
    draw_label(drawing, row, y, base)
    return y + height


def unit_words(panel: Panel) -> str:
    """The unit of an axis, and where the axis is bent."""
    if not panel.axis.linear:
        return panel.unit
    end = plain(float(f"{panel.axis.linear:.2g}"))
    return f"{panel.unit}; logarithmic beyond ±{end}"


def draw_axis(drawing: Drawing, panel: Panel, y: float) -> float:
    """Ticks with labels, none beside another too closely, and the unit; returns the place below."""
    left, right = drawing.frame
    lines, end = [(left, y, right, y)], -math.inf
    for tick in panel.axis.ticks(5 if drawing.narrow else 7):
        x, label = place(drawing, panel.axis, tick), plain(tick)
        half = width_of_label(label) / 2
        lines.append((x, y, x, y + 4))
        at = min(max(x, half), drawing.width - half)
        if at - half > end + 6:
            drawing.text(at, y + 17, label, "soft", "middle", SMALL)
            end = at + half
    drawing.segments(lines, "axis")
    room = drawing.width - left if drawing.narrow else right - left + 100
    return drawing.lines(left, y + 34, unit_words(panel), "soft", room) - LINE + 4


def spans(drawing: Drawing, panel: Panel, y: float) -> list[tuple[float, float]]:
    """From where to where, downwards, the rows of a panel have their axis: below each other without
    a gap, unless words are between them."""
    found: list[tuple[float, float]] = []
    for row in panel.rows:
        _, above, height = heights(drawing, row)
        top, y = y + above, y + height
        if found and found[-1][1] == top:
            top = found.pop()[0]
        found.append((top, y))
    return found


def draw_reference(drawing: Drawing, panel: Panel, y: float) -> None:
    """Behind the rows: the shaded noise, zero, and the dotted margin."""
    down, axis = spans(drawing, panel, y), panel.axis
    if panel.noise is not None and not math.isnan(panel.noise):
        low, high = (place(drawing, axis, end) for end in (-panel.noise, panel.noise))
        drawing.boxes([(low, top, high, bottom) for top, bottom in down], "noise")
    if axis.linear != 0:
        zero = place(drawing, axis, 0.0)
        drawing.segments([(zero, top, zero, bottom) for top, bottom in down], "axis")
    ends = [end for end in (-(panel.margin or 0.0), panel.margin or 0.0) if end]
    dotted = [place(drawing, axis, end) for end in ends if axis.low < end < axis.high]
    drawing.segments([(x, top, x, bottom) for x in dotted for top, bottom in down], "ink dots")


def draw_panel(drawing: Drawing, panel: Panel, y: float = 0.0, titled: bool = False) -> float:
    """A panel; returns the place below it. Its remark is text of the page, unless `titled`."""
    if titled:
        drawing.text(0, y + 14, shortened(panel.title, drawing.width), "strong")
        y += 24
    if panel.rows:
        draw_reference(drawing, panel, y)
        for row in panel.rows:
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
