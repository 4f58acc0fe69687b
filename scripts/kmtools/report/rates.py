# SPDX-License-Identifier: GPL-2.0-only
"""Computes the CPU time that instrumentation takes per second, and the event rate at which each
mechanism takes 1 % of a CPU.

A mechanism takes its added cost once per event, so its share of a CPU grows with the rate. An event
of a dormant site is one execution of the site. The costs and their intervals were measured in hot
loops, with code and data in the caches. If the lower end of a cost's interval is zero or negative,
only an upper limit is shown: the upper end of the interval, or the noise floor if that is higher.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from kmtools.analyse.verdicts import WITHHELD
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.text import align_table, get_terminal_width, wrap_line
from kmtools.measure.rundir import UNIT_GUEST, UNIT_TSC, make_tiers
from kmtools.report.figures.charts import MOST_CURVES, Chart, Curve

# The states of a mechanism.
DORMANT, ENABLED = "dormant", "enabled"
# The range of event rates, in events per second.
LEAST_RATE, MOST_RATE = 1.0, 1e8
ONE_PERCENT = 0.01
# Rows of (benchmark, pattern of variants, state): the first row that matches a variant gives the
# state of the variant.
STATES: tuple[tuple[str, str, str], ...] = (
    ("empty-loop-peers", "*-off", DORMANT),
    ("empty-loop-peers", "*-on", ENABLED),
    ("sdt-dormant", "*", DORMANT),
    ("peers-dormant", "*", DORMANT),
    ("marker-enabled", "*", ENABLED),
    ("sdt-enabled", "*", ENABLED),
    ("sdt-trapped", "*", ENABLED),
    ("peers-enabled", "*", ENABLED),
    ("peer-*", "*-off", DORMANT),
    ("peer-*", "*", ENABLED),
)
# Variants that cannot be switched on and off: shown for comparison, but never named as the
# cheapest.
REFERENCES = ("function-pointer", "call")
# Benchmark of dormant sites in a loop that uses every issue slot of the core; an empty loop has
# idle slots, in which dormant markers cost nothing.
DENSE = "density-full"
# Prefix of the flavours of DENSE that are markers. The others compare numbers, or do nothing.
MARKER_PREFIX = "marker-"


@dataclass(frozen=True)
class MechanismCost:
    """The cost of one event of a mechanism, in nanoseconds: the median (`ns`), and the ends of its
    interval (`low`, `high`)."""

    tier: str
    kernel: str
    state: str
    name: str
    low: float
    ns: float
    high: float

    @property
    def is_upper_limit(self) -> bool:
        """True if the cost may be zero, so that only an upper limit is known."""
        return self.low <= 0

    @property
    def shown_ns(self) -> float:
        """The median in ns, or the upper end of the interval if the cost may be zero."""
        return self.high if self.is_upper_limit else self.ns

    @property
    def events_per_second_at_one_percent(self) -> float:
        """The number of events per second that takes ONE_PERCENT of a CPU."""
        return ONE_PERCENT * 1e9 / self.shown_ns

    def compute_cpu_percent(self, rate: float) -> float:
        """Return the share of a CPU, in percent, that the mechanism takes at `rate` events per
        second."""
        return convert_ns_to_cpu_percent(self.shown_ns, rate)


def convert_ns_to_cpu_percent(ns: float, rate: float) -> float:
    """Return the share of a CPU, in percent, that `ns` nanoseconds take at `rate` events per
    second."""
    return ns * rate / 1e7


def compute_ns_per_tick(env: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """Return the length of a tick in ns, for each tier (measurement environment) and kernel whose
    ticks come from a real CPU."""
    found = {}
    for tier in make_tiers(env):
        khz = tier.env.get("tsc_khz", "")
        if tier.unit in (UNIT_TSC, UNIT_GUEST) and khz.isdecimal() and int(khz):
            found[tier.tier, tier.kernel] = 1e6 / int(khz)
    return found


def find_probe_state(benchmark: str, variant: str) -> str | None:
    """Return the state, dormant or enabled, in which a variant is measured; None if the variant is
    not a mechanism of instrumentation."""
    for name, pattern, state in STATES:
        if fnmatchcase(benchmark, name) and fnmatchcase(variant, pattern):
            return state
    return None


def list_measured_mechanisms(
    summary: Mapping[str, Any],
) -> Iterator[tuple[Mapping[str, Any], str, str, Sequence[Any]]]:
    """Yield, for each mechanism of instrumentation: its entry in summary.json, its state (dormant
    or enabled), its name, and its cost in ticks as (lower end, median, upper end). Leave out
    mechanisms whose verdict is withheld."""
    for entry in summary.get("sites", ()):
        if entry.get("verdict") == WITHHELD:
            continue
        if entry["benchmark"] == DENSE and entry["flavour"].startswith(MARKER_PREFIX):
            ends = entry["ci_lo"], entry["cost"], entry["ci_hi"]
            yield entry, DORMANT, entry["flavour"], ends
    for entry in summary["results"]:
        if entry.get("verdict") == WITHHELD:
            continue
        state = find_probe_state(entry["benchmark"], entry["variant"])
        is_clone = entry["variant"] == f"{entry['baseline']}-clone"
        if state and entry["baseline"] and not is_clone:
            ends = entry["delta_ci_lo"], entry["delta"], entry["delta_ci_hi"]
            if ends[0] is not None and ends[0] <= 0:
                # In JSON, an end or a noise floor that the data do not bound is null.
                limits = (ends[2], entry["noise_floor"])
                ends = *ends[:2], None if None in limits else max(limits)
            yield entry, state, entry["variant"], ends


def compute_mechanism_costs(
    summary: Mapping[str, Any], env: Mapping[str, Any]
) -> list[MechanismCost]:
    """Return the costs of all mechanisms by tier, kernel and state, the
    lowest first. Mechanisms without an interval, or without the noise floor that an upper limit
    needs, are left out."""
    ns, found = compute_ns_per_tick(env), []
    for entry, state, name, ends in list_measured_mechanisms(summary):
        speed = ns.get((entry["tier"], entry["kernel"]))
        if speed is None or any(end is None for end in ends) or ends[2] <= 0:
            continue
        low, middle, high = (end * speed for end in ends)
        found.append(MechanismCost(entry["tier"], entry["kernel"], state, name, low, middle, high))
    return sorted(found, key=lambda cost: (cost.tier, cost.kernel, cost.state, cost.shown_ns))


def require_event_rate_in_range(rate: float) -> None:
    """Raise UnableError unless a rate is from LEAST_RATE to MOST_RATE."""
    if not LEAST_RATE <= rate <= MOST_RATE:
        raise UnableError(
            f"event rate {rate:g} is not between {LEAST_RATE:g} and {MOST_RATE:g} events/s"
        )


def format_number(value: float) -> str:
    """Return a number with three significant digits and thousands separators."""
    digits = 2 - math.floor(math.log10(value))
    return f"{round(value, digits):,.{max(0, digits)}f}"


def format_cpu_share(percent: float) -> str:
    """Return a share of a CPU in percent, with two significant digits."""
    return f"{float(f'{percent:.2g}'):g}"


def describe_cheapest_mechanism(costs: Sequence[MechanismCost], state: str, rate: float) -> str:
    """Return a sentence that names the mechanism that costs least at the event rate `rate`, and the
    mechanisms that are not measurably costlier. `state` is the state of the sites: dormant or
    enabled."""
    at = f"{format_number(rate)} events/s"
    known = [cost for cost in costs if cost.state == state and cost.name not in REFERENCES]
    if not known:
        return f"{state}: this run has no cost of such a mechanism"
    own = [cost for cost in known if cost.compute_cpu_percent(rate) <= 100]
    if not own:
        return f"{state}: every measured mechanism needs over 100 % of a CPU at {at}"
    least = min(own, key=lambda cost: cost.high)
    same = [cost.name for cost in own if cost is not least and cost.low <= least.high]
    words = f"{state}, at {at}: {least.name} costs least, at most"
    words += f" {format_cpu_share(convert_ns_to_cpu_percent(least.high, rate))} % of a CPU"
    return words + (f"; not measurably costlier: {', '.join(same)}" if same else "")


def format_cost_table(costs: Sequence[MechanismCost], rate: float) -> list[str]:
    """Return the lines of the table of one tier, in which each mechanism
    has its cost, its event rate at 1 % of a CPU, and its CPU share at the event rate `rate`."""
    rows = [["state", "mechanism", "ns/event", "events/s at 1 %", "CPU share"]]
    for cost in costs:
        less, more = ("<", ">") if cost.is_upper_limit else ("", "")
        share = cost.compute_cpu_percent(rate)
        rows.append(
            [
                cost.state,
                cost.name,
                f"{less}{format_number(cost.shown_ns)}",
                f"{more}{format_number(cost.events_per_second_at_one_percent)}",
                f"{less}{format_cpu_share(share)} %" if share <= 100 else "over 100 %",
            ]
        )
    # On a narrow terminal a row is two lines: the mechanism, then its numbers.
    lines = align_table(rows, (2, 3, 4))
    if max(map(len, lines)) + 2 <= get_terminal_width():
        return lines
    names = [f"{state:8} {name}" for state, name, *_ in rows]
    numbers = align_table([row[2:] for row in rows], (0, 1, 2))
    pairs = zip(names, numbers, strict=True)
    return [line for name, number in pairs for line in (name, f"    {number}")]


def explain_rate_columns(costs: Sequence[MechanismCost], rate: float) -> str:
    """Return the meaning of the columns of the tables, as one paragraph."""
    text = (
        "An event is one execution of an instrumented place in the code. ns/event: CPU time that"
        " the mechanism adds to an event (median). events/s at 1 %: event rate at which this time"
        f" is 1 % of one CPU. CPU share: share of one CPU at {format_number(rate)} events/s"
        " (--rate)."
        " State: dormant, no probe is connected; enabled, a probe runs."
    )
    if any(cost.is_upper_limit for cost in costs):
        text += " < and > mark limits of a time that may be zero."
    return text


def render_rates_text(costs: Sequence[MechanismCost], rate: float) -> str:
    """Return text: the meaning of the columns, then for each tier a table and the cheapest
    mechanisms at the event rate `rate`. Raise FailedError if there are no costs."""
    require_event_rate_in_range(rate)
    if not costs:
        raise FailedError(
            "no tier of this run timed a mechanism on a real CPU, or all numbers are too poor for a"
            " verdict"
        )
    lines = [*wrap_line(explain_rate_columns(costs, rate), get_terminal_width()), ""]
    for tier, kernel in dict.fromkeys((cost.tier, cost.kernel) for cost in costs):
        own = [cost for cost in costs if (cost.tier, cost.kernel) == (tier, kernel)]
        lines += [
            f"{tier}, kernel {kernel}",
            *(f"  {line}" for line in format_cost_table(own, rate)),
            "",
        ]
        for state in (DORMANT, ENABLED):
            lines += wrap_line(describe_cheapest_mechanism(own, state, rate), get_terminal_width())
        lines.append("")
    return "\n".join(lines[:-1])


def make_rate_charts(costs: Sequence[MechanismCost]) -> list[Chart]:
    """Return a chart for each tier and state: the share of a CPU over the
    event rate, for the cheapest mechanisms."""
    made = []
    for key in dict.fromkeys((cost.tier, cost.kernel, cost.state) for cost in costs):
        own = [cost for cost in costs if (cost.tier, cost.kernel, cost.state) == key]
        curves = [
            Curve(cost.name, index, make_curve_points(cost))
            for index, cost in enumerate(own[:MOST_CURVES])
        ]
        tier, kernel, state = key
        title = f"{state.capitalize()}, {tier}, kernel {kernel}: share of one CPU"
        made.append(Chart(title, "events/s", "% of one CPU", curves))
    return made


def make_curve_points(cost: MechanismCost) -> list[tuple[float, float, float, float]]:
    """Return the points of a curve at event rates a decade apart: the rate, the share of a CPU in
    percent, and the lower and the upper end of the share's interval."""
    rates = [10.0**power for power in range(int(math.log10(MOST_RATE)) + 1)]
    low = cost.shown_ns if cost.is_upper_limit else cost.low
    return [
        (
            rate,
            cost.compute_cpu_percent(rate),
            convert_ns_to_cpu_percent(low, rate),
            convert_ns_to_cpu_percent(cost.high, rate),
        )
        for rate in rates
    ]
