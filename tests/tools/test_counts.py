# SPDX-License-Identifier: GPL-2.0-only
"""The judgement of exact counts of instructions, with invented counts."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from kmtools.analyse import published
from kmtools.runner.ktap import Tally
from kmtools.suites import counts
from kmtools.suites.counts import ADDED, NOPS, NOPS_IN, Counts

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


PASSES = (18, 28, 43)
PAGE = 271


def windows(cost: int, longer: str) -> list[list[tuple[int, int]]]:
    """The windows of a block for each letter: the one that it names is longer by a page."""
    return [
        [(n, 22 + i + n * cost + PAGE * (j == "abc".find(letter))) for j, n in enumerate(PASSES)]
        for i, letter in enumerate(longer)
    ]


@pytest.mark.parametrize("longer", ["cc-c", "ccca", "abca", "bbcb", "----"])
def test_a_page_that_becomes_full_is_no_cost(longer: str) -> None:
    assert counts.between_windows(windows(576, longer)) == {576}


def test_costs_that_differ_are_none() -> None:
    """Not every block has one of them, and a block of two windows cannot tell."""
    assert counts.between_windows([*windows(576, "---"), *windows(900, "-")]) == set()
    assert counts.between_windows([block[:2] for block in windows(576, "aaaa")]) == set()
    flagged = [block[1:] if i == 3 else block for i, block in enumerate(windows(576, "cccc"))]
    assert 576 in counts.between_windows(flagged)
    random = Random(1)
    for _ in range(1000):
        noise = [[(n, 576 * n + random.randrange(26)) for n in PASSES] for _ in range(4)]
        assert not counts.between_windows(noise) - {576}


def test_one_cost_is_left_of_two_boots() -> None:
    """Where the same window is longer in all blocks of a boot, the other boot decides."""
    first = counts.between_windows(windows(576, "cccc"))
    assert len(first) == 3
    assert first & counts.between_windows(windows(576, "aaaa")) == {576}


def with_events(marker: tuple[str, str], event: tuple[str, str], cost: int) -> list[str]:
    """What is said of a marker's event and a tracepoint's of 595 instructions, in two boots."""
    boots = []
    for longer, peer_longer in zip(marker, event, strict=True):
        found: Counts = {("marker-enabled", "none"): {Fraction(3)}}
        found["marker-enabled", "marker-event"] = counts.between_windows(windows(cost, longer))
        found["marker-enabled", "trace-event"] = counts.between_windows(windows(595, peer_longer))
        boots.append(found)
    first, second = boots
    return [line for line in counts.judge(first, second).failed if "event" in line]


def test_events_are_compared_without_their_pages() -> None:
    longer = ("cccc", "ccab"), ("aaaa", "aacb")
    assert with_events(*longer, 576) == []
    said = ["marker-enabled/marker-event adds 593.0 instructions, trace-event 592.0"]
    assert with_events(*longer, 596) == said


def test_events_without_one_cost_fail() -> None:
    """A cost that differs between two boots is no count, and neither are two costs in both."""
    said = with_events(("----", "----"), ("aaaa", "aaaa"), 576)
    assert next(line.partition(":")[0] for line in said) == "marker-enabled/trace-event"
    key = ("marker-enabled", "trace-event")
    differing = counts.judge({key: {Fraction(595)}}, {key: {Fraction(596)}}).failed
    assert "/".join(key) + ": no single count in both runs: [595.0, 596.0]" in differing
