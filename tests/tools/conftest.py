# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures of several test files."""

from __future__ import annotations

from pathlib import Path

import nativeprograms
import pytest
from fakelab import make_laboratory
from kmtools.runner import suite


@pytest.fixture
def laboratory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a cache with a kernel that only the fake emulator can boot."""
    make_laboratory(tmp_path)
    monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HERE", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def own_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redirect the logs of suites that a test runs, so that those in build/check are kept."""
    monkeypatch.setattr(suite, "LOGS", tmp_path / "logs")


@pytest.fixture(scope="session")
def native_programs() -> None:
    """Build kmbench and other programs of native/ that tests run."""
    nativeprograms.build_programs()
