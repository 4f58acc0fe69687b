# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the HTML report in Chromium, on three screen sizes, in light and dark colours.

`kmarkers check` runs these tests only if scripts/setup --page has installed Chromium and the Python
environment build/page.
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


def find_html_page_faults(*pages: Path, brief: bool = False) -> dict[str, list[str]]:
    """Check pages in Chromium on all screen sizes, or with `brief` on the first size only. Return
    the lines that report faults, keyed by the file name of the page."""
    words = [str(PYTHON), str(BROWSER), *(["--brief"] if brief else []), *map(str, pages)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    lines = done.stdout.splitlines()
    return {page.name: [line for line in lines if line.startswith(f"{page}: ")] for page in pages}


@pytest.fixture(scope="module")
def run_with_hostile_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.make_run_with_hostile_names(tmp_path_factory.mktemp("hostile"))


def test_reference_page_has_no_fault_on_any_screen(reference_run: Path) -> None:
    assert find_html_page_faults(reference_run / "report.html") == {"report.html": []}


def test_hostile_names_cause_only_faults_of_the_first_screen(run_with_hostile_names: Path) -> None:
    (lines,) = find_html_page_faults(run_with_hostile_names / "report.html", brief=True).values()
    assert [line for line in lines if "first screen" not in line] == []


def test_page_of_all_benchmarks_has_no_fault_on_a_phone(
    tmp_path: Path, native_programs: None
) -> None:
    run = pages.make_run_of_all_benchmarks(tmp_path, nativeprograms.run_kmbench("list").stdout)
    assert find_html_page_faults(run / "report.html", brief=True) == {"report.html": []}


# A table whose verdict column (class v) scrolls out of sight, which is a fault.
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


# Each entry is for a page with one flaw: the CSS, SVG and HTML to insert into the page, and a part
# of the line that must report the fault.
FLAWS = {
    "pale": (".answer { color: #999999 }", "", "", 'contrast: <p> "a"'),
    "texts": ("", '<text x="1" y="20">one</text><text x="9" y="22">two</text>', "", "overlap: <te"),
    "blocks": (".grade { margin-top: -20px }", "", "", "overlap: <p>"),
    "cut": ("", '<text x="280" y="20">too long</text>', "", "is partly outside its figure"),
    "small": ("", '<text x="1" y="20" font-size="6">x</text>', "", "small: <text>"),
    "wide": ("", "", '<div style="width: 2000px">wide</div>', "off-screen: the page is"),
    "late": (".answer { margin-top: 2000px }", "", "", "first screen: .answer"),
    "said": ("", "", "<script>console.error('no')</script>", "console: no"),
    "wrong": ("", "", "<script>nothing()</script>", "console: nothing is not defined"),
    "focus": ("a { outline: none }", "", "", "keyboard: the focused element has no outline"),
    "printed": ("@media print { .answer { color: #999999 } }", "", "", "print: contrast: <p>"),
    "column": ("", "", WIDE_TABLE, 'column: <td> "c" is partly outside its table'),
    "cramped": ("", "", SHORT_TABLE, "has few columns but has to be scrolled"),
    "mute": ("", "", '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">', "axe: image-alt"),
}


@pytest.fixture(scope="module")
def faults_by_flawed_page(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return the faults found in pages with one flaw each, keyed by file name."""
    folder = tmp_path_factory.mktemp("broken")
    for name, (css, drawn, body, _) in FLAWS.items():
        text = BROKEN.format(css=css, svg=drawn, body=body)
        (folder / f"{name}.html").write_text(text)
    return find_html_page_faults(*folder.iterdir(), brief=True)


@pytest.mark.parametrize("flaw", FLAWS)
def test_each_inserted_page_flaw_is_reported(
    faults_by_flawed_page: dict[str, list[str]], flaw: str
) -> None:
    assert any(FLAWS[flaw][3] in line for line in faults_by_flawed_page[f"{flaw}.html"])
