# SPDX-License-Identifier: GPL-2.0-only
"""A plugin of pytest that writes the result and the time of each test to the file that the variable
RECORD names, one JSON list per line. While a test runs, its name is the context of coverage.py and
the value of the variable KMARKERS_TEST, which programs started by the test inherit.

If the variable COUNTS names a directory, C programs that are built with --coverage write their
execution counts to a subdirectory for each test, with the name of the test in the file "name"."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Set the name of the test before its fixtures run."""
    os.environ["KMARKERS_TEST"] = item.nodeid
    if "coverage" in sys.modules and (current := sys.modules["coverage"].Coverage.current()):
        current.switch_context(item.nodeid)
    if "COUNTS" in os.environ:
        counts = Path(os.environ["COUNTS"]) / hashlib.sha256(item.nodeid.encode()).hexdigest()
        counts.mkdir(exist_ok=True)
        (counts / "name").write_text(item.nodeid, encoding="utf-8")
        os.environ["GCOV_PREFIX"] = str(counts)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write the result of a phase of a test: its setup, its call or its teardown."""
    with Path(os.environ["RECORD"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps([report.nodeid, report.outcome, report.duration]) + "\n")
