# SPDX-License-Identifier: GPL-2.0-only
"""Makes the main result, tables, figures and page of a run, as far as the installed packages allow.

Reads samples.csv and env.json of a run, and writes summary.json, estimates.json, figures/*.svg and
report.html to the same folder. The output is reproducible: the same input gives the same bytes.
Without numpy, only medians are printed.
"""

from __future__ import annotations

import importlib.util
import shlex
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kmtools.base.errors import UnableError
from kmtools.base.paths import COMMAND
from kmtools.base.screen import uses_colour
from kmtools.base.text import get_terminal_width, wrap_line
from kmtools.measure import rundir
from kmtools.measure.bench import LiveView
from kmtools.measure.benchmark_names import matches_any_pattern
from kmtools.measure.run_cache import RunCache
from kmtools.measure.rundir import Tier
from kmtools.measure.samples import Sample, pause_gc, read_samples
from kmtools.report import medians

# The package of numpy in Debian.
NUMPY_PACKAGE = "python3-numpy"
# Benchmarks whose medians are printed in place of the summary if numpy is missing.
MEDIAN_BENCHMARKS = ("empty-loop", "cold-branch")


def has_python_package(name: str) -> bool:
    """Return True if Python can import a package."""
    return importlib.util.find_spec(name) is not None


def report_run(
    run: Path,
    tier: str | None = None,
    figures: bool = True,
    cache: RunCache | None = None,
) -> bool:
    """Compute the verdicts of a run, write its summary.json, figures and page, and print the
    summary. Return False if the page was requested but numpy is missing. With `tier`, only this
    tier (environment of measurement) is reported, and no file is written. `cache` has the samples
    of the run if they are in memory already."""
    env, samples, tiers, cache = _read_run(run, tier, cache)
    if has_python_package("numpy"):
        _write_and_print_results(run, env, samples, tiers, tier, figures, cache)
        return True
    shown = [sample for sample in samples if sample.benchmark in MEDIAN_BENCHMARKS]
    print(medians.render_medians(shown, tiers))
    print("".join(f"\n{line}" for line in rundir.list_warnings(env, tier)))
    if tier:
        return True
    print(f"tables: {COMMAND} table {shlex.quote(str(run))}")
    if not figures:
        return True
    print(
        f"report: report.html needs a package: run apt-get install {NUMPY_PACKAGE},"
        f" then {COMMAND} report {shlex.quote(str(run))}",
        file=sys.stderr,
    )
    return False


def render_tables(
    run: Path, tier: str | None, patterns: Sequence[str], emulated_ticks: bool
) -> str:
    """Return the tables of a run as text, for one tier (measurement environment) or for all tiers.
    If there are patterns, only benchmarks that match a pattern are included. By default, tiers with
    ticks of an emulator are left out. They are included if `tier`, `patterns` or `emulated_ticks`
    is given, or if the run has no other tiers."""
    if not has_python_package("numpy"):
        _, samples, tiers, _ = _read_run(run, tier, None)
        chosen = [one for one in samples if matches_any_pattern(one.benchmark, patterns)]
        if not chosen:
            raise UnableError(
                _make_no_benchmark_message(run, tier, patterns, {one.benchmark for one in samples})
            )
        return medians.render_medians(chosen, tiers)
    from kmtools.analyse.summary import read_summary  # noqa: PLC0415
    from kmtools.report import sitetable, summary_json, switchtable, table  # noqa: PLC0415

    summary = read_summary(run)
    results, sites = summary_json.parse_summary_results(summary)
    switches = summary_json.parse_switch_points(summary)
    units = {(e.tier, e.unit) for e in results} | {(e.tier, e.unit) for e in switches}
    emulated = {one for one, unit in units if unit == rundir.UNIT_EMULATED}
    if emulated_ticks or patterns or emulated == {one for one, _ in units}:
        emulated = set()

    def is_requested(entry: Any) -> bool:
        in_tier = entry.tier == tier if tier else entry.tier not in emulated
        return in_tier and matches_any_pattern(entry.benchmark, patterns)

    rows = [result for result in results if is_requested(result)]
    points, costs = [p for p in switches if is_requested(p)], [c for c in sites if is_requested(c)]
    if not (rows or points or costs):
        names = {r.benchmark for r in results} | {p.benchmark for p in switches}
        raise UnableError(_make_no_benchmark_message(run, tier, patterns, names))
    env = rundir.read_env(run / "env.json")
    parts = (
        [table.render_result_table(rows, get_terminal_width(), uses_colour(sys.stdout))]
        if rows
        else []
    )
    shown = [one for one in rundir.make_tiers(env) if one.tier in {row.tier for row in rows}]
    for line in rundir.list_unmeasured_benchmarks(shown):
        parts += wrap_line(f"not measured: {line}", get_terminal_width(), " ")
    parts += [f"\n{text}" for text in switchtable.make_switch_tables(points)]
    parts += [sitetable.render_site_tables(costs)] if costs else []
    parts += [f"\n{line}" for line in rundir.list_warnings(env, tier)]
    if emulated and not tier:
        parts.append("\nUse --all or --tier to show tiers with emulated ticks.")
    return "\n".join(parts)


def _make_no_benchmark_message(
    run: Path, tier: str | None, patterns: Sequence[str], known_benchmarks: Iterable[str]
) -> str:
    """Return the error message for a run without a benchmark in the tier `tier` that matches
    `patterns`."""
    where = f" in tier {tier}" if tier else ""
    matches = f" matches {', '.join(patterns)}" if patterns else ""
    known = ", ".join(sorted(known_benchmarks)) or "none"
    return f"{run}: no benchmark{where}{matches}; the run has {known}"


def _read_run(
    run: Path, tier: str | None, cache: RunCache | None
) -> tuple[dict[str, Any], list[Sample], list[Tier], RunCache]:
    """Return the env.json of a run, its samples and tiers, and `cache` (a new cache if `cache` is
    None). With `tier`, return only the samples and the description of this tier."""
    env = rundir.read_env(run / "env.json")
    tiers = [one for one in rundir.make_tiers(env) if tier in (None, one.tier)]
    names = {one.tier for one in tiers}
    if cache is None:
        cache = RunCache()
        path = run / "samples.csv"
        packed = path.with_name(f"{path.name}.gz")
        with pause_gc():
            # The committed reference run has only compressed samples.
            chosen = packed if packed.exists() and not path.exists() else path
            every = read_samples(chosen, rundir.make_tiers(env))
    else:
        every = [sample for raw in cache.raws for sample in raw.rows]
    return env, [sample for sample in every if sample.tier in names], tiers, cache


def make_live_view(tier: str, variants: Sequence[str]) -> LiveView | None:
    """Return the live view, which shows the verdicts on the variants of a tier that match a pattern
    in `variants` (all if it is empty) while the tier is measured; None if numpy is not
    installed."""
    if not has_python_package("numpy"):
        return None
    from kmtools.report.resolving import LiveVerdicts  # noqa: PLC0415

    return LiveVerdicts(tier, variants)


def _write_and_print_results(
    run: Path,
    env: Mapping[str, Any],
    samples: Sequence[Sample],
    tiers: Sequence[Tier],
    tier: str | None,
    figures: bool,
    cache: RunCache,
) -> None:
    """Compute the verdicts of a run, write its files and print the summary. This function needs
    numpy."""
    from kmtools.analyse import (  # noqa: PLC0415
        density,
        estimates,
        figuredata,
        grade,
        published,
        summary,
        switching,
        verdicts,
    )  # fmt: skip
    from kmtools.report import ending, marker_cost, switchtable, table  # noqa: PLC0415

    own: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        own[sample.tier, sample.kernel].append(sample)
    rows: list[verdicts.Result] = []
    for one in tiers:
        rows += cache.compute_results(own[one.tier, one.kernel], one, verdicts.compute_results)
    results = figuredata.add_figure_data(grade.withhold_verdicts(env, tiers, rows))
    switches = switching.compute_switching_medians(samples, tiers)
    sites = density.compute_all_site_costs(
        results, tiers, grade.find_poorly_graded_benchmarks(env, tiers, rows)
    )
    made = run / "report.html" if figures and not tier else None
    if not tier:
        summary.write_summary(
            run, dict(env), results, published.read_published_ancestors(), switches, sites
        )
        estimates.write_estimates(run, estimates.compute_estimates(samples, tiers, env, rows))
        if made:
            from kmtools.report import page  # noqa: PLC0415
            from kmtools.report.figures import library  # noqa: PLC0415

            page.write_report_page(run, env, results, switches, sites)
            if why := library.find_matplotlib_fault():
                print(f"report: the page has no figures: {why}", file=sys.stderr)
    graded = grade.grade_tiers(env, tiers, results)
    found = marker_cost.find_marker_costs(results, sites)
    judged = (results, switches)
    end = ending.render_run_summary(
        run, env, found, graded, judged, get_terminal_width(), tier, made
    )
    print(end)
    if any(one.value is not None for one in found):
        return
    texts = switchtable.make_switch_tables(switches)
    if results:
        width, colour = get_terminal_width(), uses_colour(sys.stdout)
        texts.insert(0, table.render_result_table(results, width, colour))
    room = ending.LINES - len(end.splitlines())
    for text in texts:
        room -= 1 + len(text.splitlines())
        if room < 0:
            break
        print(f"\n{text}")
