# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the numbers in figures: ranges of axes, rows of panels, widths of texts, coordinates,
and published costs next to the costs of a run."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from cycler import cycler
from kmtools.analyse.published import PublishedNumber
from kmtools.analyse.stats import UNBOUNDED, Interval
from kmtools.analyse.switching import METHOD_NAMES, SCALING, SwitchPoint
from kmtools.analyse.verdicts import IDENTICAL, SLOWER, UNRESOLVED
from kmtools.measure.samples import GAP
from kmtools.report.figures import (
    canvas,
    charts,
    costs,
    library,
    lines,
    look,
    panels,
    svgfile,
    thenandnow,
)
from kmtools.report.figures import workers as drawing_workers
from kmtools.report.figures.rows import Panel, Row
from kmtools.report.figures.scales import (
    Scale,
    choose_even_ticks,
    choose_power_ticks,
    make_log_scale,
    make_signed_scale,
)
from kmtools.report.figures.svgfile import Element
from kmtools.report.figures.thenandnow import MatchedCost, MeasuredCost
from matplotlib.figure import Figure
from verdictrows import make_result, make_site_cost


@pytest.mark.parametrize(
    ("values", "floor", "ends"),
    [
        ([], 2.0, (-2.16, 2.16, None)),
        ([], 0.0, (-1.08, 1.08, None)),
        ([5.0], 0.0, (-5.4, 5.4, None)),
        ([5.0, math.inf, math.nan], math.nan, (-5.4, 5.4, None)),
        ([-3.0, 25.0], 1.0, (-3.24, 27.0, None)),
        ([-25.0, 0.5], 1.0, (-27.0, 1.08, None)),
        ([26.0], 1.0, (-2.0, 33.8, 2.0)),
        ([-26.0, 1.0], 1.0, (-33.8, 2.0, 2.0)),
        ([-100.0, 50.0], 1.0, (-130.0, 65.0, 2.0)),
    ],
)
def test_axis_includes_zero_and_is_logarithmic_beyond_25_times_the_noise(
    values: list[float], floor: float, ends: tuple[float, float, float | None]
) -> None:
    """A linear axis is 8 % longer than needed, a logarithmic axis 30 %."""
    axis = make_signed_scale(values, floor)
    assert (axis.low, axis.high) == pytest.approx(ends[:2])
    assert axis.linear == ends[2]


def test_logarithmic_axis_has_only_values_above_zero() -> None:
    axis = make_log_scale([0.0, -5.0, 13.0, 130.0, math.inf, math.nan])
    assert (axis.low, axis.high) == pytest.approx((10, 169))
    assert axis.linear == 0.0
    assert make_log_scale([-1.0]) == Scale(1 / 1.3, 1.3, 0.0)


def test_value_outside_the_axis_is_clamped_to_its_end() -> None:
    axis = Scale(-1.0, 3.0)
    assert [axis.clamp_to_axis(x) for x in (-2, -1, 0.5, 3, math.inf)] == [-1, -1, 0.5, 3, 3]
    with pytest.raises(ValueError, match="not a number"):
        axis.clamp_to_axis(math.nan)


@pytest.mark.parametrize(
    ("low", "high", "most", "ticks"),
    [
        (1.0, 1000.0, 4, [1, 10, 100, 1000]),
        (1.0, 1000.0, 3, [10, 1000]),
        (1.0, 1000.0, 2, [10, 1000]),
        (1.0, 1000.0, 1, [1000]),
        (1.0, 1000.0, 0, [1000]),
        (2.0, 9.0, 5, []),
        (10.0, 10.0, 5, [10]),
        (10.0, 9.0, 5, []),
        (1.0, -1.0, 5, []),
        (1.0, 0.0, 5, []),
    ],
)
def test_power_ticks_include_the_highest_power(
    low: float, high: float, most: int, ticks: list[float]
) -> None:
    assert choose_power_ticks(low, high, most) == ticks


@pytest.mark.parametrize(
    ("low", "high", "most", "ticks"),
    [
        (2.0, 2.0, 5, [2.0]),
        (3.0, 2.0, 5, [3.0]),
        (0.0, 0.3, 4, [0.0, 0.1, 0.2, 0.3]),
        (-0.1, 0.1, 3, [-0.1, 0.0, 0.1]),
        (0.0, 10.0, 6, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]),
        (0.0, 10.0, 5, [0.0, 5.0, 10.0]),
        (1.0, 7.0, 1, [5.0]),
    ],
)
def test_even_ticks_do_not_exceed_the_requested_number(
    low: float, high: float, most: int, ticks: list[float]
) -> None:
    """The distances are 1, 2 or 5 times a power of ten, and zero has no minus sign."""
    found = choose_even_ticks(low, high, most)
    assert found == ticks
    assert not any(str(tick) == "-0.0" for tick in found)


def test_width_of_a_text_counts_wide_letters() -> None:
    """The width of a letter is 0.58 times the font size, of a wide letter 0.97 times, and of a
    digit of a tick label 0.67 times."""
    assert look.estimate_text_width("abc", 10) == pytest.approx(17.4)
    assert look.estimate_text_width("m@c", 10) == pytest.approx(0.58 * 10 + 2 * 9.7)
    assert look.estimate_text_width("") == 0
    assert look.estimate_label_width("1 k") == pytest.approx(3 * 12 * 0.67)
    assert [look.count_fitting_letters(room, 10) for room in (5.7, 5.8, 29.0)] == [0, 1, 5]


@pytest.mark.parametrize(
    ("text", "room", "shown"),
    [
        ("abcdefghij", 58.0, "abcdefghij"),
        ("abcdefghij", 57.9, "abcde…hij"),
        ("abcdefghij", 40.6, "abcd…ij"),
        ("abcdefghij", 1, "ab…ij"),
        # Wide letters are 9.7 wide, the other letters and "…" 5.8.
        ("mmmmmmWWWWWW", 70.0, "mmmm…WW"),
        ("mmmmmmWWWWWW", 64.1, "mmmm…WW"),
        ("mmmmmmWWWWWW", 63.9, "mmm…WW"),
        ("mmmmmmefghij", 63.9, "mmmm…hij"),
    ],
)
def test_text_is_shortened_to_the_width_or_to_five_letters(
    text: str, room: float, shown: str
) -> None:
    assert look.shorten_to_width(text, room, 10) == shown


def test_text_is_wrapped_at_ten_letters_or_more() -> None:
    assert look.wrap_text("a -1 bcdefg hi", 12 * 0.58 * 11) == ["a −1 bcdefg", "hi"]
    assert look.wrap_text("abcd efgh ijkl", 1.0) == ["abcd efgh", "ijkl"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.04, "0"), (-0.06, "-0.1"), (2.0, "2"), (2.25, "2.2"), (10.0, "10")],
)
def test_coordinate_has_one_decimal(value: float, text: str) -> None:
    assert svgfile.format_coordinate(value) == text


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("M 3 6 L 9 6 L 9 12 L 3 6 z", "M4 8H12V16L4 8Z"),
        ("M 3 6 L 3 6", "M4 8H4"),
        ("M 0 0 Q 3 3 6 0 L 6 3 C 0 0 3 3 6 6", "M0 0Q4 4 8 0V4C0 0 4 4 8 8"),
        ("", ""),
    ],
)
def test_path_uses_short_commands_for_horizontal_and_vertical_lines(path: str, steps: str) -> None:
    """One point is 4/3 pixels."""
    assert svgfile.convert_svg_path(path) == steps
    assert svgfile.convert_svg_path("M 1 2 L 1 5", 2.0, 4.0) == "M4 8V12"


def test_neighbouring_shapes_with_equal_attributes_are_merged() -> None:
    given = [
        Element(" a", "M1"), Element(" x", text="t"), Element(" a", "M2"), Element(" b", "M3"),
        Element(" x"), Element(" b", "M4"), Element(" a", "M5"), Element(" a", text="u"),
    ]  # fmt: skip
    found = svgfile.merge_adjacent_shapes(given)
    assert [one.render_svg() for one in found] == [
        '<path d="M1M2" a/>', "<text x>t</text>", '<path d="M3M4" b/>', '<path d="M5" a/>',
        "<text a>u</text>",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("attributes", "rendered"),
    [
        ({"x": "3", "y": "6", "style": "fill: #24292f"}, ' x="4" y="8"'),
        ({"transform": "translate(3 6)", "style": "fill:#57606a; font: 700 9.75px 'DejaVu Sans'"},
         ' x="4" y="8" class="soft strong"'),
        ({"x": "3", "transform": "translate(-3, 1.5)", "style": "font-size:12px"},
         ' x="0" y="2" font-size="16" style="fill:#000000"'),
        ({"style": "fill:#24292f; text-anchor: end; font: 9.75px Serif"},
         ' x="0" y="0" text-anchor="end" style="font-family:Serif"'),
        ({"style": "fill: red; font-weight: bold; font-family: 'a\"b'"},
         ' x="0" y="0" class="strong" style="fill:red;font-family:&#x27;a&quot;b&#x27;"'),
    ],
)  # fmt: skip
def test_svg_text_keeps_position_and_nondefault_style(
    attributes: dict[str, str], rendered: str
) -> None:
    element = ElementTree.Element("text", attributes)
    element.text = " a<b "
    made = svgfile.convert_text_element(element)
    assert made.render_svg() == f"<text{rendered}>a&lt;b</text>"


@pytest.mark.parametrize(
    ("names", "joined"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_names_are_joined_with_commas_and_and(names: list[str], joined: str) -> None:
    assert panels.join_names(names) == joined


def test_panel_remark_names_equivalent_variants_and_noise() -> None:
    """An interval of a cost of 0.05 ± 0.1 reaches 0.15."""
    rows = [make_result("b", "none", None), make_result("b", "none-clone", 0.0),
            make_result("b", "x", 0.05), make_result("b", "y", -0.01)]  # fmt: skip
    noise = "Noise floor (A/A, shaded) ±0.100; margin (dotted) ±0.250."
    assert panels.make_panel_remark(rows) == f"Equivalent to none, within ±0.150: x and y. {noise}"
    assert panels.make_panel_remark(rows[:2]) == noise
    rows[1] = replace(rows[1], verdict=UNRESOLVED)
    assert panels.describe_noise_floor(rows) == noise.replace("0.100;", "0.100 (unresolved);")
    for name in ("noise_floor", "margin"):
        assert panels.describe_noise_floor([replace(rows[0], **{name: None})]) == ""  # type: ignore[arg-type]
    exact = [replace(row, unit="instructions", verdict=IDENTICAL) for row in rows[1:]]
    assert panels.make_panel_remark(exact) == "Not one instruction more: x and y."


def test_exact_counts_are_bars_from_zero() -> None:
    own = {"unit": "instructions", "verdict": "more"}
    rows = [make_result("b", "none", None, unit="instructions"), make_result("b", "x", 50.0, **own),
            make_result("b", "y", -10.0, **own | {"verdict": "fewer"}),
            make_result("b", "z", 0.0, **own | {"verdict": IDENTICAL})]  # fmt: skip
    (panel,) = panels.make_count_panels(rows)
    assert [(row.name, row.value, row.bar) for row in panel.rows] == [
        ("x", 50.0, True), ("y", -10.0, True)
    ]  # fmt: skip
    assert (panel.axis.low, panel.axis.high) == pytest.approx((-10.8, 54.0))
    assert panel.unit == "instructions added over none"
    assert panel.remark == "Not one instruction more: z."
    (panel,) = panels.make_count_panels([*rows, replace(rows[1], variant="n", delta=math.nan)])
    assert [row.name for row in panel.rows] == ["x", "y"]
    (panel,) = panels.make_count_panels([rows[0], rows[3]])
    assert (panel.rows, panel.axis) == ([], Scale(0.0, 1.08))


def test_cost_panel_omits_equivalent_variants() -> None:
    rows = [make_result("b", "none", None), make_result("b", "none-clone", 0.0),
            make_result("b", "x", 5.0, verdict=SLOWER), make_result("b", "y", 0.0)]  # fmt: skip
    (panel,) = panels.make_cost_panels(rows)
    assert [row.name for row in panel.rows] == ["x"]
    assert (panel.margin, panel.noise) == (0.25, 0.1)
    assert panel.unit == f"added over none, {rows[0].unit} per operation"
    assert (panel.axis.low, panel.axis.high) == pytest.approx((-0.27, 1.08 * 5.1))
    assert panels.make_cost_panels(rows[:2]) == []
    (x,) = [row for row in panel.rows if row.name == "x"]
    assert (x.value, x.lo, x.hi, x.inner) == (5.0, 4.9, 5.1, (4.9, 5.1))
    for ends, inner in ((UNBOUNDED, None), (Interval(1.0, math.inf), (1.0, math.inf))):
        assert panels.make_result_row(replace(rows[2], time_ci=ends)).inner == inner


def test_axis_of_site_costs_includes_the_noise() -> None:
    """The axis is linear up to 25 times the larger of the noise and 1/20 of the largest value."""
    some = [make_site_cost("d", "none", -3.0), make_site_cost("d", "x", 1.0)]
    (panel,) = panels.make_site_panels([replace(one, core=None) for one in some])
    assert (panel.axis.low, panel.axis.high) == pytest.approx((-3.24, 3.24))
    (panel,) = panels.make_site_panels([replace(some[1], core=None)])
    assert (panel.axis.low, panel.axis.high) == pytest.approx((-1.08 * 0.055, 1.08 * 1.1))
    assert panel.remark == ""


def make_gap_point(
    variant: str, sites: int, median: float, ends: Interval, **more: Any
) -> SwitchPoint:
    values = {"benchmark": SCALING, "measured": GAP, **more}
    return SwitchPoint("vm", "k", values["benchmark"], variant, values["measured"], sites, "ticks",
                       8, median, ends)  # fmt: skip


def test_curve_of_switches_is_ordered_by_sites_and_above_zero() -> None:
    """Values below one tick are drawn at one tick; an unknown interval has no length."""
    points = [
        make_gap_point("one-by-one", 100, 5.0, Interval(0.5, 9.0)),
        make_gap_point("one-by-one", 1, 0.5, Interval(-1.0, 0.2)),
        make_gap_point("one-by-one", 10, 7.0, Interval(1.0, math.inf)),
        make_gap_point("idle", 1, 7.0, Interval(1.0, 8.0), benchmark="other"),
    ]
    (chart,) = charts.make_switching_charts(points)
    (curve,) = chart.curves
    assert curve.name == METHOD_NAMES["one-by-one"] and curve.look == 2
    assert curve.points == [(1.0, 1.0, 1.0, 1.0), (10.0, 7.0, 7.0, 7.0), (100.0, 5.0, 1.0, 9.0)]
    assert (chart.x_unit, chart.y_unit, chart.title[:11]) == ("sites", "ticks", "Longest gap")
    assert charts.make_switching_curve(points, "batched") is None
    assert len(charts.DRAWN_METHODS) == charts.MOST_CURVES == len(look.MARKS)


def make_matched_cost(
    value: float, ours: list[MeasuredCost], stddev: float | None = None, stated: str | None = None
) -> MatchedCost:
    number = PublishedNumber(
        *("s", "2008-03-01", "m", "k", "marker-b", "v", 9.0, "cycles", stddev, ""),
        Decimal(stated) if stated else None, "none", value, "",
    )  # fmt: skip
    return MatchedCost(number, tuple(ours))


def make_measured_cost(tier: str, delta: float, half: float, margin: float = 0.2) -> MeasuredCost:
    return MeasuredCost(
        tier, "TSC cycles", margin, delta, Interval(delta - half, delta + half), "none"
    )


def test_published_cost_is_beside_the_cost_of_the_best_tier() -> None:
    ours = [make_measured_cost(tier, n, 0.5) for n, tier in enumerate(("vm", "native", "metal"), 1)]
    row = make_matched_cost(2.0, ours, stddev=0.25)
    assert row.short_label == "b: v" and row.label == "marker-b: v"
    then, now = thenandnow.make_published_row(row), thenandnow.make_measured_row(row)
    assert (then.value, then.lo, then.hi) == (2.0, 1.75, 2.25)
    assert (then.words, then.look, then.odd) == ("+2.000 ± 0.250", "then", None)
    assert (now.value, now.lo, now.hi, now.words) == (3.0, 2.5, 3.5, "+3.000 ± 0.500")
    alone = thenandnow.make_measured_row(make_matched_cost(2.0, ours[:1]))
    assert alone.value == 1.0
    unknown = replace(ours[0], interval=UNBOUNDED)
    assert thenandnow.make_measured_row(make_matched_cost(2.0, [unknown])).words == "+1.000"
    bare = thenandnow.make_published_row(make_matched_cost(2.0, ours))
    assert (bare.lo, bare.hi, bare.words) == (2.0, 2.0, "+2.000")


def test_wrong_published_difference_is_marked_with_a_cross() -> None:
    row = make_matched_cost(2.0, [make_measured_cost("vm", 1.0, 0.5)], stated="-7.5")
    then, now = thenandnow.make_published_row(row), thenandnow.make_measured_row(row)
    assert (then.odd, then.caveat) == (-7.5, "stated: -7.5, against its totals")
    assert (now.caveat, now.blank) == ("", then.caveat)
    pair = thenandnow.make_panel_pair(("s", "m", "k"), [row])
    assert (pair.title, pair.then.title, pair.now.title) == (
        "m, k, 2008",
        "Then, 2008",
        "Here, now",
    )
    assert (pair.then.unit, pair.now.unit) == ("added, cycles", "added, TSC cycles")
    assert (pair.then.axis.low, pair.then.axis.high) == pytest.approx((-8.1, 2.16))
    assert (pair.now.axis.low, pair.now.axis.high) == pytest.approx((-1.08, 1.62))


@pytest.mark.parametrize(
    ("values", "limit"),
    [
        ([], 1.0),
        ([0.0, math.nan, math.inf], 1.0),
        ([-4.0], 4.0),
        ([8.0, -1.0, 4.0, 2.0, 0.0], 2.0),
        ([600.0, 0.1, 0.2, 1.0], 2.0),
        ([5.0, 4.0, 3.0, 2.0, 1.0, 6.0, 7.0, 8.0, 9.0], 3.0),
    ],
)
def test_visibility_limit_of_costs_is_the_lower_quartile(values: list[float], limit: float) -> None:
    """The limit is at least 1/300 of the largest value."""
    assert thenandnow.compute_visibility_limit(values) == pytest.approx(limit)


def test_published_machine_of_2006_is_sorted_first() -> None:
    names = [("b", "m", "2"), ("a", "m", "2"), ("markers-0.20", "z", "1"), ("a", "m", "1")]
    found = thenandnow.sort_published_machines({name: [] for name in names})
    assert found == [names[2], names[3], names[1], names[0]]


def test_cost_relative_to_another_baseline_is_found() -> None:
    over = (1.5, Interval(1.0, 2.0))
    result = make_result("b", "v", 3.0, also_over={"flag": over}, margin=None)
    ours = thenandnow.find_cost_over_reference(result, "none")
    assert ours and (ours.delta, ours.over, ours.margin) == (3.0, "none", 0.0)
    ours = thenandnow.find_cost_over_reference(result, "flag")
    assert ours and (ours.delta, ours.interval, ours.over) == (1.5, over[1], "flag")
    assert thenandnow.find_cost_over_reference(result, "other") is None


def test_adjacent_rows_of_a_panel_share_a_background() -> None:
    """A label above a row separates the axes of two rows."""
    row = Row("a", 1.0, 0.5, 1.5, SLOWER, "+1")
    panel = Panel("b", "cycles", Scale(0.0, 2.0), [row, replace(row, density=((1.0, 1.0),)), row])
    wide = costs.compute_row_positions(panel, False, 200.0)
    assert [(one.top, one.base, one.bottom) for one in wide] == [
        (0, 12, 24), (24, 56, 64), (64, 76, 88)
    ]  # fmt: skip
    assert costs.merge_row_spans(wide) == [(0, 88)]
    narrow = costs.compute_row_positions(panel, True, 300.0)
    assert costs.merge_row_spans(narrow) == [(18, 40), (58, 98), (116, 138)]


@pytest.mark.parametrize(("cpus", "count"), [(1, 0), (2, 2), (4, 4), (5, 4), (64, 4)])
def test_drawings_have_a_worker_for_each_cpu_up_to_four(
    cpus: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools: list[int] = []
    ends: list[dict[str, bool]] = []

    def record_and_make_pool(number: int, *_: object) -> SimpleNamespace:
        pools.append(number)
        return SimpleNamespace(shutdown=lambda **how: ends.append(how))

    monkeypatch.setattr("os.sched_getaffinity", lambda pid: range(cpus))
    monkeypatch.setattr(drawing_workers, "ProcessPoolExecutor", record_and_make_pool)
    with drawing_workers.start_workers():
        assert not ends
    assert pools == [count] * bool(count)
    assert ends == [{"cancel_futures": True}] * bool(count)


def test_placeholders_are_replaced_by_their_drawings() -> None:
    several = drawing_workers.Workers(None)
    draw = several.defer_drawing("<{}>".format)
    places = [draw(number) for number in range(12)]
    text = f"{places[11]} a {places[0]}{places[1]} 3"
    assert several.fill_placeholders(text) == "<11> a <0><1> 3"


@pytest.mark.parametrize(
    ("version", "fault"),
    [
        ("3.6.0", ""), ("3.10.1", ""), ("4.0", ""), ("3.6rc1", ""),
        ("3.5.9", "python3-matplotlib is 3.5.9, and must be 3.6 or later"),
        ("2.9", "python3-matplotlib is 2.9, and must be 3.6 or later"),
        (ModuleNotFoundError("no", name="matplotlib"), "apt-get install python3-matplotlib"),
        (ModuleNotFoundError("no x", name="x"), "python3-matplotlib does not work here: no x"),
        (ValueError("a\n b"), "python3-matplotlib does not work here: ValueError: a b"),
        (ValueError("a" * 300), f"python3-matplotlib does not work here: ValueError: {'a' * 188}"),
    ],
)  # fmt: skip
def test_matplotlib_that_cannot_draw_is_reported(
    version: str | Exception, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def return_fake_matplotlib(name: str) -> SimpleNamespace:
        if isinstance(version, Exception):
            raise version
        return SimpleNamespace(__version__=version)

    canvas = SimpleNamespace(render_part_as_inline_svg=lambda *words: "")
    monkeypatch.setattr("importlib.import_module", return_fake_matplotlib)
    monkeypatch.setattr(library, "import_canvas_module", lambda: canvas)
    monkeypatch.setattr(library, "make_trial_panel", lambda: None)
    assert library.find_matplotlib_fault.__wrapped__() == fault


def test_row_label_margins_leave_room_for_the_axis() -> None:
    """A letter is 6.96 units wide. Names have 60 to 290 units, or at least 200 with a caveat;
    numbers have 60 to 240 units; the axis has at least 150."""

    def measure_row_margins(
        name: str, words: str, width: float, **more: Any
    ) -> tuple[float, float]:
        row = replace(Row(name, 1.0, 0.5, 1.5, SLOWER, words), **more)
        return costs.measure_margins([Panel("b", "u", Scale(0.0, 2.0), [row])], width)

    assert measure_row_margins("", "", 720) == (60, 60)
    assert measure_row_margins("a" * 10, "b" * 20, 720) == pytest.approx((81.6, 151.2))
    assert measure_row_margins("a" * 99, "b" * 99, 720) == (290, 240)
    assert measure_row_margins("a" * 99, "b" * 99, 520) == (130, 240)
    assert (
        measure_row_margins("a", "", 720, caveat="c")
        == measure_row_margins("a", "", 720, blank="c")
        == (200, 60)
    )
    assert costs.measure_margins([], 720) == (60, 60)


def test_axis_unit_names_the_logarithmic_range() -> None:
    panel = Panel("b", "cycles", Scale(-9.0, 900.0, 2.345), [])
    assert costs.wrap_axis_unit(panel, 720) == ["cycles; logarithmic beyond ±2.3"]
    assert costs.wrap_axis_unit(replace(panel, axis=Scale(0.0, 1.0)), 720) == ["cycles"]
    # 20 letters fit in 140 units.
    for room, count in ((720, 1), (140, 2)):
        sizes = costs.measure_panel(panel, False, 200, room)
        assert sizes == pytest.approx((0, 23 + count * 16.8))


def test_rows_have_room_for_caveats_and_labels() -> None:
    """A line of a caveat is 16.8 units high. A name and a number that do not fit beside each other
    are below each other."""
    row = Row("cost", 1.0, 0.5, 1.5, SLOWER, "+1", caveat="a caveat", blank="space")
    panel = Panel("b", "u", Scale(0.0, 2.0), [row])
    (found,) = costs.compute_row_positions(panel, False, 200.0)
    assert found.bottom == pytest.approx(24 + 16.8)
    assert found.lines == ("a caveat",)
    bare = Panel("b", "u", Scale(0.0, 2.0), [replace(row, caveat="")])
    (shown,) = costs.compute_row_positions(bare, False, 200.0)
    (hidden,) = costs.compute_row_positions(bare, False, 200.0, False)
    assert (shown.bottom, hidden.bottom) == pytest.approx((24, 24 + 16.8))
    (hidden,) = costs.compute_row_positions(panel, False, 200.0, False)
    assert hidden.lines == ("a caveat",)
    # The name has 4 * 7.54 units, the number 2 * 6.96, and 8 units are between.
    for room, top in ((52.1, 18), (52.0, 36)):
        (found,) = costs.compute_row_positions(bare, True, room)
        assert (found.top, found.base, found.bottom) == (top, top + 11, top + 22)


@pytest.mark.parametrize("narrow", [False, True])
def test_chart_is_higher_with_a_legend(narrow: bool) -> None:
    """The axes are 210 units high, with 22 above and 42 below. Each line of a legend adds 20
    units."""
    points = [(1.0, 7.0, 6.0, 8.0)]
    curves = [charts.Curve("abc", 0, points), charts.Curve("a", 1, points)]
    chart = charts.Chart("", "x", "y", curves)
    assert lines.compute_chart_height(chart, narrow) == 274 + 40 * narrow
    assert lines.measure_curve_names_width(chart) == pytest.approx(3 * 6.96 + 14)
    x, y = lines.make_axis_scales(chart)
    assert (x.low, x.high) == pytest.approx((1 / 1.3, 1.3))
    assert (y.low, y.high) == pytest.approx((6 / 1.3, 8 * 1.3))


@pytest.mark.parametrize(
    ("part", "colour"),
    [
        ("ink", "#24292f"), ("noise", "#e2e6ea"), ("paper", "#ffffff"), ("soft", "#57606a"),
        ("withheld", "#57606a"), ("faster", "#0065a3"), ("slower", "#a84300"),
        ("differs", "#a84300"), ("identical", "#00694a"), ("then", "#8f3d77"), ("ours", "#0065a3"),
        (0, "#0065a3"), (4, "#7a5c00"),
    ],
)  # fmt: skip
def test_each_verdict_has_its_colour(part: str | int, colour: str) -> None:
    """A colour that a style does not define is the colour of text. Curves beyond the last colour
    begin again with the first colour."""
    with canvas.apply_style():
        count = len(look.PARAMETERS["axes.prop_cycle"])
        assert look.get_colour(part).lower() == colour
        if isinstance(part, int):
            assert look.get_colour(part + count).lower() == colour
    with canvas.apply_style({"axes.prop_cycle": cycler(linestyle=["-"])}):
        assert look.get_colour("slower").lower() == "#24292f"


def test_margin_of_a_file_surrounds_the_figure() -> None:
    """A unit is 0.75 points, and the margin 12 units: 12 pixels on each side. A text at the left
    edge of a figure of 100 pixels is at 12 of 124 pixels."""
    with canvas.apply_style({"font.size": 9.75}):
        figure = Figure(figsize=(100 / 96, 50 / 96))
        axes = figure.add_axes((0.5, 0.2, 0.4, 0.6))
        text = figure.text(0, 1, "a")
        canvas.add_file_margin(figure)
    assert tuple(figure.get_size_inches() * 96) == pytest.approx((124, 74))
    assert text.get_position() == pytest.approx((12 / 124, 62 / 74))
    box = axes.get_position()
    assert (box.x0, box.y0) == pytest.approx((62 / 124, 22 / 74))
    assert (box.width, box.height) == pytest.approx((40 / 124, 30 / 74))
