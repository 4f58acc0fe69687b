# SPDX-License-Identifier: GPL-2.0-only
"""Renders a comparison as a self-contained HTML page: the changed rows first, then all rows."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from kmtools.analyse.changes import Change
from kmtools.report.changetext import (
    describe_compared_run,
    describe_comparison_outcome,
    describe_pair_verdict_counts,
    list_hints_for_reader,
    make_change_cells,
    select_shown_rows,
)
from kmtools.report.comparison import Comparison, RunPair, list_run_remarks

HERE = Path(__file__).resolve().parent
CSS = ("colours.css", "report.css")
HEADS = ("variant", "A", "B", "change", "interval", "verdict")


def render_change_row_html(change: Change) -> str:
    """Return the HTML of a compared row in the table."""
    _, _, variant, *numbers, verdict = (html.escape(cell) for cell in make_change_cells(change))
    a, b, _, percent, interval = numbers
    numeric = "".join(f'<td class="n">{text}</td>' for text in (a, b, percent, interval))
    word = html.escape(change.verdict)
    verdict = f'<td class="v"><span class="{word}">{verdict}</span></td>'
    return f'<tr><th scope="row">{variant}</th>{numeric}{verdict}</tr>'


def render_change_table_html(changes: Sequence[Change]) -> str:
    """Return the HTML table of compared rows, with a heading for each benchmark."""
    heads = "".join(
        f'<th scope="col"{kind}>{head}</th>'
        for head, kind in zip(HEADS, ("", *[' class="n"'] * 4, ' class="v"'), strict=True)
    )
    body = []
    for key, several in groupby(changes, lambda c: (c.name.tier, c.name.benchmark, c.unit)):
        title = html.escape(f"{key[0]} {key[1]}, {key[2]}")
        body.append(f'<tr><th colspan="{len(HEADS)}"><div>{title}</div></th></tr>')
        body += [render_change_row_html(change) for change in several]
    rows = "\n".join(body)
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div>"
    )


def render_run_pair_html(comparison: Comparison, pair: RunPair) -> str:
    """Return the section of the page about one pair of runs."""
    said = [
        f"A: {describe_compared_run(pair.a)}",
        f"B: {describe_compared_run(pair.b)}",
        *list_run_remarks(pair.a),
        *list_run_remarks(pair.b),
    ]
    said += [*list_hints_for_reader(comparison, pair), describe_pair_verdict_counts(pair)]
    items = "".join(f"<li>{html.escape(text)}</li>" for text in said)
    changed = select_shown_rows(comparison, pair, everything=False)
    shown = render_change_table_html(changed) if changed else "<p>No row changed.</p>"
    return (
        f"<h2>{html.escape(f'{pair.b.name} against {pair.a.name}')}</h2><ul>{items}</ul>{shown}"
        f"<details><summary>All {len(pair.changes)} rows</summary>"
        f"{render_change_table_html(pair.changes)}</details>"
    )


def render_comparison_page(comparison: Comparison) -> str:
    """Return the HTML page of a comparison."""
    style = "".join((HERE / name).read_text(encoding="utf-8") for name in CSS)
    faults = "".join(f"<li>{html.escape(line)}</li>" for line in comparison.faults)
    parts = f'<ul class="warning">{faults}</ul>' if faults else ""
    parts += "".join(render_run_pair_html(comparison, pair) for pair in comparison.pairs)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>kmarkers: comparison</title><style>{style}</style></head>\n<body><main>"
        f'<h1>kmarkers: comparison</h1><p class="answer">'
        f"{html.escape(describe_comparison_outcome(comparison))}</p>"
        f"{parts}</main></body></html>\n"
    )
