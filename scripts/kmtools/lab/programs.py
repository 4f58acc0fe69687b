# SPDX-License-Identifier: GPL-2.0-only
"""Programs of a distribution for a test kernel, with the libraries that they need.

They come from a tree of their own beside the suites and go into the initramfs, which otherwise
holds busybox alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kmtools.base.errors import UnableError, require_root
from kmtools.base.processes import captured
from kmtools.lab.apt import PrivateApt
from kmtools.lab.cache import locked
from kmtools.lab.unpack import ensure_suite, suite_dir

LOADER = "/lib64/ld-linux-x86-64.so.2"
LIBRARY = re.compile(r"^\s*(?:\S+ => )?(/\S+) \(0x", re.M)


def fetch(suite: str, kind: str, packages: Sequence[str]) -> Path:
    """Make sure that packages and their dependencies are unpacked; return the tree."""
    name = f"{suite}-{kind}"
    tree = suite_dir(name)
    if not tree.is_dir():
        require_root("unpacking programs")
        with locked("fetch"):
            apt = PrivateApt(suite)
            apt.update()
            ensure_suite(apt, name, apt.closure(packages))
    return tree


def with_libraries(tree: Path, program: str) -> list[tuple[Path, str]]:
    """Return a program of a tree and its libraries, as additions to an initramfs."""
    listed = captured(["chroot", tree, LOADER, "--list", program])
    if listed.returncode:
        raise UnableError(f"{program} cannot run in {tree}: {listed.stderr.strip()}")
    files = [program, LOADER, *LIBRARY.findall(listed.stdout)]
    return [(inside(tree, file), file) for file in dict.fromkeys(files)]


def inside(tree: Path, file: str) -> Path:
    """Follow the symbolic links of a file as if its tree were the root."""
    path = tree / file.lstrip("/")
    for _ in range(8):
        if not path.is_symlink():
            return path
        target = path.readlink()
        path = tree / str(target).lstrip("/") if target.is_absolute() else path.parent / target
    raise UnableError(f"{file} in {tree} is a link that leads nowhere")
