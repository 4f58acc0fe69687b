# SPDX-License-Identifier: GPL-2.0-only
"""A pytest plugin that writes the result and the time of each test as a line of JSON to the file
that the environment variable RECORD names. While a test runs, its name is the context of
coverage.py and the value of the variable KMARKERS_TEST, which programs started by the test inherit.

A fixture that several tests share, for instance all tests of a file, runs once. Such a fixture has
a context of its own; RECORD has its time and the tests that use it.

If the variable COUNTS names a directory, C programs that are built with --coverage write their
execution counts to a subdirectory for each context, with the name of the context in the file
"name"."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def set_coverage_context(name: str) -> None:
    """Make `name` the context to which coverage.py and gcov attribute executed lines."""
    os.environ["KMARKERS_TEST"] = name
    if "coverage" in sys.modules and (current := sys.modules["coverage"].Coverage.current()):
        current.switch_context(name)
    if "COUNTS" in os.environ:
        counts = Path(os.environ["COUNTS"]) / hashlib.sha256(name.encode()).hexdigest()
        counts.mkdir(exist_ok=True)
        (counts / "name").write_text(name, encoding="utf-8")
        os.environ["GCOV_PREFIX"] = str(counts)


def append_record(entry: object) -> None:
    """Append `entry` as a line of JSON to the file RECORD."""
    with Path(os.environ["RECORD"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def name_shared_fixture(fixture: Any) -> str:
    """Return the context of a fixture that tests share; "" for a fixture of a single test."""
    shared = fixture.scope != "function"
    return f"fixture {fixture.argname} of {fixture.baseid}" if shared else ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Set the context of the test before its fixtures run, and record which shared fixtures it
    uses."""
    set_coverage_context(item.nodeid)
    found = getattr(item, "_fixtureinfo", None)
    fixtures = [several[-1] for several in found.name2fixturedefs.values()] if found else []
    names = [name for fixture in fixtures if (name := name_shared_fixture(fixture))]
    append_record({"test": item.nodeid, "uses": names})


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Iterator[None]:
    """Run a shared fixture in a context of its own; record its time and the test that runs it."""
    name, test, start = name_shared_fixture(fixturedef), os.environ["KMARKERS_TEST"], time.time()
    if name:
        set_coverage_context(name)
    yield
    if name:
        set_coverage_context(test)
        append_record({"fixture": name, "seconds": time.time() - start, "test": test})


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record the result of one phase of a test: setup, call or teardown."""
    append_record([report.nodeid, report.outcome, report.duration])
