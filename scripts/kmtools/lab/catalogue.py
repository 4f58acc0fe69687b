# SPDX-License-Identifier: GPL-2.0-only
"""Reads the list of supported kernels (kernels.txt), and the records of unpacked kernels."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kmtools.base import paths
from kmtools.base.errors import UnableError
from kmtools.base.paths import ROOT, cache_dir

CATALOGUE = ROOT / paths.CATALOGUE
UPSTREAM = "upstream"
ROLES = ("gates", "matrix", UPSTREAM)
# The role of an added kernel, which kernels.txt does not list, and the name of its record in its
# tree.
ADDED, ADDED_RECORD = "added", "entry.json"
# "*" matches characters of versions, and a dash only in front of a digit ("-56").
VERSION_TAIL = r"(?:[0-9a-z.+~]|-(?=[0-9]))*"


@dataclass(frozen=True)
class Entry:
    """One line of kernels.txt."""

    name: str
    suite: str
    image: str
    qemu: str
    role: str

    @property
    def debug(self) -> tuple[str, ...]:
        """The kinds of faults that a debug kernel is built to find; empty for other kernels."""
        kind, _, parts = self.role.partition(":")
        return tuple(filter(None, parts.split("+"))) if kind == "debug" else ()

    @property
    def fragments(self) -> tuple[str, ...]:
        """The names of its configuration fragments, if the kernel is built here; else empty."""
        if self.role == UPSTREAM:
            return (UPSTREAM,)
        return ("base", *self.debug) if self.debug else ()

    def matches(self, package: str) -> bool:
        """Tell whether an image package name fits this line."""
        parts = (re.escape(part) for part in self.image.split("*"))
        return re.fullmatch(VERSION_TAIL.join(parts), package) is not None


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel, as its kernel.json records it."""

    name: str
    suite: str
    package: str
    version: str
    release: str
    vmlinuz: str
    make_args: list[str] = field(default_factory=list)

    @property
    def tree(self) -> Path:
        """Directory with the image, its modules and its headers."""
        return kernel_dir(self.name)

    @property
    def image(self) -> Path:
        """The bootable file."""
        return self.tree / self.vmlinuz

    @property
    def config(self) -> Path:
        """The configuration that it was built with."""
        found = sorted(self.tree.glob(f"usr/src/linux-headers-{self.release}/.config"))
        return found[0] if found else self.tree / f"boot/config-{self.release}"

    def save(self, tree: Path) -> None:
        """Record this kernel in a tree that is about to take its final place."""
        (tree / "kernel.json").write_text(json.dumps(asdict(self), indent=1) + "\n")


def parse(text: str, origin: str = "kernels.txt") -> list[Entry]:
    """Parse the text of kernels.txt."""
    entries: list[Entry] = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split("#", 1)[0].split()
        if not fields:
            continue
        if len(fields) != 5:
            raise UnableError(f"{origin}:{number}: expected 5 columns, found {len(fields)}")
        entry = Entry(*fields)
        if entry.role not in ROLES and not entry.debug:
            raise UnableError(f"{origin}:{number}: {entry.role} is no role")
        if any(known.name == entry.name for known in entries):
            raise UnableError(f"{origin}:{number}: kernel {entry.name} is listed twice")
        entries.append(entry)
    if not entries:
        raise UnableError(f"{origin}: no kernel is listed")
    return entries


def load() -> list[Entry]:
    """Read the list of kernels, including debug kernels; the first one is the default. Added
    kernels follow."""
    listed = parse(CATALOGUE.read_text(), CATALOGUE.name)
    names = {entry.name for entry in listed}
    records = sorted(cache_dir().glob(f"kernels/*/{ADDED_RECORD}"))
    others = [Entry(**json.loads(path.read_text())) for path in records]
    return listed + [entry for entry in others if entry.name not in names]


def find(name: str) -> Entry:
    """Look a kernel up by name."""
    entries = load()
    for entry in entries:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in entries)
    raise UnableError(f"unknown kernel {name!r}; kernels.txt has: {known}")


def default_name() -> str:
    """Return the name of the default kernel."""
    return load()[0].name


def kernel_dir(name: str) -> Path:
    """Return where a kernel is unpacked, or would be."""
    return cache_dir() / "kernels" / name


def unpacked(name: str) -> Kernel | None:
    """Return an unpacked kernel, or None while it has not been fetched."""
    record = kernel_dir(name) / "kernel.json"
    if not record.is_file():
        return None
    return Kernel(**json.loads(record.read_text()))


def require(name: str) -> Kernel:
    """Return an unpacked kernel or say how to get it."""
    find(name)
    kernel = unpacked(name)
    if kernel is None:
        raise UnableError(f"kernel {name} is not unpacked; run: scripts/kmarkers lab fetch {name}")
    return kernel
