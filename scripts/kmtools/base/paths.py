# SPDX-License-Identifier: GPL-2.0-only
"""Where the sources are, and where the laboratory keeps what it downloads."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DEFAULT_CACHE = ROOT / "build" / "lab"


def cache_dir() -> Path:
    """Return the directory that holds everything that was downloaded and unpacked."""
    return Path(os.environ.get("KMARKERS_CACHE") or DEFAULT_CACHE).resolve()
