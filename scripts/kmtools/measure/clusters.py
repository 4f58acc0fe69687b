# SPDX-License-Identifier: GPL-2.0-only
"""Repeats the measurement of a tier (environment of measurement) on a real CPU, until more time
would resolve no row, or until the time limit.

The pages of the measured code are chosen when a process starts, when a kernel boots or when modules
are loaded. The choice of pages can make two pieces of code differ by a few cycles until the next
start. So the blocks after one start are a cluster in the statistical sense: a single cluster would
show such a difference with a narrow interval, and several clusters show how much this difference
varies. The column `process` of samples.csv is the number of the cluster.

Each cluster writes its samples to a folder; collect.py joins the blocks of all clusters to one
series. The samples of completed clusters are kept, so that an interrupted run resumes with the next
cluster.
"""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic as now

from kmtools.base.files import sync_and_rename_directory
from kmtools.measure import rundir

# A function that shows progress. Its arguments are the done part, the total, and the text to show.
Show = Callable[[float, float, str], None]
# A function that measures a cluster. Its arguments are the folder for the samples, the number of
# the cluster (counted from 1), the benchmarks (all if empty), and a function that shows the
# progress within the cluster.
Measure = Callable[[Path, int, Sequence[str], Show], None]
# A function that receives the folder of the clusters and the number of completed clusters. It
# returns the benchmarks that the next cluster measures: None for the benchmarks of the last
# cluster, or an empty sequence to end the run.
ChooseBenchmarks = Callable[[Path, int], Sequence[str] | None]
# The line in env which says that interim analyses (looks) decided when the run ended.
INTERIM_ENV_LINE = "looks=1\n"


def make_cluster_env_lines(planned: int, has_interim_analyses: bool) -> str:
    """Return the lines that are appended to the env file of each cluster: the planned number of
    clusters, and whether interim analyses (looks) decide when the run ends."""
    return f"{rundir.PROCESSES}={planned}\n{INTERIM_ENV_LINE if has_interim_analyses else ''}"


def get_cluster_folder(directory: Path, number: int) -> Path:
    """Return the folder of the cluster `number`, counted from 1, in the folder `directory`."""
    return directory / f"process-{number}"


def print_to_stderr(text: str) -> None:
    """Print a line to the standard error output."""
    print(text, file=sys.stderr, flush=True)


def measure_clusters(
    raw: Path,
    measure: Measure,
    *,
    tier: str = "native",
    clusters: int,
    benchmarks: Sequence[str] = (),
    budget: float = math.inf,
    show: Show | None = None,
    on_cluster_end: Callable[[Path, int], None] | None = None,
    choose_benchmarks: ChooseBenchmarks | None = None,
    say: Callable[[str], None] = print_to_stderr,
) -> int:
    """Measure at most `clusters` clusters of the tier `tier` with the function `measure`. Each
    cluster has a folder in `raw`.

    Clusters that an earlier call completed are not measured again. The first cluster is always
    measured. A later cluster is not started if all clusters would then take more than `budget`
    seconds, supposing that it takes as long as the previous cluster. After each cluster,
    `on_cluster_end` is called with the folder and the number of the cluster, then
    `choose_benchmarks`. `show` shows the progress, and `say` prints a line. Return the number of
    completed clusters.
    """
    noun, plural = rundir.CLUSTER_NOUNS[tier]
    directory = raw.with_name(f"{raw.name}.parts")
    directory.mkdir(parents=True, exist_ok=True)
    # A crash of the kernel during an earlier measurement leaves a partial folder.
    for stale in directory.glob("*.partial"):
        shutil.rmtree(stale, ignore_errors=True)
    began = last = now()
    took = 0.0
    done = 0
    for number in range(1, clusters + 1):
        part = get_cluster_folder(directory, number)
        if done and not part.is_dir() and last + took - began > budget:
            say(f"{tier}: the time limit was reached after {done} {plural if done > 1 else noun}")
            break

        def show_progress(some: float, total: float, name: str, number: int = number) -> None:
            if show is not None:
                text = f"{noun} {number} of {clusters}, {name}"
                counted, every = (number - 1) * total + some, clusters * total
                show(max(counted, every * min(1.0, (now() - began) / budget)), every, text)

        if not part.is_dir():
            measure(part, number, benchmarks, show_progress)
        if on_cluster_end is not None:
            on_cluster_end(part, number)
        done = number
        following = choose_benchmarks(directory, done) if choose_benchmarks is not None else None
        if following is not None:
            benchmarks = following
            if not benchmarks:
                break
        last, took = now(), now() - last
    sync_and_rename_directory(directory, raw)
    return done
