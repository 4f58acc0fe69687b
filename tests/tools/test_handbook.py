# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the files in the handbook and of the commit that the handbook names, inside and outside
of a checkout. These tests do not need Sphinx; handbook_site.py tests the pages."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from gitrepo import run_git
from kmtools.base.errors import FailedError, UnableError
from kmtools.report import handbook


@pytest.fixture
def source_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a tree with a document and two other files, from which the handbook is made."""
    for name in ("Documentation/one.md", "build/two.md", ".hidden/three.md"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("text\n")
    monkeypatch.setattr(handbook, "ROOT", tmp_path)
    handbook.list_tracked_files.cache_clear()
    yield tmp_path
    handbook.list_tracked_files.cache_clear()


def test_handbook_of_an_archive_has_no_built_or_hidden_files(source_tree: Path) -> None:
    assert handbook.find_tracked_files("**/*.md") == [Path("Documentation/one.md")]
    (source_tree / "COMMIT").write_text("0123456789ab\n")
    assert handbook.describe_tree_commit() == "0123456789ab"


@pytest.mark.parametrize("old", [True, False])
def test_theme_of_the_handbook_imports_nothing(
    old: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that an old theme imports are copied into its script and its style sheet. The files
    of a newer theme are not changed."""
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


def test_handbook_of_a_checkout_has_only_tracked_files(source_tree: Path) -> None:
    run_git(source_tree, "init", "-q")
    run_git(source_tree, "add", "Documentation/one.md")
    run_git(source_tree, "commit", "-qm", "text")
    (source_tree / "Documentation/untracked.md").write_text("text\n")
    assert handbook.find_tracked_files("Documentation/*.md") == [Path("Documentation/one.md")]
    commit = handbook.describe_tree_commit()
    assert len(commit) == 12
    (source_tree / "Documentation/one.md").write_text("other text\n")
    assert handbook.describe_tree_commit() == f"{commit}-dirty"


def test_links_of_the_handbook_lead_to_its_pages(source_tree: Path) -> None:
    """A link to a document leads to its page, a link to a source file or a folder to a page that
    shows it, a link to an image or to a large file to a copy. Links to other sites and links in
    blocks of code stay."""
    for name, size in (("a.c", 300_000), ("big.c", 300_001), ("x.svg", 1), ("dir/b.h", 2)):
        (source_tree / name).parent.mkdir(exist_ok=True)
        (source_tree / name).write_text("x" * size)
    (source_tree / "Documentation" / "README.md").write_text("home")
    made = handbook.Handbook(source_tree / "out")
    here = Path("Documentation/one.md")
    links = {
        "../a.c": "../files/a.c.md", "../a.c#L1": "../files/a.c.md#L1",
        "../dir": "../files/dir/index.md", "../x.svg": "../raw/x.svg", "../big.c": "../raw/big.c",
        "README.md#top": "../index.md#top", "one.md": "one.md", "https://x.y/a.c": "https://x.y/a.c",
        "mailto:a@b": "mailto:a@b", "#here": "#here",
    }  # fmt: skip
    for target, found in links.items():
        assert made.adapt_links_to_handbook(here, f"a [b]({target}) c") == f"a [b]({found}) c"
    assert made.adapt_links_to_handbook(handbook.HOME, "[b](one.md)") == "[b](Documentation/one.md)"
    code = "```\n[b](../a.c)\n```\n"
    assert made.adapt_links_to_handbook(here, f"{code}[b](../a.c)") == f"{code}[b](../files/a.c.md)"
    assert made.files == {Path("a.c"), Path("dir")}
    assert (source_tree / "out" / "raw" / "x.svg").read_text() == "x"
    with pytest.raises(FailedError, match=r"^[^:]*: links to gone\.c, which does not exist$"):
        made.adapt_links_to_handbook(here, "[b](../gone.c)")


def test_handbook_has_pages_of_linked_folders_and_their_files(source_tree: Path) -> None:
    """The page of a folder links to the pages of the files below it, which are then written."""
    for name in ("dir/b.h", "dir/sub/c.py", "dir/d.txt"):
        (source_tree / name).parent.mkdir(parents=True, exist_ok=True)
        (source_tree / name).write_text("text")
    made = handbook.Handbook(source_tree / "out")
    made.files.add(Path("dir"))
    made.write_file_pages()
    head = "---\norphan: true\n---\n\n# {}\n\n"
    folder = source_tree / "out" / "files" / "dir"
    assert (folder / "index.md").read_text() == head.format("dir") + (
        "- [b.h](b.h.md)\n- [d.txt](d.txt.md)\n- [sub/c.py](sub/c.py.md)\n"
    )
    for name, language in (("b.h", "c"), ("d.txt", "none"), ("sub/c.py", "python")):
        assert (folder / f"{name}.md").read_text() == head.format(f"dir/{name}") + (
            f"```{{literalinclude}} /raw/dir/{name}\n:language: {language}\n:linenos:\n"
            ":tab-width: 8\n```\n"
        )


def test_first_handbook_page_lists_the_pages_of_each_section(source_tree: Path) -> None:
    text = (
        "# Title\n[x](zero.md)\n## Guide\n[a](one.md), [b](x.c), [c](two.md#part)\n"
        "## Reference\n[d](three.md)\n"
    )
    begin = "\n```{{toctree}}\n:hidden:\n:caption: {}\n\n"
    tables = [
        begin.format("Guide") + "/one.md\n/two.md\n```\n",
        begin.format("Reference") + "/three.md\n/reference/commands.md\n```\n",
    ]
    generated = [Path("reference/commands.md")]
    assert list(handbook.make_handbook_contents(text, generated)) == tables
    (source_tree / "Documentation" / "README.md").write_text("## Reference\n[d](one.md)\n")
    handbook.Handbook(source_tree / "out").write_document_pages(generated)
    assert (source_tree / "out" / "index.md").read_text() == (
        "## Reference\n[d](Documentation/one.md)\n"
        + begin.format("Reference")
        + "/Documentation/one.md\n/reference/commands.md\n```\n"
    )
    assert (source_tree / "out" / "Documentation" / "one.md").read_text() == "text\n"


def test_handbook_quotes_the_manual_of_a_header(tmp_path: Path) -> None:
    header = tmp_path / "x.h"
    header.write_text("// SPDX\n/*\n * One.\n *\n *   two\n */\n\n/*\n * Other.\n */\n")
    assert handbook.quote_header_manual(header) == "::\n\n   One.\n\n     two\n"
    header.write_text("/* short */\n")
    assert handbook.quote_header_manual(header) == ""


def test_handbook_uses_a_kernel_doc_script_in_perl_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handbook, "Path", lambda _: tmp_path)
    monkeypatch.setattr(handbook, "get_cache_dir", lambda: tmp_path / "cache")
    with pytest.raises(UnableError, match="kernel-doc is missing"):
        handbook.find_kernel_doc()
    where = "usr/lib/linux-kbuild-{}/scripts/kernel-doc"
    found = []
    for place, line in (
        ("cache/kernels/b/" + where.format(6), "#!/usr/bin/perl"),
        ("cache/kernels/a/" + where.format(6), "#!/usr/bin/env perl"),
        (where.format(7), "#!/usr/bin/python3\n# not perl"),
        (where.format(8), "#!/usr/bin/perl"),
    ):
        path = tmp_path / place
        path.parent.mkdir(parents=True)
        path.write_text(f"{line}\n")
        found.append(handbook.find_kernel_doc().relative_to(tmp_path).parts[:3])
    assert found == [
        *(("cache", "kernels", "b"), *[("cache", "kernels", "a")] * 2),
        ("usr", "lib", "linux-kbuild-8"),
    ]


def test_handbook_page_has_the_help_of_each_command(
    source_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[tuple[str, ...], str] = {
        (): "usage\n  bench    measure\n  check mutants  try\n   more  x"
    }

    def return_help_text(*arguments: str) -> str:
        return told.get(arguments, f"help of {' '.join(arguments)}")

    monkeypatch.setattr(handbook, "capture_command_help", return_help_text)
    page = handbook.Handbook(source_tree / "out").write_command_page()
    assert page == Path("reference/commands.md")
    assert (source_tree / "out" / page).read_text() == (
        "# Commands\n\nEach command of `kmarkers`, as its `--help` prints it.\n"
        "\n## bench\n\n```none\nhelp of bench\n```\n"
        "\n## check mutants\n\n```none\nhelp of check mutants\n```\n"
    )


def make_completed_process(exit_code: int, stdout: str) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], exit_code, stdout, " why \n")


def test_handbook_fails_if_the_help_of_a_command_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        handbook, "capture_output", lambda *_: make_completed_process(0, " help \n")
    )
    assert handbook.capture_command_help("bench") == " help"
    monkeypatch.setattr(handbook, "capture_output", lambda *_: make_completed_process(2, ""))
    with pytest.raises(FailedError, match=r"^kmarkers check mutants --help failed: why$"):
        handbook.capture_command_help("check", "mutants")


def test_handbook_page_of_a_header_has_its_manual(
    source_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A header without kernel-doc comments has no page, and neither has a module without kernel-doc
    comments."""
    for name in ("include/kmarkers/a.h", "include/linux/b.h", "base/c.c", "patcher/d.c"):
        (source_tree / name).parent.mkdir(parents=True, exist_ok=True)
        (source_tree / name).write_text("/*\n * One.\n */\n")

    def return_fake_manual(words: list[object], _: object) -> subprocess.CompletedProcess[str]:
        assert words[:5] == ["perl", Path("script"), "-rst", "-sphinx-version", "5.3.0"]
        source, header = Path("patcher/d.c"), Path("include/linux/b.h")
        silent = words[5:] in ([header], ["-export", source], ["-export"])
        return make_completed_process(0, "" if silent else " ".join(map(str, words[5:])) + "\n")

    monkeypatch.setattr(handbook, "capture_output", return_fake_manual)
    pages = handbook.Handbook(source_tree / "out").write_header_pages(Path("script"))
    where = Path("reference")
    assert pages == [where / "headers/kmarkers/a.rst", where / "functions/base.rst"]
    assert [(source_tree / "out" / page).read_text() for page in pages[:1]] == [
        "==============\n<kmarkers/a.h>\n==============\n\n::\n\n   One.\n\n\n"
        "include/kmarkers/a.h\n"
    ]
    title = "Functions that base/ exports"
    text = (source_tree / "out" / pages[1]).read_text()
    assert text.splitlines()[1] == title and text.endswith("\n\n-export base/c.c\n")
