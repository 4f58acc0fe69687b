# SPDX-License-Identifier: GPL-2.0-only
"""The numbers published in 2006-2015, and the benchmarks here that continue them.

aliases.csv joins each published (source, benchmark, variant) to one of ours, or says why none can
continue it. Its column `over` names the published reference of the cost, as benchmark:variant; the
cost is computed again from the published totals. Its column `apart` names a tier in which the
successor measures something else: where markers of 2006 counted preemption, a program enters an RCU
section. Its column `found` is the place of the successor: "" in user space and perhaps in kernels,
`kernel` in kernels alone, `objects` in what objects.py reads.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from kmtools.base.paths import OWN

PUBLISHED = OWN / "results" / "published.csv"
ALIASES = Path(__file__).with_name("aliases.csv")
DELTA_NOTE = re.compile(r"published delta (?:over [a-z ]+ )?(-?\d+(?:\.\d+)?)")

NAMES = ("source", "date", "machine", "kernel", "benchmark", "variant")
Name = tuple[str, str, str]


@dataclass(frozen=True)
class Published:
    """One published number: value, its standard deviation and deltas in `unit`, deltas over another
    published row."""

    source: str
    date: str
    machine: str
    kernel: str
    benchmark: str
    variant: str
    value: float
    unit: str
    stddev: float | None
    note: str
    delta_stated: Decimal | None
    over: str | None
    delta: float | None
    apart: str

    @property
    def whole(self) -> bool:
        """Whether this is a time or a rate of a whole program, which is not compared with
        cycles."""
        return self.unit in ("s", "packets/s")

    @property
    def differs(self) -> bool:
        """Whether the stated delta differs from the one computed again, at the stated precision."""
        if self.delta_stated is None or self.delta is None:
            return False
        recomputed = Decimal(repr(round(self.delta, 9)))
        step = Decimal(1).scaleb(int(self.delta_stated.as_tuple().exponent))
        gap = abs(recomputed - self.delta_stated)
        return gap >= step and recomputed.quantize(step, ROUND_HALF_UP) != self.delta_stated

    def as_json(self) -> dict[str, Any]:
        stated = None if self.delta_stated is None else float(self.delta_stated)
        return {
            **{name: getattr(self, name) for name in NAMES},
            "value": round(self.value, 6),
            "unit": self.unit,
            "over": self.over,
            "delta_stated": stated,
            "delta": None if self.delta is None else round(self.delta, 6),
            "stated_delta_is_wrong": self.differs,
            "note": self.note,
        }


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file with a header."""
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def value_of(row: dict[str, str]) -> tuple[float, str]:
    """A published value and its unit; totals are divided by their loops."""
    if row["total_cycles"] and row["loops"]:
        return int(row["total_cycles"]) / int(row["loops"]), row["unit"].split("/")[0] + "/loop"
    return float(row["published"]), row["unit"]


def read_published() -> list[Published]:
    """Every published number, with its delta computed again on its own machine."""
    aliases = {
        (a["source"], a["published_benchmark"], a["published_variant"]): a
        for a in read_table(ALIASES)
    }
    rows = read_table(PUBLISHED)
    found = {
        (r["source"], r["machine"], f"{r['benchmark']}:{r['variant']}"): value_of(r) for r in rows
    }
    numbers = []
    for row in rows:
        value, unit = value_of(row)
        name: Name = (row["source"], row["benchmark"], row["variant"])
        alias = aliases.get(name, {})
        reference = alias.get("over") or None
        base = found.get((row["source"], row["machine"], reference)) if reference else None
        delta = value - base[0] if base and base[1] == unit else None
        # A Decimal keeps the number of published digits.
        stated = DELTA_NOTE.search(row["note"])
        numbers.append(
            Published(
                **{name: row[name] for name in NAMES},
                value=value,
                unit=unit,
                stddev=float(row["stddev"]) if row["stddev"] else None,
                note=row["note"],
                delta_stated=Decimal(stated[1]) if stated else None,
                over=reference,
                delta=delta,
                apart=alias.get("apart", ""),
            )
        )
    return numbers


def unknown(names: Collection[tuple[str, str]], found: str) -> list[str]:
    """The aliases whose place is `found` and whose benchmark and variant are not in `names`."""
    return [
        f"{row['benchmark']}:{row['variant']}"
        for row in read_table(ALIASES)
        if not row["reason"]
        and row["found"] == found
        and (row["benchmark"], row["variant"]) not in names
    ]


def continued() -> tuple[int, int]:
    """The number of published rows that have a successor, and of all."""
    table = read_table(PUBLISHED)
    rows = [(row["source"], f"{row['benchmark']}:{row['variant']}") for row in table]
    names = successors()
    return sum(bool(names.get(row)) for row in rows), len(rows)


def successors() -> dict[tuple[str, str], list[tuple[str, str]]]:
    """(source, published benchmark:variant) -> our (benchmark, variant) names."""
    names: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for row in read_table(ALIASES):
        if row["benchmark"] and row["variant"]:
            published = f"{row['published_benchmark']}:{row['published_variant']}"
            names[row["source"], published].append((row["benchmark"], row["variant"]))
    return names


def ancestors() -> dict[tuple[str, str], list[Published]]:
    """For each of our (benchmark, variant) the published numbers it continues, in file order."""
    names = successors()
    joined: dict[tuple[str, str], list[Published]] = defaultdict(list)
    for number in read_published():
        for ours in names[number.source, f"{number.benchmark}:{number.variant}"]:
            joined[ours].append(number)
    return dict(joined)
