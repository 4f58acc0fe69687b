# SPDX-License-Identifier: GPL-2.0-only
"""Writes report.html: one file that holds its figures and refers to no other file."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib

from kmtools.analyse import density, switching
from kmtools.analyse.density import SiteCost
from kmtools.analyse.published import ALIASES, read_published, read_table
from kmtools.analyse.verdicts import BASELINE, NO_BASELINE, Result
from kmtools.measure.rundir import Tier, tiers_of, warnings
from kmtools.report import sitetable, switchtable
from kmtools.report.figures import added, densities, distributions, style, thenandnow
from kmtools.report.figures import switches as switch_figures
from kmtools.report.figures.style import Picture
from kmtools.report.table import amount, group_header, in_core_cycles, shown, span

Maker = Callable[[Sequence[Result], str], style.Drawn]
Chooser = Callable[[Result], bool]

CSS = Path(__file__).resolve().parent / "report.css"

# Name, function and selection of results of each figure, as on the page; the headline is first.
TIMED: tuple[tuple[str, Maker, Chooser], ...] = (
    ("added-cost", added.forest, lambda r: True),
    ("cold", distributions.totals, lambda r: r.benchmark.startswith("cold-")),
    ("getppid", distributions.pairs, lambda r: r.benchmark.startswith("getppid")),
    ("layout", distributions.layout_map, lambda r: True),
    ("distribution", distributions.ecdf, lambda r: True),
)
EXACT: tuple[tuple[str, Maker, Chooser], ...] = (
    ("instructions", added.instructions, lambda r: True),
)

MEANING = {
    "native": "the same code in user space on the real CPU",
    "metal": "the kernel on the real machine",
    "vm": "the real kernel in a virtual machine",
    "icount": "the real kernel under an emulator that counts instructions exactly",
}

READING = """
<p>Every variant ran next to its baseline in the same block, in random order, at two or more loop
counts; the slope over loop counts is the cost of one operation without that of starting the clock.
Differences from the baseline are taken inside a block, and their median is the added cost. A
difference may be negative, and is shown so.</p>
<p>The interval covers both the scatter between blocks (a sign test, widened where neighbouring
blocks resemble each other) and that between code placements (layouts as clusters). The noise
floor is how far that interval reaches for the A/A clone, a second copy of the baseline's own code:
what is smaller than it says nothing about a variant.</p>
<ul>
<li><b>slower</b> or <b>faster</b>: the whole interval lies beyond the equivalence margin, and the
median beyond the noise floor.</li>
<li><b>equivalent</b>: the whole interval lies inside the margin, which is fixed in the program for
all runs (MARGINS in scripts/kmtools/analyse/verdicts.py, with its history), and so does the noise
floor.</li>
<li><b>unresolved</b>: neither. Finding no difference is not finding that there is none.</li>
<li><b>identical</b>: exact counts that do not differ by one instruction.</li>
</ul>
"""


def escape(value: object) -> str:
    """Text for HTML; a dash for nothing; minus signs in place of hyphens."""
    return html.escape("\N{EN DASH}" if value in (None, "") else str(value))


def number(text: str) -> str:
    """A formatted number with a minus sign; a dash if there is no number."""
    return escape("" if text == "-" else style.minus(text))


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], right: str) -> str:
    """An HTML table of cells that are HTML already; `right` has an n for each numeric column."""
    kinds = [' class="n"' if kind == "n" else "" for kind in right]
    head = "".join(
        f'<th scope="col"{k}>{escape(h)}</th>' for h, k in zip(heads, kinds, strict=True)
    )
    body = "\n".join(
        "<tr>"
        + "".join(f"<td{k}>{cell}</td>" for cell, k in zip(row, kinds, strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def result_row(result: Result) -> list[str]:
    """The cells of one result."""
    verdict = f'<span class="{escape(result.verdict)}">{escape(result.verdict)}</span>'
    if result.note:
        verdict += f" ({escape(style.minus(result.note))})"
    flags = ", ".join(f"{count} {word}" for word, count in result.flags.items())
    return [
        escape(result.variant + (" (A/A)" if result.is_clone else "")),
        number(shown(result, result.median)),
        number(span(result, result.ci)),
        number(shown(result, result.delta, True)),
        number(span(result, result.delta_ci, True)),
        *([number(in_core_cycles(result))] if result.core else []),
        verdict,
        str(result.n),
        f"{result.flagged} of {result.windows}" + (f" ({escape(flags)})" if flags else ""),
    ]


def result_tables(results: Sequence[Result]) -> str:
    """One table for each benchmark of a tier."""
    parts = []
    for _, group in groupby(results, lambda r: r.benchmark):
        rows = list(group)
        unit = f"{rows[0].unit} per operation"
        core = rows[0].core
        heads = ["variant", f"median, {unit}", "95 %", f"added, {unit}", "95 %"]
        if core is not None:
            heads.append(f"added, core cycles ({core.source})")
        parts.append(
            table(
                group_header(rows[0]) + (f"; {core.words()}" if core else ""),
                [*heads, "verdict", "blocks", "windows flagged"],
                map(result_row, rows),
                "tnnnntnt" if core is None else "tnnnnntnt",
            )
        )
    return "\n".join(parts)


def figure_html(picture: Picture) -> str:
    """A figure with its alternative text and caption."""
    svg = picture.svg.replace(
        "<svg", f'<svg role="img" aria-label="{escape(style.minus(picture.alt))}"', 1
    )
    return f"<figure>{svg}<figcaption>{escape(picture.caption)}</figcaption></figure>"


def headed(picture: Picture) -> str:
    """A figure with its title above it."""
    return f"<h3>{escape(picture.title)}</h3>\n{figure_html(picture)}"


def switch_section(points: Sequence[switching.Point], directory: Path, name: str) -> str:
    """Switching many sites: figure and tables of one tier; empty without data."""
    picture = style.save(switch_figures.switching(points, f"switching-{name}"), directory)
    if picture is None:
        return ""
    parts = [headed(picture)]
    for title, make in switchtable.TABLES:
        heads, rows = make(points)
        cells = [[escape(cell) for cell in row] for row in rows]
        if rows:
            caption = f"{title[:1].upper()}{title[1:]}, {points[0].unit}"
            parts.append(table(caption, heads, cells, "t" + "n" * (len(heads) - 1)))
    return "\n".join(parts)


def site_section(costs: Sequence[SiteCost], directory: Path, name: str) -> str:
    """The cost of one more dormant site: figure and tables of one tier; empty without data."""
    picture = style.save(densities.densities(costs, f"density-{name}"), directory)
    parts = [headed(picture)] if picture else []
    for _, group in groupby(costs, lambda c: c.benchmark):
        own = list(group)
        rows = [list(map(number, row)) for row in sitetable.rows_of(own)]
        heads = sitetable.HEADS
        parts.append(table(sitetable.title_of(own[0]), heads, rows, "t" + "n" * (len(heads) - 1)))
    return "\n".join(parts)


def draw_tier(tier: Tier, results: Sequence[Result], directory: Path, name: str) -> list[Picture]:
    """All figures of one tier. Those of the cost of a site are elsewhere."""
    results = [result for result in results if not density.is_counted(result.benchmark)]
    drawn = (
        style.save(
            maker([result for result in results if wants(result)], f"{stem}-{name}"), directory
        )
        for stem, maker, wants in (EXACT if tier.exact else TIMED)
    )
    return [picture for picture in drawn if picture]


def tier_section(
    tier: Tier, results: Sequence[Result], pictures: Sequence[Picture], name: str, more: str
) -> str:
    """Everything about one tier."""
    meaning = MEANING.get(tier.tier, "")
    if tier.emulated and not tier.exact:
        meaning += (
            ", emulated: its ticks are the emulator's time, fit for ratios of whole operations"
        )
    figures = list(map(headed, pictures))
    parts = [
        f'<section id="tier-{name}" data-tier="{escape(tier.tier)}">',
        f"<h2>{escape(tier.tier)}, kernel {escape(tier.kernel)}</h2>",
        f"<p>{escape(meaning[:1].upper() + meaning[1:])}.",
        f"Unit: {escape(tier.unit)} per operation.</p>",
    ]
    rest = [*figures[:1], result_tables(results), *figures[1:], more, "</section>"]
    return "\n".join(parts + rest)


def then_section(
    rows: Mapping[thenandnow.Machine, Sequence[thenandnow.Row]], directory: Path
) -> str:
    """Published costs beside ours, as a figure and as a table."""
    picture = style.save(thenandnow.then_and_now(rows, "then-and-now"), directory)
    if picture is None:
        return ""
    cells = []
    for machine, several in sorted(rows.items()):
        for row in several:
            stated = "" if row.then.delta_stated is None else f"+{row.then.delta_stated}"
            wrong = " (not what its numbers give)" if row.then.differs else ""
            now = "; ".join(
                f"{style.minus(amount(o.delta, True))} {o.result.unit} ({o.result.tier})"
                for o in row.now
            )
            cells.append(
                [
                    escape(f"{machine[1]}, {machine[2]}"),
                    escape(row.label),
                    escape(f"{row.then.over}"),
                    number(amount(row.then.value)) + f" {escape(row.then.unit)}",
                    escape(stated.replace("+-", "\N{MINUS SIGN}")) + wrong,
                    number(amount(row.then.delta, True)),
                    escape(now),
                ]
            )
    heads = ["machine", "published", "over", "value", "delta stated", "delta recomputed"]
    body = table("Published costs and ours", [*heads, "here, added"], cells, "tttntnt")
    return (
        f'<section id="then-and-now"><h2>{escape(picture.title)}</h2>'
        f"{figure_html(picture)}{body}</section>"
    )


def without_successor() -> str:
    """The published numbers that no benchmark continues yet, with the reasons."""
    rows = [
        [
            escape(row["source"]),
            escape(f"{row['published_benchmark']}: {row['published_variant']}"),
            escape(row["reason"]),
        ]
        for row in read_table(ALIASES)
        if row["reason"]
    ]
    listed = table("Published numbers without a successor", ["source", "row", "why"], rows, "ttt")
    return (
        f"<details><summary>{len(rows)} published numbers have no successor yet</summary>{listed}"
        "</details>"
    )


def excluded_section(env: Mapping[str, Any], results: Sequence[Result]) -> str:
    """The windows left out of the statistics, and the published numbers without a successor."""
    flags: Counter[str] = sum((Counter(result.flags) for result in results), Counter())
    windows = sum(result.windows for result in results)
    flagged = sum(result.flagged for result in results)
    words = ", ".join(f"{count} {word}" for word, count in sorted(flags.items())) or "none"
    items = [
        f"{flagged} of {windows} timed windows carry a flag ({escape(words)}) and take no part in"
        " slopes; the tables count them for each variant. Nothing else was left out."
    ]
    for result in results:
        if result.windows and 5 * result.flagged > result.windows:
            items.append(
                f"{escape(result.tier)} {escape(result.benchmark)} {escape(result.variant)}: more"
                " than a fifth of the windows is flagged, so the rest may not be typical."
            )
    alone = sorted({r.benchmark for r in results if r.verdict == NO_BASELINE})
    if alone:
        items.append(f"Without an A/A clone, hence not compared: {escape(', '.join(alone))}.")
    dropped = sum(entry.get("cycle_fields_dropped") or 0 for entry in env["tiers"])
    if dropped:
        items.append(f"{dropped} core cycle counts reported by an emulated CPU were dropped.")
    lines = "".join(f"<li>{item}</li>" for item in items)
    return (
        f'<section id="excluded"><h2>What was left out</h2><ul>{lines}</ul>'
        f"{without_successor()}</section>"
    )


def env_section(env: Mapping[str, Any]) -> str:
    """The conditions of the run, in short and in full."""
    cpu, kernel = env["machine"]["cpu"], env["kernel"]
    changes = " + changes" if env["source"].get("dirty") else ""
    short = [
        ("CPU", cpu.get("model_name")),
        ("microcode", cpu.get("microcode")),
        ("hypervisor", "yes" if cpu.get("hypervisor") else "no"),
        ("kernel", f"{kernel.get('release')} {kernel.get('version')}"),
        ("source", f"{env['source'].get('commit')}{changes}"),
        ("date", env.get("date")),
    ]
    short += [
        (f"seed of {entry['tier']}, {entry['kernel']}", entry.get("seed")) for entry in env["tiers"]
    ]
    rows = [[escape(key), escape(value)] for key, value in short]
    full = html.escape(json.dumps(env, indent=2, sort_keys=True))
    return (
        '<section id="conditions"><h2>Conditions</h2>'
        + table("The machine that collected the run", ["what", "value"], rows, "tt")
        + f"<details><summary>env.json</summary><pre>{full}</pre></details></section>"
    )


def headline(results: Sequence[Result]) -> str:
    """The number of comparisons with each verdict, tier by tier."""
    lines = []
    for (tier, kernel), group in groupby(results, lambda r: (r.tier, r.kernel)):
        judged = (r for r in group if not r.is_clone and r.verdict not in (BASELINE, NO_BASELINE))
        counts = Counter(result.verdict for result in judged)
        words = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        lines.append(f"<li>{escape(tier)}, kernel {escape(kernel)}: {escape(words)}</li>")
    return f"<ul>{''.join(lines)}</ul>"


def warnings_html(env: Mapping[str, Any]) -> str:
    """The warnings of a run: that it is a quick one, and its missing tiers."""
    return "".join(f"<p class='warning'>{escape(line)}</p>" for line in warnings(env))


def render(
    env: Mapping[str, Any],
    results: Sequence[Result],
    switches: Sequence[switching.Point],
    sites: Sequence[SiteCost],
    directory: Path,
) -> str:
    """The page; its figures are also written to the directory."""
    sections, links = [], []
    tiers = tiers_of(env)
    for tier in tiers:
        own = [r for r in results if (r.tier, r.kernel) == (tier.tier, tier.kernel)]
        alone = sum(other.tier == tier.tier for other in tiers) == 1
        name = tier.tier if alone else f"{tier.tier}-{re.sub('[^0-9A-Za-z.]+', '-', tier.kernel)}"
        pictures = draw_tier(tier, own, directory, name)
        switched = switching.of_tier(switches, tier.tier, tier.kernel)
        costs = [c for c in sites if (c.tier, c.kernel) == (tier.tier, tier.kernel)]
        more = site_section(costs, directory, name) + switch_section(switched, directory, name)
        sections.append(tier_section(tier, own, pictures, name, more))
        links.append(f'<a href="#tier-{name}">{escape(tier.tier)} {escape(tier.kernel)}</a>')
    sections.append(then_section(thenandnow.join(results, read_published()), directory))
    sections += [
        f'<section id="reading"><h2>How to read it</h2>{READING}</section>',
        excluded_section(env, results),
        env_section(env),
    ]
    cpu = env["machine"]["cpu"].get("model_name")
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>kmarkers: cost of instrumentation on {escape(cpu)}</title>",
            f"<style>{CSS.read_text(encoding='utf-8')}</style></head><body>",
            f"<h1>Cost of instrumentation</h1><p class='soft'>kmarkers on {escape(cpu)}</p>",
            f"<nav>{''.join(links)}<a href='#then-and-now'>then and now</a>"
            "<a href='#reading'>how to read it</a><a href='#conditions'>conditions</a></nav>",
            headline(results),
            warnings_html(env),
            *sections,
            "</body></html>\n",
        ]
    )


def write(
    run: Path,
    env: Mapping[str, Any],
    results: Sequence[Result],
    switches: Sequence[switching.Point] = (),
    sites: Sequence[SiteCost] = (),
) -> None:
    """report.html and figures/ of a run."""
    directory = run / "figures"
    for stale in [*directory.glob("*.png"), *directory.glob("*.svg")]:
        stale.unlink()
    with matplotlib.rc_context(style.STYLE):
        text = render(env, results, switches, sites, directory)
    (run / "report.html").write_text(text, encoding="utf-8")
