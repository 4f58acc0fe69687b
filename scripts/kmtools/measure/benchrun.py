# SPDX-License-Identifier: GPL-2.0-only
"""Manages the folder of a run of `bench`: the plan of the run, and the environments of measurement
(tiers) that are measured or missing.

The folder raw/<tier> exists once the tier was measured to the end. run.json holds the plan and, for
each tier that could not be measured, the reason. A run is resumed only under the same plan.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import platform
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kmtools.base.errors import FailedError, UnableError, explain_error
from kmtools.base.files import write_file_atomically
from kmtools.base.jsonfile import read_json
from kmtools.base.paths import ROOT, list_sources
from kmtools.measure import hostenv

LOCAL = ROOT / "results" / "local"
RECORD = "run.json"
# The shape of the file RECORD; see require_json_shape().
RECORD_SHAPE = {
    "tiers": [str], "kernel": str, "seed": int, "quick": bool, "amounts": {"*": int},
    "benchmarks?": [str], "variants?": [str], "blocks?": int, "budget?": int, "program?": str,
    "module?": str, "source?": dict, "machine?": dict, "release": str,
    "obstacles": {"*": {"failed": bool, "why": str}},
}  # fmt: skip
# The sources of the measured programs and modules, and the files with the rules by which these
# sources are compiled and measured.
MEASURED = (
    *("base", "bench_modules", "events", "immediate", "include", "markers", "native", "patcher"),
    *("sdt", "Kbuild", "kmarkers.mk", "scripts/directory.mk", "scripts/guest"),
)
# The property of describe_cpu() that is left out of identify_machine(): the current CPU frequency,
# which changes all the time.
UNSTEADY_PROPERTY = "cpu_MHz"
# The fields of Plan that the user may set by options.
USER_FIELDS = ("benchmarks", "variants", "blocks", "budget", "program", "module")


@dataclass(frozen=True)
class Plan:
    """The plan of a run: its tiers (measurement environments), kernel and numbers of blocks, and
    the identity of the sources and of the machine. All tiers of a run are measured under the same
    plan.

    `benchmarks` and `variants` are patterns; an empty list selects all. `blocks` is the number of
    blocks that the user chose, or 0. `budget` is the time limit of the measurement in each tier on
    a real CPU in seconds, 0 for the default. `program` is the path of an external program with
    benchmarks, `module` the source folder of an external module with benchmarks; either may be
    empty.
    """

    tiers: Sequence[str]
    kernel: str
    seed: int
    quick: bool
    amounts: Mapping[str, int]
    benchmarks: Sequence[str] = field(default_factory=list)
    variants: Sequence[str] = field(default_factory=list)
    blocks: int = 0
    budget: int = 0
    program: str = ""
    module: str = ""
    source: Mapping[str, Any] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)


def identify_sources(program: str = "", module: str = "") -> dict[str, Any]:
    """Return the commit of the sources, and one hash over the measured sources, the external
    program and the sources of the external module."""
    digest = hashlib.sha256(Path(program).read_bytes() if program else b"")
    for part in (*MEASURED, *([module] if module else ())):
        paths = [Path()] if (ROOT / part).is_file() else sorted(list_sources(ROOT / part))
        for path in paths:
            content = (ROOT / part / path).read_bytes()
            digest.update(os.fsencode(f"{part}/{path} {len(content)}\n") + content)
    return {"commit": hostenv.describe_source_tree()["commit"], "sha256": digest.hexdigest()}


def identify_machine() -> dict[str, Any]:
    """Return the properties of the machine that affect results and that a reboot may change."""
    cpu = {key: value for key, value in hostenv.describe_cpu().items() if key != UNSTEADY_PROPERTY}
    gcc = hostenv.take_first_line(hostenv.capture_command_output("gcc", "--version"))
    return {**cpu, "running kernel": platform.release(), "gcc": gcc}


def find_plan_difference(was: Plan, now: Plan) -> str:
    """Return the first difference between two plans that prevents resuming a run, as a sentence; an
    empty text if nothing prevents resuming."""
    for name in ("tiers", "kernel", "seed", "quick", "amounts", *USER_FIELDS):
        before, here = getattr(was, name), getattr(now, name)
        if before != here:
            return f"its {name} is {before}, but {here} was requested"
    if was.source.get("sha256") != now.source.get("sha256"):
        commits = [str(plan.source.get("commit"))[:12] for plan in (was, now)]
        return f"the sources have changed since (commit {commits[0]} then, {commits[1]} now)"
    for name in sorted({*was.machine, *now.machine}):
        before, here = was.machine.get(name), now.machine.get(name)
        if before != here:
            return f"the machine has changed: {name} was {before} and is {here}"
    return ""


class Run:
    """The folder of a run: the plan, and the state of each tier (measured, missing or failed)."""

    def __init__(self, path: Path, plan: Plan, created: bool = False) -> None:
        """Store the folder and the plan of a run. `created` is True if this process created the
        folder. remove_partial_files_at_end() removes a created folder without samples."""
        self.path = path
        self.created = created
        self.plan = plan
        self.release = ""
        # For each tier that could not be measured: `failed`, true if a step failed, and `why`, the
        # reason.
        self.obstacles: dict[str, dict[str, Any]] = {}

    def get_raw_folder(self, tier: str) -> Path:
        """Return the path of the folder with the samples of a tier."""
        return self.path / "raw" / tier

    def is_measured(self, tier: str) -> bool:
        """Return True if a tier was measured to the end, so that all of its samples exist."""
        return self.get_raw_folder(tier).is_dir()

    def has_samples_of_tier(self, tier: str) -> bool:
        """Return True if at least one cluster (process, boot or module load) of a tier was measured
        to the end."""
        parts = self.get_raw_folder(f"{tier}.parts")
        return self.is_measured(tier) or any(parts.glob("process-*/env"))

    def rename_refused_samples(self, tier: str) -> Path:
        """Rename the folder of a tier whose samples cannot be used, so that the tier is measured
        again; return the new path."""
        names = (self.get_raw_folder(f"{tier}.refused-{number}") for number in itertools.count(1))
        return self.get_raw_folder(tier).rename(next(path for path in names if not path.exists()))

    def list_measured_tiers(self) -> list[str]:
        """Return the tiers that were measured to the end."""
        return [tier for tier in self.plan.tiers if self.is_measured(tier)]

    def has_samples(self) -> bool:
        """Return True if there are samples that a resumed run could use."""
        found = self.path.glob("raw/**/*.csv")
        return any(path.parent.suffix != ".partial" for path in found)

    def write_run_record(self) -> None:
        """Write the plan and the reasons for missing tiers to run.json."""
        plan = asdict(self.plan)
        record = {"schema": 1, **plan, "release": self.release, "obstacles": self.obstacles}
        write_file_atomically(
            self.path / RECORD, json.dumps(record, indent=1, sort_keys=True) + "\n"
        )

    def require_same_kernel_release(self, release: str) -> None:
        """Raise UnableError if the release of the test kernel differs from the release under which
        samples were measured before."""
        if release == self.release:
            return
        if self.release and any(self.has_samples_of_tier(tier) for tier in ("vm", "icount")):
            raise UnableError(
                f"kernel {self.plan.kernel} has release {release} now, but run {self.path.name}"
                f" measured release {self.release}; start a new run"
            )
        self.release = release
        self.write_run_record()


def create_run(plan: Plan) -> Run:
    """Make the folder of a new run, named after the current time in UTC. If a folder of this name
    exists, add a number to the name."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for name in (stamp, *(f"{stamp}-{number}" for number in range(2, 100))):
        run = Run(LOCAL / name, plan, created=True)
        try:
            run.path.mkdir(parents=True)
            run.write_run_record()
        except FileExistsError:
            continue
        except OSError as error:
            with suppress(OSError):
                run.path.rmdir()
            raise UnableError(f"results cannot be written: {explain_error(error)}") from None
        return run
    raise UnableError(
        f"results cannot be written: {LOCAL / stamp} and 98 similar folders exist already"
    )


def find_run_folder(name: str) -> Path:
    """Return the folder of a run to resume, given as a name in results/local or as a path."""
    for path in (LOCAL / name, Path(name)):
        if (path / RECORD).is_file():
            return path.resolve()
    folders = {path.parent.resolve().name for path in LOCAL.glob(f"*/{RECORD}")}
    known = ", ".join(sorted(folders)[-5:]) or "none"
    raise UnableError(
        f"run {name!r} cannot be resumed: {RECORD} is missing; give the path of a run that was"
        f" moved; the latest runs are: {known}"
    )


def load_bench_run(path: Path) -> Run:
    """Read the plan and the state of a run from its folder."""
    try:
        record = read_json(path / RECORD, RECORD_SHAPE)
    except FailedError as error:
        raise UnableError(f"{error}; start a new run") from None
    names = [key for key in Plan.__dataclass_fields__ if key in record]
    run = Run(path, Plan(**{key: record[key] for key in names}))
    run.release = record["release"]
    run.obstacles = record["obstacles"]
    return run


@contextmanager
def remove_partial_files_at_end(run: Run) -> Iterator[Run]:
    """At the end of the `with` block, remove the partial files of a run. Remove the whole folder if
    this process created it and it holds no sample."""
    try:
        yield run
    finally:
        merged = [run.get_raw_folder(f"{tier}.parts") for tier in run.list_measured_tiers()]
        for stale in [*run.path.glob("raw/**/*.partial"), *merged]:
            shutil.rmtree(stale, ignore_errors=True)
        if run.created and not run.has_samples():
            shutil.rmtree(run.path, ignore_errors=True)


def describe_bench_run(run: Run) -> dict[str, Any]:
    """Return the part of env.json about the whole run: whether the run is quick, the missing tiers,
    and the command that resumes the run. Only bench-host measures the tier metal."""
    unknown = {"failed": False, "why": "the run ended too early"}
    lacking = [tier for tier in run.plan.tiers if not run.is_measured(tier)]
    missing = [{"tier": tier, **run.obstacles.get(tier, unknown)} for tier in lacking]
    sudo = "" if os.geteuid() == 0 else "sudo "
    target = "bench-host" if "metal" in run.plan.tiers else "bench"
    path = run.path.resolve()
    name = path.name if path.parent == LOCAL.resolve() else shlex.quote(str(path))
    go_on = {"resume": f"{sudo}make {target} RESUME={name}"} if missing else {}
    return {"quick": run.plan.quick, "missing": missing, **go_on}
