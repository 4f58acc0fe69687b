# SPDX-License-Identifier: GPL-2.0-only
"""Makes the tables of how long it takes to switch many sites, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence

from kmtools.analyse import switching
from kmtools.analyse.switching import (
    METHOD_NAMES,
    OUR_METHOD,
    SCALING,
    STALL,
    SwitchPoint,
    find_switch_point,
)
from kmtools.base.text import get_terminal_width, split_wide_table, wrap_line
from kmtools.report.table import format_amount, format_with_si_prefix


def make_switch_time_rows(points: Sequence[SwitchPoint]) -> tuple[list[str], list[list[str]]]:
    """Return the heads and the rows of a table: the ticks of a switch by method and number of
    sites, and the ratio of these ticks to the ticks of one batch of kmarkers. There is a column for
    each number of sites that another method switched; if no other method was measured, for each
    number of sites that kmarkers switched. Without another method there is no ratio."""
    times = [p for p in points if p.benchmark == SCALING and p.is_time]
    compared = [p for p in times if not p.method.startswith(OUR_METHOD)]
    sizes = sorted({p.sites for p in compared or times})
    most = max(
        (p.sites for p in times if p.method != OUR_METHOD and p.method in METHOD_NAMES), default=0
    )
    heads = ["method", *(f"{size:,}" for size in sizes)]
    heads += [f"ratio to one batch at {min(most, 10_000):,}"] if most else []
    rows = []
    for way, words in METHOD_NAMES.items():
        cells = [find_switch_point(times, SCALING, way, size) for size in sizes]
        if any(cells):
            own, ours = (
                find_switch_point(times, SCALING, w, min(most, 10_000)) for w in (way, OUR_METHOD)
            )
            ratio = format_amount(own.median / ours.median) if own and ours and ours.median else ""
            row = [words, *(format_with_si_prefix(c.median) if c else "" for c in cells)]
            rows.append([*row, ratio] if most else row)
    return heads, rows


def make_batch_part_rows(points: Sequence[SwitchPoint]) -> tuple[list[str], list[list[str]]]:
    """Return the heads and the rows of a table: the ticks per site of one batch and of its parts,
    and the number of synchronisation rounds of the batch."""
    sizes = sorted({p.sites for p in points if p.variant == OUR_METHOD and p.benchmark == SCALING})
    heads = ["part, per site", *(f"{size:,}" for size in sizes)]
    rows = []
    for variant in (OUR_METHOD, *switching.BATCH_PARTS, switching.ROUND_COUNT) if sizes else ():
        cells = [find_switch_point(points, SCALING, variant, size) for size in sizes]
        label = (
            "all" if variant == OUR_METHOD else variant.removeprefix("batched-").replace("-", " ")
        )
        if variant == switching.ROUND_COUNT:
            texts = [f"{c.median:g}" if c else "" for c in cells]
            label += " of the batch"
        else:
            texts = [format_amount(c.median / c.sites) if c else "" for c in cells]
        rows.append([label, *texts])
    return heads, rows


def make_interruption_rows(points: Sequence[SwitchPoint]) -> tuple[list[str], list[list[str]]]:
    """Return the heads and the rows of a table: for each method of switching sites in METHOD_NAMES,
    the longest interruption of another CPU, which executes none of the sites."""
    heads = ["method", "sites", "median gap", "95 %", "switches", "of stop_machine's gap"]
    stalls = [p for p in points if p.benchmark == STALL and p.method in METHOD_NAMES]
    rows = []
    for point in sorted(stalls, key=lambda p: list(METHOD_NAMES).index(p.method)):
        stopped = find_switch_point(stalls, STALL, "stop-machine-stall", point.sites)
        share = f"{100 * point.median / stopped.median:.1f} %" if stopped and stopped.median else ""
        span = f"[{format_amount(point.ci.lo)}, {format_amount(point.ci.hi)}]"
        row = [
            METHOD_NAMES[point.method],
            f"{point.sites:,}",
            f"{point.median:,.0f}",
            span,
            str(point.n),
        ]
        rows.append([*row, share])
    return heads, rows


def make_switching_limit_rows(points: Sequence[SwitchPoint]) -> tuple[list[str], list[list[str]]]:
    """Return the heads and the rows of a table: the limits on switching in this tier (measurement
    environment), and the measured values."""
    rows = [p.make_table_row(points) for p in switching.LIMITS if p.tier == points[0].tier]
    return ["what", "limit", "measured", ""], [row for row in rows if row]


# (title, benchmark whose blocks the table shows, function that makes heads and rows)
TABLES = (
    ("time to switch sites", SCALING, make_switch_time_rows),
    ("parts of the time of one batch", SCALING, make_batch_part_rows),
    ("longest gap of a CPU that executes no site", STALL, make_interruption_rows),
    ("limits on switching", "", make_switching_limit_rows),
)


def list_missing_blocks(points: Sequence[SwitchPoint], benchmark: str) -> list[str]:
    """Return the notes on missing blocks of a benchmark; an empty list if no block is missing."""
    own = [
        p.blocks.describe_missing_blocks() for p in points if p.benchmark == benchmark and p.blocks
    ]
    return list(dict.fromkeys(filter(None, own)))


def make_switch_tables(points: Sequence[SwitchPoint]) -> list[str]:
    """Return all tables as texts for a terminal, grouped by tier and kernel."""
    texts, width = [], get_terminal_width()
    for tier, kernel in dict.fromkeys((p.tier, p.kernel) for p in points):
        own = switching.select_switch_points_of_tier(points, tier, kernel)
        for title, benchmark, make in TABLES:
            heads, rows = make(own)
            if rows:
                said = f"{tier}, kernel {kernel}: {title}, {own[0].unit}"
                lines = [f"  {line}" for line in split_wide_table(heads, rows, width - 2)]
                missing = list_missing_blocks(own, benchmark)
                texts.append("\n".join([*wrap_line(said, width), *lines, *missing]))
    return texts
