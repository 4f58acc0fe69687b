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

# The beginnings of texts in the section .modinfo; a zero byte ends each text.
DEPENDS, SOFTDEP = b"\0depends=", b"\0softdep=pre: "


def texts(data: bytes, start: bytes) -> list[str]:
    """Return the texts of a module's .modinfo that begin with `start`, without that beginning.

    Names of modules in them are those of the kernel: dm_mod, where files have dm-mod.
    """
    found = data.split(start)[1:]
    return [part.split(b"\0", 1)[0].decode().replace("-", "_") for part in found]


def depends(data: bytes) -> list[str]:
    """Return the names of a module's direct dependencies, from the content of its file."""
    return [name for text in texts(data, DEPENDS) for name in text.split(",") if name]


def soft_depends(data: bytes) -> list[str]:
    """Return a module's soft dependencies, which are loaded before it if they exist: modules or
    algorithms."""
    return [word for text in texts(data, SOFTDEP) for word in text.split("post:")[0].split()]


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

    A dependency that the kernel's package lacks is ignored here; insmod reports it.
    """
    files = {
        plain_name(path): path
        for path in (kernel.tree / "usr/lib/modules" / kernel.release).rglob("*.ko*")
    }
    order: dict[str, Path] = {}

    def take(data: bytes) -> None:
        # modprobe finds an algorithm by its alias; here NAME_generic is assumed, the module of the
        # generic C implementation.
        soft = [name if name in files else f"{name}_generic" for name in soft_depends(data)]
        for name in (*soft, *depends(data)):
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
