# SPDX-License-Identifier: GPL-2.0-only
"""Tests of how kmbench chooses the CPU on which it measures: the idlest CPU, or the CPU that the
option --cpu names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from nativeprograms import KMBENCH, read_env_of_raw_folder, run_kmbench, run_program

pytestmark = pytest.mark.usefixtures("native_programs")

# TRIES is the number of tries with a busy CPU. Idle shares that differ by less than EQUAL
# percentage points count as equal.
TRIES, EQUAL = 5, 20
ALLOWED = sorted(os.sched_getaffinity(0))
CHOSEN = re.compile(
    r"^kmbench: measuring on CPU (\d+), idle for (\d+) % of 100 ms; "
    r"other CPUs idle for (\d+) to (\d+) %$",
    re.M,
)
# A Python program that prints a line when it begins, and keeps one CPU busy until it is killed.
BUSY = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); print(flush=True)\nwhile 1: 0"


@contextmanager
def keep_cpu_busy(cpu: int) -> Iterator[None]:
    """Keep the CPU `cpu` busy while the `with` block runs."""
    command = [sys.executable, "-c", BUSY, str(cpu)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as busy:
        assert busy.stdout is not None
        try:
            busy.stdout.readline()
            yield
        finally:
            busy.kill()


# A library that replaces fopen(): the first fopen() of /proc/stat opens the file $BEFORE instead,
# the second $AFTER, the third $BEGIN, and all others $LATER. If $PINNED is set, only the first
# sched_setaffinity() succeeds. If $SPENT is set, the thread has used this CPU time in seconds.
FOPEN = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
FILE *fopen(const char *path, const char *mode)
{
	static const char *const names[] = { "BEFORE", "AFTER", "BEGIN", "LATER" };
	static int reads;
	FILE *(*next)(const char *, const char *) = dlsym(RTLD_NEXT, "fopen");
	if (!strcmp(path, "/proc/stat"))
		path = getenv(names[reads < 3 ? reads++ : 3]);
	return next(path, mode);
}
int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *cpus)
{
	int (*next)(pid_t, size_t, const cpu_set_t *) = dlsym(RTLD_NEXT, "sched_setaffinity");
	static int calls;
	errno = EPERM;
	return getenv("PINNED") && calls++ ? -1 : next(pid, size, cpus);
}
int clock_gettime(clockid_t id, struct timespec *time)
{
	static int (*next)(clockid_t, struct timespec *);
	if (!next)
		next = dlsym(RTLD_NEXT, "clock_gettime");
	if (id != CLOCK_THREAD_CPUTIME_ID || !getenv("SPENT"))
		return next(id, time);
	*time = (struct timespec) { atoi(getenv("SPENT")), 0 };
	return 0;
}
"""


@pytest.fixture(name="fake_fopen", scope="module")
def build_fopen_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the library that replaces fopen()."""
    folder = tmp_path_factory.mktemp("stat")
    (folder / "fopen.c").write_text(FOPEN)
    words: list[str | Path] = ["gcc", "-shared", "-fPIC", "-o", folder / "fopen.so"]
    words += [folder / "fopen.c", "-ldl"]
    subprocess.run(words, check=True)
    return folder / "fopen.so"


@dataclass(frozen=True)
class StatColumns:
    """The indices of the columns of /proc/stat that get busy and idle ticks; the column count.
    proc_stat(5) has the columns user, nice, system, idle, iowait, irq, softirq and steal."""

    busy: int = 0
    idle: int = 3
    count: int = 10


def write_proc_stat(
    path: Path,
    ticks: int,
    idle: tuple[int | None, int | None],
    columns: StatColumns = StatColumns(),
) -> None:
    """Write a fake /proc/stat of two CPUs that were idle for `idle` percent of `ticks` ticks. A CPU
    whose share is None is offline."""
    lines = ["cpu  1 1 1 1 1 1 1 1 0 0", "intr 1"]
    for cpu, share in zip(ALLOWED[-2:], idle, strict=True):
        if share is None:
            continue
        spent = ticks * share // 100
        times = [50, 3, 5, 700, 20, 1, 1, 2, 0, 0][: columns.count]
        times[columns.busy] += ticks - spent
        times[columns.idle] += spent
        lines.append(f"cpu{cpu} {' '.join(map(str, times))}")
    path.write_text("\n".join(lines) + "\n")


def run_kmbench_with_idle_cpus(
    library: Path,
    pilot: tuple[int | None, int | None],
    later: tuple[int | None, int | None],
    *arguments: str | Path,
    columns: StatColumns = StatColumns(),
    begin: int = 0,
    **env: str,
) -> subprocess.CompletedProcess[str]:
    """Run kmbench with a fake /proc/stat of two CPUs. `pilot` has the idle shares of the CPUs in
    percent during the first ten ticks, `later` during the next 6000 ticks. When the first block
    begins, `begin` of these 6000 ticks have passed. `env` has further environment variables."""
    folder = library.parent
    write_proc_stat(folder / "BEFORE", 0, pilot, columns)
    write_proc_stat(folder / "AFTER", 10, pilot, columns)
    write_proc_stat(folder / "BEGIN", begin, (later[0] or 0, later[1] or 0))
    write_proc_stat(folder / "LATER", 6000, later)
    names = ("BEFORE", "AFTER", "BEGIN", "LATER")
    return subprocess.run(
        [KMBENCH, *arguments],
        env={"LD_PRELOAD": str(library), **{name: str(folder / name) for name in names}, **env},
        capture_output=True, text=True, check=True,
    )  # fmt: skip


def read_chosen_cpu_and_stderr(
    library: Path, idle: tuple[int, int], *arguments: str, columns: StatColumns = StatColumns()
) -> tuple[int, str]:
    """Run `kmbench env` with a fake /proc/stat, in which two CPUs are idle for `idle` of ten ticks.
    Return the CPU that kmbench chooses, and the messages on stderr."""
    first, last = idle
    pilot = 10 * first, 10 * last
    done = run_kmbench_with_idle_cpus(library, pilot, (0, 0), "env", *arguments, columns=columns)
    (cpu,) = re.findall(r"^cpu=(\d+)$", done.stdout, re.M)
    return int(cpu), done.stderr


needs_two_cpus = pytest.mark.skipif(
    len(ALLOWED) != 2, reason="this test needs exactly two allowed CPUs: use taskset"
)


@needs_two_cpus
@pytest.mark.parametrize(
    ("idle", "place"),
    [((10, 0), 0), ((0, 10), 1), ((10, 10), 1), ((10, 9), 1), ((9, 10), 1), ((10, 8), 0),
     ((10, 7), 0), ((0, 0), 1), ((1, 0), 1), ((2, 0), 0), ((3, 0), 0), ((0, 1), 1)],
)  # fmt: skip
def test_the_idlest_cpu_is_chosen(fake_fopen: Path, idle: tuple[int, int], place: int) -> None:
    """The idlest CPU is chosen. If idle shares differ by less than two ticks, the last CPU is
    chosen."""
    cpu, said = read_chosen_cpu_and_stderr(fake_fopen, idle)
    assert cpu == ALLOWED[place]
    (match,) = CHOSEN.findall(said)
    other = 10 * idle[1 - place]
    assert tuple(map(int, match)) == (cpu, 10 * idle[place], other, other)


@needs_two_cpus
@pytest.mark.many
@pytest.mark.parametrize("idle", [3, 4])
@pytest.mark.parametrize("busy", [0, 1, 2, 5, 6, 7])
def test_all_cpu_times_but_idle_and_iowait_are_busy(fake_fopen: Path, busy: int, idle: int) -> None:
    for shares, place in (((10, 0), 0), ((0, 10), 1), ((2, 6), 1)):
        cpu, said = read_chosen_cpu_and_stderr(fake_fopen, shares, columns=StatColumns(busy, idle))
        (match,) = CHOSEN.findall(said)
        others = [10 * shares[1 - place]] * 2
        assert [*map(int, match)] == [cpu, 10 * shares[place], *others]
        assert cpu == ALLOWED[place]


@needs_two_cpus
@pytest.mark.parametrize(("count", "known"), [(6, False), (7, True), (8, True)])
def test_cpu_times_of_old_kernels_are_read(fake_fopen: Path, count: int, known: bool) -> None:
    """Kernels before 2.6.11 do not print steal. If further columns are missing, both CPUs count as
    idle."""
    cpu, said = read_chosen_cpu_and_stderr(fake_fopen, (10, 0), columns=StatColumns(count=count))
    assert cpu == ALLOWED[0 if known else 1]
    (match,) = CHOSEN.findall(said)
    assert [int(match[2]), int(match[3])] == [0 if known else 100] * 2


@needs_two_cpus
def test_cpu_named_by_option_cpu_is_chosen(fake_fopen: Path) -> None:
    for cpu in ALLOWED:
        chosen, said = read_chosen_cpu_and_stderr(fake_fopen, (10, 0), "--cpu", str(cpu))
        assert chosen == cpu and "measuring on CPU" not in said


@needs_two_cpus
@pytest.mark.parametrize(
    ("idle", "place", "said"),
    [((10, 10), 0, False), ((10, 0), 0, False), ((0, 10), 1, True), ((9, 10), 0, False),
     ((8, 10), 1, True)],
)  # fmt: skip
def test_the_preferred_cpu_is_kept_unless_another_is_idler(
    fake_fopen: Path, idle: tuple[int, int], place: int, said: bool
) -> None:
    """With --prefer, kmbench chooses the preferred CPU and prints no message about the choice. If
    the other CPU is idler, kmbench chooses the other CPU and prints its number."""
    cpu, stderr = read_chosen_cpu_and_stderr(fake_fopen, idle, "--prefer", str(ALLOWED[0]))
    assert cpu == ALLOWED[place]
    assert bool(CHOSEN.findall(stderr)) == said


@needs_two_cpus
def test_a_preferred_cpu_that_kmbench_may_not_use_is_not_chosen() -> None:
    words = ("taskset", "-c", str(ALLOWED[0]), KMBENCH, "env", "--prefer", str(ALLOWED[1]))
    done = run_program(*words)
    assert f"\ncpu={ALLOWED[0]}\n" in done.stdout
    assert "pinning" not in done.stderr and "measuring on CPU" not in done.stderr


MOVED = re.compile(
    r"^kmbench: measuring on CPU (\d+), no longer on CPU (\d+), which other programs used for"
    r" (\d+) %; CPU \1 was (\d+) % idle$",
    re.M,
)


@pytest.mark.many
@needs_two_cpus
@pytest.mark.parametrize(
    ("later", "named", "moves"),
    [((100, 0), False, True), ((100, 0), True, False), ((0, 0), False, False),
     ((100, 90), False, False), ((50, 0), False, True)],
)  # fmt: skip
def test_kmbench_moves_to_an_idler_cpu_unless_an_option_names_a_cpu(
    fake_fopen: Path, tmp_path: Path, later: tuple[int, int], named: bool, moves: bool
) -> None:
    """The run begins on the last CPU. If other programs then use this CPU, and the other CPU is
    idle, the run continues on the other CPU from the next block on."""
    words = ("--cpu", str(ALLOWED[1])) if named else ()
    done = run_kmbench_with_idle_cpus(
        fake_fopen, (0, 100), later, "run", "-b", "4000", "-o", tmp_path / "raw", *words,
        "empty-loop",
    )  # fmt: skip
    rows = (tmp_path / "raw" / "empty-loop.csv").read_text().splitlines()[2:]
    cpus = [int(row.split(",")[6]) for row in rows]
    assert cpus[0] == ALLOWED[1]
    assert set(cpus) == ({*ALLOWED} if moves else {ALLOWED[1]})
    found = MOVED.findall(done.stderr)
    assert bool(found) == moves
    if moves:
        new, old, used, idle = map(int, found[0])
        assert (new, old, idle) == (*ALLOWED, later[0]) and used > 90
        assert read_env_of_raw_folder(tmp_path / "raw")["cpu"] == str(new)


@needs_two_cpus
def test_an_offline_cpu_is_not_chosen(fake_fopen: Path) -> None:
    """A CPU without a line in /proc/stat is not chosen, even if the other CPU is busy."""
    done = run_kmbench_with_idle_cpus(fake_fopen, (0, None), (0, 0), "env")
    assert f"\ncpu={ALLOWED[0]}\n" in done.stdout
    assert "% idle" not in done.stderr and "-" not in done.stderr


@needs_two_cpus
@pytest.mark.parametrize(("later", "moves"), [((0, None), True), ((None, 0), False)])
def test_kmbench_leaves_a_cpu_that_goes_offline(
    fake_fopen: Path, tmp_path: Path, later: tuple[int | None, int | None], moves: bool
) -> None:
    """kmbench leaves a CPU that goes offline during the run, and moves to no CPU that is offline,
    even if the other CPU is busy."""
    done = run_kmbench_with_idle_cpus(
        fake_fopen, (0, 100), later, "run", "-b", "4000", "-o", tmp_path / "raw", "empty-loop",
    )  # fmt: skip
    text = f"measuring on CPU {ALLOWED[0]}, no longer on CPU {ALLOWED[1]}, which is offline\n"
    assert (text in done.stderr) == moves and ("no longer on" in done.stderr) == moves
    assert read_env_of_raw_folder(tmp_path / "raw")["cpu"] == str(ALLOWED[not moves])


@needs_two_cpus
def test_kmbench_does_not_move_to_the_cpu_of_its_observer_thread(
    fake_fopen: Path, tmp_path: Path
) -> None:
    """While the observer thread keeps the other CPU busy, kmbench stays on its CPU."""
    done = run_kmbench_with_idle_cpus(
        fake_fopen, (0, 100), (100, 0), "run", "-b", "2000", "-o", tmp_path / "raw",
        "xadd-prefix-contended",
    )  # fmt: skip
    assert "no longer on CPU" not in done.stderr
    rows = (tmp_path / "raw" / "xadd-prefix-contended.csv").read_text().splitlines()[2:]
    assert {int(row.split(",")[6]) for row in rows} == {ALLOWED[1]}


@needs_two_cpus
def test_cpu_load_before_the_first_block_is_ignored(fake_fopen: Path, tmp_path: Path) -> None:
    """If other programs used the CPU only before the first block, kmbench stays on this CPU."""
    done = run_kmbench_with_idle_cpus(
        fake_fopen, (0, 100), (100, 0), "run", "-b", "4000", "-o", tmp_path / "raw", "empty-loop",
        begin=6000,
    )  # fmt: skip
    assert "no longer on CPU" not in done.stderr
    assert read_env_of_raw_folder(tmp_path / "raw")["cpu"] == str(ALLOWED[1])


@needs_two_cpus
def test_earlier_cpu_time_of_kmbench_is_not_subtracted_from_the_load(
    fake_fopen: Path, tmp_path: Path
) -> None:
    """If kmbench has used no CPU time since it last read /proc/stat, other programs have used all
    the busy time of the CPU, whatever kmbench used before."""
    done = run_kmbench_with_idle_cpus(
        fake_fopen, (0, 100), (100, 0), "run", "-b", "4000", "-o", tmp_path / "raw", "empty-loop",
        SPENT="1000",
    )  # fmt: skip
    assert [used for _, _, used, _ in MOVED.findall(done.stderr)] == ["100"]


@needs_two_cpus
def test_kmbench_stays_on_its_cpu_if_it_cannot_move(fake_fopen: Path, tmp_path: Path) -> None:
    """No message says that kmbench moved, and the env file has the CPU on which it stays."""
    done = run_kmbench_with_idle_cpus(
        fake_fopen, (0, 100), (100, 0), "run", "-b", "4000", "-o", tmp_path / "raw", "empty-loop",
        PINNED="1",
    )  # fmt: skip
    assert "measuring on CPU" in done.stderr and "no longer on CPU" not in done.stderr
    rows = (tmp_path / "raw" / "empty-loop.csv").read_text().splitlines()[2:]
    assert {int(row.split(",")[6]) for row in rows} == {ALLOWED[1]}
    assert read_env_of_raw_folder(tmp_path / "raw")["cpu"] == str(ALLOWED[1])


def test_without_proc_stat_the_last_cpu_is_chosen(
    fake_fopen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = str(fake_fopen.parent / "missing")
    monkeypatch.setenv("LD_PRELOAD", str(fake_fopen))
    for name in ("BEFORE", "AFTER", "BEGIN", "LATER"):
        monkeypatch.setenv(name, missing)
    done = run_kmbench("env")
    assert f"\ncpu={ALLOWED[-1]}\n" in done.stdout
    assert "measuring on CPU" not in done.stderr


def test_a_single_cpu_is_chosen_without_a_message() -> None:
    done = run_program("taskset", "-c", str(ALLOWED[0]), KMBENCH, "env")
    assert f"\ncpu={ALLOWED[0]}\n" in done.stdout
    assert "measuring on CPU" not in done.stderr


@needs_two_cpus
@pytest.mark.parametrize("busy", ALLOWED)
def test_a_busy_cpu_is_not_chosen(busy: int, tmp_path: Path) -> None:
    """If a busy loop keeps one CPU busy, kmbench chooses another CPU, whose number is in the env
    file and in each sample. The best of TRIES tries counts, because other programs may use the
    chosen CPU."""
    for number in range(TRIES):
        raw = tmp_path / str(number)
        with keep_cpu_busy(busy):
            done = run_kmbench("run", "-b", 2, "-o", raw, "empty-loop")
        (match,) = CHOSEN.findall(done.stderr)
        cpu, share, _, most = map(int, match)
        assert read_env_of_raw_folder(raw)["cpu"] == str(cpu)
        rows = (raw / "empty-loop.csv").read_text().splitlines()[2:]
        assert {row.split(",")[6] for row in rows} == {str(cpu)}
        if max(share, most) > 2 * EQUAL:
            assert cpu != busy and share > most
            return
    pytest.skip(f"other programs kept the second CPU busy in {TRIES} tries: end these programs")
