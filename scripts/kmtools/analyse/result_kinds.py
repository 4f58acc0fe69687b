# SPDX-License-Identifier: GPL-2.0-only
"""The kinds of results: dormant sites, cold code, enabled probes, and all others.

A dormant site and an enabled probe answer different questions, so no count and no figure holds
both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from kmtools.analyse.verdicts import BASELINE, NO_BASELINE, Result

DORMANT, COLD, ENABLED, OTHER = KINDS = ("dormant", "cold", "enabled", "other")

# Patterns of benchmark and variant; the first row that matches holds.
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


def kind_of(benchmark: str, variant: str) -> str:
    """The kind of a variant. OTHER if no pattern matches."""
    for of_benchmark, of_variant, kind in PATTERNS:
        if fnmatchcase(benchmark, of_benchmark) and fnmatchcase(variant, of_variant):
            return kind
    return OTHER


def reference(result: Result) -> bool:
    """Whether a result is a baseline or its A/A clone, which belong to every kind."""
    return result.is_clone or result.verdict == BASELINE


def of_kind(results: Iterable[Result], kind: str) -> list[Result]:
    """The results of one kind, with the baselines and A/A clones of their benchmarks."""
    several = list(results)
    own = {r.key for r in several if not reference(r) and kind_of(*r.key[2:]) == kind}
    benchmarks = {key[:3] for key in own}
    return [r for r in several if r.key in own or (reference(r) and r.key[:3] in benchmarks)]


def judged(results: Iterable[Result]) -> list[Result]:
    """The results with a verdict: no baselines, no A/A clones, and none without a baseline."""
    return [r for r in results if not reference(r) and r.verdict != NO_BASELINE]


def groups(results: Sequence[Result]) -> list[list[Result]]:
    """Results of one tier, split by benchmark in their order."""
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(result.benchmark, []).append(result)
    return list(found.values())
