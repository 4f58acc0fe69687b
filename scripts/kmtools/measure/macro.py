# SPDX-License-Identifier: GPL-2.0-only
"""Measures the run time of a command under several kernels that the user builds and boots.

A benchmark module cannot measure the cost of a change to the whole kernel, such as nops at all
function entries or changed LOCK prefixes. Each kernel is booted several times. In each boot the
command is timed several times, and the times are added to one file. In the analysis, each boot is a
cluster, because times in one boot are not independent.
"""

from __future__ import annotations

import csv
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from time import perf_counter

from kmtools.base.errors import FailedError, UnableError
from kmtools.base.files import write_file_atomically

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
COLUMNS = ["label", "boot", "kernel", "seconds"]


@dataclass(frozen=True)
class CommandTime:
    """The time of one run of the command: the label and the boot ID of the booted kernel, its
    release, and the time in seconds."""

    label: str
    boot: str
    kernel: str
    seconds: float


def load_times(path: Path) -> list[CommandTime]:
    """Return the times in a file; none if there is no such file."""
    if not path.exists():
        return []
    lines = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    if not lines or lines[0] != COLUMNS:
        raise FailedError(f"{path}:1: not a file of times")
    times = []
    for number, line in enumerate(lines[1:], 2):
        try:
            label, boot, kernel, seconds = line
            times.append(CommandTime(label, boot, kernel, float(seconds)))
        except ValueError as error:
            raise FailedError(f"{path}:{number}: not {','.join(COLUMNS)}") from error
        if not times[-1].seconds > 0:
            raise FailedError(f"{path}:{number}: a time is not above 0")
    return times


def write_times(path: Path, times: Sequence[CommandTime]) -> None:
    """Write all times to a file."""
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows([one.label, one.boot, one.kernel, f"{one.seconds:.6f}"] for one in times)
    write_file_atomically(path, text.getvalue())


def time_command(command: Sequence[str]) -> float:
    """Run the command, and return the seconds that it took."""
    start = perf_counter()
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False
        )
    except OSError as error:
        raise UnableError(f"{command[0]}: {error.strerror}") from error
    if done.returncode:
        raise FailedError(
            f"{' '.join(command)}: exit code {done.returncode}; its time is not recorded"
        )
    return perf_counter() - start


def record_times(path: Path, label: str, runs: int, command: Sequence[str]) -> list[CommandTime]:
    """Time the command `runs` times in this boot, and add the times to the file `path`. The
    command is first run once without being timed, to fill the caches. Return all times in the
    file."""
    times, boot = load_times(path), BOOT_ID.read_text(encoding="ascii").strip()
    if other := next((one.label for one in times if one.boot == boot and one.label != label), ""):
        raise UnableError(f"this boot was recorded as {other}; {label} needs a boot of its own")
    time_command(command)
    kernel = os.uname().release
    times += [CommandTime(label, boot, kernel, time_command(command)) for _ in range(runs)]
    write_times(path, times)
    return times
