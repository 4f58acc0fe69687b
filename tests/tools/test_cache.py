# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the cache directory: which directories kmarkers fills, cleans or leaves unchanged."""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import re
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest
from fakemirror import ENTRY, FakeMirror
from kmtools.base.errors import UnableError
from kmtools.base.files import hold_lock, write_file_atomically
from kmtools.base.paths import ROOT
from kmtools.lab import cache, catalogue, kernels, unpack

FOREIGN_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by somebody else.\n"


@pytest.fixture
def user_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a directory with files of the user, and set KMARKERS_CACHE to it."""
    directory = tmp_path / "home"
    for name in ("apt/list", "kernels/linux/README", "suites/bach", "mail.log", "fetch.lock"):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).touch()
    monkeypatch.setenv("KMARKERS_CACHE", str(directory))
    return directory


@pytest.fixture
def cache_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set KMARKERS_CACHE to a directory that does not exist yet; return its path."""
    monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def list_paths_below(directory: Path) -> set[str]:
    """Return the paths of all files and directories below a directory."""
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


def test_different_paths_flatten_to_different_names() -> None:
    assert cache.flatten_path(Path("/srv/tree")) == "srv-tree"
    paths = {Path(f"/x{''.join(part)}y").resolve() for part in product("a-_/", repeat=4)}
    assert len({cache.flatten_path(path) for path in paths}) == len(paths)


@pytest.mark.parametrize("tag", ["", FOREIGN_TAG])
def test_directory_with_foreign_files_is_not_claimed_or_cleaned(
    user_directory: Path, tag: str
) -> None:
    if tag:
        (user_directory / cache.TAG).write_text(tag)
    before = list_paths_below(user_directory)
    with pytest.raises(UnableError, match=r"nothing is removed: .* has no CACHEDIR\.TAG"):
        cache.clean_cache()
    with pytest.raises(UnableError, match="is not empty, and kmarkers did not make it"):
        kernels.fetch_kernels([])
    with pytest.raises(UnableError, match="is not empty"), cache.hold_cache_lock("fetch"):
        pass
    assert list_paths_below(user_directory) == before


def test_cache_tag_of_an_earlier_version_is_accepted(user_directory: Path) -> None:
    was = '# Made by the laboratory of kmarkers; its "lab.py clean" removes what it put here.\n'
    (user_directory / cache.TAG).write_text(FOREIGN_TAG.splitlines(keepends=True)[0] + was)
    assert cache.is_cache_tagged()
    cache.tag_cache_dir()


def test_lab_clean_without_a_cache_directory_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path / "none"))
    cache.clean_cache()
    assert list_paths_below(tmp_path) == set()


def test_lab_clean_removes_all_files_of_kmarkers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = FakeMirror(tmp_path, monkeypatch)
    kernels.ensure_kernel_is_unpacked(ENTRY)
    assert (mirror.cache / cache.TAG).read_text().startswith("Signature: 8a477f597d28d172789f06")
    for name in ("build-6.1.lock", "k.log", "6.1-kasan.log", "accel.json"):
        (mirror.cache / name).touch()
    (mirror.cache / "objects/6.1").mkdir(parents=True)
    cache.clean_cache()
    assert not mirror.cache.exists()


def list_cache_file_names_in_sources(kernel: str) -> set[str]:
    """Return the names of the files and folders in the cache directory that occur in the sources of
    kmtools. Expressions in braces (of f-strings) are replaced by `kernel`."""
    names = {f"{unpack.get_build_lock_name(kernel)}.lock"}
    for path in (ROOT / "scripts/kmtools").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        # Leave out paths of lock files, because hold_cache_lock() gets lock names as arguments.
        found = re.findall(r'get_cache_dir\(\) / f?"([^"]*)(?<!\.lock)"', text)
        found += [f"{lock}.lock" for lock in re.findall(r'hold_cache_lock\(f?"([^"]*)"', text)]
        names |= {re.sub("{.*?}", kernel, name) for name in found}
    return names


def leave_temporary_file_as_if_killed(
    directory: Path, monkeypatch: pytest.MonkeyPatch, write_file: Callable[[], None]
) -> None:
    """Call a function that writes a temporary file and renames it. As in a process that is killed
    before the file is renamed, nothing is renamed or removed."""

    class Killed(BaseException):
        pass

    def raise_killed_exception(*_: object, **__: object) -> None:
        raise Killed

    before = list_paths_below(directory)
    with monkeypatch.context() as patch, ThreadPoolExecutor(1) as pool:
        for name in ("rename", "replace", "unlink", "remove"):
            patch.setattr(os, name, raise_killed_exception)
        with pytest.raises(Killed):
            # The temporary file of tag_cache_dir() is named after the thread. A later call in the
            # thread of the test must use another file.
            pool.submit(write_file).result(20)
    assert len(list_paths_below(directory) - before) == 1


def test_lab_clean_removes_all_cache_files_in_the_sources(
    tmp_path: Path, cache_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`lab clean` removes each folder, lock and file of the cache directory that the sources of the
    tools name, and the temporary files that a killed process leaves there."""
    cache_directory.mkdir()
    leave_temporary_file_as_if_killed(cache_directory, monkeypatch, cache.tag_cache_dir)
    cache.tag_cache_dir()
    names = list_cache_file_names_in_sources(catalogue.get_default_kernel_name())
    assert {"apt", "kvm", "kvm.lock", "checkpatch.lock", "accel.json"} < names
    for name in names:
        if Path(name).suffix == ".json":
            write_file = functools.partial(write_file_atomically, cache_directory / name, "{}")
            leave_temporary_file_as_if_killed(cache_directory, monkeypatch, write_file)
        if Path(name).suffix in (".lock", ".log", ".json"):
            (cache_directory / name).touch()
        else:
            (cache_directory / name / "k").mkdir(parents=True)
    cache.clean_cache()
    assert list_paths_below(tmp_path) == set()


@pytest.mark.parametrize("lock", ["kvm", "fetch", "checkpatch", "root-s", "build-k"])
def test_lab_clean_waits_for_locks(
    tmp_path: Path, cache_directory: Path, monkeypatch: pytest.MonkeyPatch, lock: str
) -> None:
    """While another process holds a lock, `lab clean` removes nothing."""
    waits = threading.Event()
    monkeypatch.setattr(cache, "print_step", lambda message: waits.set())
    cleaning = threading.Thread(target=cache.clean_cache)
    with cache.hold_cache_lock(lock):
        (cache_directory / "accel.json").touch()
        (cache_directory / "kvm/k").mkdir(parents=True)
        cleaning.start()
        assert waits.wait(20)
        assert {"accel.json", "kvm/k"} < list_paths_below(cache_directory)
    cleaning.join(20)
    assert list_paths_below(tmp_path) == set()


def test_lab_clean_waits_for_a_build_that_begins_while_it_waits(
    tmp_path: Path, cache_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While `lab clean` waits for one lock, a build makes a lock file with a new name. `lab clean`
    removes nothing before the build ends. Meanwhile, the build can take the lock `fetch`."""
    messages: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr(cache, "print_step", messages.put)
    cleaning = threading.Thread(target=cache.clean_cache)
    with contextlib.ExitStack() as build:
        with cache.hold_cache_lock("kvm"):
            cleaning.start()
            assert messages.get(timeout=20).endswith("kvm.lock")
            build.enter_context(cache.hold_cache_lock("build-new"))
            (cache_directory / "objects/new").mkdir(parents=True)
        assert messages.get(timeout=20).endswith("build-new.lock")
        with hold_lock(cache_directory / "fetch.lock", "the build would wait for fetch"):
            assert {"objects/new", "build-new.lock"} < list_paths_below(cache_directory)
    cleaning.join(20)
    assert list_paths_below(tmp_path) == set()


def test_lab_clean_keeps_the_lock_of_a_build_that_begins_meanwhile(
    tmp_path: Path, cache_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`lab clean` also keeps CACHEDIR.TAG, without which the build can take no further lock."""
    cache.tag_cache_dir()
    (cache_directory / "objects/old").mkdir(parents=True)
    with contextlib.ExitStack() as build:

        def begin_build(folder: Path) -> None:
            folder.rename(tmp_path / "removed")
            build.enter_context(cache.hold_cache_lock("build-new"))

        monkeypatch.setattr(shutil, "rmtree", begin_build)
        cache.clean_cache()
        assert list_paths_below(cache_directory) == {"build-new.lock", cache.TAG}


def test_lab_clean_keeps_foreign_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror = FakeMirror(tmp_path, monkeypatch)
    kernels.ensure_kernel_is_unpacked(ENTRY)
    for name in ("mail.log", "notes/apt"):
        (mirror.cache / name).parent.mkdir(exist_ok=True)
        (mirror.cache / name).touch()
    cache.clean_cache()
    assert list_paths_below(mirror.cache) == {"mail.log", "notes", "notes/apt"}


def test_untagged_cache_with_a_kernel_is_claimed(
    laboratory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (laboratory / "cache/kernels/6.1/kernel.json").rename(laboratory / "kept")
    with pytest.raises(UnableError, match="is not empty"):
        cache.tag_cache_dir()
    (laboratory / "kept").rename(laboratory / "cache/kernels/6.1/kernel.json")
    with pytest.raises(UnableError, match="fetching a kernel writes this file"):
        cache.clean_cache()
    monkeypatch.setattr(
        unpack,
        "find_complete_kernel",
        lambda entry: catalogue.find_unpacked_kernel(catalogue.get_default_kernel_name()),
    )
    kernels.fetch_kernels([])
    cache.clean_cache()
    assert not (laboratory / "cache").exists()


def test_only_the_default_directory_is_claimed_without_a_tag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default directory may have no tag, because an earlier version of kmarkers wrote none.
    Files in another directory without a tag may belong to the user. Files that kmarkers did not
    make remain in each directory."""
    monkeypatch.setattr(cache, "DEFAULT_CACHE", tmp_path / "b")
    said = (r"^nothing is removed: .* has no CACHEDIR\.TAG", "is not empty, and kmarkers did not")
    for name in "abc":
        (tmp_path / name).mkdir()
        (tmp_path / name / "mail.log").touch()
        monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path / name))
        for use, why in zip((cache.clean_cache, cache.tag_cache_dir), said, strict=True):
            with contextlib.nullcontext() if name == "b" else pytest.raises(UnableError, match=why):
                use()
    kept = {name for here in "abc" for name in (here, f"{here}/mail.log")}
    assert list_paths_below(tmp_path) == {*kept, f"b/{cache.TAG}"}


def test_removed_lock_file_is_created_again(
    cache_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = threading.Event()
    monkeypatch.setattr(cache, "print_step", lambda message: waits.set())
    held = []

    def take_lock_and_record_its_file() -> None:
        with cache.hold_cache_lock("x"):
            held.append((cache_directory / "x.lock").exists())

    other = threading.Thread(target=take_lock_and_record_its_file)
    with cache.hold_cache_lock("x"):
        other.start()
        assert waits.wait(20)
        (cache_directory / "x.lock").unlink()
    other.join(20)
    assert held == [True]


def test_error_names_a_directory_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv("KMARKERS_CACHE", str(place))
        with pytest.raises(UnableError, match=f"cannot be kept in {place} .*; set KMARKERS_CACHE"):
            cache.tag_cache_dir()


def test_threads_can_claim_a_new_directory_concurrently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Barrier(4)

    def claim_cache_at_the_same_time() -> None:
        together.wait(20)
        cache.tag_cache_dir()

    with ThreadPoolExecutor(4) as pool:
        for number in range(200):
            monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path / str(number)))
            for done in [pool.submit(claim_cache_at_the_same_time) for _ in range(4)]:
                done.result()
            assert cache.is_cache_tagged()
