# SPDX-License-Identifier: GPL-2.0-only
"""Boots a test kernel, runs a job in it and decides whether the run is good.

The guest has three serial ports: the kernel's console, the status channel, and the results as a
compressed archive. A run is good if the status channel has an exit line that repeats a nonce from
the kernel's command line, and if the console is clean.
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

from kmtools.base.errors import UnableError, explain
from kmtools.base.paths import ROOT
from kmtools.lab import accel, bochs, catalogue, emulator, initramfs, logscan, secureboot
from kmtools.lab.accel import Accel
from kmtools.lab.bochs import Guest
from kmtools.lab.catalogue import Kernel
from kmtools.lab.channel import StatusChannel
from kmtools.lab.emulator import Emulator
from kmtools.lab.look import Finding
from kmtools.lab.qmp import Monitor, injecting
from kmtools.lab.result import LOOK_LOG, TIME_UP, VM_JSON, Result, judge, read_log
from kmtools.lab.secureboot import Files
from kmtools.lab.watch import Watch

POLL_SECONDS = 0.05
SILENCE_SECONDS = 60.0
# The files that receive the data of the serial ports, in the order of the ports.
SERIAL_LOGS = ("console.log", "status.log", "results.tar.gz")
# Keys such as Ctrl-C go to the guest.
TERMINAL = ("-chardev", "stdio,id=terminal,signal=off", "-serial", "chardev:terminal")
# The sockets of the emulator's monitor, in the scratch directory.
WATCH_SOCKET, NMI_SOCKET = "watch", "nmi"
SIGNING_LOG = "signing.log"
# The logs of kernels that were tried under KVM.
PROBE_OUT = ROOT / "build" / "vm" / "kvm"
# How long a guest may take to power off after its exit line.
POWEROFF_SECONDS = 15.0
# How long an emulator may take to end after it closed its socket.
ENDING_SECONDS = 2.0
# The free disk space below which the emulator's logs may be incomplete.
LOG_BYTES = 1 << 20
# log_buf_len is set because the list of all markers is longer than the default log buffer, and the
# baud rate because an emulator may simulate the transmission time of each character.
BASE_CMDLINE = "console=ttyS0,115200 loglevel=7 log_buf_len=1M panic=-1 oops=panic"


@dataclass(frozen=True)
class Request:
    """A boot: the kernel, the job, and the options."""

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
    # Non-maskable interrupts per second; 0 sends none.
    nmi: float = 0.0
    # Whether a single thread of the emulator runs all CPUs. Then no CPU can translate a byte that
    # another is about to overwrite. This is slower; it is for guests that change the kernel's own
    # text all the time.
    one_thread: bool = False
    # A socket for further connections to the emulator.
    control: Path | None = None
    # The seconds of silence after which the CPUs are inspected; 0 for never.
    silence: float = SILENCE_SECONDS
    # Whether firmware with Secure Boot starts the kernel, and whether kernel and modules are signed
    # for that.
    secure_boot: bool = False
    signed: bool = True
    # A directory with DKMS's key, which then takes the place of one that is made for this boot.
    key: Path | None = None
    # The processor that QEMU emulates; by default one with all features that QEMU can emulate.
    model: str = "max"
    # The processor that Bochs emulates, for features that QEMU lacks; slow, and without a monitor.
    bochs: str = ""
    # The boot is over once the console has this text.
    until: str = ""
    # A port of this machine's loopback interface that leads to port 22 of the guest's e1000; 0 for
    # no network. Nothing else can be reached from the guest.
    ssh_port: int = 0
    # Whether the guest has a fourth serial port, ttyS3, which is this process's terminal.
    terminal: bool = False


def boot(request: Request, show: Callable[[str], None] | None = None) -> Result:
    """Boot, run the job, and return the verdict; `show` receives each line of the status
    channel."""
    if request.tier not in emulator.TIERS:
        raise UnableError(f"unknown tier {request.tier!r}; there are: {', '.join(emulator.TIERS)}")
    if request.bochs and (request.nmi or request.tier == "icount" or request.secure_boot):
        raise UnableError("Bochs takes no NMIs, counts no instructions and has no Secure Boot here")
    kernel = catalogue.require(request.kernel)
    nonce = secrets.token_hex(8)
    cmdline = f"{BASE_CMDLINE} kmarkers.tier={request.tier} kmarkers.kernel={kernel.name}"
    cmdline = f"{cmdline} {request.append}".strip()
    _prepare(request.out)
    with tempfile.TemporaryDirectory(prefix="kmarkers-") as name, contextlib.ExitStack() as stack:
        scratch = Path(name)
        archive = scratch / "initramfs"
        additions = [*request.additions, *guest_files(request, scratch)]
        files = _files(request, kernel, scratch)
        try:
            initramfs.write(archive, request.job, files.modules, additions)
        except OSError as error:
            raise UnableError(f"cannot write {archive}: {explain(error)}") from error
        # The accelerator is chosen once: the choice may read files, start QEMU, or boot a kernel.
        request = replace(request, accel=_accel_of(request))
        start = _bochs if request.bochs else _qemu
        running = start(request, files, archive, f"{cmdline} kmarkers.nonce={nonce}", scratch)
        _describe(request, running, kernel.release, cmdline)
        if request.nmi:
            status = request.out / "status.log"
            stack.enter_context(injecting(scratch / NMI_SOCKET, request.nmi, status))
        # Inspecting CPUs would change instruction counts, and Bochs has no monitor to inspect them.
        silence = 0.0 if request.tier == "icount" or request.bochs else request.silence
        logs = _serial_logs(request.out)
        watch = Watch(scratch / WATCH_SOCKET, logs, silence, request.out / LOOK_LOG)
        stack.callback(watch.close)
        channel = StatusChannel(request.out / "status.log", nonce, show)
        result = _run(running, request, channel, watch)
    judge(result, request.out)
    if not result.ok and shutil.disk_usage(request.out).free < LOG_BYTES:
        raise UnableError(f"{request.out}: no space left for the logs; make room and run it again")
    return result


def _accel_of(request: Request) -> str:
    """Return how the guest's instructions are executed: by KVM, or one of the emulators."""
    if request.bochs:
        return "bochs"
    if request.tier == "icount":
        return "tcg"
    return request.accel or usable_accel(request.kernel).name


def _qemu(request: Request, files: Files, archive: Path, cmdline: str, scratch: Path) -> Emulator:
    """Return QEMU with the options of a boot."""
    qemu = emulator.choose(catalogue.find(request.kernel).qemu)
    options = emulator.accelerator_options(
        _accel_of(request), request.tier, request.cpus, request.one_thread, request.model
    )
    command = [
        *qemu.command,
        *options,
        *("-m", str(request.memory), "-no-reboot", "-display", "none", "-nodefaults"),
        *files.options,
        *("-kernel", str(files.image), "-initrd", str(archive), "-append", cmdline),
        *_serial(request.out),
        *Monitor.options(scratch / WATCH_SOCKET),
        *(TERMINAL if request.terminal else ()),
    ]
    if request.nmi:
        command += Monitor.options(scratch / NMI_SOCKET)
    if request.ssh_port:
        forwarded = f"hostfwd=tcp:127.0.0.1:{request.ssh_port}-:22"
        command += ["-nic", f"user,model=e1000,restrict=on,{forwarded}"]
    if request.control:
        command += Monitor.options(request.control)
    return replace(qemu, command=tuple(command))


def _bochs(request: Request, files: Files, archive: Path, cmdline: str, scratch: Path) -> Emulator:
    """Return Bochs with the image of a boot."""
    logs = _serial_logs(request.out)
    guest = Guest(request.bochs, files.image, archive, cmdline, request.cpus, request.memory, logs)
    return bochs.prepare(catalogue.find(request.kernel).qemu, guest, scratch)


def usable_accel(kernel: str, show: Callable[[str], None] | None = None) -> Accel:
    """Return the best accelerator with which a kernel boots here; `show` gets a message before a
    trial boot. The verdict is kept; see accel.choose()."""
    qemu = emulator.choose(catalogue.find(kernel).qemu)

    def probe() -> Result:
        if show:
            show(f"vm: trying kernel {kernel} under KVM, at most {accel.PROBE_SECONDS:.0f} s")
        out = PROBE_OUT / kernel
        out.mkdir(parents=True, exist_ok=True)
        job = out / "job"
        job.write_text("exit 0\n")
        result = boot(Request(kernel, job, out, timeout=accel.PROBE_SECONDS, accel="kvm"))
        console = out / SERIAL_LOGS[0]
        if result.reason.startswith(TIME_UP) and console.is_file() and not console.stat().st_size:
            result.reason = f"{accel.SILENT} in {accel.PROBE_SECONDS:.0f} s"
        return result

    release = catalogue.require(kernel).release
    return accel.choose(qemu.version, kernel, release, probe)


def _prepare(out: Path) -> None:
    """Remove the files of an earlier run, so that none can be taken for one of this run."""
    out.mkdir(parents=True, exist_ok=True)
    for name in ("results", "results.failed"):
        shutil.rmtree(out / name, ignore_errors=True)
    for name in (*SERIAL_LOGS, "qemu.log", VM_JSON, LOOK_LOG, SIGNING_LOG):
        (out / name).unlink(missing_ok=True)


def _modules(request: Request) -> list[Path]:
    if request.modules is None:
        return []
    found = list(request.modules.glob("*.ko"))
    if not found:
        raise UnableError(f"{request.modules} holds no module; build them first")
    return found


def _files(request: Request, kernel: Kernel, scratch: Path) -> Files:
    """Return the emulator's files: the kernel, the modules, and firmware for Secure Boot."""
    files = Files(kernel.image, _modules(request))
    if not request.secure_boot:
        return files
    suite = catalogue.find(request.kernel).qemu
    log = request.out / SIGNING_LOG
    return secureboot.prepare(kernel, suite, files, scratch, log, request.signed, key=request.key)


def guest_files(request: Request, scratch: Path) -> list[tuple[Path, str]]:
    """Write the files that the guest reads: its settings in two files, which it compares before it
    runs the job, and the patterns of faults in its log."""
    exports = [f"export {key}={shlex.quote(str(to))}" for key, to in request.settings.items()]
    expected = [f"{key}={to}" for key, to in request.settings.items()]
    contents = {
        "settings": exports, "expected": expected, "dirt": logscan.DIRT, "clean": logscan.CLEAN,
    }  # fmt: skip
    for name, lines in contents.items():
        (scratch / name).write_text("".join(f"{line}\n" for line in lines))
    return [(scratch / name, f"/etc/{name}") for name in contents]


def _serial_logs(out: Path) -> list[Path]:
    return [out / name for name in SERIAL_LOGS]


def _serial(out: Path) -> list[str]:
    """Return options that write each serial port to a file."""
    options = []
    for number, log in enumerate(_serial_logs(out)):
        path = emulator.quoted(log.resolve())
        options += ["-chardev", f"file,id=port{number},path={path}"]
        options += ["-serial", f"chardev:port{number}"]
    return options


def _describe(request: Request, used: Emulator, release: str, cmdline: str) -> None:
    """Record the machine that the numbers of this run come from."""
    described = {
        "qemu": used.version,
        "accel": request.accel,
        "tier": request.tier,
        "kernel": request.kernel,
        "release": release,
        "cmdline": cmdline,
        "emulated": accel.is_emulated(request.accel or ""),
        "cpus": 1 if request.tier == "icount" else request.cpus,
        "secure_boot": request.secure_boot,
    }
    (request.out / VM_JSON).write_text(json.dumps(described, indent=1) + "\n")


def _run(running: Emulator, request: Request, channel: StatusChannel, watch: Watch) -> Result:
    """Run the emulator until it ends, hangs or is interrupted, or the time is up."""
    result = Result(out=request.out)
    started = time.monotonic()
    deadline = started + request.timeout
    with (request.out / "qemu.log").open("w") as log:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *running.command],
            env={**os.environ, **running.environment},
            stdin=None if request.terminal else subprocess.DEVNULL,
            stdout=None if request.terminal else log,
            stderr=log,
        )
        try:
            while process.poll() is None and time.monotonic() < deadline:
                if not channel.poll():
                    result.finding = _standing(watch.poll(), process)
                elif result.exit_code is None:
                    result.exit_code = channel.exit_code
                    deadline = min(deadline, time.monotonic() + POWEROFF_SECONDS)
                if result.finding or _is_over(request):
                    break
                time.sleep(POLL_SECONDS)
            if not result.finding and process.poll() is None and result.exit_code is None:
                result.finding = _standing(watch.last_words(), process)
            hung = process.poll() is None
            result.emulator_failed = not hung and process.returncode != running.powered_off
        finally:
            process.kill()
            process.wait()
    channel.poll(final=True)
    result.exit_code = channel.exit_code
    result.seconds = time.monotonic() - started
    if hung and result.exit_code is None:
        result.reason = f"{TIME_UP} {min(round(result.seconds, 1), request.timeout):g} s"
        result.reason += f": {result.finding.reason}" if result.finding else ""
    elif hung:
        result.reason = "the guest said its exit code and did not power off"
    return result


def _is_over(request: Request) -> bool:
    """Tell whether the console has the text that ends the boot."""
    return bool(request.until) and request.until in read_log(request.out / "console.log")


def _standing(finding: Finding | None, process: subprocess.Popen[bytes]) -> Finding | None:
    """Return the finding, or None if the emulator ended during the look."""
    if finding:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDING_SECONDS)
            return None
    return finding
