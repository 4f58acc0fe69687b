# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the share that markers have in a system call's duration, with the numbers published in
2008 and with invented numbers."""

from __future__ import annotations

from typing import Any

import pytest
from kmtools.report import impact
from kmtools.report.impact import Estimate


def make_summary_entry(
    benchmark: str, variant: str, median: float, delta: float | None
) -> dict[str, Any]:
    """Return a row of summary.json; the intervals are `median` ± 1 and, for the added cost,
    `delta` ± 1."""
    return {
        "tier": "native",
        "kernel": "k",
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
    make_summary_entry("cold-branch", "memory", 500, 400),
    make_summary_entry("cold-branch", "l1-hit", 101, 1),
    make_summary_entry("getppid-pressure", "compiled-out", 1000, None),
    make_summary_entry("getppid-pressure", "generic", 1050, 50),
]


def test_computed_time_share_of_markers_equals_the_published_one() -> None:
    then = impact.compute_published_marker_share()
    assert f"{then.value:.2f} {then.half:.2f}" == "6.72 0.70"


def test_error_of_a_time_share_combines_errors_of_marker_and_call() -> None:
    for added_half, call_half, share_half in ((3, 0, 0.3), (0, 50, 0.5), (3, 40, 0.5)):
        share = impact.compute_percent_of_call(Estimate(100, added_half), Estimate(1000, call_half))
        assert share.value == pytest.approx(10)
        assert share.half == pytest.approx(share_half)


def test_error_of_an_estimate_is_the_longer_side_of_its_interval() -> None:
    """The two ends of an interval may have different distances from the estimate; the error is the
    longer distance."""
    entry = {**make_summary_entry("getppid-pressure", "generic", 1050, 2), "delta_ci_hi": 12.0}
    assert impact.parse_added_cost(entry) == Estimate(2, 10)
    entry = {**make_summary_entry("getppid-pressure", "generic", 1050, 2), "ci_lo": 1000}
    assert impact.parse_median_cost(entry) == Estimate(1050, 50)


def test_impact_table_has_computed_and_measured_time_shares() -> None:
    found = {row.how: row.percent for row in impact.compute_marker_shares(RUN)}
    assert found["computed from cold-branch"].value == pytest.approx(79.8)
    assert found["computed from cold-branch"].half == pytest.approx(0.294, abs=0.001)
    assert found["measured, generic"].value == pytest.approx(5.0)
    assert len(found) == 2


def test_clock_reading_time_is_subtracted_from_the_system_call() -> None:
    clock = make_summary_entry("getppid-pressure", "clock", 200, -800)
    found = {row.how: row.percent for row in impact.compute_marker_shares([*RUN, clock])}
    assert found["computed from cold-branch"].value == pytest.approx(99.75)
    assert found["measured, generic"].value == pytest.approx(6.25)


def test_impact_leaves_out_rows_without_an_interval() -> None:
    short = [{**row, "ci_lo": None, "ci_hi": None} for row in RUN]
    assert not list(impact.compute_marker_shares(short))
    short = [{**row, "delta_ci_lo": None} for row in RUN]
    assert not list(impact.compute_marker_shares(short))


def test_impact_leaves_out_rows_without_a_difference() -> None:
    """A row has no difference from a baseline if all windows of the A/A clone are flagged."""
    alone = {"delta": None, "delta_ci_lo": None, "delta_ci_hi": None}
    for row in (RUN[0], RUN[1]):
        found = impact.compute_marker_shares([*RUN, {**row, **alone}])
        assert [share.how for share in found] == ["measured, generic"]
    found = impact.compute_marker_shares([*RUN, {**RUN[3], **alone}])
    assert [share.how for share in found] == ["computed from cold-branch"]


@pytest.mark.parametrize("verdict", ["withheld", "slower"])
def test_impact_leaves_out_rows_with_withheld_verdicts(verdict: str) -> None:
    """Withheld rows were measured too poorly for a verdict."""
    run = [{**row, "verdict": verdict} for row in RUN]
    assert bool(list(impact.compute_marker_shares(run))) is (verdict == "slower")


def test_impact_is_computed_in_each_kernel_alone() -> None:
    """The computed share needs three rows of one kernel. In kernel j, only two of these rows were
    measured, so that no share is computed."""
    other = [{**row, "kernel": "j", "median": 2 * row["median"]} for row in RUN[:3:2]]
    (computed, measured) = impact.compute_marker_shares([*RUN, *other])
    assert computed.kernel == "k" and computed.percent.value == pytest.approx(79.8)
    assert measured.kernel == "k" and measured.percent.value == pytest.approx(5.0)
    other.append({**RUN[3], "kernel": "j"})
    lines = [*impact.render_impact_section([*RUN, *other])]
    assert [line.split("|")[1:3] for line in lines if line.startswith("| native")] == [
        [" native, kernel k ", " computed from cold-branch "],
        [" native, kernel k ", " measured, generic "],
        [" native, kernel j ", " measured, generic "],
    ]


def test_call_that_takes_no_longer_than_the_clock_has_no_shares() -> None:
    clock = make_summary_entry("getppid-pressure", "clock", 1000, 0)
    assert not list(impact.compute_marker_shares([*RUN, clock]))


def test_impact_leaves_out_emulated_cycles() -> None:
    emulated = [{**row, "tier": "vm"} for row in RUN]
    assert not list(impact.render_impact_section(emulated))
