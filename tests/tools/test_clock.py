# SPDX-License-Identifier: GPL-2.0-only
"""Tests of find_clock_step(), which estimates the resolution of a clock from measured windows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from kmtools.analyse.clock import (
    compute_share_of_multiples,
    find_clock_step,
    find_integer_clock_step,
    refine_clock_step,
    select_frequent_values,
)


def simulate_clock_windows(
    step: float, number: int, spread: float, odd: int, seed: int
) -> list[int]:
    """Simulate `number` windows, read from a clock with a resolution of `step` ticks. A window
    takes 5000 ticks plus a random time of the scale `spread`. The first `odd` windows end at a
    reading that is not a multiple of `step`."""
    rng = np.random.default_rng(seed)
    start = rng.uniform(0, 1e9, number)
    end = start + 5000 + np.abs(rng.normal(0, spread, number))
    first, last = (np.floor(np.floor(at / step) * step) for at in (start, end))
    last[:odd] += rng.integers(1, max(2, int(step)), odd)
    return [int(value) for value in last - first]


@pytest.mark.parametrize(
    ("step", "number", "spread"),
    [
        (26, 400, 20000),
        (24.45, 200, 500),
        (24.45, 4000, 50000),
        (36.3, 400, 3000),
        (6.3, 400, 3000),
        (2, 400, 2000),
    ],
)
@pytest.mark.parametrize("odd", [0, 1, 4])
def test_clock_step_is_estimated(step: float, number: int, spread: float, odd: int) -> None:
    """The estimated step is right within 2 %."""
    for seed in range(5):
        assert find_clock_step(
            simulate_clock_windows(step, number, spread, odd, seed)
        ) == pytest.approx(step, rel=0.02)


@pytest.mark.parametrize(
    ("number", "spread"), [(400, 20000), (5000, 20000), (400, 100), (60, 30), (2000, 3000)]
)
def test_clock_without_steps_has_step_1(number: int, spread: float) -> None:
    for seed in range(20):
        assert find_clock_step(simulate_clock_windows(1, number, spread, 0, seed)) == 1


@pytest.mark.parametrize("step", [2.5, 5.7])
def test_fractional_step_below_6_ticks_is_not_estimated(step: float) -> None:
    """By chance, most distances are near multiples of a step below 6 ticks."""
    for seed in range(5):
        assert find_clock_step(simulate_clock_windows(step, 400, 3000, 0, seed)) == 1


@pytest.mark.parametrize(("step", "expected"), [(1021, 1021), (1024, 1024), (1031, 1)])
def test_step_above_1024_ticks_is_not_estimated(step: int, expected: int) -> None:
    """The steps 1021 and 1031 are prime numbers, so no other step fits."""
    assert find_clock_step([step * n for n in range(20, 60)]) == expected


@pytest.mark.parametrize(("gap", "expected"), [(1024, 17405 / 17), (1025, 1)])
def test_fractional_step_is_at_most_1024_ticks(gap: int, expected: float) -> None:
    """Twelve gaps are one step, one gap is a tick shorter than a step, and one gap is a tick
    shorter than two steps: the fit is (12 * 1024 + 1023 + 2 * 2047) / (13 * 1 + 4)."""
    gaps = [gap] * 12 + [gap - 1, 2 * gap - 1]
    assert find_clock_step([*itertools.accumulate(gaps, initial=5000)]) == pytest.approx(expected)


def test_clock_step_of_few_values_is_their_common_divisor() -> None:
    assert find_clock_step([26 * 103, 26 * 104, 26 * 603, 26 * 609] * 20 + [2679]) == 26


@pytest.mark.parametrize(("added_distances", "step"), [([], 1), ([12], 1), ([12, 12], 12)])
def test_distance_that_occurs_once_is_no_clock_step(
    added_distances: list[int], step: float
) -> None:
    """The distances of neighbouring durations are multiples of 12, rounded up or down by one tick.
    All distances differ, so the step is accepted only if the distance 12 occurs more than once.
    Otherwise a few random durations would often have a step by chance."""
    distances = [12 * multiple + error for multiple in range(1, 9) for error in (-1, 1)]
    durations = [5000 + sum(distances[:n]) for n in range(len(distances) + 1)]
    for distance in added_distances:
        durations.append(durations[-1] + distance)
    assert find_clock_step(durations) == step


@pytest.mark.parametrize(("shared", "step"), [(9, 26), (8, 1)])
def test_nine_of_ten_windows_must_be_multiples_of_a_step(shared: int, step: float) -> None:
    """`shared` of the ten windows take 26 ticks times a prime number. The other windows take a
    prime number of ticks."""
    primes = (101, 103, 107, 109, 113, 127, 131, 137, 139)
    values = [26 * prime for prime in primes[:shared]] + [2659, 2663][: 10 - shared]
    assert find_integer_clock_step(np.array(values)) == step


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # If half of the windows have a repeated duration, the other durations are left out.
        ([5, 5, 7, 8], [5]),
        ([5, 5, 6, 7, 8], [5, 6, 7, 8]),
        ([9, 7, 7, 9, 3], [7, 9]),
    ],
)
def test_clock_step_leaves_out_durations_that_occur_once(
    values: list[int], expected: list[int]
) -> None:
    assert [*select_frequent_values(np.array(values))] == expected


@pytest.mark.parametrize(
    ("gaps", "share"),
    [
        # Of twelve gaps, nine are multiples of 10 within 1.25 ticks.
        ([10, 20, 31, 39, 50, 60, 70, 80, 11.25, 11.5, 44, 36], 0.75),
        # Eleven gaps are too few, and a gap of more than eight steps is ignored.
        ([10] * 11, 0),
        ([10] * 11 + [90], 0),
        ([10] * 11 + [80], 1),
        # A gap below half a step is compared with one step.
        ([10] * 12 + [1.2, 1.2, 1.2, 1.2], 0.75),
    ],
)
def test_share_of_gaps_near_multiples_is_computed(gaps: list[float], share: float) -> None:
    assert compute_share_of_multiples(np.array(gaps, dtype=float), 10.0) == share


def test_clock_step_is_refined_by_least_squares() -> None:
    """Gaps of 1, 2 and 8 steps are 10, 21 and 82 ticks: the fit is (10 + 42 + 656) / (1 + 4 + 64).
    The gaps of 9 steps and of 17.5 ticks are left out. If no gap is near a multiple, the step is
    kept."""
    gaps = np.array([10.0, 21, 82, 93, 17.5])
    assert refine_clock_step(gaps, 10.3) == pytest.approx(708 / 69)
    assert refine_clock_step(np.array([16.0]), 10.3) == 10.3
