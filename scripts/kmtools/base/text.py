# SPDX-License-Identifier: GPL-2.0-only
"""Formats text for terminals: width, tables, line breaks, characters."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Container, Sequence

# Width in columns if COLUMNS is not set and the output is not a terminal.
DEFAULT_WIDTH = 100
# Matches a character that HTML and SVG files must not contain.
FORBIDDEN_CHARS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]|[\ud800-\udfff]")
# Matches a hyphen before a digit, which is a minus sign, but not the hyphen of a compound word.
MINUS_HYPHEN = re.compile(r"(?<![\w-])-(?=[\d?])")


def get_terminal_width() -> int:
    """Return the width of the output in columns; COLUMNS overrides the width of the terminal."""
    return shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns


def escape_unprintable_chars(text: str) -> str:
    """Replace unprintable characters, such as control characters, by escape sequences."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def format_count(count: float, signed: bool = False) -> str:
    """Return an exact count as text, without trailing zeros. A count of a million or more has all
    its digits; a smaller count has at most six significant digits."""
    return f"{count:{'+' if signed else ''}{'.0f' if abs(count) >= 1e6 else 'g'}}"


def shorten_middle(text: str, max_length: int) -> str:
    """Shorten a text to at most `max_length` characters: "…" replaces the middle of the text."""
    if len(text) <= max_length:
        return text
    head = (max_length - 1) * 2 // 3
    return f"{text[:head]}…{text[head + 1 - max_length :]}"


def align_table(rows: Sequence[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """Return the lines of a table; the columns whose indexes are in `right` are aligned to
    the right."""
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(size) if number in right else cell.ljust(size)
            for number, (cell, size) in enumerate(zip(row, sizes, strict=True))
        ).rstrip()
        for row in rows
    ]


def wrap_line(text: str, width: int, indent: str = "", hanging: str = "  ") -> list[str]:
    """Wrap a line to `width`; the lines after the first are indented further, by `hanging`."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_on_hyphens=False,
    )


def split_wide_table(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the lines of a table whose columns after the first are numbers. Columns that do not
    fit into `width` are moved to further tables below, which repeat the first column."""
    lines: list[str] = []
    first, last = 1, len(heads)
    while first < len(heads):
        part = [[row[0], *row[first:last]] for row in [heads, *rows]]
        made = align_table(part, right=range(1, len(part[0])))
        if max(map(len, made)) > width and last - first > 1:
            last -= 1
            continue
        lines += [*([""] if lines else []), *made]
        first, last = last, len(heads)
    return lines


def replace_chars_forbidden_in_html(text: str) -> str:
    """Replace characters that HTML and SVG files must not contain, such as NUL, by "?"."""
    return FORBIDDEN_CHARS.sub("?", text)


def use_minus_signs(text: str) -> str:
    """Replace hyphens before digits by minus signs, except in compound words."""
    return MINUS_HYPHEN.sub("\N{MINUS SIGN}", text)
