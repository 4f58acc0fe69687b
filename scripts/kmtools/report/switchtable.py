# SPDX-License-Identifier: GPL-2.0-only
"""Makes the tables of how long it takes to switch many sites, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence

from kmtools.analyse import switching
from kmtools.analyse.switching import OURS, SCALING, STALL, WORDS, Point, find_point
from kmtools.base.text import fit_table, terminal_width, wrap_line
from kmtools.report.table import amount


def table_rows(points: Sequence[Point]) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows: ticks per switch by method and number of sites, and the ratio to the
    method of kmarkers."""
    times = [p for p in points if p.benchmark == SCALING and p.is_time]
    sizes = sorted({p.sites for p in times})
    most = max((p.sites for p in times if p.way != OURS and p.way in WORDS), default=0)
    heads = ["way", *(f"{size:,}" for size in sizes), f"times ours at {min(most, 10_000):,}"]
    rows = []
    for way, words in WORDS.items():
        cells = [find_point(times, SCALING, way, size) for size in sizes]
        if any(cells):
            own, ours = (find_point(times, SCALING, w, min(most, 10_000)) for w in (way, OURS))
            ratio = amount(own.median / ours.median) if own and ours and ours.median else ""
            rows.append([words, *(f"{c.median:,.0f}" if c else "" for c in cells), ratio])
    return heads, rows


def part_rows(points: Sequence[Point]) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows: ticks per site of one batch and of its parts, and its number of
    rounds."""
    sizes = sorted({p.sites for p in points if p.variant == OURS and p.benchmark == SCALING})
    heads = ["of one batch, per site", *(f"{size:,}" for size in sizes)]
    rows = []
    for variant in (OURS, *switching.PARTS, switching.ROUND_COUNT):
        cells = [find_point(points, SCALING, variant, size) for size in sizes]
        label = "all" if variant == OURS else variant.removeprefix("batched-").replace("-", " ")
        if variant == switching.ROUND_COUNT:
            texts = [f"{c.median:g}" if c else "" for c in cells]
            label += " of the batch"
        else:
            texts = [amount(c.median / c.sites) if c else "" for c in cells]
        rows.append([label, *texts])
    return heads, rows


def stall_rows(points: Sequence[Point]) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows: the longest gap of a CPU that executes no site, during each method."""
    heads = ["meanwhile", "sites", "median gap", "95 %", "switches", "of that of stop_machine"]
    stalls = [p for p in points if p.benchmark == STALL]
    rows = []
    for point in sorted(stalls, key=lambda p: list(WORDS).index(p.way)):
        stopped = find_point(stalls, STALL, "stop-machine-stall", point.sites)
        share = f"{100 * point.median / stopped.median:.1f} %" if stopped else ""
        span = f"[{amount(point.ci.lo)}, {amount(point.ci.hi)}]"
        row = [WORDS[point.way], f"{point.sites:,}", f"{point.median:,.0f}", span, str(point.n)]
        rows.append([*row, share])
    return heads, rows


def limit_rows(points: Sequence[Point]) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows: the limits for this tier, and the measured values."""
    rows = [p.row(points) for p in switching.LIMITS if p.tier == points[0].tier]
    return ["what", "limit", "measured", ""], [row for row in rows if row]


TABLES = (
    ("time to switch sites", table_rows),
    ("where the time goes", part_rows),
    ("longest gap of a CPU that executes no site", stall_rows),
    ("what switching must reach", limit_rows),
)


def render(points: Sequence[Point]) -> str:
    """Return all tables as text for a terminal."""
    lines, width = [], terminal_width()
    for tier, kernel in dict.fromkeys((p.tier, p.kernel) for p in points):
        own = switching.select_tier(points, tier, kernel)
        for title, make in TABLES:
            heads, rows = make(own)
            if rows:
                said = f"{tier}, kernel {kernel}: {title}, {own[0].unit}"
                lines += ["", *wrap_line(said, width)]
                table = fit_table(heads, rows, width - 2)
                lines += [f"  {line}" for line in table]
    return "\n".join(lines)
