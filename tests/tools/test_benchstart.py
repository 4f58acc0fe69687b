# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the script that `make bench` starts: missing packages, no Python, unusable paths."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a checkout whose scripts/setup exits with the code $SETUP, and a PATH without
    python3."""
    programs = {
        "scripts/setup": 'exit "$SETUP"',
        # Fail unless the lock of builds in build/native is held.
        "bin/make": "! flock --nonblock build/native/.lock sh -c : && cp fake build/native/kmbench",
        "fake": 'echo "medians of $1"',
    }
    for name, text in programs.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    (tmp_path / "scripts" / "bench").write_bytes((ROOT / "scripts" / "bench").read_bytes())
    for name in ("bash", "sh", "dirname", "mkdir", "cp", "flock"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def run_bench_with_setup_exit_code(
    checkout: Path, setup_exit_code: int
) -> subprocess.CompletedProcess[str]:
    """Run scripts/bench, which `make bench` starts; `setup_exit_code` is the exit code of
    scripts/setup."""
    words = ["bash", str(checkout / "scripts" / "bench"), "--quick"]
    env = {**os.environ, "SETUP": str(setup_exit_code), "LC_ALL": "C"}
    return subprocess.run(words, env=env, capture_output=True, text=True, check=False)


def test_bench_without_python_prints_medians(checkout: Path) -> None:
    done = run_bench_with_setup_exit_code(checkout, 2)
    assert done.returncode == 2 and done.stdout == "medians of run\n"
    assert "apt-get install python3" in done.stderr


@pytest.mark.parametrize("lacks", ["folder", "lock"])
def test_error_names_an_unwritable_lock_of_builds(checkout: Path, lacks: str) -> None:
    """The message names no packages: installing packages would not help."""
    lock = checkout / "build/native/.lock"
    if lacks == "folder":
        lock.parent.parent.mkdir()
        lock.parent.touch()
    else:
        lock.mkdir(parents=True)
    done = run_bench_with_setup_exit_code(checkout, 0)
    why = "File exists" if lacks == "folder" else "Is a directory"
    said = f"bench: {lock} cannot be written to ({why}): remove build/native\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_failed_build_prints_the_packages_to_install(checkout: Path) -> None:
    (checkout / "bin/make").write_text("#!/bin/sh\nexit 1\n")
    done = run_bench_with_setup_exit_code(checkout, 0)
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be built without packages: apt-get install gcc make" in done.stderr


@pytest.mark.parametrize(
    ("setup", "exit_code", "expected"), [(0, 7, ""), (1, 7, "packages are missing"), (130, 130, "")]
)
def test_incomplete_setup_does_not_end_the_script(
    checkout: Path, setup: int, exit_code: int, expected: str
) -> None:
    python = checkout / "bin" / "python3"
    python.write_text('#!/bin/sh\necho "$@"\nexit 7\n')
    python.chmod(0o755)
    done = run_bench_with_setup_exit_code(checkout, setup)
    assert done.returncode == exit_code and expected in done.stderr
    assert done.stdout == ("scripts/kmarkers bench --quick\n" if exit_code == 7 else "")


@pytest.mark.parametrize("character", [*",:%;'&#$()*?[]<>|`\"\\", "blank"])
def test_make_refuses_a_directory_with_special_characters(tmp_path: Path, character: str) -> None:
    there = tmp_path / "two{}words".format(" " if character == "blank" else character)
    files = ["Makefile", "native/Makefile", "scripts/directory.mk"]
    for name in files:
        (there / name).parent.mkdir(parents=True, exist_ok=True)
        (there / name).write_bytes((ROOT / name).read_bytes())
    for folder in (there, there / "native"):
        words = ["make", "-C", str(folder), "bench"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert f"contains a {character}, which make cannot handle: move" in done.stderr
    left = [str(path.relative_to(there)) for path in there.rglob("*") if path.is_file()]
    assert sorted(left) == files


def test_error_names_an_unwritable_checkout(checkout: Path) -> None:
    (checkout / "results").touch()
    done = run_bench_with_setup_exit_code(checkout, 0)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == f"bench: {checkout} cannot be written to: free disk space, or work in a copy of this"
        " directory\n"
    )
