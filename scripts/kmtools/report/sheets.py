# SPDX-License-Identifier: GPL-2.0-only
"""Makes all figures of a run, each with a name, from results in memory or from summary.json;
matplotlib draws the figures."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kmtools.analyse import density, result_kinds, switching
from kmtools.analyse.density import SiteCost
from kmtools.analyse.published import read_published_numbers
from kmtools.analyse.summary import read_summary
from kmtools.analyse.switching import SwitchPoint
from kmtools.analyse.verdicts import Result
from kmtools.base.text import use_minus_signs
from kmtools.measure.rundir import TIERS, Tier, make_tiers, read_env
from kmtools.report import cost_figure, summary_json
from kmtools.report.figures import charts, panels, thenandnow
from kmtools.report.figures.charts import Chart
from kmtools.report.figures.rows import Pair, Panel

# Names of figures: costs of a dormant site, and costs published for the first machine.
HEADLINE, THEN_AND_NOW = "headline", "then-and-now"
# The titles of the kinds of results.
TITLES = {
    result_kinds.DORMANT: "Dormant sites",
    result_kinds.COLD: "Cold code and cold data",
    result_kinds.ENABLED: "Enabled probes",
    result_kinds.OTHER: "Other benchmarks",
}
# The names of figures of all runs.
NAMES = re.compile(
    f"{HEADLINE}|{THEN_AND_NOW}|published-.+"
    f"|({'|'.join([*TITLES, 'switching'])})-({'|'.join(TIERS)})(-.+)?"
)


@dataclass(frozen=True)
class Sheet:
    """A figure as a file: its parts, from top to bottom, and a description."""

    parts: Sequence[Panel | Pair | Chart]
    words: str


@dataclass(frozen=True)
class Run:
    """The data of a run that figures and the page show."""

    env: Mapping[str, Any]
    results: Sequence[Result]
    switches: Sequence[SwitchPoint]
    sites: Sequence[SiteCost]

    @property
    def tiers(self) -> list[Tier]:
        """The tiers (measurement environments) of the run."""
        return make_tiers(self.env)

    def make_tier_name(self, tier: Tier) -> str:
        """Return the name of a tier for file names and element ids; it contains the kernel if the
        run has the tier in several kernels."""
        kernels = [other.kernel for other in self.tiers if other.tier == tier.tier]
        if len(kernels) == 1:
            return tier.tier
        return f"{tier.tier}-{make_slugs(kernels)[kernels.index(tier.kernel)]}"

    def select_tier_results(self, tier: Tier) -> list[Result]:
        """Return the results of a tier."""
        return [r for r in self.results if (r.tier, r.kernel) == (tier.tier, tier.kernel)]

    def select_kind_results(self, kind: str, tier: Tier) -> tuple[list[Result], list[SiteCost]]:
        """Return two lists for a tier and a kind of results, such as dormant sites: the results of
        this kind, and the costs of one more site of this kind."""
        here = (tier.tier, tier.kernel)
        costs = [
            c for c in self.sites
            if (c.tier, c.kernel) == here
            and result_kinds.find_result_kind(c.benchmark, c.flavour) == kind
        ]  # fmt: skip
        return result_kinds.select_results_of_kind(self.select_tier_results(tier), kind), costs

    def make_panels(self, kind: str, tier: Tier) -> list[Panel]:
        """Return the panels that show one kind of results in a tier, or
        no panels if the tier measures in emulated ticks."""
        own, costs = self.select_kind_results(kind, tier)
        plain = [r for r in own if r.benchmark not in {cost.benchmark for cost in costs}]
        if tier.exact:
            return panels.make_count_panels(plain)
        return (
            [] if tier.emulated else panels.make_site_panels(costs) + panels.make_cost_panels(plain)
        )

    def make_charts(self, tier: Tier) -> list[Chart]:
        """Return the charts of switching many sites in a tier."""
        return charts.make_switching_charts(
            switching.select_switch_points_of_tier(self.switches, tier.tier, tier.kernel)
        )

    def make_published_pairs(self) -> list[Pair]:
        """Return a pair of panels for each machine with published costs: the published costs, and
        the costs of this run."""
        found = thenandnow.pair_published_costs(self.results, read_published_numbers())
        return [
            thenandnow.make_panel_pair(one, found[one])
            for one in thenandnow.sort_published_machines(found)
        ]

    def make_sheets(self) -> dict[str, Sheet]:
        """Return all figures of the run that have at least one part, by name."""
        found = {}
        if panel := cost_figure.make_dormant_cost_panel(self.results, self.sites):
            found[HEADLINE] = Sheet([panel], cost_figure.describe_panel(panel))
        for kind, title in TITLES.items():
            for tier in self.tiers:
                words = f"{title}, {tier.tier}"
                found[f"{kind}-{self.make_tier_name(tier)}"] = Sheet(
                    self.make_panels(kind, tier), words
                )
        for tier in self.tiers:
            words = f"Switching many sites, {tier.tier}"
            found[f"switching-{self.make_tier_name(tier)}"] = Sheet(self.make_charts(tier), words)
        pairs = self.make_published_pairs()
        slugs = make_slugs(pair.title for pair in pairs)
        for number, (pair, slug) in enumerate(zip(pairs, slugs)):
            name = f"published-{slug}" if number else THEN_AND_NOW
            found[name] = Sheet([pair], f"Costs published: {pair.title}, and ours")
        return {name: sheet for name, sheet in found.items() if sheet.parts}


def make_slugs(texts: Iterable[str]) -> list[str]:
    """Convert each text to a part of a file name, with a number if it would be that of an earlier
    text."""
    slugs: list[str] = []
    for text in texts:
        slug = re.sub("[^0-9A-Za-z.]+", "-", text).strip("-")
        names = itertools.chain([slug], (f"{slug}-{number}" for number in itertools.count(2)))
        slugs.append(next(name for name in names if name not in slugs))
    return slugs


def describe_figure_part(part: Panel | Pair | Chart) -> str:
    """Return a description of a part of a figure, for screen readers."""
    if isinstance(part, Pair):
        return f"Published costs of {part.title}, and ours"
    if isinstance(part, Chart):
        names = ", ".join(curve.name for curve in part.curves)
        return f"{part.title}: {names}, over the number of {part.x_unit}, in {part.y_unit}"
    rows = ", ".join(f"{row.name} {row.words}" for row in part.rows)
    return use_minus_signs(f"{part.title}: {rows}; {part.unit}")


def load_run(path: Path) -> Run:
    """Return the run in a folder, from its env.json and summary.json."""
    summary = read_summary(path)
    results, sites = summary_json.parse_summary_results(summary)
    switches = [
        point for point in summary_json.parse_switch_points(summary) if point.median is not None
    ]
    return Run(read_env(path / "env.json"), results, switches, sites)


def drop_site_cost_results(results: Sequence[Result]) -> list[Result]:
    """Remove the results of benchmarks that give the cost of one more site (density.py); return all
    other results."""
    return [r for r in results if not density.has_variants_by_site_count(r.benchmark)]
