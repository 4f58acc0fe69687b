# SPDX-License-Identifier: GPL-2.0-only
"""Tests that sources with SDT probes in the style of FreeBSD compile if they include
<kmarkers/sdt.h>."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-DNATIVE_BUILD"]
INCLUDE = [f"-I{ROOT}/native/include", f"-I{ROOT}/include"]

# Sources in the style of FreeBSD's sdt(9): declarations in a header, definitions in one file, and
# uses.
HEADER = """
SDT_PROVIDER_DECLARE(queue);
SDT_PROBE_DECLARE(queue, , , put);
SDT_PROBE_DECLARE(queue, list, get, return);
SDT_PROBE_DECLARE(queue, stats, count, lost);
struct packet;
"""

DEFINITIONS = """
SDT_PROVIDER_DEFINE(queue);
SDT_PROBE_DEFINE(queue, , , plain);
SDT_PROBE_ARGTYPE(queue, , , plain, 0, "struct packet *", NULL);
SDT_PROBE_ARGTYPE(queue, , , plain, 1, "int", "uint32_t");
SDT_PROBE_DEFINE5(queue, stats, count, five, "int", "int", "char *", "int", "int");
SDT_PROBE_DEFINE0(queue, , , idle);
SDT_PROBE_DEFINE2(queue, , , put, "struct packet *", "int");
SDT_PROBE_DEFINE3(queue, list, get, return, "int", "struct packet *", "bool");
#define COUNTED(name) \\
    SDT_PROBE_DEFINE1(queue, stats, count, name, \\
        "int")
COUNTED(lost);
COUNTED(late);
#define CHECKED(name, type) \\
    SDT_PROBE_DEFINE2(queue, , name, check__error, "int", type)
CHECKED(open, "struct packet *");
CHECKED(close, "vm_offset_t");
SDT_PROBE_DEFINE0_XLATE(queue, , , x0);
SDT_PROBE_DEFINE1_XLATE(queue, , , x1, "t0 *", "x0_t *");
SDT_PROBE_DEFINE2_XLATE(queue, , , x2, "t0 *", "x0_t *", "t1 *", "x1_t *");
SDT_PROBE_DEFINE3_XLATE(queue, , , x3, "t0 *", "x0_t *", "t1 *", "x1_t *",
    "t2 *", "x2_t *");
SDT_PROBE_DEFINE4_XLATE(queue, , , x4, "t0 *", "x0_t *", "t1 *", "x1_t *",
    "t2 *", "x2_t *", "t3 *", "x3_t *");
SDT_PROBE_DEFINE5_XLATE(queue, , , x5, "t0 *", "x0_t *", "t1 *", "x1_t *",
    "t2 *", "x2_t *", "t3 *", "x3_t *", "t4 *", "x4_t *");
SDT_PROBE_DEFINE6_XLATE(queue, , , x6, "t0 *", "x0_t *", "t1 *", "x1_t *",
    "t2 *", "x2_t *", "t3 *", "x3_t *", "t4 *", "x4_t *", "t5 *", "x5_t *");
SDT_PROBE_DEFINE7_XLATE(queue, , , x7, "t0 *", "x0_t *", "t1 *", "x1_t *",
    "t2 *", "x2_t *", "t3 *", "x3_t *", "t4 *", "x4_t *", "t5 *", "x5_t *",
    "int", "x6_t *");
"""

USES = """
#define COUNT(name, how_many) SDT_PROBE1(queue, stats, count, name, how_many)

int get(struct packet *packet, int error, bool last);
int
get(struct packet *packet, int error, bool last)
{
    if (SDT_PROBES_ENABLED()) {
        if (error != 0)
            SDT_PROBE2(queue, , , put, packet, error);
        else
            SDT_PROBE2(queue, , , put, NULL, 0);
    }
    COUNT(lost, 1);
    if (packet == NULL)
        SDT_PROBE3(queue, list, get, return, error, NULL, false);
    else
        SDT_PROBE3(queue, list, get, return, (error), (packet), last);
    return (error);
}
"""

MORE_USES = """
void all(void *p, unsigned long word);
void
all(void *p, unsigned long word)
{
    SDT_PROBE0(queue, , , plain);
    SDT_PROBE2(queue, , , plain, p, word);
    SDT_PROBE3(queue, stats, count, five, 1, 0, NULL);
    SDT_PROBE(queue, , , plain, p, word, 0, 0, 0);
    SDT_PROBE(queue, , , idle, 0, 0, 0, 0, 0);
    SDT_PROBE(queue, , , x1, p, 0, 0, 0, 0);
    SDT_PROBE(queue, stats, count, five, 1, 0, NULL, 0, NULL);
    SDT_PROBE(queue, stats, count, five, 1, 2, p, word, 5);
    DTRACE_PROBE(own__zero);
    DTRACE_PROBE1(own__one, void *, p);
    DTRACE_PROBE2(own__two, void *, p, unsigned long, word);
    DTRACE_PROBE3(own__three, void *, p, int, 1, int, 2);
    DTRACE_PROBE4(own__four, void *, p, int, 1, int, 2, int, 3);
    DTRACE_PROBE5(own__five, void *, p, int, 1, int, 2, int, 3, int, 4);
    SDT_PROBE0(queue, , , idle);
    COUNT(late, word);
    SDT_PROBE2(queue, , open, check__error, 0, p);
    SDT_PROBE2(queue, , close, check__error, 0, word);
    SDT_PROBE0(queue, , , x0);
    SDT_PROBE1(queue, , , x1, p);
    SDT_PROBE2(queue, , , x2, p, NULL);
    SDT_PROBE3(queue, , , x3, p, NULL, p);
    SDT_PROBE4(queue, , , x4, p, NULL, p, p);
    SDT_PROBE5(queue, , , x5, NULL, NULL, p, p, p);
    SDT_PROBE6(queue, , , x6, NULL, NULL, p, p, p, NULL);
    SDT_PROBE7(queue, , , x7, NULL, NULL, p, p, p, NULL, word);
}
"""


@pytest.fixture(name="compiler", params=["gcc", "clang"])
def select_consumer_compiler(request: pytest.FixtureRequest) -> str:
    """Return the name of a compiler. Each test runs with each compiler in turn, and is skipped for
    a compiler that is not installed."""
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is missing: run scripts/setup --tools")
    return str(request.param)


def compile_without_warnings(compiler: str, flavour: str, source: str, where: Path) -> bytes:
    """Compile a source without any warning; return the object."""
    head = f"#include <linux/kernel.h>\n#define SDT_FLAVOUR {flavour}\n#include <kmarkers/sdt.h>\n"
    (where / "consumer.c").write_text(head + source)
    words: list[str | Path] = [compiler, *FLAGS, *INCLUDE, "-c", "-o", where / "consumer.o"]
    words.append(where / "consumer.c")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return (where / "consumer.o").read_bytes()


@pytest.mark.parametrize("flavour", ["jump", "breakpoint", "nop", "split", "note"])
def test_freebsd_style_sources_compile(compiler: str, flavour: str, tmp_path: Path) -> None:
    """A file with the definitions, and a file with declarations only, compile."""
    compile_without_warnings(compiler, flavour, HEADER + USES, tmp_path)
    built = compile_without_warnings(
        compiler, flavour, HEADER + DEFINITIONS + USES + MORE_USES, tmp_path
    )
    for types in ("int,struct packet *,bool", "t0 *,t1 *,t2 *,t3 *,t4 *,t5 *,int", "t0 *"):
        assert b"\0" + types.encode() + b"\0" in built
    assert b"x0_t" not in built
    # A program that contains only notes has no struct sdt_probe.
    assert (b"\0void *,int,int,int,int\0" in built) is (flavour != "note")


@pytest.mark.parametrize(
    ("site", "message"),
    [
        ("SDT_PROBE3(queue, , , put, p, 1, 2)", "the site passes more arguments than"),
        ("SDT_PROBE(queue, , , put, p, 1, 2, 0, 0)", "the site passes more arguments than"),
        ("SDT_PROBE0(queue, , , put)", "the site passes no arguments, but"),
        ("SDT_PROBE(queue, , , put, 1, p, 0, 0, 0)", "integer where a pointer is"),
        ("SDT_PROBE8(queue, , , put, p)", "SDT_PROBE8"),
    ],
)
def test_sdt_probes_with_wrong_arguments_do_not_compile(
    compiler: str, site: str, message: str, tmp_path: Path
) -> None:
    """Too many arguments, no arguments, and arguments in the wrong order are compile errors."""
    source = f"{HEADER}{DEFINITIONS}void f(void *p);\nvoid f(void *p) {{ {site}; }}\n"
    (tmp_path / "mistake.c").write_text(
        "#include <linux/kernel.h>\n#include <kmarkers/sdt.h>\n" + source
    )
    words: list[str | Path] = [compiler, *FLAGS, *INCLUDE, "-fsyntax-only", tmp_path / "mistake.c"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert message in done.stderr
