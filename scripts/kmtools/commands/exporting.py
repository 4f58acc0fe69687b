# SPDX-License-Identifier: GPL-2.0-only
"""The command that writes a run in the formats of other programs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.commands import Run
from kmtools.commands.comparing import write


def export(parser: ArgumentParser) -> Run:
    """The run is checked line by line first. --parquet needs the Python package duckdb
    (scripts/setup --fleet).
    """
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="folder of the run")
    parser.add_argument(
        "--parquet", type=Path, metavar="FILE", help="write every sample to this file"
    )
    parser.add_argument(
        "--openmetrics", type=Path, metavar="FILE", help="write the median of each row"
    )
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="write switches as a trace for Perfetto and chrome://tracing",
    )
    return run_export


def run_export(args: Namespace) -> None:
    """Write the requested files."""
    if not (args.parquet or args.openmetrics or args.trace):
        raise UnableError("which format? --parquet, --openmetrics or --trace")
    from kmtools.analyse import estimates
    from kmtools.measure.rundir import read_env, tiers_of
    from kmtools.measure.samples import LOOP, read_samples
    from kmtools.report import exports

    path = estimates.samples_of(args.run)
    tiers = tiers_of(read_env(args.run / "env.json"))
    samples = read_samples(path, tiers)
    if args.trace and all(sample.measured == LOOP for sample in samples):
        raise UnableError(f"{args.run}: there is no switch in it; arm-scaling measures some")
    if args.openmetrics:
        write(args.openmetrics, exports.openmetrics(estimates.of_run(args.run).rows))
    if args.trace:
        write(args.trace, exports.chrome(samples, tiers))
    if args.parquet:
        from kmtools.analyse import parquet

        parquet.write(samples, args.parquet)
