# SPDX-License-Identifier: GPL-2.0-only
"""Caches a run's samples and results while it is measured.

A run of ten minutes has five million windows. Reading them takes as long as computing verdicts, and
both are needed several times: to steer the run, for the table of a tier, and for the HTML page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kmtools.measure.collect import RawDir, Reader
from kmtools.measure.rundir import Tier
from kmtools.measure.samples import Sample

# A function that computes the results of the samples of some tiers.
Judge = Callable[[Sequence[Sample], Sequence[Tier]], list[Any]]


class RunCache:
    """The samples and results of one run; `raws` has the samples of the tiers that were merged."""

    def __init__(self) -> None:
        self.reader = Reader()
        self.raws: Sequence[RawDir] = ()
        self._results: dict[tuple[str, str], tuple[int, dict[str, str], list[Any]]] = {}

    def compute_results(self, samples: Sequence[Sample], tier: Tier, judge: Judge) -> list[Any]:
        """Return the results of a tier, computed by `judge`. The results are computed again if the
        number of samples or the env of the tier has changed; in a run, samples are only added."""
        place, env = (tier.tier, tier.kernel), dict(tier.env)
        known = self._results.get(place)
        if known is None or known[:2] != (len(samples), env):
            known = self._results[place] = (len(samples), env, judge(samples, [tier]))
        return known[2]
