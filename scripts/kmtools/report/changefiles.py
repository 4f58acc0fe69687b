# SPDX-License-Identifier: GPL-2.0-only
"""A comparison as files for programs: JSON and JUnit."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from typing import Any

from kmtools.analyse.changes import Change
from kmtools.analyse.rows import Row
from kmtools.analyse.summary import ends, number
from kmtools.report.changetext import interval, percent
from kmtools.report.comparison import Comparison, machine_of

SCHEMA = 1


def of_row(row: Row | None) -> dict[str, Any] | None:
    """The JSON of a row of one run."""
    if row is None:
        return None
    return {
        "kernel": row.kernel,
        "unit": row.unit,
        "cost": number(row.cost),
        "blocks": row.blocks,
        "processes": row.processes,
        "clusters": len(row.values),
    }


def of_change(comparison: Comparison, change: Change) -> dict[str, Any]:
    """The JSON of a row of the comparison."""
    name = change.name
    return {
        "tier": name.tier,
        "benchmark": name.benchmark,
        "variant": name.variant,
        "measured": name.measured,
        "sites": name.sites or None,
        "kind": change.kind,
        "percent": number(change.percent),
        **ends("percent", change.interval if change.percent is not None else None),
        "noise_floor": number(change.floor),
        "margin": change.margin,
        "verdict": change.verdict,
        "note": change.note,
        "fails": comparison.fails(change),
        "a": of_row(change.a),
        "b": of_row(change.b),
    }


def as_json(comparison: Comparison) -> str:
    """The comparison as JSON; Documentation/comparing.md describes its fields."""
    pairs = [
        {
            "a": machine_of(pair.a),
            "b": machine_of(pair.b),
            "counts": dict(pair.counts),
            "rows": [of_change(comparison, change) for change in pair.changes],
        }
        for pair in comparison.pairs
    ]
    whole = {
        "schema": SCHEMA,
        "margin": comparison.margin,
        "failing": sorted(comparison.failing),
        "failed": comparison.failed,
        "faults": list(comparison.faults),
        "pairs": pairs,
    }
    return json.dumps(whole, indent=1) + "\n"


def of_faults(suite: ElementTree.Element, faults: Sequence[str]) -> None:
    """Add a failed test case for each machine that is not compared."""
    count = str(len(faults))
    suite.attrib.update({"tests": count, "failures": count, "skipped": "0"})
    for fault in faults:
        kind, _, name = fault.partition(": ")
        case = ElementTree.SubElement(suite, "testcase", {"classname": kind, "name": name})
        ElementTree.SubElement(case, "failure", message=fault)


def as_junit(comparison: Comparison) -> str:
    """The comparison as JUnit: a suite for each pair, a case for each row. A row that fails is a
    failure; one that could not be compared is skipped."""
    root = ElementTree.Element("testsuites", name="kmarkers compare")
    for pair in comparison.pairs:
        failed = sum(comparison.fails(change) for change in pair.changes)
        suite = ElementTree.SubElement(root, "testsuite", name=f"{pair.a.name} {pair.b.name}")
        skipped = 0
        for change in pair.changes:
            name = change.name
            sites = f" {name.measured} {name.sites}" if name.sites else ""
            where = {"classname": f"{name.tier}.{name.benchmark}", "name": name.variant + sites}
            case = ElementTree.SubElement(suite, "testcase", where)
            said = f"{change.verdict}: {percent(change.percent)} {interval(change)} {change.note}"
            if comparison.fails(change):
                ElementTree.SubElement(case, "failure", message=said.strip())
            elif change.percent is None:
                ElementTree.SubElement(case, "skipped", message=said.strip())
                skipped += 1
            else:
                ElementTree.SubElement(case, "system-out").text = said.strip()
        counts = {"tests": len(pair.changes), "failures": failed, "skipped": skipped}
        suite.attrib.update({key: str(value) for key, value in counts.items()})
    if comparison.faults:
        of_faults(ElementTree.SubElement(root, "testsuite", name="machines"), comparison.faults)
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
