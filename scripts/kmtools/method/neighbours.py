# SPDX-License-Identifier: GPL-2.0-only
"""Counts false and missing verdicts in whole runs with neighbour processes and fresh seeds.

Each run measures the benchmark `planted`, whose costs are known (selftest.py), and the hot loops
(verdicts.HOT_LOOPS), while a neighbour process of measure/neighbour.py runs. The run is analysed as
for a report. For each neighbour:

- No verdict about a row of `planted` may be false. The verdict may be unresolved or withheld.
- No A/A clone may be slower or faster, or differ.
- At least the share aa.MIN_RESOLVED_SHARE of the rows of hot loops must have a verdict.
- If the verdict of a row of a hot loop is withheld, the first screen of the page and the summary on
  the terminal must have the reason.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from kmtools.analyse.verdicts import EQUIVALENT, TIMED_VERDICTS, WITHHELD, Result
from kmtools.base.files import write_file_atomically
from kmtools.measure.aa import RunSettings
from kmtools.method import aa, selftest
from kmtools.report import marker_cost

KINDS = ("memory", "busy", "bursts-same-cpu", "bursts-pinned")


@dataclass(frozen=True)
class Findings:
    """The findings in a run that the neighbour process `kind` disturbed.

    `hot` is the number of rows of hot loops, `resolved` the number of these rows with a verdict,
    `late` the share of late windows in the worst benchmark. `false` are false verdicts about rows
    of `planted`, `clones` the A/A clones that differ, `withheld` the rows of hot loops whose
    verdict is withheld, `unexplained` the withheld rows without a reason on the first screen,
    `missed` the rows of `planted` that fail in the self-test, some by chance. `cpus` has the number
    of windows on each CPU.
    """

    kind: str
    hot: int
    resolved: int
    late: float
    false: Sequence[str]
    clones: Sequence[str]
    unexplained: Sequence[str]
    withheld: Sequence[str] = ()
    missed: Sequence[str] = ()
    cpus: Mapping[int, int] = field(default_factory=dict)


def explain_withheld_rows(results: Sequence[Result]) -> tuple[list[str], list[str]]:
    """Return a line about each row of a hot loop whose verdict is withheld; and, in a second list,
    the lines whose reason is not on the first screen of the report."""
    screen = " ".join(
        marker_cost.describe_cost_caveats(marker_cost.find_marker_costs(results, []))[0]
    )
    withheld, unexplained = [], []
    for row in results:
        if row.verdict == WITHHELD and aa.is_hot_loop_result(row):
            line = f"{row.benchmark} {row.variant}: {row.note}"
            withheld.append(line)
            reason = row.note.partition("; ")[0]
            if not reason or reason not in screen:
                unexplained.append(line)
    return withheld, unexplained


def make_neighbour_findings(
    kind: str, results: Sequence[Result], cpus: Mapping[int, int]
) -> Findings:
    """Return the findings in the results of a run; the results have the verdicts of a report."""
    planted = selftest.judge_planted_results(results)
    false = [
        row.line
        for row in planted
        if row.verdict in TIMED_VERDICTS
        and not selftest.is_verdict_right(row.planted, row.interval, row.verdict)
    ]
    clones = [row for row in results if row.is_clone and row.verdict in TIMED_VERDICTS]
    resolved, hot = aa.count_hot_loop_rows([row for row in results if row.delta is not None])
    withheld, unexplained = explain_withheld_rows(results)
    return Findings(
        kind,
        hot,
        resolved,
        max(row.late.share for row in results),
        false,
        [
            f"{row.benchmark} {row.variant}: {row.delta:+.3f}, {row.verdict}"
            for row in clones
            if row.verdict != EQUIVALENT
        ],
        unexplained,
        withheld,
        [row.line for row in planted if row.outcome == selftest.FAIL],
        cpus,
    )


def judge_neighbour_findings(kind: str, runs: Sequence[Findings]) -> bool:
    """Print the totals of the runs with the neighbour process `kind`; return False if the totals
    miss a limit."""
    hot, resolved = sum(run.hot for run in runs), sum(run.resolved for run in runs)
    share = resolved / hot if hot else 0.0
    faults = {
        "false verdicts about planted rows": [line for run in runs for line in run.false],
        "A/A clones differ": [line for run in runs for line in run.clones],
        "withheld rows without a reason": [line for run in runs for line in run.unexplained],
    }
    counts = ", ".join(f"{len(lines)} {what}" for what, lines in faults.items())
    withheld, missed = (
        sum(len(run.withheld) for run in runs),
        sum(len(run.missed) for run in runs),
    )
    print(
        f"{kind}: {resolved} of {hot} rows of hot loops are resolved ({share:.1%}, at least"
        f" {aa.MIN_RESOLVED_SHARE:.0%}), {withheld} withheld; {counts} (each at most 0);"
        f" {missed} planted rows fail in the self-test"
    )
    for what, lines in faults.items():
        for line in lines:
            print(f"{kind}: {what}: {line}")
    return share >= aa.MIN_RESOLVED_SHARE and not any(faults.values())


def judge_neighbours(kinds: Sequence[str], runs: int, plan: RunSettings, file: Path) -> bool:
    """Measure `runs` runs by the plan `plan` with each neighbour process of `kinds`; print the
    findings, and write them to the JSON file `file` after each run. Return False if the runs with a
    neighbour process miss a limit."""
    found: list[Findings] = []
    for number in range(1, runs + 1):
        # Measure one run with each neighbour in each round, so that a change of the machine over
        # time affects all neighbours alike.
        for kind in kinds:
            seed = kinds.index(kind) * runs + number
            loaded, results = aa.measure_run_with_verdicts(seed, replace(plan, neighbour=kind))
            cpus = dict(Counter(row.cpu for row in loaded.rows))
            found.append(make_neighbour_findings(kind, results, cpus))
            last = found[-1]
            where = ", ".join(f"{count} on CPU {cpu}" for cpu, count in sorted(cpus.items()))
            print(
                f"run {number}, {kind}: {last.resolved} of {last.hot} rows of hot loops resolved;"
                f" {last.late:.1%} of windows late; windows: {where}",
                flush=True,
            )
            write_file_atomically(file, json.dumps([asdict(one) for one in found], indent=1))
    print(f"the findings of all runs are in {file}")
    kept = [
        judge_neighbour_findings(kind, [one for one in found if one.kind == kind]) for kind in kinds
    ]
    return all(kept)
