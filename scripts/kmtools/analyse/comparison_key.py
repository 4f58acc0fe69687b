# SPDX-License-Identifier: GPL-2.0-only
"""Comparison keys: the code layouts at which rows were measured. Joins the rows of many runs.

The cost of a loop depends on where it lies, and another version of kmarkers lays it elsewhere. So a
row that one run measured at four layouts and another at eight is not compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kmtools.analyse.layouts import EIGHTHS
from kmtools.analyse.rows import EXACT, Row

# A row of a run, with the name of the run.
Entry = tuple[str, Row]
Key = tuple[Any, ...]


def said(places: Collection[int], others: Collection[int]) -> tuple[str, str]:
    """Two different sets of layouts as texts that show the difference."""
    if len(places) != len(others):
        return f"{len(places)} code layouts", str(len(others))
    words = [", ".join(map(str, sorted(one))) for one in (places, others)]
    return f"code layouts {words[0]}", words[1]


def kind(bits: int) -> int:
    """Comparison key of a set of layouts, given as bits. A process with few blocks has a random
    subset of the 32 layouts, so a set with layouts beyond the first eight is reduced to its eighths
    of a cache line."""
    eighths = (1 << EIGHTHS) - 1
    if bits <= eighths:
        return bits
    folded = 0
    while bits:
        folded |= bits & eighths
        bits >>= EIGHTHS
    return folded | 1 << EIGHTHS


def bits_of(places: Collection[int]) -> int:
    """The layouts as a bit mask."""
    return sum(1 << place for place in set(places))


def differ(places: Collection[int], others: Collection[int]) -> bool:
    """Whether rows at these layouts cannot be compared; counts have no layouts."""
    return bool(places and others) and kind(bits_of(places)) != kind(bits_of(others))


def key_of(entry: Entry) -> Key:
    """The identity of a row: its tier, unit, benchmark and variant."""
    row = entry[1]
    return (row.name.tier, row.unit, row.name.benchmark, row.name.variant)


def where(row: Row) -> tuple[int, bool]:
    """The layouts of a row as a comparison key, and whether its blocks are too few to tell them
    apart. Rows can be compared if both are equal."""
    return kind(bits_of(row.places)), row.crowded


def timed(entries: Iterable[Entry]) -> list[Entry]:
    """The entries of timed rows, without exact counts."""
    return [entry for entry in entries if entry[1].kind != EXACT]


def usual(entries: Iterable[Entry]) -> dict[Key, Row]:
    """For each row one that was measured as in most runs; of these the one at the most layouts."""
    counts: dict[Key, Counter[tuple[int, bool]]] = defaultdict(Counter)
    there: dict[tuple[Key, tuple[int, bool]], Row] = {}
    for entry in timed(entries):
        key, own = key_of(entry), where(entry[1])
        counts[key][own] += 1
        known = there.setdefault((key, own), entry[1])
        there[key, own] = max(known, entry[1], key=lambda row: len(row.places))
    return {
        key: there[key, max(found, key=lambda own: (found[own], own))]
        for key, found in counts.items()
    }


def newest(entries: Sequence[Entry]) -> dict[Key, Row]:
    """The row of the last run that has it; entries are in the order of runs."""
    return {key_of(entry): entry[1] for entry in timed(entries)}


def others(entries: Iterable[Entry], wanted: Mapping[Key, Row], whose: str) -> dict[str, str]:
    """The runs with a row that cannot be compared with the wanted one, each with the reason in
    words; `whose` names the source of the wanted rows in them."""
    found: dict[str, str] = {}
    for run, row in timed(entries):
        like = wanted[key_of((run, row))]
        if kind(bits_of(row.places)) != kind(bits_of(like.places)):
            own, other = said(row.places, like.places)
            found.setdefault(run, f"it was measured at {own}, {whose} at {other}")
        elif row.crowded != like.crowded:
            few = "too few blocks" if row.crowded else "enough blocks"
            found.setdefault(run, f"it has {few} to tell its code layouts apart, unlike {whose}")
    return found


def merged(entries: Sequence[Entry]) -> list[Row]:
    """The rows of several runs merged into those of one run, in which each run counts as a process.
    If a run has a row in several kernels, the rows of each kernel are merged separately."""
    apart = len({(entry[0], *key_of(entry)) for entry in entries}) < len(entries)
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for run, row in entries:
        kernel = row.kernel if apart else ""
        groups[*key_of((run, row)), row.kind, row.baseline, kernel].append(row)
    rows = []
    for key, several in groups.items():
        values = np.array([value_of(row) for row in several], dtype=np.float64)
        first = several[0]
        rows.append(
            replace(
                first,
                kernel=key[-1],
                cost=float(np.median([row.cost for row in several])),
                blocks=sum(row.blocks for row in several),
                processes=len(several),
                values=values,
                layouts={},
                resolution=0.0,
                lo=float(values.min()),
                hi=float(values.max()),
                poor=next((row.poor for row in several if row.poor), ""),
            )
        )
    return sorted(rows, key=lambda row: (row.name.order, row.kernel))


def value_of(row: Row) -> float:
    """The value of a row of one run: a count, or the mean over its clusters."""
    return row.cost if row.kind == EXACT else float(np.mean(row.values))
