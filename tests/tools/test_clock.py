# SPDX-License-Identifier: GPL-2.0-only
"""The step of a clock is found in spite of odd readings and of rounding."""

from __future__ import annotations

import numpy as np
import pytest
from kmtools.analyse.clock import clock_step


def windows(step: float, number: int, spread: float, odd: int, seed: int) -> list[int]:
    """Windows of 5000 ticks and more on a clock with a step; some readings are not on a step."""
    rng = np.random.default_rng(seed)
    start = rng.uniform(0, 1e9, number)
    end = start + 5000 + np.abs(rng.normal(0, spread, number))
    first, last = (np.floor(np.floor(at / step) * step) for at in (start, end))
    last[:odd] += rng.integers(1, max(2, int(step)), odd)
    return [int(value) for value in last - first]


@pytest.mark.parametrize(
    ("step", "number", "spread"),
    [(26, 400, 20000), (24.45, 200, 500), (24.45, 4000, 50000), (36.3, 400, 3000), (2, 400, 2000)],
)
@pytest.mark.parametrize("odd", [0, 1, 4])
def test_a_step_is_found(step: float, number: int, spread: float, odd: int) -> None:
    """A step that is wrong by a hundredth widens intervals as well."""
    for seed in range(5):
        assert clock_step(windows(step, number, spread, odd, seed)) == pytest.approx(step, rel=0.02)


@pytest.mark.parametrize(
    ("number", "spread"), [(400, 20000), (5000, 20000), (400, 100), (60, 30), (2000, 3000)]
)
def test_a_clock_without_steps_has_none(number: int, spread: float) -> None:
    for seed in range(20):
        assert clock_step(windows(1, number, spread, 0, seed)) == 1


def test_few_different_values_have_their_divisor() -> None:
    assert clock_step([26 * 103, 26 * 104, 26 * 603, 26 * 609] * 20 + [2679]) == 26
