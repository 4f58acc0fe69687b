# SPDX-License-Identifier: GPL-2.0-only
"""Paths of the source tree, and of the cache of downloads."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from kmtools.base.errors import UnableError

CATALOGUE = "kernels.txt"

# Directories that are not part of a source tree: history, results, caches, earlier builds.
SKIPPED_DIRS = {
    *(".git", "build", "results", ".venv", ".tmp_versions"),
    *("__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"),
}
SKIPPED_SUFFIXES = {".o", ".ko", ".mod", ".cmd", ".a", ".pyc", ".order", ".symvers"}
GENERATED_ENDINGS = (".mod.c",)

# Root of the checkout that holds this file, or the directory in which these tools are installed.
OWN = Path(__file__).resolve().parents[3]
INSTALLED = not (OWN / CATALOGUE).is_file()
# The text with which a user calls the command kmarkers: its name if the command is installed, else
# its path in the checkout.
COMMAND = "kmarkers" if INSTALLED else "scripts/kmarkers"


def find_checkout() -> Path:
    """Return the root of the checkout that holds this file. If this file is installed, return the
    root of the checkout that holds the working directory; without such a checkout, return the
    working directory."""
    if not INSTALLED:
        return OWN
    here = Path.cwd()
    return next((path for path in (here, *here.parents) if (path / CATALOGUE).is_file()), here)


ROOT = find_checkout()


def require_checkout() -> None:
    """Raise UnableError unless ROOT is a checkout. If the Debian package has installed this
    command, the message names README.Debian, which says how to get a checkout."""
    if not (ROOT / CATALOGUE).is_file():
        readme = OWN.parent / "doc" / "kmarkers" / "README.Debian"
        where = f"; {readme} names the repository" if readme.is_file() else ""
        raise UnableError(
            f"{ROOT} is not a checkout of kmarkers: clone kmarkers, and run the command in the"
            f" clone{where}"
        )


# The directory of downloaded and unpacked files, unless KMARKERS_CACHE names another one.
DEFAULT_CACHE = ROOT / "build" / "lab"


def read_version() -> str:
    """Return the version of these tools, from the file VERSION if they are installed, else from
    version.h in the checkout."""
    if (installed := OWN / "VERSION").is_file():
        return installed.read_text(encoding="utf-8").strip()
    header = (OWN / "include" / "kmarkers" / "version.h").read_text(encoding="utf-8")
    found = re.search(r'KMARKERS_VERSION\s+"([^"]+)"', header)
    return found[1] if found else ""


def get_cache_dir() -> Path:
    """Return the directory of all downloaded and unpacked files. The variable KMARKERS_CACHE names
    this directory; the default is DEFAULT_CACHE."""
    return Path(os.environ.get("KMARKERS_CACHE") or DEFAULT_CACHE).resolve()


def list_sources(src: Path) -> Iterator[Path]:
    """Yield the paths of the files in the source tree `src`, relative to `src`, without generated
    files."""
    for directory, names, files in os.walk(src):
        names[:] = sorted(name for name in names if name not in SKIPPED_DIRS)
        for name in files:
            generated = name.endswith(GENERATED_ENDINGS) or Path(name).suffix in SKIPPED_SUFFIXES
            path = Path(directory) / name
            if not generated and path.is_file():
                yield path.relative_to(src)
