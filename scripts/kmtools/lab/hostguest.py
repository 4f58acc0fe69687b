# SPDX-License-Identifier: GPL-2.0-only
"""Boots a test kernel whose root directory is the root directory of this machine, so that a guest
can run the commands of this checkout.

The guest reads the files of this machine over 9p. Changes of files are written to a tmpfs, and are
lost when the guest ends. The only folder of this machine that the guest can write is mounted at
OUTPUT. The processor is emulated and has AMD's virtualisation (SVM), so the guest has /dev/kvm and
can boot test kernels of its own.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kmtools.base.paths import ROOT, get_cache_dir
from kmtools.lab import catalogue, emulator, stock
from kmtools.lab.emulator import Share
from kmtools.lab.machine import Request

JOB = ROOT / "scripts" / "guest" / "host.sh"
# The mount point in the guest of the folder `output` of this machine.
OUTPUT = "/kmarkers-output"
# Folders of this machine that the guest does not see, because it has such folders of its own.
HIDDEN = ("/dev", "/proc", "/run", "/sys")
# The page tables of the guest have 4 levels (la57=off), as usual. KVM in the guest uses the same
# number of levels for its nested page tables.
MODEL = "max,la57=off,svm=on,npt=on"
# The modules for the root directory and the folder OUTPUT, and the modules for /dev/kvm.
ROOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
KVM_MODULES = ("kvm", "kvm_amd")
# The memory of the guest in MiB, used by Python, by changed files (in a tmpfs) and by a test kernel
# that boots inside the guest.
MEMORY = 4096
# The kernel's mitigations are off, because they slow down an emulated kernel.
APPEND = "mitigations=off"
# The time limit in seconds for starting QEMU without a kernel, which usually takes under a second.
PROBE_SECONDS = 60.0


@dataclass(frozen=True)
class HostJob:
    """A script for bash that runs in a guest with this machine's root directory. The script can
    write to the folder `output`, mounted at OUTPUT, and gets `settings` as environment variables.
    `modules` are modules of kmarkers that the script may load; a crash in such a module is not
    attributed to the emulator."""

    kernel: str
    script: Path
    out: Path
    timeout: float
    modules: Path | None = None
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def output(self) -> Path:
        """The folder of this machine to which the script can write."""
        return self.out.with_name(f"{self.out.name}-output")


def list_guest_shares(output: Path) -> list[Share]:
    """Return the folders of this machine that a guest mounts: the root directory, and `output`."""
    return [Share("root", Path("/")), Share("output", output.resolve(), writable=True)]


def find_host_guest_obstacle(kernel: str) -> str:
    """Return the reason why a kernel cannot be booted with this machine's root directory and
    /dev/kvm; "" if the kernel can be booted. QEMU is started without a kernel, to find out whether
    it emulates SVM and has 9p."""
    for path in (ROOT, get_cache_dir()):
        if hidden := next((one for one in HIDDEN if path.resolve().is_relative_to(one)), ""):
            return f"{path} is below {hidden}, which the guest does not share"
    lacking = find_missing_guest_modules(kernel)
    if lacking:
        return f"kernel {kernel} has no module {', '.join(lacking)}"
    qemu = emulator.choose_qemu_of_suite(catalogue.find_kernel_entry(kernel).qemu)
    command = [
        *(*qemu.command, "-accel", "tcg", "-cpu", f"{MODEL},enforce"),
        *("-nodefaults", "-display", "none", "-S", "-monitor", "stdio"),
        *(
            option
            for share in list_guest_shares(Path("/tmp"))
            for option in share.make_virtfs_options()
        ),
    ]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **qemu.environment},
            input="quit\n",
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{qemu.version} does not start in {PROBE_SECONDS:.0f} s"
    if done.returncode == 0:
        return ""
    said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return f"{qemu.version} lacks a feature: {said[0].partition(': ')[2] or said[0]}"


def find_missing_guest_modules(kernel: str) -> list[str]:
    """Return the modules that a guest needs, and that are neither in the kernel's package nor built
    into the kernel."""
    found = catalogue.require_unpacked_kernel(kernel)
    list_file = found.tree / "usr/lib/modules" / found.release / "modules.builtin"
    lines = list_file.read_text(encoding="utf-8").splitlines() if list_file.is_file() else []
    known = {stock.get_module_name(Path(line)) for line in lines}
    known |= {*stock.find_modules_in_kernel_package(found)}
    return [name for name in (*ROOT_MODULES, *KVM_MODULES) if name not in known]


def make_host_guest_request(job: HostJob, scratch: Path) -> Request:
    """Return the request for a boot that runs a job. The kernel's modules are copied to the folder
    `scratch`; this folder must exist until the guest has started."""
    kernel = catalogue.require_unpacked_kernel(job.kernel)
    files = scratch / "host"
    copies = stock.copy_kernel_package_modules(kernel, (*ROOT_MODULES, *KVM_MODULES), files)
    (files / "order").write_text("".join(f"{copy.name}\n" for copy in copies), encoding="utf-8")
    job.output.mkdir(parents=True, exist_ok=True)
    settings = {
        **job.settings,
        "KMARKERS_CACHE": get_cache_dir(),
        "KMARKERS_HOST_FOLDER": ROOT,
        "KMARKERS_HOST_JOB": job.script,
        "KMARKERS_HOST_KERNEL": job.kernel,
        "KMARKERS_HOST_OUTPUT": OUTPUT,
    }
    return Request(
        kernel=job.kernel,
        job=JOB,
        out=job.out,
        modules=job.modules,
        additions=[(files, "/host")],
        settings=settings,
        timeout=job.timeout,
        append=APPEND,
        memory=MEMORY,
        accel="tcg",
        model=MODEL,
        shares=list_guest_shares(job.output),
    )
