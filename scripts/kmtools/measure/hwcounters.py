# SPDX-License-Identifier: GPL-2.0-only
"""Reads the events that hardware performance counters counted in loops of the benchmarks.

If the CPU has counters, kmbench writes a file `counters` for each process: the number of events in
a loop pass of each variant, and the fraction of the time in which the counter ran. A run keeps the
median number of events over its processes, and the smallest fraction.
"""

from __future__ import annotations

import csv
import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kmtools.base.errors import explain_error
from kmtools.measure.rundir import RunError

COUNTERS_FILE = "counters"
COLUMNS = ["benchmark", "variant", "counter", "per_pass", "share"]
# The benchmark, the variant, and the name of the counter.
Key = tuple[str, str, str]
# The number of events in a loop pass, and the fraction of the time in which the counter ran.
Counted = tuple[float, float]


def parse_finite_number(text: str, where: str) -> float:
    """Parse a finite number; for other text raise RunError with a message that begins with
    `where`."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise RunError(f"{where}: {text!r} is not a finite number")
    return value


def read_counted_events(path: Path) -> dict[Key, Counted]:
    """Return the counted events in the file `path` of one process; none if there is no such
    file."""
    if not path.exists():
        return {}
    found: dict[Key, Counted] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
    except OSError as error:
        raise RunError(explain_error(error)) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise RunError(f"{path}: {error}") from error
    if not rows or rows[0] != COLUMNS:
        raise RunError(f"{path}:1: the columns are not {','.join(COLUMNS)}")
    for line, row in enumerate(rows[1:], 2):
        where = f"{path}:{line}"
        if len(row) != len(COLUMNS):
            raise RunError(
                f"{where}: the row has {len(row)} fields, not {len(COLUMNS)} (truncated?)"
            )
        share = parse_finite_number(row[4], where)
        if not 0 <= share <= 1:
            raise RunError(f"{where}: share is {row[4]!r}, not between 0 and 1")
        found[row[0], row[1], row[2]] = parse_finite_number(row[3], where), share
    return found


def merge_counted_events(parts: Sequence[Path]) -> dict[Key, Counted]:
    """Return, for each variant and counter, the median number of events over all processes, and the
    smallest fraction of the time in which the counter ran. `parts` are the folders of the
    processes. The order of the result is the order of the rows in the files."""
    every: dict[Key, list[Counted]] = defaultdict(list)
    for part in parts:
        for key, counted in read_counted_events(part / COUNTERS_FILE).items():
            every[key].append(counted)
    return {
        key: (
            statistics.median(events for events, _ in several),
            min(share for _, share in several),
        )
        for key, several in every.items()
    }


def make_counter_entries(events: Mapping[Key, Counted]) -> list[list[str | float]]:
    """Return the counted events as lists, as env.json stores them."""
    return [[*key, *counted] for key, counted in events.items()]


def parse_counter_entries(entries: Any) -> dict[Key, Counted]:
    """Return the counted events in `entries`, the lists that make_counter_entries() made and
    env.json stores; RunError if the lists are malformed."""
    found: dict[Key, Counted] = {}
    for value in entries if isinstance(entries, list) else [entries]:
        try:
            benchmark, variant, counter, events, share = value
            pair = float(events), float(share)
            if not all(map(math.isfinite, pair)):
                raise ValueError(pair)
            found[str(benchmark), str(variant), str(counter)] = pair
        except (TypeError, ValueError, OverflowError) as error:
            raise RunError(f"env.json: invalid entry in counters: {value!r:.60}") from error
    return found
