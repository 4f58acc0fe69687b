# SPDX-License-Identifier: GPL-2.0-only
"""Runs a process that uses a core in bursts, to test measurements that such a load disturbs.

`python bursts.py SEED` executes a busy loop and sleeps in turn, each for a random time whose mean
is MEAN_SECONDS, until its standard input ends, at the latest when its parent exits.
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


def wait_for_input_end(seconds: float) -> bool:
    """Wait at most `seconds` for the end of the standard input; return True if it ended."""
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def spin_for_seconds(seconds: float) -> bool:
    """Execute a busy loop for `seconds`, and return False. If the standard input ends earlier,
    return True at once."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        turn = time.monotonic() + min(left, TURN_SECONDS)
        while time.monotonic() < turn:
            pass
        if wait_for_input_end(0):
            return True
    return False


def alternate_load_and_sleep(seed: int) -> None:
    """Use a core and sleep in turn until the standard input ends. Ignore SIGINT, because the
    terminal sends it to this process, too, when the user interrupts the parent; the parent then
    ends this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    rng = random.Random(seed)
    while not spin_for_seconds(rng.expovariate(1 / MEAN_SECONDS)):
        if wait_for_input_end(rng.expovariate(1 / MEAN_SECONDS)):
            break


@contextmanager
def run_neighbour_process(seed: int) -> Iterator[None]:
    """During the block, run this file as a process that uses a core in bursts."""
    with subprocess.Popen([sys.executable, __file__, str(seed)], stdin=subprocess.PIPE) as process:
        try:
            yield
        finally:
            assert process.stdin is not None
            process.stdin.close()


if __name__ == "__main__":
    alternate_load_and_sleep(int(sys.argv[1]))
