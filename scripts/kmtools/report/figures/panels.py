# SPDX-License-Identifier: GPL-2.0-only
"""Makes panels from results: costs with intervals, costs of one more site, exact counts.

Rows that are equivalent to their baseline are not drawn; the remark below the panel names them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from kmtools.analyse import result_kinds
from kmtools.analyse.density import SiteCost
from kmtools.analyse.verdicts import BASELINE, EQUIVALENT, IDENTICAL, NO_BASELINE, WITHHELD, Result
from kmtools.report.figures.rows import Panel, Row
from kmtools.report.figures.scales import Scale, make_signed_scale
from kmtools.report.table import format_amount, format_result_value

# The verdicts whose rows are not drawn.
NOT_DRAWN = (EQUIVALENT, IDENTICAL)
# Maximum length of a caveat that is drawn at its row, in characters.
LONGEST_CAVEAT = 80


def join_names(names: Sequence[str]) -> str:
    """Join names with commas and "and"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def describe_noise_floor(rows: Sequence[Result]) -> str:
    """Return a sentence with the noise floor and the margin."""
    first = rows[0]
    if first.noise_floor is None or first.margin is None:
        return ""
    clone = next((r for r in rows if r.is_clone), None)
    doubt = "" if clone is None or clone.verdict == EQUIVALENT else f" ({clone.verdict})"
    return (
        f"Noise floor (A/A, shaded) ±{format_amount(first.noise_floor)}{doubt};"
        f" margin (dotted) ±{format_amount(first.margin)}."
    )


def make_panel_remark(rows: Sequence[Result]) -> str:
    """Return the remark below a panel: the names of the rows that are not drawn, the noise floor
    and the equivalence margin."""
    quiet = [r for r in result_kinds.select_judged_results(rows) if r.verdict in NOT_DRAWN]
    words = []
    if quiet and quiet[0].verdict == IDENTICAL:
        words.append(f"Not one instruction more: {join_names([r.variant for r in quiet])}.")
    elif quiet:
        reach = max(r.delta_ci.max_distance_from_zero for r in quiet if r.delta_ci is not None)
        names = join_names([r.variant for r in quiet])
        words.append(f"Equivalent to {quiet[0].baseline}, within ±{format_amount(reach)}: {names}.")
    if rows[0].unit != "instructions":
        words.append(describe_noise_floor(rows))
    return " ".join(word for word in words if word)


def make_result_row(result: Result) -> Row:
    """Return a result as a row. The row has the distribution of the paired differences, if the
    result has it."""
    assert result.delta is not None and result.delta_ci is not None
    time = result.time_ci
    known = time is not None and (math.isfinite(time.lo) or math.isfinite(time.hi))
    inner = (time.lo, time.hi) if time is not None and known else None
    return Row(
        result.variant,
        result.delta,
        result.delta_ci.lo,
        result.delta_ci.hi,
        result.verdict,
        f"{format_result_value(result, result.delta, True)} {result.verdict}",
        inner,
        result.distribution,
        result.note,
    )


def split_common_caveat(drawn: Sequence[Row]) -> tuple[list[Row], str]:
    """Find the clauses that the caveats of all rows share. Return the rows without these clauses,
    and the clauses."""
    if len(drawn) < 2:
        return list(drawn), ""
    clauses = [row.caveat.split("; ") for row in drawn]
    common = [clause for clause in clauses[0] if all(clause in own for own in clauses)]
    rows = [
        replace(row, caveat="; ".join(clause for clause in own if clause not in common))
        for row, own in zip(drawn, clauses, strict=True)
    ]
    return rows, "; ".join(common)


def number_caveats(drawn: Sequence[Row]) -> tuple[list[Row], str]:
    """Replace long caveats, and caveats that several rows share, by numbers. Return the rows, and a
    text with the numbered caveats, which begins with the clauses that all caveats share."""
    drawn, common = split_common_caveat(drawn)
    told = Counter(row.caveat for row in drawn if row.caveat)
    apart = [note for note, times in told.items() if times > 1 or len(note) > LONGEST_CAVEAT]
    numbers = {note: f"[{n}]" if len(drawn) > 1 else "" for n, note in enumerate(apart, 1)}
    rows = [
        replace(row, caveat="", words=f"{row.words} {numbers[row.caveat]}".rstrip())
        if row.caveat in numbers
        else row
        for row in drawn
    ]
    notes = [("", common)] if common else []
    notes += [(mark, note) for note, mark in numbers.items()]
    return rows, " ".join(f"{mark} {note[:1].upper()}{note[1:]}.".lstrip() for mark, note in notes)


def make_cost_panels(results: Sequence[Result]) -> list[Panel]:
    """Return a panel for each benchmark: the costs that are neither equivalent nor identical to the
    baseline."""
    panels = []
    for rows in result_kinds.group_results_by_benchmark(results):
        known = [r for r in result_kinds.select_judged_results(rows) if r.delta_ci is not None]
        drawn = [make_result_row(r) for r in known if r.verdict not in NOT_DRAWN]
        if not known:
            continue
        first = rows[0]
        floor = max(first.noise_floor or 0.0, first.margin or 0.0)
        ends = [end for row in drawn for end in (row.value, row.lo, row.hi)]
        ends += [place for row in drawn for place, share in row.density if share > 0.02]
        axis = make_signed_scale(ends, floor if math.isfinite(floor) else first.margin or 1.0)
        unit = f"added over {known[0].baseline}, {first.unit} per operation"
        margin, noise = first.margin or None, first.noise_floor or None
        drawn, notes = number_caveats(drawn)
        remark = " ".join(filter(None, (notes, make_panel_remark(rows))))
        panels.append(Panel(first.benchmark, unit, axis, drawn, margin, noise, remark))
    return panels


def make_site_panels(costs: Sequence[SiteCost]) -> list[Panel]:
    """Return a panel for each benchmark: the cost of one more dormant site of each flavour."""
    groups: dict[str, list[SiteCost]] = {}
    for cost in costs:
        groups.setdefault(cost.benchmark, []).append(cost)
    panels = []
    for name, group in groups.items():
        core = group[0].core
        scale, unit = (core.per_tick, "core cycles") if core else (1.0, group[0].unit)
        floor = max((abs(c.cost) * scale for c in group if c.flavour == "none"), default=0.0)
        shown = [make_site_row(cost, scale) for cost in group if cost.flavour != "none"]
        rows, notes = number_caveats(shown)
        none = next((c for c in group if c.flavour == "none"), None)
        remark = notes
        if none:
            span = format_interval_ends(none.ci.lo * scale, none.ci.hi * scale)
            remark += (
                f" The same variants without sites cost {format_amount(none.cost * scale, True)}"
                f" ({span}), which is noise."
            )
        ends = [end for row in rows for end in (row.value, row.lo, row.hi)]
        axis = make_signed_scale(ends, max(floor, max(map(abs, ends), default=1.0) / 20))
        panels.append(
            Panel(name, f"{unit} for one more dormant site", axis, rows, remark=remark.strip())
        )
    return panels


def format_interval_ends(lo: float, hi: float) -> str:
    """Return the interval from `lo` to `hi` as text."""
    return f"{format_amount(lo, True)} to {format_amount(hi, True)}"


def make_site_row(cost: SiteCost, scale: float) -> Row:
    """Return the cost of one more site, multiplied by `scale`, as a row."""
    lo, hi = cost.ci.lo * scale, cost.ci.hi * scale
    words = f"{format_amount(cost.cost * scale, True)}"
    if cost.verdict == WITHHELD:
        words += f" {WITHHELD}"
    elif math.isfinite(hi - lo):
        words += f" ± {format_amount((hi - lo) / 2)}"
    else:
        words += ", unbounded"
    return Row(cost.flavour, cost.cost * scale, lo, hi, cost.verdict, words, caveat=cost.remark)


def make_count_panels(results: Sequence[Result]) -> list[Panel]:
    """Return a panel for each benchmark: the exact number of instructions that each variant adds,
    as bars."""
    panels = []
    for rows in result_kinds.group_results_by_benchmark(results):
        known = [
            r for r in result_kinds.select_judged_results(rows)
            if r.delta is not None and math.isfinite(r.delta)
        ]  # fmt: skip
        drawn = [
            Row(r.variant, r.delta or 0.0, math.nan, math.nan, r.verdict,
                f"{format_result_value(r, r.delta, True)}"
                f" ({format_result_value(r, r.median)} in all)", bar=True)
            for r in known if r.verdict not in NOT_DRAWN
        ]  # fmt: skip
        if not known:
            continue
        high = max((row.value for row in drawn), default=1.0)
        low = min((row.value for row in drawn), default=0.0)
        unit = f"instructions added over {known[0].baseline}"
        axis = Scale(min(0.0, 1.08 * low), max(1.0, 1.08 * high))
        panels.append(Panel(rows[0].benchmark, unit, axis, drawn, remark=make_panel_remark(rows)))
    return panels


def list_benchmarks_without_clone(results: Sequence[Result]) -> list[str]:
    """Return the benchmarks without an A/A clone, which are not compared."""
    return sorted({r.benchmark for r in results if r.verdict == NO_BASELINE})


def describe_verdict_counts(results: Sequence[Result]) -> str:
    """Return the number of results with each verdict, as text."""
    found: dict[str, int] = {}
    for result in result_kinds.select_judged_results(results):
        if result.verdict != BASELINE:
            found[result.verdict] = found.get(result.verdict, 0) + 1
    return ", ".join(f"{count} {verdict}" for verdict, count in sorted(found.items()))
