# SPDX-License-Identifier: GPL-2.0-only
"""The command macro, which times a program under several kernels that the user boots, or in two
states of one boot."""

from __future__ import annotations

import random
import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from kmtools.analyse import boots
from kmtools.base.errors import UnableError, parse_positive_int
from kmtools.base.text import align_table
from kmtools.commands import Run
from kmtools.measure import rounds
from kmtools.measure.macro import OFF, ON, CommandTime, load_command_times, record_times
from kmtools.report import report as reporting

# How often the command is run in a boot, and the number of rounds of --on and --off, by default.
RUNS, ROUNDS = 20, 40


def add_macro_command(parser: ArgumentParser) -> Run:
    """With --label, COMMAND is timed several times in the booted kernel, and the times are added to
    FILE under that label. Then the labels in FILE are compared, each with the first. Boot each
    kernel several times, in random order: the last line printed names the kernel to boot next. To
    measure the cost of LOCK prefixes, boot a kernel before 7.3 on one CPU (maxcpus=1), with and
    without noreplace-smp.

    With --on and --off, COMMAND is timed in rounds within this boot: in each round once after the
    shell command of --on and once after the shell command of --off, in random order. The time that
    "on" adds is printed with its 95 % interval and a verdict. The shell command of --off always
    runs last, also after an error or Ctrl-C."""
    parser.add_argument(
        "--times",
        type=Path,
        metavar="FILE",
        required=True,
        help="file with all times so far, to which new times are added",
    )
    parser.add_argument(
        "--label",
        help="label for the times in FILE, such as noreplace-smp for a kernel that was booted with "
        "this parameter (default with --on and --off: COMMAND)",
    )
    parser.add_argument("--on", metavar="CMD", help="shell command that switches sites on")
    parser.add_argument("--off", metavar="CMD", help="shell command that switches sites off")
    parser.add_argument(
        "--runs",
        type=parse_positive_int,
        help=f"number of timed runs of COMMAND (default: {RUNS}); with --on and --off, number of "
        f"rounds (default: {ROUNDS})",
    )
    parser.add_argument(
        "command", nargs="*", metavar="COMMAND", help="command to time and its arguments, after --"
    )
    return run_macro_command


def choose_next_label(times: Sequence[CommandTime]) -> str:
    """Return the label of the kernel to boot next: one of the labels with the fewest boots, chosen
    at random."""
    counts = {label: len(logs) for label, logs in boots.compute_boot_log_means(times).items()}
    fewest = min(counts.values())
    return random.choice([label for label, count in counts.items() if count == fewest])


def require_valid_macro_arguments(args: Namespace) -> None:
    """Raise UnableError if an argument is invalid, or if another argument that it requires is
    missing."""
    if bool(args.on) != bool(args.off) or (args.on and not args.command):
        raise UnableError(
            "--on, --off and COMMAND must be given together: --on CMD --off CMD -- COMMAND..."
        )
    if not args.on and bool(args.label) != bool(args.command):
        raise UnableError(
            "--label and COMMAND must both be given: --label NAME -- COMMAND...; or, for two "
            "states of one boot, --on CMD --off CMD -- COMMAND..."
        )


def require_numpy_for_comparison(args: Namespace) -> None:
    """Raise ModuleNotFoundError if numpy is missing, COMMAND is given, and the comparison after all
    runs needs numpy."""
    if not args.command or reporting.has_python_package("numpy"):
        return
    if args.on or any(one.round for one in load_command_times(args.times)):
        raise ModuleNotFoundError(name="numpy")


def print_time_comparisons(times: Sequence[CommandTime]) -> None:
    """Print how the kernels in `times` compare, and what the state "on" adds to each command."""
    if kernels := [one for one in times if not one.round]:
        print("\n".join(align_table(boots.make_kernel_time_table(kernels), range(1, 5))))
    if len(kernels) < len(times):
        # rounds.py needs numpy: import this module only for times of --on and --off.
        from kmtools.analyse.rounds import MARGIN, make_added_time_table

        print("\n".join(align_table(make_added_time_table(times), range(2, 6))))
        print(f"margin: {MARGIN:g} % of the time that COMMAND takes in the state off")


def run_macro_command(args: Namespace) -> None:
    """Time COMMAND in this boot, if it is given, and store the times. Then compare all times in the
    file."""
    require_valid_macro_arguments(args)
    # Report a missing package before the first run, because all runs may take hours.
    require_numpy_for_comparison(args)
    if args.on:
        times = rounds.record_rounds(
            args.times,
            args.label or shlex.join(args.command),
            args.runs or ROUNDS,
            args.command,
            {ON: args.on, OFF: args.off},
        )
    elif args.label:
        times = record_times(args.times, args.label, args.runs or RUNS, args.command)
    else:
        times = load_command_times(args.times)
    if not times:
        raise UnableError(
            f"{args.times} has no times; --label NAME -- COMMAND... measures times and stores them"
        )
    print_time_comparisons(times)
    if args.label and not args.on:
        kernels = [one for one in times if not one.round]
        print(
            f"kernel to boot next: {choose_next_label(kernels)}, or a kernel that has no label yet"
        )
