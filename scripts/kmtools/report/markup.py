# SPDX-License-Identifier: GPL-2.0-only
"""Pieces of the page: text, tables, figures for two widths, parts that are folded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kmtools.report.figures import svg
from kmtools.report.figures.svg import NARROW, WIDE, Drawing, minus

# A description for those who do not see the figure; the tables hold the numbers.
LONGEST_LABEL = 280


def escape(value: object) -> str:
    """Text for HTML; a dash for nothing."""
    return svg.escape("\N{EN DASH}" if value in (None, "") else str(value))


def number(text: str) -> str:
    """A formatted number with a minus sign; a dash if there is no number."""
    return escape("" if text == "-" else minus(text))


def verdict(word: str, note: str = "") -> str:
    """A verdict in its colour, with its note beside it."""
    more = f" ({escape(minus(note))})" if note else ""
    return f'<span class="{escape(word)}">{escape(word)}</span>{more}'


def row_html(cells: Sequence[str], kinds: Sequence[str]) -> str:
    """A row whose first cell is its heading."""
    first = f'<th scope="row">{cells[0]}</th>'
    rest = zip(cells[1:], kinds[1:], strict=True)
    return f"<tr>{first}{''.join(f'<td{kind}>{cell}</td>' for cell, kind in rest)}</tr>"


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], kinds: str, look: str = ""
) -> str:
    """A table of cells that are HTML already. `kinds` has a letter for each column: n is a number,
    v the verdict, which stays in sight, t text. The first column stays in sight, too."""
    classes = {"n": ' class="n"', "v": ' class="v"', "t": ""}
    own = [classes[kind] for kind in kinds]
    head = "".join(f'<th scope="col"{k}>{escape(h)}</th>' for h, k in zip(heads, own, strict=True))
    body = "\n".join(row_html(row, own) for row in rows)
    label = escape(minus(caption))
    return (
        f'<div class="scroll{look}" tabindex="0" role="group" aria-label="{label[:200]}">'
        f"<table><caption>{label}</caption><thead><tr>{head}</tr></thead>\n"
        f"<tbody>{body}</tbody></table></div>"
    )


def cut(words: str) -> str:
    """A description that is short enough to be listened to."""
    if len(words) <= LONGEST_LABEL:
        return words
    return words[:LONGEST_LABEL].rsplit(" ", 1)[0] + " …"


def figure(draw: Callable[[int], Drawing], words: str, caption: str = "") -> str:
    """A figure, drawn for a page's column and for a telephone."""
    both = "".join(
        draw(width).inline(cut(words), look) for width, look in ((WIDE, "wide"), (NARROW, "narrow"))
    )
    said = f"<figcaption>{escape(minus(caption))}</figcaption>" if caption else ""
    return f"<figure>{both}{said}</figure>"


def folded(summary: str, body: str) -> str:
    """A part that is opened on demand; nothing without a body."""
    if not body:
        return ""
    return f"<details><summary>{escape(summary)}</summary>\n{body}\n</details>"


def section(name: str, title: str, parts: Iterable[str]) -> str:
    """A part of the page with a heading that links to itself, and a way back."""
    body = "\n".join(part for part in parts if part)
    return (
        f'<section id="{name}" aria-labelledby="{name}-head"><h2 id="{name}-head">'
        f'<a href="#{name}">{escape(title)}</a></h2>\n{body}\n'
        '<p class="up"><a href="#top">Back to the top</a></p></section>'
    )
