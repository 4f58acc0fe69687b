# SPDX-License-Identifier: GPL-2.0-only
"""Code layouts: the offsets in a cache line at which the loops of a variant begin
(bench_window.h).

Benchmarks in kernel modules have the first eight layouts, an eighth of a cache line apart. Programs
in user space have three more layouts in each eighth, two bytes apart.
"""

from __future__ import annotations

from typing import Any

from kmtools.measure.samples import LAYOUTS

# The number of layouts that are an eighth of a cache line apart.
EIGHTHS = 8
# The size of a cache line in bytes.
LINE_BYTES = 64
# The fewest blocks per layout from which the effect of a layout is estimated. If a run has fewer,
# the layouts in one eighth of a cache line are merged.
FEWEST_BLOCKS_PER_LAYOUT = 3


def compute_offset_in_cache_line(layout: Any) -> Any:
    """Return the offset of a layout in a cache line, in bytes; `layout` is a number or an array of
    numbers."""
    return layout % EIGHTHS * 8 + layout // EIGHTHS * 2


def find_layout_of_executed_copy(layout: int, copies: int) -> int:
    """Return the layout of the code copy that a variant executes for the planned layout `layout`.
    The variant has `copies` copies of its code, fewer than there are layouts. The copies are evenly
    spaced in a cache line, and each is used for equally many successive layouts."""
    return layout * copies // LAYOUTS * (EIGHTHS // copies)


def has_too_few_blocks_per_layout(blocks: int, layouts: int) -> bool:
    """Return True if there are more than EIGHTHS layouts and fewer than FEWEST_BLOCKS_PER_LAYOUT
    blocks per layout, too few to tell the code layouts apart."""
    return layouts > EIGHTHS and blocks < FEWEST_BLOCKS_PER_LAYOUT * layouts
