# SPDX-License-Identifier: GPL-2.0-only
"""The command that writes documents from results."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from importlib import import_module
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.commands import Run

# The function that writes each document, from results that tests keep.
WRITERS = {
    "kernels": "kmtools.suites.kernelpage:publish",
    "processors": "kmtools.suites.processors:publish",
    "results": "kmtools.runner.least:publish",
    "times": "kmtools.suites.fresh:keep_times",
}


def publish(parser: ArgumentParser) -> Run:
    """kernels and processors are the tables of Documentation/kernels.md, with the results that
    `check matrix`, `check debug` and `check processors` kept; times is the table of times of
    CONTRIBUTING.md, with those of `check fresh`; results is tests/results.csv, how many results
    each test has at least, with those of `make check-full`. reference makes a run the one in
    results/reference; it is refused if it was quick or lacks a tier, or if its env.json holds a
    path or the name of the machine.
    """
    names = (*WRITERS, "reference")
    parser.add_argument("document", choices=names, metavar="DOCUMENT", help=", ".join(names))
    parser.add_argument(
        "run", type=Path, nargs="?", metavar="RUN_DIR", help="name of the reference run"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="output folder (results/reference)")

    def run(args: Namespace) -> None:
        if args.document == "reference":
            if args.run is None:
                raise UnableError("reference needs the folder of a run, in results/local")
            reference = import_module("kmtools.report.reference")
            reference.make(args.run, args.out or reference.REFERENCE)
            return
        if args.run or args.out:
            raise UnableError(f"{args.document} takes no folder")
        module, _, function = WRITERS[args.document].partition(":")
        getattr(import_module(module), function)()

    return run
