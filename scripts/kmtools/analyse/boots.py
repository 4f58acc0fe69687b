# SPDX-License-Identifier: GPL-2.0-only
"""Compares the times of a command under several kernels, with boots as clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from kmtools.analyse.student import compute_capped_t_quantile
from kmtools.measure.macro import CommandTime

# The fewest boots that each of two kernels must have, so that the ratio of the two mean times gets
# an interval.
FEWEST_BOOTS = 2
# The error probability of the interval of a ratio.
ERROR_PROBABILITY = 0.05


@dataclass(frozen=True)
class KernelTime:
    """The time of a command under the kernel `label`: `seconds` is the geometric mean, `ratio` is
    this mean divided by the mean under the first kernel. `low` and `high` are the 95 % interval of
    `ratio`, None if either kernel has fewer than FEWEST_BOOTS boots."""

    label: str
    boots: int
    runs: int
    seconds: float
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


def compute_boot_log_means(times: Sequence[CommandTime]) -> dict[str, list[float]]:
    """Return, for each kernel label, one number for each boot: the mean logarithm of the times in
    the boot. The labels are in the order in which they first appear in `times`."""
    found: dict[str, dict[str, list[float]]] = {}
    for one in times:
        found.setdefault(one.label, {}).setdefault(one.boot, []).append(math.log(one.seconds))
    return {label: [fmean(logs) for logs in boots.values()] for label, boots in found.items()}


def compute_welch_half_width(base: Sequence[float], other: Sequence[float]) -> float:
    """Return the half-width of Welch's confidence interval for the difference between the means
    of `base` and `other`."""
    parts = [variance(logs) / len(logs) for logs in (base, other)]
    if not sum(parts):
        return 0.0
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(logs) - 1) for part, logs in zip(parts, (base, other), strict=True)
    )
    return compute_capped_t_quantile(ERROR_PROBABILITY, freedom) * math.sqrt(sum(parts))


def compute_time_ratios(times: Sequence[CommandTime]) -> list[KernelTime]:
    """Return the mean time of the command under each kernel, and the ratio of this mean to the mean
    under the first kernel."""
    logs = compute_boot_log_means(times)
    found = []
    for label, own in logs.items():
        runs = sum(one.label == label for one in times)
        row = KernelTime(label, len(own), runs, math.exp(fmean(own)))
        base = next(iter(logs.values()))
        if own is not base:
            apart = fmean(own) - fmean(base)
            row = KernelTime(row.label, row.boots, row.runs, row.seconds, math.exp(apart))
            if min(len(own), len(base)) >= FEWEST_BOOTS:
                half = compute_welch_half_width(base, own)
                ends = math.exp(apart - half), math.exp(apart + half)
                row = KernelTime(row.label, row.boots, row.runs, row.seconds, row.ratio, *ends)
        found.append(row)
    return found


def make_kernel_time_table(times: Sequence[CommandTime]) -> list[list[str]]:
    """Return a table as rows of cells: for each kernel, the mean time of the command, and the ratio
    of this mean to the mean under the first kernel."""
    lines = [["kernel", "boots", "runs", "seconds", "ratio", "95 % interval"]]
    for row in compute_time_ratios(times):
        ratio = "-" if row.ratio is None else f"{row.ratio:.4f}"
        span = "two boots of each kernel are needed" if row.ratio else "-"
        if row.low is not None and row.high is not None:
            span = f"[{row.low:.4f}, {row.high:.4f}]"
        amounts = [str(row.boots), str(row.runs), f"{row.seconds:.3f}"]
        lines.append([row.label, *amounts, ratio, span])
    return lines
