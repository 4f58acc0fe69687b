# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the grade of a run: the worst of all reasons for a lower grade decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from kmtools.analyse.corecycles import CoreCycleRatio
from kmtools.analyse.grade import (
    Evidence,
    Grade,
    Level,
    Reason,
    grade_evidence,
    grade_tiers,
    withhold_verdicts,
)
from kmtools.analyse.lateness import Lateness
from kmtools.analyse.verdicts import (
    BASELINE,
    EQUIVALENT,
    FASTER,
    MORE,
    SLOWER,
    UNMEASURED,
    UNRESOLVED,
    WITHHELD,
    Result,
)
from kmtools.measure.rundir import Tier
from verdictrows import make_result, make_tier

CLONES = [make_result(f"b{number}", "none-clone") for number in range(6)]


def make_env_with_kernel_options(**options: str) -> dict[str, Any]:
    """Return env.json of a kernel with these options."""
    return {"kernel": {"config": {"options": options}}}


KASAN = make_env_with_kernel_options(CONFIG_KASAN="y")


def make_clones_with_verdict(bad: int, verdict: str) -> list[Result]:
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
    ("tier", "env", "results", "level", "expected"),
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
        (
            make_tier(),
            {},
            make_clones_with_verdict(1, SLOWER),
            Level.POOR,
            "with different costs in b0",
        ),
        (
            make_tier(),
            {},
            make_clones_with_verdict(2, UNRESOLVED),
            Level.FAIR,
            "noise than the margin allows in b0",
        ),
        (make_tier(), {}, make_clones_with_verdict(5, UNRESOLVED), Level.POOR, "b2 and 2 more"),
    ],
)
def test_each_reason_alone_lowers_the_grade(
    tier: Tier, env: Mapping[str, Any], results: Sequence[Result], level: Level, expected: str
) -> None:
    found = grade_results(tier, env, results)
    assert found.level == level and len(found.reasons) == 1
    assert expected in found.reasons[0].words and found.remedies


@pytest.mark.parametrize(
    ("tier", "env", "expected"),
    [
        *((make_tier(hypervisor=name), {}, None) for name in ("", "0", "no", " None ")),
        (make_tier(hypervisor="xen"), {}, "a virtual machine"),
        (make_tier("metal", hypervisor="xen"), {}, "a virtual machine"),
        *((make_tier(), {"machine": {"governor": name}}, None) for name in ("", "performance")),
        (make_tier(), {"machine": None}, None),
        (make_tier(), KASAN, None),
        (make_tier("metal"), make_env_with_kernel_options(CONFIG_KASAN="n"), None),
        (make_tier("metal"), {"kernel": {"config": None}}, None),
        (
            make_tier("metal"),
            make_env_with_kernel_options(CONFIG_DEBUG_PAGEALLOC="y"),
            "with CONFIG_DEBUG_PAGEAL",
        ),
        (
            make_tier("metal"),
            make_env_with_kernel_options(CONFIG_DEBUG_PAGEALLOC="y", CONFIG_KASAN="y"),
            "a kernel with CONFIG_KASAN and CONFIG_DEBUG_PAGEALLOC",
        ),
    ],
)
def test_virtual_machine_and_debug_kernel_lower_the_grade(
    tier: Tier, env: Mapping[str, Any], expected: str | None
) -> None:
    """A kernel with debugging options lowers the grade only in the tier "metal", which measures in
    the running kernel."""
    found = grade_results(tier, env).reasons
    assert len(found) == (expected is not None) and (expected or "") in "".join(
        r.words for r in found
    )


@pytest.mark.parametrize("env", [{"machine": {"governor": "powersave"}}, {}])
def test_emulated_cpu_is_the_only_reason_of_its_grade(env: Mapping[str, Any]) -> None:
    """The clock, the hypervisor and the governor of an emulated CPU do not matter."""
    given = {"invariant_tsc": "0", "hypervisor": "TCG", "tsc_khz_spread": "0.5"}
    (found,) = grade_results(make_tier("vm", emulated=True, **given), env).reasons
    assert found.words.startswith("an emulated CPU")


def make_results_with_spreads(*spreads: float) -> list[Result]:
    """Return a result for each of `spreads`, by which the core's frequency varied."""
    cores = [CoreCycleRatio("counted", 1.5, spread) for spread in spreads]
    return [make_result(f"b{n}", "x", core=core) for n, core in enumerate(cores)]


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        (make_results_with_spreads(0.05), None),
        (make_results_with_spreads(0.01, 0.06), "changed by up to 6 % between blocks: b1"),
        (make_results_with_spreads(0.2, 0.3, 0.1), "up to 30 % between blocks: b0, b1, b2"),
        (make_results_with_spreads(0.2, 0.1, 0.1, 0.1), "blocks: b0, b1, b2 and 1 more"),
        (make_results_with_spreads(*[0.1] * 6), "blocks: b0, b1, b2 and 3 more"),
        ([make_result("b", "x", core=None)], None),
        (make_clones_with_verdict(3, UNRESOLVED), "than the margin allows in b0, b1, b2"),
        (
            make_clones_with_verdict(4, UNRESOLVED),
            "than the margin allows in b0, b1, b2 and 1 more",
        ),
        (
            make_clones_with_verdict(6, UNRESOLVED),
            "than the margin allows in b0, b1, b2 and 3 more",
        ),
        (
            make_clones_with_verdict(2, FASTER),
            "two copies of the same code with different costs in b0, b1",
        ),
        (
            [
                *(make_result(name, "x", note=UNMEASURED) for name in "fcaed"),
                make_result("a", "y", note=f"{UNMEASURED}; 1 of 8 blocks"),
                make_result("b", "y"),
            ],
            "no longer than short loops in a, c, d, e, f: nothing was measured",
        ),
    ],
)
def test_reason_for_a_grade_names_up_to_three_benchmarks(
    results: Sequence[Result], expected: str | None
) -> None:
    found = grade_results(make_tier(), {}, results).reasons
    assert len(found) == (expected is not None)
    assert expected is None or found[0].words.endswith(expected)


@pytest.mark.parametrize(
    ("changed", "level"),
    [
        ({"windows": 1000, "flagged": 50}, Level.FAIR),
        ({"windows": 1000, "flagged": 51}, Level.POOR),
        ({"windows": 0}, Level.GOOD),
        # Late windows are a share of the windows without a flag.
        ({"windows": 101, "flagged": 1, "late": Lateness(1, share=0.01)}, Level.GOOD),
        ({"windows": 100, "flagged": 1, "late": Lateness(1, share=0.01)}, Level.FAIR),
        ({"late": Lateness(30, share=0.3, together=1.0)}, Level.FAIR),
        ({"late": Lateness(31, share=0.3, together=1.0)}, Level.POOR),
        ({"late": Lateness(31, share=0.3, together=0.5)}, Level.FAIR),
    ],
)
def test_grade_falls_if_flagged_or_late_windows_exceed_their_limit(
    changed: dict[str, Any], level: Level
) -> None:
    assert grade_results(make_tier(), {}, [make_result("b", "x", **changed)]).level == level


def test_grade_names_the_late_windows_of_the_worst_benchmark() -> None:
    """In benchmark a, 1 of 300 windows is late. In benchmark b, 20 of 100 windows are late, and the
    frequency changed."""
    core = CoreCycleRatio("counted", 1.5, 0.04)
    rows = [
        make_result("a", "x", windows=300, late=Lateness(1, share=1 / 300)),
        make_result("b", "x", late=Lateness(20, share=0.2, ratio=1.4, together=0.9), core=core),
    ]
    (found,) = grade_results(make_tier(seconds="10"), {}, rows).reasons
    assert found.words == (
        "5.2 % of the timed windows over a microsecond late, most in b: in stretches, all variants"
        " took 1.4 times as long, as beside a busy sibling thread"
    )
    (alone,) = grade_results(make_tier(seconds="10"), {}, rows[1:]).reasons
    assert "most in" not in alone.words


def test_equal_remedies_of_a_grade_are_listed_once() -> None:
    reasons = (Reason(Level.POOR, "a", "x"), Reason(Level.FAIR, "b"), Reason(Level.FAIR, "c", "y"))
    assert Grade(Level.POOR, (*reasons, reasons[0])).remedies == ["x", "y"]


def test_reason_for_a_withheld_verdict_is_put_before_the_note() -> None:
    """The reason is the first one that makes the grade poor and is not already allowed for by the
    verdicts."""
    rows = [
        make_result("b", "none-clone", verdict=SLOWER),
        make_result("b", "x", 9.0, verdict=SLOWER, note="one layout only"),
    ]
    given = make_tier(invariant_tsc="0", seconds="10", others_seconds="9")
    found = withhold_verdicts({}, [given], rows)[1]
    assert found.note == (
        "a time stamp counter that is not invariant, so cycles differ in length; next: another"
        " machine; one layout only"
    )


def test_one_flagged_window_does_not_lower_the_grade() -> None:
    assert not grade_results(make_tier(), {}, [make_result("b", "x", flagged=1)]).reasons


def test_worst_reason_decides_the_grade_and_is_first() -> None:
    found = grade_results(make_tier(hypervisor="KVM", invariant_tsc="0"))
    assert found.level == Level.POOR and found.level_name == "poor"
    assert [reason.level for reason in found.reasons] == [Level.POOR, Level.FAIR]


@pytest.mark.parametrize(
    ("tier", "others", "itself"),
    [
        (make_tier("vm", emulated=True), [], False),
        (make_tier("vm", emulated=True), [make_tier()], False),
        (make_tier("vm", emulated=True), [replace(make_tier(), env={"emulated": "1"})], True),
        (replace(make_tier("vm", emulated=True), vm={"accel": "kvm"}), [], True),
        (make_tier("native", emulated=True), [], True),
        (make_tier("metal", emulated=True), [], True),
    ],
)
def test_remedy_on_an_emulated_machine_is_another_machine(
    tier: Tier, others: list[Tier], itself: bool
) -> None:
    """On an emulated machine, `make bench-host` would measure the emulated CPU, too."""
    tiers = [{"tier": other.tier, "kernel": "6.12", "env": other.env} for other in others]
    (remedy,) = grade_results(tier, {"tiers": tiers}).remedies
    assert ("make bench-host" in remedy, "another machine" in remedy) == (not itself, itself)


def test_remedy_of_an_emulated_test_kernel_names_kvm() -> None:
    for name, named in (("vm", True), ("metal", False), ("native", False)):
        (remedy,) = grade_results(make_tier(name, emulated=True)).remedies
        assert ("scripts/kmarkers vm accel" in remedy) == named


@pytest.mark.parametrize(
    ("name", "env", "own"),
    [
        ("vm", {}, True),
        ("vm", {"machine": {"cpu": {"hypervisor": False}}}, True),
        ("vm", {"machine": {"cpu": {"hypervisor": True}}}, False),
        ("vm", {"tiers": [("native", "none")]}, True),
        ("vm", {"tiers": [("native", "KVMKVMKVM")]}, False),
        ("vm", {"tiers": [("vm", "KVMKVMKVM")]}, True),
        ("metal", {}, False),
        ("native", {}, False),
    ],
)
def test_remedy_of_a_test_kernel_under_kvm_on_a_real_machine_is_bench_host(
    name: str, env: dict[str, Any], own: bool
) -> None:
    """On a virtual machine, and for the tiers that are measured on it, the remedy is a real
    machine."""
    tiers = [
        {"tier": tier, "kernel": "6.12", "env": {"hypervisor": below}, "vm": {"accel": "kvm"}}
        for tier, below in env.get("tiers", [])
    ]
    found = grade_results(make_tier(name, hypervisor="KVMKVMKVM"), {**env, "tiers": tiers})
    (reason,) = found.reasons
    assert found.level == Level.FAIR
    assert ("run make bench-host" in reason.remedy) == own
    assert ("a test kernel under KVM" in reason.words) == own
    assert (reason.remedy == "a machine of your own") == (not own)


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


def make_graded_results(benchmark: str, clone: str = EQUIVALENT, **more: Any) -> list[Result]:
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
        {},
        [make_tier()],
        [*make_graded_results("calm"), *make_graded_results("loud", clone=SLOWER)],
    )
    calm, loud = rows[:7], rows[7:]
    assert calm == make_graded_results("calm")
    assert [row.verdict for row in loud] == [
        BASELINE, SLOWER, WITHHELD, WITHHELD, WITHHELD, UNRESOLVED, MORE
    ]  # fmt: skip
    reason = "two copies of the same code with different costs in loud"
    assert loud[2].note == f"{reason}; next: repeat the run on a quieter machine"


def test_benchmarks_with_a_fair_grade_keep_their_verdicts() -> None:
    rows, virtual = make_graded_results("b"), make_tier(hypervisor="KVMKVMKVM")
    assert grade_results(virtual, {}, rows).level == Level.FAIR
    assert withhold_verdicts({}, [virtual], rows) == rows


def test_emulated_ticks_have_no_verdicts() -> None:
    one = make_tier("vm", emulated=True)
    rows = withhold_verdicts({}, [one], make_graded_results("b", tier="vm"))
    assert {SLOWER, FASTER, EQUIVALENT} & {row.verdict for row in rows if not row.is_clone} == set()
    exact = make_graded_results("b", tier="icount")
    assert withhold_verdicts({}, [make_tier("icount", emulated=True)], exact) == exact


def test_verdicts_are_kept_if_a_clone_is_unresolved() -> None:
    """An unresolved clone makes the grade poor, but verdicts are kept, because the rule for
    verdicts allows for noise."""
    rows = make_graded_results("b", clone=UNRESOLVED)
    assert grade_results(make_tier(), {}, rows).level == Level.POOR
    assert withhold_verdicts({}, [make_tier()], rows) == rows
