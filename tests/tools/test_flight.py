# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the example program flight, built as Documentation/native.md describes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT
from nativeprograms import build_native_programs

LIBRARY = ROOT / "build" / "native" / "libkmarkers.a"
COMMON = ["-std=gnu11", "-Wall", "-Werror", "-D_GNU_SOURCE", "-Inative/include", "-Iinclude"]
COMPILERS = ("gcc", "clang")
WHERE = {"pie": ["-fpie", "-pie"], "no-pie": ["-fno-pie", "-no-pie"]}


@pytest.fixture(autouse=True, scope="module")
def _build_libkmarkers() -> None:
    """Build libkmarkers.a."""
    build_native_programs(LIBRARY.name)


def build_flight_example(
    compiler: str, pie_or_no_pie: str, optimisation: str, program: Path
) -> subprocess.CompletedProcess[str]:
    """Compile and link the example program with a compiler, the options WHERE[where] and an
    optimisation level."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is missing: apt-get install {compiler}")
    words = [compiler, *COMMON, *WHERE[pie_or_no_pie], optimisation, "-o", str(program)]
    words += ["examples/user/flight.c", str(LIBRARY), "-lpthread"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)


def read_elf_type(program: Path) -> str:
    """Return the ELF type: EXEC has fixed addresses, DYN can be loaded at any address."""
    return {2: "EXEC", 3: "DYN"}[program.read_bytes()[16]]


@pytest.mark.long
@pytest.mark.parametrize("optimisation", ["-Og", "-O2"])
@pytest.mark.parametrize("pie_or_no_pie", WHERE)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_example_flight_works_with_each_compiler_and_optimisation(
    compiler: str, pie_or_no_pie: str, optimisation: str, tmp_path: Path
) -> None:
    """Each build of the example exits with 0, which means that all phases of the example worked."""
    program = tmp_path / "flight"
    built = build_flight_example(compiler, pie_or_no_pie, optimisation, program)
    assert built.returncode == 0, built.stderr
    assert read_elf_type(program) == ("DYN" if pie_or_no_pie == "pie" else "EXEC")
    done = subprocess.run([program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


FILES = {
    "main.c": """
#include <linux/module.h>
#include <linux/ptrace.h>
#include <kmarkers/user.h>
DECLARE_IMV(int, shared);
__attribute__((noinline)) static int twice(void)
{
	trace_mark(twice, MARK_NOARGS);
	return 2 * imv_read(shared);
}
int main(void)
{
	return kmarkers_start() || imv_set(shared, 21) || twice() != 42 * PTRACE_EVENT_FORK;
}
""",
    "other.c": """
#include <kmarkers/user.h>
DECLARE_IMV(int, shared);
DEFINE_IMV(int, shared) = 1;
""",
}


@pytest.mark.parametrize("pic_option", ["-fpie", "-fPIC", "-fno-pie"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_program_of_two_files_shares_an_immediate_value(
    compiler: str, pic_option: str, tmp_path: Path
) -> None:
    """A program of two files works: a file reads an immediate value that another file defines.
    <linux/ptrace.h> is the header of the system, not of native/include."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is missing: apt-get install {compiler}")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    program = tmp_path / "program"
    link = "-no-pie" if pic_option == "-fno-pie" else "-pie"
    words = [compiler, *COMMON, "-Wextra", pic_option, link, "-O2", "-o", str(program)]
    words += [str(tmp_path / name) for name in FILES]
    words += [str(LIBRARY), "-lpthread"]
    built = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert subprocess.run([program], timeout=60, check=False).returncode == 0


@pytest.mark.parametrize(
    ("compiler_command", "named"),
    [
        (["gcc", "-std=c11", "-O2"], "kmarkers needs a GNU dialect"),
        (["g++", "-O2"], "the headers of kmarkers are C, not C++"),
    ],
)
def test_strict_c11_and_cxx_are_refused_with_a_clear_message(
    compiler_command: list[str], named: str
) -> None:
    """In strict C11 and in C++, the compiler prints the #error message of
    include/kmarkers/dialect.h."""
    if shutil.which(compiler_command[0]) is None:
        pytest.skip(f"{compiler_command[0]} is missing: apt-get install {compiler_command[0]}")
    language = "c" if compiler_command[0] == "gcc" else "c++"
    header = ["-fsyntax-only", "-x", language, "include/kmarkers/user.h"]
    built = subprocess.run(
        [*compiler_command, "-Inative/include", "-Iinclude", *header],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode != 0
    assert named in built.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
def test_build_without_optimisation_is_refused_with_the_reason(
    compiler: str, tmp_path: Path
) -> None:
    """Without optimisation, the compiler prints the #error message of
    include/kmarkers/dialect.h."""
    built = build_flight_example(compiler, "pie", "-O0", tmp_path / "flight")
    assert built.returncode != 0
    assert "kmarkers needs optimisation" in built.stderr
