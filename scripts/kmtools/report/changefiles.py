# SPDX-License-Identifier: GPL-2.0-only
"""Converts a comparison of runs to files for other programs: JSON and JUnit XML."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from typing import Any

from kmtools.analyse.changes import Change
from kmtools.analyse.rows import Row
from kmtools.analyse.summary import make_interval_fields, round_for_json
from kmtools.report.changetext import format_change_interval, format_percent
from kmtools.report.comparison import Comparison, make_run_fields

# Version of the JSON format.
SCHEMA = 1


def make_row_json_object(row: Row | None) -> dict[str, Any] | None:
    """Return `row`, a row of one run, as a JSON object; None if the run lacks the row."""
    if row is None:
        return None
    return {
        "kernel": row.single_kernel,
        "unit": row.unit,
        "cost": round_for_json(row.cost),
        "blocks": row.blocks,
        "processes": row.processes,
        "clusters": len(row.values),
    }


def make_change_json_object(comparison: Comparison, change: Change) -> dict[str, Any]:
    """Return the JSON object of a compared row: its name, the change with the verdict, and the row
    in both runs."""
    name = change.name
    return {
        "tier": name.tier,
        "benchmark": name.benchmark,
        "variant": name.variant,
        "measured": name.measured,
        "sites": name.sites or None,
        "kind": change.kind,
        "percent": round_for_json(change.percent),
        **make_interval_fields("percent", change.interval if change.percent is not None else None),
        "noise_floor": round_for_json(change.floor),
        "margin": change.margin,
        "verdict": change.verdict,
        "note": change.note,
        "fails": comparison.is_failure(change),
        "a": make_row_json_object(change.a),
        "b": make_row_json_object(change.b),
    }


def render_comparison_json(comparison: Comparison) -> str:
    """Return the comparison as JSON; Documentation/comparing.md describes its fields."""
    pairs = [
        {
            "a": make_run_fields(pair.a),
            "b": make_run_fields(pair.b),
            "counts": dict(pair.verdict_counts),
            "rows": [make_change_json_object(comparison, change) for change in pair.changes],
        }
        for pair in comparison.pairs
    ]
    whole = {
        "schema": SCHEMA,
        "margin": comparison.margin,
        "failing": sorted(comparison.failing),
        "failed": comparison.failure_count,
        "faults": list(comparison.faults),
        "pairs": pairs,
    }
    return json.dumps(whole, indent=1) + "\n"


def add_failed_junit_cases(suite: ElementTree.Element, faults: Sequence[str]) -> None:
    """Add to the JUnit test suite `suite` a failed test case for each line of `faults`. Each line
    is about a machine that could not be compared."""
    count = str(len(faults))
    suite.attrib.update({"tests": count, "failures": count, "skipped": "0"})
    for fault in faults:
        kind, _, name = fault.partition(": ")
        case = ElementTree.SubElement(suite, "testcase", {"classname": kind, "name": name})
        ElementTree.SubElement(case, "failure", message=fault)


def render_comparison_junit(comparison: Comparison) -> str:
    """Return the comparison as JUnit XML: a test suite for each pair of runs, a test case for each
    row. A row that fails is a failure; a row that could not be compared is skipped."""
    root = ElementTree.Element("testsuites", name="kmarkers compare")
    for pair in comparison.pairs:
        failed = sum(comparison.is_failure(change) for change in pair.changes)
        suite = ElementTree.SubElement(root, "testsuite", name=f"{pair.a.name} {pair.b.name}")
        skipped = 0
        for change in pair.changes:
            name = change.name
            sites = f" {name.measured} {name.sites}" if name.sites else ""
            kernel = f" kernel {change.kernel}" if change.kernel else ""
            row_name = name.variant + sites + kernel
            where = {"classname": f"{name.tier}.{name.benchmark}", "name": row_name}
            case = ElementTree.SubElement(suite, "testcase", where)
            numbers = f"{format_percent(change.percent)} {format_change_interval(change)}"
            said = f"{change.verdict}: {numbers} {change.note}"
            if comparison.is_failure(change):
                ElementTree.SubElement(case, "failure", message=said.strip())
            elif change.percent is None:
                ElementTree.SubElement(case, "skipped", message=said.strip())
                skipped += 1
            else:
                ElementTree.SubElement(case, "system-out").text = said.strip()
        counts = {"tests": len(pair.changes), "failures": failed, "skipped": skipped}
        suite.attrib.update({key: str(value) for key, value in counts.items()})
    if comparison.faults:
        add_failed_junit_cases(
            ElementTree.SubElement(root, "testsuite", name="machines"), comparison.faults
        )
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
