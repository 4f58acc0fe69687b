# SPDX-License-Identifier: GPL-2.0-only
"""The page in a browser, on three screens, light and dark; for the suite `page` of make check-full.

kmarkers check runs it where scripts/setup --page has installed Chromium and build/page.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import nativeprograms
import pages
import pytest
from kmtools.base.paths import ROOT

PYTHON = ROOT / "build" / "page" / "bin" / "python"
BROWSER = ROOT / "scripts" / "kmtools" / "suites" / "browser.py"
SECONDS = 600


def look_at(*pages: Path, brief: bool = False) -> dict[str, list[str]]:
    """What is wrong with each page, as lines, by the name of its file."""
    words = [str(PYTHON), str(BROWSER), *(["--brief"] if brief else []), *map(str, pages)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    lines = done.stdout.splitlines()
    return {page.name: [line for line in lines if line.startswith(f"{page}: ")] for page in pages}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.make_reference(tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.make_hostile(tmp_path_factory.mktemp("hostile"))


def test_the_reference_page_is_right_on_every_screen(reference: Path) -> None:
    assert look_at(reference / "report.html") == {"report.html": []}


def test_a_page_of_hostile_names_is_right_but_for_its_answer(hostile: Path) -> None:
    (lines,) = look_at(hostile / "report.html", brief=True).values()
    assert [line for line in lines if "first screen" not in line] == []


def test_a_page_of_all_benchmarks_is_right_on_a_telephone(
    tmp_path: Path, native_programs: None
) -> None:
    run = pages.make_whole(tmp_path, nativeprograms.kmbench("list").stdout)
    assert look_at(run / "report.html", brief=True) == {"report.html": []}


# A table that is scrolled together with its verdict.
WIDE_TABLE = """
<div class="scroll" tabindex="0" style="overflow-x: auto; width: 200px"><table><tbody>
<tr><th scope="row">a</th><td style="min-width: 600px">b</td><td class="v">c</td></tr>
</tbody></table></div>"""
SHORT_TABLE = WIDE_TABLE.replace("<td ", '<td class="n" ')
BROKEN = """<!DOCTYPE html><html lang="en"><head><title>t</title><meta charset="utf-8">
<style>p {{ margin: 0 }} {css}</style></head><body><main><h1>t</h1><p class="answer">a</p>
<p class="grade">b</p><figure><svg width="300" height="40" viewBox="0 0 300 40" role="img"
aria-label="label">{svg}</svg></figure><p><a href="#x" id="x">link</a></p>{body}</main></body>
</html>
"""


# What is broken: style, figure, text; and the line that says so.
FLAWS = {
    "pale": (".answer { color: #999999 }", "", "", 'contrast: <p> "a"'),
    "texts": ("", '<text x="1" y="20">one</text><text x="9" y="22">two</text>', "", "overlap: <te"),
    "blocks": (".grade { margin-top: -20px }", "", "", "overlap: <p>"),
    "cut": ("", '<text x="280" y="20">too long</text>', "", "leaves its figure"),
    "small": ("", '<text x="1" y="20" font-size="6">x</text>', "", "small: <text>"),
    "wide": ("", "", '<div style="width: 2000px">wide</div>', "off-screen: the page is"),
    "late": (".answer { margin-top: 2000px }", "", "", "first screen: .answer"),
    "said": ("", "", "<script>console.error('no')</script>", "console: no"),
    "wrong": ("", "", "<script>nothing()</script>", "console: nothing is not defined"),
    "focus": ("a { outline: none }", "", "", "keyboard: the focus cannot be seen"),
    "printed": ("@media print { .answer { color: #999999 } }", "", "", "print: contrast: <p>"),
    "column": ("", "", WIDE_TABLE, 'column: <td> "c" leaves its table'),
    "cramped": ("", "", SHORT_TABLE, "is short and has to be scrolled"),
    "mute": ("", "", '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">', "axe: image-alt"),
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What is noticed in pages with one flaw each."""
    folder = tmp_path_factory.mktemp("broken")
    for name, (css, drawn, body, _) in FLAWS.items():
        text = BROKEN.format(css=css, svg=drawn, body=body)
        (folder / f"{name}.html").write_text(text)
    return look_at(*folder.iterdir(), brief=True)


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_flaw_is_noticed(broken: dict[str, list[str]], flaw: str) -> None:
    assert any(FLAWS[flaw][3] in line for line in broken[f"{flaw}.html"])
