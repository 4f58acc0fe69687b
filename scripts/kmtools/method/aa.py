# SPDX-License-Identifier: GPL-2.0-only
"""Counts false verdicts of A/A comparisons, in whole runs with fresh seeds.

measure/aa.py repeats what `bench` measures in user space. The known truths:

- An A/A clone costs what its original costs. At most one clone in twenty may be judged slower or
  faster. In hot loops none may come out further from its original than the margin; in the hottest,
  where a fraction of a cycle matters, their differences may be at most SPREAD core cycles apart, if
  no neighbour disturbs them. So core cycles must be known, counted or estimated.
- Clones meet the same state of the machine as their originals. Whole runs do not: the first is also
  compared with the second, the third with the fourth and so on. Added costs of two runs differ if
  they are further apart than their intervals explain. At most one in twenty may.
- A variant has one cost. Of the verdicts that it gets in all runs, those that are not the most
  frequent are false. At most one in twenty may be.

A tool without verdicts has no false ones. So of the rows in hot loops, those of verdicts.HOT, at
least RESOLVED must have a verdict.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from kmtools.analyse import grade, stopping
from kmtools.analyse.steering import Steering
from kmtools.analyse.verdicts import DIFFERS, FASTER, HOT, SAID, SLOWER, Result, analyse
from kmtools.base.errors import UnableError
from kmtools.measure import aa, bench, benchmark_names

ALLOWED = 0.05
RESOLVED = 0.8
HOTTEST = ("empty-loop", "memcpy-4096")
SPREAD = 0.1


def rows(number: int, plan: aa.Plan) -> list[Result]:
    """Return the results of one run that have an added cost, as the page has them."""
    loaded = aa.measure(number, plan, bench.Steering(Steering, stopping.MOST))
    results = grade.withheld({}, [loaded.tier], analyse(loaded.rows, [loaded.tier]))
    return [result for result in results if result.delta is not None]


def far(one: Result, other: Result) -> bool:
    """Whether the added costs of a variant in two runs are further apart than both intervals
    explain. Costs without a bounded interval are never far apart."""
    assert one.delta is not None and other.delta is not None
    assert one.delta_ci is not None and other.delta_ci is not None
    within = math.hypot(one.delta_ci.half_width, other.delta_ci.half_width)
    return abs(one.delta - other.delta) > within


def between(runs: Sequence[Sequence[Result]]) -> Iterator[tuple[Result, Result]]:
    """Each variant of the first run with that of the second, of the third with the fourth."""
    for first, second in zip(runs[::2], runs[1::2], strict=False):
        there = {result.key: result for result in second}
        yield from ((result, there[result.key]) for result in first if result.key in there)


def agree(runs: Sequence[Sequence[Result]]) -> bool:
    """Print the added costs that differ from run to run; return False if too many do."""
    pairs = list(between(runs))
    if not pairs:
        print("a single run is compared with no other")
        return True
    apart = [(one, other) for one, other in pairs if far(one, other)]
    for one, other in apart:
        name = f"{one.benchmark} {one.variant}"
        print(f"{name}: {one.delta:+.3f} in one run, {other.delta:+.3f} in the next")
    share = len(apart) / len(pairs)
    said = f"{len(apart)} of {len(pairs)} added costs differ from run to run"
    print(f"{said} ({share:.1%}, at most {ALLOWED:.0%})")
    return share <= ALLOWED


def is_resolved(result: Result) -> bool:
    """Whether a result has a verdict about its cost."""
    return result.verdict in SAID


def consistent(runs: Sequence[Sequence[Result]]) -> bool:
    """Print the verdicts that other runs contradict; return False if there are too many."""
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    for result in (one for run in runs for one in run if not one.is_clone):
        # A cost of about the margin also comes out on either side of it.
        if is_resolved(result) and result.verdict != DIFFERS:
            verdicts[f"{result.benchmark} {result.variant}"][result.verdict] += 1
    given = sum(sum(found.values()) for found in verdicts.values())
    false = 0
    for name, found in verdicts.items():
        (usual, most), *rest = found.most_common()
        false += sum(times for _, times in rest)
        for verdict, times in rest:
            print(f"{name}: {verdict} in {times} runs, {usual} in {most}")
    share = false / given if given else 0.0
    print(f"{false} of {given} verdicts are false ({share:.1%}, at most {ALLOWED:.0%})")
    return share <= ALLOWED


def is_hot(result: Result) -> bool:
    """Whether a result is of a hot loop."""
    return benchmark_names.fits(result.benchmark, HOT)


def hot_rows(run: Sequence[Result]) -> tuple[int, int]:
    """The number of rows of hot loops with a verdict, and of all rows of hot loops."""
    hot = [one for one in run if is_hot(one) and not one.is_clone]
    return sum(map(is_resolved, hot)), len(hot)


def says_enough(runs: Sequence[Sequence[Result]]) -> bool:
    """Print the number of rows of hot loops with a verdict; return False if there are too few."""
    counts = [hot_rows(run) for run in runs]
    resolved, every = sum(some for some, _ in counts), sum(every for _, every in counts)
    if not every:
        return True
    share = resolved / every
    said = f"{resolved} of {every} rows of hot loops are resolved"
    print(f"{said} ({share:.1%}, at least {RESOLVED:.0%})")
    return share >= RESOLVED


def within(clones: Sequence[Result]) -> bool:
    """Print the A/A clones of hot loops that come out beyond their margin; return False if there is
    one."""
    hot = [one for one in clones if is_hot(one)]
    beyond = [one for one in hot if abs(one.delta or 0.0) > (one.margin or 0.0)]
    for one in beyond:
        print(f"{one.benchmark} {one.variant}: {one.delta:+.3f}, margin {one.margin:.3f}")
    print(
        f"{len(beyond)} of {len(hot)} A/A clones in hot loops are beyond their margin (at most 0)"
    )
    return not beyond


def in_core_cycles(result: Result) -> float:
    """Return the cost that a clone adds to its original, in core cycles and never in ticks."""
    if result.core is None:
        raise UnableError(f"no core cycles of {result.benchmark} are known here (see kmbench env)")
    delta = result.core.of(result.delta)
    assert delta is not None
    return delta


def judge(runs: int, plan: aa.Plan) -> bool:
    """Print every clone and the totals; return False if there are too many errors or too few
    verdicts."""
    judged = wrong = 0
    measured = []
    found: dict[str, list[float]] = defaultdict(list)
    for number in range(1, runs + 1):
        measured.append(rows(number, plan))
        resolved, hot = hot_rows(measured[-1])
        print(f"{number:3} {resolved} of {hot} rows of hot loops resolved", flush=True)
        for result in [row for row in measured[-1] if row.is_clone]:
            judged += 1
            bad = result.verdict in (SLOWER, FASTER)
            wrong += bad
            if result.benchmark in HOTTEST:
                found[result.benchmark].append(in_core_cycles(result))
            assert result.delta_ci is not None
            interval = f"[{result.delta_ci.lo:+.3f}, {result.delta_ci.hi:+.3f}]"
            said = f"{result.benchmark:18} {result.delta:+9.3f} {interval:22} {result.verdict}"
            print(f"{number:3} {said}{'  <-- wrong' if bad else ''}", flush=True)
    if not judged:
        raise UnableError("no A/A clone was measured")
    share = wrong / judged
    print(f"{wrong} of {judged} A/A clones slower or faster ({share:.1%}, at most {ALLOWED:.0%})")
    most = math.inf if plan.bursts else SPREAD
    spreads = {name: max(deltas) - min(deltas) for name, deltas in found.items()}
    for name, spread in spreads.items():
        limit = "" if plan.bursts else f" (at most {SPREAD})"
        print(f"{name}: A/A differences within {spread:.3f} core cycles{limit}")
    clones = [one for run in measured for one in run if one.is_clone]
    held = [within(clones), agree(measured), consistent(measured), says_enough(measured)]
    return all(held) and share <= ALLOWED and max(spreads.values(), default=0.0) <= most
