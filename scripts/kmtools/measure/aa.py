# SPDX-License-Identifier: GPL-2.0-only
"""Measures copies of the same code: the native benchmarks once more, with fresh seeds."""

from __future__ import annotations

import tempfile
from pathlib import Path

from kmtools.measure import collect, native

PROCESSES = 16


def measure(number: int, blocks: int) -> collect.RawDir:
    """Return the samples of a run; runs of different numbers share no seed."""
    with tempfile.TemporaryDirectory() as scratch:
        raw = Path(scratch) / "raw"
        native.measure(raw, blocks=blocks, processes=PROCESSES, seed=number * PROCESSES)
        return collect.load_raw("native", raw)
