# SPDX-License-Identifier: GPL-2.0-only
"""Runs the benchmarks in user space, in several processes one after the other.

clusters.py says why there are several processes.
"""

from __future__ import annotations

import math
import os
import re
import selectors
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic as now
from typing import IO

from kmtools.base.errors import FailedError, UnableError
from kmtools.base.files import sync_and_rename_directory
from kmtools.base.paths import ROOT
from kmtools.measure import clusters, disturbance
from kmtools.measure.clusters import ChooseBenchmarks, Show, measure_clusters

KMBENCH = ROOT / "build" / "native" / "kmbench"
# The exit code of kmbench if no benchmark can be measured on this machine.
NOTHING_TO_MEASURE_CODE = 4
# Matches the line that kmbench prints when a benchmark is complete.
BENCHMARK = re.compile(r"kmbench: \[(\d+)/(\d+)\] ([\w-]+): ")
# Matches the line that kmbench prints when it chooses the CPU on which it measures.
CHOICE = re.compile(r"kmbench: (measuring on CPU (\d+), .*)")
# Matches the line of kmbench's env file with the CPU on which kmbench measured.
CPU = re.compile(r"^cpu=(\d+)$", re.MULTILINE)
NO_CPU = -1

# A program counts as hung if it completes no benchmark within HANG_SECONDS +
# HANG_SECONDS_PER_BLOCK times the number of blocks.
HANG_SECONDS = 600.0
HANG_SECONDS_PER_BLOCK = 10.0
# The number of output lines, other than lines of progress, that are kept for an error message.
KEPT_LINES = 20

# The largest number of times that a process is measured. The process is measured again if the
# machine was suspended during the measurement.
MAX_ATTEMPTS = 3


@contextmanager
def exclude_measured_cpu(cpu: int | None) -> Iterator[Callable[[int], None]]:
    """During the `with` block, exclude the CPU `cpu`, on which kmbench measures, from the affinity
    of this process. If `cpu` is None, exclude the last CPU. Never exclude the only CPU. The yielded
    function excludes another CPU instead. Start kmbench before the block, because a child process
    inherits the affinity."""
    allowed = os.sched_getaffinity(0)

    def exclude_cpu(other: int) -> None:
        if allowed - {other}:
            os.sched_setaffinity(0, allowed - {other})

    exclude_cpu(max(allowed) if cpu is None else cpu)
    try:
        yield exclude_cpu
    finally:
        os.sched_setaffinity(0, allowed)


class SuspendedError(FailedError):
    """Raised if the machine was suspended while a process measured."""


def read_pipe_lines(pipe: IO[bytes], get_deadline: Callable[[], float]) -> Iterator[str]:
    """Yield the lines that a program writes to a pipe. Raise TimeoutError if the pipe is still open
    at the time that `get_deadline` returns, even if lines still arrive. The pipe is open while the
    program, or a process that the program started, has not exited."""
    held = b""
    with selectors.DefaultSelector() as ready:
        ready.register(pipe, selectors.EVENT_READ)
        while True:
            if not ready.select(max(0.0, get_deadline() - now())) or now() > get_deadline():
                raise TimeoutError
            if not (some := os.read(pipe.fileno(), 1 << 16)):
                break
            *lines, held = (held + some).split(b"\n")
            yield from (line.decode(errors="replace").strip() for line in lines)
            held = held[-4096:]
    if held:
        yield held.decode(errors="replace").strip()


def show_program_progress(
    process: subprocess.Popen[bytes],
    show: Callable[[int, int, str], None],
    seconds: float,
    choose: Callable[[str, int], None],
) -> list[str]:
    """Show the progress of a program until it ends; return the last lines that it printed, except
    lines of progress. If the program prints which CPU it has chosen, call `choose` with the
    reason and the CPU. Raise TimeoutError if the program completes no benchmark for `seconds`."""
    assert process.stderr is not None
    said: deque[str] = deque(maxlen=KEPT_LINES)
    done, progressed = 0, [now()]
    for line in read_pipe_lines(process.stderr, lambda: progressed[-1] + seconds):
        if chosen := CHOICE.fullmatch(line):
            choose(chosen[1], int(chosen[2]))
            continue
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
    arguments: list[object],
    show: Callable[[int, int, str], None],
    more_env_lines: str = "",
    program: Path | None = None,
    hang_seconds: float = HANG_SECONDS,
    cpu: int | None = None,
    say: Callable[[str], None] = lambda _text: None,
) -> None:
    """Run kmbench, or `program`, which has the same command line, once with the arguments
    `arguments`. Write the samples to the folder `part`, unless the program fails. `more_env_lines`
    are appended to the env file in this folder. A program that completes no benchmark for
    `hang_seconds` is killed. `cpu` is the CPU on which kmbench should measure, None for any.
    Whenever kmbench chooses another CPU, `say` prints the CPU and the reason."""
    partial = part.with_name(f"{part.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    before = disturbance.read_disturbance_counters()
    on = () if cpu is None else ("--prefer", cpu)
    command = [str(word) for word in (program or KMBENCH, "run", *arguments, *on, "--out", partial)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            with exclude_measured_cpu(cpu) as exclude_cpu:

                def report_and_exclude_cpu(reason: str, chosen: int) -> None:
                    say(f"native: {reason}")
                    exclude_cpu(chosen)

                said = show_program_progress(process, show, hang_seconds, report_and_exclude_cpu)
        except TimeoutError:
            raise FailedError(
                f"{command[0]} hangs: it completed no benchmark in {hang_seconds:.0f} s"
            ) from None
        finally:
            process.kill()
    # Leave out lines about skipped parts, which do not explain a failure.
    why = "; ".join([line for line in said if " SKIP " not in line] or said)
    why = why or f"exit code {process.returncode}"
    if process.returncode == NOTHING_TO_MEASURE_CODE:
        raise UnableError(f"nothing can be measured in user space here: {why}")
    if process.returncode:
        raise FailedError(f"{command[0]} failed: {why}")
    if not (partial / "env").is_file():
        raise FailedError(
            f"{command[0]} left no samples: this program must accept the same command line as"
            " kmbench"
        )
    if disturbance.was_suspended(before, disturbance.read_disturbance_counters()):
        raise SuspendedError("the machine was suspended while kmbench measured")
    append_disturbances_to_env(partial / "env", before, more_env_lines)
    sync_and_rename_directory(partial, part)


def append_disturbances_to_env(
    env: Path, before: disturbance.CounterSnapshot, more_lines: str
) -> None:
    """Append the disturbances of a process that has ended, and the lines `more_lines`, to `env`,
    the env file of the process. `before` has the counters from before the process was started."""
    try:
        text = env.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        why = "not text in UTF-8: the program must write the same files as kmbench"
        raise FailedError(f"{env}: {why}") from None
    match = CPU.search(text)
    found = disturbance.compute_disturbances(
        before, disturbance.read_disturbance_counters(), int(match[1]) if match else NO_CPU
    )
    env.write_text(
        text + disturbance.format_counter_env_lines(found) + more_lines, encoding="utf-8"
    )


def find_measured_cpu(part: Path) -> int | None:
    """Return the CPU in the env file of the folder `part`, on which kmbench measured; None if the
    file names no CPU, or if the affinity of this process excludes that CPU."""
    try:
        match = CPU.search((part / "env").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None
    cpu = int(match[1]) if match else NO_CPU
    return cpu if cpu in os.sched_getaffinity(0) else None


def repeat_if_suspended(run: Callable[[], None], say: Callable[[str], None]) -> None:
    """Call `run`, and call it again while it raises SuspendedError, at most MAX_ATTEMPTS times in
    all. `say` prints a line."""
    for turn in range(1, MAX_ATTEMPTS + 1):
        try:
            return run()
        except SuspendedError as error:
            if turn == MAX_ATTEMPTS:
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
    on_cluster_end: Callable[[Path, int], None] | None = None,
    choose_benchmarks: ChooseBenchmarks | None = None,
    say: Callable[[str], None] = clusters.print_to_stderr,
    program: Path | None = None,
    planned: int | None = None,
) -> int:
    """Measure `blocks` blocks of each benchmark in `benchmarks`, or of every benchmark if this list
    is empty, in each of `processes` processes. Write the samples and the env file of each process
    to a folder in `raw`.

    The first process chooses the CPU. Because the cores of a machine may differ, each later process
    uses the CPU of the process before it, unless another CPU is idler. The n-th process has seed
    `seed` + n - 1. `program` replaces kmbench. The env file says that `planned` processes are
    planned, by default `processes`. measure_clusters() describes the other arguments. Return the
    number of completed processes. Raise FailedError if a process fails, UnableError if no benchmark
    can be measured on this machine.
    """
    more = clusters.make_cluster_env_lines(planned or processes, choose_benchmarks is not None)
    hangs = HANG_SECONDS + HANG_SECONDS_PER_BLOCK * blocks

    def measure_process(part: Path, number: int, chosen: Sequence[str], show_part: Show) -> None:
        words = ["--blocks", blocks, "--seed", seed + number - 1, *chosen]
        cpu = find_measured_cpu(clusters.get_cluster_folder(part.parent, number - 1))
        repeat_if_suspended(
            partial(run_kmbench, part, words, show_part, more, program, hangs, cpu, say), say
        )

    return measure_clusters(
        raw,
        measure_process,
        clusters=processes,
        benchmarks=benchmarks,
        budget=budget,
        show=show,
        on_cluster_end=on_cluster_end,
        choose_benchmarks=choose_benchmarks,
        say=say,
    )
