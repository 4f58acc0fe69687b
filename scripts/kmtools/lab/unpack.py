# SPDX-License-Identifier: GPL-2.0-only
"""Unpacks packages of compilers, kernels and emulators into the cache directory, without installing
them.

A suite's tree contains the compiler of a Debian or Ubuntu release, and is used as a chroot. A
kernel's tree contains image, modules and headers; a build mounts it into the chroot. A tree is
filled under a temporary name and renamed when it is complete. A tree with the final name is
therefore complete, even if a run was interrupted.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from kmtools.base.errors import UnableError, require_root
from kmtools.base.files import hold_lock
from kmtools.base.paths import get_cache_dir
from kmtools.base.processes import ENGLISH, capture_output
from kmtools.lab import sources
from kmtools.lab.apt import (
    Candidate,
    NotOnMirrorError,
    PrivateApt,
    compare_package_versions,
    print_step,
)
from kmtools.lab.cache import hold_cache_lock
from kmtools.lab.catalogue import (
    Entry,
    Kernel,
    find_unpacked_kernel,
    get_kernel_dir,
    require_unpacked_kernel,
)

# Packages of the programs that Kbuild runs, without the compiler.
BUILD_TOOLS = (
    *("make", "bash", "dash", "coreutils", "sed", "grep", "findutils", "diffutils"),
    *("gzip", "xz-utils", "mawk", "perl-base"),
)
# Prefixes of packages that are unpacked to a kernel's tree; others are unpacked to the tree of the
# Debian or Ubuntu suite.
KERNEL_PREFIXES = tuple(
    f"linux-{kind}" for kind in ("headers-", "kbuild-", "image-", "binary-", "modules-", "base")
)
# Directories of / that are symbolic links to /usr, and directories of /usr/share that are left out.
USR_MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
LEFT_OUT = ("doc", "man", "locale", "info", "lintian", "bug")
# The free disk space that downloading and unpacking needs.
NEEDED_BYTES = 3 << 30
# UNFINISHED: the name prefix of a tree that is being filled.
# REPLACED: the name suffix of a tree that is being removed; no name of a kernel contains "@".
UNFINISHED, REPLACED = ".new-", "@old"
# The path of the dynamic linker in a tree, and a pattern of its output: a line with the path of a
# library.
LOADER = "/lib64/ld-linux-x86-64.so.2"
LIBRARY = re.compile(r"^\s*(?:\S+ => )?(/\S+) \(0x", re.M)


def get_distro_suite_dir(distro_suite: str) -> Path:
    """Return the directory to which packages of a Debian or Ubuntu suite are unpacked, among them
    the compiler."""
    return get_cache_dir() / "suites" / distro_suite


def get_qemu_dir(distro_suite: str) -> Path:
    """Return the directory to which the QEMU of a Debian suite is unpacked."""
    return get_cache_dir() / "qemu" / distro_suite


def get_build_lock_name(kernel: str) -> str:
    """Return the name of the lock for replacing a kernel's tree. A process that needs both this
    lock and `fetch` must take this lock before `fetch`."""
    return f"build-{kernel}"


@contextmanager
def hold_unpacked_kernel(name: str) -> Iterator[Kernel]:
    """Return an unpacked kernel, which no other process replaces or removes during the `with`
    block, unless the cache directory cannot hold a lock, for example because it is read-only."""
    require_unpacked_kernel(name)
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(UnableError, OSError):
            stack.enter_context(hold_cache_lock(get_build_lock_name(name), shared=True))
        # Another process may have replaced the kernel while this process waited.
        yield require_unpacked_kernel(name)


@contextmanager
def hold_fetch_lock(needed_bytes: int) -> Iterator[None]:
    """Hold the lock `fetch` for downloading and unpacking; raise UnableError if the disk has less
    than `needed_bytes` free."""
    with hold_cache_lock("fetch"):
        _require_disk_space(needed_bytes)
        _remove_incomplete_trees()
        yield


def ensure_qemu_is_unpacked(entry: Entry) -> None:
    """Fetch the QEMU that boots a kernel, unless it is unpacked."""
    if is_qemu_unpacked(entry):
        return
    with hold_fetch_lock(NEEDED_BYTES):
        # Check again: another process may have fetched QEMU while this process waited.
        if not is_qemu_unpacked(entry):
            _fetch_qemu(entry.qemu)


def is_qemu_unpacked(entry: Entry) -> bool:
    """Return True if the QEMU that boots a kernel is unpacked."""
    return get_qemu_dir(entry.qemu).is_dir()


def find_complete_kernel(entry: Entry) -> Kernel | None:
    """Return the kernel of `entry` if everything for a boot is unpacked: the kernel, the tree of
    the Debian or Ubuntu suite, and the QEMU that `entry` names. Else return None."""
    kernel = find_unpacked_kernel(entry.name)
    # Reject a kernel that does not match its entry any more: kernels.txt may have changed.
    fits = (
        kernel is not None
        and kernel.suite == entry.suite
        and entry.matches_image_package(kernel.package)
    )
    return (
        kernel
        if fits and is_qemu_unpacked(entry) and get_distro_suite_dir(entry.suite).is_dir()
        else None
    )


def make_newest_kernel(entry: Entry, unpacked: Kernel | None) -> Kernel:
    """Download, unpack and return the newest kernel on the mirror that matches `entry`. If the
    kernel `unpacked` is at least as new, return `unpacked` instead."""
    with hold_fetch_lock(NEEDED_BYTES):
        print_step(f"{entry.name}: looking for the newest version in {entry.suite}")
        if sources.is_ubuntu_suite(entry.suite):
            _unpack_ubuntu_keys()
        apt = PrivateApt(entry.suite)
        apt.update_package_lists(force=unpacked is not None)
        problems = []
        for found in apt.find_image_candidates(entry):
            if unpacked and compare_package_versions(found.version, unpacked.version) <= 0:
                return unpacked
            try:
                kernel = _unpack_candidate(apt, entry, found)
            except NotOnMirrorError as error:
                print_step(f"{entry.name}: there is no {found.package} {found.version}: {error}")
                problems.append(str(error))
                continue
            shutil.rmtree(apt.archives, ignore_errors=True)
            return kernel
    raise NotOnMirrorError(
        f"kernel {entry.name}: no version could be downloaded\n" + "\n".join(problems)
    )


def _unpack_ubuntu_keys() -> None:
    """Download and unpack the keyring of Ubuntu's archive."""
    if get_distro_suite_dir(sources.UBUNTU_KEYS_TREE).is_dir():
        return
    apt = PrivateApt(sources.UBUNTU_KEYS_SUITE)
    apt.update_package_lists()
    debs = apt.download_packages([sources.UBUNTU_KEYS_PACKAGE])
    with replace_tree(get_distro_suite_dir(sources.UBUNTU_KEYS_TREE)) as tree:
        unpack_packages(debs, tree)


def _unpack_candidate(apt: PrivateApt, entry: Entry, candidate: Candidate) -> Kernel:
    """Download and unpack the kernel `candidate` and its headers; if the tree of the Debian or
    Ubuntu suite is missing, also unpack the packages of this tree."""
    release = candidate.release
    # The kernel image and its modules are in one package up to Linux 7.1, in several packages from
    # Linux 7.2 on.
    parts = [f"linux-{kind}-{release}" for kind in ("image", "binary", "modules", "base")]
    image = apt.select_available_packages(parts)
    # Ubuntu's packages of headers, unlike Debian's, do not depend on their compiler.
    compiler = ("gcc",) if sources.is_ubuntu_suite(entry.suite) else ()
    closure = apt.list_packages_with_dependencies(
        [f"linux-headers-{release}", *BUILD_TOOLS, *compiler]
    )
    own = [name for name in closure if name.startswith(KERNEL_PREFIXES)]
    debs = apt.download_packages(sorted({*own, *image}))
    ensure_suite_tree_is_unpacked(apt, apt.suite, [name for name in closure if name not in own])

    print_step(f"{entry.name}: unpacking {candidate.package} {candidate.version}")
    with replace_kernel_tree(entry) as tree:
        unpack_packages(debs, tree)
        vmlinuz = str(find_vmlinuz(tree, release).relative_to(tree))
        kernel = Kernel(
            entry.name, entry.suite, candidate.package, candidate.version, release, vmlinuz
        )
        kernel.save_kernel_record(tree)
    return kernel


@contextmanager
def replace_kernel_tree(entry: Entry) -> Iterator[Path]:
    """Yield an empty tree for a kernel. At the end of the `with` block, install the tree, and
    remove the objects that were built for the previous kernel."""
    with replace_tree(get_kernel_dir(entry.name)) as tree:
        yield tree
    # The program make compares modification times, and would keep old objects that are newer than
    # the new headers.
    _remove_kernel_objects(entry.name)


def _remove_kernel_objects(name: str) -> None:
    """Remove the objects that were built for the kernel `name`."""
    for pattern in (name, f"{name}@*"):
        for objects in (get_cache_dir() / "objects").glob(pattern):
            shutil.rmtree(objects)


def remove_kernel_tree(name: str) -> None:
    """Remove the tree of the kernel `name`, and the objects that were built for this kernel. Rename
    the tree first: if the removal is interrupted, the next fetch removes the rest of the tree."""
    _remove_kernel_objects(name)
    removed = get_kernel_dir(name).with_name(f"{UNFINISHED}{name}{REPLACED}")
    shutil.rmtree(removed, ignore_errors=True)
    get_kernel_dir(name).rename(removed)
    shutil.rmtree(removed)


def find_vmlinuz(tree: Path, release: str) -> Path:
    """Return the path of the bootable image of the kernel `release` in `tree`. Newer Debian
    packages have the image below usr/lib/modules."""
    for path in (tree / f"boot/vmlinuz-{release}", tree / f"usr/lib/modules/{release}/vmlinuz"):
        if path.is_file():
            return path
    raise NotOnMirrorError(f"the packages of kernel {release} have no vmlinuz")


def ensure_suite_tree_is_unpacked(apt: PrivateApt, name: str, packages: list[str]) -> None:
    """Unpack `packages` of a Debian or Ubuntu suite into the tree `name`, unless this tree has all
    of them already."""
    tree = get_distro_suite_dir(name)
    known: set[str] = set()
    # Ignore a record that is missing, or damaged, for example after a power failure.
    with contextlib.suppress(FileNotFoundError, ValueError):
        known |= set(json.loads((tree / "packages.json").read_text(encoding="utf-8")))
    if set(packages) <= known:
        return
    # Keep the packages that only other kernels need, such as the compiler of an older kernel.
    packages = packages + apt.select_available_packages(sorted(known.difference(packages)))
    debs = apt.download_packages(packages)
    print_step(f"{name}: unpacking {len(debs)} packages, which are needed for builds")
    with contextlib.ExitStack() as stack, replace_tree(tree) as new:
        unpack_packages(debs, new)
        _add_missing_chroot_files(new)
        (new / "packages.json").write_text(json.dumps(sorted(packages)) + "\n", encoding="utf-8")
        # Keep the old tree until no command runs in it.
        stack.enter_context(hold_cache_lock(f"suite-{name}"))


def _add_missing_chroot_files(tree: Path) -> None:
    """Make the links and files in a chroot that scripts of the packages would have made."""
    binaries = tree / "usr" / "bin"
    for link, target in (("sh", "dash"), ("awk", "mawk")):
        if not os.path.lexists(binaries / link):
            (binaries / link).symlink_to(target)
    if not os.path.lexists(binaries / "gcc"):
        versions = sorted(binaries.glob("gcc-[0-9]*"), key=lambda path: int(path.name[4:]))
        if versions:
            (binaries / "gcc").symlink_to(versions[-1].name)
    for path in ("etc", "proc", "dev", "tmp", "usr/src", "usr/lib/modules", "src"):
        (tree / path).mkdir(parents=True, exist_ok=True)
    (tree / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n", encoding="utf-8")
    (tree / "etc/group").write_text("root:x:0:\n", encoding="utf-8")
    null = tree / "dev/null"
    if not null.exists():
        os.mknod(null, 0o20666, os.makedev(1, 3))
        null.chmod(0o666)


def _fetch_qemu(distro_suite: str) -> None:
    """Download and unpack the QEMU of a Debian suite."""
    print_step(f"QEMU: looking for the newest version in {distro_suite}")
    apt = PrivateApt(distro_suite)
    apt.update_package_lists()
    debs = apt.download_packages(apt.list_packages_with_dependencies(["qemu-system-x86"]))
    print_step(f"QEMU: unpacking {len(debs)} packages of {distro_suite}")
    with replace_tree(get_qemu_dir(distro_suite)) as tree:
        unpack_packages(debs, tree)


@contextmanager
def replace_tree(final: Path) -> Iterator[Path]:
    """Yield an empty tree; rename it to `final` at the end of the `with` block. After an error,
    remove the new tree, and leave or restore the tree that was at `final` before."""
    final.parent.mkdir(parents=True, exist_ok=True)
    new, old = (final.with_name(f"{UNFINISHED}{final.name}{end}") for end in ("", REPLACED))
    # Remove trees that a killed process has left.
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)
    new.mkdir()
    new.chmod(0o755)
    replaces = False
    try:
        yield new
        replaces = final.exists()
        if replaces:
            final.rename(old)
        new.rename(final)
    finally:
        # Restore the old tree if it was renamed and the new tree was not.
        if replaces and not final.exists():
            old.rename(final)
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)


def unpack_packages(debs: Collection[Path], tree: Path) -> None:
    """Unpack packages into an empty tree."""
    for name in USR_MERGED:
        (tree / "usr" / name).mkdir(parents=True)
        (tree / name).symlink_to(f"usr/{name}")
    # Unpack base-files first and alone: this package replaces the symbolic links made above.
    base = [deb for deb in debs if deb.name.startswith("base-files_")]
    for deb in base:
        unpack_package(deb, tree)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda deb: unpack_package(deb, tree), set(debs) - set(base)))


def unpack_package(deb: Path, tree: Path) -> None:
    """Unpack one package into a tree with merged /usr, without running its scripts."""
    left_out = [f"--exclude=./usr/share/{name}" for name in LEFT_OUT]
    command = ["tar", "-x", "--keep-directory-symlink", "-C", str(tree), *left_out]
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as source:
        done = subprocess.run(
            command,
            env={**os.environ, **ENGLISH},
            stdin=source.stdout,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    if source.returncode != 0 or done.returncode != 0:
        # Do not remove the package file: the next download verifies its size and digest.
        said = done.stderr.strip().splitlines() or [f"dpkg-deb: exit code {source.returncode}"]
        full = "; free some space and run the command again" if "No space left" in said[0] else ""
        raise UnableError(f"cannot unpack {deb.name}: {said[0]}{full}")


def _require_disk_space(needed_bytes: int) -> None:
    """Raise UnableError if the disk of the cache directory has less than `needed_bytes` free."""
    cache = get_cache_dir()
    free = shutil.disk_usage(cache).free
    if free < needed_bytes:
        raise UnableError(
            f"{cache} has {free >> 20} MiB free, a kernel with its compiler needs up to "
            f"{needed_bytes >> 20} MiB; free some space, or set KMARKERS_CACHE to another directory"
        )


def _remove_incomplete_trees() -> None:
    """Remove incomplete trees of killed processes.

    The caller holds the lock `fetch`, so no other process fills the tree of a suite or of a QEMU.
    The tree of a kernel is kept if another process holds the build lock of the kernel.
    """
    for tree in get_cache_dir().glob(f"*/{UNFINISHED}*"):
        if tree.parent != get_kernel_dir(tree.name).parent:
            shutil.rmtree(tree, ignore_errors=True)
            continue
        name = tree.name.removeprefix(UNFINISHED).removesuffix(REPLACED)
        lock = get_cache_dir() / f"{get_build_lock_name(name)}.lock"
        with contextlib.suppress(UnableError), hold_lock(lock, "this kernel is being compiled"):
            shutil.rmtree(tree, ignore_errors=True)


def fetch_programs(distro_suite: str, tree_suffix: str, packages: Sequence[str]) -> Path:
    """Fetch and unpack packages of a Debian or Ubuntu suite and their dependencies, unless the tree
    exists already; return the tree.

    The name of the tree is the suite, a dash and `tree_suffix`, such as "trixie-tracers".
    """
    name = f"{distro_suite}-{tree_suffix}"
    tree = get_distro_suite_dir(name)
    if not tree.is_dir():
        require_root("unpacking programs")
        with hold_cache_lock("fetch"):
            apt = PrivateApt(distro_suite)
            apt.update_package_lists()
            ensure_suite_tree_is_unpacked(apt, name, apt.list_packages_with_dependencies(packages))
    return tree


def list_program_files(tree: Path, program: str) -> list[tuple[Path, str]]:
    """Return the files that the program `program` in `tree` needs: the program, the dynamic linker
    and the libraries. Each file is a pair: the path on this machine, and the path in an
    initramfs."""
    listed = capture_output(["chroot", tree, LOADER, "--list", program])
    if listed.returncode:
        raise UnableError(f"{program} cannot run in {tree}: {listed.stderr.strip()}")
    files = [program, LOADER, *LIBRARY.findall(listed.stdout)]
    return [(resolve_path_in_tree(tree, file), file) for file in dict.fromkeys(files)]


def resolve_path_in_tree(tree: Path, file: str) -> Path:
    """Return the target of a file in a tree: resolve symbolic links as if the tree were /."""
    path = tree / file.lstrip("/")
    for _ in range(9):
        if not path.is_symlink():
            return path
        target = path.readlink()
        path = tree / str(target).lstrip("/") if target.is_absolute() else path.parent / target
    raise UnableError(f"{file} in {tree} is a chain of more than 8 symbolic links")
