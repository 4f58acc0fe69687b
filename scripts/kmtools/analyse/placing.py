# SPDX-License-Identifier: GPL-2.0-only
"""At which code layouts the rows of runs were measured.

The cost of a loop depends on where it lies, and another version of kmarkers lays it elsewhere. So a
row that one run measured at four layouts and another at eight is not compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kmtools.analyse.layouts import EIGHTHS
from kmtools.analyse.rows import EXACT

Entry = tuple[Any, ...]
Key = tuple[Any, ...]
# Where an estimate of columns.py has its layouts, as bits.
BITS = 8


def of_bits(bits: int) -> frozenset[int]:
    """The layouts whose bits are set."""
    return frozenset(n for n in range(bits.bit_length()) if bits >> n & 1)


def said(places: Collection[int], others: Collection[int]) -> tuple[str, str]:
    """Both as words that tell them apart."""
    if len(places) != len(others):
        return f"{len(places)} code layouts", str(len(others))
    words = [", ".join(map(str, sorted(one))) for one in (places, others)]
    return f"code layouts {words[0]}", words[1]


def kind(bits: int) -> int:
    """Layouts, as bits, that are the same for rows that can be compared. A process with few blocks
    has some of many layouts, at random: what counts is which eighths of a cache line it has."""
    eighths = (1 << EIGHTHS) - 1
    if bits <= eighths:
        return bits
    folded = 0
    while bits:
        folded |= bits & eighths
        bits >>= EIGHTHS
    return folded | 1 << EIGHTHS


def bits_of(places: Collection[int]) -> int:
    """Layouts as bits."""
    return sum(1 << place for place in set(places))


def differ(places: Collection[int], others: Collection[int]) -> bool:
    """Whether rows at these layouts cannot be compared; counts have no layouts."""
    return bool(places and others) and kind(bits_of(places)) != kind(bits_of(others))


def key_of(entry: Entry) -> Key:
    """What a row is: its tier, unit, benchmark and variant."""
    return (entry[1], *entry[3:6])


def timed(entries: Iterable[Entry]) -> list[Entry]:
    """The estimates that are no counts."""
    return [entry for entry in entries if entry[6] != EXACT]


def usual(entries: Iterable[Entry]) -> dict[Key, int]:
    """The layouts, as bits, at which most runs measured a row."""
    counts: dict[Key, Counter[int]] = defaultdict(Counter)
    there: dict[tuple[Key, int], int] = {}
    for entry in timed(entries):
        key, own = key_of(entry), kind(entry[BITS])
        counts[key][own] += 1
        there[key, own] = max(entry[BITS], there.get((key, own), 0))
    return {
        key: there[key, max(found, key=lambda own: (found[own], own))]
        for key, found in counts.items()
    }


def newest(entries: Sequence[Entry]) -> dict[Key, int]:
    """The layouts, as bits, at which the last run measured a row; entries are in the order of
    runs."""
    return {key_of(entry): entry[BITS] for entry in timed(entries)}


def others(entries: Iterable[Entry], wanted: Mapping[Key, int], whose: str) -> dict[str, str]:
    """The runs with a row at other layouts than those that are wanted, and a text that says it;
    `whose` names who has those."""
    found: dict[str, str] = {}
    for entry in timed(entries):
        if kind(entry[BITS]) != kind(wanted[key_of(entry)]):
            own, other = said(of_bits(entry[BITS]), of_bits(wanted[key_of(entry)]))
            found.setdefault(entry[0], f"it was measured at {own}, {whose} at {other}")
    return found
