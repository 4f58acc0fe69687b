# SPDX-License-Identifier: GPL-2.0-only
"""The command export, which writes a run in the formats of other programs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.commands import Run
from kmtools.commands.comparing import write_requested_file


def add_export_command(parser: ArgumentParser) -> Run:
    """Every line of the samples is checked before a file is written. --parquet needs the Python
    package duckdb, which scripts/setup --fleet installs."""
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="folder of the run")
    parser.add_argument(
        "--parquet", type=Path, metavar="FILE", help="write every sample to this Parquet file"
    )
    parser.add_argument(
        "--openmetrics",
        type=Path,
        metavar="FILE",
        help="write the median cost of each variant to this file, in the OpenMetrics format",
    )
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="write when sites were switched on and off, as a trace for Perfetto and "
        "chrome://tracing",
    )
    return run_export


def run_export(args: Namespace) -> None:
    """Check the samples of a run, and write the files that the options name."""
    if not (args.parquet or args.openmetrics or args.trace):
        raise UnableError("which format? --parquet, --openmetrics or --trace")
    from kmtools.analyse import estimates
    from kmtools.measure.rundir import make_tiers, read_env
    from kmtools.measure.samples import LOOP, read_samples
    from kmtools.report import exports

    path = estimates.find_samples_file(args.run)
    tiers = make_tiers(read_env(args.run / "env.json"))
    samples = read_samples(path, tiers)
    if args.trace and all(sample.measured == LOOP for sample in samples):
        raise UnableError(
            f"{args.run}: it has no samples of site switches; run the benchmark arm-scaling"
        )
    if args.openmetrics:
        write_requested_file(
            args.openmetrics, exports.render_openmetrics(estimates.load_estimates(args.run).rows)
        )
    if args.trace:
        write_requested_file(args.trace, exports.render_trace(samples, tiers))
    if args.parquet:
        from kmtools.analyse import parquet

        parquet.write_parquet(samples, args.parquet)
