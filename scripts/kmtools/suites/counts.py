# SPDX-License-Identifier: GPL-2.0-only
"""Checks the instruction counts of the benchmarks, and of switching recorded functions (built with
entry.mk). The counts of the benchmarks must not depend on the block (a group of consecutive
measurements), the code alignment, the order of variants or the boot. Dormant sites must add the
expected number of instructions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import multimode

from kmtools.analyse import published
from kmtools.analyse.density import VARIANT_WITH_SITE_COUNT, has_variants_by_site_count
from kmtools.analyse.slopes import fit_slopes, group_unflagged_windows
from kmtools.base.errors import FailedError
from kmtools.base.text import format_count
from kmtools.lab.machine import Request
from kmtools.measure import bench, benchmark_names, collect, guest, rundir
from kmtools.measure.samples import Sample
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, testkernel

# The number of instructions that a dormant marker adds to a loop. 3: a load of the state (or a mov
# of the immediate value), a test and a branch; 2: a cmp or xor, and a branch; 1: a nop.
MARKER_INSTRUCTIONS = {
    "marker-generic": 3,
    "marker-immediate": 3,
    "marker-jump": 1,
    "marker-cmp-flip": 2,
    "marker-xor-flip": 2,
}

# The number of instructions of each comparison in a loop pass with several comparisons: a cmp with
# an immediate value or with a variable, and a branch.
COMPARE_INSTRUCTIONS = {"imv-compare": 2, "variable-compare": 2}

USUAL_SECONDS, USUAL_ENTRY_SECONDS = 50.0, 25.0

# The lock types of the benchmarks lock-pair-*.
LOCKS = ("spinlock", "mutex", "rwlock-read", "rwlock-write", "rwsem-read", "rwsem-write")

# The number of instructions that variants with nops or jumps add, in each benchmark of NOPS_IN.
NOPS = {
    "jmp-2": 1, "jmp-5": 1, "nop-3-2": 2, "nop-66x4": 1, "nop-p6": 1, "nop-1-4": 2,
    "nop-k7-4-1": 2, "nop-5x1": 5, "nop-ds-lea": 1,
}  # fmt: skip
NOPS_IN = ("empty-loop", "memcpy-4096", "nop-encodings")

# The minimum and the maximum number of instructions that a variant adds to the baseline of its
# benchmark, by benchmark and variant. Compilers differ in the instructions that load arguments into
# registers.
ADDED = {
    ("sdt-dormant", "sdt-jump"): (1, 1),
    ("sdt-dormant", "sdt-breakpoint"): (1, 3),
    ("sdt-dormant", "sdt-nop"): (1, 3),
    ("sdt-dormant", "sdt-split"): (2, 4),
    ("sdt-dormant", "sdt-note"): (0, 0),
    ("sdt-dormant", "sdt-func-ptr"): (3, 3),
    ("sdt-dormant", "sdt-global-gate"): (2, 3),
    # An enabled site fills a struct sdt_hit, and the handlers are called.
    ("sdt-enabled", "sdt-jump"): (20, 37),
    ("sdt-enabled", "sdt-jump-2-handlers"): (30, 65),
    ("sdt-enabled", "sdt-breakpoint-promoted"): (20, 52),
    ("xadd-prefix", "plain"): (2, 2),
    ("xadd-prefix", "ds"): (2, 2),
    ("xadd-prefix", "lock"): (2, 2),
    ("xadd-prefix", "nop"): (3, 3),
    ("peers-dormant", "marker-jump"): (1, 1),
    ("peers-dormant", "static-key"): (1, 1),
    ("peers-dormant", "tracepoint"): (1, 1),
    ("peers-dormant", "static-call"): (1, 3),
    ("peers-dormant", "flag"): (2, 3),
    ("function-entry", "recorded-nop"): (1, 1),
    ("function-entry", "recorded-nop-ds-lea"): (1, 1),
    ("function-entry", "recorded-nop-and-exit"): (2, 2),
    ("peer-fprobe", "fprobe-off"): (1, 1),
    ("peer-bpf-kprobe", "bpf-kprobe-off"): (1, 1),
    ("peer-bpf-fentry", "bpf-fentry-off"): (1, 1),
    ("peer-bpf-raw-tracepoint", "bpf-raw-tracepoint-off"): (1, 1),
    # An enabled probe calls a handler or a BPF program.
    ("peer-fprobe", "fprobe-on"): (20, 1000),
    ("peer-bpf-kprobe", "bpf-kprobe-on"): (20, 1000),
    ("peer-bpf-fentry", "bpf-fentry-on"): (20, 1000),
    ("peer-bpf-raw-tracepoint", "bpf-raw-tracepoint-on"): (20, 1000),
    # A ping executes four sites, a message of hackbench executes two. A generic marker may add only
    # 2 instructions: GCC 16 replaces load and test by one cmp with the state in memory.
    ("macro-ping", "marker-generic"): (8, 12),
    ("macro-ping", "marker-immediate"): (12, 12),
    ("macro-ping", "marker-jump"): (4, 4),
    ("macro-ping", "marker-1-probe"): (80, 1000),
    **{("macro-hackbench", nop): (2 * n, 2 * n) for nop, n in NOPS.items()},
    **{
        (f"lock-pair-{lock}", variant): limits
        for lock in LOCKS
        for variant, limits in {
            "marker-jump": (2, 2),
            "sdt-jump": (2, 2),
            "sdt-breakpoint": (2, 6),
            "sdt-func-ptr": (4, 6),
        }.items()
    },
}

# The prefix of benchmarks that run with interrupts enabled. In a few of their measured windows,
# interrupts add instructions.
INTERRUPTIBLE = "lock-pair-"
# Benchmarks in which each hit searches a table for its site. The number of instructions depends on
# the address of the site.
SEARCHED = ("sdt-trapped", "peers-enabled", "peer-kprobe-optimised")
# Benchmarks that some kernels do not support. The env file of a run must name each of these
# benchmarks that the run lacks.
MAY_LACK = ("peer-fprobe",)
# The prefix of benchmarks that need a second CPU. If QEMU counts instructions (tier icount), the
# guest has one CPU, and these benchmarks are not measured.
NEEDS_TWO = "arm-"

# The maximum cost of an enabled marker, by variant: the number of instructions that the marker
# may add beyond the instructions of a second variant. A marker with one probe passes its arguments
# as a va_list; in the kernels 5.10, 6.1 and 7.2 this marker adds 32, 33 and 34 instructions more
# than a tracepoint.
TRACEPOINTS = {
    "typed-direct-call": (0, "tracepoint"),
    "marker-1-probe": (34, "tracepoint"),
    "typed-direct-call-2-probes": (0, "tracepoint-2-probes"),
    "typed-direct-call-8-probes": (0, "tracepoint-8-probes"),
    "marker-event": (0, "trace-event"),
}

# Variants that write trace records. If a page of the ring buffer fills up during a window, the
# window has additional instructions.
RECORDED = {("marker-enabled", "marker-event"), ("marker-enabled", "trace-event")}

# All instruction counts per operation that were found, by (benchmark, variant). If a count is
# exact, its set has one element.
Counts = dict[tuple[str, str], set[Fraction]]


def read_unsupported_benchmarks(raw: Path) -> set[str]:
    """Return the benchmarks of MAY_LACK that the kernel of a run does not support. `raw` is the
    directory of the run, whose env file names these benchmarks."""
    env = collect.load_raw_folder("icount", raw).tier.env
    return {name for name in MAY_LACK if f"{rundir.LACKS}{name}" in env}


def compute_instruction_counts(raw: Path) -> Counts:
    """Return the instruction counts per operation of each variant, computed from the raw samples of
    the run in the directory `raw`."""
    counts: Counts = {}
    rows = collect.load_raw_folder("icount", raw).rows
    by_benchmark: dict[str, list[Sample]] = {}
    for row in rows:
        by_benchmark.setdefault(row.benchmark, []).append(row)
    for benchmark, own in by_benchmark.items():
        points = group_unflagged_windows(own)
        for variant, slopes in fit_slopes(points).items():
            values = [slope.value for slope in slopes]
            if (benchmark, variant) in RECORDED:
                windows = [w for place, w in points.items() if place[0] == variant]
                counts[benchmark, variant] = find_slopes_in_every_block(windows)
            else:
                counts[benchmark, variant] = set(
                    multimode(values) if benchmark.startswith(INTERRUPTIBLE) else values
                )
    return counts


def find_slopes_in_every_block(blocks: Iterable[Sequence[tuple[int, int]]]) -> set[Fraction]:
    """Return the slopes that occur in every block. A slope is the number of instructions per pass,
    computed from two windows of a block. A window is a pair: number of passes, number of
    instructions.

    Some windows have extra instructions, for example if a page of the ring buffer fills up. Two of
    the three windows of a block have the same number of extra instructions (0 or more); the slope
    between these two windows is the true cost of a pass. The true slope thus occurs in every block.
    A wrong slope occurs in every block only if the same window has the extra instructions each
    time. Blocks with fewer than three windows are ignored.
    """
    found = [
        {
            Fraction(other_count - count, other_passes - passes)
            for (passes, count), (other_passes, other_count) in combinations(block, 2)
            if passes != other_passes
        }
        for block in blocks
        if len(block) > 2
    ]
    return set.intersection(*found) if found else set()


def judge_multi_marker_counts(counts: Counts, tally: Tally) -> None:
    """Check variants with several dormant markers or comparisons per pass: each variant must add
    the instructions of all its markers or comparisons."""
    instructions = MARKER_INSTRUCTIONS | COMPARE_INSTRUCTIONS
    for (benchmark, variant), own in sorted(counts.items()):
        match = VARIANT_WITH_SITE_COUNT.fullmatch(variant)
        if not match or not has_variants_by_site_count(benchmark):
            continue
        added = instructions.get(match[1], 0) * int(match[2])
        adds = own == {n + added for n in counts.get((benchmark, "none"), set())}
        tally.add_result(adds, f"{benchmark}/{variant} does not add {added} instructions")


def judge_instructions_added_by_variants(
    counts: Counts, tally: Tally, unsupported: Collection[str] = ()
) -> None:
    """Check the numbers of instructions that nops, jumps, probes and prefixes add, against the
    limits in NOPS and ADDED. `unsupported` are benchmarks that the kernel does not support."""
    limits = {(name, nop): (n, n) for name in NOPS_IN for nop, n in NOPS.items()} | ADDED
    bases: dict[str, set[Fraction]] = {
        benchmark: own
        for (benchmark, variant), own in counts.items()
        if (benchmark, f"{variant}-clone") in counts
    }
    for (benchmark, variant), (low, high) in limits.items():
        if benchmark in unsupported:
            continue
        own, base = counts.get((benchmark, variant), set()), bases.get(benchmark, set())
        added = {one - other for one in own for other in base}
        good = bool(added) and all(low <= n <= high for n in added)
        shown = ", ".join(format_count(float(n)) for n in sorted(added)) or "nothing"
        tally.add_result(
            good, f"{benchmark}/{variant} adds {shown} instructions, not {low} to {high}"
        )


def judge_repeated_published_measurements(counts: Counts, tally: Tally) -> None:
    """Check that the run contains each kernel benchmark that repeats a published measurement.
    Benchmarks that need two CPUs may be missing."""
    for name in published.find_missing_successor_variants(counts, "kernel"):
        tally.add_result(
            name.startswith(NEEDS_TWO),
            f"{name} repeats a published measurement, but was not measured",
        )


def judge_benchmark_name_table(counts: Counts, tally: Tally) -> None:
    """Check that the table of benchmark names contains all benchmarks and variants that were
    measured."""
    missing = benchmark_names.find_unlisted_variants(counts.keys(), benchmark_names.KERNEL)
    tally.add_result(not missing, f"{benchmark_names.TABLE.name} lacks {', '.join(missing)}")


def judge_instruction_counts(
    first: Counts, second: Counts, unsupported: Collection[str] = ()
) -> Tally:
    """Compare the counts of the first and the second boot, and check the costs of dormant and
    enabled markers. `unsupported` are benchmarks that the kernel does not support."""
    tally = Tally()
    for key in sorted(first.keys() | second.keys()):
        found = first.get(key, set()) | second.get(key, set())
        both = first.get(key, set()) & second.get(key, set()) if key in RECORDED else found
        exact = key[0] not in SEARCHED
        same = (len(both) == 1 or not exact) and key in first and key in second
        name = "/".join(key)
        tally.add_result(
            same, f"{name}: the counts of the two boots differ: {sorted(map(float, found))}"
        )
    base = first.get(("empty-loop", "none"), set())
    for variant, added in MARKER_INSTRUCTIONS.items():
        adds = first.get(("empty-loop", variant)) == {n + added for n in base}
        tally.add_result(adds, f"empty-loop/{variant} does not add {added} instructions")
    judge_multi_marker_counts(first, tally)
    judge_instructions_added_by_variants(first, tally, unsupported)
    judge_repeated_published_measurements(first, tally)
    judge_benchmark_name_table(first, tally)
    # The cost of an enabled marker or a tracepoint is the number of instructions added to the empty
    # loop. Use only counts that occur in both boots.
    common = {key: own & second.get(key, set()) for key, own in first.items()}
    loop = max(common.get(("marker-enabled", "none")) or {Fraction(0)})
    for variant, (beyond, peer) in TRACEPOINTS.items():
        more = max(common.get(("marker-enabled", variant)) or {loop}) - loop
        tracepoint = min(common.get(("marker-enabled", peer)) or {loop}) - loop
        beside = f"adds {float(more)} instructions, {peer} {float(tracepoint)}"
        tally.add_result(0 < more <= tracepoint + beyond, f"marker-enabled/{variant} {beside}")
    return tally


def compare_instruction_counts_of_two_boots(kernel: str, modules: Path, log: Path) -> Tally:
    """Count instructions in two boots with different orders of variants, and compare the counts."""
    runs, unsupported = [], set[str]()
    for seed in (1, 2):
        raw = log.with_suffix("") / f"seed-{seed}"
        try:
            live = guest.LiveBenchmarks(4, bench.LIVE["icount"])
            guest.measure_in_test_kernel(
                "icount",
                kernel,
                modules,
                raw,
                blocks=4,
                seed=seed,
                live=live,
                program=kernelsuite.get_kmlive_path(modules),
            )
        except FailedError as error:
            return Tally(failed=[str(error)])
        runs.append(compute_instruction_counts(raw))
        unsupported |= read_unsupported_benchmarks(raw)
    lines = [f"{'/'.join(key)} {sorted(map(float, n))}" for key, n in sorted(runs[0].items())]
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return judge_instruction_counts(runs[0], runs[1], unsupported)


def count_entry_instructions(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel, and run the suite entry_counts in it, which counts the instructions of
    switching recorded functions (built with entry.mk) and compares the counts with limits; return
    the results."""
    request = Request(
        kernel=kernel,
        job=kernelsuite.JOBS / "counts.sh",
        out=log.with_suffix(""),
        tier="icount",
        modules=modules,
        additions=kernelsuite.list_guest_test_files(),
    )
    return kernelsuite.boot_and_tally_job(request, log)


def make_requested_count_suites(suite_request: SuiteRequest, _: Sequence[str]) -> list[Suite]:
    """Return the two suites of this file for the requested kernel: one compares the instruction
    counts of two boots, the other counts the instructions of switching recorded functions (built
    with entry.mk)."""
    kernel = testkernel.choose_kernel(suite_request)
    modules = kernelsuite.MODULES / kernel
    run = partial(compare_instruction_counts_of_two_boots, kernel, modules)
    what = "instruction counts of all benchmarks are equal in two boots"
    count = partial(count_entry_instructions, kernel, modules)
    entry = "instruction counts of switching recorded functions"
    obstacle = kernelsuite.make_boot_obstacle_finder(kernel)
    return [
        Suite(f"counts-{kernel}", run, what, obstacle, USUAL_SECONDS, modules=kernel),
        Suite(
            f"counts-entry-{kernel}", count, entry, obstacle, USUAL_ENTRY_SECONDS, modules=kernel
        ),
    ]
