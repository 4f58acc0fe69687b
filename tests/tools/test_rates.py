# SPDX-License-Identifier: GPL-2.0-only
"""The rate at which a mechanism takes 1 % of a CPU, with invented costs."""

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


def entry(
    benchmark: str, variant: str, ends: tuple[float, float, float], tier: str
) -> dict[str, Any]:
    """A result with an added cost."""
    low, middle, high = ends
    return {
        **{"tier": tier, "kernel": "k", "benchmark": benchmark, "variant": variant},
        **{"baseline": "none", "delta": middle, "delta_ci_lo": low, "delta_ci_hi": high},
        "noise_floor": 0.2,
    }


SUMMARY = {
    "results": [
        entry("marker-enabled", "typed-direct-call", (19, 20, 21), "native"),
        entry("marker-enabled", "none-clone", (-1, 0, 1), "native"),
        entry("marker-enabled", "tracepoint", (1, 2, 3), "vm"),
        entry("sdt-trapped", "sdt-nop", (4000, 4000, 4000), "native"),
        entry("marker-enabled", "function-pointer", (1, 2, 3), "native"),
        entry("sdt-dormant", "sdt-jump", (-0.1, 0.001, 0.1), "native"),
        entry("sdt-dormant", "sdt-func-ptr", (0.1, 0.3, 0.4), "native"),
        entry("getppid-quiet", "generic", (1, 2, 3), "native"),
    ],
    "sites": [
        {
            **{"tier": "native", "kernel": "k", "benchmark": "density-full"},
            **{"flavour": "marker-generic", "cost": 0.6, "ci_lo": 0.5, "ci_hi": 0.7},
        }
    ],
}


def test_costs_are_those_of_mechanisms_on_real_cpus() -> None:
    """No clone, no system call, and nothing emulated."""
    found = [(cost.state, cost.name, cost.shown) for cost in rates.costs(SUMMARY, ENV)]
    assert [(state, name) for state, name, _ in found] == [
        ("dormant", "sdt-jump"),
        ("dormant", "sdt-func-ptr"),
        ("dormant", "marker-generic"),
        ("enabled", "function-pointer"),
        ("enabled", "typed-direct-call"),
        ("enabled", "sdt-nop"),
    ]
    assert [ns for *_, ns in found] == pytest.approx([0.1, 0.15, 0.3, 1, 10, 2000])


def test_numbers_have_three_digits() -> None:
    assert [rates.number(n) for n in (0.01234, 1.234, 45.67, 999.6, 1370, 43314539)] == [
        *("0.0123", "1.23", "45.7", "1,000", "1,370", "43,300,000"),
    ]


def test_the_rate_of_one_percent() -> None:
    """10 ns an event: a million events a second take 1 %. What may cost nothing is a limit."""
    by_name = {cost.name: cost for cost in rates.costs(SUMMARY, ENV)}
    typed, jump = by_name["typed-direct-call"], by_name["sdt-jump"]
    assert typed.rate == pytest.approx(1e6) and typed.percent(1e6) == pytest.approx(1)
    assert not typed.is_limit
    assert jump.is_limit and jump.rate == pytest.approx(1e8)


def test_the_answer_names_what_costs_least() -> None:
    text = " ".join(rates.text(rates.costs(SUMMARY, ENV), 1e6).split())
    assert "dormant, at 1,000,000 events a second: sdt-jump costs least, at most 0.01 %" in text
    assert "these may cost no more: sdt-func-ptr enabled" in text
    assert "enabled, at 1,000,000 events a second: typed-direct-call costs least" in text
    assert "more than a CPU" in text and "1,000,000/s" in text


def test_what_needs_more_than_a_cpu_is_no_answer() -> None:
    text = rates.text(rates.costs(SUMMARY, ENV), 1e8)
    assert "enabled, at 100,000,000 events a second: typed-direct-call costs least" in text
    slow = {**SUMMARY, "results": [SUMMARY["results"][3]]}
    text = rates.text(rates.costs(slow, ENV), 1e8)
    assert "enabled: nothing that was measured bears 100,000,000 events a second" in text


@pytest.mark.parametrize("rate", [0, 0.5, -1, 2e8, float("nan")])
def test_rates_that_are_not_known_are_refused(rate: float) -> None:
    with pytest.raises(UnableError, match="from 1 to 1e\\+08 are known"):
        rates.text(rates.costs(SUMMARY, ENV), rate)


def test_a_run_without_real_times_has_no_answer() -> None:
    with pytest.raises(FailedError, match="no tier"):
        rates.text(rates.costs(SUMMARY, {"tiers": ENV["tiers"][1:]}), 1e6)


def test_the_figure_is_the_same_each_time() -> None:
    charts = rates.charts(rates.costs(SUMMARY, ENV))
    assert [chart.title.split(",")[0] for chart in charts] == ["Dormant", "Enabled"]
    first, second = (canvas.file(charts, "rates").decode() for _ in range(2))
    assert first == second and "events a second" in first and "marker-generic" in first
