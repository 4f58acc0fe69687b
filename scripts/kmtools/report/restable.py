# SPDX-License-Identifier: GPL-2.0-only
"""The page's tables of results: costs with verdicts, blocks and layouts, sites, switches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kmtools.analyse import kinds, stats
from kmtools.analyse.density import SiteCost
from kmtools.analyse.switching import Point
from kmtools.analyse.verdicts import Result
from kmtools.report import sitetable, switchtable
from kmtools.report.markup import escape, number, table, verdict
from kmtools.report.table import amount, group_header, in_core_cycles, shown, span


def result_row(result: Result) -> list[str]:
    """The cells of one result."""
    flags = ", ".join(f"{count} {word}" for word, count in result.flags.items())
    return [
        escape(result.variant + (" (A/A)" if result.is_clone else "")),
        number(shown(result, result.delta, True)),
        number(span(result, result.delta_ci, True)),
        *([number(in_core_cycles(result))] if result.core else []),
        number(shown(result, result.median)),
        number(span(result, result.ci)),
        str(result.n),
        f"{result.flagged} of {result.windows}" + (f" ({escape(flags)})" if flags else ""),
        verdict(result.verdict, result.note),
    ]


def results(rows: Sequence[Result]) -> str:
    """A table for each benchmark."""
    parts = []
    for group in kinds.groups(rows):
        core = group[0].core
        heads = ["variant", "added", "95 %"]
        if core is not None:
            heads.append(f"added, core cycles ({core.source})")
        heads += ["median", "95 %", "blocks", "windows flagged", "verdict"]
        caption = f"{group_header(group[0])}; {group[0].unit} per operation"
        kind = "tnn" + "n" * (core is not None) + "nnnnv"
        parts.append(table(caption, heads, map(result_row, group), kind))
    return "\n".join(parts)


def block_row(result: Result, layouts: Sequence[int]) -> list[str]:
    """The spread of the blocks of a result, and its cost in each layout."""
    values = stats.values(result.slopes)
    spread = [amount(float(np.quantile(values, share))) for share in (0.05, 0.5, 0.95, 1.0)]
    medians = stats.layout_medians(result.deltas)
    cells = [amount(medians[layout], True) if layout in medians else "-" for layout in layouts]
    return [escape(result.variant), *map(number, [*spread, *cells])]


def blocks(rows: Sequence[Result]) -> str:
    """How the blocks are spread, which a median hides, and what code placement does."""
    parts = []
    for group in kinds.groups([row for row in rows if row.slopes]):
        layouts = sorted({slope.layout for row in group for slope in row.deltas})
        heads = ["variant", "5 % of the blocks", "50 %", "95 %", "slowest"]
        heads += [f"added in layout {layout}" for layout in layouts]
        caption = f"{group[0].benchmark}: blocks and code layouts, {group[0].unit} per operation"
        cells = [block_row(row, layouts) for row in group]
        parts.append(table(caption, heads, cells, "t" + "n" * (len(heads) - 1)))
    return "\n".join(parts)


def sites(costs: Sequence[SiteCost]) -> str:
    """The cost of one more dormant site, a table for each benchmark."""
    groups: dict[str, list[SiteCost]] = {}
    for cost in costs:
        groups.setdefault(cost.benchmark, []).append(cost)
    parts = []
    for own in groups.values():
        rows = [list(map(number, row)) for row in sitetable.rows_of(own)]
        heads = sitetable.HEADS
        parts.append(table(sitetable.title_of(own[0]), heads, rows, "t" + "n" * (len(heads) - 1)))
    return "\n".join(parts)


def promises(points: Sequence[Point]) -> str:
    """What switching must reach."""
    heads, rows = switchtable.promise_rows(points)
    cells = [
        [*map(escape, row[:-1]), verdict("equivalent" if row[-1] == "kept" else "slower")]
        for row in rows
    ]
    for cell, row in zip(cells, rows, strict=True):
        look = "equivalent" if row[-1] == "kept" else "slower"
        cell[-1] = f'<span class="{look}">{escape(row[-1])}</span>'
    return table("What switching must reach", [*heads[:-1], "kept?"], cells, "tnnv") if rows else ""


def switches(points: Sequence[Point]) -> str:
    """Times, parts and gaps of switching."""
    parts = []
    for title, make in switchtable.TABLES:
        if make is switchtable.promise_rows:
            continue
        heads, rows = make(points)
        if rows:
            cells = [[escape(cell) for cell in row] for row in rows]
            caption = f"{title[:1].upper()}{title[1:]}, {points[0].unit}"
            parts.append(table(caption, heads, cells, "t" + "n" * (len(heads) - 1)))
    return "\n".join(parts)
