# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the files that the handbook contains and of the commit that it names, also outside of a
checkout. These tests do not need Sphinx; handbook_site.py tests the pages."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from kmtools.report import handbook


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a tree with a document and two other files, from which the handbook is made."""
    for name in ("Documentation/one.md", "build/two.md", ".hidden/three.md"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("text\n")
    monkeypatch.setattr(handbook, "ROOT", tmp_path)
    handbook.list_tracked_files.cache_clear()
    yield tmp_path
    handbook.list_tracked_files.cache_clear()


def test_handbook_of_an_archive_has_no_built_or_hidden_files(tree: Path) -> None:
    assert handbook.find_tracked_files("**/*.md") == [Path("Documentation/one.md")]
    (tree / "COMMIT").write_text("0123456789ab\n")
    assert handbook.describe_commit() == "0123456789ab"


@pytest.mark.parametrize("old", [True, False])
def test_theme_of_the_handbook_imports_nothing(
    old: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that an old theme imports are included in its script and in its style sheet. The
    files of a later theme stay."""
    script, style, normalize = (
        tmp_path / "_static" / "scripts" / "furo.js",
        tmp_path / "_static" / "styles" / "furo.css",
        tmp_path / "normalize.css",
    )
    for path, text in (
        (script, 'import Gumshoe from "./gumshoe-patched.js";\n' * old + "rest();\n"),
        (script.with_name("gumshoe-patched.js"), "gumshoe();\n"),
        (
            style,
            "a {}\n" + "@import url(/javascript/normalize.css/normalize.css);" * old + "b {}\n",
        ),
        (normalize, "normal {}\n"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(handbook, "NORMALIZE", normalize)
    handbook.make_theme_self_contained(tmp_path)
    assert script.read_text() == "gumshoe();\n" * old + "rest();\n"
    assert style.read_text() == "a {}\n" + "normal {}\n" * old + "b {}\n"


def test_handbook_of_a_checkout_has_only_tracked_files(tree: Path) -> None:
    def run_git(*words: str) -> None:
        names = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
        subprocess.run(["git", *names, *words], cwd=tree, check=True, capture_output=True)

    run_git("init", "-q")
    run_git("add", "Documentation/one.md")
    run_git("commit", "-qm", "text")
    (tree / "Documentation/untracked.md").write_text("text\n")
    assert handbook.find_tracked_files("Documentation/*.md") == [Path("Documentation/one.md")]
    commit = handbook.describe_commit()
    assert len(commit) == 12
    (tree / "Documentation/one.md").write_text("other text\n")
    assert handbook.describe_commit() == f"{commit}-dirty"
