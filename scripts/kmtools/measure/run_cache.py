# SPDX-License-Identifier: GPL-2.0-only
"""Caches the samples and the results of a run while the run is measured.

A run of ten minutes has five million samples. Reading the samples takes as long as computing the
verdicts, and both are needed several times: to decide when the run ends, for the table of a tier
(measurement environment), and for the HTML page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kmtools.measure.collect import RawDir, Reader
from kmtools.measure.rundir import Tier
from kmtools.measure.samples import Sample

# A function that computes the results of the samples of some tiers (measurement environments).
Judge = Callable[[Sequence[Sample], Sequence[Tier]], list[Any]]


class RunCache:
    """The samples and the results of one run. `variants` are the patterns of the variants whose
    samples are kept; an empty list selects all. `raws` has the samples that merge_raw_folders()
    wrote to samples.csv last."""

    def __init__(self, variants: Sequence[str] = ()) -> None:
        self.variants = variants
        self.reader = Reader()
        self.raws: Sequence[RawDir] = ()
        self._results: dict[tuple[str, str], tuple[int, dict[str, str], list[Any]]] = {}

    def compute_results(self, samples: Sequence[Sample], tier: Tier, judge: Judge) -> list[Any]:
        """Return the results of a tier, computed by `judge` or cached.
        The results are computed again if the number of samples or the env of the tier has changed.
        While a run is measured, samples are only added, so that equal numbers mean equal
        samples."""
        key, env = (tier.tier, tier.kernel), dict(tier.env)
        cached = self._results.get(key)
        if cached is None or cached[:2] != (len(samples), env):
            cached = self._results[key] = (len(samples), env, judge(samples, [tier]))
        return cached[2]
