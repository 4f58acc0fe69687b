# SPDX-License-Identifier: GPL-2.0-only
"""Simulates kinds of noise with known location: paired differences of a run, in block order.

Values are in units of the standard deviation of a single block. The true location of the kinds in
KINDS is zero. In the kinds of ASYMMETRIC, a disturbance increases the cost of some blocks and
reduces the cost of none. The true location of these kinds is the usual cost, which
Documentation/usual-cost.md defines.

The usual cost is computed from the simulated costs, without the estimator: for each process, the
mean of the middle half of the distribution of its blocks; then the mean over processes. If the
disturbance starts and stops during the run, such as a neighbour process, the truth is the usual
cost in that run. If the disturbance is decided at the start of each process, the truth is the mean
over all processes that could have been started.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from kmtools.analyse.layouts import LINE_BYTES, compute_offset_in_cache_line
from kmtools.measure.samples import LAYOUTS

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Random = np.random.Generator

PROCESSES, BLOCKS = 16, 128
LENGTH = PROCESSES * BLOCKS


def get_process_of_each_block(length: int) -> Whole:
    """Return the process number of each block (a group of consecutive measurements)."""
    return np.arange(length) // BLOCKS


def get_layout_of_each_block(length: int) -> Whole:
    """Return the number of the code layout that each block measures."""
    return np.arange(length) % LAYOUTS


PROCESS, LAYOUT = get_process_of_each_block(LENGTH), get_layout_of_each_block(LENGTH)

NORMAL = NormalDist()
# The number of blocks of which simulate_autoregressive_noise() computes the noise at a time.
PIECE_BLOCKS = 512
# The modes of simulate_multimodal_noise(): their values, their probabilities, and the standard
# deviation around each mode.
MODES, SHARES, NARROW = (0.0, 3.0, 8.0), (0.6, 0.25, 0.15), 0.3
# The values of simulate_stepping_clock_noise(), all in steps of the clock: the cost that a variant
# adds to a window, the duration of a window, and the standard deviation of the duration.
STEPPING_COST, WINDOW, JITTER = 0.2, 300.0, 0.6


def compute_lognormal_midmean() -> float:
    """Return the midmean of a log-normal distribution."""
    quartile = NORMAL.inv_cdf(0.75)
    return 2 * math.sqrt(math.e) * (NORMAL.cdf(quartile - 1) - NORMAL.cdf(-quartile - 1))


def compute_multimodal_midmean() -> float:
    """Return the midmean that simulate_multimodal_noise() subtracts from its noise. The quartiles
    of this noise lie in the first two modes."""
    first, second = SHARES[:2]
    lower, upper = NORMAL.inv_cdf(0.25 / first), NORMAL.inv_cdf((0.75 - first) / second)
    noise = first * NORMAL.pdf(lower) - second * NORMAL.pdf(upper)
    return 2 * ((0.75 - first) * MODES[1] + NARROW * noise)


def simulate_white_noise(random: Random, length: int = LENGTH) -> Floats:
    return random.standard_normal(length)


def simulate_skewed_noise(random: Random, length: int = LENGTH) -> Floats:
    return np.asarray(np.exp(simulate_white_noise(random, length)) - compute_lognormal_midmean())


def simulate_multimodal_noise(random: Random, length: int = LENGTH) -> Floats:
    modes = random.choice(MODES, length, p=SHARES)
    return np.asarray(
        modes + NARROW * simulate_white_noise(random, length) - compute_multimodal_midmean()
    )


def simulate_heavy_tailed_noise(random: Random, length: int = LENGTH) -> Floats:
    """Return noise with heavy tails: one block in ten is an outlier, on either side."""
    far = np.where(random.random(length) < 0.1, 20 * random.pareto(1.2, length), 0.0)
    return np.asarray(
        simulate_white_noise(random, length) + far * random.choice((-1.0, 1.0), length)
    )


def simulate_autoregressive_noise(
    random: Random, length: int = LENGTH, *, correlation: float
) -> Floats:
    """Return first-order autoregressive noise of unit variance; `correlation` is the correlation of
    neighbouring blocks, 0.8 or more."""
    shocks = simulate_white_noise(random, length)
    shocks[1:] *= math.sqrt(1 - correlation * correlation)
    fade = correlation ** np.arange(1, min(length, PIECE_BLOCKS) + 1)
    last, pieces = 0.0, []
    # Compute the series in pieces, because the powers of `correlation` would underflow.
    for piece in np.array_split(shocks, math.ceil(length / PIECE_BLOCKS)):
        own = fade[: len(piece)]
        pieces.append(own * (last + np.cumsum(piece / own)))
        last = pieces[-1][-1]
    return np.concatenate(pieces)


def simulate_neighbour_noise(random: Random, length: int = LENGTH, *, dwell: int) -> Floats:
    """Return noise with two levels, as if another process started and stopped at random. Each level
    lasts for `dwell` blocks on average."""
    changes = random.random(length) < 1 / dwell
    state = (np.cumsum(changes) + random.integers(2)) % 2
    return simulate_white_noise(random, length) + 3 * (state - 0.5)


def simulate_drifting_noise(random: Random, length: int = LENGTH) -> Floats:
    """Return differences of two costs with a large common drift. The variant also has a small drift
    of its own, whose mean is zero."""
    drift, apart = (
        np.cumsum(simulate_white_noise(random, length)) / math.sqrt(length) for _ in range(2)
    )
    baseline = 10 * drift
    variant = baseline + 0.05 * (apart - apart.mean()) + simulate_white_noise(random, length)
    return np.asarray(variant - baseline)


def simulate_cluster_noise(
    random: Random, length: int = LENGTH, *, process: float, layout: float
) -> Floats:
    """Return noise with random effects of processes and of code alignments (layouts); `process` and
    `layout` are the standard deviations of these effects."""
    of_process = process * random.standard_normal(length // BLOCKS)
    of_layout = layout * random.standard_normal(LAYOUTS)
    return np.asarray(
        simulate_white_noise(random, length)
        + of_process[get_process_of_each_block(length)]
        + of_layout[get_layout_of_each_block(length)]
    )


def simulate_cache_line_noise(random: Random, length: int = LENGTH, *, cost: float) -> Floats:
    """Return noise in which a loop costs `cost` more if it begins in a certain part of a cache
    line. The start and the size of this part are random."""
    begin, wide = LINE_BYTES * random.random(2)
    inside = (
        compute_offset_in_cache_line(get_layout_of_each_block(length)) - begin
    ) % LINE_BYTES < wide
    return np.asarray(simulate_white_noise(random, length) + cost * (inside - wide / LINE_BYTES))


def simulate_stepping_clock_noise(random: Random, length: int = LENGTH) -> Floats:
    """Return differences of windows timed by a stepping clock; windows begin at random times
    between two steps."""
    lengths = []
    for window in (WINDOW + STEPPING_COST, WINDOW):
        start = random.random(length)
        end = start + window + JITTER * simulate_white_noise(random, length)
        lengths.append(np.floor(end) - np.floor(start))
    return np.asarray(lengths[0] - lengths[1] - STEPPING_COST)


STEPPING = "stepping"
KINDS: dict[str, Callable[[Random, int], Floats]] = {
    "normal": simulate_white_noise,
    "skewed": simulate_skewed_noise,
    "modal": simulate_multimodal_noise,
    "tailed": simulate_heavy_tailed_noise,
    "ar-0.9": partial(simulate_autoregressive_noise, correlation=0.9),
    "ar-0.99": partial(simulate_autoregressive_noise, correlation=0.99),
    "neighbour-20": partial(simulate_neighbour_noise, dwell=20),
    "neighbour-100": partial(simulate_neighbour_noise, dwell=100),
    "neighbour-500": partial(simulate_neighbour_noise, dwell=500),
    "drifting": simulate_drifting_noise,
    "process-0.3": partial(simulate_cluster_noise, process=0.3, layout=0.0),
    "process-1": partial(simulate_cluster_noise, process=1.0, layout=0.0),
    "process-3": partial(simulate_cluster_noise, process=3.0, layout=0.0),
    "layout-0.1": partial(simulate_cluster_noise, process=0.0, layout=0.1),
    "layout-1": partial(simulate_cluster_noise, process=0.0, layout=1.0),
    "layout-3": partial(simulate_cluster_noise, process=0.0, layout=3.0),
    "stretch": partial(simulate_cache_line_noise, cost=0.5),
    "placed": partial(simulate_cluster_noise, process=0.3, layout=0.3),
    STEPPING: simulate_stepping_clock_noise,
}


# The distribution of the noise of one block, as values of equal probability.
QUANTILES = np.array([NORMAL.inv_cdf((number + 0.5) / 32) for number in range(32)])
# DISTURBANCE_COST: the cost of a disturbance, unless the name of the kind in ASYMMETRIC has a cost.
# SHIFTED_SHARE, COSTLY_PAIR_SHARE: the shares of processes, and of pairs of a process and a layout,
# with this cost. MANY_PROCESSES: the number of simulated processes for a mean over all processes
# that could be started.
DISTURBANCE_COST, SHIFTED_SHARE, COSTLY_PAIR_SHARE, MANY_PROCESSES = 3.0, 0.2, 0.1, 4000


@dataclass(frozen=True)
class SimulatedRun:
    """The paired differences of a run, the layout (code alignment) of each block, and the usual
    cost in each process. The true cost of the run is the mean of the usual costs of its
    processes."""

    values: Floats
    layout: Whole
    usual: Floats

    def keep_first_processes(self, processes: int) -> SimulatedRun:
        """Return a run of the first `processes` processes. The true cost of these processes is
        subtracted from all costs, so that the true cost of the returned run is zero."""
        length, usual = processes * BLOCKS, self.usual[:processes]
        return SimulatedRun(
            self.values[:length] - usual.mean(), self.layout[:length], usual - usual.mean()
        )


def compute_usual_process_costs(offsets: Floats) -> Floats:
    """Return the usual cost in each process: the mean of the middle half of the distribution of its
    blocks. `offsets` has the mean of each block; the noise around this mean is white."""
    alike = np.sort(offsets.reshape(-1, BLOCKS), axis=1)
    different, which = np.unique(alike, axis=0, return_inverse=True)
    every = np.sort((different[:, :, None] + QUANTILES).reshape(len(different), -1), axis=1)
    quarter = every.shape[1] // 4
    return np.asarray(every[:, quarter:-quarter].mean(axis=1)[which.reshape(-1)])


def simulate_intermittent_neighbour(
    random: Random, layout: Whole, *, share: float, dwell: int
) -> Floats:
    """Return the cost that a neighbour process adds to each block. The process runs for `dwell`
    blocks on average, and in the share `share` of all blocks."""
    mean = np.array([dwell * (1 - share) / share, dwell])
    first = int(random.random() < share)
    # Simulate so many periods, on and off, that their total length exceeds the length of the run.
    turns = (first + np.arange(40 + 4 * len(layout) // int(mean.sum()))) % 2
    lengths = 1 + random.exponential(mean[turns]).astype(int)
    there = np.repeat(turns, lengths)[: len(layout)]
    return np.asarray(DISTURBANCE_COST * there)


def simulate_costly_processes(random: Random, layout: Whole, *, cost: float) -> Floats:
    """Return the cost added to each block: `cost` in one process in five, else 0."""
    processes = len(layout) // BLOCKS
    return np.repeat(cost * (random.random(processes) < SHIFTED_SHARE), BLOCKS)


def simulate_costly_process_layouts(random: Random, layout: Whole, *, cost: float) -> Floats:
    """Return the cost added to each block: `cost` in one of ten pairs of a process and a layout,
    else 0."""
    costly = random.random((len(layout) // BLOCKS, LAYOUTS)) < COSTLY_PAIR_SHARE
    return np.asarray(cost * costly[get_process_of_each_block(len(layout)), layout])


def simulate_costly_process_starts(_random: Random, layout: Whole, *, cost: float) -> Floats:
    """Return the cost added to each block: `cost` in the first quarter of each process, else 0."""
    return np.asarray(cost * (np.arange(len(layout)) % BLOCKS < BLOCKS // 4))


def simulate_periodic_disturbance(random: Random, layout: Whole, *, period: int) -> Floats:
    """Return the cost that a periodic disturbance adds to each block. The disturbance lasts for a
    quarter of each `period` blocks."""
    phase = period * random.random()
    return np.asarray(DISTURBANCE_COST * ((np.arange(len(layout)) + phase) % period < period / 4))


def simulate_sawtooth_drift(_random: Random, layout: Whole, *, blocks: int) -> Floats:
    """Return the cost added to each block, which rises linearly for `blocks` blocks, then begins
    again at 0."""
    return np.asarray(DISTURBANCE_COST * (np.arange(len(layout)) % blocks) / (blocks - 1))


Offsets = Callable[[Random, Whole], Floats]
# The kinds in which the added cost is decided at the start of each process.
OF_PROCESSES: dict[str, Offsets] = {
    **{f"one-in-five-{cost}": partial(simulate_costly_processes, cost=cost) for cost in (1, 3, 10)},
    **{f"pairs-{cost}": partial(simulate_costly_process_layouts, cost=cost) for cost in (4, 8)},
}
ASYMMETRIC: dict[str, Offsets] = {
    **{
        f"stays-{share}%-{dwell}": partial(
            simulate_intermittent_neighbour, share=share / 100, dwell=dwell
        )
        for share in (10, 25, 50)
        for dwell in (5, 20, 100, 500, 1000)
    },
    **OF_PROCESSES,
    **{
        f"slow-start-{cost}": partial(simulate_costly_process_starts, cost=cost) for cost in (3, 10)
    },
    **{
        f"period-{period}": partial(simulate_periodic_disturbance, period=period)
        for period in (31, 32, 120, 128, 136)
    },
    "drift-in-process": partial(simulate_sawtooth_drift, blocks=BLOCKS),
    "drift-in-run": partial(simulate_sawtooth_drift, blocks=LENGTH),
}


@cache
def compute_usual_cost_over_processes(kind: str) -> float:
    """Return the usual cost with noise of the kind `kind`, a key of OF_PROCESSES: the mean over the
    usual costs of MANY_PROCESSES processes."""
    random = np.random.default_rng(0)
    layout = permute_layouts(random, MANY_PROCESSES * BLOCKS)
    return float(compute_usual_process_costs(OF_PROCESSES[kind](random, layout)).mean())


def permute_layouts(random: Random, length: int) -> Whole:
    """Return the layout of each block. Within each group of LAYOUTS blocks, each layout occurs
    once, in random order."""
    rounds = np.tile(np.arange(LAYOUTS), (math.ceil(length / LAYOUTS), 1))
    return np.asarray(random.permuted(rounds, axis=1).reshape(-1)[:length])


def simulate_run(kind: str, seed: int, processes: int = PROCESSES) -> SimulatedRun:
    """Simulate a run of `processes` processes with noise of the kind `kind`."""
    random, length = np.random.default_rng(seed), processes * BLOCKS
    if kind in KINDS:
        values = KINDS[kind](random, length)
        return SimulatedRun(values, get_layout_of_each_block(length), np.zeros(processes))
    layout = permute_layouts(random, length)
    offsets = ASYMMETRIC[kind](random, layout)
    usual = (
        np.full(processes, compute_usual_cost_over_processes(kind))
        if kind in OF_PROCESSES
        else compute_usual_process_costs(offsets)
    )
    return SimulatedRun(offsets + simulate_white_noise(random, length), layout, usual)
