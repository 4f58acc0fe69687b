# SPDX-License-Identifier: GPL-2.0-only
"""Tests of measuring in user space by several processes of kmbench, one after the other."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import rawdata
from kmtools.base.errors import FailedError, UnableError
from kmtools.measure import choice, collect, disturbance, native, samples

HEAD = f"# schema=2\n{','.join(samples.RAW_COLUMNS)}\n"


# A fake kmbench that writes the samples of a block. With seed 2, it fails with exit code $EXIT and
# the message $SAYS, unless $EXIT is 0.
FAKE = (
    rawdata.READ_OPTIONS
    + r"""echo "$seed" >>"$HERE/ran"
mkdir -p "$out" && printf 'seed=%s\nkernel=k\n' "$seed" >"$out/env"
printf '%s' "$HEAD" >"$out/b.csv"
[ "$seed" = 2 ] && [ "$EXIT" != 0 ] && { echo "kmbench: $SAYS" >&2; exit "$EXIT"; }
echo "b,none,loop,0,0,1,0,10,,$seed,ticks,," >>"$out/b.csv"
echo "b,none,loop,0,0,1,0,20,,$seed,ticks,,preempted" >>"$out/b.csv"
echo "kmbench: [1/1] b: 1 of 1 windows in 0.0 s" >&2
"""
)


@pytest.fixture
def kmbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a directory with a fake kmbench whose second process fails."""
    fake = tmp_path / "kmbench"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    monkeypatch.setattr(native, "KMBENCH", fake)
    for name, value in (("HERE", tmp_path), ("HEAD", HEAD), ("SAYS", "no room"), ("EXIT", 1)):
        monkeypatch.setenv(name, str(value))
    return tmp_path


@pytest.mark.parametrize(("sleeps", "measured"), [(0, True), (1, True), (2, True), (3, False)])
def test_process_is_repeated_after_a_suspend(
    kmbench: Path,
    monkeypatch: pytest.MonkeyPatch,
    sleeps: int,
    measured: bool,
) -> None:
    """If the machine was suspended while a process measured, the process is repeated, and only the
    samples of the repetition are used. A third suspend is an error."""
    monkeypatch.setenv("EXIT", "0")
    said: list[str] = []
    left = [sleeps]
    read = disturbance.read_disturbance_counters

    def read_counters_with_suspends() -> disturbance.CounterSnapshot:
        ran = (kmbench / "ran").read_text().split() if (kmbench / "ran").exists() else []
        return replace(read(), asleep=100.0 * min(len(ran), left[0]))

    monkeypatch.setattr(disturbance, "read_disturbance_counters", read_counters_with_suspends)
    if not measured:
        with pytest.raises(FailedError, match="suspended while kmbench measured"):
            native.measure_processes(
                kmbench / "raw", blocks=1, processes=1, seed=5, say=said.append
            )
        assert not (kmbench / "raw").exists()
    else:
        native.measure_processes(kmbench / "raw", blocks=1, processes=1, seed=5, say=said.append)
        assert len(collect.load_raw_folder("native", kmbench / "raw").rows) == 2
    assert (kmbench / "ran").read_text().split() == ["5"] * min(3, sleeps + 1)
    assert said == [
        "native: the machine was suspended while kmbench measured; this process is measured again"
    ] * (min(2, sleeps))


def test_program_that_writes_no_samples_is_reported(tmp_path: Path) -> None:
    """A program that succeeds without writing samples, such as /bin/true, is reported."""
    with pytest.raises(FailedError, match="/bin/true left no samples: its command line differs"):
        native.measure_processes(
            tmp_path / "raw", blocks=1, processes=2, seed=5, program=Path("/bin/true")
        )
    assert not (tmp_path / "raw").exists()


def write_fake_kmbench(path: Path, body: str) -> Path:
    """Write a shell script that replaces kmbench."""
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "body",
    [
        "exec sleep 600",
        "while :; do echo lines without end >&2; done",
        "while :; do echo 'kmbench: [1/2] first: 1 of 1 windows' >&2; done",
        "sleep 30 & exit",
    ],
)
def test_hanging_program_is_killed(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program is killed if it prints nothing, prints endlessly, or leaves a process that holds
    the output open."""
    monkeypatch.setattr(native, "HANG_SECONDS", 1.0)
    monkeypatch.setattr(native, "HANG_SECONDS_PER_BLOCK", 0.0)
    program = write_fake_kmbench(tmp_path / "program", body)
    with pytest.raises(FailedError, match="program hangs: it completed no benchmark in 1 s"):
        native.measure_processes(tmp_path / "raw", blocks=1, processes=2, seed=5, program=program)
    assert not (tmp_path / "raw").exists()


def test_binary_output_is_reported(tmp_path: Path) -> None:
    body = 'while [ "$1" != --out ]; do shift; done; mkdir "$2"; printf "cpu=1\\n\\377" >"$2/env"'
    program = write_fake_kmbench(tmp_path / "program", f"printf '\\377\\n' >&2; {body}")
    with pytest.raises(FailedError, match="env: not text in UTF-8"):
        native.measure_processes(tmp_path / "raw", blocks=1, processes=1, seed=5, program=program)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("printf '\\377\\376: plain\\n'", "no benchmark in user space matches 'x'"),
        ("exec sleep 600", "program list does not end"),
        ("exec yes", "no benchmark in user space matches 'x'"),
    ],
)
def test_invalid_list_of_benchmarks_is_reported(
    body: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "LIST_SECONDS", 0.5)
    with pytest.raises(UnableError, match=why):
        choice.select_matching_benchmarks(write_fake_kmbench(tmp_path / "program", body), ["x"], [])


def test_awake_machine_is_not_reported_as_suspended() -> None:
    before = disturbance.read_disturbance_counters()
    assert not disturbance.was_suspended(before, disturbance.read_disturbance_counters())
    assert disturbance.was_suspended(before, replace(before, asleep=before.asleep + 1))


def test_no_process_starts_that_would_exceed_the_budget(
    kmbench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process does not start if it would end after the time limit. Each process takes ten
    seconds of a simulated clock."""
    monkeypatch.setenv("EXIT", "0")
    now = [0.0]

    def run_process(part: Path, _words: object, _show: object, more: str, *_: object) -> None:
        assert more == "planned_processes=9\n"
        part.mkdir()
        now[0] += 10

    monkeypatch.setattr(native, "run_kmbench", run_process)
    monkeypatch.setattr(native, "now", lambda: now[0])
    for name, budget, processes in (("a", 5, 1), ("b", 29, 2), ("c", 30, 3), ("d", 500, 9)):
        native.measure_processes(kmbench / name, blocks=1, processes=9, seed=1, budget=budget)
        assert len(list((kmbench / name).glob("process-*"))) == processes


def measure_three_processes(directory: Path) -> list[str]:
    """Measure with three processes of one block each; return the lines of progress."""
    shown: list[str] = []
    native.measure_processes(
        directory / "native",
        blocks=1,
        processes=3,
        seed=1,
        show=lambda done, total, text: shown.append(f"{done:g}/{total:g} {text}"),
    )
    return shown


def test_finished_processes_are_not_repeated(
    kmbench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FailedError, match="no room"):
        measure_three_processes(kmbench)
    assert not (kmbench / "native").exists()
    monkeypatch.setenv("EXIT", "0")
    assert measure_three_processes(kmbench) == ["2/3 process 2 of 3, b", "3/3 process 3 of 3, b"]
    assert (kmbench / "ran").read_text().split() == ["1", "2", "2", "3"]
    assert not (kmbench / "native.parts").exists()


def test_partial_samples_of_a_killed_process_are_not_used(
    kmbench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = kmbench / "native.parts" / "process-1.partial"
    left.mkdir(parents=True)
    (left / "stale.csv").write_text(HEAD)
    monkeypatch.setenv("EXIT", "0")
    measure_three_processes(kmbench)
    assert (kmbench / "ran").read_text().split() == ["1", "2", "3"]
    kept = sorted(path.name for path in (kmbench / "native").glob("*/*"))
    assert kept == ["b.csv"] * 3 + ["env"] * 3


def test_block_numbers_continue_over_processes(
    kmbench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXIT", "0")
    measure_three_processes(kmbench)
    rows = collect.load_raw_folder("native", kmbench / "native").rows
    assert [(s.process, s.block, s.value) for s in rows[::2]] == [(1, 0, 1), (2, 1, 2), (3, 2, 3)]
    assert [s.flags for s in rows[:2]] == [(), ("preempted",)]
    (kmbench / "native" / "b.csv").write_text(HEAD)
    with pytest.raises(FailedError, match="both in it and in folders"):
        collect.load_raw_folder("native", kmbench / "native")


def test_skipped_benchmarks_are_no_failure(kmbench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXIT", "4")
    monkeypatch.setenv("SAYS", "SKIP all benchmarks: live patching does not work here")
    with pytest.raises(UnableError, match="live patching does not work here"):
        measure_three_processes(kmbench)


def test_kmtools_does_not_run_on_the_measuring_cpu(
    kmbench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that does not print its CPU is assumed to measure on the last CPU; meanwhile
    kmtools runs on the other CPUs."""
    monkeypatch.setenv("EXIT", "0")
    allowed, seen = os.sched_getaffinity(0), []
    between = []
    native.measure_processes(
        kmbench / "native",
        blocks=1,
        processes=1,
        seed=1,
        show=lambda *_: seen.append(os.sched_getaffinity(0)),
        ended=lambda *_: between.append(os.sched_getaffinity(0)),
    )
    if len(allowed) > 1:
        assert seen == [allowed - {max(allowed)}]
    assert between == [allowed] and os.sched_getaffinity(0) == allowed


def test_all_processes_measure_on_the_cpu_that_the_first_has_chosen(
    kmbench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process chooses a CPU and prints the reason. The option --prefer names this CPU for
    the other processes, also after the run is resumed. kmtools does not run on this CPU."""
    monkeypatch.setenv("EXIT", "0")
    allowed = os.sched_getaffinity(0)
    first = min(allowed)
    fake = kmbench / "kmbench"
    fake.write_text(
        FAKE.replace("    --seed)", '    --prefer) echo "$2" >>"$HERE/told" ;;\n    --seed)')
        .replace("kernel=k\\n", f"kernel=k\\ncpu={first}\\n")
        .replace(
            'echo "$seed"',
            f'[ "$seed" = 1 ] && echo "kmbench: measuring on CPU {first}, why" >&2\necho "$seed"',
        )
    )
    said: list[str] = []
    seen = []

    def measure_on_chosen_cpu(processes: int) -> None:
        native.measure_processes(
            kmbench / "native", blocks=1, processes=processes, seed=1, say=said.append,
            show=lambda *_: seen.append(os.sched_getaffinity(0)),
        )  # fmt: skip

    measure_on_chosen_cpu(2)
    assert (kmbench / "told").read_text().split() == [str(first)]
    os.rename(kmbench / "native", kmbench / "native.parts")
    measure_on_chosen_cpu(3)
    assert (kmbench / "told").read_text().split() == [str(first)] * 2
    assert said == [f"native: measuring on CPU {first}, why"]
    assert seen == [allowed - {first} or allowed] * 3
    assert os.sched_getaffinity(0) == allowed
