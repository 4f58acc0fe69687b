# SPDX-License-Identifier: GPL-2.0-only
"""Runs the Python tests of tests/tools, the test of the HTML report in a browser, and the model
checker."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kmtools.base import processes
from kmtools.base.errors import UNABLE, UnableError
from kmtools.base.paths import ROOT
from kmtools.report import handbook
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, find_no_obstacle, run_pytest

SCRIPTS_SECONDS, LONG_SCRIPTS_SECONDS = 370.0, 180.0
PAGE_SECONDS, MODEL_SECONDS = 90.0, 200.0
# The Python that has the packages of the browser test.
BROWSER_PYTHON = Path("build/page/bin/python")


def find_python_module_obstacle(module: str, package: str) -> str:
    """Return an error text with the remedy if a Python module is not installed; else ""."""
    if importlib.util.find_spec(module):
        return ""
    return f"Python's {module} is missing: run scripts/setup or apt-get install {package}"


def find_browser_obstacle() -> str:
    """Return an error text with the remedy if Chromium or build/page is missing; else ""."""
    lacking = [str(BROWSER_PYTHON)] if not (ROOT / BROWSER_PYTHON).exists() else []
    if not any(map(shutil.which, ("chromium", "chromium-browser"))):
        lacking.append("chromium")
    return f"missing: {' and '.join(lacking)}; run scripts/setup --page" if lacking else ""


def find_elf_reader_obstacle() -> str:
    """Return an error text with the remedy if pytest or pyelftools (the reader of ELF files) is
    missing; else ""."""
    return find_python_module_obstacle("pytest", "python3-pytest") or find_python_module_obstacle(
        "elftools", "python3-pyelftools"
    )


def find_sphinx_obstacle() -> str:
    """Return an error text with the remedy if Sphinx or the script kernel-doc is missing; else
    ""."""
    try:
        handbook.find_sphinx()
        handbook.find_kernel_doc()
    except UnableError as missing:
        return str(missing)
    return find_python_module_obstacle("pytest", "python3-pytest")


def run_short_python_tests(log: Path) -> Tally:
    """Run the Python tests without the mark `long`."""
    return run_pytest(log, "-m", "not long")


def run_long_python_tests(log: Path) -> Tally:
    """Run the Python tests with the mark `long`: simulations, compilation by clang, and tests that
    take several seconds."""
    return run_pytest(log, "-m", "long")


def run_html_report_tests(log: Path) -> Tally:
    """Check the HTML report in a browser, and measure the time and memory for a large report."""
    return run_pytest(log, "tests/tools/browser_page.py", "tests/tools/page_cost.py")


def run_header_and_site_tests(log: Path) -> Tally:
    """Compile each installed header alone in a module or a program, and test the script that reads
    the sites from module files."""
    return run_pytest(log, "tests/tools/module_headers.py", "tests/tools/module_sites.py")


def run_package_build_tests(log: Path) -> Tally:
    """Compile and build the RPM and Arch packages, and check that the packages have the files that
    scripts/install installs."""
    return run_pytest(log, "tests/tools/package_builds.py")


def run_handbook_tests(log: Path) -> Tally:
    """Make the handbook; check that its links work, and that its reference is complete."""
    return run_pytest(log, "tests/tools/handbook_site.py")


def run_model_checker_on_variants(log: Path) -> Tally:
    """Run the model checker on each variant of the patching protocol."""
    code = processes.run_program([sys.executable, ROOT / "tests" / "model" / "run.py"], log)
    said = log.read_text(encoding="utf-8", errors="replace")
    if code == UNABLE:
        return Tally(skipped=[f"model: {said.strip().splitlines()[0]}"], absent=1)
    passed = re.findall(r"^(\d+) passed, \d+ failed$", said, re.M)
    failed = re.findall(r"^not ok\s+(.*\S)", said, re.M)
    failed = failed or ([f"exit code {code}"] if code else [])
    return Tally(int(passed[-1]) if passed else 0, failed)


def make_requested_script_suites(_: SuiteRequest, names: Sequence[str]) -> list[Suite]:
    """Return the suites of this file whose names are in `names`."""
    pytest = partial(find_python_module_obstacle, "pytest", "python3-pytest")
    what = "the HTML report in a browser on three screens, and time and memory for a large report"
    found = [
        Suite(
            "scripts",
            run_short_python_tests,
            "the Python tests of tests/tools except long tests",
            pytest,
            SCRIPTS_SECONDS,
        ),
        Suite(
            "scripts-long",
            run_long_python_tests,
            "the long Python tests: simulations, and compilation by clang",
            pytest,
            LONG_SCRIPTS_SECONDS,
        ),
        Suite(
            "headers",
            run_header_and_site_tests,
            "modules that each include a single installed header",
            find_elf_reader_obstacle,
            70,
        ),
        Suite("page", run_html_report_tests, what, find_browser_obstacle, PAGE_SECONDS),
        Suite(
            "html",
            run_handbook_tests,
            "links and reference of the handbook",
            find_sphinx_obstacle,
            30,
        ),
        Suite(
            "package-builds",
            run_package_build_tests,
            "RPM and Arch packages, built with the real compiler",
            pytest,
            180,
        ),
        Suite(
            "model",
            run_model_checker_on_variants,
            "model checker: all interleavings of the patching protocol",
            find_no_obstacle,
            MODEL_SECONDS,
        ),
    ]
    return [suite for suite in found if suite.name in names]
