# SPDX-License-Identifier: GPL-2.0-only
"""The page and hostile data: refused or escaped. browser_page.py looks at it in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pages
import pytest
import rawdata
from kmtools.cli import main
from kmtools.report.figures import svg


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.make_reference(tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.make_hostile(tmp_path_factory.mktemp("hostile"))


class Tags(HTMLParser):
    """Keeps the tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


def test_names_are_text_and_not_markup(hostile: Path) -> None:
    parsed = Tags()
    parsed.feed((hostile / "report.html").read_text())
    assert "script" not in parsed.tags
    for drawing in (hostile / "figures").iterdir():
        assert "<script" not in drawing.read_text() and "<b>" not in drawing.read_text()
    assert "&lt;script&gt;" in (hostile / "report.html").read_text()


def test_the_page_is_small(reference: Path) -> None:
    text = (reference / "report.html").read_text()
    parsed = Tags()
    parsed.feed(text)
    assert len(text.encode()) <= 1_500_000 and len(parsed.tags) <= 12_000


Change = Callable[[str], str]


def with_value(text: str) -> Change:
    """Replace the first value."""
    return lambda lines: re.sub(r",\d+,ticks", f",{text},ticks", lines, count=1)


CHANGES: dict[str, tuple[Change, str]] = {
    "other columns": (lambda text: text.replace(",block,", ",blocks,"), "lacks block"),
    "a zero byte": (lambda text: text.replace("ticks", "t\0cks", 1), "unit is"),
    "cut inside a line": (lambda text: text[:-3], "incomplete"),
    "cut after a line": (lambda text: text[: text.rindex("\n", 0, -1) + 1], "truncated"),
    "not a number": (with_value("nan"), "not an integer: 'nan'"),
    "infinite": (with_value("inf"), "not an integer: 'inf'"),
    "negative": (with_value("-7"), "value is below 0"),
    "huge": (with_value("9" * 30), "value is above"),
    "of 9000 digits": (with_value("9" * 9000), "value is above"),
    "short line": (lambda text: text + "x,y\n", "fields"),
    "empty": (lambda text: "", "lacks"),
    "broken lines": (lambda text: text.replace("none", "n\x1bne\n"), "fields"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_hostile_file_is_refused(
    tmp_path: Path, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = rawdata.write_tier(tmp_path / "raw", 4, 1, [rawdata.BENCHES[0]], emulated="0")
    path, (make, why) = raw / "empty-loop.csv", CHANGES[change]
    path.write_text(make(path.read_text()))
    assert main(["collect", str(tmp_path / "run"), f"--raw=native={raw}"]) == 1
    said = capsys.readouterr().err
    assert why in said and "empty-loop.csv" in said and len(said) < 1000
    assert not (tmp_path / "run" / "samples.csv").exists()


def test_bytes_that_are_no_text_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = rawdata.write_tier(tmp_path / "raw", 4, 1, [rawdata.BENCHES[0]], emulated="0")
    (raw / "empty-loop.csv").write_bytes(bytes(range(256)) * 40)
    assert main(["collect", str(tmp_path / "run"), f"--raw=native={raw}"]) == 1
    assert "empty-loop.csv" in capsys.readouterr().err


def test_control_characters_do_not_reach_a_figure() -> None:
    assert svg.escape("a\x00\x1b<") == "a??&lt;"
