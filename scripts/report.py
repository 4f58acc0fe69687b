#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Statistics, verdict table, figures and page of one run.

usage: report.py RUN_DIR [--no-figures]

Reads RUN_DIR/samples.csv and env.json; writes summary.json, figures/*.svg and *.png and
report.html beside them. The same input gives the same bytes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import published
import rundir
import summary
import switching
import table
import verdicts
from rundir import RunError


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0 on success, 1 when the run cannot be used, 2 for a wrong command line."""
    parser = argparse.ArgumentParser(description="Verdict table, figures and page of a run.")
    parser.add_argument("run", type=Path, metavar="RUN_DIR")
    parser.add_argument("--no-figures", action="store_true", help="table and summary.json alone")
    args = parser.parse_args(argv)
    try:
        env = rundir.read_env(args.run / "env.json")
        samples = list(rundir.read_samples(args.run / "samples.csv"))
        results = verdicts.analyse(samples, rundir.tiers_of(env))
        switches = switching.analyse(samples, rundir.tiers_of(env))
        ancestors = published.ancestors()
        summary.write(args.run / "summary.json", results, ancestors, switches)
        print(table.render(results, table.terminal_width(), table.wants_colour(sys.stdout)))
        if switches:
            print(switching.render(switches))
        if not args.no_figures:
            import page  # noqa: PLC0415  slow to load, and not wanted for the table alone

            page.write(args.run, env, results, switches)
            print(f"\nreport: {args.run / 'report.html'}")
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except (RunError, OSError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
