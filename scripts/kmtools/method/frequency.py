# SPDX-License-Identifier: GPL-2.0-only
"""Simulates windows of a core whose frequency changes, and analyses them with
verdicts.compute_results().

A pass of the baseline takes 24 core cycles. The core makes 1.42 cycles in a tick of the clock, and
fewer in some stretches of blocks. If a single ratio of cycles to ticks were used for a whole run,
an added cost of 12 core cycles would be estimated as 12.5 to 13.7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kmtools.analyse import verdicts
from kmtools.measure.rundir import UNIT_TSC, Tier
from kmtools.measure.samples import Sample

BASELINE = 24.0
# The true costs that the variants add to the baseline, in core cycles.
TRUTH = {"base": 0.0, "base-clone": 0.0, "small": 0.3, "large": 12.0}
# USUAL is the usual number of core cycles in a tick; BLOCKS is the number of blocks in a process.
USUAL, PROCESSES, BLOCKS, LAYOUTS = 1.42, 16, 6, 8
LOOPS = (200, 320, 480)


@dataclass(frozen=True)
class FrequencyPattern:
    """A pattern of frequency changes: the lower number of core cycles in a tick, the share of the
    blocks that have this number, and the mean number of blocks from one change to the next."""

    low: float
    share: float
    mean_blocks: float


CHANGES = {
    "frequency": FrequencyPattern(USUAL, 0.5, 10),
    "frequency-rare": FrequencyPattern(1.0, 0.25, 20),
    "frequency-often": FrequencyPattern(1.0, 0.4, 3),
    "frequency-long": FrequencyPattern(1.0, 0.5, 50),
    "frequency-small": FrequencyPattern(1.27, 0.4, 50),
}


def make_simulated_tier() -> Tier:
    """Return the description of the tier (measurement environment) that the simulated windows
    belong to."""
    env = {"cycles": "estimated", "tsc_khz": "2600000", "invariant_tsc": "1"}
    return Tier("native", "k", UNIT_TSC, False, env, {})


def simulate_windows(seed: int, change: FrequencyPattern) -> list[Sample]:
    """Return the windows of a simulated run in which the frequency changes by the pattern
    `change`."""
    random = np.random.default_rng(seed)
    found, slow = [], random.random() < change.share
    for block in range(PROCESSES * BLOCKS):
        part = change.share if slow else 1 - change.share
        slow = slow != (random.random() < 1 / (2 * change.mean_blocks * part))
        ratio = change.low if slow else USUAL
        for variant, added in TRUTH.items():
            for loops in LOOPS:
                ticks = int(loops * (BASELINE + added) / ratio + 60 + random.normal(0, 8))
                window = Sample(
                    "native", "k", block // BLOCKS + 1, "b", variant, "loop", block * 7 % LAYOUTS,
                    block, 0, 1, loops, None, ticks, UNIT_TSC, int(ticks * ratio), (),
                )  # fmt: skip
                found.append(window)
    return found


@dataclass(frozen=True)
class AddedCost:
    """The added cost of a variant in core cycles: the value, its interval and verdict."""

    value: float
    lo: float
    hi: float
    verdict: str


def simulate_added_costs(seed: int, change: FrequencyPattern) -> dict[str, AddedCost]:
    """Simulate a run in which the frequency changes by the pattern `change`, and return the
    estimated added cost of each variant."""
    found = {}
    for result in verdicts.compute_results(simulate_windows(seed, change), [make_simulated_tier()]):
        if result.delta is not None and result.delta_ci is not None and result.core is not None:
            scale, ends = result.core.per_tick, result.delta_ci
            value = result.delta * scale
            found[result.variant] = AddedCost(
                value, ends.lo * scale, ends.hi * scale, result.verdict
            )
    return found
