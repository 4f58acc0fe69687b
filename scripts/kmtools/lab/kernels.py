# SPDX-License-Identifier: GPL-2.0-only
"""Fetches or builds the kernels of kernels.txt, and lists all kernels with their state."""

from __future__ import annotations

import contextlib
import time

from kmtools.base.errors import require_root
from kmtools.base.paths import get_cache_dir
from kmtools.base.processes import capture_output
from kmtools.base.text import align_table
from kmtools.lab import cache, catalogue, debugkernel, unpack
from kmtools.lab.apt import FetchError, NotOnMirrorError, PrivateApt
from kmtools.lab.catalogue import Entry, Kernel


def ensure_kernel_is_unpacked(entry: Entry, update: bool = False) -> Kernel:
    """Fetch or build a kernel, its compiler and its QEMU, unless they are unpacked. With `update`,
    a newer version replaces an unpacked kernel. Return the kernel."""
    if entry.role == catalogue.ADDED:
        # The user added this kernel, so it cannot be fetched or updated.
        return catalogue.require_unpacked_kernel(entry.name)
    part, work = (debugkernel, "building") if entry.fragments else (unpack, "fetching")
    kernel: Kernel | None = part.find_complete_kernel(entry)
    if kernel is not None and not update:
        return kernel
    require_root(f"{work} a kernel")
    with cache.hold_cache_lock(unpack.get_build_lock_name(entry.name)):
        unpack.ensure_qemu_is_unpacked(entry)
        # Look again: another process may have unpacked the kernel while this process waited.
        kernel = part.find_complete_kernel(entry)
        if kernel is None or update:
            kernel = part.make_newest_kernel(entry, kernel)
    assert kernel is not None
    return kernel


def fetch_kernels(kernel_names: list[str], update: bool = False) -> None:
    """Fetch or build the kernels `kernel_names`, by default the default kernel; with `update`, also
    replace older versions."""
    entries = [
        catalogue.find_kernel_entry(name)
        for name in kernel_names or [catalogue.get_default_kernel_name()]
    ]
    # Ignore errors: a read-only cache can be used if all kernels are unpacked already.
    with contextlib.suppress(OSError):
        cache.tag_cache_dir()
    for entry in entries:
        part = debugkernel if entry.fragments else unpack
        before = part.find_complete_kernel(entry)
        started = time.monotonic()
        kernel = ensure_kernel_is_unpacked(entry, update)
        said = f"{kernel.name}: {kernel.release} ({kernel.version}) is unpacked"
        if kernel != before:
            size = capture_output(["du", "-sm", get_cache_dir()]).stdout.split()[0]
            said += f" in {time.monotonic() - started:.0f} s; {get_cache_dir()} holds {size} MiB"
        print(said)


def print_kernel_table() -> None:
    """Print a table of all kernels: the Debian or Ubuntu suite, the version, the release if the
    kernel is unpacked, and the Debian suite whose QEMU boots the kernel."""
    rows = [("NAME", "SUITE", "VERSION", "UNPACKED", "QEMU")]
    for entry in catalogue.load_kernel_entries():
        kernel = catalogue.find_unpacked_kernel(entry.name)
        version = kernel.version if kernel else find_kernel_version_on_mirror(entry)
        release = kernel.release if kernel else "no"
        rows.append((entry.name, entry.suite, version, release, entry.qemu))
    print("\n".join(align_table(rows)))


def find_kernel_version_on_mirror(entry: Entry) -> str:
    """Return the version that `lab fetch` would unpack, according to the downloaded package lists;
    "?" if there are no lists or apt fails, "gone" if the mirror lacks the kernel."""
    apt = PrivateApt(entry.suite)
    if not apt.has_package_lists:
        return "?"
    try:
        if entry.fragments:
            return apt.find_package_version(entry.image)
        return apt.find_image_candidates(entry)[0].version
    except NotOnMirrorError:
        return "gone"
    except FetchError:
        return "?"
