# SPDX-License-Identifier: GPL-2.0-only
"""Counts the planned, the measured and the kept blocks of a benchmark. A block is a group of
consecutive timed loops.

A block is missing for one of two reasons: so many windows of the block are flagged that it has no
slope, or the time limit of the benchmark was reached before the block was measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kmtools.measure.rundir import PLANNED, Tier
from kmtools.measure.samples import Sample

# The value of an env key that begins with PLANNED: the number of blocks that each process of a
# benchmark should measure, and the time limit of the benchmark.
PLAN_PATTERN = re.compile(r"(\d+) blocks in (\d+) s")

# A note gives the number of kept blocks if at most this share of the planned blocks was kept. A
# smaller loss of blocks hardly widens an interval, and is visible in the column n.
NOTED_SHARE = 0.9


@dataclass(frozen=True)
class KeptBlocks:
    """The numbers of kept, measured and planned blocks of a benchmark. A result is computed from
    the kept blocks. `seconds` is the time limit of the benchmark, 0 if it has none."""

    kept: int
    measured: int
    planned: int
    seconds: int = 0

    @property
    def share(self) -> float:
        """The number of kept blocks divided by the number of planned blocks."""
        return self.kept / self.planned

    @property
    def causes(self) -> str:
        """The reasons why blocks are missing, as a text."""
        causes = []
        if self.measured < self.planned:
            causes.append(f"time limit of {self.seconds} s")
        if self.kept < self.measured:
            causes.append(f"{self.measured - self.kept} flagged")
        return ", ".join(causes)

    def describe_missing_blocks(self) -> str:
        """Return a note with the numbers of kept and planned blocks and the reasons for missing
        blocks; an empty text if more than NOTED_SHARE of the planned blocks was kept."""
        if self.share > NOTED_SHARE:
            return ""
        return f"{self.kept} of {self.planned} blocks: {self.causes}"


def count_kept_and_planned_blocks(
    tier: Tier, benchmark: str, samples: Iterable[Sample], kept: int | None = None
) -> KeptBlocks:
    """Return the numbers of blocks of a benchmark, from its `samples`. `kept` is the number of
    blocks that a result is computed from; None if all measured blocks are kept. If the benchmark
    has no time limit, all planned blocks were measured."""
    blocks = {(sample.process, sample.block) for sample in samples}
    measured = planned = len(blocks)
    seconds = 0
    if limit := PLAN_PATTERN.fullmatch(tier.env.get(f"{PLANNED}{benchmark}", "")):
        planned = max(measured, int(limit[1]) * len({process for process, _ in blocks}))
        seconds = int(limit[2])
    return KeptBlocks(measured if kept is None else kept, measured, planned, seconds)


def make_kept_blocks_field(blocks: KeptBlocks | None) -> dict[str, Any]:
    """Return the field `blocks` of an entry in summary.json; no field if no block is missing."""
    if blocks is None or blocks.kept == blocks.planned:
        return {}
    return {"blocks": dict(vars(blocks))}


def parse_kept_blocks_field(entry: Any) -> KeptBlocks | None:
    """Return the content of the field `blocks` of an entry in summary.json; None if the entry has
    no such field."""
    return KeptBlocks(**entry["blocks"]) if "blocks" in entry else None
