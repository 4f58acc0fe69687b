# SPDX-License-Identifier: GPL-2.0-only
"""The command kmarkers: what it can do, and where that is; a part is imported once it is asked for.

Exit codes of every command: 0 done, 1 a result is bad, 2 it cannot be done here, and it says why.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import NoReturn

from kmtools.check.suites import run_main

COMMANDS = {
    "bench": "measure.bench",
    "collect": "measure.collect",
    "report": "report.report",
    "medians": "report.medians",
    "compare": "report.compare",
    "impact": "report.impact",
    "reference": "report.reference",
    "lab": "lab.kernels",
    "vm": "lab.vm",
    "check": "check.everything",
    "check native": "check.native",
    "check alone": "check.alone",
    "check coexist": "check.coexist",
    "check still": "check.still",
    "check tracers": "check.tracers",
    "check matrix": "check.matrix",
    "check mutants": "check.mutants",
    "check fuzz": "check.fuzz",
    "check coverage": "check.coverage",
    "check lint": "check.lint",
    "check fresh": "check.fresh",
    "check aa": "check.aa",
    "check many-files": "check.manyfiles",
}


def main() -> NoReturn:
    """Run the command that the first words name."""
    words = sys.argv[1:]
    for count in (2, 1):
        name = " ".join(words[:count])
        if name in COMMANDS:
            module = import_module(f"kmtools.{COMMANDS[name]}")
            sys.argv = [f"kmarkers {name}", *words[count:]]
            if name.startswith("check"):
                run_main(module.main)
            sys.exit(module.main())
    print(f"usage: kmarkers COMMAND ...; there are: {', '.join(COMMANDS)}", file=sys.stderr)
    sys.exit(2)
