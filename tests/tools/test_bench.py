# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `make bench`: the order of its steps, and messages about missing programs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from fakebench import TIERS, Machine, read_env_json_run_entry, read_sampled_tiers
from kmtools.base import processes
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.files import hold_lock
from kmtools.base.paths import ROOT
from kmtools.lab import accel, userspace
from kmtools.measure import bench, benchrun, guest
from kmtools.report import report


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a fake machine on which all steps succeed."""
    return Machine(tmp_path, monkeypatch)


def test_native_report_is_printed_before_downloads(machine: Machine) -> None:
    assert machine.run_bench() == 0
    table = machine.done.index("report")
    assert machine.done[:table] == ["kmbench", "native", "collect"]
    assert machine.done.index("fetch") > machine.done.index("packages") > table
    (run,) = machine.list_runs()
    assert read_sampled_tiers(run) == list(TIERS)
    assert read_env_json_run_entry(run) == {"quick": False, "missing": []}
    assert (machine.local / "latest").resolve() == run
    assert {path.name for path in (run / "raw").iterdir()} == set(TIERS)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["/none/make"], "a step failed: /none/make: No such file or directory"),
        (["sh", "-c", "exit $CODE"], "a step failed: exit code 7"),
    ],
)
def test_error_names_the_failed_bench_step(command: Sequence[str], expected: str) -> None:
    with pytest.raises(FailedError) as failed:
        bench.run_measuring_step(command, "a step", {"CODE": "7"})
    assert str(failed.value) == expected
    bench.run_measuring_step(["true"], "a step")


@pytest.fixture
def built_modules(tmp_path: Path) -> list[str]:
    """Write a file for each module of this tree, as `make modules` builds them; return their
    names."""
    names = []
    for folder in ("patcher", "events", "immediate", "markers", "sdt", "bench_modules"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{folder}.ko").touch()
        (tmp_path / folder / f"{folder}.o").touch()
        names.append(f"{folder}.ko")
    (tmp_path / "build").mkdir()
    return sorted(names)


class FakeRunningKernel:
    """Replaces bench.sh in the running kernel by a function that stores the settings of each call
    in `settings`, writes simulated samples, and prints `lines`. The call number `failing`, counted
    from 1, fails with exit code 1."""

    def __init__(
        self, machine: Machine, built_modules: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.machine, self.built_modules = machine, built_modules
        self.settings: list[str] = []
        self.lines = ["bench: running loop 3/8"]
        self.failing = 0
        monkeypatch.setattr(processes, "run_program", self.record_and_simulate_bench_sh)

    def record_and_simulate_bench_sh(
        self, words: list[object], env: Mapping[str, str], read_line: Callable[[str], None]
    ) -> int:
        assert words == ["sh", guest.GUEST_JOB]
        assert sorted(path.name for path in Path(env["MODULES"]).iterdir()) == self.built_modules
        assert list(Path(env["RESULTS"]).iterdir()) == []
        self.settings.append(Path(env["CONFIG"]).read_text())
        (Path(env["RESULTS"]) / "half.csv").touch()
        for line in self.lines:
            read_line(line)
        if len(self.settings) == self.failing:
            return 1
        self.machine.trouble["raw"] = lambda raw: (raw / "half.csv").unlink()
        self.machine.record_step("raw", Path(env["RESULTS"]))
        return 0


@pytest.fixture
def running_kernel(
    machine: Machine, built_modules: list[str], monkeypatch: pytest.MonkeyPatch
) -> FakeRunningKernel:
    """Return a running kernel that is not emulated, and can be measured."""
    monkeypatch.setattr(accel, "is_machine_emulated", lambda **_: False)
    return FakeRunningKernel(machine, built_modules, monkeypatch)


def test_running_kernel_is_measured_with_the_modules_of_this_tree(
    machine: Machine, running_kernel: FakeRunningKernel, capsys: pytest.CaptureFixture[str]
) -> None:
    """bench.sh runs 16 times until the rows are resolved, each time with the settings of the run, a
    seed of its own, copies of the modules and an empty folder. Files of a failed measurement are
    not used. The printed command that resumes the run asks before it loads modules, and repeats no
    complete module load."""
    running_kernel.failing = 3
    running_kernel.lines = ["bench: running loop 3/8", "insmod: cannot insert x.ko"]
    assert machine.run_bench("--host", "--blocks", "7", "--seed", "5") == 1
    (run,) = machine.list_runs()
    said = capsys.readouterr().err
    assert f"make bench-host RESUME={run.name}\n" in said
    why = "insmod: cannot insert x.ko"
    assert f"bench: running loop 3/8\n{why}\n" in said
    assert f"metal not measured: measuring in the running kernel failed: {why}\n" in said
    running_kernel.failing = 0
    assert machine.run_bench("--host", "--resume", run.name) == 0
    live = "getppid-quiet getppid-pressure macro-ping macro-hackbench"
    wanted = [f"blocks 7\nseed {seed}\nlive 7 {live}\n" for seed in (5, 6, 7, *range(7, 21))]
    assert running_kernel.settings == wanted
    assert read_sampled_tiers(run) == ["native", "metal"]
    assert {path.name for path in (run / "raw").iterdir()} == {"native", "metal"}
    loads = {path.name for path in (run / "raw" / "metal").iterdir()}
    assert loads == {f"process-{number}" for number in range(1, 17)}
    env = (run / "raw" / "metal" / "process-16" / "env").read_text()
    assert env.endswith("\nplanned_processes=16\nlooks=1\n")


def test_reason_for_not_measuring_the_running_kernel_is_printed(
    machine: Machine, running_kernel: FakeRunningKernel, capsys: pytest.CaptureFixture[str]
) -> None:
    running_kernel.failing = 1
    running_kernel.lines = ["a", "bench: not measured: no benchmark matches", "b"]
    assert machine.run_bench("--host", "--tiers", "metal") == 1
    why = "measuring in the running kernel failed: no benchmark matches\n"
    assert f"bench: metal not measured: {why}" in capsys.readouterr().err


def test_exit_code_is_printed_if_bench_sh_fails_without_a_message(
    machine: Machine, running_kernel: FakeRunningKernel, capsys: pytest.CaptureFixture[str]
) -> None:
    running_kernel.failing, running_kernel.lines = 1, []
    assert machine.run_bench("--host", "--tiers", "metal") == 1
    assert "the running kernel failed: exit code 1\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("emulated", "arguments", "loads"),
    [(True, (), 2), (True, ("--quick",), 2), (False, ("--quick",), 2), (False, (), 16)],
)
def test_emulated_or_quick_running_kernel_is_measured_twice(
    emulated: bool,
    arguments: Sequence[str],
    loads: int,
    machine: Machine,
    running_kernel: FakeRunningKernel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The env file says how many module loads were planned."""
    monkeypatch.setattr(accel, "is_machine_emulated", lambda **_: emulated)
    assert machine.run_bench("--host", "--tiers", "metal", *arguments) == 0
    assert len(running_kernel.settings) == loads
    (run,) = machine.list_runs()
    env = (run / "raw" / "metal" / "process-1" / "env").read_text()
    assert f"planned_processes={loads}\n" in env


def test_skipped_benchmarks_are_printed_once(
    running_kernel: FakeRunningKernel, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "bench: SKIP peer-bpf-*: BPF programs cannot be attached"
    running_kernel.lines = [said]
    assert machine.run_bench("--host", "--tiers", "metal", "--quick") == 0
    assert capsys.readouterr().out.count(said) == 1


def test_missing_module_is_reported_before_the_running_kernel_is_measured(
    machine: Machine, tmp_path: Path, built_modules: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sdt" / "sdt.ko").unlink()
    assert machine.run_bench("--host", "--tiers", "metal") == 1
    assert "sdt holds no module; run `make modules` first" in capsys.readouterr().err


def test_all_tiers_are_tried_if_packages_cannot_be_installed(machine: Machine) -> None:
    machine.trouble["packages"] = FailedError("installing packages failed: exit code 1")
    assert machine.run_bench() == 0
    assert {"fetch", "vm", "icount"} <= {*machine.done}


@pytest.mark.parametrize(
    ("step", "lacking"),
    [
        ("kmbench", ["native", "vm"]),
        ("native", ["native"]),
        *((step, ["vm", "icount"]) for step in ("root", "fetch", "modules")),
        ("vm", ["vm"]),
    ],
)
@pytest.mark.parametrize("failed", [False, True])
def test_failed_tier_is_reported_and_other_tiers_are_measured(
    machine: Machine, step: str, lacking: list[str], failed: bool,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(userspace, "find_compiler_obstacle", lambda: "")
    wrong = FailedError("it broke") if failed else UnableError("it broke")
    machine.trouble[step] = wrong
    assert machine.run_bench() == (1 if failed else 2)
    (run,) = machine.list_runs()
    assert read_sampled_tiers(run) == [tier for tier in TIERS if tier not in lacking]
    entries = [{"tier": tier, "failed": failed, "why": "it broke"} for tier in lacking]
    assert read_env_json_run_entry(run)["missing"] == entries
    said = capsys.readouterr().err
    assert f"bench: not measured: {' and '.join(lacking)}, because it broke\n" in said
    assert f"make bench RESUME={run.name}" in said
    assert not (machine.local / "latest").exists()
    machine.trouble.clear()
    assert machine.run_bench("--resume", run.name) == 0
    assert read_env_json_run_entry(run)["missing"] == []


def test_without_a_compiler_the_message_names_packages(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    machine.trouble["kmbench"] = FailedError("exit code 2")
    assert machine.run_bench() == 2
    assert "apt-get install gcc make libc6-dev" in capsys.readouterr().err


def test_without_numpy_a_line_tells_how_to_make_the_report(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "report_run", machine.real_report)
    monkeypatch.setattr(report, "has_python_package", lambda name: False)
    assert machine.run_bench() == 2
    said = capsys.readouterr()
    assert "apt-get install python3-numpy" in said.err
    (run,) = machine.list_runs()
    assert f"scripts/kmarkers report {run}" in said.err
    # The report is printed after the native tier (measurement environment), and at the end for all
    # tiers.
    assert said.out.count("medians only") == 1 + len(TIERS)
    assert not (run / "summary.json").exists()


def test_equal_or_decreasing_dates_do_not_overwrite_a_run(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FixedClock:
        year = 2031

        @classmethod
        def now(cls, zone: object) -> FixedClock:
            return cls()

        def strftime(self, form: str) -> str:
            return f"{self.year}0101T000000Z"

    monkeypatch.setattr(benchrun, "datetime", FixedClock)
    assert machine.run_bench() == 0 and machine.run_bench() == 0
    names = [path.name for path in machine.list_runs()]
    assert names == ["20310101T000000Z", "20310101T000000Z-2"]
    assert (machine.local / "latest").resolve().name == names[1]
    FixedClock.year = 2030
    assert machine.run_bench() == 0
    assert (machine.local / "latest").resolve().name == "20300101T000000Z"


def test_second_concurrent_bench_is_refused(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with hold_lock(tmp_path / "build" / "bench.lock", "others"):
        assert machine.run_bench() == 2
    assert "another bench is running" in capsys.readouterr().err
    assert machine.list_runs() == [] and machine.run_bench() == 0


@pytest.mark.parametrize("place", ["build", "results"])
def test_unwritable_checkout_is_refused(
    machine: Machine, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A file in place of the directory makes writing fail, even for root, who may write to any
    # directory.
    (tmp_path / place).write_text("")
    assert machine.run_bench() == 2
    said = capsys.readouterr().err
    assert "cannot be written" in said and said.count("\n") == 1
    assert machine.done == []


def test_full_disk_at_the_start_leaves_no_directory(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail_with_full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(benchrun, "write_file_atomically", fail_with_full_disk)
    assert machine.run_bench() == 2
    assert "results cannot be written: No space left on device" in capsys.readouterr().err
    assert machine.list_runs() == []


def test_all_modules_that_bench_sh_loads_are_copied(machine: Machine, tmp_path: Path) -> None:
    """The tree has each module that a Kbuild file lists. All modules that bench.sh loads are
    copied, and modules of an earlier run are removed."""
    for kbuild in ROOT.glob("*/Kbuild"):
        made = re.findall(r"^obj-m [:+]?= (.*)", kbuild.read_text(), re.MULTILINE)
        for module in re.findall(r"(\S+)\.o\b", " ".join(made)):
            (tmp_path / kbuild.parent.name).mkdir(exist_ok=True)
            (tmp_path / kbuild.parent.name / f"{module}.ko").write_text(f"the module {module}")
    target = tmp_path / "build" / "host"
    target.mkdir(parents=True)
    (target / "stale.ko").write_text("")
    assert bench.copy_built_modules(target) == target
    job = (ROOT / "scripts" / "guest" / "bench.sh").read_text().replace("\\\n", " ")
    loaded = re.findall(r"^for module in (.*); do", job, re.MULTILINE)[0].split()
    assert len(loaded) > 5
    assert {f"{module}.ko" for module in loaded} <= {path.name for path in target.iterdir()}
    assert not (target / "stale.ko").exists()
    for path in target.iterdir():
        assert path.read_text() == f"the module {path.stem}"


@pytest.mark.usefixtures("machine", "built_modules")
def test_modules_older_than_their_sources_are_refused(tmp_path: Path) -> None:
    """Only sources in the directory of a module must be older than the module, because a build does
    not change the module if a source in another directory is newer."""
    module, source = tmp_path / "sdt" / "sdt.ko", tmp_path / "sdt" / "site.c"
    os.utime(module, (1000, 1000))
    for path in (source, tmp_path / "markers" / "new.c"):
        path.touch()
        os.utime(path, (1000, 1000))
    os.utime(tmp_path / "markers" / "new.c", (2000, 2000))
    assert bench.copy_built_modules(tmp_path / "host")
    os.utime(source, (1001, 1001))
    with pytest.raises(FailedError, match=f"^{module} is older than its sources; run `make "):
        bench.copy_built_modules(tmp_path / "host")


def test_directory_without_modules_is_refused(machine: Machine, tmp_path: Path) -> None:
    """If the modules were not built, the message names the directory and the command."""
    with pytest.raises(FailedError, match=r"^patcher holds no module; run `make modules` first$"):
        bench.copy_built_modules(tmp_path / "host")
