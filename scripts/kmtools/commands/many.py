# SPDX-License-Identifier: GPL-2.0-only
"""The commands fleet (runs of many machines) and history (runs of one machine over time)."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from kmtools.analyse import words
from kmtools.base.errors import BAD, DONE, UnableError
from kmtools.base.text import escape_unprintable_chars, get_terminal_width, wrap_line
from kmtools.commands import Run
from kmtools.commands.comparing import (
    add_comparison_options,
    add_verdict_options,
    print_and_write_comparison,
    write_requested_file,
)


def add_fleet_command(parser: ArgumentParser) -> Run:
    """Each folder below FOLDER that contains env.json is the run of one machine. The runs are
    grouped by CPU model, microcode and kernel, and each group is compared with the largest group,
    row by row, by the rules of `kmarkers compare`; each run counts as one cluster of samples.
    Machines without a run (dead), slow machines and machines with refused samples are listed and
    left out of the comparison; if there is such a machine, the exit code is 1. Runs in Parquet need
    the Python package duckdb, which scripts/setup --fleet installs."""
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="folder that is searched recursively for runs"
    )
    parser.add_argument(
        "--by",
        default=",".join(words.MACHINE_PROPERTIES),
        metavar="PROPERTY,...",
        help="properties that the machines of a group have in common (default: %(default)s)",
    )
    parser.add_argument(
        "--against",
        metavar="TEXT",
        help="name, or part of the name, of the group with which the others are compared "
        "(default: the largest group)",
    )
    parser.add_argument(
        "--machines",
        type=Path,
        metavar="FILE",
        help="file with the names of all expected machines, one per line; machines without a run "
        "are listed",
    )
    add_comparison_options(parser)
    return run_fleet_command


def read_machine_names(path: Path) -> list[str]:
    """Return the names of machines in a file, one per line. A machine is named like the folder
    with its run, and Python decodes names of folders with surrogate escapes for bytes that are not
    UTF-8. So the names in the file are decoded in the same way."""
    lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    return [line.strip() for line in lines if line.strip()]


def run_fleet_command(args: Namespace) -> int:
    """Compare the groups of runs in a folder; returns the exit code."""
    from kmtools.report import comparison, machines

    by = [word.strip() for word in args.by.split(",")]
    for word in by:
        if word not in words.MACHINE_PROPERTIES:
            raise UnableError(f"--by: {word!r} is not one of {', '.join(words.MACHINE_PROPERTIES)}")
    expected = read_machine_names(args.machines) if args.machines else []
    whole = machines.load_fleet(args.folder, by, expected)
    runs = machines.merge_runs_of_groups(whole, args.against)
    faults = list(map(escape_unprintable_chars, whole.faults))
    found = comparison.compare_runs(runs, args.margin, args.fail_on, args.whole, faults)
    said = [part for line in found.faults for part in wrap_line(line, get_terminal_width())]
    print("\n".join([*machines.format_group_table(whole), *said, ""]))
    if len(runs) < 2:
        print("all runs are in one group: there is no group to compare with")
    print_and_write_comparison(args, found)
    return BAD if found.failure_count or found.faults else DONE


def add_history_command(parser: ArgumentParser) -> Run:
    """For each variant that all runs below FOLDER have, its cost in these runs, ordered by date, is
    a time series. The cost is a share of the baseline's cost. A shift is a lasting change of a
    series. This command needs the Python packages ruptures and scipy, which scripts/setup --fleet
    installs."""
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="folder that is searched recursively for runs"
    )
    add_verdict_options(
        parser, "exit with 1 if a row has one of these shifts", words.FAIL_ON_SHIFTS
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write the time series to this file, as JSON"
    )
    return run_history_command


def run_history_command(args: Namespace) -> int:
    """Print the shifts in the runs of a folder; returns the exit code."""
    from kmtools.report import history as histories

    found = histories.load_history(args.folder, args.margin)
    if args.json:
        write_requested_file(args.json, histories.render_history_json(found))
    print(histories.render_history_text(found))
    failing = {verdict for word in args.fail_on for verdict in words.FAIL_ON_VERDICTS[word]}
    failed = any(shift.verdict in failing for shift in found.shifts)
    return BAD if failed or found.refused else DONE
