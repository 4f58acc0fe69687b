# SPDX-License-Identifier: GPL-2.0-only
"""Renders the table of verdicts for a terminal, grouped by tier (measurement environment) and
benchmark, with the unit in every header."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from kmtools.analyse import verdicts
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import Result
from kmtools.base.text import align_table, format_count, shorten_middle, wrap_line
from kmtools.measure.rundir import UNIT_INSTRUCTIONS

# Maximum length of a note that is printed in its row, in characters.
LONGEST_NOTE_IN_ROW = 24
# Minimum length to which names are shortened on a narrow terminal, in characters.
SHORTEST_NAME = 12
# ANSI colour codes of verdicts.
COLOURS = {
    verdicts.SLOWER: "33",
    verdicts.FASTER: "36",
    verdicts.MORE: "33",
    verdicts.FEWER: "36",
    verdicts.DIFFERS: "33",
    verdicts.EQUIVALENT: "32",
    verdicts.IDENTICAL: "32",
    verdicts.UNRESOLVED: "2",
    verdicts.WITHHELD: "2",
}


def format_amount(value: float | None, signed: bool = False) -> str:
    """Return a number with three or four significant digits; "?" for infinity, "-" for None."""
    if value is None:
        return "-"
    if not math.isfinite(value):
        return "?"
    size = abs(value)
    digits = 3 if size < 10 else 2 if size < 100 else 1 if size < 1000 else 0
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    return text.replace("-0.000", "+0.000" if signed else "0.000")


def format_with_si_prefix(value: float) -> str:
    """Return a number as text, with three significant digits and the prefix k, M or G. A number
    below 1 is rounded to 0 or 1."""
    value = float(f"{value:.3g}")
    prefixes = ("", "k", "M", "G")
    power = min(int(math.log10(max(value, 1.0))) // 3, len(prefixes) - 1)
    value /= 1000**power
    digits = max(0, 3 - len(str(int(value)))) if power else 0
    return f"{value:.{digits}f}{prefixes[power]}"


def format_result_value(result: Result, value: float | None, signed: bool = False) -> str:
    """Return a number of a result as text, formatted by its unit."""
    if result.unit == UNIT_INSTRUCTIONS and value is not None:
        return format_count(value, signed)
    return format_amount(value, signed)


def format_result_interval(result: Result, interval: Interval | None, signed: bool = False) -> str:
    """Return an interval as [lo, hi], in the unit of the result; "-" for None."""
    if interval is None:
        return "-"
    ends = (format_result_value(result, end, signed) for end in (interval.lo, interval.hi))
    return f"[{', '.join(ends)}]"


def format_core_cycles(result: Result) -> str:
    """Return the added cost in core cycles as text."""
    return (
        format_amount(result.core.convert_ticks(result.delta), signed=True) if result.core else "-"
    )


def number_long_notes(results: Sequence[Result]) -> dict[str, int]:
    """Return the notes that are too long for a row, each with a number."""
    found = dict.fromkeys(
        result.note for result in results if len(result.note) > LONGEST_NOTE_IN_ROW
    )
    return {note: number for number, note in enumerate(found, 1)}


def format_result_verdict(result: Result, note_numbers: Mapping[str, int]) -> str:
    """Return the verdict with its note; `note_numbers` has the long notes, which are replaced by
    their numbers."""
    note = f"[{note_numbers[result.note]}]" if result.note in note_numbers else f"({result.note})"
    return f"{result.verdict} {note}" if result.note else result.verdict


Column = tuple[str, bool, Callable[[Result], str]]

# (title, right-aligned, cell function) in display order. On narrow terminals the columns in
# DROPPED_COLUMNS are omitted one after the other.
COLUMNS: tuple[Column, ...] = (
    ("variant", False, lambda r: r.variant),
    ("median", True, lambda r: format_result_value(r, r.median)),
    ("95 % interval", True, lambda r: format_result_interval(r, r.ci)),
    ("added", True, lambda r: format_result_value(r, r.delta, signed=True)),
    ("95 % interval ", True, lambda r: format_result_interval(r, r.delta_ci, signed=True)),
    ("added, core", True, format_core_cycles),
    ("n", True, lambda r: str(r.n)),
    ("flagged", True, lambda r: f"{r.flagged}/{r.windows}"),
)
DROPPED_COLUMNS = ("95 % interval", "flagged", "n", "added, core", "median", "95 % interval ")


def format_result_lines(
    results: Sequence[Result], width: int, note_numbers: Mapping[str, int]
) -> list[str]:
    """Return the heads and a line for each result, with the columns that fit into `width`.
    `note_numbers` has the long notes, which are replaced by their numbers."""
    known = any(result.core for result in results)
    columns = [column for column in COLUMNS if known or column[2] is not format_core_cycles]
    for dropped in (*DROPPED_COLUMNS, None):
        heads = [*(title.strip() for title, _, _ in columns), "verdict"]
        rows = [
            [*(cell(result) for _, _, cell in columns), format_result_verdict(result, note_numbers)]
            for result in results
        ]
        right = [n for n, (_, right, _) in enumerate(columns) if right]
        lines = align_table([heads, *rows], right)
        over = 2 + max(map(len, lines)) - width
        if dropped is None or over <= 0:
            break
        columns = [column for column in columns if column[0] != dropped]
    if over > 0:
        most = max(SHORTEST_NAME, max(len(row[0]) for row in rows) - over)
        lines = align_table(
            [heads, *([shorten_middle(row[0], most), *row[1:]] for row in rows)], right
        )
    return [f"  {line}" for line in lines]


def _colour_verdict(line: str, result: Result, colour: bool) -> str:
    code = COLOURS.get(result.verdict)
    if not colour or code is None:
        return line
    head, found, tail = line.rpartition(result.verdict)
    return f"{head}\033[{code}m{found}\033[0m{tail}" if found else line


def make_benchmark_header(result: Result) -> str:
    """Return a benchmark's name with its baseline, margin and noise floor; these numbers are costs
    of one operation."""
    if result.baseline is None:
        return f"{result.benchmark}: no variant has an A/A clone, so nothing is compared"
    text = f"{result.benchmark}: over {result.baseline}"
    if result.unit == UNIT_INSTRUCTIONS:
        return text + "; exact counts"
    return (
        f"{text}; margin {format_amount(result.margin)},"
        f" noise floor {format_amount(result.noise_floor)},"
        f" smallest detectable {format_amount(result.detectable)}"
    )


def render_result_table(results: Sequence[Result], width: int, colour: bool) -> str:
    """Return the table of all results as text. `results` must not be empty."""
    lines, numbers = [], number_long_notes(results)
    for (tier, kernel, unit), of_tier in groupby(results, lambda r: (r.tier, r.kernel, r.unit)):
        lines += ["", f"{tier}, kernel {kernel}: {unit} per operation"]
        for _, of_benchmark in groupby(of_tier, lambda r: r.benchmark):
            rows = list(of_benchmark)
            lines += ["", *wrap_line(make_benchmark_header(rows[0]), width, " ")]
            if rows[0].core:
                lines.append(f" {rows[0].core.describe_ratio()}")
            heads, *texts = format_result_lines(rows, width, numbers)
            lines.append(heads)
            lines += [
                _colour_verdict(text, row, colour) for text, row in zip(texts, rows, strict=True)
            ]
    for note, number in numbers.items():
        lines += ["", *wrap_line(f"[{number}] {note}", width, " ")]
    return "\n".join(lines[1:])
