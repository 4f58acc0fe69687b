# SPDX-License-Identifier: GPL-2.0-only
"""The answer that stands first: dormant sites alone, of one tier, with their intervals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from kmtools.analyse import grade, result_kinds
from kmtools.analyse.grade import Grade, Level, Reason
from kmtools.analyse.stats import UNBOUNDED
from kmtools.analyse.verdicts import SLOWER, UNRESOLVED, WITHHELD
from kmtools.base import text
from kmtools.report import ending, marker_cost, table
from kmtools.report.marker_cost import Answer, answers, sentence
from verdictrows import result, site, tier

LOOP = [result("empty-loop", "none", None), result("empty-loop", "marker-jump", 0.02)]
CALL = [
    result("getppid-quiet", "compiled-out", None, median=200.0),
    result("getppid-quiet", "immediate", 0.5, verdict=UNRESOLVED),
]
SITES = [
    site("density-empty", "marker-jump", 0.12),
    site("density-full", "marker-jump", 0.18),
    site("density-full", "marker-generic", 0.4),
    site("cold-icache-l3", "marker-jump", 3.0),
    site("cold-icache-memory", "marker-jump", 27.0),
]


def by_place(found: list[Answer]) -> dict[str, Answer]:
    return {one.place: one for one in found}


def test_the_sentence_says_what_a_dormant_marker_costs() -> None:
    found = answers([*LOOP, *CALL], SITES)
    assert sentence(found) == (
        "A dormant marker costs 0.27 core cycles in hot code, 40 cold in the instruction"
        " cache and 0.12 % of a system call (unresolved)."
    )
    own = by_place(found)
    assert own["In hot code"].verdict == SLOWER and "density-full" in own["In hot code"].how
    assert "from memory" in own["Cold in the instruction cache"].how
    assert "2006, Pentium 4: 1.2 with a variable" in own["In hot code"].then
    call = own["In a system call (immediate)"]
    assert "6.72 ± 0.70 %" in call.then and "half of two markers" in call.how


def test_hot_code_has_an_answer_for_each_place_of_a_marker() -> None:
    """Side by side at the head of a loop is no place that programs have."""
    rows = [
        result("density-one", "marker-jump-middle", 0.0),
        result("density-one", "marker-jump-first", 0.1, verdict=SLOWER),
        result("density-one", "marker-immediate-first", 0.3),
        result("density-full", "marker-jump-1", 0.2),
    ]
    found = answers([*LOOP, *rows], SITES)
    own = by_place(found)
    assert own["In hot code, among other instructions"].value == 0
    assert own["In hot code, behind a taken branch"].value == pytest.approx(0.15)
    assert "In hot code" not in own
    assert sentence(found).startswith(
        "A dormant marker costs 0.000 core cycles among other instructions of hot code, 0.15 behind"
        " a taken branch"
    )
    older = by_place(answers([*LOOP, rows[3]], SITES))
    assert older["In hot code, behind a taken branch"].value == pytest.approx(0.3)
    assert "Pentium 4" in older["In hot code, behind a taken branch"].then


def test_the_share_of_a_system_call_is_that_of_one_marker() -> None:
    jump = result("getppid-quiet", "jump", 0.4)
    own = by_place(answers([*LOOP, *CALL, jump], SITES))
    assert own["In a system call"].value == pytest.approx(0.1)
    assert "In a system call (immediate)" not in own


def test_without_sites_one_marker_in_a_loop_answers() -> None:
    own = by_place(answers(LOOP, []))
    assert own["In hot code"].value == pytest.approx(0.03)
    assert "may hide" in own["In hot code"].how
    lacking = own["Cold in the instruction cache"]
    assert lacking.value is None and "cold-icache" in lacking.how
    assert marker_cost.number(lacking) == "not measured" and marker_cost.interval(lacking) == ""


def test_emulated_ticks_and_counts_give_no_answer() -> None:
    units = {"vm": "ticks (emulated)", "icount": "instructions"}
    ticks = [result("empty-loop", "marker-jump", 1.0, unit=u, tier=t) for t, u in units.items()]
    assert answers(ticks, []) == []
    assert "no answer" in sentence([])


def test_the_kernel_answers_before_user_space() -> None:
    metal = result("empty-loop", "marker-jump", 2.0, tier="metal")
    assert by_place(answers([*LOOP, metal], []))["In hot code"].value == pytest.approx(3.0)


def test_poor_numbers_are_no_claim_in_the_first_sentence() -> None:
    """A doubt that all numbers share is said once."""
    poor = [replace(one, note="loud; next: be quiet") for one in SITES]
    found = answers([*LOOP, *CALL], poor)
    assert by_place(found)["In hot code"].verdict == WITHHELD
    assert sentence(found).startswith(
        "A dormant marker costs 0.27 core cycles in hot code (withheld), 40 cold"
    )
    call = [replace(CALL[1], verdict=WITHHELD), CALL[0]]
    assert sentence(answers([*LOOP, *call], poor)).endswith(
        "of a system call (numbers too poor for a verdict)."
    )
    assert "(" not in sentence(answers(LOOP, SITES))


def test_a_run_of_other_benchmarks_is_told_why_it_has_no_answer() -> None:
    found = answers([result("mine", "none", None), result("mine", "more", 3.0)], [])
    assert "none of the benchmarks" in sentence(found)


@pytest.mark.parametrize("width", [60, 80])
def test_long_names_fit_on_a_terminal(width: int) -> None:
    name = "a-benchmark-of-ones-own-with-a-very-long-name-" * 2
    rows = [result("mine", name, None), result("mine", f"{name}-clone"), result("mine", "x", 3.0)]
    lines = table.render(rows, width, False).splitlines()
    assert max(map(len, lines)) <= width
    assert any(line.split()[0].startswith("a-bench") and "…" in line for line in lines[2:])
    assert any(line.split()[:1] == ["x"] for line in lines)


def test_an_interval_without_an_end_is_named() -> None:
    row = result("empty-loop", "marker-jump", 0.0, delta_ci=UNBOUNDED, verdict=UNRESOLVED)
    assert marker_cost.interval(by_place(answers([row], []))["In hot code"]) == "unbounded"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.000"), (-0.0001, "0.000"), (0.265, "0.27"), (-2.34, "−2.3"), (417.6, "418")],
)
def test_numbers_are_short_and_zero_has_no_sign(value: float, text: str) -> None:
    assert marker_cost.short(value) == text


@pytest.mark.parametrize("width", [40, 80])
def test_the_terminal_has_the_answer_first_and_fits(width: int) -> None:
    reasons = (Reason(Level.FAIR, "a virtual machine, " * 5, "a machine of your own"),)
    graded = [(tier(), Grade(Level.FAIR, reasons)), (tier("vm"), grade.Grade(Level.GOOD, ()))]
    rows, run = [*LOOP, *CALL], Path("run")
    lines = ending.render(run, {}, answers(rows, SITES), graded, (rows, []), width).splitlines()
    assert lines[0].startswith("A dormant marker costs")
    assert max(map(len, lines)) <= width
    assert any(line.startswith("native: fair numbers: a virtual machine") for line in lines)
    assert "vm: good numbers" in lines
    assert lines[-1] == "tables: scripts/kmarkers table run"


@pytest.mark.parametrize(
    ("benchmark", "variant", "kind"),
    [
        ("empty-loop", "marker-jump", result_kinds.DORMANT),
        ("empty-loop-peers", "marker-jump-on", result_kinds.ENABLED),
        ("empty-loop-peers", "marker-jump-off", result_kinds.DORMANT),
        ("marker-enabled", "typed-direct-call", result_kinds.ENABLED),
        ("cold-branch", "memory", result_kinds.COLD),
        ("mine", "x", result_kinds.OTHER),
    ],
)
def test_dormant_and_enabled_are_told_apart(benchmark: str, variant: str, kind: str) -> None:
    assert result_kinds.kind_of(benchmark, variant) == kind


def test_no_kind_counts_a_row_of_another() -> None:
    rows = [
        result("empty-loop-peers", "none", None),
        result("empty-loop-peers", "none-clone"),
        result("empty-loop-peers", "marker-jump-on", 30.0, verdict=SLOWER),
        result("empty-loop-peers", "marker-jump-off"),
    ]
    names = {kind: [r.variant for r in result_kinds.judged(result_kinds.of_kind(rows, kind))]
             for kind in result_kinds.KINDS}  # fmt: skip
    assert names == {"dormant": ["marker-jump-off"], "enabled": ["marker-jump-on"],
                     "cold": [], "other": []}  # fmt: skip
    assert [r.variant for r in result_kinds.of_kind(rows, result_kinds.ENABLED)] == [
        "none", "none-clone", "marker-jump-on",
    ]  # fmt: skip


def test_wide_tables_are_split_at_80_columns() -> None:
    heads = ["way", *(f"{10**n:,}" for n in range(9))]
    rows = [["ours, a thousand at a time", *(f"{10**n:,}" for n in range(9))]]
    lines = text.fitted(heads, rows, 78)
    assert max(map(len, lines)) <= 78
    assert sum(line.startswith("ours") for line in lines) > 1
    assert all(f"{10**n:,}" in " ".join(lines).split() for n in range(9))
    assert text.fitted(heads, rows, 500) == text.aligned([heads, *rows], range(1, 10))
    assert max(map(len, text.wrapped("word " * 50, 80, " "))) <= 80
