# SPDX-License-Identifier: GPL-2.0-only
"""Chooses the QEMU that boots a kernel, and the QEMU options for an accelerator."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.processes import capture_output
from kmtools.lab.unpack import get_qemu_dir

TIERS = ("vm", "icount")


@dataclass(frozen=True)
class Emulator:
    """An emulator: its command line, environment variables, version, and its exit code after the
    guest powered off."""

    command: tuple[str, ...]
    environment: Mapping[str, str]  # variables that are added to the environment of this process
    version: str
    powered_off: int = 0


@dataclass(frozen=True)
class Share:
    """A folder of this machine that a guest can mount over 9p, by the name `tag`."""

    tag: str
    path: Path
    writable: bool = False

    def make_virtfs_options(self) -> list[str]:
        """Return QEMU's options for this folder. Inode numbers must be unique in the guest. Files
        in different mounts below the folder may have the same inode number, so QEMU remaps the
        numbers."""
        access = "" if self.writable else ",readonly=on"
        path = quote_option_value(self.path)
        return [
            "-virtfs",
            f"local,path={path},mount_tag={self.tag},security_model=none,multidevs=remap{access}",
        ]


def choose_qemu_of_suite(distro_suite: str) -> Emulator:
    """Return the QEMU of a Debian suite, which the column qemu of kernels.txt names. If the
    environment variable KMARKERS_QEMU has the path of a QEMU, return that QEMU instead."""
    override = os.environ.get("KMARKERS_QEMU")
    if override:
        return _make_qemu_emulator((override,), {})
    tree = get_qemu_dir(distro_suite)
    if not tree.is_dir():
        raise UnableError(
            f"the QEMU of {distro_suite} is not unpacked; run: scripts/kmarkers lab fetch KERNEL,"
            f" where kernels.txt lists KERNEL with the QEMU of {distro_suite}"
        )
    # QEMU runs with the dynamic linker and the libraries that were unpacked with it.
    libraries = tree / "usr/lib/x86_64-linux-gnu"
    loader = [str(tree / "usr/lib64/ld-linux-x86-64.so.2"), "--library-path", str(libraries)]
    program = str(tree / "usr/bin/qemu-system-x86_64")
    data = [str(tree / "usr/share" / part) for part in ("qemu", "seabios")]
    options = [option for directory in data for option in ("-L", directory)]
    # QEMU searches its accelerator modules in the folder of /proc/self/exe. Here, /proc/self/exe is
    # the dynamic linker.
    environment = {"QEMU_MODULE_DIR": str(libraries / "qemu")}
    return _make_qemu_emulator((*loader, program, *options), environment)


def _make_qemu_emulator(command: tuple[str, ...], environment: Mapping[str, str]) -> Emulator:
    """Return the emulator that `command` starts, with the version that it prints."""
    try:
        shown = capture_output([*command, "--version"], env=environment)
        shown.check_returncode()
    except (OSError, subprocess.CalledProcessError) as error:
        raise UnableError(f"{command[0]} cannot be run: {error}") from error
    return Emulator(command, environment, shown.stdout.partition("\n")[0] or "unknown")


def make_accelerator_options(
    accel: str, tier: str, cpus: int, one_thread: bool = False, model: str = "max"
) -> list[str]:
    """Return QEMU's options for an accelerator and an environment of measurement (tier): "vm" or
    "icount". In the tier icount, QEMU counts instructions. With `one_thread`, a single thread
    emulates all CPUs. `model` is the emulated processor."""
    if tier == "icount":
        # Only instructions advance the virtual time: each by one nanosecond.
        return [
            *("-accel", "tcg,thread=single", "-smp", "1", "-cpu", "max"),
            *("-icount", "shift=0,sleep=off"),
            *("-rtc", "base=2020-01-01,clock=vm", "-seed", "1"),
        ]
    if accel == "kvm":
        return ["-accel", "kvm", "-cpu", "host,host-cache-info=on", "-smp", str(cpus)]
    threads = "single" if one_thread else "multi"
    return ["-accel", f"tcg,thread={threads}", "-cpu", model, "-smp", str(cpus)]


def quote_option_value(path: Path) -> str:
    """Return a path as a value in a QEMU option, where each comma must be doubled."""
    return str(path).replace(",", ",,")
