# SPDX-License-Identifier: GPL-2.0-only
"""Checks by a comparison key whether rows of many runs were measured at the same code layouts, and
merges the rows.

The cost of a loop depends on its offset in a cache line, which differs between versions of
kmarkers. So a row is not compared if one run measured it at four layouts and the other at eight.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kmtools.analyse.layouts import EIGHTHS
from kmtools.analyse.rows import EXACT, SEVERAL_KERNELS, Row

# A pair: the name of a run, and one row of this run.
Entry = tuple[str, Row]
# The identity of a row; see make_row_key().
Key = tuple[Any, ...]


def describe_layout_difference(
    layouts: Collection[int], other_layouts: Collection[int]
) -> tuple[str, str]:
    """Describe two different sets of code layouts: by their sizes or, if the sizes are equal, by
    the numbers of the layouts. Return a text for each set."""
    if len(layouts) != len(other_layouts):
        return f"{len(layouts)} code layouts", str(len(other_layouts))
    words = [", ".join(map(str, sorted(one))) for one in (layouts, other_layouts)]
    return f"code layouts {words[0]}", words[1]


def make_layouts_key(layouts_mask: int) -> int:
    """Return the comparison key of a set of layouts, given as a bit mask. If the set has only the
    first eight layouts, the key is the mask. Otherwise the key is the set of eighths of a cache
    line that contain a layout. In this case the mask cannot be the key, because a process with few
    blocks measures a random subset of the 32 layouts."""
    eighths = (1 << EIGHTHS) - 1
    if layouts_mask <= eighths:
        return layouts_mask
    folded = 0
    while layouts_mask:
        folded |= layouts_mask & eighths
        layouts_mask >>= EIGHTHS
    return folded | 1 << EIGHTHS


def make_layouts_mask(layouts: Collection[int]) -> int:
    """Return a set of code layouts as a bit mask: bit n is set for layout n."""
    return sum(1 << layout for layout in set(layouts))


def are_layouts_incomparable(layouts: Collection[int], other_layouts: Collection[int]) -> bool:
    """Return True if a row that was measured at the code layouts `layouts` cannot be compared with
    a row that was measured at `other_layouts`. If either set is empty, as for exact counts, the
    rows can be compared."""
    return bool(layouts and other_layouts) and make_layouts_key(
        make_layouts_mask(layouts)
    ) != make_layouts_key(make_layouts_mask(other_layouts))


def make_row_key(entry: Entry) -> Key:
    """Return the identity of a row (the results of a variant): its tier (measurement environment),
    unit, benchmark and variant."""
    row = entry[1]
    return (row.name.tier, row.unit, row.name.benchmark, row.name.variant)


def find_row_keys_in_several_kernels(entries: Iterable[Entry]) -> set[Key]:
    """Return the identities of rows that any run has in several kernels."""
    counts = Counter((entry[0], make_row_key(entry)) for entry in entries)
    return {key for (_, key), count in counts.items() if count > 1}


def make_row_and_kernel_key(entry: Entry, multi_kernel_keys: Collection[Key]) -> Key:
    """Return the identity of a row. Add the row's kernel if the identity is in `multi_kernel_keys`,
    so that rows of different kernels differ."""
    key = make_row_key(entry)
    return (entry[1].kernel, *key) if key in multi_kernel_keys else key


def make_comparability_key(row: Row) -> tuple[int, bool]:
    """Return a key that is equal for rows (results of variants) that can be compared. The key is a
    pair: the comparison key of the row's code layouts, and whether the row has too few blocks to
    tell these layouts apart."""
    return make_layouts_key(make_layouts_mask(row.places)), row.crowded


def select_timed_entries(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries whose rows are times, not exact counts of instructions."""
    return [entry for entry in entries if entry[1].kind != EXACT]


def select_rows_with_most_frequent_key(entries: Iterable[Entry]) -> dict[Key, Row]:
    """Return one row for each row identity (see make_row_and_kernel_key). First find the value of
    make_comparability_key() that is most frequent among the runs; of the rows with this value,
    return the row that was measured at the most layouts."""
    counts: dict[Key, Counter[tuple[int, bool]]] = defaultdict(Counter)
    there: dict[tuple[Key, tuple[int, bool]], Row] = {}
    timed = select_timed_entries(entries)
    apart = find_row_keys_in_several_kernels(timed)
    for entry in timed:
        key, own = make_row_and_kernel_key(entry, apart), make_comparability_key(entry[1])
        counts[key][own] += 1
        known = there.setdefault((key, own), entry[1])
        there[key, own] = max(known, entry[1], key=lambda row: len(row.places))
    return {
        key: there[key, max(found, key=lambda own: (found[own], own))]
        for key, found in counts.items()
    }


def select_newest_rows(entries: Sequence[Entry]) -> dict[Key, Row]:
    """Return the newest row of each row identity (see make_row_and_kernel_key); `entries` are in
    the order of the runs, oldest first."""
    timed = select_timed_entries(entries)
    apart = find_row_keys_in_several_kernels(timed)
    return {make_row_and_kernel_key(entry, apart): entry[1] for entry in timed}


def explain_incomparable_row(row: Row, reference: Row, reference_name: str) -> str:
    """Return the reason why a row cannot be compared with the row `reference`, or "".
    `reference_name` is what the reason calls the runs of `reference`."""
    if make_layouts_key(make_layouts_mask(row.places)) != make_layouts_key(
        make_layouts_mask(reference.places)
    ):
        own, other = describe_layout_difference(row.places, reference.places)
        return f"measured at {own}, {reference_name} at {other}"
    if row.crowded != reference.crowded:
        few = "too few blocks" if row.crowded else "enough blocks"
        return f"{few} to tell code layouts apart, unlike {reference_name}"
    return ""


def find_incomparable_rows(
    entries: Sequence[Entry], references: Mapping[Key, Row], reference_name: str
) -> tuple[dict[str, str], dict[int, str]]:
    """Find the rows that cannot be compared with the row of the same identity in `references`.
    Return two values: the runs without any comparable row, each with the reason in words, and the
    indices in `entries` of the incomparable rows of other runs, each with the reason. `references`
    are rows of the same entries. If a run has a row in several kernels, each row is compared with
    the row of the same kernel in `references`. `reference_name` is what a reason calls the runs of
    `references`."""
    apart = find_row_keys_in_several_kernels(select_timed_entries(entries))
    found: dict[int, str] = {}
    usable = set()
    for index, entry in enumerate(entries):
        if entry[1].kind == EXACT:
            continue
        like = references[make_row_and_kernel_key(entry, apart)]
        if why := explain_incomparable_row(entry[1], like, reference_name):
            found[index] = why
        else:
            usable.add(entry[0])
    runs: dict[str, str] = {}
    for index, why in found.items():
        if entries[index][0] not in usable:
            runs.setdefault(entries[index][0], why)
    return runs, {index: why for index, why in found.items() if entries[index][0] in usable}


def describe_left_out_rows(left_out: Iterable[tuple[Entry, str]]) -> list[str]:
    """Return a line for each reason why rows are left out. `left_out` has pairs of a row with its
    run, and the reason."""
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry, why in left_out:
        groups[why].append(entry)
    lines = []
    for why, own in groups.items():
        runs, names = {run for run, _ in own}, {str(row.name) for _, row in own}
        rows = own[0][1].name if len(names) == 1 else f"{len(own)} rows"
        where = f"run {own[0][0]}" if len(runs) == 1 else f"{len(runs)} runs"
        lines.append(f"left out: {rows} of {where}: {why}")
    return lines


def merge_rows_of_runs(entries: Sequence[Entry]) -> list[Row]:
    """Merge the rows of several runs into the rows of one run, in which each run counts as a
    process. If a run has a row in several kernels, this row is merged for each kernel separately.
    The kernel of a merged row is SEVERAL_KERNELS if it differs among the runs."""
    apart = find_row_keys_in_several_kernels(entries)
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for run, row in entries:
        kernel = row.kernel if make_row_key((run, row)) in apart else ""
        groups[*make_row_key((run, row)), row.kind, row.baseline, kernel].append(row)
    rows = []
    for several in groups.values():
        values = np.array([compute_mean_or_exact_count(row) for row in several], dtype=np.float64)
        first, kernels = several[0], {row.kernel for row in several}
        rows.append(
            replace(
                first,
                kernel=first.kernel if len(kernels) == 1 else SEVERAL_KERNELS,
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
    return sorted(rows, key=lambda row: (row.name.sort_key, row.kernel))


def compute_mean_or_exact_count(row: Row) -> float:
    """Return one number for a row (a variant) of one run: an exact count, or the mean of the
    estimates of the clusters (processes)."""
    return row.cost if row.kind == EXACT else float(np.mean(row.values))
