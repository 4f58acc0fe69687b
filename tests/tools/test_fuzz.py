# SPDX-License-Identifier: GPL-2.0-only
"""kmarkers check fuzz: its time must be a positive number."""

from __future__ import annotations

import pytest
from kmtools.check import fuzz
from kmtools.cli import main


@pytest.mark.parametrize("text", ["0", "-5", "1.5", "soon"])
@pytest.mark.parametrize("variable", [True, False])
def test_a_time_without_end_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: bool, text: str
) -> None:
    """To libFuzzer, 0 and less mean no end; the environment is checked, too."""
    words = [] if variable else [f"--seconds={text}"]
    if variable:
        monkeypatch.setenv("FUZZ_SECONDS", text)
    monkeypatch.setattr(fuzz, "build", None)
    with pytest.raises(SystemExit) as ended:
        main(["check", "fuzz", *words])
    assert ended.value.code == 2
    assert f"argument --seconds: '{text}' is no whole number above 0" in capsys.readouterr().err
