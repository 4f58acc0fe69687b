# SPDX-License-Identifier: GPL-2.0-only
"""The rows of thousands of runs, computed by DuckDB.

The numbers are those of rows.py, but here a run is one cluster: a machine is what differs. A run
that DuckDB finds something wrong in is read again by samples.py, which names file and line; if it
finds nothing, as in a run of an older schema, DuckDB reads what it has written.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from kmtools.analyse import layouts, placing
from kmtools.analyse.layouts import EIGHTHS
from kmtools.analyse.rows import EXACT, SHARE, TRIM, WHOLE, Name, Row
from kmtools.analyse.slopes import CLONE_SUFFIX
from kmtools.base.errors import FailedError
from kmtools.measure import samples
from kmtools.measure.rundir import UNIT_INSTRUCTIONS, RunError, Tier

if TYPE_CHECKING:
    import duckdb

# So many runs are read at a time, which bounds the memory.
BATCH = 1000
MEMORY = "1GB"
# The largest number that DuckDB reads.
MOST = 2**63 - 1
WHOLE_NUMBERS = {"process", "layout", "block", "position", "cpu", "loops", "sites", "value"}
COLUMNS = {
    name: "BIGINT" if name in WHOLE_NUMBERS or name == "core_cycles" else "VARCHAR"
    for name in samples.SAMPLE_COLUMNS
}

HEADER = (f"# schema={samples.SCHEMA}", ",".join(samples.SAMPLE_COLUMNS))


def literal(value: object) -> str:
    """A value in SQL: a text, a list of texts, or a struct of texts."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    return "'" + str(value).replace("'", "''") + "'"


# How samples.csv is read: nothing is guessed.
CSV = (
    "auto_detect=false, skip=1, header=true, delim=',', quote='\"', escape='\"',"
    f" new_line='\\n', columns={literal(COLUMNS)}"
)
# What every line must hold; samples.py says it again, with the number of the line.
WRONG = f"""
SELECT DISTINCT s.run FROM s LEFT JOIN known k USING (run, tier, kernel) WHERE k.unit IS NULL
  OR s.unit IS DISTINCT FROM CASE WHEN measured = 'rounds' THEN 'rounds' ELSE k.unit END
  OR coalesce(measured, '') NOT IN {samples.MEASURED} OR coalesce(flags, '') NOT IN {samples.FLAGS}
  OR coalesce(layout, -1) NOT BETWEEN 0 AND {samples.LAYOUTS - 1} OR process < 1 OR process IS NULL
  OR block < 0 OR block IS NULL OR value < 0 OR value IS NULL OR coalesce(benchmark, '') = ''
  OR position < 0 OR position IS NULL OR cpu < 0 OR cpu IS NULL OR core_cycles < 0
  OR (k.emulated AND core_cycles IS NOT NULL)
  OR coalesce(variant, '') = '' OR (measured = 'loop') <> (loops IS NOT NULL)
  OR (measured = 'loop') = (sites IS NOT NULL) OR coalesce(loops, sites) < 1
UNION SELECT run FROM (
  SELECT run, tier, kernel, any_value(k.windows) AS planned, count(s.value) AS n
  FROM known k LEFT JOIN s USING (run, tier, kernel) GROUP BY ALL) WHERE n = 0 OR n <> planned
"""

# What str.isprintable() is false for.
WRONG_NAMES = r"""
SELECT run FROM (SELECT DISTINCT run, benchmark, variant FROM s)
  WHERE regexp_matches(replace(benchmark || variant, ' ', ''), '[\pC\pZ]')
"""
# DuckDB takes 1.5, +1 and a comma too many. The samples, written as they should be, then have
# another length than the file.
LENGTH = " + ".join(f"coalesce(strlen({name}::VARCHAR), 0)" for name in COLUMNS)
WRONG_LENGTH = f"""
SELECT run FROM s WHERE size IS NOT NULL
  GROUP BY run, size HAVING sum({LENGTH} + {len(COLUMNS)}) <> size
"""

# A variant in a block, flagged windows too: whether a window is there twice is seen here.
WINDOWS = """
CREATE OR REPLACE TEMP TABLE windows AS
  SELECT run, tier, kernel, unit, benchmark, variant, block, min(layout) AS layout,
    min(process) AS process, count(*) > count(DISTINCT loops) AS again,
    min(layout) < max(layout) OR min(process) < max(process) AS torn,
    regr_slope(value::DOUBLE, loops::DOUBLE) FILTER (coalesce(flags, '') = '') AS cost,
    min(loops) FILTER (coalesce(flags, '') = '') < max(loops) FILTER (coalesce(flags, '') = '')
      AS sloped
  FROM s WHERE measured = 'loop'
  GROUP BY run, tier, kernel, unit, benchmark, variant, block
"""
WRONG_BLOCKS = """
SELECT run FROM windows GROUP BY run, tier, kernel, benchmark, block
  HAVING bool_or(again OR torn) OR min(layout) < max(layout) OR min(process) < max(process)
"""

BLOCKS = f"""
CREATE OR REPLACE TEMP TABLE blocks AS
WITH fitted AS (
  SELECT run, tier, kernel, unit, benchmark, variant, block, layout, process, cost
  FROM windows WHERE sloped
), baselines AS (
  SELECT a.run, a.tier, a.kernel, a.benchmark, min(a.variant) AS baseline
  FROM (SELECT DISTINCT run, tier, kernel, benchmark, variant FROM fitted) a
  JOIN (SELECT DISTINCT run, tier, kernel, benchmark, variant FROM fitted) b
    ON (a.run, a.tier, a.kernel, a.benchmark) = (b.run, b.tier, b.kernel, b.benchmark)
    AND b.variant = a.variant || '{CLONE_SUFFIX}'
  GROUP BY ALL
), kinds AS (
  SELECT f.*, coalesce(l.baseline, '') AS baseline,
    CASE WHEN f.unit = '{UNIT_INSTRUCTIONS}' THEN '{EXACT}'
      WHEN f.variant = l.baseline OR l.baseline IS NULL THEN '{WHOLE}' ELSE '{SHARE}' END AS kind
  FROM fitted f LEFT JOIN baselines l USING (run, tier, kernel, benchmark)
)
SELECT f.*, CASE WHEN kind = '{SHARE}' THEN f.cost / nullif(b.cost, 0) ELSE f.cost END AS value
FROM kinds f LEFT JOIN fitted b ON b.variant = f.baseline AND b.run = f.run AND b.tier = f.tier
  AND b.kernel = f.kernel AND b.benchmark = f.benchmark AND b.block = f.block
WHERE value IS NOT NULL
"""

ESTIMATES = f"""
WITH few AS (
  SELECT run, tier, kernel, benchmark, variant, process, count(DISTINCT layout) > {EIGHTHS}
    AND count(*) < {layouts.FEWEST} * count(DISTINCT layout) AS crowded
  FROM blocks GROUP BY ALL
), known AS (
  SELECT b.* REPLACE (CASE WHEN crowded THEN layout % {EIGHTHS} ELSE layout END AS layout)
  FROM blocks b JOIN few USING (run, tier, kernel, benchmark, variant, process)
), ordered AS (
  SELECT *, row_number() OVER w AS place, count(*) OVER w2 AS n FROM known
  WINDOW w AS (PARTITION BY run, tier, kernel, benchmark, variant, process, layout ORDER BY value),
    w2 AS (PARTITION BY run, tier, kernel, benchmark, variant, process, layout)
), cut AS (
  SELECT *, CASE WHEN n > 2 THEN ceil(n * {TRIM}) ELSE 0 END AS off FROM ordered
), layouts AS (
  SELECT run, tier, kernel, unit, benchmark, variant, kind, baseline, process, layout,
    avg(value) FILTER (place > off AND place <= n - off) AS value
  FROM cut GROUP BY ALL
), processes AS (
  SELECT run, tier, kernel, unit, benchmark, variant, kind, baseline, process, avg(value) AS value
  FROM layouts GROUP BY ALL
), costs AS (
  SELECT run, tier, kernel, benchmark, variant, median(cost) AS cost, count(*) AS blocks,
    bit_or(1::BIGINT << layout) AS places
  FROM blocks GROUP BY ALL
)
SELECT run, tier, kernel, unit, benchmark, variant, kind, baseline, any_value(places),
  any_value(cost), any_value(blocks), avg(value) FROM processes
JOIN costs USING (run, tier, kernel, benchmark, variant) GROUP BY ALL ORDER BY ALL
"""


@dataclass(frozen=True)
class Source:
    """A run among many: its name, its file of samples, and its tiers."""

    name: str
    path: Path
    tiers: Sequence[Tier]


@dataclass
class Found:
    """The estimates of the runs that can be used, and why the others cannot."""

    entries: list[tuple[Any, ...]] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def connect() -> duckdb.DuckDBPyConnection:
    """An engine in memory, with a bound."""
    import duckdb  # noqa: PLC0415  only commands for many machines need it

    engine = duckdb.connect()
    engine.execute(f"SET memory_limit='{MEMORY}'; SET preserve_insertion_order=false")
    engine.execute("SET enable_progress_bar=false")
    return engine


def schema_fault(source: Source) -> str:
    """Why the columns of a file are not those of the newest schema; samples.py reads older ones."""
    if not source.tiers:
        return "env.json has no tier"
    if source.path.suffix == ".parquet":
        return parquet_fault(source.path)
    lines = samples.whole_lines(source.path)
    first, header = next(lines, "").strip(), next(lines, "").strip()
    return "" if (first, header) == HEADER else "not of the newest schema"


def parquet_fault(path: Path) -> str:
    """Why a file is no Parquet of samples."""
    import duckdb  # noqa: PLC0415  only commands for many machines need it

    with TemporaryDirectory() as scratch:
        ((link, _),) = links([Source("", path, ())], Path(scratch)).items()
        try:
            heads = duckdb.sql(f"DESCRIBE SELECT * FROM read_parquet({literal(link)})").fetchall()
        except duckdb.Error as error:
            return f"{path}: {str(error).splitlines()[0].replace(link, str(path))}"
    return "" if {name: kind for name, kind, *_ in heads} == COLUMNS else "other columns"


def to_parquet(taken: Iterable[samples.Sample], path: Path) -> None:
    """Write samples as Parquet, with the columns of samples.csv."""
    with TemporaryDirectory() as scratch, connect() as engine:
        plain = Path(scratch) / "samples.csv"
        samples.write_samples(plain, taken)
        engine.execute(
            f"COPY (SELECT * FROM read_csv({literal(str(plain))}, {CSV})) TO"
            f" {literal(str(path))} (FORMAT parquet)",
        )


def written(source: Source, path: Path) -> Source:
    """Write the samples of a run as they should be; RunError names file and line of what is wrong
    in them."""
    if source.path.suffix == ".parquet":
        raise RunError(parquet_fault(source.path) or f"{source.path}: a value is missing or wrong")
    samples.write_samples(path, samples.read_samples(source.path, source.tiers))
    return Source(source.name, path, source.tiers)


def small_table(
    engine: duckdb.DuckDBPyConnection,
    name: str,
    heads: Sequence[str],
    rows: Sequence[tuple[object, ...]],
) -> None:
    """Make a table of a few thousand rows, in one statement: one for each row takes far longer."""
    columns = zip(*rows, strict=True)
    lists = ", ".join(f"unnest(?) AS {head}" for head in heads)
    engine.execute(
        f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {lists}", [list(c) for c in columns]
    )


def links(sources: Sequence[Source], scratch: Path) -> dict[str, int]:
    """Make a link to each file of samples, and return the number of its run. DuckDB looks for
    patterns in names, and knows UTF-8 alone; the names of runs may hold anything."""
    names = {}
    for number, source in enumerate(sources):
        packed = [end for end in (".parquet", ".csv.gz") if source.path.name.endswith(end)]
        link = scratch / f"{number}{packed[0] if packed else '.csv'}"
        link.symlink_to(source.path.absolute())
        names[str(link)] = number
    return names


def size_of(path: Path) -> int | None:
    """The bytes of the lines behind the header; None if the file does not tell."""
    if path.suffix == ".parquet":
        return None
    size = path.stat().st_size
    if path.suffix == ".gz":
        with path.open("rb") as stream:
            stream.seek(-4, os.SEEK_END)
            size = int.from_bytes(stream.read(), "little")
    return size - sum(len(line) + 1 for line in HEADER)


def load(
    engine: duckdb.DuckDBPyConnection, sources: Sequence[Source], strict: bool = True
) -> set[int]:
    """Make the table windows of some runs; returns the numbers of those in which a line is wrong,
    if `strict` also of those that are not written as they should be."""
    with TemporaryDirectory() as scratch:
        names = links(sources, Path(scratch))
        files = [
            (path, number, size_of(sources[number].path) if strict else None)
            for path, number in names.items()
        ]
        small_table(engine, "files", ("filename", "run", "size"), files)
        packed = [path for path in names if path.endswith(".parquet")]
        plain = [path for path in names if not path.endswith(".parquet")]
        parts, wrong = [], set()
        if packed:
            parts.append(f"SELECT * FROM read_parquet({literal(packed)}, filename=true)")
        if plain:
            parts.append(
                f"SELECT * FROM read_csv({literal(plain)}, {CSV}, filename=true,"
                " store_rejects=true, rejects_limit=1000)"
            )
        engine.execute(
            "CREATE OR REPLACE TEMP TABLE s AS SELECT * EXCLUDE (filename) FROM"
            f" ({' UNION ALL BY NAME '.join(parts)}) JOIN files USING (filename)"
        )
    if plain:
        rejects = engine.execute(
            "SELECT DISTINCT file_path FROM reject_errors JOIN reject_scans"
            " USING (scan_id, file_id)"
        ).fetchall()
        wrong = {names[path] for (path,) in rejects if path in names}
        engine.execute("DROP TABLE reject_errors; DROP TABLE reject_scans")
    known = [
        (number, tier.tier, tier.kernel, tier.unit, tier.emulated, tier.windows)
        for number, source in enumerate(sources)
        for tier in source.tiers
    ]
    heads = ("run", "tier", "kernel", "unit", "emulated", "windows")
    small_table(engine, "known", heads, known)
    engine.execute(WINDOWS)
    for query in (WRONG, WRONG_NAMES, WRONG_LENGTH, WRONG_BLOCKS):
        wrong |= {run for (run,) in engine.execute(query).fetchall()}
    return wrong


def read(sources: Sequence[Source]) -> Found:
    """The estimates of all rows of all runs, and the runs that are refused."""
    found = Found()
    fit: list[Source] = []
    others: list[Source] = []
    for source in sources:
        try:
            fault = schema_fault(source)
        except FailedError as error:
            fault = str(error)
        (others if fault else fit).append(source)
    with connect() as engine, TemporaryDirectory() as scratch:
        for first in range(0, len(fit), BATCH):
            batch = fit[first : first + BATCH]
            refused = load(engine, batch)
            take(engine, batch, refused, found)
            others += [batch[number] for number in sorted(refused)]
        for source in others:
            try:
                again = written(source, Path(scratch) / "samples.csv")
            except FailedError as error:
                found.refused[source.name] = str(error)
                continue
            if load(engine, [again], strict=False):
                found.refused[source.name] = f"{source.path}: a number is above {MOST}"
            else:
                take(engine, [again], set(), found)
    return found


def take(
    engine: duckdb.DuckDBPyConnection,
    batch: Sequence[Source],
    refused: Collection[int],
    found: Found,
) -> None:
    """Add the estimates of the runs that were loaded, without the refused ones."""
    if refused:
        engine.execute(f"DELETE FROM windows WHERE list_contains({sorted(refused)}, run)")
    engine.execute(BLOCKS)
    entries = engine.execute(ESTIMATES).fetchall()
    found.entries += [(batch[number].name, *rest) for number, *rest in entries]


def merged(entries: Sequence[tuple[Any, ...]]) -> list[Row]:
    """The rows of some runs as if they were one run, whose processes are the runs. If one of them
    has a row in several kernels, the rows of each kernel are apart."""
    apart = len({(entry[0], *placing.key_of(entry)) for entry in entries}) < len(entries)
    groups: Mapping[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for entry in entries:
        _, tier, kernel, unit, benchmark, variant, kind, baseline, *_ = entry
        key = (tier, kernel if apart else "", unit, benchmark, variant, kind, baseline)
        groups[key].append(entry)
    rows = []
    for key, several in groups.items():
        tier, kernel, unit, benchmark, variant, kind, baseline = key
        values = np.array([entry[-1] for entry in several], dtype=np.float64)
        cost = float(np.median([entry[-3] for entry in several]))
        rows.append(
            Row(
                Name(tier, benchmark, variant),
                kernel,
                unit,
                kind,
                baseline,
                cost,
                sum(entry[-2] for entry in several),
                len(several),
                values,
                {},
                0.0,
                float(values.min()),
                float(values.max()),
                placing.of_bits(several[0][placing.BITS]) if kind != EXACT else frozenset(),
            )
        )
    return sorted(rows, key=lambda row: (row.name.order, row.kernel))
