# SPDX-License-Identifier: GPL-2.0-only
"""Implements `lab shell`: a shell in a test kernel with the modules loaded, and with tracers."""

from __future__ import annotations

import math
import os
import shutil
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from kmtools.base.errors import FailedError, UnableError
from kmtools.base.files import hold_lock
from kmtools.base.paths import ROOT
from kmtools.base.progress import (
    LOG_SECONDS,
    TERMINAL_SECONDS,
    format_duration,
    print_text_repeatedly,
)
from kmtools.lab import build, catalogue, kernels, stock, tracers
from kmtools.lab.apt import print_step
from kmtools.lab.machine import Request, boot_guest, find_usable_accel
from kmtools.lab.result import Result, print_boot_failure

JOB = ROOT / "scripts" / "guest" / "shell.sh"
MODULES = ROOT / "build" / "modules"
OUT = ROOT / "build" / "vm" / "shell"
# KMARKERS_TESTS=m also builds the examples.
OPTIONS = ("-s", "KMARKERS_TESTS=m")
# The directory in the guest for modules from outside this tree.
CLIENT_DIR = "/own"
WELCOME = """
Linux {release} in a virtual machine, with kmarkers loaded. All modules are in /modules.
The host cannot be changed from here. "exit" ends the virtual machine.

    {first}
    cat markers/list sdt/list entry/list   # markers, SDT probes, recorded functions
    echo '{pattern} trace' >markers/control
    cat /sys/kernel/tracing/trace

{tools}.

"""


def print_next_shell_step(step: str) -> None:
    """Print a line about the next step of `lab shell`."""
    print(f"lab shell: {step}", flush=True)


def count_objects_written_since(folder: Path, began: float) -> int:
    """Return the number of object files below `folder` that were written since the time `began`, in
    seconds since the epoch."""
    count = 0
    for path in folder.rglob("*.o"):
        with suppress(FileNotFoundError):  # make may have just removed the file
            count += path.stat().st_mtime >= began
    return count


@contextmanager
def show_compilation_progress(folder: Path) -> Iterator[None]:
    """During the `with` block, show the number of files compiled below `folder`, and the time since
    the beginning of the block."""
    # Subtract more than a timer tick: the kernel sets file times to the time of the last tick.
    began = time.time() - 0.1

    def make_progress_text() -> str:
        count, seconds = count_objects_written_since(folder, began), time.time() - began
        return f"lab shell: {count} files compiled in {format_duration(seconds)}"

    with print_text_repeatedly(make_progress_text, TERMINAL_SECONDS, LOG_SECONDS):
        yield


def get_lab_shell_modules_dir(kernel: str) -> Path:
    """Return the directory of the kmarkers modules that are built for a kernel's shell."""
    return MODULES / f"{kernel}-shell"


def build_kmarkers_modules(kernel: str, out: Path) -> int:
    """Build the kmarkers modules for a kernel as its shell needs them, and copy them to `out`.
    Return 0, or 1 if make failed."""
    return build.build_modules(kernel, ROOT, out, OPTIONS)


def choose_welcome_examples(clients: Sequence[Path]) -> tuple[str, str]:
    """Return two parts of the welcome text: the first example command, and the pattern of the
    markers that a later example command enables. `clients` are the modules that the user has built
    for this shell."""
    if not clients:
        return "insmod /modules/example_client.ko", "example_*"
    return f"lsmod                                  # {clients[-1].stem} is loaded", "*"


@contextmanager
def restore_terminal_settings() -> Iterator[None]:
    """At the end of the `with` block, restore the terminal settings, because the emulator sets raw
    mode."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def run_guest_shell(request: Request, folders: Sequence[Path] = ()) -> Result:
    """Boot a kernel, and connect a shell in the guest to this terminal until the shell exits.

    Of `request`, only `kernel`, `cpus`, `memory` and `additions` (files for the initramfs) are
    used. The modules in `folders` are built. The guest loads the kmarkers modules, then
    dependencies from the kernel's package, then the modules in `folders`, in this order. Raise
    UnableError if there is no terminal or if another shell of this checkout is open, FailedError if
    modules cannot be built. A warning in the kernel's log makes the result a failure.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UnableError(
            "a shell needs a terminal: without a terminal, run a script by `kmarkers vm run --job`"
        )
    # Two shells at the same time would write the same modules and logs.
    with hold_lock(
        OUT.with_suffix(".lock"),
        "another lab shell of this checkout is open: exit it first, or use another checkout",
    ):
        return _build_and_run_guest_shell(request, folders)


def _build_and_run_guest_shell(request: Request, folders: Sequence[Path]) -> Result:
    """Build the modules, boot a kernel, and connect a shell in the guest to this terminal."""
    entry = catalogue.find_kernel_entry(request.kernel)
    kernel = kernels.ensure_kernel_is_unpacked(entry)
    print_next_shell_step("building the modules, which takes minutes the first time, else seconds")
    with show_compilation_progress(build.get_object_dir(entry.name, ROOT)):
        if build_kmarkers_modules(entry.name, get_lab_shell_modules_dir(entry.name)):
            raise FailedError(f"the kmarkers modules cannot be built for kernel {entry.name}")
    if folders:
        print_next_shell_step(f"building {', '.join(map(str, folders))}")
    clients = build.build_modules_using_kmarkers(
        entry.name, folders, MODULES / f"{entry.name}-clients", ["-s"]
    )
    print(find_usable_accel(entry.name, print_step).boot_message)
    print_next_shell_step(
        "booting, which takes half a minute; before the first boot, fetching tracers"
    )
    files, missing = tracers.fetch_tracers(entry.suite)
    for why in missing:
        print(f"lab shell: {why}", file=sys.stderr)
    there = [name for name in tracers.TRACERS if f"/usr/bin/{name}" in files.values()]
    tools = f"Installed tracers: {', '.join(there)}" if there else "No tracer could be fetched"
    size = shutil.get_terminal_size()
    with tempfile.TemporaryDirectory(prefix="kmarkers-shell-") as scratch:
        loaded = [
            *stock.copy_module_dependencies(kernel, clients, Path(scratch, "stock")),
            *clients,
        ]
        welcome = Path(scratch, "welcome")
        first, pattern = choose_welcome_examples(clients)
        welcome.write_text(
            WELCOME.format(release=kernel.release, first=first, pattern=pattern, tools=tools),
            encoding="utf-8",
        )
        with restore_terminal_settings():
            result = boot_guest(
                Request(
                    kernel=entry.name,
                    job=JOB,
                    out=OUT,
                    modules=get_lab_shell_modules_dir(entry.name),
                    additions=[
                        (welcome, "/welcome"),
                        *((path, f"{CLIENT_DIR}/{path.name}") for path in loaded),
                        *files.items(),
                        *request.additions,
                    ],
                    settings={
                        "OWN": " ".join(f"{CLIENT_DIR}/{path.name}" for path in loaded),
                        "SIZE": f"{size.lines} {size.columns}",
                        "TERMINAL": os.environ.get("TERM", "vt100"),
                    },
                    timeout=math.inf,
                    cpus=request.cpus,
                    memory=request.memory,
                    # Do not inspect the CPUs of a silent guest: a shell without input is silent.
                    silence=0.0,
                    terminal=True,
                )
            )
    if not result.ok:
        print_boot_failure(result)
    return result
