#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How often do two copies of the same code come out different?

Repeats the native benchmarks with fresh seeds and judges each A/A clone by the rule that judges
everything else. At most one in twenty may come out slower or faster.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import collect
import nativebench
from rundir import parse_sample
from verdicts import FASTER, SLOWER, Result, analyse

PROCESSES = 8
ALLOWED = 0.05


def clones(seed: int, blocks: int) -> list[Result]:
    """The results of the A/A clones of one run."""
    with tempfile.TemporaryDirectory() as scratch:
        raw = Path(scratch) / "raw"
        nativebench.measure(raw, blocks=blocks, processes=PROCESSES, seed=seed * PROCESSES)
        loaded = collect.load_raw("native", raw)
    results = analyse((parse_sample(row) for row in loaded.rows), [loaded.tier])
    return [result for result in results if result.is_clone]


def main() -> int:
    """Exit code 1 if too many clones differ from their originals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--blocks", type=int, default=250, help="blocks per process")
    args = parser.parse_args()
    judged = wrong = 0
    for seed in range(1, args.runs + 1):
        for result in clones(seed, args.blocks):
            judged += 1
            bad = result.verdict in (SLOWER, FASTER)
            wrong += bad
            assert result.delta_ci is not None
            interval = f"[{result.delta_ci.lo:+.3f}, {result.delta_ci.hi:+.3f}]"
            flag = "  <-- wrong" if bad else ""
            print(
                f"{seed:3} {result.benchmark:18} {interval:22} {result.verdict}{flag}", flush=True
            )
    share = wrong / judged
    print(f"{wrong} of {judged} A/A clones slower or faster ({share:.1%}, at most {ALLOWED:.0%})")
    return 1 if share > ALLOWED else 0


if __name__ == "__main__":
    sys.exit(main())
