# SPDX-License-Identifier: GPL-2.0-only
"""Runs kmbench and the other programs of the user-space build, for tests of their output."""

from __future__ import annotations

import subprocess
from pathlib import Path

from kmtools.base.paths import ROOT
from kmtools.measure import collect

NATIVE = ROOT / "build" / "native"
KMBENCH = NATIVE / "kmbench"
EXIT_USAGE, EXIT_SKIP, EXIT_INTERRUPTED = 2, 4, 130


def build(*names: str) -> None:
    """Build programs or libraries; by default the programs that these tests run."""
    names = names or ("kmbench", "kmbench-no-tsc", "test", "deny")
    programs = [str(NATIVE / name) for name in names]
    subprocess.run(["make", "-s", "-C", str(ROOT / "native"), *programs], check=True)


def run(*words: object, one_cpu: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, on a single CPU if asked."""
    text = [str(word) for word in words]
    if one_cpu:
        text = ["taskset", "1", *text]
    return subprocess.run(text, capture_output=True, text=True, timeout=60, check=False)


def kmbench(*words: object) -> subprocess.CompletedProcess[str]:
    """Run kmbench."""
    return run(KMBENCH, *words)


def denied(what: str, *words: object, one_cpu: bool = False) -> subprocess.CompletedProcess[str]:
    """Run kmbench where a system call is refused."""
    return run(NATIVE / "deny", what, "--", KMBENCH, *words, one_cpu=one_cpu)


def env_of(directory: Path) -> dict[str, str]:
    """Return the env file of a run."""
    return collect.read_key_values(directory / "env")
