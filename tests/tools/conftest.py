# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures that several test files use."""

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
    """Suites that a test runs keep no logs beside those of the run that it is a part of."""
    monkeypatch.setattr(suite, "LOGS", tmp_path / "logs")


@pytest.fixture(scope="session")
def native_programs() -> None:
    """Build kmbench and the programs that are tested with it."""
    nativeprograms.build()
