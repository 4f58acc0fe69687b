# SPDX-License-Identifier: GPL-2.0-only
"""The commands export and pack, which write a run to files for other programs and other people."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.commands import Run
from kmtools.commands.comparing import require_folder_of_file, write_requested_file


def add_export_command(parser: ArgumentParser) -> Run:
    """Every line of the samples is checked before a file is written. --parquet needs the Python
    package duckdb, which scripts/setup --fleet installs."""
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="folder of the run")
    parser.add_argument(
        "--parquet",
        type=Path,
        metavar="FILE",
        help="write all samples to this file, in Parquet format",
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
        help="write the times at which sites were switched on and off to this file, as a trace for "
        "Perfetto and chrome://tracing",
    )
    return run_export_command


def run_export_command(args: Namespace) -> None:
    """Check the samples of a run, and write the files that the options name."""
    if not (args.parquet or args.openmetrics or args.trace):
        raise UnableError("no output file is given: use --parquet, --openmetrics or --trace")
    from kmtools.analyse import estimates
    from kmtools.measure.rundir import find_samples_file, make_tiers, read_env
    from kmtools.measure.samples import LOOP, read_samples
    from kmtools.report import exports

    path = find_samples_file(args.run)
    tiers = make_tiers(read_env(args.run / "env.json"))
    samples = read_samples(path, tiers)
    if args.trace and all(sample.measured == LOOP for sample in samples):
        raise UnableError(
            f"{args.run}: the run has no samples of site switches; run the benchmark arm-scaling"
        )
    if args.openmetrics:
        write_requested_file(
            args.openmetrics, exports.render_openmetrics(estimates.load_estimates(args.run).rows)
        )
        print(args.openmetrics)
    if args.trace:
        write_requested_file(args.trace, exports.render_chrome_trace(samples, tiers))
        print(args.trace)
    if args.parquet:
        require_folder_of_file(args.parquet)
        from kmtools.analyse import parquet

        parquet.write_parquet(samples, args.parquet)
        print(args.parquet)


def add_pack_command(parser: ArgumentParser) -> Run:
    """Writes one file that can be published: the samples, and the properties of the machine that
    affect results. Names of the machine and of its user, paths in home folders, and kernel
    parameters that do not affect times are left out. The content of the file is printed before the
    file is written, and nothing is sent anywhere. A run is refused if it was measured with --quick,
    lacks a tier, was ended early by its time limit, or has no tier on a real CPU. A warning is
    printed if results/metal would not accept the run because its sources had local changes or its
    numbers are poor. The file Documentation/benchmarking.md describes how to contribute a run."""
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="folder of the run")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="ZIP file to write (default: in the current folder, named after the date of the run "
        "and the CPU model)",
    )
    return run_pack_command


def list_poorly_graded_tiers(run: Path) -> list[str]:
    """Return a text for each tier (environment of measurement) of a run that was measured on a real
    CPU and has a poor grade. Without numpy, the text says that the grades are unknown."""
    from kmtools.measure.rundir import make_tiers, read_env
    from kmtools.report.report import NUMPY_PACKAGE, has_python_package

    if not has_python_package("numpy"):
        return [f"its grades are unknown, because they need the package {NUMPY_PACKAGE}"]
    from kmtools.analyse import estimates

    tiers = make_tiers(read_env(run / "env.json"))
    real = {(tier.tier, tier.kernel) for tier in tiers if not tier.emulated}
    return [
        grade.words
        for grade in estimates.load_estimates(run).grades
        if grade.grade == "poor" and (grade.tier, grade.kernel) in real
    ]


def list_publication_faults(run: Path) -> list[str]:
    """Return the reasons why results/metal would not accept a run that can be packed."""
    from kmtools.measure import pack
    from kmtools.measure.rundir import read_env

    return [*pack.list_source_faults(read_env(run / "env.json")), *list_poorly_graded_tiers(run)]


def run_pack_command(args: Namespace) -> None:
    """Print what the packed run holds, and write the packed run to a file."""
    from kmtools.measure import pack

    name, content, archive = pack.pack_run(args.run)
    file = args.output or Path(f"{name}.zip")
    if file.exists():
        raise UnableError(f"{file} exists already; remove it, or name another file by --output")
    print(content, flush=True)
    for why in list_publication_faults(args.run):
        print(f"pack: results/metal would not accept this run: {why}", flush=True)
    write_requested_file(file, archive)
    print(f"{file}: {len(archive)} bytes")
