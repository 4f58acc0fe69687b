# SPDX-License-Identifier: GPL-2.0-only
"""Text for terminals."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Container, Sequence

# The width in columns where neither COLUMNS nor a terminal gives one.
DEFAULT_WIDTH = 100
UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]|[\ud800-\udfff]")
HYPHEN = re.compile(r"(?<![\w-])-(?=[\d?])")


def terminal_width() -> int:
    """The width to use, in columns; COLUMNS overrides the width of the terminal."""
    return shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns


def printable(text: str) -> str:
    """Return a text whose control characters and other unprintable ones are escape sequences."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def shortened(text: str, most: int) -> str:
    """Return a text of at most `most` characters; "…" replaces the middle of a longer one."""
    if len(text) <= most:
        return text
    head = (most - 1) * 2 // 3
    return f"{text[:head]}…{text[head + 1 - most :]}"


def aligned(rows: Sequence[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """Return the lines of a table; the columns in `right` are aligned to the right."""
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(size) if number in right else cell.ljust(size)
            for number, (cell, size) in enumerate(zip(row, sizes, strict=True))
        ).rstrip()
        for row in rows
    ]


def wrapped(text: str, width: int, indent: str = "", hanging: str = "  ") -> list[str]:
    """Wrap a line; the lines after the first are indented further, by `hanging`."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_on_hyphens=False,
    )


def fitted(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the lines of a table whose columns after the first are numbers. Columns that do not
    fit are in further tables below, each with the first column."""
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
    """Return a text in which "?" replaces characters that no document may hold, such as NUL."""
    return UNFIT.sub("?", text)


def minus(text: str) -> str:
    """Replace hyphens before digits by minus signs, except in compound words."""
    return HYPHEN.sub("\N{MINUS SIGN}", text)
