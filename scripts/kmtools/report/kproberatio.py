# SPDX-License-Identifier: GPL-2.0-only
"""The cost of a breakpoint kprobe as a multiple of that of a marker, in 2006 and now.

In 2006 a kprobe on a marker's probe, which copied two arguments, added 75 times what the marker
itself took. Both are measured here as they were then. Instructions are no cycles: taking the
exception is one of them, and takes hundreds of cycles. The ratio of cycles needs the kernel of a
real machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kmtools.analyse.published import PUBLISHED, read_table, value_of
from kmtools.measure.rundir import UNIT_EMULATED, UNIT_INSTRUCTIONS

BENCHMARK, MARKER, KPROBE = "marker-enabled", "varargs-probe-copies-data", "kprobe-on-probe"
TITLE = "A kprobe on the probe of a marker"


def published_ratio() -> float:
    """The published ratio, computed again from the totals."""
    rows = read_table(PUBLISHED)
    found = {r["variant"]: value_of(r)[0] for r in rows if r["benchmark"] == BENCHMARK}
    return (found[KPROBE] - found[MARKER]) / found[MARKER]


def ratios(entries: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], float]]:
    """The entry of each kprobe in the results of a run, and its ratio. Emulated ticks give none."""
    own = [e for e in entries if e["benchmark"] == BENCHMARK and e["unit"] != UNIT_EMULATED]
    added = {(e["tier"], e["kernel"], e["variant"]): e["delta"] for e in own}
    for entry in (e for e in own if e["variant"] == KPROBE):
        marker = added.get((entry["tier"], entry["kernel"], MARKER))
        if marker and marker > 0 and entry["delta"] is not None:
            yield entry, (entry["delta"] - marker) / marker


def sentences(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """The published ratio and that of each tier, in sentences; none if no tier has a ratio."""
    found = list(ratios(entries))
    if not found:
        return []
    then = f"In 2006, on a Pentium 4, it added {published_ratio():.0f} times the marker's cycles."
    now = [
        f"Here, {entry['tier']}, kernel {entry['kernel']}: {ratio:.1f} times the marker's"
        f" {entry['unit'] if entry['unit'] == UNIT_INSTRUCTIONS else 'cycles'}."
        for entry, ratio in found
    ]
    counted = all(entry["unit"] == UNIT_INSTRUCTIONS for entry, _ in found)
    rest = (
        "Instructions are no cycles: taking the exception is one of them, and takes hundreds of"
        " cycles. make bench-host on a real machine gives the ratio of cycles."
    )
    return [then, *now, *([rest] if counted else [])]


def lines(entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The sentences as a section in Markdown; no lines without sentences."""
    if told := sentences(entries):
        yield f"## {TITLE}"
        yield ""
        yield from told
        yield ""
