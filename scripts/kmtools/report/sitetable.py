# SPDX-License-Identifier: GPL-2.0-only
"""Makes the tables of the cost of one more dormant site, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from kmtools.analyse.density import SiteCost
from kmtools.analyse.stats import Interval
from kmtools.base.text import get_terminal_width, split_wide_table, wrap_line
from kmtools.report.table import format_amount

HEADS = ("flavour", "a site", "95 %", "core cycles", "ns", "% of the pass", "95 %", "blocks")


def format_scaled_interval(interval: Interval, scale: float | None = 1.0) -> str:
    """Return an interval as text [lo, hi], multiplied by `scale`; "-" if `scale` is None."""
    if scale is None:
        return "-"
    return (
        f"[{format_amount(interval.lo * scale, True)}, {format_amount(interval.hi * scale, True)}]"
    )


def make_site_rows(costs: Sequence[SiteCost]) -> list[list[str]]:
    """Return a table row with the cost of one more dormant site, for each flavour of site."""
    return [
        [
            cost.flavour,
            format_amount(cost.cost, True),
            format_scaled_interval(cost.ci),
            format_amount(cost.core.convert_ticks(cost.cost), True) if cost.core else "-",
            format_amount(cost.nanoseconds, True),
            format_amount(cost.percent_of_pass, True),
            format_scaled_interval(cost.ci, cost.percent_per_unit),
            str(cost.n),
        ]
        for cost in costs
    ]


def make_site_table_title(cost: SiteCost) -> str:
    """Return the title of a table: benchmark, unit, numbers of sites, and the cost of a pass
    without sites."""
    fewer = ", ".join(map(str, [0, *cost.sites[:-1]]))
    sites = f"{fewer} and {cost.sites[-1]} sites"
    whole = f"a pass without sites takes {format_amount(cost.pass_cost)}"
    return f"{cost.benchmark}: one more dormant site, {cost.unit}; {sites}; {whole}"


def render_site_tables(costs: Sequence[SiteCost]) -> str:
    """Return the tables of the costs of one more site as text for a terminal."""
    lines, width = [], get_terminal_width()
    for key, group in groupby(costs, lambda c: (c.tier, c.kernel, c.benchmark)):
        own = list(group)
        title = f"{key[0]}, kernel {key[1]}: {make_site_table_title(own[0])}"
        lines += ["", *wrap_line(title, width)]
        table = split_wide_table(HEADS, make_site_rows(own), width - 2)
        lines += [f"  {line}" for line in table]
    return "\n".join(lines)
