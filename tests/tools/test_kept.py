# SPDX-License-Identifier: GPL-2.0-only
"""README.md and the kept figures say what results/reference holds, to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import goldenrun
import pytest
from kmtools.analyse.summary import read_summary
from kmtools.base.paths import ROOT
from kmtools.report import headline, kept, reference
from kmtools.report.figures import rows
from kmtools.report.figures.svg import WIDE

REFERENCE = ROOT / "results" / "reference"
GOLDEN = Path(__file__).parent / "golden"


def test_readme_says_what_the_reference_run_holds() -> None:
    text = (ROOT / "README.md").read_text()
    assert "\n".join(kept.readme_lines(read_summary(REFERENCE))) in text
    assert kept.replaced(text, read_summary(REFERENCE)) == text


def drawn(summary: dict[str, Any]) -> str:
    """The headline figure of a run."""
    panel = headline.panel(*kept.results(summary))
    assert panel is not None
    return rows.draw([panel], WIDE).whole(headline.words(panel))


def test_the_headline_figure_is_that_of_the_reference_run() -> None:
    assert drawn(read_summary(REFERENCE)) == (REFERENCE / "headline.svg").read_text()


def test_a_changed_number_changes_readme_and_figure() -> None:
    """The number of hot code: that of a site if the run has it, else that of an empty loop."""
    summary = read_summary(REFERENCE)
    sites = [
        (entry, "core_cycles")
        for entry in summary["sites"]
        if (entry["benchmark"], entry["flavour"]) == ("density-full", "marker-jump")
    ]
    loops = [
        (entry, "delta")
        for entry in summary["results"]
        if (entry["benchmark"], entry["variant"]) == ("empty-loop", "marker-jump")
    ]
    ((entry, number),) = [one for one in sites or loops if one[0]["tier"] == "native"]
    entry[number] = 7.0
    assert "\n".join(kept.readme_lines(summary)) not in (ROOT / "README.md").read_text()
    assert drawn(summary) != (REFERENCE / "headline.svg").read_text()


def test_readme_without_its_place_is_named() -> None:
    with pytest.raises(ValueError, match=r"README\.md lacks"):
        kept.replaced("nothing", read_summary(REFERENCE))


def test_golden_samples_give_the_same_figures_to_the_byte(tmp_path: Path) -> None:
    """A change of a figure is looked at, and golden/ replaced by the figures that the test has
    left."""
    run = goldenrun.make(tmp_path)
    made = {path.name: path.read_bytes() for path in (run / "figures").iterdir()}
    assert sorted(made) == sorted(path.name for path in GOLDEN.iterdir())
    changed = [name for name in made if made[name] != (GOLDEN / name).read_bytes()]
    assert not changed, f"look at these in {run / 'figures'}"


def test_a_tier_of_several_kernels_has_a_figure_for_each(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    names = ["switching-vm-7.2", "dormant-icount-5.10.0-42-amd64", "switching-vm-5.10.0-42-amd64",
             "other-native", "dormant-native"]  # fmt: skip
    for name in names:
        (tmp_path / f"figures/{name}.svg").touch()
    found = reference.figures_of(tmp_path)
    assert found == ["dormant-native", names[1], names[2], names[0]]
    assert reference.caption(found[0]) == reference.FIGURES["dormant-native"]
    assert reference.caption(names[0]) == f"{reference.FIGURES['switching-vm']}, kernel 7.2"
