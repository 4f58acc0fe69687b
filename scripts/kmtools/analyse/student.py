# SPDX-License-Identifier: GPL-2.0-only
"""Quantiles of Student's t distribution at any level, for intervals that hold for many rows at
once; and the exact interval of the parameter of a binomial distribution.

The t distribution function is the closed form for whole degrees of freedom (Abramowitz and Stegun,
"Handbook of Mathematical Functions", 26.7.3 and 26.7.4). This file uses the standard library alone.
"""

from __future__ import annotations

import math
from functools import lru_cache

# Upper limit of estimated degrees of freedom, because these estimates are uncertain.
MOST_FREEDOM = 30


def compute_central_probability(t: float, freedom: int) -> float:
    """Return the probability that |T| is at most `t`, where T has Student's t distribution with
    `freedom` degrees of freedom, 1 or more."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0 if freedom == 1 else term
    for n in range(3 if odd else 2, freedom - 1, 2):
        term *= cosine * cosine * (n - 1) / n
        total += term
    return (angle + sine * total) * 2 / math.pi if odd else sine * total


@lru_cache(1000)
def compute_t_quantile(alpha: float, freedom: int) -> float:
    """Return the value that |T| exceeds with the probability `alpha` (above 0 and below 1), where
    T has Student's t distribution with `freedom` degrees of freedom."""
    low, high = 0.0, 1.0
    while 1 - compute_central_probability(high, freedom) > alpha:
        low, high = high, high * 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if 1 - compute_central_probability(middle, freedom) > alpha
            else (low, middle)
        )
    return high


def compute_capped_t_quantile(alpha: float, freedom: float) -> float:
    """Return the quantile of compute_t_quantile() for estimated degrees of freedom, rounded down
    and limited to the range from 1 to MOST_FREEDOM."""
    return compute_t_quantile(alpha, max(1, min(int(freedom), MOST_FREEDOM)))


def compute_binomial_tail_probability(p: float, successes: int, trials: int) -> float:
    """Return the probability that at least `successes` of `trials` independent trials succeed, each
    with probability `p`."""
    return sum(
        math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(successes, trials + 1)
    )


@lru_cache(1000)
def compute_clopper_pearson_interval(
    successes: int, trials: int, alpha: float
) -> tuple[float, float]:
    """Return the exact interval of the probability of success if `successes` of `trials`
    independent trials succeeded. The error probability of the interval is at most `alpha` (Clopper
    and Pearson 1934)."""

    def find_success_probability(min_successes: int, tail: float) -> float:
        """Return the success probability for which at least `min_successes` trials succeed with
        probability `tail`."""
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            below = compute_binomial_tail_probability(middle, min_successes, trials) < tail
            low, high = (middle, high) if below else (low, middle)
        return low

    lo = find_success_probability(successes, alpha / 2) if successes else 0.0
    hi = find_success_probability(successes + 1, 1 - alpha / 2) if successes < trials else 1.0
    return lo, hi
