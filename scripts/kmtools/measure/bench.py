# SPDX-License-Identifier: GPL-2.0-only
"""The main job: build, measure in every tier that this machine can, and report.

Measures in user space on the real CPU (native) and prints that table; then fetches a stock kernel,
boots it and measures in it (vm), and again under an emulator that counts instructions (icount).
With --host, in user space and inside the running kernel (metal). What each tier's numbers mean is
in README.md. The run is left in results/local/<date>/, with results/local/latest pointing to it
once all tiers are measured. What cannot be measured here is named, and the rest is; --resume
measures what is missing later.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import CalledProcessError

from kmtools.base.errors import OBSTACLES, LabError, explain, require_root
from kmtools.base.paths import ROOT
from kmtools.base.progress import Progress
from kmtools.lab import catalogue, kernels
from kmtools.lab.build import build_modules
from kmtools.measure import benchrun, collect, guest, native, rundir
from kmtools.measure.benchrun import Plan, Run
from kmtools.measure.guest import GuestError
from kmtools.measure.native import NativeError
from kmtools.measure.rundir import publish

SCRIPTS = ROOT / "scripts"
HERE = ("native", "vm", "icount")
HOST = ("native", "metal")

# Blocks per tier, in user space per process: enough for intervals a fraction of a cycle wide on
# the real CPU; under emulation for an order of magnitude; exact counts need two, to see that they
# agree. The kernel's own getppid ("live") is timed from user space, with interrupts on: no exact
# counts of it.
FULL = {
    "native": 250, "processes": 8, "vm": 40, "vm live": 20, "icount": 4,
    "metal": 2000, "metal live": 200,
}  # fmt: skip
# Ends within 90 seconds of measuring, and leaves out of the emulated machine what takes longest.
QUICK = FULL | {"native": 40, "processes": 2, "vm": 8, "vm live": 4, "icount": 2}
QUICK_GUEST = ("empty-loop", "memcpy-4096", "marker-enabled", "cold-branch", "getppid-copy-quiet")

NEEDS = "gcc make libc6-dev liburcu-dev"
PAGE_NEEDS = "python3-numpy python3-matplotlib"


class StepError(Exception):
    """A step did not succeed; the message says which and where its output is."""

    def __init__(self, message: str, code: int | None = None) -> None:
        """`code` is the exit code of the command that failed."""
        super().__init__(message)
        self.code = code


def command(
    words: Sequence[object],
    what: str,
    variables: Mapping[str, str] | None = None,
    apart: bool = False,
) -> None:
    """Run a command that speaks for itself, with further environment variables.

    `apart` spares one that cannot be interrupted politely the terminal's Ctrl-C; it ends with us.
    """
    environment = {**os.environ, **(variables or {})}
    texts = [str(word) for word in words]
    try:
        subprocess.run(texts, cwd=ROOT, env=environment, check=True, start_new_session=apart)
    except CalledProcessError as error:
        how = f"exit code {error.returncode}"
        raise StepError(f"{what} failed: {how}", error.returncode) from error
    except OSError as error:
        raise StepError(f"{what} failed: {explain(error)}") from error


def script(name: str, *words: object) -> None:
    """Run one of our scripts."""
    command([sys.executable, SCRIPTS / "kmarkers", name, *words], name, apart=True)


def has_package(name: str) -> bool:
    """Whether Python can import a package."""
    return importlib.util.find_spec(name) is not None


def can_build() -> bool:
    """Whether the compiler, make and liburcu's headers are there."""
    if not all(shutil.which(name) for name in ("gcc", "make")):
        return False
    probe = ["gcc", "-E", "-include", "urcu-bp.h", "-x", "c", "/dev/null"]
    return not subprocess.run(probe, capture_output=True, check=False).returncode


class Bench:
    """Measures what a run lacks, tier by tier."""

    def __init__(self, run: Run, total: int) -> None:
        self.run = run
        self.progress = Progress(total)
        self.modules = ROOT / "build" / "modules" / run.plan.kernel
        # The tiers whose tables were printed already.
        self.shown: set[str] = set()

    def build_native(self) -> None:
        """Build the user-space programs from the modules' sources."""
        self.progress.step("building kmbench", "20 s the first time")
        try:
            command(
                ["make", "-s", f"-j{os.cpu_count()}", "-C", "native", "bench"], "building kmbench"
            )
        except StepError:
            if can_build():
                raise
            raise LabError(f"building kmbench needs packages: apt-get install {NEEDS}") from None

    def measure_native(self) -> None:
        """Measure on the real CPU."""
        self.progress.step("native: measuring on the real CPU")
        amounts = self.run.plan.amounts
        native.measure(
            self.run.raw("native"),
            blocks=amounts["native"],
            processes=amounts["processes"],
            seed=self.run.plan.seed,
            show=self.progress.share,
        )

    def install_rest(self) -> None:
        """Install what test kernels and the page need; what is missing then says so itself."""
        self.progress.step("installing what the rest needs", "1 to 2 minutes the first time")
        with contextlib.suppress(StepError):
            command([SCRIPTS / "setup", "--bench"], "setting up")
        importlib.invalidate_caches()

    def prepare_guest(self) -> None:
        """Fetch the test kernel and build the modules with its own compiler."""
        require_root("building for a test kernel")
        kernel = self.run.plan.kernel
        self.progress.step(f"fetching kernel {kernel}", "1 to 3 minutes the first time")
        kernels.fetch([kernel])
        self.run.require_release(catalogue.require(kernel).release)
        self.progress.step(f"building the modules for {kernel}", "40 s the first time")
        if build_modules(kernel, ROOT, self.modules, ["-s"]):
            raise StepError(f"building the modules for {kernel} failed")

    def measure_guest(self, tier: str) -> None:
        """Boot a test kernel and measure in it."""
        plan = self.run.plan
        usual = "1 to 2 minutes" if tier == "vm" and not plan.quick else "half a minute"
        self.progress.step(f"{tier}: booting {plan.kernel} and measuring in it", usual)
        guest.measure(
            tier,
            plan.kernel,
            self.modules,
            self.run.raw(tier),
            blocks=plan.amounts[tier],
            seed=plan.seed,
            live=plan.amounts.get(f"{tier} live", 0),
            benchmarks=QUICK_GUEST if plan.quick else (),
            show=self.progress.share,
        )

    def measure_metal(self) -> None:
        """Load the modules into the running kernel, measure in it and unload them."""
        plan, release = self.run.plan, os.uname().release
        self.progress.step(f"metal: measuring in the running kernel {release}")
        raw = self.run.raw("metal")
        partial = raw.with_name("metal.partial")
        shutil.rmtree(partial, ignore_errors=True)
        config = ROOT / "build" / "bench-host.conf"
        words = guest.settings(plan.amounts["metal"], plan.seed, plan.amounts["metal live"])
        partial.mkdir(parents=True)
        config.write_text(words, encoding="ascii")
        roots = {
            "MODULES": str(gather_modules(ROOT / "build" / "modules" / "host")),
            "RESULTS": str(partial),
            "CONFIG": str(config),
            "KMLIVE": str(guest.KMLIVE),
        }
        command(["sh", guest.GUEST_JOB], "the benchmark in the running kernel", roots)
        publish(partial, raw)

    def attempt(self, tiers: Sequence[str], work: str, *words: str) -> bool:
        """Do a part of the work for some tiers; what stands in the way is kept, and said."""
        try:
            getattr(self, work)(*words)
        except (StepError, GuestError, NativeError) as error:
            return self.give_up(tiers, str(error), failed=True)
        except OBSTACLES as error:
            return self.give_up(tiers, explain(error), failed=False)
        finally:
            self.progress.close()
        return True

    def give_up(self, tiers: Sequence[str], why: str, failed: bool) -> bool:
        """Keep why tiers are not measured."""
        print(f"bench: {' and '.join(tiers)} not measured: {why}", file=sys.stderr, flush=True)
        for tier in tiers:
            self.run.obstacles[tier] = {"failed": failed, "why": why}
        self.run.save()
        return False

    def tier_done(self, tier: str) -> None:
        """Look at a tier's samples; a table that others would have to wait for is printed."""
        self.run.obstacles.pop(tier, None)
        self.run.save()
        try:
            script("collect", self.run.path, "--check", "--raw", f"{tier}={self.run.raw(tier)}")
        except StepError as error:
            if error.code != collect.UNUSABLE:
                raise
            kept = self.run.set_aside(tier)
            self.give_up([tier], f"its samples are no good; they are kept in {kept}", failed=True)
            return
        if tier == "native":
            script("collect", self.run.path)
            show_table(self.run, tier)
            self.shown.add(tier)

    def measure(self, tiers: Sequence[str]) -> None:
        """Measure tiers, in user space first, before anything is downloaded."""
        guests = [tier for tier in tiers if tier in ("vm", "icount")]
        if not self.attempt([tier for tier in tiers if tier != "icount"], "build_native"):
            tiers = guests = [tier for tier in guests if tier == "icount"]
        for tier in (tier for tier in tiers if tier not in guests):
            if self.attempt([tier], f"measure_{tier}"):
                self.tier_done(tier)
        if guests:
            self.install_rest()
        if guests and self.attempt(guests, "prepare_guest"):
            for tier in guests:
                if self.attempt([tier], "measure_guest", tier):
                    self.tier_done(tier)


def gather_modules(target: Path) -> Path:
    """The modules that `make modules` left in the source tree, in one directory."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for directory in ("patcher", "immediate", "markers", "bench_modules"):
        built = list((ROOT / directory).glob("*.ko"))
        if not built:
            raise StepError(f"{directory} holds no module; run make modules first")
        for module in built:
            shutil.copy(module, target)
    return target


def show_table(run: Run, tier: str) -> None:
    """Print the table of a tier, as good a one as can be made here."""
    script("report" if has_package("numpy") else "medians", run.path, "--tier", tier)


def report(run: Run, shown: set[str]) -> bool:
    """Collect what was measured, print the tables that were not shown and make the page; tells
    whether nothing was left out."""
    if not run.measured():
        return False
    script("collect", run.path)
    tables = [tier for tier in run.measured() if tier not in shown]
    if has_package("numpy") and has_package("matplotlib"):
        script("report", run.path, "--tables", *tables)
        return True
    if has_package("numpy"):
        script("report", run.path, "--no-figures", "--tables", *tables)
    else:
        for tier in tables:
            show_table(run, tier)
    print(f"bench: the page needs packages: apt-get install {PAGE_NEEDS}", file=sys.stderr)
    print(f"bench: then python3 scripts/kmarkers report '{run.path}'", file=sys.stderr)
    return False


def tell(run: Run) -> None:
    """Say what is missing and how to go on."""
    described = benchrun.describe(run)
    for line in rundir.missing_of({"run": described}):
        print(f"bench: {line}", file=sys.stderr)
    if described["missing"] and run.holds_samples():
        print(f"bench: to go on: {described['resume']}", file=sys.stderr)


@contextmanager
def alone() -> Iterator[None]:
    """One at a time in a checkout: two would disturb each other's numbers and files."""
    lock = ROOT / "build" / "bench.lock"
    try:
        lock.parent.mkdir(exist_ok=True)
        stream = lock.open("w")
    except OSError as error:
        raise LabError(f"this checkout cannot be written to: {explain(error)}") from None
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError("another bench is running in this checkout") from None
        yield


def make_plan(args: argparse.Namespace, was: Plan | None) -> Plan:
    """What was asked for; where nothing was, as the run that goes on has it."""
    kernel = args.kernel or (was.kernel if was else catalogue.default_name())
    catalogue.find(kernel)
    seed = args.seed if args.seed is not None else was.seed if was else 1
    quick = args.quick or bool(was and was.quick)
    amounts = QUICK if quick else FULL
    tiers = list(HOST if args.host else HERE)
    wanted = {name: n for name, n in amounts.items() if name.split()[0] in (*tiers, "processes")}
    return Plan(tiers, kernel, seed, quick, wanted, benchrun.source_now(), benchrun.machine_now())


def begin(args: argparse.Namespace) -> Run:
    """A new run, or one that goes on where it fits."""
    if not args.resume:
        return benchrun.create(make_plan(args, None))
    run = benchrun.load(benchrun.find(args.resume))
    differs = benchrun.difference(run.plan, make_plan(args, run.plan))
    if differs:
        raise LabError(f"run {run.name} cannot go on: {differs}")
    return run


def run_all(args: argparse.Namespace) -> int:
    """Measure what is missing and report what is there; returns the exit code."""
    with alone(), benchrun.tidied(begin(args)) as run:
        try:
            return measure_and_report(run)
        except (StepError, OSError) as error:
            print(f"bench: {explain(error)}", file=sys.stderr)
            return 1
        finally:
            tell(run)


def measure_and_report(run: Run) -> int:
    """Measure what is missing, as far as it goes; report what is there, also when interrupted."""
    lacking = [tier for tier in run.plan.tiers if not run.has(tier)]
    guests = {"vm", "icount"} & {*lacking}
    bench = Bench(run, len(lacking) + bool(lacking) + 3 * bool(guests) + 1)
    interrupted = False
    try:
        if lacking:
            bench.measure(lacking)
    except KeyboardInterrupt:
        interrupted = True
        print("\nbench: interrupted; what is finished is reported", file=sys.stderr, flush=True)
    if run.measured():
        bench.progress.step("plotting", "15 s")
    whole = report(run, bench.shown)
    if interrupted:
        return 130
    if any(obstacle["failed"] for obstacle in run.obstacles.values()):
        return 1
    return 0 if whole and not benchrun.describe(run)["missing"] else 2


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", help="name in kernels.txt")
    parser.add_argument("--seed", type=int, help="order of variants (default 1)")
    parser.add_argument("--host", action="store_true", help="load into the running kernel")
    parser.add_argument("--quick", action="store_true", help="few blocks, to see that it works")
    parser.add_argument("--resume", metavar="RUN", help="measure what a run in results/local lacks")
    return parser


def main() -> int:
    """Exit code 0 all measured, 1 a step failed, 2 something could not be done here (after what
    could), 130 interrupted."""
    args = parser().parse_args()
    # Unwinds, so that what was started is ended and what was made is removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run_all(args)
    except OBSTACLES as error:
        print(f"bench: {explain(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130
