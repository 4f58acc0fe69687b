# SPDX-License-Identifier: GPL-2.0-only
"""Makes the verdict table, figures and page of a run, as far as the installed packages allow.

It reads samples.csv and env.json of a run, and writes summary.json, figures/*.svg and report.html
beside them. The same input gives the same bytes. Without numpy it prints medians and makes no page.
"""

from __future__ import annotations

import importlib.util
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kmtools.base.screen import wants_colour
from kmtools.base.text import terminal_width, wrapped
from kmtools.measure import rundir
from kmtools.measure.bench import Rows
from kmtools.measure.held import Held
from kmtools.measure.rundir import Tier
from kmtools.measure.samples import Sample, read_samples, uncollected
from kmtools.report import medians

NEEDS = "python3-numpy"


def has_package(name: str) -> bool:
    """Whether Python can import a package."""
    return importlib.util.find_spec(name) is not None


def report(
    run: Path,
    tier: str | None = None,
    tables: Sequence[str] | None = None,
    figures: bool = True,
    held: Held | None = None,
) -> bool:
    """Judge a run, print tables and write the rest; returns whether all of it could be made.
    `tables` names the tiers whose tables are printed. With `tier`, only its table is printed.
    `held` has the samples of the run, if they need not be read."""
    env = rundir.read_env(run / "env.json")
    tiers = [one for one in rundir.tiers_of(env) if tier in (None, one.tier)]
    names = {one.tier for one in tiers}
    if held is None:
        held = Held()
        with uncollected():
            every = read_samples(run / "samples.csv", rundir.tiers_of(env))
    else:
        every = [sample for raw in held.raws for sample in raw.rows]
    samples = [sample for sample in every if sample.tier in names]
    wanted = names if tables is None else names & {*tables}
    if has_package("numpy"):
        _judge(run, env, samples, tiers, wanted, tier, figures, held)
    elif wanted:
        print(medians.render(samples, [one for one in tiers if one.tier in wanted]))
        print("".join(f"\n{line}" for line in rundir.warnings(env, tier)))
    if tier or not figures or has_package("numpy"):
        return True
    print(f"report: the page needs a package: apt-get install {NEEDS}", file=sys.stderr)
    print(f"report: then scripts/kmarkers report '{run}'", file=sys.stderr)
    return False


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
    wanted: set[str],
    tier: str | None,
    figures: bool,
    held: Held,
) -> None:
    """Do the part that needs numpy."""
    from kmtools.analyse import (  # noqa: PLC0415
        density,
        grade,
        published,
        summary,
        switching,
        verdicts,
    )  # fmt: skip
    from kmtools.report import answer, opening, sitetable, switchtable, table  # noqa: PLC0415

    own: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        own[sample.tier, sample.kernel].append(sample)
    judged = []
    for one in tiers:
        judged += held.results(own[one.tier, one.kernel], one, verdicts.analyse)
    results = grade.withheld(env, tiers, judged)
    switches = switching.analyse(samples)
    sites = density.analyse(results, tiers, grade.poor(env, tiers, judged))
    if wanted:
        shown = [result for result in results if result.tier in wanted]
        graded = grade.grades(env, [one for one in tiers if one.tier in wanted], results)
        print(opening.render(answer.answers(results, sites), graded, terminal_width()))
        print(table.render(shown, terminal_width(), wants_colour(sys.stdout)))
        for line in rundir.lacking([one for one in tiers if one.tier in wanted]):
            print("\n".join(wrapped(f"not measured: {line}", terminal_width(), " ")))
        if points := [point for point in switches if point.tier in wanted]:
            print(switchtable.render(points))
        if costs := [cost for cost in sites if cost.tier in wanted]:
            print(sitetable.render(costs))
        print("".join(f"\n{line}" for line in rundir.warnings(env, tier)))
    if tier:
        return
    summary.write(run, dict(env), results, published.ancestors(), switches, sites)
    if figures:
        from kmtools.report import page  # noqa: PLC0415

        page.write(run, env, results, switches, sites)
        print(f"report: {run / 'report.html'}")
