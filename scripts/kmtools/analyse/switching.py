# SPDX-License-Identifier: GPL-2.0-only
"""Switching many sites: time, its parts, rounds and gaps, by number of sites and by method.

The numbers are those of whole switches, of milliseconds: they are not divided by the number of
sites, and no baseline is subtracted.
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
PARTS = ("batched-validate", "batched-map", "batched-rounds")
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


def per_site(points: Sequence[Point]) -> float | None:
    """Ticks per site of a batch of 4,096."""
    found = find(points, SCALING, OURS, 4096)
    return found.median / found.sites if found else None


def times_ours(way: str) -> Measure:
    """The time of another method as a multiple of the time of one batch of 10,000 sites."""

    def measure(points: Sequence[Point]) -> float | None:
        own, ours = (find(points, SCALING, w, 10_000) for w in (way, OURS))
        return own.median / ours.median if own and ours and ours.median else None

    return measure


def stall_percent(points: Sequence[Point]) -> float | None:
    """The gap of a CPU that executes no site, in percent of the one under stop_machine."""
    own, stopped = (find(points, STALL, w + STALL_SUFFIX, 10_000) for w in (OURS, "stop-machine"))
    return 100 * own.median / stopped.median if own and stopped and stopped.median else None


@dataclass(frozen=True)
class Promise:
    """A promise about switching in one tier: `measure` is at most or at least `limit`."""

    tier: str
    words: str
    measure: Measure
    most: bool
    limit: float

    def row(self, points: Sequence[Point]) -> list[str] | None:
        """The promise, its limit, the measured value and whether it is kept; None without data."""
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
