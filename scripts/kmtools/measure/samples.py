# SPDX-License-Identifier: GPL-2.0-only
"""Reads samples from the raw CSV file of a benchmark or from samples.csv of a run, in schema 2 or
1, and writes samples.csv.

Documentation/data.md describes the columns. Every field is checked when it is read; an error names
file and line. This file uses only the standard library.
"""

from __future__ import annotations

import csv
import gc
import gzip
import io
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from kmtools.base.files import write_file_atomically
from kmtools.measure.rundir import RunError, Tier

SCHEMA = 2
LOOP, SWITCH, PART, GAP, ROUNDS = MEASURED = ("loop", "switch", "part", "gap", "rounds")
TICKS, UNIT_ROUNDS = "ticks", "rounds"
# The number of layouts (code alignments), and the valid values of the column flags.
LAYOUTS, FLAGS = 32, ("", "preempted", "migrated", "preempted|migrated")
# The largest value of a counter of 64 bits, and the number of characters of the longest number.
LARGEST = 2**64 - 1
LONGEST = len(f"-{LARGEST}")
# make_sample_like() does not parse a row of a CSV file with this number of digits or more, because
# int() is slow for very many digits. Few rows have so many digits.
MOST_DIGITS_PER_ROW = 120
WHOLE, NUMBER = re.compile(r"[0-9]+"), re.compile(r"-?[0-9]+")


class Sample(NamedTuple):
    """One row of samples.csv; the fields are in the order of the columns."""

    tier: str
    kernel: str
    process: int
    benchmark: str
    variant: str
    measured: str
    layout: int
    block: int
    position: int
    cpu: int
    loops: int | None
    sites: int | None
    value: int
    unit: str
    core_cycles: int | None
    flags: tuple[str, ...]

    @property
    def size(self) -> int:
        """The number of passes of the measured loop, or the number of sites that were switched."""
        return self.loops or self.sites or 0


Row = Mapping[str, str]
SAMPLE_COLUMNS = Sample._fields
RAW_COLUMNS = SAMPLE_COLUMNS[3:]
# The columns of schema 1. In this schema, samples.csv has no line that names the schema.
OLD_RAW_COLUMNS = (
    "benchmark", "variant", "layout", "block", "position", "cpu", "loops", "tsc", "cycles",
    "instructions", "flags",
)  # fmt: skip
UNIT_COLUMN = RAW_COLUMNS.index("unit")
# The columns of a raw file and of samples.csv, by schema.
RAW = {SCHEMA: RAW_COLUMNS, 1: OLD_RAW_COLUMNS}
WHOLE_RUN = {SCHEMA: SAMPLE_COLUMNS, 1: ("tier", "kernel", *OLD_RAW_COLUMNS)}


@contextmanager
def pause_gc() -> Iterator[None]:
    """Disable garbage collection during the `with` block or the decorated function: with millions
    of samples, garbage collection would take as long as reading the samples. At the end, exempt all
    existing objects from later garbage collections, because samples are kept until the program
    ends."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()


def read_complete_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, decompressed if its name ends in .gz. RunError if the last line
    has no newline."""
    number = 0
    begin = gzip.open if path.suffix == ".gz" else open
    try:
        with begin(path, "rt", encoding="utf-8", newline="") as stream:
            for number, line in enumerate(stream, 1):
                if not line.endswith("\n"):
                    raise RunError(f"{path}:{number}: last line is incomplete (truncated?)")
                yield line
    except (OSError, UnicodeDecodeError, EOFError, zlib.error) as error:
        raise RunError(f"{path}:{number + 1}: {error}") from error


def read_csv_rows(
    path: Path, columns: Mapping[int, Sequence[str]]
) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the line number, the schema and the fields of each row of a CSV file; `columns` has the
    names of the columns for each schema."""
    lines = read_complete_lines(path)
    first = next(lines, "").strip()
    named = re.fullmatch(r"# schema=(\d+)", first)
    schema = int(named[1]) if named else 1
    if schema not in columns:
        newest = max(columns)
        newer = "; a newer kmarkers wrote the file" if schema > newest else ""
        raise RunError(f"{path}:1: schema {schema} is unknown, the newest known is {newest}{newer}")
    header = next(lines, "").strip() if named else first
    before = 2 if named else 1
    if header != ",".join(columns[schema]):
        lacks = [column for column in columns[schema] if column not in header.split(",")]
        why = f"lacks {', '.join(lacks)}" if lacks else f"is not {','.join(columns[schema])}"
        raise RunError(f"{path}:{before}: header of schema {schema} {why}")
    reader, width = csv.reader(lines), len(columns[schema])
    try:
        for row in reader:
            if len(row) != width:
                raise RunError(
                    f"{path}:{reader.line_num + before}: row has {len(row)} fields, not {width}"
                )
            yield reader.line_num + before, schema, row
    except csv.Error as error:
        raise RunError(f"{path}:{reader.line_num + before}: {error}") from error


def convert_row_to_schema_2(row: Row, tier: Tier, where: str) -> Row:
    """Convert a row of schema 1 to schema 2. In schema 1 the measured quantity is part of the name
    of the variant, and instruction counts have a column of their own."""
    variant, measured = row["variant"], LOOP
    if row["benchmark"].startswith("arm-"):
        part = variant in ("batched-validate", "batched-map", "batched-rounds")
        measured = PART if part else GAP if variant.endswith("-stall") else SWITCH
        measured = ROUNDS if variant == "batched-round-count" else measured
    blocks, processes = (tier.env.get(name, "1") for name in ("blocks", "processes"))
    process = 1
    if processes != "1" and WHOLE.fullmatch(blocks) and WHOLE.fullmatch(row["block"]):
        process += int(row["block"]) // max(1, int(blocks))
    if row["tsc"] and row["instructions"]:
        raise RunError(f"{where}: the columns tsc and instructions both have a value")
    return {
        **row,
        "process": str(process),
        "measured": measured,
        "loops": row["loops"] if measured == LOOP else "",
        "sites": "" if measured == LOOP else row["loops"],
        "value": row["tsc"] or row["instructions"],
        "unit": UNIT_ROUNDS if measured == ROUNDS else tier.unit,
        "core_cycles": row["cycles"],
    }


def make_sample(row: Row, tier: Tier, where: str) -> Sample:
    """Return the sample in a row of a CSV file, after a check of each field; `where` is FILE:LINE,
    for the messages of errors."""

    def parse_number(column: str, least: int = 0) -> int:
        text = row[column]
        if not NUMBER.fullmatch(text):
            raise RunError(f"{where}: {column} is not an integer: {text[:LONGEST]!r}")
        digits = text.lstrip("-0") or "0"
        if len(digits) > LONGEST or int(digits) > LARGEST:
            raise RunError(f"{where}: {column} is above {LARGEST}: {text[:LONGEST]}")
        number = -int(digits) if text.startswith("-") else int(digits)
        if number < least:
            raise RunError(f"{where}: {column} is below {least}: {text[:LONGEST]}")
        return number

    def parse_number_if_used(column: str, is_used: bool) -> int | None:
        if not is_used and row[column]:
            raise RunError(f"{where}: {column} of {measured!r} is not empty: {row[column]!r}")
        return parse_number(column, 1) if is_used else None

    measured = row["measured"]
    if measured not in MEASURED:
        raise RunError(f"{where}: measured is {measured!r}, not one of {', '.join(MEASURED)}")
    unit = UNIT_ROUNDS if measured == ROUNDS else tier.unit
    if row["unit"] != unit:
        raise RunError(f"{where}: unit of {measured!r} is {row['unit']!r}, not {unit!r}")
    if not row["benchmark"] or not row["variant"]:
        raise RunError(f"{where}: benchmark or variant is empty")
    for column in ("benchmark", "variant"):
        if not row[column].isprintable():
            raise RunError(f"{where}: {column} cannot be printed: {row[column]!a}")
    if row["flags"] not in FLAGS:
        raise RunError(f"{where}: flags is {row['flags']!r}, not empty{' or '.join(FLAGS)}")
    layout = parse_number("layout")
    if layout >= LAYOUTS:
        raise RunError(f"{where}: layout is above {LAYOUTS - 1}: {layout}")
    return Sample(
        tier=tier.tier,
        kernel=tier.kernel,
        process=parse_number("process", 1),
        benchmark=row["benchmark"],
        variant=row["variant"],
        measured=measured,
        layout=layout,
        block=parse_number("block"),
        position=parse_number("position"),
        cpu=parse_number("cpu"),
        loops=parse_number_if_used("loops", measured == LOOP),
        sites=parse_number_if_used("sites", measured != LOOP),
        value=parse_number("value"),
        unit=unit,
        core_cycles=parse_number("core_cycles") if row["core_cycles"] else None,
        flags=tuple(word for word in row["flags"].split("|") if word),
    )


def make_sample_like(row: Sequence[str], like: Sample) -> Sample | None:
    """Return the sample in the row `row` of a CSV file. The row must have the same names, unit and
    flags as the sample `like`, so that only the numbers are parsed. Return None if a number is not
    plain decimal digits or is out of range; then make_sample() checks the row field by field."""
    loop = like.loops is not None
    core = row[14]
    cells = (row[2], *row[6:10], row[10 if loop else 11], row[12], core or "0")
    digits = "".join(cells)
    plain = (
        len(digits) < MOST_DIGITS_PER_ROW and digits.isascii() and digits.isdecimal() and all(cells)
    )
    if not plain or row[11 if loop else 10]:
        return None
    process, layout, block, position, cpu, size, value, cycles = numbers = [*map(int, cells)]
    if not process or not size or layout >= LAYOUTS or max(numbers) > LARGEST:
        return None
    # Sample(...) would be slower, because it calls a Python function that calls tuple.__new__().
    return tuple.__new__(
        Sample,
        (like.tier, like.kernel, process, like.benchmark, like.variant, like.measured, layout,
         block, position, cpu, size if loop else None, None if loop else size, value, like.unit,
         cycles if core else None, like.flags),
    )  # fmt: skip


class SampleMaker:
    """Makes samples from the rows of samples.csv. A SampleMaker caches one sample for each
    combination of names, units and flags, so that a million rows are read in seconds and share
    their strings."""

    def __init__(self, path: Path) -> None:
        """Store the path of the file, for error messages."""
        self._path = path
        self._kinds: dict[tuple[str, ...], Sample] = {}

    def make_cached_sample(self, row: Sequence[str], tier: Tier, line_number: int) -> Sample:
        """Return the sample in the row at line `line_number`; RunError if a field is wrong."""
        kind = (row[0], row[1], row[3], row[4], row[5], row[13], row[14] and "core", row[15])
        like = self._kinds.get(kind)
        if like is not None and (found := make_sample_like(row, like)) is not None:
            return found
        named = dict(zip(SAMPLE_COLUMNS, row, strict=True))
        sample = make_sample(named, tier, f"{self._path}:{line_number}")
        self._kinds[kind] = sample
        return sample


def read_raw_samples(path: Path, tier: Tier, process: int) -> Iterator[tuple[str, Sample]]:
    """Yield the samples of a raw file, each as a pair of FILE:LINE and the sample. The unit `ticks`
    is replaced by the unit of the tier (measurement environment)."""
    maker, units = SampleMaker(path), {TICKS: tier.unit, UNIT_ROUNDS: UNIT_ROUNDS}
    for number, schema, raw in read_csv_rows(path, RAW):
        where = f"{path}:{number}"
        if schema == 1:
            named = dict(zip(OLD_RAW_COLUMNS, raw, strict=True))
            sample = make_sample(convert_row_to_schema_2(named, tier, where), tier, where)
        elif raw[UNIT_COLUMN] not in units:
            raise RunError(f"{where}: unit is {raw[UNIT_COLUMN]!r}, not {TICKS} or {UNIT_ROUNDS}")
        else:
            raw[UNIT_COLUMN] = units[raw[UNIT_COLUMN]]
            sample = maker.make_cached_sample(
                [tier.tier, tier.kernel, str(process), *raw], tier, number
            )
        if sample.benchmark != path.stem:
            raise RunError(f"{where}: benchmark is {sample.benchmark!r}, not {path.stem!r}")
        yield where, sample


def read_samples(path: Path, tiers: Iterable[Tier]) -> list[Sample]:
    """Return the samples in the file `path` (samples.csv), in the order of its rows; `tiers` are
    the tiers in env.json of the run."""
    known = {(tier.tier, tier.kernel): tier for tier in tiers}
    if not known:
        raise RunError(f"{path}: env.json has no tier")
    samples, maker = [], SampleMaker(path)
    seen: dict[tuple[str, ...], set[int]] = defaultdict(set)
    places: dict[tuple[str, str, str, int], tuple[int, int]] = {}
    for number, schema, row in read_csv_rows(path, WHOLE_RUN):
        tier = known.get((row[0], row[1]))
        if tier is None:
            raise RunError(f"{path}:{number}: env.json has no tier {row[0]!r} of kernel {row[1]!r}")
        if schema == 1:
            where, named = f"{path}:{number}", dict(zip(WHOLE_RUN[1], row, strict=True))
            sample = make_sample(convert_row_to_schema_2(named, tier, where), tier, where)
        else:
            sample = maker.make_cached_sample(row, tier, number)
        if tier.emulated and sample.core_cycles is not None:
            cycles = f"core_cycles of an emulated CPU is not empty: {sample.core_cycles}"
            raise RunError(f"{path}:{number}: {cycles}")
        # In a block, a variant must not have two windows with the same number of loop passes.
        # Windows of switches are not checked, because a block may switch the same sites several
        # times.
        if sample.loops:
            windows = seen[sample.tier, sample.kernel, sample.benchmark, sample.variant]
            window = sample.block * (LARGEST + 1) + sample.loops
            if window in windows:
                again = f"has two windows of {sample.loops} loops in a block"
                raise RunError(f"{path}:{number}: variant {sample.variant} {again}")
            windows.add(window)
            place = (sample.layout, sample.process)
            block = (sample.tier, sample.kernel, sample.benchmark, sample.block)
            if places.setdefault(block, place) != place:
                what = f"block {sample.block} has windows of several layouts or processes"
                raise RunError(f"{path}:{number}: {what}")
        samples.append(sample)
    counts = Counter(map(itemgetter(0, 1), samples))
    for key, tier in known.items():
        if not counts[key] or tier.windows not in (None, counts[key]):
            wanted = "this tier" if tier.windows is None else tier.windows
            found = f"{counts[key]} samples of tier {key[0]}, but env.json has {wanted}"
            raise RunError(f"{path}: {found} (truncated?)")
    return samples


def write_samples(path: Path, samples: Iterable[Sample]) -> None:
    """Write samples.csv, atomically."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(SAMPLE_COLUMNS)
    writer.writerows((*sample[:-1], "|".join(sample.flags)) for sample in samples)
    write_file_atomically(path, f"# schema={SCHEMA}\n{stream.getvalue()}")
