# SPDX-License-Identifier: GPL-2.0-only
"""Tests of programs linked by several linkers: tables of sites, and SDT notes with their base
address."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from nativeprograms import build_native_programs

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "native" / "libkmarkers.a"
FLAGS = ["-std=gnu11", "-O2", "-D_GNU_SOURCE", f"-I{ROOT}/native/include", f"-I{ROOT}/include"]
COLLECT = ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]

NOTES = """
#define SDT_NOTES_ONLY
#include <kmarkers/sdt.h>
SDT_PROVIDER_DEFINE(p);
SDT_PROBE_DEFINE1(p, , , one, "int");
int work(int n);
__attribute__((noinline)) int work(int n)
{
    SDT_PROBE1(p, , , one, n);
    return n + 1;
}
int main(int argc, char **argv) { return work(argc) == 7; }
"""

# A second source file with sites of each kind. Only the start and stop symbols of the tables refer
# to the table sections of this file.
SITES = """
#include <kmarkers/user.h>
#include <kmarkers/sdt.h>
#include <kmarkers/typed.h>
SDT_PROVIDER_DECLARE(p);
SDT_PROBE_DECLARE(p, , , one);
DECLARE_IMV(int, level);
DECLARE_MARKER(typed, MARKER_PROTO(int a), MARKER_ARGS(a), "%d");
int work(int n);
int work(int n)
{
    SDT_PROBE1(p, , , one, n);
    SDT_PROBE_FLAVOUR(breakpoint, p, , , one, n);
    trace_mark(mark, "%d", n);
    mark_typed(typed, n);
    return imv_read(level);
}
"""

PROGRAM = """
#include <kmarkers/user.h>
#include <kmarkers/sdt.h>
#include <kmarkers/typed.h>
SDT_PROVIDER_DEFINE(p);
SDT_PROBE_DEFINE1(p, , , one, "int");
DEFINE_IMV(int, level) = 3;
DECLARE_MARKER(typed, MARKER_PROTO(int a), MARKER_ARGS(a), "%d");
DEFINE_MARKER(typed);
static int marks, types, hits;
static void add_mark(void *mine, void *call, const char *format, va_list *args)
{
    marks += va_arg(*args, int);
}
static void add_typed_argument(void *mine, int a)
{
    types += a;
}
static void add_sdt_argument(void *mine, const struct sdt_hit *hit)
{
    hits += hit->args[0];
}
int work(int n);
int main(void)
{
    int before, after;

    if (kmarkers_start())
        return 1;
    before = work(1);
    imv_set(level, 4);
    marker_probe_register("mark", "%d", add_mark, NULL);
    marker_register_typed(add_typed_argument, NULL);
    sdt_attach("p:::", add_sdt_argument, NULL);
    after = work(5);
    printf("%d %d: %d marks, %d types, %d hits\\n", before, after, marks, types, hits);
    return 0;
}
"""


@pytest.fixture(name="linker", params=["bfd", "gold", "lld", "mold"])
def select_linker(request: pytest.FixtureRequest) -> str:
    """Return the name of a linker. Each test runs with each linker in turn, and is skipped for a
    linker that is not installed."""
    name = str(request.param)
    if not shutil.which(f"ld.{name}"):
        pytest.skip(f"ld.{name} is missing: scripts/setup --tools installs it")
    return name


@pytest.fixture(scope="module")
def build_library() -> None:
    """Build libkmarkers.a."""
    build_native_programs(LIBRARY.name)


def read_command_output(*arguments: str | Path) -> str:
    """Return the output of a command."""
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("options", [[], COLLECT, [*COLLECT, "-no-pie"]], ids=" ".join)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_sdt_notes_have_a_base_address(
    compiler: str, options: list[str], linker: str, tmp_path: Path
) -> None:
    """Readers of SDT notes relocate sites by the difference between the base address in the note
    and the address of the section .stapsdt.base. In a linked file, both addresses must be
    equal."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is missing: scripts/setup --tools installs it")
    source, program = tmp_path / "notes.c", tmp_path / "notes"
    source.write_text(NOTES)
    words: list[str | Path] = [compiler, *FLAGS, *options, f"-fuse-ld={linker}"]
    words += ["-o", program, source]
    subprocess.run(words, check=True)
    note = read_command_output("readelf", "-nW", program)
    place, base = re.findall(r"Location: 0x0*([0-9a-f]+), Base: 0x0*([0-9a-f]+),", note)[0]
    section = re.findall(
        r"\.stapsdt\.base +PROGBITS +0*(\w+)", read_command_output("readelf", "-SW", program)
    )
    assert section == [base]
    work = re.findall(r"^0*(\w+) . work$", read_command_output("nm", program), re.M)
    assert work == [place]


@pytest.mark.usefixtures("build_library")
@pytest.mark.parametrize("options", [[], COLLECT, [*COLLECT, "-no-pie"]], ids=" ".join)
def test_linkers_keep_all_tables_of_sites(options: list[str], linker: str, tmp_path: Path) -> None:
    """With --gc-sections, linkers keep all tables, even if only start and stop symbols refer to
    them."""
    (tmp_path / "sites.c").write_text(SITES)
    (tmp_path / "program.c").write_text(PROGRAM)
    words: list[str | Path] = ["gcc", *FLAGS, *options, f"-fuse-ld={linker}"]
    words += ["-o", tmp_path / "program", tmp_path / "program.c", tmp_path / "sites.c"]
    subprocess.run([*words, LIBRARY, "-lpthread"], check=True)
    assert read_command_output(tmp_path / "program") == "3 4: 5 marks, 5 types, 10 hits\n"


START = """
#include <kmarkers/user.h>
int main(void)
{
    int c, err = kmarkers_start();
    FILE *maps = fopen("/proc/self/maps", "r");
    while ((c = getc(maps)) != EOF)
        putchar(c);
    return err;
}
"""
PAGE = 4096
# A program header in a file: type, flags, offset, address, physical address, size in the file, size
# in memory, alignment. The headers begin at offset 64.
HEADER = struct.Struct("<IIQQQQQQ")


def find_text_header(data: bytearray) -> int:
    """Return the offset of the program header of the executable segment: the type of this header is
    PT_LOAD (1), and its flags have PF_X (1)."""
    for offset in range(64, len(data), HEADER.size):
        kind, flags, *_ = HEADER.unpack_from(data, offset)
        if kind == 1 and flags & 1:
            return offset
    raise AssertionError("the program has no executable segment")


@pytest.mark.usefixtures("build_library")
@pytest.mark.parametrize("beyond", [None, 1, PAGE - 1, PAGE])
def test_kmarkers_start_moves_only_pages_of_text(tmp_path: Path, beyond: int | None) -> None:
    """kmarkers_start() moves all pages of the text, and no others, also if the text ends at the end
    of a page. `beyond` is the number of bytes in the last page; None keeps the number that the
    linker chose."""
    source, program = tmp_path / "start.c", tmp_path / "start"
    source.write_text(START)
    words: list[str | Path] = [
        *FLAGS,
        "-DNATIVE_BUILD",
        source,
        LIBRARY,
        "-o",
        program,
        "-lpthread",
    ]
    subprocess.run(["gcc", "-Wl,-z,separate-code", *words], check=True)
    data = bytearray(program.read_bytes())
    place = find_text_header(data)
    kind, flags, offset, address, physical, size, _, align = HEADER.unpack_from(data, place)
    if beyond:
        size = (size - 1) // PAGE * PAGE + beyond
        HEADER.pack_into(data, place, kind, flags, offset, address, physical, size, size, align)
        program.write_bytes(data)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    moved = re.findall(r"^(\w+)-(\w+) r-xs ", done.stdout, re.M)
    assert [int(end, 16) - int(start, 16) for start, end in moved] == [-(-size // PAGE) * PAGE]
    assert not re.search(rf"x\S* .*{program}$", done.stdout, re.M)
