# SPDX-License-Identifier: GPL-2.0-only
"""The grade of a run: each reason alone, and the worst decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from kmtools.analyse.grade import Evidence, Grade, Level, grade_of, grades, withheld
from kmtools.analyse.verdicts import (
    BASELINE,
    EQUIVALENT,
    FASTER,
    MORE,
    SLOWER,
    UNRESOLVED,
    WITHHELD,
    Result,
)
from kmtools.measure.rundir import Tier
from verdictrows import result, tier

CLONES = [result(f"b{number}", "none-clone") for number in range(6)]
KASAN = {"kernel": {"config": {"options": {"CONFIG_KASAN": "y"}}}}


def with_clones(bad: int, verdict: str) -> list[Result]:
    """Six A/A clones, some of them with another verdict."""
    return [
        result(f"b{n}", "none-clone", verdict=verdict if n < bad else EQUIVALENT) for n in range(6)
    ]


def graded(
    one: Tier, env: Mapping[str, Any] | None = None, results: Sequence[Result] = CLONES
) -> Grade:
    return grade_of(Evidence(one, env or {}, results))


def test_nothing_to_complain_of_is_good() -> None:
    assert graded(tier()) == Grade(Level.GOOD, ())


@pytest.mark.parametrize(
    ("one", "env", "results", "level", "words"),
    [
        (tier(), {"run": {"quick": True}}, CLONES, Level.POOR, "quick"),
        (tier("vm", emulated=True), {}, CLONES, Level.POOR, "emulated"),
        (tier(invariant_tsc="0"), {}, CLONES, Level.POOR, "not invariant"),
        (tier(hypervisor="KVMKVMKVM"), {}, CLONES, Level.FAIR, "virtual machine"),
        (tier(), {"machine": {"governor": "schedutil"}}, CLONES, Level.FAIR, "schedutil"),
        (tier("metal"), KASAN, CLONES, Level.POOR, "CONFIG_KASAN"),
        (tier(), {}, [result("b", "x", flagged=2)], Level.FAIR, "2.0 % of the timed windows"),
        (tier(), {}, [result("b", "x", flagged=6)], Level.POOR, "6.0 % of the timed windows"),
        (tier(), {}, with_clones(1, SLOWER), Level.POOR, "come out different in b0"),
        (tier(), {}, with_clones(2, UNRESOLVED), Level.FAIR, "noise than the margin allows in b0"),
        (tier(), {}, with_clones(5, UNRESOLVED), Level.POOR, "b2 and 2 more"),
    ],
)
def test_each_reason_alone(
    one: Tier, env: Mapping[str, Any], results: Sequence[Result], level: Level, words: str
) -> None:
    found = graded(one, env, results)
    assert found.level == level and len(found.reasons) == 1
    assert words in found.reasons[0].words and found.remedies


def test_a_single_flag_more_is_a_reason() -> None:
    assert not graded(tier(), {}, [result("b", "x", flagged=1)]).reasons


def test_the_worst_reason_decides_and_stands_first() -> None:
    found = graded(tier(hypervisor="KVM", invariant_tsc="0"))
    assert found.level == Level.POOR and found.word == "poor"
    assert [reason.level for reason in found.reasons] == [Level.POOR, Level.FAIR]


def test_exact_counts_cannot_be_disturbed() -> None:
    one = tier("icount", emulated=True)
    assert graded(one, {"run": {"quick": True}}, [result("b", "x", flagged=50)]).reasons == ()


def test_every_tier_is_graded_by_its_own_results() -> None:
    there = result("b", "none-clone", tier="metal", verdict=SLOWER)
    found = grades({}, [tier(), tier("metal")], [*CLONES, there])
    assert [grade.level for _, grade in found] == [Level.GOOD, Level.POOR]


def rows_of(benchmark: str, clone: str = EQUIVALENT, **more: Any) -> list[Result]:
    """A baseline, its clone and a row with each verdict."""
    given = (SLOWER, FASTER, EQUIVALENT, UNRESOLVED, MORE)
    return [
        result(benchmark, "none", None, **more),
        result(benchmark, "none-clone", verdict=clone, **more),
        *(result(benchmark, verdict, verdict=verdict, **more) for verdict in given),
    ]


def test_poor_benchmarks_have_no_verdicts() -> None:
    """Those of other benchmarks stay, and so does what is no claim about time."""
    rows = withheld({}, [tier()], [*rows_of("calm"), *rows_of("loud", clone=SLOWER)])
    calm, loud = rows[:7], rows[7:]
    assert calm == rows_of("calm")
    assert [row.verdict for row in loud] == [
        BASELINE, SLOWER, WITHHELD, WITHHELD, WITHHELD, UNRESOLVED, MORE
    ]  # fmt: skip
    reason = "two copies of the same code come out different in loud"
    assert loud[2].note == f"{reason}; next: run it again on a quieter machine"


def test_emulated_ticks_have_no_verdicts() -> None:
    one = tier("vm", emulated=True)
    rows = withheld({}, [one], rows_of("b", tier="vm"))
    assert {SLOWER, FASTER, EQUIVALENT} & {row.verdict for row in rows if not row.is_clone} == set()
    exact = rows_of("b", tier="icount")
    assert withheld({}, [tier("icount", emulated=True)], exact) == exact


def test_a_noisy_clone_withholds_nothing() -> None:
    """It makes a single benchmark's numbers poor, but the rule of verdicts knows of it."""
    rows = rows_of("b", clone=UNRESOLVED)
    assert graded(tier(), {}, rows).level == Level.POOR
    assert withheld({}, [tier()], rows) == rows
