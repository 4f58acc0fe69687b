# SPDX-License-Identifier: GPL-2.0-only
"""Measures the benchmarks in user space as `bench` does, with fresh seeds, for A/A comparisons."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kmtools.measure import choice, collect, native, neighbour
from kmtools.measure.bench import FULL, InterimAnalyses
from kmtools.measure.run_cache import RunCache


@dataclass(frozen=True)
class RunSettings:
    """The settings of each run of an A/A comparison: `blocks` per process, the time limit `budget`
    in seconds, and patterns of `benchmarks` (none for all). `neighbour` names the neighbour process
    (neighbour.NEIGHBOURS) that runs during the measurement, "" for none. `unlisted` are benchmarks
    that kmbench measures but does not list."""

    blocks: int
    budget: float
    benchmarks: tuple[str, ...] = ()
    neighbour: str = ""
    unlisted: tuple[str, ...] = ()


def ignore_progress(*_words: object, **_more: Any) -> None:
    """Ignore all arguments. This function replaces functions that report progress."""


def measure_run(
    run_number: int, plan: RunSettings, interim_analyses: InterimAnalyses
) -> collect.RawDir:
    """Measure a run and return its samples. Runs with different values of `run_number` share no
    seed."""
    seed = run_number * interim_analyses.most
    cache = RunCache()
    with contextlib.ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory())
        if plan.neighbour:
            stack.enter_context(neighbour.run_neighbour_process(plan.neighbour, seed))
        raw = Path(scratch) / "raw"
        native.measure_processes(
            raw,
            blocks=plan.blocks,
            processes=interim_analyses.most,
            seed=seed,
            benchmarks=[
                *choice.select_matching_benchmarks(native.KMBENCH, plan.benchmarks, ()),
                *plan.unlisted,
            ],
            budget=plan.budget,
            choose_benchmarks=interim_analyses.begin(
                "native", FULL["processes"], cache, ignore_progress, ignore_progress
            ),
            say=ignore_progress,
        )
        return cache.reader.load_tier("native", raw)
