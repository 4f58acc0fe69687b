# SPDX-License-Identifier: GPL-2.0-only
"""Judges a run in a test kernel by the guest's output, and prints the reason of a failure."""

from __future__ import annotations

import json
import sys
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

from kmtools.base.archives import ARCHIVE_ERRORS, read_rest_of_archive
from kmtools.lab import logscan
from kmtools.lab.look import Finding

LOOK_LOG, VM_JSON = "look.log", "vm.json"
# The maximum number of lines that are printed from LOOK_LOG, the log of CPU inspections.
LOOK_LINES = 60
# The first words of Result.reason for a boot that exceeded its time limit.
TIME_UP = "no exit status after"


@dataclass
class Result:
    """The result of a boot. `reason` is the reason why the boot failed, `fault_lines` the log lines
    that report faults."""

    ok: bool = False
    reason: str = ""
    exit_code: int | None = None
    emulator_failed: bool = False
    # The reason why the guest hung; None if it did not hang.
    finding: Finding | None = None
    # The reason that QEMU gave for its exit, such as "guest-reset"; "" if QEMU gave none.
    shutdown: str = ""
    fault_lines: list[str] = field(default_factory=list)
    seconds: float = 0.0
    out: Path = Path()
    results: Path | None = None

    @property
    def console(self) -> str:
        """The text of the kernel's console."""
        return read_serial_log(self.out / "console.log")

    @property
    def ran_under_kvm(self) -> bool:
        """True if the kernel ran under KVM on a machine that is not itself emulated."""
        described = self.out / VM_JSON
        vm = json.loads(described.read_text(encoding="utf-8")) if described.is_file() else {}
        return vm.get("accel") == "kvm" and not vm.get("emulated")

    @property
    def status(self) -> str:
        """The text of the status channel: the output of the job."""
        return read_serial_log(self.out / "status.log")


def read_serial_log(path: Path) -> str:
    """Read the log of a serial port."""
    if not path.is_file():
        return ""
    return path.read_bytes().decode(errors="replace").replace("\r", "")


def judge_boot_result(result: Result, out: Path) -> None:
    """Set the fields `ok`, `reason`, `fault_lines` and `results` of a result, from its logs. Unpack
    the guest's results archive to a folder in `out`: to `results` if the run passed, to
    `results.failed` if it failed."""
    console = result.console
    result.fault_lines = logscan.find_fault_lines(console)
    error = _unpack_results(out / "results.tar.gz", out / "results")
    if not result.reason:
        if result.exit_code is None:
            result.reason = "the guest ended without an exit status"
            result.reason += f" (QEMU: {result.shutdown})" if result.shutdown else ""
        elif result.exit_code != 0:
            result.reason = f"the job failed with exit code {result.exit_code}"
        elif result.fault_lines:
            result.reason = f"the kernel log has {len(result.fault_lines)} lines that report faults"
        elif error:
            result.reason = f"the results archive of the guest is incomplete: {error}"
    result.ok = not result.reason
    if result.ok:
        result.results = out / "results"
    elif (out / "results").is_dir():
        (out / "results").rename(out / "results.failed")


def _unpack_results(archive: Path, target: Path) -> str:
    """Unpack the results archive of the guest; return an error text, empty if the archive is
    complete."""
    if not archive.is_file() or archive.stat().st_size == 0:
        return "nothing was sent"
    target.mkdir()
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                path = Path(target, *Path(member.name).parts[1:])
                if ".." in path.relative_to(target).parts:
                    return f"unexpected name {member.name}"
                if member.isdir():
                    path.mkdir(parents=True, exist_ok=True)
                elif content := tar.extractfile(member):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content.read())
            read_rest_of_archive(tar)
    except ARCHIVE_ERRORS as error:
        return str(error)
    archive.unlink()
    return ""


def print_boot_failure(result: Result) -> None:
    """Print on stderr why a run in a test kernel failed, with the relevant lines of its logs."""
    lines = [f"vm: {result.reason}"]
    console = result.console
    if result.fault_lines:
        lines += ["vm: faults in the kernel log:", *logscan.select_fault_context(console)]
    if result.exit_code is None or "power off" in result.reason:
        lines += ["vm: the kernel's last 40 lines:", *console.splitlines()[-40:]]
    said = read_serial_log(result.out / "qemu.log").strip()
    if said:
        lines += ["vm: output of the emulator:", said]
    if looked := read_serial_log(result.out / LOOK_LOG).strip():
        lines += ["vm: inspections of the guest's CPUs:", *looked.splitlines()[:LOOK_LINES]]
    lines.append(f"vm: logs are in {result.out}")
    print("\n".join(lines), file=sys.stderr)
