# SPDX-License-Identifier: GPL-2.0-only
"""Builds of modules at the same time: some wait for each other, others do not."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from kmtools.lab import build, cache

SECONDS = 20


class Builds:
    """Builds of source trees for a kernel that does not exist."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.make: threading.Event | threading.Barrier = threading.Event()
        self.running: list[Path] = []
        self.one_runs = threading.Event()
        self.words: list[str] = []
        self.binds: object = None
        monkeypatch.setenv("KMARKERS_CACHE", str(home / "cache"))
        monkeypatch.setattr(build, "require_root", lambda action: None)
        monkeypatch.setattr(build, "require", lambda name: None)
        monkeypatch.setattr(build, "run_make", self._run_make)

    def _run_make(
        self, kernel: object, objects: Path, make_args: list[str], log: object, binds: object
    ) -> int:
        self.running.append(objects)
        self.words, self.binds = make_args, binds
        self.one_runs.set()
        self.make.wait(SECONDS)
        return 1

    def start(self, name: str) -> threading.Thread:
        """Build a tree in a thread."""
        src = self.home / name
        src.mkdir(exist_ok=True)
        (src / "Kbuild").touch()
        thread = threading.Thread(target=build.build_modules, args=("6.1", src, src / "out"))
        thread.start()
        return thread


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builds:
    """Return builds that end when the test says so."""
    return Builds(tmp_path, monkeypatch)


def test_builds_of_two_trees_do_not_wait(builds: Builds) -> None:
    builds.make = threading.Barrier(2)
    threads = [builds.start("one"), builds.start("other")]
    for thread in threads:
        thread.join(2 * SECONDS)
    assert len(builds.running) == 2
    assert not builds.make.broken


def test_builds_of_one_tree_wait(builds: Builds, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = threading.Event()
    monkeypatch.setattr(cache, "progress", lambda message: waits.set())
    assert isinstance(builds.make, threading.Event)
    threads = [builds.start("one"), builds.start("one")]
    assert waits.wait(SECONDS) and builds.one_runs.wait(SECONDS)
    assert len(builds.running) == 1
    builds.make.set()
    for thread in threads:
        thread.join(2 * SECONDS)
    assert len(builds.running) == 2


def test_modules_of_others_are_built_beside_ours(builds: Builds, tmp_path: Path) -> None:
    """They find our headers and symbols where ours were built; ours need no such place."""
    assert isinstance(builds.make, threading.Event)
    builds.make.set()
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Kbuild").touch()
    ours = tmp_path / "ours"
    assert build.build_modules("6.1", tmp_path / "theirs", tmp_path / "out", ["-s"], uses=ours) == 1
    assert builds.words == ["KMARKERS=/kmarkers", "-s"]
    assert builds.binds == [(build.object_dir("6.1", ours), "kmarkers")]
    assert build.build_modules("6.1", ours, tmp_path / "out", ["-s"]) == 1
    assert (builds.words, builds.binds) == (["-s"], [])
