# SPDX-License-Identifier: GPL-2.0-only
"""Grades how far the numbers of a run can be trusted, with reasons.

Each check returns a reason for a lower grade, or None. The worst reason decides the grade. If the
grade of a benchmark is poor, its rows get the reason and a remedy instead of a verdict. To add a
check, write a function and add it to TIMED_CHECKS. grade_evidence() grades a tier (measurement
environment) or a single benchmark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from kmtools.analyse.lateness import (
    MANY_LATE,
    MUCH_OTHER,
    MUCH_STEAL,
    STEADY_CORE,
    TOGETHER,
    divide_counter_by_measuring_time,
    find_lateness_cause,
)
from kmtools.analyse.verdicts import (
    EQUIVALENT,
    FASTER,
    SLOWER,
    TIMED_VERDICTS,
    UNMEASURED,
    WITHHELD,
    Result,
)
from kmtools.measure import disturbance, rundir
from kmtools.measure.rundir import CLUSTER_NOUNS, Tier

# Shares of flagged windows among the timed windows: above MANY_FLAGS the grade is fair, above
# TOO_MANY_FLAGS it is poor.
MANY_FLAGS, TOO_MANY_FLAGS = 0.01, 0.05
# Shares of the measuring time above which the grade is poor: steal time, and the time that other
# programs used the same CPU. lateness.py has the limits of a fair grade.
TOO_MUCH_STEAL, TOO_MUCH_OTHER = 0.05, 0.25
# The grade is poor if more than this share of the windows is late and, in addition, most late
# windows are in blocks in which most windows are late.
TOO_MANY_LATE = 0.3
# The grade is poor if the noise exceeds the equivalence margin in more than this share of the
# benchmarks.
MANY_NOISY_CLONES = 1 / 3
# Largest permitted difference of the clock's rate between processes, as a share of the rate. The
# rate is measured to a few parts per million.
STEADY_RATE = 0.01
# The values of the env key "hypervisor" on a machine without a hypervisor.
NO_HYPERVISOR = ("", "0", "no", "none")
# Remedies for a low grade of times that were measured in a test kernel.
REAL_KERNEL = "to measure in the kernel of a real machine, run make bench-host"
UNDER_KVM = "to see what a test kernel under KVM needs, run scripts/kmarkers vm accel"
# The kernel options that slow down all code.
SLOW_OPTIONS = ("CONFIG_KASAN", "CONFIG_DEBUG_PAGEALLOC")


class Level(IntEnum):
    """Grades of measured numbers. FAIR numbers hold for this machine in its present state, if
    quoted with their intervals; POOR numbers only show that the benchmarks work, and must not be
    quoted."""

    GOOD = 0
    FAIR = 1
    POOR = 2

    @property
    def level_name(self) -> str:
        """The name of the level in lower case."""
        return self.name.lower()


@dataclass(frozen=True)
class Reason:
    """A reason for a lower grade and its remedy; both are clauses without a full stop. If `judged`
    is True, verdicts.py already accounts for the reason, so the reason withholds no verdict."""

    level: Level
    words: str
    remedy: str = ""
    judged: bool = False


@dataclass(frozen=True)
class Evidence:
    """The data that the checks use: a tier (measurement environment) of a run, the content of
    env.json, and the results of the tier."""

    tier: Tier
    env: Mapping[str, Any]
    results: Sequence[Result]

    @property
    def clones(self) -> list[Result]:
        """The results of the A/A clones, the second copies of the baselines."""
        return [result for result in self.results if result.is_clone]


@dataclass(frozen=True)
class Grade:
    """A level with the reasons for it, the worst first."""

    level: Level
    reasons: tuple[Reason, ...]

    @property
    def level_name(self) -> str:
        """The name of the level in lower case."""
        return self.level.level_name

    @property
    def remedies(self) -> list[str]:
        """The remedies of all reasons, without repetition."""
        return list(dict.fromkeys(reason.remedy for reason in self.reasons if reason.remedy))


# A check returns a reason for a lower grade, or None.
Check = Callable[[Evidence], Reason | None]


def grade_quick_run(evidence: Evidence) -> Reason | None:
    """Return a reason for a lower grade if the run is quick, so that it has few blocks."""
    if not rundir.is_quick_run(evidence.env):
        return None
    return Reason(Level.POOR, "a quick run of few blocks", "measure without --quick or QUICK=1")


def grade_emulation(evidence: Evidence) -> Reason | None:
    """Return a reason for a lower grade if the CPU is emulated, because its clock is then emulated,
    too."""
    if not evidence.tier.emulated:
        return None
    words = "an emulated CPU, whose ticks are fit for ratios of whole operations only"
    remedy = REAL_KERNEL
    if evidence.tier.tier == "vm":
        remedy += f"; {UNDER_KVM}"
    if is_host_emulated(evidence):
        remedy = "another machine, which is not itself emulated"
    return Reason(Level.POOR, words, remedy)


def is_host_emulated(evidence: Evidence) -> bool:
    """Return True if the machine on which the run was started is emulated: a tier that was measured
    on this machine, or in a guest under KVM, has an emulated CPU."""
    entries = evidence.env.get("tiers", [])
    return any(
        one.emulated and (one.tier in rundir.HOST_TIERS or one.vm.get("accel") == "kvm")
        for one in (evidence.tier, *rundir.make_tiers({"tiers": entries}))
    )


def grade_invariant_tsc(evidence: Evidence) -> Reason | None:
    """Return a reason for a lower grade if the rate of the time stamp counter changes with the CPU
    frequency."""
    if evidence.tier.emulated or evidence.tier.env.get("invariant_tsc", "1") != "0":
        return None
    words = "a time stamp counter that is not invariant, so cycles differ in length"
    return Reason(Level.POOR, words, "another machine")


def grade_clock_rate(evidence: Evidence) -> Reason | None:
    """Return a reason for a lower grade if the rate of the time stamp counter differed between
    processes, as after the migration of a virtual machine or a change of its clock."""
    try:
        spread = float(evidence.tier.env[disturbance.TSC_RATE_SPREAD])
    except (KeyError, ValueError):
        return None
    if evidence.tier.emulated or spread <= STEADY_RATE:
        return None
    noun = CLUSTER_NOUNS[evidence.tier.tier][0]
    words = f"a clock whose rate differed by {100 * spread:.1f} % from one {noun} to another"
    return Reason(Level.POOR, words, "repeat the run, and do not migrate the machine meanwhile")


def grade_loop_durations(evidence: Evidence) -> Reason | None:
    """Return a reason for a lower grade if longer loops took no longer than short loops."""
    found = {result.benchmark for result in evidence.results if UNMEASURED in result.note}
    if not found:
        return None
    names = ", ".join(sorted(found))
    words = f"long loops that take no longer than short loops in {names}: nothing was measured"
    return Reason(Level.POOR, words, "to see which clock this machine has, run kmbench env")


def grade_core_frequency(evidence: Evidence) -> Reason | None:
    """Return a reason for a lower grade if the frequency of the core changed from block to block.
    Costs in core cycles account for the change."""
    spreads = {r.benchmark: r.core.spread for r in evidence.results if r.core}
    found = [name for name, spread in spreads.items() if spread > STEADY_CORE]
    if not found:
        return None
    most = max(spreads.values())
    names = ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
    words = f"a core whose frequency changed by up to {100 * most:.0f} % between blocks: {names}"
    remedy = "run cpupower frequency-set -g performance, and switch off turbo"
    return Reason(Level.FAIR, words, remedy, True)


def is_virtual(tier: Tier) -> bool:
    """Return True if a tier ran under a hypervisor."""
    return tier.env.get("hypervisor", "").strip().lower() not in NO_HYPERVISOR


def grade_hypervisor(evidence: Evidence) -> Reason | None:
    """Return a reason for a lower grade if the machine is virtual and may share its CPU with other
    virtual machines."""
    if evidence.tier.emulated or not is_virtual(evidence.tier):
        return None
    words = "a virtual machine, whose cores and caches others may use, too"
    if evidence.tier.tier == "vm" and not is_host_virtual(evidence):
        words = (
            "a test kernel under KVM, which shares cores and caches with this machine's programs"
        )
        return Reason(Level.FAIR, words, REAL_KERNEL)
    return Reason(Level.FAIR, words, "a machine of your own")


def is_host_virtual(evidence: Evidence) -> bool:
    """Return True if the machine on which the run was started is virtual, according to the flags of
    its CPU or to a tier that was measured on this machine."""
    cpu = (evidence.env.get("machine") or {}).get("cpu") or {}
    tiers = rundir.make_tiers({"tiers": evidence.env.get("tiers", [])})
    return bool(cpu.get("hypervisor")) or any(
        one.tier in rundir.HOST_TIERS and is_virtual(one) for one in tiers
    )


def grade_governor(evidence: Evidence) -> Reason | None:
    """Return a reason for a lower grade if the frequency governor changes the frequency with the
    load."""
    name = (evidence.env.get("machine") or {}).get("governor")
    if evidence.tier.emulated or name in (None, "", "performance"):
        return None
    words = f"the frequency governor {name}, which changes the length of a core cycle"
    return Reason(Level.FAIR, words, "run cpupower frequency-set -g performance")


def grade_debug_kernel(evidence: Evidence) -> Reason | None:
    """Return a reason for a lower grade if the kernel has debugging checks that slow down all
    code."""
    kernel = evidence.env.get("kernel") or {}
    options = (kernel.get("config") or {}).get("options") or {}
    found = [name for name in SLOW_OPTIONS if options.get(name) == "y"]
    if evidence.tier.tier != "metal" or not found:
        return None
    return Reason(Level.POOR, f"a kernel with {' and '.join(found)}", "a kernel without debugging")


def grade_flagged_windows(evidence: Evidence) -> Reason | None:
    """Return a reason for a lower grade if the loop was preempted or migrated in many timed
    windows."""
    windows = sum(result.windows for result in evidence.results)
    flagged = sum(result.flagged for result in evidence.results)
    if not windows or flagged <= MANY_FLAGS * windows:
        return None
    level = Level.POOR if flagged > TOO_MANY_FLAGS * windows else Level.FAIR
    words = f"{100 * flagged / windows:.1f} % of the timed windows disturbed"
    return Reason(level, words, "a quieter machine")


def grade_late_windows(evidence: Evidence) -> Reason | None:
    """Return a reason for a lower grade if many timed windows are late: over a microsecond longer
    than usual. Usually the grade is fair and verdicts are kept, because late windows widen the
    intervals. The grade is poor if more than TOO_MANY_LATE of the windows are late, and most late
    windows are in blocks whose windows are mostly late: intervals then cover the true cost too
    rarely, as method/latewindows.py shows. The cause and the remedy are taken from the benchmark
    with the largest share of late windows."""
    windows = sum(result.windows - result.flagged for result in evidence.results)
    found = sum(result.late.late for result in evidence.results)
    if not windows or found <= MANY_LATE * windows:
        return None
    worst = max(evidence.results, key=lambda result: result.late.share)
    cause = find_lateness_cause(
        evidence.tier.env, worst.late, worst.core.spread if worst.core else 0.0
    )
    words = f"{100 * found / windows:.1f} % of the timed windows over a microsecond late"
    if len({result.benchmark for result in evidence.results}) > 1:
        words += f", most in {worst.benchmark}"
    bad = found > TOO_MANY_LATE * windows and worst.late.together > TOGETHER
    level = Level.POOR if bad else Level.FAIR
    return Reason(level, f"{words}: {cause.words}", cause.remedy, judged=not bad)


def grade_share_of_time(
    evidence: Evidence, counter: str, fair_above: float, poor_above: float
) -> tuple[Level, float] | None:
    """Return a grade and a share: the seconds that `counter` (see measure/disturbance.py) counted,
    divided by the measuring time. The grade is poor if the share is above `poor_above`, else fair.
    Return None if the share is at most `fair_above`."""
    share = divide_counter_by_measuring_time(evidence.tier.env, counter)
    if share is None or share <= fair_above:
        return None
    return Level.POOR if share > poor_above else Level.FAIR, share


def grade_steal_time(evidence: Evidence) -> Reason | None:
    """Return a reason for a lower grade if a hypervisor took the CPU away for much of the time."""
    found = grade_share_of_time(evidence, disturbance.STEAL_SECONDS, MUCH_STEAL, TOO_MUCH_STEAL)
    if found is None:
        return None
    words = f"a hypervisor that took the CPU away for {100 * found[1]:.1f} % of the time"
    return Reason(found[0], words, "a machine of your own", judged=True)


def grade_other_programs(evidence: Evidence) -> Reason | None:
    """Return a reason for a lower grade if other programs used the same CPU for much of the
    time."""
    found = grade_share_of_time(evidence, disturbance.OTHERS_SECONDS, MUCH_OTHER, TOO_MUCH_OTHER)
    if found is None:
        return None
    words = f"other programs on the same CPU for {100 * found[1]:.0f} % of the time"
    remedy = "end the other programs, or choose a CPU that they leave alone"
    return Reason(found[0], words, remedy, judged=True)


def grade_clone_differences(evidence: Evidence) -> Reason | None:
    """Return a reason for a lower grade if two copies of the same code have different costs."""
    found = [clone.benchmark for clone in evidence.clones if clone.verdict in (SLOWER, FASTER)]
    if not found:
        return None
    words = f"two copies of the same code with different costs in {', '.join(found)}"
    return Reason(Level.POOR, words, "repeat the run on a quieter machine")


def grade_noise_floor(evidence: Evidence) -> Reason | None:
    """Return a reason for a lower grade if the noise of A/A clones exceeds the equivalence
    margin."""
    clones = evidence.clones
    found = [clone for clone in clones if clone.verdict not in (EQUIVALENT, SLOWER, FASTER)]
    if evidence.tier.exact or not found:
        return None
    level = Level.POOR if len(found) > MANY_NOISY_CLONES * len(clones) else Level.FAIR
    names = ", ".join(clone.benchmark for clone in found[:3])
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    words = f"more noise than the margin allows in {names}{more}"
    return Reason(level, words, "more blocks, or a quieter machine", judged=True)


# The checks of measured times.
TIMED_CHECKS: tuple[Check, ...] = (
    grade_quick_run,
    grade_emulation,
    grade_loop_durations,
    grade_invariant_tsc,
    grade_clock_rate,
    grade_core_frequency,
    grade_flagged_windows,
    grade_late_windows,
    grade_steal_time,
    grade_other_programs,
    grade_clone_differences,
    grade_noise_floor,
    grade_debug_kernel,
    grade_governor,
    grade_hypervisor,
)
# The checks of exact counts: none, because disturbances do not change counts.
EXACT_CHECKS: tuple[Check, ...] = ()


def grade_evidence(evidence: Evidence) -> Grade:
    """Return the grade that follows from the reasons that all checks return."""
    checks = EXACT_CHECKS if evidence.tier.exact else TIMED_CHECKS
    found = [reason for check in checks if (reason := check(evidence)) is not None]
    reasons = tuple(sorted(found, key=lambda reason: -reason.level))
    return Grade(reasons[0].level if reasons else Level.GOOD, reasons)


def grade_tiers(
    env: Mapping[str, Any], tiers: Sequence[Tier], results: Sequence[Result]
) -> list[tuple[Tier, Grade]]:
    """Return the grade of each tier of a run."""
    found = []
    for tier in tiers:
        own = [r for r in results if (r.tier, r.kernel) == (tier.tier, tier.kernel)]
        found.append((tier, grade_evidence(Evidence(tier, env, own))))
    return found


def find_poorly_graded_benchmarks(
    env: Mapping[str, Any], tiers: Sequence[Tier], results: Sequence[Result]
) -> dict[tuple[str, str, str], str]:
    """Return the benchmarks whose verdicts are withheld because of a poor grade, each with the
    reason and the remedy."""
    known = {(tier.tier, tier.kernel): tier for tier in tiers}
    rows: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
    for result in results:
        rows[result.tier, result.kernel, result.benchmark].append(result)
    notes = {}
    for key, own in rows.items():
        reasons = grade_evidence(Evidence(known[key[:2]], env, own)).reasons
        found = [one for one in reasons if one.level == Level.POOR and not one.judged]
        if found:
            notes[key] = f"{found[0].words}; next: {found[0].remedy}"
    return notes


def withhold_verdicts(
    env: Mapping[str, Any], tiers: Sequence[Tier], results: Sequence[Result]
) -> list[Result]:
    """Withhold the verdicts of benchmarks with a poor grade, and return all results. A/A clones
    keep their verdicts, which are evidence of the noise."""
    notes = find_poorly_graded_benchmarks(env, tiers, results)
    return [withhold_verdict(result, notes.get(result.key[:3], "")) for result in results]


def withhold_verdict(result: Result, note: str) -> Result:
    """Withhold the verdict of a result, and put `note` before the note of the result. Return the
    result unchanged if `note` is empty, if the result is an A/A clone, or if it has no verdict to
    withhold."""
    if not note or result.is_clone or result.verdict not in TIMED_VERDICTS:
        return result
    return replace(result, verdict=WITHHELD, note="; ".join(filter(None, (note, result.note))))
