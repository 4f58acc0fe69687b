# SPDX-License-Identifier: GPL-2.0-only
"""Converts between TSC cycles and core cycles, which have different frequencies.

Each timed window (one execution of a loop) is measured in both units. The frequency of a core may
change from block to block, so slopes are fitted to core cycles. Each benchmark has one ratio of
core cycles to TSC cycles, the median over its windows. This ratio converts the slopes to TSC
cycles, and TSC cycles to core cycles for the output. The output states whether core cycles were
counted or estimated.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kmtools.measure.rundir import Tier
from kmtools.measure.samples import Sample

# How core cycles were measured; the value of the env key "cycles".
SOURCES = ("estimated", "counted")
# The share of the blocks that is left out at either end when the spread of the ratios is computed:
# the blocks with the smallest and with the largest ratios.
TAIL_SHARE = 0.05
# The largest denominator of a ratio. A ratio is a fraction, because slopes divided by a fraction
# stay exact.
LARGEST_DENOMINATOR = 1_000_000


@dataclass(frozen=True)
class CoreCycleRatio:
    """The number of core cycles in one TSC cycle, and its source: counted or estimated. `spread` is
    the range of the blocks' ratios from the 5 % to the 95 % quantile, as a share of `per_tick`."""

    source: str
    per_tick: float
    spread: float = 0.0

    def convert_ticks(self, ticks: float | None) -> float | None:
        """Convert a number of TSC cycles to core cycles."""
        return None if ticks is None else ticks * self.per_tick

    def describe_ratio(self) -> str:
        """Return the ratio and its source in words, for a heading."""
        apart = f", +-{50 * self.spread:.2g} % from block to block" if self.spread else ""
        return f"1 TSC cycle is {self.per_tick:.3f} core cycles ({self.source}{apart})"

    @property
    def exact_ratio(self) -> Fraction:
        """The number of core cycles in one TSC cycle, as a fraction."""
        return Fraction(self.per_tick).limit_denominator(LARGEST_DENOMINATOR)

    def count_core_cycles(self, sample: Sample) -> int:
        """Return the core cycles of a window: measured, or else converted from TSC cycles."""
        return sample.core_cycles or round(sample.value * self.per_tick)


def estimate_core_cycle_ratio(tier: Tier, samples: Sequence[Sample]) -> CoreCycleRatio | None:
    """Return the median of the windows' ratios of core cycles to TSC cycles in a benchmark; None if
    no core cycles are known."""
    source = tier.env.get("cycles", "")
    if source not in SOURCES or tier.emulated or tier.exact:
        return None
    known = [s for s in samples if s.core_cycles and s.value and not s.flags]
    if not known:
        return None
    ratios = [(s.core_cycles or 0) / s.value for s in known]
    usual = Fraction(statistics.median(ratios)).limit_denominator(LARGEST_DENOMINATOR)
    return CoreCycleRatio(source, float(usual), compute_cycle_ratio_spread(known, float(usual)))


def compute_cycle_ratio_spread(samples: Sequence[Sample], median_ratio: float) -> float:
    """Return how much the ratio of core cycles to TSC cycles differs between blocks: the range from
    the 5 % to the 95 % quantile, as a share of `median_ratio`."""
    ticks: dict[int, int] = {}
    cycles: dict[int, int] = {}
    for s in samples:
        ticks[s.block] = ticks.get(s.block, 0) + s.value
        cycles[s.block] = cycles.get(s.block, 0) + (s.core_cycles or 0)
    ratios = [cycles[block] / ticks[block] for block in ticks]
    low, high = np.quantile(ratios, (TAIL_SHARE, 1 - TAIL_SHARE))
    return round(float(high - low) / median_ratio, 6)
