# SPDX-License-Identifier: GPL-2.0-only
"""Boots a test kernel in QEMU, runs a job in it and brings back its results."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from kmtools.base.errors import OBSTACLES, explain, positive
from kmtools.base.paths import ROOT
from kmtools.lab import catalogue
from kmtools.lab.emulator import TIERS
from kmtools.lab.logscan import scan_log
from kmtools.lab.machine import Request, Result, boot, report, usable_accel

__all__ = ["Request", "Result", "boot", "scan_log"]


def addition(text: str) -> tuple[Path, str]:
    """Parse SRC:DEST."""
    source, _, destination = text.rpartition(":")
    if not source or not destination.startswith("/"):
        raise argparse.ArgumentTypeError(f"{text!r} is not SRC:DEST with an absolute DEST")
    if not Path(source).exists():
        raise argparse.ArgumentTypeError(f"{source} does not exist")
    return Path(source), destination


def existing_file(text: str) -> Path:
    """Parse the path of a file that must be there."""
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{text} is not a file")
    return path


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    top = argparse.ArgumentParser(description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="boot, run a job, fetch /results")
    run.add_argument("--kernel", default=catalogue.default_name(), help="name in kernels.txt")
    run.add_argument("--tier", choices=TIERS, default="vm", help="default: vm")
    run.add_argument("--modules", type=Path, help="directory with *.ko, goes to /modules")
    run.add_argument(
        "--add", type=addition, action="append", default=[], metavar="SRC:DEST", help="a file more"
    )
    run.add_argument("--job", type=existing_file, required=True, help="script for busybox sh")
    run.add_argument("--out", type=Path, default=ROOT / "build" / "vm", help="logs and results")
    run.add_argument(
        "--timeout", type=float, default=300.0, metavar="SECONDS", help="for all of it (300)"
    )
    run.add_argument("--cpus", type=positive, default=2, help="how many (2)")
    run.add_argument("--append", default="", help="further kernel arguments")
    run.add_argument("--mem", type=int, default=1024, metavar="MIB", help="(1024)")
    run.add_argument("--nmi", type=float, default=0.0, metavar="HZ", help="inject NMIs")
    run.add_argument("--accel", choices=("tcg", "kvm"), help="instead of probing")
    accel = commands.add_parser("accel", help="say which accelerator this machine can use")
    accel.add_argument("--kernel", default=catalogue.default_name(), help="name in kernels.txt")
    return top


def run(args: argparse.Namespace) -> int:
    """Run one job and explain its failure."""
    request = Request(
        kernel=args.kernel,
        job=args.job,
        out=args.out,
        tier=args.tier,
        modules=args.modules,
        additions=args.add,
        timeout=args.timeout,
        cpus=args.cpus,
        append=args.append,
        memory=args.mem,
        accel=args.accel,
        nmi=args.nmi,
    )
    result = boot(request, lambda line: print(line, flush=True))
    if not result.ok:
        report(result)
    return 0 if result.ok else 1


def main() -> int:
    """Run one command; 1 is a failed run, 2 something to put right first."""
    args = parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        if args.command == "accel":
            print(usable_accel(args.kernel))
            return 0
        return run(args)
    except OBSTACLES as error:
        print(f"vm: {explain(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
