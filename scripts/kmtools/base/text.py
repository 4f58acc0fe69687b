# SPDX-License-Identifier: GPL-2.0-only
"""Text for terminals."""

from __future__ import annotations

import textwrap
from collections.abc import Container, Sequence


def aligned(rows: Sequence[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """The lines of a table; the columns that `right` holds are aligned to the right."""
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(size) if number in right else cell.ljust(size)
            for number, (cell, size) in enumerate(zip(row, sizes, strict=True))
        ).rstrip()
        for row in rows
    ]


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """A line in as many as it takes; those after the first are indented further."""
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )


def fitted(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The lines of a table whose columns after the first are numbers. What does not fit stands in
    further tables below, each with the first column."""
    lines: list[str] = []
    first, last = 1, len(heads)
    while first < len(heads):
        part = [[row[0], *row[first:last]] for row in [heads, *rows]]
        made = aligned(part, right=range(1, len(part[0])))
        if max(map(len, made)) > width and last - first > 1:
            last -= 1
            continue
        lines += [*([""] if lines else []), *made]
        first, last = last, len(heads)
    return lines
