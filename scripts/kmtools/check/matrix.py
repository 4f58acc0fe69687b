# SPDX-License-Identifier: GPL-2.0-only
"""Runs the tests inside every kernel of kernels.txt; logs are in build/matrix/."""

from __future__ import annotations

from collections.abc import Iterable

from kmtools.base.errors import require_root
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


def run(names: Iterable[str], debug: bool) -> bool:
    """Run the kernels named, or all of one kind, and show the table; tells whether all passed."""
    require_root("building and booting test kernels")
    chosen = [catalogue.find(name).name for name in names]
    of_kind = [entry.name for entry in catalogue.load() if bool(entry.debug) == debug]
    outcomes = run_all(chosen or of_kind)
    print(matrixtable.as_text(outcomes), end="")
    if not chosen:
        title = "Debug kernels" if debug else "Stock kernels"
        command = "make check-debug" if debug else "make check-matrix"
        matrixtable.write_section(PAGE, title, matrixtable.as_markdown(outcomes, command))
    for outcome in outcomes if chosen else []:
        if matrixtable.update_row(PAGE, outcome):
            print(f"{outcome.kernel}: its row of {PAGE.name} is updated")
    return not any(outcome.tally.failed for outcome in outcomes)
