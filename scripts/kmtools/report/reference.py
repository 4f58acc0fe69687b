# SPDX-License-Identifier: GPL-2.0-only
"""Makes a run the reference run, which is committed.

It copies summary.json, env.json, the compressed samples and the headline figures of a run, and
writes a README.md with its numbers, so that no other document has to state them. It refuses a run
that was quick or lacks a tier, or whose env.json holds a path or the name of the machine. The same
run gives the same bytes.
"""

from __future__ import annotations

import gzip
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from kmtools.analyse.summary import read_summary
from kmtools.base.files import write_whole
from kmtools.base.paths import ROOT
from kmtools.measure import rundir
from kmtools.measure.rundir import RunError
from kmtools.report import impact, kproberatio
from kmtools.report import kept as keeping
from kmtools.report.table import amount, count

REFERENCE = ROOT / "results" / "reference"
HEADLINE = "headline"
# Stems of the figures to keep, and their captions; figures that a run lacks are left out, and a
# tier that was measured in several kernels has one of each.
FIGURES = {
    HEADLINE: "What one dormant site adds, hot and cold",
    "dormant-native": "Dormant sites in user space on the real CPU",
    "dormant-metal": "Dormant sites in the kernel of a real machine",
    "cold-native": "Cold code and cold data in user space on the real CPU",
    "enabled-native": "Enabled probes in user space on the real CPU",
    "dormant-icount": "Exact instructions that dormant sites add inside the kernel",
    "switching-native": "Time to switch sites in user space on the real CPU",
    "switching-vm": "Time to switch sites in the kernel, emulated: ratios only",
    "then-and-now": "Costs published in 2006 and the ones measured here",
}
SAMPLES_LIMIT = 4_000_000
# Directories of this machine, anywhere in a text.
PRIVATE_PATH = re.compile(r"(?:^|[\s=:])(/(?:home|root|work|tmp|srv|mnt|media|Users)\b\S*)")


def strings(value: object) -> Iterator[str]:
    """Every string in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def check_private(env: dict[str, Any], host: str) -> None:
    """Raise RunError if the description of a run holds private data of the machine."""
    for text in strings(env):
        found = PRIVATE_PATH.search(text)
        if found:
            raise RunError(f"env.json holds a path of this machine: {found[1]}")
        if len(host) > 3 and re.search(rf"\b{re.escape(host)}\b", text):
            raise RunError(f"env.json holds the name of this machine: {text}")


def number(entry: dict[str, Any], name: str, signed: bool = False) -> str:
    """A number of summary.json as the table in the terminal shows it."""
    shown = count if entry["unit"] == rundir.UNIT_INSTRUCTIONS else amount
    return shown(entry[name], signed).replace("-", "\N{MINUS SIGN}")


def row(entry: dict[str, Any]) -> str:
    """One variant as a row in Markdown."""
    name = entry["variant"]
    if entry["baseline"] and name == f"{entry['baseline']}-clone":
        name += " (A/A)"
    interval = "\N{EN DASH}"
    if entry["delta"] is not None:
        ends = [number(entry, end, True) for end in ("delta_ci_lo", "delta_ci_hi")]
        interval = f"[{ends[0]}, {ends[1]}]"
    added = number(entry, "delta", True) if entry["delta"] is not None else "\N{EN DASH}"
    cells = (name, number(entry, "median"), added, interval, entry["verdict"])
    return f"| {' | '.join(cells)} |"


def switching_lines(entries: Sequence[dict[str, Any]]) -> Iterator[str]:
    """One benchmark of switching sites: a row for each number of sites, without verdicts."""
    yield f"**{entries[0]['benchmark']}**: per switch, not compared"
    yield ""
    yield "| variant | sites | median | 95 % interval |"
    yield "|---|---:|---:|---|"
    for entry in entries:
        interval = f"[{number(entry, 'ci_lo')}, {number(entry, 'ci_hi')}]"
        sites = f"{entry['sites']:,}"
        yield f"| {entry['variant']} | {sites} | {number(entry, 'median')} | {interval} |"
    yield ""


def benchmark_lines(entries: Sequence[dict[str, Any]]) -> Iterator[str]:
    """One benchmark of one tier."""
    first = entries[0]
    if "sites" in first:
        yield from switching_lines(entries)
        return
    judged = "exact counts"
    if first["unit"] != rundir.UNIT_INSTRUCTIONS:
        judged = f"margin {number(first, 'margin')}, noise floor {number(first, 'noise_floor')}"
    over = f" over {first['baseline']}" if first["baseline"] else ""
    yield f"**{first['benchmark']}**{over}: {judged}"
    yield ""
    yield "| variant | median | added | 95 % interval | verdict |"
    yield "|---|---:|---:|---|---|"
    yield from map(row, entries)
    yield ""


def tier_lines(entries: Sequence[dict[str, Any]]) -> Iterator[str]:
    """All benchmarks of one tier."""
    first = entries[0]
    yield f"## {first['tier']}, kernel {first['kernel']}"
    yield ""
    yield f"In {first['unit']} per operation."
    yield ""
    for _, group in groupby(entries, lambda entry: entry["benchmark"]):
        yield from benchmark_lines(list(group))


def condition_lines(env: dict[str, Any]) -> Iterator[str]:
    """The machine, kernel and sources of the numbers, in short."""
    machine, source = env["machine"], env["source"]
    cpu = machine["cpu"]
    virtual = "a virtual machine" if cpu["hypervisor"] else "a real machine"
    state = ", with local changes" if source["dirty"] else ""
    yield f"Measured on {env['date'][:10]} on {virtual} with {cpu['online']} CPUs:"
    yield f"{cpu['model_name']}, family {cpu['cpu_family']}, model {cpu['model']}, stepping"
    yield f"{cpu['stepping']}, microcode {cpu['microcode']}; kernel {env['kernel']['release']};"
    yield f"sources at {str(source['commit'])[:12]}{state}. [env.json](env.json) has the rest."


def is_of(name: str, stem: str) -> bool:
    """Whether a figure is the one of this stem, or that of a kernel."""
    return name == stem or name.startswith(f"{stem}-")


def caption(name: str) -> str:
    """The caption of a figure. A tier that was measured in several kernels has one for each."""
    stem = next(stem for stem in FIGURES if is_of(name, stem))
    kernel = name[len(stem) + 1 :]
    return f"{FIGURES[stem]}, kernel {kernel}" if kernel else FIGURES[stem]


def render(env: dict[str, Any], entries: Sequence[dict[str, Any]], kept: Sequence[str]) -> str:
    """The page."""
    lines = ["<!-- SPDX-License-Identifier: GPL-2.0-only -->"]
    lines += ["<!-- Written by scripts/kmarkers reference; do not edit. -->", "# Reference run", ""]
    lines += [*condition_lines(env), ""]
    lines += ["How the numbers are made, judged and read is in"]
    lines += ["[benchmarking.md](../../Documentation/benchmarking.md). Numbers of different tiers"]
    lines += ["are not to be compared.", ""]
    for name in kept:
        alt = f"{caption(name)}; the tables below hold its numbers"
        lines += [f"![{alt}]({name}.svg)", "", f"{caption(name)}.", ""]
    for _, group in groupby(entries, lambda entry: (entry["tier"], entry["kernel"])):
        lines += tier_lines(list(group))
    lines += kproberatio.lines(entries)
    lines += impact.lines(entries)
    return "\n".join(lines).rstrip() + "\n"


def keep_samples(run: Path, out: Path) -> None:
    """Keep the samples, compressed without a time stamp, if they are small enough to commit."""
    packed = gzip.compress((run / "samples.csv").read_bytes(), mtime=0)
    target = out / "samples.csv.gz"
    target.unlink(missing_ok=True)
    if len(packed) <= SAMPLES_LIMIT:
        target.write_bytes(packed)
    else:
        print(f"reference: samples left out: {len(packed)} bytes compressed", file=sys.stderr)


def figures_of(run: Path) -> list[str]:
    """The names of the figures of a run that are kept, in the order of FIGURES."""
    there = sorted(path.stem for path in (run / "figures").glob("*.svg"))
    return [name for stem in FIGURES for name in there if is_of(name, stem)]


def keep_figures(run: Path, out: Path) -> list[str]:
    """Copy the headline figures that the run has; return their names."""
    for stale in [*out.glob("*.svg"), *out.glob("*.png")]:
        stale.unlink()
    kept = figures_of(run)
    for name in kept:
        shutil.copyfile(run / "figures" / f"{name}.svg", out / f"{name}.svg")
    return kept


def make(run: Path, out: Path) -> None:
    """Check everything, then write the reference run."""
    env = rundir.read_env(run / "env.json")
    summary = read_summary(run)
    entries = summary["results"] + summary["switching"]
    check_private(env, platform.node())
    for why in rundir.warnings(env):
        raise RunError(f"{run} is no run for reference. {why}")
    for needed in (run / "samples.csv", run / "figures" / f"{HEADLINE}.svg"):
        if not needed.is_file():
            raise RunError(f"{needed} is missing; run scripts/kmarkers report {run}")
    if env["source"]["dirty"]:
        print("reference: the run was made from sources with local changes", file=sys.stderr)
    out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(run / "env.json", out / "env.json")
    shutil.copyfile(run / "summary.json", out / "summary.json")
    keep_samples(run, out)
    kept = keep_figures(run, out)
    try:
        text = render(env, entries, kept)
    except KeyError as error:
        raise RunError(f"{run}: env.json lacks {error}") from error
    (out / "README.md").write_text(text, encoding="utf-8")
    if out.resolve() == REFERENCE.resolve():
        readme = ROOT / "README.md"
        write_whole(readme, keeping.replaced(readme.read_text(encoding="utf-8"), summary))
    print(f"{out}: {len(entries)} results, {len(kept)} figures")
