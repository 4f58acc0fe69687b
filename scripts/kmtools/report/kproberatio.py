# SPDX-License-Identifier: GPL-2.0-only
"""Computes the cost of a breakpoint kprobe as a multiple of the cost of a marker, in 2006 and now.

In 2006 the probe function of a marker copied two arguments, and a kprobe on this function added 75
times the cost of the marker with its probe. The benchmark measures the same two costs. Counts of
instructions do not give the ratio of cycles: the breakpoint exception counts as one instruction,
but takes hundreds of cycles. Only a run inside the kernel of a real machine gives the ratio of
cycles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kmtools.analyse.published import PUBLISHED, parse_published_value, read_csv_table
from kmtools.analyse.verdicts import WITHHELD
from kmtools.measure.rundir import UNIT_EMULATED, UNIT_INSTRUCTIONS

# The benchmark, its variant with a marker, and its variant with a kprobe on the marker's probe.
BENCHMARK, MARKER, KPROBE = "marker-enabled", "varargs-probe-copies-data", "kprobe-on-probe"
TITLE = "A kprobe on the probe of a marker"


def compute_published_kprobe_ratio() -> float:
    """Return the published cost of the kprobe as a multiple of the cost of the marker, recomputed
    from the published totals."""
    rows = read_csv_table(PUBLISHED)
    found = {r["variant"]: parse_published_value(r)[0] for r in rows if r["benchmark"] == BENCHMARK}
    return (found[KPROBE] - found[MARKER]) / found[MARKER]


def compute_kprobe_ratios(
    entries: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[Mapping[str, Any], float]]:
    """Yield each result of the variant with a kprobe, together with the cost of the kprobe as a
    multiple of the cost of the marker. Results in ticks of an emulator, and results that were
    measured too poorly for a verdict, are skipped."""
    own = [e for e in entries if e["benchmark"] == BENCHMARK and e["unit"] != UNIT_EMULATED]
    own = [e for e in own if e.get("verdict") != WITHHELD]
    added = {(e["tier"], e["kernel"], e["variant"]): e["delta"] for e in own}
    for entry in (e for e in own if e["variant"] == KPROBE):
        marker = added.get((entry["tier"], entry["kernel"], MARKER))
        if marker and marker > 0 and entry["delta"] is not None:
            yield entry, (entry["delta"] - marker) / marker


def describe_kprobe_ratios(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return sentences with the ratio of kprobe to marker cost, as published in 2006 and in each
    tier (measurement environment) of a run; an empty list if no tier has a ratio."""
    found = list(compute_kprobe_ratios(entries))
    if not found:
        return []
    ratio = compute_published_kprobe_ratio()
    then = f"In 2006, on a Pentium 4, the kprobe added {ratio:.0f} times the marker's cycles."
    now = [
        f"Here, {entry['tier']}, kernel {entry['kernel']}: {ratio:.1f} times the marker's"
        f" {entry['unit'] if entry['unit'] == UNIT_INSTRUCTIONS else 'cycles'}."
        for entry, ratio in found
    ]
    counted = all(entry["unit"] == UNIT_INSTRUCTIONS for entry, _ in found)
    rest = (
        "Instructions are not cycles: the breakpoint exception counts as one instruction, but takes"
        " hundreds of cycles. To get the ratio of cycles, run make bench-host on a real machine."
    )
    return [then, *now, *([rest] if counted else [])]


def render_kprobe_section(entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a section in Markdown with the ratios. Yield nothing if the run has no
    ratio."""
    if sentences := describe_kprobe_ratios(entries):
        yield f"## {TITLE}"
        yield ""
        yield from sentences
        yield ""
