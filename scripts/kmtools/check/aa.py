# SPDX-License-Identifier: GPL-2.0-only
"""Counts how often two copies of the same code are measured as different.

measure/aa.py repeats the native benchmarks, and each A/A clone is judged by the rule for all
variants. At most one in twenty may be judged slower or faster. In the hot loops, where a
fraction of a cycle matters, the differences may be at most SPREAD core cycles apart. So core
cycles must be known, counted or estimated.
"""

from __future__ import annotations

from kmtools.analyse.verdicts import FASTER, SLOWER, Result, analyse
from kmtools.base.errors import UnableError
from kmtools.measure import aa

ALLOWED = 0.05
HOT = ("empty-loop", "memcpy-4096")
SPREAD = 0.1


def clones(seed: int, blocks: int) -> list[Result]:
    """Return the results of the A/A clones of one run."""
    loaded = aa.measure(seed, blocks)
    results = analyse(loaded.rows, [loaded.tier])
    return [result for result in results if result.is_clone]


def in_core_cycles(result: Result) -> float:
    """Return the cost that a clone adds to its original, in core cycles and never in ticks."""
    if result.core is None:
        raise UnableError(f"no core cycles of {result.benchmark} are known here (see kmbench env)")
    delta = result.core.of(result.delta)
    assert delta is not None
    return delta


def judge(runs: int, blocks: int) -> bool:
    """Print every clone and the sums; return False if too many differ from their originals."""
    judged = wrong = 0
    found: dict[str, list[float]] = {name: [] for name in HOT}
    for seed in range(1, runs + 1):
        for result in clones(seed, blocks):
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
    return share <= ALLOWED and max(spreads.values()) <= SPREAD
