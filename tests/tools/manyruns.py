# SPDX-License-Identifier: GPL-2.0-only
"""Writes simulated runs of many machines; `python manyruns.py FOLDER COUNT` writes COUNT runs."""

from __future__ import annotations

import json
import shutil
import sys
from itertools import product
from pathlib import Path

import numpy as np
from kmtools.analyse import estimates
from kmtools.measure.rundir import UNIT_TSC
from kmtools.measure.samples import SAMPLE_COLUMNS, SCHEMA

COSTS = {
    "memcpy-4096": {"none": 75.0, "none-clone": 75.0, "marker-jump": 75.1, "marker-generic": 75.4},
    "getppid-quiet": {"base": 297.0, "base-clone": 297.0, "jump": 297.4, "immediate": 298.0},
}
PROCESSES, BLOCKS, LOOPS, LAYOUTS = 4, 8, (1000, 5000), 8
CPUS = (("AMD EPYC", "0x1000065"), ("Intel Xeon", "0x2b000603"))
KERNELS = ("6.1.0-test", "6.12.0-test")
# On machines with the second CPU model, this variant costs 1 % more.
COSTLIER = ("memcpy-4096", "marker-generic", 1.01)
NOISE = 0.002


def list_windows_of_run() -> list[tuple[str, str, int, int, int]]:
    """Return all windows of a run, each as benchmark, variant, process, block and loop count."""
    return [
        (benchmark, variant, process, (process - 1) * BLOCKS + block, loops)
        for benchmark, costs in COSTS.items()
        for process, block, variant, loops in product(
            range(1, PROCESSES + 1), range(BLOCKS), costs, LOOPS
        )
    ]


class RunWriter:
    """Writes runs with different noise, CPU models and kernels."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.windows = list_windows_of_run()
        self.costs = np.array([COSTS[b][v] * loops for b, v, _, _, loops in self.windows])
        hit = [(b, v) == COSTLIER[:2] for b, v, *_ in self.windows]
        self.more = np.where(hit, COSTLIER[2], 1.0)
        self.heads = [
            f"{process},{b},{v},loop,{block % LAYOUTS},{block},0,1,{loops},,"
            for b, v, process, block, loops in self.windows
        ]

    def write_simulated_run(self, number: int, cost_factor: float = 1.0) -> Path:
        """Write run `number`; all its costs are multiplied by `cost_factor`."""
        rng = np.random.default_rng(number)
        run = self.folder / f"machine-{number:05}"
        run.mkdir(parents=True)
        cpu, microcode = CPUS[number % 2]
        kernel = KERNELS[number // 2 % 2]
        noise = 1 + NOISE * rng.standard_normal(len(self.costs))
        costs = self.costs * noise * cost_factor * (self.more if number % 2 else 1.0)
        ticks = np.rint(90 + costs).astype(int).tolist()
        begin, end = f"native,{kernel},", f",{UNIT_TSC},,\n"
        body = "".join([f"{begin}{head}{t}{end}" for head, t in zip(self.heads, ticks)])
        (run / "samples.csv").write_text(f"# schema={SCHEMA}\n{','.join(SAMPLE_COLUMNS)}\n{body}")
        tier = {
            "tier": "native", "kernel": kernel, "unit": UNIT_TSC, "emulated": False, "seed": "1",
            "processes": PROCESSES, "windows": len(ticks), "env": {"emulated": "0"}, "vm": None,
        }  # fmt: skip
        machine = {"cpu": {"model_name": cpu, "microcode": microcode}}
        env = {"machine": machine, "kernel": {"release": kernel}, "tiers": [tier]}
        (run / "env.json").write_text(json.dumps(env))
        return run


def write_simulated_runs(folder: Path, count: int) -> list[Path]:
    """Write `count` runs; return their directories."""
    writer = RunWriter(folder)
    return [writer.write_simulated_run(number) for number in range(count)]


def write_runs_with_estimates(folder: Path, count: int, distinct: int = 20) -> None:
    """Write `count` runs with estimates.json. Only the first `distinct` runs differ; all further
    runs are copies of these runs."""
    made = write_simulated_runs(folder, min(count, distinct))
    for run in made:
        estimates.load_estimates(run)
    for number in range(len(made), count):
        shutil.copytree(made[number % len(made)], folder / f"machine-{number:05}")


def write_dated_runs(folder: Path, count: int, first_costlier_run: int, name: str = "run") -> None:
    """Write `count` runs of different days to directories called `name`-NUMBER. Runs from number
    `first_costlier_run` on have the second CPU model, on which the variant in COSTLIER costs 1 %
    more."""
    writer = RunWriter(folder)
    for number in range(count):
        later = number >= first_costlier_run
        run = writer.write_simulated_run(2 * number + later)
        env = json.loads((run / "env.json").read_text())
        env["date"] = f"2026-01-{number + 1:02}T00:00:00Z"
        (run / "env.json").write_text(json.dumps(env))
        # The order of the directory names differs from the order of the dates.
        run.rename(folder / f"{name}-{(number * 7) % count:02}")


if __name__ == "__main__":
    write_runs_with_estimates(Path(sys.argv[1]), int(sys.argv[2]), 200)
