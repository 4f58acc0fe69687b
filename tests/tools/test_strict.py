# SPDX-License-Identifier: GPL-2.0-only
"""The headers for programs compile under strict options, or one error names the reason."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# As users compile: NATIVE_BUILD is for our own sources.
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
    return imv_read(level) + imv_branch(switched);
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

# A header and nothing else.
HEADERS = ("user", "marker", "immediate", "typed", "sdt", "bench")


@pytest.fixture(params=COMPILERS)
def compiler(request: pytest.FixtureRequest) -> str:
    """A compiler that is here."""
    if not shutil.which(request.param):
        pytest.skip(f"no {request.param}: scripts/setup --tools installs it")
    return str(request.param)


def errors(words: list[str], source: str, where: Path) -> list[str]:
    """Compile; return the lines that say what is wrong."""
    (where / "strict.c").write_text(source)
    command = [*words, "-c", "-o", str(where / "strict.o"), str(where / "strict.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [line for line in done.stderr.splitlines() if "error:" in line or "warning:" in line]
    assert bool(found) == bool(done.returncode), done.stderr
    return found


@pytest.mark.parametrize("dialect", ["gnu99", "gnu11", "gnu17", "gnu2x"])
@pytest.mark.parametrize("source", [NOTES, ALL, BENCH], ids=["notes", "all", "bench"])
def test_no_warning_of_any_kind(compiler: str, source: str, dialect: str, tmp_path: Path) -> None:
    """Headers of installed packages are in no directory of the system, either."""
    assert not errors([compiler, *FLAGS, f"-std={dialect}", *STRICT], source, tmp_path)


@pytest.mark.parametrize("dialect", ["c99", "c11", "c17"])
def test_notes_are_for_every_dialect(compiler: str, dialect: str, tmp_path: Path) -> None:
    assert not errors([compiler, *FLAGS, f"-std={dialect}", *STRICT], NOTES, tmp_path)


def test_notes_need_no_optimisation(compiler: str, tmp_path: Path) -> None:
    assert not errors([compiler, *FLAGS, "-std=gnu11", "-O0", *STRICT], NOTES, tmp_path)


WRONG = {
    "-xc++": "kmarkers is for C: its headers are not C++",
    "-std=c99": "kmarkers needs the GNU dialect, as -std=gnu11; with SDT_NOTES_ONLY",
    "-std=c17": "kmarkers needs the GNU dialect, as -std=gnu11; with SDT_NOTES_ONLY",
    "-m32": "kmarkers in programs is for x86-64, with pointers of 64 bits",
    "-O0": "kmarkers needs optimisation, -Og or more",
}


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("option", WRONG)
def test_the_first_error_names_the_reason(option: str, header: str, tmp_path: Path) -> None:
    source = f"#include <kmarkers/{header}.h>\n"
    found = errors(["gcc", *FLAGS, option], source, tmp_path)
    assert found
    assert WRONG[option] in found[0]


def test_a_flavour_needs_the_gnu_dialect(tmp_path: Path) -> None:
    source = f"{NOTES}void f(void);\nvoid f(void) {{ SDT_PROBE_FLAVOUR(note, p, , , none); }}\n"
    (found,) = errors(["gcc", *FLAGS, "-std=c11"], source, tmp_path)
    assert "SDT_PROBE_FLAVOUR() needs the GNU dialect, as -std=gnu11: use SDT_PROBEn()" in found


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ('trace_mark(mark, "%s", 5);', "format"),
        ('marker_probe_register("mark", "%d", 5, NULL);', "pointer"),
        ("mark_typed(typed, 5, 6);", "pointer"),
    ],
)
def test_mistakes_are_reported_all_the_same(
    compiler: str, statement: str, reason: str, tmp_path: Path
) -> None:
    """A header that asks for no warnings of itself hides none of those who include it."""
    source = f"{ALL}\nvoid more(void);\nvoid more(void) {{ {statement} }}\n"
    found = errors([compiler, *FLAGS, "-std=gnu11", "-Wall", "-Werror"], source, tmp_path)
    assert found
    assert reason in found[0]
