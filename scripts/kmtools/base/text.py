# SPDX-License-Identifier: GPL-2.0-only
"""Text for terminals."""

from __future__ import annotations

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
