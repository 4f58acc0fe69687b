# SPDX-License-Identifier: GPL-2.0-only
"""The arithmetic of 2008, with its published numbers and with invented ones."""

from __future__ import annotations

from typing import Any

import pytest
from kmtools.report import impact
from kmtools.report.impact import Value


def entry(benchmark: str, variant: str, median: float, delta: float | None) -> dict[str, Any]:
    """Return a row of summary.json whose intervals reach 1 to each side."""
    return {
        "tier": "native",
        "benchmark": benchmark,
        "variant": variant,
        "median": median,
        "ci_lo": median - 1,
        "ci_hi": median + 1,
        "delta": delta,
        "delta_ci_lo": None if delta is None else delta - 1,
        "delta_ci_hi": None if delta is None else delta + 1,
    }


RUN = [
    entry("cold-branch", "memory", 500, 400),
    entry("cold-branch", "l1-hit", 101, 1),
    entry("getppid-pressure", "compiled-out", 1000, None),
    entry("getppid-pressure", "generic", 1050, 50),
]


def test_gives_the_published_result() -> None:
    then = impact.published_share()
    assert f"{then.value:.2f} {then.half:.2f}" == "6.72 0.70"


def test_errors_propagate() -> None:
    assert impact.share(Value(100, 3), Value(1000, 0)).value == pytest.approx(10)
    assert impact.share(Value(100, 3), Value(1000, 0)).half == pytest.approx(0.3)
    assert impact.share(Value(100, 0), Value(1000, 50)).half == pytest.approx(0.5)
    assert impact.share(Value(100, 3), Value(1000, 40)).half == pytest.approx(0.5)


def test_computed_and_measured_side_by_side() -> None:
    found = {row.how: row.percent for row in impact.shares(RUN)}
    assert found["computed from cold-branch"].value == pytest.approx(79.8)
    assert found["computed from cold-branch"].half == pytest.approx(0.294, abs=0.001)
    assert found["measured, generic"].value == pytest.approx(5.0)
    assert len(found) == 2


def test_the_reading_of_the_clock_is_no_part_of_the_call() -> None:
    clock = entry("getppid-pressure", "clock", 200, -800)
    found = {row.how: row.percent for row in impact.shares([*RUN, clock])}
    assert found["computed from cold-branch"].value == pytest.approx(99.75)
    assert found["measured, generic"].value == pytest.approx(6.25)


def test_rows_without_an_interval_are_left_out() -> None:
    short = [{**row, "ci_lo": None, "ci_hi": None} for row in RUN]
    assert not list(impact.shares(short))
    short = [{**row, "delta_ci_lo": None} for row in RUN]
    assert not list(impact.shares(short))


def test_emulated_cycles_are_not_used() -> None:
    emulated = [{**row, "tier": "vm"} for row in RUN]
    assert not list(impact.lines(emulated))
