# SPDX-License-Identifier: GPL-2.0-only
"""Compares two runs: an interval and a verdict for each row.

The change of a row is the relative difference of its numbers, in percent; rows.py defines them. Its
interval is a t interval over the clusters of both runs. It holds for all judged rows at once with
99 %: the level of each is divided by the number of rows (Bonferroni). With a single process in a
run the interval is extended to contain that over code layouts. It is widened by one step of the
clock.

The rule is that of verdicts.py, with a margin in percent. The noise floor of a benchmark is the
absolute change of its A/A clone; with a single process it is the largest distance from zero in the
interval of that change. So a row is slower or faster only if its whole interval lies beyond the
margin and its change beyond what two copies of the same code changed by. A row is called slower or
faster by the interval that holds for all rows at once, because a false alarm in any of many rows is
an error of the comparison. A row is called equivalent by its own 95 % interval, as in a report.
Counts are compared as numbers. Where the numbers of a benchmark are poor in one of the runs, its
rows are withheld, as in the report of that run.

A whole row (see rows.py), such as the baseline, changes with the clock and the load of the machine,
and no clone measures by how much. Its change is shown, and judged on demand only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kmtools.analyse import comparison_key, stats, student
from kmtools.analyse.rows import EXACT, SHARE, WHOLE, Name, Row
from kmtools.analyse.stats import CONFIDENCE, UNBOUNDED, Interval
from kmtools.analyse.verdicts import (
    EQUIVALENT,
    FEWER,
    IDENTICAL,
    MORE,
    SAID,
    UNRESOLVED,
    WITHHELD,
    decide,
)
from kmtools.analyse.words import MARGIN, MISSING, NEW, NOT_COMPARABLE, NOT_JUDGED

# Family-wise error: the largest probability that any interval of a comparison misses the true
# change of its row.
OUTSIDE = 0.01


@dataclass(frozen=True)
class Change:
    """A row of a comparison: the change from A to B in percent, None where there is none."""

    name: Name
    unit: str
    a: Row | None
    b: Row | None
    kind: str
    percent: float | None
    interval: Interval
    floor: float | None
    margin: float
    verdict: str
    note: str = ""

    @property
    def comparable(self) -> bool:
        """Whether both runs have the row, measured in comparable ways."""
        return self.verdict not in (MISSING, NEW, NOT_COMPARABLE)


def choose(rows: Sequence[Row], kernel: str) -> Row | None:
    """The row of a kernel, else the only row; None if there are several of other kernels."""
    same = [row for row in rows if row.kernel == kernel]
    return same[0] if same else rows[0] if len(rows) == 1 else None


def aligned(a: Sequence[Row], b: Sequence[Row]) -> list[tuple[Row | None, Row | None]]:
    """The rows of two runs side by side; None where one of them lacks the row."""
    pairs: list[tuple[Row | None, Row | None]] = []
    others: dict[Name, list[Row]] = {}
    for row in b:
        others.setdefault(row.name, []).append(row)
    kernels: dict[Name, int] = {}
    for row in a:
        kernels[row.name] = kernels.get(row.name, 0) + 1
    used: set[int] = set()
    for row in a:
        found = others.get(row.name, [])
        only = kernels[row.name] == 1
        match = choose(
            found, row.kernel if only or any(f.kernel == row.kernel for f in found) else ""
        )
        match = match if only or (match and match.kernel == row.kernel) else None
        if match is not None:
            used.add(id(match))
        pairs.append((row, match))
    return pairs + [(None, row) for row in b if id(row) not in used]


def spread(values: np.ndarray) -> float:
    """The variance of the mean of some estimates."""
    return float(np.var(values, ddof=1)) / len(values)


def degrees(parts: tuple[float, float], sizes: tuple[int, int]) -> int:
    """The degrees of freedom of a sum of two variances: the sum of both if they are equal, else
    Welch's, which are fewer."""
    below = sum(part**2 / size for part, size in zip(parts, sizes, strict=True))
    if sizes[0] == sizes[1] or not below:
        return sum(sizes)
    return max(1, int(sum(parts) ** 2 / below))


def relative(a: Row, b: Row, outside: float) -> tuple[float, Interval, str]:
    """The change in percent, its interval with error probability `outside`, and a note."""
    before, after = (float(np.mean(row.values)) if len(row.values) else 0.0 for row in (a, b))
    if before <= 0 or after <= 0:
        return math.nan, UNBOUNDED, "a cost is not above zero"
    ratio = after / before
    percent = 100 * (ratio - 1)
    if min(len(a.values), len(b.values)) < 2:
        return percent, UNBOUNDED, "too few blocks"
    parts = (spread(b.values) / before**2, ratio**2 * spread(a.values) / before**2)
    total = sum(parts)
    sizes = (len(b.values) - 1, len(a.values) - 1)
    freedom = degrees(parts, sizes)
    half = 100 * student.quantile(outside, freedom) * math.sqrt(total)
    interval = Interval(percent - half, percent + half)
    note = ""
    if min(a.processes, b.processes) == 1:
        note = "one process"
        interval = interval.hull(of_layouts(a, b, interval))
    return percent, interval.widened(100 * (a.resolution + b.resolution)), note


def of_layouts(a: Row, b: Row, other: Interval) -> Interval:
    """The 95 % interval over the layouts that both rows have; `other` if these are fewer than
    two."""
    both = sorted(set(a.layouts) & set(b.layouts))
    ratios = [b.layouts[n] / a.layouts[n] - 1 for n in both if a.layouts[n] > 0]
    if len(ratios) < 2:
        return other
    half = student.quantile(1 - CONFIDENCE, len(ratios) - 1) * math.sqrt(spread(np.array(ratios)))
    centre = float(np.mean(ratios))
    return Interval(100 * (centre - half), 100 * (centre + half))


def exact_change(a: Row, b: Row) -> tuple[float, Interval, str, str]:
    """The change of a count in percent, its range, its verdict and a note."""
    scale = 100 / abs(a.cost) if a.cost else math.nan
    percent = (b.cost - a.cost) * scale
    interval = Interval((b.lo - a.hi) * scale, (b.hi - a.lo) * scale)
    steady = a.lo == a.hi and b.lo == b.hi
    verdict = IDENTICAL if steady and a.lo == b.lo else UNRESOLVED
    if b.lo > a.hi:
        verdict = MORE
    elif b.hi < a.lo:
        verdict = FEWER
    note = f"{b.cost - a.cost:+g} instructions" if verdict in (MORE, FEWER) else ""
    return percent, interval, verdict, note if steady else "blocks disagree"


def unlike(a: Row, b: Row) -> str:
    """The reason why the rows of two runs cannot be compared; empty if they can."""
    if a.unit != b.unit:
        return f"A in {a.unit}, B in {b.unit}"
    if a.kind != b.kind:
        return "only one of them has a baseline"
    if comparison_key.differ(a.places, b.places):
        return "A at {}, B at {}".format(*comparison_key.said(a.places, b.places))
    if a.crowded != b.crowded:
        few, enough = ("A", "B") if a.crowded else ("B", "A")
        return f"{few} has too few blocks to tell its code layouts apart, {enough} has enough"
    return ""


def lacking(a: Row | None, b: Row | None, margin: float) -> Change | None:
    """The change of a row that only one run has or that cannot be compared; None if it can."""
    row = a or b
    assert row is not None
    verdict, note = (MISSING, "only in A") if b is None else (NEW, "only in B")
    if a is not None and b is not None:
        verdict, note = NOT_COMPARABLE, unlike(a, b)
        if not note:
            return None
    return Change(row.name, row.unit, a, b, row.kind, None, UNBOUNDED, None, margin, verdict, note)


def floors(pairs: Sequence[tuple[Row, Row]]) -> Mapping[tuple[str, str, str], float]:
    """The noise floor of each benchmark: the absolute change of its A/A clone, in percent. With a
    single process no interval contains the variance between processes; the floor is then the
    largest distance from zero in the clone's interval."""
    found = {}
    for a, b in pairs:
        if a.is_clone and a.kind == SHARE:
            percent, interval, _ = relative(a, b, 1 - CONFIDENCE)
            single = min(a.processes, b.processes) == 1
            floor = interval.reach if single or math.isnan(percent) else abs(percent)
            found[a.name.tier, a.kernel, a.name.benchmark] = floor
    return found


def poverty(a: Row, b: Row) -> str:
    """The reason why two rows are too poor for a verdict; empty if they are not."""
    reasons: dict[str, str] = {}
    for side, row in (("A", a), ("B", b)):
        if why := row.poor.partition("; next: ")[0]:
            reasons[why] = "A and B" if why in reasons else side
    return "; ".join(f"{sides}: {why}" for why, sides in reasons.items())


def timed(
    a: Row, b: Row, outside: float, margin: float, floor: float | None, judged: bool
) -> Change:
    """The change of a timed row."""
    percent, interval, note = relative(a, b, outside)
    verdict = NOT_JUDGED
    if judged:
        own_floor = None if a.is_clone else floor
        verdict = decide(percent, interval, margin, own_floor)
        alone = relative(a, b, 1 - CONFIDENCE)[1]
        if verdict == UNRESOLVED and decide(percent, alone, margin, own_floor) == EQUIVALENT:
            verdict = EQUIVALENT
    if verdict in SAID and (poor := poverty(a, b)):
        verdict, note = WITHHELD, "; ".join(filter(None, (poor, note)))
    return Change(a.name, a.unit, a, b, a.kind, percent, interval, floor, margin, verdict, note)


def compare(
    a: Sequence[Row],
    b: Sequence[Row],
    margin: float = MARGIN,
    wholes: bool = False,
    comparisons: int = 1,
) -> list[Change]:
    """The change of every row from A to B, in the order of tables. `margin` is in percent; `wholes`
    judges rows without a baseline, too; `comparisons` is the number of pairs of runs that are
    judged at once."""
    pairs = aligned(a, b)
    both = [(x, y) for x, y in pairs if x and y and lacking(x, y, margin) is None]
    kinds = (SHARE, WHOLE) if wholes else (SHARE,)
    count = comparisons * sum(1 for x, _ in both if x.kind in kinds)
    outside = OUTSIDE / max(1, count)
    reach = floors(both)
    found = []
    for x, y in pairs:
        change = lacking(x, y, margin)
        if change is None and x is not None and y is not None:
            if x.kind == EXACT:
                percent, interval, verdict, note = exact_change(x, y)
                change = Change(
                    x.name, x.unit, x, y, EXACT, percent, interval, None, 0.0, verdict, note
                )
            else:
                judged = x.kind in kinds
                level = outside if judged else 1 - CONFIDENCE
                floor = reach.get((x.name.tier, x.kernel, x.name.benchmark))
                change = timed(x, y, level, margin, floor if x.kind == SHARE else None, judged)
        if change is not None:
            found.append(change)
    return found


def smallest(changes: Sequence[Change]) -> float | None:
    """The median, over the judged rows, of the smallest detectable change, in percent."""
    halves = [
        c.margin + 2 * c.interval.half_width
        for c in changes
        if c.kind != EXACT and c.verdict != NOT_JUDGED and c.interval != stats.UNBOUNDED
    ]
    return float(np.median(halves)) if halves else None
