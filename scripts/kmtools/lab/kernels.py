# SPDX-License-Identifier: GPL-2.0-only
"""The test-kernel laboratory: fetches stock kernels and builds modules for them."""

from __future__ import annotations

import argparse
import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

from kmtools.base.errors import OBSTACLES, explain
from kmtools.base.paths import cache_dir
from kmtools.lab import cache, catalogue, debugkernel, unpack
from kmtools.lab.apt import FetchError, NotOnMirrorError, PrivateApt
from kmtools.lab.build import build_modules
from kmtools.lab.catalogue import Entry


def fetch(names: list[str], update: bool = False) -> None:
    """Unpack kernels, by default the default one; `update` those that are there, too."""
    entries = [catalogue.find(name) for name in names or [catalogue.default_name()]]
    # Without permission to write, what is there may be all that is needed.
    with contextlib.suppress(OSError):
        cache.claim()
    for entry in entries:
        part = debugkernel if entry.debug else unpack
        before = part.complete(entry)
        started = time.monotonic()
        kernel = part.fetch(entry, update)
        took = "" if kernel == before else f" in {time.monotonic() - started:.0f} s; {cache_size()}"
        print(f"{kernel.name}: {kernel.release} ({kernel.version}) is unpacked{took}")


def cache_size() -> str:
    """Say how much the laboratory holds."""
    done = subprocess.run(["du", "-sm", cache_dir()], capture_output=True, text=True, check=False)
    return f"{cache_dir()} holds {done.stdout.split()[0]} MiB"


def show_list() -> None:
    """Print every supported kernel, the version it stands for now, and its state."""
    rows = [("NAME", "SUITE", "VERSION", "STATE", "QEMU")]
    for entry in catalogue.load():
        kernel = catalogue.unpacked(entry.name)
        version = kernel.version if kernel else on_mirror(entry)
        state = f"unpacked ({kernel.release})" if kernel else "not unpacked"
        rows.append((entry.name, entry.suite, version, state, entry.qemu))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        print("  ".join(field.ljust(width) for field, width in zip(row, widths)).rstrip())


def on_mirror(entry: Entry) -> str:
    """Return the version that a fetch would choose, as far as downloaded lists tell."""
    apt = PrivateApt(entry.suite)
    if not apt.has_lists:
        return "?"
    try:
        if entry.debug:
            return apt.version(entry.image)
        return apt.candidates(entry)[0].version
    except NotOnMirrorError:
        return "gone"
    except FetchError:
        return "?"


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    top = argparse.ArgumentParser(description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    sub = commands.add_parser("fetch", help="download and unpack kernels (default: the first)")
    sub.add_argument("names", nargs="*", metavar="NAME", help="in kernels.txt")
    sub.add_argument("--update", action="store_true", help="replace an older one by the newest")
    sub = commands.add_parser("build", help="build modules for an unpacked kernel")
    sub.add_argument("name", metavar="NAME", help="in kernels.txt")
    sub.add_argument("--src", type=Path, required=True, help="tree with a Kbuild file")
    sub.add_argument("--out", type=Path, required=True, help="where the modules go")
    sub.add_argument("make_args", nargs="*", metavar="ARG", help="further arguments of make")
    commands.add_parser("list", help="show the supported kernels and their state")
    commands.add_parser("clean", help="remove everything that the laboratory made")
    return top


def main() -> int:
    """Run one command; 1 is a failed build, 2 something to put right first."""
    args = parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        if args.command == "fetch":
            fetch(args.names, args.update)
        elif args.command == "build":
            return build_modules(args.name, args.src, args.out, args.make_args)
        elif args.command == "list":
            show_list()
        else:
            cache.clean()
    except OBSTACLES as error:
        print(f"lab: {explain(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0
