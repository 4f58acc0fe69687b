# SPDX-License-Identifier: GPL-2.0-only
"""Builds debug kernels and upstream kernels from the distribution's kernel source.

A debug kernel is configured with tinyconfig and fragments of scripts/debug, an upstream kernel with
defconfig and the fragment upstream.config. Kconfig drops an option without a message if the
dependencies of the option are not met. So each line of a fragment is compared with the final
configuration.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.paths import ROOT, get_cache_dir
from kmtools.base.processes import capture_output
from kmtools.lab import chroot
from kmtools.lab.apt import PrivateApt, compare_package_versions, print_step
from kmtools.lab.catalogue import UPSTREAM, Entry, Kernel, find_unpacked_kernel
from kmtools.lab.unpack import (
    BUILD_TOOLS,
    ensure_suite_tree_is_unpacked,
    get_distro_suite_dir,
    hold_fetch_lock,
    is_qemu_unpacked,
    replace_kernel_tree,
    unpack_packages,
)

FRAGMENTS = ROOT / "scripts" / "debug"
KERNEL_BUILD_TOOLS = (
    *BUILD_TOOLS,
    *("gcc", "libc6-dev", "flex", "bison", "bc", "libelf-dev", "libssl-dev"),
)
CLANG_TOOLS = ("clang", "lld", "llvm")
# Source directories that are removed after the build: builds of modules do not need them.
PRUNED = (
    *("Documentation", "LICENSES", "block", "certs", "crypto", "drivers", "fs", "init"),
    *("io_uring", "ipc", "kernel", "lib", "mm", "net", "rust", "samples", "security"),
    *("sound", "usr", "virt"),
)
# The free disk space that a build needs.
NEEDED_BYTES = 6 << 30
# The file in a kernel's tree that records the fragments with which the kernel was built.
RECORD = "fragments"


def list_config_fragment_files(entry: Entry) -> list[Path]:
    """Return the files with the configuration fragments of a kernel that is built from source."""
    files = [FRAGMENTS / f"{part}.config" for part in entry.fragments]
    for file in files:
        if not file.is_file():
            raise UnableError(
                f"kernel {entry.name}: configuration fragment {file.relative_to(ROOT)} is missing"
            )
    return files


def read_config_options(files: Iterable[Path]) -> dict[str, str]:
    """Return the kernel options that configuration fragments set, as values by name."""
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    return dict(re.findall(r"^(CONFIG_\w+)=(.*)$", text, re.M))


def find_missing_config_options(wanted: dict[str, str], config_text: str) -> list[str]:
    """Return the options in `wanted` that a kernel configuration lacks or sets to another value."""
    final = dict(re.findall(r"^(CONFIG_\w+)=(.*)$", config_text, re.M))
    return [f"{name}={to}" for name, to in wanted.items() if final.get(name, "n") != to]


def find_complete_kernel(entry: Entry) -> Kernel | None:
    """Return the unpacked kernel of an entry; None if the source package or the fragments have
    changed since the kernel was built, or if the kernel, its compiler or its QEMU is not
    unpacked."""
    kernel = find_unpacked_kernel(entry.name)
    if kernel is None or kernel.package != entry.image:
        return None
    fits = (
        _has_current_fragment_options(entry, kernel) and get_distro_suite_dir(kernel.suite).is_dir()
    )
    return kernel if fits and is_qemu_unpacked(entry) else None


def _has_current_fragment_options(entry: Entry, kernel: Kernel) -> bool:
    """Return True if a kernel has all options that the fragments set now, and if the fragments with
    which the kernel was built set no other options."""
    config = kernel.tree / f"boot/config-{kernel.release}"
    if not config.is_file() or not (kernel.tree / RECORD).is_file():
        return False
    wanted = read_config_options(list_config_fragment_files(entry))
    unwanted = read_config_options([kernel.tree / RECORD]).keys() - wanted
    return not unwanted and not find_missing_config_options(
        wanted, config.read_text(encoding="utf-8")
    )


def make_newest_kernel(entry: Entry, unpacked: Kernel | None) -> Kernel:
    """Return the kernel of `entry`, built from the newest source on the mirror. If the kernel
    `unpacked` is not older than this source, build nothing, and return `unpacked`.

    The lock `fetch` is released before the compilation, so that other processes can download.
    """
    clang = "clang" in entry.debug_kinds
    suite = f"{entry.suite}-{'clang' if clang else 'kernel'}"
    make_args = ["LLVM=1"] if clang else []
    with contextlib.ExitStack() as stack:
        with hold_fetch_lock(NEEDED_BYTES):
            print_step(f"{entry.name}: looking for the newest version in {entry.suite}")
            apt = PrivateApt(entry.suite)
            apt.update_package_lists(force=unpacked is not None)
            version = apt.find_package_version(entry.image)
            if unpacked and compare_package_versions(version, unpacked.version) <= 0:
                return unpacked
            tools = [*KERNEL_BUILD_TOOLS, *(CLANG_TOOLS if clang else ())]
            ensure_suite_tree_is_unpacked(apt, suite, apt.list_packages_with_dependencies(tools))
            tree = stack.enter_context(replace_kernel_tree(entry))
            unpack_packages(apt.download_packages([entry.image]), tree)
            _unpack_source(tree)
            shutil.rmtree(apt.archives, ignore_errors=True)
        release = _compile_kernel(entry, tree, get_distro_suite_dir(suite), make_args)
        vmlinuz = f"boot/vmlinuz-{release}"
        _install_kernel(tree, release, vmlinuz)
        (tree / RECORD).write_text(
            "".join(file.read_text(encoding="utf-8") for file in list_config_fragment_files(entry)),
            encoding="utf-8",
        )
        kernel = Kernel(entry.name, suite, entry.image, version, release, vmlinuz, make_args)
        kernel.save_kernel_record(tree)
    return kernel


def _unpack_source(tree: Path) -> None:
    """Unpack the kernel source to `tree`/usr/src/linux, from the archive in `tree`/usr/src, and
    remove this archive."""
    (archive,) = (tree / "usr/src").glob("linux-source-*.tar.xz")
    print_step(f"unpacking {archive.name}")
    target = tree / "usr/src/linux"
    target.mkdir()
    command = ["tar", "-xf", str(archive), "-C", str(target), "--strip-components=1"]
    done = capture_output(command)
    if done.returncode:
        raise UnableError(f"cannot unpack {archive.name}: {done.stderr.strip()[-200:]}")
    archive.unlink()


def _compile_kernel(entry: Entry, tree: Path, suite: Path, make_args: Sequence[str]) -> str:
    """Configure and build a kernel in its source directory below `tree`, with the compiler in the
    chroot `suite`, the tree of a Debian suite; return the release of the kernel."""
    source = tree / "usr/src/linux"
    log = get_cache_dir() / f"{entry.name}.log"
    log.unlink(missing_ok=True)

    def run_kernel_make(*words: str) -> None:
        command = ["make", "-C", "/usr/src/linux", f"-j{os.cpu_count() or 1}", *make_args, *words]
        if chroot.run_in_chroot(suite, [(tree / "usr/src", "usr/src")], command, log) != 0:
            raise UnableError(f"kernel {entry.name}: make {' '.join(words)} failed, see {log}")

    print_step(f"{entry.name}: configuring")
    run_kernel_make("defconfig" if entry.role == UPSTREAM else "tinyconfig")
    wanted = read_config_options(list_config_fragment_files(entry)) | {
        "CONFIG_LOCALVERSION": f'"-{entry.name}"'
    }
    with (source / ".config").open("a", encoding="utf-8") as config:
        config.writelines(f"{name}={to}\n" for name, to in wanted.items())
    run_kernel_make("olddefconfig")
    if missing := find_missing_config_options(
        wanted, (source / ".config").read_text(encoding="utf-8")
    ):
        raise UnableError(
            f"kernel {entry.name}: Kconfig dropped {', '.join(missing)}; check the dependencies of"
            " these options"
        )
    print_step(f"{entry.name}: building")
    run_kernel_make("all")
    return (source / "include/config/kernel.release").read_text(encoding="utf-8").strip()


def _install_kernel(tree: Path, release: str, vmlinuz: str) -> None:
    """Copy the image and the configuration to the same paths as in a package of the distribution.
    Remove sources that builds of modules do not need."""
    source = tree / "usr/src/linux"
    (tree / "boot").mkdir()
    shutil.copy(source / "arch/x86/boot/bzImage", tree / vmlinuz)
    shutil.copy(source / ".config", tree / f"boot/config-{release}")
    for name in PRUNED:
        shutil.rmtree(source / name, ignore_errors=True)
    for pattern in ("arch/[!x]*", "arch/xtensa", "vmlinux*", "tools/testing"):
        for path in source.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    modules = tree / "usr/lib/modules" / release
    modules.mkdir(parents=True)
    (modules / "build").symlink_to("/usr/src/linux")
