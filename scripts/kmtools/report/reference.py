# SPDX-License-Identifier: GPL-2.0-only
"""Makes a run the reference run, which is committed.

Copies summary.json, estimates.json, env.json, the compressed samples and some figures of a run to
results/reference, and writes the main numbers of the run to a README.md, so that no other document
has to state numbers. Refuses a quick run, a run that lacks a tier (measurement environment), a run
that its time limit ended early, a run whose samples are too large to commit, and a run whose
env.json contains a path or the name of the machine. The output is reproducible: the same run gives
the same bytes.
"""

from __future__ import annotations

import gzip
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kmtools.analyse import estimates
from kmtools.analyse.density import SiteCost
from kmtools.analyse.summary import read_summary
from kmtools.analyse.verdicts import Result
from kmtools.base.errors import UnableError
from kmtools.base.files import write_file_atomically
from kmtools.base.paths import ROOT
from kmtools.base.text import use_minus_signs
from kmtools.measure import pack, rundir
from kmtools.measure.rundir import RunError
from kmtools.report import impact, kproberatio, marker_cost, summary_json
from kmtools.report.table import format_amount, format_result_interval, format_result_value

REFERENCE = ROOT / "results" / "reference"
# The name of the figure at the top of README.md.
HEADLINE = "headline"
# Figures of the reference run and their captions; figures that the run lacks are skipped.
FIGURES = {
    HEADLINE: "What one dormant site adds, hot and cold",
    "dormant-native": "Dormant sites in user space on the real CPU",
    "dormant-metal": "Dormant sites in the kernel of a real machine",
    "cold-native": "Cold code and cold data in user space on the real CPU",
    "enabled-native": "Enabled probes in user space on the real CPU",
    "switching-native": "Time to switch sites in user space on the real CPU",
    "then-and-now": "Costs published in 2006 and costs measured here",
}
# The files of a reference run besides its figures.
FILES = ("README.md", "env.json", "estimates.json", "samples.csv.gz", "summary.json")
# The benchmarks in the table of dormant costs; the table also has the cost of one more dormant
# site.
DORMANT_BENCHMARKS = ("getppid-quiet", "getppid-pressure", "sdt-dormant")
# The rows of the table of exact counts: each pair is a benchmark and a prefix of its variants.
COUNT_TABLE_ROWS = (("empty-loop", "marker-"), ("marker-enabled", ""))
FLAVOURS = ("marker-jump", "marker-immediate", "marker-generic")
REAL_TIERS = ("native", "metal")
# The largest size of compressed samples that are committed, in bytes.
MOST_SAMPLES_BYTES = 6_000_000


def list_json_strings(value: object) -> Iterator[str]:
    """Yield every string in a JSON value, including the keys of objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from list_json_strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from list_json_strings(item)


def require_no_private_data(env: dict[str, Any]) -> None:
    """Raise RunError if the description of a run contains private data of the machine."""
    hide = pack.make_personal_detail_remover([*pack.list_personal_names()])
    for text in list_json_strings(env):
        if hide(text) != text:
            raise RunError(f"env.json holds a name or a path of this machine: {text}")


def render_dormant_cost_table(
    results: Sequence[Result], costs: Sequence[SiteCost]
) -> Iterator[str]:
    """Yield the lines of the table of added costs on a real CPU: the cost of one more dormant site
    of each flavour, and the costs in DORMANT_BENCHMARKS."""
    own = [
        r
        for r in results
        if r.tier in REAL_TIERS and r.benchmark in DORMANT_BENCHMARKS and not r.is_clone
    ]
    rows = [r for r in own if r.delta is not None and r.variant != "clock"]
    sites = [cost for cost in costs if cost.tier in REAL_TIERS and cost.flavour in FLAVOURS]
    if not rows and not sites:
        return
    yield "## Dormant, on the real CPU"
    yield ""
    yield "| tier | benchmark | variant | added | 95 % interval | unit | verdict |"
    yield "|---|---|---|---:|---|---|---|"
    for cost in sites:
        scale, unit = (cost.core.per_tick, marker_cost.CORE) if cost.core else (1.0, cost.unit)
        ends = [format_amount(end * scale, True) for end in (cost.ci.lo, cost.ci.hi)]
        span = f"[{', '.join(ends)}]"
        added = f"{format_amount(cost.cost * scale, True)} | {span} | {unit} a site"
        row = f"{cost.tier} | {cost.benchmark} | {cost.flavour} | {added} | {cost.verdict}"
        yield use_minus_signs(f"| {row} |")
    for result in rows:
        added = (
            f"{format_result_value(result, result.delta, True)} | {format_added_interval(result)}"
        )
        added += f" | {result.unit}"
        row = f"{result.tier} | {result.benchmark} | {result.variant} | {added} | {result.verdict}"
        yield use_minus_signs(f"| {row} |")
    yield ""


def format_added_interval(result: Result) -> str:
    """Return the interval of the added cost as text."""
    return format_result_interval(result, result.delta_ci, signed=True)


def render_count_table(results: Sequence[Result]) -> Iterator[str]:
    """Yield the lines of the table of exact counts of added instructions, with a column for each
    kernel."""
    counted = [
        result
        for result in results
        if result.unit == rundir.UNIT_INSTRUCTIONS
        and result.delta is not None
        and not result.is_clone
        and any(
            (result.benchmark, result.variant.startswith(v)) == (b, True)
            for b, v in COUNT_TABLE_ROWS
        )
    ]
    if not counted:
        return
    kernels = list(dict.fromkeys(result.kernel for result in counted))
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for result in counted:
        rows.setdefault((result.benchmark, result.variant), {})[result.kernel] = (
            format_result_value(result, result.delta, True)
        )
    yield "## Exact instructions added, inside the kernel (icount)"
    yield ""
    yield f"| benchmark | variant | {' | '.join(kernels)} |"
    yield f"|---|---|{'---:|' * len(kernels)}"
    for (benchmark, variant), cells in rows.items():
        numbers = " | ".join(cells.get(kernel, "\N{EN DASH}") for kernel in kernels)
        yield use_minus_signs(f"| {benchmark} | {variant} | {numbers} |")
    yield ""


def describe_run_conditions(env: dict[str, Any]) -> Iterator[str]:
    """Yield sentences with the machine, the kernel and the sources of the run."""
    machine, source = env["machine"], env["source"]
    cpu = machine["cpu"]
    virtual = "a virtual machine" if cpu["hypervisor"] else "a real machine"
    state = ", with local changes" if source["dirty"] else ""
    yield f"Measured on {str(env['date'])[:10]} on {virtual} with {cpu['online']} CPUs:"
    yield f"{cpu['model_name']}, family {cpu['cpu_family']}, model {cpu['model']}, stepping"
    yield f"{cpu['stepping']}, microcode {cpu['microcode']}; kernel {env['kernel']['release']};"
    yield f"sources at {str(source['commit'])[:12]}{state}. [env.json](env.json) has the rest."


def render_reference_readme(
    env: dict[str, Any], summary: dict[str, Any], figures: Sequence[str]
) -> str:
    """Return the README.md of the reference run, which shows the figures named in `figures`."""
    results, costs = summary_json.parse_summary_results(summary)
    lines = ["<!-- SPDX-License-Identifier: GPL-2.0-only -->"]
    lines += ["<!-- Written by kmarkers publish reference; do not edit. -->", "# Reference run", ""]
    lines += [*describe_run_conditions(env), ""]
    lines += ["Every row is in [summary.json](summary.json), and every window in samples.csv.gz."]
    lines += ["[benchmarking.md](../../Documentation/benchmarking.md) tells how they are measured."]
    lines += ["Numbers of different tiers are not to be compared.", ""]
    lines += [
        *summary_json.render_marker_cost_table(marker_cost.find_marker_costs(results, costs)),
        "",
    ]
    for name in figures:
        lines += [f"![{FIGURES[name]}]({name}.svg)", ""]
    lines += render_dormant_cost_table(results, costs)
    lines += render_count_table(results)
    lines += kproberatio.render_kprobe_section(summary["results"])
    lines += impact.render_impact_section(summary["results"] + summary["switching"])
    return "\n".join(lines).rstrip() + "\n"


def compress_samples(run: Path) -> bytes:
    """Return the samples of a run, compressed without a time stamp; raise RunError if the
    compressed samples are too large to commit."""
    packed = gzip.compress((run / "samples.csv").read_bytes(), mtime=0)
    if len(packed) > MOST_SAMPLES_BYTES:
        raise RunError(
            f"{run} cannot be the reference run: its samples have {len(packed)} bytes when"
            f" compressed, and at most {MOST_SAMPLES_BYTES} are committed; CONTRIBUTING.md says how"
            " to measure fewer windows"
        )
    return packed


def list_reference_figures(run: Path) -> list[str]:
    """Return the names of the figures in FIGURES that the run has, in the order of FIGURES."""
    return [name for name in FIGURES if (run / "figures" / f"{name}.svg").is_file()]


def copy_reference_figures(run: Path, out: Path) -> list[str]:
    """Replace the figures in `out` by the figures in FIGURES that `run` has; return the names of
    the copied figures."""
    for name in FIGURES:
        (out / f"{name}.svg").unlink(missing_ok=True)
    kept = list_reference_figures(run)
    for name in kept:
        shutil.copyfile(run / "figures" / f"{name}.svg", out / f"{name}.svg")
    return kept


def require_no_other_files(out: Path) -> None:
    """Raise UnableError if a folder has files that are not files of a reference run, because this
    command replaces files in the folder, and deletes figures."""
    own = {*FILES, *(f"{name}.svg" for name in FIGURES)}
    others = (
        sorted(path.name for path in out.iterdir() if path.name not in own) if out.exists() else []
    )
    if others:
        raise UnableError(
            f"{out} is not used for a reference run, because {others[0]} is not a file of such a"
            " run; remove it, or name a new folder with --out"
        )


def write_reference_run(run: Path, out: Path) -> None:
    """Check a run, and copy it to `out` only if all checks pass."""
    require_no_other_files(out)
    env = rundir.read_env(run / "env.json")
    summary = read_summary(run)
    require_no_private_data(env)
    for why in rundir.list_warnings(env):
        raise RunError(f"{run} cannot be the reference run: {why}")
    for needed in (run / "samples.csv", run / "figures" / f"{HEADLINE}.svg"):
        if not needed.is_file():
            raise RunError(f"{needed} is missing; run `scripts/kmarkers report {run}`")
    packed, stored = compress_samples(run), estimates.load_estimates(run)
    try:
        text = render_reference_readme(env, summary, list_reference_figures(run))
    except KeyError as error:
        raise RunError(f"{run}: env.json lacks {error}") from error
    if env["source"]["dirty"]:
        print("reference: the run was made from sources with local changes", file=sys.stderr)
    out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(run / "env.json", out / "env.json")
    shutil.copyfile(run / "summary.json", out / "summary.json")
    (out / "samples.csv.gz").write_bytes(packed)
    estimates.write_estimates(out, stored)
    kept = copy_reference_figures(run, out)
    (out / "README.md").write_text(text, encoding="utf-8")
    if out.resolve() == REFERENCE.resolve():
        readme = ROOT / "README.md"
        write_file_atomically(
            readme,
            summary_json.replace_readme_result_lines(readme.read_text(encoding="utf-8"), summary),
        )
    print(f"{out}: {len(summary['results'])} results, {len(kept)} figures")
