# SPDX-License-Identifier: GPL-2.0-only
"""Finds the modules of a test kernel's own package that other modules depend on."""

from __future__ import annotations

import gzip
import lzma
import subprocess
import zlib
from collections.abc import Iterable
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.lab.catalogue import Kernel

# How a text of the section .modinfo begins; a zero ends it.
DEPENDS = b"\0depends="


def depends(data: bytes) -> list[str]:
    """Return the names of the modules that one needs directly, from the content of its file."""
    _, found, rest = data.partition(DEPENDS)
    words = rest.split(b"\0", 1)[0].decode() if found else ""
    return [word for word in words.split(",") if word]


def unpacked(path: Path) -> bytes:
    """Return the content of a module's file, which may be compressed.

    Raises UnableError for a damaged one.
    """
    try:
        if path.suffix == ".xz":
            return lzma.decompress(path.read_bytes())
        if path.suffix == ".gz":
            return gzip.decompress(path.read_bytes())
    except (lzma.LZMAError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UnableError(f"{path} cannot be unpacked: {error}") from error
    if path.suffix == ".zst":
        try:
            command = ["zstd", "-dcq", str(path)]
            return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        except FileNotFoundError:
            raise UnableError(f"{path.name} is compressed: apt-get install zstd") from None
    return path.read_bytes()


def plain_name(path: Path) -> str:
    """Return the name by which the kernel knows a module, from that of its file."""
    return path.name.partition(".ko")[0].replace("-", "_")


def needed(kernel: Kernel, modules: Iterable[Path], scratch: Path) -> list[Path]:
    """Return copies of the kernel's modules that modules need, in an order in which they load.

    What neither the kernel's package nor the list has is left to insmod, which names it.
    """
    files = {
        plain_name(path): path
        for path in (kernel.tree / "usr/lib/modules" / kernel.release).rglob("*.ko*")
    }
    order: dict[str, Path] = {}

    def take(data: bytes) -> None:
        for name in depends(data):
            if name in order or name not in files:
                continue
            found = unpacked(files[name])
            take(found)
            order[name] = scratch / f"{name}.ko"
            order[name].write_bytes(found)

    scratch.mkdir(parents=True, exist_ok=True)
    for module in modules:
        take(module.read_bytes())
    return list(order.values())
