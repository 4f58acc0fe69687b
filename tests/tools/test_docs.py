# SPDX-License-Identifier: GPL-2.0-only
"""Tests of documents, comments and file headers: links, names of files and commands, licences."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from kmtools.analyse.summary import read_summary
from kmtools.analyse.verdicts import VERDICTS
from kmtools.lint import layers
from kmtools.runner import registry

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("base", "patcher", "events", "immediate", "markers", "sdt", "entry", "bench_modules")
PUBLIC = ROOT / "include" / "kmarkers"

# Suffixes of files whose format has no comments, and of files that are generated from data.
NO_COMMENTS = {".csv", ".json", ".svg", ".png", ".gz", ".doc-base"}
# Files without an SPDX line. Files of debian/ have formats without comments.
NO_SPDX = {"LICENSE", "GPL-2.0-only.txt", ".gitignore", "changelog", "copyright", "format", "dep5"}

LINK = re.compile(r"!?\[[^]]*\]\(([^)\s]+)\)")
MAKE = re.compile(r"(?:^ *|&& )make ((?:[a-z]+-)*[a-z]+)\b", re.MULTILINE)
# File names in text. In directories of modules, only names of .c and .h files match, because
# debugfs paths begin with the names of these directories.
NAMED = re.compile(
    r"(?<![\w./-])((?:scripts|tests|native|examples|include)/[\w./*-]*\w"
    r"|(?:base|patcher|immediate|markers|sdt|entry|bench_modules)/[\w./*-]*\w\.[ch])\b"
)
# The place and the format of a marker, as markers/list shows them.
PLACE = re.compile(r'(\w+\.c):(\d+) ("[^"\n]+")')
HOP = re.compile(r"^\| (\d+) \| \[([\w/.]+)\]\(\S+\) \| `(\w+)\(\)` \|", re.MULTILINE)
RESULT = re.compile(
    r'^\s*(?:try|refused|same|skip|expect_refused_site|result \S+) "([^"]+)"', re.MULTILINE
)
# A test name that begins with one of these words cannot be understood alone.
NO_SUBJECT = {"and", "it", "its", "so", "they", "then", "is", "comes", "also", "too", "really"}
EXPORT = re.compile(r"^EXPORT_SYMBOL_GPL\((\w+)\);", re.MULTILINE)
MACRO = re.compile(r"^#define ([A-Za-z_]\w*)\(", re.MULTILINE)
DEBUGFS = re.compile(r'debugfs_create_\w+\("([\w-]+)"')


def list_tracked_files() -> list[Path]:
    """Return the paths of all files under version control."""
    done = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"{ROOT} is not a git checkout")
    return [path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def list_markdown_documents() -> list[Path]:
    """Return the Markdown documents."""
    names = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
    return [*(ROOT / name for name in names), *sorted(ROOT.glob("Documentation/**/*.md"))]


def list_c_files(*directories: str) -> list[Path]:
    """Return the .c files in these directories."""
    return [path for name in directories for path in sorted((ROOT / name).glob("*.c"))]


def list_make_targets() -> set[str]:
    """Return the targets in the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    lines = re.findall(r"^([a-z][a-z -]*):", makefile, re.MULTILINE)
    return {name for line in lines for name in line.split()}


def extract_markdown_code(text: str) -> str:
    """Return the code in a Markdown page: spans and indented blocks."""
    blocks = [line for line in text.splitlines() if line.startswith("    ")]
    return "\n".join([*re.findall(r"`([^`]+)`", text), *blocks])


def test_every_file_has_an_spdx_line() -> None:
    missing = [
        str(path.relative_to(ROOT))
        for path in list_tracked_files()
        if path.suffix not in NO_COMMENTS
        and path.name not in NO_SPDX
        # REUSE-IgnoreStart
        and b"SPDX-License-Identifier: " not in path.read_bytes()[:300]
        # REUSE-IgnoreEnd
    ]
    assert missing == []


def test_no_build_product_is_committed() -> None:
    left = {".o", ".ko", ".mod", ".d", ".cmd", ".a", ".symvers", ".order", ".pyc"}
    assert [path.name for path in list_tracked_files() if path.suffix in left] == []


def test_links_in_documents_have_existing_targets() -> None:
    broken = []
    for page in [*list_markdown_documents(), *ROOT.glob("results/*/README.md")]:
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            path = target.split("#")[0]
            if path and "://" not in path and not (page.parent / path).exists():
                broken.append(f"{page.name}: {target}")
    assert broken == []


def is_valid_check_target(target: str) -> bool:
    """Return True if a target is "check-" and the name of a test or of a group."""
    name = target.removeprefix("check-")
    return name != target and any(row.matches_pattern(name) for row in registry.list_tests())


def test_make_targets_named_in_documents_exist() -> None:
    known = list_make_targets()
    assert {"bench", "check"} <= known
    unknown = [
        f"{page.name}: make {name}"
        for page in list_markdown_documents()
        for name in MAKE.findall(extract_markdown_code(page.read_text(encoding="utf-8")))
        if name not in known and not is_valid_check_target(name)
    ]
    assert unknown == []


def test_files_named_in_documents_exist() -> None:
    absent = [
        f"{page.name}: {name}"
        for page in list_markdown_documents()
        for name in NAMED.findall(page.read_text(encoding="utf-8"))
        if not any(ROOT.glob(name)) and not name.endswith(".ko")
    ]
    assert absent == []


def test_documented_lines_of_example_markers_are_right() -> None:
    wrong, found = [], 0
    for page in list_markdown_documents():
        for name, number, text in PLACE.findall(page.read_text(encoding="utf-8")):
            for path in ROOT.glob(f"examples/*/{name}"):
                found += 1
                if text not in path.read_text(encoding="utf-8").splitlines()[int(number) - 1]:
                    wrong.append(f"{page.name}: {name}:{number} {text}")
    assert found and wrong == []


def test_code_walks_in_documents_are_short_and_name_existing_functions() -> None:
    text = (ROOT / "Documentation" / "internals.md").read_text(encoding="utf-8")
    walks = text.split("\n## Three walks\n")[1].split("\n## ")[0].split("\n### ")[1:]
    assert len(walks) == 3
    for walk in walks:
        hops = HOP.findall(walk)
        numbers = [int(number) for number, _, _ in hops]
        starts = [i for i, number in enumerate(numbers) if number == 1] + [len(hops)]
        for start, end in pairwise(starts):
            assert numbers[start:end] == [*range(1, end - start + 1)]
            assert 5 <= end - start <= 10
        absent = [
            f"{name}: {what}"
            for _, name, what in hops
            if what not in read_words_of_file(ROOT / name)
        ]
        assert absent == []


def read_words_of_file(path: Path) -> set[str]:
    """Return the set of words in a file."""
    return set(re.findall(r"\w+", path.read_text(encoding="utf-8")))


def test_documented_kmtools_rooms_are_in_import_order() -> None:
    text = (ROOT / "Documentation" / "internals.md").read_text(encoding="utf-8")
    table = text.split("\n| room | what it is for |\n")[1].split("\n\n")[0]
    rooms = re.findall(r"^\| (\w+) \|", table, re.MULTILINE)
    names = [layer["name"] for layer in layers.TABLE["python"]]
    assert rooms == ["commands", *(name for name in reversed(names) if name in rooms)]
    assert {*rooms} == {path.parent.name for path in ROOT.glob("scripts/kmtools/*/__init__.py")}


def test_result_names_of_guest_tests_have_a_subject() -> None:
    scripts = sorted((ROOT / "tests" / "vm").rglob("*.sh"))
    names = [name for path in scripts for name in RESULT.findall(path.read_text(encoding="utf-8"))]
    assert len(names) > 300
    assert [name for name in names if name.split()[0] in NO_SUBJECT] == []


def test_readme_has_at_most_130_lines_and_1000_words() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 130
    assert len(text.split()) <= 1000


def test_instructions_of_a_hit_in_tracing_md_are_those_of_the_reference_run() -> None:
    page = " ".join((ROOT / "Documentation" / "tracing.md").read_text(encoding="utf-8").split())
    quoted = re.findall(r"they add (\d+) and (\d+) instructions in kernel ([\d.]+\d)\.", page)
    ((marker, event, kernel),) = quoted
    results = read_summary(ROOT / "results" / "reference")["results"]
    added = {
        result["variant"]: f"{result['delta']:.0f}"
        for result in results
        if (result["tier"], result["benchmark"]) == ("icount", "marker-enabled")
        and result["kernel"].startswith(f"{kernel}.")
        and result["variant"] in ("marker-event", "trace-event")
    }
    assert added == {"marker-event": marker, "trace-event": event}


def test_every_debugfs_file_is_documented() -> None:
    page = (ROOT / "Documentation" / "files.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    listed = {name.split("/")[-1] for cell in table for name in re.findall(r"`([^`]+)`", cell)}
    created = {
        name
        for path in list_c_files(*MODULES)
        for name in DEBUGFS.findall(path.read_text(encoding="utf-8"))
        if f'debugfs_create_dir("{name}"' not in path.read_text(encoding="utf-8")
    }
    assert created - listed == set()


def test_every_verdict_is_documented() -> None:
    page = (ROOT / "Documentation" / "benchmarking.md").read_text(encoding="utf-8")
    table = page.split("\n| verdict | |\n")[1].split("\n\n")[0]
    documented = {
        word
        for cell in re.findall(r"^\| ([a-z, ]+) \|", table, re.MULTILINE)
        for word in cell.split(", ")
    }
    assert documented == set(VERDICTS)


def has_kernel_doc(name: str, text: str) -> bool:
    """Return True if a text has a kernel-doc comment for a function or macro."""
    return re.search(rf"/\*\*\n \* {name}\(\) - \S", text) is not None


def test_exported_functions_have_kernel_doc() -> None:
    missing = []
    for path in list_c_files(*MODULES):
        text = path.read_text(encoding="utf-8")
        for name in EXPORT.findall(text):
            if re.search(rf"\b{name}\(", text) and not has_kernel_doc(name, text):
                missing.append(f"{path.relative_to(ROOT)}: {name}")
    assert missing == []


def test_public_macros_have_kernel_doc() -> None:
    missing = set()
    for path in sorted(PUBLIC.glob("*.h")):
        text = path.read_text(encoding="utf-8")
        for name in MACRO.findall(text):
            if not name.startswith(("__", "KMARKERS_")) and not has_kernel_doc(name, text):
                missing.add(name)
    assert missing == set()
