# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers export`: OpenMetrics, traces and Parquet have the data of the run."""

from __future__ import annotations

import contextlib
import json
import re
import runpy
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import manyruns
import numpy as np
import pytest
from kmtools.analyse.rows import SHARE, Row, RowName
from kmtools.base.errors import FailedError
from kmtools.base.paths import ROOT
from kmtools.cli import main
from kmtools.measure.rundir import RunError, make_tiers, read_env
from kmtools.measure.samples import (
    GAP,
    LOOP,
    PART,
    ROUNDS,
    SAMPLE_COLUMNS,
    SWITCH,
    Sample,
    read_samples,
    write_samples,
)
from kmtools.report import exports
from verdictrows import make_tier

REFERENCE = ROOT / "results" / "reference"
METRIC = re.compile(r'kmarkers_cost\{(?:[a-z]+="[^"\n]*",?)+\} [0-9.e+-]+')


@pytest.fixture(scope="module")
def switching_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run from a part of the reference run: the first two blocks of arm-scaling, which
    switches sites, in the tier native."""
    run = tmp_path_factory.mktemp("run")
    env = json.loads((REFERENCE / "env.json").read_text())
    (own,) = [tier for tier in env["tiers"] if tier["tier"] == "native"]
    samples = read_samples(REFERENCE / "samples.csv.gz", make_tiers(env))
    native = [s for s in samples if s.tier == "native" and s.benchmark == "arm-scaling"]
    kept = [s for s in native if s.block < 2]
    write_samples(run / "samples.csv", kept)
    env["tiers"] = [{**own, "windows": len(kept)}]
    (run / "env.json").write_text(json.dumps(env))
    return run


def read_run_samples(run: Path) -> list[Sample]:
    """Return the samples of a run."""
    return read_samples(run / "samples.csv", make_tiers(read_env(run / "env.json")))


def test_openmetrics_has_a_gauge_for_each_row(tmp_path: Path) -> None:
    (run,) = manyruns.write_simulated_runs(tmp_path, 1)
    out = tmp_path / "metrics"
    assert main(["export", str(run), f"--openmetrics={out}"]) == 0
    lines = out.read_text().splitlines()
    assert lines[-1] == "# EOF" and len(lines) == 2 + 8 + 1
    assert all(METRIC.fullmatch(line) for line in lines[2:-1])


def test_prometheus_parser_reads_openmetrics(tmp_path: Path) -> None:
    """The parser of Prometheus reads each row, even if a name has special characters."""
    parser = pytest.importorskip(
        "prometheus_client.openmetrics.parser",
        reason="prometheus_client is missing: scripts/setup --fleet installs it",
    )
    (run,) = manyruns.write_simulated_runs(tmp_path, 1)
    hostile = 'a\\\\b}"""" 9'
    samples = run / "samples.csv"
    samples.write_text(samples.read_text().replace(",marker-jump,", f',"{hostile}",'))
    out = tmp_path / "metrics"
    assert main(["export", str(run), f"--openmetrics={out}"]) == 0
    (family,) = parser.text_string_to_metric_families(out.read_text())
    assert (family.name, family.type, len(family.samples)) == ("kmarkers_cost", "gauge", 8)
    names = {sample.labels["variant"] for sample in family.samples}
    assert 'a\\\\b}"" 9' in names and "marker-generic" in names
    costs = {(s.labels["benchmark"], s.labels["variant"]): s.value for s in family.samples}
    assert costs["getppid-quiet", "base"] == pytest.approx(297, abs=1)
    with pytest.raises(ValueError, match="EOF"):
        list(parser.text_string_to_metric_families(out.read_text()[:-6]))


def test_events_of_a_trace_track_are_nested(switching_run: Path, tmp_path: Path) -> None:
    """Two events of a track are nested or disjoint, and each event has the numbers that viewers
    need."""
    out = tmp_path / "trace.json"
    assert main(["export", str(switching_run), f"--trace={out}"]) == 0
    tracks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for e in json.loads(out.read_text())["traceEvents"]:
        assert e["ph"] in "XM" and isinstance(e["pid"], int) and isinstance(e["name"], str)
        if e["ph"] == "X":
            assert e["ts"] >= 0 and e["dur"] >= 0
            tracks.setdefault((e["pid"], e["tid"]), []).append((e["ts"], -e["dur"]))
    assert len(tracks) == 2
    for events in tracks.values():
        open_until: list[float] = []
        for start, length in sorted(events):
            while open_until and open_until[-1] <= start + 1e-6:
                open_until.pop()
            assert not open_until or start - length <= open_until[-1] + 1e-6
            open_until.append(start - length)


def test_trace_has_switches_their_phases_and_gaps(switching_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    assert main(["export", str(switching_run), f"--trace={out}"]) == 0
    events: list[dict[str, Any]] = json.loads(out.read_text())["traceEvents"]
    shown = [e for e in events if e["ph"] == "X"]
    wholes = [s for s in read_run_samples(switching_run) if s.variant in ("batched", "one-by-one")]
    found = [e for e in shown if e["name"] in ("batched", "one-by-one")]
    assert len(found) == len(wholes) > 10
    (tier,) = read_env(switching_run / "env.json")["tiers"]
    ticks_per_microsecond = int(tier["env"]["tsc_khz"]) / 1000
    ticks = sorted(s.value for s in wholes)
    assert sorted(round(e["dur"] * ticks_per_microsecond) for e in found) == ticks
    batched = [e for e in found if e["name"] == "batched"]
    assert all(e["args"]["rounds"] in (1, 2, 3) for e in batched)
    assert {e["name"] for e in shown} >= {"validate", "map", "rounds", "gap"}
    assert {e["tid"] for e in shown if e["name"] == "gap"} == {2}
    parts = [e for e in shown if e["name"] in ("validate", "map", "rounds")]
    assert len(parts) == 3 * len(batched)
    assert {e["args"]["name"] for e in events if e["name"] == "thread_name"} == {
        "the CPU that switches", "a CPU that waits",
    }  # fmt: skip


def test_a_run_without_switches_has_no_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run,) = manyruns.write_simulated_runs(tmp_path, 1)
    assert main(["export", str(run), f"--trace={tmp_path / 'x'}"]) == 2
    assert "the run has no samples of site switches" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_trace_has_the_cpu_that_waited(switching_run: Path, tmp_path: Path) -> None:
    """A trace names the CPU that waited during each gap. The gap samples of older runs name the CPU
    that switched the sites instead, so the CPU that waited is unknown."""
    samples = read_run_samples(switching_run)
    (switched,) = {s.cpu for s in samples if s.measured == SWITCH}
    run, out = shutil.copytree(switching_run, tmp_path / "run"), tmp_path / "trace.json"

    def export_and_read_waiting_cpus(cpu: int) -> set[int | None]:
        moved = [s._replace(cpu=cpu) if s.measured == GAP else s for s in samples]
        write_samples(run / "samples.csv", moved)
        assert main(["export", str(run), f"--trace={out}"]) == 0
        shown = json.loads(out.read_text())["traceEvents"]
        return {e["args"]["waited"] for e in shown if e["name"] == "gap"}

    assert export_and_read_waiting_cpus(switched) == {None}
    assert export_and_read_waiting_cpus(switched + 4) == {switched + 4}


def test_export_prints_the_paths_of_written_files(
    switching_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics, trace = tmp_path / "metrics", tmp_path / "trace.json"
    assert main(["export", str(switching_run), f"--openmetrics={metrics}", f"--trace={trace}"]) == 0
    assert capsys.readouterr().out.splitlines() == [str(metrics), str(trace)]


def test_parquet_file_in_no_folder_is_an_error(
    switching_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none" / "x.parquet"
    assert main(["export", str(switching_run), f"--parquet={path}"]) == 2
    assert capsys.readouterr().err == f"export: {path}: there is no folder {path.parent}\n"


def test_unwritable_parquet_file_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message has the path and the first line of the error. A fake module duckdb raises this
    error."""

    class WriteError(Exception):
        pass

    def fail(_: str) -> None:
        raise WriteError("no space left\nhint")

    engine = SimpleNamespace(execute=fail)
    fake = SimpleNamespace(Error=WriteError, connect=lambda: contextlib.nullcontext(engine))
    monkeypatch.setitem(sys.modules, "duckdb", fake)
    path = ROOT / "scripts" / "kmtools" / "analyse" / "parquet.py"
    parquet = runpy.run_path(str(path))
    with pytest.raises(FailedError, match=r"x: no space left$"):
        parquet["write_parquet"]([], tmp_path / "x")


def test_fleet_reads_the_same_rows_from_parquet(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="duckdb is missing: scripts/setup --fleet installs it")
    folder = tmp_path / "runs"
    runs = manyruns.write_simulated_runs(folder, 8)
    outs = []
    for name in ("csv", "parquet"):
        outs.append(tmp_path / f"{name}.json")
        assert main(["fleet", str(folder), "--by", "cpu", f"--json={outs[-1]}"]) == 0
        for run in runs:
            target = tmp_path / "packed" / run.name
            target.mkdir(parents=True, exist_ok=True)
            assert main(["export", str(run), f"--parquet={target}/samples.parquet"]) == 0
            shutil.copy(run / "env.json", target)
        folder = tmp_path / "packed"
    assert outs[0].read_text() == outs[1].read_text()


def test_message_about_a_parquet_file_names_this_file(tmp_path: Path) -> None:
    """The message has line 3, the line that the invalid sample would have in samples.csv."""
    duckdb = pytest.importorskip(
        "duckdb", reason="duckdb is missing: scripts/setup --fleet installs it"
    )
    from kmtools.analyse import parquet  # noqa: PLC0415  parquet needs duckdb

    tier, path = make_tier(), tmp_path / "it's*.parquet"
    sample = make_switch_sample("x", SWITCH, 5, unit=tier.unit)
    parquet.write_parquet([sample], path)
    assert parquet.load_parquet(path, [tier]) == [sample]

    def get_run_error_message() -> str:
        with pytest.raises(RunError) as refusal:
            parquet.load_parquet(path, [tier])
        return str(refusal.value)

    parquet.write_parquet([sample._replace(variant="")], path)
    assert get_run_error_message() == f"{path}:3: benchmark or variant is empty"
    place = parquet.quote_sql_literal(str(path))
    with duckdb.connect() as engine:
        engine.execute(f"COPY (SELECT 5 AS value) TO {place} (FORMAT parquet)")
    assert get_run_error_message() == f"{path}: the columns are not {', '.join(SAMPLE_COLUMNS)}"
    path.write_text("none")
    said = get_run_error_message()
    assert said.startswith(f"{path}: ") and "0.parquet" not in said and "\n" not in said


def test_invalid_run_is_not_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run,) = manyruns.write_simulated_runs(tmp_path, 1)
    (run / "samples.csv").write_text((run / "samples.csv").read_text()[:-5])
    out = tmp_path / "x"
    assert main(["export", str(run), f"--openmetrics={out}", f"--trace={out}"]) == 1
    assert "(truncated?)" in capsys.readouterr().err and not out.exists()
    assert main(["export", str(run)]) == 2


def test_text_of_openmetrics_has_all_labels_of_a_row() -> None:
    """A backslash, a quotation mark and a line break of a name are escaped. Only a row about
    switching sites has the number of sites."""
    names = (RowName("native", "b", 'x\\"\n'), RowName("vm", "arm", "batched", SWITCH, 10))
    rows = [
        Row(name, "6.1", "ticks", SHARE, "none", cost, 8, 1, np.ones(1), {})
        for name, cost in zip(names, (1.25, 1e-7), strict=True)
    ]
    assert exports.render_openmetrics(rows).split("\n") == [
        "# TYPE kmarkers_cost gauge",
        "# HELP kmarkers_cost Median cost of an operation or a switch, in the unit of the label.",
        'kmarkers_cost{tier="native",kernel="6.1",benchmark="b",variant="x\\\\\\"\\n",'
        'measured="loop",unit="ticks"} 1.25',
        'kmarkers_cost{tier="vm",kernel="6.1",benchmark="arm",variant="batched",'
        'measured="switch",unit="ticks",sites="10"} 1e-07',
        "# EOF",
        "",
    ]


@pytest.mark.parametrize(
    ("khz", "microseconds"),
    [
        *(({"tsc_khz": "2000000"}, 1.5), ({"tsc_khz": "1"}, 3e6), ({"tsc_khz": "0"}, 3000.0)),
        *(({"tsc_khz": "unknown"}, 3e3), ({}, 3e3)),
    ],
)
def test_ticks_of_an_unknown_clock_are_shown_as_microseconds(
    khz: dict[str, str], microseconds: float
) -> None:
    assert (
        exports.convert_ticks_to_microseconds(3000, make_tier("native", False, **khz))
        == microseconds
    )


def make_switch_sample(variant: str, measured: str, ticks: int, **changed: Any) -> Sample:
    """Return a sample of CPU 1 that switched 10 sites in block 5."""
    own = Sample(
        "native", "6.12", 1, "arm-scaling", variant, measured, 0, 5, 0, 1, None, 10, ticks,
        "ticks", None, (),
    )  # fmt: skip
    return own._replace(**changed)


def test_switches_of_a_trace_follow_each_other() -> None:
    """At 1 GHz a microsecond has 1000 ticks. The first switch takes 9 us with its parts of 1, 2 and
    4 us; meanwhile CPU 3 waits for 8 us, from the last part, at 3 us, to 11 us, where the second
    switch begins. The third switch has another number of sites, and no parts. Only a gap is known
    of the fourth switch. Times of loops, and parts without a whole or a gap, are not shown. Another
    benchmark is another process of the trace, and begins at 0."""
    samples = [
        make_switch_sample("none", LOOP, 7000),
        make_switch_sample("batched", SWITCH, 9000),
        make_switch_sample("batched-validate", PART, 1000),
        make_switch_sample("batched-map", PART, 2000),
        make_switch_sample("batched-rounds", PART, 4000),
        make_switch_sample("batched-round-count", ROUNDS, 2),
        make_switch_sample("batched-stall", GAP, 8000, cpu=3),
        make_switch_sample("batched", SWITCH, 6000),
        make_switch_sample("batched", SWITCH, 5000, block=6),
        make_switch_sample("batched-stall", GAP, 500, cpu=1, block=6),
        make_switch_sample("idle-stall", GAP, 300, cpu=2),
        make_switch_sample("alone-map", PART, 1),
        make_switch_sample("batched", SWITCH, 1000, benchmark="arm-other"),
    ]
    text = exports.render_chrome_trace(samples, [make_tier(tsc_khz="1000000")])
    assert text.endswith("}\n") and json.loads(text)["displayTimeUnit"] == "ns"
    events = json.loads(text)["traceEvents"]
    threads = [(1, "the CPU that switches"), (2, "a CPU that waits")]
    for pid, name in ((1, "arm-scaling"), (2, "arm-other")):
        assert [e for e in events if e["ph"] == "M" and e["pid"] == pid] == [
            {
                "ph": "M",
                "name": "process_name",
                "pid": pid,
                "args": {"name": f"{name} (native, 6.12, TSC cycles)"},
            },
            *(
                {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": words}}
                for tid, words in threads
            ),
        ]
    first = {"sites": 10, "rounds": 2, "switched_by": 1, "block": 5}
    second = {**first, "rounds": None}
    shown = [(e.pop("ph"), e) for e in events if e["ph"] != "M"]
    assert {phase for phase, _ in shown} == {"X"}
    keys = ("name", "pid", "tid", "ts", "dur", "args")
    assert [tuple(e[key] for key in keys) for _, e in shown] == [
        ("batched", 1, 1, 0, 9, first),
        ("validate", 1, 1, 0, 1, {"sites": 10}),
        ("map", 1, 1, 1, 2, {"sites": 10}),
        ("rounds", 1, 1, 3, 4, {"sites": 10}),
        ("gap", 1, 2, 3, 8, {**first, "waited": 3}),
        ("batched", 1, 1, 11, 6, second),
        ("batched", 1, 1, 17, 5, {**second, "block": 6}),
        ("gap", 1, 2, 17, 0.5, {**second, "block": 6, "waited": None}),
        ("gap", 1, 2, 22, 0.3, {**second, "switched_by": None, "waited": 2}),
        ("batched", 2, 1, 0, 1, second),
    ]


@pytest.mark.parametrize(
    "other",
    [{"tier": "vm"}, {"kernel": "6.1"}, {"benchmark": "b"}, {"sites": 9}, {"process": 2},
     {"block": 6}],
)  # fmt: skip
def test_gap_belongs_to_a_switch_of_the_same_block_and_size(other: dict[str, Any]) -> None:
    switches = [make_switch_sample("batched", SWITCH, 9, **more) for more in ({}, other)]
    gap = make_switch_sample("batched-stall", GAP, 3, **other)
    found = [*exports.group_samples_by_switch([*switches, gap]).values()]
    assert found == [{SWITCH: switches[0]}, {SWITCH: switches[1], GAP: gap}]
