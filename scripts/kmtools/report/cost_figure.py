# SPDX-License-Identifier: GPL-2.0-only
"""Makes the first figure of the page: costs of a dormant marker and of a test of a variable, in hot
and in cold code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kmtools.analyse.density import SiteCost
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import Result
from kmtools.report import marker_cost
from kmtools.report.figures.rows import Panel, Row
from kmtools.report.figures.scales import make_signed_scale
from kmtools.report.marker_cost import COLD_CODE_BENCHMARKS, Key
from kmtools.report.table import format_amount

MARKER, VARIABLE = "marker", "a variable"
# The contexts of a site, such as hot code or cold code. For each context: the benchmarks that
# measure it, the best first, each as (benchmark, variant with a marker, variant with a variable).
CONTEXTS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    ("hot, among others", (
        ("density-one", "marker-jump-middle", "marker-generic-middle"),
        ("density-spread", "marker-jump-1", "marker-generic-1"),
    )),
    ("hot, after a branch", (
        ("density-one", "marker-jump-first", "marker-generic-first"),
        ("density-full", "marker-jump-1", "marker-generic-1"),
    )),
    ("hot", (
        ("density-full", "marker-jump", "marker-generic"),
        ("density-empty", "marker-jump", "marker-generic"),
        ("empty-loop", "marker-jump", "marker-generic"),
    )),
    ("cold code", tuple((name, "marker-jump", "marker-generic") for name in COLD_CODE_BENCHMARKS)),
    ("cold data", (("cold-branch", "jump", "memory"),)),
)  # fmt: skip
# The `floor` of make_signed_scale(): the size of insignificant costs, in the unit of the panel.
INSIGNIFICANT_COST = 0.25


def find_variant_cost(
    benchmark: str, variant: str, results: Mapping[Key, Result], sites: Mapping[Key, SiteCost]
) -> tuple[float, Interval, str, str] | None:
    """Return the cost of a variant with its interval, its unit and its verdict: the cost of one
    more site if `sites` has the variant, otherwise its added cost in `results`. Return None if the
    run has not measured the variant."""
    if cost := sites.get((benchmark, variant)):
        one = marker_cost.convert_to_marker_cost(cost, "", "", "", "")
        assert one.value is not None and one.ci is not None
        return one.value, one.ci, one.unit, one.verdict
    result = results.get((benchmark, variant))
    if result is None or result.delta is None or result.delta_ci is None:
        return None
    return (*marker_cost.convert_added_cost_to_core_cycles(result), result.verdict)


def make_dormant_cost_rows(
    results: Mapping[Key, Result], sites: Mapping[Key, SiteCost]
) -> tuple[list[Row], str]:
    """Make, for each of CONTEXTS, a row for the marker and a row for the variable. Return the rows,
    and the unit that all rows have. `sites` has the costs of one more site."""
    rows: list[Row] = []
    units: list[str] = []
    for place, several in CONTEXTS:
        if place == "hot" and rows:
            # Loops with further instructions were measured, so omit the loops that contain only
            # markers.
            continue
        known = [
            row
            for row in several
            if any(find_variant_cost(row[0], f, results, sites) for f in row[1:])
        ]
        for name, variant in zip((MARKER, VARIABLE), known[0][1:] if known else (), strict=False):
            one = find_variant_cost(known[0][0], variant, results, sites)
            if one is not None:
                value, ci, unit, verdict = one
                words = format_amount(value, True)
                rows.append(Row(f"{place}: {name}", value, ci.lo, ci.hi, verdict, words))
                units.append(unit)
    return rows, units[0] if units else ""


def make_dormant_cost_panel(results: Sequence[Result], costs: Sequence[SiteCost]) -> Panel | None:
    """Return the panel with the costs of dormant sites in the best tier (measurement environment)
    of a run; None if no tier has cycles of a real CPU."""
    tier = marker_cost.find_best_real_cpu_tier(results)
    if tier is None:
        return None
    own = marker_cost.index_results_by_variant(r for r in results if (r.tier, r.kernel) == tier)
    sites = {(c.benchmark, c.flavour): c for c in costs if (c.tier, c.kernel) == tier}
    rows, unit = make_dormant_cost_rows(own, sites)
    if not rows:
        return None
    ends = [end for row in rows for end in (row.value, row.lo, row.hi)]
    axis = make_signed_scale(ends, INSIGNIFICANT_COST)
    return Panel(f"Dormant: what one site adds ({tier[0]})", f"{unit} for one site", axis, rows)


def describe_panel(panel: Panel) -> str:
    """Return a sentence with the numbers of the figure."""
    parts = ", ".join(f"{row.name} {row.words}" for row in panel.rows)
    return f"Cost of one dormant site in {panel.unit}: {parts}."
