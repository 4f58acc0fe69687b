# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures that several test files use."""

from __future__ import annotations

import subprocess
from pathlib import Path

import nativeprograms
import pages
import pytest
from fakelab import make_files_for_fake_boot
from kmtools.base.paths import ROOT
from kmtools.runner import suite


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the mark `long` to each test that runs clang, and to all cases but the first of each
    test with the mark `many`."""
    seen = set()
    for item in items:
        name = item.nodeid.partition("[")[0]
        if (name in seen and item.get_closest_marker("many")) or is_clang_test(item):
            item.add_marker(pytest.mark.long)
        seen.add(name)


def is_clang_test(item: pytest.Item) -> bool:
    """Return True if a parameter of the test names clang as the compiler."""
    values = item.callspec.params if hasattr(item, "callspec") else {}
    some = [values.get(name, "") for name in ("compiler", "language", "program")]
    return any(str(value).startswith("clang") for value in some)


@pytest.fixture
def laboratory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a cache directory with a kernel that only the fake QEMU of fakelab can boot; return the
    directory that contains the cache."""
    make_files_for_fake_boot(tmp_path)
    monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HERE", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def redirect_suite_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redirect the logs of the suites that a test runs, so that the logs in build/check are not
    overwritten."""
    monkeypatch.setattr(suite, "LOGS", tmp_path / "logs")


@pytest.fixture(scope="session")
def native_programs() -> None:
    """Build kmbench and other programs of native/ that tests run."""
    nativeprograms.build_native_programs()


@pytest.fixture(scope="session")
def programs() -> None:
    """Build the programs, libraries and manual pages that scripts/install installs."""
    nativeprograms.build_native_targets("all")
    nativeprograms.build_native_programs(*nativeprograms.LIBRARIES)
    subprocess.run(["scripts/man"], cwd=ROOT, check=True)


@pytest.fixture(scope="session")
def reference_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the reference run, and make its report once for all tests, because a report takes long.
    Tests must not change the copy."""
    return pages.make_reference_run(tmp_path_factory.mktemp("reference"))
