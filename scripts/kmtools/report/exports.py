# SPDX-License-Identifier: GPL-2.0-only
"""Exports a run to other programs: OpenMetrics for monitoring, and Chrome trace events (also for
Perfetto) of the switches of arm-scaling. parquet.py writes Parquet."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from kmtools.analyse.rows import Row
from kmtools.measure.rundir import Tier
from kmtools.measure.samples import GAP, PART, ROUNDS, SWITCH, Sample

# Suffixes of variant names that say what a sample measures: the gap (longest interruption) of
# another CPU, a part of a switch, the number of rounds of synchronisation.
GAP_SUFFIX, PARTS, ROUND_COUNT = "-stall", ("validate", "map", "rounds"), "-round-count"
# Key for the number of synchronisation rounds of a switch in the dicts of
# group_samples_by_switch(). (The key "rounds" is for the duration of these rounds.)
ROUND_COUNT_KEY = "count"
# Thread ids in the trace: the CPU that switches sites, and a CPU that waits meanwhile.
SWITCHING, WAITING = 1, 2


def escape_openmetrics_label(text: str) -> str:
    """Escape the value of an OpenMetrics label."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def render_openmetrics(rows: Sequence[Row]) -> str:
    """Return the median cost of each row, per operation or per switch, as OpenMetrics gauges."""
    lines = [
        "# TYPE kmarkers_cost gauge",
        "# HELP kmarkers_cost Median cost of an operation or a switch, in the unit of the label.",
    ]
    for row in rows:
        name = row.name
        labels = {
            "tier": name.tier, "kernel": row.kernel, "benchmark": name.benchmark,
            "variant": name.variant, "measured": name.measured, "unit": row.unit,
        }  # fmt: skip
        if name.sites:
            labels["sites"] = str(name.sites)
        text = ",".join(
            f'{key}="{escape_openmetrics_label(value)}"' for key, value in labels.items()
        )
        lines.append(f"kmarkers_cost{{{text}}} {row.cost!r}")
    return "\n".join([*lines, "# EOF", ""])


def convert_ticks_to_microseconds(ticks: int, tier: Tier) -> float:
    """Convert ticks to microseconds. Ticks of an unknown frequency (emulated ones) are returned
    unchanged: the trace then shows each tick as a microsecond."""
    text = tier.env.get("tsc_khz", "")
    khz = int(text) if text.isdecimal() else 0
    return ticks * 1000 / khz if khz else float(ticks)


def group_samples_by_switch(
    samples: Iterable[Sample],
) -> Mapping[tuple[Any, ...], dict[str, Sample]]:
    """Return for each switch of sites its samples, by measured quantity. If a method switches
    several times in a block, the n-th sample of each quantity belongs to the n-th switch."""
    found: dict[tuple[Any, ...], dict[str, Sample]] = defaultdict(dict)
    turns: dict[tuple[Any, ...], Iterator[int]] = defaultdict(count)
    for s in samples:
        if s.measured not in (SWITCH, PART, GAP, ROUNDS):
            continue
        way, what = s.variant.removesuffix(GAP_SUFFIX), s.measured
        if s.measured == ROUNDS:
            way, what = way.removesuffix(ROUND_COUNT), ROUND_COUNT_KEY
        if s.measured == PART:
            way, _, what = way.rpartition("-")
        place = (s.tier, s.kernel, s.benchmark, way, s.sites, s.process, s.block)
        found[*place, next(turns[*place, what])][what] = s
    return found


def make_trace_event(
    name: str, track: tuple[int, int], start: float, length: float, **args: object
) -> Any:
    """Return a complete event (ph X) of a Chrome trace. `track` is its process and its thread;
    `start` and `length` are in microseconds."""
    process, thread = track
    return {
        "ph": "X", "name": name, "pid": process, "tid": thread, "ts": start, "dur": length,
        "args": args,
    }  # fmt: skip


def make_switch_trace_events(
    process: int, start: float, parts: Mapping[str, Sample], tier: Tier
) -> list[Any]:
    """Return the trace events of one switch of sites, which begins at `start`: the switch, its
    parts, and the gap (longest interruption) of the CPU that waited. `parts` has the samples of the
    switch, by measured quantity. Because samples lack the start of the gap, the event of the gap
    begins with the last part, the rounds of synchronisation. In older runs, the sample of the gap
    names the switching CPU instead of the waiting CPU."""
    whole = parts.get(SWITCH) or parts[GAP]
    length = convert_ticks_to_microseconds(whole.value, tier)
    rounds = parts[ROUND_COUNT_KEY].value if ROUND_COUNT_KEY in parts else None
    switched_by = parts[SWITCH].cpu if SWITCH in parts else None
    args = {"sites": whole.sites, "rounds": rounds, "switched_by": switched_by}
    args["block"] = whole.block
    events = []
    if SWITCH in parts:
        events.append(make_trace_event(whole.variant, (process, SWITCHING), start, length, **args))
    at = gap_at = start
    for name in PARTS:
        if name in parts:
            gap_at = at
            took = convert_ticks_to_microseconds(parts[name].value, tier)
            events.append(make_trace_event(name, (process, SWITCHING), at, took, sites=whole.sites))
            at += took
    if GAP in parts:
        took = convert_ticks_to_microseconds(parts[GAP].value, tier)
        cpu = parts[GAP].cpu
        waited = {"waited": cpu if cpu != switched_by else None}
        events.append(make_trace_event("gap", (process, WAITING), gap_at, took, **args, **waited))
    return events


def render_chrome_trace(samples: Iterable[Sample], tiers: Sequence[Tier]) -> str:
    """Return the switches of a run as a Chrome trace. Each tier (measurement environment) and
    benchmark is a process with two threads: the CPU that switches, and a CPU that waits. Switches
    follow each other without the pauses in between."""
    known = {(tier.tier, tier.kernel): tier for tier in tiers}
    groups: dict[tuple[str, str, str], int] = {}
    now: dict[int, float] = defaultdict(float)
    events: list[Any] = []
    for key, parts in group_samples_by_switch(samples).items():
        if SWITCH not in parts and GAP not in parts:
            continue
        tier, group = known[key[0], key[1]], (key[0], key[1], key[2])
        if group not in groups:
            groups[group] = len(groups) + 1
            names = {SWITCHING: "the CPU that switches", WAITING: "a CPU that waits"}
            about = {"name": f"{key[2]} ({key[0]}, {key[1]}, {tier.unit})"}
            pid = groups[group]
            events.append({"ph": "M", "name": "process_name", "pid": pid, "args": about})
            events += [
                {"ph": "M", "name": "thread_name", "pid": pid, "tid": t, "args": {"name": text}}
                for t, text in names.items()
            ]
        process = groups[group]
        new = make_switch_trace_events(process, now[process], parts, tier)
        events += new
        now[process] = max(one["ts"] + one["dur"] for one in new)
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events}) + "\n"
