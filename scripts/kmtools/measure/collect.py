# SPDX-License-Identifier: GPL-2.0-only
"""Merges the raw files of one or more tiers (measurement environments) into a run directory.

A raw directory holds one CSV per benchmark, a file `env` of key=value lines and, for virtual
machines, vm.json. The directory may instead hold a folder process-N with these files for each
cluster (process, boot or module load, see clusters.py). All files are validated before an output
file is written; an error names the broken or truncated file and the line. The run directory
receives samples.csv and env.json. If no tier is missing, the link `latest` beside the run directory
is then switched to the run.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kmtools.base.errors import explain_error
from kmtools.base.files import write_file_atomically
from kmtools.base.jsonfile import read_json
from kmtools.measure import benchrun, choice, disturbance, hostenv, hwcounters, rundir, samples
from kmtools.measure.rundir import RunError
from kmtools.measure.samples import LOOP, Sample

# The name of the file with the output of scripts/target/machine.sh, in a raw folder of another
# machine.
MACHINE = "machine"
# The entries of env.json that describe the samples of a run, not the machine.
OF_SAMPLES = ("tiers", "run")


@dataclass
class RawDir:
    """A validated raw directory: the description of its tier, and its samples as rows of
    samples.csv."""

    tier: rundir.Tier
    path: Path
    rows: list[Sample] = field(default_factory=list)
    dropped_cycles: int = 0
    counted: dict[hwcounters.Key, hwcounters.Counted] = field(default_factory=dict)


def read_key_values(path: Path) -> dict[str, str]:
    """Return the content of a file of key=value lines; blank lines and lines starting with # are
    skipped."""
    values: dict[str, str] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise RunError(explain_error(error)) from error
    except UnicodeDecodeError as error:
        raise RunError(f"{path}: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, separator, value = line.partition("=")
        if not separator or not key.strip():
            raise RunError(f"{path}:{number}: line is not KEY=VALUE: {line!r}")
        values[key.strip()] = value.strip()
    return values


def read_tier_of_raw_folder(tier: str, path: Path) -> rundir.Tier:
    """Return the description of the tier (the environment of measurement) with the name `tier`,
    from the files env and vm.json of its raw directory `path`."""
    if not path.is_dir():
        raise RunError(f"{path}: not a directory")
    env, file = read_key_values(path / "env"), path / "vm.json"
    rundir.require_env_numbers(env, f"{path / 'env'}: ")
    vm = read_json(file, dict) if file.exists() else {}
    kernel = env.get("kernel") or vm.get("release") or vm.get("kernel")
    if not kernel:
        raise RunError(f"{path / 'env'}: line kernel=RELEASE is missing")
    emulated = rundir.is_emulated(tier, env, vm)
    return rundir.Tier(tier, str(kernel), rundir.get_tier_unit(tier, emulated), emulated, env, vm)


def require_same_environment(tiers: Sequence[rundir.Tier], parts: Sequence[Path]) -> None:
    """Raise RunError if a folder in `parts` was measured in another kernel than the first folder,
    or if only one of these two folders was measured on an emulated CPU. `tiers` has the description
    in each folder."""
    for part, tier in zip(parts, tiers, strict=True):
        for what, here, there in (
            ("kernel", tier.kernel, tiers[0].kernel),
            ("emulated", tier.emulated, tiers[0].emulated),
        ):
            if here != there:
                raise RunError(f"{part}: {what} is {here}, but {there} in {parts[0].name}")


def require_complete_blocks(rows: Sequence[tuple[str, Sample]], path: Path) -> None:
    """Raise RunError if a block lacks a window that another block has, for example at the end
    of a truncated file. Also raise RunError if the windows of a block have several layouts."""
    windows: dict[int, Counter[tuple[str, int]]] = defaultdict(Counter)
    layouts: dict[int, int] = {}
    last_line: dict[int, str] = {}
    for where, sample in rows:
        block = sample.block
        windows[block][sample.variant, sample.size] += 1
        last_line[block] = where
        if sample.loops and windows[block][sample.variant, sample.size] > 1:
            raise RunError(
                f"{where}: variant {sample.variant} has two windows of {sample.loops} loops in a"
                " block"
            )
        if layouts.setdefault(block, sample.layout) != sample.layout:
            raise RunError(f"{where}: block {block} has windows of several layouts")
    full: Counter[tuple[str, int]] = Counter()
    for seen in windows.values():
        full |= seen
    word = "loops" if rows[0][1].measured == LOOP else "sites"
    for block, seen in windows.items():
        for variant, size in sorted((full - seen).keys()):
            lacks = f"block {block} lacks a window of {variant} with {size} {word}"
            raise RunError(f"{last_line[block]}: {lacks} (truncated?)")
    counts = Counter(variant for variant, _ in full)
    for variant in sorted({s.variant for _, s in rows if s.measured == LOOP}):
        if counts[variant] < 2:
            raise RunError(
                f"{path}: variant {variant} has only one loop count; a slope needs two loop counts"
            )


def read_checked_samples(path: Path, tier: rundir.Tier, process: int = 1) -> list[Sample]:
    """Read the raw CSV file `path` of one process, check it, and return its samples."""
    rows = list(samples.read_raw_samples(path, tier, process))
    if not rows:
        raise RunError(f"{path}:2: the file holds no samples")
    require_complete_blocks(rows, path)
    return [sample for _, sample in rows]


def append_process_samples(raw: RawDir, path: Path, process: int, blocks: Counter[str]) -> None:
    """Add the samples of the process number `process`, whose folder is `path`, to `raw`. Drop the
    core cycles of an emulated CPU. `blocks` counts the blocks of each benchmark over all processes,
    so that the block numbers of a process follow the numbers of earlier processes."""
    files = sorted(path.glob("*.csv"))
    if not files:
        raise RunError(f"{path}: the folder holds no CSV files")
    for file in files:
        first = blocks[file.stem]
        for sample in read_checked_samples(file, raw.tier, process):
            cycles = None if raw.tier.emulated else sample.core_cycles
            raw.dropped_cycles += cycles != sample.core_cycles
            block = first + sample.block
            raw.rows.append(sample._replace(block=block, core_cycles=cycles))
            blocks[file.stem] = max(blocks[file.stem], block + 1)


class Reader:
    """Reads the raw directories of a run, one for each tier. The samples of a process are read
    once, even if the directory is read again after more processes have ended."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[RawDir, Counter[str], int]] = {}

    def load_tier(self, name: str, path: Path, most_processes: int | None = None) -> RawDir:
        """Validate and read the raw directory `path` of the tier `name`: all of its processes, or
        the first `most_processes`. The Reader keeps the returned RawDir; the next call adds only
        the samples of new processes. `most_processes` must not decrease."""
        count = len(list(path.glob("process-*"))) if most_processes is None else most_processes
        parts = [path / f"process-{number}" for number in range(1, count + 1)] or [path]
        if count and list(path.glob("*.csv")):
            raise RunError(f"{path}: this folder and its process-* folders both hold CSV files")
        tiers = [read_tier_of_raw_folder(name, part) for part in parts]
        require_same_environment(tiers, parts)
        counted = disturbance.sum_disturbance_counters([tier.env for tier in tiers])
        raw, blocks, done = self._known.pop(name, (RawDir(tiers[0], path), Counter[str](), 0))
        raw.tier, raw.path = replace(tiers[0], env={**tiers[0].env, **counted}), path
        raw.counted = hwcounters.merge_counted_events(parts)
        with samples.pause_gc():
            for number, part in enumerate(parts[done:], done + 1):
                append_process_samples(raw, part, number, blocks)
        self._known[name] = raw, blocks, len(parts)
        return raw


def load_raw_folder(tier: str, path: Path, most_processes: int | None = None) -> RawDir:
    """Validate and read the raw directory `path` of the tier `tier`: all of its processes, or the
    first `most_processes`."""
    return Reader().load_tier(tier, path, most_processes)


def require_distinct_tiers(raws: Sequence[RawDir]) -> None:
    """Raise RunError for two raw directories of one tier and kernel, because statistics could not
    tell their samples apart."""
    seen: dict[tuple[str, str], Path] = {}
    for raw in raws:
        key = (raw.tier.tier, raw.tier.kernel)
        if key in seen:
            raise RunError(
                f"{raw.path}: tier {key[0]} of kernel {key[1]} is also in {seen[key]}; give only"
                " one of these folders"
            )
        seen[key] = raw.path


def describe_machine(raws: Sequence[RawDir], run: benchrun.Run | None = None) -> dict[str, Any]:
    """Return the description of the machine on which a run was measured, and of the sources of the
    run. Raw folders of another machine contain a file MACHINE. If `bench` made the run on another
    machine, or before this machine changed, return the description in env.json of the run. Raise
    RunError if the raw folders were measured on several machines, or if the run lacks this
    env.json."""
    files = [raw.path / MACHINE for raw in raws]
    told = [read_key_values(file) for file in files if file.exists()]
    if not told:
        return describe_machine_of_run(run) if run else hostenv.describe_host()
    names = {(one.get("cpu_model"), one.get("microcode")) for one in told}
    if len(names) > 1 or len(told) < len(raws):
        raise RunError(f"{files[-1]}: the raw folders were measured on several machines")
    return hostenv.describe_other_machine(told[0])


def describe_machine_of_run(run: benchrun.Run) -> dict[str, Any]:
    """Return the description of the machine and of the sources for env.json of a run of `bench`."""
    plan = run.plan
    if not plan.machine or plan.machine == benchrun.identify_machine():
        env = hostenv.describe_host()
    else:
        file = run.path / "env.json"
        if not file.exists():
            raise RunError(
                f"{file}: no such file, and the run was measured on another machine, or before this"
                " machine changed"
            )
        env = {key: value for key, value in rundir.read_env(file).items() if key not in OF_SAMPLES}
    if plan.source:
        env["source"] = {**env.get("source", {}), "commit": plan.source["commit"]}
    return env


def make_env_tier_entry(raw: RawDir) -> dict[str, Any]:
    """Return the entry of a tier for the list `tiers` of env.json."""
    return {
        "tier": raw.tier.tier,
        "kernel": raw.tier.kernel,
        "unit": raw.tier.unit,
        "emulated": raw.tier.emulated,
        "seed": raw.tier.env.get("seed"),
        "processes": max(row.process for row in raw.rows),
        "windows": len(raw.rows),
        "windows_flagged": sum(1 for row in raw.rows if row.flags),
        "cycle_fields_dropped": raw.dropped_cycles,
        "env": dict(raw.tier.env),
        "vm": dict(raw.tier.vm) or None,
        "counters": hwcounters.make_counter_entries(raw.counted),
    }


def write_run_files(run: Path, raws: Sequence[RawDir], env: dict[str, Any]) -> None:
    """Write samples.csv and env.json of a run, each of them atomically. Remove the summary and the
    page of earlier samples."""
    run.mkdir(parents=True, exist_ok=True)
    for name in ("summary.json", "report.html"):
        (run / name).unlink(missing_ok=True)
    samples.write_samples(run / "samples.csv", (row for raw in raws for row in raw.rows))
    write_file_atomically(run / "env.json", json.dumps(env, indent=2, sort_keys=True) + "\n")


def update_latest_link(run: Path) -> None:
    """Make the symbolic link `latest`, which is next to the run, point to the run. The link is
    replaced by one rename."""
    link = run.parent / "latest"
    if run.name == link.name or (link.exists() and not link.is_symlink()):
        return
    fresh = run.parent / f".latest.{os.getpid()}"
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(run.name)
    os.replace(fresh, link)


def keep_chosen_variants(raw: RawDir, variants: Sequence[str]) -> RawDir:
    """Return the raw directory without the samples of variants that the user did not choose."""
    kept = (
        replace(raw, rows=choice.select_samples_of_variants(raw.rows, variants))
        if variants
        else raw
    )
    if not kept.rows:
        raise RunError(f"{raw.path}: no variant matches {', '.join(variants)}")
    return kept


def merge_raw_folders(
    path: Path, tier_folders: Sequence[tuple[str, Path]] = (), reader: Reader | None = None
) -> list[RawDir]:
    """Validate raw directories, write samples.csv and env.json of the run `path` from the raw
    directories, and return these directories. `tier_folders` has pairs of a tier and a raw
    directory; if `tier_folders` is empty, read the raw directories of the run with `reader`, by
    default a new Reader."""
    run = benchrun.load_bench_run(path) if (path / benchrun.RECORD).exists() else None
    own = [(tier, run.get_raw_folder(tier)) for tier in run.list_measured_tiers()] if run else []
    if tier_folders and run is not None:
        raise RunError(
            f"{path}: this run was made by `kmarkers bench`: collect other samples in another "
            "folder"
        )
    if not tier_folders and not own:
        rundir.require_run_folder(path)
        raise RunError(f"{path}: the run holds no measured tier; name a raw folder with --raw")
    if tier_folders:
        raws = [load_raw_folder(tier, raw) for tier, raw in tier_folders]
    else:
        assert run is not None
        reader = reader or Reader()
        raws = [
            keep_chosen_variants(reader.load_tier(tier, raw), run.plan.variants)
            for tier, raw in own
        ]
    require_distinct_tiers(raws)
    env = describe_machine(raws, run)
    env["tiers"] = [make_env_tier_entry(raw) for raw in raws]
    if run is not None:
        env["run"] = benchrun.describe_bench_run(run)
    write_run_files(path, raws, env)
    if run is None or not env["run"]["missing"]:
        update_latest_link(path.resolve())
    return raws


def print_window_totals(path: Path, raws: Sequence[RawDir]) -> None:
    """Print the numbers of windows, of tiers and of dropped cycle counts of the run `path`."""
    for raw in raws:
        if raw.dropped_cycles:
            dropped = f"{raw.dropped_cycles} cycle counts of an emulated CPU dropped"
            print(f"collect: {raw.path}: {dropped}", file=sys.stderr)
    total = sum(len(raw.rows) for raw in raws)
    print(f"{path}: {total} windows, {len(raws)} tier{'s' if len(raws) > 1 else ''}", flush=True)
