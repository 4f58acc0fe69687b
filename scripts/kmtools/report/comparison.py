# SPDX-License-Identifier: GPL-2.0-only
"""Compares runs: each run with the first one, row by row; determines which rows fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kmtools.analyse import changes, estimates
from kmtools.analyse.changes import Change
from kmtools.analyse.rows import Row
from kmtools.analyse.verdicts import WITHHELD
from kmtools.analyse.words import FAIL_ON_VERDICTS
from kmtools.base.text import escape_unprintable_chars
from kmtools.measure.rundir import RunError, describe_missing_tiers, is_quick_run, read_env


@dataclass(frozen=True)
class ComparedRun:
    """A run to compare: the name of the run, the content of env.json, the rows, remarks (`note`, a
    line for each), and a line for the grade of each tier (`grades`)."""

    name: str
    env: dict[str, Any]
    rows: Sequence[Row]
    note: str = ""
    grades: Sequence[str] = ()


@dataclass(frozen=True)
class RunPair:
    """Two compared runs `a` and `b`, and the change of each row from `a` to `b`; `a` is the first
    run of the comparison."""

    a: ComparedRun
    b: ComparedRun
    changes: Sequence[Change]

    @property
    def verdict_counts(self) -> Counter[str]:
        """The number of rows with each verdict."""
        return Counter(change.verdict for change in self.changes)


@dataclass(frozen=True)
class Comparison:
    """The result of comparing runs: all pairs, the margin in percent, the verdicts that count as
    failures, and a line for each machine that could not be compared."""

    pairs: Sequence[RunPair]
    margin: float
    failing: frozenset[str]
    faults: Sequence[str] = ()

    def is_failure(self, change: Change) -> bool:
        """Return True if --fail-on names the verdict of a row."""
        return change.verdict in self.failing

    @property
    def withheld_count(self) -> int:
        """The number of rows whose verdict is withheld, because a run has a poor grade in the row's
        benchmark."""
        return sum(pair.verdict_counts[WITHHELD] for pair in self.pairs)

    @property
    def failure_count(self) -> int:
        """The number of rows that fail."""
        return sum(self.is_failure(change) for pair in self.pairs for change in pair.changes)


def load_compared_run(run: Path) -> ComparedRun:
    """Return a run with its rows. If a file of the run is invalid, raise RunError, which names the
    file and the line."""
    found = estimates.load_estimates(run)
    env = read_env(run / "env.json")
    name = escape_unprintable_chars(run.resolve().name)
    return ComparedRun(name, env, found.rows, grades=[one.words for one in found.grades])


def list_run_remarks(run: ComparedRun) -> list[str]:
    """Return the remarks on a run to print above its rows: a quick run, missing tiers (measurement
    environments), benchmarks with a poor grade."""
    lines = (
        [f"{run.name} is a quick run: it has few blocks, so its intervals are wide"]
        if is_quick_run(run.env)
        else []
    )
    lines += run.note.splitlines()
    return lines + [
        f"{run.name}: {escape_unprintable_chars(x)}"
        for x in (*describe_missing_tiers(run.env), *run.grades)
    ]


def make_run_fields(run: ComparedRun) -> dict[str, Any]:
    """Return the fields that describe a run in the JSON of a comparison: its name, date, CPU,
    microcode, kernel, grades and remarks."""
    cpu = (run.env.get("machine") or {}).get("cpu") or {}
    return {
        "run": run.name,
        "date": run.env.get("date"),
        "cpu": cpu.get("model_name"),
        "microcode": cpu.get("microcode"),
        "kernel": (run.env.get("kernel") or {}).get("release"),
        "grades": list(run.grades),
        "remarks": list_run_remarks(run),
    }


def load_compared_runs(paths: Sequence[Path]) -> list[ComparedRun]:
    """Return the runs in the folders `paths`. If several folders have the same name, the names of
    their runs are the paths."""
    runs = [load_compared_run(path) for path in paths]
    first = paths[0].resolve()
    names = Counter(run.name for run in runs)
    found: list[ComparedRun] = []
    for path, run in zip(paths, runs, strict=True):
        name = escape_unprintable_chars(str(path)) if names[run.name] > 1 else run.name
        same = f"A and B are the same run, {name}" if found and path.resolve() == first else ""
        found.append(replace(run, name=name, note=same))
    return found


def compare_runs(
    runs: Sequence[ComparedRun],
    margin: float = changes.MARGIN,
    fail_on: Collection[str] = (),
    judge_whole_rows: bool = False,
    faults: Sequence[str] | None = None,
) -> Comparison:
    """Compare each run with the first. If `judge_whole_rows` is true, also compare the times of
    baselines and the times to switch sites. `faults` are lines about machines that could not be
    compared; a run without comparable rows adds a line. If `faults` is None, raise RunError for
    such a run."""
    pairs, said = [], list(faults or [])
    for other in runs[1:]:
        found = changes.compare_rows(
            runs[0].rows, other.rows, margin, judge_whole_rows, len(runs) - 1
        )
        pair = RunPair(runs[0], other, found)
        if not (why := find_comparison_obstacle(pair)):
            pairs.append(pair)
        elif faults is None:
            raise RunError(why)
        else:
            said.append(f"not compared: {why}")
    failing = frozenset(verdict for word in fail_on for verdict in FAIL_ON_VERDICTS[word])
    return Comparison(pairs, margin, failing, said)


def find_comparison_obstacle(pair: RunPair) -> str:
    """Return the reason why no row of a pair of runs can be compared; "" if at least one row can be
    compared."""
    names, found = f"{pair.a.name} and {pair.b.name}", pair.changes
    if not any(change.a and change.b for change in found):
        return f"{names} have no row in common"
    if not any(change.is_comparable for change in found):
        why = "; ".join(sorted({change.note for change in found if change.a and change.b}))
        return f"no row of {names} can be compared: {why}"
    return ""
