# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the grade of a run: the worst of all reasons for a lower grade decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from kmtools.analyse.grade import (
    Evidence,
    Grade,
    Level,
    grade_evidence,
    grade_tiers,
    withhold_verdicts,
)
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
from verdictrows import make_result, make_tier

CLONES = [make_result(f"b{number}", "none-clone") for number in range(6)]
KASAN = {"kernel": {"config": {"options": {"CONFIG_KASAN": "y"}}}}


def make_clones(bad: int, verdict: str) -> list[Result]:
    """Return six A/A clones: `bad` of them with `verdict`, the others with "equivalent"."""
    return [
        make_result(f"b{n}", "none-clone", verdict=verdict if n < bad else EQUIVALENT)
        for n in range(6)
    ]


def grade_results(
    tier: Tier, env: Mapping[str, Any] | None = None, results: Sequence[Result] = CLONES
) -> Grade:
    return grade_evidence(Evidence(tier, env or {}, results))


def test_run_without_reasons_is_graded_good() -> None:
    assert grade_results(make_tier()) == Grade(Level.GOOD, ())


@pytest.mark.parametrize(
    ("one", "env", "results", "level", "words"),
    [
        (make_tier(), {"run": {"quick": True}}, CLONES, Level.POOR, "quick"),
        (make_tier("vm", emulated=True), {}, CLONES, Level.POOR, "emulated"),
        (make_tier(invariant_tsc="0"), {}, CLONES, Level.POOR, "not invariant"),
        (make_tier(hypervisor="KVMKVMKVM"), {}, CLONES, Level.FAIR, "virtual machine"),
        (make_tier(), {"machine": {"governor": "schedutil"}}, CLONES, Level.FAIR, "schedutil"),
        (make_tier("metal"), KASAN, CLONES, Level.POOR, "CONFIG_KASAN"),
        (
            make_tier(),
            {},
            [make_result("b", "x", flagged=2)],
            Level.FAIR,
            "2.0 % of the timed windows",
        ),
        (
            make_tier(),
            {},
            [make_result("b", "x", flagged=6)],
            Level.POOR,
            "6.0 % of the timed windows",
        ),
        (make_tier(), {}, make_clones(1, SLOWER), Level.POOR, "come out different in b0"),
        (
            make_tier(),
            {},
            make_clones(2, UNRESOLVED),
            Level.FAIR,
            "noise than the margin allows in b0",
        ),
        (make_tier(), {}, make_clones(5, UNRESOLVED), Level.POOR, "b2 and 2 more"),
    ],
)
def test_each_reason_alone_lowers_the_grade(
    one: Tier, env: Mapping[str, Any], results: Sequence[Result], level: Level, words: str
) -> None:
    found = grade_results(one, env, results)
    assert found.level == level and len(found.reasons) == 1
    assert words in found.reasons[0].words and found.remedies


def test_one_flagged_window_does_not_lower_the_grade() -> None:
    assert not grade_results(make_tier(), {}, [make_result("b", "x", flagged=1)]).reasons


def test_worst_reason_decides_and_is_listed_first() -> None:
    found = grade_results(make_tier(hypervisor="KVM", invariant_tsc="0"))
    assert found.level == Level.POOR and found.level_name == "poor"
    assert [reason.level for reason in found.reasons] == [Level.POOR, Level.FAIR]


@pytest.mark.parametrize(
    ("one", "others", "itself"),
    [
        (make_tier("vm", emulated=True), [], False),
        (make_tier("vm", emulated=True), [make_tier()], False),
        (make_tier("vm", emulated=True), [replace(make_tier(), env={"emulated": "1"})], True),
        (replace(make_tier("vm", emulated=True), vm={"accel": "kvm"}), [], True),
        (make_tier("native", emulated=True), [], True),
        (make_tier("metal", emulated=True), [], True),
    ],
)
def test_remedy_of_an_emulated_cpu_is_another_machine_if_this_one_is_emulated(
    one: Tier, others: list[Tier], itself: bool
) -> None:
    """On an emulated machine, make bench-host would measure the emulated CPU, too."""
    tiers = [{"tier": other.tier, "kernel": "6.12", "env": other.env} for other in others]
    (remedy,) = grade_results(one, {"tiers": tiers}).remedies
    assert ("make bench-host" in remedy, "another machine" in remedy) == (not itself, itself)


def test_icount_tier_is_not_graded_by_disturbances() -> None:
    one = make_tier("icount", emulated=True)
    assert (
        grade_results(one, {"run": {"quick": True}}, [make_result("b", "x", flagged=50)]).reasons
        == ()
    )


def test_every_tier_is_graded_by_its_own_results() -> None:
    there = make_result("b", "none-clone", tier="metal", verdict=SLOWER)
    found = grade_tiers({}, [make_tier(), make_tier("metal")], [*CLONES, there])
    assert [grade.level for _, grade in found] == [Level.GOOD, Level.POOR]


def make_rows(benchmark: str, clone: str = EQUIVALENT, **more: Any) -> list[Result]:
    """Return the results of a benchmark: its baseline, the clone of the baseline with the verdict
    `clone`, and one variant for each verdict."""
    given = (SLOWER, FASTER, EQUIVALENT, UNRESOLVED, MORE)
    return [
        make_result(benchmark, "none", None, **more),
        make_result(benchmark, "none-clone", verdict=clone, **more),
        *(make_result(benchmark, verdict, verdict=verdict, **more) for verdict in given),
    ]


def test_benchmarks_with_a_poor_grade_have_no_verdicts() -> None:
    """If the clone of a benchmark differs, the verdicts of this benchmark are withheld, except
    "unresolved" and verdicts on exact counts ("more"). Another benchmark keeps its verdicts."""
    rows = withhold_verdicts(
        {}, [make_tier()], [*make_rows("calm"), *make_rows("loud", clone=SLOWER)]
    )
    calm, loud = rows[:7], rows[7:]
    assert calm == make_rows("calm")
    assert [row.verdict for row in loud] == [
        BASELINE, SLOWER, WITHHELD, WITHHELD, WITHHELD, UNRESOLVED, MORE
    ]  # fmt: skip
    reason = "two copies of the same code come out different in loud"
    assert loud[2].note == f"{reason}; next: run it again on a quieter machine"


def test_emulated_ticks_have_no_verdicts() -> None:
    one = make_tier("vm", emulated=True)
    rows = withhold_verdicts({}, [one], make_rows("b", tier="vm"))
    assert {SLOWER, FASTER, EQUIVALENT} & {row.verdict for row in rows if not row.is_clone} == set()
    exact = make_rows("b", tier="icount")
    assert withhold_verdicts({}, [make_tier("icount", emulated=True)], exact) == exact


def test_verdicts_are_kept_if_a_clone_is_unresolved() -> None:
    """An unresolved clone makes the grade poor, but verdicts are kept, because the rule for
    verdicts allows for noise."""
    rows = make_rows("b", clone=UNRESOLVED)
    assert grade_results(make_tier(), {}, rows).level == Level.POOR
    assert withhold_verdicts({}, [make_tier()], rows) == rows
