# SPDX-License-Identifier: GPL-2.0-only
"""What no tracer could read is refused where it is declared, by every compiler at hand."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["-std=gnu11", "-O2", "-D_GNU_SOURCE", "-fno-pie", "-fsyntax-only"]
INCLUDE = [f"-I{ROOT}/native/include", f"-I{ROOT}/include"]
HEAD = """
#include <linux/kernel.h>
#include <linux/export.h>
#include <kmarkers/marker.h>
#include <kmarkers/typed.h>
#include <kmarkers/sdt.h>
SDT_PROVIDER_DEFINE(p);
SDT_PROBE_DEFINE1(p, , , wide, "u128");
SDT_PROBE_DEFINE1(p, , , process, "const pid_t");
"""
TYPED = 'DECLARE_MARKER({0}, MARKER_PROTO(int nr), MARKER_ARGS(nr), "nr %d");'
# What holds a name, the most characters that it may have, and what a compiler says of more.
MARKER = "the name of a marker has more than 63"
LIMITS = {
    'void f(void) {{ trace_mark({0}, "nr %d", 1); }}': (63, MARKER),
    'DEFINE_MARKER({0}, "nr %d");': (63, MARKER),
    TYPED: (63, MARKER),
    f"{TYPED} DEFINE_MARKER({{0}}); EXPORT_MARKER_SYMBOL_GPL({{0}});": (
        40,
        "the name of an exported marker has more than 40",
    ),
    "SDT_PROVIDER_DEFINE({0});": (59, "the name of a provider has more than 59"),
    "SDT_PROBE_DEFINE0(p, , , {0});": (63, "the name of a probe has more than 63"),
}


@pytest.fixture(params=["gcc", "clang"])
def compiler(request: pytest.FixtureRequest) -> str:
    """A compiler of this machine."""
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed")
    return str(request.param)


def said(compiler: str, source: str, where: Path) -> str:
    """Compile a source; return what the compiler says if it refuses it."""
    (where / "readers.c").write_text(HEAD + source)
    words = [compiler, *FLAGS, *INCLUDE, str(where / "readers.c")]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    return run.stderr if run.returncode else ""


@pytest.mark.parametrize("source", LIMITS)
def test_names_that_are_too_long_are_refused(compiler: str, source: str, tmp_path: Path) -> None:
    """With the limit, and the longest name that is allowed is taken."""
    most, why = LIMITS[source]
    assert not said(compiler, source.format("n" * most), tmp_path)
    assert why in said(compiler, source.format("n" * (most + 1)), tmp_path)


@pytest.mark.parametrize("macro", ["trace_mark", "_trace_mark", "MARK"])
def test_the_channel_of_lttng_is_refused(compiler: str, macro: str, tmp_path: Path) -> None:
    """The first line says what to write; a format that is a macro is a format."""
    function = f'#include <linux/marker.h>\nvoid f(int a) {{{{ {macro}({{0}}"nr %d", a); }}}}'
    first = said(compiler, function.format("kernel, sched_schedule, "), tmp_path)
    line = next(line for line in first.splitlines() if "error:" in line)
    assert "write trace_mark(channel_name, format, ...)" in line
    assert not said(compiler, function.format("kernel_sched_schedule, "), tmp_path)
    whole = '#define FORMAT "nr "\n' + function.format("one, FORMAT ")
    assert not said(compiler, whole, tmp_path)
    assert not said(compiler, "void f(void) { trace_mark(one, MARK_NOARGS); }", tmp_path)


@pytest.mark.parametrize("macro", ["trace_mark", "_trace_mark", "MARK"])
def test_a_name_in_quotes_is_refused(compiler: str, macro: str, tmp_path: Path) -> None:
    """The first line says what to write, and few others follow."""
    function = f'#include <linux/marker.h>\nvoid f(int a) {{ {macro}("name", "nr %d", a); }}'
    text = said(compiler, function, tmp_path)
    line = next(line for line in text.splitlines() if "error:" in line)
    assert "the name of a marker is an identifier: write it without quotes" in line
    assert len(text.splitlines()) < 30


def test_an_argument_of_128_bits_is_refused(compiler: str, tmp_path: Path) -> None:
    """The type is named; its halves are taken."""
    function = "void f(unsigned __int128 a) {{ SDT_PROBE1(p, , , wide, {0}); }}"
    assert "an argument is an __int128" in said(compiler, function.format("a"), tmp_path)
    assert not said(compiler, function.format("(u64)a"), tmp_path)


def test_a_type_with_const_is_an_integer(compiler: str, tmp_path: Path) -> None:
    """So a pointer is refused where it says integer."""
    function = "void f(char *a, int b) {{ SDT_PROBE1(p, , , process, {0}); }}"
    assert "integer where a pointer is" in said(compiler, function.format("a"), tmp_path)
    assert not said(compiler, function.format("b"), tmp_path)
