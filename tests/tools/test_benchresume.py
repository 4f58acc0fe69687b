# SPDX-License-Identifier: GPL-2.0-only
"""make bench RESUME=: no measurement is lost, and only a matching run is continued."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakebench import TIERS, Machine, env_of, tiers_of
from kmtools.base import files
from kmtools.base.errors import UnableError
from kmtools.lab import catalogue
from kmtools.measure import benchrun, collect


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine on which everything works, until a test says otherwise."""
    return Machine(tmp_path, monkeypatch)


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


def spoil(raw: Path) -> None:
    """Truncate the samples."""
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
