# SPDX-License-Identifier: GPL-2.0-only
"""Quantiles of Student's t for any level, which intervals of many rows at once need.

The distribution function is the closed form for whole degrees of freedom (Abramowitz and Stegun,
"Handbook of Mathematical Functions", 26.7.3 and 26.7.4). This file uses the standard library alone.
"""

from __future__ import annotations

import math
from functools import lru_cache

# Largest used degrees of freedom of an estimated variance, because they are estimates, too.
MOST_FREEDOM = 30


def within(t: float, freedom: int) -> float:
    """The probability that |T| is at most `t`, with `freedom` degrees of freedom, 1 or more."""
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
def quantile(outside: float, freedom: int) -> float:
    """The t which |T| exceeds with probability `outside`, above 0 and below 1."""
    low, high = 0.0, 1.0
    while 1 - within(high, freedom) > outside:
        low, high = high, high * 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - within(middle, freedom) > outside else (low, middle)
    return high


def cautious(outside: float, freedom: float) -> float:
    """The quantile for degrees of freedom that are estimated: a fraction is rounded down, and at
    least one and no more than MOST_FREEDOM are used."""
    return quantile(outside, max(1, min(int(freedom), MOST_FREEDOM)))
