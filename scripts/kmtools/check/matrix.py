# SPDX-License-Identifier: GPL-2.0-only
"""Runs the tests inside every kernel of kernels.txt, and shows one table.

By default the kernels as their distribution made them, with --debug those that are built here to
look for faults. The logs of each kernel are in build/matrix/; a table of all kernels is also
written to Documentation/kernels.md, in which kernels that are named get new rows. The exit code
is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import signal
import sys

from kmtools.base.errors import OBSTACLES, explain, require_root
from kmtools.base.paths import ROOT
from kmtools.check import kernelsuite, matrixtable
from kmtools.check.kernelsuite import Outcome
from kmtools.lab import catalogue

LOGS = ROOT / "build" / "matrix"
PAGE = ROOT / "Documentation" / "kernels.md"


def run_all(names: list[str]) -> list[Outcome]:
    """Run the kernels one after the other, saying how each went."""
    outcomes = []
    for number, name in enumerate(names, 1):
        print(f"[{number}/{len(names)}] {name} ...", flush=True)
        outcome = kernelsuite.run_or_say(name, LOGS / name)
        line = outcome.tally.closing_line()
        print(f"[{number}/{len(names)}] {name}: {line} in {outcome.seconds:.0f} s", flush=True)
        outcomes.append(outcome)
    return outcomes


def main() -> int:
    """Run kernels; 1 if anything failed, 2 for something to put right first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="in kernels.txt (default: all)")
    parser.add_argument("--debug", action="store_true", help="the kernels that look for faults")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    kind = catalogue.debug() if args.debug else catalogue.stock()
    try:
        require_root("building and booting test kernels")
        names = [catalogue.find(name).name for name in args.names]
        outcomes = run_all(names or [entry.name for entry in kind])
        print(matrixtable.as_text(outcomes), end="")
        if not names:
            title = "Debug kernels" if args.debug else "Stock kernels"
            command = "make check-debug" if args.debug else "make check-matrix"
            text = matrixtable.as_markdown(outcomes, command)
            matrixtable.write_section(PAGE, title, text)
        for outcome in outcomes if names else []:
            if matrixtable.update_row(PAGE, outcome):
                print(f"{outcome.kernel}: its row of {PAGE.name} is updated")
    except OBSTACLES as error:
        print(f"check: {explain(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 1 if any(outcome.tally.failed for outcome in outcomes) else 0
