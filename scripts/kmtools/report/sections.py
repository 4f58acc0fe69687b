# SPDX-License-Identifier: GPL-2.0-only
"""The parts of the page: dormant, cold, enabled, switching, then and now, counts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kmtools.analyse import density, kinds, switching
from kmtools.analyse.density import SiteCost
from kmtools.analyse.published import read_published
from kmtools.analyse.switching import Point
from kmtools.analyse.verdicts import Result
from kmtools.measure import hwcounters
from kmtools.measure.hwcounters import Counted, Key
from kmtools.measure.rundir import Tier, tiers_of
from kmtools.report import kproberatio, restable
from kmtools.report.figures import curves, panels, rows, thenandnow
from kmtools.report.figures.rows import Panel
from kmtools.report.figures.svg import WIDE, minus
from kmtools.report.markup import escape, figure, folded, number, section, table
from kmtools.report.table import amount

MEANING = {
    "native": "the same code in user space on the real CPU",
    "metal": "the kernel on the real machine",
    "vm": "the real kernel in a virtual machine",
    "icount": "the real kernel under an emulator that counts instructions exactly",
}
INTRO = {
    kinds.DORMANT: "What code costs whose probes are off. Rows that are equivalent to their"
    " baseline are named below the figures; all numbers are in the folded tables.",
    kinds.COLD: "The same where code or data must come from further away: hot loops flatter every"
    " variant, and the kernel usually runs cold.",
    kinds.ENABLED: "What a probe costs that is connected and called. No number of this part is the"
    " cost of a dormant site.",
    kinds.OTHER: "Benchmarks of no such kind: prefixes of atomic instructions, and benchmarks of"
    " your own.",
}
TITLES = {
    kinds.DORMANT: "Dormant sites",
    kinds.COLD: "Cold code and cold data",
    kinds.ENABLED: "Enabled probes",
    kinds.OTHER: "Other benchmarks",
}


@dataclass(frozen=True)
class Run:
    """All that the page shows; `files` receives the figures as files, by name."""

    env: Mapping[str, Any]
    results: Sequence[Result]
    switches: Sequence[Point]
    sites: Sequence[SiteCost]
    files: dict[str, str] = field(default_factory=dict)

    @property
    def tiers(self) -> list[Tier]:
        """The tiers of the run."""
        return tiers_of(self.env)

    def name(self, tier: Tier) -> str:
        """A tier's part of a file's name or an id, unique in the run."""
        alone = sum(other.tier == tier.tier for other in self.tiers) == 1
        kernel = re.sub("[^0-9A-Za-z.]+", "-", tier.kernel)
        return tier.tier if alone else f"{tier.tier}-{kernel}"

    def own(self, tier: Tier) -> list[Result]:
        """The results of a tier."""
        return [r for r in self.results if (r.tier, r.kernel) == (tier.tier, tier.kernel)]

    def counted(self, tier: Tier) -> dict[Key, Counted]:
        """What hardware counters counted in a tier."""
        here = (tier.tier, tier.kernel)
        (entry,) = (e for e in self.env["tiers"] if (e["tier"], e["kernel"]) == here)
        return hwcounters.of_entries(entry.get("counters", []))

    def keep(self, name: str, made: Sequence[Panel], words: str) -> None:
        """Keep panels as a file."""
        if made:
            self.files[name] = rows.draw(made, WIDE).whole(words)


def meaning(tier: Tier) -> str:
    """What the numbers of a tier are."""
    words = MEANING.get(tier.tier, "")
    if tier.emulated and not tier.exact:
        words += ", emulated: its ticks are the emulator's time, fit for ratios of whole operations"
    return f"{words[:1].upper()}{words[1:]}. Unit: {tier.unit} per operation."


def panel_html(one: Panel) -> str:
    """A panel with its title, its figure at both widths, and what its other rows say."""
    title = f"<h4>{escape(one.title)}</h4>"
    if not one.rows:
        return f"{title}<p class='soft'>{escape(minus(one.remark))}</p>"
    words = f"{one.title}: " + ", ".join(f"{row.name} {row.words}" for row in one.rows)
    return title + figure(
        lambda width: rows.draw([one], width, titled=False), f"{words}; {one.unit}", one.remark
    )


def tables_of(
    own: Sequence[Result],
    costs: Sequence[SiteCost],
    tier: Tier,
    counted: Mapping[Key, Counted],
) -> str:
    """The tables of a tier, folded unless there is no figure."""
    timed = "" if tier.emulated else restable.blocks(own)
    # Emulated ticks say nothing about a single site.
    ticks = tier.emulated and not tier.exact
    shown = [r for r in own if not (ticks and density.is_counted(r.benchmark))]
    numbers = restable.sites(costs) + restable.results(shown)
    if tier.exact:
        return numbers
    return "".join(
        (
            folded("All numbers", numbers, more=True),
            folded("Blocks and code layouts", timed, more=True),
            folded("Hardware counters", restable.events(own, counted)),
        )
    )


def tier_part(run: Run, kind: str, tier: Tier) -> str:
    """One kind of results of one tier: figures, and folded tables."""
    own = kinds.of_kind(run.own(tier), kind)
    here = (tier.tier, tier.kernel)
    costs = [
        c for c in run.sites
        if (c.tier, c.kernel) == here and kinds.kind_of(c.benchmark, c.flavour) == kind
    ]  # fmt: skip
    if not own and not costs:
        return ""
    name = f"{kind}-{run.name(tier)}"
    counted = {cost.benchmark for cost in costs}
    plain = [r for r in own if r.benchmark not in counted]
    if tier.exact:
        made = panels.counts(plain)
    elif tier.emulated:
        made = []
    else:
        made = panels.sites(costs) + panels.forest(plain)
    run.keep(name, made, f"{TITLES[kind]}, {tier.tier}")
    parts = [
        f'<div id="{name}" data-tier="{escape(tier.tier)}">',
        f"<h3>{escape(tier.tier)}, kernel {escape(tier.kernel)}</h3>",
        f"<p class='soft'>{escape(meaning(tier))} {escape(verdict_count(plain))}</p>",
        *map(panel_html, [] if tier.exact else made),
        tables_of(own, costs, tier, run.counted(tier)),
        "</div>",
    ]
    return "\n".join(parts)


def verdict_count(own: Sequence[Result]) -> str:
    """Verdicts counted, of this kind alone."""
    words = panels.total([r for r in own if not density.is_counted(r.benchmark)])
    return f"Variants: {words}." if words else ""


def kind_section(run: Run, kind: str) -> str:
    """A kind of results: the tiers with times, and the others folded."""
    parts = [f"<p>{INTRO[kind]}</p>"]
    for tier in run.tiers:
        part = tier_part(run, kind, tier)
        if part and tier.emulated:
            what = "exact instructions" if tier.exact else "emulated ticks"
            part = folded(f"{tier.tier}, kernel {tier.kernel}: {what}", part)
        parts.append(part)
    return section(kind, TITLES[kind], parts) if any(parts[1:]) else ""


def switch_part(run: Run, tier: Tier) -> str:
    """Switching many sites in one tier."""
    points = switching.of_tier(run.switches, tier.tier, tier.kernel)
    if not points:
        return ""
    charts = curves.switching(points)
    name = f"switching-{run.name(tier)}"
    ours = f"Switching many sites, {tier.tier}"
    if charts:
        run.files[name] = curves.draw(charts, WIDE).whole(ours)
    drawn = [
        f"<h4>{escape(chart.title)}</h4>"
        + figure(
            partial(lambda one, width: curves.draw([one], width, titled=False), chart),
            f"{chart.title}: {', '.join(curve.name for curve in chart.curves)}, over the number of"
            f" sites, in {chart.y_unit}",
        )
        for chart in charts
    ]
    emulated = " Emulated: ratios only." if tier.emulated else ""
    return "\n".join(
        [
            f'<div id="{name}" data-tier="{escape(tier.tier)}">',
            f"<h3>{escape(tier.tier)}, kernel {escape(tier.kernel)}</h3>",
            f"<p class='soft'>{escape(points[0].unit)}.{emulated}</p>",
            *drawn,
            restable.promises(points),
            folded("All numbers", restable.switches(points), more=True),
            "</div>",
        ]
    )


def switch_section(run: Run) -> str:
    """Switching many sites; empty without data."""
    parts = [switch_part(run, tier) for tier in run.tiers]
    intro = (
        "<p>Whole switches: validation, mapping and synchronisation included. Points are medians"
        " with 95 % intervals, on logarithmic axes. Sites stand side by side and are not executed"
        " meanwhile.</p>"
    )
    return section("switching", "Switching", [intro, *parts]) if any(parts) else ""


def then_cells(machine: thenandnow.Machine, row: thenandnow.Row) -> list[str]:
    """A published cost and ours, as cells."""
    then = row.then
    spread = f" ± {amount(then.stddev)}" if then.stddev else ""
    stated = "" if then.delta_stated is None else f"{then.delta_stated:+}"
    wrong = " (not what its numbers give)" if then.differs else ""
    now = "; ".join(
        f"{minus(amount(o.delta, True))} {o.result.unit} ({o.result.tier})" for o in row.now
    )
    return [
        escape(row.label),
        escape(f"{machine[1]}, {machine[2]}"),
        escape(f"{then.over}"),
        number(amount(then.value)) + f"{spread} {escape(then.unit)}",
        number(stated) + wrong,
        number(amount(then.delta, True)),
        escape(now),
        escape(minus(then.note)),
    ]


def then_section(run: Run) -> str:
    """Published costs beside ours: a figure for each machine, and a table."""
    found = thenandnow.join(run.results, read_published())
    if not found:
        return ""
    parts = [
        "<p>Published costs and the same comparison here. Each machine has axes of its own: a cycle"
        " of one is not a cycle of another, and there is no common ratio. Bars are the published"
        " spread, where there is one, and our 95 % intervals.</p>"
    ]
    for machine in thenandnow.ordered(found):
        several = found[machine]
        title = f"{machine[1]}, {machine[2]}, {several[0].then.date[:4]}"
        parts.append(f"<h3>{escape(title)}</h3>")
        draw = partial(thenandnow.draw, several)
        parts.append(figure(draw, f"Published costs of {title}, and ours"))
    told = kproberatio.sentences(vars(result) for result in run.results)
    if told:
        parts.append(f"<h3>{kproberatio.TITLE}</h3><p>{escape(' '.join(told))}</p>")
    first = thenandnow.ordered(found)[0]
    run.files["then-and-now"] = thenandnow.draw(found[first], WIDE).whole("Then and now")
    cells = [then_cells(m, row) for m in thenandnow.ordered(found) for row in found[m]]
    heads = ["published", "machine", "over", "value", "delta stated", "delta recomputed"]
    body = table("Published costs and ours", [*heads, "here, added", "note"], cells, "tttntntt")
    return section("then-and-now", "Then and now", [*parts, folded("All numbers", body)])
