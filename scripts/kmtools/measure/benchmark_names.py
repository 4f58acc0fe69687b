# SPDX-License-Identifier: GPL-2.0-only
"""Reads the names of all benchmarks and variants from benchmarks.csv, so that patterns of names can
be checked before any program or module is built.

The column `found` of the table says where a benchmark exists: `native` in user space alone,
`kernel` in kernels alone, "" in both. A test compares the table with the list that kmbench prints,
and `make check` compares the table with the benchmarks whose instructions are counted in a test
kernel.
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


def get_kernel_or_native_space(tier: str) -> str:
    """Return the space in which the benchmarks of the tier `tier` run: KERNEL, or NATIVE for user
    space. Both are values of the column `found` of benchmarks.csv."""
    return NATIVE if tier == NATIVE else KERNEL


def read_benchmark_names(spaces: Collection[str]) -> dict[str, list[str]]:
    """Return the names of the benchmarks that exist in user space or in kernels, each with the
    names of its variants. `spaces` has NATIVE for user space, KERNEL for kernels, or both."""
    found: dict[str, list[str]] = {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if not row["found"] or row["found"] in spaces:
                found.setdefault(row["benchmark"], []).extend(row["variants"].split())
    return found


def matches_any_pattern(name: str, patterns: Sequence[str]) -> bool:
    """Return True if a name matches one of the patterns, or if there are no patterns."""
    return not patterns or any(fnmatchcase(name, one) for one in patterns)


def select_benchmark_names(
    names: Names, benchmarks: Sequence[str], variants: Sequence[str]
) -> list[str]:
    """Return the benchmarks in `names` that match a pattern in `benchmarks` and have a variant that
    matches a pattern in `variants`."""
    return [
        name
        for name, own in names.items()
        if matches_any_pattern(name, benchmarks)
        and any(matches_any_pattern(variant, variants) for variant in own)
    ]


def require_patterns_match(
    names: Names, benchmarks: Sequence[str], variants: Sequence[str], where: str
) -> None:
    """Check that each pattern in `benchmarks` and `variants` matches a name in `names`; otherwise
    raise UnableError with the pattern and all names. `where`, such as "user space", is a part of
    the error message about a benchmark."""
    for one in benchmarks:
        if not any(fnmatchcase(name, one) for name in names):
            there = ", ".join(names)
            raise UnableError(
                f"no benchmark in {where} matches {one!r}; the benchmarks are {there}"
            )
    fit = {name: own for name, own in names.items() if matches_any_pattern(name, benchmarks)}
    for one in variants:
        every = dict.fromkeys(variant for own in fit.values() for variant in own)
        if not any(fnmatchcase(variant, one) for variant in every):
            whose = f" of {', '.join(fit)}" if benchmarks else ""
            there = ", ".join(every)
            raise UnableError(f"no variant{whose} matches {one!r}; the variants are {there}")


def require_tier_patterns_match(
    tiers: Sequence[str], benchmarks: Sequence[str], variants: Sequence[str]
) -> None:
    """Raise UnableError if a pattern matches no name of a benchmark or variant of these tiers
    (measurement environments)."""
    where = "user space" if set(tiers) == {NATIVE} else ", ".join(tiers)
    require_patterns_match(
        read_benchmark_names({get_kernel_or_native_space(tier) for tier in tiers}),
        benchmarks,
        variants,
        where,
    )


def find_unlisted_variants(variants: Collection[tuple[str, str]], space: str) -> list[str]:
    """Return the (benchmark, variant) pairs in `variants` that benchmarks.csv lacks for `space`
    (NATIVE or KERNEL), each as BENCHMARK:VARIANT."""
    there = read_benchmark_names({space})
    return sorted(
        f"{benchmark}:{variant}"
        for benchmark, variant in variants
        if variant not in there.get(benchmark, ())
    )
