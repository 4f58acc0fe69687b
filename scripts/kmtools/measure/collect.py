# SPDX-License-Identifier: GPL-2.0-only
"""Merge the raw files of one or more tiers into a run directory.

A raw directory holds one CSV per benchmark, a file `env` of key=value lines and, for virtual
machines, vm.json. Everything is validated before the first byte is written; a broken or truncated
file is an error that names file and line. The run directory receives samples.csv and env.json,
and `latest` beside it is switched to the run once both are in place and no tier is missing.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kmtools.base.files import write_whole
from kmtools.measure import benchrun, hostenv, rundir
from kmtools.measure.rundir import RunError

Row = dict[str, str]


@dataclass
class RawDir:
    """A validated raw directory: its description and its rows, ready for samples.csv."""

    tier: rundir.Tier
    path: Path
    rows: list[Row] = field(default_factory=list)
    dropped_cycles: int = 0


def read_key_values(path: Path) -> dict[str, str]:
    """A file of key=value lines; blank lines and lines starting with # are skipped."""
    values: dict[str, str] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, separator, value = line.partition("=")
        if not separator or not key.strip():
            raise RunError(f"{path}:{number}: not key=value: {line!r}")
        values[key.strip()] = value.strip()
    return values


def read_vm(path: Path) -> dict[str, Any]:
    """vm.json beside the raw files; empty when there is none."""
    if not path.exists():
        return {}
    try:
        vm = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: {error}") from error
    if not isinstance(vm, dict):
        raise RunError(f"{path}: not an object")
    return vm


def describe(name: str, path: Path) -> rundir.Tier:
    """The tier of a raw directory, from its env and vm.json."""
    if not path.is_dir():
        raise RunError(f"{path}: not a directory")
    env, vm = read_key_values(path / "env"), read_vm(path / "vm.json")
    kernel = env.get("kernel") or vm.get("release") or vm.get("kernel")
    if not kernel:
        raise RunError(f"{path / 'env'}: no kernel= line")
    emulated = rundir.is_emulated(name, env, vm)
    return rundir.Tier(name, str(kernel), rundir.tier_unit(name, emulated), emulated, env, vm)


def check_fields(row: Row, where: str) -> None:
    """Field by field: integers are integers, what must be positive is."""
    for column in rundir.INTEGER_COLUMNS:
        text = row[column]
        if not text and column in rundir.OPTIONAL_COLUMNS:
            continue
        digits = text[1:] if text.startswith("-") else text
        if not (digits.isascii() and digits.isdigit()):
            raise RunError(f"{where}: {column} is not an integer: {text!r}")
    for column in ("layout", "block", "position", "cpu"):
        if int(row[column]) < 0:
            raise RunError(f"{where}: {column} is negative: {row[column]}")
    if int(row["loops"]) < 1:
        raise RunError(f"{where}: loops is not positive: {row['loops']}")
    if not row["benchmark"] or not row["variant"]:
        raise RunError(f"{where}: benchmark or variant is empty")


def check_blocks(rows: Sequence[Row], path: Path) -> None:
    """Every block ran the same windows, all at one layout: else the file was cut short."""
    windows: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    layouts: dict[str, str] = {}
    last_line: dict[str, int] = {}
    for number, row in enumerate(rows, 3):
        block = row["block"]
        windows[block][row["variant"], row["loops"]] += 1
        last_line[block] = number
        if layouts.setdefault(block, row["layout"]) != row["layout"]:
            raise RunError(f"{path}:{number}: block {block} changes its layout")
    full: Counter[tuple[str, str]] = Counter()
    for seen in windows.values():
        full |= seen
    for block, seen in windows.items():
        for variant, loops in sorted((full - seen).keys()):
            raise RunError(
                f"{path}:{last_line[block]}: block {block} lacks {variant} at {loops} loops"
                " (truncated?)"
            )
    if rundir.is_switching(rows[0]["benchmark"]):
        return
    counts: dict[str, set[str]] = defaultdict(set)
    for variant, loops in full:
        counts[variant].add(loops)
    for variant, several in sorted(counts.items()):
        if len(several) < 2:
            raise RunError(f"{path}: {variant} ran at one loop count; a slope needs two")


def split_lines(path: Path) -> list[str]:
    """The lines of a raw file, whose last one must be complete."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: {error}") from error
    lines = text.splitlines()
    if not text.endswith("\n"):
        raise RunError(f"{path}:{max(1, len(lines))}: last line is incomplete (truncated?)")
    return lines


def read_raw(path: Path) -> list[Row]:
    """The validated rows of one raw CSV file."""
    lines = split_lines(path)
    if lines[0].strip() != rundir.SCHEMA_LINE:
        raise RunError(f"{path}:1: first line is {lines[0]!r}, not {rundir.SCHEMA_LINE!r}")
    header = ",".join(rundir.RAW_COLUMNS)
    if len(lines) < 2 or lines[1].strip() != header:
        raise RunError(f"{path}:2: header is not {header}")
    rows: list[Row] = []
    for number, line in enumerate(lines[2:], 3):
        fields = line.split(",")
        where = f"{path}:{number}"
        if len(fields) != len(rundir.RAW_COLUMNS):
            raise RunError(f"{where}: {len(fields)} fields, not {len(rundir.RAW_COLUMNS)}")
        row = dict(zip(rundir.RAW_COLUMNS, fields, strict=True))
        check_fields(row, where)
        if row["benchmark"] != path.stem:
            raise RunError(f"{where}: benchmark {row['benchmark']!r} in a file of {path.stem!r}")
        rows.append(row)
    if not rows:
        raise RunError(f"{path}:2: no samples")
    check_blocks(rows, path)
    return rows


def convert(raw: RawDir, rows: Iterable[Row]) -> None:
    """Add tier and kernel, and keep each number in the column whose name is true: under icount
    TSC differences are instruction counts, and an emulated CPU has no cycles."""
    for row in rows:
        kept = {"tier": raw.tier.tier, "kernel": raw.tier.kernel, **row}
        if raw.tier.exact:
            kept |= {"instructions": row["tsc"], "tsc": ""}
        if raw.tier.emulated and row["cycles"]:
            kept["cycles"] = ""
            raw.dropped_cycles += 1
        raw.rows.append(kept)


def load_raw(name: str, path: Path) -> RawDir:
    """Validate a whole raw directory."""
    raw = RawDir(describe(name, path), path)
    files = sorted(path.glob("*.csv"))
    if not files:
        raise RunError(f"{path}: no CSV files")
    for file in files:
        convert(raw, read_raw(file))
    return raw


def check_distinct(raws: Sequence[RawDir]) -> None:
    """Two raw directories of one tier and kernel would be mixed up in the statistics."""
    seen: dict[tuple[str, str], Path] = {}
    for raw in raws:
        key = (raw.tier.tier, raw.tier.kernel)
        if key in seen:
            raise RunError(f"{raw.path}: {key[0]} of {key[1]} again (first {seen[key]})")
        seen[key] = raw.path


def tier_entry(raw: RawDir) -> dict[str, Any]:
    """What env.json says of one tier."""
    return {
        "tier": raw.tier.tier,
        "kernel": raw.tier.kernel,
        "unit": raw.tier.unit,
        "emulated": raw.tier.emulated,
        "seed": raw.tier.env.get("seed"),
        "windows": len(raw.rows),
        "windows_flagged": sum(1 for row in raw.rows if row["flags"]),
        "cycle_fields_dropped": raw.dropped_cycles,
        "env": dict(raw.tier.env),
        "vm": dict(raw.tier.vm) or None,
    }


def write_run(run: Path, raws: Sequence[RawDir], env: dict[str, Any]) -> None:
    """samples.csv and env.json, each complete or absent."""
    run.mkdir(parents=True, exist_ok=True)
    partial = run / ".samples.csv.partial"
    try:
        with partial.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, rundir.SAMPLE_COLUMNS, lineterminator="\n")
            writer.writeheader()
            for raw in raws:
                writer.writerows(raw.rows)
        partial.replace(run / "samples.csv")
    finally:
        partial.unlink(missing_ok=True)
    write_whole(run / "env.json", json.dumps(env, indent=2, sort_keys=True) + "\n")


def switch_latest(run: Path) -> None:
    """Point `latest` beside the run at it, in one rename."""
    link = run.parent / "latest"
    if run.name == link.name or (link.exists() and not link.is_symlink()):
        return
    fresh = run.parent / f".latest.{os.getpid()}"
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(run.name)
    os.replace(fresh, link)


def measured(run: benchrun.Run | None, path: Path) -> list[tuple[str, Path]]:
    """The raw directories of a run's own folder."""
    if run is None or not run.measured():
        raise RunError(f"{path}: holds no measured tier, and no --raw names one")
    return [(tier, run.raw(tier)) for tier in run.measured()]


def merge(path: Path, named: Sequence[tuple[str, Path]] = ()) -> list[RawDir]:
    """Validate raw directories, by default those of the run, and write the run; returns them."""
    run = benchrun.load(path) if (path / benchrun.RECORD).exists() else None
    raws = [load_raw(tier, raw) for tier, raw in named or measured(run, path)]
    check_distinct(raws)
    env = hostenv.describe_host()
    env["tiers"] = [tier_entry(raw) for raw in raws]
    if run is not None:
        env["run"] = benchrun.describe(run)
    write_run(path, raws, env)
    if run is None or not env["run"]["missing"]:
        switch_latest(path.resolve())
    return raws


def tell(path: Path, raws: Sequence[RawDir]) -> None:
    """Say what a run holds now."""
    for raw in raws:
        if raw.dropped_cycles:
            dropped = f"{raw.dropped_cycles} cycle counts of an emulated CPU dropped"
            print(f"collect: {raw.path}: {dropped}", file=sys.stderr)
    total = sum(len(raw.rows) for raw in raws)
    print(f"{path}: {total} windows, {len(raws)} tier{'s' if len(raws) > 1 else ''}", flush=True)
