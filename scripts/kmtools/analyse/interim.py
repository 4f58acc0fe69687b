# SPDX-License-Identifier: GPL-2.0-only
"""Decides at interim analyses of a run on a real CPU which benchmarks are measured further.

A benchmark is measured until more time would resolve none of its rows, or until the time limit.
stopping.py defines after how many clusters (processes, boots or module loads, see clusters.py) an
interim analysis (look) is made. Benchmarks that measure how long it takes to switch sites have no
verdicts; they are measured until the first look.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kmtools.analyse import stopping, verdicts
from kmtools.analyse.linearity import NOT_ON_A_LINE
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import LIMITED_BY_LAYOUTS, UNRESOLVED, Result
from kmtools.measure.collect import keep_chosen_variants
from kmtools.measure.run_cache import RunCache
from kmtools.measure.rundir import CLUSTER_NOUNS

# A function that writes an event or prints a line.
Report = Callable[..., None]


@dataclass(frozen=True)
class InterimLook:
    """The outcome of an interim analysis: `unresolved` has the benchmarks to measure further.
    `rows` is the number of compared rows (variants), `open_rows` the number of unresolved rows, and
    `limited_rows` the number of unresolved rows that a longer run would not resolve, because code
    layouts differ, or because the time of a window is not linear in the loop count."""

    unresolved: Sequence[str]
    open_rows: int
    limited_rows: int
    rows: int


def compute_results_of_first_clusters(
    cache: RunCache, tier: str, raw: Path, clusters: int
) -> list[Result]:
    """Compute the results of the chosen variants of a tier from the samples of the first `clusters`
    clusters in its raw folder."""
    data = keep_chosen_variants(cache.reader.load_tier(tier, raw, clusters), cache.variants)
    return cache.compute_results(data.rows, data.tier, verdicts.compute_results)


def analyse_interim_results(results: Sequence[Result]) -> InterimLook:
    """Return the outcome of an interim analysis (look): a benchmark is measured further if more
    time may resolve one of its rows."""
    judged = [r for r in results if r.delta is not None and not r.is_clone]
    still = [r for r in judged if r.verdict == UNRESOLVED]
    more = [r for r in still if LIMITED_BY_LAYOUTS not in r.note and NOT_ON_A_LINE not in r.note]
    names = list(dict.fromkeys(r.benchmark for r in more))
    return InterimLook(names, len(still), len(still) - len(more), len(judged))


def forecast_detectable_difference(clone: Result, clusters: int) -> float | None:
    """Return the smallest difference that `clusters` clusters can detect with a probability of
    verdicts.POWER. All clusters are assumed to be as noisy as the first few clusters, the pilot.
    `clone` is the result of an A/A clone in the pilot. More clusters reduce only the variance over
    time, not the variance over code layouts. Return None if the pilot is too short."""
    if clone.time_ci is None or clone.margin is None or math.isinf(clone.time_ci.half_width):
        return None
    over_layouts = clone.layout_ci.half_width if clone.layout_ci else 0.0
    over_time = clone.time_ci.half_width * math.sqrt(stopping.PILOT_CLUSTERS / clusters)
    half = math.hypot(over_time, over_layouts)
    alpha = stopping.get_interim_error_probability(clusters)
    return verdicts.compute_smallest_detectable_difference(
        Interval(-half, half), clone.margin, alpha
    )


def report_detectable_differences(
    results: Sequence[Result], tier: str, clusters: int, write_event: Report, print_line: Report
) -> None:
    """Report the smallest differences that the tier `tier` can detect by `clusters` clusters: write
    an event with `write_event`, and print a line with `print_line`."""
    found: dict[str, float] = {}
    for clone in (r for r in results if r.is_clone):
        smallest = forecast_detectable_difference(clone, clusters)
        if smallest is not None:
            found[clone.benchmark] = round(smallest, 3)
    write_event("pilot", tier=tier, processes=clusters, detectable=found)
    if not found:
        return
    ordered = sorted(found, key=lambda name: found[name])
    low, middle, high = ordered[0], ordered[len(ordered) // 2], ordered[-1]
    unit = results[0].unit
    nouns = CLUSTER_NOUNS[tier][1]
    print_line(
        f"pilot: with {clusters} {nouns}, four of five runs will detect differences"
        f" of {found[low]:.2g} {unit} in {low}, {found[middle]:.2g} in {middle}, {found[high]:.2g}"
        f" in {high}"
    )


class BenchmarkChooser:
    """Chooses the benchmarks of the next cluster after each cluster of a tier."""

    def __init__(
        self,
        tier: str,
        planned: int,
        cache: RunCache,
        write_event: Report,
        print_line: Callable[[str], Any],
    ) -> None:
        """Store the tier, the planned number of clusters and the cache of the run's samples and
        results; `write_event` writes events, `print_line` prints lines."""
        self._tier = tier
        self._planned = planned
        self._cache = cache
        self._write_event = write_event
        self._print_line = print_line

    def __call__(self, raw: Path, clusters: int) -> list[str] | None:
        """Return the benchmarks of the next cluster, after `clusters` clusters have ended. None
        means the same benchmarks as before. An empty list ends the measurement, because more time
        would resolve no row."""

        def compute_results() -> list[Result]:
            return compute_results_of_first_clusters(self._cache, self._tier, raw, clusters)

        if clusters == stopping.PILOT_CLUSTERS:
            report_detectable_differences(
                compute_results(), self._tier, self._planned, self._write_event, self._print_line
            )
        if clusters not in stopping.LOOKS:
            return None
        look = analyse_interim_results(compute_results())
        resolved = look.rows - look.open_rows
        self._write_event(
            "look",
            tier=self._tier,
            processes=clusters,
            rows=look.rows,
            resolved=resolved,
            unresolved=list(look.unresolved),
        )
        placed, nouns = look.limited_rows, CLUSTER_NOUNS[self._tier][1]
        why = "layouts differ, or windows are not on a line"
        rest = f"; more {nouns} do not resolve {placed}: {why}" if placed else ""
        self._print_line(
            f"after {clusters} {nouns} {resolved} of {look.rows} rows are resolved{rest}"
        )
        return list(look.unresolved)
