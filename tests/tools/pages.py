# SPDX-License-Identifier: GPL-2.0-only
"""Runs whose pages are tested: the reference run, and one of hostile names."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import rawdata
from kmtools.base.paths import ROOT
from kmtools.cli import main

REFERENCE = ROOT / "results" / "reference"
EVIL = "<script>alert('1')</script>&<b>"
NAMES = {"none": 1.0, "none-clone": 1.0, EVIL: 9.0, "-": 2.0, "é\u202e": 3.0}
HOSTILE = rawdata.Bench("empty-loop", NAMES)


def make_reference(root: Path) -> Path:
    """The reference run, its page made from its samples."""
    run = root / "reference"
    run.mkdir()
    shutil.copy(REFERENCE / "env.json", run)
    (run / "samples.csv").write_bytes(gzip.decompress((REFERENCE / "samples.csv.gz").read_bytes()))
    assert main(["report", str(run)]) == 0
    return run


def make_hostile(root: Path) -> Path:
    """A run whose names are HTML, long, or no letters."""
    one, other = "a-long-name" * 9, "and-another" * 9
    long = rawdata.Bench("getppid-quiet", {one: 1.0, f"{one}-clone": 1.0, other: 9.0})
    raw = rawdata.write_tier(root / "raw", 12, 1, [HOSTILE, long], emulated="0", cpu_model=EVIL)
    assert main(["collect", str(root / "run"), f"--raw=native={raw}"]) == 0
    assert main(["report", str(root / "run")]) == 0
    return root / "run"
