# SPDX-License-Identifier: GPL-2.0-only
"""README.md and the kept figures say what results/reference holds, to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import drawnsvg
import pytest
from kmtools.analyse.summary import read_summary
from kmtools.base.paths import ROOT
from kmtools.report import cost_figure, reference, summary_json
from kmtools.report.figures import canvas

REFERENCE = ROOT / "results" / "reference"


def test_readme_says_what_the_reference_run_holds() -> None:
    text = (ROOT / "README.md").read_text()
    assert "\n".join(summary_json.readme_lines(read_summary(REFERENCE))) in text
    assert summary_json.replaced(text, read_summary(REFERENCE)) == text


def drawn(summary: dict[str, Any]) -> str:
    """The headline figure of a run."""
    panel = cost_figure.panel(*summary_json.results(summary))
    assert panel is not None
    return canvas.file([panel], cost_figure.words(panel)).decode()


def test_the_headline_figure_is_that_of_the_reference_run() -> None:
    made = drawn(read_summary(REFERENCE))
    assert drawnsvg.difference(made, (REFERENCE / "headline.svg").read_text()) == ""


def test_a_changed_number_changes_readme_and_figure() -> None:
    """The number of hot code: that of one marker among others, or of one behind a branch."""
    summary = read_summary(REFERENCE)
    native = {
        (entry["benchmark"], entry["variant"]): entry
        for entry in summary["results"]
        if entry["tier"] == "native"
    }
    one = ("density-one", "marker-jump-first")
    native[one if one in native else ("density-full", "marker-jump-1")]["delta"] = 7.0
    assert "\n".join(summary_json.readme_lines(summary)) not in (ROOT / "README.md").read_text()
    kept_one = (REFERENCE / "headline.svg").read_text()
    assert drawnsvg.difference(drawn(summary), kept_one) != ""


def test_readme_without_its_place_is_named() -> None:
    with pytest.raises(ValueError, match=r"README\.md lacks"):
        summary_json.replaced("nothing", read_summary(REFERENCE))


def test_figures_of_emulated_tiers_are_not_kept(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    for name in ("switching-vm-7.2", "dormant-icount-6.1", "then-and-now", "dormant-native"):
        (tmp_path / f"figures/{name}.svg").touch()
    assert reference.figures_of(tmp_path) == ["dormant-native", "then-and-now"]
