# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the first lines of a report: the cost of a dormant marker, with its interval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from kmtools.analyse import grade, result_kinds
from kmtools.analyse.grade import Grade, Level, Reason
from kmtools.analyse.stats import UNBOUNDED
from kmtools.analyse.verdicts import SLOWER, UNRESOLVED, WITHHELD
from kmtools.base import text
from kmtools.report import ending, marker_cost, page, sections, table
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


def index_costs_by_place(found: list[MarkerCost]) -> dict[str, MarkerCost]:
    return {one.place: one for one in found}


def test_sentence_has_the_cost_of_a_dormant_marker() -> None:
    found = find_marker_costs([*LOOP, *CALL], SITES)
    assert describe_marker_costs(found) == (
        "A dormant marker costs 0.27 core cycles in hot code, 40 cold in the instruction"
        " cache and 0.12 % of a system call (unresolved)."
    )
    own = index_costs_by_place(found)
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
    own = index_costs_by_place(found)
    assert own["In hot code, among other instructions"].value == 0
    assert own["In hot code, behind a taken branch"].value == pytest.approx(0.15)
    assert "In hot code" not in own
    assert describe_marker_costs(found).startswith(
        "A dormant marker costs 0.000 core cycles among other instructions of hot code, 0.15 behind"
        " a taken branch"
    )
    older = index_costs_by_place(find_marker_costs([*LOOP, rows[3]], SITES))
    assert older["In hot code, behind a taken branch"].value == pytest.approx(0.3)
    assert "Pentium 4" in older["In hot code, behind a taken branch"].then


def test_cost_in_a_system_call_is_half_the_cost_of_two_markers() -> None:
    jump = make_result("getppid-quiet", "jump", 0.4)
    own = index_costs_by_place(find_marker_costs([*LOOP, *CALL, jump], SITES))
    assert own["In a system call"].value == pytest.approx(0.1)
    assert "In a system call (immediate)" not in own


def test_without_density_rows_empty_loop_gives_the_cost() -> None:
    own = index_costs_by_place(find_marker_costs(LOOP, []))
    assert own["In hot code"].value == pytest.approx(0.03)
    assert "may hide" in own["In hot code"].how
    lacking = own["Cold in the instruction cache"]
    assert lacking.value is None and "cold-icache" in lacking.how
    assert (
        marker_cost.format_value(lacking) == "not measured"
        and marker_cost.format_interval(lacking) == ""
    )


def test_emulated_ticks_and_counts_give_no_cost_of_a_marker() -> None:
    units = {"vm": "ticks (emulated)", "icount": "instructions"}
    ticks = [
        make_result("empty-loop", "marker-jump", 1.0, unit=u, tier=t) for t, u in units.items()
    ]
    assert find_marker_costs(ticks, []) == []
    assert describe_marker_costs([]).endswith("measures one in cycles of a real CPU.")


def test_metal_tier_has_priority_over_native() -> None:
    metal = make_result("empty-loop", "marker-jump", 2.0, tier="metal")
    assert index_costs_by_place(find_marker_costs([*LOOP, metal], []))[
        "In hot code"
    ].value == pytest.approx(3.0)


def test_sentence_says_once_that_all_verdicts_are_withheld() -> None:
    """If all verdicts are withheld, the sentence says so once, at the end."""
    poor = [replace(one, note="loud; next: be quiet") for one in SITES]
    found = find_marker_costs([*LOOP, *CALL], poor)
    assert index_costs_by_place(found)["In hot code"].verdict == WITHHELD
    assert describe_marker_costs(found).startswith(
        "A dormant marker costs 0.27 core cycles in hot code (withheld), 40 cold"
    )
    call = [replace(CALL[1], verdict=WITHHELD), CALL[0]]
    assert describe_marker_costs(find_marker_costs([*LOOP, *call], poor)).endswith(
        "of a system call (numbers too poor for a verdict)."
    )
    assert "(" not in describe_marker_costs(find_marker_costs(LOOP, SITES))


def test_run_without_marker_benchmarks_has_a_reason() -> None:
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
        marker_cost.format_interval(
            index_costs_by_place(find_marker_costs([row], []))["In hot code"]
        )
        == "unbounded"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.000"), (-0.0001, "0.000"), (0.265, "0.27"), (-2.34, "−2.3"), (417.6, "418")],
)
def test_numbers_are_short_and_zero_has_no_sign(value: float, text: str) -> None:
    assert marker_cost.format_for_sentence(value) == text


@pytest.mark.parametrize("width", [40, 80])
def test_marker_cost_is_first_on_the_terminal_and_fits(width: int) -> None:
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
def test_kind_of_dormant_and_enabled_rows(benchmark: str, variant: str, kind: str) -> None:
    assert result_kinds.find_result_kind(benchmark, variant) == kind


def test_each_row_has_one_kind() -> None:
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
    lines = text.fit_table(heads, rows, 78)
    assert max(map(len, lines)) <= 78
    assert sum(line.startswith("ours") for line in lines) > 1
    assert all(f"{10**n:,}" in " ".join(lines).split() for n in range(9))
    assert text.fit_table(heads, rows, 500) == text.align_table([heads, *rows], range(1, 10))
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
    withheld, caveats = marker_cost.describe_caveats(found)
    assert withheld == [
        f"Withheld (among other instructions of hot code, behind a taken branch): {WHY}."
    ]
    assert caveats == ["Caveat (cold in the instruction cache): 12 % late."]
    terminal = " ".join(" ".join(ending.format_marker_costs(found, 80)).split())
    run = sections.Page({"run": {}, "tiers": []}, [*rows, *CALL], [], sites)
    screen = page.render_first_screen_html(run, [])
    for line in withheld + caveats:
        assert line in terminal and line in text.use_minus_signs(screen)
