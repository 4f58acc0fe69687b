# SPDX-License-Identifier: GPL-2.0-only
"""Sorts results into kinds: dormant sites, cold code, enabled probes, and all others.

Dormant sites and enabled probes answer different questions, so no count and no figure mixes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from kmtools.analyse.verdicts import BASELINE, NO_BASELINE, Result

DORMANT, COLD, ENABLED, OTHER = KINDS = ("dormant", "cold", "enabled", "other")

# The kind of each result: pattern of the benchmark, pattern of the variant, and kind. The first row
# that matches is used.
PATTERNS: tuple[tuple[str, str, str], ...] = (
    ("*", "*-on", ENABLED),
    ("peer-*", "*-off", DORMANT),
    ("macro-*", "*-probe", ENABLED),
    ("macro-*", "*", DORMANT),
    ("marker-enabled", "*", ENABLED),
    ("peers-enabled", "*", ENABLED),
    ("peer-kprobe-*", "*", ENABLED),
    ("sdt-enabled", "*", ENABLED),
    ("sdt-trapped", "*", ENABLED),
    ("cold-*", "*", COLD),
    ("empty-loop*", "*", DORMANT),
    ("memcpy-*", "*", DORMANT),
    ("density-*", "*", DORMANT),
    ("getppid-*", "*", DORMANT),
    ("function-entry", "*", DORMANT),
    ("lock-pair-*", "*", DORMANT),
    ("nop-encodings", "*", DORMANT),
    ("peers-dormant", "*", DORMANT),
    ("sdt-dormant", "*", DORMANT),
)


def find_result_kind(benchmark: str, variant: str) -> str:
    """Return the kind of a variant (dormant, cold, enabled); OTHER if no pattern matches."""
    for of_benchmark, of_variant, kind in PATTERNS:
        if fnmatchcase(benchmark, of_benchmark) and fnmatchcase(variant, of_variant):
            return kind
    return OTHER


def is_baseline_or_clone(result: Result) -> bool:
    """Return True if a result is a baseline or its A/A clone, which belong to every kind."""
    return result.is_clone or result.verdict == BASELINE


def select_results_of_kind(results: Iterable[Result], kind: str) -> list[Result]:
    """Return the results of one kind, with the baselines and A/A clones of their benchmarks."""
    several = list(results)
    own = {
        r.key
        for r in several
        if not is_baseline_or_clone(r) and find_result_kind(*r.key[2:]) == kind
    }
    benchmarks = {key[:3] for key in own}
    return [
        r for r in several if r.key in own or (is_baseline_or_clone(r) and r.key[:3] in benchmarks)
    ]


def select_judged_results(results: Iterable[Result]) -> list[Result]:
    """Return the results that are judged: all except baselines, A/A clones, and results without a
    baseline."""
    return [r for r in results if not is_baseline_or_clone(r) and r.verdict != NO_BASELINE]


def group_results_by_benchmark(results: Sequence[Result]) -> list[list[Result]]:
    """Split the results of one tier (measurement environment) by benchmark, in the order of their
    first appearance."""
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(result.benchmark, []).append(result)
    return list(found.values())
