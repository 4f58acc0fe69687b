# SPDX-License-Identifier: GPL-2.0-only
"""Text for terminals."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Container, Sequence

# Columns, where nothing says how many there are.
DEFAULT_WIDTH = 100
UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]|[\ud800-\udfff]")
HYPHEN = re.compile(r"(?<![\w-])-(?=[\d?])")


def terminal_width() -> int:
    """The width to use, in columns; COLUMNS overrides the width of the terminal."""
    return shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns


def printable(text: str) -> str:
    """A text in which what a terminal would not show as a character, or would obey, is an escape
    sequence."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters; its middle is left out where it is too long."""
    if len(text) <= most:
        return text
    head = (most - 1) * 2 // 3
    return f"{text[:head]}…{text[head + 1 - most :]}"


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


def wrapped(text: str, width: int, indent: str = "", hanging: str = "  ") -> list[str]:
    """A line in as many as it takes; those after the first are indented further, by `hanging`."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_on_hyphens=False,
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


def clean(text: str) -> str:
    """A text without the characters that no document may hold, such as NUL: question marks."""
    return UNFIT.sub("?", text)


def minus(text: str) -> str:
    """Hyphens before digits as minus signs, unless they join words."""
    return HYPHEN.sub("\N{MINUS SIGN}", text)
