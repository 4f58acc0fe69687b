# SPDX-License-Identifier: GPL-2.0-only
"""Group-sequential stopping: when a run on a real CPU is analysed, and the confidence level of each
analysis.

If each look (interim analysis) had an error of 5 %, a run that ends as soon as its rows are
resolved would be wrong more often. So each look spends a part of the 5 % (alpha spending: Lan and
DeMets 1983), which is the error probability of its intervals. The parts add up to 5 %. So the error
probability of all looks together is at most 5 %, even if their errors depend on each other
(Bonferroni). Confidence sequences that hold at every time (Howard, Ramdas, McAuliffe and Sekhon
2021) are wider at each of so few looks.

The time limit may end a run between two looks. The intervals then have the error probability of the
next look. These intervals are valid, because the limit does not depend on the measured values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kmtools.measure.samples import Sample

# The number of clusters (processes, boots or module loads, see clusters.py) of a benchmark at each
# look (interim analysis), and the error probability that the look spends. The first look is at 16
# clusters, because short disturbances should be over by then.
LOOKS = {16: 0.03, 32: 0.01, 64: 0.01}
# The number of clusters from which the detectable differences of the whole run are forecast.
PILOT_CLUSTERS = 2
MOST_CLUSTERS = max(LOOKS)
# The key in the env file of a cluster that was measured with looks (interim analyses).
LOOKS_KEY = "looks"


def get_interim_error_probability(clusters: int) -> float:
    """Return the error probability of the intervals of a benchmark after `clusters` clusters: the
    error probability that the next look (interim analysis) spends."""
    for look, part in LOOKS.items():
        if clusters <= look:
            return part
    return LOOKS[MOST_CLUSTERS]


def choose_error_probability(
    env: Mapping[str, str], samples: Iterable[Sample], alpha_without_looks: float
) -> float:
    """Return the error probability of the intervals that are computed from a benchmark's samples.
    In a run of fixed length, without looks (interim analyses), this is `alpha_without_looks`."""
    if LOOKS_KEY not in env:
        return alpha_without_looks
    return get_interim_error_probability(len({sample.process for sample in samples}))
