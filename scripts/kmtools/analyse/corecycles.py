# SPDX-License-Identifier: GPL-2.0-only
"""Core cycles beside TSC cycles: the two clocks of a core run at different frequencies.

Each window has both, and the ratio is that of its block, so one number for each benchmark turns
costs from one into the other. Whether cycles were counted or estimated is said wherever they are
shown.
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
    """Core cycles in one TSC cycle, and how that is known."""

    source: str
    per_tick: float

    def of(self, ticks: float | None) -> float | None:
        """A cost in core cycles."""
        return None if ticks is None else ticks * self.per_tick

    def words(self) -> str:
        """For a heading."""
        return f"1 TSC cycle is {self.per_tick:.3f} core cycles ({self.source})"


def ratio_of(tier: Tier, samples: Iterable[Sample]) -> CoreCycles | None:
    """The ratio of a benchmark's windows; None where no cycles are known."""
    source = tier.env.get("cycles", "")
    if source not in SOURCES or tier.emulated or tier.exact:
        return None
    ratios = [s.core_cycles / s.value for s in samples if s.core_cycles and s.value and not s.flags]
    return CoreCycles(source, statistics.median(ratios)) if ratios else None
