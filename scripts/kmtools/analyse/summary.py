# SPDX-License-Identifier: GPL-2.0-only
"""summary.json: the results as plain data, with the published numbers they continue."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kmtools.analyse import stats
from kmtools.analyse.published import Published
from kmtools.analyse.stats import Interval
from kmtools.analyse.switching import Point
from kmtools.analyse.verdicts import Result
from kmtools.measure.rundir import UNIT_GUEST, UNIT_TSC, RunError

Ancestors = dict[tuple[str, str], list[Published]]


def number(value: float | None) -> float | None:
    """A value for JSON: rounded to 1e-6 of the unit, None for infinite or missing."""
    if value is None or not math.isfinite(value):
        return None
    return round(value, 6) + 0.0


def ends(name: str, interval: Interval | None) -> dict[str, float | None]:
    """name_lo and name_hi of an interval."""
    lo, hi = (interval.lo, interval.hi) if interval else (None, None)
    return {f"{name}_lo": number(lo), f"{name}_hi": number(hi)}


def published_for(result: Result, ancestors: Ancestors) -> list[Published]:
    """Published numbers fit to stand beside a result. They are cycles, so an emulated result or
    an instruction count has none."""
    if result.unit not in (UNIT_TSC, UNIT_GUEST):
        return []
    return ancestors.get((result.benchmark, result.variant), [])


def core_cycles(result: Result) -> dict[str, Any]:
    """core_cycles: the result in core cycles; absent where they are not known."""
    if result.core is None:
        return {}
    return {"core_cycles": result.core.as_json(result.median, result.delta, result.delta_ci)}


def as_json(result: Result, ancestors: Ancestors) -> dict[str, Any]:
    """One entry of summary.json. published and published_delta are those of the first machine
    in published.csv, recomputed; published_rows has all of them."""
    rows = published_for(result, ancestors)
    layouts = stats.layout_medians(result.deltas)
    return {
        "tier": result.tier,
        "kernel": result.kernel,
        "benchmark": result.benchmark,
        "variant": result.variant,
        "unit": result.unit,
        "n": result.n,
        "median": number(result.median),
        **ends("ci", result.ci),
        "baseline": result.baseline,
        "delta": number(result.delta),
        **ends("delta_ci", result.delta_ci),
        **ends("delta_sign", result.sign_ci),
        **ends("delta_cluster", result.cluster_ci),
        "delta_by_layout": {str(layout): number(value) for layout, value in layouts.items()},
        "noise_floor": number(result.noise_floor),
        "margin": number(result.margin),
        "detectable": number(result.detectable),
        **core_cycles(result),
        "verdict": result.verdict,
        "note": result.note,
        "correlation_blocks": number(result.correlation),
        "windows": result.windows,
        "windows_flagged": result.flagged,
        "flags": dict(result.flags),
        "published": number(rows[0].value) if rows else None,
        "published_delta": number(rows[0].delta) if rows else None,
        "published_rows": [row.as_json() for row in rows],
    }


def write(
    path: Path, results: Sequence[Result], ancestors: Ancestors, switches: Sequence[Point] = ()
) -> None:
    """summary.json of a run."""
    entries = [as_json(result, ancestors) for result in results]
    entries += [point.as_json() for point in switches]
    path.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


def read_summary(run: Path) -> list[dict[str, Any]]:
    """The entries of a run's summary.json."""
    path = run / "summary.json"
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: {error}") from error
    if not isinstance(entries, list):
        raise RunError(f"{path}: not a list")
    return entries
