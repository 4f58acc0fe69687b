# SPDX-License-Identifier: GPL-2.0-only
"""Group-sequential stopping: when a run in user space is analysed, and the confidence level of each
analysis.

A run that ends as soon as its rows are resolved would be wrong more often than 5 % if each look
allowed that. So each look has a part of the 5 % of its own (alpha spending: Lan and DeMets 1983),
and its intervals are as wide as that part demands. The parts add up to 5 %, which bounds the
errors of all looks together whatever they have in common (Bonferroni). Confidence sequences that
hold at every time (Howard, Ramdas, McAuliffe and Sekhon 2021) are wider at each of so few looks.

The time to measure may be out between two looks. That time does not depend on what was measured, so
the part of the look that was not reached is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kmtools.measure.samples import Sample

# Processes of a benchmark at each look, and the probability of an error that the look may have.
# None is earlier: what comes and goes beside a measurement must have the time to do both.
LOOKS = {16: 0.03, 32: 0.01, 64: 0.01}
PILOT = 2
MOST = max(LOOKS)
# The line in the env of a process that was measured with looks.
LINE = "looks"


def outside_after(processes: int) -> float:
    """What the intervals of a benchmark of so many processes may miss."""
    for look, part in LOOKS.items():
        if processes <= look:
            return part
    return LOOKS[MOST]


def outside_of(env: Mapping[str, str], samples: Iterable[Sample], usual: float) -> float:
    """The same for the samples of a benchmark, and `usual` for a run of a length fixed before."""
    if LINE not in env:
        return usual
    return outside_after(len({sample.process for sample in samples}))
