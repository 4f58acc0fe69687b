# SPDX-License-Identifier: GPL-2.0-only
"""Checks that instruction counts are exact: the same in every block, layout, order and boot."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from kmtools.analyse.density import COUNTED, is_counted
from kmtools.analyse.slopes import slopes
from kmtools.base.errors import FailedError
from kmtools.check.ktap import Tally
from kmtools.measure import collect, guest
from kmtools.measure.samples import Sample

# Instructions that a dormant marker adds to a loop: load or mov of its state, test and branch; one
# nop; or cmp or xor, and branch.
MARKER_INSTRUCTIONS = {
    "marker-generic": 3,
    "marker-immediate": 3,
    "marker-jump": 1,
    "marker-cmp-flip": 2,
    "marker-xor-flip": 2,
}

# The highest cost of an enabled marker, in units of a tracepoint of the same run.
TRACEPOINTS = {
    "typed-direct-call": (1, "tracepoint"),
    "marker-1-probe": (3, "tracepoint"),
    "typed-direct-call-2-probes": (1, "tracepoint-2-probes"),
    "typed-direct-call-8-probes": (1, "tracepoint-8-probes"),
    "marker-event": (1, "trace-event"),
}

# These write records: how often a page of the buffer is full differs between windows.
RECORDED = {("marker-enabled", "marker-event"), ("marker-enabled", "trace-event")}

Counts = dict[tuple[str, str], set[Fraction]]


def count(raw: Path) -> Counts:
    """Return instructions per operation by (benchmark, variant): one number if they are exact."""
    counts: Counts = {}
    rows = collect.load_raw("icount", raw).rows
    by_benchmark: dict[str, list[Sample]] = {}
    for row in rows:
        by_benchmark.setdefault(row.benchmark, []).append(row)
    for benchmark, own in by_benchmark.items():
        for variant, fitted in slopes(own).items():
            counts[benchmark, variant] = {slope.value for slope in fitted}
    return counts


def judge_sites(counts: Counts, tally: Tally) -> None:
    """Judge the instructions that the dormant markers of a pass add, however many they are."""
    for (benchmark, variant), own in sorted(counts.items()):
        match = COUNTED.fullmatch(variant)
        if not match or not is_counted(benchmark):
            continue
        added = MARKER_INSTRUCTIONS.get(match[1], 0) * int(match[2])
        adds = own == {n + added for n in counts.get((benchmark, "none"), set())}
        tally.judge(adds, f"{benchmark}/{variant} does not add {added} instructions")


def judge(first: Counts, second: Counts) -> Tally:
    """Judge the counts of each variant, and the costs of dormant and enabled markers."""
    tally = Tally()
    for key in sorted(first.keys() | second.keys()):
        both = first.get(key, set()) | second.get(key, set())
        name = "/".join(key)
        same = (len(both) == 1 or key in RECORDED) and key in first and key in second
        tally.judge(same, f"{name}: no single count in both runs: {sorted(map(float, both))}")
    base = first.get(("empty-loop", "none"), set())
    for variant, added in MARKER_INSTRUCTIONS.items():
        adds = first.get(("empty-loop", variant)) == {n + added for n in base}
        tally.judge(adds, f"empty-loop/{variant} does not add {added} instructions")
    judge_sites(first, tally)
    # The costs of an enabled marker and of a tracepoint: what each adds to the empty loop.
    loop = max(first.get(("marker-enabled", "none"), {Fraction(0)}))
    for variant, (times, peer) in TRACEPOINTS.items():
        more = min(first.get(("marker-enabled", variant), {loop})) - loop
        tracepoint = min(first.get(("marker-enabled", peer), {loop})) - loop
        beside = f"adds {float(more)} instructions, {peer} {float(tracepoint)}"
        tally.judge(0 < more <= times * tracepoint, f"marker-enabled/{variant} {beside}")
    return tally


def compare(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot twice with different orders of variants and compare every count."""
    runs = []
    for seed in (1, 2):
        raw = log.with_suffix("") / f"seed-{seed}"
        try:
            guest.measure("icount", kernel, modules, raw, blocks=4, seed=seed)
        except FailedError as error:
            return Tally(failed=[str(error)])
        runs.append(count(raw))
    lines = [f"{'/'.join(key)} {sorted(map(float, n))}" for key, n in sorted(runs[0].items())]
    log.write_text("\n".join(lines) + "\n")
    return judge(*runs)
