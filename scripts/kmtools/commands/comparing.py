# SPDX-License-Identifier: GPL-2.0-only
"""Commands that compare runs."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kmtools.analyse import words
from kmtools.base.errors import BAD, DONE, UnableError
from kmtools.base.files import write_whole
from kmtools.base.screen import page_text
from kmtools.commands import Run

if TYPE_CHECKING:
    from kmtools.report import comparison


def percent(text: str) -> float:
    """Parse a margin in percent, with or without the sign."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < 100:
        raise argparse.ArgumentTypeError(f"{text!r} is no percentage from 0 to 100")
    return value


def failures(text: str, known: Collection[str]) -> list[str]:
    """Parse the words of --fail-on; `known` are the valid ones."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in known:
            raise argparse.ArgumentTypeError(f"{word!r} is not one of {', '.join(known)}")
    return words


def add_limits(parser: ArgumentParser, failing: str, known: Collection[str]) -> None:
    """Add the options for the margin and for the verdicts that make the exit code 1; `failing` is
    the help text of the latter, and `known` are the valid names."""
    parser.add_argument(
        "--margin",
        type=percent,
        default=words.MARGIN,
        metavar="PERCENT",
        help=f"ignore changes smaller than this percentage (default {words.MARGIN:g})",
    )
    parser.add_argument(
        "--fail-on",
        type=partial(failures, known=known),
        action="extend",
        default=[],
        metavar="VERDICT,...",
        help=f"{failing}: {', '.join(known)}",
    )


def add_judging(parser: ArgumentParser) -> None:
    """Add the options that say how rows are judged and shown."""
    add_limits(parser, "exit with 1 if a row has one of these verdicts", words.FAILURES)
    parser.add_argument(
        "--whole",
        action="store_true",
        help="also compare baselines and switches; only meaningful on one machine",
    )
    parser.add_argument("--all", action="store_true", help="show all rows, not only changed ones")
    for name in ("markdown", "json", "junit", "html"):
        parser.add_argument(
            f"--{name}", type=Path, metavar="FILE", help="also write it to this file"
        )


def compare(parser: ArgumentParser) -> Run:
    """Each run is compared with the first, row by row: tier, benchmark and variant. The compared
    number is the cost of a variant as a share of its baseline, because machines and clocks differ;
    tiers are never compared. Documentation/comparing.md tells how a row is judged. The exit code is
    1 if a row has a verdict that --fail-on names, or if a run cannot be used.
    """
    parser.add_argument(
        "a", type=Path, metavar="RUN_A", help="baseline run, with which the others are compared"
    )
    parser.add_argument("b", type=Path, nargs="+", metavar="RUN_B", help="runs to compare")
    add_judging(parser)
    return run_compare


def run_compare(args: Namespace) -> int:
    """Compare runs, print the result and write the requested files; returns the exit code."""
    from kmtools.report import comparison

    runs = comparison.load_all([args.a, *args.b])
    found = comparison.compare(runs, args.margin, args.fail_on, args.whole)
    tell(args, found)
    return BAD if found.failed else DONE


def tell(args: Namespace, found: comparison.Comparison) -> None:
    """Print a comparison, and write the requested files."""
    from kmtools.report import changefiles, changepage, changetext

    makers: dict[str, Callable[[], str]] = {
        "markdown": lambda: changetext.markdown(found, args.all),
        "json": lambda: changefiles.as_json(found),
        "junit": lambda: changefiles.as_junit(found),
        "html": lambda: changepage.as_html(found),
    }
    for name, make in makers.items():
        path = getattr(args, name)
        if path is not None:
            write(path, make())
    page_text(changetext.terminal(found, args.all))


def write(path: Path, text: str) -> None:
    """Write a requested file in one step."""
    if not path.parent.is_dir():
        raise UnableError(f"{path}: there is no folder {path.parent}")
    write_whole(path, text)
