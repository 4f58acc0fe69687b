#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The main job: build, measure in every tier that this machine can, and report.

Measures in user space on the real CPU (native), inside a stock kernel that is booted for it (vm)
and inside the same kernel under an emulator that counts instructions (icount); with --host, in
user space and inside the running kernel (metal). What each tier's numbers mean is in README.md.
The run is left in results/local/<date>/, with results/local/latest pointing to it once its
samples are complete.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CalledProcessError

import guestbench
import nativebench
from guestbench import GuestError
from lablib import ROOT, LabError, catalogue, require_root
from lablib.build import build_modules
from nativebench import NativeError

LOCAL = ROOT / "results" / "local"

# Blocks per tier, in user space per process: enough for intervals a fraction of a cycle wide on
# the real CPU; under emulation for an order of magnitude; exact counts need two, to see that they
# agree.
BLOCKS = {"native": 250, "vm": 40, "icount": 4, "metal": 2000}
PROCESSES = 8
# The kernel's own getppid is timed from user space, with interrupts on: no exact counts of it.
LIVE_BLOCKS = {"vm": 20, "metal": 200}


class StepError(Exception):
    """A step did not succeed; the message says which and where its output is."""


class Progress:
    """Numbered steps with the time each took."""

    def __init__(self, total: int) -> None:
        """Expect `total` steps."""
        self.total = total
        self.number = 0
        self.began = time.monotonic()

    def step(self, text: str) -> None:
        """Announce the next step."""
        self.number += 1
        elapsed = time.monotonic() - self.began
        print(f"[{self.number}/{self.total}] {elapsed:4.0f} s  {text}", flush=True)


def command(words: Sequence[object], what: str, variables: Mapping[str, str] | None = None) -> None:
    """Run a command that speaks for itself, with further environment variables."""
    environment = {**os.environ, **(variables or {})}
    try:
        subprocess.run([str(word) for word in words], cwd=ROOT, env=environment, check=True)
    except (CalledProcessError, OSError) as error:
        how = f"exit code {error.returncode}" if isinstance(error, CalledProcessError) else error
        raise StepError(f"{what} failed: {how}") from error


def build_native() -> None:
    """Build the user-space program from the modules' sources."""
    command(["make", "-s", "-C", "native"], "building kmbench")


def build_kernel(kernel: str, modules: Path) -> None:
    """Build the modules for a test kernel with that kernel's own compiler."""
    if build_modules(kernel, ROOT, modules, ["-s"]):
        raise StepError(f"building the modules for {kernel} failed")


def run_native(raw: Path, seed: int) -> None:
    """Measure on the real CPU."""
    nativebench.measure(
        raw, blocks=BLOCKS["native"], processes=PROCESSES, seed=seed, show=show_detail
    )


def run_host(modules: Path, raw: Path, seed: int) -> None:
    """Load the modules into the running kernel, measure in it and unload them."""
    raw.mkdir(parents=True)
    config = raw.parent / "bench.conf"
    config.write_text(
        f"blocks {BLOCKS['metal']}\nseed {seed}\nlive {LIVE_BLOCKS['metal']}\n", encoding="ascii"
    )
    roots = {
        "MODULES": str(modules),
        "RESULTS": str(raw),
        "CONFIG": str(config),
        "KMLIVE": str(guestbench.KMLIVE),
    }
    command(["sh", guestbench.GUEST_JOB], "the benchmark in the running kernel", roots)


def show_detail(line: str) -> None:
    """Show what happens within a step."""
    print(f"           {line}", flush=True)


def show_progress(line: str) -> None:
    """Pass on the guest's progress, not its tables: the report has those."""
    if line.startswith("bench:"):
        show_detail(line)


def measure_here(args: argparse.Namespace, raw: Path) -> list[str]:
    """User space and test kernels; returns the tiers measured."""
    progress = Progress(6)
    modules = ROOT / "build" / "modules" / args.kernel
    progress.step("building kmbench")
    build_native()
    progress.step(f"building the modules for {args.kernel}")
    build_kernel(args.kernel, modules)
    progress.step("native: measuring on the real CPU")
    run_native(raw / "native", args.seed)
    for tier in ("vm", "icount"):
        progress.step(f"{tier}: booting {args.kernel} and measuring in it")
        guestbench.measure(
            tier,
            args.kernel,
            modules,
            raw / tier,
            blocks=BLOCKS[tier],
            seed=args.seed,
            live=LIVE_BLOCKS.get(tier, 0),
            show=show_progress,
        )
    progress.step("collecting and plotting")
    return ["native", "vm", "icount"]


def measure_host(args: argparse.Namespace, raw: Path) -> list[str]:
    """User space and the running kernel; returns the tiers measured."""
    progress = Progress(4)
    modules = gather_modules(raw / "modules")
    progress.step("building kmbench")
    build_native()
    progress.step("native: measuring on the real CPU")
    run_native(raw / "native", args.seed)
    progress.step(f"metal: measuring in the running kernel {os.uname().release}")
    run_host(modules, raw / "metal", args.seed)
    progress.step("collecting and plotting")
    return ["native", "metal"]


def gather_modules(target: Path) -> Path:
    """The modules that `make modules` left in the source tree, in one directory."""
    target.mkdir()
    for directory in ("patcher", "immediate", "markers", "bench_modules"):
        built = list((ROOT / directory).glob("*.ko"))
        if not built:
            raise StepError(f"{directory} holds no module; run make modules first")
        for module in built:
            shutil.copy(module, target)
    return target


@contextmanager
def alone() -> Iterator[None]:
    """One at a time in a checkout: two would disturb each other's numbers and files."""
    lock = ROOT / "build" / "bench.lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError("another bench is running in this checkout") from None
        yield


@contextmanager
def new_run_dir() -> Iterator[Path]:
    """A fresh directory named after the time, in UTC; it is not left behind empty."""
    run_dir = LOCAL / datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    try:
        run_dir.mkdir(parents=True)
    except OSError as error:
        raise LabError(f"results cannot be written: {error}") from None
    try:
        yield run_dir
    finally:
        if not any(run_dir.iterdir()):
            run_dir.rmdir()


def run(args: argparse.Namespace) -> None:
    """Measure, collect and report."""
    catalogue.find(args.kernel)
    if not args.host:
        require_root("building in a suite's tree")
    scripts = ROOT / "scripts"
    with alone(), new_run_dir() as run_dir:
        with tempfile.TemporaryDirectory() as raw:
            tiers = (measure_host if args.host else measure_here)(args, Path(raw))
            words = [word for tier in tiers for word in ("--raw", f"{tier}={Path(raw) / tier}")]
            command([sys.executable, scripts / "collect.py", run_dir, *words], "collecting")
        command([sys.executable, scripts / "report.py", run_dir], "reporting")


def main() -> int:
    """Exit code 0 done, 1 a step failed, 2 something to put right first, 130 interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", default=catalogue.default_name(), help="name in kernels.txt")
    parser.add_argument("--seed", type=int, default=1, help="order of variants (default 1)")
    parser.add_argument("--host", action="store_true", help="load into the running kernel")
    # Unwinds, so that what was started is ended and what was made is removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run(parser.parse_args())
    except (StepError, GuestError, NativeError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        places = f"raw data are kept in {tempfile.gettempdir()}, results in {LOCAL}"
        print(f"bench: {error}; {places}", file=sys.stderr)
        return 1
    except LabError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
