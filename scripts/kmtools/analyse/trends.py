# SPDX-License-Identifier: GPL-2.0-only
"""Finds the change points of a row over many runs, and their sizes.

ruptures' PELT proposes change points: shifts of the mean of the series, which is scaled by the
spread of neighbouring runs. The proposed points divide the runs into segments. A proposed change
point is reported if, by the rule of changes.py, the segment after the point is slower or faster
than the segment before the point. The noise floor is the change of the A/A clone between these
segments. The error probability is divided by the number of rows and of runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kmtools.analyse import changes
from kmtools.analyse.changes import FAMILY_WISE_ERROR
from kmtools.analyse.rows import SHARE, Row
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import FASTER, SLOWER, decide_verdict

# The fewest runs before and after a change point.
FEWEST_RUNS = 3
# The penalty of a change point, as a multiple of the logarithm of the number of runs.
PENALTY = 4.0
# The median absolute deviation (MAD) of a normal distribution, in standard deviations.
MAD_OF_NORMAL = 0.6745


@dataclass(frozen=True)
class Shift:
    """A change point of a row (variant) over many runs. `at` is the index of the first run after
    the change, counted from 0. `percent` is the size of the change, and `interval` the interval of
    `percent`."""

    row: Row
    at: int
    percent: float
    interval: Interval
    verdict: str


def estimate_spread_of_runs(values: NDArray[np.float64]) -> float:
    """Return the standard deviation of the values of runs, estimated from the differences of
    neighbouring runs, because a shift hardly affects these differences."""
    differences = np.abs(np.diff(values))
    usual = float(np.median(differences)) or float(np.mean(differences))
    return usual / (MAD_OF_NORMAL * math.sqrt(2))


def propose_shift_indices(values: NDArray[np.float64]) -> list[int]:
    """Return the indices at which the mean of a series may have shifted."""
    scale = estimate_spread_of_runs(values) if len(values) > 2 * FEWEST_RUNS else 0.0
    if not scale:
        return []
    import ruptures  # noqa: PLC0415  only the history of runs needs it

    finder = ruptures.Pelt(model="l2", min_size=FEWEST_RUNS, jump=1).fit(values / scale)
    return list(finder.predict(pen=PENALTY * math.log(len(values))))[:-1]


def select_runs_of_row(row: Row, indices: NDArray[np.int64]) -> Row:
    """Return a copy of a row that has only the values of the runs with the indices `indices`.
    Values that are left out (NaN) are removed."""
    values = row.values[indices]
    values = values[~np.isnan(values)]
    return replace(row, values=values, processes=len(values))


def find_shifts(
    row: Row, tested_rows: int = 1, margin: float = changes.MARGIN, clone: Row | None = None
) -> list[Shift]:
    """Return the shifts of one row, which has one value for each run, in the order of the runs; the
    value is NaN if the row of a run is left out. `tested_rows` is the number of rows that are
    tested, `margin` is in percent. `clone` is the A/A clone of the benchmark, None without a clone:
    its change between the same runs is the noise floor."""
    indices = np.flatnonzero(~np.isnan(row.values))
    values = row.values[indices]
    found, alpha = [], FAMILY_WISE_ERROR / (tested_rows * max(1, len(values)))
    ends = [0, *propose_shift_indices(values), len(values)]
    for before, at, end in zip(ends, ends[1:], ends[2:], strict=False):
        runs = indices[before:at], indices[at:end]
        old, new = (select_runs_of_row(row, part) for part in runs)
        percent, interval, _ = changes.compute_relative_change(old, new, alpha)
        floor = None
        if clone is not None:
            old, new = (select_runs_of_row(clone, part) for part in runs)
            change = abs(changes.compute_relative_change(old, new, alpha)[0])
            floor = None if math.isnan(change) else change
        verdict = decide_verdict(percent, interval, margin, floor)
        if verdict in (SLOWER, FASTER):
            found.append(Shift(row, int(indices[at]), percent, interval, verdict))
    return found


def make_benchmark_key(row: Row) -> tuple[str, str, str]:
    """Return the tier, the kernel and the benchmark of a row."""
    return row.name.tier, row.kernel, row.name.benchmark


def find_all_shifts(rows: Sequence[Row], margin: float = changes.MARGIN) -> list[Shift]:
    """Return the shifts of all rows whose costs are divided by the cost of a baseline. A/A clones
    are left out."""
    judged = [row for row in rows if row.kind == SHARE and not row.is_clone]
    clones = {make_benchmark_key(row): row for row in rows if row.kind == SHARE and row.is_clone}
    return [
        shift
        for row in judged
        for shift in find_shifts(row, len(judged), margin, clones.get(make_benchmark_key(row)))
    ]
