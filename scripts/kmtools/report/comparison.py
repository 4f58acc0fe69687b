# SPDX-License-Identifier: GPL-2.0-only
"""A comparison of runs: each of them with the first, and the rows that make it fail."""

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
from kmtools.analyse.words import FAILURES
from kmtools.base.text import printable
from kmtools.measure.rundir import RunError, is_quick, missing_of, read_env


@dataclass(frozen=True)
class Compared:
    """A run: its name, its description, its rows, and a line for the grade of each tier."""

    name: str
    env: dict[str, Any]
    rows: Sequence[Row]
    note: str = ""
    grades: Sequence[str] = ()


@dataclass(frozen=True)
class Pair:
    """A run compared with the first one."""

    a: Compared
    b: Compared
    changes: Sequence[Change]

    @property
    def counts(self) -> Counter[str]:
        """The number of rows with each verdict."""
        return Counter(change.verdict for change in self.changes)


@dataclass(frozen=True)
class Comparison:
    """All pairs, the declared margin in percent, the verdicts that fail, and a line for each
    machine of many that is not compared."""

    pairs: Sequence[Pair]
    margin: float
    failing: frozenset[str]
    faults: Sequence[str] = ()

    def fails(self, change: Change) -> bool:
        """Whether a row fails the comparison."""
        return change.verdict in self.failing

    @property
    def withheld(self) -> int:
        """The number of rows without a verdict because the numbers of a run are poor."""
        return sum(pair.counts[WITHHELD] for pair in self.pairs)

    @property
    def failed(self) -> int:
        """The number of rows that fail."""
        return sum(self.fails(change) for pair in self.pairs for change in pair.changes)


def load(run: Path) -> Compared:
    """A run with its rows; RunError names file and line of what is wrong in it."""
    found = estimates.of_run(run)
    env = read_env(run / "env.json")
    name = printable(run.resolve().name)
    return Compared(name, env, found.rows, grades=[one.words for one in found.grades])


def remarks(run: Compared) -> list[str]:
    """The remarks on a run that stand before its numbers."""
    lines = (
        [f"{run.name} is a quick run: few blocks, so wide intervals"] if is_quick(run.env) else []
    )
    lines += [run.note] if run.note else []
    return lines + [f"{run.name}: {printable(x)}" for x in (*missing_of(run.env), *run.grades)]


def machine_of(run: Compared) -> dict[str, Any]:
    """The run's name, its kernel, and its machine's CPU and microcode."""
    cpu = (run.env.get("machine") or {}).get("cpu") or {}
    return {
        "run": run.name,
        "date": run.env.get("date"),
        "cpu": cpu.get("model_name"),
        "microcode": cpu.get("microcode"),
        "kernel": (run.env.get("kernel") or {}).get("release"),
        "grades": list(run.grades),
        "remarks": remarks(run),
    }


def load_all(paths: Sequence[Path]) -> list[Compared]:
    """The runs to compare. Those with the same name are named by their paths."""
    runs = [load(path) for path in paths]
    first = paths[0].resolve()
    names = Counter(run.name for run in runs)
    found: list[Compared] = []
    for path, run in zip(paths, runs, strict=True):
        name = printable(str(path)) if names[run.name] > 1 else run.name
        same = f"A and B are the same run, {name}" if found and path.resolve() == first else ""
        found.append(replace(run, name=name, note=same))
    return found


def compare(
    runs: Sequence[Compared],
    margin: float = changes.MARGIN,
    fail_on: Collection[str] = (),
    wholes: bool = False,
    faults: Sequence[str] | None = None,
) -> Comparison:
    """Each run compared with the first; RunError if no row of it can be compared. With `faults`,
    those of machines, the error is added to them instead."""
    pairs, said = [], list(faults or [])
    for other in runs[1:]:
        found = changes.compare(runs[0].rows, other.rows, margin, wholes, len(runs) - 1)
        pair = Pair(runs[0], other, found)
        if not (why := obstacle(pair)):
            pairs.append(pair)
        elif faults is None:
            raise RunError(why)
        else:
            said.append(f"not compared: {why}")
    failing = frozenset(verdict for word in fail_on for verdict in FAILURES[word])
    return Comparison(pairs, margin, failing, said)


def obstacle(pair: Pair) -> str:
    """The reason why no row of two runs can be compared; empty if one can."""
    names, found = f"{pair.a.name} and {pair.b.name}", pair.changes
    if not any(change.a and change.b for change in found):
        return f"{names} have no row in common"
    if not any(change.comparable for change in found):
        why = "; ".join(sorted({change.note for change in found if change.a and change.b}))
        return f"no row of {names} can be compared: {why}"
    return ""
