# SPDX-License-Identifier: GPL-2.0-only
"""Figures of whole distributions: by block, by layout, by variant."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from kmtools.analyse import stats
from kmtools.analyse.verdicts import Result
from kmtools.report.figures import style
from kmtools.report.figures.style import INK, MUTED, Drawn, Picture, minus, name_rows, panels
from kmtools.report.table import amount

GOLDEN = 0.6180339887498949
SPREAD = 5.0


def _value_axis(axes: Axes, low: float, high: float) -> None:
    """Use a logarithmic axis if the values span more than SPREAD-fold."""
    if low > 0 and high / low > SPREAD:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0), numticks=8))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(style.plain))


def _thin(n: int) -> NDArray[np.int64]:
    """The ranks to draw of n ordered values: all of the upper tail, a few hundred of the rest."""
    tail = min(n, 60)
    return np.unique(
        np.concatenate([np.linspace(0, n - 1, 240), np.arange(n - tail, n)]).astype(np.int64)
    )


def _draw_ecdf(body: Axes, tail: Axes, rows: Sequence[Result]) -> None:
    lows, highs, tops = [], [], []
    for index, result in enumerate(rows):
        ordered = np.sort(stats.values(result.slopes))
        n = len(ordered)
        colour = style.PALETTE[index % len(style.PALETTE)]
        dashes = style.STYLES[index // len(style.PALETTE) % len(style.STYLES)]
        at = _thin(n)
        (line,) = body.step(ordered[at], (at + 1) / n, where="post", label=result.variant)
        (end,) = tail.step(ordered[at], 1 - at / n, where="post")
        for drawn in (line, end):
            drawn.set(color=colour, linestyle=dashes, linewidth=1.5)
        lows.append(np.quantile(ordered, 0.01))
        highs.append(np.quantile(ordered, 0.97))
        tops.append(ordered[-1])
    pad = 0.03 * (max(highs) - min(lows)) or 0.01
    _value_axis(body, min(lows), max(highs))
    body.set_xlim(min(lows) - (0 if body.get_xscale() == "log" else pad), max(highs) + pad)
    body.set_ylim(0, 1.01)
    _value_axis(tail, min(lows), max(tops))
    tail.set_xlim(min(lows), max(tops) * 1.03 if max(tops) > 0 else None)
    tail.set_yscale("log")
    tail.set_ylim(top=1.1)
    body.set_ylabel("share of blocks at or below")
    tail.set_ylabel("share at or above (log)")
    body.set_title(rows[0].benchmark)
    for axes in (body, tail):
        axes.set_xlabel(f"{rows[0].unit} per operation")
        axes.grid(color=MUTED, alpha=0.2, linewidth=0.6)


def ecdf(results: Sequence[Result], name: str) -> Drawn:
    """Distribution of every variant over blocks, its upper tail on a log scale beside it."""
    groups = style.by_benchmark(r for r in results if r.slopes)
    if not groups:
        return None
    figure, grid = panels([1.75] * len(groups), columns=2, extra=0.6)
    for (body, tail), rows in zip(grid, groups, strict=True):
        _draw_ecdf(body, tail, rows)
        columns = 1 + (len(rows) - 1) // 9
        tail.legend(*body.get_legend_handles_labels(), loc="best", ncols=columns)
    first = groups[0][0]
    words = style.in_words(
        groups, lambda r: f"{r.variant} median {amount(r.median)} of {len(r.slopes)} blocks"
    )
    return figure, Picture(
        name,
        f"Distributions, {first.tier}",
        "Left: share of blocks at or below a value. Right: share at or above it, on a log scale,"
        " which shows the slow blocks that a median hides.",
        f"Empirical distributions in {first.unit} per operation. {words}.",
    )


def _draw_totals(axes: Axes, rows: Sequence[Result]) -> None:
    lows, highs = [], []
    for row, result in enumerate(rows):
        x = stats.values(result.slopes)
        low, high = float(np.quantile(x, 0.05)), float(np.quantile(x, 0.95))
        colour = style.VERDICT_LOOK.get(result.verdict, (INK, "s"))[0]
        axes.plot([low, high], [row, row], color=colour, alpha=0.4, linewidth=5)
        axes.plot([result.median], [row], marker="|", markersize=12, color=colour, mew=2)
        places = sorted(stats.layout_medians(result.slopes).values())
        axes.plot(places, [row + 0.3] * len(places), ".", markersize=4, color=MUTED)
        style.note(axes, row, amount(result.median))
        lows.append(min(low, *places))
        highs.append(max(high, *places))
    _value_axis(axes, min(lows), max(highs))
    name_rows(axes, [r.variant for r in rows])
    axes.set_title(rows[0].benchmark)
    axes.set_xlabel(f"{rows[0].unit} per operation")
    axes.grid(axis="x", color=MUTED, alpha=0.2, linewidth=0.6)


def totals(results: Sequence[Result], name: str) -> Drawn:
    """Whole cost of every variant, baseline included: for benchmarks of cold code or data."""
    groups = style.by_benchmark(r for r in results if r.slopes)
    if not groups:
        return None
    figure, grid = panels([(style.ROW + 0.04) * len(rows) for rows in groups])
    for (axes, *_), rows in zip(grid, groups, strict=True):
        _draw_totals(axes, rows)
    first = groups[0][0]
    words = ", ".join(
        f"{r.benchmark} {r.variant} {amount(r.median)}" for rows in groups for r in rows
    )
    return figure, Picture(
        name,
        f"Cold branch, {first.tier}",
        "Bar: 5 % to 95 % of the blocks; mark: median; grey dots: median in each code layout.",
        f"Whole cost in {first.unit} per operation: {words}.",
    )


def _frame(rows: Sequence[Result], margin: float) -> tuple[float, float]:
    """Limits that show most of every row: its quartiles, and three times their distance beyond."""
    low, high = -1.3 * margin, 1.3 * margin
    for result in rows:
        first, third = (float(np.quantile(stats.values(result.deltas), q)) for q in (0.25, 0.75))
        low = min(low, first - 3 * (third - first))
        high = max(high, third + 3 * (third - first))
    return low, high


def _draw_pairs(axes: Axes, rows: Sequence[Result]) -> None:
    margin = rows[0].margin or 0.0
    low, high = _frame(rows, margin)
    for row, result in enumerate(rows):
        x = stats.values(result.deltas)
        colour = style.VERDICT_LOOK.get(result.verdict, (MUTED, "s"))[0]
        height = row + 0.56 * ((np.arange(len(x)) * GOLDEN) % 1.0 - 0.5)
        inside = (x >= low) & (x <= high)
        (dots,) = axes.plot(x[inside], height[inside], ".", color=colour, mew=0, rasterized=True)
        dots.set(markersize=3 if len(x) > 300 else 5, alpha=0.45 if len(x) > 300 else 0.8)
        if result.delta is not None:
            axes.plot([result.delta] * 2, [row - 0.38, row + 0.38], color=INK, linewidth=2)
        beyond = int(len(x) - inside.sum())
        text = f"{amount(result.delta, True)}" + (f"  ({beyond} beyond)" if beyond else "")
        style.note(axes, row, text)
    axes.axvline(0, color=MUTED, linewidth=0.8)
    for end in (-margin, margin):
        axes.axvline(end, color=INK, linewidth=1, linestyle=":")
    axes.set_xlim(low, high)
    axes.xaxis.set_major_formatter(FuncFormatter(style.plain))
    name_rows(axes, [r.variant + (" (A/A)" if r.is_clone else "") for r in rows])
    axes.set_title(rows[0].benchmark)
    axes.set_xlabel(
        f"difference from {rows[0].baseline} in the same block, {rows[0].unit} per call"
    )


def pairs(results: Sequence[Result], name: str) -> Drawn:
    """Every paired difference of the system call benchmarks as a dot."""
    groups = style.by_benchmark(r for r in results if r.deltas)
    if not groups:
        return None
    figure, grid = panels([0.5 * len(rows) for rows in groups])
    for (axes, *_), rows in zip(grid, groups, strict=True):
        _draw_pairs(axes, rows)
    first = groups[0][0]
    words = style.in_words(groups, style.sentence)
    return figure, Picture(
        name,
        f"System call, paired differences, {first.tier}",
        "One dot a block: the variant minus the baseline measured next to it. Bar: median; dotted:"
        " equivalence margin. Dots beyond the frame are counted at the right.",
        f"Paired differences in {first.unit} per call. {words}.",
    )


def _draw_heat(axes: Axes, rows: Sequence[Result], layouts: Sequence[int]) -> None:
    cells = [stats.layout_medians(r.deltas) for r in rows]
    scale = max((abs(v) for cell in cells for v in cell.values()), default=0.0) or 1.0
    unit = rows[0].margin or scale
    scale = max(scale, unit)
    for row, cell in enumerate(cells):
        for column, layout in enumerate(layouts):
            if layout not in cell:
                continue
            share = math.log1p(abs(cell[layout]) / unit) / math.log1p(scale / unit)
            colour = style.VERMILLION if cell[layout] > 0 else style.BLUE
            axes.fill_between(
                [column, column + 1], row - 0.46, row + 0.46, color=colour, alpha=0.65 * share, lw=0
            )
            axes.text(
                column + 0.5,
                row,
                minus(amount(cell[layout], True)),
                ha="center",
                va="center",
                fontsize=8,
            )
    axes.set_xlim(0, len(layouts))
    axes.set_xticks([i + 0.5 for i in range(len(layouts))], [str(layout) for layout in layouts])
    name_rows(axes, [r.variant + (" (A/A)" if r.is_clone else "") for r in rows])
    axes.tick_params(axis="x", length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_title(f"{rows[0].benchmark}, over {rows[0].baseline}")


def layout_map(results: Sequence[Result], name: str) -> Drawn:
    """Added cost in each code layout, which shows the effect of placement."""
    groups = style.by_benchmark(r for r in results if r.deltas)
    layouts = sorted({s.layout for rows in groups for r in rows for s in r.deltas})
    if not groups or len(layouts) < 2:
        return None
    figure, grid = panels([style.ROW * len(rows) for rows in groups], extra=0.55)
    for (axes, *_), rows in zip(grid, groups, strict=True):
        _draw_heat(axes, rows, layouts)
    first = groups[0][0]
    grid[-1][0].set_xlabel(f"code layout; cells in {first.unit} per operation")
    words = "; ".join(
        f"{r.benchmark} {r.variant}: "
        + ", ".join(amount(v, True) for v in stats.layout_medians(r.deltas).values())
        for rows in groups
        for r in rows
    )
    return figure, Picture(
        name,
        f"Code layout, {first.tier}",
        "Median difference in each layout (the same code, placed elsewhere). A row whose cells"
        " disagree measures placement more than instrumentation.",
        f"Heat map of added cost by code layout in {first.unit} per operation. {words}.",
    )
