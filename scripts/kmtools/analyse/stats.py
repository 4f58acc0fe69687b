# SPDX-License-Identifier: GPL-2.0-only
"""Medians and intervals that are valid for timing data, and the counts of flagged windows.

Slopes, differences, intervals and medians are in the tier's unit per operation: TSC ticks or
instructions divided by loop iterations.

Sources of the techniques:
- sign-test interval of the median: order statistics, exact for any distribution (Conover,
  "Practical Nonparametric Statistics"; Le Boudec, "Performance Evaluation", ch. 2);
- autocorrelation: the effective number of observations n / tau, tau from the initial positive
  sequence (Geyer 1992, "Practical Markov Chain Monte Carlo"), here of the signs.
The location of paired differences is in location.py.
"""

from __future__ import annotations

import functools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from kmtools.analyse.clock import find_clock_step
from kmtools.analyse.slopes import Slope
from kmtools.measure.samples import Sample

Floats = NDArray[np.float64]

# The confidence level of an interval in a run whose length is fixed.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A confidence interval; an infinite end means that the data do not bound this end."""

    lo: float
    hi: float

    def widened(self, by: float) -> Interval:
        """Return the interval with both ends moved outwards by `by`."""
        return Interval(self.lo - by, self.hi + by)

    def union(self, other: Interval) -> Interval:
        """Return the smallest interval that contains this interval and `other`."""
        return Interval(min(self.lo, other.lo), max(self.hi, other.hi))

    @property
    def max_distance_from_zero(self) -> float:
        """The largest distance from zero inside the interval."""
        return max(abs(self.lo), abs(self.hi))

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.hi - self.lo) / 2


UNBOUNDED = Interval(-math.inf, math.inf)


def convert_slopes_to_floats(series: Sequence[Slope]) -> Floats:
    """Return the values of a series of slopes as floats, in the same order."""
    return np.array([slope.top / slope.bottom for slope in series], dtype=np.float64)


def compute_median_slope(series: Sequence[Slope]) -> float:
    """Return the median of a series of slopes; NaN if the series is empty."""
    return median(slope.top / slope.bottom for slope in series) if series else math.nan


def compute_layout_medians(series: Sequence[Slope]) -> dict[int, float]:
    """Return the median of a series of slopes at each code layout."""
    groups: dict[int, list[Slope]] = defaultdict(list)
    for slope in series:
        groups[slope.layout].append(slope)
    return {layout: compute_median_slope(groups[layout]) for layout in sorted(groups)}


@functools.cache
def compute_sign_test_rank(n: int) -> int:
    """Return the largest k such that the k-th smallest and k-th largest of n independent values
    enclose the median with a probability of at least 95 %; 0 if n is below 6."""
    tail, cumulative = (1 - CONFIDENCE) / 2, 0.0
    for k in range(n):
        log_p = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2)
        cumulative += math.exp(log_p)
        if cumulative > tail:
            return k
    return 0


def estimate_correlation_time(series: Sequence[Slope]) -> float:
    """Return the autocorrelation time, in blocks, of the signs of the blocks. The sign of a block
    tells whether the block costs more or less than the median of its layout. The time is the
    variance of the sum of the signs, divided by the variance of this sum for independent blocks
    without ties. It is 1 for independent blocks, and more if neighbouring blocks resemble each
    other. Many ties would give values below 1; such values are raised to 1."""
    medians = compute_layout_medians(series)
    signs = np.sign(
        convert_slopes_to_floats(series) - np.array([medians[slope.layout] for slope in series])
    )
    n = len(signs)
    energy = float(np.dot(signs, signs))
    if n < 8 or energy == 0:
        return 1.0
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(signs, size)
    rho = np.fft.irfft(spectrum * np.conj(spectrum), size)[: n // 2] / energy
    tau, k = 1.0, 1
    while k + 1 < len(rho) and rho[k] + rho[k + 1] > 0:
        tau += 2 * float(rho[k] + rho[k + 1])
        k += 2
    return min(max(1.0, tau * energy / n), n / 2)


def compute_sign_test_interval(series: Sequence[Slope]) -> Interval:
    """Return the 95 % sign-test interval of the median, widened if blocks are correlated. The ends
    of the interval are order statistics. Their ranks are computed for n / tau independent
    observations, and scaled to all n blocks; tau is the autocorrelation time. The interval is the
    whole range if n / tau is too small, and unbounded if there are fewer than 6 blocks."""
    n = len(series)
    if compute_sign_test_rank(n) == 0:
        return UNBOUNDED
    effective = int(n / estimate_correlation_time(series))
    index = max(1, int(compute_sign_test_rank(effective) * (n + 1) / (effective + 1)))
    ordered = np.sort(convert_slopes_to_floats(series))
    return Interval(float(ordered[index - 1]), float(ordered[n - index]))


def estimate_clock_resolution(samples: Sequence[Sample]) -> dict[str, float]:
    """Return one step of the clock as a cost per operation, for each variant of a benchmark.

    A TSC that software scales or emulates advances in steps of many ticks. The resolution of a cost
    is a step, divided by the difference of the largest and the smallest loop count of a process. If
    this difference is not the same in all processes, the smallest one is used. Flagged windows are
    left out. The result is empty if there are too few windows to find the step."""
    kept = [sample for sample in samples if not sample.flags]
    loops: dict[tuple[str, int], set[int]] = defaultdict(set)
    for sample in kept:
        loops[sample.variant, sample.process].add(sample.size)
    spans: dict[str, int] = {}
    for (variant, _), counts in loops.items():
        if len(counts) > 1:
            span = max(counts) - min(counts)
            spans[variant] = min(span, spans.get(variant, span))
    if len(kept) < 20 or not spans:
        return {}
    step = find_clock_step([sample.value for sample in kept])
    return {variant: step / span for variant, span in spans.items()}


def find_slope_range(series: Sequence[Slope]) -> Interval:
    """Return the smallest and the largest value of a series of slopes as an interval. The two are
    equal if all blocks agree."""
    low, high = min(s.value for s in series), max(s.value for s in series)
    return Interval(float(low), float(high))


def count_flagged_windows(samples: Iterable[Sample]) -> dict[str, int]:
    """Return the number of windows that have each flag, by the name of the flag."""
    return dict(sorted(Counter(word for sample in samples for word in sample.flags).items()))
