# SPDX-License-Identifier: GPL-2.0-only
"""The step of a clock, found from windows that it timed.

Some clocks advance by many ticks at a time: those that a hypervisor or the CPU itself makes from a
slower one. Their step need not be a whole number of ticks: readings that are 24.45 apart are
rounded, and have no common divisor. Readings may also be outliers, so a step is accepted if nearly
all windows agree with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LONGEST = 1024
AGREE = 0.9
# An outlying window spoils the two gaps beside it, and there are fewer gaps than windows.
AGREE_GAPS = 0.75
# A window is the difference of two readings, each rounded; a gap is that of two windows.
ROUNDED = 1.25
# Below it, most gaps agree with a step by chance.
SHORTEST_BROKEN = 6
FEWEST = 12
# Gaps of more steps add to the error of a step that is not known well.
MOST_STEPS = 8


def whole_step(values: NDArray[np.int64]) -> float:
    """The largest whole number that divides nearly all values."""
    found = 1
    out = np.zeros(LONGEST + 1, dtype=bool)
    for step in range(2, LONGEST + 1):
        if not out[step] and np.mean(values % step == 0) >= AGREE:
            found = step
        else:
            # No multiple of a step that divides too few values divides nearly all.
            out[step::step] = True
    return float(found)


def steps_in(gaps: Floats, step: float) -> Floats:
    """The number of steps that each gap is nearest to, at least one."""
    return np.maximum(1.0, np.round(gaps / step))


def refined(gaps: Floats, step: float) -> float:
    """The least-squares step of the gaps that agree with `step`."""
    for _ in range(3):
        count = steps_in(gaps, step)
        near = (count <= MOST_STEPS) & (np.abs(gaps - count * step) <= 2 * ROUNDED)
        if not near.any():
            return step
        step = float(np.dot(gaps[near], count[near]) / np.dot(count[near], count[near]))
    return step


def agreement(gaps: Floats, step: float) -> float:
    """The share of the gaps of at most MOST_STEPS steps that are multiples of the step, but for
    rounding; 0 if there are fewer than FEWEST such gaps."""
    few = gaps[gaps <= MOST_STEPS * step]
    if len(few) < FEWEST:
        return 0.0
    return float(np.mean(np.abs(few - steps_in(few, step) * step) <= ROUNDED))


def usual(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct values; only the repeated ones, if most windows have a repeated value."""
    different, counts = np.unique(values, return_counts=True)
    again = counts > 1
    return different[again] if 2 * counts[again].sum() >= len(values) else different


def broken_step(values: NDArray[np.int64]) -> float:
    """The largest step of which nearly all gaps between neighbouring values are multiples, but for
    rounding. A gap of one tick is rounding."""
    gaps = np.diff(usual(values)).astype(np.float64)
    gaps = gaps[gaps > 1]
    likely, counts = np.unique(gaps[gaps <= LONGEST], return_counts=True)
    found = 1.0
    for candidate in likely[(counts > 1) & (likely >= SHORTEST_BROKEN)]:
        step = refined(gaps, float(candidate))
        if step > found and step >= SHORTEST_BROKEN and agreement(gaps, step) >= AGREE_GAPS:
            found = step
    return found


def clock_step(windows: Sequence[int]) -> float:
    """The step of the clock in ticks; at least 1, and at most LONGEST."""
    values = np.array(windows, dtype=np.int64)
    return max(whole_step(values), broken_step(values))
