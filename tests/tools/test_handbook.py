# SPDX-License-Identifier: GPL-2.0-only
"""Tests of which files the handbook takes and which commit it names, also outside of a checkout.
They do not need Sphinx; handbook_site.py tests the pages."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from kmtools.report import handbook


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a tree with a document, and two files that are none; the handbook is made of it."""
    for name in ("Documentation/one.md", "build/two.md", ".hidden/three.md"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("text\n")
    monkeypatch.setattr(handbook, "ROOT", tmp_path)
    handbook.list_tracked_files.cache_clear()
    yield tmp_path
    handbook.list_tracked_files.cache_clear()


def test_archive_has_all_files_but_built_and_hidden_ones(tree: Path) -> None:
    assert handbook.find_files("**/*.md") == [Path("Documentation/one.md")]
    (tree / "COMMIT").write_text("0123456789ab\n")
    assert handbook.describe_commit() == "0123456789ab"


def test_checkout_has_the_tracked_files(tree: Path) -> None:
    def run_git(*words: str) -> None:
        names = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
        subprocess.run(["git", *names, *words], cwd=tree, check=True, capture_output=True)

    run_git("init", "-q")
    run_git("add", "Documentation/one.md")
    run_git("commit", "-qm", "text")
    (tree / "Documentation/untracked.md").write_text("text\n")
    assert handbook.find_files("Documentation/*.md") == [Path("Documentation/one.md")]
    commit = handbook.describe_commit()
    assert len(commit) == 12
    (tree / "Documentation/one.md").write_text("other text\n")
    assert handbook.describe_commit() == f"{commit}-dirty"
