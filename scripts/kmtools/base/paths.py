# SPDX-License-Identifier: GPL-2.0-only
"""Where the sources are, and where the laboratory keeps what it downloads."""

from __future__ import annotations

import os
from pathlib import Path

CATALOGUE = "kernels.txt"


def checkout() -> Path:
    """Return the checkout that holds this file; if it is installed, the one it is called in."""
    own = Path(__file__).resolve().parents[3]
    if (own / CATALOGUE).is_file():
        return own
    here = Path.cwd()
    return next((path for path in (here, *here.parents) if (path / CATALOGUE).is_file()), here)


ROOT = checkout()
DEFAULT_CACHE = ROOT / "build" / "lab"


def cache_dir() -> Path:
    """Return the directory that holds everything that was downloaded and unpacked."""
    return Path(os.environ.get("KMARKERS_CACHE") or DEFAULT_CACHE).resolve()
