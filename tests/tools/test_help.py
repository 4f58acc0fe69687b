# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the option --help, for all commands and scripts: --help needs no optional package, and
has no side effect."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# A program that checks the help of all commands in one process, because a process for each command
# is slow. The program prints the commands with a fault, then the number of commands.
ASK = """
import argparse, contextlib, io, runpy, sys
sys.path.insert(0, "scripts")
blocked = ["numpy", "matplotlib", "elftools", "duckdb", "ruptures", "scipy"]
sys.modules.update(dict.fromkeys(blocked))
from kmtools.cli import COMMANDS

def list_undescribed_options(parser):
    for action in parser._actions:
        commands = isinstance(action, argparse._SubParsersAction)
        subs = action.choices.values() if commands else ()
        for sub in subs:
            list_undescribed_options(sub)
        if not (action.help or subs):
            undescribed.append(action.dest)
    return "usage: " + parser.prog

argparse.ArgumentParser.format_help = list_undescribed_options
asked = [["scripts/kmarkers", *name.split()] for name in COMMANDS]
for path, *words in [*asked, ["tests/model/run.py"]]:
    sys.argv = [path, *words, "--help"]
    undescribed, code = [], "returned"
    sys.path.insert(0, path.rpartition("/")[0])
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(path, run_name="__main__")
    except SystemExit as error:
        code = error.code
    if code or undescribed or "usage: " not in said.getvalue():
        print(path, *words, code, *undescribed)
print(len(COMMANDS))
"""


def test_every_command_line_option_has_a_help_text() -> None:
    words = [sys.executable, "-c", ASK]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    (count,) = done.stdout.splitlines()
    assert int(count) > 15
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize("script", ["scripts/setup", "scripts/bench", "scripts/host", ".ci/run"])
@pytest.mark.parametrize("word", ["--help", "-h"])
def test_shell_scripts_print_help(tmp_path: Path, script: str, word: str) -> None:
    copy = tmp_path / script
    copy.parent.mkdir()
    shutil.copy(ROOT / script, copy)
    # PATH has only programs that read files, so that a script fails if it does more than print its
    # help.
    (tmp_path / "bin").mkdir()
    for name in ("bash", "dirname", "sed"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    env = {"PATH": str(tmp_path / "bin")}
    done = subprocess.run([copy, word], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"usage: {script}" in done.stdout and "SPDX" not in done.stdout
    assert not (tmp_path / "build").exists()
