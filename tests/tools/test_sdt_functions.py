# SPDX-License-Identifier: GPL-2.0-only
"""Tests that sites of a program can be selected by function, however the program was started."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from nativeprograms import build_programs
from test_sdt_copies import LIBRARY, build_program

SOURCE = """
#include <kmarkers/user.h>
#include <kmarkers/sdt.h>

SDT_PROVIDER_DEFINE(disk);
SDT_PROBE_DEFINE1(disk, , , start, "int");

static int hits;

static void handler(void *private, const struct sdt_hit *hit)
{
    hits++;
}

static noinline void submit(int v)
{
    SDT_PROBE1(disk, , , start, v);
    asm volatile("");
}

int main(void)
{
    int err = kmarkers_start() ?: sdt_attach("submit:start", handler, NULL);

    submit(1);
    printf("%d %d\\n", err, hits);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a program as users do."""
    where = tmp_path_factory.mktemp("functions")
    (where / "program.c").write_text(SOURCE)
    build_programs(LIBRARY.name)
    return build_program("gcc", "-O2", where / "program.c", where)


def run_program(*words: object) -> tuple[str, str]:
    """Run a program; return its stdout and stderr."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def test_function_names_are_found_also_if_started_by_ld_so(program: Path) -> None:
    """Functions are found also if ld.so is started with the program as argument: /proc/self/exe is
    then ld.so."""
    headers = subprocess.run(
        ["readelf", "-lW", str(program)], capture_output=True, text=True, check=True
    ).stdout
    linker = re.search(r"interpreter: (.*?)\]", headers)
    assert linker is not None
    assert run_program(program) == run_program(linker[1], program) == ("0 1\n", "")


def test_stripped_program_prints_a_message(program: Path, tmp_path: Path) -> None:
    subprocess.run(["strip", "-o", str(tmp_path / "stripped"), str(program)], check=True)
    out, why = run_program(tmp_path / "stripped")
    assert out == "-95 0\n"
    assert why.startswith("kmarkers: cannot find sites by function: the program has no symbols")
