# SPDX-License-Identifier: GPL-2.0-only
"""Reads and writes samples as Parquet, with the columns of samples.csv, by DuckDB."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from kmtools.base.errors import FailedError
from kmtools.measure import samples
from kmtools.measure.rundir import RunError, Tier

INTEGER_COLUMNS = {
    "process", "layout", "block", "position", "cpu", "loops", "sites", "value", "core_cycles",
}  # fmt: skip
COLUMNS = {
    name: "BIGINT" if name in INTEGER_COLUMNS else "VARCHAR" for name in samples.SAMPLE_COLUMNS
}


def quote_sql_literal(text: str) -> str:
    """Return a text as a string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def write_parquet(all_samples: Iterable[samples.Sample], path: Path) -> None:
    """Write samples to a Parquet file."""
    kinds = ", ".join(
        f"{quote_sql_literal(name)}: {quote_sql_literal(kind)}" for name, kind in COLUMNS.items()
    )
    with TemporaryDirectory() as scratch, duckdb.connect() as engine:
        plain = Path(scratch) / "samples.csv"
        samples.write_samples(plain, all_samples)
        try:
            engine.execute(
                f"COPY (SELECT * FROM read_csv({quote_sql_literal(str(plain))}, auto_detect=false,"
                f" skip=1, header=true, delim=',', quote='\"', columns={{{kinds}}}))"
                f" TO {quote_sql_literal(str(path))} (FORMAT parquet)"
            )
        except duckdb.Error as error:
            raise FailedError(f"{path}: {str(error).splitlines()[0]}") from error


def load_parquet(path: Path, tiers: Sequence[Tier]) -> list[samples.Sample]:
    """Return the samples in a Parquet file, checked like the samples in samples.csv. The file is
    read through a symbolic link with a plain name, because DuckDB expands patterns in file names
    and accepts only names in UTF-8."""
    with TemporaryDirectory() as scratch, duckdb.connect() as engine:
        link, plain = Path(scratch) / "0.parquet", Path(scratch) / "samples.csv"
        link.symlink_to(path.absolute())
        source = f"read_parquet({quote_sql_literal(str(link))})"
        try:
            heads = engine.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
            if {name: kind for name, kind, *_ in heads} != COLUMNS:
                raise RunError(f"{path}: the columns are not {', '.join(COLUMNS)}")
            columns = ", ".join(COLUMNS)
            engine.execute(
                f"COPY (SELECT {columns} FROM {source}) TO {quote_sql_literal(str(plain))}"
                " (FORMAT csv, HEADER true, NULLSTR '')"
            )
        except duckdb.Error as error:
            first = str(error).splitlines()[0].replace(str(link), str(path))
            raise RunError(f"{path}: {first}") from error
        body = plain.read_text(encoding="utf-8")
        plain.write_text(f"# schema={samples.SCHEMA}\n{body}", encoding="utf-8")
        try:
            return samples.read_samples(plain, tiers)
        except RunError as error:
            raise RunError(str(error).replace(str(plain), str(path))) from error
