# SPDX-License-Identifier: GPL-2.0-only
"""Makes the summary at the end of a run on the terminal: the costs of a dormant marker, the grades
of the tiers (environments of measurement), the benchmarks that were not measured, and where to find
the tables and the page.

The summary has at most LINES lines on a terminal of 80 columns or more.
"""

from __future__ import annotations

import itertools
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kmtools.analyse import switching
from kmtools.analyse.grade import Grade
from kmtools.analyse.kept_blocks import KeptBlocks
from kmtools.analyse.switching import SwitchPoint
from kmtools.analyse.verdicts import Result
from kmtools.base.paths import COMMAND
from kmtools.measure import rundir
from kmtools.measure.rundir import Tier
from kmtools.report import marker_cost
from kmtools.report.marker_cost import MarkerCost

# The largest number of lines of the summary.
LINES = 40
# The longest line on a wide terminal, in characters.
LONGEST_LINE = 100
# Number of lines of the summary that the grades leave free for benchmarks that were not measured.
LACKING_LINES = 5
# Number of benchmarks with missing blocks that are named.
LACKING_BENCHMARKS = 3


def wrap_paragraph(text: str, width: int, indent: str = "", hanging: str = "  ") -> list[str]:
    """Return a text as lines. The first line begins with `indent`, all other lines begin with
    `indent` and `hanging`."""
    return textwrap.wrap(
        text,
        min(width, LONGEST_LINE),
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_on_hyphens=False,
    )


def format_marker_costs(marker_costs: Sequence[MarkerCost], width: int) -> list[str]:
    """Return the costs of a dormant marker as lines: a sentence with all costs, then each cost with
    its interval, its verdict and the published cost. A run without any of these costs, such
    as a run of the user's own benchmarks, gets one sentence."""
    lines = wrap_paragraph(marker_cost.describe_marker_costs(marker_costs), width, hanging="")
    if all(one.value is None for one in marker_costs):
        return lines
    for line in itertools.chain(*marker_cost.describe_cost_caveats(marker_costs)):
        lines += wrap_paragraph(line, width)
    lines.append("")
    for one in marker_costs:
        span = marker_cost.format_cost_interval(one)
        head = f"{one.place}: {marker_cost.format_cost_value(one)}"
        head += (
            f" ({span}), {marker_cost.describe_marker_verdict(one)}"
            if span
            else f", because {one.how}"
        )
        lines += wrap_paragraph(head, width, "  ")
        if one.then:
            lines += wrap_paragraph(f"published: {one.then}", width, "    ")
    return lines


def join_unique_words(words: Iterable[str]) -> str:
    """Join words with commas, omitting repetitions."""
    return ", ".join(dict.fromkeys(words))


def format_tier_grades(graded: Sequence[tuple[Tier, Grade]], width: int) -> list[str]:
    """Return lines with the grade of each tier (measurement environment), the two worst reasons for
    this grade, and the remedies. If a tier has the same grade in several kernels, these kernels
    share the lines."""
    groups: dict[tuple[str, str], list[tuple[Tier, Grade]]] = {}
    for tier, grade in graded:
        groups.setdefault((tier.tier, grade.level_name), []).append((tier, grade))
    lines = []
    for (name, word), members in groups.items():
        kernels = (
            f" ({join_unique_words(one.kernel for one, _ in members)})" if len(members) > 1 else ""
        )
        reasons = sorted(
            dict.fromkeys((r.level, r.words) for _, grade in members for r in grade.reasons),
            key=lambda reason: -reason[0],
        )
        text = f"{name}{kernels}: {word} numbers"
        if reasons:
            more = f"; {len(reasons) - 2} more on the page" if len(reasons) > 2 else ""
            text += f": {'; '.join(words for _, words in reasons[:2])}{more}"
        lines += wrap_paragraph(text, width)
        remedies = dict.fromkeys(w for _, grade in members for w in grade.remedies[:2])
        if remedies:
            lines += wrap_paragraph(f"for better numbers: {'; '.join(remedies)}", width, "  ")
    return lines


def format_verdict_counts(results: Sequence[Result], width: int) -> list[str]:
    """Return for each tier the number of rows with each verdict, as
    lines. Rows in emulated ticks are left out."""
    lines = []
    for tier in dict.fromkeys(r.tier for r in results if r.unit != rundir.UNIT_EMULATED):
        own = [r for r in results if r.tier == tier and r.delta is not None and not r.is_clone]
        if own:
            counts = Counter(result.verdict for result in own)
            parts = ", ".join(f"{number} {word}" for word, number in counts.most_common())
            lines += wrap_paragraph(f"{tier}: {len(own)} rows: {parts}", width)
    return lines


def format_broken_switching_limits(points: Sequence[SwitchPoint], width: int) -> list[str]:
    """Return a line for each limit on switching times that the run exceeded."""
    lines = []
    for tier, kernel in dict.fromkeys((p.tier, p.kernel) for p in points):
        own = switching.select_switch_points_of_tier(points, tier, kernel)
        rows = [p.make_table_row(own) for p in switching.LIMITS if p.tier == tier]
        for words, limit, got, kept in (row for row in rows if row):
            if kept == switching.BROKEN:
                text = f"{tier}, kernel {kernel}: BROKEN: {words}: {got}, limit {limit}"
                lines += wrap_paragraph(text, width)
    return lines


def format_unmeasured_benchmarks(tiers: Sequence[Tier], width: int) -> list[str]:
    """Return a paragraph for each reason why benchmarks or variants were not measured, with the
    names of those benchmarks and variants."""
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
        for line in wrap_paragraph(
            f"not measured ({join_unique_words(where)}): {join_unique_words(names)}: {why}", width
        )
    ]


def format_missing_blocks(
    results: Sequence[Result], points: Sequence[SwitchPoint], width: int
) -> list[str]:
    """Return a paragraph about the benchmarks with missing blocks, as lines. The paragraph names
    the LACKING_BENCHMARKS benchmarks with the smallest shares of kept blocks. Return an empty list
    if all benchmarks have enough blocks."""
    worst: dict[str, KeptBlocks] = {}
    rows: list[Result | SwitchPoint] = [*results, *points]
    for row in rows:
        blocks, name = row.blocks, f"{row.tier} {row.benchmark}"
        if blocks is not None and blocks.describe_missing_blocks():
            worst[name] = min(worst.get(name, blocks), blocks, key=lambda one: one.share)
    if not worst:
        return []
    ordered = sorted(worst.items(), key=lambda item: item[1].share)
    parts = [
        f"{name}: {blocks.describe_missing_blocks()}"
        for name, blocks in ordered[:LACKING_BENCHMARKS]
    ]
    if len(ordered) > LACKING_BENCHMARKS:
        parts.append(f"and {len(ordered) - LACKING_BENCHMARKS} more benchmarks")
    return wrap_paragraph(f"fewer blocks were kept than planned: {'; '.join(parts)}", width)


def limit_line_count(lines: list[str], max_lines: int, full_source: str) -> list[str]:
    """Return the first lines, at most `max_lines`. If lines are left out, the last returned line
    names `full_source`, the file or command that shows all lines."""
    if len(lines) <= max_lines:
        return lines
    return [*lines[: max_lines - 1], f"  all lines: {full_source}"]


def render_run_summary(
    run: Path,
    env: Mapping[str, Any],
    marker_costs: Sequence[MarkerCost],
    graded: Sequence[tuple[Tier, Grade]],
    judged: tuple[Sequence[Result], Sequence[SwitchPoint]],
    width: int,
    tier: str | None = None,
    page: Path | None = None,
) -> str:
    """Return the summary of a run, or only of the tier `tier`. `marker_costs` are the costs of a
    dormant marker, `graded` the tiers with their grades, `judged` the results and the measured
    switches of sites. `page` is the file report.html, if it was written."""
    command = f"{COMMAND} table {shlex.quote(str(run))}"
    command += f" --tier {tier}" if tier else ""
    source = str(page) if page else command
    head = [*format_marker_costs(marker_costs, width), ""]
    broken = [] if rundir.is_quick_run(env) else format_broken_switching_limits(judged[1], width)
    tail = [*format_verdict_counts(judged[0], width), *broken]
    tail += format_missing_blocks(*judged, width)
    for line in rundir.list_warnings(env, tier):
        tail += wrap_paragraph(line, width)
    tail += ["", f"tables: {command}", *([f"page:   {page}"] if page else [])]
    grades = format_tier_grades(graded, width)
    lacking = format_unmeasured_benchmarks([one for one, _ in graded], width)
    room = LINES - len(head) - len(tail)
    grades = limit_line_count(grades, max(4, room - min(len(lacking), LACKING_LINES)), source)
    lacking = limit_line_count(lacking, max(2, room - len(grades)), source)
    return "\n".join([*head, *grades, *lacking, *tail])
