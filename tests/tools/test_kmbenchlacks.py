# SPDX-License-Identifier: GPL-2.0-only
"""Tests of kmbench on machines without some feature of the kernel or the CPU: it skips benchmarks
and prints the reason."""

from __future__ import annotations

import csv
import ctypes
import errno
import mmap
import os
import re
import statistics
import subprocess
import time
from pathlib import Path

import pytest
from kmtools.measure import collect
from nativeprograms import (
    EXIT_SKIP,
    EXIT_USAGE,
    KMBENCH,
    NATIVE,
    read_env_of_raw_folder,
    run_kmbench,
    run_kmbench_with_failing_call,
    run_program,
)

pytestmark = pytest.mark.usefixtures("native_programs")


@pytest.mark.parametrize(
    ("failure", "named"),
    [
        (f"membarrier={errno.ENOSYS}", "membarrier(2) with sync-core"),
        (f"membarrier={errno.EINVAL}", "membarrier(2) with sync-core"),
        (f"mremap={errno.EPERM}", "shared memory"),
    ],
)
def test_all_benchmarks_are_skipped_without_live_patching(
    failure: str, named: str, tmp_path: Path
) -> None:
    """If membarrier() or mremap() fails, running code cannot be patched: the exit code is 4, and
    stderr has the reason."""
    done = run_kmbench_with_failing_call(
        failure, "run", "-b", 2, "-o", tmp_path / "raw", "empty-loop"
    )
    assert done.returncode == EXIT_SKIP
    assert named in done.stderr
    assert "SKIP all benchmarks" in done.stderr
    assert not (tmp_path / "raw").exists()


def test_native_test_program_is_skipped_without_membarrier() -> None:
    """The test program exits with 4, and its KTAP plan is `1..0 # SKIP`."""
    done = run_program(NATIVE / "deny", f"membarrier={errno.ENOSYS}", "--", NATIVE / "test", 10)
    assert done.returncode == EXIT_SKIP
    assert "1..0 # SKIP" in done.stdout


def test_failed_sched_getaffinity_is_reported() -> None:
    """sched_getaffinity() fails on machines with more than 1024 CPUs: kmbench then measures on the
    CPU on which it was started, which may be busy."""
    failure = f"sched_getaffinity={errno.EINVAL}"
    done = run_kmbench_with_failing_call(failure, "run", "-b", 1, "empty-loop")
    assert done.returncode == 0
    problem = "because other CPUs are unknown: Invalid argument: --cpu chooses one"
    assert re.search(rf"^kmbench: measuring on CPU \d+, {problem}$", done.stderr, re.M)


def test_failed_sched_setaffinity_is_reported(tmp_path: Path) -> None:
    """Without --cpu, a message says that the run is not pinned to a CPU. With --cpu, the failed
    call is an error."""
    failure = f"sched_setaffinity={errno.EPERM}"
    done = run_kmbench_with_failing_call(
        failure, "run", "-b", 2, "-o", tmp_path / "raw", "empty-loop"
    )
    assert done.returncode == 0
    assert "SKIP pinning" in done.stderr
    done = run_kmbench_with_failing_call(failure, "run", "-b", 2, "-c", 0, "empty-loop")
    assert done.returncode == EXIT_USAGE


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (errno.EACCES, "no permission for perf events: reduce kernel.perf_event_paranoid"),
        (errno.EPERM, "no permission for perf events: reduce kernel.perf_event_paranoid"),
        (errno.ENOENT, "this machine has no hardware counter of cycles"),
        (errno.EOPNOTSUPP, "this machine has no hardware counter of cycles"),
        (errno.ENOSYS, "Function not implemented"),
    ],
)
def test_without_perf_events_cycles_are_estimated(error: int, why: str, tmp_path: Path) -> None:
    """stderr has the reason why neither cycles nor other events are counted; the env file has
    cycles=estimated, and there is no file of counts."""
    raw = tmp_path / "raw"
    done = run_kmbench_with_failing_call(
        f"perf_event_open={error}", "run", "-b", 2, "-o", raw, "empty-loop"
    )
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert f"kmarkers: core cycles are estimated, not counted: {why}" in lines
    assert f"kmbench: SKIP counters: {why.replace('counter of cycles', 'counters')}" in lines
    assert read_env_of_raw_folder(raw)["cycles"] == "estimated"
    assert not (raw / "counters").exists()


def test_frequency_of_a_tsc_that_is_not_invariant_is_skipped(tmp_path: Path) -> None:
    """A message says that tsc_khz is skipped, the env file has no tsc_khz, and the samples are
    valid."""
    raw = tmp_path / "raw"
    done = run_program(NATIVE / "kmbench-no-tsc", "run", "-b", 2, "-o", raw, "empty-loop")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("SKIP tsc_khz") == 1
    assert "the TSC is not invariant" in done.stderr
    env = read_env_of_raw_folder(raw)
    assert env["invariant_tsc"] == "0"
    assert "tsc_khz" not in env
    assert collect.load_raw_folder("native", raw).rows


# A library that makes a program believe that QEMU emulates its CPU: the instruction cpuid raises
# SIGSEGV, and the handler executes cpuid and changes the names of the hypervisor and of the CPU.
EMULATED = """
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#define ARCH_SET_CPUID 0x1012
static void execute_cpuid(int number, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned char *code = (void *)regs[REG_RIP];
	unsigned int leaf = regs[REG_RAX], a, b, c, d;
	if (code[0] != 0x0f || code[1] != 0xa2)
		_exit(99);
	syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
	__cpuid_count(leaf, regs[REG_RCX], a, b, c, d);
	syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
	if (leaf == 1)
		c |= 1U << 31;
	if (leaf >= 0x80000002 && leaf <= 0x80000004) {
		const char *words = MODEL + (leaf - 0x80000002) * 16;
		__builtin_memcpy(&a, words, 4);
		__builtin_memcpy(&b, words + 4, 4);
		__builtin_memcpy(&c, words + 8, 4);
		__builtin_memcpy(&d, words + 12, 4);
	}
	if (leaf == 0x40000000) {
		__builtin_memcpy(&b, "TCGT", 4);
		__builtin_memcpy(&c, "CGTC", 4);
		__builtin_memcpy(&d, "GTCG", 4);
	}
	regs[REG_RAX] = a, regs[REG_RBX] = b, regs[REG_RCX] = c, regs[REG_RDX] = d;
	regs[REG_RIP] += 2;
}
__attribute__((constructor)) static void make_cpuid_fault(void)
{
	struct sigaction action = { .sa_sigaction = execute_cpuid, .sa_flags = SA_SIGINFO };
	sigaction(SIGSEGV, &action, 0);
	syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
}
"""


def test_emulated_cpu_has_no_cycles_or_cache_benchmarks(tmp_path: Path) -> None:
    """The env file says that the CPU is emulated, and has the whole name of the CPU. Benchmarks of
    caches other than the L1 cache are skipped, no window has core cycles, and the env file has no
    sizes of buffer and last cache."""
    if "cpuid_fault" not in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        pytest.skip("the instruction cpuid cannot raise a signal on this CPU")
    source, library, raw = tmp_path / "cpuid.c", tmp_path / "cpuid.so", tmp_path / "raw"
    source.write_text(EMULATED)
    model = "A processor with a name of 48 letters and blanks"
    words: list[str | Path] = ["gcc", "-shared", "-fPIC", f'-DMODEL="{model}"']
    subprocess.run([*words, "-o", library, source], check=True)
    skipped = {f"cold-icache-{level}": "has no caches" for level in ("l2", "l3", "memory")}
    skipped |= {"cold-branch-pages": "or the CPU is emulated"}
    words = [KMBENCH, "run", "-b", "1", "-o", raw, "cold-branch", "cold-icache-l1", *skipped]
    environment = {"LD_PRELOAD": str(library)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    for name, why in skipped.items():
        assert re.search(rf"\] {name}: SKIP, .*{why}$", done.stderr, re.M)
    env = read_env_of_raw_folder(raw)
    assert (env["hypervisor"], env["emulated"], env["cycles"]) == ("TCGTCGTCGTCG", "1", "none")
    assert env["cpu_model"] == model
    assert "cold_buffer_bytes" not in env and "last_cache_bytes" not in env
    rows = collect.load_raw_folder("native", raw).rows
    assert {row.benchmark for row in rows} == {"cold-branch", "cold-icache-l1"}
    assert not any(row.core_cycles for row in rows)


def measure_tsc_khz() -> float:
    """Return the number of TSC ticks per millisecond, measured over a fifth of a second. The TSC
    is read before and after each read of the clock; of 50 attempts, the shortest counts, because
    the first read after a sleep can take a millisecond."""
    try:
        code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except PermissionError:
        pytest.skip("this machine permits no memory that is writable and executable")
    # rdtsc; shl rdx, 32; or rax, rdx; ret
    code.write(bytes.fromhex("0f31 48c1e220 4809d0 c3"))
    read_tsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def read_tsc_and_monotonic_ns() -> tuple[float, int]:
        tries = [(read_tsc(), time.monotonic_ns(), read_tsc()) for _ in range(50)]
        before, now, after = min(tries, key=lambda reads: reads[2] - reads[0])
        return (before + after) / 2, now

    ticks, start = read_tsc_and_monotonic_ns()
    time.sleep(0.2)
    end_ticks, end = read_tsc_and_monotonic_ns()
    return (end_ticks - ticks) / (end - start) * 1e6


def test_env_file_has_the_frequency_of_an_invariant_tsc(tmp_path: Path) -> None:
    """If /proc/cpuinfo lists nonstop_tsc, the TSC is invariant, and the env file has its
    frequency, exact to a ten-thousandth."""
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    if "nonstop_tsc" not in flags:
        pytest.skip("the TSC of this CPU is not invariant")
    done = run_kmbench("run", "-b", 2, "-o", tmp_path / "raw", "empty-loop")
    assert "SKIP tsc_khz" not in done.stderr
    env = read_env_of_raw_folder(tmp_path / "raw")
    assert env["invariant_tsc"] == "1"
    assert int(env["tsc_khz"]) == pytest.approx(measure_tsc_khz(), rel=0.0001)


def test_benchmark_with_an_observer_is_skipped_on_a_single_cpu() -> None:
    """A benchmark that needs a second CPU is skipped. The exit code is 4 if no other benchmark was
    requested."""
    done = run_program(KMBENCH, "run", "-b", 1, "arm-stall", one_cpu=True)
    assert done.returncode == EXIT_SKIP
    assert done.stderr.count("no second CPU") == 1
    assert "arm-stall: SKIP, no second CPU is available for the observer thread\n" in done.stderr
    done = run_program(KMBENCH, "run", "-b", 1, "empty-loop", "arm-stall", one_cpu=True)
    assert done.returncode == 0
    assert done.stderr.count("no second CPU") == 1


def test_benchmark_with_an_observer_is_skipped_without_affinity() -> None:
    """Benchmarks with an observer on another CPU are skipped if sched_setaffinity() fails."""
    done = run_kmbench_with_failing_call(
        f"sched_setaffinity={errno.EPERM}", "run", "-b", 1, "arm-stall"
    )
    assert done.returncode == EXIT_SKIP
    assert "SKIP pinning" in done.stderr
    assert "no second CPU is available" in done.stderr


def test_stress_tests_are_skipped_on_a_single_cpu() -> None:
    """With one CPU, each stress test (storm) prints a SKIP line."""
    done = run_program(NATIVE / "test", 10, "storm", one_cpu=True)
    results = [line for line in done.stdout.splitlines() if line.startswith(("ok", "not ok"))]
    assert results
    assert all("# SKIP a stress test needs several CPUs" in line for line in results)


# A library that replaces syscall(): perf_event_open() counts nanoseconds instead of cycles and page
# faults instead of other events of the processor, and refuses to count stalls.
PERF = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
long syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long (*next)(long, ...) = dlsym(RTLD_NEXT, "syscall");
	struct perf_event_attr *attr = (void *)a, changed;
	if (number != SYS_perf_event_open || attr->type > PERF_TYPE_HW_CACHE)
		return next(number, a, b, c, d, e, f);
	changed = *attr;
	if (changed.config == PERF_COUNT_HW_STALLED_CYCLES_FRONTEND) {
		errno = ENOENT;
		return -1;
	}
	changed.type = PERF_TYPE_SOFTWARE;
	changed.config = PERF_COUNT_SW_PAGE_FAULTS;
	if (attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_CPU_CYCLES)
		changed.config = PERF_COUNT_SW_TASK_CLOCK;
	return next(number, (long)&changed, b, c, d, e, f);
}
"""
EVENTS = [
    "cycles", "instructions", "branch-misses", "l1i-misses", "l1d-misses", "cache-misses",
    "itlb-misses", "dtlb-misses",
]  # fmt: skip


@pytest.fixture(name="perf_event_library", scope="module")
def build_perf_event_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a library from PERF, which replaces syscall(); return its path."""
    folder = tmp_path_factory.mktemp("perf")
    (folder / "perf.c").write_text(PERF)
    words: list[str | Path] = ["gcc", "-shared", "-fPIC", "-o", folder / "perf.so"]
    subprocess.run([*words, folder / "perf.c", "-ldl"], check=True)
    return folder / "perf.so"


def run_kmbench_and_read_counters(
    library: Path, blocks: int, raw: Path, *benchmarks: str
) -> list[dict[str, str]]:
    """Run kmbench with the library built from PERF; return the rows of the file counters. Skip the
    test if no events can be counted."""
    words = ["env", f"LD_PRELOAD={library}", KMBENCH, "run", "-b", blocks, "-o", raw, *benchmarks]
    done = run_program(*words)
    if "SKIP counters" in done.stderr:
        pytest.skip("perf events are not permitted: lower kernel.perf_event_paranoid or be root")
    assert done.returncode == 0, done.stderr
    why = "not available on this processor"
    assert re.findall("SKIP counter.*", done.stderr) == [f"SKIP counter front-end-stalls: {why}"]
    with (raw / "counters").open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="arm-stall needs a second CPU for its observer"
)
def test_perf_events_are_not_counted_while_sites_are_switched(
    perf_event_library: Path, tmp_path: Path
) -> None:
    assert run_kmbench_and_read_counters(perf_event_library, 1, tmp_path / "raw", "arm-stall") == []


def test_perf_events_are_counted_in_each_variant(perf_event_library: Path, tmp_path: Path) -> None:
    """The file counters has the events in a pass of each variant, for each event that can be
    counted. The nanoseconds in a pass agree with the samples in the best of several runs, because
    another program may slow down a count or a measurement."""
    ratios = []
    for number in range(5):
        raw = tmp_path / str(number)
        counts = run_kmbench_and_read_counters(
            perf_event_library, 16, raw, "memcpy-4096", "empty-loop"
        )
        rows, env = collect.load_raw_folder("native", raw).rows, read_env_of_raw_folder(raw)
        variants = list(dict.fromkeys((row["benchmark"], row["variant"]) for row in counts))
        assert {*variants} == {(row.benchmark, row.variant) for row in rows}
        assert [(row["benchmark"], row["variant"], row["counter"]) for row in counts] == [
            (*variant, event) for variant in variants for event in EVENTS
        ]
        assert all(0.9 < float(row["share"]) <= 1 for row in counts)
        assert env["cycles"] == ("none" if env["emulated"] == "1" else "counted")
        assert all(row.core_cycles for row in rows) or env["emulated"] == "1"
        assert all(float(row["per_pass"]) < 0.1 for row in counts if row["counter"] != "cycles")
        if env["invariant_tsc"] != "1":
            pytest.skip("the TSC of this CPU is not invariant")
        khz = int(env["tsc_khz"])
        per_pass = {
            row["variant"]: float(row["per_pass"])
            for row in counts
            if row["benchmark"] == "memcpy-4096" and row["counter"] == "cycles"
        }
        for variant, counted in per_pass.items():
            measured = [
                row.value / row.size * 1e6 / khz
                for row in rows
                if row.benchmark == "memcpy-4096" and row.variant == variant
            ]
            ratios.append(counted / statistics.median(measured))
        if all(0.5 < ratio < 2 for ratio in ratios[-len(per_pass) :]):
            return
    raise AssertionError(
        f"counted and measured nanoseconds differ by a factor of 2 or more: {ratios}"
    )
