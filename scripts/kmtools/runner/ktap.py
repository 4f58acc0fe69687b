# SPDX-License-Identifier: GPL-2.0-only
"""Reads test results in KTAP, the kernel's form of the Test Anything Protocol.

Source: Documentation/dev-tools/ktap.rst in the kernel. Only flat results are read: our tests
print no nested ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

# Patterns of KTAP lines: a result, the plan (the number of results), and the comment by which our
# tests name the suite of the results that follow.
RESULT = re.compile(r"(not )?ok (\d+)(?: -)? ?([^#]*?)\s*(?:# (SKIP)\b\s*(.*))?$")
PLAN = re.compile(r"1\.\.(\d+)$")
SUITE = re.compile(r"# suite: (.+)$")


@dataclass
class Tally:
    """The results of one or more suites: the number of passed results, and the names of failed and
    skipped results.

    A name in `skipped` is followed by the reason. `absent` is the number of suites that cannot run
    on this machine at all.
    """

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    absent: int = 0

    @property
    def count(self) -> int:
        """The number of results: passed, failed and skipped ones."""
        return self.passed + len(self.failed) + len(self.skipped)

    def add_result(self, good: bool, why: str) -> None:
        """Add one result: a pass, or a failure with the text `why`."""
        self.passed += good
        self.failed += [] if good else [why]

    def add_tally(self, other: Tally) -> None:
        """Add the results in another tally to this one."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.absent += other.absent

    def format_summary(self) -> str:
        """Return `N passed, N failed`, and the number of skipped results if there are any."""
        line = f"{self.passed} passed, {len(self.failed)} failed"
        return f"{line}, {len(self.skipped)} skipped" if self.skipped else line


def parse_ktap(lines: Iterable[str]) -> Tally:
    """Return the results of all suites in KTAP lines as one tally. A missing plan, or a plan that
    differs from the number of results, counts as one more failure."""
    whole = Tally()
    for tally in parse_ktap_by_suite(lines).values():
        whole.add_tally(tally)
    return whole


def parse_ktap_by_suite(lines: Iterable[str]) -> dict[str, Tally]:
    """Return the results in KTAP lines by suite; a line `# suite: NAME` starts a suite. A missing
    plan, or a plan that differs from the number of results, is a failure of the suite "plan"."""
    suites: dict[str, Tally] = {}
    name = ""
    planned = None
    seen = 0
    for line in lines:
        text = line.strip()
        if plan := PLAN.match(text):
            planned = int(plan[1])
        elif start := SUITE.match(text):
            name = start[1]
        elif result := RESULT.match(text):
            seen += 1
            _add_ktap_line(suites.setdefault(name, Tally()), result)
    if planned is None:
        suites["plan"] = Tally(failed=["no plan: the suite did not run to its end"])
    elif planned != seen:
        suites["plan"] = Tally(failed=[f"{planned} results planned, {seen} seen"])
    return suites


def _add_ktap_line(tally: Tally, result: re.Match[str]) -> None:
    """Add the result of a KTAP line to a tally."""
    name = result[3] or result[2]
    if result[1]:
        tally.failed.append(name)
    elif result[4]:
        tally.skipped.append(f"{name}: {result[5] or 'no reason given'}")
    else:
        tally.passed += 1
