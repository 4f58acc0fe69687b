# SPDX-License-Identifier: GPL-2.0-only
"""What entry.mk has the compiler record, read from what was built, and what clang lacks for it."""

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

/* The head of the table refers to it. */
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


def output(*words: str | Path) -> str:
    """What a command prints."""
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def run_make(where: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Have make print the flags that a client's file is compiled with."""
    file = where / "Makefile"
    file.write_text("include $(KMARKERS)/entry.mk\nflags:\n\t@echo $(ccflags-y)\n")
    words = ["make", "-s", "-f", str(file), f"KMARKERS={ROOT}", *more]
    return subprocess.run(words, capture_output=True, text=True, check=False)


class Built:
    """A program: its functions, its text, and its records."""

    def __init__(self, program: Path, scratch: Path) -> None:
        self.program, self.scratch = program, scratch
        self.sections = {
            name: (int(addr, 16), int(size, 16))
            for name, size, addr in re.findall(
                r"^ *\d+ (\S+) +([0-9a-f]+) +([0-9a-f]+) ", output("objdump", "-h", program), re.M
            )
        }
        symbols = [line.split() for line in output("nm", "-S", program).splitlines()]
        self.functions = {
            name: (int(addr, 16), int(size, 16))
            for addr, size, kind, name in (words for words in symbols if len(words) == 4)
            if kind in "Tt"
        }
        self.text = self.bytes_of(".text")
        records = self.bytes_of(".discard_kmarkers_entry")
        base = self.sections[".discard_kmarkers_entry"][0]
        self.records = [
            (base + at + offset, data)
            for at, (offset, data) in zip(
                range(0, len(records), 8), struct.iter_unpack("<iI", records), strict=True
            )
        ]

    def bytes_of(self, section: str) -> bytes:
        """What a section holds."""
        file = self.scratch / "section"
        words = ("objcopy", "-O", "binary", "--set-section-flags", f"{section}=alloc,load")
        output(*words, "-j", section, self.program, file)
        return file.read_bytes()

    def at(self, addr: int, size: int) -> bytes:
        """Bytes of the text."""
        start = addr - self.sections[".text"][0]
        return self.text[start : start + size]

    def places(self, function: str, data: int) -> list[int]:
        """Where the entries (0) or exits (1) of a function are, from its first byte."""
        start, size = self.functions[function]
        offsets = [addr - start for addr, kind in self.records if kind == data]
        return [offset for offset in offsets if 0 <= offset < size]


@pytest.fixture(
    params=["-O2", "-O2 -fno-omit-frame-pointer", "-O2 -fcf-protection=branch", "-Os"],
)
def built(request: pytest.FixtureRequest, tmp_path: Path) -> Built:
    """The functions as a client's are compiled, with and without frame pointers, and for IBT."""
    done = run_make(tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "source.c").write_text(SOURCE)
    words = ["gcc", "-std=gnu11", "-fcf-protection=none", *request.param.split()]
    words += [*done.stdout.split(), "-fno-pie", "-no-pie", "-nostdlib", "-static"]
    words += ["-fno-asynchronous-unwind-tables", "-Wl,-e,leaf", "-o", str(tmp_path / "program")]
    output(*words, tmp_path / "source.c")
    return Built(tmp_path / "program", tmp_path)


def test_each_function_is_recorded(built: Built) -> None:
    """Its way in once, and each way out: returns and tail calls, and none where it never ends."""
    entries = {name: len(built.places(name, 0)) for name in built.functions}
    exits = {name: len(built.places(name, 1)) for name in built.functions}
    assert entries == {**dict.fromkeys(built.functions, 1), "hidden": 0}
    assert exits.pop("many") >= 2
    assert exits == {"leaf": 1, "tail": 1, "calls": 1, "gone": 0, "hidden": 0, "whole": 1}
    assert {data for _, data in built.records} == {0, 1}


def test_an_entry_is_the_first_instruction(built: Built) -> None:
    """But for that which an indirect jump needs."""
    for name, (start, _) in built.functions.items():
        first = len(ENDBR) if built.at(start, len(ENDBR)) == ENDBR else 0
        assert built.places(name, 0) in ([first], [])


def test_each_place_is_one_nop(built: Built) -> None:
    """No call is left, and behind an exit there is nothing but the way out."""
    for addr, data in built.records:
        assert built.at(addr, len(NOP)) == NOP
        if data == 1:
            # ret, or a jump.
            assert built.at(addr + len(NOP), 1) in (b"\xc3", b"\xe9", b"\xeb")
    assert not re.search(r"__fentry__|__return__", output("nm", built.program))


def test_a_record_needs_eight_bytes_of_table(built: Built) -> None:
    """And the head of a file says so."""
    size = built.sections[".discard_kmarkers_entry"][1]
    head = built.bytes_of(".discard_kmarkers_entry_heads")
    assert struct.unpack_from("<QIH", head) == (0, size, 8)
    recorded = len(built.functions) - len(["hidden"])
    assert size == 8 * (recorded + sum(data for _, data in built.records))


def test_exits_can_be_left_out(tmp_path: Path) -> None:
    flags = run_make(tmp_path, "KMARKERS_ENTRY_EXITS=n").stdout.split()
    assert "-minstrument-return=call" not in flags
    assert {*flags, "-minstrument-return=call"} == set(run_make(tmp_path).stdout.split())


def test_clang_is_refused(tmp_path: Path) -> None:
    """A kernel that was built by clang has its modules built by clang."""
    done = run_make(tmp_path, "CONFIG_CC_IS_CLANG=y")
    assert done.returncode != 0
    assert "clang has neither -minstrument-return nor a section of ours for -mfentry" in done.stderr


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
def test_clang_knows_what_the_document_says(option: str, known: bool, tmp_path: Path) -> None:
    if not shutil.which("clang"):
        pytest.skip("no clang: scripts/setup --tools installs it")
    (tmp_path / "empty.c").write_text("void f(void) { }\n")
    words = ["clang", "-pg", option, "-c", "empty.c"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == known, done.stderr
