# SPDX-License-Identifier: GPL-2.0-only
"""Measures the native benchmarks as `bench` does, with fresh seeds, for A/A comparisons."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kmtools.measure import bursts, choice, collect, native
from kmtools.measure.bench import FULL, Steering
from kmtools.measure.run_cache import RunCache


@dataclass(frozen=True)
class Plan:
    """The amounts of each run: `blocks` blocks per process, benchmarks by pattern (none for all),
    and at most `budget` seconds; with `bursts` beside a process that uses a core in bursts."""

    blocks: int
    budget: float
    benchmarks: tuple[str, ...] = ()
    bursts: bool = False


def silent(*_words: object, **_more: Any) -> None:
    """Say nothing."""


def measure(number: int, plan: Plan, steering: Steering) -> collect.RawDir:
    """Return the samples of a run; runs of different numbers share no seed."""
    seed = number * steering.most
    cache = RunCache()
    beside = bursts.neighbour(seed) if plan.bursts else contextlib.nullcontext()
    with tempfile.TemporaryDirectory() as scratch, beside:
        raw = Path(scratch) / "raw"
        native.measure(
            raw,
            blocks=plan.blocks,
            processes=steering.most,
            seed=seed,
            benchmarks=choice.names(native.KMBENCH, plan.benchmarks, ()),
            budget=plan.budget,
            steer=steering.begin(FULL["processes"], cache, silent, silent),
            say=silent,
        )
        return cache.reader.load("native", raw)
