# SPDX-License-Identifier: GPL-2.0-only
"""Gives a shell inside a test kernel, with the modules loaded and the tracers of its Debian."""

from __future__ import annotations

import math
import os
import shutil
import sys
import tempfile
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kmtools.base.errors import FailedError, UnableError
from kmtools.base.paths import ROOT
from kmtools.lab import build, catalogue, kernels, stock, tracers
from kmtools.lab.machine import Request, boot, usable_accel
from kmtools.lab.result import Result, report

JOB = ROOT / "scripts" / "guest" / "shell.sh"
MODULES = ROOT / "build" / "modules"
OUT = ROOT / "build" / "vm" / "shell"
# The examples are built together with the tests.
OPTIONS = ("-s", "KMARKERS_TESTS=m")
# The folder of modules from outside this tree in the test kernel.
OWN = "/own"
WELCOME = """
Linux {release} in a virtual machine, with kmarkers loaded. All modules are in /modules.
Nothing you do here reaches the machine outside. "exit" leaves.

    {first}
    cat markers/list
    echo '{pattern} trace' >markers/control
    cat /sys/kernel/tracing/trace

{tools}.

"""


def tell(what: str) -> None:
    """Print the next step."""
    print(f"lab shell: {what}", flush=True)


def built(kernel: str) -> Path:
    """Return the folder of our modules for a kernel."""
    return MODULES / f"{kernel}-shell"


def build_ours(kernel: str) -> int:
    """Build our modules for a kernel; return 0, or 1 if make failed."""
    return build.build_modules(kernel, ROOT, built(kernel), OPTIONS)


def suggestion(clients: Sequence[Path]) -> tuple[str, str]:
    """Return the first command of the welcome text, and a pattern of markers."""
    if not clients:
        return "insmod /modules/example_client.ko", "example_*"
    return f"lsmod                                  # {clients[-1].stem} is loaded", "*"


@contextmanager
def terminal_kept() -> Iterator[None]:
    """Restore the terminal settings, however the block ends: the emulator sets raw mode."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def run(request: Request, folders: Sequence[Path] = ()) -> Result:
    """Boot a kernel and connect its shell to this terminal until the shell ends.

    The request names the kernel, CPUs, memory and additions; the modules whose sources are in
    `folders` are built and loaded after ours, in this order; the kernel's own modules that they
    need are loaded before them. Raises UnableError without a terminal, FailedError if modules
    cannot be built. A warning in the kernel's log makes the result bad.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UnableError("a shell needs a terminal; vm run --job runs a script without one")
    entry = catalogue.find(request.kernel)
    kernel = kernels.ensure(entry)
    tell("building the modules and tests, which takes a minute or two the first time")
    if build_ours(entry.name):
        raise FailedError("the modules cannot be built")
    if folders:
        tell(f"building {', '.join(map(str, folders))}")
    clients = build.build_clients(entry.name, folders, MODULES / f"{entry.name}-clients", ["-s"])
    print(usable_accel(entry.name, print).line)
    tell("fetching tracers and booting, usually half a minute")
    files, missing = tracers.fetch_tracers(entry.suite)
    for why in missing:
        print(f"lab shell: {why}", file=sys.stderr)
    there = [name for name in tracers.TRACERS if f"/usr/bin/{name}" in files.values()]
    tools = f"{', '.join(there)} are here" if there else "No tracer could be fetched"
    size = shutil.get_terminal_size()
    with tempfile.TemporaryDirectory(prefix="kmarkers-shell-") as scratch:
        loaded = [*stock.needed(kernel, clients, Path(scratch, "stock")), *clients]
        welcome = Path(scratch, "welcome")
        first, pattern = suggestion(clients)
        welcome.write_text(
            WELCOME.format(release=kernel.release, first=first, pattern=pattern, tools=tools)
        )
        with terminal_kept():
            result = boot(
                Request(
                    kernel=entry.name,
                    job=JOB,
                    out=OUT,
                    modules=built(entry.name),
                    additions=[
                        (welcome, "/welcome"),
                        *((path, f"{OWN}/{path.name}") for path in loaded),
                        *files.items(),
                        *request.additions,
                    ],
                    settings={
                        "OWN": " ".join(f"{OWN}/{path.name}" for path in loaded),
                        "SIZE": f"{size.lines} {size.columns}",
                        "TERMINAL": os.environ.get("TERM", "vt100"),
                    },
                    timeout=math.inf,
                    cpus=request.cpus,
                    memory=request.memory,
                    # A shell that nobody types into is silent.
                    silence=0.0,
                    terminal=True,
                )
            )
    if not result.ok:
        report(result)
    return result
