# SPDX-License-Identifier: GPL-2.0-only
"""Tests of figures: notes, names and units are complete, and reference lines do not cross text."""

from __future__ import annotations

import io
import math
import re
from dataclasses import replace

import drawnsvg
import nativeprograms
import numpy as np
import pages
import pytest
from kmtools.analyse import figuredata, result_kinds
from kmtools.analyse.corecycles import CoreCycleRatio
from kmtools.analyse.lateness import Lateness
from kmtools.analyse.published import read_published_numbers
from kmtools.analyse.slopes import Slope
from kmtools.analyse.stats import UNBOUNDED, Interval
from kmtools.analyse.verdicts import DIFFERS, SLOWER, WITHHELD, Result
from kmtools.measure.rundir import UNIT_GUEST
from kmtools.report import markup
from kmtools.report.figures import canvas, costs, lines, look, panels, thenandnow
from kmtools.report.figures.charts import Chart, Curve
from kmtools.report.figures.rows import Panel, Row
from kmtools.report.figures.scales import Scale, format_tick
from matplotlib import image
from verdictrows import CORE, make_result, make_site_cost

LONG = "two machine states with few changes: the interval contains the costs in both"
POOR = "other programs on the same CPU for 81 % of the time; next: end the other programs"
WIDE, NARROW = 720, 328
WIDTHS = pytest.mark.parametrize("width", [WIDE, NARROW])


def make_figure_row(name: str, caveat: str = "", **more: object) -> Row:
    return replace(Row(name, 1.0, 0.5, 1.5, SLOWER, "+1.000 slower", caveat=caveat), **more)  # type: ignore[arg-type]


def draw_and_list_texts(panel: Panel, width: int) -> list[tuple[float, str]]:
    """Draw `panel` with this width; return pairs of vertical position and text, sorted."""
    found = drawnsvg.parse_svg_texts(canvas.render_part_as_inline_svg(panel, width, "words"))
    return sorted((part.y, part.text) for part in found)


@WIDTHS
def test_note_in_a_figure_is_complete_and_below_the_name(width: int) -> None:
    one = Panel(
        "b", "cycles", Scale(0.0, 2.0), [make_figure_row("first", LONG), make_figure_row("second")]
    )
    found = draw_and_list_texts(one, width)
    words = [text for _, text in found]
    below, after = words.index("first"), words.index("second")
    between = [text for text in words[below + 1 : after] if text != "+1.000 slower"]
    assert " ".join(between) == LONG
    places = [y for y, text in found if text in between]
    assert min(places) > found[below][0] and max(places) < found[after][0]


def test_reference_lines_do_not_cross_text_in_narrow_figures() -> None:
    one = Panel(
        "b",
        "cycles",
        Scale(-1.0, 2.0),
        [make_figure_row("first", LONG), make_figure_row("second")],
        margin=0.5,
    )
    drawn = canvas.render_part_as_inline_svg(one, NARROW, "words")
    dots = next(path for path in re.findall(r"<path [^>]*>", drawn) if "dots" in path)
    spans = [(float(a), float(b)) for a, b in re.findall(r"M\S+ (\S+?)V([0-9.]+)", dots)]
    assert spans
    for y, text in draw_and_list_texts(one, NARROW):
        if text in ("first", "second") or text in LONG:
            assert all(not low < y < high for low, high in spans), text


@WIDTHS
def test_long_name_of_wide_letters_is_shortened_to_fit(width: int) -> None:
    """A long name of wide letters, such as m, is shortened to the available width."""
    for name in ("memory-2m", "m" * 99):
        one = Panel("b", "cycles", Scale(0.0, 2.0), [make_figure_row(name)])
        drawn = drawnsvg.parse_svg_texts(canvas.render_part_as_inline_svg(one, width, "words"))
        (told,) = [part for part in drawn if part.text.startswith("m")]
        assert told.text == name or "…" in told.text
        wide = sum(11.7 if letter == "m" else 7 for letter in told.text)
        assert wide <= (width if told.x == 0 else told.x), told


@WIDTHS
def test_units_and_names_of_variants_are_not_cut(width: int) -> None:
    name = "varargs-empty-probe-no-preempt-disable"
    unit = "added over compiled-out, TSC cycles per operation"
    one = Panel("b", unit, Scale(-100.0, 1000.0, 2.0), [make_figure_row(name)])
    words = " ".join(text for _, text in draw_and_list_texts(one, width))
    assert name in words and "…" not in words
    assert f"{unit}; logarithmic beyond ±2" in words


@pytest.mark.parametrize(
    ("axis", "width", "labels"),
    [
        *((Scale(0.0, 2.0), width, ["0", "0.5", "1", "1.5", "2"]) for width in (WIDE, NARROW)),
        (Scale(-2.0, 0.0), WIDE, ["−2", "−1.5", "−1", "−0.5", "0"]),
        (Scale(-2.0, 0.0), NARROW, ["−1.5", "−1", "−0.5", "0"]),
        (Scale(-2e4, 2e4), WIDE, ["−20 k", "−10 k", "0", "10 k", "20 k"]),
        (Scale(-2e4, 2e4), NARROW, ["−10 k", "0", "10 k"]),
        (Scale(0.0, 20.0), NARROW, ["0", "5", "10", "15"]),
        (Scale(-20.0, 5e5, 20.0), WIDE, ["0", "100", "1000", "10 k", "100 k"]),
        (Scale(-20.0, 5e5, 20.0), 200, ["0", "100", "10 k"]),
    ],
)
def test_axis_tick_labels_that_do_not_fit_are_omitted(
    axis: Scale, width: int, labels: list[str]
) -> None:
    """The label of a tick is omitted if it is too close to the previous label, or if it crosses the
    edge of the figure. In a wide figure, the axis ends far from the edges; in a narrow figure, it
    ends 6 units from each edge. A letter of a label is 8 units wide, so that a label of one letter
    fits above the end of a narrow axis, and a label of two letters does not."""
    one = Panel("b", "cycles", axis, [make_figure_row("first")])
    drawn = [text for _, text in draw_and_list_texts(one, width)]
    found = [text for text in drawn if re.fullmatch(r"−?[\d.]+( [kM])?", text)]
    assert sorted(found) == sorted(labels)


@pytest.mark.parametrize(
    ("width", "labels"),
    [(WIDE, ["1", "100", "10 k", "1 M"]), (NARROW, ["1", "100", "10 k", "1 M"]),
     (140, ["1", "100", "1 M"])],
)  # fmt: skip
def test_chart_omits_tick_labels_that_are_too_close(width: int, labels: list[str]) -> None:
    """A figure of 140 units has an axis of 80 units for 6.2 decades. "10 k" begins at 37, too close
    to "100", which ends at 40."""
    points = [(1.0, 7.0, 6.0, 8.0), (1e6, 7.0, 6.0, 8.0)]
    chart = Chart("", "sites", "ticks", [Curve("a", 0, points)])
    drawn = drawnsvg.parse_svg_texts(canvas.render_part_as_inline_svg(chart, width, "words"))
    assert [part.text for part in drawn if ("text-anchor", "middle") in part.look] == labels


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        ([50.0], [50.0]),
        ([10.0, 50.0, 30.0], [10.0, 50.0, 30.0]),
        ([50.0, 49.0], [64.0, 49.0]),
        ([-5.0, 0.0, 1.0], [0.0, 15.0, 30.0]),
        ([100.0, 99.0, 120.0], [85.0, 70.0, 100.0]),
        ([0.0, 100.0, 90.0], [0.0, 100.0, 85.0]),
    ],
)
def test_names_of_curves_are_15_units_apart(wanted: list[float], places: list[float]) -> None:
    """Names stay between 0 and 100, in the order in which their curves end."""
    assert lines.spread_label_positions(wanted, 0.0, 100.0) == places


def draw_png_colours(part: Panel | Chart, width: int) -> np.ndarray:
    """Return the colours of a PNG file, by row and column. A CSS pixel has 2 pixels in the file."""
    return image.imread(io.BytesIO(canvas.render_figure_file([part], "", "png", width)))[:, :, :3]


def find_coloured_pixels(
    picture: np.ndarray, colour: tuple[int, int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and the columns of the pixels with a colour."""
    rows, columns = np.nonzero(np.abs(picture - np.array(colour) / 255).max(axis=2) < 0.01)
    return rows, columns


@WIDTHS
@pytest.mark.parametrize("value", [0.0, 1.0, 2.0])
def test_point_at_the_end_of_an_axis_is_whole_in_a_picture(value: float, width: int) -> None:
    """A round point has a diameter of 9 units, which are 18 pixels of a picture with 192 dots per
    inch."""
    row = replace(
        make_figure_row("", value=value, look=DIFFERS, words=""), lo=math.nan, hi=math.nan
    )
    one = Panel("", "", Scale(0.0, 2.0), [row])
    for places in find_coloured_pixels(draw_png_colours(one, width), (0xA8, 0x43, 0x00)):
        assert places.max() - places.min() + 1 == pytest.approx(18, abs=2)


@pytest.mark.parametrize(("width", "high"), [(WIDE, 2 * 2 * 24), (NARROW, 2 * 2 * 22)])
def test_noise_is_shaded_behind_all_rows_in_a_picture(width: int, high: int) -> None:
    """The noise covers half of the axis, and the height of both rows. A unit has 2 pixels. In a
    narrow figure the names are between the rows, and the axis ends 6 units from each edge."""
    rows = [make_figure_row(name, value=0.9, lo=0.9, hi=0.9, words="") for name in "ab"]
    panel = Panel("", "", Scale(-1.0, 1.0), rows, noise=0.5)
    found = find_coloured_pixels(draw_png_colours(panel, width), (0xE2, 0xE6, 0xEA))
    margins = costs.measure_margins([panel], width - 24)
    wide = width - 24 - (2 * canvas.EDGE if width == NARROW else sum(margins))
    assert len({*found[0]}) == pytest.approx(high, abs=4)
    assert found[1].max() - found[1].min() == pytest.approx(wide, abs=3)


def test_dots_of_a_margin_are_5_units_apart_in_a_picture() -> None:
    """The dots are black, on 10 rows of 24 units. A unit has 2 pixels."""
    rows = [make_figure_row("", value=0.0, lo=0.0, hi=0.0, words="") for _ in range(10)]
    panel = Panel("", "", Scale(-1.0, 1.0), rows, margin=0.5)
    picture = draw_png_colours(panel, WIDE)[: 2 * (12 + 24 + 240)].max(axis=2)
    left, right = costs.measure_margins([panel], WIDE - 24)
    margin = round(2 * (12 + left + 0.75 * (WIDE - 24 - left - right)))
    dark = picture[:, margin - 2 : margin + 3].min(axis=1) < 0.7
    assert np.count_nonzero(dark[1:] & ~dark[:-1]) == pytest.approx(240 / 5, abs=1)


def test_legend_of_a_narrow_chart_is_visible_in_a_picture() -> None:
    """The points of the legend are left of the axes, 8 units from the edge of the figure and 20
    units from the edge of the picture. The points are 7 units wide, and 20 units below each other.
    A unit has 2 pixels."""
    points = [(1.0, 7.0, 6.0, 8.0), (1e6, 7.0, 6.0, 8.0)]
    chart = Chart("", "sites", "ticks", [Curve("a", 0, points), Curve("b", 1, points)])
    picture = draw_png_colours(chart, NARROW)[:, : 2 * 30]
    found = [
        find_coloured_pixels(picture, colour) for colour in ((0, 0x65, 0xA3), (0xA8, 0x43, 0x00))
    ]
    for rows, columns in found:
        assert rows.max() - rows.min() + 1 == pytest.approx(14, abs=2)
        assert (columns.min(), columns.max()) == pytest.approx((2 * 16.5, 2 * 23.5), abs=2)
    assert found[1][0].mean() - found[0][0].mean() == pytest.approx(40, abs=1)


@pytest.mark.parametrize(
    ("ends", "last", "joined"),
    [((7.0, 70.0), 6.0, False), ((7.0, 7.1), 6.0, True), ((7.0, 7.17), 6.0, True),
     ((7.0, 7.25), 6.0, False), ((7.0, 70.0), 5.95, False), ((7.0, 70.0), 5.9, True),
     ((7.0, 70.0), 3.0, True)],
)  # fmt: skip
def test_line_joins_a_name_to_a_curve_that_ends_elsewhere(
    ends: tuple[float, float], last: float, joined: bool
) -> None:
    """If the ends of two curves are near each other, the names cannot both be next to the last
    points of the curves: the name of the first curve is moved by 0, 9, 6 or 2 units. The second
    curve ends at 10 to the power of `last`. A decade is 104 units wide, and the axis ends 12 units
    to the right of 10 to the power of 6: the second curve ends 12, 17, 22 or 325 units from the end
    of the axis. Between the axes, which end 21 units from the edge of the figure, and the names, 12
    units from that edge, there are only the dotted lines."""
    first, second = ((1.0, y, y, y) for y in ends)
    curves = [Curve("a", 0, [first, (1e6, *first[1:])]),
              Curve("b", 1, [second, (10**last, *second[1:])])]  # fmt: skip
    picture = draw_png_colours(Chart("", "sites", "ticks", curves), 744)
    between = picture[:, 2 * (744 - 12 - 20) : 2 * (744 - 12 - 13)]
    assert bool((between < 0.9).any()) is joined


@pytest.mark.parametrize(
    ("width", "names"),
    [(WIDE, {"a": (708, 131), "b": (708, 146)}), (NARROW, {"a": (20, 284), "b": (20, 304)})],
)
def test_texts_of_a_chart_are_around_its_axes(
    width: int, names: dict[str, tuple[float, float]]
) -> None:
    """The axes begin 48 units from the left and 22 from the upper edge, and are 210 units high. The
    unit of the vertical axis is 10 units above the axes, the unit of the horizontal axis 34 units
    below. Both curves end in the middle of the height. In a wide figure, the axes end 21 units from
    the right edge. The names are 9 units to the right of the axes: the first name 4 units below the
    end of the curves, the second name 15 units below the first. In a narrow figure, the first name
    is 52 units below the axes, the second name 20 units below the first."""
    points = [(1.0, 7.0, 7.0, 7.0), (1e6, 7.0, 7.0, 7.0)]
    chart = Chart("", "sites", "ticks", [Curve(name, n, points) for n, name in enumerate("ab")])
    drawn = drawnsvg.parse_svg_texts(canvas.render_part_as_inline_svg(chart, width, "words"))
    places = {part.text: part.places for part in drawn}
    for text, place in {"ticks": (0, 12), "sites": (48, 266), **names}.items():
        assert places[text] == pytest.approx(place, abs=0.2)


@WIDTHS
def test_dollar_signs_in_figures_are_drawn_as_text(width: int) -> None:
    words = [f"{letter}$x_1$" for letter in "abcdefghijk"]
    row = make_figure_row(words[0], words[1], words=words[2])
    one = Panel(words[3], words[4], Scale(0.0, 2.0), [row], remark=words[5])
    curves = [Curve(name, n, [(1.0, 7.0, 6.0, 8.0)]) for n, name in enumerate(words[6:8])]
    chart = Chart(words[8], words[9], words[10], curves)
    drawn = canvas.render_figure_file([one, chart], "", "svg", width).decode()
    assert {part.text for part in drawnsvg.parse_svg_texts(drawn)} >= {*words}


@WIDTHS
def test_outline_of_a_distribution_ends_at_its_base_line(width: int) -> None:
    """The outline of a distribution begins and ends at the height of the point, below its first and
    its last value. The peak is 30 units above the point."""
    row = make_figure_row("first", density=[(0.5, 0.2), (1.0, 1.0), (1.5, 0.6), (1.75, 0.1)])
    one = Panel("b", "cycles", Scale(0.0, 2.0), [row])
    drawn = canvas.render_part_as_inline_svg(one, width, "words")
    (outline,) = re.findall(r'<path d="([^"]*)" class="fill slower pale"', drawn)
    places, x, y = [], 0.0, 0.0
    for letter, numbers in re.findall(r"([MLHV])([-\d. ]+)", outline):
        ends = [float(number) for number in numbers.split()]
        x, y = (ends[0], y) if letter == "H" else (x, ends[0]) if letter == "V" else ends
        places.append((x, y))
    left, base = places[0]
    # The axis has 2 units of cost.
    size = (places[2][0] - left) / 0.5
    heights = [0.0, 6.0, 30.0, 18.0, 3.0, 0.0]
    found = [((x - left) / size, base - y) for x, y in places[:6]]
    assert [x for x, _ in found] == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.25, 1.25], abs=0.01)
    assert [y for _, y in found] == pytest.approx(heights, abs=0.3)


def test_each_verdict_is_counted_once_per_variant() -> None:
    """The verdicts on baselines and clones are not counted."""
    results = [
        make_result("b", "none", None),
        make_result("b", "none-clone"),
        make_result("b", "v1"),
        *(make_result("b", f"v{n}", 1.0, verdict=SLOWER) for n in (2, 3)),
    ]
    assert panels.describe_verdict_counts(results) == "1 equivalent, 2 slower"
    assert panels.describe_verdict_counts(results[:2]) == ""


def make_panel_with_notes(*notes: str) -> Panel:
    """Return the panel of a benchmark with a row for each note."""
    own = [make_result("b", "none", None), make_result("b", "none-clone", 0.0)]
    own += [
        replace(make_result("b", f"v{n}", 1.0, verdict=WITHHELD), note=note)
        for n, note in enumerate(notes)
    ]
    (panel,) = panels.make_cost_panels(own)
    return panel


def test_note_shared_by_all_rows_is_printed_once() -> None:
    panel = make_panel_with_notes(POOR, POOR, POOR)
    assert [row.caveat for row in panel.rows] == ["", "", ""]
    assert [row.words for row in panel.rows] == ["+1.000 withheld"] * 3
    assert panel.remark.startswith(f"O{POOR[1:]}.") and panel.remark.count(POOR[1:]) == 1


def test_notes_of_some_rows_are_numbered_footnotes() -> None:
    panel = make_panel_with_notes(POOR, "few processes", POOR, "", f"{POOR}; {LONG}")
    assert [row.words.removeprefix("+1.000 withheld") for row in panel.rows] == [
        " [1]", "", " [1]", "", " [2]"
    ]  # fmt: skip
    assert [row.caveat for row in panel.rows] == ["", "few processes", "", "", ""]
    assert panel.remark.startswith(f"[1] O{POOR[1:]}. [2] O{POOR[1:]}; {LONG}.")


@pytest.mark.parametrize(("core", "scale"), [(CORE, 1.5), (None, 1.0)])
def test_costs_of_sites_are_in_core_cycles_if_these_are_known(
    core: CoreCycleRatio | None, scale: float
) -> None:
    """A tick has 1.5 core cycles. The noise, which is the cost of sites without code, is in the
    remark."""
    costs = [
        make_site_cost("density-full", "none", 0.02, 0.1),
        make_site_cost("density-full", "marker-jump", 0.4, 0.2),
        replace(make_site_cost("density-full", "marker-generic", 2.0), ci=UNBOUNDED),
    ]
    (panel,) = panels.make_site_panels([replace(cost, core=core) for cost in costs])
    assert panel.unit == f"{'core' if core else 'TSC'} cycles for one more dormant site"
    jump, generic = panel.rows
    ends = (jump.value, jump.lo, jump.hi)
    assert ends == pytest.approx((0.4 * scale, 0.2 * scale, 0.6 * scale))
    assert jump.words == ("+0.600 ± 0.300" if core else "+0.400 ± 0.200")
    assert generic.words == ("+3.000, unbounded" if core else "+2.000, unbounded")
    noise = "+0.030 (-0.120 to +0.180)" if core else "+0.020 (-0.080 to +0.120)"
    assert f"without sites cost {noise}, which is noise." in panel.remark
    assert panel.axis.low <= 0 and panel.axis.high >= 2.0 * scale


def test_site_in_a_benchmark_with_a_poor_grade_has_no_verdict() -> None:
    good = make_site_cost("density-full", "marker-jump", 0.2)
    (panel,) = panels.make_site_panels([good])
    assert panel.rows[0].look == SLOWER and "±" in panel.rows[0].words
    (panel,) = panels.make_site_panels([replace(good, note=POOR)])
    assert panel.rows[0].look == WITHHELD and panel.rows[0].words.endswith(" withheld")
    assert POOR[1:] in panel.remark


def test_notes_on_published_costs_name_known_rows_and_fit_in_a_line() -> None:
    numbers = read_published_numbers()
    names = {f"{one.source} {one.benchmark}: {one.variant}" for one in numbers}
    assert set(thenandnow.CAVEATS) <= names
    told = [one for one in numbers if thenandnow.find_published_caveat(one)]
    assert {one.variant for one in told} >= {"nop-p6", "global-variable"}
    for one in told:
        lines = look.wrap_text(thenandnow.find_published_caveat(one), costs.NAMES[1] - 12)
        assert len(lines) == 1, lines


def test_every_benchmark_has_a_known_result_kind(native_programs: None) -> None:
    listed = pages.parse_benchmark_variants(nativeprograms.run_kmbench("list").stdout)
    named = [(name, variant) for name, own in listed.items() for variant in own]
    named += [(name, v) for name, own in pages.KERNEL_ONLY.items() for v in own.split()]
    others = {
        name
        for name, variant in named
        if result_kinds.find_result_kind(name, variant) == result_kinds.OTHER
    }
    assert others == {"xadd-prefix", "xadd-prefix-contended"}


def test_a_page_that_is_too_large_leaves_out_the_longest_tables() -> None:
    short = markup.render_folded_html("Short", "<p>1</p>" * 5, removable=True)
    long = markup.render_folded_html("Long", "<p>2</p>" * 50, removable=True)
    kept = markup.render_folded_html("Kept", "<p>3</p>" * 20)
    text = f"<main>{short}{long}{kept}</main>"
    assert markup.limit_page_size(text, 1000, 10_000) == text
    for nodes, size in ((40, 10_000), (1000, 500)):
        left = markup.limit_page_size(text, nodes, size)
        assert short in left and kept in left and "<p>2</p>" not in left
        assert f"<summary>Long</summary>\n<p>{markup.LEFT_OUT}</p>" in left
    assert "<p>1</p>" not in markup.limit_page_size(text, 1, 1)


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("", ""),
        ("word " * 55 + "whole", "word " * 55 + "whole"),
        ("word " * 55 + "wholes", "word " * 54 + "word …"),
        ("word " * 55 + "too long", "word " * 55 + "too …"),
        ("w" * 281, "w" * 280 + " …"),
    ],
)
def test_long_description_of_a_figure_ends_with_a_whole_word(
    description: str, expected: str
) -> None:
    """A description for screen readers has at most 280 characters, then a mark that the end is left
    out."""
    assert markup.shorten_description(description) == expected


def test_size_limits_of_a_page_are_inclusive() -> None:
    """A page that reaches the limits of elements and bytes exactly is not shortened. The page has 5
    elements: <main>, <details>, <summary> and twice <p>. "é" has two bytes."""
    text = f"<main>{markup.render_folded_html('Long', '<p>é</p>' * 2, removable=True)}</main>"
    size = len(text) + 2
    assert markup.limit_page_size(text, 5, size) == text
    assert "é" not in markup.limit_page_size(text, 4, size)
    assert "é" not in markup.limit_page_size(text, 5, size - 1)


def test_reason_shared_by_the_notes_of_all_rows_is_printed_once() -> None:
    own = f"not on a line; {LONG}"
    rows = [
        make_figure_row("a", f"{own}; {POOR}"),
        make_figure_row("b", POOR),
        make_figure_row("c", f"short; {POOR}"),
    ]
    shown, notes = panels.number_caveats(rows)
    assert notes == f"{POOR[0].upper()}{POOR[1:]}. [1] {own[0].upper()}{own[1:]}."
    assert [row.caveat for row in shown] == ["", "", "short"]
    assert [row.words for row in shown] == ["+1.000 slower [1]", "+1.000 slower", "+1.000 slower"]


@pytest.mark.parametrize(
    ("value", "label"),
    [
        *((0.0, "0"), (0.1, "0.1"), (20.0, "20"), (5000.0, "5000")),
        *((10000.0, "10 k"), (-250000.0, "-250 k"), (1e6, "1 M"), (2.5e7, "25 M")),
        *((1e9, "1 G"), (-3e11, "-300 G")),
    ],
)
def test_label_of_an_axis_tick_has_no_exponent(value: float, label: str) -> None:
    assert format_tick(value) == label


@pytest.mark.parametrize(
    ("axis", "max_ticks", "ticks"),
    [
        (Scale(0.0, 2.0), 5, [0.0, 0.5, 1.0, 1.5, 2.0]),
        (Scale(-3.0, 45.0), 5, [0.0, 10.0, 20.0, 30.0, 40.0]),
        (Scale(0.5, 2e6, 0.0), 6, [1.0, 100.0, 1e4, 1e6]),
        (Scale(0.5, 2e6, 0.0), 7, [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]),
        (Scale(-300.0, 5000.0, 20.0), 6, [-100.0, 0.0, 100.0, 1000.0]),
        (Scale(-3e4, 5e5, 20.0), 5, [-1e4, -100.0, 0.0, 1000.0, 1e5]),
        (Scale(-20.0, 5e5, 20.0), 4, [0.0, 100.0, 1e3, 1e4, 1e5]),
        (Scale(-5e5, 20.0, 20.0), 5, [-1e5, -1e3, 0.0]),
    ],
)
def test_axis_ticks_are_at_round_numbers(axis: Scale, max_ticks: int, ticks: list[float]) -> None:
    """Ticks of a linear axis have equal distances. Ticks of a logarithmic axis are powers of ten,
    and so are ticks in the logarithmic part of an axis."""
    assert axis.choose_ticks(max_ticks) == pytest.approx(ticks)


def test_drawn_distribution_is_a_kernel_density_estimate() -> None:
    """Ten values are 0 and ten 1: the standard deviation is 0.5, and the interquartile range, 1, is
    larger. The curve spans three interquartile ranges beyond either quartile."""
    found = figuredata.estimate_density([0.0, 1.0] * 10)
    width = 0.9 * 0.5 * 20**-0.2
    places = [-3 + 7 * n / 47 for n in range(48)]
    heights = [sum(math.exp(-(((x - at) / width) ** 2) / 2) for at in (0, 1)) for x in places]
    assert [x for x, _ in found] == pytest.approx(places)
    assert [y for _, y in found] == pytest.approx([y / max(heights) for y in heights])


def test_bandwidth_uses_the_smaller_of_deviation_and_quartile_range() -> None:
    """The quartiles are -0.5 and 0.5, and two outliers give a standard deviation above 10."""
    found = figuredata.estimate_density([-50.0, 50.0, *[-0.5] * 10, *[0.5] * 10])
    width = 0.9 / 1.34 * 22**-0.2
    heights = [
        sum(math.exp(-(((x - at) / width) ** 2) / 2) for at in (-0.5, 0.5)) for x, _ in found
    ]
    assert [y for _, y in found] == pytest.approx([y / max(heights) for y in heights])
    assert (found[0][0], found[-1][0]) == (-3.5, 3.5)


@pytest.mark.parametrize(
    ("values", "drawn"),
    [([0.0, 1.0] * 9 + [0.5], False), ([3.0] * 30, False), ([0.0, 1.0] * 10, True)],
)
def test_distribution_is_drawn_if_twenty_values_differ(values: list[float], drawn: bool) -> None:
    assert bool(figuredata.estimate_density(values)) is drawn


def test_differences_from_reference_variants_have_the_intervals_of_the_run() -> None:
    """After an interim analysis, an interval has a smaller error probability. A step of the clock
    and late windows widen the interval, as they widen the intervals of differences from the
    baseline."""
    random = np.random.default_rng(1)
    slopes = [
        [Slope(n, n % 4, int(cost), 100, n // 8) for n, cost in enumerate(random.normal(at, 9, 64))]
        for at in (500, 800)
    ]
    base, own = (
        make_result("b", name, 0.0, slopes=s) for name, s in zip("ab", slopes, strict=True)
    )

    def compute_difference_interval(**changed: object) -> Interval:
        changed_result = replace(own, **changed)  # type: ignore[arg-type]
        return figuredata.compute_differences_from_variants(changed_result, [base])["a"][1]

    usual = compute_difference_interval()
    assert compute_difference_interval(alpha=0.01).half_width > 1.2 * usual.half_width
    assert compute_difference_interval(step=1.0) == usual.widened(1.0)
    late = Lateness(9, frozenset(range(20)))
    without = compute_difference_interval(slopes=slopes[1][20:])
    assert compute_difference_interval(late=late) == usual.union(without) != usual


def test_results_get_differences_from_their_reference_variants() -> None:
    """In 2006, a probe with variable arguments was compared with a probe that has register
    arguments. The difference is computed from the blocks of both probes, and in cycles only. The
    distribution is drawn for getppid-* only."""
    variants = {"none": 1, "register-args-empty-probe": 5, "varargs-empty-probe": 8}
    series = {
        v: [Slope(n, n % 4, cost, 1, n // 8) for n in range(64)] for v, cost in variants.items()
    }

    def add_figure_data_to_results(
        benchmark: str = "marker-enabled", **more: object
    ) -> list[Result]:
        return figuredata.add_figure_data(
            [
                make_result(
                    benchmark, v, None if v == "none" else 0.0, slopes=series[v],
                    **{"deltas": [Slope(n, 0, n % 5) for n in range(64)], **more},
                )
                for v in variants
            ]
        )  # fmt: skip

    found = add_figure_data_to_results()
    assert [dict(one.also_over) for one in found] == [
        {},
        {},
        {"register-args-empty-probe": (3, Interval(3, 3))},
    ]
    assert not any(one.distribution for one in found)
    assert add_figure_data_to_results(unit=UNIT_GUEST)[2].also_over
    assert not add_figure_data_to_results(unit="ticks (emulated)")[2].also_over
    # The baseline is not listed a second time as a reference.
    assert not add_figure_data_to_results(baseline="register-args-empty-probe")[2].also_over
    assert [bool(one.distribution) for one in add_figure_data_to_results("getppid-quiet")] == [
        False,
        True,
        True,
    ]


def test_whole_programs_and_totals_have_no_reference_variant() -> None:
    """A published rate of pings, and a cost that was published as a total, are no differences."""
    found = figuredata.find_reference_variants()
    assert found["marker-enabled", "varargs-empty-probe"] == {"register-args-empty-probe"}
    assert not [name for name in found if name[0].startswith("macro-")]
    assert ("empty-loop", "none") not in found


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, "–"), ("", "–"), (0, "0"), (False, "False"), ("<a&\"'", "&lt;a&amp;&quot;&#x27;")],
)
def test_only_an_absent_value_is_a_dash_in_html(value: object, expected: str) -> None:
    assert markup.escape_html(value) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("-", "–"), ("", "–"), ("-1.5", "−1.5"), ("+2", "+2")]
)
def test_hyphens_of_numbers_become_minus_signs_in_html(text: str, expected: str) -> None:
    assert markup.format_number_html(text) == expected


def test_table_in_html_has_groups_and_kinds_of_columns() -> None:
    """A cell with only a verdict has the colour of the verdict; other texts in the column stay. A
    label for screen readers has at most 200 characters."""
    verdict = markup.render_verdict_html("slower", "-1 <b>")
    assert verdict == '<span class="slower">slower</span> (−1 &lt;b&gt;)'
    assert markup.render_verdict_html("faster") == '<span class="faster">faster</span>'
    groups = [("g -1", [["a", "1", verdict], ["b", "2", "x"]]), ("", [["c", "3", f"{verdict}<i>"]])]
    caption = "c" * 199 + "de"
    assert markup.render_grouped_table_html(caption, "xyz", groups, "tnv", " words") == (
        '<div class="scroll words" tabindex="0" role="group"'
        f' aria-label="{caption[:200]}"><table><caption>{caption}</caption><thead><tr>'
        '<th scope="col">x</th><th scope="col" class="n">y</th><th scope="col" class="v">z</th>'
        '</tr></thead>\n<tbody><tr><th colspan="3" scope="rowgroup"><div>g −1</div></th></tr>\n'
        '<tr><th scope="row">a</th><td class="n">1</td>'
        '<td class="v slower">slower (−1 &lt;b&gt;)</td></tr>\n'
        '<tr><th scope="row">b</th><td class="n">2</td><td class="v">x</td></tr></tbody>'
        '<tbody><tr><th scope="row">c</th><td class="n">3</td>'
        f'<td class="v">{verdict}<i></td></tr></tbody></table></div>'
    )
    assert markup.render_cell_html(verdict, "t") == f"<td>{verdict}</td>"
    plain = markup.render_table_html("c", "x", [["a"]], "t")
    assert "rowgroup" not in plain and 'class="scroll" ' in plain
    with pytest.raises(ValueError, match="argument"):
        markup.render_row_html(["a", "b"], "t")


def test_figure_in_html_has_two_widths_and_a_caption() -> None:
    def return_drawing_arguments(part: object, width: int, description: str, look: str) -> str:
        return f"[{part} {width} {description} {look}]"

    both = "[p 720 said wide][p 328 said narrow]"
    assert (
        markup.render_figure_html(return_drawing_arguments, "p", "said")
        == f"<figure>{both}</figure>"
    )
    assert markup.render_figure_html(return_drawing_arguments, "p", "said", "<-1") == (
        f"<figure>{both}<figcaption>&lt;−1</figcaption></figure>"
    )
    assert markup.render_figure_html(None, "p", "said", "<-1") == "<p class='soft'>&lt;−1</p>"
    assert markup.render_figure_html(None, "p", "said") == ""


def test_html_sections_have_no_empty_parts() -> None:
    assert markup.render_folded_html("s", "", removable=True) == ""
    assert markup.render_folded_html("<s", "b") == (
        "<details><summary>&lt;s</summary>\nb\n</details>"
    )
    assert markup.render_folded_html("s", "b", True).startswith(
        '<details class="numbers"><summary>'
    )
    assert markup.render_section_html("n", "T&", ["a", "", "b"]) == (
        '<section id="n" aria-labelledby="n-head"><h2 id="n-head"><a href="#n">T&amp;</a></h2>\n'
        'a\nb\n<p class="up"><a href="#top">Back to the top</a></p></section>'
    )
