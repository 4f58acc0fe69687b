# SPDX-License-Identifier: GPL-2.0-only
"""Tests of programs with USDT probes, built with the <sys/sdt.h> of kmarkers: notes, readers,
hits."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import nativeprograms
import pytest
from kmtools.base.paths import ROOT
from test_sdt_readers import REMEDY, list_systemtap_marks, run_program_with_home

INCLUDE = f"-I{ROOT}/include/usdt"
SYSTEMTAP = Path("/usr/include/x86_64-linux-gnu/sys/sdt.h")
LANGUAGES = [
    "gcc -std=c99 -Wpedantic",
    "gcc -std=gnu11 -Wconversion",
    "clang -std=c99",
    "clang -std=gnu17 -Wconversion",
    "g++ -x c++ -std=c++98",
    "g++ -x c++ -std=c++20 -Wconversion",
    "clang++ -x c++ -std=c++98",
    "clang++ -x c++ -std=c++17",
]
LEVELS = ["-O0", "-O2", "-O2 -fPIE -pie", "-O1 -fno-omit-frame-pointer -fPIC"]

FORMS = """
#include <stdio.h>
#include <sys/sdt.h>
#ifdef __cplusplus
typedef bool truth;
#else
typedef _Bool truth;
#endif
enum small { NEGATIVE = -1, POSITIVE };
#define PROVIDER forms
#define NAME by__macro
static int fixed = 5;
static __thread short own = -3;
int pass(int number, char **words);
int pass(int number, char **words)
{
    long double wide = 1;
    double real = 2.5;
    float narrow = 1.5f;
    truth yes = number != 0;
    signed char byte = -5;
    unsigned char letter = 250;
    const volatile short constant = 7;
    unsigned long long big = 1ULL << 40;
    enum small one = NEGATIVE;
    int array[3] = { 1, 2, 3 };

    DTRACE_PROBE(forms, none);
    STAP_PROBE0(forms, none__either);
    DTRACE_PROBE3(forms, reals, real, narrow, wide);
    STAP_PROBE6(forms, bytes, yes, byte, letter, constant, own, fixed);
    STAP_PROBE4(forms, pointers, words, words[0], array, "text");
    DTRACE_PROBE2(forms, others, one, big);
    STAP_PROBEV(forms, varied);
    STAP_PROBEV(forms, varied, number, array);
    DTRACE_PROBE12(forms, twelve, number, words[0], fixed, own, real, yes, byte, letter, words,
                   constant, big, array);
    STAP_PROBE1(PROVIDER, NAME, -1);
    return (int)(array[0] + real + narrow);
}
int main(int argc, char **argv)
{
    return pass(argc, argv) == 0;
}
"""
SIZES = {
    "none": "",
    "none__either": "",
    "reals": "8f 4f 8f",
    "bytes": "1 -1 1 -2 -2 -4",
    "pointers": "8 8 8 8",
    "others": "-4 8",
    "varied": "-4 8",
    "twelve": "-4 8 -4 -2 8f 1 -1 1 8 -2 8 8",
    "by__macro": "-4",
}


def compile_usdt_program(compiler: str, source: str, where: Path, *more: str) -> Path:
    """Compile and link a program without any warning."""
    words = compiler.split()
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is missing: {REMEDY}")
    (where / "program.c").write_text(source)
    flags = ["-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", *more]
    # If the caller gives an include directory, the <sys/sdt.h> in that directory is used.
    include = [] if any(word.startswith("-I") for word in more) else [INCLUDE]
    out = where / "program"
    done = subprocess.run(
        [*words, *flags, *include, "-o", out, where / "program.c"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out


def read_notes(program: Path) -> list[tuple[str, str, bool, list[str]]]:
    """Return the notes that readelf lists: provider, name, True if there is a semaphore,
    arguments."""
    words = ["readelf", "-W", "-n", str(program)]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = re.findall(
        r"Provider: (.*)\n\s*Name: (.*)\n\s*Location: (\S+), Base: (\S+), Semaphore: (\S+)\n"
        r"\s*Arguments: ?(.*)",
        text,
    )
    assert all(int(location, 0) and int(base, 0) for _, _, location, base, _, _ in found)
    return [
        (provider, name, int(semaphore, 0) != 0, re.findall(r"(-?\d+f?)@", arguments))
        for provider, name, _, _, semaphore, arguments in found
    ]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_each_probe_macro_has_its_note(language: str, level: str, tmp_path: Path) -> None:
    program = compile_usdt_program(language, FORMS, tmp_path, *level.split())
    found = read_notes(program)
    # In C++, the sign of an enum is unknown: the size in its note is 4 instead of -4 (signed).
    sizes = {**SIZES, "others": "4 8"} if "++" in language else SIZES
    wanted = sorted([*sizes.items(), ("varied", "")])
    assert sorted((name, " ".join(arguments)) for _, name, _, arguments in found) == wanted
    assert {provider for provider, _, _, _ in found} == {"forms"}
    assert not any(semaphore for _, _, semaphore, _ in found)
    assert subprocess.run([program], check=False).returncode == 0


@pytest.mark.parametrize("language", ["gcc -std=gnu11", "g++ -x c++"])
def test_notes_equal_the_notes_of_systemtaps_header(language: str, tmp_path: Path) -> None:
    """Both headers make the same notes, except for a long double, which readers do not support. The
    test replaces the long double by a double."""
    if not SYSTEMTAP.is_file():
        pytest.skip(f"{SYSTEMTAP} is missing: run scripts/setup --tools")
    source = FORMS.replace("long double wide", "double wide")
    source = source.replace("STAP_PROBE0(forms, none__either)", "STAP_PROBE(forms, none__either)")
    ours = read_notes(compile_usdt_program(language, source, tmp_path, "-O2"))
    more = ["-O2", "-DSDT_USE_VARIADIC", f"-I{SYSTEMTAP.parents[1]}"]
    theirs = read_notes(compile_usdt_program(language, source, tmp_path, *more))
    assert sorted(ours) == sorted(theirs)


SWITCH = """
#include <stdlib.h>
#include <sys/sdt.h>
volatile int sink;
#define ANSWER(name) \\
    __attribute__((noinline)) int name(void) { __asm__ __volatile__(""); return 1; }
ANSWER(one)
ANSWER(two)
__attribute__((noinline)) void done(int command, int id, const char *key, int stored)
{
    switch (command) {
    case 0: DTRACE_PROBE3(store, command__add, id, key, stored ? 100 : -1); break;
    case 1: DTRACE_PROBE3(store, command__set, id, key, stored ? 100 : -1); break;
    case 2: DTRACE_PROBE3(store, command__get, id, key, stored ? 100 : -1); break;
    }
    sink = stored ? one() : two();
}
int main(void)
{
    for (int i = 0; i < 30; i++)
        done(i % 3, 3, "key", i & 1);
    return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc -std=gnu11", "clang -std=gnu11"])
def test_no_two_probes_share_an_address(compiler: str, tmp_path: Path) -> None:
    """Compilers do not merge equal cases of a switch that contain probes."""
    program = compile_usdt_program(compiler, SWITCH, tmp_path, "-O2", "-Wno-missing-prototypes")
    for name in ("add", "set", "get"):
        steps = [f"break -probe-stap store:command__{name}", "ignore 1 1000", "run", "info b"]
        commands = [word for step in steps for word in ("-ex", step)]
        text = run_program_with_home(tmp_path, "gdb", "-nx", "-batch", *commands, program)
        assert "already hit 10 times" in text


GUARDED = """
#include <stdio.h>
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
volatile unsigned short server_request__start_semaphore __attribute__((section(".probes")));
static int described;
static const char *describe(int number)
{
    described++;
    return number & 1 ? "odd" : "even";
}
int main(void)
{
    for (int i = 0; i < 6; i++)
        if (__builtin_expect(server_request__start_semaphore, 0))
            DTRACE_PROBE2(server, request__start, i, describe(i));
    printf("described %d\\n", described);
    return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc -std=gnu11", "clang -std=gnu11", "g++ -x c++"])
def test_semaphore_is_nonzero_while_gdb_has_a_breakpoint(compiler: str, tmp_path: Path) -> None:
    program = compile_usdt_program(compiler, GUARDED, tmp_path, "-O2")
    # There may be several notes, because compilers may unroll the loop.
    assert all(
        note == ("server", "request__start", True, ["-4", "8"]) for note in read_notes(program)
    )
    assert read_notes(program)
    assert run_program_with_home(tmp_path, program).strip() == "described 0"
    steps = ["break -probe-stap server:request__start", "ignore 1 3", "run", "delete", "continue"]
    commands = [word for step in steps for word in ("-ex", step)]
    text = run_program_with_home(tmp_path, "gdb", "-nx", "-batch", *commands, program)
    # gdb stops the program at the fourth hit, and then removes the breakpoint.
    assert "described 4" in text


VALUES = """
#include <sys/sdt.h>
static volatile int counter = 11;
static __thread volatile int perthread = -33;
int main(int argc, char **argv)
{
    volatile long local = -6000000000;
    unsigned char letter = 250;

    (void)argv;
    DTRACE_PROBE6(values, six, counter, perthread, local, (char)-argc, letter, 4000000000U + argc);
    return 0;
}
"""


@pytest.mark.parametrize("level", ["-O0 -fPIE -pie", "-O2 -no-pie"])
@pytest.mark.parametrize("compiler", ["gcc -std=gnu11", "clang -std=gnu11", "g++ -x c++"])
def test_gdb_reads_arguments_of_usdt_probes(compiler: str, level: str, tmp_path: Path) -> None:
    program = compile_usdt_program(compiler, VALUES, tmp_path, *level.split())
    wanted = "".join(f", (long)$_probe_arg{i}" for i in range(6))
    steps = ["break -probe-stap values:six", "run", f'printf "six:{" %ld" * 6}\\n"{wanted}']
    commands = [word for step in steps for word in ("-ex", step)]
    lines = run_program_with_home(tmp_path, "gdb", "-nx", "-batch", *commands, program).splitlines()
    assert "six: 11 -33 -6000000000 -1 250 4000000001" in lines


def test_perf_and_bpftrace_find_probes(tmp_path: Path) -> None:
    program = compile_usdt_program("gcc -std=gnu11", FORMS, tmp_path, "-O2", "-Wl,--build-id")
    listed = run_program_with_home(tmp_path, "bpftrace", "-l", f"usdt:{program}:*").splitlines()
    assert sorted(set(listed)) == [f"usdt:{program}:forms:{name}" for name in sorted(SIZES)]
    run_program_with_home(tmp_path, "perf", "buildid-cache", "--add", program)
    found = re.findall(r"\bsdt_forms:(\w+)", run_program_with_home(tmp_path, "perf", "list", "sdt"))
    assert sorted(set(found)) == sorted(SIZES)


def test_systemtap_finds_probes_and_arguments(tmp_path: Path) -> None:
    program = compile_usdt_program("gcc -std=gnu11", FORMS, tmp_path, "-O2", "-Wl,--build-id")
    marks = list_systemtap_marks(program, tmp_path)
    assert sorted(marks) == sorted(SIZES)
    # There are two probes with the name varied; one has no argument.
    same = [name for name in SIZES if name != "varied"]
    assert [len(marks[name]) for name in same] == [len(SIZES[name].split()) for name in same]


INLINED = """
#include <sys/sdt.h>
template <typename T> inline __attribute__((noinline)) T twice(T number)
{
    DTRACE_PROBE1(inlined, twice, number);
    return number * 2;
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_inline_function_in_two_files_has_one_note(compiler: str, tmp_path: Path) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is missing: {REMEDY}")
    (tmp_path / "a.cc").write_text(INLINED + "int other(int n) { return twice(n); }\n")
    main = "int other(int);\nint main(int n, char **) { return twice(n) + other(n) == 0; }\n"
    (tmp_path / "b.cc").write_text(INLINED + main)
    words = [compiler, "-O2", "-ffunction-sections", "-Wl,--gc-sections", INCLUDE]
    subprocess.run([*words, "-o", tmp_path / "p", tmp_path / "a.cc", tmp_path / "b.cc"], check=True)
    assert read_notes(tmp_path / "p") == [("inlined", "twice", False, ["-4"])]


SITES = """
#include <stdio.h>
#include <sys/sdt.h>
#include <kmarkers/user.h>
static unsigned int hits;
static unsigned long sum;
static void add(void *unused, const struct sdt_hit *hit)
{
    (void)unused;
    hits++;
    sum += hit->args[0] + (hit->nr > 6 ? hit->args[6] : 0);
}
int main(void)
{
    int err = kmarkers_start();

    DTRACE_PROBE2(server, request__start, 1000, "before");
    err = err ? err : sdt_attach("server:::", add, NULL);
    for (int i = 0; i < 5; i++) {
        DTRACE_PROBE2(server, request__start, i, "text");
        DTRACE_PROBE12(server, many, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    }
    sdt_detach("server:::", add, NULL);
    DTRACE_PROBE2(server, request__start, 1000, "behind");
    printf("%d: %u hits, %lu\\n", err, hits, sum);
    return err;
}
"""


@pytest.mark.parametrize("compiler", ["gcc -std=gnu11", "clang -std=gnu11"])
def test_usdt_sites_call_handlers_in_the_program(compiler: str, tmp_path: Path) -> None:
    """With USDT_SITES, a handler in the program is called for each hit, and the notes exist,
    too."""
    nativeprograms.build_native_programs("libkmarkers.a")
    more = [f"-I{ROOT}/native/include", f"-I{ROOT}/include", INCLUDE, "-DUSDT_SITES", "-O2"]
    source = tmp_path / "sites.c"
    source.write_text(SITES)
    words = [*compiler.split(), "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", *more]
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is missing: {REMEDY}")
    program = tmp_path / "sites"
    library = nativeprograms.NATIVE / "libkmarkers.a"
    subprocess.run([*words, "-o", program, source, library, "-pthread"], check=True)
    assert (
        run_program_with_home(tmp_path, program)
        == f"0: 10 hits, {0 + 1 + 2 + 3 + 4 + 5 * (1 + 7)}\n"
    )
    assert {name for _, name, _, _ in read_notes(program)} == {"request__start", "many"}
