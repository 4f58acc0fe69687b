# SPDX-License-Identifier: GPL-2.0-only
"""Makes the answer, tables, figures and page of a run, as far as the installed packages allow.

It reads samples.csv and env.json of a run, and writes summary.json, estimates.json, figures/*.svg
and report.html beside them. The same input gives the same bytes. Without numpy it prints medians
and makes no page.
"""

from __future__ import annotations

import importlib.util
import shlex
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path
from typing import Any

from kmtools.base.errors import UnableError
from kmtools.base.screen import wants_colour
from kmtools.base.text import terminal_width, wrapped
from kmtools.measure import rundir
from kmtools.measure.bench import Rows
from kmtools.measure.run_cache import RunCache
from kmtools.measure.rundir import Tier
from kmtools.measure.samples import Sample, read_samples, uncollected
from kmtools.report import medians

NEEDS = "python3-numpy"
# Benchmarks whose medians are printed without numpy, where there is no answer.
ANSWERING = ("empty-loop", "cold-branch")


def has_package(name: str) -> bool:
    """Whether Python can import a package."""
    return importlib.util.find_spec(name) is not None


def report(
    run: Path,
    tier: str | None = None,
    figures: bool = True,
    cache: RunCache | None = None,
) -> bool:
    """Judge a run, write summary.json, figures and page, and print the answer; returns whether all
    of it could be made. With `tier`, only that tier is judged and nothing is written. `cache` has
    the samples of the run, if they need not be read."""
    env, samples, tiers, cache = _read(run, tier, cache)
    if has_package("numpy"):
        _judge(run, env, samples, tiers, tier, figures, cache)
        return True
    answering = [sample for sample in samples if sample.benchmark in ANSWERING]
    print(medians.render(answering, tiers))
    print("".join(f"\n{line}" for line in rundir.warnings(env, tier)))
    if tier:
        return True
    print(f"tables: scripts/kmarkers table {shlex.quote(str(run))}")
    if not figures:
        return True
    print(f"report: the page needs a package: apt-get install {NEEDS}", file=sys.stderr)
    print(f"report: then scripts/kmarkers report {shlex.quote(str(run))}", file=sys.stderr)
    return False


def tables(run: Path, tier: str | None, patterns: Sequence[str], every: bool) -> str:
    """The tables of a run as text: of one tier, or of all whose numbers are cycles of a real CPU or
    exact counts, and with `every` of the emulated ones, too; of the benchmarks that match one of
    the patterns, or of all."""
    if not has_package("numpy"):
        _, samples, tiers, _ = _read(run, tier, None)
        chosen = [one for one in samples if _matches(one.benchmark, patterns)]
        if not chosen:
            raise UnableError(_nothing(run, tier, {one.benchmark for one in samples}))
        return medians.render(chosen, tiers)
    from kmtools.analyse.summary import read_summary  # noqa: PLC0415
    from kmtools.report import sitetable, summary_json, switchtable, table  # noqa: PLC0415

    summary = read_summary(run)
    results, sites = summary_json.results(summary)
    switches = summary_json.switches(summary)

    def wanted(entry: Any) -> bool:
        emulated = entry.unit == rundir.UNIT_EMULATED and not every and not patterns
        return (entry.tier == tier if tier else not emulated) and _matches(
            entry.benchmark, patterns
        )

    rows = [result for result in results if wanted(result)]
    points, costs = [p for p in switches if wanted(p)], [c for c in sites if wanted(c)]
    if not (rows or points or costs):
        names = {r.benchmark for r in results} | {p.benchmark for p in switches}
        raise UnableError(_nothing(run, tier, names))
    env = rundir.read_env(run / "env.json")
    parts = [table.render(rows, terminal_width(), wants_colour(sys.stdout))] if rows else []
    shown = [one for one in rundir.tiers_of(env) if one.tier in {row.tier for row in rows}]
    for line in rundir.lacking(shown):
        parts += wrapped(f"not measured: {line}", terminal_width(), " ")
    parts += [switchtable.render(points)] if points else []
    parts += [sitetable.render(costs)] if costs else []
    parts += [f"\n{line}" for line in rundir.warnings(env, tier)]
    if len(rows) < len(results) and not (tier or every or patterns):
        parts.append("\nTiers with emulated ticks are shown by --all, or by --tier.")
    return "\n".join(parts)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatch(name, pattern) for pattern in patterns)


def _nothing(run: Path, tier: str | None, names: Iterable[str]) -> str:
    """The error message for a run without the wanted table."""
    where = f" in tier {tier}" if tier else ""
    return f"{run}: no such benchmark{where}; the run has {', '.join(sorted(names)) or 'none'}"


def _read(
    run: Path, tier: str | None, cache: RunCache | None
) -> tuple[dict[str, Any], list[Sample], list[Tier], RunCache]:
    """env.json of a run, its samples and tiers, or those of one tier."""
    env = rundir.read_env(run / "env.json")
    tiers = [one for one in rundir.tiers_of(env) if tier in (None, one.tier)]
    names = {one.tier for one in tiers}
    if cache is None:
        cache = RunCache()
        path = run / "samples.csv"
        packed = path.with_name(f"{path.name}.gz")
        with uncollected():
            # The samples of the reference run are compressed.
            chosen = packed if packed.exists() and not path.exists() else path
            every = read_samples(chosen, rundir.tiers_of(env))
    else:
        every = [sample for raw in cache.raws for sample in raw.rows]
    return env, [sample for sample in every if sample.tier in names], tiers, cache


def resolving(tier: str) -> Rows | None:
    """The rows of a tier that is being measured; None without numpy."""
    if not has_package("numpy"):
        return None
    from kmtools.report.resolving import Resolving  # noqa: PLC0415

    return Resolving(tier)


def _judge(
    run: Path,
    env: Mapping[str, Any],
    samples: Sequence[Sample],
    tiers: Sequence[Tier],
    tier: str | None,
    figures: bool,
    cache: RunCache,
) -> None:
    """Judge a run, write its files and print the answer: the part that needs numpy."""
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
    from kmtools.report import ending, marker_cost, table  # noqa: PLC0415

    own: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        own[sample.tier, sample.kernel].append(sample)
    rows: list[verdicts.Result] = []
    for one in tiers:
        rows += cache.results(own[one.tier, one.kernel], one, verdicts.analyse)
    results = figuredata.completed(grade.withheld(env, tiers, rows))
    switches = switching.analyse(samples)
    sites = density.analyse(results, tiers, grade.poor(env, tiers, rows))
    made = run / "report.html" if figures and not tier else None
    if not tier:
        summary.write(run, dict(env), results, published.ancestors(), switches, sites)
        estimates.write(run, estimates.make(samples, tiers, env, rows))
        if made:
            from kmtools.report import page  # noqa: PLC0415
            from kmtools.report.figures import library  # noqa: PLC0415

            page.write(run, env, results, switches, sites)
            if why := library.fault():
                print(f"report: the page has no figures: {why}", file=sys.stderr)
    graded = grade.grades(env, tiers, results)
    found = marker_cost.answers(results, sites)
    judged = (results, switches)
    end = ending.render(run, env, found, graded, judged, terminal_width(), tier, made)
    print(end)
    if not any(one.value is not None for one in found):
        lines = table.render(results, terminal_width(), wants_colour(sys.stdout)).splitlines()
        if len(end.splitlines()) + 1 + len(lines) <= ending.LINES:
            print("\n".join(["", *lines]))
