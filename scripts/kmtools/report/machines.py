# SPDX-License-Identifier: GPL-2.0-only
"""Groups the runs of many machines by properties of the machines, to compare each group with the
first group.

A machine is dead if it has no run, and refused if its samples cannot be used. A machine is slow if
its baselines cost, in the median, at least SLOW_RATIO times as much as the same baselines in its
group.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kmtools.analyse import comparison_key, estimates
from kmtools.analyse.comparison_key import Entry
from kmtools.analyse.rows import WHOLE
from kmtools.base.errors import FailedError, UnableError, explain_error
from kmtools.base.text import align_table, escape_unprintable_chars, get_terminal_width, wrap_line
from kmtools.measure.rundir import read_env, require_run_folder
from kmtools.measure.samples import LOOP
from kmtools.report.comparison import ComparedRun

# The smallest ratio of a slow machine's costs to the costs of its group.
SLOW_RATIO = 1.5
# The value of a property that env.json lacks.
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Machine:
    """The machine of a run: the run's name, CPU model, microcode and kernel."""

    name: str
    cpu: str
    microcode: str
    kernel: str

    def make_group_name(self, properties: Sequence[str]) -> str:
        """Return the name of the machine's group: the values of the properties `properties`."""
        return ", ".join(getattr(self, name) for name in properties)


@dataclass
class LoadedRows:
    """The rows of the usable runs as (run, row) pairs, and the reasons why the other runs are
    refused."""

    entries: list[Entry] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    def add_run_rows(self, name: str, path: Path) -> None:
        """Add the rows of a run, except rows about switching sites, to `entries`. If the run is
        refused, add the reason to `refused` instead."""
        try:
            rows = estimates.load_estimates(path).rows
        except FailedError as error:
            self.refused[name] = str(error)
        else:
            self.entries += [(name, row) for row in rows if row.name.measured == LOOP]


@dataclass(frozen=True)
class Fleet:
    """The machines of all runs in a folder, and the rows of the runs (`found`). `dead` are machines
    without a run; `slow` has, for each slow machine, the ratio of its costs to the costs of its
    group; `groups` has the names of the runs in each group, the largest group first. `left_out` has
    the rows that cannot be compared with the rows of most runs, each with the reason."""

    machines: Mapping[str, Machine]
    found: LoadedRows
    dead: Sequence[str]
    slow: Mapping[str, float]
    groups: Mapping[str, Sequence[str]]
    left_out: Sequence[tuple[Entry, str]] = ()

    @property
    def faults(self) -> list[str]:
        """A line for each machine that is dead, refused or slow."""
        lines = [f"dead: {name}: this machine has no run" for name in self.dead]
        lines += [f"refused: {name}: {why}" for name, why in sorted(self.found.refused.items())]
        return lines + [
            f"slow: {name}: its baselines cost {times:.2g} times the median of its group"
            for name, times in sorted(self.slow.items())
        ]


def make_machine_of_run(name: str, env: Mapping[str, Any]) -> Machine:
    """Return the machine of a run from its env.json."""
    cpu = (env.get("machine") or {}).get("cpu") or {}
    kernel = (env.get("kernel") or {}).get("release")
    texts = (cpu.get("model_name"), cpu.get("microcode"), kernel)
    return Machine(name, *(escape_unprintable_chars(str(text or UNKNOWN)) for text in texts))


@dataclass(frozen=True)
class RunFolders:
    """The run folders found below a folder. The keys are paths below this folder. `paths` has the
    folder of each run, `refusals` the reason why a machine has no run, `unreadable` the error of a
    folder that cannot be read."""

    paths: Mapping[str, Path]
    refusals: Mapping[str, str]
    unreadable: Mapping[str, str]


def find_run_folders(folder: Path) -> RunFolders:
    """Find the folders of runs in a folder, at any depth. Symbolic links to folders are not
    followed."""
    require_run_folder(folder)
    paths, refusals, unreadable = {}, {}, {}

    def record_unreadable_path(error: OSError) -> None:
        unreadable[str(Path(error.filename).relative_to(folder))] = explain_error(error)

    for path, folders, files in os.walk(folder, onerror=record_unreadable_path):
        folders.sort()
        name = str(Path(path).relative_to(folder))
        if "env.json" in files:
            paths[name] = Path(path)
        if "refused" in files:
            refusals[name] = read_refusal_reason(Path(path) / "refused")
    return RunFolders(dict(sorted(paths.items())), refusals, unreadable)


def read_refusal_reason(path: Path) -> str:
    """Return the reason why a machine has no run: the first and the last line of the file that the
    Ansible role has written."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["?"]
    except OSError as error:
        lines = [explain_error(error)]
    return " ... ".join(dict.fromkeys([lines[0], lines[-1]]))


def find_slow_machines(loaded: LoadedRows, groups: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return a ratio for each slow machine: the median, over all baselines, of the baseline's cost
    on this machine divided by the median cost of the same baseline in the machine's group."""
    whole: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    group_of = {name: group for group, names in groups.items() for name in names}
    apart = comparison_key.find_row_keys_in_several_kernels(loaded.entries)
    for run, row in loaded.entries:
        if row.kind == WHOLE:
            key = comparison_key.make_row_and_kernel_key((run, row), apart)
            whole[group_of[run], *key][run] = row.cost
    times: dict[str, list[float]] = defaultdict(list)
    for costs in whole.values():
        usual = float(np.median(list(costs.values())))
        for run, cost in costs.items():
            if usual > 0:
                times[run].append(cost / usual)
    medians = {run: float(np.median(several)) for run, several in times.items()}
    return {run: ratio for run, ratio in medians.items() if ratio >= SLOW_RATIO}


def load_fleet(
    folder: Path, group_properties: Sequence[str], expected_names: Sequence[str] = ()
) -> Fleet:
    """Read all runs in a folder, and group their machines by the properties `group_properties`.
    `expected_names` are the names of the machines that should have a run."""
    runs = find_run_folders(folder)
    found, machines, refused = LoadedRows(), {}, dict(runs.unreadable)
    for name, path in runs.paths.items():
        try:
            machines[name] = make_machine_of_run(name, read_env(path / "env.json"))
            found.add_run_rows(name, path)
        except FailedError as error:
            refused[name] = str(error)
    refused = {**runs.refusals, **refused}
    if not machines and not refused:
        raise UnableError(f"{folder}: no run in this folder")
    found.refused.update(refused)
    wanted = comparison_key.select_rows_with_most_frequent_key(found.entries)
    alien, odd = comparison_key.find_incomparable_rows(found.entries, wanted, "most runs")
    found.refused.update(alien)
    left_out = [(found.entries[index], why) for index, why in odd.items()]
    found.entries = [
        entry
        for index, entry in enumerate(found.entries)
        if entry[0] not in found.refused and index not in odd
    ]
    groups: dict[str, list[str]] = defaultdict(list)
    for machine in machines.values():
        if machine.name not in found.refused:
            groups[machine.make_group_name(group_properties)].append(machine.name)
    here = {name.split("/")[0] for name in (*machines, *refused)}
    dead = [name for name in expected_names if name not in here]
    largest = dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])))
    return Fleet(machines, found, dead, find_slow_machines(found, groups), largest, left_out)


def merge_runs_of_groups(fleet: Fleet, against: str | None = None) -> list[ComparedRun]:
    """Merge the runs of each group, except runs of slow machines, into one run to compare. The
    first returned run is the reference of the comparison: the run of the group whose name contains
    `against`, or of the largest group if `against` is None."""
    names = list(fleet.groups)
    if against is not None:
        matches = [name for name in names if against in name]
        if len(matches) != 1:
            raise UnableError(
                f"{against!r} is in the names of {len(matches)} groups, but must be in one name:"
                f" {'; '.join(names)}"
            )
        names.sort(key=lambda name: name != matches[0])
    rows = []
    for name in names:
        members = set(fleet.groups[name]) - set(fleet.slow)
        entries = [entry for entry in fleet.found.entries if entry[0] in members]
        kept, note = drop_poorly_graded_rows(entries)
        odd = [one for one in fleet.left_out if one[0][0] in members]
        notes = map(escape_unprintable_chars, comparison_key.describe_left_out_rows(odd))
        rows.append(
            ComparedRun(
                f"{name} ({len(members)} runs)",
                {},
                comparison_key.merge_rows_of_runs(kept),
                "\n".join(filter(None, (note, *notes))),
            )
        )
    return rows


def drop_poorly_graded_rows(entries: Sequence[Entry]) -> tuple[list[Entry], str]:
    """Leave out each row with a poor grade, provided that another machine of the group has the same
    row, in the same kernel if a run has the row in several kernels, without a poor grade. Return
    the kept rows, and a note with the number of machines whose rows are left out."""
    apart = comparison_key.find_row_keys_in_several_kernels(entries)
    good = {
        comparison_key.make_row_and_kernel_key(one, apart) for one in entries if not one[1].poor
    }
    kept, left = [], set()
    for entry in entries:
        if entry[1].poor and comparison_key.make_row_and_kernel_key(entry, apart) in good:
            left.add(entry[0])
        else:
            kept.append(entry)
    return kept, f"rows of {len(left)} machines are left out, because they are poor" if left else ""


def format_group_table(fleet: Fleet) -> list[str]:
    """Return the groups of machines as the lines of a table."""
    heads = ("machines", "cpu, microcode, kernel of the group")
    rows = ((str(len(members)), name) for name, members in fleet.groups.items())
    width, indent = get_terminal_width(), " " * (len(heads[0]) + 2)
    return [
        part
        for line in align_table([heads, *rows], {0})
        for part in wrap_line(line, width, hanging=indent)
    ]
