# SPDX-License-Identifier: GPL-2.0-only
"""Measures the run time of a command in two states of one boot, "on" and "off".

The user gives a shell command that switches to each state, such as one that enables a marker. In
each round the command is timed once in either state, so that both times of a round have the same
boot, and nearly the same temperature and load.
"""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from kmtools.base.errors import FailedError, UnableError
from kmtools.base.progress import Progress
from kmtools.measure.macro import (
    OFF,
    ON,
    CommandTime,
    load_command_times,
    read_boot_id,
    time_command,
    write_command_times,
)


def run_switch_command(state: str, command: str) -> None:
    """Run the shell command `command`, which switches to the state `state` (OFF or ON)."""
    done = subprocess.run(
        ["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        raise FailedError(
            f"--{state} {shlex.quote(command)}: exit code {done.returncode}. Make it succeed by "
            "hand first: files of kmarkers need root and loaded modules, see scripts/host load"
        )


@contextmanager
def switch_off_at_end(command: str) -> Iterator[None]:
    """At the end of the `with` block, run the shell command that switches off, also after an error
    or a signal. A further signal does not stop this command."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        try:
            run_switch_command(OFF, command)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def choose_orders_of_states(rounds: int) -> list[tuple[str, str]]:
    """Return the order of the two states in each round. In each pair of rounds, one round begins
    with OFF and one with ON, in random order, so that an extra cost of the first state cancels."""
    orders: list[tuple[str, str]] = []
    while len(orders) < rounds:
        orders += random.sample([(OFF, ON), (ON, OFF)], 2)
    return orders[:rounds]


def find_last_round_number(
    path: Path, times: Sequence[CommandTime], new: CommandTime, switches: Mapping[str, str]
) -> int:
    """Return the number of the last round in the file `path` that has the label and the boot of
    `new`; 0 if there is no such round. Raise UnableError if a round with this label measured
    another command, or used other commands to switch."""
    label, boot = new.label, new.boot
    own = [one for one in times if one.round and one.label == label]
    if other := next((one for one in own if one.switch != switches[one.state]), None):
        raise UnableError(
            f"label {label} was recorded in {path} with --{other.state} "
            f"{shlex.quote(other.switch)}; "
            "name the new measurement with --label, or give another file"
        )
    if other := next((one for one in own if one.command != new.command), None):
        raise UnableError(
            f"label {label} was recorded in {path} for {other.command}; name the new measurement "
            "with --label, or give another file"
        )
    return max((one.round for one in own if one.boot == boot), default=0)


def record_rounds(
    path: Path, label: str, rounds: int, command: Sequence[str], switches: Mapping[str, str]
) -> list[CommandTime]:
    """Time the command in `rounds` rounds, and add the times of complete rounds to the file `path`,
    also after an error or a signal. `switches` has the shell command that switches to each state.
    The command is first run once in each state without being timed, to fill the caches. Return all
    times in the file."""
    times, boot, kernel = load_command_times(path), read_boot_id(), os.uname().release
    new = CommandTime(label, boot, kernel, 0.0, command=shlex.join(command))
    last = find_last_round_number(path, times, new, switches)
    added: list[CommandTime] = []

    def time_command_in_state(number: int, state: str) -> CommandTime:
        run_switch_command(state, switches[state])
        seconds = time_command(command)
        return replace(new, seconds=seconds, round=number, state=state, switch=switches[state])

    progress = Progress(1, sys.stderr)
    progress.begin_step(f"{rounds} rounds of {shlex.join(command)}")
    try:
        with switch_off_at_end(switches[OFF]):
            for state in (OFF, ON):
                time_command_in_state(0, state)
            for done, order in enumerate(choose_orders_of_states(rounds)):
                progress.show_completed_share(done, rounds, f"round {done + 1} of {rounds}")
                added += [time_command_in_state(last + done + 1, state) for state in order]
    finally:
        if added:
            write_command_times(path, [*times, *added])
        # Ignore errors, because writing to the terminal fails after a hangup.
        with contextlib.suppress(OSError):
            progress.erase_temporary_line()
            if len(added) < 2 * rounds:
                print(f"{len(added) // 2} complete rounds were added to {path}", file=sys.stderr)
    return [*times, *added]
