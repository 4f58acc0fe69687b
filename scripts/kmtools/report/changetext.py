# SPDX-License-Identifier: GPL-2.0-only
"""Renders a comparison as text: for a terminal, and in Markdown."""

from __future__ import annotations

import html
import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from kmtools.analyse import changes
from kmtools.analyse.changes import MISSING, NEW, NOT_COMPARABLE, NOT_JUDGED, Change
from kmtools.analyse.rows import EXACT, SEVERAL_KERNELS
from kmtools.analyse.verdicts import EQUIVALENT, IDENTICAL, UNRESOLVED, WITHHELD
from kmtools.base.text import align_table, escape_unprintable_chars, wrap_line
from kmtools.report.comparison import (
    ComparedRun,
    Comparison,
    RunPair,
    list_run_remarks,
    make_run_fields,
)
from kmtools.report.table import format_amount

# The verdicts whose rows are shown only with --all.
QUIET = (EQUIVALENT, IDENTICAL, UNRESOLVED, WITHHELD, NOT_JUDGED, NOT_COMPARABLE)
HEADS = ("tier", "benchmark", "variant", "A", "B", "unit", "change", "interval", "verdict")
# The columns of numbers, counted from 0.
NUMERIC_COLUMNS = {3, 4, 6, 7}
# Width of the text for a terminal, in characters.
WIDTH = 80
# Limits of the output without --all: the lines and the rows for a pair of runs (LINES, ROWS), the
# lines in each part of the head above the rows (HEAD_LINES), and the lines about rows that one run
# lacks (LACKING_LINES).
LINES, ROWS = 40, 8
HEAD_LINES, LACKING_LINES = 7, 8
# Characters with a special meaning in Markdown, which must be escaped.
MARKDOWN_SPECIALS = re.compile(r"[\\`*_|\[\]#@~]")
COLUMN_LEGEND = "variant: cost in A, in B, change, its interval, verdict"


def format_percent(value: float | None) -> str:
    """Return a change in percent as text: "-" if the change is not known, "?" if it is infinite."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:+.2f} %" if math.isfinite(value) else "?"


def format_change_interval(change: Change) -> str:
    """Return the interval of a change in percent as text; "?" stands for an unbounded end."""
    if change.percent is None:
        return "-"
    ends = (change.interval.lo, change.interval.hi)
    return f"[{', '.join(f'{end:+.2f}' if math.isfinite(end) else '?' for end in ends)}]"


def make_change_cells(change: Change) -> tuple[str, ...]:
    """Return the cells of a compared row, in the order of HEADS."""
    name = change.name
    sites = f" ({name.measured}, {name.sites} sites)" if name.sites else ""
    costs = (format_amount(row.cost) if row else "-" for row in (change.a, change.b))
    verdict = change.verdict + (f" ({change.note})" if change.note else "")
    kernel = f" (kernel {change.kernel})" if change.kernel else ""
    where = (name.tier, name.benchmark, name.variant + sites + kernel)
    return (
        *where,
        *costs,
        change.unit,
        format_percent(change.percent),
        format_change_interval(change),
        verdict,
    )


def select_shown_rows(comparison: Comparison, pair: RunPair, everything: bool) -> list[Change]:
    """Return the rows to show: all, or only rows that changed or fail."""
    return [
        change
        for change in pair.changes
        if everything or change.verdict not in QUIET or comparison.is_failure(change)
    ]


def describe_compared_run(run: ComparedRun) -> str:
    """Return the name of a run and the CPU, microcode, kernel and date in its env.json."""
    told = make_run_fields(run)
    texts = (told["cpu"], told["microcode"], told["kernel"], told["date"])
    known = [escape_unprintable_chars(str(text)) for text in texts if text]
    return ", ".join([run.name, *known])


def describe_pair_verdict_counts(pair: RunPair) -> str:
    """Return the number of rows with each verdict, as text."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in pair.verdict_counts.most_common())
    return f"{len(pair.changes)} rows: {counts}"


def list_hints_for_reader(comparison: Comparison, pair: RunPair) -> list[str]:
    """Return lines that explain how to read the rows: the margin, the smallest detectable change,
    the versions of the two runs, and why some rows have no verdict."""
    lines = [f"margin {comparison.margin:g} %, the same for all rows"]
    smallest = changes.compute_median_detectable_change(pair.changes)
    if smallest is not None:
        lines.append(
            f"a change of {float(f'{smallest:.2g}'):g} % would be detected in half of the rows"
        )
    if EXACT in {change.kind for change in pair.changes}:
        lines.append("instructions are compared as numbers, without a margin")
    if (versions := [describe_source_version(run) for run in (pair.a, pair.b)]) and len(
        set(versions)
    ) > 1:
        lines.append("A was made by {}, B by {}".format(*versions))
    for verdict in (NOT_COMPARABLE, WITHHELD):
        why = Counter(c.note for c in pair.changes if c.verdict == verdict)
        lines += [f"{count} rows are {verdict}: {note}" for note, count in why.items()]
    return lines


def describe_source_version(run: ComparedRun) -> str:
    """Return the version and the commit of the sources with which a run was made."""
    source = run.env.get("source") or {}
    told = [
        escape_unprintable_chars(str(source.get(name) or "?")) for name in ("version", "commit")
    ]
    return f"version {told[0]}, commit {told[1][:12]}"


def describe_comparison_outcome(comparison: Comparison) -> str:
    """Return the outcome of the comparison, which is printed as the last line."""
    held = comparison.withheld_count
    poor = f"; {held} rows are {WITHHELD}, because the numbers of a run are poor" if held else ""
    if not comparison.failing:
        return f"no verdict counts as a failure, because --fail-on was not given{poor}"
    words = ", ".join(sorted(comparison.failing))
    failed = f"{comparison.failure_count} rows fail ({words})" if comparison.failure_count else ""
    return (failed or f"no row fails ({words})") + poor


def split_row_into_lines(name: str, numbers: Sequence[str], verdict: str) -> list[str]:
    """Return a row as several lines: its name, then its numbers and its verdict. The verdict has
    lines of its own if it does not fit on the line of the numbers."""
    line = "    " + "  ".join([*numbers, verdict])
    if len(line) <= WIDTH:
        return [name, line]
    return [name, "    " + "  ".join(numbers), *wrap_line(verdict, WIDTH, "    ")]


def format_rows_by_benchmark(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of rows for a terminal, under a heading for each benchmark. If a line would
    be longer than WIDTH, all rows of that benchmark are split into several lines."""
    lines: list[str] = []
    for head, several in groupby(rows, key=lambda row: (row[0], row[1], row[5])):
        own = list(several)
        rest = [["  " + row[2], *row[3:5], *row[6:]] for row in own]
        made = align_table(rest, {1, 2, 3, 4})
        if max(map(len, made)) > WIDTH:
            made = [
                line
                for name, *cells in rest
                for line in split_row_into_lines(name, cells[:-1], cells[-1])
            ]
        lines += ["", f"{head[0]} {head[1]}, {head[2]}", *made]
    return lines


def describe_missing_rows(pair: RunPair) -> list[str]:
    """Return a line for each tier (measurement environment) and kernel with the number of rows that
    only one of the two runs has."""
    alone = [change for change in pair.changes if change.verdict in (MISSING, NEW)]
    found = Counter((row.name.tier, row.kernel, c.note) for c in alone for row in (c.a, c.b) if row)
    return [
        f"{tier}, {f'kernel {kernel}' if kernel != SEVERAL_KERNELS else 'several kernels'}:"
        f" {count} row{'' if count == 1 else 's'} {note}"
        for (tier, kernel, note), count in sorted(found.items())
    ]


def select_most_changed(rows: Sequence[Change], count: int) -> list[Change]:
    """Return the rows with the `count` largest changes, in the order of the table. A change that is
    not a number counts as zero."""
    largest = sorted(rows, key=lambda change: min(0.0, -abs(change.percent or 0.0)))[:count]
    return [change for change in rows if change in largest]


def wrap_texts_to_line_limit(texts: Sequence[str], most_lines: int) -> list[str]:
    """Return the lines of the first texts: as many texts as fit into `most_lines` lines, at least
    one. If texts are omitted, the last line has their number."""
    lines: list[str] = []
    for number, text in enumerate(texts):
        own = wrap_line(text, WIDTH)
        last = number == len(texts) - 1
        if number and len(lines) + len(own) > most_lines - (not last):
            return [*lines, f"and {len(texts) - number} more; --all shows them"]
        lines += own
    return lines


def make_run_pair_head(comparison: Comparison, pair: RunPair, everything: bool) -> list[str]:
    """Return the lines above the rows of a pair: the two runs, remarks on the runs, how to read the
    rows, and the rows that one run lacks."""
    parts = (
        (
            [f"A: {describe_compared_run(pair.a)}", f"B: {describe_compared_run(pair.b)}"],
            HEAD_LINES,
        ),
        ([*list_run_remarks(pair.a), *list_run_remarks(pair.b)], HEAD_LINES),
        ([f"{line}." for line in list_hints_for_reader(comparison, pair)], HEAD_LINES),
        (describe_missing_rows(pair), LACKING_LINES),
    )
    unbounded = sys.maxsize if everything else 0
    return [
        line
        for texts, most in parts
        for line in wrap_texts_to_line_limit(texts, max(most, unbounded))
    ]


def render_rows_to_line_limit(rows: Sequence[Change], most_lines: int) -> list[str]:
    """Return the lines of the rows with the largest changes: as many rows as fit into `most_lines`
    lines, but at least one. If rows are omitted, the last line has their number."""
    for most in range(min(ROWS, len(rows)), 0, -1):
        lines = [
            "",
            COLUMN_LEGEND,
            *format_rows_by_benchmark(
                [make_change_cells(change) for change in select_most_changed(rows, most)]
            ),
        ]
        if most < len(rows):
            lines.append(f"and {len(rows) - most} more rows that changed less; --all shows them")
        if len(lines) <= most_lines or most == 1:
            return lines
    return []


def render_comparison_for_terminal(comparison: Comparison, everything: bool = False) -> str:
    """Return the comparison for a terminal: all rows, or only the rows with the largest changes, so
    that a pair fits on a screen."""
    lines: list[str] = []
    end = wrap_line(describe_comparison_outcome(comparison), WIDTH)
    for pair in comparison.pairs:
        head = make_run_pair_head(comparison, pair, everything)
        foot = ["", *wrap_line(describe_pair_verdict_counts(pair), WIDTH), ""]
        rows = select_shown_rows(comparison, pair, everything)
        if everything:
            body = (
                [
                    "",
                    COLUMN_LEGEND,
                    *format_rows_by_benchmark([make_change_cells(change) for change in rows]),
                ]
                if rows
                else []
            )
        else:
            changed = [change for change in rows if change.verdict not in (MISSING, NEW)]
            body = render_rows_to_line_limit(changed, LINES - len(head) - len(foot) - len(end))
        lines += [*head, *body, *foot]
    return "\n".join([*lines, *end])


def escape_markdown(text: str) -> str:
    """Escape a text so that Markdown shows it literally, also in a table cell."""
    return MARKDOWN_SPECIALS.sub(r"\\\g<0>", html.escape(text, quote=False))


def render_markdown_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    rule = ["--:" if number in NUMERIC_COLUMNS else "---" for number in range(len(HEADS))]
    return [f"| {' | '.join(map(escape_markdown, row))} |" for row in (HEADS, rule, *rows)]


def render_comparison_markdown(comparison: Comparison, everything: bool = False) -> str:
    """Return the comparison in Markdown, for a comment in a code review."""
    lines = [f"- {escape_markdown(line)}" for line in comparison.faults]
    lines += [""] if lines else []
    for pair in comparison.pairs:
        lines += [f"## {escape_markdown(pair.b.name)} against {escape_markdown(pair.a.name)}", ""]
        said = [
            f"A: {describe_compared_run(pair.a)}",
            f"B: {describe_compared_run(pair.b)}",
            *list_run_remarks(pair.a),
            *list_run_remarks(pair.b),
        ]
        said += [*list_hints_for_reader(comparison, pair), describe_pair_verdict_counts(pair)]
        lines += [f"- {escape_markdown(line)}" for line in said]
        rows = [
            make_change_cells(change) for change in select_shown_rows(comparison, pair, everything)
        ]
        lines += ["", *(render_markdown_table(rows) if rows else ["No row changed."]), ""]
    return "\n".join([*lines, describe_comparison_outcome(comparison), ""])
