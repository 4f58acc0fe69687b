# SPDX-License-Identifier: GPL-2.0-only
"""Core cycles beside TSC cycles: the two clocks of a core run at different frequencies.

Each window has both. One ratio for each benchmark converts costs from TSC cycles to core cycles.
Wherever core cycles are shown, a word says whether they were counted or estimated.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from kmtools.measure.rundir import Tier
from kmtools.measure.samples import Sample

SOURCES = ("estimated", "counted")


@dataclass(frozen=True)
class CoreCycles:
    """The number of core cycles in one TSC cycle, and its source: counted or estimated."""

    source: str
    per_tick: float

    def of(self, ticks: float | None) -> float | None:
        """A cost in core cycles."""
        return None if ticks is None else ticks * self.per_tick

    def words(self) -> str:
        """For a heading."""
        return f"1 TSC cycle is {self.per_tick:.3f} core cycles ({self.source})"


def ratio_of(tier: Tier, samples: Iterable[Sample]) -> CoreCycles | None:
    """The ratio of a benchmark's windows; None if no cycles are known."""
    source = tier.env.get("cycles", "")
    if source not in SOURCES or tier.emulated or tier.exact:
        return None
    ratios = [s.core_cycles / s.value for s in samples if s.core_cycles and s.value and not s.flags]
    return CoreCycles(source, statistics.median(ratios)) if ratios else None
