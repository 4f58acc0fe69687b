# SPDX-License-Identifier: GPL-2.0-only
"""Pieces of the page: text, tables, figures for two widths, parts that are folded."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kmtools.base.text import clean, minus

# Largest length of a figure's description for screen readers; the tables hold the numbers.
LONGEST_LABEL = 280
# Classes of the kinds of columns.
CLASSES = {"n": ' class="n"', "v": ' class="v"', "t": ""}
VERDICT = re.compile('<span class="([a-z]+)">([^<]*)</span>([^<]*)')

MORE = re.compile('<details class="numbers">.*?</details>', re.DOTALL)
LEFT_OUT = "This page would be too large with these numbers: summary.json has them."

# Widths of a figure, for a column of the page and for a telephone, and their classes.
WIDTHS = ((720, "wide"), (328, "narrow"))
# Draws a part of a figure at a width, with a description and a class.
Draw = Callable[[Any, int, str, str], str]

# A title of rows, and the rows.
Group = tuple[str, Iterable[Sequence[str]]]


def escape(value: object) -> str:
    """Text for HTML; a dash for nothing."""
    return html.escape(clean("\N{EN DASH}" if value in (None, "") else str(value)))


def number(text: str) -> str:
    """A formatted number with a minus sign; a dash if there is no number."""
    return escape("" if text == "-" else minus(text))


def verdict(word: str, note: str = "") -> str:
    """A verdict in its colour, with its note beside it."""
    more = f" ({escape(minus(note))})" if note else ""
    return f'<span class="{escape(word)}">{escape(word)}</span>{more}'


def cell_html(cell: str, kind: str) -> str:
    """A cell; a verdict's colour is that of its whole cell."""
    if kind == "v" and (found := VERDICT.fullmatch(cell)):
        return f'<td class="v {found[1]}">{found[2]}{found[3]}</td>'
    return f"<td{CLASSES[kind]}>{cell}</td>"


def row_html(cells: Sequence[str], kinds: str) -> str:
    """A row whose first cell is its heading."""
    first = f'<th scope="row">{cells[0]}</th>'
    rest = zip(cells[1:], kinds[1:], strict=True)
    return f"<tr>{first}{''.join(cell_html(cell, kind) for cell, kind in rest)}</tr>"


def grouped(
    caption: str, heads: Sequence[str], groups: Iterable[Group], kinds: str, look: str = ""
) -> str:
    """A table of rows in groups, each with a title. Cells are HTML already. `kinds` has a letter
    for each column: n is a number, v the verdict, which stays in sight, t text. The first column
    stays in sight, too."""
    head = "".join(
        f'<th scope="col"{CLASSES[k]}>{escape(h)}</th>' for h, k in zip(heads, kinds, strict=True)
    )
    bodies = []
    for title, rows in groups:
        words = f"<div>{escape(minus(title))}</div>"
        over = f'<tr><th colspan="{len(heads)}" scope="rowgroup">{words}</th></tr>\n'
        body = "\n".join(row_html(row, kinds) for row in rows)
        bodies.append(f"<tbody>{over if title else ''}{body}</tbody>")
    label = escape(minus(caption))
    return (
        f'<div class="scroll{look}" tabindex="0" role="group" aria-label="{label[:200]}">'
        f"<table><caption>{label}</caption><thead><tr>{head}</tr></thead>\n"
        f"{''.join(bodies)}</table></div>"
    )


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], kinds: str, look: str = ""
) -> str:
    """A table whose rows are one group without a title."""
    return grouped(caption, heads, [("", rows)], kinds, look)


def cut(words: str) -> str:
    """A description, cut to LONGEST_LABEL characters."""
    if len(words) <= LONGEST_LABEL:
        return words
    return words[:LONGEST_LABEL].rsplit(" ", 1)[0] + " …"


def figure(draw: Draw | None, part: object, words: str, caption: str = "") -> str:
    """A figure, drawn for a page's column and for a telephone; only its caption without `draw`."""
    if draw is None:
        return f"<p class='soft'>{escape(minus(caption))}</p>" if caption else ""
    both = "".join(draw(part, width, cut(words), look) for width, look in WIDTHS)
    said = f"<figcaption>{escape(minus(caption))}</figcaption>" if caption else ""
    return f"<figure>{both}{said}</figure>"


def folded(summary: str, body: str, more: bool = False) -> str:
    """A part that is opened on demand; nothing without a body. `more` marks numbers that
    summary.json has, too."""
    if not body:
        return ""
    look = ' class="numbers"' if more else ""
    return f"<details{look}><summary>{escape(summary)}</summary>\n{body}\n</details>"


def within(text: str, nodes: int, size: int) -> str:
    """The page with at most `nodes` elements and `size` bytes, if leaving out folded tables
    suffices: the longest are left out first."""
    for long in sorted(MORE.findall(text), key=len, reverse=True):
        if text.count("<") - text.count("</") <= nodes and len(text.encode()) <= size:
            break
        head = long[: long.index("</summary>")]
        text = text.replace(long, f"{head}</summary>\n<p>{LEFT_OUT}</p>\n</details>")
    return text


def section(name: str, title: str, parts: Iterable[str]) -> str:
    """A part of the page with a heading that links to itself, and a link back to the top."""
    body = "\n".join(part for part in parts if part)
    return (
        f'<section id="{name}" aria-labelledby="{name}-head"><h2 id="{name}-head">'
        f'<a href="#{name}">{escape(title)}</a></h2>\n{body}\n'
        '<p class="up"><a href="#top">Back to the top</a></p></section>'
    )
