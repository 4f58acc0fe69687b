# SPDX-License-Identifier: GPL-2.0-only
"""A fake QEMU, a shell script, for tests of kmtools.lab without a virtual machine."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kmtools.lab import catalogue
from kmtools.lab.machine import Request, boot_guest
from kmtools.lab.result import Result

# The beginning of a shell script that replaces QEMU. The script sets $console, $status and
# $results to the files of the serial ports, $nonce to the nonce on the kernel's command line, and
# $events to the file descriptor on which QEMU sends events.
FAKE_QEMU = r"""#!/bin/sh
[ "$1" = --version ] && { echo "fake emulator 1.0"; exit; }
for arg; do
    case $arg in
    file,*console.log) console=${arg##*path=} ;;
    file,*status.log) status=${arg##*path=} ;;
    file,*results.tar.gz) results=${arg##*path=} ;;
    *kmarkers.nonce=*) nonce=${arg##*kmarkers.nonce=} ;;
    socket,id=shutdown,fd=*) events=${arg##*=} ;;
    esac
done
: >"$console" >"$status" >"$results"
finish() {
    cat "$HERE/results.tar.gz" >"$results"
    echo "kmarkers-exit $nonce $1" >>"$status"
}
"""


def make_files_for_fake_boot(root: Path) -> None:
    """Make three things in `root`: a cache directory with a fake kernel, the results archive that
    the fake QEMU returns, and a job."""
    tree = root / "cache" / "kernels" / catalogue.get_default_kernel_name()
    tree.mkdir(parents=True)
    (tree / "vmlinuz").touch()
    record = {
        "name": catalogue.get_default_kernel_name(),
        "suite": "s",
        "package": "p",
        "version": "1",
    }
    record |= {"release": "6.1.0-fake", "vmlinuz": "vmlinuz"}
    (tree / "kernel.json").write_text(json.dumps(record))
    with tarfile.open(root / "results.tar.gz", "w:gz") as tar:
        member = tarfile.TarInfo("results/answer")
        member.size = 3
        tar.addfile(member, io.BytesIO(b"42\n"))
    (root / "job").write_text("exit 0\n")


@contextmanager
def use_fake_qemu(laboratory: Path, script: str) -> Iterator[None]:
    """Set KMARKERS_QEMU to a fake QEMU that runs `script`, until the `with` block ends."""
    fake = laboratory / "qemu"
    fake.write_text(FAKE_QEMU + script)
    fake.chmod(0o755)
    os.environ["KMARKERS_QEMU"] = str(fake)
    try:
        yield
    finally:
        del os.environ["KMARKERS_QEMU"]


def boot_with_fake_qemu(
    laboratory: Path,
    script: str,
    timeout: float = 20.0,
    silence: float = 60.0,
    settings: Mapping[str, object] | None = None,
) -> tuple[Result, list[str]]:
    """Boot with a fake QEMU that runs `script`; return the result and the lines of the status
    channel."""
    said: list[str] = []
    request = Request(
        kernel=catalogue.get_default_kernel_name(),
        job=laboratory / "job",
        out=laboratory / "out",
        settings=settings or {},
        timeout=timeout,
        accel="tcg",
        silence=silence,
    )
    with use_fake_qemu(laboratory, script):
        return boot_guest(request, said.append), said
