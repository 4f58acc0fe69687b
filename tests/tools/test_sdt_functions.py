# SPDX-License-Identifier: GPL-2.0-only
"""Sites of a program are found by their functions, however it was started."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from test_sdt_copies import LIBRARY, linked

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
    """A program, built as users do."""
    where = tmp_path_factory.mktemp("functions")
    (where / "program.c").write_text(SOURCE)
    make = ["make", "-s", "-C", str(LIBRARY.parents[2] / "native"), str(LIBRARY)]
    subprocess.run(make, check=True)
    return linked("gcc", "-O2", where / "program.c", where)


def said(*words: object) -> tuple[str, str]:
    """What a program prints on either stream."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def test_functions_are_known_however_a_program_is_started(program: Path) -> None:
    """A command of the dynamic linker is /proc/self/exe in place of the program."""
    headers = subprocess.run(
        ["readelf", "-lW", str(program)], capture_output=True, text=True, check=True
    ).stdout
    linker = re.search(r"interpreter: (.*?)\]", headers)
    assert linker is not None
    assert said(program) == said(linker[1], program) == ("0 1\n", "")


def test_a_program_without_symbols_says_so(program: Path, tmp_path: Path) -> None:
    subprocess.run(["strip", "-o", str(tmp_path / "stripped"), str(program)], check=True)
    out, why = said(tmp_path / "stripped")
    assert out == "-95 0\n"
    assert why.startswith("kmarkers: the program has no symbols: no site is found by its function")
