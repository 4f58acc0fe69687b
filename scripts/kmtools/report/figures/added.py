# SPDX-License-Identifier: GPL-2.0-only
"""The headline: added cost with its intervals, and the exact counts of instructions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from kmtools.analyse.verdicts import UNRESOLVED, Result
from kmtools.report.figures import style
from kmtools.report.figures.style import INK, MUTED, Picture, legend_above, minus, name_rows, panels
from kmtools.report.table import shown


def _draw_forest_row(axes: Axes, row: int, result: Result, limit: float) -> None:
    assert result.delta_ci is not None and result.delta is not None
    colour, marker = style.VERDICT_LOOK.get(result.verdict, (MUTED, "s"))
    for interval, width in ((result.delta_ci, 1.2), (result.sign_ci, 3.2)):
        if interval is not None:
            ends = [style.finite(interval.lo, limit), style.finite(interval.hi, limit)]
            axes.plot(ends, [row, row], color=colour, linewidth=width, solid_capstyle="butt")
    fill: Literal["full", "none"] = "none" if result.verdict == UNRESOLVED else "full"
    axes.plot([result.delta], [row], marker, color=colour, markersize=6, fillstyle=fill)
    style.note(axes, row, f"{shown(result, result.delta, True)}  {result.verdict}", 8)


def _draw_forest(axes: Axes, rows: Sequence[Result]) -> None:
    first, floor = rows[0], max(rows[0].noise_floor or 0, rows[0].margin or 0)
    if not math.isfinite(floor):
        floor = first.margin or 1.0
    ends = [end for r in rows if r.delta_ci for end in (r.delta_ci.lo, r.delta_ci.hi, r.delta or 0)]
    reach = max(floor, *(abs(end) for end in ends if math.isfinite(end)))
    bounded = [style.finite(end, reach) for end in ends]
    low, high = 1.12 * min(0.0, -floor, *bounded), 1.12 * max(0.0, floor, *bounded)
    style.signed_axis(axes, low, high, floor)
    if first.noise_floor is not None:
        noise = style.finite(first.noise_floor, 3 * reach)
        axes.axvspan(-noise, noise, color=MUTED, alpha=0.22, linewidth=0)
    axes.axvline(0, color=MUTED, linewidth=0.8)
    for end in (-(first.margin or 0), first.margin or 0):
        axes.axvline(end, color=INK, linewidth=1, linestyle=":")
    for row, result in enumerate(rows):
        _draw_forest_row(axes, row, result, 3 * reach)
    axes.set_xlim(low, high)
    name_rows(axes, [r.variant + (" (A/A)" if r.is_clone else "") for r in rows])
    axes.set_title(first.benchmark)
    axes.set_xlabel(f"added over {first.baseline}, {first.unit} per operation")


def forest_legend(figure: Figure, rows: Sequence[Result]) -> None:
    """Verdict marks, shading and dots, above the panels."""
    seen = [v for v in style.VERDICT_LOOK if any(r.verdict == v for r in rows)]
    handles: list[Line2D | Patch] = []
    for verdict in seen:
        colour, marker = style.VERDICT_LOOK[verdict]
        face = "none" if verdict == UNRESOLVED else colour
        handles.append(
            Line2D([], [], color=colour, marker=marker, markerfacecolor=face, label=verdict)
        )
    handles.append(Patch(color=MUTED, alpha=0.22, label="noise floor (A/A)"))
    handles.append(Line2D([], [], color=INK, linestyle=":", label="equivalence margin"))
    legend_above(figure, handles, len(handles))


def forest(results: Sequence[Result], name: str) -> style.Drawn:
    """Added cost of every variant of a timed tier with intervals: the headline."""
    groups = style.by_benchmark(r for r in results if r.delta_ci is not None)
    if not groups:
        return None
    figure, grid = panels([style.ROW * len(rows) for rows in groups])
    for axes, rows in zip(grid, groups, strict=True):
        _draw_forest(axes[0], rows)
    every = [row for rows in groups for row in rows]
    forest_legend(figure, every)
    first = every[0]
    words = "; ".join(
        f"{rows[0].benchmark} over {rows[0].baseline}: " + ", ".join(map(style.sentence, rows))
        for rows in groups
    )
    return figure, Picture(
        name,
        f"Added cost, {first.tier}",
        "Point: median of the paired differences. Thick line: its interval over blocks; thin line:"
        " the interval that also allows for other code placement, on which the verdict rests."
        f" Everything in {first.unit} per operation.",
        f"Forest plot of added cost in {first.unit} per operation. {words}.",
    )


def _instruction_row(axes: Axes, row: int, result: Result, base: float) -> None:
    added = result.median - base
    axes.barh(row, min(base, result.median), height=0.62, color=MUTED, alpha=0.45)
    if added > 0:
        axes.barh(row, added, left=base, height=0.62, color=style.VERMILLION)
    elif added < 0:
        axes.barh(row, -added, left=result.median, height=0.62, color=style.BLUE, alpha=0.5)
    label = shown(result, result.median)
    if result.delta is not None:
        label += f"  ({shown(result, result.delta, True)})"
    axes.annotate(
        minus(label),
        (max(base, result.median), row),
        (4, 0),
        textcoords="offset points",
        va="center",
    )


def instructions(results: Sequence[Result], name: str) -> style.Drawn:
    """Exact instructions per operation: the baseline's in grey, what a variant adds in colour."""
    groups = style.by_benchmark(results)
    if not groups:
        return None
    figure, grid = panels([style.ROW * len(rows) for rows in groups])
    for (axes, *_), rows in zip(grid, groups, strict=True):
        base = next((r.median for r in rows if r.variant == r.baseline), 0.0)
        for row, result in enumerate(rows):
            _instruction_row(axes, row, result, base)
        name_rows(axes, [r.variant + (" (A/A)" if r.is_clone else "") for r in rows])
        axes.set_title(rows[0].benchmark)
        axes.set_xlabel(f"{rows[0].unit} per operation")
        axes.xaxis.set_major_locator(MaxNLocator(7, integer=True))
        axes.set_xlim(0, 1.2 * max(r.median for r in rows))
    words = style.in_words(groups, style.sentence)
    first = groups[0][0]
    return figure, Picture(
        name,
        f"Instructions per operation, {first.tier}",
        "Exact counts, the loop's own included. Grey: the baseline's; colour: what is added.",
        f"Bars of instructions per operation. {words}.",
    )
