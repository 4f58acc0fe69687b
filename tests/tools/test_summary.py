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
from kmtools.base.errors import FailedError
from kmtools.base.paths import ROOT
from kmtools.cli import main

Json = dict[str, Any]
SWITCH = ("arm-scaling", "batched", "switch", 0, 0, 0, 1, "", 100, 5000, "ticks", "", "")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run with results of loops and of switching, and its report."""
    root = tmp_path_factory.mktemp("summary")
    raw = rawdata.write_tier(root / "raw", 8, 1, rawdata.BENCHES[:1], emulated="0")
    rawdata.write_raw(raw / "arm-scaling.csv", [SWITCH])
    path = root / "results" / "one"
    assert main(["collect", str(path), f"--raw=native={raw}"]) == 0
    assert main(["report", str(path), "--no-figures"]) == 0
    return path


@pytest.fixture
def full_summary(run: Path) -> Json:
    """Return the content of summary.json."""
    found: Json = json.loads((run / "summary.json").read_text())
    return found


def write_and_read_summary(directory: Path, value: object) -> Json:
    """Write a value to summary.json; return what read_summary() reads."""
    (directory / "summary.json").write_text(json.dumps(value))
    return summary.read_summary(directory)


def test_summary_has_provenance(run: Path, full_summary: Json) -> None:
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


def test_schema_1_is_read(tmp_path: Path, full_summary: Json) -> None:
    switching = [{k: v for k, v in e.items() if k != "measured"} for e in full_summary["switching"]]
    found = write_and_read_summary(tmp_path, full_summary["results"] + switching)
    assert found["results"] == full_summary["results"]
    assert found["switching"] == [{**e, "measured": None} for e in full_summary["switching"]]
    kept = summary.read_summary(ROOT / "results" / "reference")
    assert {e["tier"] for e in kept["results"]} == {"native", "vm", "icount"}


def replace_field(list_name: str, field: str, value: object) -> Callable[[Json], object]:
    """Return a function that sets `field` to `value` in the first entry of the list `list_name` of
    a summary."""
    return lambda content: content[list_name][0].update({field: value})


BROKEN: dict[str, tuple[Callable[[Json], object], str]] = {
    "newer": (lambda w: w.update(schema=3), "schema is 3, not 2; a newer kmarkers wrote it"),
    "no schema": (lambda w: w.pop("schema"), "schema is missing"),
    "bool": (lambda w: w.update(schema=True), "schema is true, not a whole number"),
    "no results": (lambda w: w.pop("results"), "results is missing"),
    "entry": (lambda w: w["results"].append(3), "results[4] is 3, not an object"),
    "text": (
        replace_field("results", "median", "1"),
        'results[0].median is "1", not a number or null',
    ),
    "fraction": (replace_field("results", "n", 1.5), "results[0].n is 1.5, not a whole number"),
    "number": (replace_field("switching", "kernel", 1), "switching[0].kernel is 1, not a text"),
    "no tier": (
        replace_field("results", "tier", "x"),
        "results[0].tier is \"x\", not 'native' or 'metal'",
    ),
    "no tier of switches": (
        replace_field("switching", "tier", 1),
        "switching[0].tier is 1, not 'native'",
    ),
    "no tier of the run": (
        lambda w: w["provenance"]["tiers"][0].update(tier="x"),
        'provenance.tiers[0].tier is "x", not',
    ),
    "verdict": (
        replace_field("results", "verdict", "x"),
        "results[0].verdict is \"x\", not 'slower' or",
    ),
    "measured": (
        replace_field("switching", "measured", "x"),
        "switching[0].measured is \"x\", not 'loop'",
    ),
    "unmeasured": (
        replace_field("switching", "measured", None),
        "switching[0].measured is null, not",
    ),
    "meaning": (lambda w: w["units"].update(ns=3), "units.ns is 3, not a text"),
    "flags": (
        replace_field("results", "flags", {"migrated": "x"}),
        'results[0].flags.migrated is "x", not',
    ),
    "NaN": (
        replace_field("results", "delta", math.nan),
        "results[0].delta is NaN, not a number or null",
    ),
    "infinity": (
        replace_field("switching", "ci_hi", math.inf),
        "switching[0].ci_hi is Infinity, not a num",
    ),
    "layout": (
        replace_field("results", "delta_by_layout", {"0": math.nan}),
        "results[0].delta_by_layout.0",
    ),
    "missing": (lambda w: w["results"][1].pop("delta"), "results[1].delta is missing"),
    "unit": (
        replace_field("switching", "unit", "ns"),
        "field units lacks 'ns', the unit of switching[0]",
    ),
    "mixed": (lambda w: w["results"].extend(w["switching"]), "results[4].baseline is missing"),
    "provenance": (lambda w: w.update(provenance=[]), "provenance is [], not an object"),
    "tier": (lambda w: w["provenance"]["tiers"][0].pop("unit"), "provenance.tiers[0].unit is miss"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_invalid_field_is_reported(name: str, tmp_path: Path, full_summary: Json) -> None:
    spoil, said = BROKEN[name]
    spoil(full_summary)
    with pytest.raises(FailedError, match=re.escape(f"summary.json: {said}")):
        write_and_read_summary(tmp_path, full_summary)


@pytest.mark.parametrize(
    ("value", "said"),
    [("text", "schema"), (None, ""), ([3], "an entry is not an object"), ([{}], "results[0].tier")],
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
    ("title", "shape"),
    [
        ("field", summary.SUMMARY),
        ("field of `provenance`", summary.PROVENANCE),
        ("field of a result", summary.RESULT),
        ("field of an entry of `switching`", summary.POINT),
        ("field of an entry of `sites`", summary.SITE_COST),
    ],
)
def test_the_fields_are_documented(title: str, shape: Json) -> None:
    text = (ROOT / "Documentation" / "data.md").read_text()
    rows = text.split(f"| {title} | content |", 1)[1].split("\n\n", 1)[0]
    documented = re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE)
    assert documented == [name.removesuffix("?") for name in shape]
