# SPDX-License-Identifier: GPL-2.0-only
"""Repeats the calculation of 2008: the cost of two markers on global variables in a system call.

In 2008 two branches were measured in isolation: on a variable in memory, and on a variable in the
first-level cache. The difference of their costs was doubled, for two markers, and divided by the
time of getppid() under memory pressure: 6.72 % +- 0.70 %. This file computes the same share from a
run, in each tier (measurement environment) that has real caches, and prints next to it the measured
cost of the markers in the call itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kmtools.analyse.published import PUBLISHED, read_csv_table
from kmtools.analyse.verdicts import WITHHELD

# The number of markers in the system call that was measured.
MARKERS_IN_CALL = 2
# The tiers that have real caches.
REAL_TIERS = ("native", "metal")
# The benchmarks of a branch in isolation, and the benchmark of the system call.
BRANCHES = ("cold-branch", "cold-branch-overlapped")
CALL = "getppid-pressure"


@dataclass(frozen=True)
class Estimate:
    """A value and its error `half`: half the width of the value's interval, or its standard
    deviation."""

    value: float
    half: float

    def __sub__(self, other: Estimate) -> Estimate:
        return Estimate(self.value - other.value, math.hypot(self.half, other.half))


@dataclass(frozen=True)
class CallShare:
    """The cost added to a system call, in percent of the time of the call. `how` says whether the
    cost was measured or computed, and from which variant or benchmark."""

    tier: str
    kernel: str
    how: str
    percent: Estimate


def compute_percent_of_call(added: Estimate, call: Estimate) -> Estimate:
    """Return `added`, the time that is added to a call, in percent of `call`, the time of the call.
    The errors of both are assumed to be independent."""
    percent = 100.0 * added.value / call.value
    error = math.hypot(added.half / call.value, added.value * call.half / call.value**2)
    return Estimate(percent, 100.0 * error)


def compute_marker_share_from_branches(
    memory: Estimate, l1_hit: Estimate, call: Estimate
) -> Estimate:
    """Return the cost of MARKERS_IN_CALL markers in percent of `call`, the time of a call. The cost
    of one marker is computed as `memory`, the cost of a branch on a variable in memory, minus
    `l1_hit`, the cost of a branch on a variable in the first-level cache."""
    miss = memory - l1_hit
    return compute_percent_of_call(
        Estimate(MARKERS_IN_CALL * miss.value, MARKERS_IN_CALL * miss.half), call
    )


def compute_published_marker_share() -> Estimate:
    """Return the published share of two markers in a system call, in percent, recomputed from the
    published times and their standard deviations."""
    parts: dict[tuple[str, str], Estimate] = {}
    clock = Estimate(0.0, 0.0)
    for row in read_csv_table(PUBLISHED):
        if not row["benchmark"].endswith("-repeat"):
            continue
        number = Estimate(float(row["published"]), float(row["stddev"]))
        parts[row["benchmark"], row["variant"]] = number
        if row["benchmark"] == f"{CALL}-repeat":
            words = row["note"].split()
            clock = Estimate(float(words[words.index("read") + 1]), float(words[-1]))
    branch = "cold-branch-repeat"
    call = parts[f"{CALL}-repeat", "no-syscall-trace"] - clock
    return compute_marker_share_from_branches(
        parts[branch, "memory"], parts[branch, "l1-hit"], call
    )


def make_symmetric_estimate(value: float, lo: float, hi: float) -> Estimate:
    """Return `value` with the smallest symmetric interval around it that contains the interval from
    `lo` to `hi`."""
    return Estimate(value, max(value - lo, hi - value))


def parse_added_cost(entry: dict[str, Any]) -> Estimate:
    """Return the cost that a variant adds to its baseline, from its entry in summary.json."""
    return make_symmetric_estimate(entry["delta"], entry["delta_ci_lo"], entry["delta_ci_hi"])


def parse_median_cost(entry: dict[str, Any]) -> Estimate:
    """Return the median cost of a variant, from its entry in summary.json."""
    return make_symmetric_estimate(entry["median"], entry["ci_lo"], entry["ci_hi"])


def compute_marker_shares(entries: Sequence[dict[str, Any]]) -> Iterator[CallShare]:
    """Yield each share of the markers in the time of a call that can be computed from `entries`,
    the results in summary.json, each from one tier and kernel. As in 2008, the time of reading the
    clock is subtracted from the time of the call, except in old runs, which lack the variant
    `clock`."""
    known = [row for row in entries if row["ci_lo"] is not None and row["ci_hi"] is not None]
    known = [row for row in known if row.get("delta") is None or row["delta_ci_lo"] is not None]
    known = [row for row in known if row.get("verdict") != WITHHELD]
    rows = {(row["tier"], row["kernel"], row["benchmark"], row["variant"]): row for row in known}
    places = dict.fromkeys(key[:2] for key in rows if key[0] in REAL_TIERS)
    for tier, kernel in sorted(places, key=lambda place: REAL_TIERS.index(place[0])):
        plain = rows.get((tier, kernel, CALL, "compiled-out"))
        if plain is None:
            continue
        clock = rows.get((tier, kernel, CALL, "clock"))
        call = (
            parse_median_cost(plain) - parse_median_cost(clock)
            if clock
            else parse_median_cost(plain)
        )
        if call.value <= 0:
            continue
        for benchmark in BRANCHES:
            memory = rows.get((tier, kernel, benchmark, "memory"))
            l1_hit = rows.get((tier, kernel, benchmark, "l1-hit"))
            if memory and l1_hit and None not in (memory["delta"], l1_hit["delta"]):
                yield CallShare(
                    tier,
                    kernel,
                    f"computed from {benchmark}",
                    compute_marker_share_from_branches(
                        parse_added_cost(memory), parse_added_cost(l1_hit), call
                    ),
                )
        for variant in ("generic", "immediate", "jump"):
            entry = rows.get((tier, kernel, CALL, variant))
            if entry and entry["delta"] is not None:
                yield CallShare(
                    tier,
                    kernel,
                    f"measured, {variant}",
                    compute_percent_of_call(parse_added_cost(entry), call),
                )


def render_impact_section(entries: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the Markdown lines of the section with the shares. Yield nothing if the run gives no
    share."""
    found = list(compute_marker_shares(entries))
    if not found:
        return
    then = compute_published_marker_share()
    yield "## Two markers in a system call under memory pressure"
    yield ""
    yield "In percent of getppid. What the parts of this table mean is in"
    yield "[immediate.md](../../Documentation/immediate.md#the-arithmetic-of-2008)."
    yield ""
    yield "| where | how | added |"
    yield "|---|---|---:|"
    yield f"| published, 2008 | computed, generic | {then.value:.2f} ± {then.half:.2f} |"
    places = {(row.tier, row.kernel) for row in found}
    for row in found:
        several = sum(tier == row.tier for tier, _ in places) > 1
        where = f"{row.tier}, kernel {row.kernel}" if several else row.tier
        percent = f"{row.percent.value:.2f} ± {row.percent.half:.2f}"
        yield f"| {where} | {row.how} | {percent.replace('-', chr(0x2212))} |"
    yield ""
