# SPDX-License-Identifier: GPL-2.0-only
"""The page with the results of all kernels."""

from __future__ import annotations

from pathlib import Path

from kmtools.check import matrix
from kmtools.check.kernelsuite import Outcome
from kmtools.check.ktap import Tally


def test_page_keeps_its_other_sections(tmp_path: Path) -> None:
    page = tmp_path / "kernels.md"
    for title, text in (("One", "old\n"), ("Two", "kept\n"), ("One", "new\n")):
        matrix.write_section(page, title, text)
    content = page.read_text()
    assert content.index("## One\n\nnew\n") < content.index("## Two\n\nkept\n")
    assert "old" not in content
    assert content.startswith("<!-- SPDX-License-Identifier")


def test_kernel_that_is_run_again_gets_a_new_row(tmp_path: Path) -> None:
    page = tmp_path / "kernels.md"
    bad = Outcome("6.1", suites={"build": Tally(1, ["core: no"])}, seconds=300.0)
    good = Outcome("6.1-rt", suites={"build": Tally(1)})
    both = ((matrix.STOCK, [bad, good]), (matrix.DEBUG, [Outcome("6.1-kasan")]))
    for title, outcomes in both:
        matrix.write_section(page, title, matrix.as_markdown(outcomes, "make"))
    before = page.read_text()
    again = Outcome("6.1", suites={"build": Tally(7)})
    for _ in range(2):
        assert matrix.update_row(page, again)
        content = page.read_text()
        assert "| 6.1 | - | - | 7 | 7 | 0 | 0 | 0 | 0 |\n| 6.1-rt | - |" in content
        assert "FAILED" not in content and "SLOW" not in content
        assert content.count("\n\n- AGAIN 6.1: by itself, 2") == 1
        assert content.partition("## Debug")[2] == before.partition("## Debug")[2]


def test_kernel_that_is_run_first_gets_a_row(tmp_path: Path) -> None:
    page = tmp_path / "kernels.md"
    assert not matrix.update_row(page, Outcome("5.10"))
    assert not page.exists()
    others = [
        Outcome(name, suites={"build": Tally(1), "core": Tally(2)}) for name in ("6.1", "7.2")
    ]
    matrix.write_section(page, matrix.STOCK, matrix.as_markdown(others, "make"))
    before = page.read_text()
    assert not matrix.update_row(page, Outcome("6.1-kasan"))
    assert page.read_text() == before
    first = Outcome(
        "5.10", suites={"build": Tally(1), "sdt": Tally(4), "core": Tally(2)}, short=True
    )
    assert matrix.update_row(page, first)
    lines = page.read_text().splitlines()
    at = lines.index("| 6.1 | - | - | 1 | - | 2 | 3 | 0 | 0 | 0 | 0 |")
    assert lines[at - 2].startswith("| kernel | version | QEMU | build | sdt | core | passed |")
    assert lines[at + 1] == "| 5.10 | - | - | 1 | 4 | 2 | 7 | 0 | 0 | 0 | 0 |"
    assert lines[at + 2].startswith("| 7.2 |")
    assert "- SHORT 5.10: the storms were short" in lines
    (left,) = (line for line in lines if line.startswith(matrix.NOT_RUN))
    assert ", 6.12, " in left and "5.10," not in left and "kasan" not in left
    # A column goes with the last result in it.
    for name, log in (("6.1", Tally(0, ["dirt"])), ("6.1", None)):
        again = Outcome(name, suites={"build": Tally(1), "core": Tally(2)})
        again.suites |= {"log": log} if log else {}
        assert matrix.update_row(page, again)
        assert ("| core | log | passed |" in page.read_text()) == bool(log)
    assert page.read_text().count(f"\n\n{left}\n\nBuilding, ") == 1
