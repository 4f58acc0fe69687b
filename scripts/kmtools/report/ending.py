# SPDX-License-Identifier: GPL-2.0-only
"""The summary that ends a run on a terminal: the answer, the grades, what was not measured, and
where the tables and the page are. It has at most LINES lines on a terminal of 80 columns or more.
"""

from __future__ import annotations

import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kmtools.analyse import switching
from kmtools.analyse.grade import Grade
from kmtools.analyse.switching import Point
from kmtools.analyse.verdicts import Result
from kmtools.measure import rundir
from kmtools.measure.rundir import Tier
from kmtools.report import marker_cost
from kmtools.report.marker_cost import Answer

LINES = 40
WIDEST = 100
# Of LINES, those kept for unmeasured benchmarks if grades need the rest.
LACKING_LINES = 5


def paragraph(text: str, width: int, indent: str = "", hanging: str = "  ") -> list[str]:
    """Lines of a text; those after the first are indented further, by `hanging`."""
    return textwrap.wrap(
        text,
        min(width, WIDEST),
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_on_hyphens=False,
    )


def answer_lines(found: Sequence[Answer], width: int) -> list[str]:
    """A sentence, then each number with its interval, its verdict and its predecessor."""
    lines = paragraph(marker_cost.sentence(found), width, hanging="")
    if found:
        lines.append("")
    for one in found:
        span = marker_cost.interval(one)
        head = f"{one.place}: {marker_cost.number(one)}"
        head += f" ({span}), {marker_cost.verdict_word(one)}" if span else f", because {one.how}"
        lines += paragraph(head, width, "  ")
        if one.then:
            lines += paragraph(f"then: {one.then}", width, "    ")
    return lines


def named(words: Iterable[str]) -> str:
    """Words without repetition, in the order of their first occurrence."""
    return ", ".join(dict.fromkeys(words))


def grade_lines(graded: Sequence[tuple[Tier, Grade]], width: int) -> list[str]:
    """For each tier its grade with the worst reasons, and what would give a better one. Kernels of
    one tier and one grade share their lines."""
    groups: dict[tuple[str, str], list[tuple[Tier, Grade]]] = {}
    for tier, grade in graded:
        groups.setdefault((tier.tier, grade.word), []).append((tier, grade))
    lines = []
    for (name, word), members in groups.items():
        kernels = f" ({named(one.kernel for one, _ in members)})" if len(members) > 1 else ""
        reasons = sorted(
            dict.fromkeys((r.level, r.words) for _, grade in members for r in grade.reasons),
            key=lambda reason: -reason[0],
        )
        text = f"{name}{kernels}: {word} numbers"
        if reasons:
            more = f"; {len(reasons) - 2} more on the page" if len(reasons) > 2 else ""
            text += f": {'; '.join(words for _, words in reasons[:2])}{more}"
        lines += paragraph(text, width)
        remedies = dict.fromkeys(w for _, grade in members for w in grade.remedies[:2])
        if remedies:
            lines += paragraph(f"better: {'; '.join(remedies)}", width, "  ")
    return lines


def verdict_lines(results: Sequence[Result], width: int) -> list[str]:
    """The number of rows with each verdict in each tier; emulated ticks are left out."""
    lines = []
    for tier in dict.fromkeys(r.tier for r in results if r.unit != rundir.UNIT_EMULATED):
        own = [r for r in results if r.tier == tier and r.delta is not None and not r.is_clone]
        if own:
            counts = Counter(result.verdict for result in own)
            parts = ", ".join(f"{number} {word}" for word, number in counts.most_common())
            lines += paragraph(f"{tier}: {len(own)} rows: {parts}", width)
    return lines


def broken_lines(points: Sequence[Point], width: int) -> list[str]:
    """A line for each limit of switching that was not kept."""
    lines = []
    for tier, kernel in dict.fromkeys((p.tier, p.kernel) for p in points):
        own = switching.of_tier(points, tier, kernel)
        rows = [p.row(own) for p in switching.LIMITS if p.tier == tier]
        for words, limit, got, kept in (row for row in rows if row):
            if kept == switching.BROKEN:
                text = f"{tier}, kernel {kernel}: BROKEN: {words}: {got}, limit {limit}"
                lines += paragraph(text, width)
    return lines


def lacking_lines(tiers: Sequence[Tier], width: int) -> list[str]:
    """A line for each reason for which benchmarks and variants were not measured."""
    reasons: dict[str, tuple[list[str], list[str]]] = {}
    for tier in tiers:
        for key, why in sorted(tier.env.items()):
            if key.startswith(rundir.LACKS):
                names, where = reasons.setdefault(why, ([], []))
                names.append(key[len(rundir.LACKS) :].replace(":", " "))
                where.append(tier.tier)
    return [
        line
        for why, (names, where) in reasons.items()
        for line in paragraph(f"not measured ({named(where)}): {named(names)}: {why}", width)
    ]


def cut(lines: list[str], most: int, where: str) -> list[str]:
    """At most `most` lines; the last one says where the rest is."""
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"  and more: {where}"]


def render(
    run: Path,
    env: Mapping[str, Any],
    found: Sequence[Answer],
    graded: Sequence[tuple[Tier, Grade]],
    judged: tuple[Sequence[Result], Sequence[Point]],
    width: int,
    tier: str | None = None,
    page: Path | None = None,
) -> str:
    """The end of a report of a run, or of one tier of it, from its rows and its switches."""
    command = f"scripts/kmarkers table {shlex.quote(str(run))}"
    command += f" --tier {tier}" if tier else ""
    where = str(page) if page else command
    head = [*answer_lines(found, width), ""]
    tail = [*verdict_lines(judged[0], width), *broken_lines(judged[1], width)]
    for line in rundir.warnings(env, tier):
        tail += paragraph(line, width)
    tail += ["", f"tables: {command}", *([f"page:   {page}"] if page else [])]
    grades = grade_lines(graded, width)
    lacking = lacking_lines([one for one, _ in graded], width)
    room = LINES - len(head) - len(tail)
    grades = cut(grades, max(4, room - min(len(lacking), LACKING_LINES)), where)
    lacking = cut(lacking, max(2, room - len(grades)), where)
    return "\n".join([*head, *grades, *lacking, *tail])
