# SPDX-License-Identifier: GPL-2.0-only
"""The make command for programs in native/, and a check that the compiler is installed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from kmtools.base.errors import FailedError, explain_error
from kmtools.base.paths import ROOT
from kmtools.base.processes import capture_output

INSTALL_COMPILER = "apt-get install gcc make libc6-dev"


def build_make_command(
    *targets: object, out: Path | None = None, extra: str = "", tree: Path = ROOT
) -> list[object]:
    """Create the folder `out`, and return the make command that builds targets of native/ into
    `out` with the compiler flags `extra`. The command waits for other make commands with the same
    `out`."""
    folder = out or tree / "build" / "native"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FailedError(f"{folder} cannot be made: {explain_error(error)}") from error
    lock = ["flock", "--no-fork", folder / ".lock"]
    variables = [f"OUT={out}"] if out else []
    variables += [f"EXTRA={extra}"] if extra else []
    jobs = f"-j{os.cpu_count() or 1}"
    return [*lock, "make", "-s", jobs, "-C", tree / "native", *variables, *targets]


def find_compiler_obstacle() -> str:
    """Return the reason why programs cannot be compiled on this machine, with the remedy; "" if
    gcc, make and the C headers are installed."""
    for program in ("gcc", "make"):
        if not shutil.which(program):
            return f"{program} is missing: {INSTALL_COMPILER}"
    if not shutil.which("flock"):
        return "flock is missing: apt-get install util-linux"
    if capture_output(["gcc", "-E", "-x", "c", "-include", "stdio.h", "/dev/null"]).returncode:
        return f"stdio.h is missing: {INSTALL_COMPILER}"
    return ""
