# SPDX-License-Identifier: GPL-2.0-only
"""Runs the benchmarks in user space, in several processes one after the other.

The kernel and the allocator choose the pages of a process when it starts. This choice can make two
pieces of code differ by a few cycles for as long as the process lives. A single process would show
such a difference with a narrow interval; several processes show how much it varies. Each leaves a
folder; collect.py makes one series of their blocks.

The samples of a process that has ended are kept until all have, so an interrupted run goes on with
the next process.
"""

from __future__ import annotations

import math
import os
import re
import selectors
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic as now
from typing import IO

from kmtools.base.errors import FailedError, UnableError
from kmtools.base.files import publish
from kmtools.base.paths import ROOT
from kmtools.measure import disturbance

KMBENCH = ROOT / "build" / "native" / "kmbench"
NOTHING_TO_MEASURE = 4
# kmbench prints such a line when a benchmark is done.
BENCHMARK = re.compile(r"kmbench: \[(\d+)/(\d+)\] ([\w-]+): ")
# The CPU on which kmbench measured, in its env.
CPU = re.compile(r"^cpu=(\d+)$", re.MULTILINE)
NO_CPU = -1

# Time without a finished benchmark after which a program is taken to hang: fixed, and per block.
HANGS_SECONDS = 600.0
HANGS_BLOCK_SECONDS = 10.0
# The number of last lines kept of a program's messages that are no progress.
KEPT_LINES = 20

# Largest number of attempts of a process if the machine is suspended meanwhile.
TURNS = 3

Show = Callable[[float, float, str], None]
# Takes the folder of the processes and the number of ended ones; returns the benchmarks of the next
# process, None for the same as before, and an empty sequence to end.
Steer = Callable[[Path, int], Sequence[str] | None]
STEERED = "looks=1\n"


@contextmanager
def elsewhere() -> Iterator[None]:
    """Keep this process off the last CPU, on which kmbench measures, if there is another. kmbench
    must have been started before, because it would inherit the affinity."""
    allowed = os.sched_getaffinity(0)
    if len(allowed) > 1:
        os.sched_setaffinity(0, allowed - {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


class SuspendedError(FailedError):
    """The machine was suspended while a process measured."""


def lines_of(pipe: IO[bytes], until: Callable[[], float]) -> Iterator[str]:
    """The lines that a program writes. TimeoutError if the pipe is open after the time that `until`
    gives, whatever is written; a process that the program has started may hold it open."""
    held = b""
    with selectors.DefaultSelector() as ready:
        ready.register(pipe, selectors.EVENT_READ)
        while True:
            if not ready.select(max(0.0, until() - now())) or now() > until():
                raise TimeoutError
            if not (some := os.read(pipe.fileno(), 1 << 16)):
                break
            *lines, held = (held + some).split(b"\n")
            yield from (line.decode(errors="replace").strip() for line in lines)
            held = held[-4096:]
    if held:
        yield held.decode(errors="replace").strip()


def listen(
    process: subprocess.Popen[bytes], show: Callable[[int, int, str], None], seconds: float
) -> list[str]:
    """Show the progress of a program until it ends; returns its last lines that are no progress.
    TimeoutError if it makes no progress for `seconds`."""
    assert process.stderr is not None
    said: deque[str] = deque(maxlen=KEPT_LINES)
    done, progressed = 0, [now()]
    for line in lines_of(process.stderr, lambda: progressed[-1] + seconds):
        match = BENCHMARK.match(line)
        if not match:
            said.append(line)
            continue
        show(int(match[1]), int(match[2]), match[3])
        if int(match[1]) > done:
            done = int(match[1])
            progressed.append(now())
    return list(said)


def run_process(
    part: Path,
    words: list[object],
    show: Callable[[int, int, str], None],
    more: str = "",
    program: Path | None = None,
    hangs: float = HANGS_SECONDS,
) -> None:
    """Run kmbench, or another program that is used like it, once and leave its samples in `part`,
    unless it fails; `more` goes to its env. A program without progress for `hangs` seconds is
    ended."""
    partial = part.with_name(f"{part.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    before = disturbance.read()
    command = [str(word) for word in (program or KMBENCH, "run", *words, "--out", partial)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            with elsewhere():
                said = listen(process, show, hangs)
        except TimeoutError:
            raise FailedError(
                f"{command[0]} hangs: it ended no benchmark in {hangs:.0f} s"
            ) from None
        finally:
            process.kill()
    # Lines about skipped parts do not explain a failure.
    why = "; ".join([line for line in said if " SKIP " not in line] or said)
    why = why or f"exit code {process.returncode}"
    if process.returncode == NOTHING_TO_MEASURE:
        raise UnableError(f"nothing can be measured in user space here: {why}")
    if process.returncode:
        raise FailedError(f"kmbench failed: {why}")
    if not (partial / "env").is_file():
        raise FailedError(f"{command[0]} left no samples: it is not used like kmbench")
    if disturbance.slept(before, disturbance.read()):
        raise SuspendedError("the machine was suspended while kmbench measured")
    add_to(partial / "env", before, more)
    publish(partial, part)


def add_to(env: Path, before: disturbance.Reading, more: str) -> None:
    """Add the disturbances of a process's CPU, and the lines `more`, to its description. The
    process has ended."""
    try:
        text = env.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        why = "not text in UTF-8: the program is not used like kmbench"
        raise FailedError(f"{env}: {why}") from None
    match = CPU.search(text)
    found = disturbance.between(before, disturbance.read(), int(match[1]) if match else NO_CPU)
    env.write_text(text + disturbance.lines(found) + more, encoding="utf-8")


def run_awake(run: Callable[[], None], say: Callable[[str], None]) -> None:
    """Run a process, and again if the machine was suspended meanwhile. `say` takes a line."""
    for turn in range(1, TURNS + 1):
        try:
            return run()
        except SuspendedError as error:
            if turn == TURNS:
                raise
            say(f"native: {error}; it measures again")
    return None


def measure(
    raw: Path,
    *,
    blocks: int,
    processes: int,
    seed: int,
    benchmarks: Sequence[str] = (),
    budget: float = math.inf,
    show: Show | None = None,
    ended: Callable[[Path, int], None] | None = None,
    steer: Steer | None = None,
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
    program: Path | None = None,
) -> int:
    """Measure `blocks` blocks of every benchmark, or of some, in each of `processes` processes;
    leave samples and env of each in a folder of `raw`.

    The n-th process has seed `seed` + n - 1. Processes that an earlier call completed are not run
    again. After the first, none begins that would end after `budget` seconds if it takes as long as
    the last. `ended` receives the folder and the number of each process, while no other runs; then
    `steer` is called. `say` takes a line. `program` is run in place of kmbench. Returns the number
    of processes. FailedError if one fails, UnableError if nothing can be measured here.
    """
    directory = raw.with_name(f"{raw.name}.parts")
    directory.mkdir(parents=True, exist_ok=True)
    parts = [directory / f"process-{number + 1}" for number in range(processes)]
    began = last = now()
    took = 0.0
    for number, part in enumerate(parts):
        done = number
        if number and not part.is_dir() and last + took - began > budget:
            say(f"native: the time is out after {number} process{'es' * (number > 1)}")
            break

        def tell(done: int, total: int, name: str, number: int = number) -> None:
            if show is not None:
                text = f"process {number + 1} of {processes}, {name}"
                counted, every = number * total + done, processes * total
                show(max(counted, every * min(1.0, (now() - began) / budget)), every, text)

        if not part.is_dir():
            words = ["--blocks", blocks, "--seed", seed + number, *benchmarks]
            more = "" if steer is None else STEERED
            hangs = HANGS_SECONDS + HANGS_BLOCK_SECONDS * blocks
            run_awake(partial(run_process, part, words, tell, more, program, hangs), say)
        if ended is not None:
            ended(part, number + 1)
        done = number + 1
        following = steer(directory, done) if steer is not None else None
        if following is not None:
            benchmarks = following
            if not benchmarks:
                break
        last, took = now(), now() - last
    publish(directory, raw)
    return done
