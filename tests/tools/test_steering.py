# SPDX-License-Identifier: GPL-2.0-only
"""A run in user space ends when its rows are resolved, and its intervals know that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kmtools.analyse import location, steering, stopping, verdicts
from kmtools.analyse.stats import Interval
from kmtools.analyse.steering import Steering
from kmtools.measure import collect, native
from kmtools.measure.run_cache import RunCache
from kmtools.measure.samples import RAW_COLUMNS
from kmtools.method import estimators, noises
from verdictrows import result

FEW = 40
PASSES = (1000, 2000)
# Ticks per pass of each variant: x is resolved at once, y is too noisy and never is.
COSTS = {"plain": {"none": 2.0, "none-clone": 2.0, "x": 4.0},
         "close": {"none": 2.0, "none-clone": 2.0, "y": 2.0}}  # fmt: skip
NOISY = {"close": 100}
# What costs exactly the margin: that is all that can be said, and it is said.
MARGIN = {"margin": {"none": 2.0, "none-clone": 2.0, "w": 2.25}}
# The same, and what one layout of four adds to it: more time does not tell what others would.
PLACED = {"placed": {"none": 2.0, "none-clone": 2.0, "z": 2.0}}
ADDS = {("z", 3): 0.5}


def write_process(part: Path, number: int, benchmarks: list[str], more: str) -> None:
    """Samples of 16 blocks, with noise of a twentieth of a tick per pass."""
    part.mkdir(parents=True)
    (part / "env").write_text(f"kernel=k\ncycles=none\nemulated=0\n{more}")
    random = np.random.default_rng(number)
    for name in benchmarks or COSTS:
        lines = ["# schema=2", ",".join(RAW_COLUMNS)]
        for block in range(16):
            for position, (variant, cost) in enumerate((COSTS | PLACED | MARGIN)[name].items()):
                here = cost + ADDS.get((variant, block % 4), 0.0)
                for loops in PASSES:
                    noise = 25 * NOISY.get(name, 1) * random.standard_normal()
                    value = max(0, round(5000 + here * loops + noise))
                    lines.append(
                        f"{name},{variant},loop,{block % 4},{block},{position},0,{loops},,{value},"
                        "ticks,,"
                    )
        (part / f"{name}.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture
def events() -> list[tuple[str, dict[str, Any]]]:
    """What was told."""
    return []


@pytest.fixture
def steer(
    monkeypatch: pytest.MonkeyPatch, events: list[tuple[str, dict[str, Any]]]
) -> native.Steer:
    """Steering of processes that a test writes."""

    def run_process(part: Path, words: list[object], _: object, more: str, *__: object) -> None:
        write_process(part, int(str(words[3])), [str(word) for word in words[4:]], more)

    monkeypatch.setattr(native, "run_process", run_process)
    said: list[str] = []
    tell = lambda event, **parts: events.append((event, parts))  # noqa: E731
    return Steering(16, RunCache(), tell, said.append)


def test_a_benchmark_ends_when_it_is_resolved(
    tmp_path: Path, steer: native.Steer, events: list[tuple[str, dict[str, Any]]]
) -> None:
    raw = tmp_path / "native"
    done = native.measure(raw, blocks=16, processes=40, seed=1, steer=steer)
    assert done == 40
    counts = {name: len(list(raw.glob(f"process-*/{name}.csv"))) for name in COSTS}
    assert counts == {"plain": 16, "close": 40}
    assert [(name, parts.get("processes")) for name, parts in events] == [
        ("pilot", 16), ("look", 16), ("look", 32),
    ]  # fmt: skip
    assert events[1][1]["unresolved"] == ["close"]
    assert (events[1][1]["rows"], events[1][1]["resolved"]) == (2, 1)
    assert 0 < events[0][1]["detectable"]["plain"] < 2
    data = collect.load_raw("native", raw)
    found = {(r.benchmark, r.variant): r for r in verdicts.analyse(data.rows, [data.tier])}
    assert found["plain", "x"].verdict == verdicts.SLOWER
    assert found["close", "y"].verdict == verdicts.UNRESOLVED
    assert (found["plain", "x"].outside, found["close", "y"].outside) == (0.03, 0.01)


def test_what_differs_ends_the_measuring_of_its_row(tmp_path: Path, steer: native.Steer) -> None:
    raw = tmp_path / "native"
    words: dict[str, Any] = {"blocks": 16, "processes": 64, "seed": 1, "steer": steer}
    assert native.measure(raw, benchmarks=["margin"], **words) == 16
    data = collect.load_raw("native", raw)
    found = {r.variant: r for r in verdicts.analyse(data.rows, [data.tier])}
    assert found["w"].verdict == verdicts.DIFFERS


def test_all_that_is_resolved_ends_the_run(tmp_path: Path, steer: native.Steer) -> None:
    raw = tmp_path / "native"
    words: dict[str, Any] = {"blocks": 16, "processes": 64, "seed": 1, "steer": steer}
    assert native.measure(raw, benchmarks=["plain"], **words) == 16


def test_code_layouts_do_not_keep_a_benchmark(
    tmp_path: Path, steer: native.Steer, events: list[tuple[str, dict[str, Any]]]
) -> None:
    """Its row is unresolved, with a note that says why, and the run ends."""
    raw = tmp_path / "native"
    words: dict[str, Any] = {"blocks": 16, "processes": 64, "seed": 1, "steer": steer}
    assert native.measure(raw, benchmarks=["plain", "placed"], **words) == 16
    assert (events[1][1]["rows"], events[1][1]["resolved"]) == (2, 1)
    data = collect.load_raw("native", raw)
    found = {r.variant: r for r in verdicts.analyse(data.rows, [data.tier])}
    assert (found["z"].verdict, found["z"].note) == (verdicts.UNRESOLVED, verdicts.PLACED)
    assert found["z"].delta == pytest.approx(0.125, abs=0.02)
    assert not found["none-clone"].note


def test_noise_hides_what_layouts_would_leave() -> None:
    """A row that is as noisy as its layouts differ may be resolved by more time."""
    random = np.random.default_rng(1)
    layout, process = np.arange(1024) % 8, np.arange(1024) // 64
    for noise, known in ((0.1, True), (8.0, False)):
        x = noise * random.standard_normal(1024) + 0.5 * (layout == 3)
        assert (location.locate(x, process, layout).endless is not None) == known


def test_a_resumed_run_looks_at_what_was_there_then(tmp_path: Path, steer: native.Steer) -> None:
    """The same processes are looked at, and not the later ones."""
    raw = tmp_path / "native"
    parts = raw.with_name("native.parts")
    for number in range(18):
        name = ["plain", "close"] if number < 16 else ["close"]
        write_process(parts / f"process-{number + 1}", number + 1, name, native.STEERED)
    assert native.measure(raw, blocks=16, processes=20, seed=1, steer=steer) == 20
    counts = {name: len(list(raw.glob(f"process-*/{name}.csv"))) for name in COSTS}
    assert counts == {"plain": 16, "close": 20}


def test_parts_of_the_looks_add_up_to_the_whole() -> None:
    assert sum(stopping.LOOKS.values()) == pytest.approx(location.OUTSIDE)
    assert [stopping.outside_after(n) for n in (1, 16, 17, 32, 33, 64, 65)] == [
        0.03, 0.03, 0.01, 0.01, 0.01, 0.01, 0.01,
    ]  # fmt: skip


def test_a_run_without_looks_has_its_whole_error() -> None:
    assert stopping.outside_of({}, [], 0.05) == 0.05


def test_what_is_foreseen_shrinks_with_processes_but_not_with_layouts() -> None:
    clone = result("b", "none-clone")
    at_16, at_64 = (steering.foreseen(clone, n) or 0 for n in (16, 64))
    assert clone.margin is not None and at_16 > at_64 > clone.margin
    alone = replace(clone, layout_ci=None)
    half = 0.1 * (stopping.PILOT / 16) ** 0.5
    outside = stopping.outside_after(16)
    wanted = verdicts.smallest(Interval(-half, half), clone.margin, outside)
    assert steering.foreseen(alone, 16) == pytest.approx(wanted)
    assert steering.foreseen(replace(clone, time_ci=None), 16) is None


@pytest.mark.parametrize("kind", ["normal", "process-1", "neighbour-500", "stepping"])
def test_runs_that_end_when_resolved_are_as_right(kind: str) -> None:
    """As far as a few simulations can tell; check-estimators has 2,000 of every kind."""
    assert not estimators.score_stopped(kind, FEW).faults(slack=3)


def test_looking_too_often_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole error at each of many early looks is too much."""
    often = dict.fromkeys(range(2, 65, 2), 0.5)
    monkeypatch.setattr(stopping, "LOOKS", often)
    assert estimators.score_stopped("normal", FEW).faults(slack=3)


def test_noise_is_the_same_whatever_its_length() -> None:
    """Of unit variance, also in the part that a second piece makes."""
    x = noises.KINDS["ar-0.9"](np.random.default_rng(3), 64 * noises.PIECE)
    assert np.var(x[: noises.PIECE * 8]) == pytest.approx(1, abs=0.2)
    assert np.var(x[noises.PIECE * 8 :]) == pytest.approx(1, abs=0.1)
    joined = x[noises.PIECE - 1 :: noises.PIECE][:-1] * x[noises.PIECE :: noises.PIECE]
    assert joined.mean() > 0.3
