# SPDX-License-Identifier: GPL-2.0-only
"""Makes the HTML elements of the page: text, tables, figures in two widths, collapsible
sections."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kmtools.base.text import replace_chars_forbidden_in_html, use_minus_signs

# Maximum length of a figure's description for screen readers, in characters.
LONGEST_DESCRIPTION = 280
# CSS class by kind of column: number, verdict, text.
CLASSES = {"n": ' class="n"', "v": ' class="v"', "t": ""}
# Matches a verdict in HTML: class, verdict and note; see render_verdict_html().
VERDICT_SPAN = re.compile('<span class="([a-z]+)">([^<]*)</span>([^<]*)')

# Matches a collapsed section whose body limit_page_size() may replace by the text LEFT_OUT.
FOLDED_NUMBERS = re.compile('<details class="numbers">.*?</details>', re.DOTALL)
LEFT_OUT = "This page would be too large with these numbers: summary.json has them."

# Widths of a figure in pixels, for a desktop and a telephone, and their CSS classes.
WIDTHS = ((720, "wide"), (328, "narrow"))
# Function that draws a part of a figure: (part, width in pixels, description, CSS class) -> SVG.
Draw = Callable[[Any, int, str, str], str]

# The title of a group of rows, and the rows.
RowGroup = tuple[str, Iterable[Sequence[str]]]


def escape_html(value: object) -> str:
    """Escape a value for HTML; None and "" become a dash."""
    return html.escape(
        replace_chars_forbidden_in_html("\N{EN DASH}" if value in (None, "") else str(value))
    )


def format_number_html(text: str) -> str:
    """Return a formatted number with a minus sign; a dash if there is no number."""
    return escape_html("" if text == "-" else use_minus_signs(text))


def render_verdict_html(word: str, note: str = "") -> str:
    """Return a verdict in its colour, followed by its note."""
    more = f" ({escape_html(use_minus_signs(note))})" if note else ""
    return f'<span class="{escape_html(word)}">{escape_html(word)}</span>{more}'


def render_cell_html(cell: str, column_kind: str) -> str:
    """Return a table cell; a cell with only a verdict gets the colour of the verdict."""
    if column_kind == "v" and (found := VERDICT_SPAN.fullmatch(cell)):
        return f'<td class="v {found[1]}">{found[2]}{found[3]}</td>'
    return f"<td{CLASSES[column_kind]}>{cell}</td>"


def render_row_html(cells: Sequence[str], column_kinds: str) -> str:
    """Return a table row whose first cell is a row header."""
    first = f'<th scope="row">{cells[0]}</th>'
    rest = zip(cells[1:], column_kinds[1:], strict=True)
    return f"<tr>{first}{''.join(render_cell_html(cell, kind) for cell, kind in rest)}</tr>"


def render_grouped_table_html(
    caption: str,
    heads: Sequence[str],
    groups: Iterable[RowGroup],
    column_kinds: str,
    more_classes: str = "",
) -> str:
    """Return a table of rows in groups, each with a title; the cells are HTML already.
    `column_kinds` has a letter for each column: n for a number, v for the verdict, t for text.
    `more_classes` are further CSS classes, each after a space. The first column and the verdict
    stay visible when the table scrolls sideways."""
    head = "".join(
        f'<th scope="col"{CLASSES[k]}>{escape_html(h)}</th>'
        for h, k in zip(heads, column_kinds, strict=True)
    )
    bodies = []
    for title, rows in groups:
        words = f"<div>{escape_html(use_minus_signs(title))}</div>"
        over = f'<tr><th colspan="{len(heads)}" scope="rowgroup">{words}</th></tr>\n'
        body = "\n".join(render_row_html(row, column_kinds) for row in rows)
        bodies.append(f"<tbody>{over if title else ''}{body}</tbody>")
    label = escape_html(use_minus_signs(caption))
    return (
        f'<div class="scroll{more_classes}" tabindex="0" role="group" aria-label="{label[:200]}">'
        f"<table><caption>{label}</caption><thead><tr>{head}</tr></thead>\n"
        f"{''.join(bodies)}</table></div>"
    )


def render_table_html(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    column_kinds: str,
    more_classes: str = "",
) -> str:
    """Return a table whose rows are one group without a title."""
    return render_grouped_table_html(caption, heads, [("", rows)], column_kinds, more_classes)


def shorten_description(description: str) -> str:
    """Return a description, shortened to LONGEST_DESCRIPTION characters."""
    if len(description) <= LONGEST_DESCRIPTION:
        return description
    return description[:LONGEST_DESCRIPTION].rsplit(" ", 1)[0] + " …"


def render_figure_html(draw: Draw | None, part: object, description: str, caption: str = "") -> str:
    """Return a figure in two widths, for a desktop and a telephone; if `draw` is None, return only
    the caption. `part` is the data of the figure, `description` a text for screen readers."""
    if draw is None:
        return f"<p class='soft'>{escape_html(use_minus_signs(caption))}</p>" if caption else ""
    both = "".join(
        draw(part, width, shorten_description(description), look) for width, look in WIDTHS
    )
    said = f"<figcaption>{escape_html(use_minus_signs(caption))}</figcaption>" if caption else ""
    return f"<figure>{both}{said}</figure>"


def render_folded_html(summary: str, body: str, removable: bool = False) -> str:
    """Return a collapsed section; "" without a body. limit_page_size() may remove the body of a
    `removable` section, because summary.json has the same numbers."""
    if not body:
        return ""
    look = ' class="numbers"' if removable else ""
    return f"<details{look}><summary>{escape_html(summary)}</summary>\n{body}\n</details>"


def limit_page_size(page: str, most_elements: int, most_bytes: int) -> str:
    """Return the HTML text `page` without its longest collapsed tables. Tables are removed until
    the page has at most `most_elements` elements and `most_bytes` bytes, or until no collapsed
    table is left."""
    tables = sorted(FOLDED_NUMBERS.findall(page), key=len)
    while tables and (
        page.count("<") - page.count("</") > most_elements or len(page.encode()) > most_bytes
    ):
        long = tables.pop()
        head = long[: long.index("</summary>")]
        page = page.replace(long, f"{head}</summary>\n<p>{LEFT_OUT}</p>\n</details>")
    return page


def render_section_html(name: str, title: str, parts: Iterable[str]) -> str:
    """Return a section of the page with a heading that links to itself, and a link back to the
    top."""
    body = "\n".join(part for part in parts if part)
    return (
        f'<section id="{name}" aria-labelledby="{name}-head"><h2 id="{name}-head">'
        f'<a href="#{name}">{escape_html(title)}</a></h2>\n{body}\n'
        '<p class="up"><a href="#top">Back to the top</a></p></section>'
    )
