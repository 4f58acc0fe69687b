# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the directories with packages that were downloaded for minimal Debian systems."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kmtools.lab.bareroot import Root, link_packages


def write_packages(directory: Path, *names: str) -> None:
    """Write files with these names, each with its name as content."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / name).write_text(name)


@pytest.mark.parametrize("same_file_system", [True, False])
def test_packages_are_linked_or_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same_file_system: bool
) -> None:
    def refuse_link(*_: object, **__: object) -> None:
        raise OSError("Invalid cross-device link")

    if not same_file_system:
        monkeypatch.setattr(os, "link", refuse_link)
    write_packages(tmp_path / "a", "new.deb", "old.deb", "lock", "partial.deb.part")
    write_packages(tmp_path / "b", "other.deb")
    (tmp_path / "b" / "old.deb").write_text("as it was")
    link_packages(tmp_path / "a", tmp_path / "b")
    assert {p.name: p.read_text() for p in (tmp_path / "b").iterdir()} == {
        "new.deb": "new.deb",
        "old.deb": "as it was",
        "other.deb": "other.deb",
    }


def test_packages_of_a_removed_root_are_kept(tmp_path: Path) -> None:
    shared = tmp_path / "cache" / "packages"
    roots = [Root(tmp_path / name, shared, None) for name in ("first", "second")]
    for root in roots:
        write_packages(root.private_packages, f"{root.path.name}.deb")
        write_packages(root.path, "file")
    assert roots[0].private_packages != roots[1].private_packages
    for root in roots:
        root.remove_trees()
    assert sorted(p.name for p in shared.iterdir()) == ["first.deb", "second.deb"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache"]


def test_root_without_a_cache_keeps_no_packages(tmp_path: Path) -> None:
    root = Root(tmp_path / "root", None, None)
    write_packages(root.path, "file")
    root.remove_trees()
    assert not list(tmp_path.iterdir())
