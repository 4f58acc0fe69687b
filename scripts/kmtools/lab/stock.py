# SPDX-License-Identifier: GPL-2.0-only
"""Finds modules in a test kernel's package: modules by name, and the dependencies of other modules,
such as modules of a user."""

from __future__ import annotations

import gzip
import lzma
import subprocess
import zlib
from collections.abc import Container, Iterable
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.lab.catalogue import Kernel

# The beginnings of two kinds of entries in the section .modinfo, with the null byte that ends the
# preceding entry.
DEPENDS, SOFTDEP = b"\0depends=", b"\0softdep=pre: "


def find_modinfo_entries(module_file: bytes, prefix: bytes) -> list[str]:
    """Return the entries of a module's .modinfo that have a prefix, without the prefix.

    Dashes are replaced by underscores, as in names of loaded modules (dm_mod for dm-mod.ko).
    """
    found = module_file.split(prefix)[1:]
    return [part.split(b"\0", 1)[0].decode().replace("-", "_") for part in found]


def list_module_dependencies(module_file: bytes) -> list[str]:
    """Return the names of a module's direct dependencies, from the content of its file."""
    return [
        name
        for text in find_modinfo_entries(module_file, DEPENDS)
        for name in text.split(",")
        if name
    ]


def list_soft_dependencies(module_file: bytes) -> list[str]:
    """Return the names of a module's soft dependencies (softdep pre:), which are modules or crypto
    algorithms."""
    return [
        word
        for text in find_modinfo_entries(module_file, SOFTDEP)
        for word in text.split("post:")[0].split()
    ]


def read_module_file(path: Path) -> bytes:
    """Read a module's file, and decompress it if its suffix is .xz, .gz or .zst.

    Raise UnableError if a compressed file is damaged.
    """
    unpack = {".xz": _read_xz, ".gz": _read_gzip, ".zst": _read_zstd}.get(path.suffix)
    if unpack is None:
        return path.read_bytes()
    try:
        content = unpack(path)
    except (lzma.LZMAError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UnableError(f"{path} cannot be unpacked: {error}") from error
    # gzip.decompress() accepts an empty file, which a full disk may have left.
    if not content:
        raise UnableError(f"{path} cannot be unpacked: it is empty")
    return content


def _read_xz(path: Path) -> bytes:
    return lzma.decompress(path.read_bytes())


def _read_gzip(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def _read_zstd(path: Path) -> bytes:
    """Decompress a file with the program zstd; raise UnableError if zstd fails or is missing."""
    try:
        done = subprocess.run(["zstd", "-dcq", str(path)], capture_output=True, check=False)
    except FileNotFoundError:
        raise UnableError(f"{path.name} is compressed: apt-get install zstd") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
        raise UnableError(f"{path} cannot be unpacked: {said}")
    return done.stdout


def get_module_name(path: Path) -> str:
    """Return the name that the kernel gives to a module, from the name of the file."""
    return path.name.partition(".ko")[0].replace("-", "_")


def copy_module_dependencies(kernel: Kernel, modules: Iterable[Path], scratch: Path) -> list[Path]:
    """Copy the dependencies of modules from the kernel's package to `scratch`, decompressed; return
    the copies in an order in which they can be loaded.

    A dependency that the package lacks is ignored here; insmod reports it.
    """
    files = find_modules_in_kernel_package(kernel)
    needed = [
        name for module in modules for name in list_all_dependencies(module.read_bytes(), files)
    ]
    return copy_kernel_package_modules(kernel, needed, scratch)


def find_modules_in_kernel_package(kernel: Kernel) -> dict[str, Path]:
    """Return the files of the modules in the kernel's package, by the name of the module."""
    folder = kernel.tree / "usr/lib/modules" / kernel.release
    return {get_module_name(path): path for path in folder.rglob("*.ko*")}


def list_all_dependencies(module_file: bytes, files: Container[str]) -> list[str]:
    """Return the names of the modules on which a module depends: first its soft dependencies.
    `files` has the names of the modules in the kernel's package."""
    # A soft dependency may be the name of a crypto algorithm. Then use the module NAME_generic, the
    # generic C implementation; modprobe would find the modules of the algorithm by alias.
    soft = [
        name if name in files else f"{name}_generic" for name in list_soft_dependencies(module_file)
    ]
    return [*soft, *list_module_dependencies(module_file)]


def copy_kernel_package_modules(kernel: Kernel, names: Iterable[str], scratch: Path) -> list[Path]:
    """Copy modules of the kernel's package, and the modules on which they depend, to `scratch`,
    decompressed; return the copies in an order in which they can be loaded. Names that the package
    lacks are ignored."""
    files = find_modules_in_kernel_package(kernel)
    seen: set[str] = set()
    copies: list[Path] = []

    def add_modules(names: Iterable[str]) -> None:
        for name in names:
            if name in seen or name not in files:
                continue
            # Soft dependencies may form a cycle, so add the name before the dependencies.
            seen.add(name)
            found = read_module_file(files[name])
            add_modules(list_all_dependencies(found, files))
            copies.append(scratch / f"{name}.ko")
            copies[-1].write_bytes(found)

    scratch.mkdir(parents=True, exist_ok=True)
    add_modules(names)
    return copies
