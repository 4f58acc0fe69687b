# SPDX-License-Identifier: GPL-2.0-only
"""The history of a machine: the runs of a folder in the order of their dates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kmtools.analyse import columns, trends
from kmtools.analyse.columns import Source
from kmtools.analyse.rows import Row
from kmtools.analyse.summary import ends, number
from kmtools.analyse.trends import Shift
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.text import aligned, terminal_width, wrapped
from kmtools.measure.rundir import read_env, tiers_of
from kmtools.report.changetext import percent
from kmtools.report.machines import file_of, find


@dataclass(frozen=True)
class History:
    """Runs by date, the rows over them, their shifts, and the runs that are refused."""

    names: Sequence[str]
    dates: Sequence[str]
    rows: Sequence[Row]
    shifts: Sequence[Shift]
    refused: dict[str, str]


def load(folder: Path, margin: float) -> History:
    """Read the runs of a folder. Only rows that all usable runs have make a trend."""
    dated, refused = [], {}
    for path in find(folder):
        name = str(path.relative_to(folder))
        try:
            env = read_env(path / "env.json")
            dated.append(
                (str(env.get("date") or ""), name, Source(name, file_of(path), tiers_of(env)))
            )
        except FailedError as error:
            refused[name] = str(error)
    dated.sort(key=lambda entry: entry[:2])
    found = columns.read([source for *_, source in dated])
    refused.update(found.refused)
    usable = [(date, name) for date, name, _ in dated if name not in refused]
    if not usable:
        raise UnableError(f"{folder}: no run in it can be used")
    place = {name: number for number, (_, name) in enumerate(usable)}
    entries = sorted(found.entries, key=lambda entry: place[entry[0]])
    rows = [row for row in columns.merged(entries) if len(row.values) == len(usable)]
    shifts = trends.trends(rows, margin)
    return History([n for _, n in usable], [d for d, _ in usable], rows, shifts, refused)


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
    refused = sorted(history.refused.items())
    width = terminal_width()
    lines = [part for name, why in refused for part in wrapped(f"refused: {name}: {why}", width)]
    heads = ("since run", "date", "tier", "benchmark", "variant", "change", "interval", "verdict")
    rows = [
        (
            history.names[s.at], history.dates[s.at], s.row.name.tier, s.row.name.benchmark,
            s.row.name.variant, percent(s.percent),
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
    whole = {"schema": 1, "runs": runs, "refused": history.refused, "rows": rows}
    return json.dumps(whole, indent=1) + "\n"
