# SPDX-License-Identifier: GPL-2.0-only
"""Runs the benchmarks in user space, in several processes one after the other.

The kernel and the allocator choose the pages of a process when it starts. This choice can make two
pieces of code differ by a few cycles for as long as the process runs. A single process would show
such a difference with a narrow interval; several processes show how much it varies. Each process
writes its samples to a folder; collect.py joins the blocks of all processes to one series.

The samples of completed processes are kept, so that an interrupted run resumes with the next
process.
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
from kmtools.base.files import publish_directory
from kmtools.base.paths import ROOT
from kmtools.measure import disturbance

KMBENCH = ROOT / "build" / "native" / "kmbench"
NOTHING_TO_MEASURE = 4
# The line that kmbench prints when a benchmark is done.
BENCHMARK = re.compile(r"kmbench: \[(\d+)/(\d+)\] ([\w-]+): ")
# The line in the env of kmbench with the CPU on which it measured.
CPU = re.compile(r"^cpu=(\d+)$", re.MULTILINE)
NO_CPU = -1

# A program counts as hung if it completes no benchmark for this time: a fixed part, and a part for
# each block.
HANGS_SECONDS = 600.0
HANGS_BLOCK_SECONDS = 10.0
# The number of lines that are kept of the messages of a program: the last ones, without those of
# progress.
KEPT_LINES = 20

# The largest number of attempts to run a process; it is repeated if the machine was suspended.
TURNS = 3

Show = Callable[[float, float, str], None]
# A function that receives the folder of the processes and the number of completed processes. It
# returns the benchmarks of the next process, None to keep them, or an empty sequence to end the
# run.
Steer = Callable[[Path, int], Sequence[str] | None]
STEERED = "looks=1\n"


@contextmanager
def avoid_last_cpu() -> Iterator[None]:
    """During the block, if there are several CPUs, keep this process off the last one, on which
    kmbench measures. kmbench must be started before the block; otherwise it would inherit the
    affinity and could not measure on the last CPU."""
    allowed = os.sched_getaffinity(0)
    if len(allowed) > 1:
        os.sched_setaffinity(0, allowed - {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


class SuspendedError(FailedError):
    """The machine was suspended while a process measured."""


def read_pipe_lines(pipe: IO[bytes], until: Callable[[], float]) -> Iterator[str]:
    """Yield the lines that a program writes to a pipe. Raise TimeoutError if the pipe is still open
    at the time that `until` returns, even if the program is still writing. The pipe may also be
    held open by a process that the program started."""
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


def follow_progress(
    process: subprocess.Popen[bytes], show: Callable[[int, int, str], None], seconds: float
) -> list[str]:
    """Show the progress of a program until it ends; return its last lines, except lines of
    progress. Raise TimeoutError if the program completes no benchmark for `seconds`."""
    assert process.stderr is not None
    said: deque[str] = deque(maxlen=KEPT_LINES)
    done, progressed = 0, [now()]
    for line in read_pipe_lines(process.stderr, lambda: progressed[-1] + seconds):
        match = BENCHMARK.match(line)
        if not match:
            said.append(line)
            continue
        show(int(match[1]), int(match[2]), match[3])
        if int(match[1]) > done:
            done = int(match[1])
            progressed.append(now())
    return list(said)


def run_kmbench(
    part: Path,
    words: list[object],
    show: Callable[[int, int, str], None],
    more_env_lines: str = "",
    program: Path | None = None,
    hangs: float = HANGS_SECONDS,
) -> None:
    """Run kmbench once with the arguments `words`, or another program with the same command line,
    and leave its samples in the folder `part` unless it fails. `more_env_lines` are appended to its
    env file. A program that completes no benchmark for `hangs` seconds is killed."""
    partial = part.with_name(f"{part.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    before = disturbance.read_disturbance_counters()
    command = [str(word) for word in (program or KMBENCH, "run", *words, "--out", partial)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            with avoid_last_cpu():
                said = follow_progress(process, show, hangs)
        except TimeoutError:
            raise FailedError(
                f"{command[0]} hangs: it ended no benchmark in {hangs:.0f} s"
            ) from None
        finally:
            process.kill()
    # Leave out lines about skipped parts, which do not explain a failure.
    why = "; ".join([line for line in said if " SKIP " not in line] or said)
    why = why or f"exit code {process.returncode}"
    if process.returncode == NOTHING_TO_MEASURE:
        raise UnableError(f"nothing can be measured in user space here: {why}")
    if process.returncode:
        raise FailedError(f"kmbench failed: {why}")
    if not (partial / "env").is_file():
        raise FailedError(
            f"{command[0]} left no samples: its command line differs from that of kmbench"
        )
    if disturbance.was_suspended(before, disturbance.read_disturbance_counters()):
        raise SuspendedError("the machine was suspended while kmbench measured")
    add_disturbances(partial / "env", before, more_env_lines)
    publish_directory(partial, part)


def add_disturbances(env: Path, before: disturbance.Reading, more_lines: str) -> None:
    """After a process has ended, append the disturbances of its CPU and the lines `more_lines` to
    its env file `env`. `before` are the counters before the process."""
    try:
        text = env.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        why = "not text in UTF-8: the program does not write the files of kmbench"
        raise FailedError(f"{env}: {why}") from None
    match = CPU.search(text)
    found = disturbance.compute_disturbances(
        before, disturbance.read_disturbance_counters(), int(match[1]) if match else NO_CPU
    )
    env.write_text(text + disturbance.format_env_lines(found) + more_lines, encoding="utf-8")


def repeat_if_suspended(run: Callable[[], None], say: Callable[[str], None]) -> None:
    """Call `run`, and call it again if the machine was suspended during the call, up to TURNS
    times. `say` prints a line."""
    for turn in range(1, TURNS + 1):
        try:
            return run()
        except SuspendedError as error:
            if turn == TURNS:
                raise
            say(f"native: {error}; this process is measured again")
    return None


def measure_processes(
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
    """Measure `blocks` blocks of every benchmark, or of the given ones, in each of `processes`
    processes; leave samples and env of each in a folder of `raw`.

    The n-th process has seed `seed` + n - 1. Processes that an earlier call completed are not run
    again. After the first, no process is started that would end after `budget` seconds if it takes
    as long as the last one. `ended` is called with the folder and the number of each completed
    process, while no other runs; then `steer` is called. `say` prints a line. `program` replaces
    kmbench. Returns the number of processes. FailedError if one fails, UnableError if nothing can
    be measured here.
    """
    directory = raw.with_name(f"{raw.name}.parts")
    directory.mkdir(parents=True, exist_ok=True)
    parts = [directory / f"process-{number + 1}" for number in range(processes)]
    began = last = now()
    took = 0.0
    for number, part in enumerate(parts):
        done = number
        if number and not part.is_dir() and last + took - began > budget:
            say(f"native: the time limit was reached after {number} process{'es' * (number > 1)}")
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
            repeat_if_suspended(partial(run_kmbench, part, words, tell, more, program, hangs), say)
        if ended is not None:
            ended(part, number + 1)
        done = number + 1
        following = steer(directory, done) if steer is not None else None
        if following is not None:
            benchmarks = following
            if not benchmarks:
                break
        last, took = now(), now() - last
    publish_directory(directory, raw)
    return done
