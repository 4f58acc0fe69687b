# SPDX-License-Identifier: GPL-2.0-only
"""Ranges of axes and their ticks: linear, logarithmic, and linear around zero with a logarithm
beyond, which is matplotlib's symlog."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# An axis is linear if its values are within this many times the part around zero.
LINEAR_REACH = 25.0
# Leading digits of the distances between ticks of a linear axis.
STEPS = (1.0, 2.0, 5.0)


def plain(value: float) -> str:
    """A label without an exponent: 0.1, 20, 3 k, 2 M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            scale = 1e3 if letter == "k" else size
            return f"{value / scale:g} {letter}"
    return f"{value:g}"


@dataclass(frozen=True)
class Scale:
    """From `low` to `high`; linear within `linear` of zero and logarithmic beyond. None: linear
    throughout; 0: logarithmic throughout, for values above zero."""

    low: float
    high: float
    linear: float | None = None

    def inside(self, value: float) -> float:
        """The nearest value on the axis."""
        if math.isnan(value):
            raise ValueError("a value that is no number has no place on an axis")
        return min(max(value, self.low), self.high)

    def ticks(self, most: int) -> list[float]:
        """Places for about `most` labels or fewer."""
        if self.linear is None:
            return even_steps(self.low, self.high, most)
        if not self.linear:
            return powers(self.low, self.high, most)
        return [
            *(-tick for tick in reversed(powers(self.linear, -self.low, most // 2))),
            0.0,
            *powers(self.linear, self.high, most if self.low > -self.linear else most // 2),
        ]


def even_steps(low: float, high: float, most: int) -> list[float]:
    """Round numbers at even distances."""
    if not high > low:
        return [low]
    for power in range(math.floor(math.log10(high - low)) - 2, 400):
        for step in STEPS:
            size = step * 10.0**power
            first, last = math.ceil(low / size - 1e-9), math.floor(high / size + 1e-9)
            if last - first < most:
                return [round(number * size, 12) + 0.0 for number in range(first, last + 1)]
    return []


def powers(low: float, high: float, most: int) -> list[float]:
    """Powers of ten between two values, evenly thinned out."""
    if high <= 0 or high < low:
        return []
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last < first:
        return []
    step = max(1, -(-(last - first + 1) // max(1, most)))
    return [10.0**power for power in range(last, first - 1, -step)][::-1]


def signed(values: Sequence[float], floor: float) -> Scale:
    """An axis that shows zero and all finite values; `floor` is the size below which values count
    as nothing."""
    finite = [value for value in values if math.isfinite(value)]
    reach = max((abs(value) for value in finite), default=0.0)
    floor = floor if math.isfinite(floor) and floor > 0 else reach or 1.0
    low, high = min(0.0, -floor, *finite), max(0.0, floor, *finite)
    if reach <= LINEAR_REACH * floor:
        return Scale(1.08 * low, 1.08 * high)
    linear = 2 * floor
    return Scale(min(1.3 * low, -linear), max(1.3 * high, linear), linear)


def positive(values: Sequence[float]) -> Scale:
    """A logarithmic axis around values above zero."""
    finite = [value for value in values if math.isfinite(value) and value > 0] or [1.0]
    return Scale(min(finite) / 1.3, max(finite) * 1.3, 0.0)
