# SPDX-License-Identifier: GPL-2.0-only
"""Published costs beside ours: two panels for each machine, each with its own axis."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kmtools.analyse.published import Published, successors
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import Result
from kmtools.measure.rundir import UNIT_GUEST, UNIT_TSC
from kmtools.report.figures import rows as drawing_rows
from kmtools.report.figures.rows import Pair, Panel
from kmtools.report.figures.scales import signed
from kmtools.report.table import amount

Machine = tuple[str, str, str]
# The tier of ours that is drawn, the best first; the table has all.
BEST = ("metal", "native", "vm")


SLOWER_WITHOUT = "without markers it was slower"
# Caveats of published costs, by source, benchmark and variant.
CAVEATS = {
    "markers-0.20 empty-loop: nop-1-4": "no true nop on x86-64",
    "markers-0.20 memcpy-4096: nop-1-4": "no true nop on x86-64",
    "markers-0.20 marker-enabled: varargs-empty-probe-no-preempt-disable": (
        "published as 10.45 at first"
    ),
    "markers-0.20 marker-enabled: varargs-probe-decodes-format": ("it falls through from %d to %p"),
    "immediate-values getppid-pressure: immediate": SLOWER_WITHOUT,
    "immediate-values getppid-pressure: global-variable": SLOWER_WITHOUT,
    "immediate-values getppid-quiet: global-variable": SLOWER_WITHOUT,
}


@dataclass(frozen=True)
class Ours:
    """Our counterpart of one published cost; delta in `unit` per operation, over a variant."""

    tier: str
    unit: str
    margin: float
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

    @property
    def short(self) -> str:
        """The label in a figure."""
        return self.label.removeprefix("marker-")


def counterpart(result: Result, over: str) -> Ours | None:
    """Our cost of a result over our variant `over` of the same benchmark."""
    own = (result.tier, result.unit, result.margin or 0.0)
    if result.baseline == over and result.delta is not None and result.delta_ci is not None:
        return Ours(*own, result.delta, result.delta_ci, over)
    return Ours(*own, *result.also_over[over], over) if over in result.also_over else None


def join(results: Sequence[Result], numbers: Sequence[Published]) -> dict[Machine, list[Row]]:
    """Published costs that have a counterpart measured in cycles here, by machine."""
    timed = {r.key: r for r in results if r.unit in (UNIT_TSC, UNIT_GUEST)}
    names = successors()
    rows: dict[Machine, list[Row]] = defaultdict(list)
    for then in numbers:
        if then.delta is None or then.over is None or then.whole:
            continue
        bases = sorted(set(names.get((then.source, then.over), [])))
        found = [
            counterpart(r, base)
            for ours in names.get((then.source, f"{then.benchmark}:{then.variant}"), [])
            for benchmark, base in bases
            for r in timed.values()
            if benchmark == ours[0] and (r.benchmark, r.variant) == ours and r.tier != then.apart
        ]
        now = [ours for ours in found if ours is not None]
        if now:
            rows[then.source, then.machine, then.kernel].append(Row(then, tuple(now)))
    return dict(rows)


def smallest(values: Sequence[float]) -> float:
    """The size below which such values count as nothing on an axis: the lower quartile of their
    sizes, but no less than a three-hundredth of the largest."""
    sizes = sorted(abs(value) for value in values if value and math.isfinite(value))
    return max(sizes[len(sizes) // 4], sizes[-1] / 300) if sizes else 1.0


def caveat_of(then: Published) -> str:
    """The caveat of a published cost, in short; the table has the whole notes."""
    if then.differs and then.delta_stated is not None:
        return f"stated: {float(then.delta_stated):+g}, against its totals"
    return CAVEATS.get(f"{then.source} {then.benchmark}: {then.variant}", "")


def then_row(row: Row) -> drawing_rows.Row:
    """A published cost with its published spread, and a cross where another one was stated."""
    then = row.then
    assert then.delta is not None
    words, odd = amount(then.delta, True), None
    half = then.stddev or 0.0
    if half:
        words += f" ± {amount(half)}"
    if then.differs and then.delta_stated is not None:
        odd = float(then.delta_stated)
    caveat = caveat_of(then)
    ends = (then.delta - half, then.delta + half)
    return drawing_rows.Row(row.short, then.delta, *ends, "then", words, caveat=caveat, odd=odd)


def ours_of(row: Row) -> Ours:
    """Our counterpart that is drawn."""
    return min(row.now, key=lambda o: BEST.index(o.tier))


def now_row(row: Row) -> drawing_rows.Row:
    """Our counterpart of a published cost."""
    ours = ours_of(row)
    ends = (ours.interval.lo, ours.interval.hi)
    words = amount(ours.delta, True)
    if all(map(math.isfinite, ends)):
        words += f" ± {amount((ends[1] - ends[0]) / 2)}"
    # The row must be as high as the published row beside it.
    blank = caveat_of(row.then)
    return drawing_rows.Row(row.short, ours.delta, *ends, "ours", words, blank=blank)


def pair(machine: Machine, rows: Sequence[Row]) -> Pair:
    """The panel of a published machine, and that of ours."""
    then, now = [then_row(row) for row in rows], [now_row(row) for row in rows]
    year, units = rows[0].then.date[:4], sorted({row.then.unit for row in rows})
    ours = sorted({ours_of(row).unit for row in rows})
    least = min(ours_of(row).margin for row in rows)
    here = [end for row in now for end in (row.value, row.lo, row.hi)]
    floor = max(least, smallest([row.value for row in now]))
    published = [end for row in then for end in (row.value, row.lo, row.hi, row.odd or 0.0)]
    left = signed(published, smallest([row.value for row in then]))
    return Pair(
        f"{machine[1]}, {machine[2]}, {year}",
        Panel(f"Then, {year}", f"added, {' and '.join(units)}", left, then),
        Panel("Here, now", f"added, {' and '.join(ours)}", signed(here, floor), now),
    )


def ordered(rows: Mapping[Machine, Sequence[Row]]) -> list[Machine]:
    """The machines, that of 2006 first."""
    return sorted(rows, key=lambda key: (key[0] != "markers-0.20", key))
