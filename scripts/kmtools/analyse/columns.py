# SPDX-License-Identifier: GPL-2.0-only
"""The rows of thousands of runs, computed by DuckDB.

The numbers are those of rows.py, but here a run is one cluster: a machine is what differs. A run
that DuckDB finds something wrong in is read again by samples.py, which names file and line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from kmtools.analyse.rows import EXACT, SHARE, TRIM, WHOLE, Name, Row
from kmtools.analyse.slopes import CLONE_SUFFIX
from kmtools.base.errors import FailedError
from kmtools.measure import samples
from kmtools.measure.rundir import UNIT_INSTRUCTIONS, Tier

if TYPE_CHECKING:
    import duckdb

# So many runs are read at a time, which bounds the memory.
BATCH = 1000
MEMORY = "1GB"
WHOLE_NUMBERS = {"process", "layout", "block", "position", "cpu", "loops", "sites", "value"}
COLUMNS = {
    name: "BIGINT" if name in WHOLE_NUMBERS or name == "core_cycles" else "VARCHAR"
    for name in samples.SAMPLE_COLUMNS
}


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
  OR s.unit <> CASE WHEN measured = 'rounds' THEN 'rounds' ELSE k.unit END
  OR measured NOT IN {samples.MEASURED} OR coalesce(flags, '') NOT IN {samples.FLAGS}
  OR layout NOT BETWEEN 0 AND {samples.LAYOUTS - 1} OR process < 1 OR process IS NULL
  OR block < 0 OR block IS NULL OR value IS NULL OR coalesce(benchmark, '') = ''
  OR coalesce(variant, '') = '' OR (measured = 'loop') <> (loops IS NOT NULL)
  OR (measured = 'loop') = (sites IS NOT NULL) OR coalesce(loops, sites) < 1
UNION SELECT run FROM (
  SELECT run, tier, kernel, any_value(k.windows) AS planned, count(s.value) AS n
  FROM known k LEFT JOIN s USING (run, tier, kernel) GROUP BY ALL) WHERE n = 0 OR n <> planned
"""

BLOCKS = f"""
CREATE OR REPLACE TEMP TABLE blocks AS
WITH fitted AS (
  SELECT run, tier, kernel, unit, benchmark, variant, block, any_value(layout) AS layout,
    any_value(process) AS process, regr_slope(value::DOUBLE, loops::DOUBLE) AS cost
  FROM s WHERE measured = 'loop' AND coalesce(flags, '') = ''
  GROUP BY run, tier, kernel, unit, benchmark, variant, block
  HAVING count(DISTINCT loops) > 1
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
WITH ordered AS (
  SELECT *, row_number() OVER w AS place, count(*) OVER w2 AS n FROM blocks
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
  SELECT run, tier, kernel, benchmark, variant, median(cost) AS cost, count(*) AS blocks
  FROM blocks GROUP BY ALL
)
SELECT run, tier, kernel, unit, benchmark, variant, kind, baseline, any_value(cost),
  any_value(blocks), avg(value) FROM processes
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
    if source.path.suffix == ".parquet":
        return parquet_fault(source.path)
    lines = samples.whole_lines(source.path)
    first, header = next(lines, "").strip(), next(lines, "").strip()
    newest = (f"# schema={samples.SCHEMA}", ",".join(samples.SAMPLE_COLUMNS))
    return "" if (first, header) == newest else "not of the newest schema"


def parquet_fault(path: Path) -> str:
    """Why a file is no Parquet of samples."""
    import duckdb  # noqa: PLC0415  only commands for many machines need it

    try:
        heads = duckdb.sql(f"DESCRIBE SELECT * FROM read_parquet({literal(str(path))})").fetchall()
    except duckdb.Error as error:
        return f"{path}: {str(error).splitlines()[0]}"
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


def strictly(source: Source) -> str:
    """What is wrong in a run, with file and line, as samples.py says it."""
    try:
        if source.path.suffix == ".parquet":
            return parquet_fault(source.path) or f"{source.path}: a value is missing or wrong"
        samples.read_samples(source.path, source.tiers)
    except FailedError as error:
        return str(error)
    return f"{source.path}: cannot be read by columns; collect it again"


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


def load(engine: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> set[str]:
    """Make the table s of the samples of some runs; returns the runs in which a line is wrong."""
    names = {str(source.path): source.name for source in sources}
    small_table(engine, "files", ("filename", "run"), list(names.items()))
    parts, wrong = [], set()
    packed = [path for path in names if path.endswith(".parquet")]
    plain = [path for path in names if not path.endswith(".parquet")]
    if packed:
        parts.append("SELECT * FROM read_parquet($packed, filename=true)")
    if plain:
        parts.append(
            f"SELECT * FROM read_csv($plain, {CSV}, filename=true, store_rejects=true,"
            " rejects_limit=1000)"
        )
    values = {"packed": packed, "plain": plain}
    texts = " UNION ALL BY NAME ".join(parts)
    for name, value in values.items():
        texts = texts.replace(f"${name}", literal(value))
    engine.execute(
        f"CREATE OR REPLACE TEMP TABLE s AS SELECT * EXCLUDE (filename) FROM ({texts})"
        " JOIN files USING (filename)"
    )
    if plain:
        rejects = engine.execute(
            "SELECT DISTINCT file_path FROM reject_errors JOIN reject_scans"
            " USING (scan_id, file_id)"
        ).fetchall()
        wrong = {names[path] for (path,) in rejects if path in names}
        engine.execute("DROP TABLE reject_errors; DROP TABLE reject_scans")
    known = [
        (source.name, tier.tier, tier.kernel, tier.unit, tier.windows)
        for source in sources
        for tier in source.tiers
    ]
    small_table(engine, "known", ("run", "tier", "kernel", "unit", "windows"), known)
    return wrong | {run for (run,) in engine.execute(WRONG).fetchall()}


def read(sources: Sequence[Source]) -> Found:
    """The estimates of all rows of all runs, and the runs that are refused."""
    found, fit = Found(), []
    for source in sources:
        try:
            fault = schema_fault(source)
        except FailedError as error:
            fault = str(error)
        if fault:
            found.refused[source.name] = strictly(source)
        else:
            fit.append(source)
    with connect() as engine:
        for first in range(0, len(fit), BATCH):
            batch = fit[first : first + BATCH]
            by_name = {source.name: source for source in batch}
            for name in sorted(load(engine, batch)):
                found.refused[name] = strictly(by_name[name])
            refused = literal([name for name in by_name if name in found.refused])
            if refused != "[]":
                engine.execute(f"DELETE FROM s WHERE list_contains({refused}, run)")
            engine.execute(BLOCKS)
            found.entries += engine.execute(ESTIMATES).fetchall()
    return found


def merged(entries: Iterable[tuple[Any, ...]], kernels: bool = False) -> list[Row]:
    """The rows of some runs as if they were one run, whose processes are the runs. With `kernels`
    the rows of each kernel are apart."""
    groups: Mapping[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for entry in entries:
        _, tier, kernel, unit, benchmark, variant, kind, baseline, *_ = entry
        key = (tier, kernel if kernels else "", unit, benchmark, variant, kind, baseline)
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
            )
        )
    return sorted(rows, key=lambda row: (row.name.order, row.kernel))
