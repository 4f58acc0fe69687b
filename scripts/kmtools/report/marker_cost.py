# SPDX-License-Identifier: GPL-2.0-only
"""The main result of a run: what a dormant marker costs on this machine, and what it cost in 2006.

The places of the marker are: hot code, among other instructions and first behind a taken branch;
code that is not in the instruction cache; code whose data are not in the cache; and a whole system
call. Each answer is a number of one tier with its interval and verdict, or the reason why the run
has none. Enabled probes take no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kmtools.analyse.density import SiteCost
from kmtools.analyse.published import Published, ancestors
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

CORE, PERCENT = "core cycles", "%"
MARKER = "marker-jump"
# Where the code of a site comes from, the coldest first.
COLD = ("cold-icache-memory", "cold-icache-l3", "cold-icache-l2")
LEVELS = {"memory": "from memory", "l3": "from the third-level cache", "l2": "from the second"}
# The tiers that can answer, the best first.
TIERS = ("metal", "native", "vm")

Key = tuple[str, str]


@dataclass(frozen=True)
class Answer:
    """One number: `value` in `unit`, None if the run has none, and `how` then says why.

    `short` names the place inside a sentence, `place` by itself; `how` names the benchmark, `then`
    the published counterpart.
    """

    place: str
    short: str
    value: float | None
    ci: Interval | None
    unit: str
    verdict: str
    how: str
    then: str


def short(value: float) -> str:
    """A number for a sentence: two digits or so, never -0."""
    size = abs(value)
    text = f"{value:.{3 if size < 0.01 else 2 if size < 1 else 1 if size < 10 else 0}f}"
    return text.lstrip("-") if not float(text) else text.replace("-", "\N{MINUS SIGN}")


def by_name(results: Iterable[Result]) -> dict[Key, Result]:
    """Results of one tier by benchmark and variant."""
    return {(result.benchmark, result.variant): result for result in results}


def in_core(result: Result) -> tuple[float, Interval, str]:
    """The added cost with its interval, in core cycles if they are known."""
    assert result.delta is not None and result.delta_ci is not None
    scale = result.core.per_tick if result.core else 1.0
    ends = Interval(result.delta_ci.lo * scale, result.delta_ci.hi * scale)
    return result.delta * scale, ends, CORE if result.core else result.unit


def nothing(place: str, words: str, why: str, then: str) -> Answer:
    """An answer without a number, with the reason."""
    return Answer(place, words, None, None, "", "", why, then)


def compared(result: Result | None) -> bool:
    """Whether a result has an added cost."""
    return result is not None and result.delta is not None and result.delta_ci is not None


def of_site(cost: SiteCost, place: str, words: str, how: str, then: str) -> Answer:
    """The cost of one more site."""
    scale, unit = (cost.core.per_tick, CORE) if cost.core else (1.0, cost.unit)
    ends = Interval(cost.ci.lo * scale, cost.ci.hi * scale)
    return Answer(place, words, cost.cost * scale, ends, unit, cost.verdict, how, then)


def machine(row: Published) -> str:
    """Year and machine of a published number, in short."""
    return f"{row.date[:4]}, {' '.join(row.machine.split()[:2])}"


def first_delta(found: Mapping[Key, list[Published]], key: Key) -> Published | None:
    """The first published cost that a variant of ours continues."""
    return next((row for row in found.get(key, []) if row.delta is not None), None)


def then_of(found: Mapping[Key, list[Published]], benchmark: str, names: Mapping[str, str]) -> str:
    """Published costs of variants of a benchmark, in words."""
    rows = [(words, first_delta(found, (benchmark, name))) for name, words in names.items()]
    known = [(words, row) for words, row in rows if row is not None]
    if not known:
        return ""
    parts = [f"{short(row.delta or 0.0)} {words}" for words, row in known]
    return f"{machine(known[0][1])}: {', '.join(parts)} (cycles)"


# Places of a marker in hot code that needs every slot of the core: the name, its form inside a
# sentence, how it is measured, and the variants that measure it, the best first.
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
Place = tuple[str, str, str, Sequence[Key]]


def in_full_code(names: Mapping[Key, Result], where: Place, then: str) -> Answer | None:
    """The cost of one marker in hot code at a place; None if the run has not measured it."""
    place, words, how, keys = where
    for key in keys:
        result = names.get(key)
        if result is not None and compared(result):
            return Answer(place, words, *in_core(result), result.verdict, f"{how} ({key[0]})", then)
    return None


def hot(names: Mapping[Key, Result], sites: Mapping[Key, SiteCost], then: str) -> list[Answer]:
    """The costs in hot code: of one marker among other instructions and of one first behind a taken
    branch, which differ; else the answer of anywhere_hot()."""
    found = [in_full_code(names, AMONG, then), in_full_code(names, FIRST, "")]
    known = [one for one in found if one is not None]
    if len(known) == 1 and not known[0].then:
        known = [replace(known[0], then=then)]
    return known or [anywhere_hot(names, sites, then)]


def anywhere_hot(names: Mapping[Key, Result], sites: Mapping[Key, SiteCost], then: str) -> Answer:
    """The cost in hot code, of runs without a single marker in code that needs every slot."""
    place, words = "In hot code", "in hot code"
    for benchmark, loop in (
        ("density-full", "a loop that needs every slot of the core"),
        ("density-empty", "an empty loop"),
    ):
        if cost := sites.get((benchmark, MARKER)):
            how = f"one more site in {loop} ({benchmark})"
            return of_site(cost, place, words, how, then)
    result = names.get(("empty-loop", MARKER))
    if result is None or not compared(result):
        return nothing(place, words, "this run has neither density-full nor empty-loop", then)
    how = "one marker in an empty loop, where it may hide in idle slots (empty-loop)"
    return Answer(place, words, *in_core(result), result.verdict, how, then)


def cold_code(sites: Mapping[Key, SiteCost]) -> Answer:
    """The cost in code that the instruction cache does not hold."""
    place, words = "Cold in the instruction cache", "cold in the instruction cache"
    then = "not measured in 2006"
    for benchmark in COLD:
        if cost := sites.get((benchmark, MARKER)):
            level = LEVELS[benchmark.rpartition("-")[2]]
            how = f"one more site in code that comes {level} ({benchmark})"
            return of_site(cost, place, words, how, then)
    return nothing(place, words, "this run has no cold-icache-*", then)


def cold_data(names: Mapping[Key, Result], then: str) -> Answer:
    """The cost in code whose data the cache does not hold."""
    place, words = "Beside cold data", "beside cold data"
    result, memory = (names.get(("cold-branch", variant)) for variant in ("jump", "memory"))
    if result is None or not compared(result):
        return nothing(place, words, "this run has no cold-branch", then)
    how = "a branch that reads no data (cold-branch)"
    if memory is not None and compared(memory):
        value, _, unit = in_core(memory)
        how += f"; on a variable in memory: {short(value)} {unit}"
    return Answer(place, words, *in_core(result), result.verdict, how, then)


def system_call(names: Mapping[Key, Result], then: str) -> Answer:
    """The cost of a marker in getppid(): half of that of the two in the benchmark."""
    place, words = "In a system call", "of a system call"
    for benchmark in ("getppid-quiet", "getppid-copy-quiet"):
        base = names.get((benchmark, "compiled-out"))
        for variant in ("jump", "immediate"):
            other = "" if variant == "jump" else f" ({variant})"
            result = names.get((benchmark, variant))
            if base is None or base.median <= 0 or result is None or not compared(result):
                continue
            assert result.delta is not None and result.delta_ci is not None
            scale = 100 / base.median / impact.MARKERS
            ends = Interval(result.delta_ci.lo * scale, result.delta_ci.hi * scale)
            value = result.delta * scale
            flavour = "" if variant == "jump" else f", of flavour {variant}"
            how = f"half of two markers in getppid(){flavour} ({benchmark})"
            where = f"{place}{other}"
            return Answer(where, words, value, ends, PERCENT, result.verdict, how, then)
    return nothing(place, words, "this run has no getppid-quiet", then)


def best_tier(results: Sequence[Result]) -> tuple[str, str] | None:
    """Tier and kernel of the answers: the best with cycles of a real CPU; None without any."""
    known = {
        (r.tier, r.kernel) for r in results if r.unit not in (UNIT_EMULATED, UNIT_INSTRUCTIONS)
    }
    return min(known, key=lambda key: (TIERS.index(key[0]), key[1])) if known else None


def answers(results: Sequence[Result], costs: Sequence[SiteCost]) -> list[Answer]:
    """The answers of a run, of its best tier; none if it has only emulated ones."""
    if (tier := best_tier(results)) is None:
        return []
    names = by_name(r for r in results if (r.tier, r.kernel) == tier)
    sites = {(c.benchmark, c.flavour): c for c in costs if (c.tier, c.kernel) == tier}
    old = ancestors()
    loaded, value = "with a variable", "with an immediate value"
    then = then_of(old, "empty-loop", {"marker-generic": loaded, "marker-immediate": value})
    data = then_of(old, "cold-branch", {"memory": loaded, "immediate": value})
    share = impact.published_share()
    call = (
        f"2008, Pentium 4: {share.value:.2f} ± {share.half:.2f} % computed, under memory pressure"
    )
    return [*hot(names, sites, then), cold_code(sites), cold_data(names, data),
            system_call(names, call)]  # fmt: skip


def number(answer: Answer) -> str:
    """The number with its unit."""
    return "not measured" if answer.value is None else f"{short(answer.value)} {answer.unit}"


def interval(answer: Answer) -> str:
    """The interval in words; empty without a number."""
    if answer.ci is None:
        return ""
    return f"{short(answer.ci.lo)} to {short(answer.ci.hi)}" if bounded(answer.ci) else "unbounded"


def bounded(ci: Interval) -> bool:
    """Whether both ends are known."""
    return abs(ci.lo) != float("inf") and abs(ci.hi) != float("inf")


def sentence(found: Sequence[Answer]) -> str:
    """The answers in one sentence."""
    known = [a for a in found if a.value is not None and a.place != "Beside cold data"]
    if not found:
        return "This run has no answer: no tier of it has cycles of a real CPU."
    if not known:
        return "This run has no answer: it has none of the benchmarks that could give one."
    doubts = [a.verdict if a.verdict in (UNRESOLVED, WITHHELD) else "" for a in known]
    common = doubts[0] if len(known) > 1 and len(set(doubts)) == 1 else ""
    parts, unit = [], ""
    for answer, doubt in zip(known, doubts, strict=True):
        said = number(answer) if answer.unit != unit else short(answer.value or 0.0)
        parts.append(f"{said} {answer.short}{f' ({doubt})' if doubt and not common else ''}")
        unit = answer.unit
    text = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    doubt = "numbers too poor for a verdict" if common == WITHHELD else f"all {common}"
    return f"A dormant marker costs {text}{f' ({doubt})' if common else ''}."


def verdict_word(answer: Answer) -> str:
    """The verdict of an answer in words."""
    words = {SLOWER: "costs", FASTER: "gains", EQUIVALENT: "equivalent to none", DIFFERS: "differs"}
    return words.get(answer.verdict, answer.verdict)
