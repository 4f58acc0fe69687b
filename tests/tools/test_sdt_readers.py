# SPDX-License-Identifier: GPL-2.0-only
"""The notes of a program are found by those who read the notes of sys/sdt.h."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROBES = ["constants", "nested", "none", "registers", "sizes", "stack"]
# What systemtap asks a kernel for.
CONFIG = "CONFIG_TRACEPOINTS=y\nCONFIG_UPROBES=y\nCONFIG_ARCH_SUPPORTS_UPROBES=y\n"
REMEDY = "scripts/setup --tools installs it"


def said(where: Path, *words: str | Path) -> str:
    """Run a reader, which may leave files in its home directory; return its output."""
    reader = str(words[0])
    if not shutil.which(reader):
        remedy = "apt-get install systemtap" if reader == "stap" else REMEDY
        pytest.skip(f"no {reader}: {remedy}")
    done = subprocess.run(
        words, env={**os.environ, "HOME": str(where)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(name="program", params=["gcc", "clang"])
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A program with notes, which need none of our libraries."""
    if not shutil.which(request.param):
        pytest.skip(f"no {request.param}: {REMEDY}")
    program = tmp_path / "program"
    flags = ["-std=gnu11", "-O2", "-D_GNU_SOURCE", "-DNATIVE_BUILD", "-DSDT_NOTES_ONLY", "-no-pie"]
    include = [f"-I{ROOT}/native/include", f"-I{ROOT}/include", "-Wl,--build-id"]
    source = ROOT / "tests" / "native" / "notes.c"
    subprocess.run([request.param, *flags, *include, "-o", program, source], check=True)
    return program


def test_perf_finds_notes(program: Path, tmp_path: Path) -> None:
    said(tmp_path, "perf", "buildid-cache", "--add", program)
    found = re.findall(r"\bsdt_notes:(\w+)", said(tmp_path, "perf", "list", "sdt"))
    assert sorted(set(found)) == PROBES


def test_bpftrace_finds_notes(program: Path, tmp_path: Path) -> None:
    listed = said(tmp_path, "bpftrace", "-l", f"usdt:{program}:*").splitlines()
    assert sorted(set(listed)) == [f"usdt:{program}:notes:{name}" for name in PROBES]


def test_gdb_finds_notes(program: Path, tmp_path: Path) -> None:
    """Each site of a probe, at its address; two begin at the same instruction."""
    listed = said(tmp_path, "gdb", "-nx", "-batch", "-ex", "info probes stap", program)
    found = re.findall(r"^stap +notes +(\w+) +(0x[0-9a-f]+) ", listed, re.M)
    assert [name for name, _ in sorted(found)] == sorted([*PROBES, "nested"])
    assert len({address for _, address in found}) == len(PROBES)


def test_systemtap_finds_notes_and_arguments(program: Path, tmp_path: Path) -> None:
    """It wants to see a directory in which a kernel was built, and reads nothing there."""
    kernel = tmp_path / "kernel"
    (kernel / "include" / "config").mkdir(parents=True)
    (kernel / ".config").write_text(CONFIG)
    (kernel / "include" / "config" / "kernel.release").write_text("6.1.0\n")
    for name in ("Makefile", "Module.symvers"):
        (kernel / name).touch()
    listed = said(tmp_path, "stap", "-r", kernel, "-L", f'process("{program}").mark("*")')
    marks = {mark: tail.split() for mark, tail in re.findall(r'\.mark\("(\w+)"\)(.*)', listed)}
    assert sorted(marks) == PROBES
    assert [len(marks[name]) for name in PROBES] == [3, 2, 0, 7, 7, 4]
