# SPDX-License-Identifier: GPL-2.0-only
"""make bench: nothing measured is lost, a run goes on where it fits, what is missing is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import rawdata
from kmtools.base import files
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.files import alone
from kmtools.cli import main
from kmtools.commands import run as commands
from kmtools.lab import catalogue, kernels, userspace
from kmtools.lab.catalogue import Kernel
from kmtools.measure import bench, benchrun, collect, guest, native
from kmtools.report import report

LOOP = rawdata.Bench("loop", {"none": 2.0, "none-clone": 2.0, "x": 3.0})
TIERS = ("native", "vm", "icount")


class Machine:
    """Stands for all that is built, booted and measured; `trouble` is raised where it says so."""

    def __init__(self, tmp_path: Path) -> None:
        self.local = tmp_path / "results" / "local"
        self.done: list[str] = []
        self.trouble: dict[str, BaseException | Callable[[Path], None]] = {}
        self.release = "6.1.0-test"
        self.whole_report = report.report

    def at(self, step: str, raw: Path | None = None) -> None:
        """Note a step, unless it fails."""
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
        """The folders of runs, the oldest first."""
        return sorted(path for path in self.local.glob("2*") if path.is_dir())

    def bench(self, *words: str) -> int:
        """Run make bench's script."""
        self.done.clear()
        return main(["bench", *words])


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine on which everything works, until a test says otherwise."""
    made = Machine(tmp_path)

    def in_user_space(raw: Path, **_: object) -> None:
        made.at("native", raw)

    def in_kernel(tier: str, kernel: str, modules: Path, raw: Path, **_: object) -> None:
        made.at(tier, raw)

    def build(*_: object) -> int:
        made.at("modules")
        return 0

    merge = collect.merge

    def collected(run: Path) -> list[collect.RawDir]:
        made.at("collect")
        return merge(run)

    def shown(run: Path, tier: str | None = None, tables: Sequence[str] | None = None) -> bool:
        made.at("report")
        return True

    def command(words: Sequence[object], *_: object) -> None:
        made.at("packages" if "--bench" in words else "kmbench")

    def kernel(name: str) -> Kernel:
        return Kernel(name, "s", "p", "1", made.release, "vmlinuz")

    monkeypatch.setattr(benchrun, "LOCAL", made.local)
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    monkeypatch.setattr(commands, "ROOT", tmp_path)
    monkeypatch.setattr(bench, "command", command)
    monkeypatch.setattr(bench, "require_root", lambda _: made.at("root"))
    monkeypatch.setattr(collect, "merge", collected)
    monkeypatch.setattr(report, "report", shown)
    monkeypatch.setattr(bench, "build_modules", build)
    monkeypatch.setattr(kernels, "fetch", lambda _: made.at("fetch"))
    monkeypatch.setattr(catalogue, "require", kernel)
    monkeypatch.setattr(native, "measure", in_user_space)
    monkeypatch.setattr(guest, "measure", in_kernel)
    return made


def env_of(run: Path) -> dict[str, object]:
    """What env.json says of a run as a whole."""
    env: dict[str, dict[str, object]] = json.loads((run / "env.json").read_text())
    return env["run"]


def tiers_of(run: Path) -> list[str]:
    """The tiers that samples.csv holds."""
    lines = (run / "samples.csv").read_text().splitlines()[2:]
    return list(dict.fromkeys(line.split(",")[0] for line in lines))


def test_the_native_table_comes_before_anything_is_downloaded(machine: Machine) -> None:
    assert machine.bench() == 0
    table = machine.done.index("report")
    assert machine.done[:table] == ["kmbench", "native", "collect"]
    assert machine.done.index("fetch") > machine.done.index("packages") > table
    (run,) = machine.runs()
    assert tiers_of(run) == list(TIERS)
    assert env_of(run) == {"quick": False, "missing": []}
    assert (machine.local / "latest").resolve() == run
    assert {path.name for path in (run / "raw").iterdir()} == set(TIERS)


def test_packages_that_cannot_be_had_keep_nothing_from_being_tried(machine: Machine) -> None:
    machine.trouble["packages"] = FailedError("setting up failed: exit code 1")
    assert machine.bench() == 0
    assert {"fetch", "vm", "icount"} <= {*machine.done}


STEPS = (
    "kmbench",
    "native",
    "packages",
    "root",
    "fetch",
    "modules",
    "vm",
    "icount",
    "collect",
    "report",
)


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_it_goes_on(machine: Machine, step: str) -> None:
    machine.trouble[step] = KeyboardInterrupt()
    assert machine.bench() == 130
    runs = machine.runs()
    finished = [path.name for path in runs for path in (path / "raw").iterdir()]
    if step in ("kmbench", "native"):
        assert runs == [] and finished == []
        return
    assert "native" in finished and not (machine.local / "latest").exists()
    if step not in ("collect", "report"):
        assert sorted(tiers_of(runs[0])) == sorted(finished)
    machine.trouble.clear()
    assert machine.bench("--resume", runs[0].name) == 0
    assert [tier for tier in TIERS if tier in machine.done] == [
        tier for tier in TIERS if tier not in finished
    ]
    assert machine.runs() == runs and tiers_of(runs[0]) == list(TIERS)
    assert env_of(runs[0])["missing"] == []
    assert (machine.local / "latest").resolve() == runs[0]


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
def test_a_tier_that_cannot_be_had_is_named_and_the_others_measured(
    machine: Machine, step: str, lacking: list[str], failed: bool,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(userspace, "obstacle", lambda: "")
    wrong = FailedError("it broke") if failed else UnableError("it broke")
    machine.trouble[step] = wrong
    assert machine.bench() == (1 if failed else 2)
    (run,) = machine.runs()
    assert tiers_of(run) == [tier for tier in TIERS if tier not in lacking]
    entries = [{"tier": tier, "failed": failed, "why": "it broke"} for tier in lacking]
    assert env_of(run)["missing"] == entries
    said = capsys.readouterr().err
    assert f"bench: not measured: {' and '.join(lacking)}, because it broke\n" in said
    assert f"make bench RESUME={run.name}" in said
    assert not (machine.local / "latest").exists()
    machine.trouble.clear()
    assert machine.bench("--resume", run.name) == 0
    assert env_of(run)["missing"] == []


def test_without_a_compiler_the_packages_are_named(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    machine.trouble["kmbench"] = FailedError("exit code 2")
    assert machine.bench() == 2
    assert "apt-get install gcc make libc6-dev liburcu-dev" in capsys.readouterr().err


def test_without_numpy_there_is_a_line_that_gives_the_page(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "report", machine.whole_report)
    monkeypatch.setattr(report, "has_package", lambda name: False)
    assert machine.bench() == 2
    said = capsys.readouterr()
    assert "apt-get install python3-numpy python3-matplotlib" in said.err
    (run,) = machine.runs()
    assert f"scripts/kmarkers report '{run}'" in said.err
    assert said.out.count("medians alone") == len(TIERS)
    assert not (run / "summary.json").exists()


def test_without_matplotlib_there_are_verdicts_and_the_line_that_gives_the_page(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "report", machine.whole_report)
    monkeypatch.setattr(report, "has_package", lambda name: name == "numpy")
    assert machine.bench() == 2
    said = capsys.readouterr()
    assert "apt-get install python3-numpy python3-matplotlib" in said.err
    (run,) = machine.runs()
    assert "medians alone" not in said.out and "over none; margin" in said.out
    assert (run / "summary.json").exists() and not (run / "report.html").exists()


def spoil(raw: Path) -> None:
    """Cut the samples short."""
    file = raw / "loop.csv"
    file.write_bytes(file.read_bytes()[:-40])


def test_samples_that_are_refused_are_kept_and_measured_again(machine: Machine) -> None:
    machine.trouble["vm"] = spoil
    assert machine.bench() == 1
    (run,) = machine.runs()
    assert tiers_of(run) == ["native", "icount"]
    assert (run / "raw" / "vm.refused-1" / "loop.csv").is_file()
    machine.trouble.clear()
    assert machine.bench("--resume", run.name) == 0
    assert "native" not in machine.done and tiers_of(run) == list(TIERS)


def test_a_disk_that_is_full_when_collecting_loses_nothing(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = collect.write_run

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "samples.csv")

    monkeypatch.setattr(collect, "write_run", full)
    assert machine.bench() == 1
    said = capsys.readouterr().err
    assert "No space left on device; make room" in said
    (run,) = machine.runs()
    assert (run / "raw" / "native" / "loop.csv").is_file()
    assert f"make bench RESUME={run.name}" in said
    monkeypatch.setattr(collect, "write_run", whole)
    assert machine.bench("--resume", run.name) == 0
    assert "native" not in machine.done


@pytest.mark.parametrize(
    ("key", "other", "words"),
    [
        ("kernel", "6.12", "its kernel is 6.12"),
        ("seed", 7, "its seed is 7"),
        ("quick", True, "its amounts is"),
        ("source", {"commit": "abc", "sha256": "0"}, "the sources have changed since (commit abc"),
        ("machine", {"model": "80386"}, "the machine is another"),
    ],
)
def test_a_run_that_does_not_fit_is_refused(
    machine: Machine, key: str, other: object, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.trouble["vm"] = KeyboardInterrupt()
    assert machine.bench() == 130
    (run,) = machine.runs()
    record = json.loads((run / "run.json").read_text())
    assert record[key] != other
    (run / "run.json").write_text(json.dumps({**record, key: other}))
    before = sorted(run.rglob("*"))
    machine.trouble.clear()
    asked = {"kernel": ["--kernel", catalogue.default_name()], "seed": ["--seed", "1"]}
    assert machine.bench("--resume", run.name, *asked.get(key, [])) == 2
    assert words in capsys.readouterr().err
    assert machine.done == [] and sorted(run.rglob("*")) == before


def test_another_build_of_the_kernel_is_not_put_beside_the_first(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.trouble["icount"] = KeyboardInterrupt()
    assert machine.bench() == 130
    machine.trouble.clear()
    machine.release = "6.1.0-next"
    (run,) = machine.runs()
    assert machine.bench("--resume", run.name) == 2
    assert "is 6.1.0-next now" in capsys.readouterr().err
    assert "icount" not in machine.done and tiers_of(run) == ["native", "vm"]


def test_an_unknown_or_broken_run_is_refused(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert machine.bench() == 0
    (run,) = machine.runs()
    assert machine.bench("--resume", "19991231T235959Z") == 2
    assert f"there are: {run.name}\n" in capsys.readouterr().err
    (run / "run.json").write_text("{")
    assert machine.bench("--resume", run.name) == 2
    assert "run.json cannot be used" in capsys.readouterr().err


def test_a_quick_run_says_so_and_goes_on_as_one(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.trouble["vm"] = KeyboardInterrupt()
    assert machine.bench("--quick") == 130
    (run,) = machine.runs()
    machine.trouble.clear()
    assert machine.bench("--resume", run.name) == 0
    assert env_of(run)["quick"] is True


def test_a_clock_that_stands_or_goes_back_overwrites_nothing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock:
        year = 2031

        @classmethod
        def now(cls, zone: object) -> Clock:
            return cls()

        def strftime(self, form: str) -> str:
            return f"{self.year}0101T000000Z"

    monkeypatch.setattr(benchrun, "datetime", Clock)
    assert machine.bench() == 0 and machine.bench() == 0
    names = [path.name for path in machine.runs()]
    assert names == ["20310101T000000Z", "20310101T000000Z-2"]
    assert (machine.local / "latest").resolve().name == names[1]
    Clock.year = 2030
    assert machine.bench() == 0
    assert (machine.local / "latest").resolve().name == "20300101T000000Z"


def test_two_at_once_are_refused(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with alone(tmp_path / "build" / "bench.lock", "others"):
        assert machine.bench() == 2
    assert "another bench is running" in capsys.readouterr().err
    assert machine.runs() == [] and machine.bench() == 0


@pytest.mark.parametrize("place", ["build", "results"])
def test_a_checkout_that_cannot_be_written_is_refused(
    machine: Machine, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A file where a directory must be stops root as well.
    (tmp_path / place).write_text("")
    assert machine.bench() == 2
    said = capsys.readouterr().err
    assert "cannot be written" in said and said.count("\n") == 1
    assert machine.done == []


def test_a_disk_that_is_full_at_the_start_leaves_no_folder(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(benchrun, "write_whole", full)
    assert machine.bench() == 2
    assert "results cannot be written: No space left on device" in capsys.readouterr().err
    assert machine.runs() == []


def test_a_disk_that_fills_up_while_measuring_leaves_what_fits(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = files.write_whole

    def full(raw: Path) -> None:
        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(benchrun, "write_whole", fail)

    machine.trouble["vm"] = full
    assert machine.bench() == 1
    (run,) = machine.runs()
    said = capsys.readouterr().err
    assert "make room and run it again" in said and f"make bench RESUME={run.name}" in said
    monkeypatch.setattr(benchrun, "write_whole", whole)
    machine.trouble.clear()
    assert machine.bench("--resume", run.name) == 0
    assert "vm" not in machine.done and tiers_of(run) == list(TIERS)


def test_a_folder_that_was_there_before_is_never_removed(machine: Machine, tmp_path: Path) -> None:
    machine.trouble["vm"] = KeyboardInterrupt()
    assert machine.bench() == 130
    kept = machine.runs()[0].rename(tmp_path / "mine")
    (kept / "notes").touch()
    for raw in kept.glob("raw/*/*.csv"):
        raw.unlink()
    for tier in TIERS:
        machine.trouble[tier] = UnableError("not now")
    machine.bench("--resume", str(kept))
    assert (kept / "notes").exists() and (kept / benchrun.RECORD).exists()
