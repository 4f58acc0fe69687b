# SPDX-License-Identifier: GPL-2.0-only
"""Writes the initramfs of a test kernel: a cpio archive with a static busybox, the job (a shell
script) and the modules."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from kmtools.base.errors import UnableError
from kmtools.base.paths import ROOT

GUEST_INIT = ROOT / "scripts" / "guest" / "init"
DIRECTORIES = ("bin", "dev", "modules", "proc", "results", "sys", "tmp", "etc")


class Archive:
    """Writes a cpio archive in the "newc" format, which the kernel unpacks."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._count = 0
        self._known: set[str] = set()

    def add_directory(self, name: str) -> None:
        """Add a directory and its parents, unless they were added before."""
        parts = name.split("/")
        for depth in range(1, len(parts) + 1):
            path = "/".join(parts[:depth])
            if path and path not in self._known:
                self._known.add(path)
                self._write_entry(path, stat.S_IFDIR | 0o755)

    def add_device(self, name: str, major: int, minor: int) -> None:
        """Add a character device."""
        self._write_entry(name, stat.S_IFCHR | 0o600, device=(major, minor))

    def add_file(self, name: str, source: Path, mode: int | None = None) -> None:
        """Add the file `source` under the path `name`, with the permissions `mode`, by default the
        permissions of `source`."""
        if "/" in name:
            self.add_directory(name.rsplit("/", 1)[0])
        bits = stat.S_IMODE(source.stat().st_mode) if mode is None else mode
        self._write_entry(name, stat.S_IFREG | bits, source.read_bytes())

    def add_file_or_directory(self, source: Path, destination: str) -> None:
        """Add a file, or a directory with its content."""
        destination = destination.strip("/")
        if not source.is_dir():
            self.add_file(destination, source)
            return
        self.add_directory(destination)
        for directory, names, files in os.walk(source):
            names.sort()
            inside = Path(destination, Path(directory).relative_to(source))
            self.add_directory(str(inside))
            for name in sorted(files):
                self.add_file(str(inside / name), Path(directory) / name)

    def close(self) -> None:
        """Write the trailer of the archive."""
        self._write_entry("TRAILER!!!", 0)

    def _write_entry(
        self, name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)
    ) -> None:
        self._count += 1
        path = os.fsencode(name) + b"\0"
        # The fields are ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor
        # namesize check. mtime is 0, because equal files must give an equal archive.
        fields = (self._count, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(path), 0)
        header = b"070701" + b"".join(b"%08x" % field for field in fields)
        self._out.write(_pad_to_four_bytes(header + path) + _pad_to_four_bytes(data))


def _pad_to_four_bytes(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def find_static_busybox() -> Path:
    """Return the path of this machine's busybox; raise UnableError unless busybox is linked
    statically."""
    found = shutil.which("busybox", path=os.environ.get("PATH", "") + ":/bin:/usr/bin")
    if found is None:
        raise UnableError("busybox is missing; run scripts/setup (package busybox-static)")
    with open(found, "rb") as file:
        if b"ld-linux" in file.read(4096):
            raise UnableError(f"{found} is not static; run scripts/setup (package busybox-static)")
    return Path(found)


def write_initramfs(
    target: Path, job: Path, modules: Iterable[Path], additions: Iterable[tuple[Path, str]]
) -> None:
    """Write the initramfs of one boot to `target`. `additions` are further files and directories
    of this machine, with their paths in the guest."""
    with target.open("wb") as out:
        archive = Archive(out)
        for name in DIRECTORIES:
            archive.add_directory(name)
        # /init needs a console before it mounts devtmpfs.
        archive.add_device("dev/console", 5, 1)
        archive.add_device("dev/null", 1, 3)
        archive.add_file("bin/busybox", find_static_busybox(), 0o755)
        archive.add_file("init", GUEST_INIT, 0o755)
        archive.add_file("job", job, 0o755)
        for module in sorted(modules):
            archive.add_file(f"modules/{module.name}", module)
        for source, destination in additions:
            archive.add_file_or_directory(source, destination)
        archive.close()
