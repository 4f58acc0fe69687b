# SPDX-License-Identifier: GPL-2.0-only
"""Writes simulated raw samples with drift, heavy tails, effects of code layouts, and flagged
windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from kmtools.measure import samples
from numpy.typing import NDArray

LOOPS = (2000, 12000)
LAYOUTS = 8

# The first lines of a shell script that replaces kmbench: they parse its options.
READ_OPTIONS = r"""#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    --seed) seed=$2 ;;
    --out) out=$2 ;;
    esac
    shift
done
"""


@dataclass
class Noise:
    """Simulated disturbances. `jitter`, `drift` and `layout` are in ticks per operation; `tails`
    and `flagged` are probabilities; `correlation` of neighbouring blocks is from 0 to 1."""

    jitter: float = 0.02
    correlation: float = 0.5
    drift: float = 0.05
    tails: float = 0.02
    layout: float = 0.02
    flagged: float = 0.002


@dataclass
class Bench:
    """A benchmark, and the true cost per operation of each variant."""

    name: str
    costs: Mapping[str, float]
    noise: Noise = field(default_factory=Noise)
    loops: Sequence[int] = LOOPS


BENCHES = (
    Bench(
        "empty-loop",
        {"none": 1.0, "none-clone": 1.0, "marker-generic": 2.2, "marker-immediate": 1.9},
    ),
    Bench(
        "memcpy-4096",
        {"none": 62.0, "none-clone": 62.0, "marker-generic": 62.1, "marker-immediate": 62.05},
        Noise(jitter=0.1, drift=0.5, layout=0.05),
    ),
    Bench(
        "cold-branch",
        {"base": 31.0, "base-clone": 31.0, "immediate": 33.0, "l1-hit": 34.0, "memory": 310.0},
        Noise(jitter=0.6, drift=1.0, layout=0.2),
        (500, 3000),
    ),
    Bench(
        "getppid-quiet",
        {"compiled-out": 140.0, "compiled-out-clone": 140.0, "generic": 142.5, "immediate": 140.8},
        Noise(jitter=0.5, drift=2.0, layout=0.3),
        (200, 1200),
    ),
    Bench(
        "getppid-pressure",
        {
            "compiled-out": 9000.0,
            "compiled-out-clone": 9000.0,
            "generic": 9600.0,
            "immediate": 9020.0,
        },
        Noise(jitter=120.0, drift=300.0, layout=10.0),
        (20, 60),
    ),
)


def make_correlated_series(
    rng: np.random.Generator, count: int, correlation: float
) -> NDArray[np.float64]:
    """Return an autoregressive series of `count` values with the coefficient `correlation` and unit
    variance."""
    shocks = rng.standard_normal(count)
    series = np.empty(count)
    series[0] = shocks[0]
    for i in range(1, count):
        series[i] = correlation * series[i - 1] + np.sqrt(1 - correlation * correlation) * shocks[i]
    return series


def simulate_windows(
    bench: Bench, blocks: int, seed: int, exact: bool = False
) -> list[tuple[object, ...]]:
    """Return the simulated windows of a benchmark; with `exact`, the values are instruction counts
    without noise."""
    rng = np.random.default_rng(seed)
    noise, names = bench.noise, list(bench.costs)
    common = np.cumsum(rng.standard_normal(blocks)) * noise.drift / np.sqrt(blocks)
    own = {
        name: noise.jitter * make_correlated_series(rng, blocks, noise.correlation)
        for name in names
    }
    placed = {name: noise.layout * rng.standard_normal(LAYOUTS) for name in names}
    lines: list[tuple[object, ...]] = []
    for block in range(blocks):
        layout = block % LAYOUTS
        windows = [(name, loops) for name in names for loops in bench.loops]
        for position, pick in enumerate(rng.permutation(len(windows))):
            name, loops = windows[pick]
            cost, flags = bench.costs[name], ""
            if not exact:
                cost += float(common[block] + own[name][block] + placed[name][layout])
                if rng.random() < noise.tails:
                    cost += noise.jitter * float(rng.pareto(1.5)) * 20
                if rng.random() < noise.flagged:
                    cost, flags = cost * 3, "preempted"
            ticks = round(90 + cost * loops)
            where = (layout, block, position, 1)
            lines.append((bench.name, name, "loop", *where, loops, "", ticks, "ticks", "", flags))
    return lines


def write_raw_csv(path: Path, lines: Sequence[Sequence[object]]) -> None:
    """Write one raw CSV file."""
    text = [f"# schema={samples.SCHEMA}", ",".join(samples.RAW_COLUMNS)]
    text += [",".join(str(cell) for cell in line) for line in lines]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")


def write_raw_folder(
    path: Path,
    blocks: int = 60,
    seed: int = 1,
    benches: Sequence[Bench] = BENCHES,
    exact: bool = False,
    **env: str,
) -> Path:
    """Write the raw directory `path` with simulated samples of `benches` and an env file, to which
    `env` adds entries; return `path`. With `exact`, the samples are instruction counts without
    noise."""
    path.mkdir(parents=True, exist_ok=True)
    for index, bench in enumerate(benches):
        write_raw_csv(
            path / f"{bench.name}.csv", simulate_windows(bench, blocks, seed * 100 + index, exact)
        )
    values = {"kernel": "6.12.0-test", "tsc_khz": "2600000", "seed": str(seed), **env}
    text = "".join(f"{key}={value}\n" for key, value in values.items())
    (path / "env").write_text(text, encoding="utf-8")
    return path
