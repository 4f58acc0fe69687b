# SPDX-License-Identifier: GPL-2.0-only
"""Reads the list of supported kernels (kernels.txt), and the records of unpacked kernels."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

from kmtools.base import paths
from kmtools.base.errors import UnableError
from kmtools.base.paths import ROOT, get_cache_dir

Record = TypeVar("Record")

CATALOGUE = ROOT / paths.CATALOGUE
UPSTREAM = "upstream"
ROLES = ("gates", "matrix", UPSTREAM)
# The role of a kernel that the user added (kernels.txt does not list it), and the file in its tree
# that records its Entry.
ADDED, ADDED_RECORD = "added", "entry.json"
# Regular expression for a "*" in the name of an image package: the characters of a version number,
# including a dash before a digit ("-56").
VERSION_TAIL = r"(?:[0-9a-z.+~]|-(?=[0-9]))*"


@dataclass(frozen=True)
class Entry:
    """One line of kernels.txt, which describes a test kernel. `suite` is the Debian or Ubuntu suite
    (a release of the distribution) from which the kernel comes; `image` is the image package, or
    the source package of a kernel that is built from source. `qemu` is the Debian suite whose QEMU
    boots the kernel."""

    name: str
    suite: str
    image: str
    qemu: str
    role: str

    @property
    def debug_kinds(self) -> tuple[str, ...]:
        """The debugging kinds of a debug kernel: kasan and kcsan if the role is debug:kasan+kcsan.
        Empty for other kernels."""
        kind, _, parts = self.role.partition(":")
        return tuple(filter(None, parts.split("+"))) if kind == "debug" else ()

    @property
    def fragments(self) -> tuple[str, ...]:
        """The names of the configuration fragments of a kernel; empty if the kernel is not built
        from source."""
        if self.role == UPSTREAM:
            return (UPSTREAM,)
        return ("base", *self.debug_kinds) if self.debug_kinds else ()

    def matches_image_package(self, package: str) -> bool:
        """Return True if the name of an image package matches the image column of this line."""
        parts = (re.escape(part) for part in self.image.split("*"))
        return re.fullmatch(VERSION_TAIL.join(parts), package) is not None


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel. The file kernel.json in the kernel's tree stores the fields of this
    class."""

    name: str
    suite: str
    package: str
    version: str
    release: str
    vmlinuz: str
    make_args: list[str] = field(default_factory=list)

    @property
    def tree(self) -> Path:
        """The directory with the image, the modules and the headers."""
        return get_kernel_dir(self.name)

    @property
    def image(self) -> Path:
        """The path of the bootable image (vmlinuz)."""
        return self.tree / self.vmlinuz

    @property
    def config(self) -> Path:
        """The path of the configuration with which the kernel was built."""
        found = sorted(self.tree.glob(f"usr/src/linux-headers-{self.release}/.config"))
        return found[0] if found else self.tree / f"boot/config-{self.release}"

    def save_kernel_record(self, tree: Path) -> None:
        """Write this record to kernel.json in `tree`, the path of the kernel's tree before it is
        complete and gets its final name."""
        (tree / "kernel.json").write_text(
            json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8"
        )


def parse_kernel_catalogue(text: str, origin: str = "kernels.txt") -> list[Entry]:
    """Return the entries in the text of kernels.txt; `origin` names the file in error messages."""
    entries: list[Entry] = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split("#", 1)[0].split()
        if not fields:
            continue
        if len(fields) != 5:
            raise UnableError(f"{origin}:{number}: expected 5 columns, found {len(fields)}")
        entry = Entry(*fields)
        if entry.role not in ROLES and not entry.debug_kinds:
            raise UnableError(
                f"{origin}:{number}: unknown role {entry.role!r};"
                f" the roles are {', '.join(ROLES)} and debug:KIND+..."
            )
        if any(known.name == entry.name for known in entries):
            raise UnableError(f"{origin}:{number}: kernel {entry.name} is listed twice")
        entries.append(entry)
    if not entries:
        raise UnableError(f"{origin}: no kernel is listed")
    return entries


def load_kernel_entries() -> list[Entry]:
    """Read the entries of all kernels: first the kernels of kernels.txt, then the kernels that the
    user added. The first entry is the default kernel."""
    listed = parse_kernel_catalogue(CATALOGUE.read_text(encoding="utf-8"), CATALOGUE.name)
    names = {entry.name for entry in listed}
    # A tree that is not complete, or is being removed, has a name that begins with a dot.
    records = sorted(get_cache_dir().glob(f"kernels/[!.]*/{ADDED_RECORD}"))
    others = [entry for path in records if (entry := _read_json_record(path, Entry))]
    return listed + [entry for entry in others if entry.name not in names]


def _read_json_record(path: Path, kind: Callable[..., Record]) -> Record | None:
    """Return an object with the fields that the JSON file `path` has; None if there is no such
    file, or if the file is damaged, for example after a power failure."""
    try:
        return kind(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def find_kernel_entry(name: str) -> Entry:
    """Return the entry of a kernel by name; raise UnableError if there is none."""
    entries = load_kernel_entries()
    for entry in entries:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in entries)
    raise UnableError(f"unknown kernel {name!r}; choose from: {known}")


def get_default_kernel_name() -> str:
    """Return the name of the default kernel."""
    return load_kernel_entries()[0].name


def get_kernel_dir(name: str) -> Path:
    """Return the directory of a kernel, which exists only if the kernel is unpacked."""
    return get_cache_dir() / "kernels" / name


def find_unpacked_kernel(name: str) -> Kernel | None:
    """Return the kernel `name`; None if this kernel is not unpacked."""
    return _read_json_record(get_kernel_dir(name) / "kernel.json", Kernel)


def require_unpacked_kernel(name: str) -> Kernel:
    """Return an unpacked kernel; if the kernel is not unpacked, raise UnableError with the command
    that fetches it."""
    find_kernel_entry(name)
    kernel = find_unpacked_kernel(name)
    if kernel is None:
        raise UnableError(f"kernel {name} is not unpacked; run: scripts/kmarkers lab fetch {name}")
    return kernel
