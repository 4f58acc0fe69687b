#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Reads our trace event with the distribution's tracers: trace-cmd, perf, bpftrace.

They are put into a test kernel, record hits of a marker, and must show each of them. What cannot be
fetched is a SKIP with the reason.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import kernelsuite
import ktap
from ktap import Tally
from lablib import LabError, catalogue, programs
from lablib.apt import NotOnMirrorError
from lablib.machine import Request, boot, report
from suites import LOGS, Suite, run_all

# bpftrace comes with a compiler of 200 MB.
MEMORY = 2048
PACKAGES = {"trace-cmd": "trace-cmd", "perf": "linux-perf", "bpftrace": "bpftrace"}


def tracers(entry: catalogue.Entry) -> tuple[dict[Path, str], list[str]]:
    """What goes into the test kernel, and why something is missing."""
    try:
        tree = programs.fetch(entry.suite, "tracers", list(PACKAGES.values()))
    except NotOnMirrorError as error:
        return {}, [f"tracers: {error}"]
    files: dict[Path, str] = {}
    missing = []
    for name in PACKAGES:
        try:
            files |= dict(programs.with_libraries(tree, f"/usr/bin/{name}"))
        except LabError as error:
            missing.append(f"{name}: {error}")
    return files, missing


def in_kernel(kernel: str, modules: Path) -> Callable[[Path], Tally]:
    """The suite that boots a kernel with the tracers in it."""

    def run(log: Path) -> Tally:
        files, missing = tracers(catalogue.find(kernel))
        if not files:
            return Tally(skipped=missing)
        request = Request(
            kernel=kernel,
            job=kernelsuite.TESTS / "check_tracers.sh",
            out=log.with_suffix(""),
            modules=modules,
            additions=[(kernelsuite.TESTS, "/tests"), *files.items()],
            timeout=kernelsuite.TIMEOUT_SECONDS,
            memory=MEMORY,
        )
        result = boot(request)
        log.write_text(result.status)
        tally = ktap.parse(result.status.splitlines())
        tally.skipped += missing
        if not result.ok:
            report(result)
            tally.failed.append(result.reason)
        return tally

    return run


def main() -> int:
    """Run it for one kernel; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", default=catalogue.default_name(), help="name in kernels.txt")
    args = parser.parse_args()
    modules = kernelsuite.MODULES / args.kernel
    try:
        kernelsuite.fetch(catalogue.find(args.kernel))
        LOGS.mkdir(parents=True, exist_ok=True)
        total = kernelsuite.build(args.kernel, modules, LOGS / f"build-{args.kernel}.log")
        if not total.failed:
            total.add(run_all([Suite(f"tracers-{args.kernel}", in_kernel(args.kernel, modules))]))
    except LabError as error:
        print(f"check-tracers: {error}", file=sys.stderr)
        total = Tally(failed=[str(error)])
    print(total.closing_line())
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
