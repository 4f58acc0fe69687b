# SPDX-License-Identifier: GPL-2.0-only
"""The rows of a run that can be compared with those of another run.

A row is a variant of a benchmark in a tier. Its number is the cost of the variant divided by that
of the baseline in the same block, because clocks and machines differ: a *share*. The baseline
itself, and a switch of sites, have no such share; they are *whole* and in the unit of the tier.
Counts of instructions are *exact*.

A number is estimated once for each cluster. Clusters are the processes of a run; with a single
process they are stretches of neighbouring blocks. An estimate is the mean, over the code layouts,
of the trimmed mean of the blocks of a layout. With few blocks of each, an eighth of a cache line is
taken in place of a layout.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kmtools.analyse import stats
from kmtools.analyse.layouts import EIGHTHS, are_crowded
from kmtools.analyse.slopes import CLONE_SUFFIX, Slope, find_baseline, slopes
from kmtools.measure.rundir import Tier, tier_order
from kmtools.measure.samples import LOOP, Sample

SHARE, WHOLE, EXACT = "share", "whole", "exact"
# A fifth of the blocks is left out at either end: on a machine that does other work, many blocks
# are slow. The median, which leaves out more, would be a multiple of the clock's step.
TRIM = 0.2
# A run with one process is cut into at most so many stretches.
STRETCHES = 8

Floats = NDArray[np.float64]


@dataclass(frozen=True, order=True)
class Name:
    """What two runs must have in common for a row of them to be compared, beside the unit."""

    tier: str
    benchmark: str
    variant: str
    measured: str = LOOP
    sites: int = 0

    @property
    def order(self) -> tuple[object, ...]:
        """The position in a table."""
        return (tier_order(self.tier), self.benchmark, self.variant, self.measured, self.sites)

    def __str__(self) -> str:
        sites = f" at {self.sites} sites" if self.sites else ""
        return f"{self.tier} {self.benchmark} {self.variant}{sites}"


@dataclass(frozen=True)
class Row:
    """A row of one run. `cost` is its median in `unit`, of an operation or a switch; `values` are
    the estimates of the clusters, shares without a unit or in `unit`."""

    name: Name
    kernel: str
    unit: str
    kind: str
    baseline: str
    cost: float
    blocks: int
    processes: int
    values: Floats = field(repr=False)
    layouts: Mapping[int, float] = field(repr=False)
    resolution: float = 0.0
    lo: float = 0.0
    hi: float = 0.0
    # The code layouts it was measured at; none for counts.
    places: frozenset[int] = frozenset()

    @property
    def is_clone(self) -> bool:
        """Whether it is the second copy of its baseline."""
        return bool(self.baseline) and self.name.variant == self.baseline + CLONE_SUFFIX

    @property
    def is_baseline(self) -> bool:
        """Whether other rows are shares of this one."""
        return self.name.variant == self.baseline


@dataclass(frozen=True)
class Block:
    """The number of one block: a share or a whole."""

    block: int
    layout: int
    process: int
    value: float


def trimmed(values: Sequence[float]) -> float:
    """The mean without the fifth at either end, at least one value of three or more."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    cut = math.ceil(len(ordered) * TRIM) if len(ordered) > 2 else 0
    return float(np.mean(ordered[cut : len(ordered) - cut]))


def by_layout(blocks: Iterable[Block]) -> dict[int, float]:
    """The trimmed mean of each layout; or of each eighth of a cache line, whose number is one below
    zero then, because it is not that of a layout."""
    known = list(blocks)
    crowded = are_crowded(len(known), len({block.layout for block in known}))
    groups: dict[int, list[float]] = defaultdict(list)
    for block in known:
        groups[block.layout % EIGHTHS - EIGHTHS if crowded else block.layout].append(block.value)
    return {layout: trimmed(groups[layout]) for layout in sorted(groups)}


def stretches(blocks: Sequence[Block]) -> list[list[Block]]:
    """Neighbouring blocks together, in at most STRETCHES stretches that have all eighths of a cache
    line alike."""
    seen: dict[int, int] = defaultdict(int)
    turns: list[tuple[int, Block]] = []
    for block in sorted(blocks, key=lambda one: one.block):
        turns.append((seen[block.layout % EIGHTHS], block))
        seen[block.layout % EIGHTHS] += 1
    rounds = min(seen.values(), default=0)
    count = min(STRETCHES, rounds)
    groups: list[list[Block]] = [[] for _ in range(count)]
    for turn, block in turns:
        if turn < rounds:
            groups[turn * count // rounds].append(block)
    return groups


def estimates(blocks: Sequence[Block]) -> Floats:
    """The estimate of each cluster."""
    groups: dict[int, list[Block]] = defaultdict(list)
    for block in blocks:
        groups[block.process].append(block)
    clusters = [groups[n] for n in sorted(groups)] if len(groups) > 1 else stretches(blocks)
    means = [np.mean(list(by_layout(cluster).values())) for cluster in clusters]
    return np.array(means, dtype=np.float64)


def make_row(
    name: Name, tier: Tier, kind: str, baseline: str, cost: float, blocks: Sequence[Block],
    resolution: float = 0.0,
) -> Row:  # fmt: skip
    """A row of timed numbers."""
    processes = len({block.process for block in blocks})
    return Row(
        name, tier.kernel, tier.unit, kind, baseline, cost, len(blocks), processes,
        estimates(blocks), by_layout(blocks), resolution,
        places=frozenset(block.layout for block in blocks),
    )  # fmt: skip


def exact_row(name: Name, tier: Tier, baseline: str, series: Sequence[Slope]) -> Row:
    """A row of counts, which repeat exactly or say that they do not."""
    found, cost = stats.exact_interval(series), stats.middle(series)
    none: Floats = np.array([], dtype=np.float64)
    return Row(
        name, tier.kernel, tier.unit, EXACT, baseline, cost, len(series), 1, none, {}, 0.0,
        found.lo, found.hi,
    )  # fmt: skip


def loop_rows(tier: Tier, benchmark: str, samples: Sequence[Sample]) -> list[Row]:
    """The rows of one benchmark whose passes were timed or counted."""
    fitted = slopes(samples)
    baseline = find_baseline(fitted) or ""
    process = {sample.block: sample.process for sample in samples}
    steps = {} if tier.exact else stats.clock_resolution(samples)
    base = {slope.block: slope.top / slope.bottom for slope in fitted.get(baseline, [])}
    rows = []
    for variant, series in sorted(fitted.items()):
        name = Name(tier.tier, benchmark, variant)
        cost = stats.middle(series)
        if tier.exact:
            rows.append(exact_row(name, tier, baseline, series))
            continue
        whole = variant == baseline or not baseline
        blocks = [
            Block(
                s.block,
                s.layout,
                process[s.block],
                s.top / s.bottom / (1 if whole else base[s.block]),
            )
            for s in series
            if whole or base.get(s.block)
        ]
        if blocks:
            kind = WHOLE if whole else SHARE
            step = steps.get(variant, 0.0) / abs(cost or 1)
            rows.append(make_row(name, tier, kind, baseline, cost, blocks, step))
    return rows


def switch_row(tier: Tier, name: Name, samples: Sequence[Sample]) -> Row:
    """A row of switches of one number of sites. A block may hold several."""
    blocks = [Block(s.block, s.layout, s.process, float(s.value)) for s in samples]
    cost = float(np.median([block.value for block in blocks]))
    return make_row(name, tier, WHOLE, "", cost, blocks)


def rows_of(samples: Iterable[Sample], tiers: Sequence[Tier]) -> list[Row]:
    """All rows of a run, in the order of tables."""
    known = {(tier.tier, tier.kernel): tier for tier in tiers}
    loops: dict[tuple[str, str, str], list[Sample]] = defaultdict(list)
    switches: dict[tuple[str, Name], list[Sample]] = defaultdict(list)
    for s in samples:
        if s.measured == LOOP:
            loops[s.tier, s.kernel, s.benchmark].append(s)
        else:
            name = Name(s.tier, s.benchmark, s.variant, s.measured, s.size)
            switches[s.kernel, name].append(s)
    rows = []
    for (tier, kernel, benchmark), several in loops.items():
        rows += loop_rows(known[tier, kernel], benchmark, several)
    for (kernel, name), several in switches.items():
        rows.append(switch_row(known[name.tier, kernel], name, several))
    return sorted(rows, key=lambda row: (row.name.order, row.kernel))
