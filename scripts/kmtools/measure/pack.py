# SPDX-License-Identifier: GPL-2.0-only
"""Packs a run into one file that can be published, without personal details.

The file is a ZIP archive of a folder with env.json and samples.csv.gz, from which kmarkers makes
all other files of a run. Of env.json, only the fields in KEPT are copied. In the texts of these
fields, the names of this machine and of its user, and paths in personal folders, are replaced. The
archive is reproducible: the same run gives the same bytes.
"""

from __future__ import annotations

import csv
import getpass
import gzip
import io
import json
import os
import platform
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kmtools.base.text import get_terminal_width, wrap_line
from kmtools.measure import rundir
from kmtools.measure.rundir import RunError
from kmtools.measure.samples import read_samples, write_samples

# COPY marks a field whose value the tools chose, TEXT a field whose text comes from the machine or
# from the user.
COPY, TEXT = "copy", "text"
CPU = ("vendor_id", "model_name", "cpu_family", "model", "stepping", "microcode", "cpu_MHz")
# The fields of env.json in a packed run; * stands for every field.
KEPT: dict[str, Any] = {
    "schema": COPY,
    "date": COPY,
    "machine": {
        "architecture": COPY, "product": TEXT, "governor": COPY, "smt": COPY, "clocksource": COPY,
        "cpu": dict.fromkeys(CPU, TEXT) | {"online": COPY, "hypervisor": COPY},
    },
    "kernel": {
        "release": TEXT,
        "version": TEXT,
        "cmdline": {"notable": [TEXT]},
        "config": {"sha256": COPY, "options": {"*": COPY}},
    },
    "mitigations": {"*": COPY},
    "tools": {"*": TEXT},
    "source": {"commit": COPY, "dirty": COPY, "version": COPY},
    "tiers": [
        {
            "tier": COPY, "kernel": TEXT, "unit": COPY, "emulated": COPY, "seed": COPY,
            "processes": COPY, "windows": COPY, "windows_flagged": COPY,
            "cycle_fields_dropped": COPY, "env": {"*": TEXT}, "counters": COPY,
            "vm": {
                "qemu": TEXT, "accel": COPY, "tier": COPY, "kernel": TEXT, "release": TEXT,
                "emulated": COPY, "cpus": COPY, "secure_boot": COPY,
            },
        }
    ],
    "run": {"quick": COPY},
}  # fmt: skip
REMOVED = "(removed)"
# Matches a path in a personal folder: home/NAME or Users/NAME below any folder, or a path below one
# of the listed folders.
PERSONAL_PATH = re.compile(
    r"[^\s,;:=]*(?<![\w.-])(?:home|Users)/[^\s,;:]+"
    r"|(?<![\w.])/(?:home|root|work|tmp|srv|mnt|media|Users)\b[^\s,;:]*"
)
# Names of machines and users that identify nobody, and the length of the shortest name that is
# replaced.
COMMON_NAMES = ("root", "localhost")
SHORTEST_NAME = 3

Hide = Callable[[str], str]


def list_personal_names() -> Iterator[str]:
    """Yield the names of this machine and of its user."""
    host = platform.node()
    found = {host, host.partition(".")[0], Path.home().name}
    found |= {os.environ.get(name, "") for name in ("SUDO_USER", "USER", "LOGNAME")}
    with suppress(KeyError, OSError):  # the user may have no name
        found.add(getpass.getuser())
    for name in sorted(found, key=len, reverse=True):
        if len(name) >= SHORTEST_NAME and name not in COMMON_NAMES:
            yield name


def make_personal_detail_remover(personal_names: Sequence[str]) -> Hide:
    """Return a function that replaces personal details in a text by REMOVED: the names
    `personal_names`, and paths in personal folders."""
    names = "|".join(map(re.escape, personal_names))
    words = re.compile(rf"(?<![A-Za-z0-9])(?:{names})(?![A-Za-z0-9])") if names else None

    def hide_personal_details(text: str) -> str:
        text = PERSONAL_PATH.sub(REMOVED, text)
        return words.sub(REMOVED, text) if words else text

    return hide_personal_details


def select_and_redact_fields(value: Any, shape: Any, hide: Hide) -> Any:
    """Return the fields of a JSON value that `shape` names; `shape` is KEPT or a part of it. `hide`
    is applied to fields of the kind TEXT. A value becomes None if its JSON type does not fit
    `shape`."""
    if shape == COPY:
        return value
    if isinstance(value, dict) and isinstance(shape, dict):
        every = dict.fromkeys(value, shape["*"]) if "*" in shape else shape
        return {
            name: select_and_redact_fields(value[name], inner, hide)
            for name, inner in every.items()
            if name in value
        }
    if isinstance(value, list) and isinstance(shape, list):
        return [select_and_redact_fields(item, shape[0], hide) for item in value]
    return hide(value) if isinstance(value, str) and shape == TEXT else None


def remove_personal_details(env: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of env.json of a run without personal details."""
    kept: dict[str, Any] = select_and_redact_fields(
        dict(env), KEPT, make_personal_detail_remover([*list_personal_names()])
    )
    return kept


def render_env(env: Mapping[str, Any]) -> str:
    """Return the text of env.json."""
    return json.dumps(env, indent=2, sort_keys=True) + "\n"


def require_worth_packing(run: Path, env: Mapping[str, Any]) -> None:
    """Raise RunError if a run is quick, lacks a tier (measurement environment) or planned
    processes, or has no tier that ran on a real CPU."""
    if found := rundir.list_warnings(env):
        raise RunError(f"{run} is not packed. {' '.join(found)}")
    if all(tier.emulated for tier in rundir.make_tiers(env)):
        raise RunError(
            f"{run} is not packed: each of its tiers ran on an emulated CPU; such a run need not"
            " be published, because every machine can repeat it"
        )


def list_source_faults(env: Mapping[str, Any]) -> list[str]:
    """Return the reasons why nobody else can find the sources of a run."""
    source = env.get("source") or {}
    faults = ["its sources had local changes"] if source.get("dirty") else []
    return faults if source.get("commit") else [*faults, "its sources are of no known commit"]


def make_packed_name(env: Mapping[str, Any]) -> str:
    """Return the name of a packed run: its date and the model of the CPU."""
    cpu = (env.get("machine") or {}).get("cpu") or {}
    words = f"{re.sub('[-:]', '', str(env.get('date')))} {cpu.get('model_name') or 'unknown CPU'}"
    return re.sub(r"\W+", "-", words, flags=re.ASCII).strip("-")


def pack_samples(path: Path, env: Mapping[str, Any], packed_env: Mapping[str, Any]) -> bytes:
    """Return the samples in `path`, compressed. The kernel names of `env` are replaced by the
    kernel names of `packed_env`."""
    names = [entry["kernel"] for entry in packed_env["tiers"]]
    kernels = {entry["kernel"]: name for entry, name in zip(env["tiers"], names, strict=True)}
    samples = read_samples(path, rundir.make_tiers(env))
    with TemporaryDirectory(prefix="kmarkers-") as scratch:
        file = Path(scratch) / "samples.csv"
        write_samples(file, (s._replace(kernel=kernels[s.kernel]) for s in samples))
        return gzip.compress(file.read_bytes(), mtime=0)


def describe_packed_content(name: str, env: Mapping[str, Any], samples: bytes) -> str:
    """Return a text about the content of a packed run, for its owner: env.json without the counts
    of hardware events, the number of samples, and the names of the benchmarks."""
    tiers = [dict(tier) for tier in env["tiers"]]
    for tier in tiers:
        if tier.get("counters"):
            tier["counters"] = f"{len(tier['counters'])} counts of hardware events"
    rows = list(csv.reader(gzip.decompress(samples).decode().splitlines()[2:]))
    names = ", ".join(sorted({f"{row[3]} ({row[0]})" for row in rows}))
    end = f"{name}/samples.csv.gz: {len(rows)} samples of the benchmarks {names}"
    shown = f"{name}/env.json: {render_env({**env, 'tiers': tiers})}"
    return "\n".join([shown, *wrap_line(end, get_terminal_width())])


def make_zip_archive(folder: str, files: Mapping[str, bytes]) -> bytes:
    """Return a ZIP archive that holds the folder `folder` with the files `files`, without dates."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(f"{folder}/{name}")
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, content)
    return stream.getvalue()


def pack_run(run: Path) -> tuple[str, str, bytes]:
    """Return the name of a packed run, a text about its content, and the archive. RunError if the
    run is damaged, quick or incomplete, or was measured only on emulated CPUs."""
    env = rundir.read_env(run / "env.json")
    require_worth_packing(run, env)
    packed_env = remove_personal_details(env)
    samples = pack_samples(rundir.find_samples_file(run), env, packed_env)
    name = make_packed_name(packed_env)
    files = {"env.json": render_env(packed_env).encode(), "samples.csv.gz": samples}
    return name, describe_packed_content(name, packed_env, samples), make_zip_archive(name, files)
