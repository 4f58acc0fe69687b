# SPDX-License-Identifier: GPL-2.0-only
"""Fetches trace-cmd, perf and bpftrace of a Debian release as files for an initramfs."""

from __future__ import annotations

from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.lab import unpack
from kmtools.lab.apt import FetchError

# The tracers and their packages. If a tracer cannot be fetched, its tests are skipped with the
# reason.
TRACERS = {"trace-cmd": "trace-cmd", "perf": "linux-perf", "bpftrace": "bpftrace"}
# The memory of a guest with tracers, in MiB. bpftrace contains a compiler of 200 MB.
TRACERS_MEMORY = 2048


def fetch_tracers(distro_suite: str) -> tuple[dict[Path, str], list[str]]:
    """Return the tracers with their libraries as additions to an initramfs, and a reason for each
    tracer that is missing."""
    try:
        tree = unpack.fetch_programs(distro_suite, "tracers", list(TRACERS.values()))
    except FetchError as error:
        return {}, [f"tracers: {error}"]
    files: dict[Path, str] = {}
    missing = []
    for name in TRACERS:
        try:
            files |= dict(unpack.list_program_files(tree, f"/usr/bin/{name}"))
        except UnableError as error:
            missing.append(f"{name}: {error}")
    return files, missing
