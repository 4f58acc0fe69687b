# SPDX-License-Identifier: GPL-2.0-only
"""Messages before modules are loaded into the running kernel; nothing is loaded here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT


def load(root: Path) -> subprocess.CompletedProcess[str]:
    """Ask to load the modules, with system files below this root, and give no consent."""
    return subprocess.run(
        ["scripts/host", "load"],
        cwd=ROOT,
        env={**os.environ, "KMARKERS_ROOT": str(root)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="loading modules needs root")
@pytest.mark.parametrize("sign", ["sys/module/lkrg", "sys/module/p_lkrg", "proc/sys/lkrg"])
def test_lkrg_is_warned_of(tmp_path: Path, sign: str) -> None:
    (tmp_path / sign).mkdir(parents=True)
    said = load(tmp_path)
    assert said.returncode == 2
    assert "LKRG is loaded" in said.stderr
    assert "Documentation/patcher.md" in said.stderr
    assert "### LKRG" in (ROOT / "Documentation" / "patcher.md").read_text(encoding="utf-8")


@pytest.mark.skipif(os.geteuid() != 0, reason="loading modules needs root")
def test_nothing_is_said_without_lkrg(tmp_path: Path) -> None:
    said = load(tmp_path)
    assert said.returncode == 2
    assert "LKRG" not in said.stderr
