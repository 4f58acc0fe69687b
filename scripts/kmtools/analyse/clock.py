# SPDX-License-Identifier: GPL-2.0-only
"""Finds the step by which a clock advances, from the durations of windows (timed loops).

A clock that a hypervisor or the CPU derives from a slower clock advances by many ticks at once. The
step need not be a whole number of ticks: readings that are 24.45 ticks apart are rounded, and have
no common divisor. Some readings are outliers, so a step is accepted if nearly all windows agree
with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# The longest step of a clock in ticks.
LONGEST_STEP = 1024
# The smallest share of the windows that must be multiples of a step.
LEAST_SHARE_OF_WINDOWS = 0.9
# The smallest share of the gaps (differences of neighbouring durations) that must be multiples of a
# step. This share is lower than LEAST_SHARE_OF_WINDOWS, because one outlier makes two gaps wrong:
# the gap before the outlier and the gap after it.
LEAST_SHARE_OF_GAPS = 0.75
# The rounding error of a gap in ticks: a window is the difference of two rounded readings, and a
# gap is the difference of two windows.
GAP_ROUNDING_ERROR = 1.25
# The shortest fractional step in ticks: by chance, most gaps are near multiples of any shorter
# step.
SHORTEST_FRACTIONAL_STEP = 6
# The smallest number of gaps from which a step is accepted.
FEWEST_GAPS = 12
# The longest gap that is used, in steps: over more steps, the error of an imprecise step would add
# up too far.
LONGEST_GAP_IN_STEPS = 8


def find_integer_clock_step(values: NDArray[np.int64]) -> float:
    """Return the largest whole number of ticks that divides nearly all `values`, the durations of
    windows."""
    found = 1
    out = np.zeros(LONGEST_STEP + 1, dtype=bool)
    for step in range(2, LONGEST_STEP + 1):
        if not out[step] and np.mean(values % step == 0) >= LEAST_SHARE_OF_WINDOWS:
            found = step
        else:
            # This step divides too few values. No multiple of the step divides more values, so skip
            # all multiples.
            out[step::step] = True
    return float(found)


def count_clock_steps(gaps: Floats, step: float) -> Floats:
    """Return the number of clock steps in each of `gaps` (differences of neighbouring durations),
    rounded to a whole number of at least one."""
    return np.maximum(1.0, np.round(gaps / step))


def refine_clock_step(gaps: Floats, step: float) -> float:
    """Return a more precise value of the clock step `step`: the least-squares fit to the gaps that
    are near multiples of `step`."""
    for _ in range(3):
        count = count_clock_steps(gaps, step)
        near = (count <= LONGEST_GAP_IN_STEPS) & (
            np.abs(gaps - count * step) <= 2 * GAP_ROUNDING_ERROR
        )
        if not near.any():
            return step
        step = float(np.dot(gaps[near], count[near]) / np.dot(count[near], count[near]))
    return step


def compute_share_of_multiples(gaps: Floats, step: float) -> float:
    """Return the share of `gaps` that are multiples of `step` within the rounding error. Gaps
    longer than LONGEST_GAP_IN_STEPS steps are left out; if fewer than FEWEST_GAPS remain, return
    0."""
    few = gaps[gaps <= LONGEST_GAP_IN_STEPS * step]
    if len(few) < FEWEST_GAPS:
        return 0.0
    return float(np.mean(np.abs(few - count_clock_steps(few, step) * step) <= GAP_ROUNDING_ERROR))


def select_frequent_values(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct `values` (durations of windows). If at least half of the windows have a
    repeated duration, leave out durations that occur only once."""
    different, counts = np.unique(values, return_counts=True)
    again = counts > 1
    return different[again] if 2 * counts[again].sum() >= len(values) else different


def find_fractional_clock_step(values: NDArray[np.int64]) -> float:
    """Return the largest step such that most gaps between neighbouring `values` are multiples of
    the step, within the rounding error; 1 if no step is found. Gaps of one tick are ignored as
    rounding errors. A gap that occurs only once is not tried as a step, because a few random
    durations often have a step by chance."""
    gaps = np.diff(select_frequent_values(values)).astype(np.float64)
    gaps = gaps[gaps > 1]
    likely, counts = np.unique(gaps[gaps <= LONGEST_STEP], return_counts=True)
    found = 1.0
    for candidate in likely[(counts > 1) & (likely >= SHORTEST_FRACTIONAL_STEP)]:
        step = refine_clock_step(gaps, float(candidate))
        if (
            step > found
            and step >= SHORTEST_FRACTIONAL_STEP
            and compute_share_of_multiples(gaps, step) >= LEAST_SHARE_OF_GAPS
        ):
            found = step
    return found


def find_clock_step(windows: Sequence[int]) -> float:
    """Return the step of the clock in ticks, found from the durations of timed windows: at least 1,
    and at most LONGEST_STEP."""
    values = np.array(windows, dtype=np.int64)
    return max(find_integer_clock_step(values), find_fractional_clock_step(values))
