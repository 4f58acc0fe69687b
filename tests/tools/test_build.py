# SPDX-License-Identifier: GPL-2.0-only
"""Tests of concurrent module builds: only builds of the same source tree wait for each other."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from kmtools.base.errors import UnableError
from kmtools.base.files import hold_lock
from kmtools.lab import build, cache, chroot
from kmtools.lab.catalogue import Kernel

SECONDS = 20


class FakeModuleBuilds:
    """Builds source trees with a fake make program, which waits for the event or barrier `make`,
    makes the modules `makes`, and ends with the exit code `code`. `running` lists the builds that
    have started the program."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.make: threading.Event | threading.Barrier = threading.Event()
        self.running: list[Path] = []
        self.one_runs = threading.Event()
        self.words: list[str] = []
        self.binds: object = None
        self.makes: list[str] = []
        self.code = 1
        monkeypatch.setenv("KMARKERS_CACHE", str(home / "cache"))
        monkeypatch.setattr(build, "require_root", lambda action: None)
        monkeypatch.setattr(build, "require_unpacked_kernel", lambda name: None)
        monkeypatch.setattr(build, "run_kbuild", self._run_make)

    def _run_make(
        self, kernel: object, objects: Path, make_args: list[str], log: object, binds: object
    ) -> int:
        self.running.append(objects)
        self.words, self.binds = make_args, binds
        self.one_runs.set()
        self.make.wait(SECONDS)
        objects.mkdir(parents=True, exist_ok=True)
        for name in self.makes:
            (objects / name).write_text(f"new {name}")
        if not self.code:
            (objects / "modules.order").write_text("".join(f"{n[:-1]}o\n" for n in self.makes))
        return self.code

    def start_build(self, name: str, **options: object) -> threading.Thread:
        """Start the build of a source tree in a thread, with options of build_modules()."""
        src = self.home / name
        src.mkdir(exist_ok=True)
        (src / "Kbuild").touch()
        thread = threading.Thread(
            target=build.build_modules, args=("6.1", src, src / "out"), kwargs=options
        )
        thread.start()
        return thread


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeModuleBuilds:
    """Return fake builds, which end when the test sets the event `make`."""
    return FakeModuleBuilds(tmp_path, monkeypatch)


def test_builds_of_two_trees_run_in_parallel(builds: FakeModuleBuilds) -> None:
    builds.make = threading.Barrier(2)
    threads = [builds.start_build("one"), builds.start_build("other")]
    for thread in threads:
        thread.join(2 * SECONDS)
    assert len(builds.running) == 2
    assert not builds.make.broken


def test_builds_of_one_tree_wait_for_each_other(
    builds: FakeModuleBuilds, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = threading.Event()
    monkeypatch.setattr(cache, "print_step", lambda message: waits.set())
    assert isinstance(builds.make, threading.Event)
    threads = [builds.start_build("one"), builds.start_build("one")]
    assert waits.wait(SECONDS) and builds.one_runs.wait(SECONDS)
    assert len(builds.running) == 1
    builds.make.set()
    for thread in threads:
        thread.join(2 * SECONDS)
    assert len(builds.running) == 2


def test_module_outside_the_tree_is_built_against_kmarkers(
    builds: FakeModuleBuilds, tmp_path: Path
) -> None:
    """The directory /kmarkers contains the objects of kmarkers during the build of a module outside
    the tree, and does not exist during the build of kmarkers itself."""
    assert isinstance(builds.make, threading.Event)
    builds.make.set()
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Kbuild").touch()
    ours = tmp_path / "ours"
    assert (
        build.build_modules(
            "6.1", tmp_path / "theirs", tmp_path / "out", ["-s"], kmarkers_source=ours
        )
        == 1
    )
    assert builds.words == ["KMARKERS=/kmarkers", "-s"]
    assert builds.binds == [(build.get_object_dir("6.1", ours), "kmarkers")]
    assert build.build_modules("6.1", ours, tmp_path / "out", ["-s"]) == 1
    assert (builds.words, builds.binds) == (["-s"], [])


def test_build_locks_its_kernel_and_modules(builds: FakeModuleBuilds, tmp_path: Path) -> None:
    """During a build, no other process replaces the kernel, removes the objects of the module, or
    builds kmarkers anew. Two modules can be built against kmarkers at the same time."""
    assert isinstance(builds.make, threading.Event)
    ours = tmp_path / "ours"
    thread = builds.start_build("theirs", kmarkers_source=ours)
    assert builds.one_runs.wait(SECONDS)
    names = [f"build-6.1-{cache.flatten_path(tmp_path / name)}" for name in ("ours", "theirs")]
    locks = [tmp_path / "cache" / f"{name}.lock" for name in ("build-6.1", *names)]
    for lock in locks:
        with pytest.raises(UnableError, match="used"), hold_lock(lock, "used"):
            pass
    for name in ("build-6.1", names[0]):
        with cache.hold_cache_lock(name, shared=True):
            pass
    builds.make.set()
    thread.join(SECONDS)
    for lock in locks:
        with hold_lock(lock, "used"):
            pass


def test_objects_are_removed_after_a_build_has_ended(
    builds: FakeModuleBuilds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = threading.Event()
    monkeypatch.setattr(cache, "print_step", lambda message: waits.set())
    assert isinstance(builds.make, threading.Event)
    started = builds.start_build("ours")
    assert builds.one_runs.wait(SECONDS)
    removal = threading.Thread(target=build.remove_objects, args=("6.1", tmp_path / "ours"))
    removal.start()
    assert waits.wait(SECONDS)
    objects = build.get_object_dir("6.1", tmp_path / "ours")
    assert (objects / "Kbuild").exists()
    builds.make.set()
    for thread in (started, removal):
        thread.join(SECONDS)
    assert not objects.exists()


@pytest.mark.parametrize("exit_code", [0, 1])
@pytest.mark.parametrize("makes", [[], ["a.ko"], ["a.ko", "b.ko"]])
def test_only_a_successful_build_copies_its_modules(
    builds: FakeModuleBuilds, tmp_path: Path, exit_code: int, makes: list[str]
) -> None:
    """A successful build copies the modules that it has made; if it has made none, an error is
    raised. After a failed build there are no modules. In all cases, the modules of an earlier build
    are removed."""
    assert isinstance(builds.make, threading.Event)
    builds.make.set()
    builds.code, builds.makes = exit_code, makes
    src, out = tmp_path / "src", tmp_path / "out"
    for folder in (src, out):
        folder.mkdir()
    (src / "Kbuild").touch()
    (out / "old.ko").touch()
    (out / build.COPIED).write_text("old.ko\n")
    if exit_code or makes:
        assert build.build_modules("6.1", src, out) == exit_code
    else:
        with pytest.raises(UnableError, match=f"the build of {src} made no module"):
            build.build_modules("6.1", src, out)
    copied = {path.name: path.read_text() for path in out.glob("*.ko")}
    assert copied == ({} if exit_code else {name: f"new {name}" for name in makes})


def test_comments_are_checked_only_where_kernel_doc_can_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With W=1, Kbuild runs kernel-doc, which fails in a tree without perl's module Pod::Usage."""
    ran: list[list[str]] = []
    monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path))
    monkeypatch.setattr(chroot, "run_in_chroot", lambda tree, binds, make, log: ran.append(make))
    kernel = Kernel("6.1", "bookworm", "linux-image-6.1", "6.1", "6.1", "boot/vmlinuz")
    for _ in range(2):
        build.run_kbuild(kernel, tmp_path / "objects", ["W=1"])
        (tmp_path / "suites/bookworm/usr/share/perl/5.36.0/Pod").mkdir(parents=True, exist_ok=True)
        (tmp_path / "suites/bookworm/usr/share/perl/5.36.0/Pod/Usage.pm").touch()
    assert ["cmd_checkdoc=" in make for make in ran] == [True, False]
    assert all("W=1" in make for make in ran)
