# SPDX-License-Identifier: GPL-2.0-only
"""Makes the page's tables of results: added costs with verdicts, spread of the results of blocks
and code layouts, hardware events, the cost of one more dormant site, times to switch sites."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kmtools.analyse import result_kinds, stats
from kmtools.analyse.density import SiteCost
from kmtools.analyse.layouts import compute_offset_in_cache_line
from kmtools.analyse.switching import BROKEN, UNRESOLVED, SwitchPoint
from kmtools.analyse.verdicts import FEWER, MORE, Result
from kmtools.base.text import use_minus_signs
from kmtools.measure.hwcounters import Counted, Key
from kmtools.measure.rundir import UNIT_GUEST, UNIT_INSTRUCTIONS, UNIT_TSC
from kmtools.report import sitetable, switchtable
from kmtools.report.markup import (
    escape_html,
    format_number_html,
    render_grouped_table_html,
    render_table_html,
    render_verdict_html,
)
from kmtools.report.table import (
    format_amount,
    format_core_cycles,
    format_result_interval,
    format_result_value,
    make_benchmark_header,
    number_long_notes,
)

# Block characters: bars of eight heights.
BARS = "".join(map(chr, range(0x2581, 0x2589)))
# The text that draw_layout_cost_bars() puts between the smallest and the largest cost.
BETWEEN = "\N{HORIZONTAL ELLIPSIS}"

# A column of a table: heading, kind (see CLASSES in markup.py), and function that makes a cell. The
# verdict is a further column at the end.
Column = tuple[str, str, Callable[[Result], str]]


def format_flagged_window_counts(result: Result) -> str:
    """Return a table cell with the number of a result's flagged windows, and the number with each
    flag."""
    words = ", ".join(f"{count} {word}" for word, count in result.flags.items())
    return f"{result.flagged} of {result.windows}" + (f" ({escape_html(words)})" if words else "")


def format_emulated_cost(result: Result) -> str:
    """Return one table cell with an added cost and its interval, in ticks of an emulator. Only
    rough ratios of such costs are meaningful."""
    words = format_result_value(result, result.delta, True)
    words += f" {format_result_interval(result, result.delta_ci, True)}"
    return format_number_html("-" if result.delta is None else words)


def choose_result_columns(rows: Sequence[Result]) -> list[Column]:
    """Return the columns of a tier's table, without columns whose cells would all be equal."""
    exact, timed = rows[0].unit == UNIT_INSTRUCTIONS, rows[0].unit in (UNIT_TSC, UNIT_GUEST)
    columns: list[Column] = [
        ("variant", "t", lambda r: escape_html(r.variant + (" (A/A)" if r.is_clone else ""))),
        ("added", "n", lambda r: format_number_html(format_result_value(r, r.delta, True))),
    ]
    if not timed and not exact:
        columns[1] = ("added, 95 %", "n", format_emulated_cost)
    if timed:
        columns.append(
            ("95 %", "n", lambda r: format_number_html(format_result_interval(r, r.delta_ci, True)))
        )
    if core := next((r.core for r in rows if r.core), None):
        head = f"added, core cycles ({core.source})"
        columns.append((head, "n", lambda r: format_number_html(format_core_cycles(r))))
    columns.append(
        (
            "in all" if exact else "median",
            "n",
            lambda r: format_number_html(format_result_value(r, r.median)),
        )
    )
    if timed:
        columns.append(("95 %", "n", lambda r: format_number_html(format_result_interval(r, r.ci))))
    if len({r.n for r in rows}) > 1:
        columns.append(("blocks", "n", lambda r: str(r.n)))
    if any(r.flagged for r in rows):
        columns.append(("windows flagged", "n", format_flagged_window_counts))
    return columns


def make_results_caption(rows: Sequence[Result]) -> str:
    """Return the caption of a table: tier (measurement environment), unit, and the values that all
    rows share."""
    same = f"; {rows[0].n} blocks" if len({r.n for r in rows}) == 1 else ""
    flags = "" if any(r.flagged for r in rows) else "; no window flagged"
    return f"{rows[0].tier}: {rows[0].unit} per operation{same}{flags}"


def render_result_verdict_html(result: Result, note_numbers: Mapping[str, int]) -> str:
    """Return a verdict with its note; `note_numbers` has the long notes, which are replaced by
    their numbers."""
    if result.verdict in (MORE, FEWER):
        return render_verdict_html(result.verdict)
    mark = f" [{note_numbers[result.note]}]" if result.note in note_numbers else ""
    return render_verdict_html(result.verdict, "" if mark else result.note) + mark


def render_results_html(rows: Sequence[Result]) -> str:
    """Return a table of all benchmarks of a tier, followed by the long
    notes."""
    if not rows:
        return ""
    columns, notes = choose_result_columns(rows), number_long_notes(rows)
    groups = [
        (
            make_benchmark_header(group[0]),
            [
                [*(cell(r) for _, _, cell in columns), render_result_verdict_html(r, notes)]
                for r in group
            ],
        )
        for group in result_kinds.group_results_by_benchmark(rows)
    ]
    heads, kind = [*(head for head, _, _ in columns), "verdict"], [k for _, k, _ in columns]
    below = [
        f"<p class='soft'>[{n}] {escape_html(use_minus_signs(note))}</p>"
        for note, n in notes.items()
    ]
    return "\n".join(
        [
            render_grouped_table_html(
                make_results_caption(rows), heads, groups, "".join(kind) + "v"
            ),
            *below,
        ]
    )


def draw_layout_cost_bars(costs_by_offset: Mapping[int, float], least_range: float) -> str:
    """Return a bar (a block character) for the cost at each offset in a cache line, then the
    smallest and the largest cost. A bar of full height stands for the range of the costs, or for
    `least_range` if the range is smaller."""
    low, high = min(costs_by_offset.values()), max(costs_by_offset.values())
    scale = (len(BARS) - 1) / (max(high - low, least_range) or 1)
    ordered = [value for _, value in sorted(costs_by_offset.items())]
    bars = "".join(BARS[round((value - low) * scale)] for value in ordered)
    ends = BETWEEN.join(format_amount(end, True) for end in (low, high))
    return f"{bars} {escape_html(use_minus_signs(ends))}"


def make_block_spread_row(result: Result) -> list[str]:
    """Return a table row: the variant, the quantiles of its cost over the blocks, and its added
    cost at each offset of the loop in a cache line."""
    values = stats.convert_slopes_to_floats(result.slopes)
    spread = [format_amount(float(np.quantile(values, share))) for share in (0.05, 0.5, 0.95, 1.0)]
    medians = stats.compute_layout_medians(result.deltas)
    places = {compute_offset_in_cache_line(layout): value for layout, value in medians.items()}
    drawn = (
        draw_layout_cost_bars(places, result.margin or 0.0) if places else format_number_html("-")
    )
    return [
        escape_html(result.variant),
        "\N{EN SPACE}".join(map(format_number_html, spread)),
        drawn,
    ]


def render_block_spread_html(rows: Sequence[Result]) -> str:
    """Return the table of the spread of costs over the blocks, and of added costs by code
    layout."""
    known = [row for row in rows if row.slopes]
    if not known:
        return ""
    heads = ["variant", "5 %, 50 %, 95 % of the blocks, and the slowest"]
    heads.append("added cost by the offset of the loop in a cache line")
    groups = [
        (group[0].benchmark, [make_block_spread_row(row) for row in group])
        for group in result_kinds.group_results_by_benchmark(known)
    ]
    caption = f"{known[0].tier}: blocks and code layouts, {known[0].unit} per operation"
    return render_grouped_table_html(caption, heads, groups, "tnn")


def render_hardware_events_html(rows: Sequence[Result], counted: Mapping[Key, Counted]) -> str:
    """Return the table with the number of hardware events in one loop pass of each variant; "" if
    no events were counted. `counted` has these numbers by benchmark, variant and event."""
    known = {(benchmark, variant) for benchmark, variant, _ in counted}
    rows = [row for row in rows if (row.benchmark, row.variant) in known]
    if not rows:
        return ""
    own = {row.benchmark for row in rows}
    names = list(dict.fromkeys(name for benchmark, _, name in counted if benchmark in own))

    def make_hardware_event_cells(row: Result) -> list[str]:
        found = [counted.get((row.benchmark, row.variant, name)) for name in names]
        return [
            format_number_html(format_amount(one[0])) + (" (scaled)" if one[1] < 1 else "")
            if one
            else format_number_html("-")
            for one in found
        ]

    groups = [
        (
            group[0].benchmark,
            [[escape_html(row.variant), *make_hardware_event_cells(row)] for row in group],
        )
        for group in result_kinds.group_results_by_benchmark(rows)
    ]
    scaled = "scaled where the counter ran for a part of the time"
    caption = f"{rows[0].tier}: events of a pass; {scaled}"
    return render_grouped_table_html(caption, ["variant", *names], groups, "t" + "n" * len(names))


def render_site_costs_html(costs: Sequence[SiteCost]) -> str:
    """Return the table of the cost of one more dormant site."""
    groups: dict[str, list[SiteCost]] = {}
    for cost in costs:
        groups.setdefault(sitetable.make_site_table_title(cost), []).append(cost)
    own = [
        (title, [list(map(format_number_html, row)) for row in sitetable.make_site_rows(several)])
        for title, several in groups.items()
    ]
    heads = sitetable.HEADS
    caption = "The cost of one more dormant site"
    return (
        render_grouped_table_html(caption, heads, own, "t" + "n" * (len(heads) - 1)) if own else ""
    )


def render_switching_limits_html(points: Sequence[SwitchPoint]) -> str:
    """Return the table of the limits for switching times."""
    heads, rows = switchtable.make_switching_limit_rows(points)
    looks = [{"kept": "equivalent", BROKEN: "slower"}.get(row[-1], UNRESOLVED) for row in rows]
    cells = [
        [*map(escape_html, row[:-1]), f'<span class="{look}">{escape_html(row[-1])}</span>']
        for row, look in zip(rows, looks, strict=True)
    ]
    return (
        render_table_html("Limits on switching", [*heads[:-1], "kept?"], cells, "tnnv")
        if rows
        else ""
    )


def render_switch_times_html(points: Sequence[SwitchPoint]) -> str:
    """Return the tables about switching many sites: whole times, times of the parts of a batch, and
    interruptions of another CPU, which executes none of the sites."""
    parts = []
    for title, benchmark, make in switchtable.TABLES:
        if make is switchtable.make_switching_limit_rows:
            continue
        heads, rows = make(points)
        if rows:
            cells = [[escape_html(cell) for cell in row] for row in rows]
            missing = switchtable.list_missing_blocks(points, benchmark)
            caption = "; ".join([f"{title[:1].upper()}{title[1:]}, {points[0].unit}", *missing])
            parts.append(render_table_html(caption, heads, cells, "t" + "n" * (len(heads) - 1)))
    return "\n".join(parts)
