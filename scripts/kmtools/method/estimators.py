# SPDX-License-Identifier: GPL-2.0-only
"""Tests the estimator of analyse/location.py with simulated runs whose true location is known.

The n-th simulation of each kind of noise has seed n, from 0 on. The limits are:

- The intervals cover the truth in at least 93 % of the simulations.
- The mean width of the intervals is at most MAX_WIDTH times the width of the oracle's intervals.
  The oracle's intervals have the same centres and one common width, which is just large enough to
  cover the truth in 95 % of the simulations.
- Of variants whose true difference is zero, or exactly the margin, at most 5 % are called slower or
  faster.

The limits, except for the width, also hold for:

- runs that end at the first look (interim analysis) with a resolved verdict (stopping.py)
- windows of a core whose frequency changes, with costs in core cycles (frequency.py)
- late windows (latewindows.py)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kmtools.analyse import stopping
from kmtools.analyse.location import (
    ERROR_PROBABILITY,
    Location,
    estimate_location_of_stepped_values,
)
from kmtools.analyse.stats import CONFIDENCE, Interval
from kmtools.analyse.verdicts import FASTER, SLOWER, UNRESOLVED, decide_verdict
from kmtools.method import frequency, latewindows
from kmtools.method.noises import (
    ASYMMETRIC,
    PROCESSES,
    STEPPING,
    STEPPING_COST,
    SimulatedRun,
    get_process_of_each_block,
    simulate_run,
)

# Divisors of the number of simulations, for slow simulations: WINDOWS_DIVISOR for windows with a
# changing frequency, LATE_WINDOWS_DIVISOR for late windows, FEWER_RUNS_DIVISOR for asymmetric noise
# and for runs that end early. All kinds of simulations together then take about seven minutes of
# CPU time.
WINDOWS_DIVISOR, LATE_WINDOWS_DIVISOR, FEWER_RUNS_DIVISOR = 10, 25, 5
# The limits: the share of intervals that cover the truth, the mean width of the intervals divided
# by the width of the oracle's intervals, and the share of false verdicts.
MIN_COVERAGE, MAX_WIDTH, MAX_FALSE_SHARE = 0.93, 1.5, 0.05
# The equivalence margin, in units of the noise of a single block.
MARGIN = 0.25
# The suffix of the kind of noise in the output for runs that end early.
STOPPED = " stopped"
# Score.width if the width is not judged: NaN is never larger than the limit.
NO_WIDTH = math.nan


@dataclass(frozen=True)
class Score:
    """The score of the estimator in simulations of one kind of noise: coverage, mean width of the
    intervals, share of false verdicts, bias, and the mean half-width of the intervals. `width` is
    divided by the width of the oracle's intervals (see the top of this file)."""

    kind: str
    runs: int
    covered: float
    width: float
    false: float
    bias: float
    half_width: float
    stopped: bool = False

    def list_missed_limits(self, slack: float = 0.0) -> list[str]:
        """Return the limits that the score misses, as texts. The tolerance is `slack` standard
        deviations, because scores of few simulations may miss a limit by chance."""

        def compute_tolerance(share: float) -> float:
            return slack * float(np.sqrt(share * (1 - share) / self.runs))

        found = []
        if self.covered < MIN_COVERAGE - compute_tolerance(MIN_COVERAGE):
            found.append(f"covers less than {MIN_COVERAGE:.0%}")
        if self.width > MAX_WIDTH * (1 + compute_tolerance(0.5)):
            found.append(f"wider than {MAX_WIDTH} times the oracle's")
        if self.false > MAX_FALSE_SHARE + compute_tolerance(MAX_FALSE_SHARE):
            found.append(f"more than {MAX_FALSE_SHARE:.0%} falsely slower or faster")
        if (
            self.kind == STEPPING
            and not self.stopped
            and max(2 * abs(self.bias), self.half_width) > STEPPING_COST
        ):
            found.append("does not resolve a fifth of a clock step")
        return found


def estimate_run_location(
    run: SimulatedRun, step: float, alpha: float = ERROR_PROBABILITY
) -> Location:
    """Return the location of a simulated run whose clock advances in steps of `step`."""
    process = get_process_of_each_block(len(run.values))
    return estimate_location_of_stepped_values(run.values, process, run.layout, step, alpha)


def shift_location(found: Location, by: float) -> Location:
    """Return `found` with the value and the interval increased by `by`, as if the true difference
    of the simulated run were larger by `by`."""
    there = Interval(found.interval.lo + by, found.interval.hi + by)
    return replace(found, value=found.value + by, interval=there)


def find_first_resolving_analysis(looks: Iterable[Location], truth: float) -> tuple[Location, str]:
    """Return the location and the verdict of the first look (interim analysis) that resolves the
    verdict; of the last look if no look does. `looks` has the locations of a run whose true
    difference is zero; `truth` is added to each location."""
    for look in looks:
        found = shift_location(look, truth)
        verdict = decide_verdict(found.value, found.interval, MARGIN, None)
        if verdict != UNRESOLVED:
            break
    return found, verdict


class InterimLocations:
    """The location estimates of a simulated run, one for each interim analysis (look). Each
    estimate is computed once, when it is first needed."""

    def __init__(self, run: SimulatedRun, step: float) -> None:
        self.run, self.step = run, step
        self.found: list[Location] = []

    def __iter__(self) -> Iterator[Location]:
        for number, (processes, alpha) in enumerate(stopping.LOOKS.items()):
            if number == len(self.found):
                self.found.append(
                    estimate_run_location(
                        self.run.keep_first_processes(processes), self.step, alpha
                    )
                )
            yield self.found[number]


def score_estimator_on_stopped_runs(kind: str, runs: int) -> Score:
    """Return the score of the estimator in `runs` simulated runs with noise of the kind `kind`,
    which end at the first look (interim analysis) with a resolved verdict. Each run has three true
    differences: zero, the margin and the negative margin. The score has the lowest coverage and the
    highest share of false verdicts of the three. The score has no width, because the confidence
    level differs between looks."""
    truths = (-MARGIN, 0.0, MARGIN)
    inside, wrong = dict.fromkeys(truths, 0), dict.fromkeys(truths, 0)
    halves, errors = [], []
    for seed in range(runs):
        run = simulate_run(kind, seed, stopping.MOST_CLUSTERS)
        looks = InterimLocations(run, get_clock_step(kind))
        for truth in truths:
            found, verdict = find_first_resolving_analysis(looks, truth)
            inside[truth] += found.interval.lo <= truth <= found.interval.hi
            wrong[truth] += verdict in (SLOWER, FASTER)
            halves.append(found.interval.half_width)
            errors.append(found.value - truth)
    covered, false = min(inside.values()) / runs, max(wrong.values()) / runs
    half, bias = float(np.mean(halves)), float(np.mean(errors))
    return Score(kind, runs, covered, NO_WIDTH, false, bias, half, stopped=True)


def compute_false_verdict_share(found: Sequence[Location]) -> float:
    """Return the largest share of false verdicts (slower or faster) for the true differences zero,
    MARGIN and -MARGIN. `found` has the estimates for zero, to which each true difference is
    added."""
    shares = []
    for truth in (-MARGIN, 0.0, MARGIN):
        shifted = [shift_location(one, truth) for one in found]
        verdicts = [decide_verdict(one.value, one.interval, MARGIN, None) for one in shifted]
        shares.append(sum(verdict in (SLOWER, FASTER) for verdict in verdicts) / len(found))
    return max(shares)


def get_clock_step(kind: str) -> float:
    """Return the step of the simulated clock for the kind of noise `kind`; 0 for a clock without
    steps."""
    return 1.0 if kind == STEPPING else 0.0


def score_estimator_on_noise(kind: str, runs: int) -> Score:
    """Return the score of the estimator in `runs` simulated runs of fixed length with noise of the
    kind `kind`. The width is not judged for asymmetric noise, because the estimator, unlike the
    oracle, widens intervals for effects that a disturbance may have in other runs."""
    step = get_clock_step(kind)
    found = [
        estimate_run_location(simulate_run(kind, seed).keep_first_processes(PROCESSES), step)
        for seed in range(runs)
    ]
    values = [location.value for location in found]
    intervals = [location.interval for location in found]
    half = float(np.mean([interval.half_width for interval in intervals]))
    oracle = float(np.quantile(np.abs(values), CONFIDENCE))
    return Score(
        kind=kind,
        runs=runs,
        covered=float(np.mean([interval.lo <= 0 <= interval.hi for interval in intervals])),
        width=NO_WIDTH if kind in ASYMMETRIC else half / oracle,
        false=compute_false_verdict_share(found),
        bias=float(np.mean(values)),
        half_width=half,
    )


def score_estimator_on_changing_frequency(kind: str, runs: int) -> Score:
    """Return the score of the estimator in simulated windows of a core whose frequency changes by
    the pattern `kind`: the lowest coverage and the largest bias of any variant. `runs` /
    WINDOWS_DIVISOR runs are simulated."""
    change, names = frequency.CHANGES[kind], [n for n in frequency.TRUTH if n != "base"]
    found = [
        frequency.simulate_added_costs(seed, change)
        for seed in range(max(1, runs // WINDOWS_DIVISOR))
    ]
    errors = {name: [one[name].value - frequency.TRUTH[name] for one in found] for name in names}
    inside = [
        sum(one[name].lo <= frequency.TRUTH[name] <= one[name].hi for one in found)
        for name in names
    ]
    false = sum(one["base-clone"].verdict in (SLOWER, FASTER) for one in found)
    half = np.mean([(one["large"].hi - one["large"].lo) / 2 for one in found])
    bias = max((float(np.mean(values)) for values in errors.values()), key=abs)
    covered = min(inside) / len(found)
    return Score(kind, len(found), covered, NO_WIDTH, false / len(found), bias, float(half), True)


def score_estimator_on_late_windows(disturbance: latewindows.Disturbance, runs: int) -> Score:
    """Return the score of the estimator in simulated runs during which `disturbance` makes windows
    late: the lowest coverage of any variant. `runs` / LATE_WINDOWS_DIVISOR runs are simulated."""
    found = [
        latewindows.simulate_costs_of_late_windows(seed, disturbance)
        for seed in range(max(1, runs // LATE_WINDOWS_DIVISOR))
    ]
    truths = {name: truth for name, truth in latewindows.TRUTH.items() if name != "base"}
    inside = [
        sum(one[name].lo <= truth <= one[name].hi for one in found)
        for name, truth in truths.items()
    ]
    equal = [name for name, truth in truths.items() if truth <= latewindows.MARGIN]
    false = max(sum(one[n].verdict in (SLOWER, FASTER) for one in found) for n in equal)
    half = float(np.mean([(one["margin"].hi - one["margin"].lo) / 2 for one in found]))
    bias = float(np.mean([one["margin"].value - latewindows.MARGIN for one in found]))
    covered = min(inside) / len(found)
    return Score("late", len(found), covered, NO_WIDTH, false / len(found), bias, half, True)


def score_estimator_on_disturbance(kind: str, runs: int) -> Score:
    """Return the score of the estimator in simulated runs with the disturbance named `kind`."""
    return score_estimator_on_late_windows(latewindows.DISTURBANCES[kind], runs)


def judge_estimator(kinds: Sequence[str], runs: int) -> bool:
    """Print the score of the estimator for each kind of noise in `kinds`, with the number of
    simulations: `runs`, or fewer for kinds that take long (see the divisors at the top of this
    file). Return False if a score misses a limit."""
    fewer = max(1, runs // FEWER_RUNS_DIVISOR)
    print("width: mean width of the intervals, divided by the width of the oracle's intervals")
    print(f"{'noise':22} simulations  covered  width  falsely slower or faster")
    bad = 0
    changing = [kind for kind in kinds if kind in frequency.CHANGES]
    late = [kind for kind in kinds if kind in latewindows.DISTURBANCES]
    noisy = [kind for kind in kinds if kind not in (*changing, *late)]
    judged = [(kind, score_estimator_on_noise) for kind in noisy]
    judged += [(kind, score_estimator_on_stopped_runs) for kind in noisy]
    judged += [(kind, score_estimator_on_changing_frequency) for kind in changing]
    judged += [(kind, score_estimator_on_disturbance) for kind in late]
    for kind, simulate in judged:
        shorter = kind in ASYMMETRIC or simulate is score_estimator_on_stopped_runs
        found = simulate(kind, fewer if shorter else runs)
        faults = found.list_missed_limits()
        bad += bool(faults)
        why = f"  <-- {'; '.join(faults)}" if faults else ""
        width = "    -" if math.isnan(found.width) else f"{found.width:5.2f}"
        name = f"{kind}{STOPPED if simulate is score_estimator_on_stopped_runs else ''}"
        line = f"{name:22} {found.runs:11}  {found.covered:7.3f}  {width}  {found.false:7.3f}"
        print(f"{line}{why}", flush=True)
    print(f"{len(judged) - bad} passed, {bad} failed")
    return not bad
