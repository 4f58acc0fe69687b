# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the event rate at which a mechanism uses 1 % of a CPU, with invented costs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from kmtools.base.errors import FailedError, UnableError
from kmtools.report import rates
from kmtools.report.figures import canvas
from kmtools.report.figures.charts import MOST_CURVES
from kmtools.report.rates import MechanismCost

ENV = {
    "tiers": [
        {"tier": "native", "kernel": "k", "unit": "TSC cycles", "env": {"tsc_khz": "2000000"}},
        {"tier": "vm", "kernel": "k", "unit": "ticks (emulated)", "env": {"tsc_khz": "2000000"}},
    ]
}


def make_cost_entry(
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
        make_cost_entry("marker-enabled", "typed-direct-call", (19, 20, 21), "native"),
        make_cost_entry("marker-enabled", "none-clone", (-1, 0, 1), "native"),
        make_cost_entry("marker-enabled", "tracepoint", (1, 2, 3), "vm"),
        make_cost_entry("sdt-trapped", "sdt-nop", (4000, 4000, 4000), "native"),
        make_cost_entry("marker-enabled", "function-pointer", (1, 2, 3), "native"),
        make_cost_entry("sdt-dormant", "sdt-jump", (-0.1, 0.001, 0.1), "native"),
        make_cost_entry("sdt-dormant", "sdt-func-ptr", (0.1, 0.3, 0.4), "native"),
        make_cost_entry("getppid-quiet", "generic", (1, 2, 3), "native"),
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


def test_rates_leave_out_rows_with_withheld_verdicts() -> None:
    """Withheld rows were measured too poorly for a verdict."""
    kept = [cost.name for cost in rates.compute_mechanism_costs(SUMMARY, ENV)]
    summary = {
        kind: [{**entry, "verdict": "withheld"} for entry in SUMMARY[kind][:1]] + SUMMARY[kind][1:]
        for kind in ("results", "sites")
    }
    found = [cost.name for cost in rates.compute_mechanism_costs(summary, ENV)]
    assert found == [n for n in kept if n not in ("typed-direct-call", "marker-generic")]


def test_rates_have_three_significant_digits() -> None:
    assert [rates.format_number(n) for n in (0.01234, 1.234, 45.67, 999.6, 1370, 43314539)] == [
        *("0.0123", "1.23", "45.7", "1,000", "1,370", "43,300,000"),
    ]


def test_million_events_of_10_ns_use_1_percent_of_a_cpu() -> None:
    """At 10 ns per event, a million events per second use 1 %, exact except for rounding. If the
    interval of the cost contains 0, only an upper limit of the cost is known, so the rate is a
    lower limit."""
    by_name = {cost.name: cost for cost in rates.compute_mechanism_costs(SUMMARY, ENV)}
    typed, jump = by_name["typed-direct-call"], by_name["sdt-jump"]
    assert typed.events_per_second_at_one_percent == pytest.approx(1e6, rel=1e-12)
    assert typed.compute_cpu_percent(1e6) == pytest.approx(1, rel=1e-12)
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
    with pytest.raises(UnableError, match="between 1 and 1e\\+08 events/s"):
        rates.render_rates_text(rates.compute_mechanism_costs(SUMMARY, ENV), rate)


def test_a_run_without_times_of_a_real_cpu_is_refused() -> None:
    with pytest.raises(FailedError, match="no tier"):
        rates.render_rates_text(
            rates.compute_mechanism_costs(SUMMARY, {"tiers": ENV["tiers"][1:]}), 1e6
        )
    poor = {"results": [{**entry, "verdict": "withheld"} for entry in SUMMARY["results"]]}
    with pytest.raises(FailedError, match="too poor for a verdict"):
        rates.render_rates_text(rates.compute_mechanism_costs(poor, ENV), 1e6)


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


def test_figure_of_rates_is_reproducible() -> None:
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
def test_state_dormant_or_enabled_follows_from_the_benchmark(
    benchmark: str, variant: str, state: str | None
) -> None:
    """The state of a variant is the state in the first row of STATES whose patterns match its
    benchmark and variant."""
    assert rates.find_probe_state(benchmark, variant) == state


def make_mechanism_cost(state: str, name: str, low: float, ns: float, high: float) -> MechanismCost:
    """Return a cost in ns per event."""
    return MechanismCost("native", "k", state, name, low, ns, high)


def test_table_of_rates_marks_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 10,000 events/s, 2 ns per event are 0.002 % of a CPU, 500 ns are 0.5 %, and 10 us are
    10 %. If a line is wider than the terminal, a row is two lines."""
    costs = [
        make_mechanism_cost("dormant", "jump", 0.0, 1.0, 2.0),
        make_mechanism_cost("dormant", "slow", 400.0, 500.0, 600.0),
        make_mechanism_cost("enabled", "ten", 1e4, 1e4, 1e4),
        make_mechanism_cost("enabled", "all", 1e5, 1e5, 1e5),
        make_mechanism_cost("enabled", "call", 1e5, 1.01e5, 2e5),
    ]
    rows = [
        ["state", "mechanism", "ns/event", "events/s at 1 %", "CPU share"],
        ["dormant", "jump", "<2.00", ">5,000,000", "<0.002 %"],
        ["dormant", "slow", "500", "20,000", "0.5 %"],
        ["enabled", "ten", "10,000", "1,000", "10 %"],
        ["enabled", "all", "100,000", "100", "100 %"],
        ["enabled", "call", "101,000", "99.0", "over 100 %"],
    ]
    monkeypatch.setenv("COLUMNS", "59")
    lines = rates.format_cost_table(costs, 1e4)
    assert [re.split(" {2,}", line) for line in lines] == rows
    assert max(map(len, lines)) == 57
    monkeypatch.setenv("COLUMNS", "58")
    lines = rates.format_cost_table(costs, 1e4)
    assert lines[:4] == [
        "state    mechanism", "    ns/event  events/s at 1 %   CPU share",
        "dormant  jump", "       <2.00       >5,000,000    <0.002 %",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ([("a", 1, 2, 3), ("b", 3, 4, 5), ("c", 3.1, 4, 5)],
         "0.3 % of a CPU; not measurably costlier: b"),
        ([("b", 2.9, 4, 5), ("a", 1, 5, 4.5)], "0.45 % of a CPU; not measurably costlier: b"),
        ([("a", 1, 2, 3)], "0.3 % of a CPU"),
        ([("call", 0.1, 0.1, 0.1), ("a", 900, 1000, 1100)], "110 % of a CPU"),
    ],
)  # fmt: skip
def test_cheapest_mechanism_has_the_lowest_upper_end(
    costs: list[tuple[str, float, float, float]], said: str
) -> None:
    """A mechanism is not measurably costlier if its interval reaches down to the upper end of the
    cheapest mechanism. The reference `call` is never the cheapest mechanism. A mechanism may take
    exactly 100 % of a CPU."""
    own = [make_mechanism_cost("enabled", *cost) for cost in costs]
    own.append(make_mechanism_cost("dormant", "x", 0.1, 0.1, 0.1))
    text = rates.describe_cheapest_mechanism(own, "enabled", 1e6)
    assert text == f"enabled, at 1,000,000 events/s: a costs least, at most {said}"


def test_rates_are_printed_for_each_tier_and_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    one = make_mechanism_cost("enabled", "call-me", 1, 2, 3)
    other = MechanismCost("metal", "5", "dormant", "jump", 1.0, 2.0, 3.0)
    head, *lines = rates.render_rates_text([one, other], 1.0).split("\n")
    assert head.endswith(" enabled, a probe runs.") and head.startswith("An event is one execution")
    none = "this run has no cost of such a mechanism"
    assert lines == [
        "", "native, kernel k",
        "  state    mechanism  ns/event  events/s at 1 %  CPU share",
        "  enabled  call-me        2.00        5,000,000    2e-07 %", "",
        f"dormant: {none}",
        "enabled, at 1.00 events/s: call-me costs least, at most 3e-07 % of a CPU", "",
        "metal, kernel 5",
        "  state    mechanism  ns/event  events/s at 1 %  CPU share",
        "  dormant  jump           2.00        5,000,000    2e-07 %", "",
        "dormant, at 1.00 events/s: jump costs least, at most 3e-07 % of a CPU",
        f"enabled: {none}",
    ]  # fmt: skip
    assert rates.render_rates_text([one], 1e8).splitlines()[0].count("at 100,000,000 events/s") == 1


@pytest.mark.parametrize(
    ("tier", "emulated", "khz", "ns"),
    [
        *(("native", "0", "2000000", 0.5), ("vm", "0", "1000000", 1.0)),
        *(("metal", "0", "1", 1e6), ("native", "0", "0", None), ("native", "0", "x", None)),
        ("native", "0", "\N{SUPERSCRIPT TWO}", None),
        *(("native", "1", "2000000", None), ("vm", "1", "2000000", None)),
        ("icount", "0", "2000000", None),
    ],
)
def test_duration_of_a_tick_is_known_only_on_real_cpus(
    tier: str, emulated: str, khz: str, ns: float | None
) -> None:
    """The duration is computed without the field `unit` of env.json, which the file may lack."""
    own = {"tier": tier, "kernel": "k", "env": {"tsc_khz": khz, "emulated": emulated}}
    others = [{"tier": "native", "kernel": "u", "unit": "TSC cycles", "env": {}}]
    found = rates.compute_ns_per_tick({"tiers": [*others, own]})
    assert found == ({} if ns is None else {(tier, "k"): ns})


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        ({"delta_ci_lo": 0.0, "delta_ci_hi": 0.1}, 0.1),
        ({"delta_ci_lo": 0.0, "delta_ci_hi": 0.3}, 0.15),
        ({"delta_ci_lo": 0.0, "delta_ci_hi": 0.1, "noise_floor": None}, None),
        ({"delta_ci_lo": 0.01, "delta_ci_hi": 0.1, "noise_floor": None}, 0.025),
        ({"delta_ci_lo": 0.0, "delta_ci_hi": None}, None),
        ({"delta_ci_lo": 0.01, "delta_ci_hi": 0.1}, 0.025),
        ({"delta_ci_lo": -2, "delta_ci_hi": 0.0, "noise_floor": 0.0}, None),
        ({"delta_ci_lo": None}, None),
        ({"delta_ci_hi": None}, None),
        ({"baseline": None}, None),
        ({"tier": "vm"}, None),
        ({"kernel": "j"}, None),
    ],
)
def test_upper_limit_of_a_cost_is_at_least_the_noise_floor(
    changed: dict[str, Any], shown: float | None
) -> None:
    """A tick is 0.5 ns, and the noise floor is 0.2 ticks. Without a noise floor, or if it has no
    bound, no upper limit is known."""
    entry = {**make_cost_entry("sdt-dormant", "sdt-jump", (0.01, 0.05, 0.1), "native"), **changed}
    found = rates.compute_mechanism_costs({"results": [entry]}, ENV)
    assert [cost.shown_ns for cost in found] == ([] if shown is None else [pytest.approx(shown)])


def test_sites_without_a_marker_and_other_loops_are_no_mechanisms() -> None:
    (site,) = SUMMARY["sites"]
    others = ("none", "imv-compare", "variable-compare")
    sites = [site, {**site, "benchmark": "density-empty"}]
    sites += [{**site, "flavour": flavour} for flavour in others]
    found = rates.compute_mechanism_costs({"results": [], "sites": sites}, ENV)
    assert [(cost.name, cost.low, cost.ns, cost.high) for cost in found] == [
        ("marker-generic", 0.25, 0.3, 0.35)
    ]


@pytest.mark.parametrize("rate", [1.0, 1e8])
def test_lowest_and_highest_allowed_rates_are_accepted(rate: float) -> None:
    rates.require_event_rate_in_range(rate)


def test_chart_has_a_curve_for_each_of_the_cheapest_mechanisms() -> None:
    costs = [make_mechanism_cost("enabled", f"m{n}", 1, 2 + n, 9) for n in range(20)]
    dormant = MechanismCost("native", "k", "dormant", "jump", 1.0, 2.0, 3.0)
    metal = MechanismCost("metal", "5", "dormant", "jump", 1.0, 2.0, 3.0)
    first, *others = rates.make_rate_charts([*costs, dormant, metal])
    assert first.title == "Enabled, native, kernel k: share of one CPU"
    assert (first.x_unit, first.y_unit) == ("events/s", "% of one CPU")
    assert [curve.name for curve in first.curves] == [f"m{n}" for n in range(MOST_CURVES)]
    assert [chart.title for chart in others] == [
        "Dormant, native, kernel k: share of one CPU", "Dormant, metal, kernel 5: share of one CPU",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.00"), (9.994, "9.99"), (10.0, "10.0"), (100.0, "100"), (999.4, "999"), (0.5, "0.500"),
     (1000.0, "1,000"), (12345.0, "12,300")],
)  # fmt: skip
def test_number_at_a_power_of_ten_has_three_digits(value: float, text: str) -> None:
    assert rates.format_number(value) == text
