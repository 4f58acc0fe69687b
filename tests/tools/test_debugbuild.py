# SPDX-License-Identifier: GPL-2.0-only
"""Building debug kernels: each once, during other fetches, without leaving unfinished trees."""

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
from kmtools.base.files import alone
from kmtools.lab import cache, catalogue, chroot, debugkernel, kernels
from kmtools.lab.catalogue import Entry

DEBUG = Entry("k-debug", "s", "linux-source-1", "emulator", "debug:kasan")
OTHER = Entry("k-other", "s", "linux-source-1", "emulator", "debug:kcsan")
SECONDS = 20
BZIMAGE = "arch/x86/boot/bzImage"


class Builder:
    """Compiles kernels of one file, on a mirror that has their source."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.mirror = FakeMirror(root, monkeypatch)
        self.compiled: list[str] = []
        self.configured: list[str] = []
        self.during: Callable[[], None] = lambda: None
        self.offer("1")
        monkeypatch.setattr(debugkernel, "have_qemu", lambda entry: True)
        monkeypatch.setattr(debugkernel, "NEEDED_BYTES", 1 << 20)
        monkeypatch.setattr(chroot, "run", self.make)

    def offer(self, version: str) -> None:
        """Replace the source on the mirror by this version."""
        for deb in self.mirror.dir.glob("linux-source-*"):
            deb.unlink()
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:xz") as tar:
            tar.addfile(tarfile.TarInfo("linux-source/Makefile"))
        name = "usr/src/linux-source-1.tar.xz"
        self.mirror.package("linux-source-1", version, name, archive.getvalue())

    def make(
        self, tree: Path, binds: Sequence[tuple[Path, str]], command: Sequence[str], log: Path
    ) -> int:
        """Replace a command in a suite's tree."""
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
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builder:
    """Return a machine that builds debug kernels."""
    return Builder(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("role", "begins_with"), [("debug:kasan", "tinyconfig"), (catalogue.UPSTREAM, "defconfig")]
)
def test_configuration_is_made_from_that_of_the_role(
    builder: Builder, role: str, begins_with: str
) -> None:
    entry = Entry("k-built", "s", "linux-source-1", "emulator", role)
    kernel = kernels.ensure(entry)
    assert builder.configured == [begins_with]
    parts = [file.read_text() for file in debugkernel.fragments(entry)]
    assert (kernel.tree / debugkernel.RECORD).read_text() == "".join(parts)


def unfinished(builder: Builder) -> list[Path]:
    """Return the trees that are not finished."""
    return sorted(builder.mirror.cache.glob("*/.new-*"))


def test_a_debug_kernel_is_built_once(builder: Builder) -> None:
    kernel = kernels.ensure(DEBUG)
    assert (kernel.release, kernel.version, kernel.make_args) == ("1-k", "1", [])
    assert kernel.image.read_text() == "image"
    assert debugkernel.complete(DEBUG) == kernel == kernels.ensure(DEBUG)
    assert len(builder.compiled) == 1 and unfinished(builder) == []


@pytest.mark.parametrize(("on_mirror", "built"), [("1", False), ("2", True), ("0.9", False)])
def test_newer_source_is_built_when_asked_for(
    builder: Builder, on_mirror: str, built: bool
) -> None:
    there = kernels.ensure(DEBUG)
    objects = [builder.mirror.cache / "objects" / name for name in ("k-debug", "k")]
    for directory in objects:
        directory.mkdir(parents=True)
    builder.offer(on_mirror)
    assert kernels.ensure(DEBUG) == there and len(builder.compiled) == 1
    assert kernels.ensure(DEBUG, update=True).version == ("2" if built else "1")
    assert len(builder.compiled) == (2 if built else 1)
    assert builder.mirror.log.count("update") == 2
    assert [directory.exists() for directory in objects] == [not built, True]


def test_others_fetch_and_build_while_a_kernel_compiles(builder: Builder) -> None:
    def fetch_others() -> None:
        (tree,) = unfinished(builder)
        builder.during = lambda: None
        with alone(builder.mirror.cache / "fetch.lock", "nobody else can fetch"):
            pass
        assert kernels.ensure(OTHER).name == "k-other"
        assert kernels.ensure(ENTRY).release == NEW
        assert unfinished(builder) == [tree]

    builder.during = fetch_others
    assert kernels.ensure(DEBUG).image.is_file()
    assert len(builder.compiled) == 2


def test_two_that_want_the_same_kernel_compile_it_once(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = waiting(monkeypatch)
    with ThreadPoolExecutor(1) as pool:
        others = []

        def start_another() -> None:
            others.append(pool.submit(kernels.ensure, DEBUG))
            assert waits.wait(SECONDS)

        builder.during = start_another
        kernel = kernels.ensure(DEBUG)
        assert others[0].result(SECONDS) == kernel
    assert len(builder.compiled) == 1


def test_cleaning_waits_for_a_kernel_that_compiles(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = waiting(monkeypatch)
    with ThreadPoolExecutor(1) as pool:
        cleaning = []

        def clean() -> None:
            cleaning.append(pool.submit(cache.clean))
            assert waits.wait(SECONDS)
            assert unfinished(builder)

        builder.during = clean
        kernels.ensure(DEBUG)
        cleaning[0].result(SECONDS)
    assert not builder.mirror.cache.exists()


def waiting(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Return an event that is set once a thread waits for a lock."""
    waits = threading.Event()
    monkeypatch.setattr(cache, "progress", lambda message: waits.set())
    return waits


@pytest.mark.parametrize("error", [KeyboardInterrupt(), UnableError("make all failed")])
def test_a_compile_that_fails_leaves_nothing(builder: Builder, error: BaseException) -> None:
    def stop() -> None:
        raise error

    builder.during = stop
    with pytest.raises(type(error)):
        kernels.ensure(DEBUG)
    assert catalogue.unpacked("k-debug") is None and unfinished(builder) == []


def killed_while_compiling(builder: Builder, update: bool = False) -> None:
    """Begin a build in a process that is then killed."""
    child = os.fork()
    if child == 0:
        builder.during = lambda: os.kill(os.getpid(), signal.SIGKILL)
        try:
            kernels.ensure(DEBUG, update)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    (tree,) = unfinished(builder)
    assert (tree / "usr/src/linux/Makefile").is_file()
    (tree / "rest").touch()


def test_a_killed_compile_leaves_nothing_that_is_taken_for_whole(builder: Builder) -> None:
    killed_while_compiling(builder)
    assert debugkernel.complete(DEBUG) is None
    kernel = kernels.ensure(DEBUG)
    assert not (kernel.tree / "rest").exists() and unfinished(builder) == []


def test_what_a_killed_compile_left_goes_with_the_next_fetch(builder: Builder) -> None:
    killed_while_compiling(builder)
    kernels.ensure(ENTRY)
    assert unfinished(builder) == []


def test_a_killed_update_keeps_the_kernel_that_is_there(builder: Builder) -> None:
    there = kernels.ensure(DEBUG)
    builder.offer("2")
    killed_while_compiling(builder, update=True)
    assert debugkernel.complete(DEBUG) == there
