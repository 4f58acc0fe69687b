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
from kmtools.base.text import aligned, shortened, terminal_width, wrapped
from kmtools.measure.rundir import Tier
from kmtools.measure.samples import LOOP, Sample

# Columns of a number.
NUMBER = 12
HEADS = ["variant", f"{'median':>{NUMBER}}", f"{'added':>{NUMBER}}"]
NOTICE = "medians alone; what they are worth is said with python3-numpy"


def middle(series: Sequence[Slope], signed: bool = False) -> str:
    """The median of a series as text."""
    if not series:
        return "-"
    return f"{float(median(slope.value for slope in series)):{'+' if signed else ''}.3f}"


def benchmark_rows(samples: Sequence[Sample]) -> tuple[str, list[list[str]]]:
    """The baseline of a benchmark, or the word for none, and a row for each variant."""
    series = slopes(samples)
    baseline = find_baseline(series)
    rows = [
        [variant, middle(own), middle(paired(own, series[baseline]), True) if baseline else "-"]
        for variant, own in series.items()
    ]
    return baseline or "nothing", rows


def render(samples: Sequence[Sample], tiers: Sequence[Tier]) -> str:
    """The table of all tiers."""
    lines: list[str] = []
    for tier in tiers:
        groups: dict[str, list[Sample]] = defaultdict(list)
        for sample in samples:
            own = (sample.tier, sample.kernel) == (tier.tier, tier.kernel)
            if own and sample.measured == LOOP:
                groups[sample.benchmark].append(sample)
        width = terminal_width()
        title = f"{tier.tier}, kernel {tier.kernel}: {tier.unit} per operation ({NOTICE})"
        lines += ["", *wrapped(title, width)]
        found = {name: benchmark_rows(several) for name, several in groups.items()}
        most = width - 2 * (2 + NUMBER) - 2
        rows = [HEADS, *(row for _, own in found.values() for row in own)]
        cells = aligned([[shortened(row[0], most), *row[1:]] for row in rows], right=(1, 2))
        table = [f"  {line}" for line in cells]
        lines.append(table.pop(0))
        for name, (baseline, variants) in found.items():
            lines += ["", *wrapped(f"{name}: over {baseline}", width, " ")]
            lines += table[: len(variants)]
            del table[: len(variants)]
    return "\n".join(lines[1:])
