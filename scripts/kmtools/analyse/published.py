# SPDX-License-Identifier: GPL-2.0-only
"""Reads the numbers published in 2006-2015, and the names of the benchmarks of kmarkers that repeat
these measurements.

Each row of aliases.csv names a published (source, benchmark, variant), and its successor: the
benchmark and variant of kmarkers that repeat the measurement. The column `reason` says why there is
no successor. Other columns:

- `over`: if a cost was published as the difference from another published variant, this variant, as
  benchmark:variant. The difference is computed again from the published totals.
- `apart`: a tier (measurement environment) in which the successor measures something else. For
  example, markers of 2006 disabled preemption, but markers in user space enter an RCU read-side
  section.
- `found`: where the successor is measured. `kernel`: only in kernels; `objects`: in object files
  (see objects.py); empty: in user space and perhaps also in kernels.
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

COPIED_COLUMNS = ("source", "date", "machine", "kernel", "benchmark", "variant")
# The name of a published number: source, benchmark, variant.
Name = tuple[str, str, str]


@dataclass(frozen=True)
class PublishedNumber:
    """One published number: the value, its standard deviation, and two deltas, all in `unit`. A
    delta is the value minus the value of the published variant `over`. `delta_stated` is the
    published delta; `delta` is computed from the two published values."""

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
    def is_number_of_whole_program(self) -> bool:
        """True if the number is a time or a rate of a whole program, which is not compared with
        cycles."""
        return self.unit in ("s", "packets/s")

    @property
    def is_stated_delta_wrong(self) -> bool:
        """True if `delta` differs from `delta_stated` by one unit or more of the last digit of
        `delta_stated`."""
        if self.delta_stated is None or self.delta is None:
            return False
        recomputed = Decimal(repr(round(self.delta, 9)))
        step = Decimal(1).scaleb(int(self.delta_stated.as_tuple().exponent))
        gap = abs(recomputed - self.delta_stated)
        return gap >= step and recomputed.quantize(step, ROUND_HALF_UP) != self.delta_stated

    def to_json_entry(self) -> dict[str, Any]:
        """Return the entry of this number in summary.json."""
        stated = None if self.delta_stated is None else float(self.delta_stated)
        return {
            **{name: getattr(self, name) for name in COPIED_COLUMNS},
            "value": round(self.value, 6),
            "unit": self.unit,
            "over": self.over,
            "delta_stated": stated,
            "delta": None if self.delta is None else round(self.delta, 6),
            "stated_delta_is_wrong": self.is_stated_delta_wrong,
            "note": self.note,
        }


def read_csv_table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file with a header."""
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def parse_published_value(row: dict[str, str]) -> tuple[float, str]:
    """Return the published value in a row, and its unit. A published total of cycles is divided by
    the number of loops."""
    if row["total_cycles"] and row["loops"]:
        return int(row["total_cycles"]) / int(row["loops"]), row["unit"].split("/")[0] + "/loop"
    return float(row["published"]), row["unit"]


def read_published_numbers() -> list[PublishedNumber]:
    """Return every published number. The field `delta` of a number is computed from two published
    values of the same machine."""
    aliases = {
        (a["source"], a["published_benchmark"], a["published_variant"]): a
        for a in read_csv_table(ALIASES)
    }
    rows = read_csv_table(PUBLISHED)
    found = {
        (r["source"], r["machine"], f"{r['benchmark']}:{r['variant']}"): parse_published_value(r)
        for r in rows
    }
    numbers = []
    for row in rows:
        value, unit = parse_published_value(row)
        name: Name = (row["source"], row["benchmark"], row["variant"])
        alias = aliases.get(name, {})
        reference = alias.get("over") or None
        base = found.get((row["source"], row["machine"], reference)) if reference else None
        delta = value - base[0] if base and base[1] == unit else None
        # Store the published delta as a Decimal, which keeps the number of digits.
        stated = DELTA_NOTE.search(row["note"])
        numbers.append(
            PublishedNumber(
                **{name: row[name] for name in COPIED_COLUMNS},
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


def find_missing_successor_variants(
    variants: Collection[tuple[str, str]], measured_in: str
) -> list[str]:
    """Return the successors (variants that repeat published measurements) that aliases.csv names
    and `variants` lacks; `variants` has pairs of a benchmark and a variant. Only rows of
    aliases.csv whose column `found` is `measured_in` are examined."""
    return [
        f"{row['benchmark']}:{row['variant']}"
        for row in read_csv_table(ALIASES)
        if not row["reason"]
        and row["found"] == measured_in
        and (row["benchmark"], row["variant"]) not in variants
    ]


def count_published_rows_with_successor() -> tuple[int, int]:
    """Return the number of published rows that have a successor (a variant of kmarkers that repeats
    the measurement), and the number of all published rows."""
    table = read_csv_table(PUBLISHED)
    rows = [(row["source"], f"{row['benchmark']}:{row['variant']}") for row in table]
    names = read_successor_variants()
    return sum(bool(names.get(row)) for row in rows), len(rows)


def read_successor_variants() -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return the successors of each published cost: the (benchmark, variant) pairs of kmarkers that
    repeat the measurement. The key is (source, published benchmark:variant)."""
    names: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for row in read_csv_table(ALIASES):
        if row["benchmark"] and row["variant"]:
            published = f"{row['published_benchmark']}:{row['published_variant']}"
            names[row["source"], published].append((row["benchmark"], row["variant"]))
    return names


def read_published_ancestors() -> dict[tuple[str, str], list[PublishedNumber]]:
    """Return the ancestors of each (benchmark, variant) pair of kmarkers: the published numbers
    whose measurement the variant repeats, in file order."""
    names = read_successor_variants()
    joined: dict[tuple[str, str], list[PublishedNumber]] = defaultdict(list)
    for number in read_published_numbers():
        for ours in names[number.source, f"{number.benchmark}:{number.variant}"]:
            joined[ours].append(number)
    return dict(joined)
