# SPDX-License-Identifier: GPL-2.0-only
"""The self-test: measures instructions whose cost is known, and compares the results with this
cost.

The benchmark `planted` (native/planted.c) is measured and judged like all others: by the windows of
kmbench, the slopes, the estimator with its interval, and the rule of verdicts. So an error in one
of them shows here. Costs are in core cycles. Where core cycles are not counted, a core cycle is the
time of an addition in a chain that is timed in the same block. Each cost is then a ratio inside one
run, which does not depend on the frequency of the core.

In one try, a row passes under three conditions: both ends of its interval are within a tolerance of
the known cost; the known cost is in or very near the interval; and the verdict is right. The row
fails if the known cost is far outside the interval, or if the verdict is wrong. Otherwise the
interval is too wide to decide. While a row has not passed, all rows are measured again, because a
neighbour process may disturb a try, but an error of the tools shows in every try.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kmtools.analyse.slopes import CLONE_SUFFIX
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import (
    BASELINE,
    DIFFERS,
    EQUIVALENT,
    SLOWER,
    UNRESOLVED,
    Result,
    compute_results,
)
from kmtools.base.errors import BAD, DONE, UNABLE, UnableError
from kmtools.measure import collect, native

BENCHMARK = "planted"
BLOCKS, PROCESSES, TRIES = 128, 6, 5
PASS, FAIL, UNCLEAR = "pass", "FAIL", "too noisy to tell"
# The largest distance of an end of the interval from the known cost, in core cycles. TOLERANCE is
# for added costs: half the cost of the cheapest instruction of the chain. CHAIN_TOLERANCE is for
# the cost of a pass of the whole chain.
TOLERANCE, CHAIN_TOLERANCE = 0.5, 1.0
# The largest distance of the known cost from the interval, as a share of the tolerance. The
# interval should contain the known cost, but neighbouring instructions may add a few hundredths of
# a cycle.
NEAR_SHARE = 0.2
# MARGIN is the equivalence margin of the benchmark in core cycles, 1 % of the baseline. The
# measured margin, and the ends of intervals in is_verdict_right(), may miss MARGIN by SLACK.
MARGIN, SLACK = 1.0, 0.02


@dataclass(frozen=True)
class Planted:
    """A variant of the benchmark `planted`, its lowest and highest known cost in core cycles, and
    its right verdicts. For the baseline, the cost is the cost of a pass; for another variant, the
    cost added to the baseline."""

    variant: str
    least: float
    most: float
    verdicts: tuple[str, ...]
    tolerance: float = TOLERANCE
    about: str = ""


# The variants `add` and `lea` cost as much as the margin. So their verdict is neither slower nor
# equivalent, unless the interval is so narrow that a thousandth of a core cycle decides. The cost
# of `load`, the latency of the first-level cache, depends on the CPU model.
ROWS = (
    Planted("chain", 100, 100, (BASELINE,), CHAIN_TOLERANCE, "a pass of the baseline"),
    Planted("chain-clone", 0, 0, (EQUIVALENT,), about="the same code again"),
    Planted("nops", 0, 0, (EQUIVALENT,), about="4 nops beside the chain"),
    Planted("add", 1, 1, (DIFFERS, UNRESOLVED), about="as much as the margin"),
    Planted("lea", 1, 1, (DIFFERS, UNRESOLVED)),
    Planted("imul", 3, 3, (SLOWER,)),
    Planted("load", 3, 5, (SLOWER,), about="from the first-level cache"),
)


@dataclass(frozen=True)
class JudgedRow:
    """A row of the self-test: the measured cost and its interval, both in core cycles, the verdict,
    and the outcome, which is PASS, FAIL or UNCLEAR."""

    planted: Planted
    cost: float
    interval: Interval
    verdict: str
    outcome: str

    @property
    def line(self) -> str:
        """The row as a line of output."""
        row = self.planted
        expected = f"{row.least:g}" + (f" to {row.most:g}" if row.most > row.least else "")
        about = f" ({row.about})" if row.about else ""
        interval = f"[{self.interval.lo:.3f}, {self.interval.hi:.3f}]"
        return (
            f"{row.variant}: {self.cost:.3f} core cycles, expected {expected}{about}; "
            f"interval {interval}, {self.verdict}: {self.outcome}"
        )


def is_verdict_right(planted: Planted, interval: Interval, verdict: str) -> bool:
    """Return True if the known cost allows the verdict. If the known cost is the margin, SLOWER is
    also right for an interval above the margin, and EQUIVALENT for an interval below the margin."""
    if verdict in planted.verdicts:
        return True
    at_margin = planted.least == planted.most == MARGIN
    above = verdict == SLOWER and interval.lo >= MARGIN - SLACK
    below = verdict == EQUIVALENT and interval.hi <= MARGIN + SLACK
    return at_margin and (above or below)


def choose_self_test_outcome(
    planted: Planted, cost: float, interval: Interval, verdict: str
) -> str:
    """Return PASS, FAIL or UNCLEAR for a row with this cost and interval, in core cycles, and this
    verdict. The verdict `unresolved` is UNCLEAR, because a noisy A/A clone makes other rows
    unresolved; for the A/A clone itself, it is a FAIL."""
    lo, hi = planted.least - planted.tolerance, planted.most + planted.tolerance
    near = NEAR_SHARE * planted.tolerance
    if interval.lo > planted.most + near or interval.hi < planted.least - near:
        return FAIL
    if not interval.lo <= cost <= interval.hi:
        return FAIL
    if interval.lo < lo or interval.hi > hi:
        return UNCLEAR
    if is_verdict_right(planted, interval, verdict):
        return PASS
    is_clone = planted.variant.endswith(CLONE_SUFFIX)
    return UNCLEAR if verdict == UNRESOLVED and not is_clone else FAIL


def judge_planted_row(planted: Planted, result: Result) -> JudgedRow:
    """Compare a result with its known cost. Raise UnableError if core cycles are neither
    counted nor estimated."""
    if result.core is None:
        raise UnableError(
            "the self-test needs core cycles, which are neither counted nor estimated here, "
            "because instructions of an emulated CPU take no fixed time"
        )
    cost, interval = result.delta, result.delta_ci
    if cost is None or interval is None:
        cost, interval = result.median, result.ci
    per_tick = result.core.per_tick
    cost, interval = cost * per_tick, Interval(interval.lo * per_tick, interval.hi * per_tick)
    outcome = choose_self_test_outcome(planted, cost, interval, result.verdict)
    is_baseline = planted.verdicts == (BASELINE,)
    if outcome == PASS and is_baseline and abs((result.margin or 0.0) * per_tick - MARGIN) > SLACK:
        outcome = FAIL
    return JudgedRow(planted, cost, interval, result.verdict, outcome)


def judge_planted_results(results: Sequence[Result]) -> list[JudgedRow]:
    """Return the rows of the self-test, in the order of ROWS."""
    found = {result.variant: result for result in results}
    return [judge_planted_row(planted, found[planted.variant]) for planted in ROWS]


def measure_planted_results(seed: int) -> list[Result]:
    """Measure the benchmark `planted` in PROCESSES processes, the first of which has the seed
    `seed`, and return its results."""
    with tempfile.TemporaryDirectory(prefix="kmarkers-") as scratch:
        raw = Path(scratch) / "raw"
        native.measure_processes(
            raw, blocks=BLOCKS, processes=PROCESSES, seed=seed, benchmarks=[BENCHMARK]
        )
        loaded = collect.load_raw_folder("native", raw)
    return compute_results(loaded.rows, [loaded.tier])


def choose_decisive_try(tries: Sequence[JudgedRow]) -> JudgedRow:
    """Return the try that decides about a row. `tries` has the row in each try, in order. The first
    passed try decides. If no try passed, the last failed try decides if more than half of the tries
    failed, else the last unclear try. A minority of failed tries is ignored, because one interval
    in twenty misses the cost by chance."""
    for one in tries:
        if one.outcome == PASS:
            return one
    failed = [one for one in tries if one.outcome == FAIL]
    unclear = [one for one in tries if one.outcome == UNCLEAR]
    if 2 * len(failed) > len(tries):
        return failed[-1]
    return unclear[-1]


def judge_self_test(seed: int) -> int:
    """Measure the known costs, up to TRIES times while a row has not passed, and print a line for
    each row. Return the exit code: DONE if all rows passed, BAD if one failed, UNABLE if the
    machine was too busy to tell."""
    tries: list[list[JudgedRow]] = []
    while len(tries) < TRIES:
        results = measure_planted_results(seed + len(tries) * PROCESSES)
        tries.append(judge_planted_results(results))
        rows = [choose_decisive_try(row) for row in zip(*tries, strict=True)]
        lacking = [row.planted.variant for row in rows if row.outcome != PASS]
        if not lacking:
            break
        print(
            f"self-test: try {len(tries)} of {TRIES}: {', '.join(lacking)} not passed yet",
            file=sys.stderr,
            flush=True,
        )
    assert results[0].core is not None
    print(results[0].core.describe_ratio())
    print("\n".join(row.line for row in rows))
    outcomes = [row.outcome for row in rows]
    if FAIL in outcomes:
        print("self-test: measured costs are wrong, or known costs do not hold for this CPU")
        return BAD
    if UNCLEAR in outcomes:
        print("self-test: this machine is too busy now; repeat it when the machine is idle")
        return UNABLE
    return DONE
