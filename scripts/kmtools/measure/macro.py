# SPDX-License-Identifier: GPL-2.0-only
"""Measures the run time of a command under several kernels that the user builds and boots.

A benchmark module cannot measure the cost of a change to the whole kernel, such as nops at all
function entries or changed LOCK prefixes. Each kernel is booted several times. In each boot the
command is timed several times, and the times are added to one file. In the analysis, each boot is a
cluster, because times in one boot are not independent.

rounds.py measures a command in two states of one boot, and stores its times in a file of the same
format.
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
# The columns of a file of times. Older files have only the first four.
COLUMNS = ["label", "boot", "kernel", "seconds", "round", "state", "switch", "command"]
OLD_COLUMNS = COLUMNS[:4]
# The two states of a boot, in which rounds.py measures.
OFF, ON = "off", "on"


@dataclass(frozen=True)
class CommandTime:
    """The time of one run of a command in seconds, and the label, the boot ID and the release of
    the kernel. A time from rounds.py also has the number of the round in the boot (from 1), the
    state (OFF or ON), the shell command that switched to this state, and the measured command;
    `label` then names the measurement."""

    label: str
    boot: str
    kernel: str
    seconds: float
    round: int = 0
    state: str = ""
    switch: str = ""
    command: str = ""


def parse_command_time_line(cells: Sequence[str]) -> CommandTime:
    """Parse a line of a file of times; raise ValueError if a cell is invalid."""
    label, boot, kernel, seconds, *paired = cells
    if len(paired) not in (0, len(COLUMNS) - len(OLD_COLUMNS)):
        raise ValueError
    if not any(paired):
        return CommandTime(label, boot, kernel, float(seconds))
    number, state, switch, command = paired
    if int(number) < 1 or state not in (OFF, ON):
        raise ValueError
    return CommandTime(label, boot, kernel, float(seconds), int(number), state, switch, command)


def load_command_times(path: Path) -> list[CommandTime]:
    """Return the times in a file; none if there is no such file."""
    if not path.exists():
        return []
    text = path.read_bytes().decode(errors="surrogateescape")
    lines = list(csv.reader(StringIO(text, newline="")))
    if not lines or lines[0] not in (COLUMNS, OLD_COLUMNS):
        raise FailedError(f"{path}:1: not a file of times: the columns are not {','.join(COLUMNS)}")
    times = []
    for number, line in enumerate(lines[1:], 2):
        try:
            times.append(parse_command_time_line(line))
        except ValueError as error:
            raise FailedError(
                f"{path}:{number}: invalid value for the columns {','.join(lines[0])}"
            ) from error
        if not times[-1].seconds > 0:
            raise FailedError(f"{path}:{number}: seconds is not above 0")
    states: dict[tuple[str, str, int], list[str]] = {}
    for one in times:
        if one.round:
            states.setdefault((one.label, one.boot, one.round), []).append(one.state)
    for (label, _, number), found in states.items():
        if sorted(found) != [OFF, ON]:
            raise FailedError(
                f"{path}: round {number} of {label} must have one time in each state, on and off"
            )
    return times


def write_command_times(path: Path, times: Sequence[CommandTime]) -> None:
    """Write all times to a file."""
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows(
        [one.label, one.boot, one.kernel, f"{one.seconds:.6f}"]
        + ([str(one.round), one.state, one.switch, one.command] if one.round else [""] * 4)
        for one in times
    )
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
            f"{' '.join(command)}: exit code {done.returncode}; its time is not recorded. "
            "Run the command by hand to see why"
        )
    return perf_counter() - start


def read_boot_id() -> str:
    """Return the boot ID of the running kernel."""
    return BOOT_ID.read_text(encoding="ascii").strip()


def record_times(path: Path, label: str, runs: int, command: Sequence[str]) -> list[CommandTime]:
    """Time the command `runs` times in this boot, and add the times to the file `path`. The
    command is first run once without being timed, to fill the caches. Return all times in the
    file."""
    times, boot = load_command_times(path), read_boot_id()
    others = (one.label for one in times if one.boot == boot and not one.round)
    if other := next((other for other in others if other != label), ""):
        raise UnableError(
            f"this boot has times with the label {other}; reboot before you measure {label}"
        )
    time_command(command)
    kernel = os.uname().release
    times += [CommandTime(label, boot, kernel, time_command(command)) for _ in range(runs)]
    write_command_times(path, times)
    return times
