# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the counters that record disturbances while user space is measured, and of the grades
that disturbed runs get."""

from __future__ import annotations

import resource
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import rawdata
from kmtools.analyse import lateness, location, verdicts
from kmtools.analyse.grade import Evidence, Level, grade_evidence, withhold_verdicts
from kmtools.analyse.lateness import Lateness
from kmtools.analyse.verdicts import SLOWER, WITHHELD, compute_results
from kmtools.measure import collect, disturbance, native
from kmtools.measure.disturbance import CounterSnapshot
from kmtools.measure.samples import Sample
from kmtools.method import estimators, latewindows
from verdictrows import make_result, make_tier

STAT = """cpu  300 0 60 500 0 0 0 40 0 0
cpu0 100 0 20 200 0 0 0 10 0 0
cpu1 200 0 40 300 0 0 0 30 0 0
intr 12345
"""
INTERRUPTS = """           CPU0       CPU1
  4:         10         20   IO-APIC   4-edge   ttyS0
LOC:       1000       2000   Local timer interrupts
ERR:          7
"""
CHILDREN = resource.getrusage(resource.RUSAGE_CHILDREN)


def test_cpu_times_and_interrupts_of_each_cpu_are_parsed() -> None:
    times = disturbance.parse_cpu_times(STAT, 0.01)
    assert set(times) == {0, 1}
    assert times[1][disturbance.STEAL] == pytest.approx(0.3)
    assert disturbance.parse_interrupt_counts(INTERRUPTS) == {0: 1010, 1: 2020}


def test_empty_proc_files_give_no_counters() -> None:
    assert disturbance.parse_cpu_times("", 0.01) == {}
    assert disturbance.parse_interrupt_counts("") == {}
    nothing = CounterSnapshot(1.0, {}, {}, CHILDREN)
    found = disturbance.compute_disturbances(nothing, CounterSnapshot(3.0, {}, {}, CHILDREN), 1)
    assert found == {"seconds": 2.0, "page_faults": 0, "switches": 0}


def test_disturbance_is_the_difference_of_two_snapshots() -> None:
    idle = (0.0,) * 8
    busy = (3.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.5)
    before = CounterSnapshot(0.0, {1: idle}, {1: 5}, CHILDREN)
    found = disturbance.compute_disturbances(
        before, CounterSnapshot(9.0, {1: busy}, {1: 12}, CHILDREN), 1
    )
    assert (found["steal_seconds"], found["others_seconds"], found["interrupts"]) == (0.5, 4.0, 7)
    assert disturbance.format_counter_env_lines(found).startswith("seconds=9\nsteal_seconds=0.5\n")


def make_resource_usage(**fields: float) -> Any:
    """Return the resource usage of ended children; the fields that are not given are 0."""
    names = ("utime", "stime", "minflt", "majflt", "nvcsw", "nivcsw")
    return SimpleNamespace(**{f"ru_{name}": fields.get(name, 0) for name in names})


def test_cpu_time_of_other_programs_excludes_the_process_itself() -> None:
    """All programs ran for 8 s, including 5 s in which the process itself ran. Page faults (minor
    and major) and context switches (voluntary and involuntary) are counted for the process
    alone."""
    own = make_resource_usage(utime=10, stime=3, minflt=7, majflt=2, nvcsw=30, nivcsw=4)
    later = make_resource_usage(utime=14, stime=4, minflt=107, majflt=5, nvcsw=41, nivcsw=6)
    before = CounterSnapshot(2.0, {3: (1.0,) * 8}, {3: 7}, own)
    after = CounterSnapshot(12.0, {3: (6.0, 2.0, 3.0, 50.0, 1.0, 1.0, 1.0, 1.25)}, {3: 7}, later)
    found = {
        "seconds": 10.0, "steal_seconds": 0.25, "others_seconds": 3.0, "interrupts": 0,
        "page_faults": 103, "switches": 13,
    }  # fmt: skip
    assert disturbance.compute_disturbances(before, after, 3) == found


def test_impossible_counter_differences_are_zero_or_left_out() -> None:
    """Clock ticks are coarse, so differences may be below zero. A kernel without steal time has
    seven fields. A CPU that has no counters, or went offline, has no disturbances."""
    busy, usage = make_resource_usage(utime=9), make_resource_usage()
    before = CounterSnapshot(0.0, {0: (1.0,) * 8, 1: (1.0,) * 7}, {0: 1, 1: 1}, usage)
    after = CounterSnapshot(9.0, {0: (1.5,) * 7 + (0.5,), 1: (2.0,) * 7}, {1: 2}, busy)
    found = disturbance.compute_disturbances(before, after, 0)
    assert (found["steal_seconds"], found["others_seconds"]) == (0.0, 0.0)
    assert "interrupts" not in found
    found = disturbance.compute_disturbances(before, after, 1)
    assert not {"steal_seconds", "others_seconds"} & set(found) and found["interrupts"] == 1
    assert "steal_seconds" not in disturbance.compute_disturbances(
        after, replace(after, times={}), 0
    )
    assert set(disturbance.compute_disturbances(before, after, 7)) == {
        "seconds", "page_faults", "switches",
    }  # fmt: skip


def test_sibling_time_is_the_time_of_the_busiest_sibling_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(disturbance, "find_sibling_cpus", lambda _: {2, 3, 9})
    usage = make_resource_usage()
    before = CounterSnapshot(0.0, dict.fromkeys((1, 2, 3), (0.0,) * 8), {}, usage)
    times = {1: (0.0,) * 8, 2: (0.5,) * 8, 3: (2.0,) * 8, 9: (7.0,) * 8}
    found = disturbance.compute_disturbances(before, replace(before, times=times), 1)
    assert found["sibling_seconds"] == 6.0


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("", set()), ("3\n", {3}), ("0,4-6\n", {0, 4, 5, 6}), ("0-1,8-8,12", {0, 1, 8, 12})],
)
def test_kernel_list_of_cpus_is_parsed(text: str, cpus: set[int]) -> None:
    assert disturbance.parse_cpu_list(text) == cpus


def test_proc_lines_without_counters_of_a_cpu_are_skipped() -> None:
    """CPUs that are offline have no column in /proc/interrupts, so the first line says which CPU a
    column is for. Lines with another number of columns, or without numbers, do not count interrupts
    of CPUs."""
    text = "       CPU0   CPU2\n 4:  10  20  edge\nX:  1  x\nMIS: 3\nLOC: 1 2\nPIN: 5 6 7\n"
    assert disturbance.parse_interrupt_counts(text) == {0: 16, 2: 28}
    stat = "cpu 9 9\n\ncpu10 1 2\ncpufreq 3\nctxt 4\n"
    assert disturbance.parse_cpu_times(stat, 0.5) == {10: (0.5, 1.0)}


def test_proc_stat_ticks_are_read_as_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tick of /proc/stat is 1/50 s here. The machine was suspended for 250 s since boot."""
    monkeypatch.setattr(disturbance, "PROC", tmp_path)
    monkeypatch.setattr("os.sysconf", lambda _: 50)
    monkeypatch.setattr("time.monotonic", lambda: 1000.0)
    monkeypatch.setattr("time.clock_gettime", lambda _: 1250.0)
    (tmp_path / "stat").write_text(STAT)
    found = disturbance.read_disturbance_counters()
    assert found.times[0][:4] == pytest.approx((2.0, 0.0, 0.4, 4.0)) and found.interrupts == {}
    assert (found.at, found.asleep) == (1000.0, 250.0)


@pytest.mark.parametrize(("grown", "suspended"), [(0.4, False), (0.5, False), (0.75, True)])
def test_time_asleep_above_half_a_second_is_a_suspend(grown: float, suspended: bool) -> None:
    """Time asleep before the first snapshot is ignored."""
    for asleep in (0.25, 20.0):
        before = CounterSnapshot(0.0, {}, {}, CHILDREN, asleep)
        after = replace(before, asleep=asleep + grown)
        assert disturbance.was_suspended(before, after) is suspended


def test_disturbance_counters_have_two_decimals_and_all_digits() -> None:
    counters = {"seconds": 12.3456, "interrupts": 1234567890, "switches": 0.004}
    lines = "seconds=12.35\ninterrupts=1234567890\nswitches=0\n"
    assert disturbance.format_counter_env_lines(counters) == lines
    envs = [{"seconds": "0.125", "interrupts": "1234567890", "page_faults": "x"}] * 3
    sums = {"seconds": "0.38", "interrupts": "3703703670"}
    assert disturbance.sum_disturbance_counters([*envs]) == sums


def test_disturbance_counters_of_processes_are_added(tmp_path: Path) -> None:
    """Only counters that are in the env file of every process are added."""
    both: tuple[dict[str, Any], ...] = ({"interrupts": "4"}, {})
    for number, more in enumerate(both, 1):
        rawdata.write_raw_folder(
            tmp_path / f"process-{number}", 8, number, rawdata.BENCHES[:1],
            emulated="0", seconds="1.5", steal_seconds="0.25", **more,
        )  # fmt: skip
    env = collect.load_raw_folder("native", tmp_path).tier.env
    assert (env["seconds"], env["steal_seconds"]) == ("3", "0.5")
    assert disturbance.sum_disturbance_counters([{"interrupts": "4"}, {}]) == {}


@pytest.mark.parametrize(
    ("rates", "spread"),
    [
        (("2000000", "2000002"), "0.000001"),
        (("2000000", "2100000", "2000000"), "0.050000"),
        (("2000000", ""), None),
        (("2000000", "0"), None),
    ],
)
def test_spread_of_tsc_frequencies_is_computed(rates: tuple[str, ...], spread: str | None) -> None:
    found = disturbance.sum_disturbance_counters([{"tsc_khz": rate} for rate in rates])
    assert found.get("tsc_khz_spread") == spread


@pytest.mark.usefixtures("native_programs")
def test_kmbench_env_has_disturbance_counters(tmp_path: Path) -> None:
    native.run_kmbench(tmp_path / "part", ["--blocks", 2, "empty-loop"], lambda *_: None)
    env = collect.read_key_values(tmp_path / "part" / "env")
    assert float(env["seconds"]) > 0 and int(env["page_faults"]) > 0


FIRST = (1, 0, 1000)


def make_late_window(
    value: int,
    flags: tuple[str, ...] = (),
    loop: tuple[int, int, int] = FIRST,
    variant: str = "v",
    block: int = 0,
) -> Sample:
    """Return a sample; `loop` has the process, code layout and loop count of the sample."""
    process, layout, loops = loop
    return Sample(
        "native", "k", process, "b", variant, "loop", layout, block, 0, 0, loops, None, value,
        "TSC cycles", None, flags,
    )  # fmt: skip


def count_late_windows(windows: list[Sample], khz: float | None = 2_500_000) -> int:
    return sum(one.late for one in lateness.compute_lateness_by_variant(windows, khz).values())


@pytest.mark.parametrize(
    ("value", "flags", "late"),
    [(12000, (), 0), (12600, (), 1), (12600, ("preempted",), 0), (9000, (), 0)],
)
def test_window_is_late_if_a_microsecond_above_median(
    value: int, flags: tuple[str, ...], late: int
) -> None:
    """A window without flags is late if it is at least a microsecond (2,500 ticks) longer than the
    median."""
    windows = [
        *(make_late_window(10000 + 10 * i) for i in range(9)),
        make_late_window(value, flags),
    ]
    assert count_late_windows(windows) == late
    assert count_late_windows(windows, None) == 0


def test_long_window_is_late_if_10_percent_above_median() -> None:
    windows = [
        *(make_late_window(1_000_000) for _ in range(9)),
        make_late_window(1_090_000),
        make_late_window(1_110_000),
    ]
    assert count_late_windows(windows) == 1


@pytest.mark.parametrize("loop", [(1, 3, 1000), (1, 0, 300)])
def test_windows_are_compared_with_the_same_loop_only(loop: tuple[int, int, int]) -> None:
    """Each layout and loop count has its own usual time, so that windows of a longer loop are not
    late."""
    short = [make_late_window(10_000 + 1_000 * (i % 2)) for i in range(6)]
    long = [make_late_window(20_000, loop=loop) for _ in range(4)]
    assert count_late_windows([*long, *short]) == 0
    late = [make_late_window(13_501), make_late_window(13_000), make_late_window(22_501, loop=loop)]
    assert count_late_windows([*long, *short, *late[1:2]]) == 0
    assert count_late_windows([*short, late[0], *long, late[2]]) == 2


@pytest.mark.parametrize(("slow", "late"), [("abc", 30), ("a", 0)])
def test_windows_of_a_process_are_late_if_most_variants_are_slower(slow: str, late: int) -> None:
    """In one process of five, windows take 1.4 times as long. If all variants are slower, the
    process was disturbed, and the windows are late. If one variant is slower, the windows are not
    late."""
    windows = [
        make_late_window(
            14_000 + block if process == 5 and name in slow else 10_000 + block,
            loop=(process, block % 2, 1000), variant=name, block=10 * process + block,
        )
        for process in range(1, 6) for block in range(10) for name in "abc"
    ]  # fmt: skip
    assert count_late_windows(windows) == late


def make_slow_stretch(blocks: range, factor: float) -> list[Sample]:
    """Return 200 blocks of the variants a and b. In `blocks`, windows of variant a take `factor`
    times as long. If `factor` is below 2, windows of variant b take `factor` times as long, too."""
    return [
        make_late_window(
            int(10_000 * (factor if block in blocks and (factor < 2 or name == "a") else 1)),
            loop=(1, block % 4, 1000), variant=name, block=block,
        )
        for block in range(200) for name in "ab"
    ]  # fmt: skip


def test_late_windows_are_found_by_variant_and_benchmark() -> None:
    """Windows of 10,000 ticks are late from 12,500 ticks on. In block 2, two of three windows are
    late; in block 7, one of two windows is late. Flagged windows are ignored."""
    windows = [make_late_window(10_000, variant=name, block=n) for n in range(7) for name in "ab"]
    del windows[4:6]
    windows += [make_late_window(value, block=2, variant="a") for value in (13_000, 20_000, 10_000)]
    windows += [make_late_window(value, block=7, variant="b") for value in (15_000, 10_000)]
    windows += [make_late_window(99_000, ("preempted",), block=2, variant=name) for name in "bc"]
    found = lateness.compute_lateness_by_variant(windows, 2_500_000)
    whole = (3 / 17, 1.5, 2 / 3)
    assert found == {
        "a": Lateness(2, frozenset({2}), *whole),
        "b": Lateness(1, frozenset({7}), *whole),
        "c": Lateness(0, frozenset(), *whole),
    }
    assert lateness.collect_late_blocks_of_variants(found.values()) == {2, 7}
    assert lateness.compute_lateness_by_variant(windows[:5], 1.0) == dict.fromkeys(
        "ab", lateness.NOT_LATE
    )


def test_ratio_of_late_windows_is_finite_if_usual_windows_take_no_tick() -> None:
    """On a clock with large steps, most windows of a few passes take no tick. summary.json would
    have no number for an infinite ratio, and would be refused when it is read."""
    windows = [make_late_window(value) for value in (0, 0, 0, 0, 9000)]
    assert lateness.compute_lateness_by_variant(windows, 2_500_000)["v"].ratio == 9000


def test_late_windows_are_compared_with_the_median_of_their_group() -> None:
    group = lateness.assign_group_numbers(
        np.array([0, 1, 0, 1, 0, 1, 0]), np.array([5, 5, 5, 5, 9, 5, 9])
    )
    values = np.array([4.0, 9.0, 1.0, 2.0, 7.0, 3.0, 8.0])
    assert [*lateness.compute_group_medians(values, group)] == [2.5, 3, 2.5, 3, 7.5, 3, 7.5]


@pytest.mark.parametrize(
    ("env", "lateness_found", "expected"),
    [
        # A counter that does not exceed its limit is no cause.
        ({"steal_seconds": "0.5"}, Lateness(share=0.1), "vary by themselves"),
        ({"steal_seconds": "0.6"}, Lateness(share=0.1), "a hypervisor took the CPU away"),
        ({"others_seconds": "5"}, Lateness(share=0.1), "vary by themselves"),
        ({"others_seconds": "6", "sibling_seconds": "50"}, Lateness(), "other programs"),
        ({"sibling_seconds": "5"}, Lateness(share=0.1), "vary by themselves"),
        ({"sibling_seconds": "6"}, Lateness(share=0.1), "busy for 6 % of the time"),
        # 2000 interrupts in 100 s hit at most 0.06 % of the windows, which last up to 30 us.
        ({"interrupts": "2000"}, Lateness(share=0.00119), "came 20 times in a second"),
        ({"interrupts": "2000"}, Lateness(share=0.00121), "vary by themselves"),
        # A busy sibling thread makes windows late in stretches, by a factor below 2.2.
        ({}, Lateness(share=0.1, ratio=2.1, together=0.51), "2.1 times as long"),
        ({}, Lateness(share=0.1, ratio=2.2, together=0.51), "not observed"),
        ({}, Lateness(share=0.1, ratio=2.1, together=0.5), "vary by themselves"),
        ({"steal_seconds": ""}, Lateness(share=0.1), "not observed"),
        ({"others_seconds": ""}, Lateness(share=0.1), "not observed"),
        ({"interrupts": ""}, Lateness(share=0.1), "not observed"),
        ({"seconds": "0"}, Lateness(share=0.1), "not observed"),
    ],
)
def test_late_windows_have_a_cause_above_its_limit(
    env: dict[str, str], lateness_found: Lateness, expected: str
) -> None:
    assert expected in lateness.find_lateness_cause({**QUIET, **env}, lateness_found, 0.05).words


def test_caveat_of_late_windows_begins_above_a_hundredth() -> None:
    assert lateness.describe_late_windows(QUIET, Lateness(share=0.01)) == ""
    assert lateness.describe_late_windows(QUIET, Lateness(share=0.0125)) == (
        "1.2 % of the windows late, and the interval also holds the cost of the other blocks: no"
        " disturbance was seen, so these windows vary by themselves; next: nothing helps on this"
        " CPU"
    )


QUIET = {"seconds": "100", "steal_seconds": "0", "others_seconds": "0", "interrupts": "200"}


@pytest.mark.parametrize(
    ("env", "windows", "spread", "expected", "remedy"),
    [
        (
            {"steal_seconds": "3"},
            make_slow_stretch(range(9), 1.3),
            0,
            "away for 3.0 %",
            "of your own",
        ),
        ({"others_seconds": "9"}, make_slow_stretch(range(9), 1.3), 0, "other programs", "end the"),
        ({"sibling_seconds": "50"}, make_slow_stretch(range(9), 9), 0, "busy for 50 %", "sibling"),
        ({}, make_slow_stretch(range(9), 1.3), 0.2, "frequency changed by up to 20 %", "cpupower"),
        (
            {},
            make_slow_stretch(range(9), 1.4),
            0,
            "1.4 times as long, as beside a busy sib",
            "sibling",
        ),
        (
            {"interrupts": "90000"},
            make_slow_stretch(range(0, 90, 9), 9),
            0,
            "900 times in",
            "irqaff",
        ),
        (
            {},
            make_slow_stretch(range(0, 90, 9), 9),
            0,
            "vary by themselves",
            "nothing helps on this",
        ),
        ({"seconds": ""}, make_slow_stretch(range(0, 90, 9), 9), 0, "not observed", "quieter"),
    ],
)
def test_likely_cause_of_late_windows_is_named(
    env: dict[str, str], windows: list[Sample], spread: float, expected: str, remedy: str
) -> None:
    found = lateness.compute_lateness_by_variant(windows, 2_500_000)["a"]
    cause = lateness.find_lateness_cause({**QUIET, **env}, found, spread)
    assert expected in cause.words and remedy in cause.remedy
    caveat = lateness.describe_late_windows({**QUIET, **env}, found, spread)
    assert cause.words in caveat and cause.remedy in caveat
    few = replace(found, share=0.009)
    assert lateness.describe_late_windows({**QUIET, **env}, few, spread) == ""


def test_busy_time_of_sibling_threads_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel lists the sibling threads of a CPU; the time for which they were busy is
    counted."""
    monkeypatch.setattr(disturbance, "SIBLINGS", str(tmp_path / "{}"))
    (tmp_path / "1").write_text("0-1,5\n")
    assert disturbance.find_sibling_cpus(1) == {0, 5} and disturbance.find_sibling_cpus(2) == set()
    idle, busy = (0.0,) * 8, (3.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    before, after = (CounterSnapshot(0.0, {0: on, 1: idle}, {}, CHILDREN) for on in (idle, busy))
    assert disturbance.compute_disturbances(before, after, 1)["sibling_seconds"] == 4.5
    assert "sibling_seconds" not in disturbance.compute_disturbances(before, after, 2)


def test_late_blocks_widen_the_cost_interval() -> None:
    """In a quarter of the blocks, the sibling thread is busy, and a variant adds twice its usual
    cost. The interval also contains the cost in the other blocks."""
    samples = latewindows.simulate_late_windows(5, latewindows.Disturbance(0.25, 10, 2.0))
    results = compute_results(samples, [replace(make_tier(tsc_khz="2600000"), kernel="k")])
    found = {result.variant: result for result in results}["large"]
    late = lateness.collect_late_blocks_of_variants(
        r.late for r in results if r.variant in ("base", "large")
    )
    others = [one for one in found.deltas if one.block not in late]
    quiet = location.estimate_series_location(others, found.resolution)
    every = location.estimate_series_location(found.deltas, found.resolution)
    assert found.delta_ci == every.interval.union(quiet.interval)
    assert found.delta_ci != every.interval
    assert quiet.interval.lo <= 3 <= quiet.interval.hi < every.value
    assert "of the windows late, and the interval also holds the cost" in found.note


@pytest.mark.many
@pytest.mark.parametrize("disturbance_kind", latewindows.DISTURBANCES)
def test_late_windows_seldom_make_a_false_verdict(disturbance_kind: str) -> None:
    score = estimators.score_estimator_on_disturbance(
        disturbance_kind, 20 * estimators.LATE_WINDOWS_DIVISOR
    )
    assert score.runs == 20 and not score.list_missed_limits(slack=3)


def test_simulation_detects_ignored_late_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "widen_for_late_blocks", lambda interval, *_: interval)
    some = latewindows.Disturbance(0.3, 10, 2.0)
    score = estimators.score_estimator_on_late_windows(some, 20 * estimators.LATE_WINDOWS_DIVISOR)
    assert "covers less than 93%" in score.list_missed_limits(slack=3)


@pytest.mark.parametrize(
    ("env", "late", "level", "expected"),
    [
        ({"seconds": "100", "steal_seconds": "0.4", "others_seconds": "4"}, 1, Level.GOOD, ""),
        ({"seconds": "100", "steal_seconds": "2"}, 0, Level.FAIR, "away for 2.0 % of the time"),
        ({"seconds": "100", "steal_seconds": "9"}, 0, Level.POOR, "away for 9.0 % of the time"),
        ({"seconds": "100", "others_seconds": "9"}, 0, Level.FAIR, "CPU for 9 % of the time"),
        ({"seconds": "100", "others_seconds": "40"}, 0, Level.POOR, "CPU for 40 % of the time"),
        ({"seconds": "0", "steal_seconds": "0"}, 0, Level.GOOD, ""),
        ({"tsc_khz_spread": "0.009"}, 0, Level.GOOD, ""),
        ({"tsc_khz_spread": "0.031"}, 0, Level.POOR, "differed by 3.1 % from one process"),
        ({}, 2, Level.FAIR, "2.0 % of the timed windows over a microsecond late"),
        ({}, 45, Level.FAIR, "45.0 % of the timed windows"),
    ],
)
def test_disturbance_lowers_the_grade(
    env: dict[str, Any], late: int, level: Level, expected: str
) -> None:
    own = Lateness(late, share=late / 100)
    found = grade_evidence(Evidence(make_tier(**env), {}, [make_result("b", "x", late=own)]))
    assert found.level == level
    assert expected in "".join(reason.words for reason in found.reasons)


@pytest.mark.parametrize(
    ("late", "together", "verdict"),
    [(29, 1.0, SLOWER), (31, 1.0, WITHHELD), (45, 0.1, SLOWER), (2, 1.0, SLOWER)],
)
def test_verdicts_are_withheld_only_if_late_windows_are_many_and_in_stretches(
    late: int, together: float, verdict: str
) -> None:
    own = Lateness(late, share=late / 100, together=together)
    (found,) = withhold_verdicts(
        {}, [make_tier()], [make_result("b", "x", 9.0, verdict=SLOWER, late=own)]
    )
    assert found.verdict == verdict
    assert (verdict == WITHHELD) == ("the timed windows over a microsecond late" in found.note)


@pytest.mark.parametrize("counter", ["steal_seconds", "others_seconds"])
def test_verdicts_are_kept_if_cpu_time_is_lost(counter: str) -> None:
    """Verdicts are not withheld: windows that lost CPU time are late or flagged, and the intervals
    allow for such windows."""
    env = {"seconds": "100", counter: "60"}
    tier = replace(make_tier(), env={**make_tier().env, **env})
    rows = [make_result("b", "x", 9.0, verdict=SLOWER)]
    assert grade_evidence(Evidence(tier, {}, rows)).level == Level.POOR
    assert withhold_verdicts({}, [tier], rows) == rows
