# SPDX-License-Identifier: GPL-2.0-only
"""The history of a machine: the runs of a folder in the order of their dates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from kmtools.analyse import comparison_key, trends
from kmtools.analyse.rows import Row
from kmtools.analyse.summary import ends, number
from kmtools.analyse.trends import Shift
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.text import aligned, printable, terminal_width, wrapped
from kmtools.measure.rundir import RunError, read_env
from kmtools.report.changetext import percent
from kmtools.report.machines import Found, find

# Largest number of refused runs that are named where none can be used.
MOST = 5


@dataclass(frozen=True)
class History:
    """Runs by date, the rows over them, their shifts, the runs that are refused, those that were
    measured at other code layouts than the newest, and those that are poor, with a reason."""

    names: Sequence[str]
    dates: Sequence[str]
    rows: Sequence[Row]
    shifts: Sequence[Shift]
    refused: dict[str, str]
    left_out: dict[str, str]
    poor: dict[str, str]


def moment(env: dict[str, Any], path: Path) -> datetime:
    """The time at which a run was measured; RunError if env.json has no valid date."""
    text = str(env.get("date") or "")
    try:
        when = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise RunError(f"{path}: date is {text!r}, not like 2026-01-31T12:00:00Z") from error


def load(folder: Path, margin: float) -> History:
    """Read the runs of a folder. Only rows that all usable runs have make a trend."""
    dated, runs = [], find(folder)
    refused = dict(runs.unreadable)
    for name, path in runs.paths.items():
        file = path / "env.json"
        try:
            env = read_env(file)
            dated.append((moment(env, file), name, env["date"], path))
        except FailedError as error:
            refused[name] = str(error)
    dated.sort(key=lambda entry: entry[:2])
    found = Found()
    for _, name, _, path in dated:
        found.read(name, path)
    refused.update(found.refused)
    usable = [(name, date) for _, name, date, _ in dated if name not in refused]
    if not usable:
        raise UnableError(f"{folder}: no run in it can be used{reasons(refused)}")
    place = {name: number for number, (name, _) in enumerate(usable)}
    entries = sorted(found.entries, key=lambda entry: place[entry[0]])
    left_out = comparison_key.others(entries, comparison_key.newest(entries), "the newest run")
    entries = [entry for entry in entries if entry[0] not in left_out]
    usable = [(name, date) for name, date in usable if name not in left_out]
    rows = [row for row in comparison_key.merged(entries) if len(row.values) == len(usable)]
    shifts = trends.trends(rows, margin)
    poor: dict[str, str] = {}
    for name, row in entries:
        if row.poor:
            poor.setdefault(name, f"{row.name.tier} {row.name.benchmark}: {row.poor}")
    names, dates = [n for n, _ in usable], [d for _, d in usable]
    return History(names, dates, rows, shifts, refused, left_out, poor)


def reasons(refused: dict[str, str]) -> str:
    """The reasons for which runs are refused, a line for each of the first MOST."""
    lines = [f"{name}: {why}" for name, why in sorted(refused.items())]
    more = [f"and {len(lines) - MOST} more"] if len(lines) > MOST else []
    return "".join(f"\n  {line}" for line in lines[:MOST] + more)


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """The table. Where lines are narrow, a row has more than one: its run, the variant, its
    numbers."""
    lines, width = aligned(rows, {5, 6}), terminal_width()
    if max(map(len, lines)) <= width:
        return lines
    lines = []
    for row in rows:
        run, variant, numbers = ("  ".join(part) for part in (row[:2], row[2:5], row[5:]))
        parts = (run, f"  {variant}", f"    {numbers}")
        lines += [line for part in parts for line in wrapped(part, width, hanging="      ")]
    return lines


def terminal(history: History) -> str:
    """The shifts as a table."""
    said = [f"refused: {name}: {why}" for name, why in sorted(history.refused.items())]
    for why, names in groupby(history.left_out.items(), key=lambda item: item[1]):
        several = [name for name, _ in names]
        to = f" to {several[-1]}" if len(several) > 1 else ""
        said.append(f"left out: {several[0]}{to}: {why}")
    said += [f"poor: {name}: {why}" for name, why in sorted(history.poor.items())]
    lines = [part for line in said for part in wrapped(printable(line), terminal_width())]
    heads = ("since run", "date", "tier", "benchmark", "variant", "change", "interval", "verdict")
    rows = [
        (
            printable(history.names[s.at]), history.dates[s.at], s.row.name.tier,
            s.row.name.benchmark, s.row.name.variant, percent(s.percent),
            f"[{s.interval.lo:+.2f}, {s.interval.hi:+.2f}]", s.verdict,
        )
        for s in sorted(history.shifts, key=lambda s: (s.at, s.row.name.order))
    ]  # fmt: skip
    if rows:
        lines += table([heads, *rows])
    lines.append(f"{len(history.names)} runs, {len(history.rows)} rows, {len(rows)} shifts")
    return "\n".join(lines)


def as_json(history: History) -> str:
    """The history as JSON: each row with its values, a share for each run, and its shifts."""
    rows: list[dict[str, Any]] = []
    for row in history.rows:
        name = row.name
        own = [s for s in history.shifts if s.row.name == name]
        rows.append(
            {
                "tier": name.tier,
                "benchmark": name.benchmark,
                "variant": name.variant,
                "kind": row.kind,
                "values": [number(float(value)) for value in row.values],
                "shifts": [
                    {
                        "run": history.names[s.at],
                        "percent": number(s.percent),
                        **ends("percent", s.interval),
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
        "poor": history.poor,
        "rows": rows,
    }
    return json.dumps(whole, indent=1) + "\n"
