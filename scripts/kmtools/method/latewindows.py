# SPDX-License-Identifier: GPL-2.0-only
"""Simulates windows that are late, and analyses them with verdicts.compute_results().

A pass of the baseline takes 24 ticks, and a tick is a core cycle. The truth is the cost without the
disturbance. analyse/lateness.py must widen the intervals so that they contain the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kmtools.analyse import verdicts
from kmtools.measure.rundir import UNIT_TSC, Tier
from kmtools.measure.samples import Sample
from kmtools.method.frequency import AddedCost

BASELINE, MARGIN = 24.0, 0.25
# The true costs that the variants add to the baseline, in ticks. The cost of "margin" is exactly
# the margin.
TRUTH = {"base": 0.0, "base-clone": 0.0, "margin": MARGIN, "large": 3.0}
PROCESSES, BLOCKS, LAYOUTS = 8, 32, 8
LOOPS = np.array([1600, 2560, 3840])
# The standard deviation of the duration of a window, in ticks, and the number of ticks in a
# microsecond.
NOISE, MICROSECOND = 200.0, 2600.0


@dataclass(frozen=True)
class Disturbance:
    """A simulated disturbance that makes windows late.

    The disturbance comes in stretches of consecutive blocks. A stretch has `mean_blocks` blocks on
    average, and all stretches together cover the fraction `share` of the blocks. In a stretch,
    every window takes 1.2 to 1.5 times as long, and the cost that a variant adds to the baseline is
    multiplied by `added`. If `mean_blocks` is 0, single windows are late instead: each with the
    probability `share`, by `microseconds` on average. With `one_sided`, only windows of variants
    are late, and no window of the baseline.
    """

    share: float
    mean_blocks: int = 0
    added: float = 1.0
    microseconds: float = 10.0
    one_sided: bool = False


DISTURBANCES = {
    "late-stretches-15%": Disturbance(0.15, 10),
    "late-stretches-20%": Disturbance(0.2, 10),
    "late-long-10%": Disturbance(0.1, 60),
    "late-dearer-10%": Disturbance(0.1, 10, 2.0),
    "late-singles-10%": Disturbance(0.1),
    "late-singles-30%": Disturbance(0.3),
    "late-stolen-5%": Disturbance(0.05, microseconds=1000.0),
    "late-one-sided-10%": Disturbance(0.1, one_sided=True),
}


def choose_late_blocks(random: np.random.Generator, disturbance: Disturbance) -> np.ndarray:
    """Return an array with True for each block in which all windows are late."""
    blocks, share = PROCESSES * BLOCKS, disturbance.share
    if not disturbance.mean_blocks:
        return np.zeros(blocks, dtype=bool)
    mean = np.array([disturbance.mean_blocks * (1 - share) / share, disturbance.mean_blocks])
    turns = (int(random.random() < share) + np.arange(blocks)) % 2
    return np.repeat(turns, 1 + random.exponential(mean[turns]).astype(int))[:blocks] > 0


def simulate_late_windows(seed: int, disturbance: Disturbance) -> list[Sample]:
    """Return the windows of a simulated run during which `disturbance` occurs."""
    random = np.random.default_rng(seed)
    there = choose_late_blocks(random, disturbance)[:, None, None]
    added = np.array([*TRUTH.values()])[None, :, None]
    slower = np.where(there, random.uniform(1.2, 1.5, (PROCESSES * BLOCKS, 1, 1)), 1.0)
    cost = (BASELINE + np.where(there, disturbance.added, 1.0) * added) * slower
    ticks = LOOPS * cost + 60 + random.normal(0, NOISE, (*cost.shape[:2], len(LOOPS)))
    if not disturbance.mean_blocks:
        hit = random.random(ticks.shape) < disturbance.share
        hit[:, 0] &= not disturbance.one_sided
        late = disturbance.microseconds * MICROSECOND * random.exponential(size=ticks.shape)
        ticks = ticks + hit * late
    layouts = np.concatenate(
        [random.permutation(LAYOUTS) for _ in range(PROCESSES * BLOCKS // LAYOUTS)]
    )
    return [
        Sample(
            "native", "k", block // BLOCKS + 1, "b", variant, "loop", int(layouts[block]), block,
            0, 1, int(loops), None, int(ticks[block, which, size]), UNIT_TSC, None, (),
        )
        for block in range(PROCESSES * BLOCKS)
        for which, variant in enumerate(TRUTH)
        for size, loops in enumerate(LOOPS)
    ]  # fmt: skip


def simulate_costs_of_late_windows(seed: int, disturbance: Disturbance) -> dict[str, AddedCost]:
    """Simulate a run during which `disturbance` occurs, and return the estimated added cost of each
    variant."""
    env = {"tsc_khz": str(int(1000 * MICROSECOND)), "invariant_tsc": "1"}
    tier = Tier("native", "k", UNIT_TSC, False, env, {})
    found = {}
    for result in verdicts.compute_results(simulate_late_windows(seed, disturbance), [tier]):
        if result.delta is not None and result.delta_ci is not None:
            ends = result.delta_ci
            found[result.variant] = AddedCost(result.delta, ends.lo, ends.hi, result.verdict)
    return found
