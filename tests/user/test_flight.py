# SPDX-License-Identifier: GPL-2.0-only
"""The example in user space, built as Documentation/native.md says that anyone may."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from lablib import ROOT

LIBRARY = ROOT / "build" / "native" / "libkmarkers.a"
COMMON = ["-std=gnu11", "-Wall", "-Werror", "-D_GNU_SOURCE", "-Inative/include", "-Iinclude"]
COMPILERS = ("gcc", "clang")
WHERE = {"pie": ["-fpie", "-pie"], "no-pie": ["-fno-pie", "-no-pie"]}


@pytest.fixture(autouse=True, scope="module")
def _built() -> None:
    """The library."""
    subprocess.run(["make", "-s", "-C", str(ROOT / "native"), str(LIBRARY)], check=True)


def build(compiler: str, where: str, level: str, program: Path) -> subprocess.CompletedProcess[str]:
    """Compile and link the example."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    words = [compiler, *COMMON, *WHERE[where], level, "-o", str(program)]
    words += ["examples/user/flight.c", str(LIBRARY), "-lurcu-bp", "-lpthread"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)


def elf_type(program: Path) -> str:
    """EXEC lies at fixed addresses; DYN lies anywhere."""
    return {2: "EXEC", 3: "DYN"}[program.read_bytes()[16]]


@pytest.mark.parametrize("level", ["-Og", "-O2"])
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_build_of_the_example_works(
    compiler: str, where: str, level: str, tmp_path: Path
) -> None:
    """Its exit code says whether each phase did what it should."""
    program = tmp_path / "flight"
    built = build(compiler, where, level, program)
    assert built.returncode == 0, built.stderr
    assert elf_type(program) == ("DYN" if where == "pie" else "EXEC")
    done = subprocess.run([program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
def test_without_optimisation_the_reason_is_named(compiler: str, tmp_path: Path) -> None:
    """Before the compiler finds fault with a constraint."""
    built = build(compiler, "pie", "-O0", tmp_path / "flight")
    assert built.returncode != 0
    assert "kmarkers needs optimisation" in built.stderr
