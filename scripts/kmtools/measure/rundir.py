# SPDX-License-Identifier: GPL-2.0-only
"""Describes the tiers (environments of measurement) of a run: their units, and their entries in
env.json.

This file uses only the standard library, so that samples can be collected without other packages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from kmtools.base.errors import FailedError, UnableError
from kmtools.base.jsonfile import read_json, require_json_shape

TIERS = ("native", "metal", "vm", "icount")
# The tiers that are measured on the machine itself, and not in a guest.
HOST_TIERS = ("native", "metal")

# The name of a cluster (see clusters.py) in each tier, and the plural.
CLUSTER_NOUNS = {
    "native": ("process", "processes"),
    "vm": ("boot", "boots"),
    "metal": ("module load", "module loads"),
    "icount": ("boot", "boots"),
}

# Prefix of an env key that names a benchmark or variant which could not be measured.
LACKS = "lacks:"
# Prefix of an env key whose value is the number of times that one operation executes the sites of a
# variant.
HITS = "hits:"
# Prefix of an env key of a variant whose code has fewer copies than there are layouts. The value of
# the key is the number of copies.
LAYOUTS = "layouts:"
# Prefix of an env key of a benchmark with a time limit. The value of the key is the planned number
# of blocks of each process, and the limit: "8 blocks in 40 s".
PLANNED = "planned:"
# The env key with the planned number of clusters.
PROCESSES = "planned_processes"

# The fields of an env file that are read as numbers: pattern of the names, and pattern and
# description of the values. Numbers are so short that Python converts them.
WHOLE, DECIMAL = "[0-9]{0,19}", r"([0-9]{1,19}(\.[0-9]{1,19})?(e\+?[0-9]{1,2})?)?"
NUMBERS = (
    (f"{LAYOUTS}.*", "[1248]", "1, 2, 4 or 8"),
    (f"{PLANNED}.*", "[0-9]{1,19} blocks in [0-9]{1,19} s", "like '8 blocks in 40 s'"),
    (f"tsc_khz|blocks|processes|{PROCESSES}", WHOLE, "a whole number"),
    ("cold_buffer_bytes|last_cache_bytes", WHOLE, "a whole number"),
    (".*seconds|interrupts|page_faults|switches|tsc_khz_spread", DECIMAL, "a number"),
)

UNIT_TSC = "TSC cycles"
UNIT_GUEST = "TSC cycles (guest)"
UNIT_EMULATED = "ticks (emulated)"
UNIT_INSTRUCTIONS = "instructions"

# The names of the file with the samples of a run, in the order of preference.
SAMPLES = ("samples.csv", "samples.csv.gz", "samples.parquet")

QUICK = (
    "QUICK RUN: few blocks, so intervals are wide. It shows that the benchmarks work; do not quote"
    " its numbers."
)


class RunError(FailedError):
    """Raised if a run directory or a raw file cannot be used; the message names the file and the
    line."""


@dataclass(frozen=True)
class Tier:
    """A tier (measurement environment) of a run, as its raw directory describes it: the name, the
    kernel, the unit of times, whether the CPU is emulated, and the content of the files env and
    vm.json. `windows` is the number of windows in env.json."""

    tier: str
    kernel: str
    unit: str
    emulated: bool
    env: Mapping[str, str]
    vm: Mapping[str, Any]
    windows: int | None = None

    @property
    def exact(self) -> bool:
        """True if values are counts of instructions, which repeat exactly, and not times."""
        return self.unit == UNIT_INSTRUCTIONS


def means_true(value: object) -> bool:
    """Return True for '1', 1, 'y', 'yes' and 'true', False for all else."""
    return str(value).strip().lower() in {"1", "y", "yes", "true"}


def is_emulated(tier: str, env: Mapping[str, str], vm: Mapping[str, Any]) -> bool:
    """Return True if the CPU was emulated. One sign of emulation is enough, and a virtual machine
    without any information counts as emulated, because it is worse to show emulated ticks as cycles
    than to show no cycles."""
    if tier == "icount" or means_true(vm.get("emulated")) or means_true(env.get("emulated")):
        return True
    if str(vm.get("accel", "")).startswith("tcg"):
        return True
    silent = "emulated" not in vm and "emulated" not in env
    return tier == "vm" and silent and vm.get("accel") != "kvm"


def get_tier_unit(tier: str, emulated: bool) -> str:
    """Return the unit of a tier's costs per operation. The ticks of an emulator are never called
    cycles."""
    if tier not in TIERS:
        raise RunError(f"unknown tier {tier!r}; the tiers are {', '.join(TIERS)}")
    if tier == "icount":
        return UNIT_INSTRUCTIONS
    if emulated:
        return UNIT_EMULATED
    return UNIT_GUEST if tier == "vm" else UNIT_TSC


def get_tier_table_position(tier: str) -> int:
    """Return the position of a tier in tables and on the HTML page."""
    return TIERS.index(tier) if tier in TIERS else len(TIERS)


# ENV: the fields of env.json that every command reads, with their types. OBJECT: the type of a
# field that is a JSON object or null.
OBJECT = (dict, None)
ENV = {
    "tiers": [
        {
            "tier": TIERS, "kernel": str, "env?": {"*": str}, "vm?": OBJECT,
            "windows?": (int, None), "cycle_fields_dropped?": (int, None),
            "processes?": (int, None), "counters?": [list],
        }
    ],
    "machine?": {"cpu": dict}, "kernel?": {"config?": OBJECT}, "source?": dict,
    "run?": {"missing?": [{"tier": str, "why": str}], "resume?": str},
}  # fmt: skip


def require_run_folder(run: Path) -> None:
    """Raise UnableError unless the folder of a run exists."""
    if run.is_file() and is_zipfile(run):
        unpack = f"python3 -m zipfile -e {run} FOLDER"
        raise UnableError(
            f"{run}: a packed run; unpack the run by {unpack}, and give the folder in FOLDER"
        )
    if not run.is_dir():
        raise UnableError(f"{run}: the folder of the run does not exist")


def find_samples_file(run: Path) -> Path:
    """Return the file with the samples of a run; RunError if there is none."""
    require_run_folder(run)
    for name in SAMPLES:
        if (run / name).exists():
            return run / name
    raise RunError(f"{run / 'samples.csv'}: no such file; `kmarkers collect` writes this file")


def read_env(path: Path) -> dict[str, Any]:
    """Return the content of env.json of a run."""
    require_run_folder(path.parent)
    if not path.exists():
        raise UnableError(f"{path.parent}: not the folder of a run, because {path.name} is missing")
    env: dict[str, Any] = read_json(path, ENV)
    if config := env.get("kernel", {}).get("config"):
        require_json_shape(config, {"options?": OBJECT}, f"{path}: kernel.config")
    names = [(entry["tier"], entry["kernel"]) for entry in env["tiers"]]
    for number, entry in enumerate(env["tiers"]):
        where = f"{path}: tiers[{number}]"
        if (first := names.index(names[number])) < number:
            raise RunError(f"{where} has the same tier and kernel as tiers[{first}]")
        require_env_numbers(entry.get("env", {}), f"{where}.env.")
    return env


def require_env_numbers(env: Mapping[str, str], where: str) -> None:
    """Raise RunError if a number in the fields of an env file is damaged. `where` is the start of
    the error message."""
    for name, value in env.items():
        for names, values, words in NUMBERS:
            if re.fullmatch(names, name) and not re.fullmatch(values, value):
                raise RunError(f"{where}{name} is {value[:40]!r}, not {words}")


def is_quick_run(env: Mapping[str, Any]) -> bool:
    """Return True if a run was measured with --quick, so that its numbers must not be quoted."""
    return bool((env.get("run") or {}).get("quick"))


def describe_missing_tiers(env: Mapping[str, Any]) -> list[str]:
    """Return the missing tiers of a run, and the reasons, as sentences."""
    tiers: dict[str, list[str]] = {}
    for entry in (env.get("run") or {}).get("missing") or []:
        tiers.setdefault(str(entry["why"]), []).append(str(entry["tier"]))
    return [f"not measured: {' and '.join(names)}, because {why}" for why, names in tiers.items()]


def list_unmeasured_benchmarks(tiers: Sequence[Tier]) -> list[str]:
    """Return the benchmarks and variants that a machine could not measure, each with the reason.
    The measuring program writes them to env, as lines `lacks:BENCHMARK=why` or
    `lacks:BENCHMARK:VARIANT=why`."""
    return [
        f"{tier.tier}, kernel {tier.kernel}: {key[len(LACKS) :].replace(':', ' ')}: {why}"
        for tier in tiers
        for key, why in sorted(tier.env.items())
        if key.startswith(LACKS)
    ]


def list_missing_clusters(env: Mapping[str, Any], tier: str | None = None) -> list[str]:
    """Return a sentence for each tier (or only for `tier`) that has fewer clusters (processes,
    boots or module loads) than planned, because the time limit ended the measurement."""
    lines = []
    for entry in env.get("tiers", ()):
        stored = (entry.get("env") or {}).get(PROCESSES, "0")
        planned = int(stored) if stored.isdecimal() else 0
        done = entry.get("processes") or planned
        if done < planned and tier in (None, entry["tier"]):
            nouns = CLUSTER_NOUNS[entry["tier"]][1]
            lines.append(
                f"{entry['tier']}: {done} of {planned} planned {nouns} measured before the time "
                "limit; --budget sets this limit."
            )
    return lines


def list_warnings(env: Mapping[str, Any], tier: str | None = None) -> list[str]:
    """Return the warnings to print before the results of a run, or of its tier `tier`."""
    lines = [QUICK] if is_quick_run(env) else []
    lines += list_missing_clusters(env, tier)
    if tier or not (missing := describe_missing_tiers(env)):
        return lines
    lines += [f"{line[:1].upper()}{line[1:]}." for line in missing]
    resume = env["run"].get("resume")
    return [*lines, f"To resume the run: {resume}"] if resume else lines


def make_tiers(env: Mapping[str, Any]) -> list[Tier]:
    """Return the tiers of a run from the content of env.json. The unit of a tier is derived from
    the other fields, not read from the field `unit`."""
    tiers = []
    for entry in env["tiers"]:
        own_env, vm = entry.get("env", {}), entry.get("vm") or {}
        emulated = is_emulated(entry["tier"], own_env, vm)
        unit = get_tier_unit(entry["tier"], emulated)
        windows = entry.get("windows")
        tiers.append(Tier(entry["tier"], entry["kernel"], unit, emulated, own_env, vm, windows))
    return sorted(tiers, key=lambda tier: (get_tier_table_position(tier.tier), tier.kernel))
