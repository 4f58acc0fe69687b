# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the HTML report with special characters and invalid data. browser_page.py checks the
report in a browser."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import drawnsvg
import nativeprograms
import pages
import pytest
import rawdata
from kmtools.analyse import result_kinds
from kmtools.analyse.grade import Grade, Level, Reason
from kmtools.analyse.summary import read_summary
from kmtools.analyse.verdicts import NO_BASELINE, SLOWER
from kmtools.base.errors import UnableError
from kmtools.cli import main
from kmtools.measure.rundir import (
    UNIT_EMULATED,
    UNIT_INSTRUCTIONS,
    UNIT_TSC,
    RunError,
    read_env,
)
from kmtools.report import page, sections, sheets
from kmtools.report import reference as keeping
from kmtools.report.figures.rows import Pair, Panel
from kmtools.report.figures.scales import Scale
from kmtools.report.markup import LEFT_OUT, escape_html
from verdictrows import make_result, make_site_cost, make_tier


@pytest.fixture(name="hostile_run", scope="module")
def report_hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.make_run_with_hostile_names(tmp_path_factory.mktemp("hostile"))


class TagCollector(HTMLParser):
    """Collects the tags of an HTML page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


def test_hostile_names_are_escaped_in_html(hostile_run: Path) -> None:
    parsed = TagCollector()
    parsed.feed((hostile_run / "report.html").read_text())
    assert "script" not in parsed.tags
    for drawing in (hostile_run / "figures").iterdir():
        assert "<script" not in drawing.read_text() and "<b>" not in drawing.read_text()
    assert "&lt;script&gt;" in (hostile_run / "report.html").read_text()


def test_report_of_the_reference_run_is_small(reference_run: Path) -> None:
    text = (reference_run / "report.html").read_text()
    parsed = TagCollector()
    parsed.feed(text)
    assert len(text.encode()) <= 1_500_000 and len(parsed.tags) <= 16_000


def test_committed_figures_and_tables_match_committed_samples(reference_run: Path) -> None:
    kept = sorted(pages.REFERENCE.glob("*.svg"))
    changed = [
        f"{path.name}: {why}"
        for path in kept
        if (
            why := drawnsvg.find_svg_difference(
                path.read_text(), (reference_run / "figures" / path.name).read_text()
            )
        )
    ]
    assert kept and not changed, "figures have changed: run scripts/kmarkers publish reference"
    summary = read_summary(reference_run)
    names = keeping.list_reference_figures(reference_run)
    assert sorted(names) == [path.stem for path in kept]
    text = keeping.render_reference_readme(read_env(reference_run / "env.json"), summary, names)
    assert len(text.splitlines()) <= 120
    assert text == (pages.REFERENCE / "README.md").read_text()


def raise_missing_cpu_name(*_: object) -> str:
    """Raise the error of render_reference_readme() for an env.json without the name of the CPU."""
    raise KeyError("model_name")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        # The samples of a full run are too large to commit.
        ("MOST_SAMPLES_BYTES", 1_000_000, "at most 1000000 are committed; CONTRIBUTING.md says"),
        ("render_reference_readme", raise_missing_cpu_name, "env.json lacks 'model_name'"),
    ],
)
def test_refused_reference_run_leaves_the_old_one_unchanged(
    reference_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: object,
    said: str,
) -> None:
    """The previous reference run is kept. Its files differ from the files of the new run, so that
    the test notices each copied file."""
    before = {path.name: b"previous" for path in pages.REFERENCE.iterdir()}
    for file, content in before.items():
        (tmp_path / file).write_bytes(content)
    monkeypatch.setattr(keeping, name, value)
    with pytest.raises(RunError, match=said):
        keeping.write_reference_run(reference_run, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_reference_run_is_copied_completely(reference_run: Path, tmp_path: Path) -> None:
    """The copy has the committed files, and all samples of the run. Figures of a previous reference
    run are deleted. A folder with other files is refused."""
    out = tmp_path / "results" / "reference"
    out.mkdir(parents=True)
    (out / "dormant-metal.svg").touch()
    (out / "mine.svg").touch()
    said = "/results/reference is not used for a reference run, because mine.svg is not a file of"
    with pytest.raises(UnableError, match=said):
        keeping.write_reference_run(reference_run, out)
    assert {path.name for path in out.iterdir()} == {"dormant-metal.svg", "mine.svg"}
    (out / "mine.svg").unlink()
    keeping.write_reference_run(reference_run, out)
    assert {path.name for path in out.iterdir()} == {p.name for p in pages.REFERENCE.iterdir()}
    samples = gzip.decompress((out / "samples.csv.gz").read_bytes())
    assert samples == (reference_run / "samples.csv").read_bytes()
    for name in ("env.json", "summary.json"):
        assert (out / name).read_bytes() == (reference_run / name).read_bytes()
    assert (out / "README.md").read_bytes() == (pages.REFERENCE / "README.md").read_bytes()
    for path in out.glob("*.svg"):
        assert path.read_bytes() == (reference_run / "figures" / path.name).read_bytes()


def test_table_of_dormant_costs_has_real_cpus_only() -> None:
    """The cost of a site is in core cycles if the length of a tick in core cycles is known: here,
    0.5 ticks are 0.75 core cycles. Baselines, clones, clocks, guests, other benchmarks and other
    flavours are left out."""
    results = [
        make_result("sdt-dormant", "sdt", 2.0, verdict=SLOWER),
        make_result("getppid-quiet", "jump", -1.25, tier="metal"),
        *(make_result("sdt-dormant", name) for name in ("clock", "none-clone")),
        make_result("sdt-dormant", "none", None),
        make_result("sdt-dormant", "sdt", 1.0, tier="vm"),
        make_result("empty-loop", "marker-jump", 1.0),
    ]
    jump = make_site_cost("density-full", "marker-jump", 0.5)
    generic = replace(make_site_cost("cold-icache-l1", "marker-generic", -0.05), core=None)
    others = [replace(jump, tier="vm"), replace(jump, flavour="patched-call")]
    rows = [
        "| native | density-full | marker-jump | +0.750 | [+0.600, +0.900] | core cycles a site"
        " | slower |",
        "| native | cold-icache-l1 | marker-generic | \N{MINUS SIGN}0.050 | [\N{MINUS SIGN}0.150,"
        f" +0.050] | {UNIT_TSC} a site | unresolved |",
        f"| native | sdt-dormant | sdt | +2.000 | [+1.900, +2.100] | {UNIT_TSC} | slower |",
        "| metal | getppid-quiet | jump | \N{MINUS SIGN}1.250 | [\N{MINUS SIGN}1.350,"
        f" \N{MINUS SIGN}1.150] | {UNIT_TSC} | equivalent |",
    ]
    for some, costs, shown in (
        (results, [jump, *others, generic], rows),
        ([], [jump], rows[:1]),
        (results[:1], [], rows[2:3]),
    ):
        head, empty, titles, line, *found = keeping.render_dormant_cost_table(some, costs)
        assert (head, empty) == ("## Dormant, on the real CPU", "")
        assert titles.count("|") == line.count("|") == shown[0].count("|")
        assert found == [*shown, ""]
    assert not [*keeping.render_dormant_cost_table(results[2:], others)]


def test_instruction_count_table_has_a_column_per_kernel() -> None:
    counts = {"tier": "icount", "unit": UNIT_INSTRUCTIONS}
    results = [
        make_result("empty-loop", "marker-jump", 1.0, **counts),
        make_result("marker-enabled", "typed", 1234.0, **counts),
        make_result("empty-loop", "marker-jump", 2.0, kernel="5.10", **counts),
        make_result("marker-enabled", "slow", -3.0, kernel="5.10", **counts),
        make_result("empty-loop", "static-key", 1.0, **counts),
        make_result("empty-loop", "marker-jump-clone", 1.0, **counts),
        make_result("memcpy-4096", "marker-jump", 1.0, **counts),
        make_result("empty-loop", "marker-none", None, **counts),
        make_result("empty-loop", "marker-generic", 1.0),
    ]
    assert [*keeping.render_count_table(results)][2:] == [
        "| benchmark | variant | 6.12 | 5.10 |",
        "|---|---|---:|---:|",
        "| empty-loop | marker-jump | +1 | +2 |",
        "| marker-enabled | typed | +1234 | \N{EN DASH} |",
        "| marker-enabled | slow | \N{EN DASH} | \N{MINUS SIGN}3 |",
        "",
    ]
    assert not [*keeping.render_count_table(results[4:])]


def test_first_screen_has_worst_grade_reasons_and_a_link() -> None:
    reasons = tuple(Reason(Level.POOR, f"reason {n}", "") for n in range(5))
    short = page.render_grade_html(make_tier(), Grade(Level.POOR, reasons), 2)
    assert "Reason 0; reason 1; and" in short and "reason 2" not in short
    assert '<a href="#conditions">3 more reasons</a>' in short
    whole = page.render_grade_html(make_tier(), Grade(Level.POOR, reasons[:3]), 2)
    assert "reason 2" in whole and "<a" not in whole


def test_benchmarks_with_more_than_a_fifth_of_their_windows_flagged_are_named() -> None:
    """A benchmark with exactly a fifth of flagged windows is not named. Variants without windows
    have no share."""
    results = [
        make_result("a", "few", flagged=20, flags={"preempted": 15, "late": 5}),
        make_result("b", "more", flagged=21, flags={"preempted": 21}),
        make_result("b", "all", windows=3, flagged=3, flags={"preempted": 2, "late": 1}),
        make_result("b", "more", flagged=100, flags={"late": 100}, tier="vm"),
        make_result("c", "none", windows=0, verdict=NO_BASELINE),
    ]
    tiers = [
        {"tier": "native", "kernel": "6.12", "env": {"lacks:d:v": "no <x>"}},
        {"tier": "vm", "kernel": "6.12", "cycle_fields_dropped": 7},
        {"tier": "vm", "kernel": "6.1", "cycle_fields_dropped": None},
    ]
    found = re.findall(
        "<li>(.*?)</li>", page.render_excluded_section_html({"tiers": tiers}, results)
    )
    often = "more than a fifth of the windows is flagged, so the rest may not be typical."
    assert found == [
        "144 of 303 timed windows have a flag (106 late, 38 preempted) and are not used for"
        " slopes; the tables count them for each variant. No other window was left out.",
        f"native b: in 2 variants {often}",
        f"vm b: in 1 variants {often}",
        "Not measured: native, kernel 6.12: d v: no &lt;x&gt;.",
        "Without an A/A clone, hence not compared: c.",
        "7 core cycle counts reported by an emulated CPU were dropped.",
    ]


@pytest.mark.parametrize(
    ("env", "shown"),
    [
        ({"tiers": []}, ["\N{EN DASH}"] * 6),
        (
            {"tiers": [], "machine": {"cpu": {"hypervisor": False}}, "kernel": {"release": "6.1"}},
            ["\N{EN DASH}", "\N{EN DASH}", "no", "6.1", "\N{EN DASH}", "\N{EN DASH}"],
        ),
    ],
)
def test_unknown_machine_conditions_are_shown_as_a_dash(
    env: dict[str, Any], shown: list[str]
) -> None:
    """If env.json does not say whether there is a hypervisor, a dash is shown, not "no"."""
    text = page.render_conditions_section_html(env, [])
    assert re.findall("<tr>.*?<td[^>]*>([^<]*)</td></tr>", text) == shown


def test_kernels_with_similar_names_have_figures_of_their_own() -> None:
    names = ("6.1+b", "6.1-b", "6.1-b-2", "6.1-c")
    tiers = [{"tier": "native", "kernel": name} for name in names]
    run = sheets.Run({"tiers": [*tiers, {"tier": "vm", "kernel": "6.1"}]}, [], [], [])
    assert [run.make_tier_name(tier) for tier in run.tiers] == [
        "native-6.1-b", "native-6.1-b-2", "native-6.1-b-2-2", "native-6.1-c", "vm",
    ]  # fmt: skip


def test_machines_with_similar_titles_have_figures_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    panel = Panel("", "", Scale(0, 1), [])
    pairs = [Pair(title, panel, panel) for title in ("P4", "Xeon, 6.1", "Xeon 6.1", "Xeon 6.1")]
    monkeypatch.setattr(sheets.Run, "make_published_pairs", lambda run: pairs)
    drawn = sheets.Run({"tiers": []}, [], [], []).make_sheets()
    assert [*drawn] == [
        "then-and-now", "published-Xeon-6.1", "published-Xeon-6.1-2", "published-Xeon-6.1-3",
    ]  # fmt: skip


def test_page_sections_of_emulated_tiers_are_collapsed() -> None:
    """The part of each tier has the costs of its sites, and no costs of other tiers or kernels."""
    units = {
        ("native", "6.12"): UNIT_TSC, ("native", "6.1"): UNIT_TSC, ("vm", "6.12"): UNIT_EMULATED,
        ("icount", "6.12"): UNIT_INSTRUCTIONS,
    }  # fmt: skip
    results = [
        make_result("nop-encodings", "nop", tier=tier, kernel=kernel, unit=unit)
        for (tier, kernel), unit in units.items()
    ]
    sites = [
        replace(
            make_site_cost("density-full", f"site-{tier}-{kernel}", 0.5), tier=tier, kernel=kernel
        )
        for tier, kernel in units
        if tier != "vm"
    ]
    env = {"tiers": [{"tier": tier, "kernel": kernel, "env": {}} for tier, kernel in units]}
    run = sections.Page(env, results, [], sites)
    text = sections.render_result_kind_section_html(run, result_kinds.DORMANT)
    begin = r'(?:<details><summary>([^<]*)</summary>\n)?<div id="dormant-([^"]*)"'
    _, *parts = re.split(begin, text)
    assert dict(zip(parts[1::3], parts[::3])) == {
        "native-6.1": None, "native-6.12": None, "vm": "vm, kernel 6.12: emulated ticks",
        "icount": "icount, kernel 6.12: exact instructions",
    }  # fmt: skip
    own = [re.findall("site-([^<]*)<", body) for body in parts[2::3]]
    assert own == [["native-6.1"], ["native-6.12"], [], ["icount-6.12"]]


@pytest.mark.long
def test_report_of_all_benchmarks_is_small_and_complete(
    tmp_path: Path, native_programs: None
) -> None:
    """The page has the tables of all benchmarks of the run. The run lacks benchmarks that switch
    sites; the size limit leaves space for their tables."""
    run = pages.make_run_of_all_benchmarks(tmp_path, nativeprograms.run_kmbench("list").stdout)
    text = (run / "report.html").read_text()
    parsed = TagCollector()
    parsed.feed(text)
    assert len(text.encode()) <= 1_300_000 and len(parsed.tags) <= 15_000
    assert LEFT_OUT not in text


Change = Callable[[str], str]


def make_first_value_replacer(text: str) -> Change:
    """Return a function that replaces the value of the first sample by `text`."""
    return lambda lines: re.sub(r",\d+,ticks", f",{text},ticks", lines, count=1)


CHANGES: dict[str, tuple[Change, str]] = {
    "other columns": (lambda text: text.replace(",block,", ",blocks,"), "lacks block"),
    "a zero byte": (lambda text: text.replace("ticks", "t\0cks", 1), "unit is"),
    "cut inside a line": (lambda text: text[:-3], "incomplete"),
    "cut after a line": (lambda text: text[: text.rindex("\n", 0, -1) + 1], "truncated"),
    "not a number": (make_first_value_replacer("nan"), "not an integer: 'nan'"),
    "infinite": (make_first_value_replacer("inf"), "not an integer: 'inf'"),
    "negative": (make_first_value_replacer("-7"), "value is below 0"),
    "huge": (make_first_value_replacer("9" * 30), "value is above"),
    "of 9000 digits": (make_first_value_replacer("9" * 9000), "value is above"),
    "short line": (lambda text: text + "x,y\n", "fields"),
    "empty": (lambda text: "", "lacks"),
    "text turned around": (lambda text: text.replace("none", "n\u202ene"), "cannot be printed"),
    "a bell": (lambda text: text.replace("none", "n\x07ne"), "cannot be printed"),
    "broken lines": (lambda text: text.replace("none", "n\x1bne\n"), "fields"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_invalid_sample_file_is_refused(
    tmp_path: Path, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = rawdata.write_raw_folder(tmp_path / "raw", 4, 1, [rawdata.BENCHES[0]], emulated="0")
    path, (make, why) = raw / "empty-loop.csv", CHANGES[change]
    path.write_text(make(path.read_text()))
    assert main(["collect", str(tmp_path / "run"), f"--raw=native={raw}"]) == 1
    said = capsys.readouterr().err
    assert why in said and "empty-loop.csv" in said and len(said) < 1000
    assert not (tmp_path / "run" / "samples.csv").exists()


def test_binary_sample_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = rawdata.write_raw_folder(tmp_path / "raw", 4, 1, [rawdata.BENCHES[0]], emulated="0")
    (raw / "empty-loop.csv").write_bytes(bytes(range(256)) * 40)
    assert main(["collect", str(tmp_path / "run"), f"--raw=native={raw}"]) == 1
    assert "empty-loop.csv" in capsys.readouterr().err


def test_phone_css_does_not_apply_to_print() -> None:
    """Paper is narrow, so the CSS rules for phones must be limited to screens."""
    narrow = re.findall(r"@media ([^{]*)\(max-width", page.CSS.read_text())
    assert len(narrow) >= 4 and set(narrow) == {"screen and "}


def test_control_characters_do_not_reach_a_figure() -> None:
    assert escape_html("a\x00\x1b<") == "a??&lt;"
