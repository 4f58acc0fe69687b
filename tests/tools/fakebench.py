# SPDX-License-Identifier: GPL-2.0-only
"""A fake machine for tests of `make bench`: it records builds, boots and measurements as steps, and
executes no step."""

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

    `trouble` maps the name of a step to an exception that the step raises, or to a function that
    the step calls with its raw directory.
    """

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.local = tmp_path / "results" / "local"
        self.done: list[str] = []
        self.trouble: dict[str, BaseException | Callable[[Path], None]] = {}
        self.release = "6.1.0-test"
        self.real_report = report.report_run
        self.real_merge = collect.merge_raw_folders
        monkeypatch.setattr(benchrun, "LOCAL", self.local)
        monkeypatch.setattr(bench, "ROOT", tmp_path)
        monkeypatch.setattr(commands, "ROOT", tmp_path)
        monkeypatch.setattr(bench, "run_measuring_step", self.record_packages_or_kmbench_step)
        monkeypatch.setattr(bench, "require_root", lambda _: self.record_step("root"))
        monkeypatch.setattr(collect, "merge_raw_folders", self.record_collect_and_merge_run)
        monkeypatch.setattr(report, "report_run", self.record_report_step)
        monkeypatch.setattr(bench, "build_modules", self.record_module_build)
        monkeypatch.setattr(kernels, "fetch_kernels", lambda _: self.record_step("fetch"))
        monkeypatch.setattr(catalogue, "require_unpacked_kernel", self.make_unpacked_kernel)
        monkeypatch.setattr(native, "measure_processes", self.record_native_step)
        monkeypatch.setattr(guest, "measure_in_test_kernel", self.record_kernel_step)
        monkeypatch.setattr(bench, "find_usable_accel", lambda *_: Accel("tcg", "this is a test"))

    def record_step(self, step: str, raw: Path | None = None) -> None:
        """Record the step; if `trouble` has an exception for the step, raise the exception instead.
        If `raw` is given, write simulated samples to this directory. If `trouble` has a function
        for the step, call the function with the directory."""
        trouble = self.trouble.get(step)
        if isinstance(trouble, BaseException):
            raise trouble
        self.done.append(step)
        if raw is not None:
            exact = raw.name == "icount"
            rawdata.write_raw_folder(
                raw, blocks=2, benches=[LOOP], exact=exact, emulated=str(int(exact))
            )
            if trouble is not None:
                trouble(raw)

    def list_runs(self) -> list[Path]:
        """Return the run directories, the oldest first."""
        return sorted(path for path in self.local.glob("2*") if path.is_dir())

    def run_bench(self, *arguments: str) -> int:
        """Run the command `kmarkers bench`; return its exit code."""
        self.done.clear()
        return main(["bench", *arguments])

    def record_native_step(self, raw: Path, **_: object) -> None:
        """Replace native.measure_processes(): record the step "native", and write simulated
        samples."""
        self.record_step("native", raw)

    def record_kernel_step(
        self, tier: str, kernel: str, modules: Path, raw: Path, **_: object
    ) -> None:
        """Replace guest.measure_in_test_kernel(): record `tier`, and write simulated samples."""
        self.record_step(tier, raw)

    def record_module_build(
        self, _: str, __: Path, out: Path, *___: object, kmarkers_source: Path | None = None
    ) -> int:
        """Replace bench.build_modules(): record "own module" if `kmarkers_source` is given (for a
        module outside the tree), otherwise "modules"."""
        # The folder that is named like the kernel is for the suites of `make check`.
        assert out.name.endswith(("-bench", "-own"))
        self.record_step("own module" if kmarkers_source else "modules")
        return 0

    def record_collect_and_merge_run(
        self, run: Path, reader: collect.Reader
    ) -> list[collect.RawDir]:
        """Record the step "collect", then call the real collect.merge_raw_folders()."""
        self.record_step("collect")
        return self.real_merge(run, reader=reader)

    def record_report_step(
        self,
        run: Path,
        tier: str | None = None,
        tables: Sequence[str] | None = None,
        cache: object = None,
    ) -> bool:
        """Replace report.report_run(): record the step "report", and write no report."""
        self.record_step("report")
        return True

    def record_packages_or_kmbench_step(self, words: Sequence[object], *_: object) -> None:
        """Replace the programs that install packages or build kmbench: only record the step
        "packages" or "kmbench"."""
        self.record_step("packages" if "--bench" in words else "kmbench")

    def make_unpacked_kernel(self, name: str) -> Kernel:
        """Return an unpacked kernel with this name."""
        return Kernel(name, "s", "p", "1", self.release, "vmlinuz")


def read_env_json_run_entry(run: Path) -> dict[str, object]:
    """Return the entry "run" of a run's env.json."""
    env: dict[str, dict[str, object]] = json.loads((run / "env.json").read_text())
    return env["run"]


def read_sampled_tiers(run: Path) -> list[str]:
    """Return the tiers (measurement environments) in a run's samples.csv."""
    lines = (run / "samples.csv").read_text().splitlines()[2:]
    return list(dict.fromkeys(line.split(",")[0] for line in lines))
