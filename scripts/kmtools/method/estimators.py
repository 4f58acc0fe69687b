# SPDX-License-Identifier: GPL-2.0-only
"""Tests the estimator of analyse/location.py with simulated runs whose true location is known.

The n-th simulation of each kind of noise has seed n, from 0 on. Intervals must cover the truth in
93 % of the simulations. Their mean width is compared with that of an oracle: intervals around the
same estimates, all of one width, which is just large enough to cover the truth in 95 % of the
simulations. Of variants whose true difference is zero, or exactly the margin, at most 5 % may be
called slower or faster. The same limits, except for the width, hold for runs that end at the first
look at which they are resolved (stopping.py), and for windows of a core whose frequency changes
(frequency.py), in core cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kmtools.analyse import stopping
from kmtools.analyse.location import Location, estimate_stepped_location
from kmtools.analyse.stats import CONFIDENCE, Interval
from kmtools.analyse.verdicts import FASTER, SLOWER, UNRESOLVED, decide_verdict
from kmtools.method import frequency
from kmtools.method.noises import (
    BLOCKS,
    COST,
    KINDS,
    LAYOUT,
    LENGTH,
    PROCESS,
    STEPPING,
    Floats,
    get_block_layouts,
    get_block_processes,
)

RUNS = 2000
# Divisor of the number of simulations of windows, because one simulation of windows takes as long
# as ten simulations of a series.
SHORTER = 10
COVERED, WIDTH, FALSE = 0.93, 1.5, 0.05
# The equivalence margin, in units of the noise of a single block.
MARGIN = 0.25
STOPPED = " stopped"


@dataclass(frozen=True)
class Score:
    """The score of the estimator in simulations of one kind of noise: coverage, mean width as a
    multiple of the oracle's, share of false verdicts, bias, and the mean half-width of the
    intervals."""

    kind: str
    runs: int
    covered: float
    width: float
    false: float
    bias: float
    half_width: float
    stopped: bool = False

    def list_missed_limits(self, slack: float = 0.0) -> list[str]:
        """Return the limits that are missed, in words. `slack` is the tolerance for chance in a few
        simulations, in standard deviations of a share."""

        def compute_tolerance(share: float) -> float:
            return slack * float(np.sqrt(share * (1 - share) / self.runs))

        found = []
        if self.covered < COVERED - compute_tolerance(COVERED):
            found.append(f"covers less than {COVERED:.0%}")
        if self.width > WIDTH * (1 + compute_tolerance(0.5)):
            found.append(f"wider than {WIDTH} times the oracle's")
        if self.false > FALSE + compute_tolerance(FALSE):
            found.append(f"more than {FALSE:.0%} falsely slower or faster")
        if (
            self.kind == STEPPING
            and not self.stopped
            and max(2 * abs(self.bias), self.half_width) > COST
        ):
            found.append("does not resolve a fifth of a step")
        return found


def estimate_location_at_first_look(x: Floats, step: float) -> tuple[Location, str]:
    """Return the location of the values `x`, and the verdict on it, at the first look (an analysis
    of the blocks so far) that resolves the row, or at the last look. The clock advances in steps of
    `step`."""
    for look, outside in stopping.LOOKS.items():
        length = look * BLOCKS
        found = estimate_stepped_location(
            x[:length], get_block_processes(length), get_block_layouts(length), step, outside
        )
        verdict = decide_verdict(found.value, found.interval, MARGIN, None)
        if verdict != UNRESOLVED:
            break
    return found, verdict


def score_estimator_on_stopped_runs(kind: str, runs: int) -> Score:
    """Return the score of the estimator in `runs` simulated runs with noise of the kind `kind` that
    end when they are resolved, at true differences of zero, of the margin and of the negative
    margin: the lowest coverage and the highest share of false verdicts. Widths are not compared,
    because the confidence level differs between looks."""
    step = 1.0 if kind == STEPPING else 0.0
    truths = (-MARGIN, 0.0, MARGIN)
    inside, wrong = dict.fromkeys(truths, 0), dict.fromkeys(truths, 0)
    halves, errors = [], []
    for seed in range(runs):
        noise = KINDS[kind](np.random.default_rng(seed), stopping.MOST * BLOCKS)
        for truth in truths:
            found, verdict = estimate_location_at_first_look(noise + truth, step)
            inside[truth] += found.interval.lo <= truth <= found.interval.hi
            wrong[truth] += verdict in (SLOWER, FASTER)
            halves.append(found.interval.half_width)
            errors.append(found.value - truth)
    covered, false = min(inside.values()) / runs, max(wrong.values()) / runs
    half, bias = float(np.mean(halves)), float(np.mean(errors))
    return Score(kind, runs, covered, 1.0, false, bias, half, stopped=True)


def compute_false_verdict_share(intervals: Sequence[Interval], values: Sequence[float]) -> float:
    """Return the share of simulations with a false verdict (slower or faster). The share is
    computed for three true differences, zero, the margin and the negative margin, and the largest
    of the three is returned. `intervals` and `values` are estimates from simulations whose true
    difference is zero."""
    shares = []
    for truth in (-MARGIN, 0.0, MARGIN):
        wrong = 0
        for interval, value in zip(intervals, values, strict=True):
            there = Interval(interval.lo + truth, interval.hi + truth)
            wrong += decide_verdict(value + truth, there, MARGIN, None) in (SLOWER, FASTER)
        shares.append(wrong / len(values))
    return max(shares)


def score_estimator_on_noise(kind: str, runs: int) -> Score:
    """Return the score of the estimator in `runs` simulated runs of fixed length with noise of the
    kind `kind`."""
    step = 1.0 if kind == STEPPING else 0.0
    found = [
        estimate_stepped_location(
            KINDS[kind](np.random.default_rng(seed), LENGTH), PROCESS, LAYOUT, step
        )
        for seed in range(runs)
    ]
    values = [location.value for location in found]
    intervals = [location.interval for location in found]
    half = float(np.mean([interval.half_width for interval in intervals]))
    return Score(
        kind=kind,
        runs=runs,
        covered=float(np.mean([interval.lo <= 0 <= interval.hi for interval in intervals])),
        width=half / float(np.quantile(np.abs(values), CONFIDENCE)),
        false=compute_false_verdict_share(intervals, values),
        bias=float(np.mean(values)),
        half_width=half,
    )


def score_estimator_on_changing_frequency(kind: str, runs: int) -> Score:
    """Return the score of the estimator in simulated windows of a core whose frequency changes by
    the pattern `kind`: the lowest coverage and the largest bias of any variant. One run is
    simulated for every SHORTER runs in `runs`."""
    change, names = frequency.CHANGES[kind], [n for n in frequency.TRUTH if n != "base"]
    found = [
        frequency.simulate_added_costs(seed, change) for seed in range(max(1, runs // SHORTER))
    ]
    errors = {name: [one[name].value - frequency.TRUTH[name] for one in found] for name in names}
    inside = [
        sum(one[name].lo <= frequency.TRUTH[name] <= one[name].hi for one in found)
        for name in names
    ]
    false = sum(one["base-clone"].verdict in (SLOWER, FASTER) for one in found)
    half = np.mean([(one["dearer"].hi - one["dearer"].lo) / 2 for one in found])
    bias = max((float(np.mean(values)) for values in errors.values()), key=abs)
    covered = min(inside) / len(found)
    return Score(kind, len(found), covered, 1.0, false / len(found), bias, float(half), True)


def judge_estimator(kinds: Sequence[str], runs: int) -> bool:
    """Print the scores of the estimator for each kind of noise in `kinds`, from `runs` simulations
    each; return False if a score misses a limit."""
    print(f"{runs} simulations each; widths are multiples of the width of an oracle's intervals")
    print(f"{'noise':22} covered  width  falsely slower or faster")
    bad = 0
    changing = [kind for kind in kinds if kind in frequency.CHANGES]
    noisy = [kind for kind in kinds if kind not in changing]
    judged = [(kind, score_estimator_on_noise) for kind in noisy]
    judged += [(kind, score_estimator_on_stopped_runs) for kind in noisy]
    judged += [(kind, score_estimator_on_changing_frequency) for kind in changing]
    for kind, simulate in judged:
        found = simulate(kind, runs)
        faults = found.list_missed_limits()
        bad += bool(faults)
        why = f"  <-- {'; '.join(faults)}" if faults else ""
        width = "    -" if found.stopped else f"{found.width:5.2f}"
        name = f"{kind}{STOPPED if simulate is score_estimator_on_stopped_runs else ''}"
        line = f"{name:22} {found.covered:7.3f}  {width}  {found.false:7.3f}"
        print(f"{line}{why}", flush=True)
    print(f"{len(judged) - bad} passed, {bad} failed")
    return not bad
