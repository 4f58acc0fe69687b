# SPDX-License-Identifier: GPL-2.0-only
"""kmarkers bench measures what is chosen, says how far it is, and names a bad value."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fakebench import Machine, env_of, tiers_of
from kmtools.cli import main
from kmtools.lab import accel
from kmtools.lab.accel import Accel
from kmtools.measure import bench, benchmark_names, benchrun, choice, guest, native
from kmtools.measure.guest import NONE_LIVE, Live, settings
from kmtools.measure.progress_json import Events
from nativeprograms import kmbench

GUEST_JOB = Path(__file__).resolve().parents[2] / "scripts" / "guest" / "bench.sh"
LIST = "loop: none none-clone x y\nother: base base-clone z\n"
TABLE = """found,benchmark,variants
,loop,none none-clone x
native,loop,y
native,other,base base-clone z
kernel,getppid-copy-quiet,base base-clone
,getppid-quiet,base base-clone
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine on which everything works; its kmbench lists two benchmarks."""
    program = tmp_path / "kmbench"
    program.write_text(f"#!/bin/sh\nprintf '{LIST}'\n")
    program.chmod(0o755)
    monkeypatch.setattr(native, "KMBENCH", program)
    table = tmp_path / "benchmarks.csv"
    table.write_text(TABLE)
    monkeypatch.setattr(benchmark_names, "TABLE", table)
    return Machine(tmp_path, monkeypatch)


def test_chosen_tiers_alone_are_measured_and_need_no_root(machine: Machine) -> None:
    machine.trouble["root"] = AssertionError("asked for root")
    assert machine.bench("--tiers", "native") == 0
    (run,) = machine.runs()
    assert tiers_of(run) == ["native"] and env_of(run)["missing"] == []
    assert "packages" not in machine.done


def test_chosen_variants_come_with_their_baseline_and_its_clone(machine: Machine) -> None:
    assert machine.bench("--tiers", "native", "--variants", "none-c*") == 0
    (run,) = machine.runs()
    lines = (run / "samples.csv").read_text().splitlines()[2:]
    assert {line.split(",")[4] for line in lines} == {"none", "none-clone"}


@pytest.mark.parametrize(
    ("accelerator", "emulated", "times"), [("tcg", True, 1), ("kvm", True, 1), ("kvm", False, 20)]
)
def test_a_guest_with_real_cycles_measures_as_much_as_they_need(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    accelerator: str,
    emulated: bool,
    times: int,
) -> None:
    told: dict[str, dict[str, Any]] = {}

    def in_kernel(tier: str, *places: object, **words: Any) -> None:
        told[tier] = words
        machine.at(tier, Path(str(places[2])))

    monkeypatch.setattr(guest, "measure", in_kernel)
    monkeypatch.setattr(bench, "usable_accel", lambda *_: Accel(accelerator))
    monkeypatch.setattr(accel, "is_emulated", lambda _: emulated)
    for words in (("--quick",), ()):
        planned = (bench.QUICK if words else bench.FULL)["vm"]
        assert machine.bench("--tiers", "vm,icount", *words) == 0
        assert told["vm"]["blocks"] == planned * times
        assert told["icount"]["blocks"] == (bench.QUICK if words else bench.FULL)["icount"]
    live = ("getppid-quiet", "getppid-pressure", "macro-ping", "macro-hackbench")
    assert told["vm"]["live"].benchmarks == list(live[:2] if times == 1 else live)
    for blocks in (7, bench.FULL["vm"]):
        assert machine.bench("--tiers", "vm", "--blocks", str(blocks)) == 0
        assert told["vm"]["blocks"] == blocks


def test_what_is_chosen_reaches_every_tier(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, dict[str, object]] = {}

    def in_user_space(raw: Path, **words: object) -> None:
        told["native"] = words
        machine.in_user_space(raw)

    def in_kernel(tier: str, *places: object, **words: object) -> None:
        told[tier] = words
        machine.at(tier, Path(str(places[2])))

    monkeypatch.setattr(native, "measure", in_user_space)
    monkeypatch.setattr(guest, "measure", in_kernel)
    words = ("--benchmarks", "lo*,other", "--variants", "x", "--blocks", "12", "--budget", "2m")
    assert machine.bench(*words) == 0
    assert told["native"]["benchmarks"] == ["loop"]
    assert (told["native"]["blocks"], told["native"]["budget"]) == (12, 120)
    assert told["vm"]["benchmarks"] == told["icount"]["benchmarks"] == ["lo*", "other"]
    assert (told["vm"]["blocks"], told["icount"]["blocks"]) == (12, 12)
    assert told["vm"]["live"] == told["icount"]["live"] == NONE_LIVE
    assert machine.bench("--benchmarks", "getppid-*,loop", "--tiers", "vm") == 0
    assert told["vm"]["live"] == Live(bench.FULL["vm live"], ["getppid-quiet", "getppid-pressure"])


def test_live_benchmarks_are_chosen_for_their_tiers() -> None:
    """By patterns, as all others; a quick run has none of whole operations."""

    def live(quick: bool, tier: str, wanted: list[str]) -> Live:
        plan = bench.plan(["vm", "icount"], "6.1", 1, quick, {"benchmarks": wanted})
        run = benchrun.Run(Path("nowhere"), plan)
        return bench.Bench(run, print, Events(None), None, lambda _: None).live(tier)

    assert live(False, "icount", []) == Live(4, ["macro-ping", "macro-hackbench"])
    assert live(False, "icount", ["macro-p*", "loop"]) == Live(4, ["macro-ping"])
    assert live(False, "vm", ["macro-*"]) == live(True, "icount", []) == NONE_LIVE
    assert settings(3, 1, Live(4, ["macro-ping"])).splitlines()[2] == "live 4 macro-ping"
    assert settings(3, 1).splitlines()[2] == "live 0"


def test_a_resumed_run_keeps_what_was_chosen(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.trouble["icount"] = KeyboardInterrupt()
    words = ("--tiers", "native,icount", "--benchmarks", "loop", "--blocks", "7")
    assert machine.bench(*words) == 130
    (run,) = machine.runs()
    machine.trouble.clear()
    assert machine.bench("--resume", run.name, "--blocks", "8") == 2
    assert "its amounts is" in capsys.readouterr().err
    assert machine.bench("--resume", run.name, "--benchmarks", "other") == 2
    assert "its benchmarks is ['loop'], and what was asked" in capsys.readouterr().err
    assert machine.bench("--resume", run.name) == 0
    assert tiers_of(run) == ["native", "icount"] and "vm" not in machine.done


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--tiers", "native", "--benchmarks", "memory"),
            "no benchmark in user space matches 'memory'; there are loop, other, getppid-quiet",
        ),
        (
            ("--variants", "none,w"),
            "no variant matches 'w'; there are none, none-clone, x, y, base",
        ),
        (
            ("--tiers", "native", "--benchmarks", "other", "--variants", "x"),
            "no variant of other matches 'x'; there are base, base-clone, z",
        ),
        (
            ("--tiers", "vm,icount", "--benchmarks", "loop,other"),
            "no benchmark in vm, icount matches 'other'; there are loop, getppid-copy-quiet",
        ),
        (("--host", "--variants", "w*"), "matches 'w*'"),
        (("--tiers", "vm", "--variants", "y"), "matches 'y'; there are none, none-clone, x, base"),
    ],
)
def test_a_pattern_that_matches_nothing_is_named_before_any_setup(
    machine: Machine, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert machine.bench(*words) == 2
    assert said in capsys.readouterr().err
    assert machine.done == [] and machine.runs() == []


def test_the_names_are_those_of_the_programs(native_programs: None) -> None:
    """The table has what kmbench lists; what a test kernel has is compared by counts.py."""
    done = kmbench("list")
    listed = choice.listed(done.stdout)
    # Peers are found only where their packages are.
    missing = tuple(f"{peer}-" for peer in re.findall(r"SKIP ([\w-]+): not built", done.stderr))
    table = benchmark_names.read({benchmark_names.NATIVE})
    assert list(table) == list(listed)
    assert {
        name: sorted(one for one in own if not one.startswith(missing))
        for name, own in table.items()
    } == {name: sorted(own) for name, own in listed.items()}
    names = {("empty-loop", "none"), ("peers-dormant", "flag"), ("arm-scaling", "stores-alone")}
    assert benchmark_names.unlisted(names, benchmark_names.KERNEL) == ["arm-scaling:stores-alone"]
    assert benchmark_names.unlisted(names, benchmark_names.NATIVE) == ["peers-dormant:flag"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--tiers", "native,cloud"), "'cloud' is no tier; the tiers are native, metal"),
        (("--tiers", ""), "'' is no tier"),
        (("--tiers", "metal"), "metal is not measured, but native, vm, icount"),
        (("--host", "--tiers", "vm"), "vm is not measured with --host, but native, metal"),
        (("--benchmarks", "a b"), "'a b' is no pattern"),
        (("--benchmarks", "loop,"), "'' is no pattern"),
        (("--variants", "$(x)"), "'$(x)' is no pattern"),
        (("--blocks", "0"), "'0' is no whole number from 1 to 100000"),
        (("--blocks", "100001"), "'100001' is no whole number"),
        (("--blocks", "many"), "'many' is no whole number"),
        (("--seed", "-1"), "'-1' is no whole number from 0"),
        (("--seed", "5000000000"), "is no whole number"),
        (("--budget", "0"), "'0' is no time such as"),
        (("--budget", "5d"), "'5d' is no time such as"),
        (("--progress", "/no/such/folder/file"), "--progress /no/such/folder/file: "),
    ],
)
def test_a_bad_value_is_named_and_nothing_is_measured(
    machine: Machine, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: object = main(["bench", *words])
    except SystemExit as error:
        code = error.code
    assert code == 2
    assert said in capsys.readouterr().err
    assert machine.done == [] and machine.runs() == []


def test_progress_is_lines_of_json(machine: Machine, tmp_path: Path) -> None:
    machine.trouble["fetch"] = OSError("gone")
    file = tmp_path / "progress"
    assert machine.bench("--progress", str(file)) == 2
    told = [json.loads(line) for line in file.read_text().splitlines()]
    assert all({"event", "seconds"} <= one.keys() for one in told)
    steps = [one for one in told if one["event"] == "step"]
    assert [one["number"] for one in steps] == list(range(1, len(steps) + 1))
    tiers = {one["tier"]: one["measured"] for one in told if one["event"] == "tier"}
    assert tiers == {"native": True, "vm": False, "icount": False}
    (run,) = machine.runs()
    assert told[-1]["event"] == "end"
    assert (told[-1]["code"], told[-1]["run"]) == (2, str(run))


def test_a_reader_of_progress_that_leaves_ends_nothing(machine: Machine, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    machine.trouble["native"] = lambda _: os.close(reader)
    assert machine.bench("--tiers", "native", "--progress", str(pipe)) == 0


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("5m", 300), ("1h", 3600)])
def test_times_have_units(text: str, seconds: int) -> None:
    assert choice.budget(text) == seconds


def test_the_guest_starts_the_benchmarks_that_match(tmp_path: Path) -> None:
    """The part of its job that chooses, with a folder in place of debugfs."""
    job = GUEST_JOB.read_text()
    part = job[job.index("# refuse WHY") : job.index('if [ -n "$own" ]; then\n\tbefore')]
    part += job[job.index("for samples in") : job.index('if [ -z "$patterns" ]')]
    for name in ("density-empty", "density-full", "cold-branch", "config"):
        (tmp_path / name).mkdir()
        if name != "config":
            (tmp_path / name / "samples").touch()

    def names(patterns: str, before: str = "") -> tuple[int, str]:
        own = f"own=/own owned=mine before=' {before} '" if before else "own="
        text = f"bench={tmp_path}\npatterns='{patterns}'\nlive=0\n{own}\n{part}\necho $names\n"
        done = subprocess.run(
            ["sh", "-c", text], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        return done.returncode, done.stdout.strip()

    refused = "bench: not measured:"
    assert names("density-* c*") == (0, "cold-branch density-empty density-full")
    assert names("*-full") == (0, "density-full")
    assert names("") == (0, "")
    assert names("*", before="config density-empty density") == (0, "cold-branch density-full")
    there = "cold-branch density-empty density-full"
    assert names("*", before=there) == (1, f"{refused} mine adds no benchmark")
    none = f"{refused} no benchmark of mine matches"
    assert names("x", before="config") == (1, f"{none} x")
    assert names("c* x* density-*", before="config") == (1, f"{none} x*")
    assert names("memcpy-*") == (1, f"{refused} no benchmark in this kernel matches memcpy-*")
