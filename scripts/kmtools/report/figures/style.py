# SPDX-License-Identifier: GPL-2.0-only
"""The style, the sizes and the saving of all figures.

A figure is drawn once and saved three times: .png and .svg on white, and an SVG for the page. The
lines of the latter have the page's text colour, so that it can be read on light and dark.
Colours: Okabe and Ito, "Color Universal Design" (2008), chosen to be told apart by anyone; shapes
and labels say the same things again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from kmtools.analyse import verdicts
from kmtools.analyse.verdicts import Result
from kmtools.report.table import shown

INK = "#24292f"
MUTED = "#7d858d"
BLUE, VERMILLION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
ORANGE, SKY, YELLOW = "#e69f00", "#56b4e9", "#c5b000"
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, YELLOW)
STYLES = ("-", "--", ":", "-.")
WIDTH = 8.6
ROW = 0.27

VERDICT_LOOK = {
    verdicts.SLOWER: (VERMILLION, ">"),
    verdicts.FASTER: (BLUE, "<"),
    verdicts.MORE: (VERMILLION, ">"),
    verdicts.FEWER: (BLUE, "<"),
    verdicts.EQUIVALENT: (GREEN, "o"),
    verdicts.IDENTICAL: (GREEN, "o"),
    verdicts.UNRESOLVED: (MUTED, "D"),
}

STYLE: Any = {
    "svg.hashsalt": "kmarkers",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.facecolor": "white",
    "figure.constrained_layout.w_pad": 0.08,
    "axes.facecolor": "none",
    "savefig.dpi": 120,
}


@dataclass(frozen=True)
class Picture:
    """A saved figure: its file name stem, its words, and the SVG to put in the page."""

    name: str
    title: str
    caption: str
    alt: str
    svg: str = ""


# What draws a figure returns it with its words, or None without data.
Drawn = tuple[Figure, Picture] | None


def inline_svg(text: str, name: str) -> str:
    """The svg element alone, with ids unique to this figure and the page's text colour."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text)
    text = re.sub(r'\b(id=")', rf"\g<1>{name}-", text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", text)
    text = text.replace("fill: #ffffff", "fill: none", 1)
    text = re.sub(r'\s(width|height)="[\d.]+pt"', "", text, count=2)
    return text.replace(INK, "currentColor").strip()


def settle(figure: Figure) -> None:
    """Lay the figure out once and round the places of its panels: the last digits of the layout
    solver differ from run to run, and would change the bytes."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        bounds = axes.get_position().bounds
        left, bottom, width, height = (round(float(value), 4) for value in bounds)
        axes.set_position((left, bottom, width, height))


def save(drawn: Drawn, directory: Path) -> Picture | None:
    """Write .png and .svg on white; return the picture with its inline SVG. None if none is."""
    if drawn is None:
        return None
    figure, picture = drawn
    directory.mkdir(parents=True, exist_ok=True)
    settle(figure)
    figure.savefig(directory / f"{picture.name}.png", metadata={"Software": None})
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(directory / f"{picture.name}.svg", metadata=nothing)
    plt.close(figure)
    text = (directory / f"{picture.name}.svg").read_text(encoding="utf-8")
    return replace(picture, svg=inline_svg(text, picture.name))


def finite(value: float, limit: float) -> float:
    """An end of an interval for drawing: an infinite one becomes the limit."""
    return max(-limit, min(limit, value))


def plain(value: float, _position: object = None) -> str:
    """A tick label without an exponent: 0.1, 20, 3000."""
    return f"{value:g}".replace("-", "\N{MINUS SIGN}")


def minus(text: str) -> str:
    """Hyphens before digits as minus signs, for labels in figures."""
    return re.sub(r"-(?=\d)", "\N{MINUS SIGN}", text)


def decades(linear: float, reach: float, most: int) -> list[float]:
    """Powers of ten from the linear part's edge to the reach, at most so many of them."""
    first, last = math.ceil(math.log10(linear)), math.floor(math.log10(reach))
    step = max(1, -(-(last - first + 1) // most))
    return [10.0**power for power in range(last, first - 1, -step)]


def signed_axis(axes: Axes, low: float, high: float, floor: float, most: int = 4) -> None:
    """A linear axis if all values are of the floor's size, else a symmetric-logarithmic one beyond
    it, so that a cost of 300 and a noise floor of 0.5 can be seen in one panel."""
    reach = max(-low, high)
    floor = floor or reach or 1.0
    if reach > 25 * floor:
        axes.set_xscale("symlog", linthresh=2 * floor, linscale=1.0)
        ticks = [0.0]
        if low < -2 * floor:
            ticks += [-tick for tick in decades(2 * floor, -low, most)]
        if high > 2 * floor:
            ticks += decades(2 * floor, high, most)
        axes.set_xticks(sorted(ticks))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(most + 3))
    axes.xaxis.set_major_formatter(FuncFormatter(plain))


def panels(
    heights: Sequence[float], columns: int = 1, extra: float = 0.75
) -> tuple[Figure, list[list[Axes]]]:
    """A column (or columns) of panels, each as high as its rows need; heights in inches."""
    figure, grid = plt.subplots(
        len(heights),
        columns,
        figsize=(WIDTH, sum(heights) + extra * len(heights)),
        gridspec_kw={"height_ratios": [height + 0.2 for height in heights]},
        squeeze=False,
        layout="constrained",
    )
    return figure, [list(row) for row in grid]


def note(axes: Axes, row: float, text: str, size: float | None = None) -> None:
    """Words at the right of a row; `size` of the font in points."""
    place = ("axes fraction", "data")
    axes.annotate(minus(text), (1.01, row), xycoords=place, va="center", fontsize=size)


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Rows 0, 1, ... from the top, named on the left."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def by_benchmark(results: Iterable[Result]) -> list[list[Result]]:
    """Results of one tier, split by benchmark."""
    return [list(group) for _, group in groupby(results, lambda r: r.benchmark)]


def legend_above(figure: Figure, handles: Sequence[Artist], columns: int) -> None:
    """A legend above all panels. The panels are moved down for it, as matplotlib does from 3.7."""
    legend = figure.legend(handles=handles, loc="upper left", ncols=columns)
    figure.draw_without_rendering()
    bottom = legend.get_window_extent().y0 / figure.bbox.height
    layout = figure.get_layout_engine()
    assert layout is not None
    layout.set(rect=(0, 0, 1, bottom))  # type: ignore[call-arg]


def in_words(groups: Iterable[Sequence[Result]], say: Callable[[Result], str]) -> str:
    """What is to be said of each result, benchmark by benchmark, for the alternative text."""
    return "; ".join(f"{rows[0].benchmark}: {', '.join(map(say, rows))}" for rows in groups)


def sentence(result: Result) -> str:
    """One result in words, for the alternative text."""
    if result.delta is None or result.delta_ci is None:
        return f"{result.variant} {shown(result, result.median)}"
    ends = f"{shown(result, result.delta_ci.lo, True)} to {shown(result, result.delta_ci.hi, True)}"
    return f"{result.variant} {shown(result, result.delta, True)} ({ends}), {result.verdict}"
