# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the conditions under which `lab shell` starts."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from kmtools.base.errors import UnableError
from kmtools.base.files import hold_lock
from kmtools.lab import shell
from kmtools.lab.machine import Request

REQUEST = Request("6.1", shell.JOB, shell.OUT)


def test_shell_without_a_terminal_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    with pytest.raises(UnableError, match="a shell needs a terminal; vm run --job"):
        shell.run_shell(REQUEST)


def test_second_shell_of_a_checkout_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(shell, "OUT", tmp_path / "shell")
    monkeypatch.setattr(shell, "_run_locked_shell", lambda *_: pytest.fail("it started"))
    with (
        hold_lock(tmp_path / "shell.lock", "unused"),
        pytest.raises(UnableError, match="another lab shell of this checkout is open: exit it"),
    ):
        shell.run_shell(REQUEST)


def test_compiled_files_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """During a build of modules, the number of object files that this build wrote is shown."""
    monkeypatch.setattr(shell, "LOG_SECONDS", 0.01)
    (tmp_path / "before.o").touch()
    os.utime(tmp_path / "before.o", (1, 1))
    with shell.show_compilation(tmp_path):
        (tmp_path / "first.o").touch()
        (tmp_path / "second.o").touch()
        (tmp_path / "third.c").touch()
        time.sleep(0.2)
    assert "lab shell: 2 files compiled in 0 s\n" in capsys.readouterr().out
