# SPDX-License-Identifier: GPL-2.0-only
"""Chooses the QEMU of a kernel, and its options."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.processes import captured
from kmtools.lab.unpack import qemu_dir

TIERS = ("vm", "icount")


@dataclass(frozen=True)
class Emulator:
    """An emulator: the command that starts it, its environment, its version, and the exit code with
    which it ends when the guest powers off."""

    command: tuple[str, ...]
    environment: Mapping[str, str]  # besides ours
    version: str
    powered_off: int = 0


def choose(qemu: str) -> Emulator:
    """Return the emulator that a kernel's line in kernels.txt names."""
    override = os.environ.get("KMARKERS_QEMU")
    if override:
        return _with_version((override,), {})
    tree = qemu_dir(qemu)
    if not tree.is_dir():
        raise UnableError(f"the emulator of {qemu} is not unpacked; fetch a kernel that uses it")
    # The emulator uses the libraries that were unpacked with it.
    libraries = tree / "usr/lib/x86_64-linux-gnu"
    loader = [str(tree / "usr/lib64/ld-linux-x86-64.so.2"), "--library-path", str(libraries)]
    program = str(tree / "usr/bin/qemu-system-x86_64")
    data = [str(tree / "usr/share" / part) for part in ("qemu", "seabios")]
    options = [option for directory in data for option in ("-L", directory)]
    # QEMU looks for its accelerators beside /proc/self/exe, which is the loader here.
    environment = {"QEMU_MODULE_DIR": str(libraries / "qemu")}
    return _with_version((*loader, program, *options), environment)


def _with_version(command: tuple[str, ...], environment: Mapping[str, str]) -> Emulator:
    try:
        shown = captured([*command, "--version"], env=environment)
        shown.check_returncode()
    except (OSError, subprocess.CalledProcessError) as error:
        raise UnableError(f"{command[0]} cannot be run: {error}") from error
    return Emulator(command, environment, shown.stdout.partition("\n")[0] or "unknown")


def accelerator_options(
    accel: str, tier: str, cpus: int, one_thread: bool = False, model: str = "max"
) -> list[str]:
    """Return QEMU's options for an accelerator and a tier; `one_thread` runs all CPUs in one thread
    of the emulator. `model` is the emulated processor."""
    if tier == "icount":
        # One instruction takes one nanosecond of virtual time; nothing else advances it.
        return [
            *("-accel", "tcg,thread=single", "-smp", "1", "-cpu", "max"),
            *("-icount", "shift=0,sleep=off"),
            *("-rtc", "base=2020-01-01,clock=vm", "-seed", "1"),
        ]
    if accel == "kvm":
        return ["-accel", "kvm", "-cpu", "host,host-cache-info=on", "-smp", str(cpus)]
    threads = "single" if one_thread else "multi"
    return ["-accel", f"tcg,thread={threads}", "-cpu", model, "-smp", str(cpus)]


def quoted(path: Path) -> str:
    """Return a path as the value of an option: QEMU wants a comma in it written twice."""
    return str(path).replace(",", ",,")
