# SPDX-License-Identifier: GPL-2.0-only
"""Tests of benchmarks that enable and disable many sites: collecting, medians, tables and
limits."""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import rawdata
from kmtools.analyse import switching
from kmtools.analyse.kept_blocks import KeptBlocks
from kmtools.analyse.stats import Interval
from kmtools.base.paths import ROOT
from kmtools.cli import main
from kmtools.measure import rundir
from kmtools.measure.samples import Sample, read_samples
from kmtools.report import restable, switchtable

COST = {"batched": 30, "one-by-one": 70_000, "static-key-one": 3_000}
SIZES = (1, 100, 10_000)
BLOCKS = 8

Line = tuple[object, ...]


def make_scaling_samples() -> list[Line]:
    """Return samples of switching: the time grows linearly with the number of sites, and each
    switch takes 3 rounds."""
    lines: list[Line] = []
    for block in range(BLOCKS):
        for variant, cost in COST.items():
            for sites in SIZES:
                ticks = 1000 + cost * sites + block
                where = (0, block, 0, 1, "", sites)
                lines.append(("arm-scaling", variant, "switch", *where, ticks, "ticks", "", ""))
                gap = (f"{variant}-stall", "gap", *where, 500, "ticks")
                lines.append(("arm-scaling", *gap, "", ""))
        for sites in SIZES:
            where = (0, block, 0, 1, "", sites)
            count = (switching.ROUND_COUNT, "rounds", *where, 3, "rounds")
            lines.append(("arm-scaling", *count, "", ""))
    return lines


def make_stall_samples() -> list[Line]:
    """Return samples of gaps (times for which another CPU did not run) with 10,000 sites."""
    gaps = {
        "idle-stall": 100, "batched-stall": 400, "stop-machine-stall": 8000,
        "interrupts-stall": 390,
    }  # fmt: skip
    return [
        ("arm-stall", variant, "gap", 0, block, 0, 1, "", 10_000, gap + block, "ticks", "", "")
        for block in range(BLOCKS)
        for variant, gap in gaps.items()
    ]


@pytest.fixture(name="raw")
def write_switching_samples(tmp_path: Path) -> Path:
    """Write a raw directory with samples of loops and of switching."""
    path = rawdata.write_raw_folder(tmp_path / "vm", 24, 1, rawdata.BENCHES[:1], emulated="1")
    rawdata.write_raw_csv(path / "arm-scaling.csv", make_scaling_samples())
    rawdata.write_raw_csv(path / "arm-stall.csv", make_stall_samples())
    return path


@pytest.fixture(name="run")
def collect_switching_run(raw: Path, tmp_path: Path) -> Path:
    """Collect the raw directory; return the run."""
    path = tmp_path / "results" / "run"
    assert main(["collect", str(path), f"--raw=vm={raw}"]) == 0
    return path


def compute_switching_points(run: Path) -> list[switching.SwitchPoint]:
    """Return the medians of switching in the run."""
    env = rundir.read_env(run / "env.json")
    return switching.compute_switching_medians(
        read_samples(run / "samples.csv", rundir.make_tiers(env))
    )


def test_switching_results_have_medians_and_units(run: Path) -> None:
    found = switching.find_switch_point(
        compute_switching_points(run), "arm-scaling", "batched", 10_000
    )
    assert found is not None
    assert found.n == BLOCKS
    assert found.median == 1000 + 30 * 10_000 + 3.5
    assert found.unit == rundir.UNIT_EMULATED
    rounds = switching.find_switch_point(
        compute_switching_points(run), "arm-scaling", switching.ROUND_COUNT, 10_000
    )
    assert rounds is not None
    assert (rounds.median, rounds.unit) == (3, "rounds")


def test_switching_medians_are_ordered_by_tier_kernel_benchmark_and_sites() -> None:
    """The tiers are in the order of tables, which is not alphabetical; the numbers of sites
    ascend."""
    wanted = [
        (tier, kernel, benchmark, "batched", sites)
        for tier in ("native", "metal", "vm", "icount")
        for kernel in ("5.10", "6.1")
        for benchmark in ("arm-one", "arm-scaling")
        for sites in (9, 10, 100)
    ]
    samples = [
        Sample(
            tier, kernel, 1, benchmark, variant, "switch", 0, 0, 0, 1, None, sites, 7, "ticks",
            None, (),
        )
        for tier, kernel, benchmark, variant, sites in sorted(wanted, reverse=True)
    ]  # fmt: skip
    found = switching.compute_switching_medians(samples)
    assert [(p.tier, p.kernel, p.benchmark, p.variant, p.sites) for p in found] == wanted


def test_switching_table_has_ratios_parts_and_gaps(run: Path) -> None:
    heads, rows = switchtable.make_switch_time_rows(compute_switching_points(run))
    assert heads[1:] == ["1", "100", "10,000", "ratio to one batch at 10,000"]
    ratios = {row[0]: row[-1] for row in rows}
    assert ratios["ours, one batch"] == "1.000"
    assert ratios["one static key"] == "99.67"
    _, parts = switchtable.make_batch_part_rows(compute_switching_points(run))
    assert parts[-1] == ["round count of the batch", "3", "3", "3"]
    _, stalls = switchtable.make_interruption_rows(compute_switching_points(run))
    assert [row[0] for row in stalls] == [
        "ours, one batch",
        "stop_machine (in a buffer)",
        "three interrupts, nothing switched",
        "nothing",
    ]
    assert stalls[0][-1] == "5.0 %"


def list_limit_outcomes(points: list[switching.SwitchPoint]) -> dict[str, str]:
    """Return the outcome ("kept", "BROKEN") of each limit, keyed by its description."""
    return {row[0]: row[-1] for row in switchtable.make_switching_limit_rows(points)[1]}


def test_simulated_switching_is_within_all_limits(run: Path) -> None:
    assert list_limit_outcomes(compute_switching_points(run)) == {
        "rounds of a batch of any size": "kept",
        "one static key / one batch": "kept",
        "switched one by one / one batch": "kept",
        "gap of a batch / gap of its interrupts alone": "kept",
    }


@pytest.mark.parametrize(
    ("words", "variant", "median"),
    [
        ("rounds of a batch of any size", switching.ROUND_COUNT, 4),
        ("one static key / one batch", "static-key-one", 0.99 * 301_003.5),
        ("switched one by one / one batch", "one-by-one", 0.99 * 301_003.5),
    ],
)
def test_switching_beyond_a_limit_is_reported_as_broken(
    run: Path, words: str, variant: str, median: float
) -> None:
    changed = [
        dataclasses.replace(p, median=median) if p.variant == variant else p
        for p in compute_switching_points(run)
    ]
    assert list_limit_outcomes(changed)[words] == "BROKEN"


GAP = "gap of a batch / gap of its interrupts alone"


@pytest.mark.parametrize(
    ("gap", "half_width", "outcome"),
    [
        (1.0, 0.9, "kept"),
        (1.9, 0.2, "unresolved"),
        (2.1, 0.2, "unresolved"),
        (2.1, 0.05, "BROKEN"),
        (20.0, float("inf"), "unresolved"),
    ],
)
def test_outcome_of_the_gap_is_unresolved_if_the_limit_is_inside_the_interval(
    run: Path, gap: float, half_width: float, outcome: str
) -> None:
    points = compute_switching_points(run)
    interrupts = switching.find_switch_point(points, "arm-stall", "interrupts-stall", 10_000)
    assert interrupts is not None
    unit = interrupts.median
    changed = [
        dataclasses.replace(
            p, median=gap * unit, ci=Interval((gap - half_width) * unit, (gap + half_width) * unit)
        )
        if p.benchmark == "arm-stall" and p.variant == "batched-stall"
        else dataclasses.replace(p, ci=Interval(unit, unit))
        if p is interrupts
        else p
        for p in points
    ]
    assert list_limit_outcomes(changed)[GAP] == outcome


def test_switching_of_the_reference_run_is_within_all_limits(tmp_path: Path) -> None:
    reference_run = ROOT / "results" / "reference"
    path = tmp_path / "samples.csv"
    path.write_bytes(gzip.decompress((reference_run / "samples.csv.gz").read_bytes()))
    tiers = rundir.make_tiers(rundir.read_env(reference_run / "env.json"))
    measured = switching.compute_switching_medians(read_samples(path, tiers))
    places = {(p.tier, p.kernel) for p in measured if p.tier in ("native", "vm")}
    assert {tier for tier, _ in places} == {"native", "vm"}
    for tier, kernel in places:
        own = switching.select_switch_points_of_tier(measured, tier, kernel)
        # A reference run that is older than a limit may lack the data that the limit needs.
        known = [p for p in switching.LIMITS if p.tier == tier and p.measure(own) is not None]
        assert "rounds of a batch of any size" in [p.words for p in known]
        assert list_limit_outcomes(own) == {p.words: "kept" for p in known}


NATIVE_COSTS = {
    # For each variant: the fixed cost, and the cost of each site, in ticks.
    "batched": (20_000, 24.0), "stores-alone": (1000, 10.0), "rounds-by-hand": (16_000, 0.0),
}  # fmt: skip
NATIVE_SIZES = (1, 1000, 10_000, 100_000, 1_000_000)


def simulate_native_switching(
    tmp_path: Path, **changed: tuple[int, float]
) -> list[switching.SwitchPoint]:
    """Return medians of simulated switching with NATIVE_COSTS, except for the `changed` costs;
    `million` is the cost of the variant batched at a million sites."""
    million = changed.pop("million", None)
    lines: list[Line] = []
    for block in range(BLOCKS):
        for variant, cost in {**NATIVE_COSTS, **changed}.items():
            for sites in NATIVE_SIZES if variant != "rounds-by-hand" else (1,):
                large = million if variant == "batched" and sites == 10**6 else None
                fixed, each = large or cost
                where = (0, block, 0, 1, "", sites)
                ticks = round(fixed + each * sites)
                lines.append(("arm-scaling", variant, "switch", *where, ticks, "ticks", "", ""))
    path = rawdata.write_raw_folder(tmp_path / "native", 24, 1, rawdata.BENCHES[:1])
    rawdata.write_raw_csv(path / "arm-scaling.csv", lines)
    run = tmp_path / "results" / "native"
    assert main(["collect", str(run), f"--raw=native={path}"]) == 0
    return compute_switching_points(run)


STORED, ROUNDED, MILLION = (
    "time of one more site / time of its stores",
    "batch of one site / map and three rounds",
    "one more site beyond 100,000 / its stores",
)


def test_slower_machine_keeps_the_native_switching_limits(tmp_path: Path) -> None:
    """A machine that is three times slower keeps the limits, too."""
    kept = dict.fromkeys((STORED, ROUNDED, MILLION), "kept")
    assert list_limit_outcomes(simulate_native_switching(tmp_path / "a")) == kept
    slow = {name.replace("-", "_"): (3 * a, 3 * b) for name, (a, b) in NATIVE_COSTS.items()}
    named = {name.replace("_", "-"): cost for name, cost in slow.items()}
    assert list_limit_outcomes(simulate_native_switching(tmp_path / "b", **named)) == kept


@pytest.mark.parametrize(
    ("broken", "variant", "cost"),
    [
        ({STORED, MILLION}, "batched", (20_000, 25.2)),
        ({ROUNDED}, "batched", (20_900, 24.0)),
        ({MILLION}, "million", (20_000, 25.0)),
    ],
)
def test_a_ratio_beyond_its_limit_is_reported_as_broken(
    tmp_path: Path, broken: set[str], variant: str, cost: tuple[int, float]
) -> None:
    outcome = list_limit_outcomes(simulate_native_switching(tmp_path, **{variant: cost}))
    assert {words for words, kept in outcome.items() if kept == "BROKEN"} == broken


@pytest.mark.parametrize(
    ("each", "half_width", "outcome"),
    [(25.2, 0.0, "BROKEN"), (25.2, 0.01, "unresolved"), (24.0, 0.01, "kept"), (40.0, 0.1, "BROKEN"),
     (40.0, math.inf, "unresolved"), (24.0, 0.1, "kept")],
)  # fmt: skip
def test_noisy_medians_do_not_break_a_limit(
    tmp_path: Path, each: float, half_width: float, outcome: str
) -> None:
    """A limit is broken only if no values in the intervals of the medians keep the limit. The limit
    is 25 ticks for each site; `half_width` is half the width of an interval, as a share of its
    median."""
    points = [
        dataclasses.replace(
            p, ci=Interval(p.median * (1 - half_width), p.median * (1 + half_width))
        )
        for p in simulate_native_switching(tmp_path, batched=(20_000, each))
    ]
    assert list_limit_outcomes(points)[STORED] == outcome


def make_switching_point(
    variant: str, sites: int, median: float, *ends: float
) -> switching.SwitchPoint:
    """Return the time of a switch, or a gap or a number of rounds, with an interval of no width, or
    with the ends `ends`."""
    stall, rounds = variant.endswith("-stall"), variant == switching.ROUND_COUNT
    return switching.SwitchPoint(
        "vm", "k", "arm-stall" if stall else "arm-scaling", variant,
        "gap" if stall else "rounds" if rounds else "switch", sites, "ticks", 8, median,
        Interval(*ends) if ends else Interval(median, median),
    )  # fmt: skip


ROUNDS, STALLS = "rounds of a batch of any size", ("batched-stall", "interrupts-stall")
BATCH, STORES = "batched", "stores-alone"


@pytest.mark.parametrize("beyond", [0.0, 0.001])
@pytest.mark.parametrize(
    ("tier", "words", "bound", "points"),
    [
        ("native", ROUNDS, "at most 3", [(switching.ROUND_COUNT, 1, 3)]),
        ("metal", ROUNDS, "at most 3", [(switching.ROUND_COUNT, 1, 3)]),
        (
            "native", "time of one more site / time of its stores", "at most 2.5",
            [(BATCH, 10_000, 25 * 9000), (BATCH, 1000, 0), (STORES, 1000, 0),
             (STORES, 10_000, 10 * 9000)],
        ),
        (
            "native", "one more site beyond 100,000 / its stores", "at most 2.5",
            [(BATCH, 10**6, 25 * 900), (BATCH, 10**5, 0), (STORES, 10**5, 0),
             (STORES, 10**6, 10 * 900)],
        ),
        (
            "native", "batch of one site / map and three rounds", "at most 1.3",
            [(BATCH, 1, 13), ("rounds-by-hand", 1, 10)],
        ),
        ("vm", "one static key / one batch", "at least 1",
         [("static-key-one", 10_000, 7), (BATCH, 10_000, 7)]),
        ("vm", "many static keys / one batch", "at least 1",
         [("static-keys-many", 10_000, 7), (BATCH, 10_000, 7)]),
        ("metal", "switched one by one / one batch", "at least 1",
         [("one-by-one", 10_000, 7), (BATCH, 10_000, 7)]),
        ("metal", GAP, "at most 2", [(STALLS[0], 10_000, 14), (STALLS[1], 10_000, 7)]),
    ],
)  # fmt: skip
def test_value_at_its_limit_keeps_the_limit(
    tier: str, words: str, bound: str, points: list[tuple[str, int, float]], beyond: float
) -> None:
    """At the limit, `points` keep the limit. With the first point moved beyond the limit by the
    share `beyond` of its value, they do not."""
    sign = -1 if "least" in bound else 1
    first, *others = points
    measured = [make_switching_point(*first[:2], first[2] * (1 + sign * beyond))]
    measured += [make_switching_point(*one) for one in others]
    (limit,) = (one for one in switching.LIMITS if (one.tier, one.words) == (tier, words))
    value = f"{float(bound.rpartition(' ')[2]) * (1 + sign * beyond):.4g}"
    outcome = "BROKEN" if beyond else "kept"
    assert limit.make_table_row(measured) == [words, bound, value, outcome]
    assert limit.make_table_row(measured[1:]) is None


@pytest.mark.parametrize(
    ("ours", "ends", "strict", "outcome"),
    [
        (2.1, (2.0, 2.2), False, "BROKEN"),
        (2.1, (1.99, 2.2), False, "unresolved"),
        (1.9, (1.8, 2.2), False, "kept"),
        (1.9, (1.8, 2.0), True, "kept"),
        (1.9, (1.8, 2.01), True, "unresolved"),
    ],
)
def test_limit_equal_to_an_end_of_the_interval_is_resolved(
    ours: float, ends: tuple[float, float], strict: bool, outcome: str
) -> None:
    points = [
        make_switching_point(STALLS[0], 10_000, ours, *ends),
        make_switching_point(STALLS[1], 10_000, 1),
    ]
    limit = switching.SwitchingLimit(
        "vm", "x", switching.compute_batch_to_interrupts_gap_ratio, True, 2, strict
    )
    assert limit.make_table_row(points) == ["x", "at most 2", f"{ours:g}", outcome]


def test_range_of_a_quotient_has_its_extreme_values() -> None:
    """The gaps are 6 to 12 and 2 to 3. If the divisor may be zero, there is no upper bound. Points
    that the measure does not need have no effect."""
    ratio = switching.compute_batch_to_interrupts_gap_ratio
    own, other = (
        make_switching_point(STALLS[0], 10_000, 8, 6, 12),
        make_switching_point(STALLS[1], 10_000, 2, 2, 3),
    )
    unused = make_switching_point("idle-stall", 10_000, 1, -math.inf, math.inf)
    assert switching.compute_measure_range(ratio, [unused, own, other]) == Interval(2, 6)
    low = replace(other, ci=Interval(0, 3))
    assert switching.compute_measure_range(ratio, [own, low]) == Interval(2, math.inf)
    unknown = replace(other, ci=Interval(-math.inf, math.inf))
    assert switching.compute_measure_range(ratio, [own, unknown]).lo == -math.inf


@pytest.mark.parametrize(
    ("dividend", "divisor", "found"),
    [
        (6.0, 2.0, 3),
        (0.0, 2.0, 0),
        (6.0, 0.0, None),
        (6.0, -1.0, None),
        (None, 2, None),
        (6, None, None),
    ],
)
def test_quotient_of_an_unknown_time_or_by_zero_is_unknown(
    dividend: float | None, divisor: float | None, found: float | None
) -> None:
    assert switching.divide_if_known(dividend, divisor) == found
    batch = [make_switching_point("one-by-one", 10_000, 6), make_switching_point(BATCH, 10_000, 0)]
    assert switching.make_batch_ratio_function("one-by-one")(batch) is None


def test_largest_round_count_is_over_all_batch_sizes() -> None:
    points = [
        make_switching_point(switching.ROUND_COUNT, n, rounds)
        for n, rounds in ((1, 3), (9, 5), (99, 4))
    ]
    assert (
        switching.find_largest_sync_round_count([make_switching_point(BATCH, 1, 99), *points]) == 5
    )
    assert switching.find_largest_sync_round_count([make_switching_point(BATCH, 1, 99)]) is None


@pytest.mark.parametrize(
    ("rounds", "low", "outcome", "look"),
    [(3, 3, "kept", "equivalent"), (4, 4, "BROKEN", "slower"), (4, 2, "unresolved", "unresolved")],
)
def test_outcome_of_a_switching_limit_has_a_colour(
    rounds: int, low: int, outcome: str, look: str
) -> None:
    page = restable.render_switching_limits_html(
        [make_switching_point(switching.ROUND_COUNT, 1, rounds, low, rounds)]
    )
    assert f'<td class="v {look}">{outcome}</td></tr>' in page and page.count("</tr>") == 2


def test_unbounded_interval_of_a_switch_is_null_in_json() -> None:
    point = make_switching_point("batched-stall", 10, 7.5, -math.inf, math.inf)
    assert point.to_json_entry() == {
        "tier": "vm", "kernel": "k", "benchmark": "arm-stall", "variant": "batched-stall",
        "measured": "gap", "sites": 10, "unit": "ticks", "n": 8, "median": 7.5, "ci_lo": None,
        "ci_hi": None,
    }  # fmt: skip
    assert (point.method, point.is_time) == ("batched", False)
    bounded = make_switching_point(BATCH, 10, 7.5, 7.0, 8.0)
    assert (bounded.method, bounded.is_time) == ("batched", True)
    assert (bounded.to_json_entry()["ci_lo"], bounded.to_json_entry()["ci_hi"]) == (7, 8)


def test_report_of_switching_within_all_limits_does_not_say_broken(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(run)]) == 0
    assert "BROKEN" not in capsys.readouterr().out
    assert main(["table", str(run), "--all"]) == 0
    text = capsys.readouterr().out
    assert "time to switch sites" in text
    assert "arm-scaling" not in text.split("time to switch")[0], "a table of slopes has switches"
    page = (run / "report.html").read_text()
    assert "Time of one switch" in page and "Limits on switching" in page
    assert (run / "figures" / "switching-vm.svg").is_file()
    entries = json.loads((run / "summary.json").read_text())["switching"]
    one = [e for e in entries if e["variant"] == "one-by-one" and e["sites"] == 100]
    assert len(one) == 1
    assert one[0]["median"] == 1000 + 70_000 * 100 + 3.5


def test_report_names_a_broken_limit(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = next(one for one in switching.LIMITS if one.tier == "vm")
    monkeypatch.setattr(switching, "LIMITS", (replace(rounds, limit=2),))
    assert main(["report", str(run), "--no-figures"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "BROKEN: rounds of a batch of any size: 3, limit at most 2" in said


def test_quick_report_names_no_broken_limit(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = next(one for one in switching.LIMITS if one.tier == "vm")
    monkeypatch.setattr(switching, "LIMITS", (replace(rounds, limit=2),))
    env = json.loads((run / "env.json").read_text())
    env["run"] = {**(env.get("run") or {}), "quick": True}
    (run / "env.json").write_text(json.dumps(env))
    assert main(["report", str(run), "--no-figures"]) == 0
    said = capsys.readouterr().out.split("\n\n")
    assert not any("BROKEN" in part for part in said if "limits on switching" not in part)


def test_report_of_switching_alone_ends_with_the_times(
    raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loops = [path for path in raw.glob("*.csv") if not path.name.startswith("arm-")]
    assert loops
    for path in loops:
        path.unlink()
    run = tmp_path / "run"
    assert main(["collect", str(run), f"--raw=vm={raw}"]) == 0
    capsys.readouterr()
    assert main(["report", str(run), "--no-figures"]) == 0
    said = capsys.readouterr().out
    assert "time to switch sites" in said and "one static key" in said
    assert "no results" not in said and len(said.splitlines()) <= 40


def test_truncated_samples_are_refused(
    raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rawdata.write_raw_csv(raw / "arm-scaling.csv", make_scaling_samples()[:-1])
    assert main(["collect", str(tmp_path / "run"), f"--raw=vm={raw}"]) == 1
    assert "truncated" in capsys.readouterr().err


def make_time_point(
    variant: str,
    sites: int,
    median: float,
    benchmark: str = "arm-scaling",
    half: float = 1.0,
    **changed: Any,
) -> switching.SwitchPoint:
    """Return a point with the interval `median` ± `half`."""
    measured = "gap" if benchmark == "arm-stall" else "switch"
    ci = Interval(median - half, median + half)
    return dataclasses.replace(
        switching.SwitchPoint(
            "vm", "6.1", benchmark, variant, measured, sites, "ticks", 8, median, ci
        ),
        **changed,
    )


def test_ratio_to_one_batch_is_taken_at_no_more_than_10_000_sites() -> None:
    """The columns are the numbers of sites of other methods. The ratio is computed at the largest
    of these numbers that is at most 10,000."""
    ours = [make_time_point("batched", 10**n, 2000.0 * 10**n) for n in (2, 3, 4, 5, 6)]
    other = [make_time_point("one-by-one", 10**n, 3000.0 * 10**n) for n in (2, 3)]
    heads, rows = switchtable.make_switch_time_rows([*other, *ours])
    assert heads == ["method", "100", "1,000", "ratio to one batch at 1,000"]
    assert rows == [
        ["ours, one batch", "200k", "2.00M", "1.000"],
        ["ours, one by one", "300k", "3.00M", "1.500"],
    ]
    many = [
        *ours,
        make_time_point("stop-machine", 10**5, 8e8),
        make_time_point("stop-machine", 10**4, 4e7),
    ]
    heads, rows = switchtable.make_switch_time_rows(many)
    assert heads == ["method", "10,000", "100,000", "ratio to one batch at 10,000"]
    assert rows[1] == ["stop_machine (in a buffer)", "40.0M", "800M", "2.000"]
    part = make_time_point("batched-map", 10, 5.0, measured="part")
    lone = [make_time_point("idle", 100, 7.0), make_time_point("unknown", 10, 1.0), part]
    assert switchtable.make_switch_time_rows(lone) == (
        ["method", "10", "100", "ratio to one batch at 100"], [["nothing", "", "7", ""]],
    )  # fmt: skip
    zero = [make_time_point("batched", 100, 0.0), make_time_point("idle", 100, 7.0)]
    assert [row[1:] for row in switchtable.make_switch_time_rows(zero)[1]] == [["0", ""], ["7", ""]]


def test_switching_table_without_other_methods_has_no_ratio() -> None:
    ours = [make_time_point("batched", n, 2000.0 * n) for n in (10, 1)]
    ours.append(make_time_point("batched-map", 3, 5.0, measured="part"))
    assert switchtable.make_switch_time_rows(ours) == (
        ["method", "1", "10"], [["ours, one batch", "2.00k", "20.0k"]],
    )  # fmt: skip


def test_times_of_batch_parts_are_divided_by_the_sites() -> None:
    points = [
        make_time_point("batched", 100, 900.0),
        make_time_point("batched", 10, 100.0),
        make_time_point("one-by-one", 7, 70.0),
        make_time_point("batched", 8, 9.0, "arm-stall"),
        make_time_point("batched-map", 10, 25.0),
        make_time_point("batched-round-count", 100, 2.5),
    ]
    heads, rows = switchtable.make_batch_part_rows(points)
    assert heads == ["part, per site", "10", "100"]
    assert rows == [
        ["all", "10.00", "9.000"],
        ["validate", "", ""],
        ["map", "2.500", ""],
        ["rounds", "", ""],
        ["round count of the batch", "", "2.5"],
    ]


def test_gaps_are_relative_to_the_gap_of_stop_machine() -> None:
    """The gaps are compared at the same number of sites. There is no share if the gap of
    stop_machine is 0."""
    gaps = [
        *(("idle", 10, 50.0), ("stop-machine", 10, 2000.0), ("batched", 10, 500.0)),
        *(("batched", 9, 500.0), ("batched", 1000, 1.0), ("stop-machine", 1000, 0.0)),
        # A method of another version of kmarkers has no row, as in the table of times.
        ("other", 10, 70.0),
    ]
    points = [make_time_point(f"{way}-stall", n, gap, "arm-stall") for way, n, gap in gaps]
    heads, rows = switchtable.make_interruption_rows([make_time_point("batched", 3, 4.0), *points])
    assert heads == ["method", "sites", "median gap", "95 %", "switches", "of stop_machine's gap"]
    stop = "stop_machine (in a buffer)"
    assert rows == [
        ["ours, one batch", "10", "500", "[499.0, 501.0]", "8", "25.0 %"],
        ["ours, one batch", "9", "500", "[499.0, 501.0]", "8", ""],
        ["ours, one batch", "1,000", "1", "[0.000, 2.000]", "8", ""],
        [stop, "10", "2,000", "[1999, 2001]", "8", "100.0 %"],
        [stop, "1,000", "0", "[-1.000, 1.000]", "8", ""],
        ["nothing", "10", "50", "[49.00, 51.00]", "8", "2.5 %"],
    ]


def test_only_tables_with_rows_are_shown_for_each_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    """A note on missing blocks is printed once, below the tables of its benchmark."""
    monkeypatch.setenv("COLUMNS", "100")
    blocks = KeptBlocks(5, 8, 8)
    gap = make_time_point("idle-stall", 10, 50.0, "arm-stall", kernel="5.10")
    points = [
        make_time_point("stores-alone", 10, 20.0, tier="native", unit="TSC cycles", blocks=blocks),
        make_time_point("stores-alone", 20, 30.0, tier="native", unit="TSC cycles", blocks=blocks),
        dataclasses.replace(gap, blocks=KeptBlocks(8, 8, 8)),
    ]
    assert [text.splitlines() for text in switchtable.make_switch_tables(points)] == [
        [
            "native, kernel 6.1: time to switch sites, TSC cycles",
            "  method                      10  20  ratio to one batch at 20",
            "  a map and the stores alone  20  30",
            "5 of 8 blocks: 3 flagged",
        ],
        [
            "vm, kernel 5.10: longest gap of a CPU that executes no site, ticks",
            "  method   sites  median gap            95 %  switches  of stop_machine's gap",
            "  nothing     10          50  [49.00, 51.00]         8",
        ],
    ]
    monkeypatch.setenv("COLUMNS", "44")
    lines = switchtable.make_switch_tables(points[2:])[0].splitlines()
    assert len(lines) == 7 and max(map(len, lines)) == 44
    monkeypatch.setenv("COLUMNS", "43")
    assert max(map(len, switchtable.make_switch_tables(points[2:])[0].splitlines())) <= 43
