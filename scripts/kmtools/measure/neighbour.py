# SPDX-License-Identifier: GPL-2.0-only
"""Runs a neighbour process: a load beside kmbench that disturbs the measurement, for tests.

`python neighbour.py LOAD SEED [CPU]` executes a load of LOADS, on any CPU or on the given one,
until its standard input ends, at the latest when its parent exits.
"""

from __future__ import annotations

import math
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# The mean duration of a burst, and of the sleep after it.
MEAN_SECONDS = 1.0
# The time for which the busy loop runs between two checks of the standard input.
SPIN_SLICE_SECONDS = 0.05
# The size of each of the two buffers that the load "memory" copies; larger than most caches.
COPIED_BYTES = 64 << 20


def wait_for_input_end(seconds: float) -> bool:
    """Wait at most `seconds` for the end of the standard input; return True if the standard input
    has ended."""
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def spin_for_seconds(seconds: float) -> bool:
    """Execute a busy loop for `seconds`, and return False. If the standard input ends earlier,
    return True at once."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        turn = time.monotonic() + min(left, SPIN_SLICE_SECONDS)
        while time.monotonic() < turn:
            pass
        if wait_for_input_end(0):
            return True
    return False


def alternate_load_and_sleep(seed: int) -> None:
    """Alternate between a busy loop and sleep, each for a random time whose mean is MEAN_SECONDS,
    until the standard input ends."""
    rng = random.Random(seed)
    while not spin_for_seconds(rng.expovariate(1 / MEAN_SECONDS)):
        if wait_for_input_end(rng.expovariate(1 / MEAN_SECONDS)):
            break


def copy_memory(_seed: int) -> None:
    """Copy a buffer to another one, again and again, until the standard input ends."""
    source, target = bytes(COPIED_BYTES), bytearray(COPIED_BYTES)
    while not wait_for_input_end(0):
        target[:] = source


def spin_until_input_end(_seed: int) -> None:
    """Execute a busy loop until the standard input ends."""
    spin_for_seconds(math.inf)


LOADS = {"bursts": alternate_load_and_sleep, "memory": copy_memory, "busy": spin_until_input_end}
# Indices into the sorted list of the CPUs that this process may use.
FIRST, LAST = 0, -1


@dataclass(frozen=True)
class Neighbour:
    """A neighbour process: the name of the load, and the CPU that executes the load. `cpu` is FIRST
    or LAST, or None for any CPU. If `pinned` is True, this process and its children, such as
    kmbench, use the same CPU."""

    load: str
    cpu: int | None = None
    pinned: bool = False


# The neighbour processes by name. If all CPUs are equally idle, kmbench measures on the last CPU.
# With `pinned`, kmbench cannot measure on another CPU than the CPU of the neighbour process.
NEIGHBOURS = {
    "bursts": Neighbour("bursts"),
    "memory": Neighbour("memory", FIRST),
    "busy": Neighbour("busy", FIRST),
    "bursts-same-cpu": Neighbour("bursts", LAST),
    "bursts-pinned": Neighbour("bursts", LAST, pinned=True),
}


@contextmanager
def run_neighbour_process(name: str, seed: int) -> Iterator[None]:
    """During the `with` block, run the neighbour process `name` of NEIGHBOURS."""
    kind = NEIGHBOURS[name]
    allowed = os.sched_getaffinity(0)
    cpus = [] if kind.cpu is None else [sorted(allowed)[kind.cpu]]
    command = [sys.executable, __file__, kind.load, str(seed), *map(str, cpus)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        try:
            if kind.pinned:
                os.sched_setaffinity(0, cpus)
            yield
        finally:
            process.kill()
            os.sched_setaffinity(0, allowed)


def main(load: str, seed: str, *cpus: str) -> None:
    """Execute the load `load`. Ignore SIGINT, which the terminal sends to the parent and to this
    process: the parent kills this process before the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if cpus:
        os.sched_setaffinity(0, map(int, cpus))
    LOADS[load](int(seed))


if __name__ == "__main__":
    main(*sys.argv[1:])
