# SPDX-License-Identifier: GPL-2.0-only
"""Reads our trace event with the distribution's tracers: trace-cmd, perf, bpftrace.

They are put into a test kernel, record hits of a marker, and must show each of them. What cannot be
fetched is a SKIP with the reason.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.check import kernelsuite
from kmtools.check.ktap import Tally
from kmtools.check.suites import Suite
from kmtools.lab import catalogue, programs
from kmtools.lab.apt import FetchError
from kmtools.lab.machine import Request

# bpftrace comes with a compiler of 200 MB.
MEMORY = 2048
PACKAGES = {"trace-cmd": "trace-cmd", "perf": "linux-perf", "bpftrace": "bpftrace"}


def tracers(entry: catalogue.Entry) -> tuple[dict[Path, str], list[str]]:
    """What goes into the test kernel, and why something is missing."""
    try:
        tree = programs.fetch(entry.suite, "tracers", list(PACKAGES.values()))
    except FetchError as error:
        return {}, [f"tracers: {error}"]
    files: dict[Path, str] = {}
    missing = []
    for name in PACKAGES:
        try:
            files |= dict(programs.with_libraries(tree, f"/usr/bin/{name}"))
        except UnableError as error:
            missing.append(f"{name}: {error}")
    return files, missing


def run(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel with the tracers in it."""
    files, missing = tracers(catalogue.find(kernel))
    if not files:
        return Tally(skipped=missing, absent=1)
    request = Request(
        kernel=kernel,
        job=kernelsuite.JOBS / "tracers.sh",
        out=log.with_suffix(""),
        modules=modules,
        additions=[(kernelsuite.TESTS, "/tests"), *files.items()],
        timeout=kernelsuite.TIMEOUT_SECONDS,
        memory=MEMORY,
    )
    tally = kernelsuite.run_alone(request, log)
    tally.skipped += missing
    return tally


def suites(kernel: str, modules: Path) -> list[Suite]:
    """The suite, as a list of one."""
    what = "our trace event as trace-cmd, perf and bpftrace show it"
    obstacle = kernelsuite.obstacle(kernel)
    return [Suite(f"tracers-{kernel}", partial(run, kernel, modules), what, obstacle, 30)]
