# SPDX-License-Identifier: GPL-2.0-only
"""The step of continuous integration, run as plain shell; the action and the template call it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import manyruns
import pytest
from kmtools.base.paths import ROOT

CI = ROOT / "ci"
CALL = re.compile(r'compare\.sh" "\$RUN_A" "\$RUN_B" "\$OUT" \$OPTIONS')


def step(*words: object, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the script as the action and the template do."""
    return subprocess.run(
        [str(CI / "compare.sh"), *map(str, words)],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Two runs of one CPU model, and one of another, where a variant costs a percent more."""
    return manyruns.write(tmp_path / "runs", 5)


def test_the_step_fails_if_something_became_costlier(runs: list[Path], tmp_path: Path) -> None:
    summary, out = tmp_path / "summary", tmp_path / "out"
    same = step(runs[0], runs[4], out, GITHUB_STEP_SUMMARY=str(summary))
    assert same.returncode == 0, same.stderr
    names = {f"comparison.{ending}" for ending in ("md", "json", "xml", "html")}
    assert {path.name for path in out.iterdir()} == names
    assert summary.read_text() == (out / "comparison.md").read_text()
    assert step(runs[0], runs[1], out).returncode == 1
    assert step(runs[0], runs[1], out, "--fail-on", "faster").returncode == 0
    assert step(runs[0], tmp_path / "none", out).returncode == 2
    assert step(runs[0]).returncode == 2 and step("--help").returncode == 0


def test_action_and_template_call_the_step() -> None:
    for name in ("action.yml", "gitlab.yml"):
        text = (CI / name).read_text()
        assert len(CALL.findall(text)) == 1 and "scripts/setup" in text
    defaults = {line.strip() for line in (CI / "action.yml").read_text().splitlines()}
    assert {"default: comparison", "default: --fail-on costlier"} <= defaults
