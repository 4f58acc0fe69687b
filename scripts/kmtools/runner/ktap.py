# SPDX-License-Identifier: GPL-2.0-only
"""Reads test results in KTAP, the kernel's form of the Test Anything Protocol.

Source: Documentation/dev-tools/ktap.rst in the kernel. Only flat results are read: our tests
print no nested ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

RESULT = re.compile(r"(not )?ok (\d+)(?: -)? ?([^#]*?)\s*(?:# (SKIP)\b\s*(.*))?$")
PLAN = re.compile(r"1\.\.(\d+)$")
SUITE = re.compile(r"# suite: (.+)$")


@dataclass
class Tally:
    """The sum of the results of one suite.

    `absent` is the number of parts that cannot run on this machine; `skipped` has the reasons.
    """

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    absent: int = 0

    @property
    def count(self) -> int:
        """The number of results."""
        return self.passed + len(self.failed) + len(self.skipped)

    def judge(self, good: bool, why: str) -> None:
        """Add one result: passed, or failed for a reason."""
        self.passed += good
        self.failed += [] if good else [why]

    def add(self, other: Tally) -> None:
        """Add the results of another suite."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.absent += other.absent

    def closing_line(self) -> str:
        """Return `N passed, N failed`, with the number of skipped ones if there are any."""
        line = f"{self.passed} passed, {len(self.failed)} failed"
        return f"{line}, {len(self.skipped)} skipped" if self.skipped else line


def parse(lines: Iterable[str]) -> Tally:
    """Add up KTAP lines; a missing plan or a wrong number of results is one more failure."""
    whole = Tally()
    for tally in by_suite(lines).values():
        whole.add(tally)
    return whole


def by_suite(lines: Iterable[str]) -> dict[str, Tally]:
    """Add up KTAP lines separately for each suite, which begins with a line `# suite: NAME`."""
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
            _count(suites.setdefault(name, Tally()), result)
    if planned is None:
        suites["plan"] = Tally(failed=["no plan: the suite did not run to its end"])
    elif planned != seen:
        suites["plan"] = Tally(failed=[f"{planned} results planned, {seen} seen"])
    return suites


def _count(tally: Tally, result: re.Match[str]) -> None:
    """Add one result."""
    name = result[3] or result[2]
    if result[1]:
        tally.failed.append(name)
    elif result[4]:
        tally.skipped.append(f"{name}: {result[5] or 'no reason given'}")
    else:
        tally.passed += 1
