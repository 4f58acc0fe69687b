# SPDX-License-Identifier: GPL-2.0-only
"""Every command explains itself, and does nothing else when it is asked to."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Each script is asked in the same process: starting one for each takes long.
ASK = """
import argparse, contextlib, io, runpy, sys

def check(parser):
    for action in parser._actions:
        commands = isinstance(action, argparse._SubParsersAction)
        subs = action.choices.values() if commands else ()
        for sub in subs:
            check(sub)
        if not (action.help or subs):
            undescribed.append(action.dest)
    return "usage: " + parser.prog

argparse.ArgumentParser.format_help = check
for path in sys.argv[1:]:
    sys.argv = [path, "--help"]
    undescribed, code = [], "returned"
    sys.path.insert(0, path.rpartition("/")[0])
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(path, run_name="__main__")
    except SystemExit as error:
        code = error.code
    if code or undescribed or "usage: " not in said.getvalue():
        print(path, code, *undescribed)
"""


def test_every_option_is_explained() -> None:
    places = [*(ROOT / "scripts").rglob("*.py"), ROOT / "tests/model/run.py"]
    scripts = [path for path in places if "__main__" in path.read_text(encoding="utf-8")]
    assert len(scripts) > 15
    words = [sys.executable, "-c", ASK, *map(str, sorted(scripts))]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


@pytest.mark.parametrize("script", ["scripts/setup", "scripts/bench", "scripts/host", ".ci/run"])
@pytest.mark.parametrize("word", ["--help", "-h"])
def test_shell_scripts_explain_themselves(tmp_path: Path, script: str, word: str) -> None:
    copy = tmp_path / script
    copy.parent.mkdir()
    shutil.copy(ROOT / script, copy)
    # Nothing but what reads a file is there: whoever goes on fails.
    (tmp_path / "bin").mkdir()
    for name in ("bash", "dirname", "sed"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    env = {"PATH": str(tmp_path / "bin")}
    done = subprocess.run([copy, word], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"usage: {script}" in done.stdout and "SPDX" not in done.stdout
    assert not (tmp_path / "build").exists()
