# SPDX-License-Identifier: GPL-2.0-only
"""Defines sizes, colours and shapes of figures, from the parameters of matplotlib in effect.

Sizes are in units of font.size / 13. As long as a style does not change font.size, this unit is a
pixel of the page. The width of a text is estimated, because the font depends on the browser that
shows the page.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation, Transform, blended_transform_factory

from kmtools.base.text import replace_chars_forbidden_in_html, use_minus_signs
from kmtools.base.text import shorten_middle as text_shortened

# matplotlib's current parameters.
PARAMETERS: Any = matplotlib.rcParams
# Font sizes of titles and labels, and the height of a line, in units of font.size / 13.
SIZE, SMALL = 13.0, 12.0
LINE = 1.4 * SMALL
# Labels are above their rows in figures narrower than this width, else beside their rows.
NARROW_BELOW = 500.0
# Widths of a letter and of a digit relative to the font size, in the widest of the usual fonts.
LETTER, DIGIT = 0.58, 0.67
# Wide letters, and their additional width relative to the font size.
BROAD, MORE = "mMwW@%", 0.39
# Dash pattern of dotted lines.
DOTS = (0, (2.0, 3.0))
# Index in the colour cycle for each look. A look is the name of a verdict or of a kind of text. A
# name that is neither in CYCLE nor in NAMED has the colour of secondary text.
CYCLE = {
    "faster": 0, "fewer": 0, "ours": 0, "slower": 1, "differs": 1, "more": 1,
    "equivalent": 2, "identical": 2,
    "then": 3,
}  # fmt: skip
NAMED = {"ink": "text.color", "noise": "grid.color", "paper": "figure.facecolor"}
SOFT = "xtick.color"
# Shape of the point for each look: points differ in their shapes as well as in their colours.
SHAPES = {
    "slower": ">", "more": ">", "faster": "<", "fewer": "<", "differs": "o",
    "equivalent": "o", "identical": "o",
    "unresolved": "ring", "withheld": "ring", "then": "D",
}  # fmt: skip
# Shapes of the points of curves.
MARKS = ("o", "s", "^", "D", "ring", ">", "<")


def get_colour(look: str | int) -> str:
    """Return the colour of a look: the name of a verdict or of a kind of text, or the number of a
    curve."""
    if isinstance(look, str) and look not in CYCLE:
        return str(PARAMETERS[NAMED.get(look, SOFT)])
    cycle = [one["color"] for one in PARAMETERS["axes.prop_cycle"] if "color" in one]
    place = look if isinstance(look, int) else CYCLE[look]
    return str(cycle[place % len(cycle)] if cycle else PARAMETERS["text.color"])


def get_points_per_unit() -> float:
    """Return the unit of sizes in figures, font.size / 13, in points (1/72 inch)."""
    return float(PARAMETERS["font.size"]) / SIZE


def get_figure_width(figure: Figure) -> float:
    """Return the width of a figure in units of font.size / 13."""
    return float(figure.get_figwidth()) * 72 / get_points_per_unit()


def is_narrow(figure: Figure) -> bool:
    """Return True if a figure is so narrow that labels are above their rows."""
    return get_figure_width(figure) < NARROW_BELOW


def estimate_text_width(text: str, size: float = SMALL) -> float:
    """Return an upper estimate of the width of a text in the usual fonts, in units of font.size /
    13."""
    return (len(text) * LETTER + sum(map(text.count, BROAD)) * MORE) * size


def count_fitting_letters(room: float, size: float = SMALL) -> int:
    """Return the number of letters that fit into a width, with a tolerance for rounding."""
    return int(room / (size * LETTER) + 1e-6)


def estimate_label_width(text: str) -> float:
    """Return the width of a number at a tick; digits are wider than most letters."""
    return len(text) * SMALL * DIGIT


def shorten_to_width(text: str, room: float, size: float = SMALL) -> str:
    """Return `text`, with the middle cut out if the text is wider than `room`."""
    if estimate_text_width(text, size) <= room + 1e-6:
        return text
    fewer = (text_shortened(text, most) for most in range(count_fitting_letters(room, size), 4, -1))
    return next(
        (one for one in fewer if estimate_text_width(one, size) <= room), text_shortened(text, 5)
    )


def wrap_text(text: str, room: float) -> list[str]:
    """Return a text as lines that fit into a width."""
    return textwrap.wrap(use_minus_signs(text), max(10, count_fitting_letters(room)))


def make_offset_transform(axes: Axes, right: float, down: float) -> Transform:
    """Return a transform for points (x, y), where x is a fraction of the axes' width and y a value
    on the vertical axis. The transform moves each point to the right by `right` and downwards by
    `down` units of font.size / 13."""
    figure, scale = axes.get_figure(), get_points_per_unit() / 72
    assert figure is not None
    moved = ScaledTranslation(right * scale, -down * scale, figure.dpi_scale_trans)
    return blended_transform_factory(axes.transAxes, axes.transData) + moved


def write_text(
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
    """Write a line of text with its baseline at `y` and its left or right end at `x`; `end` says
    which end, "left" or "right"."""
    axes.text(
        x, y, replace_chars_forbidden_in_html(use_minus_signs(text)), transform=transform,
        color=get_colour(look), ha=end, va="baseline",
        fontsize=size * get_points_per_unit(), fontweight="bold" if strong else "normal",
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
    """Draw a line through points, `thick` units of font.size / 13 wide."""
    axes.plot(
        xs, ys, color=get_colour(look), lw=thick * get_points_per_unit(), ls=DOTS if dots else "-",
        marker="",
        solid_capstyle="butt", dash_capstyle="butt", zorder=layer, clip_on=False,
    )  # fmt: skip


def draw_mark(
    axes: Axes, x: float, y: float, shape: str, look: str | int, size: float, layer: float = 4.0
) -> None:
    """Draw a point: a marker of matplotlib, a ring or a cross; `size` is its radius in units of
    font.size / 13."""
    ring, cross = shape == "ring", shape == "x"
    thick = (1.8 if ring or cross else 0.0) * get_points_per_unit()
    axes.plot(
        [x], [y], marker="o" if ring else shape, ls="", zorder=layer, clip_on=False,
        markersize=(2 * size - (0.0 if not ring else 1.0)) * get_points_per_unit(),
        markeredgewidth=thick,
        markerfacecolor=get_colour("paper" if ring else look), markeredgecolor=get_colour(look),
    )  # fmt: skip
