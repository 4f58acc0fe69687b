# SPDX-License-Identifier: GPL-2.0-only
"""The command compare, and options that it shares with the commands fleet and history."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kmtools.analyse import words
from kmtools.base.errors import BAD, DONE, UnableError
from kmtools.base.files import write_file_atomically
from kmtools.base.screen import show_text_in_pager
from kmtools.commands import Run

if TYPE_CHECKING:
    from kmtools.report import comparison


def parse_percent(text: str) -> float:
    """Parse a margin in percent, with or without a percent sign."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < 100:
        raise argparse.ArgumentTypeError(f"{text!r} is no percentage from 0 to 100")
    return value


def parse_verdicts(text: str, known: Collection[str]) -> list[str]:
    """Parse the verdicts of --fail-on, separated by commas; `known` are the valid verdicts."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in known:
            raise argparse.ArgumentTypeError(f"{word!r} is not one of {', '.join(known)}")
    return words


def describe_verdict_words(known: Collection[str]) -> str:
    """Return the words `known`, which --fail-on accepts, as text. A word that stands for several
    verdicts is followed by the verdicts in `known` for which it stands: "changed (slower,
    faster)"."""
    described = []
    for word in known:
        others = [one for one in words.FAIL_ON_VERDICTS[word] if one in known and one != word]
        described.append(f"{word} ({', '.join(others)})" if others else word)
    return ", ".join(described)


def add_verdict_options(parser: ArgumentParser, fail_on_help: str, known: Collection[str]) -> None:
    """Add the options --margin and --fail-on. `known` are the words that --fail-on accepts;
    `fail_on_help` is the start of the help text of --fail-on, and these words are its end."""
    parser.add_argument(
        "--margin",
        type=parse_percent,
        default=words.MARGIN,
        metavar="PERCENT",
        help=f"ignore changes of a cost by less than this percentage (default: {words.MARGIN:g})",
    )
    parser.add_argument(
        "--fail-on",
        type=partial(parse_verdicts, known=known),
        action="extend",
        default=[],
        metavar="VERDICT,...",
        help=f"{fail_on_help}: {describe_verdict_words(known)}",
    )


def add_comparison_options(parser: ArgumentParser) -> None:
    """Add the options that set the rule for verdicts on rows, the rows to print, and the files to
    write."""
    add_verdict_options(
        parser, "exit with 1 if a row has one of these verdicts", words.FAIL_ON_VERDICTS
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        help="also compare the times of baselines and of switching sites on and off, which is "
        "meaningful only for runs of one machine",
    )
    parser.add_argument("--all", action="store_true", help="print all rows, not only changed ones")
    formats = {"markdown": "Markdown", "json": "JSON", "junit": "JUnit XML", "html": "an HTML page"}
    for name, file_format in formats.items():
        parser.add_argument(
            f"--{name}",
            type=Path,
            metavar="FILE",
            help=f"also write the comparison to this file, as {file_format}",
        )


def add_compare_command(parser: ArgumentParser) -> Run:
    """Each run is compared with the first, row by row; a row is a variant of a benchmark in a tier.
    The number compared is the cost of a variant divided by the cost of its baseline, because
    machines and clocks differ. Tiers are never compared with each other. Documentation/comparing.md
    describes how rows are judged. The exit code is 1 if a row has a verdict that --fail-on names,
    or if a run cannot be used."""
    parser.add_argument(
        "a", type=Path, metavar="RUN_A", help="baseline run, with which the others are compared"
    )
    parser.add_argument(
        "b", type=Path, nargs="+", metavar="RUN_B", help="runs to compare with RUN_A"
    )
    add_comparison_options(parser)
    return run_compare_command


def run_compare_command(args: Namespace) -> int:
    """Compare runs, print the result and write the requested files; returns the exit code."""
    from kmtools.report import comparison

    runs = comparison.load_compared_runs([args.a, *args.b])
    compared = comparison.compare_runs(runs, args.margin, args.fail_on, args.whole)
    print_and_write_comparison(args, compared)
    return BAD if compared.failure_count else DONE


def print_and_write_comparison(args: Namespace, compared: comparison.Comparison) -> None:
    """Print the comparison `compared`, and write the requested files."""
    from kmtools.report import changefiles, changepage, changetext

    makers: dict[str, Callable[[], str]] = {
        "markdown": lambda: changetext.render_comparison_markdown(compared, args.all),
        "json": lambda: changefiles.render_comparison_json(compared),
        "junit": lambda: changefiles.render_comparison_junit(compared),
        "html": lambda: changepage.render_comparison_page(compared),
    }
    for name, make in makers.items():
        path = getattr(args, name)
        if path is not None:
            write_requested_file(path, make())
    show_text_in_pager(changetext.render_comparison_for_terminal(compared, args.all))


def require_folder_of_file(path: Path) -> None:
    """Raise UnableError if the folder of a file that the user requested does not exist."""
    if not path.parent.is_dir():
        raise UnableError(f"{path}: there is no folder {path.parent}")


def write_requested_file(path: Path, content: str | bytes) -> None:
    """Write a file that the user requested. Raise UnableError if the folder of the file does not
    exist."""
    require_folder_of_file(path)
    write_file_atomically(path, content)
