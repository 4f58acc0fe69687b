# SPDX-License-Identifier: GPL-2.0-only
"""Tests of measuring in user space by several processes of kmbench, one after the other."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import rawdata
from kmtools.base.errors import FailedError, UnableError
from kmtools.measure import choice, clusters, collect, disturbance, native, samples

HEAD = f"# schema=2\n{','.join(samples.RAW_COLUMNS)}\n"


# A fake kmbench that writes the samples of a block. With seed 2, the fake kmbench fails with exit
# code $EXIT and the message $SAYS, unless $EXIT is 0.
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


@pytest.fixture(name="kmbench")
def make_failing_kmbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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


def test_benchmark_program_without_samples_is_reported(tmp_path: Path) -> None:
    """A program that succeeds without writing samples, such as /bin/true, is reported."""
    with pytest.raises(FailedError, match="/bin/true left no samples: this program must accept"):
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
def test_hanging_benchmark_program_is_killed(
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


def test_binary_env_file_of_kmbench_is_reported(tmp_path: Path) -> None:
    body = 'while [ "$1" != --out ]; do shift; done; mkdir "$2"; printf "cpu=1\\n\\377" >"$2/env"'
    program = write_fake_kmbench(tmp_path / "program", f"printf '\\377\\n' >&2; {body}")
    with pytest.raises(FailedError, match="env: not text in UTF-8"):
        native.measure_processes(tmp_path / "raw", blocks=1, processes=1, seed=5, program=program)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("printf '\\377\\376: plain\\n'", "no benchmark in user space matches 'x'"),
        ("exec sleep 600", "program list still runs after 0.5 s"),
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


def test_no_process_starts_that_would_exceed_the_time_limit(
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
    monkeypatch.setattr(clusters, "now", lambda: now[0])
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
    with pytest.raises(FailedError, match="this folder and its process"):
        collect.load_raw_folder("native", kmbench / "native")


def test_skipped_benchmarks_are_no_failure(kmbench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXIT", "4")
    monkeypatch.setenv("SAYS", "SKIP all benchmarks: live patching does not work on this machine")
    with pytest.raises(UnableError, match="live patching does not work on this machine"):
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
        on_cluster_end=lambda *_: between.append(os.sched_getaffinity(0)),
    )
    if len(allowed) > 1:
        assert seen == [allowed - {max(allowed)}]
    assert between == [allowed] and os.sched_getaffinity(0) == allowed


def test_all_processes_measure_on_the_cpu_that_the_first_process_chose(
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

    def measure_and_record_chosen_cpu(processes: int) -> None:
        native.measure_processes(
            kmbench / "native", blocks=1, processes=processes, seed=1, say=said.append,
            show=lambda *_: seen.append(os.sched_getaffinity(0)),
        )  # fmt: skip

    measure_and_record_chosen_cpu(2)
    assert (kmbench / "told").read_text().split() == [str(first)]
    os.rename(kmbench / "native", kmbench / "native.parts")
    measure_and_record_chosen_cpu(3)
    assert (kmbench / "told").read_text().split() == [str(first)] * 2
    assert said == [f"native: measuring on CPU {first}, why"]
    assert seen == [allowed - {first} or allowed] * 3
    assert os.sched_getaffinity(0) == allowed


def test_message_says_that_the_time_limit_was_reached(
    kmbench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process takes ten seconds of a simulated clock. The shown progress is the larger of two
    shares: the measured windows, and the elapsed part of the time limit. To complete a benchmark,
    a process may take ten minutes, and ten seconds more for each block."""
    clock = [0.0]
    said: list[str] = []
    shown: list[tuple[float, float, str]] = []

    def run_process(part: Path, words: list[object], show: Any, more: str, *rest: Any) -> None:
        assert more == f"planned_processes=3\n{clusters.INTERIM_ENV_LINE}"
        assert words == ["--blocks", 4, "--seed", 5 + int(part.name[-1]) - 1, "b"]
        assert rest[1] == 640.0
        show(0, 4, "b")
        clock[0] += 10
        show(2, 4, "b")
        part.mkdir()

    monkeypatch.setattr(native, "run_kmbench", run_process)
    monkeypatch.setattr(clusters, "now", lambda: clock[0])
    for name, budget in (("a", 19), ("b", 29)):
        clock[0] = 0
        done = native.measure_processes(
            kmbench / name, blocks=4, processes=4, seed=5, benchmarks=["b"], budget=budget,
            planned=3, choose_benchmarks=lambda *_: None, say=said.append,
            show=lambda *words: shown.append(words),
        )  # fmt: skip
        assert done == {"a": 1, "b": 2}[name]
    end = "native: the time limit was reached after"
    assert said == [f"{end} 1 process", f"{end} 2 processes"]
    assert [text for *_, text in shown] == [f"process {n} of 4, b" for n in (1, 1, 1, 1, 2, 2)]
    assert {total for _, total, _ in shown} == {16}
    wanted = (0, 16 * 10 / 19, 0, 16 * 10 / 29, 16 * 10 / 29, 16 * 20 / 29)
    assert [done for done, *_ in shown] == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("steered", "wanted"),
    [
        ([None, None, None], [["a", "b"], ["a", "b"], ["a", "b"]]),
        ([["b"], None, None], [["a", "b"], ["b"], ["b"]]),
        ([["b"], []], [["a", "b"], ["b"]]),
        ([[]], [["a", "b"]]),
    ],
)
def test_steering_selects_the_benchmarks_of_later_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steered: list[Any], wanted: list[list[str]]
) -> None:
    ran: list[list[object]] = []
    called: list[tuple[str, int]] = []

    def run_process(part: Path, words: list[object], *_: object) -> None:
        part.mkdir()
        ran.append(words[4:])

    def record_and_steer(folder: Path, done: int) -> Any:
        called.append((f"steer {folder.name}", done))
        return steered[done - 1]

    monkeypatch.setattr(native, "run_kmbench", run_process)
    done = native.measure_processes(
        tmp_path / "raw", blocks=1, processes=3, seed=1, benchmarks=["a", "b"],
        choose_benchmarks=record_and_steer,
        on_cluster_end=lambda part, number: called.append((part.name, number)),
    )  # fmt: skip
    assert ran == wanted and done == len(wanted)
    assert called == [
        call
        for n in range(1, len(wanted) + 1)
        for call in ((f"process-{n}", n), ("steer raw.parts", n))
    ]


@pytest.mark.parametrize(
    ("lines", "code", "error", "why"),
    [
        (["kmbench: no room"], 3, FailedError, "PROGRAM failed: kmbench: no room"),
        ([], 3, FailedError, "PROGRAM failed: exit code 3"),
        (["a SKIP b", "x", "y"], 1, FailedError, "PROGRAM failed: x; y"),
        (["a SKIP b"], 1, FailedError, "PROGRAM failed: a SKIP b"),
        ([], 4, UnableError, "nothing can be measured in user space here: exit code 4"),
        (
            [f"line {n}" for n in range(22)],
            1,
            FailedError,
            f"PROGRAM failed: {'; '.join(f'line {n}' for n in range(2, 22))}",
        ),
    ],
)
def test_failure_has_the_last_lines_of_the_program(
    tmp_path: Path, lines: list[str], code: int, error: type[Exception], why: str
) -> None:
    body = "".join(f"echo '{line}'\n" for line in lines)
    program = write_fake_kmbench(tmp_path / "program", f"exec >&2\n{body}exit {code}")
    with pytest.raises(error) as caught:
        native.run_kmbench(tmp_path / "part", [], lambda *_: None, program=program)
    assert str(caught.value) == why.replace("PROGRAM", str(program))


def test_lines_of_a_pipe_are_read_to_the_end() -> None:
    """A last line without a newline is read, too. Only the last 4096 bytes of a very long
    unfinished line are kept."""
    reading, writing = os.pipe()
    os.write(writing, b" one \n\ntwo\xff\n" + b"x" * 5000)
    with os.fdopen(reading, "rb") as pipe:
        lines = native.read_pipe_lines(pipe, lambda: time.monotonic() + 60)
        assert [next(lines) for _ in range(3)] == ["one", "", "two\ufffd"]
        os.write(writing, b"end")
        os.close(writing)
        assert [*lines] == ["x" * 4093 + "end"]


def test_progress_lines_are_separated_from_other_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit begins at the last completed benchmark; a repeated line of progress does not
    prolong the time limit."""
    times = iter(range(100))
    deadlines: list[float] = []
    lines = (
        "hello", "kmbench: [1/3] a-b: 3 of 3", "kmbench: measuring on CPU 12, idle",
        "kmbench: [1/3] a-b: again", "kmbench: [3/3] c: 1 of 1", "bye",
    )  # fmt: skip

    def read_lines(_: object, get_deadline: Callable[[], float]) -> Iterator[str]:
        for line in lines:
            yield line
            deadlines.append(get_deadline())

    monkeypatch.setattr(native, "read_pipe_lines", read_lines)
    monkeypatch.setattr(native, "now", lambda: float(next(times)))
    shown: list[object] = []
    process: Any = SimpleNamespace(stderr=object())
    add = lambda *words: shown.append(words)  # noqa: E731
    assert native.show_program_progress(process, add, 100.0, add) == ["hello", "bye"]
    assert shown == [
        (1, 3, "a-b"), ("measuring on CPU 12, idle", 12), (1, 3, "a-b"), (3, 3, "c"),
    ]  # fmt: skip
    assert deadlines == [100, 101, 101, 101, 102, 102]


@pytest.mark.parametrize(
    ("env", "found"),
    [("cpu=1\n", 1), ("kernel=k\ncpu=0\n", 0), ("cpu=7\n", None), ("xcpu=1\ncpu=1x\n", None)],
)
def test_cpu_of_the_last_process_is_used_again_if_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, env: str, found: int | None
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert native.find_measured_cpu(tmp_path) is None
    (tmp_path / "env").write_text(env)
    assert native.find_measured_cpu(tmp_path) == found
    (tmp_path / "env").write_bytes(b"cpu=1\n\xff")
    assert native.find_measured_cpu(tmp_path) is None


def test_kmtools_may_use_the_only_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    affinity = [{2, 5, 9}]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: affinity[-1])
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cpus: affinity.append(set(cpus)))
    with native.exclude_measured_cpu(None) as exclude_cpu:
        assert affinity[-1] == {2, 5}
        exclude_cpu(2)
        assert affinity[-1] == {5, 9}
    assert affinity[-1] == {2, 5, 9}
    with native.exclude_measured_cpu(5):
        assert affinity[-1] == {2, 9}
    affinity.append({5})
    with native.exclude_measured_cpu(5):
        assert affinity[-1] == {5}


def test_disturbances_are_appended_to_env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disturbances are computed for the CPU that the env file names, or for no CPU if the file
    names none."""
    asked = []

    def return_fake_disturbances(_before: object, _after: object, cpu: int) -> dict[str, float]:
        asked.append(cpu)
        return {"seconds": 2.0}

    monkeypatch.setattr(disturbance, "compute_disturbances", return_fake_disturbances)
    before = disturbance.read_disturbance_counters()
    for text in ("kernel=k\ncpu=3\n", "kernel=k\n"):
        (tmp_path / "env").write_text(text)
        native.append_disturbances_to_env(tmp_path / "env", before, "looks=1\n")
        assert (tmp_path / "env").read_text() == f"{text}seconds=2\nlooks=1\n"
    assert asked == [3, native.NO_CPU]
