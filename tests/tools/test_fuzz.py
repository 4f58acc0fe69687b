# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers check fuzz`: its duration must be a positive number."""

from __future__ import annotations

import pytest
from kmtools.cli import main
from kmtools.suites import fuzz


@pytest.mark.parametrize("text", ["0", "-5", "1.5", "soon"])
@pytest.mark.parametrize("variable", [True, False])
def test_fuzz_refuses_an_unlimited_duration(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: bool, text: str
) -> None:
    """A duration that is no positive whole number is refused, as an option and in the environment.
    For libFuzzer, 0 seconds would mean no limit."""
    words = [] if variable else ["-o", f"seconds={text}"]
    if variable:
        monkeypatch.setenv("FUZZ_SECONDS", text)
    monkeypatch.setattr(fuzz, "build_fuzz_targets", None)
    assert main(["check", "fuzz", *words]) == 2
    assert f"seconds: '{text}' is not a whole number above 0" in capsys.readouterr().err
