# SPDX-License-Identifier: GPL-2.0-only
"""How long the README's commands took in bare systems, kept as JSON and put into the README."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.files import write_whole

Times = dict[str, dict[str, float]]
BEGIN, END = "<!-- times: make check-fresh -->", "<!-- end of times -->"
# Lines of a log that end a part: what was installed, and what was measured in user space.
MARKS = {
    "set-up": re.compile(r"setup: ready"),
    "native": re.compile(r"native\b.*: TSC cycles per operation"),
}
COLUMNS = ("set-up", "first table, from the clone on", "`make bench` in all", "`make check` in all")


def marks(log: Path) -> dict[str, float]:
    """Return when a command's output first reached each mark, in seconds."""
    found: dict[str, float] = {}
    for line in log.read_text(errors="replace").splitlines():
        second, text = line[:8].strip(), line[8:]
        for name, pattern in MARKS.items():
            if name not in found and pattern.search(text):
                found[name] = float(second)
    return found


def load(path: Path) -> Times:
    """Read what earlier runs took."""
    try:
        times: Times = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return times


def add(path: Path, name: str, times: Mapping[str, float]) -> None:
    """Keep what the steps in one root took, beside the others."""
    known = load(path)
    known[name] = known.get(name, {}) | {step: round(took, 1) for step, took in times.items()}
    write_whole(path, json.dumps(known, indent=1, sort_keys=True) + "\n")


def spoken(seconds: float | None) -> str:
    """A time as a table shows it."""
    if seconds is None:
        return "-"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{int(seconds + 5) // 60} min {int(seconds + 5) % 60 // 10 * 10:02d} s"


def table(times: Times, suites: Mapping[str, str]) -> str:
    """The times as a table, one line for each root."""
    lines = [f"| bare system | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for suite, title in suites.items():
        own = times.get(suite)
        if own is None:
            continue
        first = (
            own["clone"] + own["bench native"] if {"clone", "bench native"} <= own.keys() else None
        )
        cells = [own.get("bench set-up"), first, own.get("bench"), own.get("check")]
        lines.append(f"| {title} | {' | '.join(map(spoken, cells))} |")
    return "\n".join(lines)


def put(readme: Path, path: Path, suites: Mapping[str, str]) -> None:
    """Replace the README's table."""
    text = readme.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise UnableError(f"{readme} has no lines {BEGIN} and {END}")
    head, rest = text.split(BEGIN, 1)
    _, tail = rest.split(END, 1)
    machine = f"Measured by `make check-fresh` on {os.cpu_count()} cores."
    body = f"{BEGIN}\n{table(load(path), suites)}\n\n{machine}\n{END}"
    readme.write_text(f"{head}{body}{tail}", encoding="utf-8")
