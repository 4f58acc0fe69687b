# SPDX-License-Identifier: GPL-2.0-only
"""Judges the times of a command in two states of one boot, "on" and "off".

The logarithm of the ratio of the two times in a round is a paired difference. location.py estimates
the location of these differences, with boots as processes, and verdicts.py chooses the verdict. The
verdict depends on the margin alone, because there is no A/A clone that measures the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kmtools.analyse import location
from kmtools.analyse.stats import UNBOUNDED, Interval
from kmtools.analyse.verdicts import WHOLE_OPERATION_SHARE, decide_verdict
from kmtools.base.text import shorten_middle
from kmtools.measure.macro import OFF, ON, CommandTime

# The equivalence margin, in percent of the time in the state "off".
MARGIN = 100 * WHOLE_OPERATION_SHARE
# The fewest rounds in one boot for an interval.
FEWEST_ROUNDS = location.FEWEST_BATCHES * location.FEWEST_BLOCKS
# The note on an interval that is wide because it also covers the differences between a few boots.
FEW_BOOTS = "few boots"
# The length to which labels are shortened in a table, in characters.
LONGEST_LABEL = 40


@dataclass(frozen=True)
class AddedTime:
    """The time that the state "on" adds to a command under one kernel. `off` and `on` are the
    geometric means of the times in seconds. `percent` is the added time in percent of the time in
    the state "off", and `interval` is the 95 % interval of `percent`."""

    label: str
    kernel: str
    rounds: int
    off: float
    on: float
    percent: float
    interval: Interval
    verdict: str
    note: str


def convert_log_ratio_to_percent(log: float) -> float:
    """Return the percentage that the logarithm of a ratio adds."""
    return 100 * math.expm1(log)


def estimate_time_added_by_on_state(times: Sequence[CommandTime]) -> AddedTime:
    """Return the time that the state "on" adds to a command. `times` has all rounds with one label
    under one kernel."""
    boots = list(dict.fromkeys(one.boot for one in times))
    logs: dict[str, dict[tuple[int, int], float]] = {OFF: {}, ON: {}}
    for one in times:
        logs[one.state][boots.index(one.boot), one.round] = math.log(one.seconds)
    rounds = sorted(logs[OFF])
    off, on = (np.array([logs[state][key] for key in rounds]) for state in (OFF, ON))
    boot = np.array([key[0] for key in rounds])
    found = location.estimate_location(on - off, boot, np.zeros_like(boot))
    interval = UNBOUNDED
    notes = [FEW_BOOTS if note == location.FEW_PROCESSES else note for note in found.notes]
    if found.interval == UNBOUNDED:
        notes.append(f"{FEWEST_ROUNDS} rounds in one boot are needed")
    else:
        interval = Interval(
            *map(convert_log_ratio_to_percent, (found.interval.lo, found.interval.hi))
        )
    percent = convert_log_ratio_to_percent(found.value)
    return AddedTime(
        times[0].label,
        times[0].kernel,
        len(rounds),
        math.exp(off.mean()),
        math.exp(on.mean()),
        percent,
        interval,
        decide_verdict(percent, interval, MARGIN, None),
        "; ".join(notes),
    )


def make_added_time_table(times: Sequence[CommandTime]) -> list[list[str]]:
    """Return a table of the added times, as rows of cells: a row for each label and kernel that has
    rounds in `times`."""
    groups: dict[tuple[str, str], list[CommandTime]] = {}
    for one in times:
        if one.round:
            groups.setdefault((one.label, one.kernel), []).append(one)
    lines = [
        [
            "command",
            "kernel",
            "rounds",
            "off s",
            "on s",
            "added",
            "95 % interval",
            "verdict",
            "note",
        ]
    ]
    for own in groups.values():
        row = estimate_time_added_by_on_state(own)
        span = "-"
        if row.interval != UNBOUNDED:
            span = f"[{row.interval.lo:+.2f}, {row.interval.hi:+.2f}] %"
        numbers = [str(row.rounds), f"{row.off:.4f}", f"{row.on:.4f}", f"{row.percent:+.2f} %"]
        name = shorten_middle(row.label, LONGEST_LABEL)
        lines.append([name, row.kernel, *numbers, span, row.verdict, row.note])
    return lines
