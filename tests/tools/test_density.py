# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the estimated cost of one more dormant site, from passes with 0 to 16 sites."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import rawdata
from kmtools.analyse import density, verdicts
from kmtools.analyse.corecycles import CoreCycleRatio
from kmtools.analyse.density import SiteCost
from kmtools.analyse.lateness import Lateness
from kmtools.analyse.slopes import Slope
from kmtools.analyse.stats import UNBOUNDED, Interval
from kmtools.analyse.verdicts import DIFFERS, EQUIVALENT, SLOWER, UNRESOLVED, WITHHELD
from kmtools.cli import main
from kmtools.measure import collect
from kmtools.measure.rundir import UNIT_GUEST, UNIT_INSTRUCTIONS, UNIT_TSC, Tier
from kmtools.measure.samples import Sample
from kmtools.report import sitetable
from kmtools.report.figures import panels
from kmtools.suites import counts
from verdictrows import make_result

SITES = (1, 4, 16)


def make_bench_of_sites(
    site_costs: Mapping[str, float], empty_pass_cost: float = 7.0
) -> rawdata.Bench:
    """Return a benchmark with passes of 0, 1, 4 and 16 sites. `site_costs` has the cost of one site
    for each flavour; a pass without sites costs `empty_pass_cost`."""
    passes = {"none": empty_pass_cost, "none-clone": empty_pass_cost}
    for flavour, cost in site_costs.items():
        passes |= {f"{flavour}-{sites}": empty_pass_cost + cost * sites for sites in SITES}
    return rawdata.Bench("density-full", passes)


def compute_site_costs(tier: str, raw: Path) -> list[SiteCost]:
    loaded = collect.load_raw_folder(tier, raw)
    return density.compute_all_site_costs(
        verdicts.compute_results(loaded.rows, [loaded.tier]), [loaded.tier]
    )


def test_instruction_counts_give_an_exact_cost_per_site(tmp_path: Path) -> None:
    whole = make_bench_of_sites({"marker-jump": 1, "marker-generic": 3}, 57)
    raw = rawdata.write_raw_folder(tmp_path / "raw", 4, 1, [whole], exact=True, emulated="1")
    jump, generic = sorted(compute_site_costs("icount", raw), key=lambda c: c.cost)
    assert (jump.flavour, jump.unit, jump.sites) == ("marker-jump", UNIT_INSTRUCTIONS, [1, 4, 16])
    assert (jump.cost, jump.ci.lo, jump.ci.hi) == (1, 1, 1)
    assert (generic.cost, generic.ci.lo, generic.ci.hi) == (3, 3, 3)
    assert jump.nanoseconds is None and jump.percent_of_pass == pytest.approx(100 / 57)


def test_intervals_contain_the_true_cost_of_a_site(tmp_path: Path) -> None:
    """In 60 runs, at least 93 % of the intervals contain the true cost. In at least 54 runs, the
    intervals of the three flavours do not overlap."""
    truth = {"none": 0.0, "marker-jump": 0.125, "marker-immediate": 0.36}
    held = told = 0
    for seed in range(60):
        raw = rawdata.write_raw_folder(
            tmp_path / str(seed),
            40,
            seed,
            [make_bench_of_sites(truth)],
            emulated="0",
            tsc_khz="2500000",
        )
        found = {c.flavour: c for c in compute_site_costs("native", raw)}
        held += sum(found[name].ci.lo <= cost <= found[name].ci.hi for name, cost in truth.items())
        none, jump, value = (found[name].ci for name in truth)
        told += none.hi < jump.lo and jump.hi < value.lo
    assert found["marker-jump"].unit == UNIT_TSC
    assert found["marker-jump"].nanoseconds == pytest.approx(0.4 * found["marker-jump"].cost)
    assert held >= 0.93 * 180
    assert told >= 54


def test_a_block_without_all_passes_has_no_slope() -> None:
    passes = {
        0: [Slope.from_fraction(0, 0, Fraction(5)), Slope.from_fraction(1, 1, Fraction(5))],
        1: [Slope.from_fraction(0, 0, Fraction(7))],
        4: [Slope.from_fraction(0, 0, Fraction(13)), Slope.from_fraction(1, 1, Fraction(9))],
    }
    (found,) = density.fit_cost_per_site(passes)
    assert (found.block, found.layout, found.value) == (0, 0, Fraction(2))


def test_cost_of_a_site_is_an_exact_fraction() -> None:
    """A pass costs 1/3, and 2/7 more for each site. Each number of sites is measured with another
    loop count, so that the measured slopes are fractions with different denominators."""
    passes = {
        sites: [Slope(3, 1, (7 + 6 * sites) * loops, 21 * loops)]
        for sites, loops in ((0, 9), (1, 4), (4, 10), (16, 1))
    }
    (found,) = density.fit_cost_per_site(passes)
    assert found.value == Fraction(2, 7)


def test_other_benchmarks_and_emulated_ticks_have_no_cost_per_site(tmp_path: Path) -> None:
    """Other benchmarks have no cost per site, although names of their variants end with numbers,
    such as nop-3-2. Emulated ticks give no cost per site either."""
    loop = rawdata.Bench("empty-loop", {"none": 1.0, "none-clone": 1.0, "nop-3-2": 1.4})
    raw = rawdata.write_raw_folder(tmp_path / "raw", 12, 1, [loop], emulated="0")
    assert compute_site_costs("native", raw) == []
    emulated = rawdata.write_raw_folder(
        tmp_path / "vm", 12, 1, [make_bench_of_sites({"x": 1.0})], emulated="1"
    )
    assert compute_site_costs("vm", emulated) == []


def test_site_costs_are_in_table_summary_and_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cost of a site is in the table, in summary.json and in the HTML report of a run."""
    native = rawdata.write_raw_folder(
        tmp_path / "native",
        40,
        3,
        [make_bench_of_sites({"none": 0.0, "marker-jump": 0.125})],
        emulated="0",
    )
    icount = rawdata.write_raw_folder(
        tmp_path / "icount",
        2,
        3,
        [make_bench_of_sites({"marker-jump": 1}, 57)],
        exact=True,
        emulated="1",
    )
    run = tmp_path / "run"
    assert main(["collect", str(run), f"--raw=native={native}", f"--raw=icount={icount}"]) == 0
    assert main(["report", str(run)]) == 0
    capsys.readouterr()
    assert main(["table", str(run), "--all"]) == 0
    said = capsys.readouterr().out
    assert "density-full: one more dormant site, TSC cycles; 0, 1, 4 and 16 sites" in said
    sites = json.loads((run / "summary.json").read_text())["sites"]
    assert [(e["tier"], e["flavour"]) for e in sites] == [
        ("native", "marker-jump"), ("native", "none"), ("icount", "marker-jump"),
    ]  # fmt: skip
    assert sites[0]["ci_lo"] <= 0.125 <= sites[0]["ci_hi"]
    text = (run / "report.html").read_text()
    assert text.count("one more dormant site") >= 2
    drawn = (run / "figures" / "dormant-native.svg").read_text()
    assert "density-full" in drawn and "for one more dormant site" in drawn


def make_site_cost(name: str, cost: float, ci: Interval) -> SiteCost:
    of = ("native", "6.1", "cold-icache-l2")
    return SiteCost(*of, name, UNIT_TSC, [64], 9, cost, ci, pass_cost=8, core=None, ns_per_tick=1)


def test_lines_in_the_figure_of_sites_are_as_long_as_intervals() -> None:
    """A drawn line is as long as the interval that it shows; the line of an unbounded interval
    spans the axis."""
    costs = [
        make_site_cost("marker-generic", 1.0, Interval(-3.0, 15.0)),
        make_site_cost("marker-jump", 0.5, UNBOUNDED),
    ]
    (panel,) = panels.make_site_panels(costs)
    axis = panel.axis
    ends = [(axis.clamp_to_axis(row.lo), axis.clamp_to_axis(row.hi)) for row in panel.rows]
    assert axis.low < ends[0][0] < ends[0][1] < axis.high
    assert ends[1] == (axis.low, axis.high), "the line of an unbounded interval must span the axis"
    assert [row.words for row in panel.rows] == ["+1.000 ± 9.000", "+0.500, unbounded"]
    assert "; 0 and 64 sites; " in sitetable.make_site_table_title(costs[0])


@pytest.mark.parametrize(
    ("passes", "verdict", "expected"),
    [
        ((0.0, 0.1, 0.4, 1.6), SLOWER, ""),
        ((0.0, 0.0, 0.0, 0.0), EQUIVALENT, ""),
        ((0.0, 0.176, 0.346, 1.558), WITHHELD, "0.0565 from 1 to 4, 0.101 from 4 to 16"),
        ((0.0, 0.0, 0.0, 3.2), WITHHELD, "0.267 from 4 to 16"),
    ],
)
def test_nonlinear_costs_of_passes_are_reported(
    passes: tuple[float, ...], verdict: str, expected: str
) -> None:
    """If the cost of a pass is not linear in its number of sites, the verdict is withheld. The note
    has the cost of a site between two measured numbers of sites, for example from 4 to 16."""
    random = np.random.default_rng(6)
    samples = [
        Sample(
            "native", "k", block // 16 + 1, "density-full", name, "loop", block % 8, block, 0, 0,
            loops, None, round(loops * (10 + more) + 50 + random.normal(0, 8)), UNIT_TSC, None, (),
        )
        for block in range(256)
        for name, more in (("none", 0.0), ("none-clone", 0.0),
                           *zip(("j-1", "j-4", "j-16"), passes[1:], strict=True))
        for loops in (1000, 2000, 3000)
    ]  # fmt: skip
    tier = Tier("native", "k", UNIT_TSC, False, {}, {})
    (cost,) = density.compute_all_site_costs(verdicts.compute_results(samples, [tier]), [tier])
    assert cost.verdict == verdict and expected in cost.note
    assert cost.note.startswith("not on a line over the number of sites") is bool(expected)
    assert cost.margin == pytest.approx(0.25 / 16)


@pytest.mark.parametrize(
    ("cost", "bend", "noted"),
    [
        # A bend is permitted up to a twentieth of a site's cost, or up to the margin of 0.0625 if
        # that is larger.
        (10.0, 0.4, False),
        (10.0, 0.6, True),
        (-10.0, 0.4, False),
        (-10.0, 0.6, True),
        (1.0, 0.06, False),
        (1.0, 0.065, True),
    ],
)
def test_bend_is_noted_above_the_margin_and_5_percent_of_cost(
    cost: float, bend: float, noted: bool
) -> None:
    """The third and the fourth site cost `bend` more, or `bend` less, than the first and the
    second."""
    for more in (bend, -bend):
        passes = {"none": 100.0, "j-2": 100 + 2 * cost, "j-4": 100 + 4 * cost + 2 * more}
        results = [
            make_result(
                "density-full", name, None if name == "none" else 0.0,
                slopes=[Slope(n, n % 4, round(1000 * value), 1000, n // 8) for n in range(64)],
            )
            for name, value in passes.items()
        ]  # fmt: skip
        tier = Tier("native", "6.12", UNIT_TSC, False, {}, {})
        (found,) = density.compute_all_site_costs(results, [tier])
        assert (f"costs {cost:.3g} from 0 to 2, " in found.note) == (found.note != "") == noted


@pytest.mark.parametrize(
    ("changed", "numbers"),
    [
        ({}, (1.25, 0.5, 2.0, 1.875, 0.625, 15.625)),
        ({"ci": UNBOUNDED}, (1.25, None, None, 1.875, 0.625, 15.625)),
        ({"core": None}, (1.25, 0.5, 2.0, None, 0.625, 15.625)),
        ({"ns_per_tick": None}, (1.25, 0.5, 2.0, 1.875, None, 15.625)),
        ({"pass_cost": 0.0}, (1.25, 0.5, 2.0, 1.875, 0.625, None)),
        ({"cost": 1.25 + 4e-7, "ns_per_tick": None}, (1.25, 0.5, 2.0, 1.875001, None, 15.625005)),
    ],
)
def test_site_cost_is_in_json_in_ticks_cycles_ns_and_percent(
    changed: dict[str, object], numbers: tuple[float | None, ...]
) -> None:
    """A site costs 1.25 ticks, and a pass 8 ticks. A tick is 0.5 ns or 1.5 core cycles."""
    one = make_site_cost("marker-jump", 1.25, Interval(0.5, 2.0))
    one = replace(one, core=CoreCycleRatio("counted", 1.5), ns_per_tick=0.5)
    entry = replace(one, **changed).to_json_entry()  # type: ignore[arg-type]
    names = ("cost", "ci_lo", "ci_hi", "core_cycles", "ns", "percent")
    assert tuple(entry[name] for name in names) == numbers
    assert (entry["sites"], entry["flavour"], entry["verdict"]) == (
        [64],
        "marker-jump",
        (WITHHELD if entry["note"] else UNRESOLVED if entry["ci_lo"] is None else SLOWER),
    )


@pytest.mark.parametrize(
    ("note", "caveat", "remark", "verdict"),
    [("", "", "", SLOWER), ("n", "", "n", WITHHELD), ("", "c", "c", SLOWER),
     ("n", "c", "n; c", WITHHELD)],
)  # fmt: skip
def test_verdict_on_a_site_is_withheld_by_a_note_not_by_a_caveat(
    note: str, caveat: str, remark: str, verdict: str
) -> None:
    one = replace(make_site_cost("x", 1.0, Interval(0.5, 2.0)), note=note, caveat=caveat)
    assert (one.remark, one.verdict) == (remark, verdict)
    if not note:
        assert replace(one, margin=0.5).verdict == DIFFERS
        assert replace(one, margin=2.0).verdict == EQUIVALENT


def make_flavour_results(tier: str = UNIT_TSC, **more: object) -> list[verdicts.Result]:
    """Return the baseline, which costs 8, and a flavour with 2 and 4 sites of 0.5 each; `more`
    replaces fields of all results."""
    costs = {"none": 8, "none-clone": 8, "j-2": 9, "j-4": 10, "j-04": 99, "-5": 99, "j": 99}
    return [
        make_result(
            "cold-icache-l1", name, None if name == "none" else 0.0, unit=tier, median=float(cost),
            slopes=[Slope(block, block % 4, cost, 1, block // 8) for block in range(64)], **more,
        )
        for name, cost in costs.items()
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("khz", "unit", "ns"),
    [("2000000", UNIT_TSC, 0.5), ("0", UNIT_TSC, None), ("", UNIT_TSC, None),
     ("2000000", UNIT_GUEST, None)],
)  # fmt: skip
def test_cost_of_a_site_has_the_clock_step_and_margin_of_the_largest_pass(
    khz: str, unit: str, ns: float | None
) -> None:
    """Each pass has a clock step of 0.4 ticks and a margin of 0.25 ticks, and the largest pass has
    four sites. The costs do not vary, so the interval is as wide as the step allows."""
    tier = Tier("native", "6.12", unit, False, {"tsc_khz": khz}, {})
    results = make_flavour_results(unit, resolution=0.4)
    (found,) = density.compute_all_site_costs(results, [tier])
    assert (found.flavour, found.sites, found.n, found.cost) == ("j", [2, 4], 64, 0.5)
    assert (found.ci.lo, found.ci.hi) == pytest.approx((0.4, 0.6))
    assert (found.margin, found.pass_cost, found.ns_per_tick) == (0.0625, 8, ns)
    poor = {("native", "6.12", "cold-icache-l1"): "quick"}
    (withheld,) = density.compute_all_site_costs(results, [tier], poor)
    assert (withheld.note, withheld.verdict) == ("quick", WITHHELD)


def test_interval_of_a_site_contains_its_cost_without_late_windows() -> None:
    """In every second block, the pass with four sites is late: passes cost 8, 9 and 30, so a site
    costs 5.5. In the other blocks, a site costs 0.5. The midmean of all blocks is 3."""
    results = make_flavour_results()
    late = Lateness(32, frozenset(range(0, 64, 2)))
    slow = [one._replace(top=10 + 20 * (one.block in late.blocks)) for one in results[3].slopes]
    results[3] = replace(results[3], slopes=slow, late=late)
    results = [
        replace(result, slopes=[one._replace(layout=0) for one in result.slopes])
        for result in results
    ]
    tier = Tier("native", "6.12", UNIT_TSC, False, {}, {})
    (found,) = density.compute_all_site_costs(results, [tier])
    assert (found.cost, found.ci) == (3, Interval(0.5, 3))


def test_cost_interval_of_zero_blocks_is_unbounded() -> None:
    assert density.estimate_slope_location([], exact=False, resolution=0.1)[1] == UNBOUNDED
    assert density.estimate_slope_location([], exact=True, resolution=0.1)[1] == UNBOUNDED


@pytest.mark.parametrize(("wrong", "failed"), [({}, 0), ({"marker-jump-16": 74}, 1)])
def test_suite_counts_fails_on_a_wrong_cost_of_16_sites(wrong: dict[str, int], failed: int) -> None:
    passes = make_bench_of_sites({"none": 0, "marker-jump": 1, "marker-generic": 3}, 57).costs
    whole = {("density-full", name): {Fraction(n)} for name, n in {**passes, **wrong}.items()}
    tally = counts.judge_instruction_counts(whole, whole)
    named = [line for line in tally.failed if line.startswith("density-full/")]
    assert len(named) == failed
    assert all("marker-jump-16 does not add 16 instructions" in line for line in named)
