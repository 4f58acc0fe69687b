# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the suite `counts`, with invented instruction counts."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from kmtools.analyse import published
from kmtools.base.paths import ROOT
from kmtools.runner.ktap import Tally
from kmtools.suites import counts
from kmtools.suites.counts import ADDED, NOPS, NOPS_IN, Counts

BASE = Fraction(10)


@pytest.fixture
def valid_counts() -> Counts:
    """Return valid counts: each variant adds the minimum number of instructions."""
    limits = {(name, nop): (n, n) for name in NOPS_IN for nop, n in NOPS.items()} | ADDED
    found: Counts = {}
    for (benchmark, variant), (low, _) in limits.items():
        found[benchmark, "none"] = found[benchmark, "none-clone"] = {BASE}
        found[benchmark, variant] = {BASE + low}
    return found


def judge_added_instructions(found: Counts) -> Tally:
    tally = Tally()
    counts.judge_instructions_added_by_variants(found, tally)
    return tally


def test_suite_counts_passes_on_expected_counts(valid_counts: Counts) -> None:
    tally = judge_added_instructions(valid_counts)
    assert not tally.failed
    assert tally.passed == len(NOPS_IN) * len(NOPS) + len(ADDED)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (("nop-encodings", "nop-3-2"), {BASE + 1}, "adds 1 instructions, not 2 to 2"),
        (("sdt-dormant", "sdt-jump"), {BASE + 2}, "adds 2 instructions, not 1 to 1"),
        (("xadd-prefix", "ds"), {BASE + 2, BASE + 3}, "adds 2, 3 instructions, not 2 to 2"),
        (("lock-pair-mutex", "marker-jump"), set(), "adds nothing instructions, not 2 to 2"),
    ],
)
def test_suite_counts_fails_on_a_wrong_count(
    valid_counts: Counts, key: tuple[str, str], value: set[Fraction], expected: str
) -> None:
    tally = judge_added_instructions({**valid_counts, key: value})
    assert tally.failed == [f"{'/'.join(key)} {expected}"]


def test_suite_counts_fails_on_a_missing_variant(valid_counts: Counts) -> None:
    del valid_counts["function-entry", "recorded-nop"]
    assert len(judge_added_instructions(valid_counts).failed) == 1


def test_suite_counts_fails_if_a_published_number_is_not_repeated() -> None:
    """The suite fails for each published number whose measurement no benchmark repeats. One number
    is exempt, because its benchmark needs a second CPU."""
    tally = Tally()
    counts.judge_repeated_published_measurements({}, tally)
    named = set(published.find_missing_successor_variants(set(), "kernel"))
    apart = {name for name in named if name.startswith(counts.NEEDS_TWO)}
    assert apart == {"arm-stall:stop-machine-stall"}
    assert len(tally.failed) == len(published.find_missing_successor_variants(set(), "kernel")) - 1


# Each block has three windows with these numbers of passes.
PASSES = (18, 28, 43)
# The instructions that the ring buffer needs to begin a new page (an invented number).
PAGE = 271


def make_counted_blocks(cost: int, longer: str) -> list[list[tuple[int, int]]]:
    """Return simulated blocks of three windows: a, b and c. A pass takes `cost` instructions.
    `longer` has a letter for each block: the window that takes more instructions, because a page of
    the ring buffer fills up, or "-" for no window."""
    return [
        [(n, 22 + i + n * cost + PAGE * (j == "abc".find(letter))) for j, n in enumerate(PASSES)]
        for i, letter in enumerate(longer)
    ]


@pytest.mark.parametrize("longer", ["cc-c", "ccca", "abca", "bbcb", "----"])
def test_instructions_of_a_full_ring_buffer_page_are_not_counted(longer: str) -> None:
    assert counts.find_slopes_in_every_block(make_counted_blocks(576, longer)) == {576}


def test_blocks_with_different_slopes_have_no_common_slope() -> None:
    """If no slope (instructions per pass) occurs in all blocks, there is no common slope. Blocks of
    two windows are ignored."""
    assert (
        counts.find_slopes_in_every_block(
            [*make_counted_blocks(576, "---"), *make_counted_blocks(900, "-")]
        )
        == set()
    )
    assert (
        counts.find_slopes_in_every_block([block[:2] for block in make_counted_blocks(576, "aaaa")])
        == set()
    )
    flagged = [
        block[1:] if i == 3 else block for i, block in enumerate(make_counted_blocks(576, "cccc"))
    ]
    assert 576 in counts.find_slopes_in_every_block(flagged)
    random = Random(1)
    for _ in range(1000):
        noise = [[(n, 576 * n + random.randrange(26)) for n in PASSES] for _ in range(4)]
        assert not counts.find_slopes_in_every_block(noise) - {576}


def test_only_the_true_slope_is_common_to_two_boots() -> None:
    """If the same window is longer in all blocks of a boot, the three pairs of windows give three
    slopes, each common to all blocks. Only the true slope is common to two boots."""
    first = counts.find_slopes_in_every_block(make_counted_blocks(576, "cccc"))
    assert len(first) == 3
    assert first & counts.find_slopes_in_every_block(make_counted_blocks(576, "aaaa")) == {576}


def judge_marker_events(marker: tuple[str, str], event: tuple[str, str], cost: int) -> list[str]:
    """Judge the counts of two simulated boots; return the failures. A marker event takes `cost`
    instructions, and a tracepoint event takes 595. `marker` and `event` are the values of `longer`
    for make_counted_blocks(), one value for each boot."""
    boots = []
    for longer, peer_longer in zip(marker, event, strict=True):
        found: Counts = {("marker-enabled", "none"): {Fraction(3)}}
        found["marker-enabled", "marker-event"] = counts.find_slopes_in_every_block(
            make_counted_blocks(cost, longer)
        )
        found["marker-enabled", "trace-event"] = counts.find_slopes_in_every_block(
            make_counted_blocks(595, peer_longer)
        )
        boots.append(found)
    first, second = boots
    return [
        line for line in counts.judge_instruction_counts(first, second).failed if "event" in line
    ]


def test_marker_and_tracepoint_events_are_compared_without_page_costs() -> None:
    longer = ("cccc", "ccab"), ("aaaa", "aacb")
    assert judge_marker_events(*longer, 576) == []
    said = ["marker-enabled/marker-event adds 593.0 instructions, trace-event 592.0"]
    assert judge_marker_events(*longer, 596) == said


def test_suite_counts_fails_if_an_event_has_several_counts() -> None:
    """The suite fails if an event has several possible counts in both boots, or one count in each
    boot but different counts in the two boots."""
    said = judge_marker_events(("----", "----"), ("aaaa", "aaaa"), 576)
    assert next(line.partition(":")[0] for line in said) == "marker-enabled/trace-event"
    key = ("marker-enabled", "trace-event")
    differing = counts.judge_instruction_counts(
        {key: {Fraction(595)}}, {key: {Fraction(596)}}
    ).failed
    assert "/".join(key) + ": the counts of the two boots differ: [595.0, 596.0]" in differing


def test_instruction_limit_of_variadic_marker_is_documented() -> None:
    text = " ".join((ROOT / "Documentation" / "markers.md").read_text().split())
    more, peer = counts.TRACEPOINTS["marker-1-probe"]
    assert peer == "tracepoint" and f"variable arguments at most {more} more." in text
