# SPDX-License-Identifier: GPL-2.0-only
"""Reads the results of a stored run from its summary.json, and writes the numbers into
README.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from kmtools.analyse.corecycles import CoreCycleRatio
from kmtools.analyse.density import SiteCost
from kmtools.analyse.kept_blocks import parse_kept_blocks_field
from kmtools.analyse.lateness import Lateness
from kmtools.analyse.slopes import CLONE_SUFFIX
from kmtools.analyse.stats import Interval
from kmtools.analyse.switching import SwitchPoint
from kmtools.analyse.verdicts import Result
from kmtools.base.text import use_minus_signs
from kmtools.report import marker_cost

# The lines of README.md around the lines that are replaced.
START, END = "<!-- result: scripts/kmarkers reference -->", "<!-- end of result -->"
Entry = Mapping[str, Any]
# The fields of an entry that name its benchmark.
BENCHMARK = ("tier", "kernel", "benchmark")


def parse_interval(entry: Entry, name: str) -> Interval:
    """Return the interval `name` of an entry; an end that is null is infinite."""
    lo, hi = entry[f"{name}_lo"], entry[f"{name}_hi"]
    return Interval(-math.inf if lo is None else lo, math.inf if hi is None else hi)


def parse_core_cycle_ratio(entry: Entry) -> CoreCycleRatio:
    """Return the ratio of core cycles to TSC cycles in the field `core_cycles` of a result. In runs
    of older versions, this field lacks the spread, which is then 0."""
    return CoreCycleRatio(entry["source"], entry["per_tick"], entry.get("spread", 0.0))


def parse_result_entry(entry: Entry) -> Result:
    """Return the Result of an entry of `results`, without the values of blocks, which summary.json
    lacks. Numbers that are only used together with these values are NaN."""
    core, delta = entry.get("core_cycles"), entry["delta"]
    made: dict[str, Any] = {
        "ci": parse_interval(entry, "ci"),
        "delta_ci": None if delta is None else parse_interval(entry, "delta_ci"),
        "time_ci": None if delta is None else parse_interval(entry, "delta_sign"),
        "layout_ci": None if delta is None else parse_interval(entry, "delta_cluster"),
        "is_clone": entry["variant"] == f"{entry['baseline']}{CLONE_SUFFIX}",
        "correlation": entry["correlation_blocks"],
        "flagged": entry["windows_flagged"],
        "late": Lateness(entry.get("windows_late", 0), **entry.get("late", {})),
        "mean": entry.get("delta_mean"),
        "blocks": parse_kept_blocks_field(entry),
        "alpha": math.nan,
        "core": parse_core_cycle_ratio(core) if core else None,
        "resolution": math.nan,
        "slopes": [],
        "deltas": [],
        "distribution": [(at, high) for at, high in entry.get("distribution", ())],
        "also_over": {
            name: (cost["delta"], parse_interval(cost, "delta_ci"))
            for name, cost in entry.get("also_over", {}).items()
        },
    }
    names = [field.name for field in fields(Result)]
    values: dict[str, Any] = {name: made.get(name, entry.get(name)) for name in names}
    return Result(**values)


def parse_site_cost_entry(entry: Entry, core: CoreCycleRatio | None) -> SiteCost:
    """Return the SiteCost of an entry of `sites`; `core` is the ratio of core cycles to TSC cycles
    in its benchmark. The ratio is not computed from the two costs in the entry, because small costs
    are rounded there."""
    cost, ns = entry["cost"], entry["ns"]
    return SiteCost(
        tier=entry["tier"],
        kernel=entry["kernel"],
        benchmark=entry["benchmark"],
        flavour=entry["flavour"],
        unit=entry["unit"],
        sites=entry["sites"],
        n=entry["n"],
        cost=cost,
        ci=parse_interval(entry, "ci"),
        pass_cost=entry["pass_cost"],
        core=core,
        ns_per_tick=None if ns is None else ns / cost if cost else 0.0,
        note=entry.get("note", ""),
        margin=entry.get("margin") or 0.0,
        caveat=entry.get("caveat", ""),
    )


def parse_summary_results(summary: Entry) -> tuple[list[Result], list[SiteCost]]:
    """Return the results of a run, and the costs of one more site."""
    results = [parse_result_entry(entry) for entry in summary["results"]]
    cores = {(one.tier, one.kernel, one.benchmark): one.core for one in results}
    costs = [
        parse_site_cost_entry(entry, cores.get(tuple(entry[name] for name in BENCHMARK)))
        for entry in summary.get("sites", [])
        if entry["cost"] is not None
    ]
    return results, costs


def parse_switch_points(summary: Entry) -> list[SwitchPoint]:
    """Return what a run measured while many sites were switched, one point for each quantity,
    method and number of sites."""
    names = [field.name for field in fields(SwitchPoint)]
    points = []
    for entry in summary["switching"]:
        values: dict[str, Any] = {name: entry.get(name) for name in names}
        values |= {"ci": parse_interval(entry, "ci"), "blocks": parse_kept_blocks_field(entry)}
        points.append(SwitchPoint(**values))
    return points


def render_marker_cost_table(marker_costs: Sequence[marker_cost.MarkerCost]) -> Iterator[str]:
    """Yield the Markdown lines of the table with the costs of a dormant marker."""
    yield "| one dormant marker | costs | 95 % | verdict | then |"
    yield "|---|---:|---|---|---|"
    for one in marker_costs:
        span = marker_cost.format_cost_interval(one) or "\N{EN DASH}"
        verdict, value = one.verdict or "\N{EN DASH}", marker_cost.format_cost_value(one)
        yield f"| {one.place} | {value} | {span} | {verdict} | {one.then} |"


def render_readme_result_lines(summary: Entry) -> list[str]:
    """Return the lines of README.md about the reference run: a sentence, a figure and a table."""
    found = marker_cost.find_marker_costs(*parse_summary_results(summary))
    alt = "What one dormant site adds, hot and cold"
    return [
        START,
        f"**{use_minus_signs(marker_cost.describe_marker_costs(found))}**",
        "",
        f"![{alt}](results/reference/headline.svg)",
        "",
        *render_marker_cost_table(found),
        END,
    ]


def replace_readme_result_lines(text: str, summary: Entry) -> str:
    """Return the text of README.md with its lines about the reference run replaced."""
    head, start, rest = text.partition(START)
    _, end, tail = rest.partition(END)
    if not start or not end:
        raise ValueError(f"README.md lacks {START} or {END}")
    return head + "\n".join(render_readme_result_lines(summary)) + tail
