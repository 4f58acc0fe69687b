# SPDX-License-Identifier: GPL-2.0-only
"""Makes the handbook, and checks its pages. `kmarkers check` runs these tests only if Sphinx is
installed."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from kmtools.base.errors import FailedError
from kmtools.base.paths import ROOT
from kmtools.cli import COMMANDS
from kmtools.report import handbook

EXPORT = re.compile(r"^EXPORT_SYMBOL_GPL\((\w+)\);$", re.M)
DOCUMENTED = re.compile(r"^/\*\*\n \* (?:struct )?(\w+)(?:\(\))? - ", re.M)


class PageLinks(HTMLParser):
    """Collects the links and the anchors of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value and tag != "link":
                self.links.append(value)


@pytest.fixture(scope="module")
def built_handbook() -> Path:
    """Make the handbook, and return its folder. Any warning of Sphinx is an error."""
    handbook.make_handbook()
    return handbook.OUT


def list_indexed_names(built_handbook: Path) -> set[str]:
    """Return the names in objects.inv, the index that Sphinx writes so that other sites can link to
    names."""
    packed = (built_handbook / "objects.inv").read_bytes().split(b"\n", 4)[4]
    return {line.split()[0] for line in zlib.decompress(packed).decode().splitlines() if line}


def list_kernel_doc_names() -> Iterator[str]:
    """Yield the documented names: functions, macros and structures of the public headers with a
    kernel-doc comment, and exported functions of modules with a kernel-doc comment."""
    for path in sorted(ROOT.glob("include/kmarkers/*.h")):
        yield from DOCUMENTED.findall(path.read_text(encoding="utf-8"))
    for module in handbook.MODULES:
        for path in sorted((ROOT / module).glob("*.c")):
            text = path.read_text(encoding="utf-8")
            yield from (name for name in EXPORT.findall(text) if f" * {name}() - " in text)


def test_handbook_index_has_every_documented_name(built_handbook: Path) -> None:
    wanted = sorted(set(list_kernel_doc_names()))
    assert len(wanted) > 150
    names = list_indexed_names(built_handbook)
    assert [name for name in wanted if name not in names] == []


def test_handbook_has_the_usage_of_every_command(built_handbook: Path) -> None:
    text = (built_handbook / "reference" / "commands.html").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"usage: kmarkers {name}" not in text] == []


def test_every_link_of_the_handbook_has_an_existing_target(built_handbook: Path) -> None:
    pages = {path: PageLinks(path) for path in sorted(built_handbook.rglob("*.html"))}
    assert len(pages) > 100
    dead = []
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"\w+:", link):
                continue
            name, _, anchor = unquote(link).partition("#")
            target = (path.parent / name).resolve() if name else path
            if not target.exists() or (
                anchor and target in pages and anchor not in pages[target].anchors
            ):
                dead.append(f"{path.relative_to(built_handbook)}: {link}")
    assert dead == []


def test_handbook_is_readable_without_a_server(built_handbook: Path) -> None:
    """The pages are readable from a folder, without a server: no file is a symbolic link, and no
    script or style sheet imports another file."""
    assert [path for path in built_handbook.rglob("*") if path.is_symlink()] == []
    scripts = [*built_handbook.glob("_static/**/*.js")]
    styles = [*built_handbook.glob("_static/**/*.css")]
    assert scripts and styles
    texts = {path: path.read_text(encoding="utf-8") for path in (*scripts, *styles)}
    imports = re.compile(r"^import |@import|url\(/", re.M)
    assert [path for path, text in texts.items() if imports.search(text)] == []


def test_first_handbook_page_links_to_every_document(built_handbook: Path) -> None:
    text = (built_handbook / "index.html").read_text(encoding="utf-8")
    pages = [
        path for path in built_handbook.glob("Documentation/**/*.html") if path.stem != "README"
    ]
    assert len(pages) >= 22
    assert [path.name for path in pages if str(path.relative_to(built_handbook)) not in text] == []


def test_first_handbook_page_names_the_commit(built_handbook: Path) -> None:
    commit = handbook.describe_tree_commit()
    assert len(commit) >= 7
    assert f"commit {commit}" in (built_handbook / "index.html").read_text(encoding="utf-8")


def test_handbook_refuses_a_link_to_a_missing_file(tmp_path: Path) -> None:
    pages = handbook.Handbook(tmp_path)
    with pytest.raises(FailedError, match=r"patcher/absent\.c, which does not exist"):
        pages.adapt_links_to_handbook(
            Path("Documentation/patcher.md"), "see [it](../patcher/absent.c)"
        )
