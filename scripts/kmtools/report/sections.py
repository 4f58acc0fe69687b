# SPDX-License-Identifier: GPL-2.0-only
"""Makes the sections of the page: costs of dormant sites, cold code and enabled probes, other
benchmarks, switching of many sites, and published costs beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kmtools.analyse import grade, result_kinds, switching
from kmtools.analyse.density import SiteCost
from kmtools.analyse.published import read_published_numbers
from kmtools.analyse.verdicts import Result
from kmtools.base.text import use_minus_signs
from kmtools.measure import hwcounters
from kmtools.measure.hwcounters import Counted, Key
from kmtools.measure.rundir import Tier
from kmtools.report import kproberatio, restable
from kmtools.report.figures import panels, thenandnow
from kmtools.report.figures.rows import Panel
from kmtools.report.markup import (
    Draw,
    escape_html,
    format_number_html,
    render_figure_html,
    render_folded_html,
    render_section_html,
    render_table_html,
)
from kmtools.report.sheets import TITLES, Run, describe_figure_part, drop_site_cost_results
from kmtools.report.table import format_amount

# What is measured in each tier (measurement environment).
TIER_MEANINGS = {
    "native": "the same code in user space on the real CPU",
    "metal": "the kernel on the real machine",
    "vm": "the real kernel in a virtual machine",
    "icount": "the real kernel under an emulator that counts instructions exactly",
}
# The first paragraph of the section about each kind of results.
KIND_INTRODUCTIONS = {
    result_kinds.DORMANT: "The costs of sites whose probes are off. Rows that are equivalent to"
    " their baseline are named below the figures; all numbers are in the folded tables.",
    result_kinds.COLD: "The costs of dormant sites where code or data must be fetched from memory"
    " or an outer cache. Hot loops understate every cost, because the kernel usually runs cold.",
    result_kinds.ENABLED: "The costs of probes that are connected and called. No number of this"
    " part is the cost of a dormant site.",
    result_kinds.OTHER: "Benchmarks of no other kind: prefixes of atomic instructions, and"
    " benchmarks of your own.",
}


@dataclass(frozen=True)
class Page(Run):
    """The data of a run that the page shows; `draw` renders a figure, and is None without
    matplotlib."""

    draw: Draw | None = None

    def parse_tier_counted_events(self, tier: Tier) -> dict[Key, Counted]:
        """Return the hardware events that were counted in a tier."""
        here = (tier.tier, tier.kernel)
        (entry,) = (e for e in self.env["tiers"] if (e["tier"], e["kernel"]) == here)
        return hwcounters.parse_counter_entries(entry.get("counters", []))


def describe_tier(tier: Tier) -> str:
    """Return the meaning and the unit of a tier's numbers, as sentences."""
    words = TIER_MEANINGS.get(tier.tier, "")
    if tier.tier == "metal" and grade.is_virtual(tier):
        words = "the kernel that runs here, which is the kernel of a virtual machine"
    if tier.emulated and not tier.exact:
        words += ", emulated: its ticks are the emulator's time, fit for ratios of whole operations"
    return f"{words[:1].upper()}{words[1:]}. Unit: {tier.unit} per operation."


def render_panel_html(page: Page, panel: Panel) -> str:
    """Return a panel with its title, its figure in two widths, and its remark."""
    title = f"<h4>{escape_html(panel.title)}</h4>"
    if not panel.rows:
        return f"{title}<p class='soft'>{escape_html(use_minus_signs(panel.remark))}</p>"
    return title + render_figure_html(page.draw, panel, describe_figure_part(panel), panel.remark)


def render_tier_tables_html(
    results: Sequence[Result],
    costs: Sequence[SiteCost],
    tier: Tier,
    counted: Mapping[Key, Counted],
) -> str:
    """Return the tables of a tier; the tables are collapsed, except
    tables of exact counts, which have no figure."""
    timed = "" if tier.emulated else restable.render_block_spread_html(results)
    # Emulated ticks cannot measure the cost of one more site: leave out the benchmarks for this
    # cost.
    ticks = tier.emulated and not tier.exact
    shown = drop_site_cost_results(results) if ticks else results
    numbers = restable.render_site_costs_html(costs) + restable.render_results_html(shown)
    if tier.exact:
        return numbers
    return "".join(
        (
            render_folded_html("All numbers", numbers, removable=True),
            render_folded_html("Blocks and code layouts", timed, removable=True),
            render_folded_html(
                "Hardware counters", restable.render_hardware_events_html(results, counted)
            ),
        )
    )


def render_tier_html(page: Page, kind: str, tier: Tier) -> str:
    """Return the part about one kind of results in one tier: figures, and
    collapsed tables."""
    own, costs = page.select_kind_results(kind, tier)
    if not own and not costs:
        return ""
    single = {cost.benchmark for cost in costs}
    plain = [r for r in own if r.benchmark not in single]
    name = f"{kind}-{page.make_tier_name(tier)}"
    parts = [
        f'<div id="{name}" data-tier="{escape_html(tier.tier)}">',
        f"<h3>{escape_html(tier.tier)}, kernel {escape_html(tier.kernel)}</h3>",
        f"<p class='soft'>{escape_html(describe_tier(tier))}"
        f" {escape_html(describe_variant_verdict_counts(plain))}</p>",
        *(
            render_panel_html(page, one)
            for one in ([] if tier.exact else page.make_panels(kind, tier))
        ),
        render_tier_tables_html(own, costs, tier, page.parse_tier_counted_events(tier)),
        "</div>",
    ]
    return "\n".join(parts)


def describe_variant_verdict_counts(results: Sequence[Result]) -> str:
    """Return a sentence with the number of variants that have each verdict; "" without variants.
    Benchmarks that give the cost of one more site are left out."""
    words = panels.describe_verdict_counts(drop_site_cost_results(results))
    return f"Variants: {words}." if words else ""


def render_result_kind_section_html(page: Page, kind: str) -> str:
    """Return the section about a kind of results, with a part for each tier; the parts of emulated
    tiers are collapsed."""
    parts = [f"<p>{KIND_INTRODUCTIONS[kind]}</p>"]
    for tier in page.tiers:
        part = render_tier_html(page, kind, tier)
        if part and tier.emulated:
            what = "exact instructions" if tier.exact else "emulated ticks"
            part = render_folded_html(f"{tier.tier}, kernel {tier.kernel}: {what}", part)
        parts.append(part)
    return render_section_html(kind, TITLES[kind], parts) if any(parts[1:]) else ""


def render_switching_html(page: Page, tier: Tier) -> str:
    """Return the part about switching many sites in one tier."""
    points = switching.select_switch_points_of_tier(page.switches, tier.tier, tier.kernel)
    if not points:
        return ""
    drawn = [
        f"<h4>{escape_html(chart.title)}</h4>"
        + render_figure_html(page.draw, chart, describe_figure_part(chart))
        for chart in page.make_charts(tier)
    ]
    emulated = " Emulated: ratios only." if tier.emulated else ""
    return "\n".join(
        [
            f'<div id="switching-{page.make_tier_name(tier)}"'
            f' data-tier="{escape_html(tier.tier)}">',
            f"<h3>{escape_html(tier.tier)}, kernel {escape_html(tier.kernel)}</h3>",
            f"<p class='soft'>{escape_html(points[0].unit)}.{emulated}</p>",
            *drawn,
            restable.render_switching_limits_html(points),
            render_folded_html(
                "All numbers", restable.render_switch_times_html(points), removable=True
            ),
            "</div>",
        ]
    )


def render_switching_section_html(page: Page) -> str:
    """Return the section about switching many sites; "" without data."""
    parts = [render_switching_html(page, tier) for tier in page.tiers]
    intro = (
        "<p>Whole switches: validation, mapping and synchronisation included. Points are medians"
        " with 95 % intervals, on logarithmic axes. Sites stand side by side and are not executed"
        " meanwhile.</p>"
    )
    return render_section_html("switching", "Switching", [intro, *parts]) if any(parts) else ""


def make_published_cells(machine: thenandnow.Machine, row: thenandnow.MatchedCost) -> list[str]:
    """Return a published cost and the corresponding costs of this run as table cells."""
    then = row.then
    spread = f" ± {format_amount(then.stddev)}" if then.stddev else ""
    stated = "" if then.delta_stated is None else f"{then.delta_stated:+}"
    wrong = " (differs from the published totals)" if then.is_stated_delta_wrong else ""
    now = "; ".join(
        f"{use_minus_signs(format_amount(o.delta, True))} {o.unit} ({o.tier})" for o in row.now
    )
    return [
        escape_html(row.label),
        escape_html(f"{machine[1]}, {machine[2]}"),
        escape_html(f"{then.over}"),
        format_number_html(format_amount(then.value)) + f"{spread} {escape_html(then.unit)}",
        format_number_html(stated) + wrong,
        format_number_html(format_amount(then.delta, True)),
        escape_html(now),
        escape_html(use_minus_signs(then.note)),
    ]


def render_published_section_html(page: Page) -> str:
    """Return the section with published costs and the costs of this run: a figure for each machine
    with published costs, and a table."""
    found = thenandnow.pair_published_costs(page.results, read_published_numbers())
    if not found:
        return ""
    parts = [
        "<p>Published costs and the costs of the same variants in this run. Each machine has axes"
        " of its own, because cycles of two machines cannot be compared. Bars show the published"
        " standard deviation, if one was published, and the 95 % intervals of this run.</p>"
    ]
    for pair in page.make_published_pairs():
        parts.append(f"<h3>{escape_html(pair.title)}</h3>")
        parts.append(render_figure_html(page.draw, pair, describe_figure_part(pair)))
    told = kproberatio.describe_kprobe_ratios(vars(result) for result in page.results)
    if told:
        parts.append(f"<h3>{kproberatio.TITLE}</h3><p>{escape_html(' '.join(told))}</p>")
    cells = [
        make_published_cells(m, row)
        for m in thenandnow.sort_published_machines(found)
        for row in found[m]
    ]
    heads = ["published", "machine", "over", "value", "delta stated", "delta recomputed"]
    body = render_table_html(
        "Published costs and ours", [*heads, "here, added", "note"], cells, "tttntntt"
    )
    return render_section_html(
        "then-and-now", "Then and now", [*parts, render_folded_html("All numbers", body)]
    )
