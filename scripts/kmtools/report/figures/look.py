# SPDX-License-Identifier: GPL-2.0-only
"""Sizes, colours and shapes of figures, by the parameters of matplotlib that are in force.

Sizes are in units, of which thirteen are the size of the font: pixels of the page, as long as a
style does not change font.size. The width of a text is estimated, because nobody knows the font of
the browser that shows it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation, Transform, blended_transform_factory

from kmtools.base.text import clean, minus
from kmtools.base.text import shortened as text_shortened

# The parameters of matplotlib in force.
PARAMETERS: Any = matplotlib.rcParams
SIZE, SMALL = 13.0, 12.0
LINE = 1.4 * SMALL
# Below this width labels stand above their rows, not beside them.
NARROW_BELOW = 500.0
# Widths of a letter and of a digit as shares of their height, in the widest of the usual fonts.
LETTER, DIGIT = 0.58, 0.67
# Letters that are wider, and by how much.
BROAD, MORE = "mMwW@%", 0.39
DOTS = (0, (2.0, 3.0))
# Places in the cycle of colours. Looks in neither table have the colour of secondary text.
CYCLE = {
    "faster": 0, "fewer": 0, "ours": 0, "slower": 1, "differs": 1, "more": 1,
    "equivalent": 2, "identical": 2,
    "then": 3,
}  # fmt: skip
NAMED = {"ink": "text.color", "noise": "grid.color", "paper": "figure.facecolor"}
SOFT = "xtick.color"
# Shapes carry the same information as the colours.
SHAPES = {
    "slower": ">", "more": ">", "faster": "<", "fewer": "<", "differs": "o",
    "equivalent": "o", "identical": "o",
    "unresolved": "ring", "withheld": "ring", "then": "D",
}  # fmt: skip
MARKS = ("o", "s", "^", "D", "ring", ">", "<")


def colour(look: str | int) -> str:
    """The colour of a verdict, of words, or of a curve by its number."""
    if isinstance(look, str) and look not in CYCLE:
        return str(PARAMETERS[NAMED.get(look, SOFT)])
    cycle = [one["color"] for one in PARAMETERS["axes.prop_cycle"] if "color" in one]
    place = look if isinstance(look, int) else CYCLE[look]
    return str(cycle[place % len(cycle)] if cycle else PARAMETERS["text.color"])


def unit() -> float:
    """The size of a unit in points."""
    return float(PARAMETERS["font.size"]) / SIZE


def width(figure: Figure) -> float:
    """The width of a figure in units."""
    return float(figure.get_figwidth()) * 72 / unit()


def is_narrow(figure: Figure) -> bool:
    """Whether labels stand above their rows."""
    return width(figure) < NARROW_BELOW


def width_of(text: str, size: float = SMALL) -> float:
    """The width of a text, not less than it is in the usual fonts."""
    return (len(text) * LETTER + sum(map(text.count, BROAD)) * MORE) * size


def letters(room: float, size: float = SMALL) -> int:
    """The number of letters that fit, with a tolerance for rounding of the room."""
    return int(room / (size * LETTER) + 1e-6)


def width_of_label(text: str) -> float:
    """The width of a number at a tick; digits are wider than most letters."""
    return len(text) * SMALL * DIGIT


def shortened(text: str, room: float, size: float = SMALL) -> str:
    """A text that fits; its middle is left out where it is too long."""
    if width_of(text, size) <= room + 1e-6:
        return text
    fewer = (text_shortened(text, most) for most in range(letters(room, size), 4, -1))
    return next((one for one in fewer if width_of(one, size) <= room), text_shortened(text, 5))


def lines_of(text: str, room: float) -> list[str]:
    """A text in lines that fit."""
    return textwrap.wrap(minus(text), max(10, letters(room)))


def beside(axes: Axes, right: float, down: float) -> Transform:
    """The transform of a share of an axes' width and a value of its vertical axis, moved by
    units."""
    figure, scale = axes.get_figure(), unit() / 72
    assert figure is not None
    moved = ScaledTranslation(right * scale, -down * scale, figure.dpi_scale_trans)
    return blended_transform_factory(axes.transAxes, axes.transData) + moved


def write(
    axes: Axes,
    transform: Transform,
    y: float,
    text: str,
    *,
    x: float = 0.0,
    look: str | int = "ink",
    end: str = "left",
    size: float = SMALL,
    strong: bool = False,
) -> None:
    """Write a line of text whose base line is at y."""
    axes.text(
        x, y, clean(minus(text)), transform=transform, color=colour(look), ha=end, va="baseline",
        fontsize=size * unit(), fontweight="bold" if strong else "normal",
        parse_math=False,
        clip_on=False, zorder=6.0,
    )  # fmt: skip


def draw_line(
    axes: Axes,
    xs: Sequence[float],
    ys: Sequence[float],
    look: str | int,
    thick: float = 1.0,
    layer: float = 2.0,
    dots: bool = False,
) -> None:
    """Draw a line through points, `thick` units wide."""
    axes.plot(
        xs, ys, color=colour(look), lw=thick * unit(), ls=DOTS if dots else "-", marker="",
        solid_capstyle="butt", dash_capstyle="butt", zorder=layer, clip_on=False,
    )  # fmt: skip


def draw_mark(
    axes: Axes, x: float, y: float, shape: str, look: str | int, size: float, layer: float = 4.0
) -> None:
    """Draw a point: a shape of matplotlib, a ring or a cross; `size` is its radius in units."""
    ring, cross = shape == "ring", shape == "x"
    thick = (1.8 if ring or cross else 0.0) * unit()
    axes.plot(
        [x], [y], marker="o" if ring else shape, ls="", zorder=layer, clip_on=False,
        markersize=(2 * size - (0.0 if not ring else 1.0)) * unit(), markeredgewidth=thick,
        markerfacecolor=colour("paper" if ring else look), markeredgecolor=colour(look),
    )  # fmt: skip
