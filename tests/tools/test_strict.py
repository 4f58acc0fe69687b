# SPDX-License-Identifier: GPL-2.0-only
"""Tests of headers for programs with strict compiler options: no warning, or one clear error."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Flags as users pass them; NATIVE_BUILD, which only sources of kmarkers define, is not set.
FLAGS = ["-O2", "-D_GNU_SOURCE", f"-I{ROOT}/native/include", f"-I{ROOT}/include"]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow"]
STRICT += ["-Wcast-qual", "-Wundef", "-Wstrict-prototypes", "-Wmissing-prototypes"]
STRICT += ["-Wwrite-strings", "-Wpointer-arith", "-Werror"]
COMPILERS = ["gcc", "clang", "clang-16", "clang-19"]

NOTES = """
#define SDT_NOTES_ONLY
#include <kmarkers/sdt.h>
SDT_PROVIDER_DEFINE(p);
SDT_PROBE_DEFINE0(p, , , none);
SDT_PROBE_DEFINE2(p, , , two, "int", "const char *");
int work(int n);
int work(int n)
{
    SDT_PROBE0(p, , , none);
    SDT_PROBE2(p, , , two, n, "text");
    return n;
}
"""

ALL = """
#include <kmarkers/user.h>
#include <kmarkers/typed.h>
#include <kmarkers/sdt.h>
SDT_PROVIDER_DEFINE(p);
SDT_PROBE_DEFINE0(p, , , none);
SDT_PROBE_DEFINE2(p, , , two, "int", "const char *");
DEFINE_IMV(int, level) = 3;
DECLARE_MARKER(typed, MARKER_PROTO(int a, const char *b), MARKER_ARGS(a, b), "%d %s");
DEFINE_MARKER(typed);
DECLARE_MARKER_NOARGS(bare);
DEFINE_MARKER(bare);
static void probe(void *mine, void *call, const char *format, va_list *args)
{
    *(int *)mine = call ? 0 : va_arg(*args, int) + format[0];
}
static void on_typed(void *mine, int a, const char *b)
{
    *(int *)mine = a + b[0];
}
static void handler(void *mine, const struct sdt_hit *hit)
{
    *(unsigned long *)mine = hit->args[0];
}
int work(int n);
int work(int n)
{
    static unsigned long arg;
    static int seen;

    if (kmarkers_start())
        return 1;
    if (marker_probe_register("mark", "%d", probe, &seen) ||
        marker_register_typed(on_typed, &seen) || sdt_attach("p:::", handler, &arg))
        return 2;
    SDT_PROBE0(p, , , none);
    SDT_PROBE2(p, , , two, n, "text");
    SDT_PROBE_FLAVOUR(breakpoint, p, , , two, n, "text");
    SDT_PROBE_FLAVOUR(nop, p, , , none);
    SDT_PROBE_FLAVOUR(note, p, , , two, n, "text");
    trace_mark(mark, "%d", n);
    trace_mark(nothing, MARK_NOARGS);
    trace_mark_flavour(cmp_flip, other, NULL, "%d %s", n, "text");
    mark_typed(typed, n, "text");
    mark_typed(bare);
    imv_set(level, 4);
    return imv_read(level) + imv_branch(switched) + imv_above(n, level) + imv_equal(n, switched);
}
""".replace("DEFINE_IMV(int", "static DEFINE_IMV(unsigned char, switched);\nDEFINE_IMV(int")

BENCH = """
#include <kmarkers/bench.h>
static unsigned int hash = 1;
#define STEP() WRITE_ONCE(hash, (READ_ONCE(hash) ^ 7) * 0x01000193)
BENCH_OPS(plain, STEP())
const void *use(void);
const void *use(void) { return &plain_layouts; }
"""

# The headers that are compiled alone.
HEADERS = ("user", "marker", "immediate", "typed", "sdt", "bench")


@pytest.fixture(name="compiler", params=COMPILERS)
def select_strict_compiler(request: pytest.FixtureRequest) -> str:
    """Return the name of a compiler. Each test runs with each compiler in turn, and is skipped for
    a compiler that is not installed."""
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is missing: run scripts/setup --tools")
    return str(request.param)


def list_compile_messages(words: list[str], source: str, where: Path) -> list[str]:
    """Compile a source; return the lines with errors and warnings."""
    (where / "strict.c").write_text(source)
    command = [*words, "-c", "-o", str(where / "strict.o"), str(where / "strict.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [line for line in done.stderr.splitlines() if "error:" in line or "warning:" in line]
    assert bool(found) == bool(done.returncode), done.stderr
    return found


@pytest.mark.parametrize("dialect", ["gnu99", "gnu11", "gnu17", "gnu2x"])
@pytest.mark.parametrize("source", [NOTES, ALL, BENCH], ids=["notes", "all", "bench"])
def test_headers_compile_with_strict_options_without_warnings(
    compiler: str, source: str, dialect: str, tmp_path: Path
) -> None:
    """No compiler prints a warning about the headers. The headers are not in a system directory,
    where warnings would be suppressed."""
    assert not list_compile_messages(
        [compiler, *FLAGS, f"-std={dialect}", *STRICT], source, tmp_path
    )


@pytest.mark.parametrize("dialect", ["c99", "c11", "c17"])
def test_sdt_notes_compile_in_every_dialect(compiler: str, dialect: str, tmp_path: Path) -> None:
    assert not list_compile_messages(
        [compiler, *FLAGS, f"-std={dialect}", *STRICT], NOTES, tmp_path
    )


def test_sdt_notes_compile_without_optimisation(compiler: str, tmp_path: Path) -> None:
    assert not list_compile_messages(
        [compiler, *FLAGS, "-std=gnu11", "-O0", *STRICT], NOTES, tmp_path
    )


WRONG = {
    "-xc++": "the headers of kmarkers are C, not C++",
    "-std=c99": "kmarkers needs a GNU dialect, such as -std=gnu11; with SDT_NOTES_ONLY",
    "-std=c17": "kmarkers needs a GNU dialect, such as -std=gnu11; with SDT_NOTES_ONLY",
    "-m32": "programs with kmarkers must be compiled for x86-64, with pointers of 64 bits",
    "-O0": "kmarkers needs optimisation, -Og or more",
}


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("option", WRONG)
def test_first_compiler_error_explains_the_unsupported_option(
    option: str, header: str, tmp_path: Path
) -> None:
    if option == "-xc++" and not shutil.which("g++"):
        pytest.skip("g++ is missing: run scripts/setup --tools")
    source = f"#include <kmarkers/{header}.h>\n"
    found = list_compile_messages(["gcc", *FLAGS, option], source, tmp_path)
    assert found
    assert WRONG[option] in found[0]


def test_sdt_probe_with_a_flavour_needs_the_gnu_dialect(tmp_path: Path) -> None:
    source = f"{NOTES}void f(void);\nvoid f(void) {{ SDT_PROBE_FLAVOUR(note, p, , , none); }}\n"
    (found,) = list_compile_messages(["gcc", *FLAGS, "-std=c11"], source, tmp_path)
    assert "SDT_PROBE_FLAVOUR() needs a GNU dialect, such as -std=gnu11: in other dialects" in found


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ('trace_mark(mark, "%s", 5);', "format"),
        ('marker_probe_register("mark", "%d", 5, NULL);', "pointer"),
        ("mark_typed(typed, 5, 6);", "pointer"),
    ],
)
def test_mistakes_of_the_user_are_still_reported(
    compiler: str, statement: str, reason: str, tmp_path: Path
) -> None:
    """#pragma system_header in our headers does not hide warnings about code of the user."""
    source = f"{ALL}\nvoid more(void);\nvoid more(void) {{ {statement} }}\n"
    found = list_compile_messages(
        [compiler, *FLAGS, "-std=gnu11", "-Wall", "-Werror"], source, tmp_path
    )
    assert found
    assert reason in found[0]
