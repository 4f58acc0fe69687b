# SPDX-License-Identifier: GPL-2.0-only
"""Medians of a run, for a machine without numpy.

The median slope of each variant, and the median of what it adds to its baseline in the same block.
They have no interval and no verdict. This file needs nothing but Python.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from kmtools.analyse.slopes import Slope, find_baseline, paired, slopes
from kmtools.measure.rundir import Tier
from kmtools.measure.samples import LOOP, Sample

NOTICE = "medians alone; what they are worth is said with python3-numpy"


def middle(series: Sequence[Slope], signed: bool = False) -> str:
    """The median of a series as text."""
    if not series:
        return "-"
    return f"{float(median(slope.value for slope in series)):{'+' if signed else ''}.3f}"


def benchmark_lines(name: str, samples: Sequence[Sample]) -> list[str]:
    """One benchmark as text."""
    series = slopes(samples)
    baseline = find_baseline(series)
    lines = ["", f" {name}: over {baseline or 'nothing'}"]
    for variant, own in series.items():
        added = middle(paired(own, series[baseline]), True) if baseline else "-"
        lines.append(f"  {variant:34}{middle(own):>12}{added:>12}")
    return lines


def render(samples: Sequence[Sample], tiers: Sequence[Tier]) -> str:
    """The table of all tiers."""
    lines: list[str] = []
    for tier in tiers:
        groups: dict[str, list[Sample]] = defaultdict(list)
        for sample in samples:
            own = (sample.tier, sample.kernel) == (tier.tier, tier.kernel)
            if own and sample.measured == LOOP:
                groups[sample.benchmark].append(sample)
        lines += ["", f"{tier.tier}, kernel {tier.kernel}: {tier.unit} per operation ({NOTICE})"]
        lines.append(f"  {'variant':34}{'median':>12}{'added':>12}")
        for name, several in groups.items():
            lines += benchmark_lines(name, several)
    return "\n".join(lines[1:])
