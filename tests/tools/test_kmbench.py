# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the command kmbench: its arguments, output and files."""

from __future__ import annotations

import itertools
import os
import pty
import re
import signal
import stat
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT
from kmtools.measure import collect
from kmtools.measure.samples import Sample
from nativeprograms import (
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    KMBENCH,
    read_env_of_raw_folder,
    run_kmbench,
    run_program,
)

pytestmark = pytest.mark.usefixtures("native_programs")

# The largest permitted cost of an enabled marker with one empty probe, in calls through a function
# pointer.
CALLS = 3
# The largest permitted time of a loop pass with an enabled SDT probe, relative to a pass of the
# same loop with an SDT probe as in 2015: a test, and a call through a pointer. The empty loop is
# not subtracted from either pass. The probe has one or two empty handlers. Most of the time goes
# into taken branches: seven per pass with one handler, three per pass with the call alone.
SDT_PASSES = {"sdt-jump": 2, "sdt-jump-2-handlers": 4, "sdt-breakpoint-promoted": 2.5}
RUNS = 10


def test_kmbench_list_names_benchmarks_and_variants() -> None:
    """`kmbench list` has a line for each benchmark, with the baseline first."""
    done = run_kmbench("list")
    assert done.returncode == 0
    lines = dict(line.split(":", 1) for line in done.stdout.splitlines())
    assert lines["empty-loop"].split()[:2] == ["none", "none-clone"]
    assert "marker-jump-on" in lines["empty-loop-peers"].split()
    # The benchmark planted, of `kmarkers bench --self-test`, is not listed, because it is only
    # measured if it is named.
    assert "planted" not in lines


def test_samples_of_a_run_can_be_collected(tmp_path: Path) -> None:
    """A run has samples of the named benchmarks, and each window has core cycles."""
    done = run_kmbench("run", "-b", 8, "-o", tmp_path / "raw", "empty-loop", "memcpy-4096")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    raw = collect.load_raw_folder("native", tmp_path / "raw")
    assert {row.benchmark for row in raw.rows} == {"empty-loop", "memcpy-4096"}
    assert read_env_of_raw_folder(tmp_path / "raw")["cycles"] in ("counted", "estimated")
    for row in raw.rows:
        assert 0.05 < (row.core_cycles or 0) / row.value < 20


def test_order_of_windows_depends_on_the_seed_alone(tmp_path: Path) -> None:
    """The same seed gives the same order of windows; another seed gives another order."""
    orders = []
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        run_kmbench("run", "-b", 8, "-s", seed, "-o", tmp_path / name, "empty-loop")
        rows = collect.load_raw_folder("native", tmp_path / name).rows
        counts: dict[str, list[int]] = {}
        for row in rows:
            counts.setdefault(row.variant, []).append(row.size)
        ranks = {variant: sorted(set(several)) for variant, several in counts.items()}
        assert {len(several) for several in ranks.values()} == {3}
        orders.append([(r.variant, r.layout, ranks[r.variant].index(r.size)) for r in rows])
    assert orders[0] == orders[1] != orders[2]


def test_timed_windows_take_10_to_30_microseconds(tmp_path: Path) -> None:
    """Windows of cheap and of costly variants take 10 to 30 us in the best of ten runs. In other
    runs, most windows may be too long or too short, because the speed of the CPU changes by half
    after the calibration, for example if a neighbour process starts. Medians are checked, because
    interrupted windows are longer."""
    runs = []
    for number in range(RUNS):
        raw = tmp_path / str(number)
        run_kmbench("run", "-b", 16, "-o", raw, "marker-enabled")
        env = read_env_of_raw_folder(raw)
        if env["invariant_tsc"] != "1":
            pytest.skip("the TSC of this CPU is not invariant")
        khz = int(env["tsc_khz"])
        windows: dict[tuple[str, int], list[float]] = {}
        for row in collect.load_raw_folder("native", raw).rows:
            windows.setdefault((row.variant, row.size), []).append(1000 * row.value / khz)
        usual = [statistics.median(several) for several in windows.values()]
        assert len(usual) >= 3 * 14
        inside = [8 <= took <= 36 for took in usual]
        if sum(inside) >= 0.9 * len(usual):
            return
        runs.append(sorted(usual))
    raise AssertionError(f"windows take less than 8 or more than 36 us in each run: {runs}")


def test_cold_code_windows_cost_the_same_in_any_order(tmp_path: Path) -> None:
    """The first of a variant's three windows costs no more than the others; otherwise slopes would
    depend on the random order. In cold-icache-l2, the code is evicted from the L1 cache before each
    pass."""
    run_kmbench("run", "-b", 64, "-o", tmp_path / "raw", "cold-icache-l2")
    rows = collect.load_raw_folder("native", tmp_path / "raw").rows
    least = min(row.size for row in rows)
    costs: list[list[float]] = [[], []]
    for number, row in enumerate(rows):
        if row.size == least:
            costs[number % 3 > 0].append(row.value)
    first, others = (statistics.median(own) for own in costs)
    assert first < 1.25 * others, f"{first} ticks in the first window, {others} in later ones"


def test_code_evicted_from_all_caches_costs_most(tmp_path: Path) -> None:
    """A pass of code that is evicted from all caches costs more than a pass of code in the L1 or
    L2 cache."""
    groups = ("cold-icache-l1", "cold-icache-l2", "cold-icache-memory")
    run_kmbench("run", "-b", 8, "-o", tmp_path / "raw", *groups)
    if read_env_of_raw_folder(tmp_path / "raw")["emulated"] == "1":
        pytest.skip("an emulated CPU has no caches")
    costs: dict[str, list[float]] = {name: [] for name in groups}
    for row in collect.load_raw_folder("native", tmp_path / "raw").rows:
        if row.variant == "none":
            costs[row.benchmark].append(row.value / row.size)
    near, middle, memory = (statistics.median(costs[name]) for name in groups)
    assert memory > 1.5 * max(near, middle), costs


def measure_site_switches(raw: Path, seed: int, *benchmarks: str) -> list[Sample]:
    """Measure benchmarks that switch sites, which takes long with a million sites; return the
    samples."""
    done = run_kmbench("run", "-b", 9, "-s", seed, "-o", raw, *benchmarks)
    assert done.returncode == 0, done.stderr
    return collect.load_raw_folder("native", raw).rows


@pytest.fixture(name="switching_run", scope="module")
def measure_switching_run(tmp_path_factory: pytest.TempPathFactory) -> list[Sample]:
    """Measure both benchmarks that switch sites; return the samples."""
    raw = tmp_path_factory.mktemp("switching") / "raw"
    return measure_site_switches(raw, 1, "arm-scaling", "arm-stall")


def test_sites_are_switched_in_random_order(switching_run: list[Sample], tmp_path: Path) -> None:
    """In each block, mechanisms and numbers of sites have a random order, which depends on the
    seed. Switching takes three rounds, also with a million sites."""
    orders = []
    for run in (switching_run, measure_site_switches(tmp_path / "raw", 2, "arm-scaling")):
        rows = [row for row in run if row.benchmark == "arm-scaling"]
        rounds = {row.size: row.value for row in rows if row.variant == "batched-round-count"}
        assert set(rounds.values()) == {3} and 1_000_000 in rounds
        assert {row.size for row in rows if row.variant == "batched-off"} == set(rounds)
        for block in range(2):
            own = [row for row in rows if row.block == block and row.measured == "switch"]
            places = {(row.position, row.variant.removesuffix("-off"), row.size) for row in own}
            order = [(variant, size) for _, variant, size in sorted(places)]
            assert len(order) == len({position for position, _, _ in places})
            sizes = [size for variant, size in order if variant == "batched"]
            orders.append((order, sizes == sorted(sizes)))
        assert max(row.block for row in rows) == 1
    assert len({tuple(order) for order, _ in orders}) == 4
    assert not all(ascending for _, ascending in orders)


@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="a gap can only be measured with a second CPU"
)
def test_gap_sample_names_the_cpu_that_did_not_switch(switching_run: list[Sample]) -> None:
    for benchmark in ("arm-scaling", "arm-stall"):
        assert any(row.benchmark == benchmark for row in switching_run)
    switched = {row.cpu for row in switching_run if row.measured == "switch"}
    waited = {row.cpu for row in switching_run if row.measured == "gap"}
    assert len(switched) == len(waited) == 1 and switched != waited


def test_processes_have_different_offsets_of_stack_and_heap() -> None:
    """`kmbench env` prints the offsets of stack and heap, which differ between processes with 16
    consecutive seeds."""
    places = []
    for seed in range(1, 17):
        lines = run_kmbench("env", "--seed", seed).stdout.splitlines()
        places.append({line for line in lines if "_offset=" in line})
    assert all(len(place) == 2 for place in places)
    assert len({line for place in places for line in place}) == 32


# A program that moves its heap and its stack as kmbench does. The program prints the offsets in the
# file env, and the distances of the first heap block and of a stack frame from fixed places.
PLACES = """
#include <stdlib.h>
#include <unistd.h>
#include "place.h"
static char *__attribute__((noipa)) get_frame(void)
{
	return __builtin_frame_address(0);
}
int main(int argc, char **argv)
{
	unsigned long long seed = strtoull(argv[1], NULL, 0);
	char *heap = sbrk(0), *stack = get_frame();

	native_move_heap(seed);
	heap = (char *)((char *)malloc(16) - heap);
	NATIVE_MOVE_STACK(seed);
	native_show_memory_offsets(stdout, seed);
	printf("heap=%ld\\nstack=%ld\\n", (long)heap, (long)(stack - get_frame()));
	return 0;
}
"""


@pytest.fixture(name="stack_and_heap_offsets", scope="module")
def measure_stack_and_heap_offsets(
    tmp_path_factory: pytest.TempPathFactory,
) -> list[dict[str, int]]:
    """Run the program PLACES with the seeds 0 to 255; return the offsets and distances that it
    prints."""
    folder = tmp_path_factory.mktemp("places")
    (folder / "places.c").write_text(PLACES)
    sources = [folder / "places.c", ROOT / "native" / "place.c"]
    words: list[str | Path] = ["gcc", "-D_GNU_SOURCE", "-O2", "-I", ROOT / "native", *sources]
    subprocess.run([*words, "-o", folder / "places"], check=True)
    printed = [run_program(folder / "places", seed).stdout.split() for seed in range(256)]
    return [
        {name: int(value) for name, value in (line.split("=") for line in lines)}
        for lines in printed
    ]


def test_stack_and_heap_are_moved_by_the_offsets(
    stack_and_heap_offsets: list[dict[str, int]],
) -> None:
    """Compared with seed 0, whose offsets are 0, stack and heap are moved by the offsets in the
    file env, to within 16 bytes."""
    assert (
        stack_and_heap_offsets[0]["stack_offset"] == stack_and_heap_offsets[0]["heap_offset"] == 0
    )
    for seed, place in enumerate(stack_and_heap_offsets):
        for name in ("stack", "heap"):
            moved = place[name] - stack_and_heap_offsets[0][name]
            assert abs(moved - place[f"{name}_offset"]) <= 16
        if seed % 32 == 1:
            env = run_kmbench("env", "-s", seed).stdout.splitlines()
            assert {f"{name}_offset={place[f'{name}_offset']}" for name in ("stack", "heap")} <= {
                *env
            }


@pytest.mark.parametrize("name", ["stack_offset", "heap_offset"])
def test_stack_and_heap_offsets_are_multiples_of_16(
    stack_and_heap_offsets: list[dict[str, int]], name: str
) -> None:
    """Offsets are multiples of 16, because the ABI aligns the stack to 16 bytes, and spread over a
    page."""
    offsets = {place[name] for place in stack_and_heap_offsets}
    assert all(offset % 16 == 0 and 0 <= offset < 4096 for offset in offsets)
    assert len(offsets) > 128
    for quarter in range(4):
        in_quarter = {offset for offset in offsets if offset // 1024 == quarter}
        assert len(in_quarter) > 24
        assert {offset % 32 for offset in in_quarter} == {0, 16}


def test_kmbench_env_describes_the_machine() -> None:
    """`kmbench env` prints the kernel, the processor and the number of CPUs. Blanks in the name of
    the processor may differ from /proc/cpuinfo."""
    env = dict(line.split("=", 1) for line in run_kmbench("env").stdout.splitlines())
    described = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"^model name\t: (.*)$", described, re.M)
    flags = re.search(r"^flags\t\t: (.*)$", described, re.M)
    assert model is not None and flags is not None
    assert env["cpu_model"].split() == model[1].split()
    assert env["kernel"] == os.uname().release
    assert env["cpus"] == str(os.sysconf("SC_NPROCESSORS_ONLN"))
    assert (env["hypervisor"] == "none") == ("hypervisor" not in flags[1].split())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), {"blocks": "200", "seed": "1"}),
        (("-b", "100000"), {"blocks": "100000", "seed": "1"}),
        (("-b", "1", "-s", "16"), {"blocks": "1", "seed": "16"}),
        (("--seed", "18446744073709551615"), {"blocks": "200", "seed": "18446744073709551615"}),
        (("-s", "0", "-p", "1023"), {"blocks": "200", "seed": "0"}),
    ],
)
def test_kmbench_env_prints_the_chosen_blocks_and_seed(
    words: tuple[str, ...], expected: dict[str, str]
) -> None:
    """`kmbench env` prints the numbers of blocks and the seed, with their default values."""
    done = run_kmbench("env", *words)
    assert done.returncode == 0
    env = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert {name: env[name] for name in expected} == expected


def test_kmbench_env_has_the_time_limits_of_benchmarks() -> None:
    lines = run_kmbench("env").stdout.splitlines()
    limits = {"planned:arm-scaling=2 blocks in 40 s", "planned:arm-stall=40 blocks in 20 s"}
    assert {line for line in lines if line.startswith("planned:")} == limits


def compute_added_cost(medians: dict[str, float], variant: str) -> float:
    """Return the cost that a variant adds to the empty loop."""
    return medians[variant] - medians["none"]


def yield_medians_of_enabled_markers(*others: str) -> Iterator[dict[str, float]]:
    """Measure marker-enabled and the benchmarks `others` up to ten times; yield the medians of the
    variants for each run."""
    for _ in range(RUNS):
        done = run_kmbench("run", "-b", 100, "marker-enabled", *others)
        assert done.returncode == 0, done.stderr
        rows = [line.split() for line in done.stdout.splitlines() if line[-1:].isdigit()]
        yield {row[0]: float(row[4]) for row in rows}


def test_an_enabled_marker_costs_at_most_three_calls_through_a_pointer() -> None:
    """The best of ten runs counts, because a neighbour process on the same core slows down the
    marker more than the call."""
    ratios: list[float] = []
    for medians in yield_medians_of_enabled_markers():
        ratios.append(
            compute_added_cost(medians, "typed-direct-call")
            / compute_added_cost(medians, "function-pointer")
        )
        if ratios[-1] <= CALLS:
            return
    raise AssertionError(f"a marker cost more than {CALLS} calls in each run: {ratios}")


def test_sdt_probe_loop_takes_at_most_4_pointer_call_loops() -> None:
    """The best of ten runs counts, because a neighbour process may slow down the other runs."""
    ratios: list[dict[str, float]] = []
    for medians in yield_medians_of_enabled_markers("sdt-enabled"):
        ratios.append({one: medians[one] / medians["sdt-func-ptr"] for one in SDT_PASSES})
        if all(ratios[-1][one] <= most for one, most in SDT_PASSES.items()):
            return
    raise AssertionError(
        f"an enabled SDT probe cost more calls than SDT_PASSES in each run: {ratios}"
    )


def test_rcu_section_around_a_probe_costs_less_than_a_call() -> None:
    """The RCU read-side section around a probe costs less than a call, because the section is only
    a store and a compiler barrier in the code of the marker. The best of ten runs counts."""
    ratios: list[float] = []
    for medians in yield_medians_of_enabled_markers():
        with_readers, without = "varargs-empty-probe", "varargs-empty-probe-no-preempt-disable"
        own = compute_added_cost(medians, with_readers) - compute_added_cost(medians, without)
        ratios.append(own / compute_added_cost(medians, "function-pointer"))
        if ratios[-1] <= 1:
            return
    raise AssertionError(f"an RCU section cost more than a call in each run: {ratios}")


@pytest.mark.parametrize(
    "words",
    [
        ("nothing",),
        (),
        ("run", "no-such-benchmark"),
        ("run", "start"),
        ("run", "stop"),
        ("run", "reset"),
        ("run", "-b", "0"),
        ("run", "-b", "100001"),
        ("run", "-b", "ten"),
        ("run", "-b", "4294967297", "empty-loop"),
        ("run", "-b", "", "empty-loop"),
        ("run", "-b", "2x", "empty-loop"),
        ("run", "-b", "+2", "empty-loop"),
        ("env", "-s", "18446744073709551616"),
        ("env", "-s", "-1"),
        ("env", "-p", "1024"),
        ("env", "-c", "4294967296"),
        ("env", "-b"),
        ("run", "empty-loop", "no-such-benchmark"),
        ("run", "-c", "-1"),
        ("run", "-c", "1023", "empty-loop"),
        ("run", "--frequently"),
        ("list", "all"),
        ("env", "extra"),
        ("--help", "more"),
        ("run", "-b", "2", "--blocks", "3", "empty-loop"),
        ("run", "-o", "", "empty-loop"),
        ("env", "-o", "somewhere"),
    ],
)
def test_kmbench_refuses_wrong_arguments(words: tuple[str, ...]) -> None:
    """The exit code is 2, and stderr has a message."""
    done = run_kmbench(*words)
    assert done.returncode == EXIT_USAGE
    assert done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("env", "extra", "more"), "env takes no argument 'extra'"),
        (("run", "empty-loop", "none"), "no benchmark named 'none' (see kmbench list)"),
        (("run", "-b", "0"), "--blocks: bad value '0': give a whole number from 1 to 100000"),
        (("run", "-b", ""), "--blocks: bad value '': give a whole number from 1 to 100000"),
        (("run", "-c", "1024"), "--cpu: bad value '1024': give a whole number from 0 to 1023"),
        (
            ("run", "--seed", "1 2"),
            "--seed: bad value '1 2': give a whole number from 0 to 18446744073709551615",
        ),
        (
            ("run", "-b", "0100001"),
            "--blocks: bad value '0100001': give a whole number from 1 to 100000",
        ),
        (("env", "-c", "0x0"), "--cpu: bad value '0x0': give a whole number from 0 to 1023"),
        (("env", "-p", "-1"), "--prefer: bad value '-1': give a whole number from 0 to 1023"),
        (("run", "-o", ""), "--out: bad value '': give the name of a directory"),
        (("run", "-o", "a", "-o", "b"), "--out: given again, with value 'b': give it once"),
        (("env", "-o", "a"), "env takes no --out 'a': it writes to standard output"),
    ],
)
def test_message_of_kmbench_names_the_wrong_argument(words: tuple[str, ...], message: str) -> None:
    assert run_kmbench(*words).stderr == f"kmbench: {message}\n"


def test_numbers_of_options_are_decimal() -> None:
    """Zeros in front of a number do not make it octal."""
    lines = run_kmbench("env", "--blocks", "010", "--seed", "08").stdout.splitlines()
    assert "blocks=10" in lines and "seed=8" in lines


def test_unknown_option_is_named_with_the_remedy() -> None:
    """Messages about unknown options begin with the name of the program, as all others."""
    for words in (("--frequently",), ("-x",), ("-b",)):
        first, second = run_kmbench("run", *words).stderr.splitlines()
        assert first.startswith("kmbench: ") and words[0].lstrip("-") in first
        assert second == "kmbench: wrong option: kmbench --help lists all options"


def test_kmbench_prints_help_on_stdout() -> None:
    """The usage is printed on stdout, so that a pager can show it."""
    done = run_kmbench("--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: kmbench list")
    assert "\nkmbench step [--without-int3] shows" in done.stdout
    assert done.stderr == ""
    assert run_kmbench().stderr == done.stdout


@pytest.mark.parametrize(
    "words", [("--help",), ("list",), ("env",), ("run", "-b", "2", "empty-loop")]
)
def test_kmbench_fails_if_stdout_is_a_full_device(words: tuple[str, ...]) -> None:
    """/dev/full as output gives exit code 1 and a message on stderr."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [str(KMBENCH), *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert "standard output: not written: No space left on device" in done.stderr


@pytest.mark.parametrize("words", [("list",), ("env",), ("run", "-b", "2", "empty-loop")])
def test_kmbench_fails_if_stdout_is_closed(words: tuple[str, ...]) -> None:
    """A closed stdout is reported. No file that kmbench opens gets descriptor 1, otherwise the
    output would go to that file."""
    done = run_program("sh", "-c", 'exec "$0" "$@" >&-', KMBENCH, *words)
    assert done.returncode == 1
    assert "standard output: not written: Bad file descriptor" in done.stderr


@pytest.mark.parametrize(("name", "blocks"), [("env.new", 2), ("empty-loop.csv", 2000)])
def test_kmbench_fails_if_a_sample_file_cannot_be_written(
    name: str, blocks: int, tmp_path: Path
) -> None:
    """The exit code is 1 for files that are smaller or larger than the output buffer. No further
    benchmark is measured."""
    (tmp_path / name).symlink_to("/dev/full")
    done = run_kmbench("run", "-b", blocks, "-o", tmp_path, "empty-loop", "memcpy-4096")
    assert done.returncode == 1
    assert "memcpy-4096" not in done.stderr
    assert f"{name.split('.', maxsplit=1)[0]}: not written" in done.stderr
    assert Path("/dev/full").is_char_device()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a tmpfs needs root")
def test_full_disk_leaves_no_truncated_file(tmp_path: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this machine does not permit to mount a tmpfs")
    try:
        done = run_kmbench("run", "-b", 200, "-o", tmp_path / "run", "empty-loop")
        assert done.returncode == 1
        assert done.stderr.count("No space left on device") == 1
        assert [path.name for path in (tmp_path / "run").iterdir()] == ["env"]
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_file_size_limit_leaves_no_truncated_file(tmp_path: Path) -> None:
    """At a limit of the file size, the kernel sends SIGXFSZ, which would end kmbench while the file
    is half written."""
    limited = ("sh", "-c", 'ulimit -f 8; exec "$@"', "sh", KMBENCH)
    done = run_program(*limited, "run", "-b", 50, "-o", tmp_path / "raw", "empty-loop")
    assert done.returncode == 1
    assert "kmbench: empty-loop: not written: File too large" in done.stderr
    assert [path.name for path in (tmp_path / "raw").iterdir()] == ["env"]


# A library in which perf_event_open() succeeds, with counters that never run.
COUNTERS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
long syscall(long number, ...)
{
	long (*next)(long, ...) = dlsym(RTLD_NEXT, "syscall");
	long a[6];
	va_list list;
	int i;

	if (number == SYS_perf_event_open)
		return open("/dev/zero", O_RDONLY);
	va_start(list, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""


@pytest.fixture(name="kmbench_with_idle_counters", scope="module")
def build_kmbench_command_with_counters(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the words of a command that runs kmbench with the library COUNTERS."""
    folder = tmp_path_factory.mktemp("counters")
    (folder / "counters.c").write_text(COUNTERS)
    words = ["gcc", "-shared", "-fPIC", "-o", "counters.so", "counters.c", "-ldl"]
    subprocess.run(words, check=True, cwd=folder)
    return ["env", f"LD_PRELOAD={folder / 'counters.so'}", str(KMBENCH)]


def test_kmbench_fails_if_the_file_counters_cannot_be_created(
    kmbench_with_idle_counters: list[str], tmp_path: Path
) -> None:
    """No benchmark is measured, because its numbers of events would be missing."""
    (tmp_path / "counters").mkdir()
    done = run_program(*kmbench_with_idle_counters, "run", "-b", 2, "-o", tmp_path, "empty-loop")
    assert done.returncode == 1
    assert f"kmbench: cannot create {tmp_path}/counters: Is a directory" in done.stderr
    assert "windows" not in done.stderr


def test_an_unwritable_directory_ends_the_run_at_once(tmp_path: Path) -> None:
    """If the path of the output directory is a file, the run ends with an error before the first
    benchmark is measured."""
    place = tmp_path / "file"
    place.touch()
    done = run_kmbench("run", "-b", 2, "-o", place, "empty-loop")
    assert done.returncode == 1
    assert f"{place}/env.new: Not a directory" in done.stderr
    assert "windows" not in done.stderr


def test_the_output_directory_is_created_with_all_permissions(tmp_path: Path) -> None:
    """Only the umask limits who may use the output directory."""
    words = ("sh", "-c", 'umask 0; exec "$@"', "sh", KMBENCH, "run", "-b", 2)
    done = run_program(*words, "-o", tmp_path / "raw", "empty-loop")
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE((tmp_path / "raw").stat().st_mode) == 0o777


def test_events_are_not_counted_without_an_output_directory() -> None:
    """Without --out, no message says that a counter is missing, and stdin is not read."""
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * 4096)
        file.seek(0)
        words = [str(KMBENCH), "run", "-b", "2", "empty-loop"]
        done = subprocess.run(words, stdin=file, capture_output=True, text=True, check=True)
        assert file.tell() == 0
    assert "SKIP counter" not in done.stderr


def test_progress_is_shown_on_a_terminal() -> None:
    """The number of finished windows grows, and is printed at the beginning, five times a second,
    and at the end."""
    main, other = pty.openpty()
    start = time.monotonic()
    words = [str(KMBENCH), "run", "-b", "2000", "empty-loop", "memcpy-4096"]
    with subprocess.Popen(words, stderr=other, stdout=subprocess.DEVNULL) as process:
        os.close(other)
        shown = b""
        while True:
            try:
                piece = os.read(main, 4096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
    os.close(main)
    assert process.returncode == 0
    elapsed = time.monotonic() - start
    done = [int(n) for n in re.findall(rb"\[2/2\] memcpy-4096: (\d+) of \d+ windows", shown)]
    assert 2 < len(done) <= 2 + 5 * elapsed
    assert done == sorted(done)
    assert done[-1] > done[0]


def test_time_of_each_benchmark_is_printed() -> None:
    """Without a terminal, one message per benchmark is printed. Its printed time, in tenths of a
    second, is the time since the message before. The best of ten runs counts, because this program
    may read a message late."""
    assert any(is_printed_benchmark_time_correct() for _ in range(RUNS))


def is_printed_benchmark_time_correct() -> bool:
    """Measure three benchmarks. Return True if each printed time is the time between two messages,
    and at least one printed time has tenths of a second."""
    names = ("empty-loop", "memcpy-4096", "marker-enabled")
    words = [str(KMBENCH), "run", "-b", "400", *names]
    printed, ends = [], []
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        for line in process.stderr:
            assert line.count(b" windows") <= 1
            if match := re.search(rb"windows in (\d+\.\d) s", line):
                printed.append(float(match[1]))
                ends.append(time.monotonic())
    assert process.returncode == 0
    assert len(printed) == len(names)
    waited = [end - before for before, end in itertools.pairwise(ends)]
    return printed[1:] == pytest.approx(waited, abs=0.3) and any(time % 1 for time in printed)


def read_cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE])
def test_an_interrupted_run_keeps_complete_blocks(tmp_path: Path, number: signal.Signals) -> None:
    """The exit code is 130, the samples of complete blocks can be collected, and the file env is
    replaced, because kmbench may have moved to another CPU."""
    words = [str(KMBENCH), "run", "-b", "100000", "-o", str(tmp_path / "raw"), "memcpy-4096"]
    # Child processes inherit ignored signals, and pytest may have been started with this signal
    # ignored.
    words = ["env", "--default-signal", *words]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        # Wait until kmbench has used a second of CPU time: on a busy machine, the first block may
        # take longer than an elapsed second.
        while process.poll() is None and read_cpu_seconds(process.pid) < 1:
            time.sleep(0.05)
        first = (tmp_path / "raw" / "env").stat().st_ino
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert process.returncode == EXIT_INTERRUPTED
    assert "interrupted" in said
    assert not (tmp_path / "raw" / "env.new").exists()
    assert (tmp_path / "raw" / "env").stat().st_ino != first
    assert collect.load_raw_folder("native", tmp_path / "raw").rows


@pytest.mark.parametrize("number", [0, signal.SIGINT])
def test_first_env_file_stays_if_it_cannot_be_replaced(tmp_path: Path, number: int) -> None:
    """On a full disk at the end of a run, the exit code is 1 and the first file env stays, also
    if the run was interrupted."""
    raw = tmp_path / "raw"
    words = [str(KMBENCH), "run", "-b", "2000", "-o", str(raw), "memcpy-4096"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        while not (raw / "env").exists():
            time.sleep(0.01)
        first = (raw / "env").read_bytes()
        (raw / "env.new").symlink_to("/dev/full")
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1 and "env: not written: No space left on device" in said
    assert first and (raw / "env").read_bytes() == first
    assert not (raw / "env.new").is_symlink()


def test_a_lost_terminal_does_not_end_a_run_under_nohup(tmp_path: Path) -> None:
    """kmbench installs no handler for SIGHUP if SIGHUP is ignored, as under nohup."""
    raw = tmp_path / "raw"
    words = ["nohup", str(KMBENCH), "run", "-b", "2000", "-o", str(raw), "memcpy-4096"]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        while not (raw / "env").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGHUP)
    assert process.returncode == 0


def test_kmbench_refuses_a_directory_with_a_run(tmp_path: Path) -> None:
    """A run in a directory that has samples is refused: its old samples would be mistaken for
    samples of the new run."""
    raw = tmp_path / "raw"
    assert run_program(KMBENCH, "run", "-b", 2, "-o", raw, "empty-loop").returncode == 0
    before = (raw / "env").read_text()
    done = run_program(KMBENCH, "run", "-b", 2, "-o", raw, "memcpy-4096")
    assert done.returncode == 1
    assert "contains another run" in done.stderr
    assert (raw / "env").read_text() == before
    assert not list(raw.glob("memcpy*"))


def test_functions_called_by_benchmarks_stay_separate() -> None:
    """The functions that benchmarks call are as in the source: each has code of its own, also the
    A/A clone, and all of their arguments are passed."""
    lines = run_program("nm", KMBENCH).stdout.splitlines()
    called = re.compile(
        r"\w \w (function_\w+|empty_(?:called_function|entry_hook|exit_hook))(\.\w+)*$"
    )
    found = [(line.split()[0], line.split()[2]) for line in lines if called.search(line)]
    assert len(found) > 15
    assert not [name for _, name in found if "." in name]
    assert len({address for address, _ in found}) == len(found)
