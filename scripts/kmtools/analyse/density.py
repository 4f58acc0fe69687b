# SPDX-License-Identifier: GPL-2.0-only
"""Computes the cost of one more dormant site: the slope of a line that is fitted to the costs of
loop passes with different numbers of sites.

In the benchmarks density-* and cold-icache-*, the name of a variant ends with the number of its
sites: marker-jump-16. The baseline has no site. A superscalar core executes a single site in issue
slots that are idle anyway, so a pass with one site does not show the cost of a site. If the costs
of passes are not on a line, the slope is not the cost of a site either. Then no verdict is given,
and a note lists the cost of a site from each number of sites to the next.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import Any

from kmtools.analyse import lateness, location, stats
from kmtools.analyse.corecycles import CoreCycleRatio
from kmtools.analyse.slopes import Slope, fit_line, subtract_baseline
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import (
    BASELINE,
    WITHHELD,
    Result,
    decide_verdict,
    describe_late_window_caveat,
    widen_for_late_blocks,
)
from kmtools.measure.rundir import UNIT_INSTRUCTIONS, UNIT_TSC, Tier

# Patterns of the benchmarks whose variants differ in the number of sites in a loop pass.
BENCHMARKS = ("density-*", "cold-icache-*")
# A bend is a deviation of the cost of a loop pass from a straight line over the number of sites.
# The largest permitted bend is this share of the cost of a site, or the equivalence margin if the
# margin is larger.
LARGEST_BEND_SHARE = 0.05
# Matches the name of a variant: its flavour and its number of sites, as in marker-jump-16.
VARIANT_WITH_SITE_COUNT = re.compile(r"(.+)-([1-9][0-9]*)")
# Matches the frequency of the clock in kHz, a whole number above zero.
KHZ = re.compile(r"[1-9][0-9]*")


@dataclass(frozen=True)
class SiteCost:
    """The cost of a site of one flavour (marker-jump, marker-generic, ...), in `unit`. `pass_cost`
    is the cost of a pass without sites. `note` is the reason why no verdict is given, or empty.
    `caveat` reports that many windows are late, or is empty."""

    tier: str
    kernel: str
    benchmark: str
    flavour: str
    unit: str
    sites: Sequence[int]
    n: int
    cost: float
    ci: Interval
    pass_cost: float
    core: CoreCycleRatio | None
    ns_per_tick: float | None
    note: str = ""
    margin: float = 0.0
    caveat: str = ""

    @property
    def remark(self) -> str:
        """The reason why there is no verdict (`note`) and the caveat, in one text."""
        return "; ".join(filter(None, (self.note, self.caveat)))

    @property
    def verdict(self) -> str:
        """The verdict on `cost`, from its interval and `margin` (the equivalence margin of a pass,
        divided by the largest number of sites). The verdict is withheld if there is a note."""
        return WITHHELD if self.note else decide_verdict(self.cost, self.ci, self.margin, None)

    @property
    def nanoseconds(self) -> float | None:
        """The cost in nanoseconds; None if the rate of the clock is not known."""
        return None if self.ns_per_tick is None else self.cost * self.ns_per_tick

    @property
    def percent_per_unit(self) -> float | None:
        """One `unit` of cost, in percent of the cost of a loop pass without sites."""
        return 100 / self.pass_cost if self.pass_cost > 0 else None

    @property
    def percent_of_pass(self) -> float | None:
        """The cost of a site, in percent of the cost of a loop pass without sites."""
        share = self.percent_per_unit
        return None if share is None else self.cost * share

    def to_json_entry(self) -> dict[str, Any]:
        """Return the entry of this cost in summary.json."""
        bounded = self.ci != stats.UNBOUNDED
        numbers = {
            "cost": self.cost,
            "ci_lo": self.ci.lo if bounded else None,
            "ci_hi": self.ci.hi if bounded else None,
            "pass_cost": self.pass_cost,
            "margin": self.margin,
            "core_cycles": self.core.convert_ticks(self.cost) if self.core else None,
            "ns": self.nanoseconds,
            "percent": self.percent_of_pass,
        }
        rounded = {k: None if value is None else round(value, 6) for k, value in numbers.items()}
        names = ("tier", "kernel", "benchmark", "flavour", "unit", "n")
        words = {"verdict": self.verdict, "note": self.note, "caveat": self.caveat}
        return {**{k: getattr(self, k) for k in names}, "sites": [*self.sites], **rounded, **words}


def has_variants_by_site_count(benchmark: str) -> bool:
    """Return True if the variants of a benchmark differ in the number of their sites."""
    return any(fnmatchcase(benchmark, pattern) for pattern in BENCHMARKS)


def fit_cost_per_site(passes: Mapping[int, Sequence[Slope]]) -> list[Slope]:
    """Return the cost per site in each block: the slope of a line that is fitted to the costs of
    passes with different numbers of sites (the keys of `passes`). Blocks that lack one of these
    numbers are left out."""
    by_block: dict[tuple[int, int, int], list[tuple[int, int, int]]] = defaultdict(list)
    for sites, series in passes.items():
        for slope in series:
            place = (slope.block, slope.layout, slope.process)
            by_block[place].append((sites, slope.top, slope.bottom))
    fitted = []
    for (block, layout, process), points in sorted(by_block.items()):
        if len(points) == len(passes):
            whole = math.lcm(*(bottom for _, _, bottom in points))
            top, below = fit_line([(sites, value * (whole // own)) for sites, value, own in points])
            if below:
                fitted.append(Slope(block, layout, top, below * whole, process))
    return fitted


def describe_bend_over_sites(
    passes: Mapping[int, Sequence[Slope]], resolution: float, max_bend: float, alpha: float
) -> str:
    """Return a note if the cost of a loop pass is not linear in the number of sites, else an empty
    text. The note lists the cost of a site between neighbouring numbers of sites. A bend is the
    difference of the slopes on the two sides of one number of sites. The cost is not linear if the
    interval of a bend is wholly above `max_bend` or wholly below -`max_bend`. The error
    probability `alpha` is divided among all bends."""
    counts = sorted(passes)
    steps = [fit_cost_per_site({n: passes[n] for n in pair}) for pair in pairwise(counts)]
    for before, behind in pairwise(steps):
        bends = subtract_baseline(behind, before)
        share = alpha / max(1, len(steps) - 1)
        found = location.estimate_series_location(bends, 2 * resolution, share)
        if found.interval.lo > max_bend or found.interval.hi < -max_bend:
            costs = [location.estimate_series_location(step).value for step in steps]
            said = ", ".join(
                f"{cost:.3g} from {low} to {high}"
                for cost, (low, high) in zip(costs, pairwise(counts), strict=True)
            )
            return f"not on a line over the number of sites: a site costs {said}"
    return ""


def estimate_slope_location(
    series: Sequence[Slope],
    exact: bool,
    resolution: float,
    alpha: float = location.ERROR_PROBABILITY,
) -> tuple[float, Interval]:
    """Return the usual value (location) of the slopes in `series`, and its interval. If the slopes
    are `exact` counts, return their median and their range; else location.py estimates both."""
    if exact and series:
        return stats.compute_median_slope(series), stats.find_slope_range(series)
    found = location.estimate_series_location(series, resolution, alpha)
    return found.value, found.interval


def compute_site_cost(
    baseline: Result, flavour: str, by_site_count: Mapping[int, Result], tier: Tier
) -> SiteCost:
    """Compute the cost of a site of one flavour from the results of this flavour and of the
    baseline. `by_site_count` has the results of the flavour by the number of sites in a loop
    pass."""
    passes = {0: baseline.slopes, **{sites: r.slopes for sites, r in by_site_count.items()}}
    series, exact = fit_cost_per_site(passes), baseline.unit == UNIT_INSTRUCTIONS
    step = max(r.resolution for r in (baseline, *by_site_count.values())) / max(by_site_count)
    cost, interval = estimate_slope_location(series, exact, step, baseline.alpha)
    late = lateness.collect_late_blocks_of_variants(
        r.late for r in (baseline, *by_site_count.values())
    )
    if not exact:
        interval = widen_for_late_blocks(interval, series, step, baseline.alpha, late)
    margin = (baseline.margin or 0.0) / max(by_site_count)
    bend = ""
    if not exact and len(passes) > 2:
        most = max(margin, LARGEST_BEND_SHARE * abs(cost))
        bend = describe_bend_over_sites(passes, step, most, baseline.alpha)
    khz = str(tier.env.get("tsc_khz", ""))
    timed = baseline.unit == UNIT_TSC and KHZ.fullmatch(khz)
    return SiteCost(
        tier=baseline.tier,
        kernel=baseline.kernel,
        benchmark=baseline.benchmark,
        flavour=flavour,
        unit=baseline.unit,
        sites=sorted(by_site_count),
        n=len(series),
        cost=cost,
        ci=interval,
        pass_cost=baseline.median,
        core=baseline.core,
        ns_per_tick=1e6 / int(khz) if timed else None,
        note=bend,
        margin=0.0 if exact else margin,
        caveat=describe_late_window_caveat(tier, baseline.late, baseline.core),
    )


def group_results_by_flavour(results: Sequence[Result]) -> dict[str, dict[int, Result]]:
    """Group the results of one benchmark by the flavour of their sites, and then by the number of
    sites."""
    found: dict[str, dict[int, Result]] = defaultdict(dict)
    for result in results:
        if match := VARIANT_WITH_SITE_COUNT.fullmatch(result.variant):
            found[match[1]][int(match[2])] = result
    return found


def compute_all_site_costs(
    results: Sequence[Result],
    tiers: Sequence[Tier],
    poor_benchmarks: Mapping[tuple[str, str, str], str] = MappingProxyType({}),
) -> list[SiteCost]:
    """Return the cost of a site of each flavour, in the order of `results`. Flavours without a
    slope in any block are left out. Tiers (measurement environments) with emulated ticks are left
    out, because emulated ticks do not measure single instructions. `poor_benchmarks` has the
    benchmarks that get no verdict because of a poor grade, each with the reason; see
    find_poorly_graded_benchmarks()."""
    known = {(tier.tier, tier.kernel): tier for tier in tiers}
    costs = []
    for key, group in groupby(results, lambda r: (r.tier, r.kernel, r.benchmark)):
        own, tier = list(group), known[key[:2]]
        baseline = next((r for r in own if r.verdict == BASELINE), None)
        if (
            baseline is None
            or not has_variants_by_site_count(key[2])
            or (tier.emulated and not tier.exact)
        ):
            continue
        for flavour, by_site_count in group_results_by_flavour(own).items():
            cost = compute_site_cost(baseline, flavour, by_site_count, tier)
            note = "; ".join(filter(None, (poor_benchmarks.get(key, ""), cost.note)))
            if cost.n:
                costs.append(replace(cost, note=note))
    return costs
