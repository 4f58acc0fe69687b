# SPDX-License-Identifier: GPL-2.0-only
"""Statements in documents, comments and file heads that a program can verify."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from kmtools.runner import registry

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("base", "patcher", "immediate", "markers", "sdt", "entry", "bench_modules")
PUBLIC = ROOT / "include" / "kmarkers"

# Formats that hold no comment, or are generated from data.
NO_COMMENTS = {".csv", ".json", ".svg", ".png", ".gz"}
# debian/ has three files whose formats know no comment.
NO_SPDX = {"LICENSE", "GPL-2.0-only.txt", ".gitignore", "changelog", "copyright", "format", "dep5"}

LINK = re.compile(r"!?\[[^]]*\]\(([^)\s]+)\)")
MAKE = re.compile(r"(?:^ *|&& )make ((?:[a-z]+-)*[a-z]+)\b", re.MULTILINE)
# Below the directories of modules, only sources: paths in debugfs begin with the same names.
NAMED = re.compile(
    r"(?<![\w./-])((?:scripts|tests|native|examples|include)/[\w./*-]*\w"
    r"|(?:base|patcher|immediate|markers|sdt|entry|bench_modules)/[\w./*-]*\w\.[ch])\b"
)
HOP = re.compile(r"^\| (\d+) \| \[([\w/.]+)\]\(\S+\) \| `(\w+)\(\)` \|", re.MULTILINE)
RESULT = re.compile(r'^\s*(?:try|refused|same|skip|deny|says|result \S+) "([^"]+)"', re.MULTILINE)
# A line that begins so needs the line before it to be understood.
NO_SUBJECT = {"and", "it", "its", "so", "they", "then", "is", "comes", "also", "too", "really"}
EXPORT = re.compile(r"^EXPORT_SYMBOL_GPL\((\w+)\);", re.MULTILINE)
MACRO = re.compile(r"^#define ([A-Za-z_]\w*)\(", re.MULTILINE)
DEBUGFS = re.compile(r'debugfs_create_\w+\("([\w-]+)"')


def tracked() -> list[Path]:
    """Return the files under version control."""
    done = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("not a git checkout")
    return [path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def pages() -> list[Path]:
    """Return the documents."""
    names = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
    return [*(ROOT / name for name in names), *sorted(ROOT.glob("Documentation/*.md"))]


def sources(*directories: str) -> list[Path]:
    """Return the C files of some directories."""
    return [path for name in directories for path in sorted((ROOT / name).glob("*.c"))]


def targets() -> set[str]:
    """Return the targets that the Makefile names."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    lines = re.findall(r"^([a-z][a-z -]*):", makefile, re.MULTILINE)
    return {name for line in lines for name in line.split()}


def code(text: str) -> str:
    """Return the code of a page: spans and indented blocks."""
    blocks = [line for line in text.splitlines() if line.startswith("    ")]
    return "\n".join([*re.findall(r"`([^`]+)`", text), *blocks])


def test_every_file_says_its_licence() -> None:
    missing = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.suffix not in NO_COMMENTS
        and path.name not in NO_SPDX
        # REUSE-IgnoreStart
        and b"SPDX-License-Identifier: " not in path.read_bytes()[:300]
        # REUSE-IgnoreEnd
    ]
    assert missing == []


def test_no_file_is_what_a_build_left() -> None:
    left = {".o", ".ko", ".mod", ".d", ".cmd", ".a", ".symvers", ".order", ".pyc"}
    assert [path.name for path in tracked() if path.suffix in left] == []


def test_links_lead_somewhere() -> None:
    broken = []
    for page in [*pages(), ROOT / "results" / "reference" / "README.md"]:
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            path = target.split("#")[0]
            if path and "://" not in path and not (page.parent / path).exists():
                broken.append(f"{page.name}: {target}")
    assert broken == []


def is_test(target: str) -> bool:
    """Whether a target is `check-` and the name of a test or of a group."""
    name = target.removeprefix("check-")
    return name != target and any(row.matches(name) for row in registry.all_rows())


def test_commands_exist() -> None:
    known = targets()
    assert {"bench", "check"} <= known
    unknown = [
        f"{page.name}: make {name}"
        for page in pages()
        for name in MAKE.findall(code(page.read_text(encoding="utf-8")))
        if name not in known and not is_test(name)
    ]
    assert unknown == []


def test_files_named_in_text_exist() -> None:
    absent = [
        f"{page.name}: {name}"
        for page in pages()
        for name in NAMED.findall(page.read_text(encoding="utf-8"))
        if not any(ROOT.glob(name)) and not name.endswith(".ko")
    ]
    assert absent == []


def test_walks_are_short_and_name_what_is_there() -> None:
    text = (ROOT / "Documentation" / "internals.md").read_text(encoding="utf-8")
    walks = text.split("\n## Two walks\n")[1].split("\n## ")[0].split("\n### ")[1:]
    assert len(walks) == 2
    for walk in walks:
        hops = HOP.findall(walk)
        files = [name for _, name, _ in hops]
        assert [int(number) for number, _, _ in hops] == [*range(1, len(hops) + 1)]
        assert 5 <= len(hops) <= 10
        assert len(set(files)) == len(files)
        absent = [f"{name}: {what}" for _, name, what in hops if what not in words(ROOT / name)]
        assert absent == []


def words(path: Path) -> set[str]:
    """Return the words of a file."""
    return set(re.findall(r"\w+", path.read_text(encoding="utf-8")))


def test_results_inside_a_kernel_say_what_was_tested() -> None:
    scripts = sorted((ROOT / "tests" / "vm").rglob("*.sh"))
    names = [name for path in scripts for name in RESULT.findall(path.read_text(encoding="utf-8"))]
    assert len(names) > 300
    assert [name for name in names if name.split()[0] in NO_SUBJECT] == []


def test_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 130
    assert len(text.split()) <= 1000


def test_every_debugfs_file_is_documented() -> None:
    page = (ROOT / "Documentation" / "files.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    listed = {name.split("/")[-1] for cell in table for name in re.findall(r"`([^`]+)`", cell)}
    created = {
        name
        for path in sources(*MODULES)
        for name in DEBUGFS.findall(path.read_text(encoding="utf-8"))
        if f'debugfs_create_dir("{name}"' not in path.read_text(encoding="utf-8")
    }
    assert created - listed == set()


def documented(name: str, text: str) -> bool:
    """Tell whether a text has kernel-doc for a function or macro."""
    return re.search(rf"/\*\*\n \* {name}\(\) - \S", text) is not None


def test_exported_functions_have_kernel_doc() -> None:
    missing = []
    for path in sources(*MODULES):
        text = path.read_text(encoding="utf-8")
        for name in EXPORT.findall(text):
            if re.search(rf"\b{name}\(", text) and not documented(name, text):
                missing.append(f"{path.relative_to(ROOT)}: {name}")
    assert missing == []


def test_public_macros_have_kernel_doc() -> None:
    missing = set()
    for path in sorted(PUBLIC.glob("*.h")):
        text = path.read_text(encoding="utf-8")
        for name in MACRO.findall(text):
            if not name.startswith(("__", "KMARKERS_")) and not documented(name, text):
                missing.add(name)
    assert missing == set()
