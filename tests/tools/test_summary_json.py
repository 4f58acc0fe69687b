# SPDX-License-Identifier: GPL-2.0-only
"""Tests that README.md and the committed figures match results/reference."""

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


def test_readme_matches_the_reference_run() -> None:
    text = (ROOT / "README.md").read_text()
    assert "\n".join(summary_json.render_readme_result_lines(read_summary(REFERENCE))) in text
    assert summary_json.replace_readme_result_lines(text, read_summary(REFERENCE)) == text


def draw_headline_figure(summary: dict[str, Any]) -> str:
    """Return the SVG of the headline figure for a summary."""
    panel = cost_figure.make_dormant_cost_panel(*summary_json.parse_summary_results(summary))
    assert panel is not None
    return canvas.render_figure_file([panel], cost_figure.describe_panel(panel)).decode()


def test_headline_figure_matches_the_reference_run() -> None:
    made = draw_headline_figure(read_summary(REFERENCE))
    assert drawnsvg.find_svg_difference(made, (REFERENCE / "headline.svg").read_text()) == ""


def test_a_changed_number_changes_readme_and_figure() -> None:
    """If the cost in hot code changes, the lines of README.md and the headline figure change,
    too."""
    summary = read_summary(REFERENCE)
    native = {
        (entry["benchmark"], entry["variant"]): entry
        for entry in summary["results"]
        if entry["tier"] == "native"
    }
    one = ("density-one", "marker-jump-first")
    native[one if one in native else ("density-full", "marker-jump-1")]["delta"] = 7.0
    assert (
        "\n".join(summary_json.render_readme_result_lines(summary))
        not in (ROOT / "README.md").read_text()
    )
    kept_one = (REFERENCE / "headline.svg").read_text()
    assert drawnsvg.find_svg_difference(draw_headline_figure(summary), kept_one) != ""


@pytest.mark.parametrize("cost", [0.0, 1e-6, -9e-6])
def test_small_cost_of_a_site_has_the_unit_and_ratio_of_its_benchmark(cost: float) -> None:
    """Costs are rounded to 1e-6, so the quotient of the two rounded costs, in core cycles and in
    TSC cycles, is not the ratio of the two clocks if the costs are small."""
    summary = read_summary(REFERENCE)
    name = ("native", "density-full", "marker-jump")
    entry = next(e for e in summary["sites"] if (e["tier"], e["benchmark"], e["flavour"]) == name)
    ratio = next(
        e["core_cycles"]["per_tick"]
        for e in summary["results"]
        if (e["tier"], e["benchmark"]) == name[:2]
    )
    entry |= {"cost": cost, "core_cycles": round(1.4 * cost, 6), "ns": round(0.4 * cost, 6)}
    costs = summary_json.parse_summary_results(summary)[1]
    found = next(one for one in costs if (one.tier, one.benchmark, one.flavour) == name)
    assert found.core is not None and found.core.per_tick == ratio
    assert found.nanoseconds == pytest.approx(entry["ns"])


def test_readme_without_the_lines_to_replace_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"README\.md lacks"):
        summary_json.replace_readme_result_lines("nothing", read_summary(REFERENCE))


def test_figures_of_emulated_tiers_are_not_committed(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    for name in ("switching-vm-7.2", "dormant-icount-6.1", "then-and-now", "dormant-native"):
        (tmp_path / f"figures/{name}.svg").touch()
    assert reference.list_reference_figures(tmp_path) == ["dormant-native", "then-and-now"]
