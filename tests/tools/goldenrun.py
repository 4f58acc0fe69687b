# SPDX-License-Identifier: GPL-2.0-only
"""Generates a small run with data for every figure. The bytes are the same on every machine.

All random numbers come from random.Random.random(), because its series is the same in all versions
of Python.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import rawdata
from kmtools.cli import main

BLOCKS, PROCESSES, LOOPS = 16, 3, (500, 3000)
TIMED: Mapping[str, Mapping[str, float]] = {
    "empty-loop": {
        "none": 1.0, "none-clone": 1.0, "marker-jump": 1.9, "marker-generic": 2.2,
        "marker-immediate": 1.9, "nop-p6": 1.0,
    },
    "density-full": {
        "none": 40.0, "none-clone": 40.0, "marker-jump-4": 41.5, "marker-jump-16": 46.0,
        "marker-generic-4": 44.5, "marker-generic-16": 58.0,
    },
    "cold-icache-32": {
        "none": 900.0, "none-clone": 900.0, "marker-jump-8": 1180.0, "marker-jump-32": 2020.0,
        "marker-generic-8": 1520.0, "marker-generic-32": 3400.0,
    },
    "cold-branch": {
        "base": 31.0, "base-clone": 31.0, "jump": 33.0, "l1-hit": 31.1, "memory": 310.0,
    },
    "marker-enabled": {
        "none": 1.0, "none-clone": 1.0, "register-args-empty-probe": 6.0,
        "varargs-empty-probe": 9.0, "tracepoint": 5.5,
    },
    "getppid-quiet": {
        "compiled-out": 140.0, "compiled-out-clone": 140.0, "generic": 142.5, "immediate": 139.0,
    },
}  # fmt: skip
EXACT = rawdata.Bench(
    "empty-loop",
    {"none": 3, "none-clone": 3, "marker-jump": 4, "marker-generic": 6, "nop": 3, "x": 2},
)
SWITCHING_MECHANISMS = {
    "batched": (400_000, 30),
    "one-by-one": (9_000, 60_000),
    "static-keys-many": (40_000, 3_000),
}
SIZES = (1, 100, 10_000)

Line = tuple[object, ...]


def simulate_timed_windows(benchmark: str, costs: Mapping[str, float], seed: int) -> Iterator[Line]:
    """Yield simulated windows of a benchmark, with a drift for each block, jitter and rare
    interruptions. `costs` has the cost of each variant in ticks."""
    draw = random.Random(seed).random
    for block in range(BLOCKS):
        drift, layout = 0.02 * draw(), block % rawdata.LAYOUTS
        windows = sorted((draw(), name, loops) for name in costs for loops in LOOPS)
        for position, (_, name, loops) in enumerate(windows):
            cost = costs[name] * (1 + drift) + 0.04 * (draw() + draw() - 1) + 0.01 * layout
            flags = "preempted" if draw() < 0.01 else ""
            ticks = round(90 + cost * loops * (3 if flags else 1))
            where = (layout, block, position, 1, loops, "")
            yield benchmark, name, "loop", *where, ticks, "ticks", "", flags


def simulate_site_switches(seed: int) -> Iterator[Line]:
    """Yield simulated samples of each mechanism in SWITCHING_MECHANISMS: the time to switch sites,
    and the gap (the time for which another CPU is stopped)."""
    draw = random.Random(seed).random
    for block in range(BLOCKS):
        for way, (start, each) in SWITCHING_MECHANISMS.items():
            for sites in SIZES:
                where = (0, block, 0, 1, "", sites)
                ticks = round((start + each * sites) * (1 + 0.1 * draw()))
                gap = round((20_000 + 400 * draw()) * (1 if way == "batched" else 2))
                yield "arm-scaling", way, "switch", *where, ticks, "ticks", "", ""
                yield "arm-scaling", f"{way}-stall", "gap", *where, gap, "ticks", "", ""


def write_raw_files_of_process(path: Path, seed: int, emulated: str) -> None:
    """Write the raw files of one process with all benchmarks; `emulated` is the value of the key
    "emulated" in the env file."""
    rawdata.write_raw_folder(path, benches=(), kernel="6.12.0-golden", emulated=emulated)
    for number, (benchmark, costs) in enumerate(TIMED.items()):
        rawdata.write_raw_csv(
            path / f"{benchmark}.csv", list(simulate_timed_windows(benchmark, costs, seed + number))
        )
    rawdata.write_raw_csv(path / "arm-scaling.csv", list(simulate_site_switches(seed)))


def make_run(root: Path) -> Path:
    """Make the run and its report in `root`; return the run directory. Data about this machine are
    removed, so that the run is the same on every machine."""
    raw, run = root / "raw", root / "run"
    for process in range(1, PROCESSES + 1):
        write_raw_files_of_process(
            raw / "native" / f"process-{process}", 1000 * process, emulated="0"
        )
    write_raw_files_of_process(raw / "vm", 9000, emulated="1")
    rawdata.write_raw_folder(raw / "icount", 4, 1, [EXACT], exact=True, emulated="1")
    tiers = [f"--raw={tier.name}={tier}" for tier in sorted(raw.iterdir())]
    assert main(["collect", str(run), *tiers]) == 0
    env = json.loads((run / "env.json").read_text())
    for name in ("machine", "kernel", "source"):
        env.pop(name, None)
    (run / "env.json").write_text(json.dumps(env))
    assert main(["report", str(run)]) == 0
    return run
