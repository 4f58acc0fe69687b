# SPDX-License-Identifier: GPL-2.0-only
"""Kinds of simulated noise with known location: paired differences of a run, in block order.

Values are in units of the noise of a single block. The true location of each kind is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from kmtools.analyse.layouts import LINE_BYTES, place_of
from kmtools.measure.samples import LAYOUTS

Floats = NDArray[np.float64]
Random = np.random.Generator

PROCESSES, BLOCKS = 16, 128
LENGTH = PROCESSES * BLOCKS


def process_of(length: int) -> NDArray[np.int64]:
    """The process of each block."""
    return np.arange(length) // BLOCKS


def layout_of(length: int) -> NDArray[np.int64]:
    """The layout of each block."""
    return np.arange(length) % LAYOUTS


PROCESS, LAYOUT = process_of(LENGTH), layout_of(LENGTH)

NORMAL = NormalDist()
PIECE = 512
# The modes of `modal`: their places, their probabilities, and the standard deviation around each.
MODES, SHARES, NARROW = (0.0, 3.0, 8.0), (0.6, 0.25, 0.15), 0.3
# A clock that advances in steps: the cost that a variant adds to a window, the length of a window,
# and its jitter, all in steps.
COST, WINDOW, JITTER = 0.2, 300.0, 0.6


def skewed_middle() -> float:
    """The midmean of a log-normal distribution."""
    quartile = NORMAL.inv_cdf(0.75)
    return 2 * math.sqrt(math.e) * (NORMAL.cdf(quartile - 1) - NORMAL.cdf(-quartile - 1))


def modal_middle() -> float:
    """The midmean of the modes; the quartiles are inside the first two."""
    first, second = SHARES[:2]
    lower, upper = NORMAL.inv_cdf(0.25 / first), NORMAL.inv_cdf((0.75 - first) / second)
    noise = first * NORMAL.pdf(lower) - second * NORMAL.pdf(upper)
    return 2 * ((0.75 - first) * MODES[1] + NARROW * noise)


def white(random: Random, length: int = LENGTH) -> Floats:
    return random.standard_normal(length)


def skewed(random: Random, length: int = LENGTH) -> Floats:
    return np.asarray(np.exp(white(random, length)) - skewed_middle())


def modal(random: Random, length: int = LENGTH) -> Floats:
    modes = random.choice(MODES, length, p=SHARES)
    return np.asarray(modes + NARROW * white(random, length) - modal_middle())


def tailed(random: Random, length: int = LENGTH) -> Floats:
    """Heavy tails: one block in ten is far away, on either side."""
    far = np.where(random.random(length) < 0.1, 20 * random.pareto(1.2, length), 0.0)
    return np.asarray(white(random, length) + far * random.choice((-1.0, 1.0), length))


def autoregressive(random: Random, length: int = LENGTH, *, alike: float) -> Floats:
    """First-order autoregressive noise of unit variance; `alike` is the correlation of neighbouring
    blocks, 0.8 or more."""
    shocks = white(random, length)
    shocks[1:] *= math.sqrt(1 - alike * alike)
    fade = alike ** np.arange(1, min(length, PIECE) + 1)
    last, pieces = 0.0, []
    # In pieces, because the powers of a whole run underflow.
    for piece in np.array_split(shocks, math.ceil(length / PIECE)):
        own = fade[: len(piece)]
        pieces.append(own * (last + np.cumsum(piece / own)))
        last = pieces[-1][-1]
    return np.concatenate(pieces)


def neighbour(random: Random, length: int = LENGTH, *, dwell: int) -> Floats:
    """Something else on the machine comes and goes, and stays for `dwell` blocks on average."""
    changes = random.random(length) < 1 / dwell
    state = (np.cumsum(changes) + random.integers(2)) % 2
    return white(random, length) + 3 * (state - 0.5)


def drifting(random: Random, length: int = LENGTH) -> Floats:
    """Both costs drift far, and the variant's a little apart from the baseline's, around zero."""
    drift, apart = (np.cumsum(white(random, length)) / math.sqrt(length) for _ in range(2))
    baseline = 10 * drift
    variant = baseline + 0.05 * (apart - apart.mean()) + white(random, length)
    return np.asarray(variant - baseline)


def placed(random: Random, length: int = LENGTH, *, process: float, layout: float) -> Floats:
    """Random effects of processes and of layouts, with these standard deviations."""
    of_process = process * random.standard_normal(length // BLOCKS)
    of_layout = layout * random.standard_normal(LAYOUTS)
    return np.asarray(
        white(random, length) + of_process[process_of(length)] + of_layout[layout_of(length)]
    )


def stretch(random: Random, length: int = LENGTH, *, cost: float) -> Floats:
    """A stretch of neighbouring places in a cache line costs more."""
    begin, wide = LINE_BYTES * random.random(2)
    inside = (place_of(layout_of(length)) - begin) % LINE_BYTES < wide
    return np.asarray(white(random, length) + cost * (inside - wide / LINE_BYTES))


def stepping(random: Random, length: int = LENGTH) -> Floats:
    """Differences of windows by a stepping clock; windows begin anywhere between two steps."""
    lengths = []
    for window in (WINDOW + COST, WINDOW):
        start = random.random(length)
        end = start + window + JITTER * white(random, length)
        lengths.append(np.floor(end) - np.floor(start))
    return np.asarray(lengths[0] - lengths[1] - COST)


STEPPING = "stepping"
KINDS: dict[str, Callable[[Random, int], Floats]] = {
    "normal": white,
    "skewed": skewed,
    "modal": modal,
    "tailed": tailed,
    "ar-0.9": partial(autoregressive, alike=0.9),
    "ar-0.99": partial(autoregressive, alike=0.99),
    "neighbour-20": partial(neighbour, dwell=20),
    "neighbour-100": partial(neighbour, dwell=100),
    "neighbour-500": partial(neighbour, dwell=500),
    "drifting": drifting,
    "process-0.3": partial(placed, process=0.3, layout=0.0),
    "process-1": partial(placed, process=1.0, layout=0.0),
    "process-3": partial(placed, process=3.0, layout=0.0),
    "layout-0.1": partial(placed, process=0.0, layout=0.1),
    "layout-1": partial(placed, process=0.0, layout=1.0),
    "layout-3": partial(placed, process=0.0, layout=3.0),
    "stretch": partial(stretch, cost=0.5),
    "placed": partial(placed, process=0.3, layout=0.3),
    STEPPING: stepping,
}
