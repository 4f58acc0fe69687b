# SPDX-License-Identifier: GPL-2.0-only
"""Writes report.html: one file that contains its figures and refers to no other file.

The first screen shows the costs of a dormant marker, the grade of the numbers with its reasons, and
one figure. The sections below have collapsed details.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kmtools.analyse import grade, result_kinds
from kmtools.analyse.density import SiteCost
from kmtools.analyse.grade import Grade
from kmtools.analyse.published import ALIASES, read_csv_table
from kmtools.analyse.switching import SwitchPoint
from kmtools.analyse.verdicts import Result
from kmtools.base.files import write_file_atomically
from kmtools.base.text import use_minus_signs
from kmtools.measure.rundir import Tier, list_unmeasured_benchmarks, list_warnings, make_tiers
from kmtools.report import cost_figure, marker_cost, sections, sheets
from kmtools.report.figures import library, panels
from kmtools.report.figures.svgfile import COLOURS
from kmtools.report.figures.workers import start_workers
from kmtools.report.markup import (
    escape_html,
    limit_page_size,
    render_figure_html,
    render_folded_html,
    render_section_html,
    render_table_html,
    render_verdict_html,
)
from kmtools.report.sections import Page

# Replaces " %", so that a line does not end before the percent sign.
UNBROKEN_PERCENT = "\N{NO-BREAK SPACE}%"
CSS = Path(__file__).resolve().parent / "report.css"
# Number of reasons for a grade that the first screen shows.
FIRST_REASONS = 2
# Maximum size of the page: HTML elements and bytes.
MOST_ELEMENTS, MOST_BYTES = 16_000, 1_500_000

HOW_TO_READ = """
<p>Every variant ran next to its baseline in the same block, in random order, at two or more loop
counts; the slope over loop counts is the cost of one operation without the cost of reading the
clock. Differences from the baseline are computed inside each block, and their location (a trimmed
mean) is the added cost, which may be negative.</p>
<p>A point is an added cost. The thick line is its interval from the variation over time, with each
process taken as one observation; the thin line also allows for other code placement, and decides
the verdict. If the machine changed between two states too rarely to tell how often, the interval
contains the costs in both states, and a note says so. The noise floor is the largest distance from
zero in the interval of the A/A clone, a second copy of the baseline's own code: a difference
smaller than the noise floor says nothing about a variant.</p>
<ul>
<li><b>slower</b> or <b>faster</b>: the whole interval lies beyond the equivalence margin, and the
difference beyond the noise floor.</li>
<li><b>equivalent</b>: the whole interval lies inside the margin, which is fixed in the program for
all runs (MARGINS in scripts/kmtools/analyse/verdicts.py, with its history), and so does the noise
floor.</li>
<li><b>differs</b>: the interval excludes zero and straddles the margin: the cost is about as large
as the margin.</li>
<li><b>unresolved</b>: the data show neither a difference nor equivalence. If the note names code
layouts, the variant costs more in some layouts than in others, and a longer run would not show what
the variant costs at all other offsets in a cache line.</li>
<li><b>withheld</b>: the numbers of this benchmark are poor, the windows of this row are not on a
straight line over their loop counts, or nothing was measured; the note says which.</li>
<li><b>identical</b>: exact counts that do not differ by one instruction.</li>
</ul>
"""


def render_grade_html(tier: Tier, tier_grade: Grade, max_reasons: int | None = None) -> str:
    """Return a paragraph with the grade of a tier (measurement environment) and its reasons. If
    there are more than `max_reasons` + 1 reasons, the paragraph has only the first `max_reasons`
    reasons, and a link to all."""
    told = [reason.words for reason in tier_grade.reasons]
    kept = told if max_reasons is None or len(told) <= max_reasons + 1 else told[:max_reasons]
    reasons = "; ".join(kept) or "no check found a fault"
    look = {"good": "equivalent", "fair": "ink", "poor": "slower"}[tier_grade.level_name]
    more = len(told) - len(kept)
    rest = f'; and <a href="#conditions">{more} more reasons</a>' if more else ""
    return (
        f'<p class="grade"><b class="{look}">{escape_html(tier.tier)}:'
        f" {tier_grade.level_name} numbers.</b>"
        f" {escape_html(use_minus_signs(reasons[:1].upper() + reasons[1:]))}{rest}.</p>"
    )


def render_marker_cost_table_html(marker_costs: Sequence[marker_cost.MarkerCost]) -> str:
    """Return a table of the costs of a dormant marker, each with its interval, its benchmark and
    the published cost."""
    cells = [
        [
            escape_html(one.place),
            escape_html(marker_cost.format_cost_value(one)),
            escape_html(marker_cost.format_cost_interval(one)),
            escape_html(one.then),
            escape_html(one.how),
            render_verdict_html(one.verdict) if one.verdict else "\N{EN DASH}",
        ]
        for one in marker_costs
    ]
    heads = ["one dormant marker", "costs", "95 %", "published", "measured as", "verdict"]
    return (
        render_table_html("Costs of a dormant marker, now and published", heads, cells, "tnnttv")
        if cells
        else ""
    )


def render_first_screen_html(run: Page, graded: Sequence[tuple[Tier, Grade]]) -> str:
    """Return the first screen: the costs of a dormant marker, why verdicts are withheld, the grade
    of the tier in which the costs were measured, and one figure; then the caveats and the table of
    the costs."""
    found = marker_cost.find_marker_costs(run.results, run.sites)
    best = marker_cost.find_best_real_cpu_tier(run.results)
    own = [(t, g) for t, g in graded if (t.tier, t.kernel) == best] or list(graded[:1])
    sentence = marker_cost.describe_marker_costs(found).replace(" %", UNBROKEN_PERCENT)
    parts = [f'<p class="answer">{escape_html(sentence)}</p>']
    withheld, caveats = [
        [f'<p class="limits">{escape_html(use_minus_signs(line))}</p>' for line in lines]
        for lines in marker_cost.describe_cost_caveats(found)
    ]
    parts += withheld
    old = next((one.then for one in found if one.place == "In hot code"), "")
    parts += [f"<p class='then-line'>Published: {escape_html(old)}.</p>"] if old else []
    parts += [render_grade_html(tier, one, FIRST_REASONS) for tier, one in own]
    parts += [f"<p class='warning'>{escape_html(line)}</p>" for line in list_warnings(run.env)]
    if panel := cost_figure.make_dormant_cost_panel(run.results, run.sites):
        title = f"<h2 class='figure'>{escape_html(panel.title)}</h2>" if run.draw else ""
        parts.append(title + render_figure_html(run.draw, panel, cost_figure.describe_panel(panel)))
    parts += caveats
    return "\n".join([*parts, render_marker_cost_table_html(found)])


def render_unrepeated_published_numbers_html() -> str:
    """Return a collapsed table of the published numbers that no benchmark repeats, with the
    reasons."""
    cells = [
        [
            escape_html(f"{row['published_benchmark']}: {row['published_variant']}"),
            escape_html(row["source"]),
            escape_html(row["reason"]),
        ]
        for row in read_csv_table(ALIASES)
        if row["reason"]
    ]
    listed = render_table_html(
        "Published numbers that no benchmark repeats", ["row", "source", "why"], cells, "ttt"
    )
    return render_folded_html(f"No benchmark repeats {len(cells)} published numbers", listed)


def render_excluded_section_html(env: Mapping[str, Any], results: Sequence[Result]) -> str:
    """Return the section about everything left out: flagged windows, benchmarks that were not
    measured or compared, published numbers that no benchmark repeats."""
    flags: Counter[str] = sum((Counter(result.flags) for result in results), Counter())
    windows = sum(result.windows for result in results)
    flagged = sum(result.flagged for result in results)
    words = ", ".join(f"{count} {word}" for word, count in sorted(flags.items())) or "none"
    items = [
        f"{flagged} of {windows} timed windows have a flag ({words}) and are not used for slopes;"
        " the tables count them for each variant. No other window was left out."
    ]
    often = Counter(
        f"{r.tier} {r.benchmark}" for r in results if r.windows and 5 * r.flagged > r.windows
    )
    items += [
        f"{name}: in {count} variants more than a fifth of the windows is flagged, so the rest may"
        " not be typical."
        for name, count in often.items()
    ]
    items += [f"Not measured: {line}." for line in list_unmeasured_benchmarks(make_tiers(env))]
    if alone := panels.list_benchmarks_without_clone(results):
        items.append(f"Without an A/A clone, hence not compared: {', '.join(alone)}.")
    dropped = sum(entry.get("cycle_fields_dropped") or 0 for entry in env["tiers"])
    if dropped:
        items.append(f"{dropped} core cycle counts reported by an emulated CPU were dropped.")
    lines = "".join(f"<li>{escape_html(item)}</li>" for item in items)
    return render_section_html(
        "excluded",
        "What was left out",
        [f"<ul>{lines}</ul>", render_unrepeated_published_numbers_html()],
    )


def get_cpu_description(env: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the description of the processor in env.json; empty if env.json has none."""
    return (env.get("machine") or {}).get("cpu") or {}


def render_conditions_section_html(
    env: Mapping[str, Any], graded: Sequence[tuple[Tier, Grade]]
) -> str:
    """Return the section with the grade of every tier, a table of the
    most important conditions of the run, and the whole env.json, collapsed."""
    cpu, kernel = get_cpu_description(env), env.get("kernel") or {}
    source = env.get("source") or {}
    changes = " + changes" if source.get("dirty") else ""
    release = [str(kernel[name]) for name in ("release", "version") if kernel.get(name)]
    short = [
        ("CPU", cpu.get("model_name")),
        ("microcode", cpu.get("microcode")),
        ("hypervisor", "yes" if cpu.get("hypervisor") else "no" if "hypervisor" in cpu else None),
        ("kernel", " ".join(release)),
        ("source", f"{source['commit']}{changes}" if source.get("commit") else None),
        ("date", env.get("date")),
    ]
    short += [
        (f"seed of {entry['tier']}, {entry['kernel']}", entry.get("seed")) for entry in env["tiers"]
    ]
    cells = [[escape_html(key), escape_html(value)] for key, value in short]
    grades = "".join(render_grade_html(tier, one) for tier, one in graded)
    better = list(dict.fromkeys(remedy for _, one in graded for remedy in one.remedies))
    if better:
        grades += f"<p>For better numbers: {escape_html('; '.join(better))}.</p>"
    full = escape_html(json.dumps(env, indent=2, sort_keys=True))
    pre = f'<pre tabindex="0" role="group" aria-label="env.json">{full}</pre>'
    machine = render_table_html(
        "The machine that collected the run", ["what", "value"], cells, "tt", " words"
    )
    return render_section_html(
        "conditions", "Conditions", [grades, machine, render_folded_html("env.json", pre)]
    )


def render_navigation_html(parts: Sequence[str]) -> str:
    """Return links to the sections that the page has."""
    names = {
        result_kinds.DORMANT: "dormant", result_kinds.COLD: "cold", result_kinds.ENABLED: "enabled",
        "switching": "switching", "then-and-now": "then and now", result_kinds.OTHER: "other",
        "reading": "how to read it", "excluded": "left out", "conditions": "conditions",
    }  # fmt: skip
    body = "\n".join(parts)
    there = [name for name in names if f'<section id="{name}"' in body]
    links = "".join(f'<li><a href="#{name}">{names[name]}</a></li>' for name in there)
    return f'<nav aria-label="Parts of this page"><ul>{links}</ul></nav>'


def render_report_page(run: Page) -> str:
    """Return the HTML of the page, before its size is limited."""
    graded = grade.grade_tiers(run.env, run.tiers, run.results)
    opening = render_first_screen_html(run, graded)
    parts = [
        *(
            sections.render_result_kind_section_html(run, kind)
            for kind in (result_kinds.DORMANT, result_kinds.COLD, result_kinds.ENABLED)
        ),
        sections.render_switching_section_html(run),
        sections.render_published_section_html(run),
        sections.render_result_kind_section_html(run, result_kinds.OTHER),
        render_section_html("reading", "How to read it", [HOW_TO_READ]),
        render_excluded_section_html(run.env, run.results),
        render_conditions_section_html(run.env, graded),
    ]
    cpu = get_cpu_description(run.env).get("model_name")
    style = COLOURS.read_text(encoding="utf-8") + CSS.read_text(encoding="utf-8")
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>kmarkers: what a dormant marker costs on {escape_html(cpu)}</title>",
            f"<style>\n{style}</style></head><body>",
            '<header id="top"><h1>What a dormant marker costs</h1>',
            f'<p class="soft">kmarkers on {escape_html(cpu)},'
            f" {escape_html(str(run.env.get('date'))[:10])}",
            f"</p></header><main>{opening}\n{render_navigation_html(parts)}",
            *(part for part in parts if part),
            "</main></body></html>\n",
        ]
    )


def write_report_page(
    path: Path,
    env: Mapping[str, Any],
    results: Sequence[Result],
    switches: Sequence[SwitchPoint] = (),
    sites: Sequence[SiteCost] = (),
) -> None:
    """Write report.html and figures/ of a run. Delete old figures; keep other files in figures/."""
    directory = path / "figures"
    directory.mkdir(parents=True, exist_ok=True)
    files: dict[str, bytes] = {}
    if library.find_matplotlib_fault():
        text = render_report_page(Page(env, results, switches, sites))
    else:
        text, files = render_page_with_figures(env, results, switches, sites)
    for old in directory.glob("*.svg"):
        if sheets.NAMES.fullmatch(old.stem):
            old.unlink()
    for name, content in files.items():
        write_file_atomically(directory / f"{name}.svg", content)
    write_file_atomically(path / "report.html", limit_page_size(text, MOST_ELEMENTS, MOST_BYTES))


def render_page_with_figures(
    env: Mapping[str, Any],
    results: Sequence[Result],
    switches: Sequence[SwitchPoint],
    sites: Sequence[SiteCost],
) -> tuple[str, dict[str, bytes]]:
    """Return the page with its figures, and the content of each figure file by name."""
    canvas = library.import_canvas_module()
    with start_workers() as several:
        run = Page(
            env, results, switches, sites, several.defer_drawing(canvas.render_part_as_inline_svg)
        )
        files = {
            name: several.start_drawing(canvas.render_figure_file, sheet.parts, sheet.words)
            for name, sheet in run.make_sheets().items()
        }
        text = several.fill_placeholders(render_report_page(run))
        return text, {name: content.result() for name, content in files.items()}
