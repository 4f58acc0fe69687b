# SPDX-License-Identifier: GPL-2.0-only
"""README.md and the kept figures say what results/reference holds, to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest
import rawdata
from kmtools.analyse.summary import read_summary
from kmtools.base.paths import ROOT
from kmtools.cli import main
from kmtools.report import headline, kept
from kmtools.report.figures import rows
from kmtools.report.figures.svg import WIDE

REFERENCE = ROOT / "results" / "reference"
GOLDEN = Path(__file__).parent / "golden"


def test_readme_says_what_the_reference_run_holds() -> None:
    text = (ROOT / "README.md").read_text()
    assert "\n".join(kept.readme_lines(read_summary(REFERENCE))) in text
    assert kept.replaced(text, read_summary(REFERENCE)) == text


def test_the_headline_figure_is_that_of_the_reference_run() -> None:
    panel = headline.panel(*kept.results(read_summary(REFERENCE)))
    assert panel is not None
    drawn = rows.draw([panel], WIDE).whole(headline.words(panel))
    assert drawn == (REFERENCE / "headline.svg").read_text()


def test_a_changed_number_changes_readme_and_figure() -> None:
    summary = read_summary(REFERENCE)
    for entry in summary["results"]:
        if (entry["benchmark"], entry["variant"]) == ("empty-loop", "marker-jump"):
            entry["delta"] = 7.0
    assert "\n".join(kept.readme_lines(summary)) not in (ROOT / "README.md").read_text()


def test_readme_without_its_place_is_named() -> None:
    with pytest.raises(ValueError, match=r"README\.md lacks"):
        kept.replaced("nothing", read_summary(REFERENCE))


def test_golden_samples_give_the_same_figures_to_the_byte(tmp_path: Path) -> None:
    """Exact counts, so that no estimator takes part; a change of a figure is looked at, and the
    file in golden/ replaced by the one that the test has left."""
    bench = rawdata.Bench(
        "empty-loop",
        {"none": 3, "none-clone": 3, "marker-jump": 4, "marker-generic": 6, "nop": 3, "x": 2},
    )
    raw = rawdata.write_tier(tmp_path / "raw", 4, 1, [bench], exact=True, emulated="1")
    assert main(["collect", str(tmp_path / "run"), f"--raw=icount={raw}"]) == 0
    assert main(["report", str(tmp_path / "run")]) == 0
    drawn = (tmp_path / "run" / "figures" / "dormant-icount.svg").read_bytes()
    assert drawn == (GOLDEN / "dormant-icount.svg").read_bytes()
