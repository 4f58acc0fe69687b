# SPDX-License-Identifier: GPL-2.0-only
"""The command publish, which writes documents from the results of tests and runs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from importlib import import_module
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.commands import Run

# The documents, each with the function that writes the document (MODULE:FUNCTION).
WRITERS = {
    "html": "kmtools.report.handbook:make_handbook",
    "kernels": "kmtools.suites.kernelpage:publish_kernel_results",
    "processors": "kmtools.suites.processors:publish_processor_results",
    "results": "kmtools.runner.least:publish_minimum_result_counts",
    "times": "kmtools.suites.fresh:publish_times_in_contributing_md",
}


def add_publish_command(parser: ArgumentParser) -> Run:
    """`html` writes the handbook to build/html. `kernels` and `processors` write the tables of
    Documentation/kernels.md from the results of `check matrix`, `check debug` and `check
    processors`. `times` writes the table of times in CONTRIBUTING.md from the results of
    `check fresh`. `results` writes tests/results.csv from the logs of `make check-full`: the
    minimum number of results of each test. `reference` copies a run to results/reference; a run
    is refused if it was measured with --quick, lacks a tier or was ended early by its time limit,
    if its samples are too large to commit, or if its env.json contains a path or the name of the
    machine. The output folder is refused if it has files other than those of a reference run."""
    names = (*WRITERS, "reference")
    parser.add_argument(
        "document", choices=names, metavar="DOCUMENT", help=f"document to write: {', '.join(names)}"
    )
    parser.add_argument(
        "run",
        type=Path,
        nargs="?",
        metavar="RUN_DIR",
        help="folder of the run to copy (only with 'reference')",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="output folder (only with 'reference'; default: results/reference)",
    )

    def run_publish_command(args: Namespace) -> None:
        if args.document == "reference":
            if args.run is None:
                raise UnableError("reference needs RUN_DIR, the folder of a run in results/local")
            reference = import_module("kmtools.report.reference")
            reference.write_reference_run(args.run, args.out or reference.REFERENCE)
            return
        if args.run or args.out:
            raise UnableError(f"{args.document} accepts neither RUN_DIR nor --out")
        module, _, function = WRITERS[args.document].partition(":")
        getattr(import_module(module), function)()

    return run_publish_command
