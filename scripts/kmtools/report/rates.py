# SPDX-License-Identifier: GPL-2.0-only
"""The cost of instrumented code per second, and the rate at which each mechanism takes 1 % of a
CPU.

A mechanism takes its added cost once per event, so its share of a CPU grows with the rate. The
costs are those of hot loops: code and data are in the caches. Dormant, an event is an execution of
the site. Intervals are those of the run. Of a cost whose interval reaches zero only the upper end
is used, as a limit, or the noise floor if that is higher.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from kmtools.base.errors import FailedError, UnableError
from kmtools.base.text import aligned, terminal_width, wrapped
from kmtools.measure.rundir import UNIT_GUEST, UNIT_TSC
from kmtools.report.figures.charts import MOST_CURVES, Chart, Curve

DORMANT, ENABLED = "dormant", "enabled"
LEAST_RATE, MOST_RATE = 1.0, 1e8
ONE_PERCENT = 0.01
# The state of what a benchmark measures, by names of benchmark and variant; the first that fits.
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
# Calls that cannot be switched: shown for comparison, never named as the cheapest.
REFERENCES = ("function-pointer", "call")
# Dormant markers cost nothing in an empty loop, which has idle slots; this loop has none.
DENSE = "density-full"


@dataclass(frozen=True)
class Cost:
    """The cost of one event in ns: lower end of the interval, median, and upper end."""

    tier: str
    kernel: str
    state: str
    name: str
    low: float
    ns: float
    high: float

    @property
    def is_limit(self) -> bool:
        """Whether the cost may be zero."""
        return self.low <= 0

    @property
    def shown(self) -> float:
        """The median, or the upper end if the cost may be zero."""
        return self.high if self.is_limit else self.ns

    @property
    def rate(self) -> float:
        """The events per second that take 1 % of a CPU."""
        return ONE_PERCENT * 1e9 / self.shown

    def percent(self, rate: float) -> float:
        """The share of a CPU at a rate, in percent."""
        return self.shown * rate / 1e7


def speeds(env: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """ns of a tick, for each tier and kernel whose ticks are those of a real CPU."""
    found = {}
    for tier in env["tiers"]:
        khz = str((tier.get("env") or {}).get("tsc_khz", ""))
        if tier.get("unit") in (UNIT_TSC, UNIT_GUEST) and khz.isdigit() and int(khz):
            found[tier["tier"], tier["kernel"]] = 1e6 / int(khz)
    return found


def state_of(benchmark: str, variant: str) -> str | None:
    """The state that a variant is measured in, or None if it is no mechanism."""
    for name, pattern, state in STATES:
        if benchmark == name and fnmatchcase(variant, pattern):
            return state
    return None


def entries(
    summary: Mapping[str, Any],
) -> Iterator[tuple[Mapping[str, Any], str, str, Sequence[Any]]]:
    """Entry, state, name, and lower end, median and upper end in ticks, of each mechanism."""
    for entry in summary.get("sites", ()):
        if entry["benchmark"] == DENSE and entry["flavour"] != "none":
            ends = entry["ci_lo"], entry["cost"], entry["ci_hi"]
            yield entry, DORMANT, entry["flavour"], ends
    for entry in summary["results"]:
        state = state_of(entry["benchmark"], entry["variant"])
        is_clone = entry["variant"] == f"{entry['baseline']}-clone"
        if state and entry["baseline"] and not is_clone:
            ends = entry["delta_ci_lo"], entry["delta"], entry["delta_ci_hi"]
            if ends[0] is not None and ends[0] <= 0:
                ends = *ends[:2], max(ends[2], entry["noise_floor"] or 0.0)
            yield entry, state, entry["variant"], ends


def costs(summary: Mapping[str, Any], env: Mapping[str, Any]) -> list[Cost]:
    """The costs of all mechanisms, the lowest first; those without an interval are left out."""
    ns, found = speeds(env), []
    for entry, state, name, ends in entries(summary):
        speed = ns.get((entry["tier"], entry["kernel"]))
        if speed is None or any(end is None for end in ends) or ends[2] <= 0:
            continue
        low, middle, high = (end * speed for end in ends)
        found.append(Cost(entry["tier"], entry["kernel"], state, name, low, middle, high))
    return sorted(found, key=lambda cost: (cost.tier, cost.kernel, cost.state, cost.shown))


def require_rate(rate: float) -> None:
    """Raise UnableError unless a rate is from LEAST_RATE to MOST_RATE."""
    if not LEAST_RATE <= rate <= MOST_RATE:
        raise UnableError(
            f"{rate:g} events a second: from {LEAST_RATE:g} to {MOST_RATE:g} are known"
        )


def number(value: float) -> str:
    """A number with three digits and separators of thousands."""
    digits = 2 - math.floor(math.log10(value))
    return f"{round(value, digits):,.{max(0, digits)}f}"


def best_words(found: Sequence[Cost], state: str, rate: float) -> str:
    """The mechanism that costs least in a state, and those that may cost no more, in words."""
    own = [
        cost
        for cost in found
        if cost.state == state and cost.percent(rate) <= 100 and cost.name not in REFERENCES
    ]
    if not own:
        return f"{state}: nothing that was measured bears {number(rate)} events a second"
    least = min(own, key=lambda cost: cost.high)
    same = [cost.name for cost in own if cost is not least and cost.low <= least.high]
    words = f"{state}, at {number(rate)} events a second: {least.name} costs least, at most"
    words += f" {least.high * rate / 1e7:.2g} % of a CPU"
    return words + (f"; these may cost no more: {', '.join(same)}" if same else "")


def table(found: Sequence[Cost], rate: float) -> list[str]:
    """The table of the mechanisms of one tier."""
    rows = [["state", "mechanism", "ns an event", "1 % of a CPU at", f"at {number(rate)}/s"]]
    for cost in found:
        less, more = ("<", ">") if cost.is_limit else ("", "")
        share = cost.percent(rate)
        rows.append(
            [
                cost.state,
                cost.name,
                f"{less}{number(cost.shown)}",
                f"{more}{number(cost.rate)}/s",
                f"{less}{share:.2g} %" if share <= 100 else "more than a CPU",
            ]
        )
    # Where lines are narrow, a row has two: the mechanism, and its numbers.
    lines = aligned(rows, (2, 3, 4))
    if max(map(len, lines)) + 2 <= terminal_width():
        return lines
    names = [f"{state:8} {name}" for state, name, *_ in rows]
    numbers = aligned([row[2:] for row in rows], (0, 1, 2))
    pairs = zip(names, numbers, strict=True)
    return [line for name, number in pairs for line in (name, f"    {number}")]


def text(found: Sequence[Cost], rate: float) -> str:
    """The answer for a rate, for each tier; FailedError if no tier has times of a real CPU."""
    require_rate(rate)
    if not found:
        raise FailedError("no tier of this run has times of a real CPU")
    lines = []
    for tier, kernel in dict.fromkeys((cost.tier, cost.kernel) for cost in found):
        own = [cost for cost in found if (cost.tier, cost.kernel) == (tier, kernel)]
        lines += [f"{tier}, kernel {kernel}", *(f"  {line}" for line in table(own, rate)), ""]
        for state in (DORMANT, ENABLED):
            lines += wrapped(best_words(own, state, rate), terminal_width())
        lines.append("")
    return "\n".join(lines[:-1])


def charts(found: Sequence[Cost]) -> list[Chart]:
    """Share of a CPU over the rate, for the cheapest mechanisms of each tier and state."""
    made = []
    for key in dict.fromkeys((cost.tier, cost.kernel, cost.state) for cost in found):
        own = [cost for cost in found if (cost.tier, cost.kernel, cost.state) == key]
        curves = [
            Curve(cost.name, index, points_of(cost)) for index, cost in enumerate(own[:MOST_CURVES])
        ]
        tier, kernel, state = key
        title = f"{state.capitalize()}, {tier}, kernel {kernel}: the share of a CPU"
        made.append(Chart(title, "events a second", "%", curves))
    return made


def points_of(cost: Cost) -> list[tuple[float, float, float, float]]:
    """Points of a curve, a decade apart."""
    rates = [10.0**power for power in range(int(math.log10(MOST_RATE)) + 1)]
    low = cost.shown if cost.is_limit else cost.low
    return [(rate, cost.percent(rate), low * rate / 1e7, cost.high * rate / 1e7) for rate in rates]
