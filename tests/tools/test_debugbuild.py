# SPDX-License-Identifier: GPL-2.0-only
"""Tests of building debug kernels: concurrent builds and fetches, failures and killed processes."""

from __future__ import annotations

import io
import os
import signal
import tarfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fakemirror import ENTRY, NEW, FakeMirror
from kmtools.base.errors import UnableError
from kmtools.base.files import hold_lock
from kmtools.lab import cache, catalogue, chroot, debugkernel, kernels
from kmtools.lab.catalogue import Entry

DEBUG = Entry("k-debug", "s", "linux-source-1", "emulator", "debug:kasan")
OTHER = Entry("k-other", "s", "linux-source-1", "emulator", "debug:kcsan")
SECONDS = 20
BZIMAGE = "arch/x86/boot/bzImage"


class FakeKernelBuilder:
    """Builds fake kernels from a fake source package on a fake mirror. The function `during` is
    called during each compilation."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.mirror = FakeMirror(root, monkeypatch)
        self.compiled: list[str] = []
        self.configured: list[str] = []
        self.during: Callable[[], None] = lambda: None
        self.replace_source("1")
        monkeypatch.setattr(debugkernel, "is_qemu_unpacked", lambda entry: True)
        monkeypatch.setattr(debugkernel, "NEEDED_BYTES", 1 << 20)
        monkeypatch.setattr(chroot, "run_in_chroot", self.run_make)

    def replace_source(self, version: str) -> None:
        """Replace the source package on the mirror by this version."""
        for deb in self.mirror.dir.glob("linux-source-*"):
            deb.unlink()
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:xz") as tar:
            tar.addfile(tarfile.TarInfo("linux-source/Makefile"))
        name = "usr/src/linux-source-1.tar.xz"
        self.mirror.add_package("linux-source-1", version, name, archive.getvalue())

    def run_make(
        self, tree: Path, binds: Sequence[tuple[Path, str]], command: Sequence[str], log: Path
    ) -> int:
        """Replace chroot.run_in_chroot() by a fake make, which writes the files that a build
        leaves."""
        assert (tree / "usr/bin/make").is_file()
        source = binds[0][0] / "linux"
        assert (source / "Makefile").is_file()
        if {"tinyconfig", "defconfig"} & set(command):
            self.configured.append(command[-1])
            (source / ".config").write_text("")
        elif "all" in command:
            self.compiled.append(source.parents[2].name)
            self.during()
            for name, text in (("include/config/kernel.release", "1-k\n"), (BZIMAGE, "image")):
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                (source / name).write_text(text)
        return 0


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKernelBuilder:
    """Return a builder of fake debug kernels."""
    return FakeKernelBuilder(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("role", "begins_with"), [("debug:kasan", "tinyconfig"), (catalogue.UPSTREAM, "defconfig")]
)
def test_base_configuration_depends_on_the_role(
    builder: FakeKernelBuilder, role: str, begins_with: str
) -> None:
    entry = Entry("k-built", "s", "linux-source-1", "emulator", role)
    kernel = kernels.ensure_kernel_is_unpacked(entry)
    assert builder.configured == [begins_with]
    parts = [file.read_text() for file in debugkernel.list_config_fragment_files(entry)]
    assert (kernel.tree / debugkernel.RECORD).read_text() == "".join(parts)


def list_incomplete_trees(builder: FakeKernelBuilder) -> list[Path]:
    """Return the incomplete trees in the cache directory."""
    return sorted(builder.mirror.cache.glob("*/.new-*"))


def test_a_debug_kernel_is_built_once(builder: FakeKernelBuilder) -> None:
    kernel = kernels.ensure_kernel_is_unpacked(DEBUG)
    assert (kernel.release, kernel.version, kernel.make_args) == ("1-k", "1", [])
    assert kernel.image.read_text() == "image"
    assert (
        debugkernel.find_complete_kernel(DEBUG)
        == kernel
        == kernels.ensure_kernel_is_unpacked(DEBUG)
    )
    assert len(builder.compiled) == 1 and list_incomplete_trees(builder) == []


@pytest.mark.parametrize(("on_mirror", "built"), [("1", False), ("2", True), ("0.9", False)])
def test_newer_kernel_source_is_built_on_update_only(
    builder: FakeKernelBuilder, on_mirror: str, built: bool
) -> None:
    there = kernels.ensure_kernel_is_unpacked(DEBUG)
    objects = [builder.mirror.cache / "objects" / name for name in ("k-debug", "k")]
    for directory in objects:
        directory.mkdir(parents=True)
    builder.replace_source(on_mirror)
    assert kernels.ensure_kernel_is_unpacked(DEBUG) == there and len(builder.compiled) == 1
    assert kernels.ensure_kernel_is_unpacked(DEBUG, update=True).version == ("2" if built else "1")
    assert len(builder.compiled) == (2 if built else 1)
    assert builder.mirror.log.count("update") == 2
    assert [directory.exists() for directory in objects] == [not built, True]


def test_fetches_are_possible_during_a_compilation(builder: FakeKernelBuilder) -> None:
    def fetch_kernel_during_compilation() -> None:
        (tree,) = list_incomplete_trees(builder)
        builder.during = lambda: None
        with hold_lock(builder.mirror.cache / "fetch.lock", "nobody else can fetch"):
            pass
        assert kernels.ensure_kernel_is_unpacked(OTHER).name == "k-other"
        assert kernels.ensure_kernel_is_unpacked(ENTRY).release == NEW
        assert list_incomplete_trees(builder) == [tree]

    builder.during = fetch_kernel_during_compilation
    assert kernels.ensure_kernel_is_unpacked(DEBUG).image.is_file()
    assert len(builder.compiled) == 2


def test_two_processes_compile_the_same_kernel_once(
    builder: FakeKernelBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = make_lock_wait_event(monkeypatch)
    with ThreadPoolExecutor(1) as pool:
        others = []

        def start_another_build() -> None:
            others.append(pool.submit(kernels.ensure_kernel_is_unpacked, DEBUG))
            assert waits.wait(SECONDS)

        builder.during = start_another_build
        kernel = kernels.ensure_kernel_is_unpacked(DEBUG)
        assert others[0].result(SECONDS) == kernel
    assert len(builder.compiled) == 1


def test_lab_clean_waits_for_a_compilation(
    builder: FakeKernelBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = make_lock_wait_event(monkeypatch)
    with ThreadPoolExecutor(1) as pool:
        cleaning = []

        def start_cleaning() -> None:
            cleaning.append(pool.submit(cache.clean_cache))
            assert waits.wait(SECONDS)
            assert list_incomplete_trees(builder)

        builder.during = start_cleaning
        kernels.ensure_kernel_is_unpacked(DEBUG)
        cleaning[0].result(SECONDS)
    assert not builder.mirror.cache.exists()


def make_lock_wait_event(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Return an event that is set when a thread begins to wait for a lock of the cache."""
    waits = threading.Event()
    monkeypatch.setattr(cache, "print_step", lambda message: waits.set())
    return waits


@pytest.mark.parametrize("error", [KeyboardInterrupt(), UnableError("make all failed")])
def test_failed_compilation_leaves_no_files(
    builder: FakeKernelBuilder, error: BaseException
) -> None:
    def raise_error() -> None:
        raise error

    builder.during = raise_error
    with pytest.raises(type(error)):
        kernels.ensure_kernel_is_unpacked(DEBUG)
    assert (
        catalogue.find_unpacked_kernel("k-debug") is None and list_incomplete_trees(builder) == []
    )


def kill_during_compilation(builder: FakeKernelBuilder, update: bool = False) -> None:
    """Start a build in a child process, and kill it during the compilation."""
    child = os.fork()
    if child == 0:
        builder.during = lambda: os.kill(os.getpid(), signal.SIGKILL)
        try:
            kernels.ensure_kernel_is_unpacked(DEBUG, update)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    (tree,) = list_incomplete_trees(builder)
    assert (tree / "usr/src/linux/Makefile").is_file()
    (tree / "rest").touch()


def test_tree_of_a_killed_compilation_is_not_used(builder: FakeKernelBuilder) -> None:
    kill_during_compilation(builder)
    assert debugkernel.find_complete_kernel(DEBUG) is None
    kernel = kernels.ensure_kernel_is_unpacked(DEBUG)
    assert not (kernel.tree / "rest").exists() and list_incomplete_trees(builder) == []


def test_next_fetch_removes_files_of_a_killed_compilation(builder: FakeKernelBuilder) -> None:
    kill_during_compilation(builder)
    kernels.ensure_kernel_is_unpacked(ENTRY)
    assert list_incomplete_trees(builder) == []


def test_killed_update_keeps_the_installed_kernel(builder: FakeKernelBuilder) -> None:
    there = kernels.ensure_kernel_is_unpacked(DEBUG)
    builder.replace_source("2")
    kill_during_compilation(builder, update=True)
    assert debugkernel.find_complete_kernel(DEBUG) == there
