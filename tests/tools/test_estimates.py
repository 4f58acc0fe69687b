# SPDX-License-Identifier: GPL-2.0-only
"""Tests of estimates.json, and of comparisons between runs with different amounts of data."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import manyruns
import numpy as np
import pytest
from kmtools.analyse import changes, estimates
from kmtools.analyse.estimates import TierGrade
from kmtools.analyse.rows import (
    SHARE,
    WHOLE,
    Row,
    RowName,
    make_loop_rows,
    make_run_rows,
    make_timed_row,
)
from kmtools.analyse.slopes import Slope
from kmtools.analyse.verdicts import EQUIVALENT, FASTER, SLOWER
from kmtools.base.errors import FailedError
from kmtools.cli import main
from kmtools.measure.rundir import UNIT_TSC, Tier
from kmtools.measure.samples import Sample

TIER = Tier("native", "k", UNIT_TSC, False, {}, {})
PROCESSES, LAYOUTS, VARIANTS = 16, 32, 6
# The relative cost that each code layout adds: two layouts add 50 %.
LAYOUT_COSTS = np.where(np.isin(np.arange(LAYOUTS), (14, 31)), 0.5, 0.0)


def make_noisy_row(x: np.ndarray, layout: np.ndarray, blocks: int, variant: str = "v") -> Row:
    """Return a row with `blocks` blocks for each process; `x` has the relative cost of each block,
    and `layout` the code layout of each block."""
    series = [
        Slope(n, int(at), round(value * 1e9), 10**9, n // blocks + 1)
        for n, (value, at) in enumerate(zip(x, layout, strict=True))
    ]
    return make_timed_row(RowName("native", "b", variant), TIER, SHARE, "base", 75.0, series)


def simulate_run(seed: int, blocks: int, last_row_factor: float = 1.0) -> list[Row]:
    """Return a simulated run: rows with effects of code layouts and skewed noise of blocks and
    processes. The cost of the last row is multiplied by `last_row_factor`."""
    random = np.random.default_rng(seed)
    count = PROCESSES * blocks
    rows = []
    for number in range(VARIANTS):
        layout = np.concatenate([random.permutation(LAYOUTS) for _ in range(count // LAYOUTS + 1)])
        layout = layout[:count]
        noise = 0.002 * random.standard_normal(count)
        noise += 0.05 * random.exponential(1, count) * (random.random(count) < 0.05)
        process = np.repeat(0.0001 * random.standard_normal(PROCESSES), blocks)
        x = (1 + number / 10) * (1 + LAYOUT_COSTS[layout] + noise + process)
        x *= last_row_factor if number == VARIANTS - 1 else 1.0
        rows.append(
            make_noisy_row(x, layout, blocks, "base-clone" if number == 0 else f"v{number}")
        )
    return rows


def test_no_pair_of_identical_runs_raises_an_alarm() -> None:
    """In 28 pairs of runs of the same program, at least 70 % of the rows are equivalent, and none
    is slower or faster. A variant that costs 1 % more is always found."""
    runs = [simulate_run(seed, 128) for seed in range(8)]
    said: Counter[str] = Counter()
    for a, b in combinations(runs, 2):
        said += Counter(change.verdict for change in changes.compare_rows(a, b))
    assert not said[SLOWER] and not said[FASTER]
    assert said[EQUIVALENT] >= 0.7 * said.total()
    costlier_runs = [simulate_run(100 + seed, 128, 1.01) for seed in range(3)]
    for a, b in product(runs[:3], costlier_runs):
        found = {change.name.variant: change.verdict for change in changes.compare_rows(a, b)}
        assert [name for name, verdict in found.items() if verdict == SLOWER] == ["v5"]


def test_estimates_do_not_depend_on_the_number_of_blocks() -> None:
    """In each pair of runs with 32, 40 or 128 blocks, all rows are comparable, and none is slower
    or faster."""
    runs = [
        simulate_run(10 * blocks + seed, blocks) for blocks in (32, 40, 128) for seed in range(3)
    ]
    for a, b in combinations(runs, 2):
        verdicts = {change.verdict for change in changes.compare_rows(a, b)}
        assert not verdicts & {SLOWER, FASTER, changes.NOT_COMPARABLE}


def make_row_without_noise(blocks: int) -> Row:
    """Return a row without noise, with one process and 32 layouts, two of which cost twice as
    much."""
    layout = np.arange(blocks) % LAYOUTS
    return make_noisy_row(1 + 2 * LAYOUT_COSTS[layout], layout, blocks)


def test_rows_with_too_few_blocks_per_layout_are_not_compared() -> None:
    """A row with too few blocks to estimate each layout is not compared with a row that has enough
    blocks, and the note names this reason."""
    few, some, many = (
        make_row_without_noise(32),
        make_row_without_noise(96),
        make_row_without_noise(128),
    )
    (found,) = changes.compare_rows([few], [many])
    why = "A has too few blocks to tell its code layouts apart, B has enough"
    assert (found.verdict, found.note) == (changes.NOT_COMPARABLE, why)
    assert changes.compare_rows([some], [many])[0].percent == pytest.approx(0, abs=1e-9)
    assert changes.compare_rows([few], [few])[0].percent == 0


def test_stored_estimates_are_used_only_if_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stored estimates are used. The estimates are computed again if estimates.json is damaged or
    of another version, or if the samples changed."""
    (run,) = manyruns.write_simulated_runs(tmp_path, 1)
    made = estimates.load_estimates(run)
    file, samples = run / "estimates.json", run / "samples.csv"
    text = file.read_text()
    with monkeypatch.context() as blind:
        blind.setattr(estimates, "read_samples", None)
        kept = estimates.load_estimates(run)
    assert [row.name for row in kept.rows] == [row.name for row in made.rows]
    for ours, theirs in zip(kept.rows, made.rows, strict=True):
        assert ours.values == pytest.approx(theirs.values, rel=1e-8)
        assert (ours.places, ours.poor, ours.crowded) == (
            theirs.places,
            theirs.poor,
            theirs.crowded,
        )
    assert kept.grades == made.grades and kept.grades[0].grade == "good"
    known = json.loads(text)
    wrong = [
        text[:-9], "", "[]", json.dumps({**known, "schema": 2}),
        json.dumps({**known, "estimator": 0}),
        text.replace('"benchmark":"memcpy-4096"', '"benchmark":"\\u001b[31m"'),
        text.replace('"tier":"native"', '"tier":"vm"'),
    ]  # fmt: skip
    for spoiled in wrong:
        file.write_text(spoiled)
        again = estimates.load_estimates(run)
        assert [row.name for row in again.rows] == [row.name for row in made.rows]
        assert file.read_text() == text
    samples.write_text(samples.read_text().replace(",loop,0,", ",loop,x,", 1))
    with pytest.raises(FailedError, match=r"samples\.csv:3: layout is not an integer"):
        estimates.load_estimates(run)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "fair numbers"),
        (1, "fair numbers: reason 0"),
        (2, "fair numbers: reason 0 (1 more reason in its report)"),
        (3, "fair numbers: reason 0 (2 more reasons in its report)"),
    ],
)
def test_first_reason_of_a_grade_is_printed_and_further_ones_are_counted(
    count: int, expected: str
) -> None:
    """A comparison prints the grade of each tier in one line. Reasons that would give a better
    grade are not counted."""
    reasons = [("good", "a better one"), *(("fair", f"reason {n}") for n in range(count))]
    grade = TierGrade("native", "6.1", "fair", tuple(reasons))
    assert grade.words == f"native, kernel 6.1: {expected}"


def test_run_with_a_poor_grade_raises_no_alarm_but_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = manyruns.write_simulated_runs(tmp_path, 2)
    words = ["compare", str(a), str(b), "--fail-on", "costlier"]
    assert main(words) == 1
    assert "numbers" in capsys.readouterr().out
    env = json.loads((b / "env.json").read_text())
    (b / "env.json").write_text(json.dumps({**env, "run": {"quick": True}}))
    out = tmp_path / "out.json"
    assert main([*words, f"--json={out}"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "poor numbers: a quick run of few blocks" in said
    assert "rows are withheld: B: a quick run of few blocks." in said
    assert "rows are withheld, because the numbers of a run are poor" in said
    (pair,) = json.loads(out.read_text())["pairs"]
    assert pair["b"]["grades"] and "slower" not in {row["verdict"] for row in pair["rows"]}
    assert main([*words[:3], "--fail-on", "withheld"]) == 1


def test_fleet_ignores_machines_with_a_poor_grade(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run in manyruns.write_simulated_runs(tmp_path, 8)[:2]:
        env = json.loads((run / "env.json").read_text())
        (run / "env.json").write_text(json.dumps({**env, "run": {"quick": True}}))
    assert main(["fleet", str(tmp_path), "--by", "cpu", "--fail-on", "costlier"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("rows of 1 machines are left out, because they are poor") == 2
    assert "withheld" not in said


def test_clock_step_below_block_noise_does_not_widen_intervals() -> None:
    """The resolution of the clock widens an interval only if blocks vary by less than a step of the
    clock."""
    random = np.random.default_rng(3)
    x, layout = 1 + 0.002 * random.standard_normal(512), np.arange(512) % LAYOUTS
    series = [Slope(n, int(layout[n]), round(x[n] * 1e9), 10**9, n // 32 + 1) for n in range(512)]
    name = RowName("native", "b", "v")
    fine, coarse = (
        make_timed_row(name, TIER, SHARE, "base", 75.0, series, step) for step in (1e-3, 0.1)
    )
    assert (fine.resolution, coarse.resolution) == (0.0, 0.1)


@pytest.mark.parametrize(("step", "kept"), [(0.001, True), (0.0001, False)])
def test_clock_step_of_a_whole_row_is_compared_in_its_unit(step: float, kept: bool) -> None:
    """Blocks cost 75 ticks with an interquartile range of 0.05 ticks. A clock step of a thousandth
    of the cost exceeds this range; a step of a ten-thousandth does not."""
    series = [Slope(n, 0, 7_500_000 + (0, 2500, 5000, 7500)[n % 4], 10**5) for n in range(64)]
    row = make_timed_row(RowName("native", "b", "none"), TIER, WHOLE, "none", 75.0, series, step)
    assert row.resolution == (step if kept else 0)


def make_switch_samples(values: dict[tuple[str, str, int], int]) -> list[Sample]:
    """Return a sample of a switch for each item of `values`: the tier, kernel and number of sites,
    and the time."""
    return [
        Sample(
            tier, kernel, 1, "arm", "batched", "switch", 0, block, 0, 0, None, sites, value + block,
            "ticks", None, (),
        )
        for (tier, kernel, sites), value in values.items() for block in (8, 0)
    ]  # fmt: skip


def test_rows_of_switches_are_ordered_by_tier_sites_and_kernel() -> None:
    """The tiers are in the order of tables. The cost is the median time."""
    wanted = [
        (tier, sites, kernel)
        for tier in ("native", "metal", "vm")
        for sites in (9, 10)
        for kernel in ("6.1", "6.2")
    ]
    values = {(tier, kernel, sites): sites for tier, sites, kernel in reversed(wanted)}
    tiers = [Tier(tier, kernel, "ticks", False, {}, {}) for tier, _, kernel in wanted]
    found = make_run_rows(make_switch_samples(values), tiers, [])
    assert [(row.name.tier, row.name.sites, row.kernel) for row in found] == wanted
    assert {(row.kind, row.baseline, row.blocks) for row in found} == {(WHOLE, "", 2)}
    assert [row.cost for row in found] == [sites + 4 for _, sites, _ in wanted]
    assert str(found[0].name) == "native arm batched at 9 sites"
    assert str(RowName("vm", "b", "v")) == "vm b v"


def test_loop_costs_are_relative_if_there_is_a_baseline() -> None:
    """Without a clone there is no baseline, and the costs of all rows are absolute (WHOLE). A
    variant that shares no block with the baseline has no row. The clock step is stored relative to
    the variant's cost."""
    base = [Slope(n, n % 4, 4) for n in range(16)]
    slopes = {
        "x": [one._replace(top=6) for one in base],
        "none": base,
        "none-clone": base,
        "y": [one._replace(block=99) for one in base],
    }
    steps = {"x": 3.0, "none": 0.4}
    found = {row.name.variant: row for row in make_loop_rows(TIER, "b", slopes, steps)}
    assert [*found] == ["none", "none-clone", "x"]
    assert [(row.kind, row.cost, row.resolution) for row in found.values()] == [
        (WHOLE, 4, 0.1), (SHARE, 4, 0), (SHARE, 6, 0.5),
    ]  # fmt: skip
    assert [*found["x"].values] == pytest.approx([1.5] * 4)
    assert found["x"].layouts == pytest.approx({0: 1.5, 8: 1.5, 16: 1.5, 24: 1.5})
    assert [found[name].is_clone for name in found] == [False, True, False]
    del slopes["none-clone"]
    alone = make_loop_rows(TIER, "b", slopes, {})
    assert [(row.name.variant, row.kind, row.baseline) for row in alone] == [
        ("none", WHOLE, ""), ("x", WHOLE, ""), ("y", WHOLE, ""),
    ]  # fmt: skip


def test_stored_estimates_have_all_fields_of_a_row() -> None:
    """Numbers are stored with nine digits, and minus zero as zero."""
    row = Row(
        RowName("vm", "b", "v", "switch", 7), "6.1", "ticks", WHOLE, "none", 1 / 3, 8, 2,
        np.array([1 / 7, 2e9 / 3]), {3: 1 / 3, 0: -0.0}, 0.125, 5.0, 6.0, frozenset((9, 4)), True,
        "quick; next: x",
    )  # fmt: skip
    entry = estimates.make_row_entry(row)
    assert (entry["cost"], entry["values"]) == (0.333333333, [0.142857143, 666666667])
    assert str(entry["by_layout"]["0"]) == "0.0" and entry["layouts"] == [4, 9]
    back = estimates.parse_row_entry(json.loads(json.dumps(entry)))
    assert [*back.values] == entry["values"] and back.layouts == {3: 0.333333333, 0: 0}
    same = replace(row, cost=back.cost, values=back.values, layouts=back.layouts)
    # Python 3.13 compares dataclasses field by field, and an array has no truth value.
    assert [*vars(back).values()] == [*vars(same).values()]


def test_computed_estimates_equal_stored_ones(tmp_path: Path) -> None:
    """Estimates are stored with a limited number of digits, and exact counts are compared as
    numbers. So computed estimates are rounded like stored ones: a run must not differ from itself
    when it is read again."""
    (run,) = manyruns.write_simulated_runs(tmp_path, 1)
    computed, stored = estimates.load_estimates(run).rows, estimates.load_estimates(run).rows
    for before, after in zip(computed, stored, strict=True):
        assert [before.cost, *before.values] == [after.cost, *after.values]


def test_estimates_are_returned_if_they_cannot_be_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse_to_write(*_: object) -> None:
        raise PermissionError

    (run,) = manyruns.write_simulated_runs(tmp_path, 1)
    monkeypatch.setattr(estimates, "write_file_atomically", refuse_to_write)
    assert len(estimates.load_estimates(run).rows) == 8
    assert not (run / "estimates.json").exists()
    with pytest.raises(FailedError, match="none: No such file or directory"):
        estimates.hash_file(run / "none")
