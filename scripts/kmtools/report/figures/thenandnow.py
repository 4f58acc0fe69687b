# SPDX-License-Identifier: GPL-2.0-only
"""Pairs published costs with the costs of this run: two panels for each published machine, each
with its own axis."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kmtools.analyse.published import PublishedNumber, read_successor_variants
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import Result
from kmtools.measure.rundir import UNIT_GUEST, UNIT_TSC
from kmtools.report.figures import rows as drawing_rows
from kmtools.report.figures.rows import Pair, Panel
from kmtools.report.figures.scales import make_signed_scale
from kmtools.report.table import format_amount

# A published machine: source, machine, kernel.
Machine = tuple[str, str, str]
# Tiers (measurement environments) in order of preference for the figure, the best first; the table
# has all tiers.
PREFERRED_TIERS = ("metal", "native", "vm")


SLOWER_WITHOUT = "the unmarked kernel was slower"
# Short caveats of published costs, by "SOURCE BENCHMARK: VARIANT".
CAVEATS = {
    "markers-0.20 empty-loop: nop-1-4": "no true nop on x86-64",
    "markers-0.20 memcpy-4096: nop-1-4": "no true nop on x86-64",
    "markers-0.20 marker-enabled: varargs-empty-probe-no-preempt-disable": (
        "published as 10.45 at first"
    ),
    "markers-0.20 marker-enabled: varargs-probe-decodes-format": (
        "the probe falls through from %d to %p"
    ),
    "immediate-values getppid-pressure: immediate": SLOWER_WITHOUT,
    "immediate-values getppid-pressure: global-variable": SLOWER_WITHOUT,
    "immediate-values getppid-quiet: global-variable": SLOWER_WITHOUT,
}


@dataclass(frozen=True)
class MeasuredCost:
    """A cost of this run that corresponds to a published cost: `delta`, in `unit` per operation, is
    the difference from the variant `over`."""

    tier: str
    unit: str
    margin: float
    delta: float
    interval: Interval
    over: str


@dataclass(frozen=True)
class MatchedCost:
    """A published cost and the corresponding costs of this run, all as differences from the same
    kind of reference variant."""

    then: PublishedNumber
    now: tuple[MeasuredCost, ...]

    @property
    def label(self) -> str:
        """The names of the published benchmark and variant."""
        return f"{self.then.benchmark}: {self.then.variant}"

    @property
    def short_label(self) -> str:
        """The label without the prefix marker-, for figures."""
        return self.label.removeprefix("marker-")


def find_cost_over_reference(result: Result, reference: str) -> MeasuredCost | None:
    """Return the cost that the variant of `result` adds to the variant `reference` of the same
    benchmark; None if this cost is unknown."""
    own = (result.tier, result.unit, result.margin or 0.0)
    if result.baseline == reference and result.delta is not None and result.delta_ci is not None:
        return MeasuredCost(*own, result.delta, result.delta_ci, reference)
    return (
        MeasuredCost(*own, *result.also_over[reference], reference)
        if reference in result.also_over
        else None
    )


def pair_published_costs(
    results: Sequence[Result], numbers: Sequence[PublishedNumber]
) -> dict[Machine, list[MatchedCost]]:
    """Return, by published machine, each published cost together with the corresponding costs of
    this run. Published costs that this run has not measured in cycles are left out."""
    timed = {r.key: r for r in results if r.unit in (UNIT_TSC, UNIT_GUEST)}
    names = read_successor_variants()
    rows: dict[Machine, list[MatchedCost]] = defaultdict(list)
    for then in numbers:
        if then.delta is None or then.over is None or then.is_number_of_whole_program:
            continue
        bases = sorted(set(names.get((then.source, then.over), [])))
        found = [
            find_cost_over_reference(r, base)
            for ours in names.get((then.source, f"{then.benchmark}:{then.variant}"), [])
            for benchmark, base in bases
            for r in timed.values()
            if benchmark == ours[0] and (r.benchmark, r.variant) == ours and r.tier != then.apart
        ]
        now = [ours for ours in found if ours is not None]
        if now:
            rows[then.source, then.machine, then.kernel].append(MatchedCost(then, tuple(now)))
    return dict(rows)


def compute_visibility_limit(values: Sequence[float]) -> float:
    """Return the size below which values are insignificant on an axis: the lower quartile of their
    sizes, but at least 1/300 of the largest."""
    sizes = sorted(abs(value) for value in values if value and math.isfinite(value))
    return max(sizes[len(sizes) // 4], sizes[-1] / 300) if sizes else 1.0


def find_published_caveat(published: PublishedNumber) -> str:
    """Return the short caveat of a published cost; the table has the full notes."""
    if published.is_stated_delta_wrong and published.delta_stated is not None:
        return f"stated: {float(published.delta_stated):+g}, against its totals"
    return CAVEATS.get(f"{published.source} {published.benchmark}: {published.variant}", "")


def make_published_row(row: MatchedCost) -> drawing_rows.Row:
    """Return a published cost as a row, with its published spread. If the publication also states
    another cost for the same measurement, a cross marks that cost."""
    then = row.then
    assert then.delta is not None
    words, odd = format_amount(then.delta, True), None
    half = then.stddev or 0.0
    if half:
        words += f" ± {format_amount(half)}"
    if then.is_stated_delta_wrong and then.delta_stated is not None:
        odd = float(then.delta_stated)
    caveat = find_published_caveat(then)
    ends = (then.delta - half, then.delta + half)
    return drawing_rows.Row(
        row.short_label, then.delta, *ends, "then", words, caveat=caveat, odd=odd
    )


def choose_measured_counterpart(row: MatchedCost) -> MeasuredCost:
    """Return the cost to draw next to a published cost: among the corresponding costs of this run,
    the cost from the best tier in PREFERRED_TIERS."""
    return min(row.now, key=lambda o: PREFERRED_TIERS.index(o.tier))


def make_measured_row(row: MatchedCost) -> drawing_rows.Row:
    """Return the cost of this run that corresponds to a published cost, as a row."""
    ours = choose_measured_counterpart(row)
    ends = (ours.interval.lo, ours.interval.hi)
    words = format_amount(ours.delta, True)
    if all(map(math.isfinite, ends)):
        words += f" ± {format_amount((ends[1] - ends[0]) / 2)}"
    # Reserve the space of the caveat, so that the row is as high as the published row next to it.
    blank = find_published_caveat(row.then)
    return drawing_rows.Row(row.short_label, ours.delta, *ends, "ours", words, blank=blank)


def make_panel_pair(machine: Machine, rows: Sequence[MatchedCost]) -> Pair:
    """Return the panel of a published machine and the panel of this run."""
    then, now = [make_published_row(row) for row in rows], [make_measured_row(row) for row in rows]
    year, units = rows[0].then.date[:4], sorted({row.then.unit for row in rows})
    ours = sorted({choose_measured_counterpart(row).unit for row in rows})
    least = min(choose_measured_counterpart(row).margin for row in rows)
    here = [end for row in now for end in (row.value, row.lo, row.hi)]
    floor = max(least, compute_visibility_limit([row.value for row in now]))
    published = [end for row in then for end in (row.value, row.lo, row.hi, row.odd or 0.0)]
    left = make_signed_scale(published, compute_visibility_limit([row.value for row in then]))
    return Pair(
        f"{machine[1]}, {machine[2]}, {year}",
        Panel(f"Then, {year}", f"added, {' and '.join(units)}", left, then),
        Panel("Here, now", f"added, {' and '.join(ours)}", make_signed_scale(here, floor), now),
    )


def sort_published_machines(rows: Mapping[Machine, Sequence[MatchedCost]]) -> list[Machine]:
    """Return the published machines in `rows`, the machine of 2006 first."""
    return sorted(rows, key=lambda key: (key[0] != "markers-0.20", key))
