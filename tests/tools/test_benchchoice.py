# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers bench` options: benchmarks that are chosen, progress that is shown, and values
that are refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
from argparse import ArgumentTypeError
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import rawdata
from fakebench import Machine, read_env_json_run_entry, read_sampled_tiers
from kmtools.base.errors import UnableError
from kmtools.cli import main
from kmtools.lab import accel
from kmtools.lab.accel import Accel
from kmtools.measure import (
    bench,
    benchmark_names,
    benchrun,
    caches,
    choice,
    guest,
    native,
    progress_json,
)
from kmtools.measure.guest import NO_LIVE_BENCHMARKS, LiveBenchmarks, make_guest_settings
from kmtools.measure.progress_json import Events
from nativeprograms import run_kmbench

GUEST_JOB = Path(__file__).resolve().parents[2] / "scripts" / "guest" / "bench.sh"
LIST = "loop: none none-clone x y\nother: base base-clone z\n"
TABLE = """found,benchmark,variants
,loop,none none-clone x
native,loop,y
native,other,base base-clone z
kernel,getppid-copy-quiet,base base-clone
,getppid-quiet,base base-clone
kernel,macro-ping,absent absent-clone
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a fake machine on which all steps succeed, and whose kmbench has two benchmarks."""
    program = tmp_path / "kmbench"
    program.write_text(f"#!/bin/sh\nprintf '{LIST}'\n")
    program.chmod(0o755)
    monkeypatch.setattr(native, "KMBENCH", program)
    table = tmp_path / "benchmarks.csv"
    table.write_text(TABLE)
    monkeypatch.setattr(benchmark_names, "TABLE", table)
    return Machine(tmp_path, monkeypatch)


def test_only_chosen_tiers_are_measured_and_native_needs_no_root(machine: Machine) -> None:
    machine.trouble["root"] = AssertionError("asked for root")
    assert machine.run_bench("--tiers", "native") == 0
    (run,) = machine.list_runs()
    assert read_sampled_tiers(run) == ["native"] and read_env_json_run_entry(run)["missing"] == []
    assert "packages" not in machine.done


def test_baseline_and_clone_are_measured_with_chosen_variants(machine: Machine) -> None:
    assert machine.run_bench("--tiers", "native", "--variants", "none-c*") == 0
    (run,) = machine.list_runs()
    lines = (run / "samples.csv").read_text().splitlines()[2:]
    assert {line.split(",")[4] for line in lines} == {"none", "none-clone"}


@pytest.mark.parametrize(("accelerator", "emulated"), [("tcg", True), ("kvm", True)])
def test_emulated_test_kernel_is_booted_once(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    accelerator: str,
    emulated: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The line that names the accelerator comes before the benchmarks. A test kernel that counts
    instructions is also booted once."""
    told, usual = measure_tiers_vm_and_icount(machine, monkeypatch, accelerator, emulated, capsys)
    assert {tier: len(calls) for tier, calls in told.items()} == {"vm": 1, "icount": 1}
    assert usual == "1 to 2 minutes"
    assert told["vm"][0]["memory"] == 1024 and told["vm"][0]["seconds"] == 900
    assert told["vm"][0]["accelerator"] is None
    assert told["vm"][0]["live"] == LiveBenchmarks(8, ["getppid-quiet", "getppid-pressure"])
    assert told["vm"][0]["more_env_lines"] == ""
    (run,) = machine.list_runs()
    assert not list((run / "raw").rglob("process-*"))


def test_test_kernel_under_kvm_is_booted_until_its_rows_are_resolved(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each boot has a seed of its own. The rows are first judged after 16 boots, and are resolved
    at once, because the samples have no noise. The live benchmarks are the same as on a real
    processor."""
    told, usual = measure_tiers_vm_and_icount(machine, monkeypatch, "kvm", False, capsys)
    assert [words["seed"] for words in told["vm"]] == [*range(1, 17)]
    assert len(told["icount"]) == 1 and told["icount"][0]["memory"] == 1024
    assert usual == "5 minutes"
    live = ["getppid-quiet", "getppid-pressure", "macro-ping", "macro-hackbench"]
    for words in told["vm"]:
        assert words["memory"] == 3072 and words["live"] == LiveBenchmarks(8, live)
        assert words["accelerator"] == "kvm" and words["seconds"] == 1800
        assert words["more_env_lines"] == "planned_processes=16\nlooks=1\n"
    (run,) = machine.list_runs()
    boots = {path.name for path in (run / "raw" / "vm").iterdir()}
    assert boots == {f"process-{number}" for number in range(1, 17)}
    assert not list((run / "raw" / "icount").glob("process-*"))
    lines = (run / "samples.csv").read_text().splitlines()[2:]
    assert {line.split(",")[2] for line in lines if line.startswith("vm")} == {
        str(number) for number in range(1, 17)
    }


def measure_tiers_vm_and_icount(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    accelerator: str,
    emulated: bool,
    capsys: pytest.CaptureFixture[str],
) -> tuple[dict[str, list[dict[str, Any]]], str]:
    """Measure the tiers vm and icount with `accelerator`, on a machine that is `emulated` or real.
    Return the arguments of each call of measure_in_test_kernel(), keyed by tier, and the usual
    duration that was printed for vm."""
    told: dict[str, list[dict[str, Any]]] = defaultdict(list)

    def record_kernel_measurement(tier: str, *places: object, **words: Any) -> None:
        told[tier].append(words)
        machine.record_step(tier, Path(str(places[2])))

    found = Accel(accelerator, "" if accelerator == "kvm" else "a reason")
    monkeypatch.setattr(guest, "measure_in_test_kernel", record_kernel_measurement)
    monkeypatch.setattr(bench, "find_usable_accel", lambda *_: found)
    monkeypatch.setattr(accel, "is_machine_emulated", lambda **_: emulated)
    monkeypatch.setattr(caches, "choose_guest_memory", lambda: 3072)
    assert machine.run_bench("--tiers", "vm,icount") == 0
    for tier, calls in told.items():
        assert {words["blocks"] for words in calls} == {bench.FULL[tier]}
    said = capsys.readouterr().out
    assert said.count(f"           {found.boot_message}\n") == 1
    assert said.index(found.boot_message) < said.index("vm: booting")
    assert "icount: booting 6.1 and measuring in it (usually half a minute)" in said
    usual = re.search(r"vm: booting 6.1 and measuring in it \(usually (.*)\)", said)
    assert usual is not None
    return told, usual[1]


@pytest.mark.parametrize(
    ("arguments", "boots", "blocks", "live", "usual"),
    [
        (("--quick",), 2, 8, 4, " (usually half a minute)"),
        (("--blocks", "7"), 16, 7, 7, ""),
        (("--blocks", "24", "--quick"), 2, 24, 24, ""),
        (("--budget", "1h"), 16, 24, 8, ""),
    ],
)
def test_bench_options_apply_to_each_boot_under_kvm(
    arguments: Sequence[str],
    boots: int,
    blocks: int,
    live: int,
    usual: str,
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A quick run boots twice, judges no rows between the boots, and measures few benchmarks."""
    told: list[dict[str, Any]] = []

    def record_kernel_measurement(tier: str, *places: object, **arguments: Any) -> None:
        told.append(arguments)
        machine.record_step(tier, Path(str(places[2])))

    monkeypatch.setattr(guest, "measure_in_test_kernel", record_kernel_measurement)
    monkeypatch.setattr(bench, "find_usable_accel", lambda *_: Accel("kvm"))
    monkeypatch.setattr(accel, "is_machine_emulated", lambda **_: False)
    assert machine.run_bench("--tiers", "vm", *arguments) == 0
    assert len(told) == boots
    for one in told:
        assert (one["blocks"], one["live"].blocks) == (blocks, live)
        assert len(one["live"].benchmarks) == 4
        quick = [*bench.QUICK_GUEST_BENCHMARKS, *one["live"].benchmarks]
        assert [*one["benchmarks"]] == (quick if "--quick" in arguments else [])
        assert ("looks=1" in one["more_env_lines"]) == ("--quick" not in arguments)
    assert f"vm: booting 6.1 and measuring in it{usual}\n" in capsys.readouterr().out


def test_chosen_variants_choose_the_benchmarks_of_a_kernel(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only benchmarks that have a chosen variant in benchmarks.csv are measured, because boots are
    repeated until all measured rows are resolved."""
    told: list[dict[str, Any]] = []

    def record_kernel_measurement(tier: str, *places: object, **words: Any) -> None:
        told.append(words)
        machine.record_step(tier, Path(str(places[2])))

    names = {"a": ["none", "x"], "b": ["none", "y"], "getppid-quiet": ["none", "x"]}
    monkeypatch.setattr(benchmark_names, "read_benchmark_names", lambda _: names)
    monkeypatch.setattr(guest, "measure_in_test_kernel", record_kernel_measurement)
    for words, wanted in (((), ["a", "getppid-quiet"]), (("--benchmarks", "get*,b"), None)):
        assert machine.run_bench("--tiers", "vm", "--variants", "x*", *words) == 0
        assert told[-1]["benchmarks"] == (wanted or ["getppid-quiet"])
        assert told[-1]["live"].benchmarks == ["getppid-quiet"]


def test_kernel_without_a_chosen_variant_is_not_booted(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run has the tier native alone, and says why the other tiers are not measured. No kernel
    is fetched."""
    names = {"empty-loop": ["none"]}
    monkeypatch.setattr(benchmark_names, "read_benchmark_names", lambda _: names)
    monkeypatch.setattr(benchmark_names, "require_tier_patterns_match", lambda *_: None)
    monkeypatch.setattr(choice, "select_matching_benchmarks", lambda *_, **__: ["loop"])
    assert machine.run_bench("--variants", "x") == 2
    why = "vm and icount not measured: no variant matches 'x'; the variants are none"
    assert f"bench: {why}\n" in capsys.readouterr().err
    assert "native" in machine.done and "fetch" not in machine.done
    assert "modules" not in machine.done
    (run,) = machine.list_runs()
    assert read_sampled_tiers(run) == ["native"]


def test_tier_without_a_chosen_variant_does_not_end_the_run(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program may list a variant that it cannot measure on this machine. The samples of the tier
    are kept aside, and the next tier is measured."""
    monkeypatch.setattr(benchmark_names, "require_tier_patterns_match", lambda *_: None)
    monkeypatch.setattr(choice, "select_matching_benchmarks", lambda *_, **__: ["loop"])
    monkeypatch.setattr(benchmark_names, "read_benchmark_names", lambda _: {"loop": ["x", "y"]})
    loop = rawdata.Bench("loop", {"none": 2.0, "none-clone": 2.0, "y": 3.0})

    def write_samples_of_y(raw: Path) -> None:
        rawdata.write_raw_folder(raw, blocks=2, benches=[loop])

    machine.trouble["vm"] = write_samples_of_y
    assert machine.run_bench("--variants", "y", "--tiers", "native,vm") == 1
    (run,) = machine.list_runs()
    assert f"collect: {run}/raw/native: no variant matches y\n" in capsys.readouterr().err
    assert (run / "raw" / "native.refused-1").is_dir()
    assert read_sampled_tiers(run) == ["vm"]


def test_macro_benchmark_is_refused_in_an_emulated_test_kernel(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The macro benchmark is refused before the test kernel boots. If other benchmarks are chosen
    as well, a message says that the macro benchmark is not measured."""
    why = "macro-ping: measured only in a test kernel under KVM or by `make bench-host`"
    assert machine.run_bench("--tiers", "vm,icount", "--benchmarks", "macro-*") == 2
    assert f"bench: vm not measured: {why}, because times of emulated" in capsys.readouterr().err
    assert "vm" not in machine.done and "icount" in machine.done
    assert machine.run_bench("--tiers", "vm", "--benchmarks", "macro-*,loop") == 0
    assert f" not measured: {why}\n" in capsys.readouterr().out
    for words in ((), ("--benchmarks", "loop")):
        assert machine.run_bench("--tiers", "vm", *words) == 0
        assert "macro-ping" not in capsys.readouterr().out
    monkeypatch.setattr(bench, "find_usable_accel", lambda *_: Accel("kvm"))
    monkeypatch.setattr(accel, "is_machine_emulated", lambda **_: False)
    assert machine.run_bench("--tiers", "vm", "--benchmarks", "macro-*") == 0
    assert "vm" in machine.done and "not measured" not in capsys.readouterr().out


def test_choice_of_benchmarks_is_passed_to_every_tier(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, dict[str, object]] = {}

    def record_native_measurement(raw: Path, **words: object) -> None:
        told["native"] = words
        machine.record_native_step(raw)

    def record_kernel_measurement(tier: str, *places: object, **words: object) -> None:
        told[tier] = words
        machine.record_step(tier, Path(str(places[2])))

    monkeypatch.setattr(native, "measure_processes", record_native_measurement)
    monkeypatch.setattr(guest, "measure_in_test_kernel", record_kernel_measurement)
    words = ("--benchmarks", "lo*,other", "--variants", "x", "--blocks", "12", "--budget", "2m")
    assert machine.run_bench(*words) == 0
    assert told["native"]["benchmarks"] == ["loop"]
    assert (told["native"]["blocks"], told["native"]["budget"]) == (12, 120)
    assert told["vm"]["benchmarks"] == told["icount"]["benchmarks"] == ["loop"]
    assert (told["vm"]["blocks"], told["icount"]["blocks"]) == (12, 12)
    assert told["vm"]["live"] == told["icount"]["live"] == NO_LIVE_BENCHMARKS
    assert machine.run_bench("--benchmarks", "getppid-*,loop", "--tiers", "vm") == 0
    assert told["vm"]["live"] == LiveBenchmarks(
        bench.FULL["vm live"], ["getppid-quiet", "getppid-pressure"]
    )


def test_live_benchmarks_depend_on_tier_and_patterns() -> None:
    """A pattern can select a live benchmark, which runs a program against the code of the kernel.
    Macro benchmarks are live benchmarks of whole programs. Emulated test kernels measure macro
    benchmarks only in full runs of the tier icount."""

    def select_live_of_plan(quick: bool, tier: str, wanted: list[str]) -> LiveBenchmarks:
        plan = bench.make_run_plan(["vm", "icount"], "6.1", 1, quick, {"benchmarks": wanted})
        run = benchrun.Run(Path("nowhere"), plan)
        work = bench.Bench(run, print, Events(None), None, lambda *_: None)
        return work.select_live_benchmarks(tier, wanted)

    assert select_live_of_plan(False, "icount", []) == LiveBenchmarks(
        4, ["macro-ping", "macro-hackbench"]
    )
    assert select_live_of_plan(False, "icount", ["macro-p*", "loop"]) == LiveBenchmarks(
        4, ["macro-ping"]
    )
    assert (
        select_live_of_plan(False, "vm", ["macro-*"])
        == select_live_of_plan(True, "icount", [])
        == NO_LIVE_BENCHMARKS
    )
    assert (
        make_guest_settings(3, 1, LiveBenchmarks(4, ["macro-ping"])).splitlines()[2]
        == "live 4 macro-ping"
    )
    assert make_guest_settings(3, 1).splitlines()[2] == "live 0"


def test_resumed_run_keeps_chosen_tiers_and_benchmarks(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.trouble["icount"] = KeyboardInterrupt()
    words = ("--tiers", "native,icount", "--benchmarks", "loop", "--blocks", "7")
    assert machine.run_bench(*words) == 130
    (run,) = machine.list_runs()
    machine.trouble.clear()
    assert machine.run_bench("--resume", run.name, "--blocks", "8") == 2
    assert "its amounts is" in capsys.readouterr().err
    assert machine.run_bench("--resume", run.name, "--benchmarks", "other") == 2
    assert "its benchmarks is ['loop'], but ['other'] was requested" in capsys.readouterr().err
    assert machine.run_bench("--resume", run.name) == 0
    assert read_sampled_tiers(run) == ["native", "icount"] and "vm" not in machine.done


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("--tiers", "native", "--benchmarks", "memory"),
            "no benchmark in user space matches 'memory'; the benchmarks are loop, other",
        ),
        (
            ("--variants", "none,w"),
            "no variant matches 'w'; the variants are none, none-clone, x, y, base",
        ),
        (
            ("--tiers", "native", "--benchmarks", "other", "--variants", "x"),
            "no variant of other matches 'x'; the variants are base, base-clone, z",
        ),
        (
            ("--tiers", "vm,icount", "--benchmarks", "loop,other"),
            "no benchmark in vm, icount matches 'other'; the benchmarks are loop, getppid",
        ),
        (("--host", "--variants", "w*"), "matches 'w*'"),
        (
            ("--tiers", "vm", "--variants", "y"),
            "matches 'y'; the variants are none, none-clone, x, base",
        ),
    ],
)
def test_pattern_without_match_is_reported_before_setup(
    machine: Machine, arguments: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert machine.run_bench(*arguments) == 2
    assert expected in capsys.readouterr().err
    assert machine.done == [] and machine.list_runs() == []


def test_benchmarks_csv_matches_kmbench_list(native_programs: None) -> None:
    """The table contains all names that kmbench lists. The suite `counts` checks the names of
    benchmarks that run in a kernel."""
    done = run_kmbench("list")
    listed = choice.parse_benchmark_list(done.stdout)
    # Peers (other tracers) are listed only if their packages are installed.
    missing = tuple(f"{peer}-" for peer in re.findall(r"SKIP ([\w-]+): not built", done.stderr))
    table = benchmark_names.read_benchmark_names({benchmark_names.NATIVE})
    assert list(table) == list(listed)
    assert {
        name: sorted(one for one in own if not one.startswith(missing))
        for name, own in table.items()
    } == {name: sorted(own) for name, own in listed.items()}
    names = {("empty-loop", "none"), ("peers-dormant", "flag"), ("arm-scaling", "stores-alone")}
    assert benchmark_names.find_unlisted_variants(names, benchmark_names.KERNEL) == [
        "arm-scaling:stores-alone"
    ]
    assert benchmark_names.find_unlisted_variants(names, benchmark_names.NATIVE) == [
        "peers-dormant:flag"
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--tiers", "native,cloud"), "'cloud' is no tier; the tiers are native, metal"),
        (("--tiers", ""), "'' is no tier"),
        (
            ("--tiers", "metal"),
            "tier metal is not measured without --host; choose from native, vm, icount",
        ),
        (("--host", "--tiers", "vm"), "vm is not measured with --host; choose from native, metal"),
        (("--benchmarks", "a b"), "'a b' is not a pattern"),
        (("--benchmarks", "loop,"), "'' is not a pattern"),
        (("--variants", "$(x)"), "'$(x)' is not a pattern"),
        (("--blocks", "0"), "'0' is not a whole number from 1 to 100000"),
        (("--blocks", "100001"), "'100001' is not a whole number"),
        (("--blocks", "many"), "'many' is not a whole number"),
        (("--seed", "-1"), "'-1' is not a whole number from 0"),
        (("--seed", "5000000000"), "is not a whole number"),
        (("--budget", "0"), "'0' is not a time such as"),
        (("--budget", "5d"), "'5d' is not a time such as"),
        (("--progress", "/no/such/folder/file"), "--progress /no/such/folder/file: "),
    ],
)
def test_invalid_bench_option_is_reported_and_nothing_is_measured(
    machine: Machine, arguments: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: object = main(["bench", *arguments])
    except SystemExit as error:
        code = error.code
    assert code == 2
    assert expected in capsys.readouterr().err
    assert machine.done == [] and machine.list_runs() == []


def test_bench_progress_file_has_lines_of_json(machine: Machine, tmp_path: Path) -> None:
    machine.trouble["fetch"] = OSError("gone")
    file = tmp_path / "progress"
    assert machine.run_bench("--progress", str(file)) == 2
    told = [json.loads(line) for line in file.read_text().splitlines()]
    assert all({"event", "seconds"} <= one.keys() for one in told)
    steps = [one for one in told if one["event"] == "step"]
    assert [one["number"] for one in steps] == list(range(1, len(steps) + 1))
    tiers = {one["tier"]: one["measured"] for one in told if one["event"] == "tier"}
    assert tiers == {"native": True, "vm": False, "icount": False}
    (run,) = machine.list_runs()
    assert told[-1]["event"] == "end"
    assert (told[-1]["code"], told[-1]["run"]) == (2, str(run))


def test_bench_progress_events_have_seconds_since_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings = iter([1000.0, 1000.0, 1002.5004, 1062.25])
    monkeypatch.setattr(progress_json, "time", SimpleNamespace(monotonic=readings.__next__))
    file = tmp_path / "progress"
    events = Events(str(file))
    for event in ("step", "share", "end"):
        events.write_event(event)
    told = [json.loads(line)["seconds"] for line in file.read_text().splitlines()]
    assert told == [0.0, 2.5, 62.25]


def test_closed_bench_progress_pipe_does_not_end_the_run(machine: Machine, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    machine.trouble["native"] = lambda _: os.close(reader)
    assert machine.run_bench("--tiers", "native", "--progress", str(pipe)) == 0


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("5m", 300), ("1h", 3600)])
def test_time_budget_is_parsed_with_units(text: str, seconds: int) -> None:
    assert choice.parse_time_budget(text) == seconds


def test_guest_script_selects_matching_benchmarks(tmp_path: Path) -> None:
    """Run the part of bench.sh that chooses benchmarks, with a directory in place of debugfs."""
    job = GUEST_JOB.read_text()
    part = job[job.index("# refuse_to_measure WHY") : job.index('if [ -n "$own" ]; then\n\tbefore')]
    part += job[job.index("for samples in") : job.index('if [ -z "$patterns" ]')]
    for name in ("density-empty", "density-full", "cold-branch", "config"):
        (tmp_path / name).mkdir()
        if name != "config":
            (tmp_path / name / "samples").touch()

    def run_benchmark_choice_of_bench_sh(patterns: str, before: str = "") -> tuple[int, str]:
        own = f"own=/own owned=mine before=' {before} '" if before else "own="
        text = f"bench={tmp_path}\npatterns='{patterns}'\nlive=0\n{own}\n{part}\necho $names\n"
        done = subprocess.run(
            ["sh", "-c", text], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        return done.returncode, done.stdout.strip()

    refused = "bench: not measured:"
    assert run_benchmark_choice_of_bench_sh("density-* c*") == (
        0,
        "cold-branch density-empty density-full",
    )
    assert run_benchmark_choice_of_bench_sh("*-full") == (0, "density-full")
    assert run_benchmark_choice_of_bench_sh("") == (0, "")
    assert run_benchmark_choice_of_bench_sh("*", before="config density-empty density") == (
        0,
        "cold-branch density-full",
    )
    there = "cold-branch density-empty density-full"
    assert run_benchmark_choice_of_bench_sh("*", before=there) == (
        1,
        f"{refused} mine adds no benchmark",
    )
    none = f"{refused} no benchmark of mine matches"
    assert run_benchmark_choice_of_bench_sh("x", before="config") == (1, f"{none} x")
    assert run_benchmark_choice_of_bench_sh("c* x* density-*", before="config") == (1, f"{none} x*")
    assert run_benchmark_choice_of_bench_sh("memcpy-*") == (
        1,
        f"{refused} no benchmark in this kernel matches memcpy-*",
    )


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (choice.parse_block_count, "1", 1),
        (choice.parse_block_count, "100000", 100_000),
        (choice.parse_seed, "0", 0),
        (choice.parse_seed, "4294967295", 4_294_967_295),
        (choice.parse_seed, "4294967296", None),
        (choice.parse_block_count, "\u0663", None),
        (choice.parse_block_count, "", None),
        (choice.parse_time_budget, "999999h", 3_599_996_400),
        (choice.parse_time_budget, "1000000", None),
        (choice.parse_time_budget, "1", 1),
        (choice.parse_time_budget, "0m", None),
        (choice.parse_time_budget, "m", None),
    ],
)
def test_option_values_are_accepted_up_to_their_limits(
    parse: Callable[[str], int], text: str, value: int | None
) -> None:
    if value is not None:
        assert parse(text) == value
        return
    with pytest.raises(ArgumentTypeError, match=f"'{text}' is not a "):
        parse(text)


@pytest.mark.parametrize(
    ("benchmarks", "variants", "chosen"),
    [
        ([], [], []),
        (["*o*"], [], ["loop", "other"]),
        (["other", "lo*"], [], ["loop", "other"]),
        ([], ["z"], ["other"]),
        (["*"], ["*-clone"], ["loop", "other"]),
        (["loop"], ["y"], ["loop"]),
    ],
)
def test_benchmarks_are_chosen_by_their_names_and_variants(
    tmp_path: Path, benchmarks: list[str], variants: list[str], chosen: list[str]
) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n[ $1 = list ] && printf '{LIST}'\n")
    program.chmod(0o755)
    assert choice.select_matching_benchmarks(program, benchmarks, variants) == chosen


@pytest.mark.parametrize(
    ("benchmarks", "variants"), [(["loop", "absent"], []), ([], ["y", "absent"])]
)
def test_pattern_without_a_match_is_refused_or_ignored(
    tmp_path: Path, benchmarks: list[str], variants: list[str]
) -> None:
    """A pattern without a match is ignored if the caller allows this and another pattern
    matches."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n[ $1 = list ] && printf '{LIST}'\n")
    program.chmod(0o755)
    with pytest.raises(UnableError, match="matches 'absent'"):
        choice.select_matching_benchmarks(program, benchmarks, variants)
    chosen = choice.select_matching_benchmarks(program, benchmarks, variants, require_all=False)
    assert chosen == ["loop"]
    with pytest.raises(UnableError, match="matches 'absent'"):
        choice.select_matching_benchmarks(program, benchmarks[1:], variants[1:], require_all=False)


@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        (["x"], ["a:none", "a:none-clone", "a:x"]),
        (["none"], ["a:none", "a:none-clone"]),
        (["y"], ["b:y"]),
        (["z", "x"], ["a:none", "a:none-clone", "a:x", "c:base", "c:base-clone", "c:z"]),
        (["base-clone"], ["c:base", "c:base-clone"]),
        (["w"], []),
    ],
)
def test_samples_of_baseline_and_clone_are_kept_with_chosen_variants(
    patterns: list[str], kept: list[str]
) -> None:
    """Benchmark b has no clone. Samples of benchmarks without a chosen variant are dropped."""
    names = ("a:none", "b:y", "a:none-clone", "c:base", "a:x", "a:w2", "c:base-clone", "c:z", "b:q")
    samples = [SimpleNamespace(benchmark=name[0], variant=name[2:]) for name in names]
    found = choice.select_samples_of_variants(samples, patterns)  # type: ignore[arg-type]
    assert sorted(f"{row.benchmark}:{row.variant}" for row in found) == kept


def test_variant_pattern_must_match_a_chosen_benchmark() -> None:
    """The variants of a benchmark may be in several lines of benchmarks.csv."""
    assert benchmark_names.get_kernel_or_native_space("native") == "native"
    assert {
        benchmark_names.get_kernel_or_native_space(tier) for tier in ("vm", "icount", "metal")
    } == {"kernel"}
    there = {"loop": ["none", "x"], "other": ["x", "z"]}
    for benchmarks, variants in ((["l*"], ["x", "no*"]), ([], ["z"]), (["o*", "l*"], ["none"])):
        benchmark_names.require_patterns_match(there, benchmarks, variants, "vm")
    with pytest.raises(UnableError) as refused:
        benchmark_names.require_patterns_match(there, [], ["x", "y"], "vm")
    assert str(refused.value) == "no variant matches 'y'; the variants are none, x, z"
    with pytest.raises(UnableError) as refused:
        benchmark_names.require_patterns_match(there, ["*"], ["y"], "vm")
    assert (
        str(refused.value) == "no variant of loop, other matches 'y'; the variants are none, x, z"
    )


@pytest.mark.parametrize(
    ("arguments", "titles"),
    [
        ((), ["kmbench", "native:", "packages", "fetching", "modules", "vm:", "icount:", ""]),
        (("--tiers", "native"), ["kmbench", "native:", ""]),
        (("--tiers", "vm"), ["kmbench", "packages", "fetching", "modules", "vm:", ""]),
    ],
)
def test_bench_progress_has_the_number_of_steps_from_the_start(
    machine: Machine, tmp_path: Path, arguments: tuple[str, ...], titles: list[str]
) -> None:
    file = tmp_path / "progress"
    assert machine.run_bench(*arguments, "--progress", str(file)) == 0
    told = [json.loads(line) for line in file.read_text().splitlines()]
    steps = [one for one in told if one["event"] == "step"]
    assert {one["of"] for one in steps} == {len(titles)}
    for step, title in zip(steps, titles, strict=False):
        assert title in step["text"]
    assert len(titles) - len(steps) <= 1


@pytest.mark.parametrize(
    ("quick", "chosen", "amounts"),
    [
        (False, {}, {"native": 128, "processes": 16, "icount": 4, "icount live": 4}),
        (True, {}, {"native": 40, "processes": 2, "icount": 2, "icount live": 0}),
        (False, {"blocks": 9}, {"native": 9, "processes": 16, "icount": 9, "icount live": 9}),
    ],
)
def test_plan_has_the_number_of_blocks_of_each_tier(
    monkeypatch: pytest.MonkeyPatch, quick: bool, chosen: dict[str, Any], amounts: dict[str, int]
) -> None:
    """The option for blocks replaces the number of blocks of each tier, and does not change the
    number of processes."""
    monkeypatch.setattr(benchrun, "identify_sources", lambda *words: {"words": words})
    monkeypatch.setattr(benchrun, "identify_machine", dict)
    more = {"program": "p", "module": "m", "budget": 7, "variants": ["v"]}
    plan = bench.make_run_plan(["native", "icount"], "6.1", 5, quick, {**chosen, **more})
    assert plan.amounts == amounts and plan.blocks == chosen.get("blocks", 0)
    assert (plan.program, plan.module, plan.budget, plan.variants) == ("p", "m", 7, ["v"])
    assert plan.source == {"words": ("p", "m")} and plan.benchmarks == []
