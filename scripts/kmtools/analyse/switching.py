# SPDX-License-Identifier: GPL-2.0-only
"""Switching many sites: time, its parts, rounds and stalls by number of sites and by way.

In the benchmarks arm-scaling and arm-stall a sample is one switch of `loops` sites. What it took
is not divided by anything, and nothing is subtracted: these are whole operations, of milliseconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kmtools.analyse import stats
from kmtools.analyse.slopes import Slope
from kmtools.analyse.stats import Interval
from kmtools.measure.rundir import Sample, Tier, is_switching, tier_order

SCALING, STALL = "arm-scaling", "arm-stall"
STALL_SUFFIX = "-stall"
ROUND_COUNT = "batched-round-count"
OURS = "batched"
PARTS = ("batched-validate", "batched-map", "batched-rounds")
COUNT_UNIT = "rounds"
WORDS = {
    "batched": "ours, one batch",
    "batched-chunk-1000": "ours, a thousand at a time",
    "one-by-one": "ours, one by one",
    "static-key-one": "one static key",
    "static-keys-many": "a static key for each",
    "stop-machine": "stop_machine (in a buffer)",
    "idle": "nothing",
}


@dataclass(frozen=True)
class Point:
    """Switches of so many sites in one way: median and 95 % interval, in `unit` per switch."""

    tier: str
    kernel: str
    benchmark: str
    variant: str
    sites: int
    unit: str
    n: int
    median: float
    ci: Interval

    @property
    def way(self) -> str:
        """The way of switching, without what was measured of it."""
        return self.variant.removesuffix(STALL_SUFFIX)

    @property
    def is_stall(self) -> bool:
        """True for gaps of the CPU that executes no site."""
        return self.variant.endswith(STALL_SUFFIX)

    @property
    def is_time(self) -> bool:
        """True for the time that whole switches took."""
        return self.variant in WORDS

    def as_json(self) -> dict[str, Any]:
        """An entry of summary.json: what loops have and switches do not is null."""
        finite = self.ci != stats.UNBOUNDED
        nothing = (
            "baseline", "delta", "delta_ci_lo", "delta_ci_hi", "noise_floor", "published",
            "published_delta",
        )  # fmt: skip
        return {
            "tier": self.tier,
            "kernel": self.kernel,
            "benchmark": self.benchmark,
            "variant": self.variant,
            "sites": self.sites,
            "unit": self.unit,
            "n": self.n,
            "median": self.median,
            "ci_lo": self.ci.lo if finite else None,
            "ci_hi": self.ci.hi if finite else None,
            "verdict": "not compared",
            **dict.fromkeys(nothing),
        }


Key = tuple[str, str, str, str, int]


def analyse(samples: Iterable[Sample], tiers: Sequence[Tier]) -> list[Point]:
    """Medians of every way and number of sites, ordered by tier, kernel and benchmark."""
    units = {(tier.tier, tier.kernel): tier.unit for tier in tiers}
    groups: dict[Key, list[Sample]] = defaultdict(list)
    for s in samples:
        if is_switching(s.benchmark) and s.tsc is not None:
            groups[s.tier, s.kernel, s.benchmark, s.variant, s.loops].append(s)
    points = []
    for key in sorted(groups, key=lambda key: (tier_order(key[0]), key)):
        tier, kernel, benchmark, variant, sites = key
        series = [Slope(s.block, s.layout, Fraction(s.tsc or 0)) for s in groups[key]]
        unit = COUNT_UNIT if variant == ROUND_COUNT else units[tier, kernel]
        middle, interval = stats.middle(series), stats.sign_interval(series)
        points.append(
            Point(tier, kernel, benchmark, variant, sites, unit, len(series), middle, interval)
        )
    return points


def find(points: Iterable[Point], benchmark: str, variant: str, sites: int) -> Point | None:
    """One point, or None."""
    for point in points:
        if (point.benchmark, point.variant, point.sites) == (benchmark, variant, sites):
            return point
    return None


def of_tier(points: Iterable[Point], tier: str, kernel: str) -> list[Point]:
    """The points of one tier and kernel."""
    return [point for point in points if (point.tier, point.kernel) == (tier, kernel)]


Measure = Callable[[Sequence[Point]], float | None]


def rounds_of_any(points: Sequence[Point]) -> float | None:
    """The most rounds that a batch took, whatever its size."""
    return max((p.median for p in points if p.variant == ROUND_COUNT), default=None)


def per_site(points: Sequence[Point]) -> float | None:
    """Ticks per site of a batch of 4,096."""
    found = find(points, SCALING, OURS, 4096)
    return found.median / found.sites if found else None


def times_ours(way: str) -> Measure:
    """How many times as long as one batch of 10,000 sites another way takes."""

    def measure(points: Sequence[Point]) -> float | None:
        own, ours = (find(points, SCALING, w, 10_000) for w in (way, OURS))
        return own.median / ours.median if own and ours and ours.median else None

    return measure


def stall_percent(points: Sequence[Point]) -> float | None:
    """The gap of a CPU that executes no site, in percent of that under stop_machine."""
    own, stopped = (find(points, STALL, w + STALL_SUFFIX, 10_000) for w in (OURS, "stop-machine"))
    return 100 * own.median / stopped.median if own and stopped and stopped.median else None


@dataclass(frozen=True)
class Promise:
    """What switching must reach in one tier: `measure` at most or at least `limit`."""

    tier: str
    words: str
    measure: Measure
    most: bool
    limit: float

    def row(self, points: Sequence[Point]) -> list[str] | None:
        """The promise, its limit, what was measured and whether it is kept; None without data."""
        got = self.measure(points)
        if got is None:
            return None
        kept = got <= self.limit if self.most else got >= self.limit
        bound = f"{'at most' if self.most else 'at least'} {self.limit:g}"
        return [self.words, bound, f"{got:.4g}", "kept" if kept else "BROKEN"]


PROMISES = (
    Promise("native", "rounds of a batch of any size", rounds_of_any, True, 3),
    Promise("native", "ticks per site of a batch of 4,096", per_site, True, 60),
    Promise("vm", "rounds of a batch of any size", rounds_of_any, True, 3),
    Promise("vm", "times as long: one static key", times_ours("static-key-one"), False, 25),
    Promise("vm", "times as long: many static keys", times_ours("static-keys-many"), False, 25),
    Promise("vm", "times as long: one by one", times_ours("one-by-one"), False, 8),
    Promise("vm", "gap in % of that of stop_machine", stall_percent, True, 10),
)
