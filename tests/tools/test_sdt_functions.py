# SPDX-License-Identifier: GPL-2.0-only
"""Tests that sites of a program can be selected by function, however the program was started."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from nativeprograms import build_native_programs
from test_sdt_copies import LIBRARY, build_program_with_library

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

/* The relocations of this table precede the text, and move it to a large file offset. */
void (*const table[30000])(void *private, const struct sdt_hit *hit) = {
    [0 ... 29999] = handler,
};

static noinline void submit(int v)
{
    SDT_PROBE1(disk, , , start, v);
    asm volatile("");
}

int main(int argc, char **argv)
{
    int err;

    /* With an argument, wait for a line on stdin. */
    if (argc > 1) {
        puts("started");
        fflush(stdout);
        getchar();
    }
    err = kmarkers_start() ?: sdt_attach("submit:start", handler, NULL);
    submit(1);
    printf("%d %d\\n", err, hits);
    return 0;
}
"""


@pytest.fixture(name="program", scope="module")
def build_program_with_functions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a program as users do."""
    where = tmp_path_factory.mktemp("functions")
    (where / "program.c").write_text(SOURCE)
    build_native_programs(LIBRARY.name)
    return build_program_with_library("gcc", "-O2", where / "program.c", where)


def capture_program_output(*words: object) -> tuple[str, str]:
    """Run a program; return its stdout and stderr."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def search_readelf_output(program: Path, option: str, pattern: str) -> str:
    """Return what `pattern` matches in the output of readelf."""
    done = subprocess.run(["readelf", option, program], capture_output=True, text=True, check=True)
    match = re.search(pattern, done.stdout)
    assert match is not None
    return match[1]


@pytest.fixture(name="linker", scope="module")
def find_dynamic_linker(program: Path) -> str:
    """Return the path of the dynamic linker (ld.so)."""
    return search_readelf_output(program, "-lW", r"interpreter: (.*?)\]")


def test_function_names_are_found_in_a_program_started_by_ld_so(program: Path, linker: str) -> None:
    """Functions are found also if ld.so is started with the program as argument, although
    /proc/self/exe is then ld.so."""
    assert (
        capture_program_output(program) == capture_program_output(linker, program) == ("0 1\n", "")
    )


@pytest.mark.parametrize("length", [1000, 4000, 4090])
def test_function_names_are_found_in_a_program_with_a_long_path(
    program: Path, linker: str, tmp_path: Path, length: int
) -> None:
    """Also if the program's path is nearly as long as the kernel allows, functions are found in the
    program that ld.so has started."""
    folder = tmp_path
    while (left := length - len(f"{folder}/program")) > 1:
        folder /= "d" * min(left - 1, 200)
    folder.mkdir(parents=True)
    copy = shutil.copy(program, folder)
    assert length - 1 <= len(str(copy)) <= length
    assert capture_program_output(linker, copy) == ("0 1\n", "")


def flip_byte(data: bytes, offset: int) -> bytes:
    """Return the data with another byte at `offset`."""
    return data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :]


def change_build_id(data: bytes, build_id: bytes) -> bytes:
    """Return the program with another build ID."""
    return flip_byte(data, data.index(build_id))


# Functions that change a program's file so that the file belongs to another program. The arguments
# are the file and its build ID. According to elf(5), the number of program headers is at offset 56,
# and the headers of 56 bytes each begin at offset 64.
OTHER_FILES: dict[str, Callable[[bytes, bytes], bytes]] = {
    "another magic number": lambda data, _: flip_byte(data, 1),
    "another number of program headers": lambda data, _: flip_byte(data, 56),
    "another program header": lambda data, _: flip_byte(data, 64 + 56 + 40),
    "another build ID": change_build_id,
    "a file of 40 bytes": lambda data, _: data[:40],
    "a file that ends in the program headers": lambda data, _: data[:200],
}
# The sizes in bytes to which a program's file is cut, given the file offsets of the text, of the
# last section of the text, of the symbol table and of the section headers. The program headers are
# in the first part of the file.
CUT_FILES: dict[str, Callable[[int, int, int, int], int]] = {
    "before the text": lambda text, _, __, ___: text - 100,
    "in the text": lambda text, _, __, ___: text + 5000,
    "before the last page of the text": lambda _, last, __, ___: last // 4096 * 4096,
    "in the symbol table": lambda _, __, symbols, ___: symbols + 24,
    "before the section headers": lambda _, __, ___, headers: headers - 1,
    "in the section headers": lambda _, __, ___, headers: headers + 64,
}


def run_while_file_is_replaced(
    linker: str, program: Path, folder: Path, data: bytes
) -> tuple[str, str]:
    """Run a copy of the program by ld.so. After the start, remove the copy, and write `data` to the
    path that the program's mapping then has: PATH (deleted). Return stdout and stderr."""
    copy = folder / "program"
    shutil.copy(program, copy)
    words: list[str | Path] = [linker, copy, "wait"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        copy.unlink()
        copy.with_name("program (deleted)").write_bytes(data)
        return process.communicate("\n", timeout=60)


@pytest.mark.parametrize("where", CUT_FILES)
def test_a_truncated_program_has_no_symbols(
    program: Path, linker: str, tmp_path: Path, where: str
) -> None:
    """If the program's file was truncated after the start, kmarkers_start() succeeds, but sites are
    not found by function. A message says that the program has no symbols, or, if a note is missing,
    that the file cannot be read. Linkers put notes before or after the text."""
    sections = search_readelf_output(program, "-SW", "(?s)(.*)")
    text, last, symbols = (
        int(re.findall(rf"{name} +\w+ +\w+ (\w+)", sections)[0], 16)
        for name in (r"\.init", r"\.fini", r"\.symtab")
    )
    headers = int(search_readelf_output(program, "-hW", r"Start of section headers: +(\d+)"))
    data = program.read_bytes()[: CUT_FILES[where](text, last, symbols, headers)]
    out, why = run_while_file_is_replaced(linker, program, tmp_path, data)
    notes = re.findall(
        r"NOTE +0x(\w+) 0x\w+ 0x\w+ 0x(\w+)", search_readelf_output(program, "-lW", "(?s)(.*)")
    )
    is_readable = all(int(offset, 16) + int(size, 16) <= len(data) for offset, size in notes)
    reason = "the program has no symbols" if is_readable else "the program's file cannot be read"
    assert notes and out == "-95 0\n"
    assert f"cannot find sites by function: {reason}" in why


def test_section_headers_beyond_the_file_are_not_read(
    program: Path, linker: str, tmp_path: Path
) -> None:
    """According to elf(5), the offset of the section headers is at offset 40."""
    data = program.read_bytes()
    data = data[:40] + (1 << 46).to_bytes(8, "little") + data[48:]
    out, why = run_while_file_is_replaced(linker, program, tmp_path, data)
    assert out == "-95 0\n"
    assert "cannot find sites by function: the program has no symbols" in why


@pytest.mark.parametrize("how", ["the same program", *OTHER_FILES])
def test_the_file_of_another_program_is_not_read(
    program: Path, linker: str, tmp_path: Path, how: str
) -> None:
    """Functions are not found if another program's file is where the program's file was."""
    data = program.read_bytes()
    build_id = bytes.fromhex(search_readelf_output(program, "-n", r"Build ID: (\w+)"))
    if how in OTHER_FILES:
        data = OTHER_FILES[how](data, build_id)
    out, why = run_while_file_is_replaced(linker, program, tmp_path, data)
    if how in OTHER_FILES:
        assert out == "-95 0\n"
        assert "cannot find sites by function: the program's file cannot be read" in why
    else:
        assert (out, why) == ("0 1\n", "")


def test_stripped_program_prints_a_message(program: Path, tmp_path: Path) -> None:
    subprocess.run(["strip", "-o", str(tmp_path / "stripped"), str(program)], check=True)
    out, why = capture_program_output(tmp_path / "stripped")
    assert out == "-95 0\n"
    assert why.startswith("kmarkers: cannot find sites by function: the program has no symbols")
