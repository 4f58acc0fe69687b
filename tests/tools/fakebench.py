# SPDX-License-Identifier: GPL-2.0-only
"""A fake machine for tests of make bench: it records builds, boots and measurements as steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import rawdata
from kmtools.cli import main
from kmtools.commands import run as commands
from kmtools.lab import catalogue, kernels
from kmtools.lab.accel import Accel
from kmtools.lab.catalogue import Kernel
from kmtools.measure import bench, benchrun, collect, guest, native
from kmtools.report import report

LOOP = rawdata.Bench("loop", {"none": 2.0, "none-clone": 2.0, "x": 3.0})
TIERS = ("native", "vm", "icount")


class Machine:
    """Replaces builds, boots and measurements by functions that record a step in `done`.

    `trouble` has an exception to raise, or a function to call, in a step.
    """

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.local = tmp_path / "results" / "local"
        self.done: list[str] = []
        self.trouble: dict[str, BaseException | Callable[[Path], None]] = {}
        self.release = "6.1.0-test"
        self.whole_report = report.report_run
        self.whole_merge = collect.merge_run
        monkeypatch.setattr(benchrun, "LOCAL", self.local)
        monkeypatch.setattr(bench, "ROOT", tmp_path)
        monkeypatch.setattr(commands, "ROOT", tmp_path)
        monkeypatch.setattr(bench, "run_measuring_step", self.command)
        monkeypatch.setattr(bench, "require_root", lambda _: self.at("root"))
        monkeypatch.setattr(collect, "merge_run", self.collected)
        monkeypatch.setattr(report, "report_run", self.shown)
        monkeypatch.setattr(bench, "build_modules", self.build)
        monkeypatch.setattr(kernels, "fetch_kernels", lambda _: self.at("fetch"))
        monkeypatch.setattr(catalogue, "require_kernel", self.kernel)
        monkeypatch.setattr(native, "measure_processes", self.in_user_space)
        monkeypatch.setattr(guest, "measure_in_test_kernel", self.in_kernel)
        monkeypatch.setattr(bench, "find_usable_accel", lambda *_: Accel("tcg", "this is a test"))

    def at(self, step: str, raw: Path | None = None) -> None:
        """Record a step; raise its error of `trouble`, if there is one."""
        trouble = self.trouble.get(step)
        if isinstance(trouble, BaseException):
            raise trouble
        self.done.append(step)
        if raw is not None:
            exact = raw.name == "icount"
            rawdata.write_tier(raw, blocks=2, benches=[LOOP], exact=exact, emulated=str(int(exact)))
            if trouble is not None:
                trouble(raw)

    def runs(self) -> list[Path]:
        """Return the directories of runs, the oldest first."""
        return sorted(path for path in self.local.glob("2*") if path.is_dir())

    def bench(self, *words: str) -> int:
        """Run the command `kmarkers bench`; return its exit code."""
        self.done.clear()
        return main(["bench", *words])

    def in_user_space(self, raw: Path, **_: object) -> None:
        """Replace the measurement in user space."""
        self.at("native", raw)

    def in_kernel(self, tier: str, kernel: str, modules: Path, raw: Path, **_: object) -> None:
        """Replace the measurement in a test kernel."""
        self.at(tier, raw)

    def build(self, *_: object, uses: Path | None = None) -> int:
        """Replace the build of the kmarkers modules, or with `uses` of a module outside the
        tree."""
        self.at("own module" if uses else "modules")
        return 0

    def collected(self, run: Path, reader: collect.Reader) -> list[collect.RawDir]:
        """Record the step, and collect the samples."""
        self.at("collect")
        return self.whole_merge(run, reader=reader)

    def shown(
        self,
        run: Path,
        tier: str | None = None,
        tables: Sequence[str] | None = None,
        cache: object = None,
    ) -> bool:
        """Replace the report."""
        self.at("report")
        return True

    def command(self, words: Sequence[object], *_: object) -> None:
        """Replace the programs that install packages and build kmbench."""
        self.at("packages" if "--bench" in words else "kmbench")

    def kernel(self, name: str) -> Kernel:
        """Return an unpacked kernel with this name."""
        return Kernel(name, "s", "p", "1", self.release, "vmlinuz")


def read_run_entry(run: Path) -> dict[str, object]:
    """Return the entry "run" of a run's env.json."""
    env: dict[str, dict[str, object]] = json.loads((run / "env.json").read_text())
    return env["run"]


def read_tiers(run: Path) -> list[str]:
    """Return the tiers in a run's samples.csv."""
    lines = (run / "samples.csv").read_text().splitlines()[2:]
    return list(dict.fromkeys(line.split(",")[0] for line in lines))
