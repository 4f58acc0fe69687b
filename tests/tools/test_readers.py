# SPDX-License-Identifier: GPL-2.0-only
"""Tests that names and types which tracers cannot read are compile-time errors, with each
compiler."""

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
# For each declaration of a name: the maximum length of the name, and the error message about longer
# names.
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


@pytest.fixture(name="compiler", params=["gcc", "clang"])
def select_declaration_compiler(request: pytest.FixtureRequest) -> str:
    """Return the name of a compiler. Each test runs with each compiler in turn, and is skipped for
    a compiler that is not installed."""
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is missing: run scripts/setup --tools")
    return str(request.param)


def compile_and_read_errors(compiler: str, source: str, where: Path) -> str:
    """Compile a source; return the compiler's messages, empty if it compiles."""
    (where / "readers.c").write_text(HEAD + source)
    words = [compiler, *FLAGS, *INCLUDE, str(where / "readers.c")]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    return run.stderr if run.returncode else ""


@pytest.mark.parametrize("source", LIMITS)
def test_marker_and_probe_names_that_are_too_long_are_refused(
    compiler: str, source: str, tmp_path: Path
) -> None:
    """A name of the maximum length compiles; the error about a longer name has the limit."""
    most, why = LIMITS[source]
    assert not compile_and_read_errors(compiler, source.format("n" * most), tmp_path)
    assert why in compile_and_read_errors(compiler, source.format("n" * (most + 1)), tmp_path)


@pytest.mark.parametrize("macro", ["trace_mark", "_trace_mark", "MARK"])
def test_lttng_channel_argument_is_refused(compiler: str, macro: str, tmp_path: Path) -> None:
    """If a channel precedes the name of a marker, the first line of the error says what to write.
    Without a channel, the marker compiles, also if a macro is a part of the format."""
    function = f'#include <linux/marker.h>\nvoid f(int a) {{{{ {macro}({{0}}"nr %d", a); }}}}'
    first = compile_and_read_errors(compiler, function.format("kernel, sched_schedule, "), tmp_path)
    line = next(line for line in first.splitlines() if "error:" in line)
    assert "write trace_mark(channel_name, format, ...)" in line
    assert not compile_and_read_errors(
        compiler, function.format("kernel_sched_schedule, "), tmp_path
    )
    whole = '#define FORMAT "nr "\n' + function.format("one, FORMAT ")
    assert not compile_and_read_errors(compiler, whole, tmp_path)
    assert not compile_and_read_errors(
        compiler, "void f(void) { trace_mark(one, MARK_NOARGS); }", tmp_path
    )


@pytest.mark.parametrize("macro", ["trace_mark", "_trace_mark", "MARK"])
def test_marker_name_in_quotes_is_refused(compiler: str, macro: str, tmp_path: Path) -> None:
    """The first line of the error says what to write, and few lines follow."""
    function = f'#include <linux/marker.h>\nvoid f(int a) {{ {macro}("name", "nr %d", a); }}'
    text = compile_and_read_errors(compiler, function, tmp_path)
    line = next(line for line in text.splitlines() if "error:" in line)
    assert "the name of a marker is an identifier: write it without quotes" in line
    assert len(text.splitlines()) < 30


def test_marker_argument_of_128_bits_is_refused(compiler: str, tmp_path: Path) -> None:
    """The error names the type; 64-bit halves compile."""
    function = "void f(unsigned __int128 a) {{ SDT_PROBE1(p, , , wide, {0}); }}"
    assert "an argument of a probe is an __int128" in compile_and_read_errors(
        compiler, function.format("a"), tmp_path
    )
    assert not compile_and_read_errors(compiler, function.format("(u64)a"), tmp_path)


def test_const_int_argument_is_checked_like_int(compiler: str, tmp_path: Path) -> None:
    """A pointer for an argument of type `const int` is an error."""
    function = "void f(char *a, int b) {{ SDT_PROBE1(p, , , process, {0}); }}"
    assert "integer where a pointer is" in compile_and_read_errors(
        compiler, function.format("a"), tmp_path
    )
    assert not compile_and_read_errors(compiler, function.format("b"), tmp_path)
