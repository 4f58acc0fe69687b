# SPDX-License-Identifier: GPL-2.0-only
"""Runs the benchmarks inside a test kernel and brings their samples back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from lablib import ROOT
from lablib.machine import Request, boot, report

GUEST_JOB = ROOT / "scripts" / "guest" / "bench.sh"
KMLIVE = ROOT / "build" / "native" / "kmlive"
TIMEOUT_SECONDS = 480.0


class GuestError(Exception):
    """A test kernel did not come through; its last words are on stderr."""


def measure(
    tier: str,
    kernel: str,
    modules: Path,
    raw: Path,
    *,
    blocks: int,
    seed: int,
    live: int = 0,
    show: Callable[[str], None] | None = None,
) -> None:
    """Boot `kernel`, run every benchmark in it and leave the samples, env and vm.json in `raw`.

    `live` is the number of blocks in which the kernel's own getppid is measured, from user space.
    `show` receives the guest's progress lines. Nothing is kept of a boot that failed, be it by a
    panic, a warning in the kernel log or a hang: then this raises GuestError.
    """
    out = ROOT / "build" / "vm" / f"bench-{tier}"
    out.mkdir(parents=True, exist_ok=True)
    config = out / "bench.conf"
    config.write_text(f"blocks {blocks}\nseed {seed}\nlive {live}\n", encoding="ascii")
    request = Request(
        kernel=kernel,
        job=GUEST_JOB,
        out=out,
        tier=tier,
        modules=modules,
        additions=[(config, "/bench.conf"), *([(KMLIVE, "/kmlive")] if live else [])],
        timeout=TIMEOUT_SECONDS,
    )
    result = boot(request, show)
    if not result.ok or result.results is None:
        report(result)
        raise GuestError(f"the {tier} run in kernel {kernel} failed: {result.reason}")
    shutil.rmtree(raw, ignore_errors=True)
    shutil.copytree(result.results, raw)
    shutil.copy(out / "vm.json", raw / "vm.json")
