# SPDX-License-Identifier: GPL-2.0-only
"""Measures the missing tiers (environments of measurement) of a run of `bench`. If one tier cannot
be measured, the other tiers are still measured."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kmtools.base import processes
from kmtools.base.errors import OBSTACLES, FailedError, UnableError, explain_error, require_root
from kmtools.base.paths import ROOT
from kmtools.base.progress import INDENT
from kmtools.lab import accel, catalogue, kernels, userspace
from kmtools.lab.build import build_modules
from kmtools.lab.machine import find_usable_accel
from kmtools.measure import benchmark_names, benchrun, caches, choice, collect, guest, native
from kmtools.measure.benchrun import Plan, Run
from kmtools.measure.clusters import (
    ChooseBenchmarks,
    Show,
    make_cluster_env_lines,
    measure_clusters,
)
from kmtools.measure.progress_json import Events, JsonProgress
from kmtools.measure.run_cache import RunCache

# The tiers (measurement environments) that are measured by default, and in test kernels.
DEFAULT_TIERS = ("native", "vm", "icount")
GUEST_TIERS = ("vm", "icount")

# The number of blocks that a full run measures in each tier. On a real CPU, a tier is measured in
# clusters (processes, boots or module loads, see clusters.py). Each cluster measures this number of
# blocks, and there are `processes` clusters, or as many as interim analyses ask for. `vm` has the
# fewest blocks from which location.py computes an interval, because an emulated test kernel is
# booted once, and its times show only orders of magnitude. `icount` needs two blocks, whose exact
# counts must agree.
# Live benchmarks (see LIVE) run a program against the kernel's own code. `vm live` is small,
# because emulated ticks of live benchmarks mean nothing, and 20 blocks took half of the run time of
# the test kernel.
FULL = {
    "native": 128, "processes": 16, "vm": 24, "vm live": 8, "icount": 4,
    "icount live": 4, "metal": 24, "metal live": 8,
}  # fmt: skip
# The number of module loads that the tier metal measures in an emulated machine, where further
# module loads would not improve the numbers.
EMULATED_MODULE_LOADS = 2
# The numbers of blocks of a run with --quick, which measures for at most 90 seconds. In a kernel, a
# quick run measures only the live benchmarks and QUICK_GUEST_BENCHMARKS, none of which is slow.
QUICK = FULL | {
    "native": 40, "processes": 2, "vm": 8, "vm live": 4, "icount": 2, "icount live": 0,
    "metal": 8, "metal live": 4,
}  # fmt: skip
# The default time limits of the measurement in user space, and in a kernel on a real CPU. With
# BUDGET_SECONDS, `make bench` takes five minutes if the test kernel is emulated.
BUDGET_SECONDS, KERNEL_BUDGET_SECONDS, QUICK_KERNEL_BUDGET_SECONDS = 150, 300, 45
# The live benchmarks of each tier. In an emulated `vm`, no whole programs (MACRO) are measured,
# because emulated times could not be compared with published times; under KVM, `vm` has the live
# benchmarks of the tier metal. `icount` has no GETPPID, because getppid-pressure walks through
# memory, which takes too many instructions to count.
GETPPID, MACRO = ("getppid-quiet", "getppid-pressure"), ("macro-ping", "macro-hackbench")
LIVE = {"vm": GETPPID, "icount": MACRO, "metal": (*GETPPID, *MACRO)}
QUICK_GUEST_BENCHMARKS = (
    "empty-loop",
    "memcpy-4096",
    "marker-enabled",
    "cold-branch",
    "getppid-copy-quiet",
)


# A function that measures in a kernel once. Its arguments are the tier, the folder for the samples,
# the seed, the patterns of benchmarks (all if empty), a function that shows the progress, and lines
# to append to the env file.
MeasureKernel = Callable[[str, Path, int, Sequence[str], Show, str], None]


def run_measuring_step(
    command: Sequence[object], step: str, env: Mapping[str, str] | None = None
) -> None:
    """Run the command `command` with `env` added to the environment, and show the output. If the
    command fails, raise FailedError with `step` in the message."""
    try:
        code = processes.run_program(command, env=env)
    except OSError as error:
        raise FailedError(f"{step} failed: {explain_error(error)}") from error
    if code:
        raise FailedError(f"{step} failed: exit code {code}")


def build_kmbench() -> None:
    """Build kmbench, unless it is up to date. Raise UnableError if a package is missing, and
    FailedError for another failure."""
    try:
        run_measuring_step(userspace.build_make_command("bench"), "building kmbench")
    except FailedError:
        if why := userspace.find_compiler_obstacle():
            raise UnableError(f"kmbench cannot be built: {why}") from None
        raise


def ignore_printed_line(_: str) -> None:
    """Ignore a line about a benchmark that is not measured, because the first cluster has printed
    the same line."""


class LiveView(Protocol):
    """The live view of the tier that is being measured, on a terminal; see resolving.py."""

    def set_current_benchmark(self, benchmark: str) -> None:
        """Store the name of the benchmark that a guest is measuring, which the live view shows."""

    def add_process_samples(self, folder: Path, process: int) -> None:
        """Add the samples of a process that has ended, and compute the verdicts again."""

    def render_terminal_lines(self, width: int, height: int) -> list[tuple[str, str]]:
        """Return the lines of the live view for a terminal of this size, each with a colour
        code."""


@dataclass(frozen=True)
class InterimAnalyses:
    """The interim analyses of a run on a real CPU, which measures at most `most` clusters
    (processes, boots or module loads, see clusters.py) of each tier.

    The arguments of `begin` are the tier, the planned number of clusters, the RunCache, a function
    that writes an event, and a function that writes a line.
    """

    begin: Callable[
        [str, int, RunCache, Callable[..., None], Callable[[str], None]], ChooseBenchmarks
    ]
    most: int


class Bench:
    """Measures the missing tiers of a run, one after the other."""

    def __init__(
        self,
        run: Run,
        show: Callable[[str, RunCache], None],
        events: Events,
        interim_analyses: InterimAnalyses | None,
        make_live_view: Callable[[str, Sequence[str]], LiveView | None],
    ) -> None:
        """Store the arguments. `show` prints the table of a measured tier. If `interim_analyses` is
        None, the number of clusters is fixed. `make_live_view` returns the live view of the chosen
        variants of a tier for a terminal, or None to show only a line of progress."""
        self.run = run
        self.cache = RunCache(run.plan.variants)
        self.show = show
        self.make_live_view = make_live_view
        self.missing_tiers = [tier for tier in run.plan.tiers if not run.is_measured(tier)]
        self.guests = [tier for tier in self.missing_tiers if tier in GUEST_TIERS]
        steps = len(self.missing_tiers) + bool(self.missing_tiers) + 3 * bool(self.guests)
        self.events = events
        self.interim_analyses = interim_analyses
        self.progress = JsonProgress(steps + 1, events)
        # "make check", which may run at the same time, builds other modules, for tests.
        self.modules = ROOT / "build" / "modules" / f"{run.plan.kernel}-bench"
        self.real_guest = False
        self.own = self.modules.with_name(f"{run.plan.kernel}-own") if run.plan.module else None

    def build_native_program(self) -> None:
        """Build the user-space programs from the modules' sources, unless the plan names a
        program."""
        if self.run.plan.program:
            self.progress.begin_step(f"measuring with {self.run.plan.program}")
            return
        self.progress.begin_step("building kmbench", "20 s the first time")
        build_kmbench()

    def measure_native(self) -> None:
        """Measure in user space on the real CPU (tier native)."""
        self.progress.begin_step("native: measuring on the real CPU")
        plan = self.run.plan
        program = Path(plan.program) if plan.program else native.KMBENCH
        processes, choose_benchmarks = self.begin_interim_analyses("native")
        rows = self.make_live_view("native", plan.variants)
        with self.progress.show_full_screen(rows.render_terminal_lines if rows else None):
            native.measure_processes(
                self.run.get_raw_folder("native"),
                blocks=plan.amounts["native"],
                processes=processes,
                seed=plan.seed,
                benchmarks=choice.select_matching_benchmarks(
                    program, plan.benchmarks, plan.variants, require_all=False
                ),
                budget=plan.budget or BUDGET_SECONDS,
                choose_benchmarks=choose_benchmarks,
                program=program,
                planned=plan.amounts["processes"],
                show=self.progress.show_completed_share,
                on_cluster_end=rows.add_process_samples if rows else None,
                say=self.print_step_line,
            )

    def begin_interim_analyses(self, tier: str) -> tuple[int, ChooseBenchmarks | None]:
        """Return two values for a tier on a real CPU: the largest number of clusters, and the
        function that chooses the benchmarks of the next cluster after each cluster. The function is
        None if the number of clusters is fixed."""
        planned = self.run.plan.amounts["processes"]
        if self.interim_analyses is None or self.run.plan.quick:
            return planned, None
        choose_benchmarks = self.interim_analyses.begin(
            tier, planned, self.cache, self.events.write_event, self.print_step_line
        )
        return self.interim_analyses.most, choose_benchmarks

    def print_step_line(self, text: str) -> None:
        """Print a line about the current step."""
        self.progress.print_line(f"{INDENT}{text}")

    def install_packages_for_test_kernels(self) -> None:
        """Install the packages that test kernels and the HTML page of results need. A failure is
        ignored here, because later steps name the missing packages."""
        self.progress.begin_step(
            "installing packages for test kernels and for the HTML page of results",
            "1 to 2 minutes the first time",
        )
        with contextlib.suppress(FailedError):
            run_measuring_step([ROOT / "scripts" / "setup", "--bench"], "installing packages")
        importlib.invalidate_caches()

    def fetch_kernel_and_build_modules(self) -> None:
        """Fetch the test kernel, and build the modules with the compiler of the kernel."""
        require_root("building for a test kernel")
        kernel = self.run.plan.kernel
        self.progress.begin_step(f"fetching kernel {kernel}", "1 to 3 minutes the first time")
        kernels.fetch_kernels([kernel])
        self.run.require_same_kernel_release(catalogue.require_unpacked_kernel(kernel).release)
        if "vm" in self.guests:
            found = find_usable_accel(kernel, self.print_step_line)
            self.real_guest = not accel.are_instructions_emulated(found.name)
            self.print_step_line(found.boot_message)
        self.progress.begin_step(f"building the modules for {kernel}", "40 s the first time")
        if build_modules(kernel, ROOT, self.modules, ["-s"]):
            raise FailedError(f"building the modules for {kernel} failed")
        if self.own is not None:
            source = Path(self.run.plan.module)
            self.progress.begin_step(f"building {source} for {kernel}")
            if build_modules(kernel, source, self.own, ["-s"], kmarkers_source=ROOT):
                raise FailedError(f"building {source} for {kernel} failed")

    def measure_guest(self, tier: str) -> None:
        """Boot the test kernel of the plan, and measure the tier `tier` in it."""
        plan = self.run.plan
        self.progress.begin_step(
            f"{tier}: booting {plan.kernel} and measuring in it", self.describe_usual_time(tier)
        )
        if tier == "vm" and not self.real_guest:
            self.report_unmeasured_macro_benchmarks()
        if self.is_kernel_on_real_cpu(tier):
            self.measure_kernel_clusters(tier, self.boot_and_measure)
            return
        rows = self.make_live_view(tier, plan.variants)

        def show_guest_progress(done: float, total: float, benchmark: str) -> None:
            if rows is not None:
                rows.set_current_benchmark(benchmark)
            self.progress.show_completed_share(done, total, benchmark)

        raw, patterns = self.run.get_raw_folder(tier), self.select_kernel_benchmark_patterns()
        with self.progress.show_full_screen(rows.render_terminal_lines if rows else None):
            self.boot_and_measure(tier, raw, plan.seed, patterns, show_guest_progress)

    def boot_and_measure(
        self,
        tier: str,
        raw: Path,
        seed: int,
        benchmarks: Sequence[str],
        show: Show,
        more_env_lines: str = "",
    ) -> None:
        """Boot the test kernel of the plan once, and measure the benchmarks that match a pattern in
        `benchmarks`."""
        plan = self.run.plan
        guest.measure_in_test_kernel(
            tier,
            plan.kernel,
            self.modules,
            raw,
            blocks=plan.amounts[tier],
            seed=seed,
            live=self.select_live_benchmarks(tier, benchmarks),
            benchmarks=benchmarks,
            seconds=guest.TIMEOUT_SECONDS * (2 if self.is_kernel_on_real_cpu(tier) else 1),
            memory=self.choose_test_kernel_memory(tier),
            accelerator="kvm" if self.is_kernel_on_real_cpu(tier) else None,
            external_modules=self.own,
            show=show,
            more_env_lines=more_env_lines,
        )

    def measure_kernel_clusters(self, tier: str, measure: MeasureKernel) -> None:
        """Measure the tier `tier` in a kernel on a real CPU with the function `measure`, in several
        boots or module loads. Interim analyses decide the number of boots or module loads."""
        plan = self.run.plan
        clusters, choose_benchmarks = self.begin_interim_analyses(tier)
        if not self.is_kernel_on_real_cpu(tier):
            clusters, choose_benchmarks = min(clusters, EMULATED_MODULE_LOADS), None
        more = make_cluster_env_lines(
            min(clusters, plan.amounts["processes"]), choose_benchmarks is not None
        )
        rows = self.make_live_view(tier, plan.variants)

        def measure_cluster(part: Path, number: int, chosen: Sequence[str], show: Show) -> None:
            measure(tier, part, plan.seed + number - 1, chosen, show, more)

        with self.progress.show_full_screen(rows.render_terminal_lines if rows else None):
            measure_clusters(
                self.run.get_raw_folder(tier),
                measure_cluster,
                tier=tier,
                clusters=clusters,
                benchmarks=self.select_kernel_benchmark_patterns(),
                budget=plan.budget
                or (QUICK_KERNEL_BUDGET_SECONDS if plan.quick else KERNEL_BUDGET_SECONDS),
                show=self.progress.show_completed_share,
                on_cluster_end=rows.add_process_samples if rows else None,
                choose_benchmarks=choose_benchmarks,
                say=self.print_step_line,
            )

    def select_kernel_benchmark_patterns(self) -> Sequence[str]:
        """Return the patterns of the benchmarks to measure in a kernel; an empty list selects all
        benchmarks. If the user chose variants, return the names of the benchmarks that have a
        chosen variant. Raise UnableError if no benchmark in kernels was chosen."""
        plan = self.run.plan
        if not plan.module:
            names = benchmark_names.read_benchmark_names({benchmark_names.KERNEL})
            fit = benchmark_names.select_benchmark_names(names, plan.benchmarks, plan.variants)
            if not fit:
                chosen = (plan.benchmarks, plan.variants)
                benchmark_names.require_patterns_match(names, *chosen, "the kernel")
            if plan.variants:
                return fit
        quick = (*QUICK_GUEST_BENCHMARKS, *LIVE["metal"]) if plan.quick and not plan.module else ()
        return plan.benchmarks or quick

    def describe_usual_time(self, tier: str) -> str:
        """Return the usual time of a tier in a test kernel as text; "" if the user chose the number
        of blocks or the time limit, on which the time depends."""
        if self.run.plan.blocks or (self.run.plan.budget and self.is_kernel_on_real_cpu(tier)):
            return ""
        if tier != "vm" or self.run.plan.quick:
            return "half a minute"
        return "5 minutes" if self.real_guest else "1 to 2 minutes"

    def is_kernel_on_real_cpu(self, tier: str) -> bool:
        """Return True if a tier (measurement environment) is a kernel on a real CPU: `vm` under
        KVM, or `metal`, unless this machine itself is emulated."""
        if tier == "metal":
            # Whether ticks are called cycles is not decided here, but by the env file that the
            # measured kernel writes.
            return not accel.is_machine_emulated(if_unknown=False)
        return tier == "vm" and self.real_guest

    def choose_test_kernel_memory(self, tier: str) -> int:
        """Return the memory of a test kernel in MiB. Under KVM, the memory depends on the size of
        the last-level cache; under emulation, it is USUAL_MEMORY."""
        real = self.is_kernel_on_real_cpu(tier)
        return caches.choose_guest_memory() if real else caches.USUAL_MEMORY

    def select_live_benchmarks(self, tier: str, patterns: Sequence[str]) -> guest.LiveBenchmarks:
        """Return the live benchmarks of a tier that match a pattern in `patterns` (all if it is
        empty), and the number of their blocks. Live benchmarks are programs that call the kernel's
        own code."""
        plan = self.run.plan
        blocks = plan.amounts.get(f"{tier} live", 0)
        live = () if plan.module else LIVE["metal" if self.is_kernel_on_real_cpu(tier) else tier]
        wanted = [name for name in live if benchmark_names.matches_any_pattern(name, patterns)]
        return (
            guest.LiveBenchmarks(blocks, wanted) if blocks and wanted else guest.NO_LIVE_BENCHMARKS
        )

    def report_unmeasured_macro_benchmarks(self) -> None:
        """Print the chosen benchmarks of whole programs (MACRO), which an emulated test kernel does
        not measure. Raise UnableError if the user chose no other benchmark."""
        patterns = self.run.plan.benchmarks
        names = benchmark_names.read_benchmark_names({benchmark_names.KERNEL})
        chosen = [one for one in names if benchmark_names.matches_any_pattern(one, patterns)]
        macro = [one for one in chosen if one in MACRO]
        if self.run.plan.module or not patterns or not macro:
            return
        listed = ", ".join(macro)
        why = f"{listed}: measured only in a test kernel under KVM or by `make bench-host`"
        if macro == chosen:
            raise UnableError(f"{why}, because times of emulated programs mean nothing")
        self.print_step_line(f"not measured: {why}")

    def measure_metal(self) -> None:
        """Load the modules into the running kernel, measure in it and unload them."""
        self.progress.begin_step(f"metal: measuring in the running kernel {os.uname().release}")
        modules = copy_built_modules(ROOT / "build" / "modules" / "host")
        config = ROOT / "build" / "bench-host.conf"

        def load_and_measure(
            tier: str,
            raw: Path,
            seed: int,
            benchmarks: Sequence[str],
            show: Show,
            more_env_lines: str,
        ) -> None:
            words = guest.make_guest_settings(
                self.run.plan.amounts[tier],
                seed,
                self.select_live_benchmarks(tier, benchmarks),
                benchmarks,
            )
            config.write_text(words, encoding="ascii")
            guest.measure_in_running_kernel(
                modules,
                config,
                raw,
                show=show,
                more_env_lines=more_env_lines,
                say=self.print_step_line if seed == self.run.plan.seed else ignore_printed_line,
            )

        self.measure_kernel_clusters("metal", load_and_measure)

    def try_measuring_step(self, tiers: Sequence[str], method_name: str, *arguments: str) -> bool:
        """Call the method of this object with the name `method_name` and the arguments `arguments`.
        If the method fails, store and print the reason why `tiers` are not measured. Return True if
        the method succeeds."""
        try:
            getattr(self, method_name)(*arguments)
        except FailedError as error:
            return self.record_unmeasured_tiers(tiers, str(error), failed=True)
        except OBSTACLES as error:
            return self.record_unmeasured_tiers(tiers, explain_error(error), failed=False)
        finally:
            self.progress.erase_temporary_line()
        return True

    def record_unmeasured_tiers(self, tiers: Sequence[str], why: str, failed: bool) -> bool:
        """Store and print `why`, the reason why the tiers `tiers` are not measured; return False.
        `failed` is True if a step failed."""
        print(f"bench: {' and '.join(tiers)} not measured: {why}", file=sys.stderr, flush=True)
        for tier in tiers:
            self.run.obstacles[tier] = {"failed": failed, "why": why}
            self.events.write_event("tier", tier=tier, measured=False, failed=failed, why=why)
        self.run.write_run_record()
        return False

    def validate_tier_samples(self, tier: str) -> None:
        """Check the samples of a measured tier. Print the table of the tier native at once, before
        the other tiers are measured."""
        self.run.obstacles.pop(tier, None)
        self.run.write_run_record()
        try:
            raw = self.cache.reader.load_tier(tier, self.run.get_raw_folder(tier))
            collect.keep_chosen_variants(raw, self.run.plan.variants)
        except FailedError as error:
            print(f"collect: {error}", file=sys.stderr)
            kept = self.run.rename_refused_samples(tier)
            self.record_unmeasured_tiers(
                [tier], f"the samples in {kept} cannot be used", failed=True
            )
            return
        self.events.write_event("tier", tier=tier, measured=True)
        if tier == "native":
            self.merge_samples()
            self.show(tier, self.cache)

    def merge_samples(self) -> None:
        """Write samples.csv and env.json from the samples measured so far, and store the samples in
        the cache."""
        self.cache.raws = collect.merge_raw_folders(self.run.path, reader=self.cache.reader)
        collect.print_window_totals(self.run.path, self.cache.raws)

    def measure_missing_tiers(self) -> None:
        """Measure the missing tiers: first in user space, before test kernels are downloaded."""
        tiers, guests = self.missing_tiers, self.guests
        in_kernel = [tier for tier in tiers if tier != "native"]
        if in_kernel and not self.try_measuring_step(in_kernel, "select_kernel_benchmark_patterns"):
            tiers, guests = [tier for tier in tiers if tier == "native"], []
        if not tiers:
            return
        needing = [tier for tier in tiers if tier != "icount"]
        # Guests that measure an external module run no user-space program, so none is built.
        if not self.run.plan.module and not self.try_measuring_step(
            needing, "build_native_program"
        ):
            tiers = guests = [tier for tier in guests if tier == "icount"]
        for tier in (tier for tier in tiers if tier not in guests):
            if self.try_measuring_step([tier], f"measure_{tier}"):
                self.validate_tier_samples(tier)
        if guests:
            self.install_packages_for_test_kernels()
        if guests and self.try_measuring_step(guests, "fetch_kernel_and_build_modules"):
            for tier in guests:
                if self.try_measuring_step([tier], "measure_guest", tier):
                    self.validate_tier_samples(tier)


def copy_built_modules(target: Path) -> Path:
    """Copy the modules for bench.sh, which `make modules` has built in the source tree, to the
    directory `target`; return `target`. Raise FailedError if a module is older than a source file
    in its directory."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for directory in ("patcher", "events", "immediate", "markers", "sdt", "bench_modules"):
        built = list((ROOT / directory).glob("*.ko"))
        if not built:
            raise FailedError(f"{directory} holds no module; run `make modules` first")
        sources = (ROOT / directory).glob("*.[ch]")
        newest = max((path.stat().st_mtime for path in sources), default=0.0)
        for module in built:
            if module.stat().st_mtime < newest:
                raise FailedError(f"{module} is older than its sources; run `make modules` first")
            shutil.copy(module, target)
    return target


def make_run_plan(
    tiers: Sequence[str], kernel: str, seed: int, quick: bool, chosen: Mapping[str, Any]
) -> Plan:
    """Return the plan of a new run on this machine. `chosen` has the options of the user by name,
    see benchrun.USER_FIELDS; an option that was not given is None or empty. A chosen number of
    blocks applies to every tier."""
    blocks = chosen.get("blocks")
    amounts = {
        name: blocks if blocks and name != "processes" else number
        for name, number in (QUICK if quick else FULL).items()
        if name.split()[0] in (*tiers, "processes")
    }
    return Plan(
        tiers=list(tiers),
        kernel=kernel,
        seed=seed,
        quick=quick,
        amounts=amounts,
        benchmarks=chosen.get("benchmarks") or [],
        variants=chosen.get("variants") or [],
        blocks=blocks or 0,
        budget=chosen.get("budget") or 0,
        program=chosen.get("program") or "",
        module=chosen.get("module") or "",
        source=benchrun.identify_sources(chosen.get("program") or "", chosen.get("module") or ""),
        machine=benchrun.identify_machine(),
    )
