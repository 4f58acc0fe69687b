# SPDX-License-Identifier: GPL-2.0-only
"""Tests of summary.json: its fields, invalid files, and schema 1, which is a list."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rawdata
from kmtools.analyse import summary
from kmtools.analyse.corecycles import CoreCycleRatio
from kmtools.analyse.kept_blocks import KeptBlocks
from kmtools.analyse.lateness import Lateness
from kmtools.analyse.slopes import Slope
from kmtools.analyse.stats import Interval
from kmtools.analyse.switching import SwitchPoint
from kmtools.base.errors import FailedError
from kmtools.base.paths import ROOT
from kmtools.cli import main
from verdictrows import make_result

Json = dict[str, Any]
SWITCH = ("arm-scaling", "batched", "switch", 0, 0, 0, 1, "", 100, 5000, "ticks", "", "")


@pytest.fixture(name="run", scope="module")
def make_small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run with results of loops and of switching, and its report."""
    root = tmp_path_factory.mktemp("summary")
    raw = rawdata.write_raw_folder(root / "raw", 8, 1, rawdata.BENCHES[:1], emulated="0")
    rawdata.write_raw_csv(raw / "arm-scaling.csv", [SWITCH])
    path = root / "results" / "one"
    assert main(["collect", str(path), f"--raw=native={raw}"]) == 0
    assert main(["report", str(path), "--no-figures"]) == 0
    return path


@pytest.fixture(name="full_summary")
def read_full_summary(run: Path) -> Json:
    """Return the content of summary.json."""
    found: Json = json.loads((run / "summary.json").read_text())
    return found


def write_and_read_summary(directory: Path, value: object) -> Json:
    """Write a value to summary.json; return what read_summary() reads."""
    (directory / "summary.json").write_text(json.dumps(value))
    return summary.read_summary(directory)


def test_summary_has_version_seed_and_date(run: Path, full_summary: Json) -> None:
    assert summary.read_summary(run) == full_summary
    env = json.loads((run / "env.json").read_text())
    origin = full_summary["provenance"]
    assert (full_summary["schema"], origin["run"], origin["date"]) == (2, "one", env["date"])
    assert origin["version"] == env["source"]["version"]
    assert f'"{origin["version"]}"' in (ROOT / "include/kmarkers/version.h").read_text()
    (tier,) = origin["tiers"]
    assert (tier["tier"], tier["seed"], tier["processes"], tier["windows"]) == (
        "native",
        "1",
        1,
        65,
    )
    assert set(full_summary["units"]) == {"TSC cycles"}
    assert [(e["measured"], e["sites"], e["median"]) for e in full_summary["switching"]] == [
        ("switch", 100, 5000)
    ]


def test_summary_of_schema_1_is_read(tmp_path: Path, full_summary: Json) -> None:
    switching = [{k: v for k, v in e.items() if k != "measured"} for e in full_summary["switching"]]
    found = write_and_read_summary(tmp_path, full_summary["results"] + switching)
    assert found["results"] == full_summary["results"]
    assert found["switching"] == [{**e, "measured": None} for e in full_summary["switching"]]
    kept = summary.read_summary(ROOT / "results" / "reference")
    assert {e["tier"] for e in kept["results"]} == {"native", "vm", "icount"}


def make_field_setter(list_name: str, field: str, value: object) -> Callable[[Json], object]:
    """Return a function that sets `field` to `value` in the first entry of the list `list_name` of
    a summary."""
    return lambda content: content[list_name][0].update({field: value})


BROKEN: dict[str, tuple[Callable[[Json], object], str]] = {
    "newer": (lambda w: w.update(schema=3), "schema is 3, not 2; a newer kmarkers wrote the file"),
    "no schema": (lambda w: w.pop("schema"), "schema is missing"),
    "bool": (lambda w: w.update(schema=True), "schema is true, not a whole number"),
    "no results": (lambda w: w.pop("results"), "results is missing"),
    "entry": (lambda w: w["results"].append(3), "results[4] is 3, not an object"),
    "text": (
        make_field_setter("results", "median", "1"),
        'results[0].median is "1", not a number or null',
    ),
    "fraction": (make_field_setter("results", "n", 1.5), "results[0].n is 1.5, not a whole number"),
    "number": (
        make_field_setter("switching", "kernel", 1),
        "switching[0].kernel is 1, not a string",
    ),
    "no tier": (
        make_field_setter("results", "tier", "x"),
        "results[0].tier is \"x\", not 'native' or 'metal'",
    ),
    "no tier of switches": (
        make_field_setter("switching", "tier", 1),
        "switching[0].tier is 1, not 'native'",
    ),
    "no tier of the run": (
        lambda w: w["provenance"]["tiers"][0].update(tier="x"),
        'provenance.tiers[0].tier is "x", not',
    ),
    "verdict": (
        make_field_setter("results", "verdict", "x"),
        "results[0].verdict is \"x\", not 'slower' or",
    ),
    "measured": (
        make_field_setter("switching", "measured", "x"),
        "switching[0].measured is \"x\", not 'loop'",
    ),
    "unmeasured": (
        make_field_setter("switching", "measured", None),
        "switching[0].measured is null, not",
    ),
    "meaning": (lambda w: w["units"].update(ns=3), "units.ns is 3, not a string"),
    "flags": (
        make_field_setter("results", "flags", {"migrated": "x"}),
        'results[0].flags.migrated is "x", not',
    ),
    "NaN": (
        make_field_setter("results", "delta", math.nan),
        "results[0].delta is NaN, not a number or null",
    ),
    "infinity": (
        make_field_setter("switching", "ci_hi", math.inf),
        "switching[0].ci_hi is Infinity, not a num",
    ),
    "layout": (
        make_field_setter("results", "delta_by_layout", {"0": math.nan}),
        "results[0].delta_by_layout.0",
    ),
    "missing": (lambda w: w["results"][1].pop("delta"), "results[1].delta is missing"),
    "unit": (
        make_field_setter("switching", "unit", "ns"),
        "field 'units' lacks 'ns', the unit of switching[0]",
    ),
    "mixed": (lambda w: w["results"].extend(w["switching"]), "results[4].baseline is missing"),
    "provenance": (lambda w: w.update(provenance=[]), "provenance is [], not an object"),
    "tier": (lambda w: w["provenance"]["tiers"][0].pop("unit"), "provenance.tiers[0].unit is miss"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_invalid_field_of_a_summary_is_reported(
    name: str, tmp_path: Path, full_summary: Json
) -> None:
    spoil, said = BROKEN[name]
    spoil(full_summary)
    with pytest.raises(FailedError, match=re.escape(f"summary.json: {said}")):
        write_and_read_summary(tmp_path, full_summary)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("text", "schema"),
        (None, ""),
        ([3], "an entry of the list is not an"),
        ([{}], "results[0].tier"),
    ],
)
def test_invalid_summary_is_refused(value: object, said: str, tmp_path: Path) -> None:
    with pytest.raises(FailedError, match=re.escape("summary.json: ")) as caught:
        write_and_read_summary(tmp_path, value)
    assert said in str(caught.value) or "not an object" in str(caught.value)


def test_truncated_summary_is_reported(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (run / "summary.json").read_text()
    (tmp_path / "summary.json").write_text(text[: len(text) // 2])
    assert main(["impact", str(tmp_path)]) == 1
    assert "summary.json: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1.23456749, "1.234567"),
        (-2e-7, "0.0"),
        (3, "3.0"),
        (None, "None"),
        (math.inf, "None"),
        (-math.inf, "None"),
        (math.nan, "None"),
    ],
)
def test_numbers_have_six_decimals_in_json(value: float | None, written: str) -> None:
    assert str(summary.round_for_json(value)) == written


def test_entry_of_a_result_has_each_number_in_its_field() -> None:
    """Core cycles are 1.5 times the ticks. Layouts are ordered by number."""
    deltas = [Slope(0, 9, 5, 2), Slope(1, 2, 7, 2), Slope(2, 9, 9, 2)]
    result = make_result(
        "b", "x", 3.0, n=11, median=103.0, ci=Interval(101, 105), delta_ci=Interval(2, 4),
        time_ci=Interval(2.25, 3.75), layout_ci=Interval(2.5, math.inf), noise_floor=0.125,
        margin=0.25, detectable=0.5, correlation=1.75, windows=60, flagged=7, mean=3.5,
        late=Lateness(6, frozenset((3,)), 0.1, 1.5, 0.75), flags={"migrated": 7}, deltas=deltas,
        distribution=[(2.0, 0.5), (3.0, 1.0)], also_over={"y": (1.0, Interval(0.5, 1.5))},
        blocks=KeptBlocks(11, 12, 16, 40), note="few processes", verdict="slower",
        core=CoreCycleRatio("counted", 1.5, 0.25),
    )  # fmt: skip
    assert summary.make_result_entry(result, {}) == {
        "tier": "native", "kernel": "6.12", "benchmark": "b", "variant": "x", "unit": "TSC cycles",
        "n": 11, "median": 103, "ci_lo": 101, "ci_hi": 105, "baseline": "none", "delta": 3,
        "delta_ci_lo": 2, "delta_ci_hi": 4, "delta_sign_lo": 2.25, "delta_sign_hi": 3.75,
        "delta_cluster_lo": 2.5, "delta_cluster_hi": None, "delta_by_layout": {"2": 3.5, "9": 3.5},
        "noise_floor": 0.125, "margin": 0.25, "detectable": 0.5,
        "core_cycles": {
            "source": "counted", "per_tick": 1.5, "spread": 0.25, "median": 154.5, "delta": 4.5,
            "delta_ci_lo": 3, "delta_ci_hi": 6,
        },
        "distribution": [[2, 0.5], [3, 1]],
        "also_over": {"y": {"delta": 1, "delta_ci_lo": 0.5, "delta_ci_hi": 1.5}},
        "blocks": {"kept": 11, "measured": 12, "planned": 16, "seconds": 40},
        "verdict": "slower", "note": "few processes", "correlation_blocks": 1.75, "windows": 60,
        "windows_flagged": 7, "windows_late": 6,
        "late": {"share": 0.1, "ratio": 1.5, "together": 0.75}, "delta_mean": 3.5,
        "flags": {"migrated": 7}, "published": None, "published_delta": None, "published_rows": [],
    }  # fmt: skip
    few = summary.make_result_entry(make_result("b", "none", None, core=None), {})
    assert not {"core_cycles", "distribution", "also_over", "blocks"} & set(few)
    assert (few["delta"], few["delta_ci_lo"], few["delta_mean"]) == (None, None, None)


@pytest.mark.parametrize(
    ("schema", "said"), [(1, "schema is 1, not 2"), (3, "not 2; a newer kmarkers wrote the file")]
)
def test_summary_object_of_another_schema_is_refused(
    schema: int, said: str, tmp_path: Path, full_summary: Json
) -> None:
    with pytest.raises(FailedError) as caught:
        write_and_read_summary(tmp_path, {**full_summary, "schema": schema})
    assert str(caught.value).endswith(said)


def test_units_of_results_and_switches_are_explained(tmp_path: Path) -> None:
    """The units are in the order of the table of units."""
    point = SwitchPoint(
        *("vm", "k", "arm-scaling", "batched", "rounds", 1, "rounds", 8, 3.0, Interval(3, 3))
    )
    result = make_result("b", "none", None, unit="instructions")
    summary.write_summary(tmp_path, {"tiers": [], "source": None}, [result], {}, [point])
    found = json.loads((tmp_path / "summary.json").read_text())
    assert [*found["units"].items()] == [
        ("instructions", "instructions executed"),
        ("rounds", "rounds of synchronisation"),
    ]
    assert found["provenance"] == {
        "run": tmp_path.name, "date": None, "quick": False, "version": None, "commit": None,
        "dirty": None, "tiers": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("title", "shape"),
    [
        ("field", summary.SUMMARY),
        ("field of `provenance`", summary.PROVENANCE),
        ("field of a result", summary.RESULT),
        ("field of an entry of `switching`", summary.POINT),
        ("field of an entry of `sites`", summary.SITE_COST),
    ],
)
def test_all_summary_fields_are_documented(title: str, shape: Json) -> None:
    text = (ROOT / "Documentation" / "data.md").read_text()
    rows = text.split(f"| {title} | content |", 1)[1].split("\n\n", 1)[0]
    documented = re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE)
    assert documented == [name.removesuffix("?") for name in shape]
