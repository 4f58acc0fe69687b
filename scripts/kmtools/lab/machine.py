# SPDX-License-Identifier: GPL-2.0-only
"""Boots a test kernel, runs a job in it and decides whether the run passed.

A job is a shell script. The guest has three serial ports: the kernel's console, the status channel
with the output of the job, and the results as a compressed archive. A run passes if the status
channel has an exit line with code 0 and the nonce of the kernel's command line, if the console has
no report of a fault, and if the archive is complete.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kmtools.base.errors import UnableError, explain_error
from kmtools.base.files import hold_lock
from kmtools.lab import accel, bochs, catalogue, emulator, initramfs, logscan, secureboot
from kmtools.lab.accel import Accel
from kmtools.lab.bochs import Guest
from kmtools.lab.catalogue import Kernel
from kmtools.lab.channel import StatusChannel
from kmtools.lab.emulator import Emulator, Share
from kmtools.lab.look import Finding
from kmtools.lab.qmp import Monitor, ShutdownWatch, inject_nmis
from kmtools.lab.result import (
    LOOK_LOG,
    TIME_UP,
    VM_JSON,
    Result,
    judge_boot_result,
    read_serial_log,
)
from kmtools.lab.secureboot import BootFiles
from kmtools.lab.unpack import hold_unpacked_kernel
from kmtools.lab.watch import Watch

POLL_SECONDS = 0.05
SILENCE_SECONDS = 60.0
# The files that receive the data of the serial ports, in the order of the ports.
SERIAL_LOGS = ("console.log", "status.log", "results.tar.gz")
# QEMU's options for a serial port on this terminal. signal=off: Ctrl-C is sent to the guest.
TERMINAL = ("-chardev", "stdio,id=terminal,signal=off", "-serial", "chardev:terminal")
# The sockets of QEMU's monitor in the scratch directory: for inspections, and for sending NMIs.
WATCH_SOCKET, NMI_SOCKET = "watch", "nmi"
SIGNING_LOG = "signing.log"
# The folders and files that a boot writes to its output folder. The next boot removes them before
# it starts the guest.
RESULT_FOLDERS = ("results", "results.failed")
OUTPUT_FILES = (*SERIAL_LOGS, "qemu.log", VM_JSON, LOOK_LOG, SIGNING_LOG)
# The file in the output folder that a boot locks.
LOCK = ".lock"
# The time limit for a guest to power off after its exit line.
POWEROFF_SECONDS = 15.0
# The time limit for an emulator to exit after it closed its monitor socket.
ENDING_SECONDS = 2.0
# The free disk space, in bytes, below which the logs of a failed run may be incomplete.
LOG_BYTES = 1 << 20
# log_buf_len is set because the list of all markers is longer than the default log buffer. The baud
# rate is high because an emulator may simulate the transmission time of each character.
BASE_CMDLINE = "console=ttyS0,115200 loglevel=7 log_buf_len=1M panic=-1 oops=panic"


@dataclass(frozen=True)
class Request:
    """The parameters of a boot: the kernel, the job, and options."""

    kernel: str
    job: Path
    out: Path
    tier: str = "vm"
    modules: Path | None = None
    additions: Sequence[tuple[Path, str]] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    timeout: float = 300.0
    cpus: int = 2
    append: str = ""
    memory: int = 1024
    accel: str | None = None
    # The number of NMIs sent to the guest per second.
    nmi: float = 0.0
    # True if one thread of the emulator runs all CPUs. Guests that often patch core kernel text
    # need this slower mode, in which no CPU can translate a byte that another CPU is overwriting.
    one_thread: bool = False
    # The path of an additional monitor socket of QEMU, for use by the caller of boot_guest().
    control: Path | None = None
    # The CPUs are inspected after this number of seconds without new output; 0 for never.
    silence: float = SILENCE_SECONDS
    # `secure_boot` is True if firmware with Secure Boot starts the kernel, `signed` if the kernel
    # and the modules are signed with a key that this firmware trusts.
    secure_boot: bool = False
    signed: bool = True
    # The directory with DKMS's signing key. If None, a new signing key is made for this boot.
    key: Path | None = None
    # The processor that QEMU emulates. "max" has all features that QEMU can emulate.
    model: str = "max"
    # The processor that Bochs emulates; empty for QEMU. Bochs has features that QEMU lacks, but is
    # slow and has no monitor.
    bochs: str = ""
    # The boot is ended as soon as the console contains this text.
    until: str = ""
    # The TCP port on this machine's loopback interface that is forwarded to port 22 of the guest; 0
    # for no network card. The guest cannot open connections to the outside.
    ssh_port: int = 0
    # The folders of this machine that the guest can mount.
    shares: Sequence[Share] = ()
    # True if the guest has a fourth serial port, ttyS3, connected to this process's terminal.
    terminal: bool = False


def boot_guest(request: Request, show: Callable[[str], None] | None = None) -> Result:
    """Boot a kernel, run the job, and return the result. `show` is called with each line of the
    status channel. Raise UnableError if another boot writes to the same output folder."""
    if request.tier not in emulator.TIERS:
        raise UnableError(
            f"unknown tier {request.tier!r}; choose from: {', '.join(emulator.TIERS)}"
        )
    if request.bochs and (request.nmi or request.tier == "icount" or request.secure_boot):
        raise UnableError("Bochs supports neither NMIs nor the tier icount nor Secure Boot")
    nonce = secrets.token_hex(8)
    cmdline = f"{BASE_CMDLINE} kmarkers.tier={request.tier} kmarkers.kernel={request.kernel}"
    cmdline = f"{cmdline} {request.append}".strip()
    busy = (
        f"{request.out} is used by another boot; wait until that boot has ended, or choose another"
        " folder"
    )
    with tempfile.TemporaryDirectory(prefix="kmarkers-") as name, contextlib.ExitStack() as stack:
        _refuse_foreign_results(request.out)
        kernel = stack.enter_context(hold_unpacked_kernel(request.kernel))
        stack.enter_context(hold_lock(request.out / LOCK, busy))
        _remove_files_of_earlier_boot(request.out)
        scratch = Path(name)
        archive = scratch / "initramfs"
        additions = [*request.additions, *write_guest_etc_files(request, scratch)]
        files = _make_boot_files(request, kernel, scratch)
        try:
            initramfs.write_initramfs(archive, request.job, files.modules, additions)
        except OSError as error:
            raise UnableError(f"cannot write {archive}: {explain_error(error)}") from error
        # Choose the accelerator only once, because the choice may start QEMU or boot a kernel.
        request = replace(request, accel=_choose_accelerator_name(request))
        start = _prepare_bochs_command if request.bochs else _prepare_qemu_command
        running = start(request, files, archive, f"{cmdline} kmarkers.nonce={nonce}", scratch)
        _write_vm_json(request, running, kernel.release, cmdline)
        if request.nmi:
            status = request.out / "status.log"
            stack.enter_context(inject_nmis(scratch / NMI_SOCKET, request.nmi, status))
        # Never inspect CPUs in two cases: if QEMU counts instructions (tier icount), because an
        # inspection would change the counts; and under Bochs, which has no monitor.
        silence = 0.0 if request.tier == "icount" or request.bochs else request.silence
        logs = _list_serial_logs(request.out)
        watch = Watch(scratch / WATCH_SOCKET, logs, silence, request.out / LOOK_LOG)
        stack.callback(watch.close)
        channel = StatusChannel(request.out / "status.log", nonce, show)
        result = _run_emulator(running, request, channel, watch)
        judge_boot_result(result, request.out)
        if not result.ok and shutil.disk_usage(request.out).free < LOG_BYTES:
            raise UnableError(
                f"{request.out}: no disk space left for the logs; free some space, and run the "
                "command again"
            )
    return result


def _choose_accelerator_name(request: Request) -> str:
    """Return the name of the accelerator or emulator of a boot: kvm, tcg or bochs."""
    if request.bochs:
        return "bochs"
    if request.tier == "icount":
        return "tcg"
    return request.accel or find_usable_accel(request.kernel).name


def _prepare_qemu_command(
    request: Request, files: BootFiles, archive: Path, cmdline: str, scratch: Path
) -> Emulator:
    """Return QEMU with the command line for a boot."""
    qemu = emulator.choose_qemu_of_suite(catalogue.find_kernel_entry(request.kernel).qemu)
    options = emulator.make_accelerator_options(
        _choose_accelerator_name(request),
        request.tier,
        request.cpus,
        request.one_thread,
        request.model,
    )
    command = [
        *qemu.command,
        *options,
        *("-m", str(request.memory), "-no-reboot", "-display", "none", "-nodefaults"),
        *files.options,
        *("-kernel", str(files.image), "-initrd", str(archive), "-append", cmdline),
        *_make_serial_options(request.out),
        *Monitor.make_socket_options(scratch / WATCH_SOCKET),
        *(option for share in request.shares for option in share.make_virtfs_options()),
        *(TERMINAL if request.terminal else ()),
    ]
    if request.nmi:
        command += Monitor.make_socket_options(scratch / NMI_SOCKET)
    if request.ssh_port:
        forwarded = f"hostfwd=tcp:127.0.0.1:{request.ssh_port}-:22"
        command += ["-nic", f"user,model=e1000,restrict=on,{forwarded}"]
    if request.control:
        command += Monitor.make_socket_options(request.control)
    return replace(qemu, command=tuple(command))


def _prepare_bochs_command(
    request: Request, files: BootFiles, archive: Path, cmdline: str, scratch: Path
) -> Emulator:
    """Write the CD image for a boot under Bochs; return Bochs with its command line."""
    logs = _list_serial_logs(request.out)
    guest = Guest(request.bochs, files.image, archive, cmdline, request.cpus, request.memory, logs)
    return bochs.prepare_bochs_boot(
        catalogue.find_kernel_entry(request.kernel).qemu, guest, scratch
    )


def find_usable_accel(kernel: str, show: Callable[[str], None] | None = None) -> Accel:
    """Return the accelerator KVM if a kernel boots under KVM on this machine, else QEMU's emulator.
    `show` is called with a message before a trial boot. The result is cached; see
    accel.choose_accel()."""
    qemu = emulator.choose_qemu_of_suite(catalogue.find_kernel_entry(kernel).qemu)

    def boot_under_kvm() -> Result:
        if show:
            show(f"vm: trying kernel {kernel} under KVM, at most {accel.TRIAL_BOOT_SECONDS:.0f} s")
        out = accel.get_trial_boot_folder(kernel)
        out.mkdir(parents=True, exist_ok=True)
        job = out / "job"
        job.write_text("exit 0\n", encoding="utf-8")
        result = boot_guest(
            Request(kernel, job, out, timeout=accel.TRIAL_BOOT_SECONDS, accel="kvm")
        )
        console = out / SERIAL_LOGS[0]
        if result.reason.startswith(TIME_UP) and console.is_file() and not console.stat().st_size:
            result.reason = f"{accel.SILENT} in {accel.TRIAL_BOOT_SECONDS:.0f} s"
        return result

    with hold_unpacked_kernel(kernel) as unpacked:
        return accel.choose_accel(qemu.version, kernel, unpacked.release, boot_under_kvm)


def _refuse_foreign_results(out: Path) -> None:
    """Raise UnableError if _remove_files_of_earlier_boot() would remove files from a directory in
    which no earlier boot has left its lock file."""
    if not (out / LOCK).exists():
        for name in (*RESULT_FOLDERS, *OUTPUT_FILES):
            if (out / name).exists():
                raise UnableError(
                    f"{out / name} was not made by a boot, and would be removed: choose another "
                    "output folder"
                )


def _remove_files_of_earlier_boot(out: Path) -> None:
    """Remove the files of an earlier run from the output directory."""
    for name in RESULT_FOLDERS:
        shutil.rmtree(out / name, ignore_errors=True)
    for name in OUTPUT_FILES:
        (out / name).unlink(missing_ok=True)


def _list_requested_modules(request: Request) -> list[Path]:
    if request.modules is None:
        return []
    found = list(request.modules.glob("*.ko"))
    if not found:
        raise UnableError(f"{request.modules} has no modules (*.ko); build the modules first")
    return found


def _make_boot_files(request: Request, kernel: Kernel, scratch: Path) -> BootFiles:
    """Return the files for a boot: the kernel, the modules, and firmware for Secure Boot."""
    files = BootFiles(kernel.image, _list_requested_modules(request))
    if not request.secure_boot:
        return files
    suite = catalogue.find_kernel_entry(request.kernel).qemu
    log = request.out / SIGNING_LOG
    return secureboot.prepare_secure_boot(
        kernel, suite, files, scratch, log, request.signed, key=request.key
    )


def write_guest_etc_files(request: Request, scratch: Path) -> list[tuple[Path, str]]:
    """Write the files for /etc of the guest: its settings, and the patterns of logscan. Return the
    files as additions for an initramfs. The settings are written twice: as a shell script that sets
    variables, and as plain text. Before the job, the guest's init compares the variables with the
    plain text."""
    exports = [f"export {key}={shlex.quote(str(to))}" for key, to in request.settings.items()]
    expected = [f"{key}={to}" for key, to in request.settings.items()]
    contents = {
        "settings": exports,
        "expected": expected,
        "dirt": logscan.FAULT_PATTERNS,
        "clean": logscan.HARMLESS_PATTERNS,
    }
    for name, lines in contents.items():
        (scratch / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [(scratch / name, f"/etc/{name}") for name in contents]


def _list_serial_logs(out: Path) -> list[Path]:
    return [out / name for name in SERIAL_LOGS]


def _make_serial_options(out: Path) -> list[str]:
    """Return QEMU options that write the output of each serial port to a file."""
    options = []
    for number, log in enumerate(_list_serial_logs(out)):
        path = emulator.quote_option_value(log.resolve())
        options += ["-chardev", f"file,id=port{number},path={path}"]
        options += ["-serial", f"chardev:port{number}"]
    return options


def _write_vm_json(request: Request, used: Emulator, release: str, cmdline: str) -> None:
    """Write a description of the virtual machine to vm.json."""
    described: dict[str, object] = {
        "qemu": used.version,
        "accel": request.accel,
        "tier": request.tier,
        "kernel": request.kernel,
        "release": release,
        "cmdline": cmdline,
        "emulated": accel.are_instructions_emulated(request.accel or ""),
        "cpus": 1 if request.tier == "icount" else request.cpus,
        "secure_boot": request.secure_boot,
    }
    if request.settings:
        described["settings"] = {key: str(to) for key, to in request.settings.items()}
    (request.out / VM_JSON).write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")


def _run_emulator(
    running: Emulator, request: Request, channel: StatusChannel, watch: Watch
) -> Result:
    """Run the emulator until it exits, the guest hangs, the console contains the end text, or the
    time limit is exceeded; return the result."""
    result = Result(out=request.out)
    started = time.monotonic()
    deadline = started + request.timeout
    shutdown = ShutdownWatch()
    options = () if request.bochs else shutdown.make_qmp_options()
    with (request.out / "qemu.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *running.command, *options],
            env={**os.environ, **running.environment},
            pass_fds=[shutdown.end_of_qemu.fileno()],
            stdin=None if request.terminal else subprocess.DEVNULL,
            stdout=None if request.terminal else log,
            stderr=log,
        )
        try:
            while process.poll() is None and time.monotonic() < deadline:
                if not channel.read_new_lines():
                    result.finding = _drop_finding_if_emulator_exits(
                        watch.inspect_cpus_if_due(), process
                    )
                elif result.exit_code is None:
                    result.exit_code = channel.exit_code
                    deadline = min(deadline, time.monotonic() + POWEROFF_SECONDS)
                if result.finding or _has_end_text(request):
                    break
                time.sleep(POLL_SECONDS)
            if not result.finding and process.poll() is None and result.exit_code is None:
                result.finding = _drop_finding_if_emulator_exits(
                    watch.inspect_cpus_at_timeout(), process
                )
            hung = process.poll() is None
            result.emulator_failed = not hung and process.returncode != running.powered_off
        finally:
            process.kill()
            process.wait()
    result.shutdown = shutdown.read_shutdown_reason()
    channel.read_new_lines(final=True)
    result.exit_code = channel.exit_code
    result.seconds = time.monotonic() - started
    if hung and result.exit_code is None:
        result.reason = f"{TIME_UP} {min(round(result.seconds, 1), request.timeout):g} s"
        result.reason += f": {result.finding.reason}" if result.finding else ""
    elif hung:
        result.reason = "the guest sent its exit code but did not power off"
    return result


def _has_end_text(request: Request) -> bool:
    """Return True if the console contains the text that ends the boot."""
    return bool(request.until) and request.until in read_serial_log(request.out / "console.log")


def _drop_finding_if_emulator_exits(
    finding: Finding | None, process: subprocess.Popen[bytes]
) -> Finding | None:
    """Return the finding of an inspection, or None if the emulator exits within ENDING_SECONDS:
    then the inspection failed only because the emulator was about to exit."""
    if finding:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDING_SECONDS)
            return None
    return finding
