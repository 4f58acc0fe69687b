# SPDX-License-Identifier: GPL-2.0-only
"""Published costs beside ours: one panel per machine, each with its own axis."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kmtools.analyse.published import Published, successors
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import Result, difference
from kmtools.measure.rundir import UNIT_GUEST, UNIT_TSC
from kmtools.report.figures import style
from kmtools.report.figures.style import INK, MUTED, Drawn, Picture, legend_above, name_rows, panels
from kmtools.report.table import amount

Machine = tuple[str, str, str]
TIER_LOOK = {"native": (style.BLUE, "o"), "metal": (style.PURPLE, "s"), "vm": (INK, "^")}


@dataclass(frozen=True)
class Ours:
    """Our counterpart of one published cost; delta in `unit` per operation."""

    result: Result
    delta: float
    interval: Interval
    over: str


@dataclass(frozen=True)
class Row:
    """A published cost and our counterparts of it, over the same kind of reference."""

    then: Published
    now: tuple[Ours, ...]

    @property
    def label(self) -> str:
        return f"{self.then.benchmark}: {self.then.variant}"


def counterpart(result: Result, over: str, results: Mapping[object, Result]) -> Ours | None:
    """Our cost of a result over our variant `over` of the same benchmark."""
    if result.baseline == over and result.delta is not None and result.delta_ci is not None:
        return Ours(result, result.delta, result.delta_ci, over)
    reference = results.get((result.tier, result.kernel, result.benchmark, over))
    if reference is None or not result.slopes or not reference.slopes:
        return None
    found = difference(result.slopes, reference.slopes, exact=False)
    return Ours(result, found.delta, found.wide, over) if math.isfinite(found.delta) else None


def join(results: Sequence[Result], numbers: Sequence[Published]) -> dict[Machine, list[Row]]:
    """Published costs that have a counterpart measured in cycles here, by machine."""
    timed = {r.key: r for r in results if r.unit in (UNIT_TSC, UNIT_GUEST)}
    names = successors()
    rows: dict[Machine, list[Row]] = defaultdict(list)
    for then in numbers:
        if then.delta is None or then.over is None:
            continue
        bases = sorted(set(names.get((then.source, then.over), [])))
        found = [
            counterpart(r, base, timed)  # type: ignore[arg-type]
            for ours in names.get((then.source, f"{then.benchmark}:{then.variant}"), [])
            for benchmark, base in bases
            for r in timed.values()
            if benchmark == ours[0] and (r.benchmark, r.variant) == ours and r.tier != then.apart
        ]
        now = [ours for ours in found if ours is not None]
        if now:
            rows[then.source, then.machine, then.kernel].append(Row(then, tuple(now)))
    return dict(rows)


def _draw_then(axes: Axes, rows: Sequence[Row]) -> None:
    deltas = [row.then.delta or 0.0 for row in rows]
    for index, row in enumerate(rows):
        axes.plot([0, deltas[index]], [index, index], color=MUTED, linewidth=1.2)
        axes.plot([deltas[index]], [index], "o", color=style.VERMILLION, markersize=6)
        stated = row.then.delta_stated
        if stated is not None and row.then.differs:
            axes.plot([float(stated)], [index], "x", color=INK, markersize=7, mew=1.5)
        style.note(axes, index, amount(row.then.delta, True), 7.5)
    _finish(axes, [abs(delta) for delta in deltas], min(*deltas, 0), max(*deltas, 0))
    units = sorted({row.then.unit for row in rows})
    axes.set_xlabel(f"added, {' and '.join(units)}")


def _finish(
    axes: Axes, sizes: Sequence[float], low: float, high: float, least: float = 0.0
) -> None:
    axes.axvline(0, color=MUTED, linewidth=0.8)
    small = sorted(size for size in sizes if size > 0)
    floor = max(small[len(small) // 4], small[-1] / 300, least) if small else 1.0
    pad = 0.06 * ((high - low) or 1.0)
    low, high = (1.3 * low if low < 0 else -pad), (1.3 * high if high > 0 else pad)
    style.signed_axis(axes, low, high, floor, most=2 if low < -pad < pad < high else 3)
    if axes.get_xscale() == "symlog":
        low, high = min(low, -floor), max(high, floor)
    axes.set_xlim(low, high)


def _draw_now(axes: Axes, rows: Sequence[Row]) -> None:
    sizes, low, high = [], 0.0, 0.0
    for index, row in enumerate(rows):
        texts = []
        for step, ours in enumerate(row.now):
            colour, marker = TIER_LOOK.get(ours.result.tier, (INK, "D"))
            at = index + 0.22 * (step - (len(row.now) - 1) / 2)
            ends = [e for e in (ours.interval.lo, ours.interval.hi) if math.isfinite(e)]
            if len(ends) == 2:
                axes.plot(ends, [at, at], color=colour, linewidth=1.2)
            axes.plot([ours.delta], [at], marker, color=colour, markersize=5)
            sizes.append(abs(ours.delta))
            low, high = min(low, ours.delta, *ends), max(high, ours.delta, *ends)
            texts.append(amount(ours.delta, True))
        style.note(axes, index, " / ".join(texts), 7.5)
    least = min((o.result.margin or 0.0) for row in rows for o in row.now)
    _finish(axes, sizes, min(low, -least), max(high, least), least)
    units = sorted({ours.result.unit for row in rows for ours in row.now})
    axes.set_xlabel(f"added, {' and '.join(units)} per operation")


def _legend(figure: Figure, tiers: Sequence[str], differs: bool) -> None:
    handles = [
        Line2D([], [], color=style.VERMILLION, marker="o", ls="", label="published, recomputed")
    ]
    if differs:
        label = "as stated, where its numbers differ"
        handles.append(Line2D([], [], color=INK, marker="x", ls="", label=label))
    for tier in tiers:
        colour, marker = TIER_LOOK.get(tier, (INK, "D"))
        handles.append(Line2D([], [], color=colour, marker=marker, label=f"here, {tier}"))
    legend_above(figure, handles, len(handles))


def then_and_now(rows: Mapping[Machine, Sequence[Row]], name: str) -> Drawn:
    """The figure: a row of panels for each published machine, published left, ours right."""
    if not rows:
        return None
    machines = sorted(rows, key=lambda key: (key[0] != "markers-0.20", key))
    heights = [max(2.0, len(rows[machine])) * (style.ROW + 0.03) for machine in machines]
    figure, grid = panels(heights, columns=2)
    for (left, right), machine in zip(grid, machines, strict=True):
        _draw_then(left, rows[machine])
        _draw_now(right, rows[machine])
        name_rows(left, [row.label for row in rows[machine]])
        name_rows(right, ["" for _ in rows[machine]])
        year = rows[machine][0].then.date[:4]
        left.set_title(f"{machine[1]}, {machine[2]}, {year}")
        right.set_title("here, now")
    tiers = sorted({o.result.tier for r in rows.values() for row in r for o in row.now})
    _legend(figure, tiers, any(row.then.differs for r in rows.values() for row in r))
    words = "; ".join(
        f"{machine[1]} {row.label} {amount(row.then.delta, True)} {row.then.unit}, here "
        + " and ".join(f"{amount(o.delta, True)} ({o.result.tier})" for o in row.now)
        for machine in machines
        for row in rows[machine]
    )
    return figure, Picture(
        name,
        "Then and now",
        "Every machine on its own axis, since a cycle of one is not a cycle of another. Costs over"
        " the same kind of reference on both sides.",
        f"Published added costs beside those measured here. {words}.",
    )
