# SPDX-License-Identifier: GPL-2.0-only
"""Switching many sites: time, its parts, rounds and gaps, by number of sites and by method.

The numbers are those of whole switches, which take milliseconds: they are not divided by the number
of sites, and no baseline is subtracted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kmtools.analyse import stats
from kmtools.analyse.slopes import Slope
from kmtools.analyse.stats import Interval
from kmtools.measure.rundir import tier_order
from kmtools.measure.samples import LOOP, ROUNDS, SWITCH, Sample

SCALING, STALL = "arm-scaling", "arm-stall"
STALL_SUFFIX = "-stall"
ROUND_COUNT = "batched-round-count"
OURS = "batched"
STORES, BY_HAND = "stores-alone", "rounds-by-hand"
PARTS = ("batched-validate", "batched-map", "batched-rounds")
WORDS = {
    "batched": "ours, one batch",
    "batched-chunk-1000": "ours, a thousand at a time",
    "one-by-one": "ours, one by one",
    "static-key-one": "one static key",
    "static-keys-many": "a static key for each",
    "stop-machine": "stop_machine (in a buffer)",
    "idle": "nothing",
    "batched-off": "ours, one batch, off again",
    "batched-chunk-1000-off": "ours, a thousand at a time, off again",
    "stop-machine-off": "stop_machine (in a buffer), off again",
    "stores-alone": "a map and the stores alone",
    "rounds-by-hand": "a map and three rounds by hand",
}


@dataclass(frozen=True)
class Point:
    """Switches of some sites by one method: median and 95 % interval, in `unit` per switch."""

    tier: str
    kernel: str
    benchmark: str
    variant: str
    measured: str
    sites: int
    unit: str
    n: int
    median: float
    ci: Interval

    @property
    def way(self) -> str:
        """The method of switching: the name of the variant without the measured quantity."""
        return self.variant.removesuffix(STALL_SUFFIX)

    @property
    def is_time(self) -> bool:
        """True for the time of whole switches."""
        return self.measured == SWITCH

    def as_json(self) -> dict[str, Any]:
        """An entry of summary.json."""
        entry = asdict(self)
        ci = entry.pop("ci")
        bounded = self.ci != stats.UNBOUNDED
        return entry | {f"ci_{end}": value if bounded else None for end, value in ci.items()}


def point_of(series: Sequence[Sample]) -> Point:
    """The median of switches of one kind."""
    one = series[0]
    values = [Slope(s.block, s.layout, s.value) for s in series]
    return Point(
        one.tier, one.kernel, one.benchmark, one.variant, one.measured, one.size, one.unit,
        len(series), stats.middle(values), stats.sign_interval(values),
    )  # fmt: skip


def analyse(samples: Iterable[Sample]) -> list[Point]:
    """Medians of every method and number of sites, ordered by tier, kernel and benchmark."""
    groups: dict[tuple[str, str, str, str, int], list[Sample]] = defaultdict(list)
    for s in samples:
        if s.measured != LOOP:
            groups[s.tier, s.kernel, s.benchmark, s.variant, s.size].append(s)
    return [point_of(groups[key]) for key in sorted(groups, key=lambda k: (tier_order(k[0]), k))]


def find(points: Iterable[Point], benchmark: str, variant: str, sites: int) -> Point | None:
    """One point, or None."""
    wanted = (benchmark, variant, sites)
    return next((p for p in points if (p.benchmark, p.variant, p.sites) == wanted), None)


def of_tier(points: Iterable[Point], tier: str, kernel: str) -> list[Point]:
    """The points of one tier and kernel."""
    return [point for point in points if (point.tier, point.kernel) == (tier, kernel)]


Measure = Callable[[Sequence[Point]], float | None]


def rounds_of_any(points: Sequence[Point]) -> float | None:
    """The largest number of rounds of any batch."""
    return max((p.median for p in points if p.measured == ROUNDS), default=None)


def further(points: Sequence[Point], way: str, fewer: int, more: int) -> float | None:
    """The time of a further site: the slope between two numbers of sites."""
    low, high = (find(points, SCALING, way, sites) for sites in (fewer, more))
    return (high.median - low.median) / (more - fewer) if low and high else None


def quotient(ours: float | None, other: float | None) -> float | None:
    """Ours as a multiple of the other; None if either is not known."""
    return ours / other if ours is not None and other and other > 0 else None


def against_stores(points: Sequence[Point]) -> float | None:
    """The time of a further site of a batch as a multiple of the time of its stores alone: three,
    in three passes over the sites, through a second mapping of the same kind."""
    return quotient(*(further(points, way, 1000, 10_000) for way in (OURS, STORES)))


def against_rounds(points: Sequence[Point]) -> float | None:
    """The time of a batch of one site as a multiple of that of a map, three rounds and an unmap."""
    ours, other = (find(points, SCALING, way, 1) for way in (OURS, BY_HAND))
    return quotient(ours.median if ours else None, other.median if other else None)


def at_a_million(points: Sequence[Point]) -> float | None:
    """The ratio of against_stores() beyond a hundred thousand sites: the list of a million is
    larger than most caches, so that the stores alone take longer there, too."""
    return quotient(*(further(points, way, 100_000, 1_000_000) for way in (OURS, STORES)))


def times_ours(way: str) -> Measure:
    """The time of another method as a multiple of the time of one batch of 10,000 sites."""

    def measure(points: Sequence[Point]) -> float | None:
        own, ours = (find(points, SCALING, w, 10_000) for w in (way, OURS))
        return own.median / ours.median if own and ours and ours.median else None

    return measure


def stall_percent(points: Sequence[Point]) -> float | None:
    """The gap of a CPU that executes no site, in percent of the one under stop_machine; both net of
    the gap that the CPU sees when nothing is switched."""
    ways = (OURS, "stop-machine", "idle")
    own, stopped, idle = (find(points, STALL, way + STALL_SUFFIX, 10_000) for way in ways)
    if not own or not stopped or not idle:
        return None
    share = quotient(own.median - idle.median, stopped.median - idle.median)
    return 100 * share if share is not None else None


@dataclass(frozen=True)
class Limit:
    """A limit of switching in one tier: `measure` is at most or at least `limit`."""

    tier: str
    words: str
    measure: Measure
    most: bool
    limit: float

    def row(self, points: Sequence[Point]) -> list[str] | None:
        """The limited quantity, the limit, the value and whether it is kept; None without data."""
        got = self.measure(points)
        if got is None:
            return None
        kept = got <= self.limit if self.most else got >= self.limit
        bound = f"{'at most' if self.most else 'at least'} {self.limit:g}"
        return [self.words, bound, f"{got:.4g}", "kept" if kept else BROKEN]


BROKEN = "BROKEN"
LIMITS = (
    Limit("native", "rounds of a batch of any size", rounds_of_any, True, 3),
    Limit("native", "a further site, in stores that it needs", against_stores, True, 2.5),
    Limit("native", "one site, in maps with three rounds", against_rounds, True, 1.3),
    Limit("native", "the same at a million sites", at_a_million, True, 2.5),
    Limit("vm", "rounds of a batch of any size", rounds_of_any, True, 3),
    Limit("vm", "times as long: one static key", times_ours("static-key-one"), False, 25),
    Limit("vm", "times as long: many static keys", times_ours("static-keys-many"), False, 25),
    Limit("vm", "times as long: one by one", times_ours("one-by-one"), False, 8),
    Limit("vm", "gap, net of idle, in % of that of stop_machine", stall_percent, True, 5),
    Limit("metal", "gap, net of idle, in % of that of stop_machine", stall_percent, True, 5),
)
