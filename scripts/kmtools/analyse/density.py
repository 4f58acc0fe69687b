# SPDX-License-Identifier: GPL-2.0-only
"""The cost of one more dormant site: the slope of a pass over the number of sites in it.

In these benchmarks the name of a variant ends with the number of its sites: marker-jump-16. The
baseline has none. A wide core executes one site in slots that are idle anyway, so a pass with a
single site does not show the cost of a site. Where passes are not on a line, the slope is not the
cost of a site either: the verdict is withheld, and the note gives the cost of a site between
successive numbers of sites.
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

from kmtools.analyse import location, stats
from kmtools.analyse.corecycles import CoreCycles
from kmtools.analyse.slopes import Slope, line, paired
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import BASELINE, WITHHELD, Result, decide
from kmtools.measure.rundir import UNIT_INSTRUCTIONS, UNIT_TSC, Tier

BENCHMARKS = ("density-*", "cold-icache-*")
# Largest permitted bend over the number of sites, as a share of the cost of a site; the margin
# holds if it is larger.
SHARE = 0.05
COUNTED = re.compile(r"(.+)-([1-9][0-9]*)")
KHZ = re.compile(r"[1-9][0-9]*")


@dataclass(frozen=True)
class SiteCost:
    """The cost of a site of one flavour, in `unit`. `pass_cost` is that of a pass without sites;
    `note` says why there is no verdict, if the numbers are too poor for one."""

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
    core: CoreCycles | None
    ns_per_tick: float | None
    note: str = ""
    margin: float = 0.0

    @property
    def verdict(self) -> str:
        """The verdict of the interval against `margin`, a site's share of the margin of a pass;
        withheld if there is a note."""
        return WITHHELD if self.note else decide(self.cost, self.ci, self.margin, None)

    @property
    def ns(self) -> float | None:
        """The cost in nanoseconds."""
        return None if self.ns_per_tick is None else self.cost * self.ns_per_tick

    @property
    def percent_per_unit(self) -> float | None:
        """One unit as a share of the pass, in percent."""
        return 100 / self.pass_cost if self.pass_cost > 0 else None

    @property
    def percent(self) -> float | None:
        """The cost as a share of the pass, in percent."""
        share = self.percent_per_unit
        return None if share is None else self.cost * share

    def as_json(self) -> dict[str, Any]:
        """An entry of summary.json."""
        bounded = self.ci != stats.UNBOUNDED
        numbers = {
            "cost": self.cost,
            "ci_lo": self.ci.lo if bounded else None,
            "ci_hi": self.ci.hi if bounded else None,
            "pass_cost": self.pass_cost,
            "margin": self.margin,
            "core_cycles": self.core.of(self.cost) if self.core else None,
            "ns": self.ns,
            "percent": self.percent,
        }
        rounded = {k: None if value is None else round(value, 6) for k, value in numbers.items()}
        names = ("tier", "kernel", "benchmark", "flavour", "unit", "n")
        words = {"verdict": self.verdict, "note": self.note}
        return {**{k: getattr(self, k) for k in names}, "sites": [*self.sites], **rounded, **words}


def is_counted(benchmark: str) -> bool:
    """Whether the variants of a benchmark differ in the number of their sites."""
    return any(fnmatchcase(benchmark, pattern) for pattern in BENCHMARKS)


def over_sites(passes: Mapping[int, Sequence[Slope]]) -> list[Slope]:
    """The slope over the number of sites, in each block that has a pass with every number."""
    by_block: dict[tuple[int, int, int], list[tuple[int, int, int]]] = defaultdict(list)
    for sites, series in passes.items():
        for slope in series:
            place = (slope.block, slope.layout, slope.process)
            by_block[place].append((sites, slope.top, slope.bottom))
    fitted = []
    for (block, layout, process), points in sorted(by_block.items()):
        if len(points) == len(passes):
            whole = math.lcm(*(bottom for _, _, bottom in points))
            top, below = line([(sites, value * (whole // own)) for sites, value, own in points])
            if below:
                fitted.append(Slope(block, layout, top, below * whole, process))
    return fitted


def bend_over_sites(
    passes: Mapping[int, Sequence[Slope]], resolution: float, most: float, outside: float
) -> str:
    """A note on passes that are not on a line over their numbers of sites, with the cost of a site
    between successive numbers; empty if they may be on a line. A bend is the slope over two
    neighbouring numbers less that over the two before, in each block; it counts if its whole
    interval is beyond `most`. The error probability `outside` is divided among all bends."""
    counts = sorted(passes)
    steps = [over_sites({n: passes[n] for n in pair}) for pair in pairwise(counts)]
    for before, behind in pairwise(steps):
        bends = paired(behind, before)
        share = outside / max(1, len(steps) - 1)
        found = location.of_series(bends, 2 * resolution, share)
        if found.interval.lo > most or found.interval.hi < -most:
            costs = [location.of_series(step).value for step in steps]
            said = ", ".join(
                f"{cost:.3g} from {low} to {high}"
                for cost, (low, high) in zip(costs, pairwise(counts), strict=True)
            )
            return f"not on a line over the number of sites: a site costs {said}"
    return ""


def place_of(
    series: Sequence[Slope], exact: bool, resolution: float, outside: float = location.OUTSIDE
) -> tuple[float, Interval]:
    """The location of slopes and its interval: median and range of exact counts, else by
    location.py."""
    if exact and series:
        return stats.middle(series), stats.exact_interval(series)
    found = location.of_series(series, resolution, outside)
    return found.value, found.interval


def cost_of(baseline: Result, flavour: str, counted: Mapping[int, Result], tier: Tier) -> SiteCost:
    """The cost of a site of one flavour."""
    passes = {0: baseline.slopes, **{sites: r.slopes for sites, r in counted.items()}}
    series, exact = over_sites(passes), baseline.unit == UNIT_INSTRUCTIONS
    step = max(r.resolution for r in (baseline, *counted.values())) / max(counted)
    cost, interval = place_of(series, exact, step, baseline.outside)
    margin = (baseline.margin or 0.0) / max(counted)
    bend = ""
    if not exact and len(passes) > 2:
        most = max(margin, SHARE * abs(cost))
        bend = bend_over_sites(passes, step, most, baseline.outside)
    khz = str(tier.env.get("tsc_khz", ""))
    timed = baseline.unit == UNIT_TSC and KHZ.fullmatch(khz)
    return SiteCost(
        tier=baseline.tier,
        kernel=baseline.kernel,
        benchmark=baseline.benchmark,
        flavour=flavour,
        unit=baseline.unit,
        sites=sorted(counted),
        n=len(series),
        cost=cost,
        ci=interval,
        pass_cost=baseline.median,
        core=baseline.core,
        ns_per_tick=1e6 / int(khz) if timed else None,
        note=bend,
        margin=0.0 if exact else margin,
    )


def flavours_of(results: Sequence[Result]) -> dict[str, dict[int, Result]]:
    """The results of each flavour by number of sites."""
    found: dict[str, dict[int, Result]] = defaultdict(dict)
    for result in results:
        if match := COUNTED.fullmatch(result.variant):
            found[match[1]][int(match[2])] = result
    return found


def analyse(
    results: Sequence[Result],
    tiers: Sequence[Tier],
    poor: Mapping[tuple[str, str, str], str] = MappingProxyType({}),
) -> list[SiteCost]:
    """The costs of all flavours, in the order of `results`. Flavours without a slope in any block
    are left out, and so are emulated ticks, which say nothing about a single instruction. `poor`
    says why the numbers of a benchmark carry no verdict; see grade.py."""
    known = {(tier.tier, tier.kernel): tier for tier in tiers}
    costs = []
    for key, group in groupby(results, lambda r: (r.tier, r.kernel, r.benchmark)):
        own, tier = list(group), known[key[:2]]
        baseline = next((r for r in own if r.verdict == BASELINE), None)
        if baseline is None or not is_counted(key[2]) or (tier.emulated and not tier.exact):
            continue
        for flavour, counted in flavours_of(own).items():
            cost = cost_of(baseline, flavour, counted, tier)
            note = "; ".join(filter(None, (poor.get(key, ""), cost.note)))
            if cost.n:
                costs.append(replace(cost, note=note))
    return costs
