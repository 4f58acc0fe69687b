# SPDX-License-Identifier: GPL-2.0-only
"""The command macro, which times a program under several kernels that the user boots."""

from __future__ import annotations

import random
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from kmtools.analyse import boots
from kmtools.base.errors import UnableError
from kmtools.base.text import align_table
from kmtools.commands import Run
from kmtools.measure.macro import CommandTime, load_times, record_times

# How often the command is run in a boot, by default.
RUNS = 20


def add_macro_command(parser: ArgumentParser) -> Run:
    """With --label, COMMAND is timed several times in the booted kernel, and the times are added to
    FILE under that label. Then the labels in FILE are compared, each with the first. Boot each
    kernel several times, in random order: the last line printed names the kernel to boot next. To
    measure the cost of LOCK prefixes, boot a kernel before 7.3 on one CPU (maxcpus=1), with and
    without noreplace-smp."""
    parser.add_argument(
        "--times",
        type=Path,
        metavar="FILE",
        required=True,
        help="file with all times so far, to which --label adds times",
    )
    parser.add_argument("--label", help="label of the booted kernel in FILE, such as noreplace-smp")
    parser.add_argument(
        "--runs", type=int, default=RUNS, help=f"number of timed runs of COMMAND (default: {RUNS})"
    )
    parser.add_argument(
        "command", nargs="*", metavar="COMMAND", help="command to time and its arguments, after --"
    )
    return run_macro


def choose_next_label(times: Sequence[CommandTime]) -> str:
    """Return the label of the kernel to boot next: one of the labels with the fewest boots, chosen
    at random."""
    counts = {label: len(logs) for label, logs in boots.compute_boot_means(times).items()}
    fewest = min(counts.values())
    return random.choice([label for label, count in counts.items() if count == fewest])


def run_macro(args: Namespace) -> None:
    """If --label is given, time the command in this boot and store the times; then compare the
    times of all recorded boots."""
    if bool(args.label) != bool(args.command):
        raise UnableError("--label and COMMAND must both be given: --label NAME -- COMMAND...")
    if args.runs < 1:
        raise UnableError(f"--runs {args.runs}: at least one run is needed")
    if args.label:
        times = record_times(args.times, args.label, args.runs, args.command)
    else:
        times = load_times(args.times)
    if not times:
        raise UnableError(
            f"{args.times} has no times; --label NAME -- COMMAND... measures times and stores them"
        )
    print("\n".join(align_table(boots.make_ratio_table(times), range(1, 5))))
    if args.label:
        print(f"boot next: {choose_next_label(times)}, or a kernel that has no label yet")
