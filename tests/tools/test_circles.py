# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers check lint` with an import cycle in kmtools: the error names the modules of
the cycle."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT


@pytest.mark.parametrize(
    ("first", "second", "command"),
    [
        ("lab/cache", "lab/catalogue", "lint"),
        ("lab/cache", "lab/unpack", "lint"),
        ("base/errors", "base/paths", "lint"),
        ("lint/checkpatch", "lint/linters", "lint"),
    ],
)
def test_error_names_the_modules_of_an_import_cycle(
    tmp_path: Path, first: str, second: str, command: str
) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shutil.copy(ROOT / "kernels.txt", tmp_path)
    shutil.copytree(ROOT / "tests" / "vm", tmp_path / "tests" / "vm")
    for name, other in ((first, second), (second, first)):
        path = tmp_path / "scripts" / "kmtools" / f"{name}.py"
        future = "from __future__ import annotations\n"
        leads = f"{future}from kmtools.{other.replace('/', '.')} import {other[-2:]}_late\n"
        path.write_text(path.read_text().replace(future, leads) + f"{name[-2:]}_late = 1\n")
    words = [sys.executable, str(tmp_path / "scripts" / "kmarkers"), "check", command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert (done.returncode, "Traceback" in said) == (1, False)
    line = next(line for line in said.splitlines() if "circular import" in line)
    assert all(f"scripts/kmtools/{name}.py" in line for name in (first, second))
