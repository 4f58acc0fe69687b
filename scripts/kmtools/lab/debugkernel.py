# SPDX-License-Identifier: GPL-2.0-only
"""Builds kernels from the distribution's kernel source.

A debug kernel is configured by tinyconfig with the fragments in scripts/debug, an upstream kernel
by its own defconfig with upstream.config. An option whose dependencies are not met is dropped
without a message, so every line of a fragment is looked up in the final configuration.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.paths import ROOT, cache_dir
from kmtools.base.processes import captured
from kmtools.lab import chroot
from kmtools.lab.apt import PrivateApt, compare_versions, progress
from kmtools.lab.catalogue import UPSTREAM, Entry, Kernel, unpacked
from kmtools.lab.unpack import (
    BUILD_TOOLS,
    ensure_suite,
    extract_all,
    fetching,
    have_qemu,
    new_kernel,
    suite_dir,
)

FRAGMENTS = ROOT / "scripts" / "debug"
KERNEL_BUILD_TOOLS = (
    *BUILD_TOOLS,
    *("gcc", "libc6-dev", "flex", "bison", "bc", "libelf-dev", "libssl-dev"),
)
CLANG_TOOLS = ("clang", "lld", "llvm")
# Directories that module builds do not need once the kernel is built.
PRUNED = (
    *("Documentation", "LICENSES", "block", "certs", "crypto", "drivers", "fs", "init"),
    *("io_uring", "ipc", "kernel", "lib", "mm", "net", "rust", "samples", "security"),
    *("sound", "usr", "virt"),
)
NEEDED_BYTES = 6 << 30
RECORD = "fragments"


def fragments(entry: Entry) -> list[Path]:
    """Return the files of an entry's configuration."""
    files = [FRAGMENTS / f"{part}.config" for part in entry.fragments]
    for file in files:
        if not file.is_file():
            raise UnableError(f"kernel {entry.name}: there is no {file.relative_to(ROOT)}")
    return files


def wanted_options(files: Iterable[Path]) -> dict[str, str]:
    """Return the options that fragments set."""
    text = "".join(file.read_text() for file in files)
    return dict(re.findall(r"^(CONFIG_\w+)=(.*)$", text, re.M))


def missing_options(wanted: dict[str, str], config: str) -> list[str]:
    """Return the options that have another value in a final configuration, or are not in it."""
    final = dict(re.findall(r"^(CONFIG_\w+)=(.*)$", config, re.M))
    return [f"{name}={to}" for name, to in wanted.items() if final.get(name, "n") != to]


def complete(entry: Entry) -> Kernel | None:
    """Return an unpacked kernel of this kind if it was built with the present configuration."""
    kernel = unpacked(entry.name)
    if kernel is None or kernel.package != entry.image:
        return None
    fits = _fits(entry, kernel) and suite_dir(kernel.suite).is_dir()
    return kernel if fits and have_qemu(entry) else None


def _fits(entry: Entry, kernel: Kernel) -> bool:
    """Tell whether a kernel has every wanted option, and no option of a fragment that is gone."""
    config = kernel.tree / f"boot/config-{kernel.release}"
    if not config.is_file() or not (kernel.tree / RECORD).is_file():
        return False
    wanted = wanted_options(fragments(entry))
    unwanted = wanted_options([kernel.tree / RECORD]).keys() - wanted
    return not unwanted and not missing_options(wanted, config.read_text())


def make(entry: Entry, there: Kernel | None) -> Kernel:
    """Build the newest source on the mirror, unless `there` is as new.

    Other processes may fetch while this one compiles.
    """
    clang = "clang" in entry.debug
    suite = f"{entry.suite}-{'clang' if clang else 'kernel'}"
    make_args = ["LLVM=1"] if clang else []
    with contextlib.ExitStack() as stack:
        with fetching(NEEDED_BYTES):
            progress(f"{entry.name}: asking the mirror for {entry.suite}")
            apt = PrivateApt(entry.suite)
            apt.update(anew=there is not None)
            version = apt.version(entry.image)
            if there and compare_versions(version, there.version) <= 0:
                return there
            tools = [*KERNEL_BUILD_TOOLS, *(CLANG_TOOLS if clang else ())]
            ensure_suite(apt, suite, apt.closure(tools))
            tree = stack.enter_context(new_kernel(entry))
            extract_all(apt.download([entry.image]), tree)
            _unpack_source(tree)
            shutil.rmtree(apt.archives, ignore_errors=True)
        release = _compile(entry, tree, suite_dir(suite), make_args)
        vmlinuz = f"boot/vmlinuz-{release}"
        _arrange(tree, release, vmlinuz)
        (tree / RECORD).write_text("".join(file.read_text() for file in fragments(entry)))
        kernel = Kernel(entry.name, suite, entry.image, version, release, vmlinuz, make_args)
        kernel.save(tree)
    return kernel


def _unpack_source(tree: Path) -> None:
    """Unpack the archive of a source package to usr/src/linux."""
    (archive,) = (tree / "usr/src").glob("linux-source-*.tar.xz")
    progress(f"unpacking {archive.name}")
    target = tree / "usr/src/linux"
    target.mkdir()
    command = ["tar", "-xf", str(archive), "-C", str(target), "--strip-components=1"]
    done = captured(command)
    if done.returncode:
        raise UnableError(f"cannot unpack {archive.name}: {done.stderr.strip()[-200:]}")
    archive.unlink()


def _compile(entry: Entry, tree: Path, suite: Path, make_args: Sequence[str]) -> str:
    """Configure and build a kernel in place; return its release."""
    source = tree / "usr/src/linux"
    log = cache_dir() / f"{entry.name}.log"
    log.unlink(missing_ok=True)

    def make(*words: str) -> None:
        command = ["make", "-C", "/usr/src/linux", f"-j{os.cpu_count()}", *make_args, *words]
        if chroot.run(suite, [(tree / "usr/src", "usr/src")], command, log) != 0:
            raise UnableError(f"kernel {entry.name}: make {' '.join(words)} failed, see {log}")

    progress(f"{entry.name}: configuring")
    make("defconfig" if entry.role == UPSTREAM else "tinyconfig")
    wanted = wanted_options(fragments(entry)) | {"CONFIG_LOCALVERSION": f'"-{entry.name}"'}
    with (source / ".config").open("a") as config:
        config.writelines(f"{name}={to}\n" for name, to in wanted.items())
    make("olddefconfig")
    if missing := missing_options(wanted, (source / ".config").read_text()):
        raise UnableError(f"kernel {entry.name}: the configuration lost {', '.join(missing)}")
    progress(f"{entry.name}: building")
    make("all")
    return (source / "include/config/kernel.release").read_text().strip()


def _arrange(tree: Path, release: str, vmlinuz: str) -> None:
    """Put the image and the headers where a stock kernel has them, and remove most of the rest."""
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
