# SPDX-License-Identifier: GPL-2.0-only
"""The page's tables of results: costs with verdicts, blocks and layouts, sites, switches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kmtools.analyse import result_kinds, stats
from kmtools.analyse.density import SiteCost
from kmtools.analyse.layouts import place_of
from kmtools.analyse.switching import Point
from kmtools.analyse.verdicts import FEWER, MORE, Result
from kmtools.base.text import minus
from kmtools.measure.hwcounters import Counted, Key
from kmtools.measure.rundir import UNIT_GUEST, UNIT_INSTRUCTIONS, UNIT_TSC
from kmtools.report import sitetable, switchtable
from kmtools.report.markup import escape, grouped, number, table, verdict
from kmtools.report.table import amount, group_header, in_core_cycles, long_notes, shown, span

# Bars of eight heights.
BARS = "".join(map(chr, range(0x2581, 0x2589)))
BETWEEN = "\N{HORIZONTAL ELLIPSIS}"

# Head, kind and cell of a column; the verdict comes last.
Column = tuple[str, str, Callable[[Result], str]]


def flags_of(result: Result) -> str:
    """The windows with a flag, by its words."""
    words = ", ".join(f"{count} {word}" for word, count in result.flags.items())
    return f"{result.flagged} of {result.windows}" + (f" ({escape(words)})" if words else "")


def rough(result: Result) -> str:
    """An added cost with its interval, where only ratios of whole operations count."""
    words = f"{shown(result, result.delta, True)} {span(result, result.delta_ci, True)}"
    return number("-" if result.delta is None else words)


def columns_of(rows: Sequence[Result]) -> list[Column]:
    """The columns of a tier's table, without those that would be the same in every row."""
    exact, timed = rows[0].unit == UNIT_INSTRUCTIONS, rows[0].unit in (UNIT_TSC, UNIT_GUEST)
    columns: list[Column] = [
        ("variant", "t", lambda r: escape(r.variant + (" (A/A)" if r.is_clone else ""))),
        ("added", "n", lambda r: number(shown(r, r.delta, True))),
    ]
    if not timed and not exact:
        columns[1] = ("added, 95 %", "n", rough)
    if timed:
        columns.append(("95 %", "n", lambda r: number(span(r, r.delta_ci, True))))
    if core := next((r.core for r in rows if r.core), None):
        head = f"added, core cycles ({core.source})"
        columns.append((head, "n", lambda r: number(in_core_cycles(r))))
    columns.append(("in all" if exact else "median", "n", lambda r: number(shown(r, r.median))))
    if timed:
        columns.append(("95 %", "n", lambda r: number(span(r, r.ci))))
    if len({r.n for r in rows}) > 1:
        columns.append(("blocks", "n", lambda r: str(r.n)))
    if any(r.flagged for r in rows):
        columns.append(("windows flagged", "n", flags_of))
    return columns


def caption_of(rows: Sequence[Result]) -> str:
    """The caption of a table: tier, unit, and the values that all its rows share."""
    same = f"; {rows[0].n} blocks" if len({r.n for r in rows}) == 1 else ""
    flags = "" if any(r.flagged for r in rows) else "; no window flagged"
    return f"{rows[0].tier}: {rows[0].unit} per operation{same}{flags}"


def verdict_of(result: Result, notes: Mapping[str, int]) -> str:
    """A verdict with its note, or with the number of a long one."""
    if result.verdict in (MORE, FEWER):
        return verdict(result.verdict)
    mark = f" [{notes[result.note]}]" if result.note in notes else ""
    return verdict(result.verdict, "" if mark else result.note) + mark


def results(rows: Sequence[Result]) -> str:
    """A table of all benchmarks of a tier, with the long notes below."""
    if not rows:
        return ""
    columns, notes = columns_of(rows), long_notes(rows)
    groups = [
        (
            group_header(group[0]),
            [[*(cell(r) for _, _, cell in columns), verdict_of(r, notes)] for r in group],
        )
        for group in result_kinds.groups(rows)
    ]
    heads, kind = [*(head for head, _, _ in columns), "verdict"], [k for _, k, _ in columns]
    below = [f"<p class='soft'>[{n}] {escape(minus(note))}</p>" for note, n in notes.items()]
    return "\n".join([grouped(caption_of(rows), heads, groups, "".join(kind) + "v"), *below])


def strip(values: Mapping[int, float], least: float) -> str:
    """A bar for each place of a cache line, then the smallest and the largest value. The longest
    bar stands for `least`, or for the range of the values if that is larger."""
    low, high = min(values.values()), max(values.values())
    scale = (len(BARS) - 1) / (max(high - low, least) or 1)
    bars = "".join(BARS[round((value - low) * scale)] for _, value in sorted(values.items()))
    return f"{bars} {escape(minus(f'{amount(low, True)}{BETWEEN}{amount(high, True)}'))}"


def block_row(result: Result) -> list[str]:
    """The spread of the blocks of a result, and its cost at each place of a cache line."""
    values = stats.values(result.slopes)
    spread = [amount(float(np.quantile(values, share))) for share in (0.05, 0.5, 0.95, 1.0)]
    medians = stats.layout_medians(result.deltas)
    places = {place_of(layout): value for layout, value in medians.items()}
    drawn = strip(places, result.margin or 0.0) if places else number("-")
    return [escape(result.variant), "\N{EN SPACE}".join(map(number, spread)), drawn]


def blocks(rows: Sequence[Result]) -> str:
    """The table of the spread of blocks, which a median hides, and of costs by code placement."""
    known = [row for row in rows if row.slopes]
    if not known:
        return ""
    heads = ["variant", "5 %, 50 %, 95 % of the blocks, and the slowest"]
    heads.append("added where the loop begins in a cache line")
    groups = [
        (group[0].benchmark, [block_row(row) for row in group])
        for group in result_kinds.groups(known)
    ]
    caption = f"{known[0].tier}: blocks and code layouts, {known[0].unit} per operation"
    return grouped(caption, heads, groups, "tnn")


def events(rows: Sequence[Result], counted: Mapping[Key, Counted]) -> str:
    """The table of hardware events in a pass of each variant; empty if none were counted."""
    known = {(benchmark, variant) for benchmark, variant, _ in counted}
    rows = [row for row in rows if (row.benchmark, row.variant) in known]
    if not rows:
        return ""
    own = {row.benchmark for row in rows}
    names = list(dict.fromkeys(name for benchmark, _, name in counted if benchmark in own))

    def cells(row: Result) -> list[str]:
        found = [counted.get((row.benchmark, row.variant, name)) for name in names]
        return [
            number(amount(one[0])) + (" (scaled)" if one[1] < 1 else "") if one else number("-")
            for one in found
        ]

    groups = [
        (group[0].benchmark, [[escape(row.variant), *cells(row)] for row in group])
        for group in result_kinds.groups(rows)
    ]
    scaled = "scaled where the counter ran for a part of the time"
    caption = f"{rows[0].tier}: events of a pass; {scaled}"
    return grouped(caption, ["variant", *names], groups, "t" + "n" * len(names))


def sites(costs: Sequence[SiteCost]) -> str:
    """The cost of one more dormant site."""
    groups: dict[str, list[SiteCost]] = {}
    for cost in costs:
        groups.setdefault(sitetable.title_of(cost), []).append(cost)
    own = [
        (title, [list(map(number, row)) for row in sitetable.rows_of(several)])
        for title, several in groups.items()
    ]
    heads = sitetable.HEADS
    caption = "The cost of one more dormant site"
    return grouped(caption, heads, own, "t" + "n" * (len(heads) - 1)) if own else ""


def limits(points: Sequence[Point]) -> str:
    """The table of the limits of switching."""
    heads, rows = switchtable.limit_rows(points)
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
        if make is switchtable.limit_rows:
            continue
        heads, rows = make(points)
        if rows:
            cells = [[escape(cell) for cell in row] for row in rows]
            caption = f"{title[:1].upper()}{title[1:]}, {points[0].unit}"
            parts.append(table(caption, heads, cells, "t" + "n" * (len(heads) - 1)))
    return "\n".join(parts)
