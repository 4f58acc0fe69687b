# SPDX-License-Identifier: GPL-2.0-only
"""Code layouts: where in a cache line the loops of a variant begin, as bench_window.h has it.

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
    """How many bytes into a cache line a layout begins; of a number, or of an array of numbers."""
    return layout % EIGHTHS * 8 + layout // EIGHTHS * 2


def of_codes(layout: int, codes: int) -> int:
    """The layout of the code that ran at this one, where a variant has fewer pieces of code than
    layouts: each is for as many layouts in turn, and they are evenly apart in a line."""
    return layout * codes // LAYOUTS * (EIGHTHS // codes)


def are_crowded(blocks: int, layouts: int) -> bool:
    """Whether so many blocks are too few to tell so many layouts apart."""
    return layouts > EIGHTHS and blocks < FEWEST * layouts
