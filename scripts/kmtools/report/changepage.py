# SPDX-License-Identifier: GPL-2.0-only
"""A comparison as a self-contained HTML page: the changed rows first, then all rows."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from kmtools.analyse.changes import Change
from kmtools.report.changetext import about, cells, chosen, outcome, reading, sums
from kmtools.report.comparison import Comparison, Pair, remarks

HERE = Path(__file__).resolve().parent
CSS = ("colours.css", "report.css")
HEADS = ("variant", "A", "B", "change", "interval", "verdict")


def line(change: Change) -> str:
    """A row of the table."""
    _, _, variant, *numbers, verdict = (html.escape(cell) for cell in cells(change))
    a, b, _, percent, interval = numbers
    numeric = "".join(f'<td class="n">{text}</td>' for text in (a, b, percent, interval))
    word = html.escape(change.verdict)
    verdict = f'<td class="v"><span class="{word}">{verdict}</span></td>'
    return f'<tr><th scope="row">{variant}</th>{numeric}{verdict}</tr>'


def table(changes: Sequence[Change]) -> str:
    """The HTML table of rows, below a heading for each benchmark."""
    heads = "".join(
        f'<th scope="col"{kind}>{head}</th>'
        for head, kind in zip(HEADS, ("", *[' class="n"'] * 4, ' class="v"'), strict=True)
    )
    body = []
    for key, several in groupby(changes, lambda c: (c.name.tier, c.name.benchmark, c.unit)):
        title = html.escape(f"{key[0]} {key[1]}, {key[2]}")
        body.append(f'<tr><th colspan="{len(HEADS)}"><div>{title}</div></th></tr>')
        body += [line(change) for change in several]
    rows = "\n".join(body)
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div>"
    )


def of_pair(comparison: Comparison, pair: Pair) -> str:
    """The part of one pair."""
    said = [f"A: {about(pair.a)}", f"B: {about(pair.b)}", *remarks(pair.a), *remarks(pair.b)]
    said += [*reading(comparison, pair), sums(pair)]
    items = "".join(f"<li>{html.escape(text)}</li>" for text in said)
    changed = chosen(comparison, pair, everything=False)
    shown = table(changed) if changed else "<p>No row changed.</p>"
    return (
        f"<h2>{html.escape(f'{pair.b.name} against {pair.a.name}')}</h2><ul>{items}</ul>{shown}"
        f"<details><summary>All {len(pair.changes)} rows</summary>{table(pair.changes)}</details>"
    )


def as_html(comparison: Comparison) -> str:
    """The page."""
    style = "".join((HERE / name).read_text() for name in CSS)
    faults = "".join(f"<li>{html.escape(line)}</li>" for line in comparison.faults)
    parts = f'<ul class="warning">{faults}</ul>' if faults else ""
    parts += "".join(of_pair(comparison, pair) for pair in comparison.pairs)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>kmarkers: comparison</title><style>{style}</style></head>\n<body><main>"
        f'<h1>kmarkers: comparison</h1><p class="answer">{html.escape(outcome(comparison))}</p>'
        f"{parts}</main></body></html>\n"
    )
