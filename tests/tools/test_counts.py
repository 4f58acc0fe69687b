# SPDX-License-Identifier: GPL-2.0-only
"""The judgement of exact counts of instructions, with invented counts."""

from __future__ import annotations

from fractions import Fraction

import pytest
from kmtools.analyse import published
from kmtools.check import counts
from kmtools.check.counts import ADDED, NOPS, NOPS_IN, Counts
from kmtools.check.ktap import Tally

BASE = Fraction(10)


@pytest.fixture
def good() -> Counts:
    """Counts as they should be: each variant adds the least that it may."""
    limits = {(name, nop): (n, n) for name in NOPS_IN for nop, n in NOPS.items()} | ADDED
    found: Counts = {}
    for (benchmark, variant), (low, _) in limits.items():
        found[benchmark, "none"] = found[benchmark, "none-clone"] = {BASE}
        found[benchmark, variant] = {BASE + low}
    return found


def judged(found: Counts) -> Tally:
    tally = Tally()
    counts.judge_added(found, tally)
    return tally


def test_expected_counts_pass(good: Counts) -> None:
    tally = judged(good)
    assert not tally.failed
    assert tally.passed == len(NOPS_IN) * len(NOPS) + len(ADDED)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (("nop-encodings", "nop-3-2"), {BASE + 1}, "adds 1 instructions, not 2 to 2"),
        (("sdt-dormant", "sdt-jump"), {BASE + 2}, "adds 2 instructions, not 1 to 1"),
        (("xadd-prefix", "ds"), {BASE + 2, BASE + 3}, "adds 2, 3 instructions, not 2 to 2"),
        (("lock-pair-mutex", "marker-jump"), set(), "adds nothing instructions, not 2 to 2"),
    ],
)
def test_a_wrong_count_fails(
    good: Counts, key: tuple[str, str], value: set[Fraction], said: str
) -> None:
    tally = judged({**good, key: value})
    assert tally.failed == [f"{'/'.join(key)} {said}"]


def test_a_missing_variant_fails(good: Counts) -> None:
    del good["function-entry", "recorded-nop"]
    assert len(judged(good).failed) == 1


def test_a_successor_that_the_run_lacks_fails() -> None:
    """Those that need a second CPU are left to a suite that has one."""
    tally = Tally()
    counts.judge_successors({}, tally)
    named = set(published.unknown(set(), "kernel"))
    apart = {name for name in named if name.startswith(counts.NEEDS_TWO)}
    assert apart == {"arm-stall:stop-machine-stall"}
    assert len(tally.failed) == len(published.unknown(set(), "kernel")) - 1
