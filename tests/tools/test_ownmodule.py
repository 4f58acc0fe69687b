# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `bench --module`, which measures the benchmarks of a module outside this tree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakebench import Machine, read_sampled_tiers
from kmtools.base.errors import FailedError
from kmtools.measure import guest


@pytest.fixture(name="machine")
def make_working_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a fake machine on which all steps succeed."""
    return Machine(tmp_path, monkeypatch)


@pytest.fixture(name="sources")
def make_module_sources(tmp_path: Path) -> Path:
    """Make the source directory of a module outside this tree; return it."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "Kbuild").write_text("obj-m := mine.o\n")
    return folder


def test_module_is_measured_in_test_kernels_only(machine: Machine, sources: Path) -> None:
    assert machine.run_bench("--module", str(sources)) == 0
    built = [step for step in machine.done if step not in ("root", "report", "collect")]
    assert built == ["packages", "fetch", "modules", "own module", "vm", "icount"]
    (run,) = machine.list_runs()
    assert read_sampled_tiers(run) == ["vm", "icount"]
    assert json.loads((run / "run.json").read_text())["module"] == str(sources)


def test_module_that_does_not_build_is_reported(
    machine: Machine, sources: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.trouble["own module"] = FailedError(f"building {sources} for 6.1 failed")
    assert machine.run_bench("--module", str(sources)) == 1
    assert f"not measured: building {sources} for 6.1 failed\n" in capsys.readouterr().err
    assert "vm" not in machine.done and machine.list_runs() == []


def test_resumed_run_requires_the_same_module(
    machine: Machine, sources: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.trouble["icount"] = FailedError("it broke")
    assert machine.run_bench("--module", str(sources)) == 1
    (run,) = machine.list_runs()
    machine.trouble.clear()
    (sources / "mine.c").write_text("/* changed */\n")
    assert machine.run_bench("--resume", run.name) == 2
    assert "the sources have changed since" in capsys.readouterr().err
    (sources / "mine.c").unlink()
    assert machine.run_bench("--resume", run.name) == 0
    assert machine.done.count("own module") == 1 and read_sampled_tiers(run) == ["vm", "icount"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--module", ""), "'' is not a folder with a Kbuild file"),
        (("--module", "/no/such"), "'/no/such' is not a folder with a Kbuild file"),
        (("--module", "/etc"), "'/etc' is not a folder with a Kbuild file"),
        (("--module", "{mine}", "--tiers", "native"), "native is not measured with --module; "),
        (("--module", "{mine}", "--host"), "metal is not measured with --module: load the module"),
        (("--module", "{mine}", "--program", "/bin/true"), "not allowed with argument --module"),
    ],
)
def test_invalid_module_option_is_reported(
    machine: Machine, sources: Path, words: tuple[str, ...], said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    try:
        code: object = machine.run_bench(*(word.format(mine=sources) for word in words))
    except SystemExit as error:
        code = error.code
    assert code == 2
    assert said in capsys.readouterr().err
    assert machine.done == [] and machine.list_runs() == []


def test_guest_settings_have_the_path_of_the_module() -> None:
    assert "own /own\n" in guest.make_guest_settings(
        8, 1, external_modules=guest.EXTERNAL_MODULES_DIR
    )
    assert "own" not in guest.make_guest_settings(8, 1)


def test_reason_for_a_refusal_by_the_guest_is_recorded() -> None:
    refusals: list[str] = []
    shown: list[tuple[float, float, str]] = []
    read = guest.make_guest_line_reader(lambda *progress: shown.append(progress), refusals)
    for line in ("bench: running mine 1/9", "bench: not measured: it is bad", "bench: idle 0/0"):
        read(line)
    assert shown == [(1, 9, "mine")] and refusals == ["it is bad"]
    guest.make_guest_line_reader(None, refusals)("bench: running mine 2/9")
    assert refusals == ["it is bad"]
