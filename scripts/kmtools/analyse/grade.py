# SPDX-License-Identifier: GPL-2.0-only
"""Grades how far the numbers of a run can be trusted, with reasons.

Each check looks at the evidence and gives a reason, or None. The worst reason is the grade. Where
it is poor, the rows of a benchmark get the reason and the next step in place of a verdict. To add a
check, write a function and name it in CHECKS. `grade_of` works on a whole tier, and on a single
benchmark if the evidence holds its results alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from kmtools.analyse.verdicts import EQUIVALENT, FASTER, SAID, SLOWER, UNMEASURED, WITHHELD, Result
from kmtools.measure import disturbance, rundir
from kmtools.measure.rundir import Tier

# Shares of the timed windows with a flag.
MANY_FLAGS, TOO_MANY_FLAGS = 0.01, 0.05
# Shares of the windows without a flag that are late; of the time of measuring that a hypervisor
# took, and that other programs used on the same CPU.
MANY_LATE, TOO_MANY_LATE = 0.01, 0.1
MUCH_STEAL, TOO_MUCH_STEAL = 0.005, 0.05
MUCH_OTHER, TOO_MUCH_OTHER = 0.05, 0.25
# Share of the benchmarks whose A/A clone may be beyond the margin.
FEW_CLONES = 1 / 3
# Largest difference of the clock's rate between processes, as a share. It is measured within a few
# parts in a million.
STEADY = 0.01
# Largest range of the core's frequency over blocks (5 % to 95 % quantile), as a share.
STEADY_CORE = 0.05
NO_HYPERVISOR = ("", "0", "no", "none")
SLOW_KERNEL = ("CONFIG_KASAN", "CONFIG_DEBUG_PAGEALLOC")


class Level(IntEnum):
    """Grades. FAIR numbers hold with their intervals, on this machine in this state; POOR ones only
    show that the benchmarks work, and must not be quoted."""

    GOOD = 0
    FAIR = 1
    POOR = 2

    @property
    def word(self) -> str:
        """The name of the level in lower case."""
        return self.name.lower()


@dataclass(frozen=True)
class Reason:
    """A reason for a lower grade and its remedy; both are clauses without a full stop. `judged`:
    the rule of verdicts.py already allows for it."""

    level: Level
    words: str
    remedy: str = ""
    judged: bool = False


@dataclass(frozen=True)
class Evidence:
    """The evidence about one tier of a run: its description, env.json, and its results."""

    tier: Tier
    env: Mapping[str, Any]
    results: Sequence[Result]

    @property
    def clones(self) -> list[Result]:
        """The A/A clones of the benchmarks."""
        return [result for result in self.results if result.is_clone]


@dataclass(frozen=True)
class Grade:
    """A level with the reasons for it, the worst first."""

    level: Level
    reasons: tuple[Reason, ...]

    @property
    def word(self) -> str:
        """The name of the level in lower case."""
        return self.level.word

    @property
    def remedies(self) -> list[str]:
        """The remedies of all reasons, without repetition."""
        return list(dict.fromkeys(reason.remedy for reason in self.reasons if reason.remedy))


Check = Callable[[Evidence], Reason | None]


def quick(known: Evidence) -> Reason | None:
    """Few blocks."""
    if not rundir.is_quick(known.env):
        return None
    return Reason(Level.POOR, "a quick run of few blocks", "make bench without QUICK=1")


def emulated(known: Evidence) -> Reason | None:
    """Ticks of an emulator."""
    if not known.tier.emulated:
        return None
    words = "an emulated CPU, whose ticks are fit for ratios of whole operations only"
    return Reason(Level.POOR, words, "make bench-host measures in the kernel of a real machine")


def clock(known: Evidence) -> Reason | None:
    """A time stamp counter whose rate changes."""
    if known.tier.emulated or known.tier.env.get("invariant_tsc", "1") != "0":
        return None
    words = "a time stamp counter that is not invariant, so cycles differ in length"
    return Reason(Level.POOR, words, "another machine")


def rate(known: Evidence) -> Reason | None:
    """A time stamp counter whose rate differed between processes: the machine was moved, or its
    clock was set."""
    try:
        spread = float(known.tier.env[disturbance.RATE_SPREAD])
    except (KeyError, ValueError):
        return None
    if known.tier.emulated or spread <= STEADY:
        return None
    words = f"a clock whose rate differed by {100 * spread:.1f} % from one process to another"
    return Reason(Level.POOR, words, "run it again, and do not move the machine meanwhile")


def unmeasured(known: Evidence) -> Reason | None:
    """A clock or loops without effect."""
    found = {result.benchmark for result in known.results if UNMEASURED in result.note}
    if not found:
        return None
    words = f"a clock or loops without effect in {', '.join(sorted(found))}: nothing was measured"
    return Reason(Level.POOR, words, "kmbench env, to see what clock this machine has")


def frequency(known: Evidence) -> Reason | None:
    """A core whose frequency changes from block to block. Costs in core cycles allow for it."""
    spreads = {r.benchmark: r.core.spread for r in known.results if r.core}
    found = [name for name, spread in spreads.items() if spread > STEADY_CORE]
    if not found:
        return None
    most = max(spreads.values())
    names = ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
    words = f"a core whose frequency changed by up to {100 * most:.0f} % between blocks: {names}"
    return Reason(Level.FAIR, words, "cpupower frequency-set -g performance, without turbo", True)


def is_virtual(tier: Tier) -> bool:
    """Whether a hypervisor is below a tier."""
    return tier.env.get("hypervisor", "").strip().lower() not in NO_HYPERVISOR


def hypervisor(known: Evidence) -> Reason | None:
    """A machine shared with others."""
    if known.tier.emulated or not is_virtual(known.tier):
        return None
    words = "a virtual machine, whose cores and caches others may use, too"
    return Reason(Level.FAIR, words, "a machine of your own")


def governor(known: Evidence) -> Reason | None:
    """A frequency that follows the load."""
    name = (known.env.get("machine") or {}).get("governor")
    if known.tier.emulated or name in (None, "", "performance"):
        return None
    words = f"the frequency governor {name}, which changes the length of a core cycle"
    return Reason(Level.FAIR, words, "cpupower frequency-set -g performance")


def debug_kernel(known: Evidence) -> Reason | None:
    """A kernel with debugging checks that slow down all code."""
    kernel = known.env.get("kernel") or {}
    options = (kernel.get("config") or {}).get("options") or {}
    found = [name for name in SLOW_KERNEL if options.get(name) == "y"]
    if known.tier.tier != "metal" or not found:
        return None
    return Reason(Level.POOR, f"a kernel with {' and '.join(found)}", "a kernel without them")


def disturbed(known: Evidence) -> Reason | None:
    """Windows in which the loop was interrupted."""
    windows = sum(result.windows for result in known.results)
    flagged = sum(result.flagged for result in known.results)
    if not windows or flagged <= MANY_FLAGS * windows:
        return None
    level = Level.POOR if flagged > TOO_MANY_FLAGS * windows else Level.FAIR
    words = f"{100 * flagged / windows:.1f} % of the timed windows disturbed"
    return Reason(level, words, "a quieter machine")


def late(known: Evidence) -> Reason | None:
    """Windows in which an interrupt came, or the CPU was taken away."""
    windows = sum(result.windows - result.flagged for result in known.results)
    found = sum(result.late for result in known.results)
    if not windows or found <= MANY_LATE * windows:
        return None
    level = Level.POOR if found > TOO_MANY_LATE * windows else Level.FAIR
    words = f"{100 * found / windows:.1f} % of the timed windows over a microsecond late"
    return Reason(level, words, "a quieter machine")


def taken(
    known: Evidence, counter: str, much: float, too_much: float
) -> tuple[Level, float] | None:
    """The level and the share of the time in a counter of measure/disturbance.py; None if the share
    is small."""
    try:
        share = float(known.tier.env[counter]) / float(known.tier.env["seconds"])
    except (KeyError, ValueError, ZeroDivisionError):
        return None
    if share <= much:
        return None
    return Level.POOR if share > too_much else Level.FAIR, share


def steal(known: Evidence) -> Reason | None:
    """A hypervisor that ran something else."""
    found = taken(known, "steal_seconds", MUCH_STEAL, TOO_MUCH_STEAL)
    if found is None:
        return None
    words = f"a hypervisor that took the CPU away for {100 * found[1]:.1f} % of the time"
    return Reason(found[0], words, "a machine of your own")


def others(known: Evidence) -> Reason | None:
    """Other programs on the same CPU."""
    found = taken(known, "others_seconds", MUCH_OTHER, TOO_MUCH_OTHER)
    if found is None:
        return None
    words = f"other programs on the same CPU for {100 * found[1]:.0f} % of the time"
    return Reason(found[0], words, "end the other programs, or choose a CPU that they leave alone")


def unequal_clones(known: Evidence) -> Reason | None:
    """Two copies of the same code that come out different."""
    found = [clone.benchmark for clone in known.clones if clone.verdict in (SLOWER, FASTER)]
    if not found:
        return None
    words = f"two copies of the same code come out different in {', '.join(found)}"
    return Reason(Level.POOR, words, "run it again on a quieter machine")


def noise_floor(known: Evidence) -> Reason | None:
    """A noise floor beyond the equivalence margin."""
    clones = known.clones
    found = [clone for clone in clones if clone.verdict not in (EQUIVALENT, SLOWER, FASTER)]
    if known.tier.exact or not found:
        return None
    level = Level.POOR if len(found) > FEW_CLONES * len(clones) else Level.FAIR
    names = ", ".join(clone.benchmark for clone in found[:3])
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    words = f"more noise than the margin allows in {names}{more}"
    return Reason(level, words, "more blocks, or a quieter machine", judged=True)


TIMED: tuple[Check, ...] = (
    emulated, unmeasured, clock, rate, frequency, disturbed, late, steal, others, unequal_clones,
    noise_floor, debug_kernel, governor, hypervisor,
)  # fmt: skip
# The checks of exact counts, which time cannot disturb.
EXACT: tuple[Check, ...] = ()
CHECKS: tuple[Check, ...] = (quick, *TIMED)


def grade_of(known: Evidence) -> Grade:
    """The grade of a tier, or of a benchmark of it."""
    checks = EXACT if known.tier.exact else CHECKS
    found = [reason for check in checks if (reason := check(known)) is not None]
    reasons = tuple(sorted(found, key=lambda reason: -reason.level))
    return Grade(reasons[0].level if reasons else Level.GOOD, reasons)


def grades(
    env: Mapping[str, Any], tiers: Sequence[Tier], results: Sequence[Result]
) -> list[tuple[Tier, Grade]]:
    """The grade of each tier of a run."""
    found = []
    for tier in tiers:
        own = [r for r in results if (r.tier, r.kernel) == (tier.tier, tier.kernel)]
        found.append((tier, grade_of(Evidence(tier, env, own))))
    return found


def poor(
    env: Mapping[str, Any], tiers: Sequence[Tier], results: Sequence[Result]
) -> dict[tuple[str, str, str], str]:
    """The benchmarks whose numbers are poor, each with the reason and the next step."""
    known = {(tier.tier, tier.kernel): tier for tier in tiers}
    rows: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
    for result in results:
        rows[result.tier, result.kernel, result.benchmark].append(result)
    notes = {}
    for key, own in rows.items():
        reasons = grade_of(Evidence(known[key[:2]], env, own)).reasons
        found = [one for one in reasons if one.level == Level.POOR and not one.judged]
        if found:
            notes[key] = f"{found[0].words}; next: {found[0].remedy}"
    return notes


def withheld(
    env: Mapping[str, Any], tiers: Sequence[Tier], results: Sequence[Result]
) -> list[Result]:
    """The results, without verdicts in benchmarks whose numbers are poor. The A/A clones keep
    theirs, which are evidence."""
    notes = poor(env, tiers, results)
    return [without_verdict(result, notes.get(result.key[:3], "")) for result in results]


def without_verdict(result: Result, note: str) -> Result:
    """The result with this note and a withheld verdict; unchanged without a note, or if it is an
    A/A clone or has no verdict to withhold."""
    if not note or result.is_clone or result.verdict not in SAID:
        return result
    return replace(result, verdict=WITHHELD, note="; ".join(filter(None, (note, result.note))))
