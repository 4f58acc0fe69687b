# SPDX-License-Identifier: GPL-2.0-only
"""What SDT probes compile to, by every compiler at hand, and what does not compile."""

from __future__ import annotations

import errno
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "native" / "libkmarkers.a"
FLAGS = ["-std=gnu11", "-O2", "-D_GNU_SOURCE", "-fno-pie", "-fcf-protection=none"]
# As for modules.
FLAGS += ["-Werror=implicit-function-declaration"]
INCLUDE = [f"-I{ROOT}/native/include", f"-I{ROOT}/include"]

HEAD = """
#include <linux/kernel.h>
#include <kmarkers/sdt.h>

SDT_PROVIDER_DEFINE(p);
SDT_PROVIDER_DECLARE(elsewhere);
SDT_PROBE_DEFINE0(p, , , none);
SDT_PROBE_DEFINE2(p, m, f, two, "int", "char *");
SDT_PROBE_DEFINE2(p, m, f, longs, "long", "long");
SDT_PROBE_DEFINE2(p, m, f, others, "uintptr_t", "struct s");
SDT_PROBE_DECLARE(elsewhere, , , declared);
"""

# Each function without its site is a single ret.
SOURCE = (
    HEAD
    + """
void empty(long a, long b) { }
void jump(long a, char *b) { SDT_PROBE2(p, m, f, two, a, b); }
void breakpoint(long a, char *b) { SDT_PROBE_FLAVOUR(breakpoint, p, m, f, two, a, b); }
void nop(long a, char *b) { SDT_PROBE_FLAVOUR(nop, p, m, f, two, a, b); }
void split(long a, char *b) { SDT_PROBE_FLAVOUR(split, p, m, f, two, a, b); }
void swapped(long a, long b) { SDT_PROBE_FLAVOUR(nop, p, m, f, longs, b, a); }
void declared(long a, long b) { SDT_PROBE1(elsewhere, , , declared, a); }
"""
)

INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\t(?:[0-9a-f]{2} )+\s*\t(.*)$")


def compiled(compiler: str, source: str, where: Path) -> subprocess.CompletedProcess[str]:
    """Compile a source to probes.o."""
    (where / "probes.c").write_text(source)
    words: list[str | Path] = [compiler, *FLAGS, *INCLUDE, "-c", "-o", where / "probes.o"]
    words.append(where / "probes.c")
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.fixture(params=["gcc", "clang"])
def compiler(request: pytest.FixtureRequest) -> str:
    """A compiler that is here."""
    if not shutil.which(request.param):
        pytest.skip(f"no {request.param}: scripts/setup --tools installs clang")
    return str(request.param)


def until_return(name: str, built: Path) -> list[str]:
    """What a function executes while nothing is on: up to the first ret."""
    words: list[str | Path] = ["objdump", "-d", "--insn-width=12", f"--disassemble={name}", built]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found = [match[1] for line in text.splitlines() if (match := INSTRUCTION.match(line))]
    return found[: next(i for i, one in enumerate(found) if one.startswith("ret")) + 1]


def test_a_site_costs_what_is_promised(compiler: str, tmp_path: Path) -> None:
    """Instructions in front of ret: of a jump its nop; the others also place arguments."""
    done = compiled(compiler, SOURCE, tmp_path)
    assert done.returncode == 0, done.stderr
    names = ("empty", "jump", "breakpoint", "nop", "split", "swapped", "declared")
    counts = {name: len(until_return(name, tmp_path / "probes.o")) - 1 for name in names}
    # The arguments are in place already, but for those of swapped, which are exchanged by way of
    # a third register or by an instruction for that.
    assert counts.pop("swapped") in (2, 4)
    assert counts == {
        "empty": 0,
        "jump": 1,
        "breakpoint": 1,
        "nop": 1,
        "split": 2,
        "declared": 1,
    }


def test_a_site_needs_twelve_bytes_of_table(tmp_path: Path) -> None:
    assert compiled("gcc", SOURCE, tmp_path).returncode == 0
    words: list[str | Path] = ["objdump", "-h", tmp_path / "probes.o"]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    sections = [line.split() for line in text.splitlines() if " kmarkers_sdt" in line]
    sizes = {name: int(size, 16) for _, name, size, *_ in sections}
    assert sizes == {"kmarkers_sdt": 6 * 12, "kmarkers_sdt_heads": 24}


NOTES = """\
none
registers -1 2 3 4 5 1099511627776 -2
sizes -1 255 -2 65535 -3 4000000000 1
constants -7 78187493530 5
stack 42 -400000000000 -4 120
nested 1 2
nested 11 12
"""


@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3", "-Og"])
def test_notes_say_where_arguments_are(compiler: str, level: str, tmp_path: Path) -> None:
    """A program fetches the arguments of each of its sites by what the notes say."""
    source, program = ROOT / "tests" / "native" / "notes.c", tmp_path / "notes"
    flags = [*FLAGS, "-DNATIVE_BUILD", level, "-no-pie"]
    words: list[str | Path] = [compiler, *flags, *INCLUDE, "-DSDT_NOTES_ONLY", "-o", program]
    words.append(source)
    subprocess.run(words, check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.stdout == NOTES
    assert done.returncode == 0


def test_a_note_is_no_instruction(compiler: str, tmp_path: Path) -> None:
    """And readers of such notes understand it."""
    site = "SDT_PROBE_FLAVOUR(note, p, m, f, two, a, b);"
    done = compiled(compiler, f"{HEAD}\nvoid note(int a, char *b) {{ {site} }}\n", tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(until_return("note", tmp_path / "probes.o")) == 1
    words: list[str | Path] = ["readelf", "-n", tmp_path / "probes.o"]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert "Provider: p\n" in text and "Name: two\n" in text
    assert "Arguments: -4@%edi 8@%rsi\n" in text


MODULE_NOTES = """\
none
registers -1 2 3 4 5 1099511627776 -2
sizes -1 255 -2 65535 -3 4000000000 1
constants -7 78187493530 5
stack -400000000000 -5000 251 -3000
indexed -400000000000 -4000
global -12345678
bits 5 -3 737894400291 1
many -4 -3 -2 -1 0 1 2
many 3 4 5 6 7 8 9
many 10 11 -4 -3 -2 -1 0
nested 1 2
nested 11 12
loop 0
loop 1
loop 2
"""


@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3", "-O2 -fno-omit-frame-pointer"])
def test_notes_of_modules_say_where_arguments_are(
    compiler: str, level: str, tmp_path: Path
) -> None:
    """The module's own reader fetches them, in a program that has notes as modules do."""
    sources = [ROOT / "tests" / "native" / "module_notes.c", ROOT / "sdt" / "operands.c"]
    flags = [*FLAGS, "-DNATIVE_BUILD", "-DSDT_NOTES_OF_MODULES", *level.split(), "-no-pie"]
    subprocess.run([compiler, *flags, *INCLUDE, "-o", tmp_path / "notes", *sources], check=True)
    done = subprocess.run([tmp_path / "notes"], capture_output=True, text=True, check=False)
    assert done.stdout == MODULE_NOTES
    assert done.returncode == 0


def test_a_note_of_a_module_is_no_instruction(compiler: str, tmp_path: Path) -> None:
    """It needs 16 bytes of table, and 4 for an argument in a register or 8 for a constant."""
    site = "SDT_PROBE_FLAVOUR(note, p, m, f, two, a, b);"
    constant = 'SDT_PROBE_FLAVOUR(note, p, m, f, two, 1, "");'
    source = f"#define SDT_NOTES_OF_MODULES\n{HEAD}\nvoid note(int a, char *b) {{ {site} }}\n"
    source += f"void constants(void) {{ {constant} }}\n"
    done = compiled(compiler, source, tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(until_return("note", tmp_path / "probes.o")) == 1
    assert len(until_return("constants", tmp_path / "probes.o")) == 1
    words: list[str | Path] = ["objdump", "-h", tmp_path / "probes.o"]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    sections = [line.split() for line in text.splitlines() if " kmarkers_sdtnote" in line]
    sizes = {name: int(size, 16) for _, name, size, *_ in sections}
    assert sizes["kmarkers_sdtnote"] == 2 * 16
    assert sizes["kmarkers_sdtnote_codes"] == 2 * 4 + 2 * 8


@pytest.fixture(scope="module")
def library() -> None:
    """Build the library."""
    subprocess.run(["make", "-s", "-C", str(ROOT / "native"), str(LIBRARY)], check=True)


LEVELS = ["-Og", "-O1", "-O2", "-O3", "-Os", "-O3 -funroll-loops", "-O2 -fpie -pie"]


def linked(compiler: str, level: str, source: Path, where: Path) -> Path:
    """Build a program with our library, as users do."""
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-DNATIVE_BUILD", "-DCOPIES_ALONE", *level.split()]
    words: list[str | Path] = [compiler, *flags, *INCLUDE, "-o", where / "program", source]
    words += [LIBRARY, "-lurcu-bp", "-lpthread"]
    subprocess.run(words, check=True)
    return where / "program"


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("level", LEVELS)
def test_hits_are_those_of_their_sites(compiler: str, level: str, tmp_path: Path) -> None:
    """Also where the compiler copies functions, and could merge what two sites lead to."""
    program = linked(compiler, level, ROOT / "tests" / "native" / "copies.c", tmp_path)
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "# 46 sites, 140 hits, 0 wrong\n"
    assert done.returncode == 0


ALIKE = """
#include <kmarkers/user.h>
#include <kmarkers/sdt.h>

SDT_PROVIDER_DEFINE(p);
SDT_PROBE_DEFINE0(p, , , none);

static void site(const int number)
{
    asm goto(__SDT_INSN(KMARKERS_BRANCH("%l[on]"))
        : : "i" (&sdt_p___none), "i" (SDT_JUMP), "i" (0) : : on);
    if (number == 2)
        asm goto(__SDT_INSN(KMARKERS_BRANCH("%l[on]"))
            : : "i" (&sdt_p___none), "i" (SDT_JUMP), "i" (0) : : on);
on:
    return;
}

int main(int argc, char **argv)
{
    site(argc);
    return -kmarkers_start();
}
"""


@pytest.mark.usefixtures("library")
def test_sites_that_lead_to_one_place_are_refused(tmp_path: Path) -> None:
    """Their hits could not be told apart."""
    (tmp_path / "alike.c").write_text(ALIKE)
    program = linked("gcc", "-O2", tmp_path / "alike.c", tmp_path)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == errno.EINVAL
    assert "two sites of SDT probes lead to one place, the second is of none" in done.stderr


@pytest.mark.parametrize(
    "body",
    [
        "SDT_PROBE1(p, m, f, two, 1);",
        'SDT_PROBE3(p, m, f, two, 1, "", 2);',
        "SDT_PROBE1(p, , , none, 1);",
        "SDT_PROBE_FLAVOUR(nop, p, m, f, two, 1);",
        "SDT_PROBE0(p, , , unknown);",
        "SDT_PROBE2(p, m, f, two, 1, (struct s){ 1 });",
        "SDT_PROBE_FLAVOUR(unknown, p, , , none);",
        "SDT_PROBE_FLAVOUR(note, p, m, f, two, 1);",
        'SDT_PROBE_FLAVOUR(note, p, m, f, two, (struct s){ 1 }, "");',
        'SDT_PROBE_FLAVOUR(note, p, m, f, two, 1.0, "");',
        'SDT_PROBE2(p, m, f, two, "", "");',
        'SDT_PROBE2(p, m, f, two, &number, "");',
        "SDT_PROBE2(p, m, f, two, 1, number);",
        "SDT_PROBE2(p, m, f, two, 1, 5);",
        "SDT_PROBE_FLAVOUR(breakpoint, p, m, f, two, 1, 5);",
        "SDT_PROBE_FLAVOUR(note, p, m, f, two, 1, number);",
        "SDT_PROBE2(p, m, f, longs, number, f);",
        "SDT_PROBE2(p, m, f, longs, number, 1.5);",
        "SDT_PROBE_FLAVOUR(nop, p, m, f, others, number, 1.5f);",
        "SDT_PROBE1(elsewhere, , , declared, 1.5);",
    ],
)
def test_what_is_wrong_does_not_compile(compiler: str, body: str, tmp_path: Path) -> None:
    """A number of arguments that is not the probe's, what is no word, what is not there, a pointer
    for an integer and an integer for a pointer."""
    frame = HEAD + "struct s { int a; };\nint number;\n"
    frame += 'void f(void) { SDT_PROBE2(p, m, f, two, number, ""); %s }\n'
    assert compiled(compiler, frame % "", tmp_path).returncode == 0
    assert compiled(compiler, frame % body, tmp_path).returncode != 0


def test_a_pointer_is_no_integer(tmp_path: Path) -> None:
    """And the compiler says so."""
    source = f"{HEAD}void f(char *text) {{ SDT_PROBE2(p, m, f, two, text, text); }}\n"
    done = compiled("gcc", source, tmp_path)
    assert done.returncode != 0
    assert done.stderr.count("error:") == done.stderr.count("says integer where a pointer is") == 1


@pytest.mark.parametrize(
    "body",
    [
        "SDT_PROBE2(p, m, f, two, number, array);",
        "SDT_PROBE2(p, m, f, two, word, 0);",
        "SDT_PROBE2(p, m, f, two, truth, NULL);",
        "SDT_PROBE2(p, m, f, two, BLUE, (void *)word);",
        "SDT_PROBE2(p, m, f, two, bits.a, &number);",
        "SDT_PROBE2(p, m, f, longs, 'a', number);",
        "SDT_PROBE2(p, m, f, others, &number, word);",
        "SDT_PROBE2(p, m, f, others, word, &number);",
        "SDT_PROBE2(elsewhere, , , declared, &number, word);",
        "SDT_PROBE2(elsewhere, , , declared, word, f);",
    ],
)
@pytest.mark.parametrize("flavour", ["jump", "split", "note"])
def test_what_is_right_compiles(compiler: str, flavour: str, body: str, tmp_path: Path) -> None:
    """Integers of any size, pointers of any type, and 0 is both; of other types, anything."""
    frame = f"#define SDT_FLAVOUR {flavour}\n{HEAD}"
    frame += "enum { BLUE } colour;\nstruct { unsigned int a : 3; } bits;\n"
    frame += "int number; unsigned long word; bool truth; char array[4];\n"
    done = compiled(compiler, f"{frame}void f(void) {{ {body} }}\n", tmp_path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
