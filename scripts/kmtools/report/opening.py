# SPDX-License-Identifier: GPL-2.0-only
"""The answer and the grades of a run as text for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from kmtools.analyse.grade import Grade
from kmtools.measure.rundir import Tier
from kmtools.report import answer as answering
from kmtools.report.answer import Answer

WIDEST = 100


def paragraph(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of a text; those after the first are indented."""
    return textwrap.wrap(text, min(width, WIDEST), subsequent_indent=indent)


def answer_lines(found: Sequence[Answer], width: int) -> list[str]:
    """A sentence, then each number with its interval, its source and its predecessor."""
    lines = paragraph(answering.sentence(found), width)
    for one in found:
        span = answering.interval(one)
        head = f"  {one.place}: {answering.number(one)}"
        if span:
            head += f" ({span}), {answering.verdict_word(one)}"
        lines += ["", *paragraph(head, width, "    ")]
        lines += [f"    {line}" for line in paragraph(one.how, width - 4)]
        if one.then:
            lines += [f"    {line}" for line in paragraph(f"then: {one.then}", width - 4, "  ")]
    return lines


def grade_lines(graded: Sequence[tuple[Tier, Grade]], width: int) -> list[str]:
    """A line for each tier, its reasons, and what would give a better grade."""
    lines = []
    for tier, grade in graded:
        lines += paragraph(f"{tier.tier}: {grade.word} numbers", width)
        for reason in grade.reasons:
            lines += paragraph(f"  {reason.level.word}: {reason.words}", width, "    ")
        for remedy in grade.remedies:
            lines += paragraph(f"  better: {remedy}", width, "    ")
    return lines


def render(found: Sequence[Answer], graded: Sequence[tuple[Tier, Grade]], width: int) -> str:
    """What stands before all tables."""
    return "\n".join([*answer_lines(found, width), "", *grade_lines(graded, width), ""])
