# SPDX-License-Identifier: GPL-2.0-only
"""Statistics, verdict table, figures and page of one run.

usage: report.py RUN_DIR [--no-figures] [--tables TIER...]
       report.py RUN_DIR --tier TIER

Reads RUN_DIR/samples.csv and env.json; writes summary.json, figures/*.svg and *.png and
report.html beside them. The same input gives the same bytes. With --tier it prints the table of
that tier and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from kmtools.analyse import published, summary, switching, verdicts
from kmtools.measure import rundir
from kmtools.measure.rundir import RunError
from kmtools.report import table


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(description="Verdict table, figures and page of a run.")
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="in results/local")
    parser.add_argument("--no-figures", action="store_true", help="table and summary.json alone")
    parser.add_argument(
        "--tables", nargs="*", choices=rundir.TIERS, help="print these tiers' tables, not all"
    )
    parser.add_argument("--tier", choices=rundir.TIERS, help="print its table, write nothing")
    return parser


def report(args: argparse.Namespace) -> None:
    """Judge a run, print and write what was asked for."""
    env = rundir.read_env(args.run / "env.json")
    tiers = [tier for tier in rundir.tiers_of(env) if args.tier in (None, tier.tier)]
    names = {tier.tier for tier in tiers}
    read = rundir.read_samples(args.run / "samples.csv")
    samples = [sample for sample in read if sample.tier in names]
    results = verdicts.analyse(samples, tiers)
    switches = switching.analyse(samples, tiers)
    wanted = names if args.tables is None else names & {*args.tables}
    if wanted:
        shown = [result for result in results if result.tier in wanted]
        print(table.render(shown, table.terminal_width(), table.wants_colour(sys.stdout)))
        if points := [point for point in switches if point.tier in wanted]:
            print(switching.render(points))
        print("".join(f"\n{line}" for line in rundir.warnings(env, args.tier)))
    if args.tier:
        return
    summary.write(args.run / "summary.json", results, published.ancestors(), switches)
    if not args.no_figures:
        from kmtools.report import page  # noqa: PLC0415  slow to load, and not wanted for the table alone

        page.write(args.run, env, results, switches)
        print(f"report: {args.run / 'report.html'}")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0 on success, 1 when the run cannot be used, 2 for a wrong command line."""
    args = parser().parse_args(argv)
    try:
        report(args)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except (RunError, OSError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    return 0
