# SPDX-License-Identifier: GPL-2.0-only
"""Names of all benchmarks and variants, known before anything is built.

benchmarks.csv has them. Its column `found` says where: `native` in user space alone, `kernel` in
kernels alone, "" in both. Tests compare it with what kmbench lists, and `make check` with what is
counted in a test kernel.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from kmtools.base.errors import UnableError

TABLE = Path(__file__).with_name("benchmarks.csv")
NATIVE, KERNEL = "native", "kernel"

Names = Mapping[str, Sequence[str]]


def place_of(tier: str) -> str:
    """The place of a tier's benchmarks, as in the column `found` of the table."""
    return NATIVE if tier == NATIVE else KERNEL


def read(places: Collection[str]) -> dict[str, list[str]]:
    """The benchmarks of some places, and the variants of each."""
    found: dict[str, list[str]] = {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if not row["found"] or row["found"] in places:
                found.setdefault(row["benchmark"], []).extend(row["variants"].split())
    return found


def fits(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name matches one of some patterns; without patterns every name does."""
    return not patterns or any(fnmatchcase(name, one) for one in patterns)


def check(names: Names, benchmarks: Sequence[str], variants: Sequence[str], where: str) -> None:
    """Check that every pattern matches a name; UnableError names one that does not, and the names
    in `where`."""
    for one in benchmarks:
        if not any(fnmatchcase(name, one) for name in names):
            there = ", ".join(names)
            raise UnableError(f"no benchmark in {where} matches {one!r}; there are {there}")
    fit = {name: own for name, own in names.items() if fits(name, benchmarks)}
    for one in variants:
        every = dict.fromkeys(variant for own in fit.values() for variant in own)
        if not any(fnmatchcase(variant, one) for variant in every):
            whose = f" of {', '.join(fit)}" if benchmarks else ""
            there = ", ".join(every)
            raise UnableError(f"no variant{whose} matches {one!r}; there are {there}")


def check_tiers(tiers: Sequence[str], benchmarks: Sequence[str], variants: Sequence[str]) -> None:
    """Check patterns against what some tiers have."""
    where = "user space" if set(tiers) == {NATIVE} else ", ".join(tiers)
    check(read({place_of(tier) for tier in tiers}), benchmarks, variants, where)


def unlisted(names: Collection[tuple[str, str]], place: str) -> list[str]:
    """The benchmarks and variants of a place that the table lacks."""
    there = read({place})
    return sorted(
        f"{benchmark}:{variant}"
        for benchmark, variant in names
        if variant not in there.get(benchmark, ())
    )
