# SPDX-License-Identifier: GPL-2.0-only
"""A comparison as text: for a terminal, and in Markdown."""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from kmtools.analyse import changes
from kmtools.analyse.changes import NOT_COMPARABLE, NOT_JUDGED, Change
from kmtools.analyse.rows import EXACT
from kmtools.analyse.verdicts import EQUIVALENT, IDENTICAL, UNRESOLVED
from kmtools.base.text import aligned, printable, wrapped
from kmtools.report.comparison import Compared, Comparison, Pair, machine_of, remarks
from kmtools.report.table import amount

# Rows that need no look unless all rows are asked for.
QUIET = (EQUIVALENT, IDENTICAL, UNRESOLVED, NOT_JUDGED, NOT_COMPARABLE)
HEADS = ("tier", "benchmark", "variant", "A", "B", "unit", "change", "interval", "verdict")
NUMBERS = {3, 4, 6, 7}
# For a terminal: its width, and what the columns below the name of a benchmark are.
WIDTH = 80
# What may begin or end markup in Markdown.
MARKUP = re.compile(r"[\\`*_|\[\]#@~]")
COLUMNS = "variant: cost in A, in B, change, its interval, verdict"


def percent(value: float | None) -> str:
    """A change in percent."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:+.2f} %" if math.isfinite(value) else "?"


def interval(change: Change) -> str:
    """The interval of a change in percent; a question mark where the data do not bound it."""
    if change.percent is None:
        return "-"
    ends = (change.interval.lo, change.interval.hi)
    return f"[{', '.join(f'{end:+.2f}' if math.isfinite(end) else '?' for end in ends)}]"


def cells(change: Change) -> tuple[str, ...]:
    """A row of the table."""
    name = change.name
    sites = f" ({name.measured}, {name.sites} sites)" if name.sites else ""
    costs = (amount(row.cost) if row else "-" for row in (change.a, change.b))
    verdict = change.verdict + (f" ({change.note})" if change.note else "")
    where = (name.tier, name.benchmark, name.variant + sites)
    return (*where, *costs, change.unit, percent(change.percent), interval(change), verdict)


def chosen(comparison: Comparison, pair: Pair, everything: bool) -> list[Change]:
    """The rows to show: those that changed or fail, or all."""
    return [
        change
        for change in pair.changes
        if everything or change.verdict not in QUIET or comparison.fails(change)
    ]


def about(run: Compared) -> str:
    """A run, and its machine if env.json describes one."""
    told = machine_of(run)
    texts = (told["cpu"], told["microcode"], told["kernel"], told["date"])
    known = [printable(str(text)) for text in texts if text]
    return ", ".join([run.name, *known])


def sums(pair: Pair) -> str:
    """How many rows have each verdict, as a sentence."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in pair.counts.most_common())
    return f"{len(pair.changes)} rows: {counts}"


def reading(comparison: Comparison, pair: Pair) -> list[str]:
    """The lines that tell how to read the table."""
    lines = [f"margin {comparison.margin:g} %, the same for all rows"]
    smallest = changes.smallest(pair.changes)
    if smallest is not None:
        lines.append(f"half of the rows could show a change of {float(f'{smallest:.2g}'):g} %")
    if any(change.kind == EXACT for change in pair.changes):
        lines.append("instructions are compared as numbers, without a margin")
    why = Counter(c.note for c in pair.changes if c.verdict == NOT_COMPARABLE)
    return lines + [f"{count} rows are {NOT_COMPARABLE}: {note}" for note, count in why.items()]


def outcome(comparison: Comparison) -> str:
    """The last line."""
    if not comparison.failing:
        return "nothing was asked to fail (--fail-on)"
    words = ", ".join(sorted(comparison.failing))
    return f"{comparison.failed} rows fail ({words})" if comparison.failed else f"no row is {words}"


def below(name: str, numbers: Sequence[str], verdict: str) -> list[str]:
    """A row in several lines: its name, its numbers, and its verdict where it still fits."""
    line = "    " + "  ".join([*numbers, verdict])
    if len(line) <= WIDTH:
        return [name, line]
    return [name, "    " + "  ".join(numbers), *wrapped(verdict, WIDTH, "    ")]


def grouped(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows for a terminal, below a line for each benchmark. Where a line is longer than WIDTH,
    the numbers of that benchmark stand below the names of its variants."""
    lines: list[str] = []
    for head, several in groupby(rows, key=lambda row: (row[0], row[1], row[5])):
        own = list(several)
        rest = [["  " + row[2], *row[3:5], *row[6:]] for row in own]
        made = aligned(rest, {1, 2, 3, 4})
        if max(map(len, made)) > WIDTH:
            made = [line for name, *cells in rest for line in below(name, cells[:-1], cells[-1])]
        lines += ["", f"{head[0]} {head[1]}, {head[2]}", *made]
    return lines


def terminal(comparison: Comparison, everything: bool = False) -> str:
    """The comparison for a terminal."""
    lines: list[str] = []
    for pair in comparison.pairs:
        said = [f"A: {about(pair.a)}", f"B: {about(pair.b)}"]
        said += [*remarks(pair.a), *remarks(pair.b)]
        lines += [part for line in said for part in wrapped(line, WIDTH)]
        lines += [f"{line}." for line in reading(comparison, pair)]
        rows = [cells(change) for change in chosen(comparison, pair, everything)]
        if rows:
            lines += ["", COLUMNS, *grouped(rows)]
        lines += ["", sums(pair), ""]
    return "\n".join([*lines, outcome(comparison)])


def escape(text: str) -> str:
    """A text in Markdown, also in a cell of a table: nothing in it is markup."""
    return MARKUP.sub(r"\\\g<0>", html.escape(text, quote=False))


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table in Markdown."""
    rule = ["--:" if number in NUMBERS else "---" for number in range(len(HEADS))]
    return [f"| {' | '.join(map(escape, row))} |" for row in (HEADS, rule, *rows)]


def markdown(comparison: Comparison, everything: bool = False) -> str:
    """The comparison in Markdown, as a comment on a change would show it."""
    lines = [f"- {escape(line)}" for line in comparison.faults]
    lines += [""] if lines else []
    for pair in comparison.pairs:
        lines += [f"## {escape(pair.b.name)} against {escape(pair.a.name)}", ""]
        said = [f"A: {about(pair.a)}", f"B: {about(pair.b)}", *remarks(pair.a), *remarks(pair.b)]
        said += [*reading(comparison, pair), sums(pair)]
        lines += [f"- {escape(line)}" for line in said]
        rows = [cells(change) for change in chosen(comparison, pair, everything)]
        lines += ["", *(table(rows) if rows else ["No row changed."]), ""]
    return "\n".join([*lines, outcome(comparison), ""])
