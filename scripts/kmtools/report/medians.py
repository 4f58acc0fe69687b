# SPDX-License-Identifier: GPL-2.0-only
"""Renders the medians of a run on a machine without numpy.

A row has the median slope of a variant, and the median of its differences from the baseline, one
difference in each block. Medians have no interval and no verdict. This module needs only the
standard library.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from kmtools.analyse.slopes import (
    Slope,
    find_baseline_variant,
    fit_slopes_of_samples,
    subtract_baseline,
)
from kmtools.base.text import align_table, get_terminal_width, shorten_middle, wrap_line
from kmtools.measure.rundir import Tier
from kmtools.measure.samples import LOOP, Sample

# Width of a number, in columns of the terminal.
NUMBER_WIDTH = 12
HEADS = ["variant", f"{'median':>{NUMBER_WIDTH}}", f"{'added':>{NUMBER_WIDTH}}"]
NOTICE = "medians only; install python3-numpy for intervals and verdicts"


def format_median(series: Sequence[Slope], signed: bool = False) -> str:
    """Return the median of a series of slopes as text."""
    if not series:
        return "-"
    return f"{float(median(slope.value for slope in series)):{'+' if signed else ''}.3f}"


def make_median_rows(samples: Sequence[Sample]) -> tuple[str, list[list[str]]]:
    """Return the name of the baseline ("nothing" if there is none) and a table row for each
    variant, from the samples of one benchmark."""
    series = fit_slopes_of_samples(samples)
    baseline = find_baseline_variant(series)
    rows = [
        [
            variant,
            format_median(own),
            format_median(subtract_baseline(own, series[baseline]), True) if baseline else "-",
        ]
        for variant, own in series.items()
    ]
    return baseline or "nothing", rows


def render_medians(samples: Sequence[Sample], tiers: Sequence[Tier]) -> str:
    """Return the table of the medians of all tiers (measurement environments)."""
    lines: list[str] = []
    for tier in tiers:
        groups: dict[str, list[Sample]] = defaultdict(list)
        for sample in samples:
            own = (sample.tier, sample.kernel) == (tier.tier, tier.kernel)
            if own and sample.measured == LOOP:
                groups[sample.benchmark].append(sample)
        width = get_terminal_width()
        title = f"{tier.tier}, kernel {tier.kernel}: {tier.unit} per operation ({NOTICE})"
        lines += ["", *wrap_line(title, width)]
        found = {name: make_median_rows(several) for name, several in groups.items()}
        most = width - 2 * (2 + NUMBER_WIDTH) - 2
        rows = [HEADS, *(row for _, own in found.values() for row in own)]
        cells = align_table(
            [[shorten_middle(row[0], most), *row[1:]] for row in rows], right=(1, 2)
        )
        table = [f"  {line}" for line in cells]
        lines.append(table.pop(0))
        for name, (baseline, variants) in found.items():
            lines += ["", *wrap_line(f"{name}: over {baseline}", width, " ")]
            lines += table[: len(variants)]
            del table[: len(variants)]
    return "\n".join(lines[1:])
