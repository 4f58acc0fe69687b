# SPDX-License-Identifier: GPL-2.0-only
"""Tests that readers of <sys/sdt.h> notes (perf, bpftrace, gdb, SystemTap) find notes of
kmarkers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROBES = ["constants", "nested", "none", "registers", "sizes", "stack"]
# The options that systemtap requires in the configuration of a kernel.
CONFIG = "CONFIG_TRACEPOINTS=y\nCONFIG_UPROBES=y\nCONFIG_ARCH_SUPPORTS_UPROBES=y\n"
REMEDY = "run scripts/setup --tools"


def run_program_with_home(where: Path, *words: str | Path) -> str:
    """Run a program, such as a reader of SDT notes, with `where` as home directory. Return its
    output, or skip the test if the program is missing."""
    reader = str(words[0])
    if not shutil.which(reader):
        remedy = "apt-get install systemtap" if reader == "stap" else REMEDY
        pytest.skip(f"{reader} is missing: {remedy}")
    done = subprocess.run(
        words, env={**os.environ, "HOME": str(where)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(name="program", params=["gcc", "clang"])
def build_program_with_notes(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Build a program with notes, without libraries of kmarkers."""
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is missing: {REMEDY}")
    program = tmp_path / "program"
    flags = ["-std=gnu11", "-O2", "-D_GNU_SOURCE", "-DNATIVE_BUILD", "-DSDT_NOTES_ONLY", "-no-pie"]
    include = [f"-I{ROOT}/native/include", f"-I{ROOT}/include", "-Wl,--build-id"]
    source = ROOT / "tests" / "native" / "notes.c"
    subprocess.run([request.param, *flags, *include, "-o", program, source], check=True)
    return program


def test_perf_finds_sdt_notes(program: Path, tmp_path: Path) -> None:
    run_program_with_home(tmp_path, "perf", "buildid-cache", "--add", program)
    found = re.findall(r"\bsdt_notes:(\w+)", run_program_with_home(tmp_path, "perf", "list", "sdt"))
    assert sorted(set(found)) == PROBES


def test_bpftrace_finds_sdt_notes(program: Path, tmp_path: Path) -> None:
    listed = run_program_with_home(tmp_path, "bpftrace", "-l", f"usdt:{program}:*").splitlines()
    assert sorted(set(listed)) == [f"usdt:{program}:notes:{name}" for name in PROBES]


def test_gdb_finds_sdt_notes(program: Path, tmp_path: Path) -> None:
    """gdb lists all sites of a probe, each with another address."""
    listed = run_program_with_home(
        tmp_path, "gdb", "-nx", "-batch", "-ex", "info probes stap", program
    )
    found = re.findall(r"^stap +notes +(\w+) +(0x[0-9a-f]+) ", listed, re.M)
    assert [name for name, _ in sorted(found)] == sorted([*PROBES, "nested"])
    assert len({address for _, address in found}) == len(found)


def list_systemtap_marks(program: Path, where: Path) -> dict[str, list[str]]:
    """Return the probes that SystemTap finds in a program, and their arguments. SystemTap requires
    a build directory of a kernel; a fake one below `where` is sufficient."""
    kernel = where / "kernel"
    (kernel / "include" / "config").mkdir(parents=True)
    (kernel / ".config").write_text(CONFIG)
    (kernel / "include" / "config" / "kernel.release").write_text("6.1.0\n")
    for name in ("Makefile", "Module.symvers"):
        (kernel / name).touch()
    listed = run_program_with_home(
        where, "stap", "-r", kernel, "-L", f'process("{program}").mark("*")'
    )
    return {mark: tail.split() for mark, tail in re.findall(r'\.mark\("(\w+)"\)(.*)', listed)}


def test_systemtap_finds_sdt_notes_and_arguments(program: Path, tmp_path: Path) -> None:
    marks = list_systemtap_marks(program, tmp_path)
    assert sorted(marks) == PROBES
    assert [len(marks[name]) for name in PROBES] == [3, 2, 0, 7, 7, 4]


OPERANDS = """
#define SDT_NOTES_ONLY
#include <kmarkers/sdt.h>
SDT_PROVIDER_DEFINE(opnd);
SDT_PROBE_DEFINE7(opnd, , , all, "int", "int", "int", "int", "long", "char", "unsigned int");
SDT_PROBE_DEFINE2(opnd, , , constants, "int", "long");
SDT_PROBE_DEFINE2(opnd, , , stack, "long", "short");
static volatile int counter = 11;
static __thread volatile int perthread = -33;
static volatile int table[8] = { 0, 10, 20, 30, 40, 50, 60, 70 };
struct pair { volatile int a; volatile long b; } pair = { 1, 550000000000 };
void other(void);
int main(int argc, char **argv)
{
    volatile struct { long many[6]; short last; } local = { { 1, 2, 3, 4, 5, -6000000000 }, -7 };

    SDT_PROBE7(opnd, , , all, counter, perthread, table[argc + 2], pair.a, pair.b,
               (char)-argc, 4000000000U + argc);
    counter = 1;
    SDT_PROBE2(opnd, , , constants, -7, 0x123456789aL);
    counter = 2;
    SDT_PROBE2(opnd, , , stack, local.many[argc + 4], local.last);
    other();
    return 0;
}
"""
OTHER = """
#define SDT_NOTES_ONLY
#include <kmarkers/sdt.h>
SDT_PROVIDER_DECLARE(opnd);
SDT_PROBE_DEFINE1(opnd, , , second, "int");
static volatile int counter = 22;
void other(void);
void other(void)
{
    SDT_PROBE1(opnd, , , second, counter);
}
"""
VALUES = {
    "all": [11, -33, 30, 1, 550000000000, -1, 4000000001],
    "constants": [-7, 0x123456789A],
    "stack": [-6000000000, -7],
    "second": [22],
}


@pytest.mark.parametrize("options", ["-O1 -no-pie", "-O2 -fPIE -pie", "-O0 -fPIE -pie"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_gdb_reads_arguments_of_sdt_notes(compiler: str, options: str, tmp_path: Path) -> None:
    """gdb reads arguments, also static variables with the same name in two files, and thread-local
    variables."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is missing: {REMEDY}")
    (tmp_path / "operands.c").write_text(OPERANDS)
    (tmp_path / "other.c").write_text(OTHER)
    program = tmp_path / "operands"
    words: list[str | Path] = [compiler, "-std=gnu11", "-D_GNU_SOURCE", *options.split()]
    words += [f"-I{ROOT}/native/include", f"-I{ROOT}/include", "-o", program]
    subprocess.run([*words, tmp_path / "operands.c", tmp_path / "other.c"], check=True)
    steps = [f"break -probe-stap opnd:{name}" for name in VALUES] + ["run"]
    for name, values in VALUES.items():
        wanted = "".join(f", (long)$_probe_arg{i}" for i in range(len(values)))
        steps += [f'printf "{name}:{" %ld" * len(values)}\\n"{wanted}', "continue"]
    commands = [word for step in steps for word in ("-ex", step)]
    said_lines = run_program_with_home(
        tmp_path, "gdb", "-nx", "-batch", *commands, program
    ).splitlines()
    for name, values in VALUES.items():
        assert f"{name}: {' '.join(map(str, values))}" in said_lines
