# SPDX-License-Identifier: GPL-2.0-only
"""Runs the tests of the scripts, of the page in a browser, and of the model of the protocol."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kmtools.base import processes
from kmtools.base.errors import UNABLE
from kmtools.base.paths import ROOT
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, nothing, scripts

SCRIPTS_SECONDS, PAGE_SECONDS, MODEL_SECONDS = 150.0, 60.0, 200.0
BROWSER = Path("build/page/bin/python")


def without(module: str, package: str) -> str:
    """Return a text with the remedy if a Python module is missing."""
    if importlib.util.find_spec(module):
        return ""
    return f"Python's {module} is missing: run scripts/setup or apt-get install {package}"


def no_browser() -> str:
    """Return a text with the remedy if the page cannot be checked here; else an empty text."""
    lacking = [str(BROWSER)] if not (ROOT / BROWSER).exists() else []
    if not any(map(shutil.which, ("chromium", "chromium-browser"))):
        lacking.append("chromium")
    return f"missing: {' and '.join(lacking)}; run scripts/setup --page" if lacking else ""


def no_reader() -> str:
    """Return a text with the remedy if modules cannot be read here."""
    return without("pytest", "python3-pytest") or without("elftools", "python3-pyelftools")


def look_at_page(log: Path) -> Tally:
    """Check the page in a browser, and measure the cost of a large page."""
    return scripts(log, "tests/tools/browser_page.py", "tests/tools/page_cost.py")


def build_headers(log: Path) -> Tally:
    """Build a module for each header that is installed, and read the sites of modules."""
    return scripts(log, "tests/tools/module_headers.py", "tests/tools/module_sites.py")


def check_model(log: Path) -> Tally:
    """Run the model checker on each variant of the protocol."""
    code = processes.run([sys.executable, ROOT / "tests" / "model" / "run.py"], log)
    said = log.read_text(encoding="utf-8", errors="replace")
    if code == UNABLE:
        return Tally(skipped=[f"model: {said.strip().splitlines()[0]}"], absent=1)
    passed = re.findall(r"^(\d+) passed, \d+ failed$", said, re.M)
    failed = re.findall(r"^not ok\s+(.*\S)", said, re.M)
    failed = failed or ([f"exit code {code}"] if code else [])
    return Tally(int(passed[-1]) if passed else 0, failed)


def suites_of(_: Ask, names: Sequence[str]) -> list[Suite]:
    """Return the suites of these names."""
    pytest = partial(without, "pytest", "python3-pytest")
    what = "the page in a browser on three screens, and what a large one costs"
    found = [
        Suite("scripts", scripts, "the scripts' own tests", pytest, SCRIPTS_SECONDS),
        Suite("headers", build_headers, "a module for each installed header", no_reader, 70),
        Suite("page", look_at_page, what, no_browser, PAGE_SECONDS),
        Suite("model", check_model, "the protocol, exhaustively", nothing, MODEL_SECONDS),
    ]
    return [suite for suite in found if suite.name in names]
