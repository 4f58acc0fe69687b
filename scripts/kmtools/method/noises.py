# SPDX-License-Identifier: GPL-2.0-only
"""Simulates kinds of noise with known location: paired differences of a run, in block order.

Values are in units of the noise of a single block. The true location of each kind is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from kmtools.analyse.layouts import LINE_BYTES, compute_offset_in_cache_line
from kmtools.measure.samples import LAYOUTS

Floats = NDArray[np.float64]
Random = np.random.Generator

PROCESSES, BLOCKS = 16, 128
LENGTH = PROCESSES * BLOCKS


def get_block_processes(length: int) -> NDArray[np.int64]:
    """Return the process number of each block (a group of consecutive measurements)."""
    return np.arange(length) // BLOCKS


def get_block_layouts(length: int) -> NDArray[np.int64]:
    """Return the code alignment (layout) number of the measured loop in each block."""
    return np.arange(length) % LAYOUTS


PROCESS, LAYOUT = get_block_processes(LENGTH), get_block_layouts(LENGTH)

NORMAL = NormalDist()
PIECE = 512
# The modes of simulate_modal_noise(): their places, their probabilities, and the standard deviation
# around each.
MODES, SHARES, NARROW = (0.0, 3.0, 8.0), (0.6, 0.25, 0.15), 0.3
# The values of simulate_stepping_noise(), all in steps of the clock: the cost that a variant adds
# to a window, the length of a window, and its jitter.
COST, WINDOW, JITTER = 0.2, 300.0, 0.6


def compute_skewed_midmean() -> float:
    """Return the midmean of a log-normal distribution."""
    quartile = NORMAL.inv_cdf(0.75)
    return 2 * math.sqrt(math.e) * (NORMAL.cdf(quartile - 1) - NORMAL.cdf(-quartile - 1))


def compute_modal_midmean() -> float:
    """Return the midmean of the values of simulate_modal_noise() before the midmean is subtracted.
    Their quartiles lie in the first two modes."""
    first, second = SHARES[:2]
    lower, upper = NORMAL.inv_cdf(0.25 / first), NORMAL.inv_cdf((0.75 - first) / second)
    noise = first * NORMAL.pdf(lower) - second * NORMAL.pdf(upper)
    return 2 * ((0.75 - first) * MODES[1] + NARROW * noise)


def simulate_white_noise(random: Random, length: int = LENGTH) -> Floats:
    return random.standard_normal(length)


def simulate_skewed_noise(random: Random, length: int = LENGTH) -> Floats:
    return np.asarray(np.exp(simulate_white_noise(random, length)) - compute_skewed_midmean())


def simulate_modal_noise(random: Random, length: int = LENGTH) -> Floats:
    modes = random.choice(MODES, length, p=SHARES)
    return np.asarray(
        modes + NARROW * simulate_white_noise(random, length) - compute_modal_midmean()
    )


def simulate_heavy_tailed_noise(random: Random, length: int = LENGTH) -> Floats:
    """Return noise with heavy tails: one block in ten is far away, on either side."""
    far = np.where(random.random(length) < 0.1, 20 * random.pareto(1.2, length), 0.0)
    return np.asarray(
        simulate_white_noise(random, length) + far * random.choice((-1.0, 1.0), length)
    )


def simulate_autoregressive_noise(random: Random, length: int = LENGTH, *, alike: float) -> Floats:
    """Return first-order autoregressive noise of unit variance; `alike` is the correlation of
    neighbouring blocks, 0.8 or more."""
    shocks = simulate_white_noise(random, length)
    shocks[1:] *= math.sqrt(1 - alike * alike)
    fade = alike ** np.arange(1, min(length, PIECE) + 1)
    last, pieces = 0.0, []
    # Compute the series in pieces, because the powers for a whole run would underflow.
    for piece in np.array_split(shocks, math.ceil(length / PIECE)):
        own = fade[: len(piece)]
        pieces.append(own * (last + np.cumsum(piece / own)))
        last = pieces[-1][-1]
    return np.concatenate(pieces)


def simulate_neighbour_noise(random: Random, length: int = LENGTH, *, dwell: int) -> Floats:
    """Return noise of a disturbance, such as another process, that starts and stops at random, and
    lasts for `dwell` blocks on average."""
    changes = random.random(length) < 1 / dwell
    state = (np.cumsum(changes) + random.integers(2)) % 2
    return simulate_white_noise(random, length) + 3 * (state - 0.5)


def simulate_drifting_noise(random: Random, length: int = LENGTH) -> Floats:
    """Return differences of two costs that drift far together, and a little apart from each other;
    the drift apart has a mean of zero."""
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
        + of_process[get_block_processes(length)]
        + of_layout[get_block_layouts(length)]
    )


def simulate_stretch_noise(random: Random, length: int = LENGTH, *, cost: float) -> Floats:
    """Return noise in which loops cost `cost` more if they begin at one of several neighbouring
    offsets in a cache line."""
    begin, wide = LINE_BYTES * random.random(2)
    inside = (compute_offset_in_cache_line(get_block_layouts(length)) - begin) % LINE_BYTES < wide
    return np.asarray(simulate_white_noise(random, length) + cost * (inside - wide / LINE_BYTES))


def simulate_stepping_noise(random: Random, length: int = LENGTH) -> Floats:
    """Return differences of windows timed by a stepping clock; windows begin at random times
    between two steps."""
    lengths = []
    for window in (WINDOW + COST, WINDOW):
        start = random.random(length)
        end = start + window + JITTER * simulate_white_noise(random, length)
        lengths.append(np.floor(end) - np.floor(start))
    return np.asarray(lengths[0] - lengths[1] - COST)


STEPPING = "stepping"
KINDS: dict[str, Callable[[Random, int], Floats]] = {
    "normal": simulate_white_noise,
    "skewed": simulate_skewed_noise,
    "modal": simulate_modal_noise,
    "tailed": simulate_heavy_tailed_noise,
    "ar-0.9": partial(simulate_autoregressive_noise, alike=0.9),
    "ar-0.99": partial(simulate_autoregressive_noise, alike=0.99),
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
    "stretch": partial(simulate_stretch_noise, cost=0.5),
    "placed": partial(simulate_cluster_noise, process=0.3, layout=0.3),
    STEPPING: simulate_stepping_noise,
}
