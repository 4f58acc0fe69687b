# SPDX-License-Identifier: GPL-2.0-only
"""Runs the benchmarks in user space, in several processes one after the other.

Where the kernel and the allocator put a process's pages, and what else its start decides, stays
the same while it lives, and can make two pieces of code differ by a few cycles for that long. A
single process would show such a difference with a narrow interval. Several show how much it
varies: their blocks follow each other in one series, whose interval is widened for blocks that
resemble their neighbours.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from lablib import ROOT

KMBENCH = ROOT / "build" / "native" / "kmbench"
BLOCK_COLUMN = 3
HEADER_LINES = 2


class NativeError(Exception):
    """kmbench failed; the message is what it said."""


def shift_blocks(line: str, by: int) -> str:
    """A row of samples with its block number moved."""
    fields = line.split(",")
    fields[BLOCK_COLUMN] = str(int(fields[BLOCK_COLUMN]) + by)
    return ",".join(fields)


def append_samples(source: Path, target: Path, first_block: int) -> None:
    """Add the samples of one process behind those of the earlier ones."""
    lines = source.read_text(encoding="ascii").splitlines()
    rows = [shift_blocks(line, first_block) for line in lines[HEADER_LINES:]]
    head = [] if target.exists() else lines[:HEADER_LINES]
    with target.open("a", encoding="ascii") as stream:
        stream.writelines(f"{line}\n" for line in head + rows)


def measure(
    raw: Path,
    *,
    blocks: int,
    processes: int,
    seed: int,
    show: Callable[[str], None] | None = None,
) -> None:
    """Leave samples and env in `raw`: `processes` runs of `blocks` blocks of every benchmark.

    The n-th process has seed `seed` + n - 1. NativeError if one fails.
    """
    raw.mkdir(parents=True)
    for number in range(processes):
        if show is not None:
            show(f"process {number + 1} of {processes}, {blocks} blocks of every benchmark")
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "out"
            words = [KMBENCH, "run", "--blocks", blocks, "--seed", seed + number, "--out", out]
            done = subprocess.run(
                [str(word) for word in words], capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise NativeError(f"kmbench failed: {done.stderr.strip()}")
            for source in sorted(out.glob("*.csv")):
                append_samples(source, raw / source.name, number * blocks)
            if number == 0:
                env = (out / "env").read_text(encoding="utf-8")
                (raw / "env").write_text(f"{env}processes={processes}\n", encoding="utf-8")
