# SPDX-License-Identifier: GPL-2.0-only
"""Adds kernels that kernels.txt does not list, from packages or directories.

An added kernel is unpacked into the cache directory, like the kernels of kernels.txt. A record in
the kernel's tree names two Debian suites: the suite whose compiler builds modules for the kernel,
and the suite whose QEMU boots the kernel. Tests run in an added kernel only if the user names the
kernel.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from kmtools.base.errors import UnableError, require_root
from kmtools.base.paths import get_cache_dir
from kmtools.lab import cache, catalogue, unpack
from kmtools.lab.catalogue import ADDED, ADDED_RECORD, Entry, Kernel

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
# The folders that are copied from a source directory, which may be the root of an installed system.
KERNEL_FOLDERS = ("boot", "usr/src", "usr/lib/modules", "lib/modules")
KBUILD_PATTERN = "usr/lib/linux-kbuild-*"


def validate_added_kernel(name: str, sources: Sequence[Path], distro_suite: str) -> None:
    """Raise UnableError if a new kernel cannot be added because of its name, its Debian or Ubuntu
    suite, or one of its sources (directories and packages)."""
    if not NAME.fullmatch(name):
        raise UnableError(f"{name!r} is no valid name of a kernel; use letters, digits and . _ + -")
    if any(entry.name == name and entry.role != ADDED for entry in catalogue.load_kernel_entries()):
        raise UnableError(f"kernel {name} is in kernels.txt; choose another name")
    for source in sources:
        if not source.is_dir() and not (source.is_file() and source.suffix == ".deb"):
            raise UnableError(f"{source} is neither a directory nor a .deb file")
    known = {entry.suite for entry in catalogue.load_kernel_entries()}
    if distro_suite not in known:
        raise UnableError(
            f"unknown suite {distro_suite!r}; choose from: {', '.join(sorted(known))}"
        )
    if not unpack.get_distro_suite_dir(distro_suite).is_dir():
        first = next(
            entry.name for entry in catalogue.load_kernel_entries() if entry.suite == distro_suite
        )
        raise UnableError(
            f"the compiler of {distro_suite} is not unpacked;"
            f" run: scripts/kmarkers lab fetch {first}"
        )


def list_kernel_folders(source: Path) -> Iterator[str]:
    """Yield the folders of the directory `source` that belong to a kernel, relative to `source`.
    Folders below lib are left out if lib is a symbolic link, such as a link to usr/lib."""
    for name in KERNEL_FOLDERS:
        linked = name.startswith("lib/") and (source / "lib").is_symlink()
        if (source / name).is_dir() and not linked:
            yield name
    for path in source.glob(KBUILD_PATTERN):
        yield str(path.relative_to(source))


def copy_kernel_folders(source: Path, tree: Path) -> None:
    """Copy the kernel, modules and headers in the directory `source` into `tree`. In `tree`, lib is
    a link to usr/lib."""
    names = list(list_kernel_folders(source))
    if not names:
        raise UnableError(f"{source} has none of the folders {', '.join(KERNEL_FOLDERS)}")
    with subprocess.Popen(
        ["tar", "-C", str(source), "-cf", "-", *names], stdout=subprocess.PIPE
    ) as packing:
        words = ["tar", "-C", str(tree), "-xf", "-", "--keep-directory-symlink"]
        done = subprocess.run(words, stdin=packing.stdout, capture_output=True, check=False)
    if packing.returncode or done.returncode:
        raise UnableError(f"{source} cannot be copied: {done.stderr.decode().strip()}")


def find_kernel_release(tree: Path) -> str:
    """Return the release of the kernel in a tree. Raise UnableError unless the tree has exactly one
    kernel with headers."""
    modules = tree / "usr" / "lib" / "modules"
    found = sorted(path.name for path in modules.glob("*") if path.is_dir())
    built = [name for name in found if (modules / name / "build").is_symlink()]
    built += [name for name in found if (modules / name / "build" / "Makefile").is_file()]
    names = sorted(set(built))
    if len(names) != 1:
        there = ", ".join(names or found) or "none"
        raise UnableError(
            f"lib/modules of the given sources must have one kernel with headers, but has: {there}"
        )
    if not (
        unpack.resolve_path_in_tree(tree, f"/usr/lib/modules/{names[0]}/build") / "Makefile"
    ).is_file():
        raise UnableError(
            f"the headers of {names[0]} are missing: give their packages or directory by --headers"
        )
    return names[0]


def add_kernel(name: str, sources: Sequence[Path], distro_suite: str) -> Kernel:
    """Unpack the kernel in `sources`, which are .deb files and directories, and record the kernel
    under `name`. Modules for this kernel are built with the compiler of `distro_suite`. A kernel
    that was added earlier under the same name is replaced."""
    require_root("adding a kernel")
    validate_added_kernel(name, sources, distro_suite)
    emulator = catalogue.load_kernel_entries()[0].qemu
    entry = Entry(name, distro_suite, ADDED, emulator, ADDED)
    cache.tag_cache_dir()
    with (
        cache.hold_cache_lock(unpack.get_build_lock_name(name)),
        unpack.replace_kernel_tree(entry) as tree,
    ):
        unpack.unpack_packages([path for path in sources if path.is_file()], tree)
        for directory in filter(Path.is_dir, sources):
            copy_kernel_folders(directory.resolve(), tree)
        release = find_kernel_release(tree)
        vmlinuz = str(unpack.find_vmlinuz(tree, release).relative_to(tree))
        kernel = Kernel(name, distro_suite, ADDED, release, release, vmlinuz)
        kernel.save_kernel_record(tree)
        (tree / ADDED_RECORD).write_text(json.dumps(asdict(entry)) + "\n", encoding="utf-8")
    return kernel


def remove_kernel(name: str) -> None:
    """Remove a kernel that was added, and the objects that were built for it."""
    if not any(
        entry.name == name and entry.role == ADDED for entry in catalogue.load_kernel_entries()
    ):
        raise UnableError(f"no kernel {name!r} was added to {get_cache_dir()}")
    with cache.hold_cache_lock(unpack.get_build_lock_name(name)):
        unpack.remove_kernel_tree(name)
