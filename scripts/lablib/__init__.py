# SPDX-License-Identifier: GPL-2.0-only
"""Parts of the test-kernel laboratory: where it lives and how it reports misuse."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class LabError(Exception):
    """Something the caller can put right: a name, a privilege, a missing package."""


def cache_dir() -> Path:
    """Return the directory that holds everything that was downloaded and unpacked."""
    return Path(os.environ.get("KMARKERS_CACHE") or ROOT / "build" / "lab").resolve()


def require_root(action: str) -> None:
    """Refuse an action that needs privileges this process does not have."""
    if os.geteuid() != 0:
        raise LabError(f"{action} needs root (it makes device nodes and mounts); run it with sudo")
