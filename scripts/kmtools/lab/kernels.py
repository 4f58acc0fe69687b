# SPDX-License-Identifier: GPL-2.0-only
"""Fetches the kernels of kernels.txt, and lists those that are unpacked."""

from __future__ import annotations

import contextlib
import time

from kmtools.base.errors import require_root
from kmtools.base.paths import cache_dir
from kmtools.base.processes import captured
from kmtools.base.text import aligned
from kmtools.lab import cache, catalogue, debugkernel, unpack
from kmtools.lab.apt import FetchError, NotOnMirrorError, PrivateApt
from kmtools.lab.catalogue import Entry, Kernel


def ensure(entry: Entry, update: bool = False) -> Kernel:
    """Make sure that a kernel, its compiler and its emulator are unpacked.

    An unpacked kernel is kept; with `update`, a newer version replaces it.
    """
    if entry.role == catalogue.ADDED:
        # An added kernel has no newer version that could be fetched.
        return catalogue.require(entry.name)
    part, work = (debugkernel, "building") if entry.fragments else (unpack, "fetching")
    kernel: Kernel | None = part.complete(entry)
    if kernel is not None and not update:
        return kernel
    require_root(f"{work} a kernel")
    with cache.locked(unpack.build_lock(entry.name)):
        unpack.ensure_qemu(entry)
        # Another process may have unpacked the kernel while this one waited.
        kernel = part.complete(entry)
        if kernel is None or update:
            kernel = part.make(entry, kernel)
    assert kernel is not None
    return kernel


def fetch(names: list[str], update: bool = False) -> None:
    """Unpack kernels, by default the default one; with `update`, replace older ones."""
    entries = [catalogue.find(name) for name in names or [catalogue.default_name()]]
    # Without permission to write, the unpacked kernels may be sufficient.
    with contextlib.suppress(OSError):
        cache.claim()
    for entry in entries:
        part = debugkernel if entry.fragments else unpack
        before = part.complete(entry)
        started = time.monotonic()
        kernel = ensure(entry, update)
        said = f"{kernel.name}: {kernel.release} ({kernel.version}) is unpacked"
        if kernel != before:
            size = captured(["du", "-sm", cache_dir()]).stdout.split()[0]
            said += f" in {time.monotonic() - started:.0f} s; {cache_dir()} holds {size} MiB"
        print(said)


def show_list() -> None:
    """Print every supported kernel, its version, and its release if it is unpacked."""
    rows = [("NAME", "SUITE", "VERSION", "UNPACKED", "QEMU")]
    for entry in catalogue.load():
        kernel = catalogue.unpacked(entry.name)
        version = kernel.version if kernel else on_mirror(entry)
        release = kernel.release if kernel else "no"
        rows.append((entry.name, entry.suite, version, release, entry.qemu))
    print("\n".join(aligned(rows)))


def on_mirror(entry: Entry) -> str:
    """Return the version that a fetch would choose, according to the downloaded lists."""
    apt = PrivateApt(entry.suite)
    if not apt.has_lists:
        return "?"
    try:
        if entry.fragments:
            return apt.version(entry.image)
        return apt.candidates(entry)[0].version
    except NotOnMirrorError:
        return "gone"
    except FetchError:
        return "?"
