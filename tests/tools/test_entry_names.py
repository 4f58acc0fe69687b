# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the patterns that select recorded functions: entry/rules.c and entry/names.c are
compiled into a program in which the module, its symbols and the switching of sites are replaced."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT

FAKES = r"""
#include <linux/elf.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>

#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))

typedef Elf64_Sym Elf_Sym;
struct mod_kallsyms { Elf_Sym *symtab; unsigned int num_symtab; char *strtab; };
struct module { struct mod_kallsyms core_kallsyms; };

__thread unsigned int native_mutexes_held;
void native_gate_enter(void) { }
void native_gate_leave(void) { }
void native_sort(void *base, size_t nr, size_t size, int (*compare)(const void *, const void *),
                 void (*swap)(void *, void *, int))
{
    qsort(base, nr, size, compare);
}
int entry_enable_sites_with_actions(void) { return 0; }
int entry_disable_sites_without_actions(void) { return 0; }
"""
SOURCES = (
    "base/pattern.c",
    *(f"entry/{name}.c" for name in ("pattern", "registry", "names", "rules")),
)
MAIN = r"""
/* Of each symbol, the first byte is a site. */
static char text[64], names[4096];
static Elf_Sym symtab[65];
static struct patcher_compact_site compact[64];

/* Read a line "PATTERN NAME NAME...\n"; print the names whose sites have the pattern's action. */
static void print_matching_names(char *line)
{
    char *pattern = strsep(&line, " \n"), *name;
    struct module module = { { symtab, 1, names } };
    struct entry_table table = { .sites = { .compact = compact, .module = &module } };
    size_t used = 0;
    unsigned int i;

    while ((name = strsep(&line, " \n")) && *name) {
        i = table.sites.nr++;
        compact[i].addr = text + i - (char *)&compact[i].addr;
        compact[i].data = 0;
        symtab[module.core_kallsyms.num_symtab++] = (Elf_Sym) {
            .st_name = used, .st_info = STT_FUNC, .st_value = (unsigned long)(text + i),
        };
        used += sprintf(names + used, "%s", name) + 1;
    }
    if (entry_find_symbols(&table))
        exit(1);
    list_add(&table.node, &entry_registry.tables);
    if (entry_rule_add(pattern, ENTRY_COUNT))
        exit(2);
    for (i = 0; i < table.sites.nr; i++)
        if (compact[i].data & ENTRY_COUNT)
            printf("%s ", names + symtab[i + 1].st_name);
    printf("\n");
    if (entry_rule_remove(pattern, ENTRY_COUNT))
        exit(3);
    list_del(&table.node);
    kvfree(table.counts);
    kvfree(table.symbols);
    kvfree(table.by_name);
}

int main(void)
{
    char line[4096];

    while (fgets(line, sizeof(line), stdin))
        print_matching_names(line);
    return 0;
}
"""
# Symbols, and which of them each pattern matches. A part of f with the suffix ".cold" belongs to f.
PARTS_OF_F = ["f", "f.cold", "f.cold.1"]
CLONES_OF_F = ["f.part.0", "f.part.0.cold", "f.isra.0"]
ALL_OF_F = [*PARTS_OF_F, *CLONES_OF_F, "f_x", "f_x.cold"]
SYMBOLS = ["g", *ALL_OF_F, "colder"]
MATCHES = {
    "": SYMBOLS,
    "*": SYMBOLS,
    "f": PARTS_OF_F,
    "f*": ALL_OF_F,
    "[f]*": ALL_OF_F,
    "f?*": [*CLONES_OF_F, "f_x", "f_x.cold"],
    "f_*": ["f_x", "f_x.cold"],
    "f_x": ["f_x", "f_x.cold"],
    "f.*": CLONES_OF_F,
    "f.p*": ["f.part.0", "f.part.0.cold"],
    "f.part.0": ["f.part.0", "f.part.0.cold"],
    "f.part.0*": ["f.part.0", "f.part.0.cold"],
    "*.0": CLONES_OF_F,
    # The suffix ".cold" is not part of a function's name.
    "f.cold": [],
    "f.cold*": [],
    "f.c*": [],
    "f?cold": [],
    "*.cold": [],
    "f.part.0.*": [],
    "g.": [],
    "g.*": [],
    "c*": ["colder"],
}
# The parts of random symbols and patterns.
FUNCTIONS = ("f", "ff", "f_x", "fx", "g", "g_f", "cold", "F", "_")
SUFFIXES = ("", "", ".cold", ".cold.1", ".part.0", ".isra.0", ".part.0.cold", ".constprop.0.cold.2")
WILDCARDS = ("*", "*", "?", "[f]", "[!f]", "[f.]", "[a-g]*", "\\f", "\\.")
LITERALS = ("f", "g", "_", ".", ".", "x", "cold", ".cold", ".c", ".part.0", "0", "F")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile SOURCES with the replaced functions into a program; return its path."""
    folder = tmp_path_factory.mktemp("names")
    includes = "".join(f'#include "{ROOT / name}"\n' for name in SOURCES)
    (folder / "names.c").write_text(FAKES + includes + MAIN)
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wno-unused", "-Werror"]
    flags += ["-D_GNU_SOURCE", "-DNATIVE_BUILD", f"-I{ROOT}/native/include", f"-I{ROOT}/include"]
    program = folder / "names"
    subprocess.run(["gcc", *flags, "-o", program, folder / "names.c"], check=True)
    return program


def add_matching_symbols(
    program: Path, cases: Iterable[tuple[str, list[str]]]
) -> list[tuple[str, list[str], list[str]]]:
    """Return each case, a pattern and symbols, with the symbols that the pattern matches."""
    cases = list(cases)
    lines = "".join(" ".join([pattern, *symbols]) + "\n" for pattern, symbols in cases)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    found = [line.split() for line in done.stdout.splitlines()]
    return [(*case, matching) for case, matching in zip(cases, found, strict=True)]


def match_symbols_by_fnmatch(pattern: str, symbols: list[str]) -> list[str]:
    """Return the symbols whose functions match a pattern, according to fnmatchcase(). An escaped
    character is put in brackets, because fnmatchcase() supports no backslash."""
    glob = re.sub(r"\\(.)", r"[\1]", pattern) or "*"
    return [symbol for symbol in symbols if fnmatchcase(symbol.partition(".cold")[0], glob)]


def make_random_pattern_case(rng: random.Random) -> tuple[str, list[str]]:
    """Return a random pattern and random symbols, some of which may be equal. Half of the patterns
    begin with a symbol or the beginning of one."""
    symbols = [
        rng.choice(FUNCTIONS) + rng.choice(SUFFIXES) for _ in range(rng.choice((1, 2, 5, 12)))
    ]
    start = rng.choice(symbols)
    literal = start[: rng.randint(0, len(start))] if rng.random() < 0.5 else ""
    pieces = rng.choices(WILDCARDS + LITERALS, k=rng.choice((0, 0, 1, 2, 3)))
    return literal + "".join(pieces) + rng.choice(("", "", "*")), symbols


def lacks_symbol_with_prefix(pattern: str, symbols: list[str], matching: list[str]) -> bool:
    """Return True if a pattern is literal text and "*", and if it does not match one of the symbols
    that begin with the text."""
    prefix = pattern[:-1]
    return bool(re.fullmatch(r"[\w.]*\*", pattern)) and any(
        symbol.startswith(prefix) for symbol in {*symbols} - {*matching}
    )


def test_pattern_matches_functions_without_their_cold_suffix(program: Path) -> None:
    """A pattern is compared with the name of the function: f.cold is a part of the function f, but
    f.part.0 is a function of its own. This holds even if the literal beginning of the pattern
    contains a dot."""
    found = add_matching_symbols(program, ((pattern, SYMBOLS) for pattern in MATCHES))
    assert {pattern: matching for pattern, _, matching in found} == MATCHES


def test_bisection_finds_the_same_functions_as_comparing_each_name(program: Path) -> None:
    """Random patterns match the same functions as if each name were compared."""
    rng = random.Random(1)
    found = add_matching_symbols(program, (make_random_pattern_case(rng) for _ in range(8000)))
    for pattern, symbols, matching in found:
        assert matching == match_symbols_by_fnmatch(pattern, symbols), (pattern, symbols)
    assert sum(bool(matching) for *_, matching in found) > 2000
    # A pattern such as "f.*" does not match the symbol f.cold, although the symbol begins with f.
    assert sum(lacks_symbol_with_prefix(*case) for case in found) > 100
