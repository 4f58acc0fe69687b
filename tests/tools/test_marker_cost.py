# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the first lines of a report: the cost of a dormant marker, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kmtools.analyse import grade, result_kinds, switching
from kmtools.analyse.grade import Grade, Level, Reason
from kmtools.analyse.kept_blocks import KeptBlocks
from kmtools.analyse.stats import UNBOUNDED, Interval
from kmtools.analyse.switching import SwitchPoint
from kmtools.analyse.verdicts import SLOWER, UNRESOLVED, WITHHELD
from kmtools.base import text
from kmtools.measure import rundir
from kmtools.report import cost_figure, ending, marker_cost, page, sections, table
from kmtools.report.marker_cost import MarkerCost, describe_marker_costs, find_marker_costs
from verdictrows import make_result, make_site_cost, make_tier

LOOP = [make_result("empty-loop", "none", None), make_result("empty-loop", "marker-jump", 0.02)]
CALL = [
    make_result("getppid-quiet", "compiled-out", None, median=200.0),
    make_result("getppid-quiet", "immediate", 0.5, verdict=UNRESOLVED),
]
SITES = [
    make_site_cost("density-empty", "marker-jump", 0.12),
    make_site_cost("density-full", "marker-jump", 0.18),
    make_site_cost("density-full", "marker-generic", 0.4),
    make_site_cost("cold-icache-l3", "marker-jump", 3.0),
    make_site_cost("cold-icache-memory", "marker-jump", 27.0),
]


def index_marker_costs_by_place(found: list[MarkerCost]) -> dict[str, MarkerCost]:
    return {one.place: one for one in found}


def test_summary_sentence_has_the_dormant_marker_cost() -> None:
    found = find_marker_costs([*LOOP, *CALL], SITES)
    assert describe_marker_costs(found) == (
        "A dormant marker costs 0.27 core cycles in hot code, 40 cold in the instruction"
        " cache and 0.12 % of a system call (unresolved)."
    )
    own = index_marker_costs_by_place(found)
    assert own["In hot code"].verdict == SLOWER and "density-full" in own["In hot code"].how
    assert "from memory" in own["Cold in the instruction cache"].how
    assert "2006, Pentium 4: 1.2 with a variable" in own["In hot code"].then
    call = own["In a system call (immediate)"]
    assert "6.72 ± 0.70 %" in call.then and "half of two markers" in call.how


def test_hot_code_has_a_cost_for_each_position_of_a_marker() -> None:
    """The benchmark density-one, whose loop has one site, gives two costs: of a site among other
    instructions, and of a site behind a taken branch. SITES, the cost per site of many sites side
    by side, is not used, because programs have no sites side by side."""
    rows = [
        make_result("density-one", "marker-jump-middle", 0.0),
        make_result("density-one", "marker-jump-first", 0.1, verdict=SLOWER),
        make_result("density-one", "marker-immediate-first", 0.3),
        make_result("density-full", "marker-jump-1", 0.2),
    ]
    found = find_marker_costs([*LOOP, *rows], SITES)
    own = index_marker_costs_by_place(found)
    assert own["In hot code, among other instructions"].value == 0
    assert own["In hot code, behind a taken branch"].value == pytest.approx(0.15)
    assert "In hot code" not in own
    assert describe_marker_costs(found).startswith(
        "A dormant marker costs 0.000 core cycles among other instructions of hot code, 0.15 behind"
        " a taken branch"
    )
    older = index_marker_costs_by_place(find_marker_costs([*LOOP, rows[3]], SITES))
    assert older["In hot code, behind a taken branch"].value == pytest.approx(0.3)
    assert "Pentium 4" in older["In hot code, behind a taken branch"].then


def test_cost_in_a_system_call_is_half_the_cost_of_two_markers() -> None:
    jump = make_result("getppid-quiet", "jump", 0.4)
    own = index_marker_costs_by_place(find_marker_costs([*LOOP, *CALL, jump], SITES))
    assert own["In a system call"].value == pytest.approx(0.1)
    assert "In a system call (immediate)" not in own


def test_marker_cost_comes_from_empty_loop_without_density() -> None:
    own = index_marker_costs_by_place(find_marker_costs(LOOP, []))
    assert own["In hot code"].value == pytest.approx(0.03)
    assert "may hide" in own["In hot code"].how
    lacking = own["Cold in the instruction cache"]
    assert lacking.value is None and "cold-icache" in lacking.how
    assert (
        marker_cost.format_cost_value(lacking) == "not measured"
        and marker_cost.format_cost_interval(lacking) == ""
    )


def test_emulated_ticks_and_counts_give_no_cost_of_a_marker() -> None:
    units = {"vm": "ticks (emulated)", "icount": "instructions"}
    ticks = [
        make_result("empty-loop", "marker-jump", 1.0, unit=u, tier=t) for t, u in units.items()
    ]
    assert find_marker_costs(ticks, []) == []
    assert describe_marker_costs([]).endswith("measures such a cost in cycles of a real CPU.")


def test_metal_tier_has_priority_over_native() -> None:
    metal = make_result("empty-loop", "marker-jump", 2.0, tier="metal")
    assert index_marker_costs_by_place(find_marker_costs([*LOOP, metal], []))[
        "In hot code"
    ].value == pytest.approx(3.0)


def test_summary_sentence_says_once_that_all_are_withheld() -> None:
    """If all verdicts are withheld, the sentence says so once, at the end."""
    poor = [replace(one, note="loud; next: be quiet") for one in SITES]
    found = find_marker_costs([*LOOP, *CALL], poor)
    assert index_marker_costs_by_place(found)["In hot code"].verdict == WITHHELD
    assert describe_marker_costs(found).startswith(
        "A dormant marker costs 0.27 core cycles in hot code (withheld), 40 cold"
    )
    call = [replace(CALL[1], verdict=WITHHELD), CALL[0]]
    assert describe_marker_costs(find_marker_costs([*LOOP, *call], poor)).endswith(
        "of a system call (numbers too poor for a verdict)."
    )
    assert "(" not in describe_marker_costs(find_marker_costs(LOOP, SITES))


def test_summary_sentence_says_that_no_marker_was_measured() -> None:
    found = find_marker_costs(
        [make_result("mine", "none", None), make_result("mine", "more", 3.0)], []
    )
    assert "it ran no benchmark of kmarkers" in describe_marker_costs(found)


@pytest.mark.parametrize("width", [60, 80])
def test_long_names_fit_on_a_terminal(width: int) -> None:
    name = "a-benchmark-of-ones-own-with-a-very-long-name-" * 2
    rows = [
        make_result("mine", name, None),
        make_result("mine", f"{name}-clone"),
        make_result("mine", "x", 3.0),
    ]
    lines = table.render_result_table(rows, width, False).splitlines()
    assert max(map(len, lines)) <= width
    assert any(line.split()[0].startswith("a-bench") and "…" in line for line in lines[2:])
    assert any(line.split()[:1] == ["x"] for line in lines)


def test_unbounded_interval_is_printed_as_unbounded() -> None:
    row = make_result("empty-loop", "marker-jump", 0.0, delta_ci=UNBOUNDED, verdict=UNRESOLVED)
    assert (
        marker_cost.format_cost_interval(
            index_marker_costs_by_place(find_marker_costs([row], []))["In hot code"]
        )
        == "unbounded"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.000"), (-0.0001, "0.000"), (0.265, "0.27"), (-2.34, "−2.3"), (417.6, "418")],
)
def test_sentence_numbers_are_short_and_zero_has_no_sign(value: float, text: str) -> None:
    assert marker_cost.format_number_for_sentence(value) == text


@pytest.mark.parametrize("width", [40, 80])
def test_summary_begins_with_the_marker_cost_and_fits_the_width(width: int) -> None:
    reasons = (Reason(Level.FAIR, "a virtual machine, " * 5, "a machine of your own"),)
    graded = [
        (make_tier(), Grade(Level.FAIR, reasons)),
        (make_tier("vm"), grade.Grade(Level.GOOD, ())),
    ]
    rows, run = [*LOOP, *CALL], Path("run")
    lines = ending.render_run_summary(
        run, {}, find_marker_costs(rows, SITES), graded, (rows, []), width
    ).splitlines()
    assert lines[0].startswith("A dormant marker costs")
    assert max(map(len, lines)) <= width
    assert any(line.startswith("native: fair numbers: a virtual machine") for line in lines)
    assert "vm: good numbers" in lines
    assert lines[-1] == "tables: scripts/kmarkers table run"


@pytest.mark.parametrize(
    ("benchmark", "variant", "kind"),
    [
        ("empty-loop", "marker-jump", result_kinds.DORMANT),
        ("empty-loop-peers", "marker-jump-on", result_kinds.ENABLED),
        ("empty-loop-peers", "marker-jump-off", result_kinds.DORMANT),
        ("marker-enabled", "typed-direct-call", result_kinds.ENABLED),
        ("cold-branch", "memory", result_kinds.COLD),
        ("mine", "x", result_kinds.OTHER),
        ("peer-uprobe", "usdt-off", result_kinds.DORMANT),
        ("peer-uprobe", "usdt", result_kinds.OTHER),
        ("peer-kprobe-opt", "getppid", result_kinds.ENABLED),
        ("peer-kprobe-opt", "getppid-off", result_kinds.DORMANT),
        ("macro-ping", "absent-probe", result_kinds.ENABLED),
        ("macro-ping", "absent", result_kinds.DORMANT),
        ("peers-enabled", "x", result_kinds.ENABLED),
        ("peers-dormant", "x", result_kinds.DORMANT),
        ("sdt-enabled", "x", result_kinds.ENABLED),
        ("sdt-trapped", "x", result_kinds.ENABLED),
        ("sdt-dormant", "x", result_kinds.DORMANT),
        ("memcpy-4096", "x", result_kinds.DORMANT),
        ("density-full", "x", result_kinds.DORMANT),
        ("getppid-quiet", "x", result_kinds.DORMANT),
        ("getppid-quiet", "x-on", result_kinds.ENABLED),
        ("function-entry", "x", result_kinds.DORMANT),
        ("lock-pair-quiet", "x", result_kinds.DORMANT),
        ("nop-encodings", "x", result_kinds.DORMANT),
    ],
)
def test_benchmark_and_variant_determine_the_kind_of_a_row(
    benchmark: str, variant: str, kind: str
) -> None:
    assert result_kinds.find_result_kind(benchmark, variant) == kind


def test_each_compared_row_has_one_kind() -> None:
    rows = [
        make_result("empty-loop-peers", "none", None),
        make_result("empty-loop-peers", "none-clone"),
        make_result("empty-loop-peers", "marker-jump-on", 30.0, verdict=SLOWER),
        make_result("empty-loop-peers", "marker-jump-off"),
    ]
    names = {
        kind: [
            r.variant
            for r in result_kinds.select_judged_results(
                result_kinds.select_results_of_kind(rows, kind)
            )
        ]
        for kind in result_kinds.KINDS
    }
    assert names == {"dormant": ["marker-jump-off"], "enabled": ["marker-jump-on"],
                     "cold": [], "other": []}  # fmt: skip
    assert [r.variant for r in result_kinds.select_results_of_kind(rows, result_kinds.ENABLED)] == [
        "none", "none-clone", "marker-jump-on",
    ]  # fmt: skip


def test_wide_tables_are_split_at_80_columns() -> None:
    heads = ["way", *(f"{10**n:,}" for n in range(9))]
    rows = [["ours, a thousand at a time", *(f"{10**n:,}" for n in range(9))]]
    lines = text.split_wide_table(heads, rows, 78)
    assert max(map(len, lines)) <= 78
    assert sum(line.startswith("ours") for line in lines) > 1
    assert all(f"{10**n:,}" in " ".join(lines).split() for n in range(9))
    assert text.split_wide_table(heads, rows, 500) == text.align_table([heads, *rows], range(1, 10))
    assert max(map(len, text.wrap_line("word " * 50, 80, " "))) <= 80


WHY = "31.0 % of the timed windows over a microsecond late: other programs ran on the same CPU"


def test_the_reason_of_a_withheld_verdict_is_below_the_costs() -> None:
    """The terminal and the first screen of the page print the reason of each withheld verdict, and
    the caveat of any other verdict. Costs with the same reason share a line."""
    rows = [
        make_result("density-one", f"marker-jump-{where}", 0.1, verdict=WITHHELD, note=WHY)
        for where in ("middle", "first")
    ]
    sites = [replace(make_site_cost("cold-icache-l3", "marker-jump", 3.0), caveat="12 % late")]
    found = find_marker_costs([*rows, *CALL], sites)
    withheld, caveats = marker_cost.describe_cost_caveats(found)
    assert withheld == [
        f"Withheld (among other instructions of hot code, behind a taken branch): {WHY}."
    ]
    assert caveats == ["Caveat (cold in the instruction cache): 12 % late."]
    terminal = " ".join(" ".join(ending.format_marker_costs(found, 80)).split())
    run = sections.Page({"run": {}, "tiers": []}, [*rows, *CALL], [], sites)
    screen = page.render_first_screen_html(run, [])
    for line in withheld + caveats:
        assert line in terminal and line in text.use_minus_signs(screen)


def make_reasons(*levels: Level) -> tuple[Reason, ...]:
    """Return a reason for each level, with the words `why 0`, `why 1`, ..., and remedies."""
    return tuple(Reason(one, f"why {n}", f"do {n}") for n, one in enumerate(levels))


def test_grades_have_their_two_worst_reasons_and_remedies() -> None:
    """Kernels of a tier that have the same grade share two lines: the worst reasons of all these
    kernels, and two remedies of each kernel."""
    poor = make_reasons(Level.FAIR, Level.POOR, Level.FAIR)
    other = (Reason(Level.POOR, "noise", "be quiet"), *poor[:2])
    old = replace(make_tier("vm"), kernel="5.10")
    graded = [
        (make_tier("vm"), Grade(Level.POOR, poor)),
        (make_tier(), Grade(Level.GOOD, ())),
        (old, Grade(Level.POOR, other)),
        (make_tier("vm"), Grade(Level.FAIR, poor[:2])),
    ]
    assert ending.format_tier_grades(graded, 100) == [
        "vm (6.12, 5.10): poor numbers: why 1; noise; 2 more on the page",
        "  for better numbers: do 0; do 1; be quiet",
        "native: good numbers",
        "vm: fair numbers: why 1; why 0",
        "  for better numbers: do 0; do 1",
    ]
    three = [(make_tier(), Grade(Level.FAIR, make_reasons(*[Level.FAIR] * 3)))]
    assert ending.format_tier_grades(three, 100)[0].endswith("why 0; why 1; 1 more on the page")


def test_verdict_counts_exclude_clones_and_emulated_ticks() -> None:
    rows = [
        make_result("b", "none", None, verdict="baseline"),
        make_result("b", "none-clone", verdict="slower"),
        make_result("b", "v", verdict="faster"),
        make_result("b", "w", verdict="slower"),
        make_result("b", "x", verdict="slower"),
        make_result("b", "v", tier="vm", unit=rundir.UNIT_EMULATED),
        make_result("b", "v", 2.0, tier="icount", unit=rundir.UNIT_INSTRUCTIONS, verdict="more"),
        make_result("b", "none", None, tier="metal", verdict="baseline"),
    ]
    assert ending.format_verdict_counts(rows, 80) == [
        "native: 3 rows: 2 slower, 1 faster", "icount: 1 rows: 1 more",
    ]  # fmt: skip


def make_round_count_point(tier: str, kernel: str, rounds: float) -> SwitchPoint:
    """Return a result of switching: the number of patcher rounds of a batch."""
    return SwitchPoint(
        tier, kernel, switching.SCALING, switching.ROUND_COUNT, "rounds", 10, "rounds", 8, rounds,
        Interval(rounds, rounds),
    )  # fmt: skip


def test_broken_switching_limits_name_tier_and_kernel() -> None:
    """Each limit applies to one tier. The limit of a batch is three rounds."""
    measured = (
        ("vm", "6.1", 3.0),
        ("vm", "5.10", 4.0),
        ("native", "6.1", 5.0),
        ("icount", "6", 9.0),
    )
    points = [make_round_count_point(*each) for each in measured]
    assert ending.format_broken_switching_limits(points, 100) == [
        f"{where}: BROKEN: rounds of a batch of any size: {rounds}, limit at most 3"
        for where, rounds in (("vm, kernel 5.10", 4), ("native, kernel 6.1", 5))
    ]


def test_benchmarks_that_were_not_measured_are_grouped_by_reason() -> None:
    tiers = [
        make_tier(
            "native",
            False,
            **{"lacks:z": "no PMU", "lacks:a:v": "no PMU", "lacks:b": "no root", "x": "y"},
        ),
        make_tier("vm", False, **{"lacks:a:v": "no PMU"}),
    ]
    assert ending.format_unmeasured_benchmarks(tiers, 100) == [
        "not measured (native, vm): a v, z: no PMU", "not measured (native): b: no root",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        ((), ""),
        ((8,), "native b0: 1 of 9 blocks: 8 flagged"),
        ((2, 3, 8), "native b2: 1 of 9 blocks: 8 flagged; native b1: 6 of 9 blocks: 3 flagged;"
         " native b0: 7 of 9 blocks: 2 flagged"),
        ((2, 3, 8, 5), "native b2: 1 of 9 blocks: 8 flagged; native b3: 4 of 9 blocks: 5 flagged;"
         " native b1: 6 of 9 blocks: 3 flagged; and 1 more benchmarks"),
    ],
)  # fmt: skip
def test_three_benchmarks_with_the_fewest_blocks_are_named(
    lacking: Sequence[int], said: str
) -> None:
    """A benchmark has as many blocks as its variant with the fewest. A benchmark without missing
    blocks is not named."""
    rows = [make_result("good", "v", blocks=KeptBlocks(9, 9, 9)), make_result("old", "v")]
    for n, lost in enumerate(lacking):
        rows += [
            make_result(f"b{n}", str(few), blocks=KeptBlocks(few, 9, 9)) for few in (8, 9 - lost)
        ]
    lines = " ".join(map(str.strip, ending.format_missing_blocks(rows, [], 80)))
    assert lines == (f"fewer blocks were kept than planned: {said}" if said else "")


def test_missing_blocks_of_switch_benchmarks_are_named() -> None:
    point = make_round_count_point("vm", "6.1", 3.0)
    rows = [make_result("arm-scaling", "v", tier="vm", blocks=KeptBlocks(6, 9, 9))]
    points = [replace(point, blocks=KeptBlocks(5, 9, 9))]
    for made in (points, [*points, replace(point, blocks=KeptBlocks(7, 9, 9))]):
        assert ending.format_missing_blocks(rows, made, 100) == [
            "fewer blocks were kept than planned: vm arm-scaling: 5 of 9 blocks: 4 flagged"
        ]


def test_wrapped_lines_have_at_most_100_columns_and_keep_hyphens() -> None:
    text = "a-b " * 50
    lines = ending.wrap_paragraph(text, 500, " ", "   ")
    assert lines == [f" {text[:99]}", f"    {text[:95]}", "    a-b"]
    assert max(map(len, ending.wrap_paragraph(text, 99))) == 99


def test_shortened_list_says_where_all_lines_are() -> None:
    lines = list("abc")
    assert ending.limit_line_count(lines, 3, "x") == lines
    assert ending.limit_line_count(lines, 2, "x") == ["a", "  all lines: x"]


def render_summary_parts(
    grades: int, unmeasured: int, **more: Any
) -> tuple[list[str], list[str], list[str]]:
    """Return the first lines, the body and all lines of the summary of a run. The body has a line
    for each of `grades` grades, and a line for each of `unmeasured` benchmarks that were not
    measured."""
    costs = find_marker_costs([make_result("mine", "none", None)], [])
    reasons = {f"lacks:b{n}": f"no {n:02}" for n in range(unmeasured)}
    graded = [
        (make_tier(f"t{n}", False, **(reasons if n == 0 else {})), Grade(Level.GOOD, ()))
        for n in range(grades)
    ]
    env: dict[str, Any] = {}
    lines = ending.render_run_summary(
        Path("a run"), env, costs, graded, ([], []), 100, **more
    ).splitlines()
    first, rest = lines.index(""), lines[: lines.index("", 2)]
    return lines[: first + 1], rest[first + 1 :], lines


@pytest.mark.parametrize(
    ("grades", "lacking", "shown"),
    [
        *(((36 - 5), 5, (31, 5)), (32, 5, (31, 5)), (33, 5, (31, 5)), (40, 0, (36, 0))),
        *((10, 27, (10, 26)), (10, 26, (10, 26)), (40, 40, (31, 5)), (36, 0, (36, 0))),
        *((34, 2, (34, 2)), (35, 2, (34, 2))),
    ],
)
def test_summary_leaves_five_lines_for_unmeasured_benchmarks(
    grades: int, lacking: int, shown: tuple[int, int]
) -> None:
    """A screen has 40 lines. The cost and an empty line are above the grades, and an empty line and
    the command for the tables are below. Where lines are left out, a line names the command."""
    _, body, lines = render_summary_parts(grades, lacking)
    assert len(lines) == min(40, 4 + grades + lacking)
    told = [line for line in body if line.startswith("not measured")]
    more = [n for n, line in enumerate(body) if line.startswith("  all lines: ")]
    assert {body[n] for n in more} <= {"  all lines: scripts/kmarkers table 'a run'"}
    assert [n + 1 for n in more] == (
        [shown[0]] * (shown[0] < grades) + [sum(shown)] * (shown[1] < lacking)
    )
    assert len(body) == sum(shown) and len(told) == shown[1] - (shown[1] < lacking)


@pytest.mark.parametrize(("most", "shown"), [(10, (4, 2)), (8, (4, 2)), (11, (4, 3)), (14, (5, 5))])
def test_short_screen_shows_at_least_four_grades_and_two_reasons(
    most: int, shown: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "LINES", most)
    _, body, _ = render_summary_parts(10, 10)
    assert [n + 1 for n, line in enumerate(body) if "all lines" in line] == [shown[0], sum(shown)]
    assert len(body) == sum(shown)


def test_summary_names_the_page_and_the_command_for_the_tables() -> None:
    _, _, lines = render_summary_parts(1, 0, page=Path("a run/report.html"))
    assert lines[-3:] == [
        "", "tables: scripts/kmarkers table 'a run'", "page:   a run/report.html",
    ]  # fmt: skip
    _, body, _ = render_summary_parts(60, 0, page=Path("p"))
    assert body[-1] == "  all lines: p"
    _, _, lines = render_summary_parts(1, 0, tier="vm")
    assert lines[-1] == "tables: scripts/kmarkers table 'a run' --tier vm"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        *((0.0099, "0.010"), (-0.0099, "−0.010"), (0.01, "0.01"), (-0.0004, "0.000")),
        *((0.994, "0.99"), (1.0, "1.0"), (-1.0, "−1.0"), (9.94, "9.9"), (10.0, "10")),
        *((-10.0, "−10"), (1234.5, "1234")),
    ],
)
def test_numbers_in_a_sentence_have_about_two_digits(value: float, said: str) -> None:
    assert marker_cost.format_number_for_sentence(value) == said


@pytest.mark.parametrize(
    ("tiers", "best"),
    [
        ([], None),
        ([("vm", "6.1"), ("native", "6.1"), ("metal", "6.1")], ("metal", "6.1")),
        ([("vm", "6.1"), ("native", "6.1")], ("native", "6.1")),
        ([("vm", "6.1"), ("vm", "5.10")], ("vm", "5.10")),
    ],
)
def test_best_tier_is_metal_then_native_then_vm(
    tiers: list[tuple[str, str]], best: tuple[str, str] | None
) -> None:
    rows = [make_result("b", "v", tier=tier, kernel=kernel) for tier, kernel in tiers]
    rows.append(make_result("b", "v", tier="icount", unit=rundir.UNIT_INSTRUCTIONS))
    assert marker_cost.find_best_real_cpu_tier(rows) == best


def test_marker_cost_uses_only_one_kernel_and_tier() -> None:
    other = [replace(SITES[1], kernel="6.13"), replace(SITES[1], tier="metal")]
    rows = [*LOOP, *(replace(LOOP[1], kernel=kernel, delta=9.0) for kernel in ("6.13", "6.2"))]
    found = index_marker_costs_by_place(find_marker_costs(rows, other))
    assert found["In hot code"].value == pytest.approx(0.03)


@pytest.mark.parametrize(
    ("lost", "value", "how"),
    [
        ((), 0.27, "one more site in a loop that needs every slot of the core (density-full)"),
        (("density-full",), 0.18, "one more site in an empty loop (density-empty)"),
        (
            ("density-full", "density-empty"),
            0.03,
            "one marker in an empty loop, where it may hide in idle slots (empty-loop)",
        ),
        (
            ("density-full", "density-empty", "empty-loop"),
            None,
            "this run has neither density-full nor empty-loop",
        ),
    ],
)
def test_cost_in_hot_code_uses_the_best_measured_benchmark(
    lost: Sequence[str], value: float | None, how: str
) -> None:
    """Costs are in core cycles; a tick has 1.5 core cycles."""
    sites = [one for one in SITES if one.benchmark not in lost]
    rows = [one for one in LOOP if one.benchmark not in lost] + CALL
    own = index_marker_costs_by_place(find_marker_costs(rows, sites))["In hot code"]
    assert (own.value, own.how) == (value if value is None else pytest.approx(value), how)
    assert own.short == "in hot code" and own.then.startswith("2006, Pentium 4: 1.2 with a ")
    if own.ci and value is not None:
        assert (own.ci.lo, own.ci.hi) == pytest.approx((value - 0.15, value + 0.15))


@pytest.mark.parametrize(
    ("levels", "value", "where"),
    [
        (("l2", "l3", "memory"), 4.5, "from memory"),
        (("l2", "l3"), 3.0, "from the third-level cache"),
        (("l2",), 1.5, "from the second-level cache"),
    ],
)
def test_cost_in_cold_code_uses_the_slowest_measured_memory_level(
    levels: Sequence[str], value: float, where: str
) -> None:
    sites = [
        make_site_cost(f"cold-icache-{x}", "marker-jump", 1.0 + n) for n, x in enumerate(levels)
    ]
    own = index_marker_costs_by_place(find_marker_costs(LOOP, sites))[
        "Cold in the instruction cache"
    ]
    assert own.value == pytest.approx(value) and own.then == "not measured in 2006"
    assert own.how == f"one more site in code that comes {where} (cold-icache-{levels[-1]})"


def test_cost_beside_cold_data_names_the_cost_of_a_variable_in_memory() -> None:
    jump = make_result("cold-branch", "jump", 2.0, note="loud")
    memory = make_result("cold-branch", "memory", 20.0, core=None)
    for rows, more in (([jump], ""), ([jump, memory], "; on a variable in memory: 20 TSC cycles")):
        own = index_marker_costs_by_place(find_marker_costs(rows, []))["Beside cold data"]
        assert own.how == f"a branch that reads no data (cold-branch){more}"
        assert (own.value, own.unit, own.why) == (3.0, "core cycles", "loud")
        assert own.ci is not None and (own.ci.lo, own.ci.hi) == pytest.approx((2.85, 3.15))
        assert "beside cold data" not in describe_marker_costs(find_marker_costs(rows, []))
    lone = index_marker_costs_by_place(find_marker_costs([memory], []))["Beside cold data"]
    assert (lone.value, lone.how) == (None, "this run has no cold-branch")


@pytest.mark.parametrize(
    ("rows", "value", "place", "how"),
    [
        (
            ["quiet jump 4", "quiet immediate 8"],
            1.0,
            "",
            "half of two markers in getppid() (getppid-quiet)",
        ),
        (
            ["quiet immediate 8", "copy-quiet jump 4"],
            2.0,
            " (immediate)",
            "half of two markers in getppid(), of flavour immediate (getppid-quiet)",
        ),
        (["copy-quiet jump 6"], 1.5, "", "half of two markers in getppid() (getppid-copy-quiet)"),
        (["quiet generic 6"], None, "", "this run has no getppid-quiet"),
    ],
)
def test_cost_in_a_system_call_uses_the_measured_flavour(
    rows: Sequence[str], value: float | None, place: str, how: str
) -> None:
    """A call without markers takes 200 ticks, so 4 ticks for two markers are 1 % for one. A
    baseline of 0 gives no share."""
    made = [make_result("getppid-quiet", "compiled-out", None, median=200.0),
            make_result("getppid-copy-quiet", "compiled-out", None, median=200.0)]  # fmt: skip
    for benchmark, variant, delta in map(str.split, rows):
        made.append(make_result(f"getppid-{benchmark}", variant, float(delta)))
    own = find_marker_costs(made, [])[-1]
    assert (own.place, own.value, own.how) == (f"In a system call{place}", value, how)
    assert (own.ci is None) == (value is None)
    if own.ci and value:
        assert (own.ci.lo, own.ci.hi) == pytest.approx((value - 0.025, value + 0.025))
    none = [replace(one, median=0.0) if one.delta is None else one for one in made]
    assert find_marker_costs(none, [])[-1].value is None


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ((UNRESOLVED,), "A dormant marker costs 1.0 x in a (unresolved)."),
        ((SLOWER,), "A dormant marker costs 1.0 x in a."),
        ((UNRESOLVED,) * 2, "A dormant marker costs 1.0 x in a and 1.0 in a (all unresolved)."),
        ((UNRESOLVED, SLOWER), "A dormant marker costs 1.0 x in a (unresolved) and 1.0 in a."),
        ((SLOWER,) * 3, "A dormant marker costs 1.0 x in a, 1.0 in a and 1.0 in a."),
    ],
)
def test_unresolved_costs_are_marked_in_the_summary_sentence(
    verdicts: Sequence[str], said: str
) -> None:
    """Only the first cost in the sentence has a unit."""
    costs = [MarkerCost("In a", "in a", 1.0, UNBOUNDED, "x", one, "", "") for one in verdicts]
    assert describe_marker_costs(costs) == said


@pytest.mark.parametrize(
    ("ci", "said"),
    [
        (None, ""),
        (Interval(-1.0, 12.0), "−1.0 to 12"),
        (Interval(-math.inf, 1.0), "unbounded"),
        (Interval(1.0, math.inf), "unbounded"),
    ],
)
def test_interval_with_an_infinite_end_is_printed_as_unbounded(
    ci: Interval | None, said: str
) -> None:
    cost = MarkerCost("In a", "in a", 1.0, ci, "x", SLOWER, "", "")
    assert marker_cost.format_cost_interval(cost) == said


def test_costs_on_the_terminal_have_interval_verdict_and_published_cost() -> None:
    """A cost that was not measured is printed with the reason. If no cost was measured, only the
    sentence is printed."""
    words = {
        SLOWER: "slower with the marker",
        "faster": "faster with the marker",
        "equivalent": "equivalent to no marker",
        "differs": "differs from no marker",
        UNRESOLVED: "unresolved",
    }
    for verdict, said in words.items():
        costs = [
            MarkerCost("In a", "in a", 1.0, Interval(0.5, 1.5), "x", verdict, "h", "once", "loud"),
            marker_cost.make_unmeasured_marker_cost("In b", "in b", "it is late", ""),
        ]
        sentence = f"A dormant marker costs 1.0 x in a{' (unresolved)' * (verdict == UNRESOLVED)}."
        assert ending.format_marker_costs(costs, 80) == [
            sentence, "Caveat (in a): loud.", "",
            f"  In a: 1.0 x (0.50 to 1.5), {said}", "    published: once",
            "  In b: not measured, because it is late",
        ]  # fmt: skip
    assert len(ending.format_marker_costs(costs[1:], 200)) == 1


def test_figure_of_dormant_costs_has_the_best_benchmark_of_each_context() -> None:
    """Loops that contain only markers are shown only if there are no loops with other instructions.
    A context has a row for the marker, and a row for the variable if the variable was measured."""
    middle, full = (
        make_result("density-one", f"marker-jump-{x}", 2.0) for x in ("middle", "first")
    )
    generic = make_result("density-one", "marker-generic-first", 4.0)
    spread = make_result("density-spread", "marker-jump-1", 8.0)
    cold = make_result("cold-branch", "memory", 6.0)
    alone = make_result("empty-loop", "marker-jump", None)

    def list_rows_of_cost_figure(*rows: Any) -> list[tuple[str, float]]:
        panel = cost_figure.make_dormant_cost_panel(rows, SITES)
        assert panel is not None and panel.unit == "core cycles for one site"
        assert panel.title == "Dormant: what one site adds (native)"
        return [(row.name, round(row.value, 6)) for row in panel.rows]

    icache = [("cold code: marker", 40.5)]
    hot = [("hot: marker", 0.27), ("hot: a variable", 0.6)]
    assert list_rows_of_cost_figure(middle, full, generic, spread, cold, *LOOP) == [
        ("hot, among others: marker", 3.0),
        ("hot, after a branch: marker", 3.0),
        ("hot, after a branch: a variable", 6.0),
        *icache,
        ("cold data: a variable", 9.0),
    ]
    assert list_rows_of_cost_figure(spread, alone) == [("hot, among others: marker", 12.0), *icache]
    assert list_rows_of_cost_figure(alone) == [*hot, *icache]
    assert cost_figure.make_dormant_cost_panel([alone], []) is None
    assert cost_figure.make_dormant_cost_panel([], SITES) is None
    panel = cost_figure.make_dormant_cost_panel([middle], [])
    assert panel is not None and cost_figure.describe_panel(panel) == (
        "Cost of one dormant site in core cycles for one site: hot, among others: marker +3.000."
    )
    (row,) = panel.rows
    assert (row.lo, row.hi) == pytest.approx((2.85, 3.15)) and row.look == "equivalent"
