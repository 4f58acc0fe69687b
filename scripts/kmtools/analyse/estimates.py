# SPDX-License-Identifier: GPL-2.0-only
"""Computes and stores the estimates of a run: its rows, by layout and process, and the grades of
its tiers (measurement environments).

The estimates are computed once, when the run is measured or first read, and stored beside its
samples in estimates.json, so that comparisons of runs need not parse samples. estimates.json holds
the hashes of the samples and of env.json. If either hash differs, or if estimates.json is
malformed, the estimates are computed again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kmtools.analyse import grade, verdicts
from kmtools.analyse.rows import EXACT, SHARE, WHOLE, Row, RowName, make_run_rows
from kmtools.analyse.verdicts import Result
from kmtools.base.errors import FailedError
from kmtools.base.files import write_file_atomically
from kmtools.base.jsonfile import require_json_shape
from kmtools.measure.rundir import (
    TIERS,
    RunError,
    Tier,
    find_samples_file,
    make_tiers,
    read_env,
)
from kmtools.measure.samples import MEASURED, Sample, read_samples

FILE_NAME = "estimates.json"
# Version of the format of estimates.json.
SCHEMA = 1
# Version of the estimator, increased when the same samples give other estimates.
ESTIMATOR_VERSION = 3
# Significant digits of a stored number.
DIGITS = 9

# The shapes of estimates.json and of its entries; see require_json_shape().
ROW = {
    "tier": TIERS, "kernel": str, "benchmark": str, "variant": str, "measured": MEASURED,
    "sites": int, "unit": str, "kind": (SHARE, WHOLE, EXACT), "baseline": str, "cost": float,
    "blocks": int, "processes": int, "values": [float], "by_layout": {"*": float},
    "resolution": float, "lo": float, "hi": float, "layouts": [int], "crowded": bool, "poor": str,
}  # fmt: skip
GRADE = {
    "tier": TIERS, "kernel": str, "grade": ("good", "fair", "poor"),
    "reasons": [{"grade": ("good", "fair", "poor"), "words": str}],
}  # fmt: skip
SHAPE = {
    "schema": int, "estimator": int, "samples": str, "env": str, "grades": [GRADE], "rows": [ROW],
}  # fmt: skip


@dataclass(frozen=True)
class TierGrade:
    """The grade of a tier (an environment of measurement). `reasons` are pairs of a grade and the
    reason for this grade, in words."""

    tier: str
    kernel: str
    grade: str
    reasons: tuple[tuple[str, str], ...]

    @property
    def words(self) -> str:
        """The grade and the first of its reasons, in one line."""
        why = [words for level, words in self.reasons if level == self.grade]
        count = len(why) - 1
        reasons = "reason" if count == 1 else "reasons"
        others = f" ({count} more {reasons} in its report)" if count > 0 else ""
        more = f": {why[0]}{others}" if why else ""
        return f"{self.tier}, kernel {self.kernel}: {self.grade} numbers{more}"


@dataclass(frozen=True)
class Estimates:
    """The stored estimates of a run: its rows and grades."""

    rows: Sequence[Row]
    grades: Sequence[TierGrade] = ()


def compute_estimates(
    samples: Sequence[Sample],
    tiers: Sequence[Tier],
    env: Mapping[str, Any],
    known_results: Sequence[Result] | None = None,
) -> Estimates:
    """Compute the rows and grades of a run from its samples. `known_results` are the results of the
    samples, with no verdict withheld; if it is None, this function computes them."""
    results = verdicts.compute_results(samples, tiers) if known_results is None else known_results
    poor = grade.find_poorly_graded_benchmarks(env, tiers, results)
    rows = [
        replace(row, poor=poor.get((row.name.tier, row.kernel, row.name.benchmark), ""))
        for row in make_run_rows(samples, tiers, results)
    ]
    grades = [
        TierGrade(
            tier.tier,
            tier.kernel,
            found.level_name,
            tuple((reason.level.level_name, reason.words) for reason in found.reasons),
        )
        for tier, found in grade.grade_tiers(env, tiers, results)
    ]
    return Estimates(rows, grades)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from error


def round_significant_digits(value: float) -> float:
    """Round a number to DIGITS significant digits."""
    return float(f"{value:.{DIGITS}g}") + 0.0


def make_row_entry(row: Row) -> dict[str, Any]:
    """Return the entry of a row (a variant) in estimates.json."""
    name = row.name
    return {
        "tier": name.tier,
        "kernel": row.kernel,
        "benchmark": name.benchmark,
        "variant": name.variant,
        "measured": name.measured,
        "sites": name.sites,
        "unit": row.unit,
        "kind": row.kind,
        "baseline": row.baseline,
        "cost": round_significant_digits(row.cost),
        "blocks": row.blocks,
        "processes": row.processes,
        "values": [round_significant_digits(float(value)) for value in row.values],
        "by_layout": {
            str(place): round_significant_digits(value) for place, value in row.layouts.items()
        },
        "resolution": round_significant_digits(row.resolution),
        "lo": round_significant_digits(row.lo),
        "hi": round_significant_digits(row.hi),
        "layouts": sorted(row.places),
        "crowded": row.crowded,
        "poor": row.poor,
    }


def parse_row_entry(entry: Mapping[str, Any]) -> Row:
    """Return the row (a variant) of an entry in estimates.json."""
    name = RowName(*(entry[key] for key in ("tier", "benchmark", "variant", "measured", "sites")))
    return Row(
        name, entry["kernel"], entry["unit"], entry["kind"], entry["baseline"], entry["cost"],
        entry["blocks"], entry["processes"], np.array(entry["values"], dtype=np.float64),
        {int(place): value for place, value in entry["by_layout"].items()}, entry["resolution"],
        entry["lo"], entry["hi"], frozenset(entry["layouts"]), entry["crowded"], entry["poor"],
    )  # fmt: skip


def write_estimates(run: Path, estimates: Estimates) -> None:
    """Write estimates.json of a run, one row per line."""
    head = {
        "schema": SCHEMA,
        "estimator": ESTIMATOR_VERSION,
        "samples": hash_file(find_samples_file(run)),
        "env": hash_file(run / "env.json"),
        "grades": [
            {
                "tier": one.tier,
                "kernel": one.kernel,
                "grade": one.grade,
                "reasons": [{"grade": level, "words": words} for level, words in one.reasons],
            }
            for one in estimates.grades
        ],
    }
    rows = ",\n".join(
        json.dumps(make_row_entry(row), separators=(",", ":")) for row in estimates.rows
    )
    text = json.dumps(head)[:-1]
    write_file_atomically(run / FILE_NAME, f'{text}, "rows": [\n{rows}\n]}}\n')


def read_stored_estimates(run: Path, samples_file: Path, tiers: Sequence[Tier]) -> Estimates | None:
    """Return the estimates stored in estimates.json. Return None if this file is missing or
    malformed, or if it was written for samples other than `samples_file`, or for another
    env.json."""
    try:
        known = json.loads((run / FILE_NAME).read_text(encoding="utf-8"))
        require_json_shape(known, SHAPE, "")
        same = (known["schema"], known["estimator"]) == (SCHEMA, ESTIMATOR_VERSION)
        if not same or known["env"] != hash_file(run / "env.json"):
            return None
        if known["samples"] != hash_file(samples_file):
            return None
        rows = [parse_row_entry(entry) for entry in known["rows"]]
    except (OSError, ValueError, FailedError):
        return None
    units = {(tier.tier, tier.kernel) for tier in tiers}
    texts = [text for entry in known["rows"] for text in entry.values() if isinstance(text, str)]
    fine = all(map(str.isprintable, set(texts)))
    if not fine or any((row.name.tier, row.kernel) not in units for row in rows):
        return None
    grades = [
        TierGrade(
            one["tier"],
            one["kernel"],
            one["grade"],
            tuple((reason["grade"], reason["words"]) for reason in one["reasons"]),
        )
        for one in known["grades"]
    ]
    return Estimates(rows, grades)


def load_estimates(run: Path) -> Estimates:
    """Return the estimates of a run. If no valid estimates are stored, compute the estimates, and
    store them if the folder of the run is writable. If the samples are invalid, raise RunError,
    which names the file and the line."""
    path = find_samples_file(run)
    env = read_env(run / "env.json")
    tiers = make_tiers(env)
    found = read_stored_estimates(run, path, tiers)
    if found is not None:
        return found
    if path.suffix == ".parquet":
        from kmtools.analyse import parquet  # noqa: PLC0415  CSV files need no duckdb

        samples = parquet.load_parquet(path, tiers)
    else:
        samples = read_samples(path, tiers)
    found = compute_estimates(samples, tiers, env)
    with suppress(OSError):
        write_estimates(run, found)
    # Round the rows as in estimates.json: exact counts may be compared with the stored counts of
    # another run, and must then be equal numbers.
    return replace(found, rows=[parse_row_entry(make_row_entry(row)) for row in found.rows])
