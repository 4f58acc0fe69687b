# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers bench --self-test`: instructions of known cost pass, and a fault in any step
of the analysis makes a row fail."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kmtools.analyse import corecycles, location, verdicts
from kmtools.analyse import slopes as slopes_module
from kmtools.analyse.slopes import Slope
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import Result
from kmtools.base.errors import BAD, DONE, UNABLE
from kmtools.cli import main
from kmtools.measure import bench as measuring
from kmtools.measure import collect, native
from kmtools.measure.rundir import UNIT_TSC, Tier
from kmtools.measure.samples import LAYOUTS, LOOP, Sample
from kmtools.method import selftest
from kmtools.method.selftest import FAIL, PASS, UNCLEAR, JudgedRow, Planted, choose_decisive_try
from nativeprograms import KMBENCH, run_kmbench
from verdictrows import make_result

# The cost of a pass of each variant in core cycles, as native/planted.c has it.
CYCLES = {
    "chain": 100, "chain-clone": 100, "add": 101, "lea": 101, "imul": 103, "load": 104,
    "nops": 100,
}  # fmt: skip
ENV = {"cycles": "estimated", "tsc_khz": "2600000", "invariant_tsc": "1"}
TIER = Tier("native", "6.12", UNIT_TSC, False, ENV, {})
LOOPS = (150, 240, 360)
FIXED, NOISE, BLOCKS = 60.0, 10.0, 32


def simulate_results(seed: int, noise: float = NOISE, tier: Tier = TIER) -> list[Result]:
    """Return the results of simulated windows of the benchmark `planted`. The frequency of the core
    differs from block to block. A window takes FIXED core cycles in addition to the passes; `noise`
    is the standard deviation of a window in core cycles."""
    random = np.random.default_rng(seed)
    samples = []
    for block in range(selftest.PROCESSES * BLOCKS):
        per_tick = (1.4, 1.2)[block // 20 % 2]
        for variant, cost in CYCLES.items():
            for loops in LOOPS:
                ticks = round((loops * cost + FIXED + noise * random.standard_normal()) / per_tick)
                cycles = round(ticks * per_tick) if tier.env["cycles"] == "estimated" else None
                place = ("planted", variant, LOOP, block * 7 % LAYOUTS, block, 0, 1, loops, None)
                window = (ticks, UNIT_TSC, cycles, ())
                samples.append(Sample("native", "6.12", 1 + block // BLOCKS, *place, *window))
    return verdicts.compute_results(samples, [tier])


def run_simulated_self_test(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> int:
    """Run the command with simulated windows instead of kmbench; return its exit code."""
    monkeypatch.setattr(measuring, "build_kmbench", lambda: None)
    monkeypatch.setattr(
        selftest, "measure_planted_results", lambda seed: simulate_results(seed, **changed)
    )
    return main(["bench", "--self-test"])


def test_self_test_passes_for_the_known_costs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_simulated_self_test(monkeypatch) == DONE
    out = capsys.readouterr().out
    assert "imul: 3.0" in out and "core cycles, expected 3; interval [" in out
    assert "expected 3 to 5 (from the first-level cache)" in out
    assert out.count(": pass\n") == len(selftest.ROWS) and FAIL not in out


def skip_baseline_subtraction(variant: Sequence[Slope], _baseline: Sequence[Slope]) -> list[Slope]:
    """Return the slopes of a variant without subtracting the baseline."""
    return list(variant)


def subtract_the_wrong_way(variant: Sequence[Slope], baseline: Sequence[Slope]) -> list[Slope]:
    """Return the baseline minus the variant."""
    return slopes_module.subtract_baseline(baseline, variant)


def fit_half_a_slope(points: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return half of the slope of the line through the first and the last point."""
    (x, y), (last_x, last_y) = min(points), max(points)
    return last_y - y, 2 * (last_x - x)


def shift_interval(value: float, _variance: float, _freedom: float, _outside: float) -> Interval:
    """Return a narrow interval that does not contain its estimate."""
    return Interval(value + 0.01, value + 0.02)


def ignore_margin(delta: float, interval: Interval, _margin: float, floor: float | None) -> str:
    """Return the verdict for a margin of zero."""
    return real_decide_verdict(delta, interval, 0.0, floor)


real_decide_verdict = verdicts.decide_verdict
FAULTS: dict[str, tuple[Any, str, Any]] = {
    "slope": (slopes_module, "fit_line", fit_half_a_slope),
    "no baseline": (verdicts, "subtract_baseline", skip_baseline_subtraction),
    "sign": (verdicts, "subtract_baseline", subtract_the_wrong_way),
    "estimator": (location, "compute_midmean", lambda x: np.max(x, axis=-1)),
    "interval": (location, "compute_mean_interval", shift_interval),
    "verdict": (verdicts, "decide_verdict", ignore_margin),
    "margin": (verdicts, "find_equivalence_margin", lambda *_words: 4.0),
    "core cycles": (corecycles.CoreCycleRatio, "exact_ratio", Fraction(1)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_in_the_analysis_fails_the_self_test(
    fault: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a fault in one step of the analysis, at least one row fails."""
    monkeypatch.setattr(*FAULTS[fault])
    monkeypatch.setattr(selftest, "TRIES", 1)
    assert run_simulated_self_test(monkeypatch) == BAD
    out = capsys.readouterr().out
    assert f": {FAIL}\n" in out and "self-test: measured costs are wrong" in out


def test_noise_of_a_busy_machine_is_not_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If intervals are too wide to judge the costs, no row fails, and the exit code is UNABLE."""
    assert run_simulated_self_test(monkeypatch, noise=5000.0) == UNABLE
    said = capsys.readouterr()
    assert f": {UNCLEAR}\n" in said.out and FAIL not in said.out
    assert "this machine is too busy now" in said.out
    assert f"try {selftest.TRIES} of {selftest.TRIES}: chain" in said.err


def test_missing_core_cycles_are_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tier = Tier("native", "6.12", UNIT_TSC, False, {**ENV, "cycles": "none"}, {})
    assert run_simulated_self_test(monkeypatch, tier=tier) == UNABLE
    assert "needs core cycles, which are neither counted nor" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["--quick", "--tiers=native", "--budget=9s", "--blocks=9"])
def test_self_test_refuses_options_of_a_run(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--self-test", word]) == UNABLE
    name = word.partition("=")[0]
    assert f"--self-test accepts only --seed: leave out {name}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("cost", "lo", "hi", "verdict", "said"),
    [
        (1.0, 0.9, 1.1, "differs", PASS),
        (1.0, 0.4, 1.1, "differs", UNCLEAR),
        (1.0, 0.9, 1.6, "unresolved", UNCLEAR),
        (1.0, 0.9, 1.1, "slower", FAIL),
        (1.0, 0.9, 1.1, "equivalent", FAIL),
        (1.0, 0.9, 1.1, "faster", FAIL),
        (1.002, 1.001, 1.003, "slower", PASS),
        (0.998, 0.997, 0.999, "equivalent", PASS),
        (1.7, 1.6, 1.8, "differs", FAIL),
        (1.2, 1.15, 1.25, "differs", FAIL),
        (1.1, 1.05, 1.15, "differs", PASS),
        (0.3, 0.2, 0.4, "differs", FAIL),
        (1.4, 0.7, 2.1, "differs", UNCLEAR),
        (1.2, 0.9, 1.1, "differs", FAIL),
    ],
)
def test_the_whole_interval_must_be_close_to_the_known_cost(
    cost: float, lo: float, hi: float, verdict: str, said: str
) -> None:
    row = Planted("add", 1, 1, ("differs", "unresolved"))
    assert selftest.choose_self_test_outcome(row, cost, Interval(lo, hi), verdict) == said


@pytest.mark.parametrize(("variant", "said"), [("nops", UNCLEAR), ("chain-clone", FAIL)])
def test_unresolved_row_is_excused_only_by_clone_noise(variant: str, said: str) -> None:
    """For a row with a cost near zero, the verdict "unresolved" gives the outcome UNCLEAR, because
    the A/A clone may be noisy. For the row of the clone itself, this verdict is a failure."""
    row = Planted(variant, 0, 0, ("equivalent",))
    outcome = selftest.choose_self_test_outcome(row, 0.0, Interval(-0.1, 0.1), "unresolved")
    assert outcome == said


def make_judged_tries(outcomes: str) -> list[JudgedRow]:
    """Return the tries of a row of the self-test, one for each letter: p for a passed, f for a
    failed, u for an unclear try."""
    row, words = Planted("add", 1, 1, ("differs",)), {"p": PASS, "f": FAIL, "u": UNCLEAR}
    return [JudgedRow(row, 1.0, Interval(0, 2), "differs", words[letter]) for letter in outcomes]


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [("p", PASS), ("fffp", PASS), ("fu", UNCLEAR), ("uuu", UNCLEAR), ("fuufu", UNCLEAR),
     ("f", FAIL), ("fuf", FAIL), ("ffuuf", FAIL)],
)  # fmt: skip
def test_a_row_fails_if_most_tries_fail_and_none_passes(outcomes: str, said: str) -> None:
    assert choose_decisive_try(make_judged_tries(outcomes)).outcome == said


def test_benchmark_of_known_costs_is_not_listed(native_programs: None) -> None:
    """`kmbench list` does not list the benchmark `planted`. The self-test has a row for each
    variant of this benchmark."""
    assert "planted" not in run_kmbench("list").stdout
    said = run_kmbench("run", "-b", 8, "planted")
    assert said.returncode == 0
    _, _, *rows = said.stdout.splitlines()
    assert {row.split()[0] for row in rows} == {row.variant for row in selftest.ROWS}


def test_known_costs_are_measured_on_this_machine(
    native_programs: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """The self-test passes here, or says that the machine is too busy."""
    assert KMBENCH.exists()
    code = main(["bench", "--self-test"])
    said = capsys.readouterr()
    if code == UNABLE:
        pytest.skip(said.err.strip().splitlines()[-1])
    assert code == DONE, said.out


def test_decisive_try_is_the_first_passed_or_the_last_of_its_outcome() -> None:
    for outcomes, index in (("fpup", 1), ("fuf", 2), ("uffuf", 4), ("ufu", 2), ("uf", 0)):
        tries = make_judged_tries(outcomes)
        assert choose_decisive_try(tries) is tries[index], outcomes


@pytest.mark.parametrize(
    ("lo", "hi", "verdict", "right"),
    [
        (0.98, 2.0, "slower", True),
        (0.97, 2.0, "slower", False),
        (0.0, 1.02, "equivalent", True),
        (0.0, 1.03, "equivalent", False),
        (2.0, 3.0, "faster", False),
        (0.0, 3.0, "differs", True),
    ],
)
def test_verdict_on_the_margin_needs_a_narrow_interval(
    lo: float, hi: float, verdict: str, right: bool
) -> None:
    row, interval = Planted("add", 1, 1, ("differs",)), Interval(lo, hi)
    assert selftest.is_verdict_right(row, interval, verdict) is right
    for least, most in ((1, 2), (0, 1), (2, 2)):
        other = Planted("x", least, most, ("differs",))
        assert selftest.is_verdict_right(other, interval, verdict) is (verdict == "differs")


@pytest.mark.parametrize(
    ("least", "most", "lo", "hi", "said"),
    [
        (3, 5, 5.125, 5.25, FAIL),
        (3, 5, 5.0625, 5.25, PASS),
        (3, 5, 2.75, 2.875, FAIL),
        (3, 5, 2.75, 2.9375, PASS),
        (3, 5, 2.5, 5.5, PASS),
        (3, 5, 2.4375, 5.5, UNCLEAR),
        (3, 5, 2.5, 5.5625, UNCLEAR),
    ],
)
def test_known_cost_may_be_a_range(
    least: float, most: float, lo: float, hi: float, said: str
) -> None:
    """With a tolerance of 0.5, the interval may be at most 0.1 away from the range of the known
    cost."""
    row = Planted("load", least, most, ("slower",))
    for cost in (lo, hi):
        assert selftest.choose_self_test_outcome(row, cost, Interval(lo, hi), "slower") == said


@pytest.mark.parametrize(
    ("margin", "said"), [(1.0, PASS), (1.015, PASS), (0.985, PASS), (1.03, FAIL), (None, FAIL)]
)
def test_margin_of_the_variant_chain_is_one_core_cycle(margin: float | None, said: str) -> None:
    """A tick is 1.5 core cycles, so that a pass of 100 core cycles takes 66.7 ticks."""
    ticks = 100 / 1.5
    interval = Interval(ticks - 0.2, ticks + 0.4)
    scaled = margin and margin / 1.5
    result = make_result("planted", "chain", None, median=ticks, ci=interval, margin=scaled)
    row = selftest.judge_planted_row(selftest.ROWS[0], result)
    assert row.outcome == said and row.cost == pytest.approx(100)
    assert (row.interval.lo, row.interval.hi) == pytest.approx((99.7, 100.6))
    assert row.line == (
        "chain: 100.000 core cycles, expected 100 (a pass of the baseline); interval"
        f" [99.700, 100.600], baseline: {said}"
    )
    other = make_result("planted", "imul", 2.0, verdict="slower", margin=9.0)
    row = selftest.judge_planted_row(Planted("imul", 3, 3, ("slower",)), other)
    assert (row.outcome, row.cost) == (PASS, 3.0)
    assert row.line.startswith("imul: 3.000 core cycles, expected 3; interval [2.850, 3.150], slow")


def test_each_try_has_different_seeds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each try has six processes of 128 blocks. All rows are measured again while a row has not
    passed."""
    seeds: list[int] = []

    def record_seed(raw: Path, **words: Any) -> None:
        assert (words["blocks"], words["processes"]) == (128, 6)
        assert words["benchmarks"] == ["planted"]
        seeds.append(words["seed"])

    made = simulate_results(1)
    monkeypatch.setattr(native, "measure_processes", record_seed)
    monkeypatch.setattr(collect, "load_raw_folder", lambda *_: SimpleNamespace(rows=[], tier=None))
    monkeypatch.setattr(selftest, "compute_results", lambda *_: made)
    assert selftest.judge_self_test(40) == DONE and seeds == [40]
    monkeypatch.setattr(selftest, "choose_self_test_outcome", lambda *_: UNCLEAR)
    assert selftest.judge_self_test(40) == UNABLE and seeds == [40, 40, 46, 52, 58, 64]
    monkeypatch.setattr(selftest, "choose_self_test_outcome", lambda *_: FAIL)
    assert selftest.judge_self_test(0) == BAD and len(seeds) == 11
