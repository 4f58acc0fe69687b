# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `make bench RESUME=RUN`: no samples are lost, and a run is continued only with the same
options, sources, kernel and machine."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from fakebench import TIERS, Machine, read_env_json_run_entry, read_sampled_tiers
from kmtools.base import files
from kmtools.base.errors import UnableError
from kmtools.cli import main
from kmtools.lab import accel, catalogue
from kmtools.lab.accel import Accel
from kmtools.measure import bench, benchrun, collect, guest, hostenv

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a fake machine on which all steps succeed."""
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
def test_run_killed_at_any_step_can_be_resumed(machine: Machine, step: str) -> None:
    machine.trouble[step] = KeyboardInterrupt()
    assert machine.run_bench() == 130
    runs = machine.list_runs()
    finished = [path.name for path in runs for path in (path / "raw").iterdir()]
    if step in ("kmbench", "native"):
        assert runs == [] and finished == []
        return
    assert "native" in finished and not (machine.local / "latest").exists()
    if step not in ("collect", "report"):
        assert sorted(read_sampled_tiers(runs[0])) == sorted(finished)
    machine.trouble.clear()
    assert machine.run_bench("--resume", runs[0].name) == 0
    assert [tier for tier in TIERS if tier in machine.done] == [
        tier for tier in TIERS if tier not in finished
    ]
    assert machine.list_runs() == runs and read_sampled_tiers(runs[0]) == list(TIERS)
    assert read_env_json_run_entry(runs[0])["missing"] == []
    assert (machine.local / "latest").resolve() == runs[0]


def test_collect_restores_the_samples_of_a_run(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without further options, `kmarkers collect` reads all measured tiers of the run."""
    assert machine.run_bench() == 0
    (run,) = machine.list_runs()
    samples = (run / "samples.csv").read_text()
    (run / "samples.csv").unlink()
    monkeypatch.setattr(collect, "merge_raw_folders", machine.real_merge)
    assert main(["collect", str(run)]) == 0
    assert (run / "samples.csv").read_text() == samples and read_sampled_tiers(run) == list(TIERS)


def test_collect_with_raw_is_refused_for_a_run_of_bench(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `collect --raw`, samples.csv would lack the tiers that `bench` measured."""
    assert machine.run_bench() == 0
    (run,) = machine.list_runs()
    samples = (run / "samples.csv").read_text()
    monkeypatch.setattr(collect, "merge_raw_folders", machine.real_merge)
    assert main(["collect", str(run), "--raw", f"vm={run}/raw/vm"]) == 1
    assert f"{run}: this run was made by `kmarkers bench`: collect" in capsys.readouterr().err
    assert (run / "samples.csv").read_text() == samples


def test_collected_run_has_no_results_of_earlier_samples(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """summary.json and report.html, which were made from the earlier samples, are removed."""
    assert machine.run_bench() == 0
    (run,) = machine.list_runs()
    for name in ("summary.json", "report.html"):
        (run / name).touch()
    monkeypatch.setattr(collect, "merge_raw_folders", machine.real_merge)
    assert main(["collect", str(run)]) == 0
    assert not {"summary.json", "report.html"} & set(os.listdir(run))


def test_collected_run_describes_the_machine_and_the_sources_that_were_measured(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After an update of the kernel or of the sources, the description in env.json stays; only
    its lists of tiers are new. Without env.json, the machine is unknown."""
    assert machine.run_bench() == 0
    (run,) = machine.list_runs()
    before = json.loads((run / "env.json").read_text())
    monkeypatch.setattr(collect, "merge_raw_folders", machine.real_merge)
    other = {**hostenv.describe_host(), "date": "then", "source": {"commit": "new", "dirty": True}}
    monkeypatch.setattr(hostenv, "describe_host", lambda: dict(other))
    assert main(["collect", str(run)]) == 0
    env = json.loads((run / "env.json").read_text())
    assert env["date"] == "then"
    assert env["source"] == {"commit": before["source"]["commit"], "dirty": True}
    monkeypatch.setattr(benchrun, "identify_machine", lambda: {"running kernel": "later"})
    other["date"] = "now"
    assert main(["collect", str(run)]) == 0
    assert json.loads((run / "env.json").read_text()) == env
    (run / "env.json").unlink()
    assert main(["collect", str(run)]) == 1
    assert f"{run / 'env.json'}: no such file, and the run was" in capsys.readouterr().err


def test_changed_build_files_change_the_source_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run is not resumed if a file has changed that says how modules are compiled or measured."""
    for part in benchrun.MEASURED:
        assert (ROOT / part).exists()
        path = tmp_path / part
        if (ROOT / part).is_dir():
            path = path / "file"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.setattr(benchrun, "ROOT", tmp_path)
    hashes = {benchrun.identify_sources()["sha256"]}
    for number, name in enumerate(("Kbuild", "kmarkers.mk", "scripts/guest/file", "sdt/file"), 2):
        (tmp_path / name).write_text("changed")
        hashes.add(benchrun.identify_sources()["sha256"])
        assert len(hashes) == number


def truncate_raw_file(raw: Path) -> None:
    """Truncate the file of samples in the directory `raw`."""
    file = raw / "loop.csv"
    file.write_bytes(file.read_bytes()[:-40])


def test_invalid_samples_are_kept_aside_and_measured_again(machine: Machine) -> None:
    machine.trouble["vm"] = truncate_raw_file
    assert machine.run_bench() == 1
    (run,) = machine.list_runs()
    assert read_sampled_tiers(run) == ["native", "icount"]
    assert (run / "raw" / "vm.refused-1" / "loop.csv").is_file()
    machine.trouble.clear()
    assert machine.run_bench("--resume", run.name) == 0
    assert "native" not in machine.done and read_sampled_tiers(run) == list(TIERS)


def test_full_disk_during_collect_loses_no_samples(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = collect.write_run_files

    def fail_with_full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device", "samples.csv")

    monkeypatch.setattr(collect, "write_run_files", fail_with_full_disk)
    assert machine.run_bench() == 1
    said = capsys.readouterr().err
    assert "No space left on device; free disk space" in said
    (run,) = machine.list_runs()
    assert (run / "raw" / "native" / "loop.csv").is_file()
    assert f"make bench RESUME={run.name}" in said
    monkeypatch.setattr(collect, "write_run_files", whole)
    assert machine.run_bench("--resume", run.name) == 0
    assert "native" not in machine.done


def test_full_disk_during_measurement_keeps_complete_samples(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = files.write_file_atomically

    def fill_disk(raw: Path) -> None:
        def fail_with_full_disk(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(benchrun, "write_file_atomically", fail_with_full_disk)

    machine.trouble["vm"] = fill_disk
    assert machine.run_bench() == 1
    (run,) = machine.list_runs()
    said = capsys.readouterr().err
    assert (
        "free disk space and run the command again" in said
        and f"make bench RESUME={run.name}" in said
    )
    monkeypatch.setattr(benchrun, "write_file_atomically", whole)
    machine.trouble.clear()
    assert machine.run_bench("--resume", run.name) == 0
    assert "vm" not in machine.done and read_sampled_tiers(run) == list(TIERS)


@pytest.mark.parametrize(
    ("key", "other", "expected"),
    [
        ("kernel", "6.12", "its kernel is 6.12"),
        ("seed", 7, "its seed is 7"),
        ("quick", True, "its amounts is"),
        ("source", {"commit": "abc", "sha256": "0"}, "the sources have changed since (commit abc"),
        ("machine", {"model": "80386"}, "the machine has changed: "),
    ],
)
def test_resuming_with_other_options_is_refused(
    machine: Machine, key: str, other: object, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.trouble["vm"] = KeyboardInterrupt()
    assert machine.run_bench() == 130
    (run,) = machine.list_runs()
    record = json.loads((run / "run.json").read_text())
    assert record[key] != other
    (run / "run.json").write_text(json.dumps({**record, key: other}))
    before = sorted(run.rglob("*"))
    machine.trouble.clear()
    asked = {"kernel": ["--kernel", catalogue.get_default_kernel_name()], "seed": ["--seed", "1"]}
    assert machine.run_bench("--resume", run.name, *asked.get(key, [])) == 2
    assert expected in capsys.readouterr().err
    assert machine.done == [] and sorted(run.rglob("*")) == before


def test_resuming_with_another_kernel_build_is_refused(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.trouble["icount"] = KeyboardInterrupt()
    assert machine.run_bench() == 130
    machine.trouble.clear()
    machine.release = "6.1.0-next"
    (run,) = machine.list_runs()
    assert machine.run_bench("--resume", run.name) == 2
    assert "has release 6.1.0-next now" in capsys.readouterr().err
    assert "icount" not in machine.done and read_sampled_tiers(run) == ["native", "vm"]


def test_boots_of_two_kernel_builds_are_not_combined(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run under KVM that was interrupted after two boots is not resumed with another build."""
    boots = 0

    def record_kernel_measurement(tier: str, *places: object, **_: object) -> None:
        nonlocal boots
        boots += 1
        if boots == 3:
            raise KeyboardInterrupt
        machine.record_step(tier, Path(str(places[2])))

    monkeypatch.setattr(guest, "measure_in_test_kernel", record_kernel_measurement)
    monkeypatch.setattr(bench, "find_usable_accel", lambda *_: Accel("kvm"))
    monkeypatch.setattr(accel, "is_machine_emulated", lambda **_: False)
    assert machine.run_bench("--tiers", "vm") == 130
    (run,) = machine.list_runs()
    machine.release = "6.1.0-next"
    assert machine.run_bench("--resume", run.name) == 2
    assert "has release 6.1.0-next now" in capsys.readouterr().err
    assert boots == 3
    machine.release = "6.1.0-test"
    assert machine.run_bench("--resume", run.name) == 0
    assert boots == 17


def test_resuming_an_unknown_or_broken_run_is_refused(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert machine.run_bench() == 0
    (run,) = machine.list_runs()
    assert machine.run_bench("--resume", "19991231T235959Z") == 2
    assert f"the latest runs are: {run.name}\n" in capsys.readouterr().err
    (run / "run.json").write_text("{")
    assert machine.run_bench("--resume", run.name) == 2
    assert re.search(r"run\.json: .*; start a new run$", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("tiers", 5, "tiers is 5, not an array"),
        ("amounts", {"vm": "x"}, 'amounts.vm is "x", not a whole number'),
        ("source", [], "source is [], not an object"),
        ("obstacles", {"vm": "x"}, 'obstacles.vm is "x", not an object'),
    ],
)
def test_damaged_field_of_a_record_is_named(
    tmp_path: Path, field: str, value: object, said: str
) -> None:
    benchrun.Run(tmp_path, make_changed_plan()).write_run_record()
    file = tmp_path / benchrun.RECORD
    assert benchrun.load_bench_run(tmp_path).plan == make_changed_plan()
    file.write_text(json.dumps({**json.loads(file.read_text()), field: value}))
    with pytest.raises(UnableError, match=re.escape(f"{file}: {said}; start a new run")):
        benchrun.load_bench_run(tmp_path)


def test_resumed_quick_run_stays_quick(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.trouble["vm"] = KeyboardInterrupt()
    assert machine.run_bench("--quick") == 130
    (run,) = machine.list_runs()
    machine.trouble.clear()
    assert machine.run_bench("--resume", run.name) == 0
    assert read_env_json_run_entry(run)["quick"] is True


def test_existing_run_directory_is_not_removed(machine: Machine, tmp_path: Path) -> None:
    machine.trouble["vm"] = KeyboardInterrupt()
    assert machine.run_bench() == 130
    kept = machine.list_runs()[0].rename(tmp_path / "mine")
    (kept / "notes").touch()
    for raw in kept.glob("raw/*/*.csv"):
        raw.unlink()
    for tier in TIERS:
        machine.trouble[tier] = UnableError("not now")
    machine.run_bench("--resume", str(kept))
    assert (kept / "notes").exists() and (kept / benchrun.RECORD).exists()


def make_changed_plan(**changed: Any) -> benchrun.Plan:
    """Return a plan; `changed` replaces fields."""
    usual: dict[str, Any] = {
        "tiers": ["native", "vm"], "kernel": "6.1", "seed": 1, "quick": False, "amounts": {},
        "source": {"commit": "0123456789abcdef", "sha256": "x"}, "machine": {"model": "1"},
    }  # fmt: skip
    return benchrun.Plan(**{**usual, **changed})


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, ""),
        ({"source": {"commit": "f" * 40, "sha256": "x"}}, ""),
        ({"tiers": ["vm"]}, "its tiers is ['native', 'vm'], but ['vm'] was requested"),
        ({"blocks": 3}, "its blocks is 0, but 3 was requested"),
        ({"module": "m"}, "its module is , but m was requested"),
        (
            {"source": {"commit": None, "sha256": "y"}},
            "the sources have changed since (commit 0123456789ab then, None now)",
        ),
        ({"machine": {"model": "2"}}, "the machine has changed: model was 1 and is 2"),
        ({"machine": {"model": "1", "gcc": "9"}}, "the machine has changed: gcc was None and is 9"),
        ({"machine": {}}, "the machine has changed: model was 1 and is None"),
    ],
)
def test_first_difference_of_two_plans_is_named(changed: dict[str, Any], expected: str) -> None:
    assert (
        benchrun.find_plan_difference(make_changed_plan(), make_changed_plan(**changed)) == expected
    )


@pytest.mark.parametrize(
    ("tiers", "user", "command"),
    [
        (["native", "vm"], 0, "make bench RESUME=r"),
        (["native", "metal"], 0, "make bench-host RESUME=r"),
        (["native", "vm"], 1000, "sudo make bench RESUME=r"),
    ],
)
def test_missing_tiers_have_a_reason_and_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiers: list[str], user: int, command: str
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    monkeypatch.setattr(benchrun, "LOCAL", tmp_path)
    run = benchrun.Run(tmp_path / "r", make_changed_plan(tiers=tiers, quick=True))
    run.obstacles["native"] = {"failed": True, "why": "x"}
    missing = [
        {"tier": "native", "failed": True, "why": "x"},
        {"tier": tiers[1], "failed": False, "why": "the run ended too early"},
    ]
    assert benchrun.describe_bench_run(run) == {
        "quick": True,
        "missing": missing,
        "resume": command,
    }
    # A run elsewhere is named by its path, as find_run_folder() finds it.
    monkeypatch.setattr(benchrun, "LOCAL", tmp_path / "local")
    before = command.removesuffix("r")
    assert benchrun.describe_bench_run(run)["resume"] == f"{before}{tmp_path}/r"
    run.path = tmp_path / "my runs" / "r"
    assert benchrun.describe_bench_run(run)["resume"] == f"{before}'{tmp_path}/my runs/r'"
    for tier in tiers:
        assert not run.is_measured(tier)
        run.get_raw_folder(tier).mkdir(parents=True)
    assert run.list_measured_tiers() == tiers and not run.has_samples()
    assert benchrun.describe_bench_run(run) == {"quick": True, "missing": []}
    kept = [run.get_raw_folder(f"native.refused-{number}") for number in (1, 2)]
    assert run.rename_refused_samples("native") == kept[0]
    run.get_raw_folder("native").mkdir()
    assert run.rename_refused_samples("native") == kept[1]
    (run.path / "raw" / "x.partial").mkdir()
    (run.path / "raw" / "x.partial" / "a.csv").touch()
    assert not run.has_samples()
    (kept[1] / "a.csv").touch()
    assert run.has_samples()


def test_error_about_a_missing_run_names_five_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchrun, "LOCAL", tmp_path)
    with pytest.raises(
        UnableError, match=r"is missing; give the path .* the latest runs are: none$"
    ):
        benchrun.find_run_folder("x")
    for number in range(1, 8):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "run.json").touch()
    (tmp_path / "latest").symlink_to("7")
    with pytest.raises(UnableError, match=r"the latest runs are: 3, 4, 5, 6, 7$"):
        benchrun.find_run_folder("x")
    assert benchrun.find_run_folder("latest") == benchrun.find_run_folder(str(tmp_path / "7"))
