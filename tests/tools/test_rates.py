# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the event rate at which a mechanism uses 1 % of a CPU, with invented costs."""

from __future__ import annotations

from typing import Any

import pytest
from kmtools.base.errors import FailedError, UnableError
from kmtools.report import rates
from kmtools.report.figures import canvas

ENV = {
    "tiers": [
        {"tier": "native", "kernel": "k", "unit": "TSC cycles", "env": {"tsc_khz": "2000000"}},
        {"tier": "vm", "kernel": "k", "unit": "ticks (emulated)", "env": {"tsc_khz": "2000000"}},
    ]
}


def make_entry(
    benchmark: str, variant: str, cost: tuple[float, float, float], tier: str
) -> dict[str, Any]:
    """Return a result as in summary.json; `cost` has the lower end of the interval of the added
    cost, the added cost, and the upper end."""
    low, middle, high = cost
    return {
        **{"tier": tier, "kernel": "k", "benchmark": benchmark, "variant": variant},
        **{"baseline": "none", "delta": middle, "delta_ci_lo": low, "delta_ci_hi": high},
        "noise_floor": 0.2,
    }


SUMMARY = {
    "results": [
        make_entry("marker-enabled", "typed-direct-call", (19, 20, 21), "native"),
        make_entry("marker-enabled", "none-clone", (-1, 0, 1), "native"),
        make_entry("marker-enabled", "tracepoint", (1, 2, 3), "vm"),
        make_entry("sdt-trapped", "sdt-nop", (4000, 4000, 4000), "native"),
        make_entry("marker-enabled", "function-pointer", (1, 2, 3), "native"),
        make_entry("sdt-dormant", "sdt-jump", (-0.1, 0.001, 0.1), "native"),
        make_entry("sdt-dormant", "sdt-func-ptr", (0.1, 0.3, 0.4), "native"),
        make_entry("getppid-quiet", "generic", (1, 2, 3), "native"),
    ],
    "sites": [
        {
            **{"tier": "native", "kernel": "k", "benchmark": "density-full"},
            **{"flavour": "marker-generic", "cost": 0.6, "ci_lo": 0.5, "ci_hi": 0.7},
        }
    ],
}


def test_only_mechanisms_on_real_cpus_are_listed() -> None:
    """Clones, system calls and emulated tiers (measurement environments) are left out."""
    found = [
        (cost.state, cost.name, cost.shown_ns)
        for cost in rates.compute_mechanism_costs(SUMMARY, ENV)
    ]
    assert [(state, name) for state, name, _ in found] == [
        ("dormant", "sdt-jump"),
        ("dormant", "sdt-func-ptr"),
        ("dormant", "marker-generic"),
        ("enabled", "function-pointer"),
        ("enabled", "typed-direct-call"),
        ("enabled", "sdt-nop"),
    ]
    assert [ns for *_, ns in found] == pytest.approx([0.1, 0.15, 0.3, 1, 10, 2000])


def test_numbers_have_three_significant_digits() -> None:
    assert [rates.format_number(n) for n in (0.01234, 1.234, 45.67, 999.6, 1370, 43314539)] == [
        *("0.0123", "1.23", "45.7", "1,000", "1,370", "43,300,000"),
    ]


def test_event_rate_that_uses_1_percent_of_a_cpu() -> None:
    """At 10 ns per event, a million events per second use 1 %. If the interval contains 0, the rate
    is a lower limit."""
    by_name = {cost.name: cost for cost in rates.compute_mechanism_costs(SUMMARY, ENV)}
    typed, jump = by_name["typed-direct-call"], by_name["sdt-jump"]
    assert typed.events_per_second_at_one_percent == pytest.approx(
        1e6
    ) and typed.compute_cpu_percent(1e6) == pytest.approx(1)
    assert not typed.is_upper_limit
    assert jump.is_upper_limit and jump.events_per_second_at_one_percent == pytest.approx(1e8)


def test_cheapest_mechanism_is_named() -> None:
    text = " ".join(
        rates.render_rates_text(rates.compute_mechanism_costs(SUMMARY, ENV), 1e6).split()
    )
    assert "dormant, at 1,000,000 events/s: sdt-jump costs least, at most 0.01 %" in text
    assert "not measurably costlier: sdt-func-ptr enabled" in text
    assert "enabled, at 1,000,000 events/s: typed-direct-call costs least" in text
    assert "over 100 %" in text
    assert "state mechanism ns/event events/s at 1 % CPU share dormant sdt-jump" in text
    assert "CPU share: share of one CPU at 1,000,000 events/s (--rate)." in text
    assert "< and > mark limits" in text


def test_mechanism_above_100_percent_of_a_cpu_is_left_out() -> None:
    text = rates.render_rates_text(rates.compute_mechanism_costs(SUMMARY, ENV), 1e8)
    assert "enabled, at 100,000,000 events/s: typed-direct-call costs least" in text
    slow = {**SUMMARY, "results": [SUMMARY["results"][3]]}
    text = rates.render_rates_text(rates.compute_mechanism_costs(slow, ENV), 1e8)
    assert (
        "enabled: every measured mechanism needs over 100 % of a CPU at 100,000,000 events/s"
        in text
    )


@pytest.mark.parametrize("rate", [0, 0.5, -1, 2e8, float("nan")])
def test_rates_outside_the_range_are_refused(rate: float) -> None:
    with pytest.raises(UnableError, match="from 1 to 1e\\+08 events/s"):
        rates.render_rates_text(rates.compute_mechanism_costs(SUMMARY, ENV), rate)


def test_a_run_without_times_of_a_real_cpu_is_refused() -> None:
    with pytest.raises(FailedError, match="no tier"):
        rates.render_rates_text(
            rates.compute_mechanism_costs(SUMMARY, {"tiers": ENV["tiers"][1:]}), 1e6
        )


def test_points_of_a_curve_are_shares_of_a_cpu() -> None:
    """At 2 GHz, a cost of 20 ticks is 10 ns, which are 1 % of a CPU at a million events per second.
    If only an upper limit of the cost is known, the share has no lower end."""
    curves = {
        curve.name: curve.points
        for chart in rates.make_rate_charts(rates.compute_mechanism_costs(SUMMARY, ENV))
        for curve in chart.curves
    }
    for power, point in enumerate(curves["typed-direct-call"]):
        share = 10.0 ** (power - 6)
        assert point == pytest.approx((10.0**power, share, 0.95 * share, 1.05 * share))
    for power, point in enumerate(curves["sdt-jump"]):
        assert point == pytest.approx((10.0**power, *[10.0 ** (power - 8)] * 3))
    assert {len(points) for points in curves.values()} == {9}


def test_figure_is_reproducible() -> None:
    charts = rates.make_rate_charts(rates.compute_mechanism_costs(SUMMARY, ENV))
    assert [chart.title.split(",")[0] for chart in charts] == ["Dormant", "Enabled"]
    first, second = (canvas.render_figure_file(charts, "rates").decode() for _ in range(2))
    assert first == second and "events/s" in first and "marker-generic" in first


@pytest.mark.parametrize(
    ("benchmark", "variant", "state"),
    [
        ("peer-bpf-fentry", "bpf-fentry-off", "dormant"),
        ("peer-bpf-fentry", "bpf-fentry-on", "enabled"),
        ("peer-kprobe-optimised", "kprobe-optimised", "enabled"),
        ("empty-loop-peers", "function-pointer-off", "dormant"),
        ("getppid-quiet", "generic", None),
    ],
)
def test_state_of_a_variant_follows_from_its_benchmark(
    benchmark: str, variant: str, state: str | None
) -> None:
    """The state of a variant is the state in the first row of STATES whose patterns match its
    benchmark and variant."""
    assert rates.find_probe_state(benchmark, variant) == state
