# SPDX-License-Identifier: GPL-2.0-only
"""Tests of concurrent builds of modules: only builds of the same source tree wait for each
other."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from kmtools.lab import build, cache

SECONDS = 20


class Builds:
    """Builds source trees with a fake make program, which waits for the event or barrier `make`.
    `running` lists the builds that have started the program."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.make: threading.Event | threading.Barrier = threading.Event()
        self.running: list[Path] = []
        self.one_runs = threading.Event()
        self.words: list[str] = []
        self.binds: object = None
        monkeypatch.setenv("KMARKERS_CACHE", str(home / "cache"))
        monkeypatch.setattr(build, "require_root", lambda action: None)
        monkeypatch.setattr(build, "require_kernel", lambda name: None)
        monkeypatch.setattr(build, "run_make", self._run_make)

    def _run_make(
        self, kernel: object, objects: Path, make_args: list[str], log: object, binds: object
    ) -> int:
        self.running.append(objects)
        self.words, self.binds = make_args, binds
        self.one_runs.set()
        self.make.wait(SECONDS)
        return 1

    def start_build(self, name: str) -> threading.Thread:
        """Start the build of a source tree in a thread."""
        src = self.home / name
        src.mkdir(exist_ok=True)
        (src / "Kbuild").touch()
        thread = threading.Thread(target=build.build_modules, args=("6.1", src, src / "out"))
        thread.start()
        return thread


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builds:
    """Return a Builds object, whose builds end when the test sets the event `make`."""
    return Builds(tmp_path, monkeypatch)


def test_builds_of_two_trees_run_in_parallel(builds: Builds) -> None:
    builds.make = threading.Barrier(2)
    threads = [builds.start_build("one"), builds.start_build("other")]
    for thread in threads:
        thread.join(2 * SECONDS)
    assert len(builds.running) == 2
    assert not builds.make.broken


def test_builds_of_one_tree_wait_for_each_other(
    builds: Builds, monkeypatch: pytest.MonkeyPatch
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


def test_module_outside_the_tree_is_built_against_kmarkers(builds: Builds, tmp_path: Path) -> None:
    """During the build of a module outside the tree, the directory /kmarkers has the objects of
    kmarkers; during the build of kmarkers itself, there is no such directory."""
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
