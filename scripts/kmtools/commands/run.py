# SPDX-License-Identifier: GPL-2.0-only
"""The commands that measure a run and report it; they start without any Python package."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kmtools.base.errors import BAD, DONE, UNABLE, FailedError, UnableError, explain_error
from kmtools.base.files import hold_lock, sync_and_rename_directory
from kmtools.base.paths import ROOT
from kmtools.base.screen import show_text_in_pager
from kmtools.commands import Run
from kmtools.lab import catalogue
from kmtools.measure import bench as measuring
from kmtools.measure import benchmark_names, benchrun, choice, fetch, rundir
from kmtools.measure import collect as collecting
from kmtools.measure.bench import Bench
from kmtools.measure.benchrun import Plan
from kmtools.measure.progress_json import Events
from kmtools.measure.run_cache import RunCache
from kmtools.report import report as reporting

# The names of the environments of measurement (tiers), for help texts.
TIER_NAMES = f"{', '.join(rundir.TIERS[:-1])} or {rundir.TIERS[-1]}"


def add_collect_command(parser: ArgumentParser) -> Run:
    """Without --raw, --archive and --from, RUN_DIR is a run of `make bench`, and the tiers measured
    so far are merged. --from starts no measurement: it fetches the samples that the benchmark
    modules hold in debugfs, and is refused while the benchmarks run."""
    parser.add_argument(
        "run",
        type=Path,
        metavar="RUN_DIR",
        help="folder of the run; samples.csv and env.json are written to it",
    )
    parser.add_argument(
        "--raw",
        type=parse_tier_and_folder,
        action="append",
        default=[],
        metavar="TIER=DIR",
        help="folder with the raw samples of an environment of measurement (tier): "
        f"{TIER_NAMES}; may be repeated",
    )
    parser.add_argument(
        "--archive",
        type=parse_tier_and_folder,
        action="append",
        default=[],
        metavar="TIER=FILE",
        help="tar archive that scripts/target/measure.sh wrote on another machine, with the raw "
        f"samples of an environment of measurement (tier): {TIER_NAMES}",
    )
    parser.add_argument(
        "--from",
        type=parse_tier_and_source,
        action="append",
        default=[],
        dest="places",
        metavar="TIER=PLACE",
        help="where to fetch the raw samples of an environment of measurement (tier: "
        f"{TIER_NAMES}): debugfs (of this machine), a folder with a copy of the files in debugfs, "
        "or ssh://[USER@]HOST[:PORT][/FOLDER]",
    )
    return run_collect_command


def run_collect_command(args: Namespace) -> None:
    """Fetch samples from archives and other sources, check all samples, and merge them into a run.
    The raw samples are kept only if all checks pass."""
    raw = list(args.raw)
    fetches = [(tier, partial(fetch.fetch_archive, path)) for tier, path in args.archive]
    fetches += [(tier, partial(fetch.fetch_from_source, place)) for tier, place in args.places]
    with tempfile.TemporaryDirectory(prefix="kmarkers-") as scratch:
        for number, (tier, get) in enumerate(fetches):
            folder = Path(scratch) / f"{number}-{tier}"
            get(folder)
            raw.append((tier, folder))
        collecting.print_window_totals(args.run, collecting.merge_raw_folders(args.run, raw))
        store_estimates_if_numpy_installed(args.run)
        for index, (tier, folder) in enumerate(raw[len(args.raw) :], len(args.raw)):
            earlier = sum(tier == other for other, _ in raw[:index])
            kept = args.run / "raw" / (f"{tier}-{earlier + 1}" if earlier else tier)
            replace_folder(kept, folder)


def replace_folder(path: Path, source: Path) -> None:
    """Replace the folder `path` by a copy of `source`. If that fails or is interrupted, `path` is
    unchanged, or missing, but never incomplete."""
    copy = path.with_name(f"{path.name}.partial")
    shutil.rmtree(copy, ignore_errors=True)
    try:
        shutil.copytree(source, copy)
        shutil.rmtree(path, ignore_errors=True)
        sync_and_rename_directory(copy, path)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def store_estimates_if_numpy_installed(run: Path) -> None:
    """Compute the estimates of a run and store them, if numpy is installed. Otherwise the first
    command that needs the estimates computes them."""
    if reporting.has_python_package("numpy"):
        from kmtools.analyse import estimates

        estimates.load_estimates(run)


def parse_tier_and_source(text: str) -> tuple[str, str]:
    """Parse TIER=PLACE, where PLACE is a source of samples such as `debugfs` (see fetch.py); return
    both parts as text."""
    tier, _ = parse_tier_and_folder(text)
    return tier, text.partition("=")[2]


def parse_tier_and_folder(text: str) -> tuple[str, Path]:
    """Parse TIER=DIR, and return the environment of measurement (tier) and the path."""
    tier, separator, path = text.partition("=")
    if not separator or not path or tier not in rundir.TIERS:
        raise argparse.ArgumentTypeError(f"{text!r} is not TIER=PATH, where TIER is {TIER_NAMES}")
    return tier, Path(path)


def add_report_command(parser: ArgumentParser) -> Run:
    """Writes summary.json, figures and report.html to the folder of a run, and prints the main
    result; `kmarkers table` prints all results. If the Python package numpy is missing, only
    medians are printed, and the exit code is 2."""
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="folder of the run")
    parser.add_argument(
        "--no-figures",
        action="store_true",
        help="write summary.json, but no figures and no HTML page",
    )

    def run_report_command(args: Namespace) -> int:
        whole = reporting.report_run(args.run, figures=not args.no_figures)
        return DONE if whole else UNABLE

    return run_report_command


def add_table_command(parser: ArgumentParser) -> Run:
    """Prints a table for each benchmark: every variant with its interval and verdict. On a terminal
    the output goes through a pager (PAGER, else less). Tables of ticks in an emulator are printed
    only with --all, --tier or BENCHMARK. If the Python package numpy is missing, the tables have
    only medians."""
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="folder of the run")
    parser.add_argument(
        "patterns",
        nargs="*",
        metavar="BENCHMARK",
        help="print only the benchmarks whose names match a pattern, such as 'density-*'",
    )
    parser.add_argument(
        "--tier",
        choices=rundir.TIERS,
        help="print only the tables of this environment of measurement (tier)",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="also print the tables of tiers in an emulator, whose ticks are not times of a CPU",
    )

    def run_table_command(args: Namespace) -> None:
        show_text_in_pager(reporting.render_tables(args.run, args.tier, args.patterns, args.all))

    return run_table_command


def add_bench_command(parser: ArgumentParser) -> Run:
    """Measures in user space on the real CPU (tier native) and prints the result; then downloads a
    stock kernel and boots it: to measure times (tier vm; under KVM in many boots), and under an
    emulator that counts instructions (tier icount). With --host it boots no test kernel, but
    measures in user space and inside the running kernel (tier metal). README.md describes what the
    numbers of each tier mean. The run is stored in results/local/<date>/; results/local/latest
    points to it once all tiers are measured. If a tier cannot be measured on this machine, its name
    and the reason are printed, and the other tiers are measured; --resume measures the missing
    tiers later. Exit codes: 0 all measured, 1 a step failed, 2 a tier could not be measured here,
    130 interrupted."""
    parser.add_argument("--kernel", help="test kernel: a name in kernels.txt (default: the first)")
    parser.add_argument(
        "--seed", type=choice.parse_seed, help="seed of the random order of variants (default: 1)"
    )
    parser.add_argument(
        "--host",
        action="store_true",
        help="load the modules into the running kernel and measure in it, not in test kernels",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="measure few blocks, as a check that the benchmarks run",
    )
    parser.add_argument(
        "--resume",
        metavar="RUN",
        help="measure the missing tiers (environments of measurement) of this run: a name in "
        "results/local, or a path",
    )
    parser.add_argument(
        "--tiers",
        type=parse_tiers,
        metavar="TIER,...",
        help="environments (tiers) to measure in: native, vm or icount; with --host: native or "
        "metal",
    )
    for name, words in (
        ("benchmarks", "measure only benchmarks whose names match a pattern, such as 'density-*'"),
        (
            "variants",
            "keep only the samples of variants whose names match a pattern, and of their baselines "
            "and A/A clones",
        ),
    ):
        parser.add_argument(
            f"--{name}", type=choice.parse_patterns, metavar="PATTERN,...", help=words
        )
    parser.add_argument(
        "--blocks",
        type=choice.parse_block_count,
        help="number of blocks of each benchmark in each process, boot or module load; in a block, "
        "each variant is measured once at each loop count; each environment of measurement (tier) "
        "has its own default",
    )
    parser.add_argument(
        "--budget",
        type=choice.parse_time_budget,
        metavar="TIME",
        help="time limit, such as 90s or 5m, of each environment (tier) that is measured on a "
        "real CPU; a process, boot or module load that would exceed the limit is not started "
        f"(default: {measuring.BUDGET_SECONDS}s in user space, "
        f"{measuring.KERNEL_BUDGET_SECONDS}s in a kernel)",
    )
    own = parser.add_mutually_exclusive_group()
    own.add_argument(
        "--program",
        type=parse_program_path,
        metavar="FILE",
        help="measure, only in user space, the benchmarks of this program, which is linked with "
        "libkmbench.a",
    )
    own.add_argument(
        "--module",
        type=parse_module_folder,
        metavar="DIR",
        help="build the module whose sources are in DIR, and measure its benchmarks in test "
        "kernels; no other benchmarks are measured",
    )
    parser.add_argument(
        "--progress",
        metavar="FILE",
        help="also write progress to this file or pipe, one JSON object per line",
    )
    own.add_argument(
        "--self-test",
        action="store_true",
        help="check the measurement with a few instructions of known cost; print the measured and "
        "the known cost of each; exit code 1 if a measured cost is wrong, 2 if the machine is too "
        "busy to tell",
    )
    return run_bench_command


def parse_program_path(text: str) -> str:
    """Parse the path of an executable program."""
    path = Path(text).resolve()
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise argparse.ArgumentTypeError(f"{text!r} is not an executable program")
    return str(path)


def parse_module_folder(text: str) -> str:
    """Parse the path of a folder with the sources of a module."""
    path = Path(text).resolve()
    if not text or not any((path / name).is_file() for name in ("Kbuild", "Makefile")):
        raise argparse.ArgumentTypeError(f"{text!r} is not a folder with a Kbuild file or Makefile")
    return str(path)


def parse_tiers(text: str) -> list[str]:
    """Parse a list of environments of measurement (tiers), separated by commas."""
    found = text.split(",")
    for tier in found:
        if tier not in rundir.TIERS:
            known = ", ".join(rundir.TIERS)
            raise argparse.ArgumentTypeError(f"{tier!r} is no tier; the tiers are {known}")
    return [tier for tier in rundir.TIERS if tier in found]


def make_plan_from_options(args: Namespace, resumed_plan: Plan | None) -> Plan:
    """Return the plan of a run, made from the command-line options. Options that the user did not
    give are taken from `resumed_plan`, the plan of the resumed run."""
    kernel = args.kernel or (
        resumed_plan.kernel if resumed_plan else catalogue.get_default_kernel_name()
    )
    catalogue.find_kernel_entry(kernel)
    seed = args.seed if args.seed is not None else resumed_plan.seed if resumed_plan else 1
    quick = args.quick or bool(resumed_plan and resumed_plan.quick)
    names = ("tiers", *benchrun.USER_FIELDS)
    options = {
        name: getattr(args, name) or (getattr(resumed_plan, name) if resumed_plan else None)
        for name in names
    }
    if args.host and options["module"]:
        raise UnableError(
            "tier metal is not measured with --module: load the module, and use `kmarkers collect`"
        )
    here: Sequence[str] = measuring.DEFAULT_TIERS
    beside = " without --host"
    if options["program"]:
        here, beside = ("native",), " with --program"
    elif options["module"]:
        here, beside = measuring.GUEST_TIERS, " with --module"
    elif args.host:
        here, beside = rundir.HOST_TIERS, " with --host"
    wanted = options.pop("tiers") or here
    for tier in wanted:
        if tier not in here:
            raise UnableError(f"tier {tier} is not measured{beside}; choose from {', '.join(here)}")
    require_matching_patterns(wanted, options)
    return measuring.make_run_plan(wanted, kernel, seed, quick, options)


def require_matching_patterns(tiers: Sequence[str], options: Mapping[str, Any]) -> None:
    """Raise UnableError if a pattern in `options` matches no benchmark or variant that `tiers` can
    measure. Patterns for an external module are not checked, because the names of its benchmarks
    are known only when the module is loaded."""
    patterns = [options[name] or () for name in ("benchmarks", "variants")]
    if options["program"]:
        choice.select_matching_benchmarks(options["program"], patterns[0], patterns[1])
    elif not options["module"]:
        benchmark_names.require_tier_patterns_match(tiers, *patterns)


def create_or_resume_run(args: Namespace) -> benchrun.Run:
    """Return a new run or, with --resume, the run that this option names. Raise UnableError if the
    plan of that run differs from the other options."""
    if not args.resume:
        return benchrun.create_run(make_plan_from_options(args, None))
    run = benchrun.load_bench_run(benchrun.find_run_folder(args.resume))
    differs = benchrun.find_plan_difference(run.plan, make_plan_from_options(args, run.plan))
    if differs:
        raise UnableError(f"run {run.path.name} cannot be resumed: {differs}")
    return run


def run_self_test(args: Namespace) -> int:
    """Measure instructions whose cost is known, and return the exit code. No option but --seed can
    be combined with --self-test."""
    others = [name for name, value in vars(args).items() if value and name != "self_test"]
    if extra := [name for name in others if name != "seed"]:
        raise UnableError(f"--self-test accepts only --seed: leave out --{extra[0]}")
    from kmtools.method import selftest

    measuring.build_kmbench()
    return selftest.judge_self_test(1 if args.seed is None else args.seed)


def run_bench_command(args: Namespace) -> int:
    """Measure the missing tiers of a run and report all tiers; returns the exit code."""
    lock = hold_lock(ROOT / "build" / "bench.lock", "another bench is running in this checkout")
    with lock:
        if args.self_test:
            return run_self_test(args)
        events = Events(args.progress)
        with benchrun.remove_partial_files_at_end(create_or_resume_run(args)) as run:
            code = BAD
            try:
                code = measure_and_report(run, events)
            except (FailedError, OSError) as error:
                print(f"bench: {explain_error(error)}", file=sys.stderr)
            finally:
                print_missing_tiers(run)
                events.write_event("end", code=code, run=str(run.path))
    return code


def measure_and_report(run: benchrun.Run, events: Events) -> int:
    """Measure the missing tiers, and report all measured tiers. If the user interrupts the
    measurement, report the tiers that are complete. Return the exit code."""

    def report_tier(tier: str, cache: RunCache) -> None:
        # A run with a single tier gets only the report at the end of the run.
        if len(run.plan.tiers) > 1:
            reporting.report_run(run.path, tier, cache=cache)

    bench = Bench(run, report_tier, events, make_interim_analyses(), reporting.make_live_view)
    interrupted = False
    try:
        bench.measure_missing_tiers()
    except KeyboardInterrupt:
        interrupted = True
        print(
            "\nbench: interrupted; the tiers measured so far are reported",
            file=sys.stderr,
            flush=True,
        )
    whole = False
    if run.list_measured_tiers():
        bench.progress.begin_step("plotting", "15 s")
        bench.merge_samples()
        whole = reporting.report_run(run.path, cache=bench.cache)
    if interrupted:
        return 130
    if any(obstacle["failed"] for obstacle in run.obstacles.values()):
        return BAD
    return DONE if whole and not benchrun.describe_bench_run(run)["missing"] else UNABLE


def make_interim_analyses() -> measuring.InterimAnalyses | None:
    """Return the object that decides how long to measure on a real CPU; None if numpy is not
    installed."""
    if not reporting.has_python_package("numpy"):
        return None
    from kmtools.analyse import stopping
    from kmtools.analyse.interim import BenchmarkChooser

    return measuring.InterimAnalyses(BenchmarkChooser, stopping.MOST_CLUSTERS)


def print_missing_tiers(run: benchrun.Run) -> None:
    """Print the missing tiers and the command that measures them."""
    described = benchrun.describe_bench_run(run)
    for line in rundir.describe_missing_tiers({"run": described}):
        print(f"bench: {line}", file=sys.stderr)
    if described["missing"] and run.has_samples():
        print(f"bench: to measure the missing tiers: {described['resume']}", file=sys.stderr)
