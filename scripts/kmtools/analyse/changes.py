# SPDX-License-Identifier: GPL-2.0-only
"""Compares two runs: computes the change of each row, its confidence interval and a verdict.

A row is a variant of a benchmark (see rows.py). The change of a row is the relative difference of
the costs in runs A and B, in percent. The interval of a change is a t interval over the clusters of
both runs. All intervals of judged rows contain the true changes with a confidence of 99 %: the
error probability of each interval is 1 % divided by the number of judged rows and by the number of
comparisons (Bonferroni). If either run has a single process, the interval is extended to contain
the 95 % interval over code layouts. Finally the interval is widened by one step of the clock of
each run.

Verdicts follow the rule of verdicts.py, with a margin in percent. The noise floor of a benchmark is
the absolute change of its A/A clone. If a run has a single process, the noise floor is the larger
absolute end of the interval of the clone's change. A row is slower or faster only if its whole
interval lies beyond the margin and its change exceeds the noise floor. The verdicts slower and
faster use this 99 % confidence for all rows together, because a false alarm in any row is an error
of the comparison. The verdict equivalent uses the 95 % interval of the row alone, as in a report.
Exact counts are compared as numbers. If the grade of a benchmark is poor in one of the runs, the
verdicts of its rows are withheld, as in the report of that run.

A whole row (see rows.py), such as the baseline, changes with the clock and the load of the machine,
and no clone measures by how much. The change of a whole row is always shown, but gets a verdict
only if the user asks for one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kmtools.analyse import comparison_key, stats, student
from kmtools.analyse.rows import EXACT, SEVERAL_KERNELS, SHARE, WHOLE, Row, RowName
from kmtools.analyse.stats import CONFIDENCE, UNBOUNDED, Interval
from kmtools.analyse.verdicts import (
    EQUIVALENT,
    FEWER,
    IDENTICAL,
    MORE,
    TIMED_VERDICTS,
    UNRESOLVED,
    WITHHELD,
    decide_verdict,
)
from kmtools.analyse.words import MARGIN, MISSING, NEW, NOT_COMPARABLE, NOT_JUDGED
from kmtools.base.text import format_count

# Family-wise error: the largest probability that any interval of a comparison misses the true
# change of its row.
FAMILY_WISE_ERROR = 0.01


@dataclass(frozen=True)
class Change:
    """A row of a comparison of runs A and B. `percent` is the change from A to B, None if it cannot
    be computed; `interval`, `floor` and `margin` are in percent, too. `kernel` is the kernel of the
    row if a run has rows of this name in several kernels, else empty."""

    name: RowName
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
    kernel: str = ""

    @property
    def is_comparable(self) -> bool:
        """True if both runs have the row, and measured it in comparable ways."""
        return self.verdict not in (MISSING, NEW, NOT_COMPARABLE)


def choose_row_of_kernel(rows: Sequence[Row], kernel: str) -> Row | None:
    """Return the first of `rows` (results of variants) that was measured in `kernel`. Without such
    a row, return the only row of `rows`, or None if `rows` has several rows or none."""
    same = [row for row in rows if row.kernel == kernel]
    return same[0] if same else rows[0] if len(rows) == 1 else None


def pair_rows_of_runs(a: Sequence[Row], b: Sequence[Row]) -> list[tuple[Row | None, Row | None]]:
    """Pair each row (variant) of run A with the same row of run B; None stands for a row that a run
    lacks."""
    pairs: list[tuple[Row | None, Row | None]] = []
    others: dict[RowName, list[Row]] = {}
    for row in b:
        others.setdefault(row.name, []).append(row)
    kernels: dict[RowName, int] = {}
    for row in a:
        kernels[row.name] = kernels.get(row.name, 0) + 1
    used: set[int] = set()
    for row in a:
        found = others.get(row.name, [])
        only = kernels[row.name] == 1
        match = choose_row_of_kernel(
            found, row.kernel if only or any(f.kernel == row.kernel for f in found) else ""
        )
        match = match if only or (match and match.kernel == row.kernel) else None
        if match is not None:
            used.add(id(match))
        pairs.append((row, match))
    return pairs + [(None, row) for row in b if id(row) not in used]


def compute_variance_of_mean(values: np.ndarray) -> float:
    """Return the variance of the mean of independent estimates."""
    return float(np.var(values, ddof=1)) / len(values)


def combine_degrees_of_freedom(variances: tuple[float, float], degrees: tuple[int, int]) -> int:
    """Return the degrees of freedom of the sum of two estimated variances, by Welch's formula.
    `degrees` has the degrees of freedom of each variance. Both variances may be 0."""
    below = sum(one**2 / degree for one, degree in zip(variances, degrees, strict=True))
    return max(1, int(sum(variances) ** 2 / below)) if below else sum(degrees)


def compute_relative_change(a: Row, b: Row, alpha: float) -> tuple[float, Interval, str]:
    """Return the change from row `a` to row `b` in percent, the interval of the change with error
    probability `alpha`, and a note, which may be empty."""
    before, after = (float(np.mean(row.values)) if len(row.values) else 0.0 for row in (a, b))
    if before <= 0 or after <= 0:
        return math.nan, UNBOUNDED, "a cost is not above zero"
    ratio = after / before
    percent = 100 * (ratio - 1)
    if min(len(a.values), len(b.values)) < 2:
        return percent, UNBOUNDED, "too few blocks"
    variances = (
        compute_variance_of_mean(b.values) / before**2,
        ratio**2 * compute_variance_of_mean(a.values) / before**2,
    )
    total = sum(variances)
    degrees = (len(b.values) - 1, len(a.values) - 1)
    freedom = combine_degrees_of_freedom(variances, degrees)
    half = 100 * student.compute_t_quantile(alpha, freedom) * math.sqrt(total)
    interval = Interval(percent - half, percent + half)
    note = ""
    if min(a.processes, b.processes) == 1:
        note = "one process"
        interval = interval.union(compute_change_interval_over_layouts(a, b, interval))
    return percent, interval.widened(100 * (a.resolution + b.resolution)), note


def compute_change_interval_over_layouts(a: Row, b: Row, fallback: Interval) -> Interval:
    """Return the 95 % interval of the change from row `a` to row `b`, computed from one change for
    each code layout that both rows have. If the rows share fewer than two layouts, return
    `fallback`."""
    both = sorted(set(a.layouts) & set(b.layouts))
    ratios = [b.layouts[n] / a.layouts[n] - 1 for n in both if a.layouts[n] > 0]
    if len(ratios) < 2:
        return fallback
    half = student.compute_t_quantile(1 - CONFIDENCE, len(ratios) - 1) * math.sqrt(
        compute_variance_of_mean(np.array(ratios))
    )
    centre = float(np.mean(ratios))
    return Interval(100 * (centre - half), 100 * (centre + half))


def compute_exact_count_change(a: Row, b: Row) -> tuple[float, Interval, str, str]:
    """Return the change of an exact count from row `a` to row `b` in percent, the range of the
    change, the verdict on the change, and a note, which may be empty."""
    scale = 100 / abs(a.cost) if a.cost else math.nan
    percent = (b.cost - a.cost) * scale
    interval = Interval((b.lo - a.hi) * scale, (b.hi - a.lo) * scale)
    steady = a.lo == a.hi and b.lo == b.hi
    verdict = IDENTICAL if steady and a.lo == b.lo else UNRESOLVED
    if b.lo > a.hi:
        verdict = MORE
    elif b.hi < a.lo:
        verdict = FEWER
    note = (
        f"{format_count(b.cost - a.cost, signed=True)} instructions"
        if verdict in (MORE, FEWER)
        else ""
    )
    return percent, interval, verdict, note if steady else "blocks disagree"


def explain_incomparable_rows(a: Row, b: Row) -> str:
    """Return the reason why the rows of two runs cannot be compared; "" if they can be compared."""
    if a.unit != b.unit:
        return f"A in {a.unit}, B in {b.unit}"
    if a.kind != b.kind:
        return "only one of the two runs has a baseline"
    if a.kind == SHARE and a.baseline != b.baseline:
        return f"the baseline is {a.baseline} in A, and {b.baseline} in B"
    if comparison_key.are_layouts_incomparable(a.places, b.places):
        return "A at {}, B at {}".format(
            *comparison_key.describe_layout_difference(a.places, b.places)
        )
    if a.crowded != b.crowded:
        few, enough = ("A", "B") if a.crowded else ("B", "A")
        return f"{few} has too few blocks to tell its code layouts apart, {enough} has enough"
    return ""


def make_incomparable_change(a: Row | None, b: Row | None, margin: float) -> Change | None:
    """Return a Change without a number, whose verdict says that only one run has the row, or that
    the two rows cannot be compared. Return None if the rows can be compared."""
    row = a or b
    assert row is not None
    verdict, note = (MISSING, "only in A") if b is None else (NEW, "only in B")
    if a is not None and b is not None:
        verdict, note = NOT_COMPARABLE, explain_incomparable_rows(a, b)
        if not note:
            return None
    return Change(row.name, row.unit, a, b, row.kind, None, UNBOUNDED, None, margin, verdict, note)


def compute_noise_floors(pairs: Sequence[tuple[Row, Row]]) -> Mapping[tuple[str, str, str], float]:
    """Return the noise floor of each benchmark in percent: the absolute change of the A/A clone
    from run A to run B. If a run has a single process, the variance between processes is unknown,
    so the floor is the larger absolute end of the interval of the clone's change."""
    found = {}
    for a, b in pairs:
        if a.is_clone and a.kind == SHARE:
            percent, interval, _ = compute_relative_change(a, b, 1 - CONFIDENCE)
            single = min(a.processes, b.processes) == 1
            floor = (
                interval.max_distance_from_zero if single or math.isnan(percent) else abs(percent)
            )
            found[a.name.tier, a.kernel, a.name.benchmark] = floor
    return found


def find_noise_floor(floors: Mapping[tuple[str, str, str], float], row: Row) -> float | None:
    """Return the noise floor of a row's benchmark in the row's kernel; None if the benchmark has no
    A/A clone. For a row that was merged from several kernels, return the largest floor of all
    kernels. A floor that was merged from several kernels applies to rows of each kernel."""
    own = [
        floor
        for (tier, kernel, benchmark), floor in floors.items()
        if (tier, benchmark) == (row.name.tier, row.name.benchmark)
        and (kernel == row.kernel or SEVERAL_KERNELS in (kernel, row.kernel))
    ]
    return max(own, default=None)


def describe_poor_grades(a: Row, b: Row) -> str:
    """Return the reasons why the grade of row `a` or row `b` is poor, each with the name of the run
    (A or B); an empty text if neither grade is poor."""
    reasons: dict[str, str] = {}
    for side, row in (("A", a), ("B", b)):
        if why := row.poor.partition("; next: ")[0]:
            reasons[why] = "A and B" if why in reasons else side
    return "; ".join(f"{sides}: {why}" for why, sides in reasons.items())


def judge_timed_change(
    a: Row, b: Row, alpha: float, margin: float, floor: float | None, judged: bool
) -> Change:
    """Return the change of a timed row from run A to run B, with a verdict if `judged` is true.
    `alpha` is the error probability of the interval; `margin` and the noise floor `floor` are in
    percent."""
    percent, interval, note = compute_relative_change(a, b, alpha)
    verdict = NOT_JUDGED
    if judged:
        own_floor = None if a.is_clone else floor
        verdict = decide_verdict(percent, interval, margin, own_floor)
        alone = compute_relative_change(a, b, 1 - CONFIDENCE)[1]
        if (
            verdict == UNRESOLVED
            and decide_verdict(percent, alone, margin, own_floor) == EQUIVALENT
        ):
            verdict = EQUIVALENT
    if verdict in TIMED_VERDICTS and (poor := describe_poor_grades(a, b)):
        verdict, note = WITHHELD, "; ".join(filter(None, (poor, note)))
    return Change(a.name, a.unit, a, b, a.kind, percent, interval, floor, margin, verdict, note)


def compare_rows(
    a: Sequence[Row],
    b: Sequence[Row],
    margin: float = MARGIN,
    judge_whole_rows: bool = False,
    comparisons: int = 1,
) -> list[Change]:
    """Return the change of every row from run A to run B: first the rows of A, then the rows that
    only B has. `margin` is in percent. If `judge_whole_rows` is true, whole rows (see rows.py)
    are judged, too. `comparisons` is the number of pairs of runs that share the error probability
    FAMILY_WISE_ERROR."""
    pairs = pair_rows_of_runs(a, b)
    both = [(x, y) for x, y in pairs if x and y and make_incomparable_change(x, y, margin) is None]
    kinds = (SHARE, WHOLE) if judge_whole_rows else (SHARE,)
    count = comparisons * sum(1 for x, _ in both if x.kind in kinds)
    alpha = FAMILY_WISE_ERROR / max(1, count)
    reach = compute_noise_floors(both)
    counts = [Counter(row.name for row in rows) for rows in (a, b)]
    found = []
    for x, y in pairs:
        change = make_incomparable_change(x, y, margin)
        if change is None and x is not None and y is not None:
            if x.kind == EXACT:
                percent, interval, verdict, note = compute_exact_count_change(x, y)
                change = Change(
                    x.name, x.unit, x, y, EXACT, percent, interval, None, 0.0, verdict, note
                )
            else:
                judged = x.kind in kinds
                level = alpha if judged else 1 - CONFIDENCE
                floor = find_noise_floor(reach, x)
                change = judge_timed_change(
                    x, y, level, margin, floor if x.kind == SHARE else None, judged
                )
        if change is not None:
            several = any(names[change.name] > 1 for names in counts)
            row = x or y
            found.append(replace(change, kernel=row.kernel) if several and row else change)
    return found


def compute_median_detectable_change(changes: Sequence[Change]) -> float | None:
    """Return the median, over all judged rows, of the smallest detectable change in percent."""
    halves = [
        c.margin + 2 * c.interval.half_width
        for c in changes
        if c.kind != EXACT and c.verdict != NOT_JUDGED and c.interval != stats.UNBOUNDED
    ]
    return float(np.median(halves)) if halves else None
