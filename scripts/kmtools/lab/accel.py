# SPDX-License-Identifier: GPL-2.0-only
"""Chooses the accelerator of a test kernel: KVM if the kernel boots under it on this machine, else
QEMU's emulator (TCG)."""

from __future__ import annotations

import ctypes
import fcntl
import json
import mmap
import os
import platform
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kmtools.base.errors import UnableError
from kmtools.base.files import write_file_atomically
from kmtools.base.paths import get_cache_dir
from kmtools.lab.cache import hold_cache_lock
from kmtools.lab.result import TIME_UP, Result, read_serial_log

# The environment variable with which the user chooses the accelerator: kvm or tcg.
VARIABLE = "KMARKERS_ACCEL"
KVM = Path("/dev/kvm")
CPU_INFO = Path("/proc/cpuinfo")
# The ioctl by which the device KVM returns the version of its interface.
KVM_GET_API_VERSION = 0xAE00
# The time limit of a trial boot under KVM. On a host that is itself emulated, a boot takes 25 to
# 54 s.
TRIAL_BOOT_SECONDS = 60.0
# Machine code of a function (leaf, uint32_t out[3]) that runs CPUID and stores EBX, ECX and EDX:
# push rbx; mov eax, edi; xor ecx, ecx; cpuid; mov [rsi], ebx; mov [rsi + 4], ecx;
# mov [rsi + 8], edx; pop rbx; ret
CPUID = bytes.fromhex("5389f831c90fa2891e894e048956085bc3")
# The CPUID leaf with the hypervisor's name, and the name that QEMU's emulator (TCG) returns.
HYPERVISOR_LEAF, EMULATOR = 0x40000000, b"TCGTCGTCGTCG"
# What the user can do if there is no device of KVM.
REMEDY = (
    "load kvm_intel or kvm_amd, if the CPU supports virtualisation;"
    " start a container with --device /dev/kvm"
)
# The first words of the reason why a trial boot failed, if the kernel printed nothing.
SILENT = "it printed nothing"

# The file with the ID of this boot of the host, and the maximum age in seconds of the verdict that
# KVM boots no kernel.
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
SILENT_VERDICT_SECONDS = 24 * 3600.0

# The results of trial boots of this process, by host and kernel. A time-out and a failure of QEMU
# are stored only here, not in the cache file.
_found: dict[str, Verdict] = {}


@dataclass(frozen=True)
class Accel:
    """An accelerator of QEMU. `why` is the reason why KVM is not used; empty for KVM."""

    name: str
    why: str = ""

    @property
    def description(self) -> str:
        """The accelerator and, if it is not KVM, the reason."""
        return f"emulated: {self.why}" if self.why else "under KVM"

    @property
    def boot_message(self) -> str:
        """The line about the accelerator that is printed before a boot."""
        return f"vm: {self.description}"


@dataclass(frozen=True)
class Verdict:
    """The result of a trial boot of the kernel `kernel`: `fault` says why the kernel fails under
    KVM; it is "" if the kernel boots."""

    fault: str
    kernel: str

    def describe_kvm_fault(self, forced: bool) -> str:
        """Return why KVM is not used, with the path of the log; "" if KVM works. If the verdict
        comes from another kernel, which printed nothing, the text also says how to try KVM again,
        unless `forced` is true: the user has then just tried KVM again."""
        if not self.fault:
            return ""
        why = [self.fault]
        if SILENT in self.fault and not forced:
            why.append(f"to try KVM again, set {VARIABLE}=kvm")
        folder = get_trial_boot_folder(self.kernel)
        if any(folder.glob("*.log")):
            why.append(f"the log is in {folder}")
        return "; ".join(why)


def choose_accel(
    qemu_version: str,
    kernel: str,
    release: str,
    boot: Callable[[], Result],
    kvm: Path | None = None,
) -> Accel:
    """Return KVM if the kernel `kernel` boots under KVM on this machine, else QEMU's emulator and
    the reason.

    `release` is the kernel's release. `boot` boots the kernel under KVM, and is called once for
    each QEMU, kernel and host. The result of this trial boot is written to a cache file, except in
    two cases: a time-out, which a busy host may have caused, and a failure of QEMU itself, for
    example for lack of memory, or because another hypervisor uses KVM. If a kernel printed nothing
    at all, KVM is not tried again for any kernel, until the host is booted again or
    SILENT_VERDICT_SECONDS have passed. If KMARKERS_ACCEL is kvm, failures in the cache file are
    ignored, and UnableError is raised with the reason if KVM does not work."""
    kvm = kvm or KVM
    wanted = os.environ.get(VARIABLE) or ""
    if wanted not in ("", "tcg", "kvm"):
        raise UnableError(f"{VARIABLE} is {wanted!r}; set it to kvm or tcg, or unset it")
    if wanted == "tcg":
        return Accel("tcg", f"{VARIABLE} is tcg")
    host = f"{qemu_version}; {_describe_host_kernel_and_cpu()}"
    keys = (f"{host}; every kernel", f"{host}; {kernel} {release}")
    why = _find_kvm_device_fault(kvm)
    if not why:
        verdict = _find_kvm_verdict(keys, kernel, bool(wanted))
        if not verdict:
            # Wait for the result of another process that is booting a kernel under KVM.
            with hold_cache_lock("kvm"):
                verdict = _find_kvm_verdict(
                    keys, kernel, bool(wanted)
                ) or _boot_and_record_kvm_verdict(keys, kernel, boot)
        why = verdict.describe_kvm_fault(forced=bool(wanted))
    if wanted and why:
        raise UnableError(f"{VARIABLE} is kvm, and {why}")
    return Accel("tcg", why) if why else Accel("kvm")


def get_trial_boot_folder(kernel: str) -> Path:
    """Return the folder for the log of the trial boot of a kernel under KVM. The folder is in the
    cache directory, because all checkouts use the result of the trial boot."""
    return get_cache_dir() / "kvm" / kernel


def _find_kvm_device_fault(kvm: Path) -> str:
    """Return why the device file `kvm` cannot be opened or is no device of KVM; "" if it is a
    device of KVM. The result is not written to the cache file, because the user can correct the
    cause."""
    if not kvm.exists():
        return f"there is no {kvm}; {REMEDY}"
    # Success here does not replace a trial boot: KVM may return its version and still fail.
    try:
        read_kvm_version(kvm)
    except PermissionError as error:
        if os.geteuid() == 0:
            return (
                f"{kvm} cannot be opened by root ({error.strerror}): start the container with"
                " --device /dev/kvm, or let the security module of this machine permit it"
            )
        return f"{kvm} cannot be opened; add yourself to the group kvm"
    except OSError as error:
        # /dev/kvm may exist before a module of KVM is loaded, and in containers without the device.
        return f"{kvm} is no device of KVM ({error.strerror}); {REMEDY}"
    return ""


def read_kvm_version(kvm: Path) -> int:
    """Return the interface version of the device file `kvm`; raise OSError if this file cannot be
    opened or is no device of KVM."""
    with kvm.open("r+b", buffering=0) as device:
        return fcntl.ioctl(device, KVM_GET_API_VERSION)


def _find_kvm_verdict(keys: tuple[str, str], kernel: str, ignore_failures: bool) -> Verdict | None:
    """Return the result of an earlier trial boot that is recorded under one of `keys`, in this
    process or in the cache file; None if there is none. If `ignore_failures` is true, failures in
    the cache file are ignored, so that KVM is tried again."""
    for key in keys:
        if key in _found:
            return _found[key]
    kept = _read_accel_cache(get_cache_dir() / "accel.json")
    silent, fault = kept.get(keys[0], {}), kept.get(keys[1])
    if _is_silent_kernel_verdict_current(silent) and not ignore_failures:
        return Verdict(silent["fault"], silent["kernel"])
    if isinstance(fault, str) and not (ignore_failures and fault):
        return Verdict(fault, kernel)
    return None


def _is_silent_kernel_verdict_current(silent: Any) -> bool:
    """Return True if the entry `silent` of the cache file, about a kernel that printed nothing,
    comes from this boot of the host and is younger than SILENT_VERDICT_SECONDS."""
    try:
        age = time.time() - silent["time"]
        texts = (silent["fault"], silent["kernel"])
        return (
            silent["boot_id"] == _read_boot_id() != ""
            and 0 <= age < SILENT_VERDICT_SECONDS
            and all(isinstance(text, str) for text in texts)
        )
    except (KeyError, TypeError):
        return False


def _read_boot_id() -> str:
    """Return the ID of this boot of the host; "" if it cannot be read."""
    try:
        return BOOT_ID.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _boot_and_record_kvm_verdict(
    keys: tuple[str, str], kernel: str, boot: Callable[[], Result]
) -> Verdict:
    """Call `boot`, which boots the kernel under KVM, and return the result. If the kernel printed
    nothing, record the result for every kernel, under keys[0]; else record the result for this
    kernel, under keys[1]."""
    result = boot()
    fault = "" if result.ok else f"kernel {kernel} fails under KVM: {result.reason}"
    qemu_failed = bool(fault) and result.emulator_failed
    if qemu_failed and (said := read_serial_log(result.out / "qemu.log").strip()):
        fault += f"; QEMU says: {said.splitlines()[-1]}"
    verdict = Verdict(fault, kernel)
    silent = result.reason.startswith(SILENT)
    _found[keys[0] if silent else keys[1]] = verdict
    if not (qemu_failed or result.reason.startswith(TIME_UP)):
        path = get_cache_dir() / "accel.json"
        record = _read_accel_cache(path)
        if silent:
            record[keys[0]] = {
                "fault": fault,
                "kernel": kernel,
                "boot_id": _read_boot_id(),
                "time": time.time(),
            }
        else:
            record[keys[1]] = fault
        if result.ok:
            record.pop(keys[0], None)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file_atomically(path, json.dumps(record, indent=1) + "\n")
    return verdict


def _read_accel_cache(path: Path) -> dict[str, Any]:
    """Return the entries of the cache file `path`, or an empty dictionary if the file has another
    format. The entry of one kernel is the reason why this kernel fails under KVM, or "" if the
    kernel boots. The entry for all kernels is an object; see
    _is_silent_kernel_verdict_current()."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _describe_host_kernel_and_cpu() -> str:
    cpu = re.search(r"^model name\s*: *(.*)", CPU_INFO.read_text(encoding="utf-8"), re.M)
    return f"host {platform.release()}; {cpu[1].strip() if cpu else ''}"


def read_hypervisor_name() -> bytes | None:
    """Return the name that CPUID reports for the hypervisor of this machine; empty if there is
    none, None if the kernel refuses an executable page for the machine code CPUID."""
    if " hypervisor" not in CPU_INFO.read_text(encoding="utf-8"):
        return b""
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return None
    page.write(CPUID)
    name = ctypes.create_string_buffer(12)
    code = ctypes.addressof(ctypes.c_char.from_buffer(page))
    ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_void_p)(code)(HYPERVISOR_LEAF, name)
    return name.raw.rstrip(b"\0")


def is_machine_emulated(if_unknown: bool = True) -> bool:
    """Return True if this machine runs under QEMU's emulator. If the hypervisor is unknown, return
    `if_unknown`: by default True, so that an emulated time is never reported as a real time."""
    name = read_hypervisor_name()
    return if_unknown if name is None else name == EMULATOR


def are_instructions_emulated(accelerator: str) -> bool:
    """Return True if the instructions of a test kernel are emulated: `accelerator` is not KVM, or
    this machine itself is emulated."""
    return accelerator != "kvm" or is_machine_emulated()
