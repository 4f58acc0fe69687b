# SPDX-License-Identifier: GPL-2.0-only
"""Checks that instruction counts are exact: the same in every block, layout, order and boot."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import multimode

from kmtools.analyse import published
from kmtools.analyse.density import COUNTED, is_counted
from kmtools.analyse.slopes import fitted, points_of
from kmtools.base.errors import FailedError
from kmtools.measure import bench, benchmark_names, collect, guest, rundir
from kmtools.measure.samples import Sample
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, testkernel

# Instructions that a dormant marker adds to a loop: load or mov of its state, test and branch; one
# nop; or cmp or xor, and branch.
MARKER_INSTRUCTIONS = {
    "marker-generic": 3,
    "marker-immediate": 3,
    "marker-jump": 1,
    "marker-cmp-flip": 2,
    "marker-xor-flip": 2,
}

USUAL_SECONDS = 50.0

LOCKS = ("spinlock", "mutex", "rwlock-read", "rwlock-write", "rwsem-read", "rwsem-write")

# Instructions that nops and jumps add, in each of these benchmarks.
NOPS = {
    "jmp-2": 1, "jmp-5": 1, "nop-3-2": 2, "nop-66x4": 1, "nop-p6": 1, "nop-1-4": 2,
    "nop-k7-4-1": 2, "nop-5x1": 5, "nop-ds-lea": 1,
}  # fmt: skip
NOPS_IN = ("empty-loop", "memcpy-4096", "nop-encodings")

# The fewest and the most instructions that these variants add. Compilers differ in the instructions
# that move arguments to their registers.
ADDED = {
    ("sdt-dormant", "sdt-jump"): (1, 1),
    ("sdt-dormant", "sdt-breakpoint"): (1, 3),
    ("sdt-dormant", "sdt-nop"): (1, 3),
    ("sdt-dormant", "sdt-split"): (2, 4),
    ("sdt-dormant", "sdt-note"): (0, 0),
    ("sdt-dormant", "sdt-func-ptr"): (3, 3),
    ("sdt-dormant", "sdt-global-gate"): (2, 3),
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
    # The BPF program is called.
    ("peer-fprobe", "fprobe-on"): (20, 1000),
    ("peer-bpf-kprobe", "bpf-kprobe-on"): (20, 1000),
    ("peer-bpf-fentry", "bpf-fentry-on"): (20, 1000),
    ("peer-bpf-raw-tracepoint", "bpf-raw-tracepoint-on"): (20, 1000),
    # A ping executes four sites, and a message two. GCC 16 compares a variable in memory.
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

# Benchmarks with interrupts enabled, so that a few windows have more instructions than the others.
OPEN = "lock-pair-"
# Benchmarks whose hits search for the site: the number of instructions depends on the site's
# address.
SEARCHED = ("sdt-enabled", "sdt-trapped", "peers-enabled", "peer-kprobe-optimised")
# Benchmarks that some kernels lack; the run of such a kernel must name them.
MAY_LACK = ("peer-fprobe",)
# Benchmarks that need a second CPU, which this tier lacks.
NEEDS_TWO = "arm-"

# The highest cost of an enabled marker, in units of a tracepoint of the same run.
TRACEPOINTS = {
    "typed-direct-call": (1, "tracepoint"),
    "marker-1-probe": (3, "tracepoint"),
    "typed-direct-call-2-probes": (1, "tracepoint-2-probes"),
    "typed-direct-call-8-probes": (1, "tracepoint-8-probes"),
    "marker-event": (1, "trace-event"),
}

# Variants that write trace records: a window in which a page of the ring buffer becomes full has
# more instructions.
RECORDED = {("marker-enabled", "marker-event"), ("marker-enabled", "trace-event")}

Counts = dict[tuple[str, str], set[Fraction]]


def named_lacking(raw: Path) -> set[str]:
    """Return the benchmarks of MAY_LACK that the kernel lacks, as its run names them."""
    env = collect.load_raw("icount", raw).tier.env
    return {name for name in MAY_LACK if f"{rundir.LACKS}{name}" in env}


def count(raw: Path) -> Counts:
    """Return instructions per operation by (benchmark, variant): one number if they are exact."""
    counts: Counts = {}
    rows = collect.load_raw("icount", raw).rows
    by_benchmark: dict[str, list[Sample]] = {}
    for row in rows:
        by_benchmark.setdefault(row.benchmark, []).append(row)
    for benchmark, own in by_benchmark.items():
        points = points_of(own)
        for variant, slopes in fitted(points).items():
            values = [slope.value for slope in slopes]
            if (benchmark, variant) in RECORDED:
                windows = [w for place, w in points.items() if place[0] == variant]
                counts[benchmark, variant] = between_windows(windows)
            else:
                counts[benchmark, variant] = set(
                    multimode(values) if benchmark.startswith(OPEN) else values
                )
    return counts


def between_windows(blocks: Iterable[Sequence[tuple[int, int]]]) -> set[Fraction]:
    """Return the slopes between two windows that occur in every block. A window is its number of
    passes and its number of instructions.

    Of three windows, one may have extra instructions, or two may have the same number of extra
    instructions. The cost of a pass is the slope between the two windows without extra
    instructions, or between the two with the same extra number. So the cost is among the slopes of
    every block of three windows; a wrong slope is there only if the same window has extra
    instructions in every block. Blocks with fewer windows are ignored.
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


def judge_sites(counts: Counts, tally: Tally) -> None:
    """Judge the instructions that the dormant markers of a pass add, however many they are."""
    for (benchmark, variant), own in sorted(counts.items()):
        match = COUNTED.fullmatch(variant)
        if not match or not is_counted(benchmark):
            continue
        added = MARKER_INSTRUCTIONS.get(match[1], 0) * int(match[2])
        adds = own == {n + added for n in counts.get((benchmark, "none"), set())}
        tally.judge(adds, f"{benchmark}/{variant} does not add {added} instructions")


def judge_added(counts: Counts, tally: Tally, lacking: Collection[str] = ()) -> None:
    """Judge the instructions that nops, jumps, probes and prefixes add."""
    limits = {(name, nop): (n, n) for name in NOPS_IN for nop, n in NOPS.items()} | ADDED
    bases: dict[str, set[Fraction]] = {
        benchmark: own
        for (benchmark, variant), own in counts.items()
        if (benchmark, f"{variant}-clone") in counts
    }
    for (benchmark, variant), (low, high) in limits.items():
        if benchmark in lacking:
            continue
        own, base = counts.get((benchmark, variant), set()), bases.get(benchmark, set())
        added = {one - other for one in own for other in base}
        good = bool(added) and all(low <= n <= high for n in added)
        shown = ", ".join(f"{float(n):g}" for n in sorted(added)) or "nothing"
        tally.judge(good, f"{benchmark}/{variant} adds {shown} instructions, not {low} to {high}")


def judge_successors(counts: Counts, tally: Tally) -> None:
    """Check that the run has the successors of published numbers that only kernels can measure."""
    for name in published.unknown(counts, "kernel"):
        tally.judge(name.startswith(NEEDS_TWO), f"{name} is named by an alias, and is not measured")


def judge_names(counts: Counts, tally: Tally) -> None:
    """Check that kmarkers bench knows the names of all benchmarks and variants measured in a
    kernel."""
    missing = benchmark_names.unlisted(counts.keys(), benchmark_names.KERNEL)
    tally.judge(not missing, f"{benchmark_names.TABLE.name} lacks {', '.join(missing)}")


def judge(first: Counts, second: Counts, lacking: Collection[str] = ()) -> Tally:
    """Judge the counts of each variant, and the costs of dormant and enabled markers."""
    tally = Tally()
    for key in sorted(first.keys() | second.keys()):
        found = first.get(key, set()) | second.get(key, set())
        both = first.get(key, set()) & second.get(key, set()) if key in RECORDED else found
        exact = key[0] not in SEARCHED
        same = (len(both) == 1 or not exact) and key in first and key in second
        name = "/".join(key)
        tally.judge(same, f"{name}: no single count in both runs: {sorted(map(float, found))}")
    base = first.get(("empty-loop", "none"), set())
    for variant, added in MARKER_INSTRUCTIONS.items():
        adds = first.get(("empty-loop", variant)) == {n + added for n in base}
        tally.judge(adds, f"empty-loop/{variant} does not add {added} instructions")
    judge_sites(first, tally)
    judge_added(first, tally, lacking)
    judge_successors(first, tally)
    judge_names(first, tally)
    # The costs of an enabled marker and of a tracepoint: what each adds to the empty loop.
    common = {key: own & second.get(key, set()) for key, own in first.items()}
    loop = max(common.get(("marker-enabled", "none")) or {Fraction(0)})
    for variant, (times, peer) in TRACEPOINTS.items():
        more = max(common.get(("marker-enabled", variant)) or {loop}) - loop
        tracepoint = min(common.get(("marker-enabled", peer)) or {loop}) - loop
        beside = f"adds {float(more)} instructions, {peer} {float(tracepoint)}"
        tally.judge(0 < more <= times * tracepoint, f"marker-enabled/{variant} {beside}")
    return tally


def compare(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot twice with different orders of variants and compare every count."""
    runs, lacking = [], set[str]()
    for seed in (1, 2):
        raw = log.with_suffix("") / f"seed-{seed}"
        try:
            live = guest.Live(4, bench.LIVE["icount"])
            guest.measure(
                "icount",
                kernel,
                modules,
                raw,
                blocks=4,
                seed=seed,
                live=live,
                program=kernelsuite.kmlive(modules),
            )
        except FailedError as error:
            return Tally(failed=[str(error)])
        runs.append(count(raw))
        lacking |= named_lacking(raw)
    lines = [f"{'/'.join(key)} {sorted(map(float, n))}" for key, n in sorted(runs[0].items())]
    log.write_text("\n".join(lines) + "\n")
    return judge(runs[0], runs[1], lacking)


def suites_of(ask: Ask, _: Sequence[str]) -> list[Suite]:
    """Return the suite that counts instructions in two boots."""
    kernel = testkernel.kernel_of(ask)
    run = partial(compare, kernel, kernelsuite.MODULES / kernel)
    what = "two runs that count instructions agree"
    obstacle = kernelsuite.obstacle(kernel)
    return [Suite(f"counts-{kernel}", run, what, obstacle, USUAL_SECONDS, modules=kernel)]
