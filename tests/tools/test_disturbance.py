# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the counters of disturbances during a measurement in user space, and of the grade that
disturbances give."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import pytest
import rawdata
from kmtools.analyse import stats
from kmtools.analyse.grade import Evidence, Level, grade_evidence
from kmtools.measure import collect, disturbance, native
from kmtools.measure.disturbance import Reading
from kmtools.measure.samples import Sample
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


def test_counters_of_each_cpu_are_parsed() -> None:
    times = disturbance.parse_cpu_times(STAT, 0.01)
    assert set(times) == {0, 1}
    assert times[1][disturbance.STEAL] == pytest.approx(0.3)
    assert disturbance.parse_interrupt_counts(INTERRUPTS) == {0: 1010, 1: 2020}


def test_empty_counter_files_give_no_counters() -> None:
    assert disturbance.parse_cpu_times("", 0.01) == {}
    assert disturbance.parse_interrupt_counts("") == {}
    nothing = Reading(1.0, {}, {}, CHILDREN)
    found = disturbance.compute_disturbances(nothing, Reading(3.0, {}, {}, CHILDREN), 1)
    assert found == {"seconds": 2.0, "page_faults": 0, "switches": 0}


def test_disturbance_is_the_difference_of_two_readings() -> None:
    idle = (0.0,) * 8
    busy = (3.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.5)
    before = Reading(0.0, {1: idle}, {1: 5}, CHILDREN)
    found = disturbance.compute_disturbances(before, Reading(9.0, {1: busy}, {1: 12}, CHILDREN), 1)
    assert (found["steal_seconds"], found["others_seconds"], found["interrupts"]) == (0.5, 4.0, 7)
    assert disturbance.format_env_lines(found).startswith("seconds=9\nsteal_seconds=0.5\n")


def test_counters_of_processes_are_added(tmp_path: Path) -> None:
    """Only counters that are in the env file of every process are added."""
    both: tuple[dict[str, Any], ...] = ({"interrupts": "4"}, {})
    for number, more in enumerate(both, 1):
        rawdata.write_tier(
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
def test_process_writes_its_counters_to_env(tmp_path: Path) -> None:
    native.run_kmbench(tmp_path / "part", ["--blocks", 2, "empty-loop"], lambda *_: None)
    env = collect.read_key_values(tmp_path / "part" / "env")
    assert float(env["seconds"]) > 0 and int(env["page_faults"]) > 0


FIRST = (1, 0, 1000)


def make_window(
    value: int, flags: tuple[str, ...] = (), place: tuple[int, int, int] = FIRST
) -> Sample:
    """Return a sample; `place` is its process, layout and number of loops."""
    process, layout, loops = place
    return Sample(
        "native", "k", process, "b", "v", "loop", layout, 0, 0, 0, loops, None, value, "TSC cycles",
        None, flags,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "flags", "late"),
    [(12000, (), 0), (12600, (), 1), (12600, ("preempted",), 0), (9000, (), 0)],
)
def test_late_windows_are_counted(value: int, flags: tuple[str, ...], late: int) -> None:
    """A window without flags is late if it is at least a microsecond (2,500 ticks) longer than the
    median."""
    windows = [*(make_window(10000 + 10 * i) for i in range(9)), make_window(value, flags)]
    assert stats.count_late_windows(windows, 2_500_000) == late
    assert stats.count_late_windows(windows, None) == 0


def test_long_window_is_late_above_10_percent() -> None:
    windows = [
        *(make_window(1_000_000) for _ in range(9)),
        make_window(1_090_000),
        make_window(1_110_000),
    ]
    assert stats.count_late_windows(windows, 2_500_000) == 1


@pytest.mark.parametrize("place", [(2, 0, 1000), (1, 3, 1000), (1, 0, 300)])
def test_windows_are_compared_with_the_same_loop_only(place: tuple[int, int, int]) -> None:
    """Each process, layout and loop count has its own median, so that windows of a longer loop are
    not late."""
    short = [make_window(10_000 + 1_000 * (i % 2)) for i in range(6)]
    long = [make_window(20_000, place=place) for _ in range(4)]
    assert stats.count_late_windows([*long, *short], 2_500_000) == 0
    late = [make_window(13_001), make_window(13_000), make_window(22_501, place=place)]
    assert stats.count_late_windows([*long, *short, *late[:2]], 2_500_000) == 0
    assert stats.count_late_windows([*short, make_window(13_001), *long, late[2]], 2_500_000) == 1
    assert (
        stats.count_late_windows(
            [*long, *short, make_window(10_000), make_window(13_001)], 2_500_000
        )
        == 1
    )


@pytest.mark.parametrize(
    ("env", "late", "level", "words"),
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
        ({}, 11, Level.POOR, "11.0 % of the timed windows"),
    ],
)
def test_disturbance_lowers_the_grade(
    env: dict[str, Any], late: int, level: Level, words: str
) -> None:
    found = grade_evidence(Evidence(make_tier(**env), {}, [make_result("b", "x", late=late)]))
    assert found.level == level
    assert words in "".join(reason.words for reason in found.reasons)
