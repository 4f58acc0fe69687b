# SPDX-License-Identifier: GPL-2.0-only
"""Code layouts: the places in a cache line at which the loops of a variant begin (bench_window.h).

A module has the first eight layouts, which begin an eighth of a line apart. A program has three
more in each eighth, two bytes apart.
"""

from __future__ import annotations

from typing import Any

from kmtools.measure.samples import LAYOUTS

EIGHTHS = 8
LINE_BYTES = 64
# With fewer blocks of each layout, those in one eighth of a line count as one.
FEWEST = 3


def place_of(layout: Any) -> Any:
    """The offset of a layout in a cache line, in bytes; of a number, or of an array of numbers."""
    return layout % EIGHTHS * 8 + layout // EIGHTHS * 2


def of_codes(layout: int, codes: int) -> int:
    """The layout of the code that ran at `layout`, for a variant with only `codes` pieces of code.
    Each piece serves equally many successive layouts, and the pieces are evenly spaced in a cache
    line."""
    return layout * codes // LAYOUTS * (EIGHTHS // codes)


def are_crowded(blocks: int, layouts: int) -> bool:
    """Whether this number of blocks is too small to tell this number of layouts apart."""
    return layouts > EIGHTHS and blocks < FEWEST * layouts
