# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers plot`: formats, styles, errors, and a missing matplotlib."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import drawnsvg
import goldenrun
import matplotlib
import pages
import pytest
from kmtools.base.paths import ROOT
from kmtools.base.processes import raise_interrupt_on_signals
from kmtools.cli import main
from kmtools.commands import plotting
from kmtools.report import sheets
from kmtools.report.figures import library, svgfile, workers
from kmtools.report.figures.rows import Panel
from kmtools.report.figures.scales import Scale

GOLDEN = Path(__file__).parent / "golden"
KMARKERS = ROOT / "scripts" / "kmarkers"
# The Python interpreter of `make lint`, whose environment has the newest matplotlib.
NEWEST = ROOT / "build" / "lint" / "bin" / "python"
NOTEBOOK = ROOT / "examples" / "notebook" / "run.ipynb"


@pytest.fixture(name="run", scope="module")
def make_golden_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return goldenrun.make_run(tmp_path_factory.mktemp("golden"))


def draw_run_figures(out: Path, run: Path, *words: str) -> list[Path]:
    """Draw figures of a run; return the files."""
    assert main(["plot", str(run), "--out", str(out), *words]) == 0
    return sorted(out.iterdir())


def run_plot_with_wrong_arguments(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run `kmarkers plot` with wrong arguments; return the error message, which has one line."""
    capsys.readouterr()
    assert main(["plot", *words]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and len(said.err) < 1500
    return said.err


def list_differences_from_golden(folder: Path) -> list[str]:
    """Compare figures with the files in golden/; return the differences."""
    made = {path.name: path.read_text() for path in folder.glob("*.svg")}
    assert sorted(made) == sorted(path.name for path in GOLDEN.iterdir())
    differ = {n: drawnsvg.find_svg_difference(made[n], (GOLDEN / n).read_text()) for n in made}
    return [f"{name}: {why}" for name, why in differ.items() if why]


def test_figures_match_golden_files(run: Path) -> None:
    """The figures have the texts, positions and CSS classes of the files in golden/. After a
    deliberate change of the figures, replace the files in golden/ by the figures that this test has
    drawn."""
    assert list_differences_from_golden(run / "figures") == [], (
        f"the new figures are in {run / 'figures'}"
    )


def test_newest_matplotlib_draws_the_same_figures(run: Path, tmp_path: Path) -> None:
    if not NEWEST.exists():
        pytest.skip(f"{NEWEST} is missing: run scripts/setup --lint")
    words = [str(NEWEST), str(KMARKERS), "plot", str(run), "--out", str(tmp_path)]
    subprocess.run(words, check=True, capture_output=True)
    assert list_differences_from_golden(tmp_path) == []


def test_figures_from_summary_json_equal_the_figures_of_the_report(
    run: Path, tmp_path: Path
) -> None:
    """summary.json has all data of the figures, such as distributions and costs over variants."""
    made = draw_run_figures(tmp_path, run)
    assert [path.name for path in made] == sorted(p.name for p in (run / "figures").iterdir())
    assert [p.name for p in made if p.read_bytes() != (run / "figures" / p.name).read_bytes()] == []
    summary = json.loads((run / "summary.json").read_text())
    assert any(entry.get("distribution") for entry in summary["results"])
    assert any(entry.get("also_over") for entry in summary["results"])


def test_figures_without_worker_processes_are_the_same(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With several CPUs, figures are drawn in worker processes; an error in a worker is raised in
    the main process. With one CPU there are no workers, and the figures are the same."""
    with workers.start_workers() as several:
        assert several.start_drawing(os.getpid).result() != os.getpid()
        assert several.fill_placeholders(f"a{several.defer_drawing(str.upper)('b')}c") == "aBc"
        with pytest.raises(ZeroDivisionError):
            several.start_drawing(divmod, 1, 0).result()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0})
    with workers.start_workers() as several:
        assert several.start_drawing(os.getpid).result() == os.getpid()
    (made,) = draw_run_figures(tmp_path, run, "headline")
    assert made.read_bytes() == (run / "figures" / "headline.svg").read_bytes()
    shutil.copytree(run, tmp_path / "copy")
    assert main(["report", str(tmp_path / "copy")]) == 0
    page = (tmp_path / "copy" / "report.html").read_text()
    assert page == (run / "report.html").read_text() and "\0" not in page


def test_workers_leave_signals_of_the_terminal_to_the_main_process() -> None:
    """A terminal sends SIGINT and SIGHUP to the main process and to all worker processes."""
    if len(os.sched_getaffinity(0)) == 1:
        pytest.skip("workers need two CPUs")
    with raise_interrupt_on_signals(), workers.start_workers() as several:
        for number in (signal.SIGINT, signal.SIGHUP):
            assert several.start_drawing(signal.getsignal, number).result() == signal.SIG_IGN


def test_figures_of_each_format_are_reproducible(run: Path, tmp_path: Path) -> None:
    starts = {"svg": b"<?xml", "pdf": b"%PDF-1", "png": b"\x89PNG\r\n"}
    for kind, start in starts.items():
        one, other = (
            draw_run_figures(tmp_path / f"{kind}{n}", run, "headline", "--format", kind)[
                0
            ].read_bytes()
            for n in (1, 2)
        )
        assert one == other and one.startswith(start), kind
    pdf = (tmp_path / "pdf1" / "headline.pdf").read_bytes()
    assert b"/FontFile2" in pdf and b"/CreationDate" not in pdf and b"atplotlib" not in pdf
    width = int.from_bytes((tmp_path / "png1" / "headline.png").read_bytes()[16:20], "big")
    assert width == pytest.approx(197 / 25.4 * 192, abs=2)


def test_panel_can_be_drawn_as_a_separate_figure(run: Path, tmp_path: Path) -> None:
    (made,) = draw_run_figures(tmp_path, run, "dormant-native:empty-loop", "--width", "85")
    assert made.name == "dormant-native-empty-loop.svg"
    drawn = drawnsvg.parse_svg_texts(made.read_text())
    names = {part.text: part for part in drawn}
    row = names["marker-generic"]
    # In a figure of 85 mm (321 pixels), the name is above its row, the number at the right edge.
    assert row.x == 12 and any(part.y == row.y and part.x > 290 for part in drawn)
    assert "empty-loop" in names and "density-full" not in names


def test_parts_with_similar_titles_are_separate_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names do not depend on the parts that are drawn with them."""
    panels = [Panel(title, "", Scale(0, 1), []) for title in ("a b", "a-b", "c")]
    run = SimpleNamespace(make_sheets=lambda: {"cold-vm": sheets.Sheet(panels, "")})
    monkeypatch.setattr(sheets, "load_run", lambda path: run)
    names = [f"cold-vm:{title}" for title in ("a-b", "a b")]
    found = plotting.select_figures(Path("run"), names)
    assert {name: sheet.parts for name, sheet in found.items()} == {
        "cold-vm-a-b-2": [panels[1]], "cold-vm-a-b": [panels[0]],
    }  # fmt: skip
    assert [*plotting.select_figures(Path("run"), names[:1])] == ["cold-vm-a-b-2"]


def test_svg_has_colours_of_light_and_dark_scheme(run: Path) -> None:
    text = (run / "figures" / "headline.svg").read_text()
    assert "prefers-color-scheme: dark" in text and text.count("<style>") == 1
    assert 'role="img" aria-label="Cost of one dormant site' in text
    assert not re.search("#[0-9a-f]{6}", text.partition("</style>")[2])
    assert "<metadata" not in text and "<defs" not in text


def test_default_colours_are_the_colours_of_the_light_scheme() -> None:
    light = svgfile.COLOURS.read_text().partition("@media")[0]
    said = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", light))
    assert {name: said[name] for name in svgfile.CLASSES.values()} == {
        name: colour for colour, name in svgfile.CLASSES.items()
    }
    style = (Path(svgfile.__file__).with_name("kmarkers.mplstyle")).read_text()
    assert {c for c in svgfile.CLASSES if c[1:] not in style} == set()


@pytest.mark.parametrize(
    ("place", "style", "converted"),
    [
        ('x="3" y="6"', "", 'x="4" y="8"'),
        ('transform="translate(30 60)"', "", 'x="40" y="80"'),
        ('transform="translate(-1.5,3e1) rotate(-0)"', "", 'x="-2" y="40"'),
        ('x="3" y="6" transform="translate(30, 60)"', "", 'x="44" y="88"'),
        ('x="3" y="6" transform="rotate(-0 3 6)"', "", 'x="4" y="8"'),
        ("", "fill: #57606a", 'x="0" y="0" class="soft"'),
        ("", "fill: #123456", 'x="0" y="0" style="fill:#123456"'),
        ("", "font: 700 12px 'DejaVu Sans'", 'x="0" y="0" class="strong" font-size="16"'),
        ("", "font: 9.75px 'DejaVu Sans'", 'x="0" y="0"'),
        ("", "font: 9.75px Arial", 'x="0" y="0" style="font-family:Arial"'),
        (
            *("", "font-size: 6px; font-weight: bold; font-family: serif; text-anchor: end"),
            'x="0" y="0" class="strong" text-anchor="end" font-size="8" style="font-family:serif"',
        ),
    ],
)
def test_matplotlib_text_keeps_position_and_nondefault_style(
    place: str, style: str, converted: str
) -> None:
    """The position of a text is converted to pixels of 3/4 points. The colour, weight, alignment,
    size and font are written only if they differ from the defaults. matplotlib positions the lines
    of a text of several lines by translations."""
    text = f'<text {place} style="fill: #24292f; {style}">a &lt; b</text>'
    drawing = svgfile.parse_matplotlib_svg(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 60"><g>{text}</g></svg>'
    )
    assert (drawing.width, drawing.height) == (120, 80)
    assert [one.render_svg() for one in drawing.elements] == [f"<text {converted}>a &lt; b</text>"]


def test_style_file_changes_colours_and_sizes(run: Path, tmp_path: Path) -> None:
    style = tmp_path / "own.mplstyle"
    style.write_text("axes.prop_cycle: cycler('color', ['112233', '445566'])\nfont.size: 13\n")
    (made,) = draw_run_figures(tmp_path / "out", run, "headline", "--style", str(style))
    text = made.read_text()
    assert "color:#445566" in text and "#a84300" not in text.partition("</style>")[2]
    (title,) = [part for part in drawnsvg.parse_svg_texts(text) if "strong" in part.classes]
    assert dict(title.look)["font-size"] == "17.3"


STYLES = {
    "an unknown parameter": (b"axes.colour: red\n", "Bad key axes.colour"),
    "a wrong value": (b"axes.linewidth: wide\n", "axes.linewidth"),
    "no colon": (b"nothing\n", "Missing colon"),
    "no colon, then an unknown parameter": (b"nothing\naxes.colour: red\n", "Missing colon"),
    "no text": (bytes(range(128, 256)), "is not a style of matplotlib"),
    "too large a font": (b"font.size: 1e9\n", "font.size is 1e+09, not from 3 to 36"),
    "too many pixels": (b"savefig.dpi: 1e4\n", "the picture would have more than"),
}


@pytest.mark.parametrize("style", STYLES)
def test_invalid_style_file_is_refused(
    run: Path, tmp_path: Path, style: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, (content, why) = tmp_path / "own.mplstyle", STYLES[style]
    path.write_bytes(content)
    words = (str(run), "headline", "--format", "png", "--style", str(path), "--out", str(tmp_path))
    assert why in run_plot_with_wrong_arguments(capsys, *words)
    assert [one.name for one in tmp_path.iterdir()] == ["own.mplstyle"]


def test_unknown_figures_parts_styles_and_runs_are_reported(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        "no figure 'hed'; choose from: headline, dormant-native"
        in run_plot_with_wrong_arguments(capsys, str(run), "hed")
    )
    assert "has no part 'x'; choose from: density-full" in run_plot_with_wrong_arguments(
        capsys, str(run), "dormant-native:x"
    )
    assert "no such style file" in run_plot_with_wrong_arguments(
        capsys, str(run), "--style", str(tmp_path)
    )
    assert "of the run does not exist" in run_plot_with_wrong_arguments(
        capsys, str(tmp_path / "gone")
    )
    summary = json.loads((run / "summary.json").read_text())
    for tier, words in (("none", "no figure can be drawn"), ("icount", "no figure 'headline'")):
        for kind in ("results", "switching", "sites"):
            summary[kind] = [entry for entry in summary[kind] if entry["tier"] == tier]
        summary["units"]["instructions"] = "instructions executed"
        path = tmp_path / tier
        path.mkdir()
        (path / "env.json").write_text((run / "env.json").read_text())
        text = json.dumps(summary if tier == "none" else make_icount_summary(run))
        (path / "summary.json").write_text(text)
        assert words in run_plot_with_wrong_arguments(capsys, str(path), "headline")


def make_icount_summary(run: Path) -> dict[str, object]:
    """Return a summary with the tier icount only, which has no cycles."""
    summary: dict[str, object] = json.loads((run / "summary.json").read_text())
    results = summary["results"]
    assert isinstance(results, list)
    exact = [entry for entry in results if entry["tier"] == "icount"]
    return {**summary, "results": exact, "switching": [], "sites": []}


def test_invalid_figure_width_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("3", "nan", "wide", "1e9"):
        with pytest.raises(SystemExit) as ended:
            main(["plot", str(run), "--width", text])
        assert ended.value.code == 2
        assert f"'{text}' is not from 60 to 600 millimetres" in capsys.readouterr().err


def test_special_characters_in_names_are_escaped_in_every_format(tmp_path: Path) -> None:
    run = pages.make_run_with_hostile_names(tmp_path)
    for kind in ("svg", "png", "pdf"):
        for width in ("85", "197"):
            draw_run_figures(tmp_path / f"{kind}{width}", run, "--format", kind, "--width", width)
    for path in tmp_path.glob("svg*/*.svg"):
        assert "<script" not in path.read_text() and "<b>" not in path.read_text()
        drawnsvg.parse_svg_elements(path.read_text())


def test_math_syntax_in_a_name_is_not_interpreted(tmp_path: Path) -> None:
    import rawdata  # noqa: PLC0415

    names = {"none": 1.0, "none-clone": 1.0, r"$\frac{1}{": 9.0, "a_b^c$x$": 7.0, "%s{}": 5.0}
    raw = rawdata.write_raw_folder(
        tmp_path / "raw", 12, 1, [rawdata.Bench("empty-loop", names)], emulated="0"
    )
    assert main(["collect", str(tmp_path / "run"), f"--raw=native={raw}"]) == 0
    assert main(["report", str(tmp_path / "run")]) == 0
    drawn = (tmp_path / "run" / "figures" / "dormant-native.svg").read_text()
    assert {part.text for part in drawnsvg.parse_svg_texts(drawn)} >= {*names} - {
        "none",
        "none-clone",
    }


def call_kmarkers(words: Sequence[str], **env: str) -> subprocess.CompletedProcess[str]:
    """Run kmarkers with only PATH and the variables `env` in the environment."""
    whole: Mapping[str, str] = {"PATH": os.environ["PATH"], **env}
    called = [sys.executable, str(KMARKERS), *words]
    return subprocess.run(called, env=whole, capture_output=True, text=True, check=False)


def test_plot_writes_no_cache_outside_the_tree(run: Path, tmp_path: Path) -> None:
    home, out = tmp_path / "home", str(tmp_path / "out")
    home.mkdir()
    words = ["plot", str(run), "headline", "--out", out]
    for env in ({"HOME": str(home)}, {}, {"HOME": "/nonexistent"}):
        done = call_kmarkers(words, **env)
        assert (done.returncode, done.stderr) == (0, ""), env
    assert list(home.iterdir()) == []
    assert list((ROOT / "build" / "matplotlib").glob("fontlist*"))


BROKEN = {
    "missing": ("raise ModuleNotFoundError('no', name='matplotlib')", "apt-get install"),
    "failing": ("print('long', file=__import__('sys').stderr); 1 / 0", "ZeroDivisionError"),
    "old": ("__version__ = '3.5.2'", "is 3.5.2, and must be 3.6 or later"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_without_matplotlib_tables_and_one_message_are_printed(
    run: Path, tmp_path: Path, how: str
) -> None:
    (tmp_path / "matplotlib").mkdir()
    (tmp_path / "matplotlib" / "__init__.py").write_text(BROKEN[how][0] + "\n")
    copy = tmp_path / "run"
    copy.mkdir()
    for name in ("env.json", "samples.csv"):
        (copy / name).write_text((run / name).read_text())
    done = call_kmarkers(["report", str(copy)], PYTHONPATH=str(tmp_path))
    assert done.returncode == 0 and "tables: scripts/kmarkers table" in done.stdout
    assert done.stderr.count("\n") == 1 and "python3-matplotlib" in done.stderr
    assert BROKEN[how][1] in done.stderr
    page = (copy / "report.html").read_text()
    assert "<svg" not in page and "<figure" not in page and "marker-generic" in page
    assert list((copy / "figures").iterdir()) == []
    done = call_kmarkers(["plot", str(copy)], PYTHONPATH=str(tmp_path))
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "python3-matplotlib" in done.stderr


@pytest.mark.parametrize(
    ("version", "fault"),
    [
        ("3.5.2", "python3-matplotlib is 3.5.2, and must be 3.6 or later"),
        ("2.9", "python3-matplotlib is 2.9, and must be 3.6 or later"),
        *((version, "") for version in ("3.6", "3.6.0rc1", "3.10.1", "4.0")),
    ],
)
def test_matplotlib_before_version_3_6_is_refused(
    version: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matplotlib, "__version__", version)
    library.find_matplotlib_fault.cache_clear()
    try:
        assert library.find_matplotlib_fault() == fault
    finally:
        library.find_matplotlib_fault.cache_clear()


def test_example_notebook_draws_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    lines = [line for cell in code for line in cell.splitlines() if line and line[0] != "#"]
    assert len(lines) <= 20
    monkeypatch.chdir(NOTEBOOK.parent)
    monkeypatch.setenv("MPLBACKEND", "agg")
    told: dict[str, object] = {}
    for cell in code:
        exec(compile(cell, str(NOTEBOOK), "exec"), told)
    axes = told["axes"]
    texts = {text.get_text() for text in axes.texts}  # type: ignore[attr-defined]
    assert "mcount" in texts and "headline" in told["found"]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("style", "attributes"),
    [
        ({"fill": "#a84300"}, ' class="fill slower"'),
        ({"fill": "#a84300", "opacity": "0.4"}, ' class="fill slower pale"'),
        ({"fill": "#a84300", "fill-opacity": "0.4"}, ' class="fill slower pale"'),
        ({"fill": "#a84300", "fill-opacity": "0.4", "opacity": "1"}, ' class="fill slower pale"'),
        ({"fill": "#a84300", "opacity": "0.7"}, ' class="fill slower" opacity="0.7"'),
        ({"fill": "#a84300", "opacity": "1"}, ' class="fill slower"'),
        ({"fill": "#112233"}, ' class="fill" style="color:#112233"'),
        ({"fill": "none"}, None),
        ({"fill": "none", "stroke": "#a84300", "stroke-width": "0"}, None),
        ({"fill": "none", "stroke": "#57606a", "stroke-width": "0.75"}, ' class="line soft"'),
        ({"fill": "none", "stroke": "#57606a"}, ' class="line soft" stroke-width="1.3"'),
        (
            {"fill": "none", "stroke": "#57606a", "stroke-width": "1.5", "stroke-dasharray": "1,2"},
            ' class="line soft dots" stroke-width="2"',
        ),
        (
            {"fill": "#ffffff", "stroke": "#57606a", "stroke-width": "0.75"},
            ' class="ring soft"',
        ),
        (
            {"fill": "#57606a", "stroke": "#57606a", "stroke-width": "0.75"},
            ' class="line soft"',
        ),
    ],
)
def test_style_of_a_shape_becomes_classes_and_attributes(
    style: Mapping[str, str], attributes: str | None
) -> None:
    """Known colours, dashes and the opacity 0.4 become CSS classes. Other colours and opacities,
    and line widths other than one pixel (0.75 points), become attributes. matplotlib writes the
    opacity of a shape as `opacity` or as `fill-opacity`. An invisible shape has no attributes."""
    assert svgfile.make_shape_attributes(style) == attributes
