# SPDX-License-Identifier: GPL-2.0-only
"""Writes report.html: one file that holds its figures and refers to no other file.

The first screen has the answer, the grade with its reasons, and one figure. Below are the parts, of
which each has its details folded.
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
from kmtools.analyse.published import ALIASES, read_table
from kmtools.analyse.switching import Point
from kmtools.analyse.verdicts import Result
from kmtools.base.files import write_whole
from kmtools.base.text import minus
from kmtools.measure.rundir import Tier, lacking, tiers_of, warnings
from kmtools.report import cost_figure, marker_cost, sections
from kmtools.report.figures import library, panels
from kmtools.report.figures.svgfile import COLOURS
from kmtools.report.figures.workers import workers
from kmtools.report.markup import escape, figure, folded, section, table, verdict, within
from kmtools.report.sections import Page

NO_BREAK = "\N{NO-BREAK SPACE}%"
CSS = Path(__file__).resolve().parent / "report.css"
# Reasons for a grade on the first screen.
FIRST_REASONS = 2
# The largest page: elements and bytes.
MOST_NODES, MOST_BYTES = 16_000, 1_500_000

READING = """
<p>Every variant ran next to its baseline in the same block, in random order, at two or more loop
counts; the slope over loop counts is the cost of one operation without that of starting the clock.
Differences from the baseline are taken inside a block, and their location is the added cost. A
difference may be negative, and is shown so.</p>
<p>A point is that location. The thick line is its interval over time, with each process taken as
one observation; the thin one also allows for other code placement, and the verdict rests on it.
Where the machine was in one of two states, and changed too rarely to tell how often, the interval
holds both, and a note says so. The noise floor is how
far that interval reaches for the A/A clone, a second copy of the baseline's own code: what is
smaller than it says nothing about a variant.</p>
<ul>
<li><b>slower</b> or <b>faster</b>: the whole interval lies beyond the equivalence margin, and the
difference beyond the noise floor.</li>
<li><b>equivalent</b>: the whole interval lies inside the margin, which is fixed in the program for
all runs (MARGINS in scripts/kmtools/analyse/verdicts.py, with its history), and so does the noise
floor.</li>
<li><b>differs</b>: the interval excludes zero and straddles the margin: the cost is about as large
as the margin.</li>
<li><b>unresolved</b>: nothing can be said. Finding no difference is not finding that there is none.
If the note
names code layouts, the variant costs more in some of the layouts than in others, and a longer
run would not tell what it costs in the rest of all places.</li>
<li><b>withheld</b>: the numbers of this benchmark are poor, the windows of this row are not on a
straight line over their loop counts, or nothing was measured; the note says which.</li>
<li><b>identical</b>: exact counts that do not differ by one instruction.</li>
</ul>
"""


def grade_html(tier: Tier, found: Grade, most: int | None = None) -> str:
    """The grade of a tier with its reasons, in one paragraph; with `most`, only the first ones and
    a link to the others."""
    told = [reason.words for reason in found.reasons]
    kept = told if most is None or len(told) <= most + 1 else told[:most]
    reasons = "; ".join(kept) or "nothing speaks against them"
    look = {"good": "equivalent", "fair": "ink", "poor": "slower"}[found.word]
    more = len(told) - len(kept)
    rest = f'; and <a href="#conditions">{more} more reasons</a>' if more else ""
    return (
        f'<p class="grade"><b class="{look}">{escape(tier.tier)}: {found.word} numbers.</b>'
        f" {escape(minus(reasons[:1].upper() + reasons[1:]))}{rest}.</p>"
    )


def answer_table(found: Sequence[marker_cost.Answer]) -> str:
    """Each answer with its interval, its source and the published counterpart."""
    cells = [
        [
            escape(one.place),
            escape(marker_cost.number(one)),
            escape(marker_cost.interval(one)),
            escape(one.then),
            escape(one.how),
            verdict(one.verdict) if one.verdict else "\N{EN DASH}",
        ]
        for one in found
    ]
    heads = ["one dormant marker", "costs", "95 %", "then", "measured as", "verdict"]
    return table("The answer, and its predecessors", heads, cells, "tnnttv") if cells else ""


def first_screen(run: Page, graded: Sequence[tuple[Tier, Grade]]) -> str:
    """The answer, the grade of the tier that gave it, and one figure."""
    found = marker_cost.answers(run.results, run.sites)
    best = marker_cost.best_tier(run.results)
    own = [(t, g) for t, g in graded if (t.tier, t.kernel) == best] or list(graded[:1])
    parts = [f'<p class="answer">{escape(marker_cost.sentence(found).replace(" %", NO_BREAK))}</p>']
    old = next((one.then for one in found if one.place == "In hot code"), "")
    parts += [f"<p class='then-line'>Then: {escape(old)}.</p>"] if old else []
    parts += [grade_html(tier, one, FIRST_REASONS) for tier, one in own]
    parts += [f"<p class='warning'>{escape(line)}</p>" for line in warnings(run.env)]
    if panel := cost_figure.panel(run.results, run.sites):
        title = f"<h2 class='figure'>{escape(panel.title)}</h2>" if run.draw else ""
        parts.append(title + figure(run.draw, panel, cost_figure.words(panel)))
    return "\n".join([*parts, answer_table(found)])


def without_successor() -> str:
    """The published numbers that no benchmark continues, with the reasons."""
    cells = [
        [
            escape(f"{row['published_benchmark']}: {row['published_variant']}"),
            escape(row["source"]),
            escape(row["reason"]),
        ]
        for row in read_table(ALIASES)
        if row["reason"]
    ]
    listed = table("Published numbers without a successor", ["row", "source", "why"], cells, "ttt")
    return folded(f"{len(cells)} published numbers have no successor", listed)


def excluded_section(env: Mapping[str, Any], results: Sequence[Result]) -> str:
    """The windows left out of the statistics, and the published numbers without a successor."""
    flags: Counter[str] = sum((Counter(result.flags) for result in results), Counter())
    windows = sum(result.windows for result in results)
    flagged = sum(result.flagged for result in results)
    words = ", ".join(f"{count} {word}" for word, count in sorted(flags.items())) or "none"
    items = [
        f"{flagged} of {windows} timed windows carry a flag ({words}) and take no part in slopes;"
        " the tables count them for each variant. Nothing else was left out."
    ]
    often = Counter(
        f"{r.tier} {r.benchmark}" for r in results if r.windows and 5 * r.flagged > r.windows
    )
    items += [
        f"{name}: in {count} variants more than a fifth of the windows is flagged, so the rest may"
        " not be typical."
        for name, count in often.items()
    ]
    items += [f"Not measured: {line}." for line in lacking(tiers_of(env))]
    if alone := panels.lonely(results):
        items.append(f"Without an A/A clone, hence not compared: {', '.join(alone)}.")
    dropped = sum(entry.get("cycle_fields_dropped") or 0 for entry in env["tiers"])
    if dropped:
        items.append(f"{dropped} core cycle counts reported by an emulated CPU were dropped.")
    lines = "".join(f"<li>{escape(item)}</li>" for item in items)
    return section("excluded", "What was left out", [f"<ul>{lines}</ul>", without_successor()])


def cpu_of(env: Mapping[str, Any]) -> Mapping[str, Any]:
    """The description of the processor of a run; empty if there is none."""
    return (env.get("machine") or {}).get("cpu") or {}


def env_section(env: Mapping[str, Any], graded: Sequence[tuple[Tier, Grade]]) -> str:
    """The conditions of the run, in short and in full, and every tier's grade."""
    cpu, kernel = cpu_of(env), env.get("kernel") or {}
    source = env.get("source") or {}
    changes = " + changes" if source.get("dirty") else ""
    short = [
        ("CPU", cpu.get("model_name")),
        ("microcode", cpu.get("microcode")),
        ("hypervisor", "yes" if cpu.get("hypervisor") else "no"),
        ("kernel", f"{kernel.get('release')} {kernel.get('version')}"),
        ("source", f"{source.get('commit')}{changes}"),
        ("date", env.get("date")),
    ]
    short += [
        (f"seed of {entry['tier']}, {entry['kernel']}", entry.get("seed")) for entry in env["tiers"]
    ]
    cells = [[escape(key), escape(value)] for key, value in short]
    grades = "".join(grade_html(tier, one) for tier, one in graded)
    better = list(dict.fromkeys(remedy for _, one in graded for remedy in one.remedies))
    if better:
        grades += f"<p>For better numbers: {escape('; '.join(better))}.</p>"
    full = escape(json.dumps(env, indent=2, sort_keys=True))
    pre = f'<pre tabindex="0" role="group" aria-label="env.json">{full}</pre>'
    machine = table("The machine that collected the run", ["what", "value"], cells, "tt", " words")
    return section("conditions", "Conditions", [grades, machine, folded("env.json", pre)])


def navigation(parts: Sequence[str]) -> str:
    """Links to the parts that the run has."""
    names = {
        result_kinds.DORMANT: "dormant", result_kinds.COLD: "cold", result_kinds.ENABLED: "enabled",
        "switching": "switching", "then-and-now": "then and now", result_kinds.OTHER: "other",
        "reading": "how to read it", "excluded": "left out", "conditions": "conditions",
    }  # fmt: skip
    body = "\n".join(parts)
    there = [name for name in names if f'<section id="{name}"' in body]
    links = "".join(f'<li><a href="#{name}">{names[name]}</a></li>' for name in there)
    return f'<nav aria-label="Parts of this page"><ul>{links}</ul></nav>'


def render(run: Page) -> str:
    """The HTML of the page, before it is cut to size."""
    graded = grade.grades(run.env, run.tiers, run.results)
    opening = first_screen(run, graded)
    parts = [
        *(
            sections.kind_section(run, kind)
            for kind in (result_kinds.DORMANT, result_kinds.COLD, result_kinds.ENABLED)
        ),
        sections.switch_section(run),
        sections.then_section(run),
        sections.kind_section(run, result_kinds.OTHER),
        section("reading", "How to read it", [READING]),
        excluded_section(run.env, run.results),
        env_section(run.env, graded),
    ]
    cpu = cpu_of(run.env).get("model_name")
    style = COLOURS.read_text(encoding="utf-8") + CSS.read_text(encoding="utf-8")
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>kmarkers: what a dormant marker costs on {escape(cpu)}</title>",
            f"<style>\n{style}</style></head><body>",
            '<header id="top"><h1>What a dormant marker costs</h1>',
            f'<p class="soft">kmarkers on {escape(cpu)}, {escape(str(run.env.get("date"))[:10])}',
            f"</p></header><main>{opening}\n{navigation(parts)}",
            *(part for part in parts if part),
            "</main></body></html>\n",
        ]
    )


def write(
    path: Path,
    env: Mapping[str, Any],
    results: Sequence[Result],
    switches: Sequence[Point] = (),
    sites: Sequence[SiteCost] = (),
) -> None:
    """Write report.html and figures/ of a run."""
    directory = path / "figures"
    directory.mkdir(parents=True, exist_ok=True)
    files: dict[str, bytes] = {}
    if library.fault():
        text = render(Page(env, results, switches, sites))
    else:
        text, files = drawn(env, results, switches, sites)
    for stale in [*directory.glob("*.png"), *directory.glob("*.svg")]:
        stale.unlink()
    for name, content in files.items():
        write_whole(directory / f"{name}.svg", content)
    write_whole(path / "report.html", within(text, MOST_NODES, MOST_BYTES))


def drawn(
    env: Mapping[str, Any],
    results: Sequence[Result],
    switches: Sequence[Point],
    sites: Sequence[SiteCost],
) -> tuple[str, dict[str, bytes]]:
    """The page with its figures, and the files of figures."""
    canvas = library.canvas()
    with workers() as several:
        run = Page(env, results, switches, sites, several.later(canvas.inline))
        files = {
            name: several.begin(canvas.file, sheet.parts, sheet.words)
            for name, sheet in run.sheets().items()
        }
        text = several.filled(render(run))
        return text, {name: content.result() for name, content in files.items()}
