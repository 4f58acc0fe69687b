# SPDX-License-Identifier: GPL-2.0-only
"""A laboratory whose emulator is a shell script, for tests of the code that judges a run."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kmtools.lab import catalogue
from kmtools.lab.machine import Request, boot
from kmtools.lab.result import Result

# A shell script that replaces QEMU and does what the test machine would do. It finds the files
# of its serial ports and the nonce in its arguments.
FAKE_QEMU = r"""#!/bin/sh
[ "$1" = --version ] && { echo "fake emulator 1.0"; exit; }
for arg; do
    case $arg in
    file,*console.log) console=${arg##*path=} ;;
    file,*status.log) status=${arg##*path=} ;;
    file,*results.tar.gz) results=${arg##*path=} ;;
    *kmarkers.nonce=*) nonce=${arg##*kmarkers.nonce=} ;;
    esac
done
: >"$console" >"$status" >"$results"
finish() {
    cat "$HERE/results.tar.gz" >"$results"
    echo "kmarkers-exit $nonce $1" >>"$status"
}
"""


def make_laboratory(root: Path) -> None:
    """Make a directory with a kernel that only the fake emulator can boot."""
    tree = root / "cache" / "kernels" / catalogue.default_name()
    tree.mkdir(parents=True)
    (tree / "vmlinuz").touch()
    record = {"name": catalogue.default_name(), "suite": "s", "package": "p", "version": "1"}
    record |= {"release": "6.1.0-fake", "vmlinuz": "vmlinuz"}
    (tree / "kernel.json").write_text(json.dumps(record))
    with tarfile.open(root / "results.tar.gz", "w:gz") as tar:
        member = tarfile.TarInfo("results/answer")
        member.size = 3
        tar.addfile(member, io.BytesIO(b"42\n"))
    (root / "job").write_text("exit 0\n")


@contextmanager
def fake_emulator(laboratory: Path, script: str) -> Iterator[None]:
    """Write a shell script that does what the test machine would do."""
    fake = laboratory / "qemu"
    fake.write_text(FAKE_QEMU + script)
    fake.chmod(0o755)
    os.environ["KMARKERS_QEMU"] = str(fake)
    try:
        yield
    finally:
        del os.environ["KMARKERS_QEMU"]


def run_fake(
    laboratory: Path, script: str, timeout: float = 20.0, silence: float = 60.0
) -> tuple[Result, list[str]]:
    """Boot with the fake emulator; return the verdict and what was shown."""
    said: list[str] = []
    request = Request(
        kernel=catalogue.default_name(),
        job=laboratory / "job",
        out=laboratory / "out",
        timeout=timeout,
        accel="tcg",
        silence=silence,
    )
    with fake_emulator(laboratory, script):
        return boot(request, said.append), said
