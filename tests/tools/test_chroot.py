# SPDX-License-Identifier: GPL-2.0-only
"""Tests of running commands in a chroot, and of the message on a machine that allows no mounts."""

from __future__ import annotations

from pathlib import Path

import pytest
from kmtools.base.errors import UnableError
from kmtools.base.files import hold_lock
from kmtools.lab import chroot

# Scripts that replace programs and need no privileges: they mount nothing, and do not change the
# root directory.
PROGRAMS = {
    "unshare": 'while [ "$1" != sh ]; do shift; done; exec "$@"',
    "mount": "exit 0",
    "chroot": 'shift; exec "$@"',
}


@pytest.fixture
def fake_chroot_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the scripts of PROGRAMS into a directory at the head of PATH, and pretend to be root;
    return the directory."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name, script in PROGRAMS.items():
        write_script(directory / name, script)
    monkeypatch.setenv("PATH", str(directory), prepend=":")
    monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return directory


def write_script(program: Path, script: str) -> None:
    """Write a shell script in place of a program."""
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_exit_code_of_a_command_in_a_chroot_is_returned(
    fake_chroot_programs: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    for code in (0, 1, 2, 125):
        command = ["sh", "-c", f"echo said {code}; exit {code}"]
        assert chroot.run_in_chroot(tmp_path, [(tmp_path, "src")], command, log) == code
    assert log.read_text() == "said 0\nsaid 1\nsaid 2\nsaid 125\n"


def test_tree_is_locked_while_a_command_runs_in_it(
    fake_chroot_programs: Path, tmp_path: Path
) -> None:
    """Other commands may run in the tree at the same time, but no process may replace it."""
    lock = tmp_path / "cache" / "suite-bookworm.lock"
    tree = tmp_path / "bookworm"
    for option, code in (("-x", 1), ("-s", 0)):
        command = ["flock", "-n", option, str(lock), "true"]
        assert chroot.run_in_chroot(tree, [(tmp_path, "src")], command) == code
    with hold_lock(lock, "still in use"):
        pass


@pytest.mark.parametrize(
    ("program", "script", "why"),
    [
        ("unshare", "echo unshare failed: not permitted >&2; exit 1", "unshare failed: not perm"),
        ("mount", '[ "$2" != proc ]', "chroot: cannot mount /proc in"),
        ("mount", '[ "$1" != --bind ]', "chroot: cannot mount src in"),
        ("chroot", "echo chroot: no such thing >&2; exit 125", "chroot: no such thing"),
    ],
)
def test_failed_mount_of_a_chroot_raises_an_error(
    fake_chroot_programs: Path, tmp_path: Path, program: str, script: str, why: str
) -> None:
    write_script(fake_chroot_programs / program, script)
    with pytest.raises(UnableError, match=f"no command can run in a chroot in {tmp_path}: {why}"):
        chroot.run_in_chroot(tmp_path, [(tmp_path, "src")], ["true"], tmp_path / "log")


def test_no_command_is_run_in_a_chroot_without_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(UnableError, match="in a chroot needs root"):
        chroot.run_in_chroot(tmp_path, [(tmp_path, "src")], ["true"])
    assert not (tmp_path / "src").exists()
