# SPDX-License-Identifier: GPL-2.0-only
"""Builds modules for an unpacked kernel, with the compiler of the kernel's Debian or Ubuntu suite.

A suite is a release of Debian or Ubuntu; the suite's tree is a directory with unpacked packages of
the release, among them the compiler. The source is copied to an object directory for each kernel.
The objects stay there, so a second build compiles only the files that changed.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kmtools.base.errors import FailedError, UnableError, require_root
from kmtools.base.paths import ROOT, get_cache_dir, list_sources
from kmtools.lab import chroot
from kmtools.lab.cache import flatten_path, hold_cache_lock
from kmtools.lab.catalogue import Kernel, require_unpacked_kernel
from kmtools.lab.unpack import get_build_lock_name, get_distro_suite_dir


def build_modules(
    name: str,
    src: Path,
    out: Path,
    make_args: Sequence[str] = (),
    log: Path | None = None,
    kmarkers_source: Path | None = None,
    more_binds: Sequence[tuple[Path, str]] = (),
) -> int:
    """Build the modules in the source tree `src` for the kernel `name`, and copy them to `out`.
    Return 0, or 1 if make failed.

    The output of make is written to the file `log`, if given. If the modules use kmarkers,
    `kmarkers_source` is the source tree of kmarkers, which must have been built for this kernel
    before. `more_binds` are further directories to mount into the tree of the Debian or Ubuntu
    suite, each with its mount point.
    """
    require_root("building modules in a chroot")
    require_unpacked_kernel(name)
    require_module_folder(src)
    objects = get_object_dir(name, src)
    binds = [*more_binds]
    words = make_args
    if kmarkers_source:
        binds.append((get_object_dir(name, kmarkers_source), "kmarkers"))
        words = ["KMARKERS=/kmarkers", *make_args]
    with hold_object_dir_lock(name, objects, [source for source, _ in binds]):
        # Another process may have replaced the kernel while this process waited.
        kernel = require_unpacked_kernel(name)
        # Remove the modules of an earlier build: if this build fails, `out` must have no modules.
        copy_modules([], out)
        update_source_copy(src, objects)
        if run_kbuild(kernel, objects, words, log, binds) != 0:
            return 1
        modules = list_built_modules(objects)
        if not modules:
            raise UnableError(f"the build of {src} made no module")
        copy_modules(modules, out)
    return 0


def require_module_folder(path: Path) -> Path:
    """Return the folder `path`; raise UnableError if the folder has neither a Kbuild file nor a
    Makefile."""
    if not path.is_dir():
        raise UnableError(f"{path} is not a folder")
    if not any((path / file).is_file() for file in ("Kbuild", "Makefile")):
        raise UnableError(f"{path} has neither a Kbuild file nor a Makefile")
    return path


def build_modules_using_kmarkers(
    name: str, folders: Sequence[Path], out: Path, make_args: Sequence[str] = ()
) -> list[Path]:
    """Build the modules in `folders`, which are outside this tree and use the kmarkers modules, for
    the kernel `name`. The kmarkers modules must have been built before.

    Return the modules in the order in which they are loaded: the order of the folders and, within a
    folder, the order in its Kbuild files. A folder may use symbols that earlier folders export. If
    a folder does not build, raise FailedError with its name.
    """
    modules: list[Path] = []
    for number, src in enumerate(folders):
        own = out / str(number)
        before = [
            (get_object_dir(name, folder), f"client{i}")
            for i, folder in enumerate(folders[:number])
        ]
        symbols = " ".join(f"/{point}/Module.symvers" for _, point in before)
        words = [f"KBUILD_EXTRA_SYMBOLS={symbols}", *make_args] if before else make_args
        if build_modules(name, src, own, words, kmarkers_source=ROOT, more_binds=before):
            raise FailedError(f"{src} does not build for kernel {name}")
        modules += [own / path.name for path in list_built_modules(get_object_dir(name, src))]
    names = [module.name for module in modules]
    if twice := {each for each in names if names.count(each) > 1}:
        raise UnableError(
            f"two modules have the same name, rename one of them: {', '.join(sorted(twice))}"
        )
    return modules


def get_object_dir(name: str, src: Path, flavour: str = "") -> Path:
    """Return the object directory for the kernel `name` and the source tree `src`. A build with
    other make arguments has an object directory of its own, with the suffix `flavour` behind "@",
    which no name of a kernel contains."""
    parent = get_cache_dir() / "objects" / (f"{name}@{flavour}" if flavour else name)
    return parent / flatten_path(src)


@contextmanager
def hold_object_dir_lock(
    name: str, objects: Path, read_dirs: Iterable[Path] = ()
) -> Iterator[None]:
    """Hold the lock of an object directory of the kernel `name`, and share the locks of the
    kernel's tree and of the object directories `read_dirs`, so that no other process changes them.

    Each object directory has a lock of its own, because builds of different trees may run in
    parallel. The locks are taken in the order in which `lab clean` takes them.
    """
    own, *others = (f"build-{path.parent.name}-{path.name}" for path in (objects, *read_dirs))
    with contextlib.ExitStack() as stack:
        for lock in sorted({own, *others, get_build_lock_name(name)}):
            stack.enter_context(hold_cache_lock(lock, shared=lock != own))
        yield


def remove_objects(name: str, src: Path) -> None:
    """Remove the objects that were built for the kernel `name` from the source tree `src`."""
    objects = get_object_dir(name, src)
    with hold_object_dir_lock(name, objects):
        shutil.rmtree(objects, ignore_errors=True)


def list_kernel_binds(kernel: Kernel) -> list[tuple[Path, str]]:
    """Return the bind mounts of a kernel's headers and build programs, each as a source and a mount
    point in the tree of the Debian or Ubuntu suite."""
    kbuilds = (kernel.tree / "usr/lib").glob("linux-kbuild-*")
    return [
        *((kernel.tree / part, part) for part in ("usr/src", "usr/lib/modules")),
        *((kbuild, f"usr/lib/{kbuild.name}") for kbuild in kbuilds),
    ]


def run_kbuild(
    kernel: Kernel,
    objects: Path,
    make_args: Sequence[str],
    log: Path | None = None,
    more_binds: Sequence[tuple[Path, str]] = (),
) -> int:
    """Run Kbuild for a kernel on the source copy in the directory `objects`, in the chroot of the
    kernel's suite; return the exit code of make. With W=1 in `make_args`, Kbuild also checks
    comments with kernel-doc, but only in the tree of linters, which has the perl modules that
    kernel-doc needs."""
    tree = get_distro_suite_dir(kernel.suite)
    binds = [(objects, "src"), *list_kernel_binds(kernel), *more_binds]
    make = [
        "make",
        "-C",
        f"/usr/lib/modules/{kernel.release}/build",
        f"-j{os.cpu_count() or 1}",
        "M=/src",
        # Build without debug information. With debug information, the modules have the same code,
        # but are several times as large, and take longer to compile and to load into an emulated
        # kernel.
        "CONFIG_DEBUG_INFO=",
        # Build without BTF. Otherwise Kbuild runs pahole to generate BTF if the headers contain a
        # vmlinux.
        "CONFIG_DEBUG_INFO_BTF_MODULES=",
        *([] if any(tree.glob("usr/share/perl/*/Pod/Usage.pm")) else ["cmd_checkdoc="]),
        *kernel.make_args,
        *make_args,
        "modules",
    ]
    return chroot.run_in_chroot(tree, binds, make, log)


def update_source_copy(src: Path, objects: Path) -> None:
    """Update the copy of a source tree in an object directory: copy changed files, delete removed
    ones."""
    objects.mkdir(parents=True, exist_ok=True)
    record = objects.parent / f"{objects.name}.sources"
    before = (
        set(record.read_text(encoding="utf-8", errors="surrogateescape").splitlines())
        if record.is_file()
        else set()
    )
    sources = list(list_sources(src))
    now = {str(path) for path in sources}
    # Write the record first: if this update is interrupted, the next update must know all files
    # that the copy may have.
    _write_source_record(record, before | now)
    for name in before - now:
        (objects / name).unlink(missing_ok=True)
    for path in sources:
        target = objects / path
        if target.is_file() and filecmp.cmp(src / path, target, shallow=False):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(src / path, target)
    _write_source_record(record, now)


def _write_source_record(record: Path, names: set[str]) -> None:
    """Write the names of the files in a copy of a source tree to the file `record`."""
    record.write_text(
        "".join(f"{name}\n" for name in sorted(names)), encoding="utf-8", errors="surrogateescape"
    )


# The name of the file, in a folder of built modules, that lists the modules which the last build
# copied to the folder.
COPIED = ".modules"


def list_built_modules(objects: Path) -> list[Path]:
    """Return the modules that the last build in the directory `objects` has listed in
    modules.order. The directory may also contain modules of earlier builds."""
    order = objects / "modules.order"
    if not order.is_file():
        return []
    names = [line.removeprefix("/src/") for line in order.read_text(encoding="utf-8").split()]
    return [(objects / name).with_suffix(".ko") for name in names]


def copy_modules(modules: Sequence[Path], out: Path) -> None:
    """Copy modules to the directory `out`, and remove the modules of earlier builds from this
    directory. Raise UnableError if `out` is not in build/ and holds modules that no earlier build
    has copied."""
    wanted = {module.name for module in modules}
    if len(wanted) != len(modules):
        raise UnableError("two modules of a source tree have the same name: rename one of them")
    record, there = out / COPIED, {module.name for module in out.glob("*.ko")}
    foreign = there.difference(
        record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    )
    if foreign and not out.resolve().is_relative_to((ROOT / "build").resolve()):
        raise UnableError(
            f"{out / min(foreign)} is of another build, and would be removed: choose another folder"
        )
    out.mkdir(parents=True, exist_ok=True)
    for name in there - wanted:
        (out / name).unlink()
    record.unlink(missing_ok=True)
    if wanted:
        record.write_text("".join(f"{name}\n" for name in sorted(wanted)), encoding="utf-8")
    for module in modules:
        shutil.copy(module, out / module.name)


# Commands that strip a module, by the suffix of the copy. The last command also removes the section
# __param, without which kmarkers cannot find the tables of the module.
STRIPPERS = {
    "strip-unneeded": ["strip", "--strip-unneeded"],
    "strip-debug": ["strip", "--strip-debug"],
    "objcopy-unneeded": ["objcopy", "--strip-unneeded"],
    "eu-strip": ["eu-strip"],
    "no-param": ["objcopy", "--strip-debug", "--remove-section=__param"],
}


def make_stripped_module_copies(folder: Path, module_name: str) -> None:
    """For each command of STRIPPERS that is installed, make a copy of the module `module_name` in
    the directory `folder`, and strip the copy with the command."""
    for way, command in STRIPPERS.items():
        if shutil.which(command[0]):
            copy = folder / f"{module_name}.{way}.ko"
            shutil.copy(folder / f"{module_name}.ko", copy)
            subprocess.run([*command, copy], check=True)
