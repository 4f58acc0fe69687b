# SPDX-License-Identifier: GPL-2.0-only
"""Commands that keep results."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from kmtools.analyse.summary import read_summary
from kmtools.base.errors import FailedError
from kmtools.commands import Run
from kmtools.report.impact import lines
from kmtools.report.reference import REFERENCE, make


def impact(parser: ArgumentParser) -> Run:
    """It needs a run of a tier with real caches."""
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="in results/local")

    def run(args: Namespace) -> None:
        text = "\n".join(lines(read_summary(args.run)["results"]))
        if not text:
            raise FailedError("no tier with real caches has these benchmarks")
        print(text)

    return run


def reference(parser: ArgumentParser) -> Run:
    """A run is refused if it was quick or lacks a tier, or if its env.json holds a path or the name
    of the machine.
    """
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="in results/local")
    parser.add_argument(
        "--out", type=Path, default=REFERENCE, metavar="DIR", help="instead of results/reference"
    )
    return lambda args: make(args.run, args.out)
