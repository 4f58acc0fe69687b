# SPDX-License-Identifier: GPL-2.0-only
"""The message on a machine where a suite's tree cannot be built."""

from __future__ import annotations

from pathlib import Path

import pytest
from kmtools.base.errors import UnableError
from kmtools.lab import chroot

# Without privileges: nothing is mounted, and the root directory is not changed.
PROGRAMS = {
    "unshare": 'while [ "$1" != sh ]; do shift; done; exec "$@"',
    "mount": "exit 0",
    "chroot": 'shift; exec "$@"',
}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make replacements for the programs that need root."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name, script in PROGRAMS.items():
        replace(directory / name, script)
    monkeypatch.setenv("PATH", str(directory), prepend=":")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return directory


def replace(program: Path, script: str) -> None:
    """Replace a program by another script."""
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_code_of_a_command_is_its_own(programs: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    for code in (0, 1, 2, 125):
        command = ["sh", "-c", f"echo said {code}; exit {code}"]
        assert chroot.run(tmp_path, [(tmp_path, "src")], command, log) == code
    assert log.read_text() == "said 0\nsaid 1\nsaid 2\nsaid 125\n"


@pytest.mark.parametrize(
    ("program", "script", "why"),
    [
        ("unshare", "echo unshare failed: not permitted >&2; exit 1", "unshare failed: not perm"),
        ("mount", '[ "$2" != proc ]', "chroot: cannot mount /proc in"),
        ("mount", '[ "$1" != --bind ]', "chroot: cannot mount src in"),
        ("chroot", "echo chroot: no such thing >&2; exit 125", "chroot: no such thing"),
    ],
)
def test_machine_that_allows_no_mounts_is_told(
    programs: Path, tmp_path: Path, program: str, script: str, why: str
) -> None:
    replace(programs / program, script)
    with pytest.raises(UnableError, match=f"lets nothing be run in {tmp_path}: {why}"):
        chroot.run(tmp_path, [(tmp_path, "src")], ["true"], tmp_path / "log")


def test_without_root_nothing_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(UnableError, match="tree needs root"):
        chroot.run(tmp_path, [(tmp_path, "src")], ["true"])
    assert not (tmp_path / "src").exists()
