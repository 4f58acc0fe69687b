# SPDX-License-Identifier: GPL-2.0-only
"""Counts false verdicts of A/A comparisons, in whole runs with fresh seeds.

measure/aa.py repeats the measurements of `bench` in user space. An A/A clone is a second copy of a
variant's code, the original. A verdict is false if it contradicts one of these facts:

- An A/A clone costs as much as its original. At most one clone in twenty may be judged slower or
  faster. In hot loops no clone may differ from its original by more than the margin. In
  HOTTEST_LOOPS, the differences of all runs must lie within MAX_SPREAD_CYCLES core cycles, unless a
  neighbour process disturbs the runs. For this check, core cycles must be counted or estimated.
- A variant adds the same cost in two runs, even if the state of the machine has changed between the
  runs. The first run is compared with the second, the third with the fourth and so on. At most one
  in twenty added costs may differ between two runs by more than the intervals explain.
- A variant has one cost. Verdicts on the variant that differ from its most frequent verdict in all
  runs are false. At most one verdict in twenty may be false.

A tool that gives no verdicts would pass these checks. So at least the share MIN_RESOLVED_SHARE of
the rows of hot loops (verdicts.HOT_LOOPS) must have a verdict.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from kmtools.analyse import grade, stopping
from kmtools.analyse.interim import BenchmarkChooser
from kmtools.analyse.verdicts import (
    DIFFERS,
    FASTER,
    HOT_LOOPS,
    SLOWER,
    TIMED_VERDICTS,
    Result,
    compute_results,
)
from kmtools.base.errors import UnableError
from kmtools.measure import aa, bench, benchmark_names, collect

# The largest share of false verdicts, and the smallest share of hot-loop rows with a verdict.
MAX_FALSE_SHARE = 0.05
MIN_RESOLVED_SHARE = 0.8
HOTTEST_LOOPS = ("empty-loop", "memcpy-4096")
MAX_SPREAD_CYCLES = 0.1


def measure_run_with_verdicts(
    number: int, plan: aa.RunSettings
) -> tuple[collect.RawDir, list[Result]]:
    """Measure a run; `number` sets the seeds. Return the samples of the run, and the results with
    the verdicts that a report shows."""
    loaded = aa.measure_run(
        number, plan, bench.InterimAnalyses(BenchmarkChooser, stopping.MOST_CLUSTERS)
    )
    results = compute_results(loaded.rows, [loaded.tier])
    return loaded, grade.withhold_verdicts({}, [loaded.tier], results)


def measure_added_cost_results(number: int, plan: aa.RunSettings) -> list[Result]:
    """Measure a run; `number` sets the seeds. Return the results that have an added cost."""
    return [
        result for result in measure_run_with_verdicts(number, plan)[1] if result.delta is not None
    ]


def have_different_costs(first: Result, second: Result) -> bool:
    """Return True if the added costs of a variant in two runs differ by more than their two
    intervals explain; False if an interval is unbounded."""
    assert first.delta is not None and second.delta is not None
    assert first.delta_ci is not None and second.delta_ci is not None
    within = math.hypot(first.delta_ci.half_width, second.delta_ci.half_width)
    return abs(first.delta - second.delta) > within


def pair_results_of_runs(runs: Sequence[Sequence[Result]]) -> Iterator[tuple[Result, Result]]:
    """Pair the first run with the second, the third with the fourth and so on; yield the two
    results of each variant that both runs of a pair have."""
    for first, second in zip(runs[::2], runs[1::2], strict=False):
        there = {result.key: result for result in second}
        yield from ((result, there[result.key]) for result in first if result.key in there)


def judge_run_agreement(runs: Sequence[Sequence[Result]]) -> bool:
    """Print the added costs that differ between two runs; return False if the share of costs that
    differ exceeds MAX_FALSE_SHARE."""
    pairs = list(pair_results_of_runs(runs))
    if not pairs:
        print("only one run was measured, so no costs are compared between runs")
        return True
    apart = [(one, other) for one, other in pairs if have_different_costs(one, other)]
    for one, other in apart:
        name = f"{one.benchmark} {one.variant}"
        print(f"{name}: added cost {one.delta:+.3f} in one run, {other.delta:+.3f} in the next run")
    share = len(apart) / len(pairs)
    said = f"{len(apart)} of {len(pairs)} added costs differ from run to run"
    print(f"{said} ({share:.1%}, at most {MAX_FALSE_SHARE:.0%})")
    return share <= MAX_FALSE_SHARE


def has_verdict(result: Result) -> bool:
    """Return True if a result has a verdict about its cost."""
    return result.verdict in TIMED_VERDICTS


def judge_verdict_consistency(runs: Sequence[Sequence[Result]]) -> bool:
    """For each variant, print the verdicts that differ from the most frequent one in all runs;
    return False if the share of the printed verdicts exceeds MAX_FALSE_SHARE."""
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    for result in (one for run in runs for one in run if not one.is_clone):
        # Ignore a cost close to the margin (DIFFERS): such a cost gets different verdicts by
        # chance.
        if has_verdict(result) and result.verdict != DIFFERS:
            verdicts[f"{result.benchmark} {result.variant}"][result.verdict] += 1
    given = sum(sum(found.values()) for found in verdicts.values())
    false = 0
    for name, found in verdicts.items():
        (usual, most), *rest = found.most_common()
        false += sum(times for _, times in rest)
        for verdict, times in rest:
            print(f"{name}: {verdict} in {times} runs, but {usual} in {most} runs")
    share = false / given if given else 0.0
    print(f"{false} of {given} verdicts are false ({share:.1%}, at most {MAX_FALSE_SHARE:.0%})")
    return share <= MAX_FALSE_SHARE


def is_hot_loop_result(result: Result) -> bool:
    """Return True if a result is of a hot loop."""
    return benchmark_names.matches_any_pattern(result.benchmark, HOT_LOOPS)


def count_hot_loop_rows(run: Sequence[Result]) -> tuple[int, int]:
    """Return the number of variants of hot loops that have a verdict, and the number of all
    variants of hot loops."""
    hot = [one for one in run if is_hot_loop_result(one) and not one.is_clone]
    return sum(map(has_verdict, hot)), len(hot)


def judge_share_of_rows_with_verdict(runs: Sequence[Sequence[Result]]) -> bool:
    """Print the number of rows of hot loops that have a verdict; return False if too few of these
    rows have a verdict."""
    counts = [count_hot_loop_rows(run) for run in runs]
    resolved, every = sum(some for some, _ in counts), sum(every for _, every in counts)
    if not every:
        return True
    share = resolved / every
    said = f"{resolved} of {every} rows of hot loops are resolved"
    print(f"{said} ({share:.1%}, at least {MIN_RESOLVED_SHARE:.0%})")
    return share >= MIN_RESOLVED_SHARE


def judge_aa_clone_margins(clones: Sequence[Result]) -> bool:
    """Print the A/A clones of hot loops whose differences exceed their margin; return False if
    there are any."""
    hot = [one for one in clones if is_hot_loop_result(one)]
    beyond = [one for one in hot if abs(one.delta or 0.0) > (one.margin or 0.0)]
    for one in beyond:
        name = f"{one.benchmark} {one.variant}"
        print(f"{name}: A/A difference {one.delta:+.3f} beyond margin {one.margin:.3f}")
    print(
        f"{len(beyond)} of {len(hot)} A/A clones in hot loops are beyond their margin (allowed: 0)"
    )
    return not beyond


def get_added_core_cycles(result: Result) -> float:
    """Return the cost that a variant or clone adds to its baseline, in core cycles; raise
    UnableError if core cycles are neither counted nor estimated."""
    if result.core is None:
        raise UnableError(
            f"core cycles of {result.benchmark} are neither counted nor estimated on this machine"
            " (see kmbench env)"
        )
    delta = result.core.convert_ticks(result.delta)
    assert delta is not None
    return delta


def judge_aa_clone_runs(runs: int, plan: aa.RunSettings) -> bool:
    """Measure `runs` runs by the plan `plan`; print the result of every A/A clone and the totals;
    return False if there are too many false verdicts or too few verdicts."""
    judged = wrong = 0
    measured = []
    found: dict[str, list[float]] = defaultdict(list)
    for number in range(1, runs + 1):
        measured.append(measure_added_cost_results(number, plan))
        resolved, hot = count_hot_loop_rows(measured[-1])
        print(f"run {number}: {resolved} of {hot} rows of hot loops resolved", flush=True)
        for result in [row for row in measured[-1] if row.is_clone]:
            judged += 1
            bad = result.verdict in (SLOWER, FASTER)
            wrong += bad
            if result.benchmark in HOTTEST_LOOPS:
                found[result.benchmark].append(get_added_core_cycles(result))
            assert result.delta_ci is not None
            interval = f"[{result.delta_ci.lo:+.3f}, {result.delta_ci.hi:+.3f}]"
            said = f"{result.benchmark:18} {result.delta:+9.3f} {interval:22} {result.verdict}"
            print(f"run {number}: {said}{'  <-- wrong' if bad else ''}", flush=True)
    if not judged:
        raise UnableError("no A/A clone was measured")
    share = wrong / judged
    said = f"{wrong} of {judged} A/A clones slower or faster"
    print(f"{said} ({share:.1%}, at most {MAX_FALSE_SHARE:.0%})")
    most = math.inf if plan.neighbour else MAX_SPREAD_CYCLES
    spreads = {name: max(deltas) - min(deltas) for name, deltas in found.items()}
    for name, spread in spreads.items():
        limit = "" if plan.neighbour else f" (at most {MAX_SPREAD_CYCLES})"
        print(f"{name}: A/A differences span {spread:.3f} core cycles{limit}")
    clones = [one for run in measured for one in run if one.is_clone]
    held = [
        judge_aa_clone_margins(clones),
        judge_run_agreement(measured),
        judge_verdict_consistency(measured),
        judge_share_of_rows_with_verdict(measured),
    ]
    return all(held) and share <= MAX_FALSE_SHARE and max(spreads.values(), default=0.0) <= most
