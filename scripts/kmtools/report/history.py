# SPDX-License-Identifier: GPL-2.0-only
"""Shows the history of a machine: the runs in a folder, ordered by date."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from kmtools.analyse import comparison_key, trends
from kmtools.analyse.rows import Row
from kmtools.analyse.summary import make_interval_fields, round_for_json
from kmtools.analyse.trends import Shift
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.text import align_table, escape_unprintable_chars, get_terminal_width, wrap_line
from kmtools.measure.rundir import RunError, read_env
from kmtools.report.changetext import format_percent
from kmtools.report.machines import LoadedRows, find_run_folders

# Maximum number of refused runs in the error message if no run can be used.
MOST_REFUSALS = 5
# The values of a row that is left out of one run.
NO_VALUE = np.array([np.nan])


@dataclass(frozen=True)
class History:
    """The runs by date, their common rows, and the shifts of these rows. `refused` has the reason
    for each run that cannot be used, `left_out` for each run of which no row is comparable with the
    newest run, and `poor` for each run with a poor grade of a benchmark. `left_out_rows` has a line
    for each reason why single rows of runs are left out; their values are NaN."""

    names: Sequence[str]
    dates: Sequence[str]
    rows: Sequence[Row]
    shifts: Sequence[Shift]
    refused: dict[str, str]
    left_out: dict[str, str]
    poor: dict[str, str]
    left_out_rows: Sequence[str] = ()


def parse_run_date(env: dict[str, Any], path: Path) -> datetime:
    """Return the time at which a run was measured, from its env.json; RunError if the date is
    invalid. `path` is the path of env.json, for the error message."""
    text = str(env.get("date") or "")
    try:
        when = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise RunError(f"{path}: date is {text!r}, not like 2026-01-31T12:00:00Z") from error


def load_history(folder: Path, margin: float) -> History:
    """Read the runs of a folder, and find the shifts of the rows that all usable runs have."""
    dated, runs = [], find_run_folders(folder)
    refused = dict(runs.unreadable)
    for name, path in runs.paths.items():
        file = path / "env.json"
        try:
            env = read_env(file)
            dated.append((parse_run_date(env, file), name, env["date"], path))
        except FailedError as error:
            refused[name] = str(error)
    dated.sort(key=lambda entry: entry[:2])
    found = LoadedRows()
    for _, name, _, path in dated:
        found.add_run_rows(name, path)
    refused.update(found.refused)
    usable = [(name, date) for _, name, date, _ in dated if name not in refused]
    if not usable:
        raise UnableError(
            f"{folder}: no run in this folder can be used{format_refused_runs(refused)}"
        )
    left_out, odd = comparison_key.find_incomparable_rows(
        found.entries, comparison_key.select_newest_rows(found.entries), "the newest run"
    )
    entries = [
        (name, replace(row, values=NO_VALUE) if index in odd else row)
        for index, (name, row) in enumerate(found.entries)
        if name not in left_out
    ]
    usable = [(name, date) for name, date in usable if name not in left_out]
    rows = [
        row for row in comparison_key.merge_rows_of_runs(entries) if len(row.values) == len(usable)
    ]
    shifts = trends.find_all_shifts(rows, margin)
    poor: dict[str, str] = {}
    for name, row in entries:
        if row.poor:
            poor.setdefault(name, f"{row.name.tier} {row.name.benchmark}: {row.poor}")
    names, dates = [n for n, _ in usable], [d for _, d in usable]
    lines = comparison_key.describe_left_out_rows((found.entries[n], odd[n]) for n in odd)
    return History(names, dates, rows, shifts, refused, left_out, poor, lines)


def format_refused_runs(refused: dict[str, str]) -> str:
    """Return lines with the name and the reason of each refused run: at most MOST_REFUSALS runs,
    then the number of further refused runs."""
    lines = [f"{name}: {why}" for name, why in sorted(refused.items())]
    more = [f"and {len(lines) - MOST_REFUSALS} more"] if len(lines) > MOST_REFUSALS else []
    return "".join(f"\n  {line}" for line in lines[:MOST_REFUSALS] + more)


def format_shift_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the table of shifts as lines. If a line is wider than the terminal, each row is split
    into three lines: run, variant, numbers."""
    lines, width = align_table(rows, {5, 6}), get_terminal_width()
    if max(map(len, lines)) <= width:
        return lines
    lines = []
    for row in rows:
        run, variant, numbers = ("  ".join(part) for part in (row[:2], row[2:5], row[5:]))
        parts = (run, f"  {variant}", f"    {numbers}")
        lines += [line for part in parts for line in wrap_line(part, width, hanging="      ")]
    return lines


def render_history_text(history: History) -> str:
    """Return the shifts as a table, after lines about runs that are refused, left out or poor."""
    said = [f"refused: {name}: {why}" for name, why in sorted(history.refused.items())]
    for why, names in groupby(history.left_out.items(), key=lambda item: item[1]):
        several = [name for name, _ in names]
        to = f" to {several[-1]}" if len(several) > 1 else ""
        said.append(f"left out: {several[0]}{to}: {why}")
    said += history.left_out_rows
    said += [f"poor: {name}: {why}" for name, why in sorted(history.poor.items())]
    lines = [
        part
        for line in said
        for part in wrap_line(escape_unprintable_chars(line), get_terminal_width())
    ]
    heads = ("since run", "date", "tier", "benchmark", "variant", "change", "interval", "verdict")
    counts = Counter(row.name for row in history.rows)
    rows = [
        (
            escape_unprintable_chars(history.names[s.at]), history.dates[s.at], s.row.name.tier,
            s.row.name.benchmark,
            s.row.name.variant + (f" (kernel {s.row.kernel})" if counts[s.row.name] > 1 else ""),
            format_percent(s.percent),
            f"[{s.interval.lo:+.2f}, {s.interval.hi:+.2f}]", s.verdict,
        )
        for s in sorted(history.shifts, key=lambda s: (s.at, s.row.name.sort_key))
    ]  # fmt: skip
    if rows:
        lines += format_shift_table([heads, *rows])
    lines.append(f"{len(history.names)} runs, {len(history.rows)} rows, {len(rows)} shifts")
    return "\n".join(lines)


def render_history_json(history: History) -> str:
    """Return the history as JSON: each row with one value for each run, and its shifts."""
    rows: list[dict[str, Any]] = []
    for row in history.rows:
        name = row.name
        own = [s for s in history.shifts if s.row is row]
        rows.append(
            {
                "tier": name.tier,
                "kernel": row.single_kernel,
                "benchmark": name.benchmark,
                "variant": name.variant,
                "kind": row.kind,
                "values": [round_for_json(float(value)) for value in row.values],
                "shifts": [
                    {
                        "run": history.names[s.at],
                        "percent": round_for_json(s.percent),
                        **make_interval_fields("percent", s.interval),
                        "verdict": s.verdict,
                    }
                    for s in own
                ],
            }
        )
    runs = [{"run": n, "date": d} for n, d in zip(history.names, history.dates, strict=True)]
    whole = {
        "schema": 1,
        "runs": runs,
        "refused": history.refused,
        "left_out": history.left_out,
        "left_out_rows": list(history.left_out_rows),
        "poor": history.poor,
        "rows": rows,
    }
    return json.dumps(whole, indent=1) + "\n"
