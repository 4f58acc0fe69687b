# SPDX-License-Identifier: GPL-2.0-only
"""Runs kmbench and the other programs of the user-space build, for tests of their output."""

from __future__ import annotations

import subprocess
from pathlib import Path

from kmtools.base.paths import ROOT
from kmtools.lab.userspace import build_make_command
from kmtools.measure import collect

NATIVE = ROOT / "build" / "native"
KMBENCH = NATIVE / "kmbench"
LIBRARIES = ("libkmarkers.a", "libkmbench.a")
EXIT_USAGE, EXIT_SKIP, EXIT_INTERRUPTED = 2, 4, 130


def build_native_programs(*names: str) -> None:
    """Build the programs or libraries `names`; by default the programs that most tests run."""
    names = names or ("kmbench", "kmbench-no-tsc", "test", "deny")
    build_native_targets(*(NATIVE / name for name in names))


def build_native_targets(*targets: object) -> None:
    """Build targets of native/Makefile."""
    subprocess.run([str(word) for word in build_make_command(*targets)], check=True)


def run_program(*command: object, one_cpu: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; with `one_cpu`, on a single CPU."""
    text = [str(word) for word in command]
    if one_cpu:
        text = ["taskset", "1", *text]
    return subprocess.run(text, capture_output=True, text=True, timeout=60, check=False)


def run_kmbench(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run kmbench."""
    return run_program(KMBENCH, *arguments)


def run_kmbench_with_failing_call(
    failure: str, *arguments: object, one_cpu: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run kmbench while a system call fails. `failure` names the call and the error: CALL=ERRNO."""
    return run_program(NATIVE / "deny", failure, "--", KMBENCH, *arguments, one_cpu=one_cpu)


def read_env_of_raw_folder(directory: Path) -> dict[str, str]:
    """Return the keys and values in the env file of a raw directory."""
    return collect.read_key_values(directory / "env")
