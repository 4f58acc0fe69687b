# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the machine code of SDT probes with each installed compiler, and of compile-time
errors."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["-std=gnu11", "-O2", "-D_GNU_SOURCE", "-fno-pie", "-fcf-protection=none"]
# Kbuild compiles modules with this flag, too.
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

# Each function except empty() consists of a site and a ret.
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


def compile_probes(compiler: str, source: str, where: Path) -> subprocess.CompletedProcess[str]:
    """Compile a source text to probes.o."""
    (where / "probes.c").write_text(source)
    words: list[str | Path] = [compiler, *FLAGS, *INCLUDE, "-c", "-o", where / "probes.o"]
    words.append(where / "probes.c")
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.fixture(name="compiler", params=["gcc", "clang"])
def select_probe_compiler(request: pytest.FixtureRequest) -> str:
    """Return the name of a compiler. Each test runs with each compiler in turn, and is skipped for
    a compiler that is not installed."""
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is missing: run scripts/setup --tools")
    return str(request.param)


def disassemble_until_ret(name: str, built: Path) -> list[str]:
    """Return the instructions of a function up to the first ret, which are executed while probes
    are off."""
    words: list[str | Path] = ["objdump", "-d", "--insn-width=12", f"--disassemble={name}", built]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found = [match[1] for line in text.splitlines() if (match := INSTRUCTION.match(line))]
    return found[: next(i for i, one in enumerate(found) if one.startswith("ret")) + 1]


def test_site_of_each_flavour_has_one_or_two_instructions(compiler: str, tmp_path: Path) -> None:
    """A site needs one instruction before ret, or two with the flavour split. If the site passes
    its two arguments in swapped order, an xchg or three moves are added."""
    done = compile_probes(compiler, SOURCE, tmp_path)
    assert done.returncode == 0, done.stderr
    names = ("empty", "jump", "breakpoint", "nop", "split", "swapped", "declared")
    counts = {name: len(disassemble_until_ret(name, tmp_path / "probes.o")) - 1 for name in names}
    # The arguments are in the right registers, except in `swapped`, which needs an xchg, or three
    # moves through a third register.
    assert counts.pop("swapped") in (2, 4)
    assert counts == {
        "empty": 0,
        "jump": 1,
        "breakpoint": 1,
        "nop": 1,
        "split": 2,
        "declared": 1,
    }


def test_site_needs_12_or_28_bytes_of_table(tmp_path: Path) -> None:
    """A site needs 12 bytes of table; a site of flavour jump or breakpoint needs 16 more."""
    assert compile_probes("gcc", SOURCE, tmp_path).returncode == 0
    words: list[str | Path] = ["objdump", "-h", tmp_path / "probes.o"]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    sections = [line.split() for line in text.splitlines() if " kmarkers_sdt" in line]
    sizes = {name: int(size, 16) for _, name, size, *_ in sections}
    assert sizes == {
        "kmarkers_sdt": 6 * 12,
        "kmarkers_sdt_heads": 24,
        "kmarkers_sdttarget": 3 * 16,
        "kmarkers_sdttarget_heads": 24,
    }


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
def test_sdt_notes_have_the_locations_of_arguments(
    compiler: str, level: str, tmp_path: Path
) -> None:
    """The test program reads its own notes, and fetches the arguments of each site from the
    locations that the note has."""
    source, program = ROOT / "tests" / "native" / "notes.c", tmp_path / "notes"
    flags = [*FLAGS, "-DNATIVE_BUILD", level, "-no-pie"]
    words: list[str | Path] = [compiler, *flags, *INCLUDE, "-DSDT_NOTES_ONLY", "-o", program]
    words.append(source)
    subprocess.run(words, check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.stdout == NOTES
    assert done.returncode == 0


@pytest.mark.parametrize("without", [False, True])
def test_site_of_flavour_note_is_a_nop_or_no_instruction(
    compiler: str, without: bool, tmp_path: Path
) -> None:
    """A site of flavour note is a nop, or no instruction with SDT_NOTES_WITHOUT_NOP. readelf parses
    the note of the site."""
    site = "SDT_PROBE_FLAVOUR(note, p, m, f, two, a, b);"
    head = "#define SDT_NOTES_WITHOUT_NOP\n" * without + HEAD
    done = compile_probes(compiler, f"{head}\nvoid note(int a, char *b) {{ {site} }}\n", tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(disassemble_until_ret("note", tmp_path / "probes.o")) == 2 - without
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
def test_module_notes_have_the_locations_of_arguments(
    compiler: str, level: str, tmp_path: Path
) -> None:
    """The code in sdt/operands.c fetches the arguments of notes. This test compiles the code into a
    program with notes in the format of modules."""
    sources = [ROOT / "tests" / "native" / "module_notes.c", ROOT / "sdt" / "operands.c"]
    flags = [*FLAGS, "-DNATIVE_BUILD", "-DSDT_NOTES_OF_MODULES", *level.split(), "-no-pie"]
    subprocess.run([compiler, *flags, *INCLUDE, "-o", tmp_path / "notes", *sources], check=True)
    done = subprocess.run([tmp_path / "notes"], capture_output=True, text=True, check=False)
    assert done.stdout == MODULE_NOTES
    assert done.returncode == 0


def test_sdt_note_of_a_module_adds_no_instruction(compiler: str, tmp_path: Path) -> None:
    """A function with a note has only a ret. A note needs 16 bytes of table, and 4 for an argument
    in a register or 8 for a constant."""
    site = "SDT_PROBE_FLAVOUR(note, p, m, f, two, a, b);"
    constant = 'SDT_PROBE_FLAVOUR(note, p, m, f, two, 1, "");'
    source = f"#define SDT_NOTES_OF_MODULES\n{HEAD}\nvoid note(int a, char *b) {{ {site} }}\n"
    source += f"void constants(void) {{ {constant} }}\n"
    done = compile_probes(compiler, source, tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(disassemble_until_ret("note", tmp_path / "probes.o")) == 1
    assert len(disassemble_until_ret("constants", tmp_path / "probes.o")) == 1
    words: list[str | Path] = ["objdump", "-h", tmp_path / "probes.o"]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    sections = [line.split() for line in text.splitlines() if " kmarkers_sdtnote" in line]
    sizes = {name: int(size, 16) for _, name, size, *_ in sections}
    assert sizes["kmarkers_sdtnote"] == 2 * 16
    assert sizes["kmarkers_sdtnote_codes"] == 2 * 4 + 2 * 8


GUARDED = """
#include <kmarkers/user.h>
#include <kmarkers/sdt.h>
#include <kmarkers/typed.h>

SDT_PROVIDER_DEFINE(p);
SDT_PROBE_DEFINE1(p, , , one, "int");
DECLARE_MARKER(typed, MARKER_PROTO(int a), MARKER_ARGS(a), "%d");
DEFINE_MARKER(typed);

#define GUARD() int guard __attribute__((__cleanup__(done))) = 1
static void done(int *guard)
{
    *guard = 0;
}

int guarded(int n)
{
    SITE(n);
    {
        GUARD();
        SITE(n + 1);
        if (n > 3)
            return n;
    }
    GUARD();
    SITE(n + 2);
    return ({ GUARD(); SITE(n); n; });
}

int of_variable_length(int n)
{
    SITE(n);
    int array[n];
    array[0] = n;
    SITE(array[0]);
    return array[n - 1];
}

int switches(int n)
{
    switch (n) {
    case 1:
        SITE(n);
        break;
    default: {
        GUARD();
        SITE(n);
    }
    }
    return 0;
}
"""

SITES = [
    *(
        f"SDT_PROBE_FLAVOUR({flavour}, p, , , one, v)"
        for flavour in ("jump", "breakpoint", "nop", "note")
    ),
    *(
        f'trace_mark_flavour({flavour}, mark, NULL, "%d", v)'
        for flavour in ("jump", "generic", "immediate", "cmp_flip", "xor_flip")
    ),
    "mark_typed(typed, v)",
]


@pytest.mark.parametrize("site", SITES)
def test_sites_compile_with_cleanup_attributes_and_vlas(
    compiler: str, site: str, tmp_path: Path
) -> None:
    """Sites compile in a scope with cleanup attributes or variable-length arrays, also with clang
    before 17."""
    done = compile_probes(compiler, f"#define SITE(v) {site}\n{GUARDED}", tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "body",
    [
        "SDT_PROBE0(p, m, f, two);",
        'SDT_PROBE(p, m, f, two, 1, "", 1, 0, 0);',
        "SDT_PROBE(p, , , none, 1, 0, 0, 0, 0);",
        'SDT_PROBE1(p, m, f, two, "");',
        "DTRACE_PROBE1(own, float, 1.5f);",
        'SDT_PROBE3(p, m, f, two, 1, "", 2);',
        "SDT_PROBE1(p, , , none, 1);",
        "SDT_PROBE_FLAVOUR(nop, p, m, f, two);",
        "SDT_PROBE0(p, , , unknown);",
        "SDT_PROBE2(p, m, f, two, 1, (struct s){ 1 });",
        "SDT_PROBE_FLAVOUR(unknown, p, , , none);",
        "SDT_PROBE_FLAVOUR(note, p, m, f, two);",
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
def test_wrong_sdt_arguments_do_not_compile(compiler: str, body: str, tmp_path: Path) -> None:
    """The following mistakes are compile errors: a wrong number of arguments, an argument larger
    than a word, an undeclared name, a pointer for an integer, and an integer for a pointer."""
    frame = HEAD + "struct s { int a; };\nint number;\n"
    frame += 'void f(void) { SDT_PROBE2(p, m, f, two, number, ""); %s }\n'
    assert compile_probes(compiler, frame % "", tmp_path).returncode == 0
    assert compile_probes(compiler, frame % body, tmp_path).returncode != 0


def test_error_says_that_a_pointer_is_passed_for_an_integer(tmp_path: Path) -> None:
    """The error message says that an integer is declared."""
    source = f"{HEAD}void f(char *text) {{ SDT_PROBE2(p, m, f, two, text, text); }}\n"
    done = compile_probes("gcc", source, tmp_path)
    assert done.returncode != 0
    assert done.stderr.count("error:") == done.stderr.count("where a pointer is passed") == 1


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
def test_valid_sdt_arguments_compile(
    compiler: str, flavour: str, body: str, tmp_path: Path
) -> None:
    """Integers of any size are valid for a declared integer, pointers of any type for a declared
    pointer, and 0 for both. If another type is declared, integers and pointers are valid."""
    frame = f"#define SDT_FLAVOUR {flavour}\n{HEAD}"
    frame += "enum { BLUE } colour;\nstruct { unsigned int a : 3; } bits;\n"
    frame += "int number; unsigned long word; bool truth; char array[4];\n"
    done = compile_probes(compiler, f"{frame}void f(void) {{ {body} }}\n", tmp_path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


# The name of a provider is a macro, as in sys/compat/linux/linux_dtrace.h of FreeBSD.
MACROS = """
#include <linux/kernel.h>
#include <kmarkers/sdt.h>
#define LINUX_DTRACE linuxulator32
#define MODULE fork
#define FUNCTION linux_fork
#define PROBE return
#define LIN_SDT_PROBE1(a, b, c, d)	SDT_PROBE1(LINUX_DTRACE, a, b, c, d)
SDT_PROVIDER_DECLARE(LINUX_DTRACE);
SDT_PROVIDER_DEFINE(LINUX_DTRACE);
SDT_PROBE_DECLARE(LINUX_DTRACE, MODULE, FUNCTION, PROBE);
SDT_PROBE_DEFINE1(LINUX_DTRACE, MODULE, FUNCTION, PROBE, "int");
SDT_PROBE_DEFINE0(LINUX_DTRACE, MODULE, , entry);
void direct(int error) { SDT_PROBE1(LINUX_DTRACE, MODULE, FUNCTION, PROBE, error); }
void within(int error) { LIN_SDT_PROBE1(fork, linux_fork, return, error); }
void plain(int error) { SDT_PROBE1(linuxulator32, fork, linux_fork, return, error); }
void none(void) { SDT_PROBE0(LINUX_DTRACE, MODULE, , entry); }
void chosen(int error) { SDT_PROBE_FLAVOUR(nop, LINUX_DTRACE, MODULE, FUNCTION, PROBE, error); }
"""


def test_macros_as_probe_and_provider_names_are_expanded(compiler: str, tmp_path: Path) -> None:
    done = compile_probes(compiler, MACROS, tmp_path)
    assert done.returncode == 0 and not done.stderr, done.stderr
    words: list[str | Path] = ["nm", tmp_path / "probes.o"]
    names = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert set(re.findall(r"\bsdt_\w*linuxulator32\w*|\bsdt_\w*LINUX\w*", names)) == {
        "sdt_provider_linuxulator32",
        "sdt_linuxulator32_fork_linux_fork_return",
        "sdt_linuxulator32_fork__entry",
    }
    assert b"linux_fork\0" in (tmp_path / "probes.o").read_bytes()


@pytest.mark.parametrize("place", ["PROV, , , x", "p, PROV, , x", "p, , PROV, x", "p, , , PROV"])
def test_probe_name_that_expands_to_a_number_is_refused(
    compiler: str, place: str, tmp_path: Path
) -> None:
    """`linux`, which compilers define as the macro 1 in GNU dialects, is refused as a name."""
    provider = place.split(",", maxsplit=1)[0].replace("PROV", "linux")
    source = (
        "#include <linux/kernel.h>\n#include <kmarkers/sdt.h>\n"
        f"SDT_PROVIDER_DEFINE({provider});\n"
        f"SDT_PROBE_DEFINE0({place.replace('PROV', 'linux')});\n"
    )
    done = compile_probes(compiler, source, tmp_path)
    assert "name is a macro for 0 or 1, such as linux or unix" in done.stderr
