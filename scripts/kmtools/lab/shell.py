# SPDX-License-Identifier: GPL-2.0-only
"""Gives a shell inside a test kernel, with the modules loaded and the tracers of its Debian."""

from __future__ import annotations

import math
import os
import shutil
import sys
import tempfile
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kmtools.base.errors import FailedError, UnableError
from kmtools.base.paths import ROOT
from kmtools.lab import build, catalogue, kernels, tracers
from kmtools.lab.machine import Request, boot, usable_accel
from kmtools.lab.result import Result, report

JOB = ROOT / "scripts" / "guest" / "shell.sh"
MODULES = ROOT / "build" / "modules"
OUT = ROOT / "build" / "vm" / "shell"
WELCOME = """
Linux {release} in a virtual machine, with kmarkers loaded. All modules are in /modules.
Nothing you do here reaches the machine outside. "exit" leaves.

    insmod /modules/example_client.ko
    cat markers/list
    echo 'example_* trace' >markers/control
    cat /sys/kernel/tracing/trace

{tools}.

"""


@contextmanager
def terminal_kept() -> Iterator[None]:
    """Give the terminal back as it was, however the block ends: the emulator makes it raw."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def run(request: Request) -> Result:
    """Boot a kernel and connect its shell to this terminal until the shell ends.

    The request names the kernel, CPUs, memory and additions. Raises UnableError without a terminal,
    FailedError if the modules cannot be built. A warning in the kernel's log makes the result bad.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UnableError("a shell needs a terminal; vm run --job runs a script without one")
    entry = catalogue.find(request.kernel)
    kernel = kernels.ensure(entry)
    modules = MODULES / f"{entry.name}-shell"
    print("lab shell: building the modules and tests, which takes a minute or two the first time")
    sys.stdout.flush()
    # With tests come the examples.
    if build.build_modules(entry.name, ROOT, modules, ["-s", "KMARKERS_TESTS=m"]):
        raise FailedError("the modules cannot be built")
    print(usable_accel(entry.name, print).line)
    print("lab shell: fetching tracers and booting, usually half a minute", flush=True)
    files, missing = tracers.fetch_tracers(entry.suite)
    for why in missing:
        print(f"lab shell: {why}", file=sys.stderr)
    there = [name for name in tracers.TRACERS if f"/usr/bin/{name}" in files.values()]
    tools = f"{', '.join(there)} are here" if there else "No tracer could be fetched"
    size = shutil.get_terminal_size()
    with tempfile.TemporaryDirectory(prefix="kmarkers-shell-") as scratch:
        welcome = Path(scratch, "welcome")
        welcome.write_text(WELCOME.format(release=kernel.release, tools=tools))
        with terminal_kept():
            result = boot(
                Request(
                    kernel=entry.name,
                    job=JOB,
                    out=OUT,
                    modules=modules,
                    additions=[(welcome, "/welcome"), *files.items(), *request.additions],
                    settings={
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
