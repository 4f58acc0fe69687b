# SPDX-License-Identifier: GPL-2.0-only
"""Determines the main result of a run: the costs of a dormant marker on this machine, and the costs
published in 2006 and 2008.

The marker is placed in hot code, among other instructions and directly after a taken branch; in
code that is not in the instruction cache; in code whose data is not in the cache; and in a system
call. Each cost is a number of one tier (measurement environment) with an interval and a verdict, or
the reason why the run has no such number. Costs of enabled probes are not included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kmtools.analyse.density import SiteCost
from kmtools.analyse.published import PublishedNumber, read_published_ancestors
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import (
    DIFFERS,
    EQUIVALENT,
    FASTER,
    SLOWER,
    UNRESOLVED,
    WITHHELD,
    Result,
)
from kmtools.measure.rundir import UNIT_EMULATED, UNIT_INSTRUCTIONS
from kmtools.report import impact

# Units of a cost.
CORE, PERCENT = "core cycles", "%"
# The flavour of marker whose costs are shown.
MARKER = "marker-jump"
# Benchmarks of sites whose code is fetched from memory or an outer cache, the slowest source first.
COLD_CODE_BENCHMARKS = ("cold-icache-memory", "cold-icache-l3", "cold-icache-l2")
# The last part of the name of each benchmark in COLD_CODE_BENCHMARKS, and the cache or memory from
# which the benchmark fetches its code.
LEVELS = {
    "memory": "from memory",
    "l3": "from the third-level cache",
    "l2": "from the second-level cache",
}
# Tiers that can run on a real CPU, in the order of preference.
TIERS = ("metal", "native", "vm")

# A benchmark and a variant.
Key = tuple[str, str]


@dataclass(frozen=True)
class MarkerCost:
    """The cost of a dormant marker in one kind of code (`place`), such as hot code: `value` in
    `unit`, or None for a cost that was not measured.

    `place` names the kind of code in a table, `short` inside a sentence; `how` names the benchmark,
    or is the reason why there is no value; `then` is the published counterpart. `why` explains a
    missing verdict or the limits of a verdict, and says what would help.
    """

    place: str
    short: str
    value: float | None
    ci: Interval | None
    unit: str
    verdict: str
    how: str
    then: str
    why: str = ""


def format_number_for_sentence(value: float) -> str:
    """Return a number as it is written in a sentence: about two significant digits, never -0."""
    size = abs(value)
    text = f"{value:.{3 if size < 0.01 else 2 if size < 1 else 1 if size < 10 else 0}f}"
    return text.lstrip("-") if not float(text) else text.replace("-", "\N{MINUS SIGN}")


def index_results_by_variant(results: Iterable[Result]) -> dict[Key, Result]:
    """Return the results of one tier by benchmark and variant."""
    return {(result.benchmark, result.variant): result for result in results}


def convert_added_cost_to_core_cycles(result: Result) -> tuple[float, Interval, str]:
    """Return the added cost of a result, the interval of this cost, and the unit of both: core
    cycles if the cost can be converted, else the unit of the result."""
    assert result.delta is not None and result.delta_ci is not None
    scale = result.core.per_tick if result.core else 1.0
    ends = Interval(result.delta_ci.lo * scale, result.delta_ci.hi * scale)
    return result.delta * scale, ends, CORE if result.core else result.unit


def make_unmeasured_marker_cost(place: str, short: str, reason: str, published: str) -> MarkerCost:
    """Return the MarkerCost for code that the run did not measure, such as cold code; `reason` says
    why not."""
    return MarkerCost(place, short, None, None, "", "", reason, published)


def has_added_cost(result: Result | None) -> bool:
    """Return True if a result has an added cost: a difference from its baseline, with an
    interval."""
    return result is not None and result.delta is not None and result.delta_ci is not None


def convert_to_marker_cost(
    cost: SiteCost, place: str, short: str, how: str, published: str
) -> MarkerCost:
    """Convert `cost`, the cost of one more site, to a MarkerCost; the other arguments are the texts
    of the MarkerCost."""
    scale, unit = (cost.core.per_tick, CORE) if cost.core else (1.0, cost.unit)
    ends = Interval(cost.ci.lo * scale, cost.ci.hi * scale)
    value = cost.cost * scale
    return MarkerCost(place, short, value, ends, unit, cost.verdict, how, published, cost.remark)


def describe_published_machine(row: PublishedNumber) -> str:
    """Return the year and the machine of a published number, as in "2006, Pentium 4"."""
    return f"{row.date[:4]}, {' '.join(row.machine.split()[:2])}"


def find_published_cost(
    published: Mapping[Key, list[PublishedNumber]], key: Key
) -> PublishedNumber | None:
    """Return the first published cost that corresponds to the variant `key` of this run; None if
    there is none."""
    return next((row for row in published.get(key, []) if row.delta is not None), None)


def describe_published_costs(
    published: Mapping[Key, list[PublishedNumber]], benchmark: str, variants: Mapping[str, str]
) -> str:
    """Return the published costs of variants of a benchmark as text. `variants` has the words for
    each variant in this text."""
    rows = [
        (words, find_published_cost(published, (benchmark, name)))
        for name, words in variants.items()
    ]
    known = [(words, row) for words, row in rows if row is not None]
    if not known:
        return ""
    parts = [f"{format_number_for_sentence(row.delta or 0.0)} {words}" for words, row in known]
    return f"{describe_published_machine(known[0][1])}: {', '.join(parts)} (cycles)"


# Two positions of a marker in hot code that uses every issue slot of the core. For each position:
# its name in tables, its name inside a sentence, a description of the measurement, and the variants
# that measure it, the best first.
AMONG = (
    "In hot code, among other instructions", "among other instructions of hot code",
    "one marker in the middle of a loop that needs every slot of the core",
    (("density-one", f"{MARKER}-middle"), ("density-spread", f"{MARKER}-1")),
)  # fmt: skip
FIRST = (
    "In hot code, behind a taken branch", "behind a taken branch",
    "one marker first in a loop that needs every slot of the core",
    (("density-one", f"{MARKER}-first"), ("density-full", f"{MARKER}-1")),
)  # fmt: skip
# The type of AMONG and FIRST.
Place = tuple[str, str, str, Sequence[Key]]


def find_saturated_code_cost(
    results: Mapping[Key, Result], place_in_loop: Place, published: str
) -> MarkerCost | None:
    """Return the cost of one marker at `place_in_loop` (AMONG or FIRST), in hot code that uses
    every issue slot of the core; None if the run lacks this cost. `published` is a text about the
    published cost."""
    place, words, how, keys = place_in_loop
    for key in keys:
        result = results.get(key)
        if result is not None and has_added_cost(result):
            return MarkerCost(
                place,
                words,
                *convert_added_cost_to_core_cycles(result),
                result.verdict,
                f"{how} ({key[0]})",
                published,
                result.note,
            )
    return None


def find_hot_code_costs(
    results: Mapping[Key, Result], sites: Mapping[Key, SiteCost], published: str
) -> list[MarkerCost]:
    """Return the costs of one marker in hot code: among other instructions, and directly after a
    taken branch. If the run has neither cost, return the cost from find_hot_loop_cost().
    `published` is a text about the published cost."""
    found = [
        find_saturated_code_cost(results, AMONG, published),
        find_saturated_code_cost(results, FIRST, ""),
    ]
    known = [one for one in found if one is not None]
    if len(known) == 1 and not known[0].then:
        known = [replace(known[0], then=published)]
    return known or [find_hot_loop_cost(results, sites, published)]


def find_hot_loop_cost(
    results: Mapping[Key, Result], sites: Mapping[Key, SiteCost], published: str
) -> MarkerCost:
    """Return the cost of a marker in a hot loop, for runs that have not measured a single marker in
    code that uses every issue slot of the core. `published` is a text about the published cost."""
    place, words = "In hot code", "in hot code"
    for benchmark, loop in (
        ("density-full", "a loop that needs every slot of the core"),
        ("density-empty", "an empty loop"),
    ):
        if cost := sites.get((benchmark, MARKER)):
            how = f"one more site in {loop} ({benchmark})"
            return convert_to_marker_cost(cost, place, words, how, published)
    result = results.get(("empty-loop", MARKER))
    if result is None or not has_added_cost(result):
        return make_unmeasured_marker_cost(
            place, words, "this run has neither density-full nor empty-loop", published
        )
    how = "one marker in an empty loop, where it may hide in idle slots (empty-loop)"
    added = convert_added_cost_to_core_cycles(result)
    return MarkerCost(place, words, *added, result.verdict, how, published, result.note)


def find_cold_code_cost(sites: Mapping[Key, SiteCost]) -> MarkerCost:
    """Return the cost of a marker in code that is not in the instruction cache."""
    place, words = "Cold in the instruction cache", "cold in the instruction cache"
    then = "not measured in 2006"
    for benchmark in COLD_CODE_BENCHMARKS:
        if cost := sites.get((benchmark, MARKER)):
            level = LEVELS[benchmark.rpartition("-")[2]]
            how = f"one more site in code that comes {level} ({benchmark})"
            return convert_to_marker_cost(cost, place, words, how, then)
    return make_unmeasured_marker_cost(place, words, "this run has no cold-icache-*", then)


def find_cold_data_cost(results: Mapping[Key, Result], published: str) -> MarkerCost:
    """Return the cost of a marker in code whose data is not in the cache. `published` is a text
    about the published cost."""
    place, words = "Beside cold data", "beside cold data"
    result, memory = (results.get(("cold-branch", variant)) for variant in ("jump", "memory"))
    if result is None or not has_added_cost(result):
        return make_unmeasured_marker_cost(place, words, "this run has no cold-branch", published)
    how = "a branch that reads no data (cold-branch)"
    if memory is not None and has_added_cost(memory):
        value, _, unit = convert_added_cost_to_core_cycles(memory)
        how += f"; on a variable in memory: {format_number_for_sentence(value)} {unit}"
    added = convert_added_cost_to_core_cycles(result)
    return MarkerCost(place, words, *added, result.verdict, how, published, result.note)


def find_system_call_cost(results: Mapping[Key, Result], published: str) -> MarkerCost:
    """Return the cost of one marker in getppid(): half the cost of the two markers in the
    benchmark. `published` is a text about the published cost."""
    place, words = "In a system call", "of a system call"
    for benchmark in ("getppid-quiet", "getppid-copy-quiet"):
        base = results.get((benchmark, "compiled-out"))
        for variant in ("jump", "immediate"):
            other = "" if variant == "jump" else f" ({variant})"
            result = results.get((benchmark, variant))
            if base is None or base.median <= 0 or result is None or not has_added_cost(result):
                continue
            assert result.delta is not None and result.delta_ci is not None
            scale = 100 / base.median / impact.MARKERS_IN_CALL
            ends = Interval(result.delta_ci.lo * scale, result.delta_ci.hi * scale)
            value = result.delta * scale
            flavour = "" if variant == "jump" else f", of flavour {variant}"
            how = f"half of two markers in getppid(){flavour} ({benchmark})"
            where = f"{place}{other}"
            return MarkerCost(
                where, words, value, ends, PERCENT, result.verdict, how, published, result.note
            )
    return make_unmeasured_marker_cost(place, words, "this run has no getppid-quiet", published)


def find_best_real_cpu_tier(results: Sequence[Result]) -> tuple[str, str] | None:
    """Return the name and the kernel of the best tier whose results are
    in cycles of a real CPU; None if there is no such tier."""
    known = {
        (r.tier, r.kernel) for r in results if r.unit not in (UNIT_EMULATED, UNIT_INSTRUCTIONS)
    }
    return min(known, key=lambda key: (TIERS.index(key[0]), key[1])) if known else None


def find_marker_costs(results: Sequence[Result], costs: Sequence[SiteCost]) -> list[MarkerCost]:
    """Return the costs of a dormant marker in each kind of code, from the best tier (measurement
    environment) of a run; no costs if no tier has cycles of a real CPU."""
    if (tier := find_best_real_cpu_tier(results)) is None:
        return []
    own = index_results_by_variant(r for r in results if (r.tier, r.kernel) == tier)
    sites = {(c.benchmark, c.flavour): c for c in costs if (c.tier, c.kernel) == tier}
    old = read_published_ancestors()
    loaded, value = "with a variable", "with an immediate value"
    then = describe_published_costs(
        old, "empty-loop", {"marker-generic": loaded, "marker-immediate": value}
    )
    data = describe_published_costs(old, "cold-branch", {"memory": loaded, "immediate": value})
    share = impact.compute_published_marker_share()
    call = (
        f"2008, Pentium 4: {share.value:.2f} ± {share.half:.2f} % computed, under memory pressure"
    )
    return [
        *find_hot_code_costs(own, sites, then),
        find_cold_code_cost(sites),
        find_cold_data_cost(own, data),
        find_system_call_cost(own, call),
    ]


def format_cost_value(cost: MarkerCost) -> str:
    """Return the number of a cost with its unit."""
    return (
        "not measured"
        if cost.value is None
        else f"{format_number_for_sentence(cost.value)} {cost.unit}"
    )


def format_cost_interval(cost: MarkerCost) -> str:
    """Return the interval of a cost as text; "" if the cost was not measured."""
    if cost.ci is None:
        return ""
    return (
        f"{format_number_for_sentence(cost.ci.lo)} to {format_number_for_sentence(cost.ci.hi)}"
        if is_bounded(cost.ci)
        else "unbounded"
    )


def is_bounded(ci: Interval) -> bool:
    """Return True if both ends of an interval are finite."""
    return abs(ci.lo) != float("inf") and abs(ci.hi) != float("inf")


def describe_marker_costs(marker_costs: Sequence[MarkerCost]) -> str:
    """Return the costs of a dormant marker as one sentence."""
    known = [a for a in marker_costs if a.value is not None and a.place != "Beside cold data"]
    if not marker_costs:
        return (
            "This run has no cost of a dormant marker: it has no benchmark that measures such a"
            " cost in cycles of a real CPU."
        )
    if not known:
        return (
            "This run has no cost of a dormant marker: it ran no benchmark of kmarkers that"
            " measures such a cost."
        )
    doubts = [a.verdict if a.verdict in (UNRESOLVED, WITHHELD) else "" for a in known]
    common = doubts[0] if len(known) > 1 and len(set(doubts)) == 1 else ""
    parts, unit = [], ""
    for cost, doubt in zip(known, doubts, strict=True):
        said = (
            format_cost_value(cost)
            if cost.unit != unit
            else format_number_for_sentence(cost.value or 0.0)
        )
        parts.append(f"{said} {cost.short}{f' ({doubt})' if doubt and not common else ''}")
        unit = cost.unit
    text = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    doubt = "numbers too poor for a verdict" if common == WITHHELD else f"all {common}"
    return f"A dormant marker costs {text}{f' ({doubt})' if common else ''}."


def describe_cost_caveats(costs: Sequence[MarkerCost]) -> tuple[list[str], list[str]]:
    """Return sentences that say why verdicts of costs are withheld, and sentences with the caveats
    of verdicts; each sentence names the kinds of code to which it applies."""
    withheld: dict[str, list[str]] = {}
    limited: dict[str, list[str]] = {}
    for cost in costs:
        if cost.why:
            places = withheld if cost.verdict == WITHHELD else limited
            places.setdefault(cost.why, []).append(cost.short)
    return (
        [f"Withheld ({', '.join(names)}): {why}." for why, names in withheld.items()],
        [f"Caveat ({', '.join(names)}): {why}." for why, names in limited.items()],
    )


def describe_marker_verdict(cost: MarkerCost) -> str:
    """Return the verdict of a cost as text."""
    words = {
        SLOWER: "slower with the marker",
        FASTER: "faster with the marker",
        EQUIVALENT: "equivalent to no marker",
        DIFFERS: "differs from no marker",
    }
    return words.get(cost.verdict, cost.verdict)
