# SPDX-License-Identifier: GPL-2.0-only
"""Writes and reads summary.json: the results as plain data, and the published numbers."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kmtools.analyse import stats
from kmtools.analyse.corecycles import CoreCycleRatio
from kmtools.analyse.density import SiteCost
from kmtools.analyse.kept_blocks import make_kept_blocks_field
from kmtools.analyse.published import PublishedNumber
from kmtools.analyse.stats import Interval
from kmtools.analyse.switching import SwitchPoint
from kmtools.analyse.verdicts import VERDICTS, Result
from kmtools.base.errors import UnableError
from kmtools.base.files import write_file_atomically
from kmtools.base.jsonfile import read_json, require_json_shape
from kmtools.base.paths import COMMAND
from kmtools.measure.rundir import (
    TIERS,
    UNIT_EMULATED,
    UNIT_GUEST,
    UNIT_INSTRUCTIONS,
    UNIT_TSC,
    RunError,
    is_quick_run,
    read_env,
    require_run_folder,
)
from kmtools.measure.samples import MEASURED, UNIT_ROUNDS

# The fields of an entry of `results` in summary.json whose values are copied from a Result.
COMMON_VALUES = ("tier", "kernel", "benchmark", "variant", "unit", "n")
Ancestors = dict[tuple[str, str], list[PublishedNumber]]

# Version of the format of summary.json.
SCHEMA = 2
# The meaning of each unit.
UNITS = {
    UNIT_TSC: "ticks of the time stamp counter",
    UNIT_GUEST: "ticks of the time stamp counter, as a guest under KVM sees it",
    UNIT_EMULATED: "ticks of an emulated time stamp counter, which are no time of a CPU",
    UNIT_INSTRUCTIONS: "instructions executed",
    UNIT_ROUNDS: "rounds of synchronisation",
}

# The shapes of summary.json, as Documentation/data.md describes them; see require_json_shape().
TEXT, NUMBER = (str, None), (float, None)
# The names and types of fields that both an entry of `results` (the cost of a variant) and an entry
# of `switching` (a SwitchPoint) have.
COMMON_FIELDS = {
    "tier": TIERS, "kernel": str, "benchmark": str, "variant": str, "unit": str, "n": int,
    "median": NUMBER, "ci_lo": NUMBER, "ci_hi": NUMBER,
}  # fmt: skip
BLOCKS = {"kept": int, "measured": int, "planned": int, "seconds": int}
POINT = {**COMMON_FIELDS, "measured": MEASURED, "sites": int, "blocks?": BLOCKS}
SITE_COST = {
    "tier": TIERS, "kernel": str, "benchmark": str, "flavour": str, "unit": str, "n": int,
    "sites": [int], "cost": NUMBER, "ci_lo": NUMBER, "ci_hi": NUMBER, "pass_cost": NUMBER,
    "margin?": NUMBER, "core_cycles": NUMBER, "ns": NUMBER, "percent": NUMBER, "verdict": VERDICTS,
    "note": str, "caveat?": str,
}  # fmt: skip
CORE_CYCLES = {
    "source": str, "per_tick": float, "spread?": float, "median": NUMBER, "delta": NUMBER,
    "delta_ci_lo": NUMBER, "delta_ci_hi": NUMBER,
}  # fmt: skip
COST = {"delta": float, "delta_ci_lo": NUMBER, "delta_ci_hi": NUMBER}
LATE = {"share": float, "ratio": float, "together": float}
RESULT = {
    **COMMON_FIELDS, "baseline": TEXT, "delta": NUMBER, "delta_ci_lo": NUMBER,
    "delta_ci_hi": NUMBER, "delta_sign_lo": NUMBER, "delta_sign_hi": NUMBER,
    "delta_cluster_lo": NUMBER,
    "delta_cluster_hi": NUMBER, "delta_by_layout": {"*": NUMBER}, "noise_floor": NUMBER,
    "margin": NUMBER, "detectable": NUMBER, "core_cycles?": CORE_CYCLES, "verdict": VERDICTS,
    "note": str, "correlation_blocks": NUMBER, "windows": int, "windows_flagged": int,
    "windows_late?": int, "late?": LATE, "delta_mean?": NUMBER,
    "flags": {"*": int}, "published": NUMBER, "published_delta": NUMBER, "published_rows": [dict],
    "distribution?": [[float]], "also_over?": {"*": COST},
    "blocks?": BLOCKS,
}  # fmt: skip
PROVENANCE = {
    "run": str, "date": TEXT, "quick": bool, "version": TEXT, "commit": TEXT,
    "dirty": (bool, None),
    "tiers": [
        {
            "tier": TIERS, "kernel": str, "unit": TEXT, "emulated": (bool, None), "seed": TEXT,
            "processes": (int, None), "windows": (int, None),
        }
    ],
}  # fmt: skip
SUMMARY = {
    "schema": int, "provenance": PROVENANCE, "units": {"*": str}, "results": [RESULT],
    "switching": [POINT], "sites?": [SITE_COST],
}  # fmt: skip


def round_for_json(value: float | None) -> float | None:
    """Return a value for JSON: rounded to 1e-6 of the unit; None if it is infinite or missing."""
    if value is None or not math.isfinite(value):
        return None
    return round(value, 6) + 0.0


def make_interval_fields(
    name: str, interval: Interval | None, scale: float = 1.0
) -> dict[str, float | None]:
    """Return two fields with the ends of an interval, each multiplied by `scale`. The names of the
    fields are `name` with the suffixes _lo and _hi."""
    lo, hi = (interval.lo * scale, interval.hi * scale) if interval else (None, None)
    return {f"{name}_lo": round_for_json(lo), f"{name}_hi": round_for_json(hi)}


def make_core_cycle_fields(
    core: CoreCycleRatio, median: float, delta: float | None, interval: Interval | None
) -> dict[str, Any]:
    """Return the content of the field core_cycles: the ratio of core cycles to TSC cycles, and the
    cost and the difference of a result in core cycles. Values that are not finite become None."""
    return {
        "source": core.source,
        "per_tick": round_for_json(core.per_tick),
        "spread": round_for_json(core.spread),
        "median": round_for_json(core.convert_ticks(median)),
        "delta": round_for_json(core.convert_ticks(delta)),
        **make_interval_fields("delta_ci", interval, core.per_tick),
    }


def make_figure_only_fields(result: Result) -> dict[str, Any]:
    """Return the fields of an entry in summary.json that only figures read. Fields whose data the
    result lacks are left out."""
    found: dict[str, Any] = {}
    if result.distribution:
        found["distribution"] = [
            [round_for_json(at), round_for_json(high)] for at, high in result.distribution
        ]
    if result.also_over:
        found["also_over"] = {
            name: {"delta": round_for_json(delta), **make_interval_fields("delta_ci", interval)}
            for name, (delta, interval) in result.also_over.items()
        }
    return found


def make_result_entry(result: Result, ancestors: Ancestors) -> dict[str, Any]:
    """Return the entry of a result in summary.json. The fields `published` and `published_delta`
    have the numbers of the first machine in published.csv; the delta is computed from the published
    values. The field `published_rows` has the numbers of all machines."""
    # Published numbers are cycles: compare them only with results in cycles.
    cycles = result.unit in (UNIT_TSC, UNIT_GUEST)
    found = ancestors.get((result.benchmark, result.variant), []) if cycles else []
    rows = [row for row in found if row.apart != result.tier and not row.is_number_of_whole_program]
    layouts = stats.compute_layout_medians(result.deltas)
    core: dict[str, Any] = {}
    if result.core is not None:
        whole = (result.median, result.delta, result.delta_ci)
        core = {"core_cycles": make_core_cycle_fields(result.core, *whole)}
    return {
        **{name: getattr(result, name) for name in COMMON_VALUES},
        "median": round_for_json(result.median),
        **make_interval_fields("ci", result.ci),
        "baseline": result.baseline,
        "delta": round_for_json(result.delta),
        **make_interval_fields("delta_ci", result.delta_ci),
        **make_interval_fields("delta_sign", result.time_ci),
        **make_interval_fields("delta_cluster", result.layout_ci),
        "delta_by_layout": {
            str(layout): round_for_json(value) for layout, value in layouts.items()
        },
        "noise_floor": round_for_json(result.noise_floor),
        "margin": round_for_json(result.margin),
        "detectable": round_for_json(result.detectable),
        **core,
        **make_figure_only_fields(result),
        **make_kept_blocks_field(result.blocks),
        "verdict": result.verdict,
        "note": result.note,
        "correlation_blocks": round_for_json(result.correlation),
        "windows": result.windows,
        "windows_flagged": result.flagged,
        "windows_late": result.late.late,
        "late": {name: round_for_json(getattr(result.late, name)) for name in LATE},
        "delta_mean": round_for_json(result.mean),
        "flags": dict(result.flags),
        "published": round_for_json(rows[0].value) if rows else None,
        "published_delta": round_for_json(rows[0].delta) if rows else None,
        "published_rows": [row.to_json_entry() for row in rows],
    }


def make_provenance_fields(run: Path, env: dict[str, Any]) -> dict[str, Any]:
    """Return the field `provenance` of summary.json: the name and the date of the run, the version
    of the sources, and the tiers (measurement environments)."""
    source = env.get("source") or {}
    names = ("tier", "kernel", "unit", "emulated", "seed", "processes", "windows")
    return {
        "run": run.resolve().name,
        "date": env.get("date"),
        "quick": is_quick_run(env),
        **{name: source.get(name) for name in ("version", "commit", "dirty")},
        "tiers": [{name: tier.get(name) for name in names} for tier in env["tiers"]],
    }


def write_summary(
    run: Path,
    env: dict[str, Any],
    results: Sequence[Result],
    ancestors: Ancestors,
    switches: Sequence[SwitchPoint] = (),
    sites: Sequence[SiteCost] = (),
) -> None:
    """Write summary.json of a run."""
    used = {result.unit for result in results} | {point.unit for point in switches}
    summary = {
        "schema": SCHEMA,
        "provenance": make_provenance_fields(run, env),
        "units": {unit: words for unit, words in UNITS.items() if unit in used},
        "results": [make_result_entry(result, ancestors) for result in results],
        "switching": [point.to_json_entry() for point in switches],
        "sites": [cost.to_json_entry() for cost in sites],
    }
    write_file_atomically(run / "summary.json", json.dumps(summary, indent=1) + "\n")


def read_summary(run: Path) -> dict[str, Any]:
    """Read and check summary.json of a run, and return its content as an object. An old file, of
    schema 1, is one list with the entries of results and of switches, without provenance and units.
    Such a list is returned as an object with the fields schema, results and switching."""
    require_run_folder(run)
    path = run / "summary.json"
    if not path.is_file():
        read_env(run / "env.json")
        raise UnableError(
            f"{path}: no such file; `{COMMAND} report {shlex.quote(str(run))}` writes this file"
        )
    summary = read_json(path)
    if isinstance(summary, list):
        both = [entry for entry in summary if isinstance(entry, dict)]
        if len(both) != len(summary):
            raise RunError(f"{path}: an entry of the list is not an object")
        results = [entry for entry in both if "sites" not in entry]
        switching = [{"measured": None, **entry} for entry in both if "sites" in entry]
        summary = {"schema": 1, "results": results, "switching": switching}
        old = {"results": [RESULT], "switching": [{**POINT, "measured": None}]}
        require_json_shape(summary, old, f"{path}: ")
        return summary
    require_json_shape(summary, {"schema": int}, f"{path}: ")
    if summary["schema"] != SCHEMA:
        newer = "; a newer kmarkers wrote the file" if summary["schema"] > SCHEMA else ""
        raise RunError(f"{path}: schema is {summary['schema']}, not {SCHEMA}{newer}")
    require_json_shape(summary, SUMMARY, f"{path}: ")
    for kind in ("results", "switching"):
        for number, entry in enumerate(summary[kind]):
            if entry["unit"] not in summary["units"]:
                raise RunError(
                    f"{path}: field 'units' lacks {entry['unit']!r}, the unit of {kind}[{number}]"
                )
    return dict(summary)
