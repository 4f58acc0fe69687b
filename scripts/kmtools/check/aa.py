# SPDX-License-Identifier: GPL-2.0-only
"""Counts how often the same code is measured as different.

measure/aa.py repeats the native benchmarks, and each A/A clone is judged by the rule for all
variants. At most one in twenty may be judged slower or faster. In the hot loops, where a
fraction of a cycle matters, the differences may be at most SPREAD core cycles apart. So core
cycles must be known, counted or estimated.

Clones meet the same state of the machine as their originals. Whole runs do not: the first is also
compared with the second, the third with the fourth and so on. Added costs of two runs differ if
they are further apart than their intervals explain. At most one in twenty may.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kmtools.analyse.verdicts import FASTER, SLOWER, Result, analyse
from kmtools.base.errors import UnableError
from kmtools.measure import aa

ALLOWED = 0.05
HOT = ("empty-loop", "memcpy-4096")
SPREAD = 0.1


def rows(seed: int, blocks: int) -> list[Result]:
    """Return the results of one run that have an added cost."""
    loaded = aa.measure(seed, blocks)
    results = analyse(loaded.rows, [loaded.tier])
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
    """Print what differs from run to run; return False if too much does."""
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


def in_core_cycles(result: Result) -> float:
    """Return the cost that a clone adds to its original, in core cycles and never in ticks."""
    if result.core is None:
        raise UnableError(f"no core cycles of {result.benchmark} are known here (see kmbench env)")
    delta = result.core.of(result.delta)
    assert delta is not None
    return delta


def judge(runs: int, blocks: int) -> bool:
    """Print every clone and the sums; return False if too many differ from their originals, or too
    many costs from those of the next run."""
    judged = wrong = 0
    measured = []
    found: dict[str, list[float]] = {name: [] for name in HOT}
    for seed in range(1, runs + 1):
        measured.append(rows(seed, blocks))
        for result in [row for row in measured[-1] if row.is_clone]:
            judged += 1
            bad = result.verdict in (SLOWER, FASTER)
            wrong += bad
            if result.benchmark in HOT:
                found[result.benchmark].append(in_core_cycles(result))
            assert result.delta_ci is not None
            interval = f"[{result.delta_ci.lo:+.3f}, {result.delta_ci.hi:+.3f}]"
            flag = "  <-- wrong" if bad else ""
            print(
                f"{seed:3} {result.benchmark:18} {interval:22} {result.verdict}{flag}", flush=True
            )
    share = wrong / judged
    print(f"{wrong} of {judged} A/A clones slower or faster ({share:.1%}, at most {ALLOWED:.0%})")
    spreads = {name: max(deltas) - min(deltas) for name, deltas in found.items()}
    for name, spread in spreads.items():
        print(f"{name}: A/A differences within {spread:.3f} core cycles (at most {SPREAD})")
    steady = agree(measured)
    return steady and share <= ALLOWED and max(spreads.values()) <= SPREAD
