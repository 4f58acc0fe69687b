# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the ratio between the costs of a kprobe and of a marker, with published and with
invented numbers."""

from __future__ import annotations

from typing import Any

import pytest
from kmtools.measure.rundir import UNIT_EMULATED, UNIT_INSTRUCTIONS, UNIT_TSC
from kmtools.report import kproberatio


def make_enabled_marker_entry(
    variant: str, delta: float | None, unit: str = UNIT_INSTRUCTIONS
) -> dict[str, Any]:
    tier = {UNIT_INSTRUCTIONS: "icount", UNIT_TSC: "metal", UNIT_EMULATED: "vm"}[unit]
    return {
        "tier": tier, "kernel": "6.1", "benchmark": "marker-enabled", "variant": variant,
        "unit": unit, "delta": delta,
    }  # fmt: skip


RUN = [
    make_enabled_marker_entry("none", None),
    make_enabled_marker_entry("varargs-probe-copies-data", 30),
    make_enabled_marker_entry("kprobe-on-probe", 615),
]


def test_kprobe_to_marker_ratio_equals_the_published_75() -> None:
    assert f"{kproberatio.compute_published_kprobe_ratio():.0f}" == "75"


def test_marker_cost_is_subtracted_from_the_kprobe_cost() -> None:
    told = kproberatio.describe_kprobe_ratios(RUN)
    assert told[:2] == [
        "In 2006, on a Pentium 4, the kprobe added 75 times the marker's cycles.",
        "Here, icount, kernel 6.1: 19.5 times the marker's instructions.",
    ]
    assert "Instructions are not cycles" in told[2]


def test_kprobe_ratio_in_cycles_has_no_instruction_remark() -> None:
    marker, kprobe = (
        make_enabled_marker_entry(RUN[1]["variant"], 40, UNIT_TSC),
        make_enabled_marker_entry("kprobe-on-probe", 2040, UNIT_TSC),
    )
    assert kproberatio.describe_kprobe_ratios([marker, kprobe])[1:] == [
        "Here, metal, kernel 6.1: 50.0 times the marker's cycles."
    ]
    assert len(kproberatio.describe_kprobe_ratios([*RUN, marker, kprobe])) == 3


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_kprobe_ratio_needs_marker_and_kprobe_rows(lost: int) -> None:
    rest = [row for row in RUN if row is not RUN[lost]]
    assert bool(kproberatio.describe_kprobe_ratios(rest)) == (lost == 0)


@pytest.mark.parametrize("row", [1, 2])
def test_withheld_rows_give_no_kprobe_ratio(row: int) -> None:
    """Withheld rows were measured too poorly for a verdict."""
    run = [{**one, "verdict": "withheld" if one is RUN[row] else "slower"} for one in RUN]
    assert kproberatio.describe_kprobe_ratios(run) == []


def test_emulated_ticks_and_unbounded_rows_give_no_kprobe_ratio() -> None:
    ticks = [{**row, "tier": "vm", "unit": UNIT_EMULATED} for row in RUN]
    assert not list(kproberatio.render_kprobe_section(ticks))
    assert not list(kproberatio.render_kprobe_section([{**row, "delta": None} for row in RUN]))
    assert not list(kproberatio.render_kprobe_section([{**row, "delta": 0.0} for row in RUN]))
