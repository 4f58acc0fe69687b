# SPDX-License-Identifier: GPL-2.0-only
"""Every table for a terminal fits in 80 columns, also with long names and long notes."""

from __future__ import annotations

from pathlib import Path

import pages
import pytest
from kmtools.cli import main

COMMANDS = (
    ["report", "RUN", "--no-figures"],
    ["report", "RUN", "--tier", "native"],
    ["compare", "RUN", "RUN"],
    ["impact", "RUN"],
    ["rates", "RUN"],
    ["lab", "list"],
)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.make_reference(tmp_path_factory.mktemp("width"))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_tables_fit_in_80_columns(
    reference: Path,
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    capsys.readouterr()
    assert main([str(reference) if word == "RUN" else word for word in words]) == 0
    lines = capsys.readouterr().out.replace(str(reference), "RUN").splitlines()
    assert len(lines) > 3
    assert [line for line in lines if len(line) > 80] == []
    if words[0] == "report":
        assert any(line.startswith(" [1] ") for line in lines)
