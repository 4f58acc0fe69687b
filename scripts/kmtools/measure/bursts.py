# SPDX-License-Identifier: GPL-2.0-only
"""Runs a neighbour process that uses a core in bursts, to test measurements beside it.

`python bursts.py SEED` is busy and idle in turn, each for a random time whose mean is MEAN_SECONDS,
until its standard input ends, at the latest when its parent exits.
"""

from __future__ import annotations

import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

MEAN_SECONDS = 1.0
# Busy time between two checks of the standard input.
TURN_SECONDS = 0.05


def is_over(seconds: float) -> bool:
    """Wait at most `seconds` for the end of the standard input; return True if it ended."""
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def be_busy(seconds: float) -> bool:
    """Use a core for `seconds`; return early, with True, when the standard input ends."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        turn = time.monotonic() + min(left, TURN_SECONDS)
        while time.monotonic() < turn:
            pass
        if is_over(0):
            return True
    return False


def run_bursts(seed: int) -> None:
    """Be busy and idle in turn until the standard input ends; ignore SIGINT, which the terminal
    sends to all of its processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    rng = random.Random(seed)
    while not be_busy(rng.expovariate(1 / MEAN_SECONDS)):
        if is_over(rng.expovariate(1 / MEAN_SECONDS)):
            break


@contextmanager
def run_neighbour(seed: int) -> Iterator[None]:
    """During the block, run the neighbour in another process."""
    with subprocess.Popen([sys.executable, __file__, str(seed)], stdin=subprocess.PIPE) as process:
        try:
            yield
        finally:
            assert process.stdin is not None
            process.stdin.close()


if __name__ == "__main__":
    run_bursts(int(sys.argv[1]))
