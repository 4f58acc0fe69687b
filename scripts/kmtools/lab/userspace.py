# SPDX-License-Identifier: GPL-2.0-only
"""Builds for user space: the make command, and the check for the programs and headers that it
needs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from kmtools.base.paths import ROOT
from kmtools.base.processes import captured

NEEDS = "apt-get install gcc make libc6-dev"


def make(
    *targets: object, out: Path | None = None, extra: str = "", tree: Path = ROOT
) -> list[object]:
    """Return the command that builds targets of a source tree into `out`, with further flags."""
    variables = [f"OUT={out}"] if out else []
    variables += [f"EXTRA={extra}"] if extra else []
    jobs = f"-j{os.cpu_count() or 1}"
    return ["make", "-s", jobs, "-C", tree / "native", *variables, *targets]


def obstacle() -> str:
    """Return why building for user space is impossible here, with the remedy; empty if it is
    possible."""
    for program in ("gcc", "make"):
        if not shutil.which(program):
            return f"{program} is missing: {NEEDS}"
    if captured(["gcc", "-E", "-x", "c", "-include", "stdio.h", "/dev/null"]).returncode:
        return f"stdio.h is missing: {NEEDS}"
    return ""
