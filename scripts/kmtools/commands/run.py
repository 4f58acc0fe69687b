# SPDX-License-Identifier: GPL-2.0-only
"""Commands that make a run and its report; they need nothing but Python to start."""

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

from kmtools.base.errors import BAD, DONE, UNABLE, FailedError, UnableError, explain
from kmtools.base.files import alone
from kmtools.base.paths import ROOT
from kmtools.base.screen import page_text
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


def collect(parser: ArgumentParser) -> Run:
    """Without --raw, --archive and --from, RUN_DIR is a folder of make bench; the tiers measured so
    far are merged. --from starts nothing: it fetches what the benchmarks in debugfs have measured,
    and is refused while they run.
    """
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="output folder")
    parser.add_argument(
        "--raw",
        type=tier_and_folder,
        action="append",
        default=[],
        metavar="TIER=DIR",
        help="folder with the raw samples of a tier; may be repeated",
    )
    parser.add_argument(
        "--archive",
        type=tier_and_folder,
        action="append",
        default=[],
        metavar="TIER=FILE",
        help="raw.tar of a machine where scripts/target/measure.sh measured",
    )
    parser.add_argument(
        "--from",
        type=tier_and_place,
        action="append",
        default=[],
        dest="places",
        metavar="TIER=PLACE",
        help="debugfs, a folder like it, or ssh://[USER@]HOST[:PORT][/FOLDER]",
    )
    return run_collect


def run_collect(args: Namespace) -> None:
    """Fetch samples from elsewhere, check all of them and merge them. Only usable samples are
    kept."""
    raw = list(args.raw)
    fetches = [(tier, partial(fetch.from_archive, path)) for tier, path in args.archive]
    fetches += [(tier, partial(fetch.from_place, place)) for tier, place in args.places]
    with tempfile.TemporaryDirectory(prefix="kmarkers-") as scratch:
        for number, (tier, get) in enumerate(fetches):
            folder = Path(scratch) / f"{number}-{tier}"
            get(folder)
            raw.append((tier, folder))
        collecting.tell(args.run, collecting.merge(args.run, raw))
        keep_estimates(args.run)
        for tier, folder in raw[len(args.raw) :]:
            shutil.copytree(folder, args.run / "raw" / tier, dirs_exist_ok=True)


def keep_estimates(run: Path) -> None:
    """Make the estimates of a run now; without numpy they are made when a command first needs
    them."""
    if reporting.has_package("numpy"):
        from kmtools.analyse import estimates

        estimates.of_run(run)


def tier_and_place(text: str) -> tuple[str, str]:
    """Parse TIER=PLACE."""
    tier, _ = tier_and_folder(text)
    return tier, text.partition("=")[2]


def tier_and_folder(text: str) -> tuple[str, Path]:
    """Parse TIER=DIR."""
    tier, separator, path = text.partition("=")
    if not separator or not path or tier not in rundir.TIERS:
        raise argparse.ArgumentTypeError(f"{text!r} is not TIER=DIR, tier {'|'.join(rundir.TIERS)}")
    return tier, Path(path)


def report(parser: ArgumentParser) -> Run:
    """Prints the answer of a run; kmarkers table prints its tables. Without numpy it prints medians
    and names the missing package; the exit code is then 2."""
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="folder of the run")
    parser.add_argument(
        "--no-figures", action="store_true", help="write summary.json, and draw nothing"
    )

    def run(args: Namespace) -> int:
        whole = reporting.report(args.run, figures=not args.no_figures)
        return DONE if whole else UNABLE

    return run


def table(parser: ArgumentParser) -> Run:
    """Prints a table for each benchmark: every variant with its interval and verdict. On a terminal
    a pager shows them (PAGER, else less). Tables of emulated ticks are left out unless they are
    asked for. Without numpy it prints medians.
    """
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="folder of the run")
    parser.add_argument(
        "patterns",
        nargs="*",
        metavar="BENCHMARK",
        help="show only matching benchmarks, such as 'density-*'",
    )
    parser.add_argument("--tier", choices=rundir.TIERS, help="show only this tier")
    parser.add_argument("--all", action="store_true", help="also show tables of emulated ticks")

    def run(args: Namespace) -> None:
        page_text(reporting.tables(args.run, args.tier, args.patterns, args.all))

    return run


def bench(parser: ArgumentParser) -> Run:
    """Measures in user space on the real CPU (native) and prints the answer; then fetches a stock
    kernel, boots it and measures in it (vm), and again under an emulator that counts instructions
    (icount). With --host it measures in user space and inside the running kernel (metal). README.md
    says what the numbers of each tier mean. The run is left in results/local/<date>/;
    results/local/latest points to it once all tiers are measured. A tier that cannot be measured
    here is named, and the others are measured; --resume measures the missing ones later. Exit
    codes: 0 all measured, 1 a step failed, 2 a tier could not be measured here, 130 interrupted.
    """
    parser.add_argument("--kernel", help="name in kernels.txt")
    parser.add_argument("--seed", type=choice.seed, help="seed of the random order of variants (1)")
    parser.add_argument(
        "--host", action="store_true", help="load the modules into the running kernel"
    )
    parser.add_argument("--quick", action="store_true", help="measure few blocks, as a quick check")
    parser.add_argument("--resume", metavar="RUN", help="complete a run in results/local")
    parser.add_argument("--tiers", type=tiers, metavar="TIER,...", help="use only these tiers")
    for name, words in (
        ("benchmarks", "use only matching benchmarks, such as 'density-*'"),
        ("variants", "use only matching variants, and those that they are compared with"),
    ):
        parser.add_argument(f"--{name}", type=choice.patterns, metavar="PATTERN,...", help=words)
    parser.add_argument(
        "--blocks", type=choice.blocks, help="blocks of each benchmark in each process"
    )
    parser.add_argument(
        "--budget",
        type=choice.budget,
        metavar="TIME",
        help="time for user space, such as 90s or 5m; no process is started that would end later",
    )
    own = parser.add_mutually_exclusive_group()
    own.add_argument(
        "--program",
        type=program,
        metavar="FILE",
        help="measure with a program linked with libkmbench.a, in user space alone",
    )
    own.add_argument(
        "--module",
        type=module,
        metavar="DIR",
        help="measure the benchmarks of a module with sources there, in test kernels alone",
    )
    parser.add_argument(
        "--progress", metavar="FILE", help="also write progress to this file, as lines of JSON"
    )
    return run_bench


def program(text: str) -> str:
    """Parse the path of a program."""
    path = Path(text).resolve()
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise argparse.ArgumentTypeError(f"{text!r} is no program that can be run")
    return str(path)


def module(text: str) -> str:
    """Parse the path of a folder with the sources of a module."""
    path = Path(text).resolve()
    if not text or not any((path / name).is_file() for name in ("Kbuild", "Makefile")):
        raise argparse.ArgumentTypeError(f"{text!r} is no folder with a Kbuild file of a module")
    return str(path)


def tiers(text: str) -> list[str]:
    """Parse a list of tiers."""
    found = text.split(",")
    for tier in found:
        if tier not in rundir.TIERS:
            known = ", ".join(rundir.TIERS)
            raise argparse.ArgumentTypeError(f"{tier!r} is no tier; the tiers are {known}")
    return [tier for tier in rundir.TIERS if tier in found]


def plan(args: Namespace, was: Plan | None) -> Plan:
    """Return the plan from the options; an option that is not given is as in the resumed run."""
    kernel = args.kernel or (was.kernel if was else catalogue.default_name())
    catalogue.find(kernel)
    seed = args.seed if args.seed is not None else was.seed if was else 1
    quick = args.quick or bool(was and was.quick)
    names = ("tiers", *benchrun.CHOSEN)
    chosen = {name: getattr(args, name) or (getattr(was, name) if was else None) for name in names}
    if args.host and chosen["module"]:
        raise UnableError("metal is not measured with --module: load the module, and use collect")
    here: Sequence[str] = measuring.HERE
    beside = ""
    if chosen["program"]:
        here, beside = ("native",), " with --program"
    elif chosen["module"]:
        here, beside = measuring.GUESTS, " with --module"
    elif args.host:
        here, beside = measuring.HOST, " with --host"
    wanted = chosen.pop("tiers") or here
    for tier in wanted:
        if tier not in here:
            raise UnableError(f"{tier} is not measured{beside}, but {', '.join(here)}")
    check_names(wanted, chosen)
    return measuring.plan(wanted, kernel, seed, quick, chosen)


def check_names(wanted: Sequence[str], chosen: Mapping[str, Any]) -> None:
    """Raise an error for a pattern that matches no benchmark and no variant, before anything is set
    up."""
    patterns = [chosen[name] or () for name in ("benchmarks", "variants")]
    if chosen["program"]:
        choice.names(chosen["program"], *patterns)
    elif not chosen["module"]:
        benchmark_names.check_tiers(wanted, *patterns)


def begin(args: Namespace) -> benchrun.Run:
    """Return a new run, or the resumed one if it fits the plan."""
    if not args.resume:
        return benchrun.create(plan(args, None))
    run = benchrun.load(benchrun.find(args.resume))
    differs = benchrun.difference(run.plan, plan(args, run.plan))
    if differs:
        raise UnableError(f"run {run.path.name} cannot go on: {differs}")
    return run


def run_bench(args: Namespace) -> int:
    """Measure the missing tiers and report all of them; returns the exit code."""
    lock = alone(ROOT / "build" / "bench.lock", "another bench is running in this checkout")
    with lock:
        events = Events(args.progress)
        with benchrun.tidied(begin(args)) as run:
            code = BAD
            try:
                code = measure_and_report(run, events)
            except (FailedError, OSError) as error:
                print(f"bench: {explain(error)}", file=sys.stderr)
            finally:
                tell(run)
                events.tell("end", code=code, run=str(run.path))
    return code


def measure_and_report(run: benchrun.Run, events: Events) -> int:
    """Measure the missing tiers; report the measured ones, also after an interruption."""

    def show(tier: str, cache: RunCache) -> None:
        reporting.report(run.path, tier, cache=cache)

    bench = Bench(run, show, events, steering(), reporting.resolving)
    interrupted = False
    try:
        bench.measure()
    except KeyboardInterrupt:
        interrupted = True
        print("\nbench: interrupted; what is finished is reported", file=sys.stderr, flush=True)
    whole = False
    if run.measured():
        bench.progress.step("plotting", "15 s")
        bench.merge()
        whole = reporting.report(run.path, cache=bench.cache)
    if interrupted:
        return 130
    if any(obstacle["failed"] for obstacle in run.obstacles.values()):
        return BAD
    return DONE if whole and not benchrun.describe(run)["missing"] else UNABLE


def steering() -> measuring.Steering | None:
    """Return the object that decides how long to measure in user space; None without numpy."""
    if not reporting.has_package("numpy"):
        return None
    from kmtools.analyse import stopping
    from kmtools.analyse.steering import Steering

    return measuring.Steering(Steering, stopping.MOST)


def tell(run: benchrun.Run) -> None:
    """Print the missing tiers and the command that measures them."""
    described = benchrun.describe(run)
    for line in rundir.missing_of({"run": described}):
        print(f"bench: {line}", file=sys.stderr)
    if described["missing"] and run.holds_samples():
        print(f"bench: to go on: {described['resume']}", file=sys.stderr)
