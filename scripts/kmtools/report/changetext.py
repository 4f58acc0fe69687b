# SPDX-License-Identifier: GPL-2.0-only
"""A comparison as text: for a terminal, and in Markdown."""

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
from kmtools.analyse.rows import EXACT
from kmtools.analyse.verdicts import EQUIVALENT, IDENTICAL, UNRESOLVED, WITHHELD
from kmtools.base.text import aligned, printable, wrapped
from kmtools.report.comparison import Compared, Comparison, Pair, machine_of, remarks
from kmtools.report.table import amount

# Verdicts of rows that are shown only if all rows are asked for.
QUIET = (EQUIVALENT, IDENTICAL, UNRESOLVED, WITHHELD, NOT_JUDGED, NOT_COMPARABLE)
HEADS = ("tier", "benchmark", "variant", "A", "B", "unit", "change", "interval", "verdict")
NUMBERS = {3, 4, 6, 7}
# The width of the text for a terminal.
WIDTH = 80
# Limits of a pair on a terminal if not all is asked for: lines, and rows in them; lines about the
# runs and how to read them, and about rows that one run lacks.
LINES, ROWS = 40, 8
MOST_TOLD, MOST_LACKING = 7, 8
# Characters that may begin or end markup in Markdown.
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
    """The number of rows with each verdict, as a sentence."""
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
    if (versions := [version_of(run) for run in (pair.a, pair.b)]) and len(set(versions)) > 1:
        lines.append("A was made by {}, B by {}".format(*versions))
    for verdict in (NOT_COMPARABLE, WITHHELD):
        why = Counter(c.note for c in pair.changes if c.verdict == verdict)
        lines += [f"{count} rows are {verdict}: {note}" for note, count in why.items()]
    return lines


def version_of(run: Compared) -> str:
    """The version and the commit of the sources that a run was made of."""
    source = run.env.get("source") or {}
    told = [printable(str(source.get(name) or "?")) for name in ("version", "commit")]
    return f"version {told[0]}, commit {told[1][:12]}"


def outcome(comparison: Comparison) -> str:
    """The outcome of the comparison, which is the last line."""
    held = comparison.withheld
    poor = f"; {held} rows are {WITHHELD}, because the numbers of a run are poor" if held else ""
    if not comparison.failing:
        return f"nothing was asked to fail (--fail-on){poor}"
    words = ", ".join(sorted(comparison.failing))
    failed = f"{comparison.failed} rows fail ({words})" if comparison.failed else ""
    return (failed or f"no row is {words}") + poor


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


def lacking(pair: Pair) -> list[str]:
    """A line for each tier and kernel of which one run has rows that the other lacks."""
    alone = [change for change in pair.changes if change.verdict in (MISSING, NEW)]
    found = Counter((row.name.tier, row.kernel, c.note) for c in alone for row in (c.a, c.b) if row)
    return [
        f"{tier}, kernel {kernel}: {count} row{'' if count == 1 else 's'} {note}"
        for (tier, kernel, note), count in sorted(found.items())
    ]


def worst(rows: Sequence[Change], most: int) -> list[Change]:
    """The `most` rows that changed most, in the order of the table."""
    largest = sorted(rows, key=lambda change: -abs(change.percent or 0.0))[:most]
    return [change for change in rows if change in largest]


def fitted(texts: Sequence[str], most: int) -> list[str]:
    """The first texts that fit into `most` lines, at least one; the last line counts the others."""
    lines: list[str] = []
    for number, text in enumerate(texts):
        own = wrapped(text, WIDTH)
        last = number == len(texts) - 1
        if number and len(lines) + len(own) > most - (not last):
            return [*lines, f"and {len(texts) - number} more: --all"]
        lines += own
    return lines


def told(comparison: Comparison, pair: Pair, everything: bool) -> list[str]:
    """The lines before the rows of a pair: the runs, remarks on them, how to read the rows, and the
    rows that one run lacks."""
    parts = (
        ([f"A: {about(pair.a)}", f"B: {about(pair.b)}"], MOST_TOLD),
        ([*remarks(pair.a), *remarks(pair.b)], MOST_TOLD),
        ([f"{line}." for line in reading(comparison, pair)], MOST_TOLD),
        (lacking(pair), MOST_LACKING),
    )
    unbounded = sys.maxsize if everything else 0
    return [line for texts, most in parts for line in fitted(texts, max(most, unbounded))]


def shown(rows: Sequence[Change], room: int) -> list[str]:
    """The rows that changed most, as many as fit into `room` lines but at least one, and the number
    of the other rows."""
    for most in range(min(ROWS, len(rows)), 0, -1):
        lines = ["", COLUMNS, *grouped([cells(change) for change in worst(rows, most)])]
        if most < len(rows):
            lines.append(f"and {len(rows) - most} more rows that changed less: --all")
        if len(lines) <= room or most == 1:
            return lines
    return []


def terminal(comparison: Comparison, everything: bool = False) -> str:
    """The comparison for a terminal: all rows, or those that changed most, so that a pair
    fits on a screen."""
    lines: list[str] = []
    end = wrapped(outcome(comparison), WIDTH)
    for pair in comparison.pairs:
        head = told(comparison, pair, everything)
        foot = ["", *wrapped(sums(pair), WIDTH), ""]
        rows = chosen(comparison, pair, everything)
        if everything:
            body = ["", COLUMNS, *grouped([cells(change) for change in rows])] if rows else []
        else:
            changed = [change for change in rows if change.verdict not in (MISSING, NEW)]
            body = shown(changed, LINES - len(head) - len(foot) - len(end))
        lines += [*head, *body, *foot]
    return "\n".join([*lines, *end])


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
