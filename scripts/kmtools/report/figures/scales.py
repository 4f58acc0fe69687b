# SPDX-License-Identifier: GPL-2.0-only
"""Computes ranges and ticks of axes: linear, logarithmic, or symlog (linear around zero,
logarithmic beyond)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# An axis is linear if no value exceeds LINEAR_REACH times `floor`, the size of insignificant
# values.
LINEAR_REACH = 25.0
# Leading digits of the tick distance on a linear axis.
STEPS = (1.0, 2.0, 5.0)


def format_tick(value: float) -> str:
    """Return a label without an exponent: 0.1, 20, 3000, 30 k, 2 M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            scale = 1e3 if letter == "k" else size
            return f"{value / scale:g} {letter}"
    return f"{value:g}"


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high`, linear up to ±`linear` and logarithmic beyond. `linear` is None
    for a linear axis, and 0 for a logarithmic axis, which has only values above zero."""

    low: float
    high: float
    linear: float | None = None

    def clamp_to_axis(self, value: float) -> float:
        """Return the value on the axis that is nearest to `value`."""
        if math.isnan(value):
            raise ValueError("a value that is not a number has no place on an axis")
        return min(max(value, self.low), self.high)

    def choose_ticks(self, max_ticks: int) -> list[float]:
        """Return the positions of the ticks with labels; at most two more than `max_ticks`."""
        if self.linear is None:
            return choose_even_ticks(self.low, self.high, max_ticks)
        if not self.linear:
            return choose_power_ticks(self.low, self.high, max_ticks)
        below = [
            -tick for tick in reversed(choose_power_ticks(self.linear, -self.low, max_ticks // 2))
        ]
        # Without ticks below zero, there may be `max_ticks` ticks above zero.
        above = choose_power_ticks(self.linear, self.high, max_ticks // 2 if below else max_ticks)
        return [*below, 0.0, *above]


def choose_even_ticks(low: float, high: float, max_ticks: int) -> list[float]:
    """Return at most `max_ticks` round numbers from `low` to `high`, at equal distances."""
    if not high > low:
        return [low]
    for power in range(math.floor(math.log10(high - low)) - 2, 400):
        for step in STEPS:
            size = step * 10.0**power
            first, last = math.ceil(low / size - 1e-9), math.floor(high / size + 1e-9)
            if last - first < max_ticks:
                return [round(number * size, 12) + 0.0 for number in range(first, last + 1)]
    return []


def choose_power_ticks(low: float, high: float, max_ticks: int) -> list[float]:
    """Return at most `max_ticks` powers of ten from `low` to `high`, but at least one if there are
    any: all powers, every second, every third, and so on."""
    if high <= 0 or high < low:
        return []
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last < first:
        return []
    step = max(1, -(-(last - first + 1) // max(1, max_ticks)))
    return [10.0**power for power in range(last, first - 1, -step)][::-1]


def make_signed_scale(values: Sequence[float], floor: float) -> Scale:
    """Return an axis that includes zero and all finite values. If a value exceeds LINEAR_REACH
    times `floor`, the size of insignificant values, the axis is linear near zero and logarithmic
    beyond."""
    finite = [value for value in values if math.isfinite(value)]
    reach = max((abs(value) for value in finite), default=0.0)
    floor = floor if math.isfinite(floor) and floor > 0 else reach or 1.0
    low, high = min(0.0, -floor, *finite), max(0.0, floor, *finite)
    if reach <= LINEAR_REACH * floor:
        return Scale(1.08 * low, 1.08 * high)
    linear = 2 * floor
    return Scale(min(1.3 * low, -linear), max(1.3 * high, linear), linear)


def make_log_scale(values: Sequence[float]) -> Scale:
    """Return a logarithmic axis that includes all values above zero."""
    finite = [value for value in values if math.isfinite(value) and value > 0] or [1.0]
    return Scale(min(finite) / 1.3, max(finite) * 1.3, 0.0)
