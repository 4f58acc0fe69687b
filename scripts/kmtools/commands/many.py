# SPDX-License-Identifier: GPL-2.0-only
"""Commands for the runs of many machines, which need packages of scripts/setup --fleet."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from kmtools.analyse import words
from kmtools.base.errors import BAD, DONE, UnableError
from kmtools.base.text import printable, terminal_width, wrapped
from kmtools.commands import Run
from kmtools.commands.comparing import add_judging, add_limits, tell, write


def fleet(parser: ArgumentParser) -> Run:
    """Each folder below FOLDER that holds env.json is a run, of one machine. The runs are grouped
    by CPU model, microcode and kernel, and each group is compared with the largest, row by row, as
    kmarkers compare does; a run is one cluster. Machines that are dead, slow or whose samples are
    refused are named, left out, and make the exit code 1. Runs in Parquet need the Python package
    duckdb (scripts/setup --fleet).
    """
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="folder that is searched recursively for runs"
    )
    parser.add_argument(
        "--by",
        default=",".join(words.PROPERTIES),
        help="properties that form a group (default %(default)s)",
    )
    parser.add_argument(
        "--against", metavar="TEXT", help="name, or part of it, of the group to compare with"
    )
    parser.add_argument(
        "--machines",
        type=Path,
        metavar="FILE",
        help="file with the names of all expected machines, one per line",
    )
    add_judging(parser)
    return run_fleet


def names(path: Path) -> list[str]:
    """Return the names in a file, one per line; bytes that are not UTF-8 are kept as in file
    names."""
    lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    return [line.strip() for line in lines if line.strip()]


def run_fleet(args: Namespace) -> int:
    """Compare the groups of a folder; returns the exit code."""
    from kmtools.report import comparison, machines

    by = [word.strip() for word in args.by.split(",")]
    for word in by:
        if word not in words.PROPERTIES:
            raise UnableError(f"--by: {word!r} is not one of {', '.join(words.PROPERTIES)}")
    expected = names(args.machines) if args.machines else []
    whole = machines.load(args.folder, by, expected)
    runs = machines.sides(whole, args.against)
    faults = list(map(printable, whole.faults))
    found = comparison.compare(runs, args.margin, args.fail_on, args.whole, faults)
    said = [part for line in found.faults for part in wrapped(line, terminal_width())]
    print("\n".join([*machines.table(whole), *said, ""]))
    if len(runs) < 2:
        print("one group: nothing to compare")
    tell(args, found)
    return BAD if found.failed or found.faults else DONE


def history(parser: ArgumentParser) -> Run:
    """The runs below FOLDER, in the order of their dates, make a series for each row that all of
    them have: the cost of the variant as a share of its baseline. A shift is a change of a series
    that stays. It needs the Python packages ruptures and scipy (scripts/setup --fleet).
    """
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="folder that is searched recursively for runs"
    )
    add_limits(parser, "exit with 1 if a row has one of these shifts", words.SHIFTS)
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write all series to this file"
    )
    return run_history


def run_history(args: Namespace) -> int:
    """Show the shifts of a folder's runs; returns the exit code."""
    from kmtools.report import history as histories

    found = histories.load(args.folder, args.margin)
    if args.json:
        write(args.json, histories.as_json(found))
    print(histories.terminal(found))
    failing = {verdict for word in args.fail_on for verdict in words.FAILURES[word]}
    failed = any(shift.verdict in failing for shift in found.shifts)
    return BAD if failed or found.refused else DONE
