# SPDX-License-Identifier: GPL-2.0-only
"""A comparison of runs: each of them with the first, and the rows that shall fail it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kmtools.analyse import changes
from kmtools.analyse.changes import MISSING, Change
from kmtools.analyse.rows import Row, rows_of
from kmtools.analyse.verdicts import FASTER, FEWER, MORE, SLOWER, UNRESOLVED
from kmtools.measure.rundir import RunError, is_quick, missing_of, read_env, require_run, tiers_of
from kmtools.measure.samples import read_samples

CHANGED = (SLOWER, FASTER, MORE, FEWER)
# What --fail-on can name, and the verdicts it stands for.
FAILURES = {
    **{verdict: (verdict,) for verdict in (*CHANGED, UNRESOLVED, MISSING)},
    "changed": CHANGED,
    "costlier": (SLOWER, MORE),
}


@dataclass(frozen=True)
class Compared:
    """A run: its name, its description and its rows."""

    name: str
    env: dict[str, Any]
    rows: Sequence[Row]


@dataclass(frozen=True)
class Pair:
    """A run beside the first one."""

    a: Compared
    b: Compared
    changes: Sequence[Change]

    @property
    def counts(self) -> Counter[str]:
        """How many rows have each verdict."""
        return Counter(change.verdict for change in self.changes)


@dataclass(frozen=True)
class Comparison:
    """All pairs, the declared margin in percent, and the verdicts that fail."""

    pairs: Sequence[Pair]
    margin: float
    failing: frozenset[str]

    def fails(self, change: Change) -> bool:
        """Whether a row fails the comparison."""
        return change.verdict in self.failing

    @property
    def failed(self) -> int:
        """How many rows fail."""
        return sum(self.fails(change) for pair in self.pairs for change in pair.changes)


def samples_of(run: Path) -> Path:
    """The file with the samples of a run."""
    require_run(run)
    for name in ("samples.csv", "samples.csv.gz"):
        if (run / name).exists():
            return run / name
    raise RunError(f"{run / 'samples.csv'}: there are no samples; kmarkers collect makes them")


def load(run: Path) -> Compared:
    """A run with its rows; RunError names file and line of what is wrong in it."""
    path = samples_of(run)
    env = read_env(run / "env.json")
    tiers = tiers_of(env)
    return Compared(run.resolve().name, env, rows_of(read_samples(path, tiers), tiers))


def remarks(run: Compared) -> list[str]:
    """What to know of a run before its numbers."""
    lines = (
        [f"{run.name} is a quick run: few blocks, so wide intervals"] if is_quick(run.env) else []
    )
    return lines + [f"{run.name}: {line}" for line in missing_of(run.env)]


def compare(
    runs: Sequence[Compared],
    margin: float = changes.MARGIN,
    fail_on: Collection[str] = (),
    wholes: bool = False,
) -> Comparison:
    """Each run beside the first; RunError if one has no row in common with it."""
    first, others = runs[0], runs[1:]
    pairs = []
    for other in others:
        found = changes.compare(first.rows, other.rows, margin, wholes, len(others))
        if not any(change.a and change.b for change in found):
            raise RunError(f"{first.name} and {other.name} have no row in common")
        pairs.append(Pair(first, other, found))
    failing = frozenset(verdict for word in fail_on for verdict in FAILURES[word])
    return Comparison(pairs, margin, failing)
