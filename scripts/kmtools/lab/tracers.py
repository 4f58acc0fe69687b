# SPDX-License-Identifier: GPL-2.0-only
"""Fetches the tracers of a Debian release as files for a test kernel."""

from __future__ import annotations

from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.lab import unpack
from kmtools.lab.apt import FetchError

# The packages of the tracers. A tracer that cannot be fetched is a SKIP with the reason.
TRACERS = {"trace-cmd": "trace-cmd", "perf": "linux-perf", "bpftrace": "bpftrace"}
# The memory of a guest in MB: bpftrace brings a compiler of 200 MB.
TRACERS_MEMORY = 2048


def fetch_tracers(suite: str) -> tuple[dict[Path, str], list[str]]:
    """Return the files for the test kernel, and the reason for each program that is missing."""
    try:
        tree = unpack.fetch_programs(suite, "tracers", list(TRACERS.values()))
    except FetchError as error:
        return {}, [f"tracers: {error}"]
    files: dict[Path, str] = {}
    missing = []
    for name in TRACERS:
        try:
            files |= dict(unpack.with_libraries(tree, f"/usr/bin/{name}"))
        except UnableError as error:
            missing.append(f"{name}: {error}")
    return files, missing
