# SPDX-License-Identifier: GPL-2.0-only
"""Manages the cache directory, which holds downloaded packages, unpacked kernels and object files,
and the locks of this directory.

KMARKERS_CACHE may name any directory. A tag file marks a directory that kmarkers made. If a
directory has files of other programs and no tag, kmarkers neither fills nor cleans it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from kmtools.base.errors import UnableError
from kmtools.base.files import hold_lock
from kmtools.base.paths import DEFAULT_CACHE, get_cache_dir
from kmtools.lab import catalogue
from kmtools.lab.apt import print_step

# The name and the first line of the tag file, as the Cache Directory Tagging Specification defines
# them: backup programs leave out directories with a tag file.
TAG = "CACHEDIR.TAG"
TAG_HEAD = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by the laboratory of kmarkers; its "
TAG_TEXT = f'{TAG_HEAD}"kmarkers lab clean" removes what it put here.\n'
# What `lab clean` removes from the cache directory besides the tag file: folders, locks (patterns
# of the names of lock files without .lock) and other files (patterns).
# The locks are taken in this order. The locks of builds precede `fetch`: a process that holds a
# lock of builds may wait for `fetch`, so the other order could cause a deadlock. A process that
# holds `fetch` may wait until no command runs in the tree of a suite.
# The first two patterns of files match temporary files of killed processes. The tag file is removed
# last: without a tag file, another process would write a temporary file.
CACHE_FOLDERS = ("apt", "suites", "kernels", "qemu", "objects", "checkpatch", "roots", "kvm")
CACHE_LOCKS = ("build-*", "root-*", "checkpatch", "kvm", "fetch", "suite-*")
CACHE_FILES = (".accel.json.*.partial", f"{TAG}.[0-9]*", "accel.json")


def flatten_path(path: Path) -> str:
    """Return an absolute path with dashes for its slashes, for use in a file name. A dash becomes
    _- and an underscore __, so that different paths have different names."""
    escaped = str(path.resolve()).strip("/").replace("_", "__").replace("-", "_-")
    return escaped.replace("/", "-")


def is_cache_tagged() -> bool:
    """Return True if the cache directory has the tag of kmarkers. CACHEDIR.TAG files of other
    programs do not count."""
    tag = get_cache_dir() / TAG
    return tag.is_file() and tag.read_text(encoding="utf-8", errors="replace").startswith(TAG_HEAD)


def tag_cache_dir() -> None:
    """Make and tag the cache directory; raise UnableError if it holds files of other programs."""
    cache = get_cache_dir()
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnableError(
            f"test kernels cannot be kept in {cache} ({error.strerror});"
            " set KMARKERS_CACHE to a directory that can be written to"
        ) from None
    others = [path for path in cache.iterdir() if not path.name.startswith(TAG)]
    # Look for the tag after listing the files. Another process writes the tag before its other
    # files. So if the list has a file of another process, the tag exists now.
    if is_cache_tagged():
        return
    # Accept a cache directory that an earlier version of kmarkers made without a tag.
    known = cache == DEFAULT_CACHE.resolve() or any(cache.glob("kernels/*/kernel.json"))
    if others and not known:
        raise UnableError(
            f"{cache} is not empty, and kmarkers did not make it;"
            " set KMARKERS_CACHE to a new directory"
        )
    new = cache / f"{TAG}.{threading.get_native_id()}"
    new.write_text(TAG_TEXT, encoding="utf-8")
    new.rename(cache / TAG)


def clean_cache() -> None:
    """Remove the files of kmarkers from the cache directory, and the directory if it is then
    empty."""
    cache = get_cache_dir()
    if not cache.exists():
        return
    if cache == DEFAULT_CACHE.resolve():
        tag_cache_dir()
    if not is_cache_tagged():
        raise UnableError(
            f"nothing is removed: {cache} has no {TAG} of kmarkers, so other programs may use it;"
            " fetching a kernel writes this file"
        )
    with _hold_all_cache_locks() as held:
        names = {entry.name for entry in catalogue.load_kernel_entries()}
        names |= {tree.name for tree in cache.glob("kernels/*")}
        for part in CACHE_FOLDERS:
            if (cache / part).is_dir():
                shutil.rmtree(cache / part)
        for pattern in (*(f"{name}.log" for name in names), *CACHE_FILES):
            for file in cache.glob(pattern):
                file.unlink()
        for lock in held:
            (cache / f"{lock}.lock").unlink(missing_ok=True)
        # Keep the tag if another process has made a lock file meanwhile: no process can take a lock
        # in a directory that has files but no tag.
        if not any((cache / f"{lock}.lock").exists() for lock in _list_cache_locks()):
            (cache / TAG).unlink()
    with contextlib.suppress(OSError):
        cache.rmdir()


@contextmanager
def _hold_all_cache_locks() -> Iterator[list[str]]:
    """Hold all locks of the cache directory; the `with` statement returns their names.

    While this process waits for a lock, another process may make a lock file with a new name.
    Release all locks then, and take all locks again, including the new lock. Waiting for the new
    lock while holding locks that follow it in the order of CACHE_LOCKS could cause a deadlock."""
    while True:
        with contextlib.ExitStack() as stack:
            names = _list_cache_locks()
            for name in names:
                stack.enter_context(hold_cache_lock(name))
            if set(_list_cache_locks()) <= set(names):
                yield names
                return


def _list_cache_locks() -> list[str]:
    """Return the names of the locks that `lab clean` takes: the names in CACHE_LOCKS and, for each
    pattern in CACHE_LOCKS, the names of the existing lock files."""
    names: list[str] = []
    for pattern in CACHE_LOCKS:
        files = get_cache_dir().glob(f"{pattern}.lock")
        names += sorted(path.stem for path in files) if "*" in pattern else [pattern]
    return names


@contextmanager
def hold_cache_lock(name: str, shared: bool = False) -> Iterator[None]:
    """Hold a lock file of the cache directory; wait while another process holds it. Several
    processes can hold a lock as `shared` at the same time."""
    path = get_cache_dir() / f"{name}.lock"
    busy = f"waiting for another process that holds {path}"
    while True:
        tag_cache_dir()
        with hold_lock(path, busy, print_step, shared) as lock:
            if _is_lock_file_at_path(lock, path):
                yield
                return


def _is_lock_file_at_path(lock: IO[str], path: Path) -> bool:
    """Return True if `path` is still the path of the lock file that this process opened. `lab
    clean` may have removed the file."""
    try:
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except FileNotFoundError:
        return False
