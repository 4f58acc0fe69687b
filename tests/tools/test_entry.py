# SPDX-License-Identifier: GPL-2.0-only
"""Tests of entry.mk: the entries and exits of functions that gcc records in an object file."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOP = bytes((0x0F, 0x1F, 0x44, 0, 0))
ENDBR = bytes((0xF3, 0x0F, 0x1E, 0xFA))

SOURCE = """
#define noinline __attribute__((__noinline__, __noclone__))

/* The head of the table refers to param_ops_string. */
long param_ops_string[4];
int number;

noinline int leaf(int a) { __asm__ volatile(""); return a + number; }
noinline int tail(int a) { return leaf(a + 1); }
noinline int many(int a) { if (a > 5) return leaf(a); if (a < 2) return 3; return tail(a) + a; }
noinline int calls(int (*other)(int)) { return other(1) + leaf(2); }
noinline void __attribute__((__noreturn__)) gone(void) { for (;;) number++; }
noinline __attribute__((__no_instrument_function__)) int hidden(int a) { return leaf(a) + 1; }
static inline __attribute__((__always_inline__)) int part(int a) { return leaf(a) * 2; }
noinline int whole(int a) { return part(a) + part(a + 1); }
"""


def get_command_output(*arguments: str | Path) -> str:
    """Return the output of a command."""
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def print_flags_of_entry_mk(folder: Path, *make_arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make with `make_arguments` on a makefile that includes entry.mk and prints the compiler
    flags for a client module."""
    file = folder / "Makefile"
    file.write_text("include $(KMARKERS)/entry.mk\nflags:\n\t@echo $(ccflags-y)\n")
    words = ["make", "-s", "-f", str(file), f"KMARKERS={ROOT}", *make_arguments]
    return subprocess.run(words, capture_output=True, text=True, check=False)


class LinkedProgram:
    """A linked program: its functions, its text section, and its records of entries and exits."""

    def __init__(self, program: Path, scratch: Path) -> None:
        self.program, self.scratch = program, scratch
        self.sections = {
            name: (int(addr, 16), int(size, 16))
            for name, size, addr in re.findall(
                r"^ *\d+ (\S+) +([0-9a-f]+) +([0-9a-f]+) ",
                get_command_output("objdump", "-h", program),
                re.M,
            )
        }
        symbols = [line.split() for line in get_command_output("nm", "-S", program).splitlines()]
        self.functions = {
            name: (int(addr, 16), int(size, 16))
            for addr, size, kind, name in (words for words in symbols if len(words) == 4)
            if kind in "Tt"
        }
        self.text = self.read_section(".text")
        records = self.read_section(".discard_kmarkers_entry")
        base = self.sections[".discard_kmarkers_entry"][0]
        self.records = [
            (base + at + offset, data)
            for at, (offset, data) in zip(
                range(0, len(records), 8), struct.iter_unpack("<iI", records), strict=True
            )
        ]

    def read_section(self, section: str) -> bytes:
        """Return the content of a section."""
        file = self.scratch / "section"
        words = ("objcopy", "-O", "binary", "--set-section-flags", f"{section}=alloc,load")
        get_command_output(*words, "-j", section, self.program, file)
        return file.read_bytes()

    def read_code(self, addr: int, size: int) -> bytes:
        """Return `size` bytes of the text section at an address."""
        start = addr - self.sections[".text"][0]
        return self.text[start : start + size]

    def list_record_offsets(self, function: str, kind: int) -> list[int]:
        """Return the offsets of records in a function: of entries (kind 0) or of exits (kind 1)."""
        start, size = self.functions[function]
        offsets = [addr - start for addr, data in self.records if data == kind]
        return [offset for offset in offsets if 0 <= offset < size]


@pytest.fixture(
    params=["-O2", "-O2 -fno-omit-frame-pointer", "-O2 -fcf-protection=branch", "-Os"],
)
def linked_program(request: pytest.FixtureRequest, tmp_path: Path) -> LinkedProgram:
    """Build SOURCE like a client module. Each test runs with four sets of options, for example with
    frame pointers or for IBT."""
    done = print_flags_of_entry_mk(tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "source.c").write_text(SOURCE)
    words = ["gcc", "-std=gnu11", "-fcf-protection=none", *request.param.split()]
    words += [*done.stdout.split(), "-fno-pie", "-no-pie", "-nostdlib", "-static"]
    words += ["-fno-asynchronous-unwind-tables", "-Wl,-e,leaf", "-o", str(tmp_path / "program")]
    get_command_output(*words, tmp_path / "source.c")
    return LinkedProgram(tmp_path / "program", tmp_path)


def test_each_function_has_entry_and_exit_records(linked_program: LinkedProgram) -> None:
    """Each function has an entry record, and an exit record for each return or tail call."""
    entries = {
        name: len(linked_program.list_record_offsets(name, 0)) for name in linked_program.functions
    }
    exits = {
        name: len(linked_program.list_record_offsets(name, 1)) for name in linked_program.functions
    }
    assert entries == {**dict.fromkeys(linked_program.functions, 1), "hidden": 0}
    assert exits.pop("many") >= 2
    assert exits == {"leaf": 1, "tail": 1, "calls": 1, "gone": 0, "hidden": 0, "whole": 1}
    assert {data for _, data in linked_program.records} == {0, 1}


def test_entry_nop_is_the_first_instruction_after_endbr(linked_program: LinkedProgram) -> None:
    """Only an ENDBR may precede the nop of the entry."""
    for name, (start, _) in linked_program.functions.items():
        first = len(ENDBR) if linked_program.read_code(start, len(ENDBR)) == ENDBR else 0
        assert linked_program.list_record_offsets(name, 0) in ([first], [])


def test_each_recorded_address_has_a_nop(linked_program: LinkedProgram) -> None:
    """A nop replaces each call that the compiler inserted. A ret or jmp follows the nop of an
    exit."""
    for addr, data in linked_program.records:
        assert linked_program.read_code(addr, len(NOP)) == NOP
        if data == 1:
            # Opcodes of ret and of jmp.
            assert linked_program.read_code(addr + len(NOP), 1) in (b"\xc3", b"\xe9", b"\xeb")
    assert not re.search(r"__fentry__|__return__", get_command_output("nm", linked_program.program))


def test_each_entry_record_has_eight_bytes(linked_program: LinkedProgram) -> None:
    """The table head contains the record size, 8, and the table size."""
    size = linked_program.sections[".discard_kmarkers_entry"][1]
    head = linked_program.read_section(".discard_kmarkers_entry_heads")
    assert struct.unpack_from("<QIH", head) == (0, size, 8)
    recorded = len(linked_program.functions) - len(["hidden"])
    assert size == 8 * (recorded + sum(data for _, data in linked_program.records))


def test_entry_exits_n_disables_exit_records(tmp_path: Path) -> None:
    flags = print_flags_of_entry_mk(tmp_path, "KMARKERS_ENTRY_EXITS=n").stdout.split()
    assert "-minstrument-return=call" not in flags
    assert {*flags, "-minstrument-return=call"} == set(
        print_flags_of_entry_mk(tmp_path).stdout.split()
    )


def test_entry_mk_refuses_a_kernel_built_by_clang(tmp_path: Path) -> None:
    """entry.mk stops with an error if the kernel was built by clang."""
    done = print_flags_of_entry_mk(tmp_path, "CONFIG_CC_IS_CLANG=y")
    assert done.returncode != 0
    assert "clang lacks -minstrument-return, which recorded functions need" in done.stderr


@pytest.mark.parametrize(
    ("option", "known"),
    [
        ("-mfentry", True),
        ("-fpatchable-function-entry=5", True),
        ("-mfentry-section=own", False),
        ("-minstrument-return=call", False),
        ("-minstrument-return=nop5", False),
        ("-mrecord-return", False),
    ],
)
def test_clang_supports_the_options_that_the_document_lists(
    option: str, known: bool, tmp_path: Path
) -> None:
    if not shutil.which("clang"):
        pytest.skip("clang is missing: scripts/setup --tools installs it")
    (tmp_path / "empty.c").write_text("void f(void) { }\n")
    words = ["clang", "-pg", option, "-c", "empty.c"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == known, done.stderr
