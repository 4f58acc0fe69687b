# SPDX-License-Identifier: GPL-2.0-only
"""The sizes of sites and their disassembly, read from objects compiled for this purpose.

A function that holds nothing but a site is compiled once, and then COPIES times more. The size of a
site is the growth of the object per function, less that of functions without a site: text up to the
first return is likely to be executed, and the rest is not. Heads of tables, which a file has once,
do not count.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kmtools.base import processes
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.paths import ROOT

COPIES = 16
VARIANTS = "bench_modules/ops_"
PARTS = ("text", "text-likely", "text-unlikely", "data", "tables", "strings")
RECORDING = ("-pg", "-mfentry", "-mrecord-mcount", "-mnop-mcount")
# As for modules and for kmbench, without padding between functions, which is not the site's.
FLAGS = (
    "-std=gnu11", "-O2", "-D_GNU_SOURCE", "-DNATIVE_BUILD", "-fno-pie", "-fcf-protection=none",
    "-fno-align-functions", "-fno-align-jumps", "-fno-align-labels", "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables", "-fno-optimize-sibling-calls",
)  # fmt: skip
INCLUDES = tuple(f"-I{ROOT / part}" for part in ("native/include", "include", "bench_modules"))
# Notes are those of modules; in programs a note has a nop.
HEAD = """
#define SDT_NOTES_WITHOUT_NOP
#include <linux/kernel.h>
#include <kmarkers/marker.h>
#include <kmarkers/typed.h>
#include <kmarkers/sdt.h>
#include "sdt_forms.h"
SDT_PROVIDER_DEFINE(p);
SDT_PROBE_DEFINE2(p, , , probe, "long", "long");
static struct form_probe old;
struct form_probe *const old_is_not_constant = &old;
"""
MARK = 'trace_mark_flavour({0}, m{{0}}, NULL, "%ld %ld", a, b)'
SDT = "SDT_PROBE_FLAVOUR({0}, p, , , probe, a, b)"
SITES: Mapping[str, str] = {
    "none": "",
    "marker-generic": MARK.format("generic"),
    "marker-immediate": MARK.format("immediate"),
    "marker-jump": MARK.format("jump"),
    "marker-cmp-flip": MARK.format("cmp_flip"),
    "marker-xor-flip": MARK.format("xor_flip"),
    "sdt-jump": SDT.format("jump"),
    "sdt-breakpoint": SDT.format("breakpoint"),
    "sdt-nop": SDT.format("nop"),
    "sdt-split": SDT.format("split"),
    "sdt-note": SDT.format("note"),
    "sdt-func-ptr": "FORM_FUNC_PTR(old, a)",
    "sdt-global-gate": "FORM_GLOBAL_GATE(old, a)",
    "sdt-decoder-call": "FORM_DECODER_CALL(old, a)",
}
# The forms that have a record of twelve bytes.
SDT_FLAVOURS = ("sdt-jump", "sdt-breakpoint", "sdt-nop", "sdt-split")
RETURN = re.compile(r"^\s*([0-9a-f]+):\s+(?:[0-9a-f]{2} )*c3\s*\tret", re.M)
# The kernel's and the program's names of the sections of heads.
HEADS = re.compile(r".*_heads$|\.note\.gnu.*|\.comment|\.debug.*|\.rela.*")


@dataclass(frozen=True)
class Site:
    """Bytes of one site of a form, by part, and the code of a function that holds only it."""

    form: str
    sizes: Mapping[str, int]
    code: str


def part_of(section: str) -> str | None:
    """The part that a section belongs to, by its name; None if it does not count. likely_bytes()
    divides text."""
    if HEADS.fullmatch(section):
        return None
    if section.startswith(".text"):
        return "text"
    if section.startswith((".rodata", "__markers_strings")) or "strings" in section:
        return "strings"
    if section.startswith((".data", ".bss")) or section in ("__markers", "kmarkers_data"):
        return "data"
    if "kmarkers" in section or section.startswith((".discard", "__", ".note.stapsdt")):
        return "tables"
    return None


def sections(built: Path) -> Counter[str]:
    """Bytes of an object by part."""
    done = processes.captured(["objdump", "-h", "-w", built])
    sizes: Counter[str] = Counter()
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) > 2 and words[0].isdigit() and (part := part_of(words[1])):
            sizes[part] += int(words[2], 16)
    return sizes


def compiled(form: str, copies: int, where: Path) -> Path:
    """Compile functions of a form to an object."""
    site = SITES[form]
    functions = [f"void f{n}(long a, long b) {{ {site.format(n)}; }}" for n in range(copies)]
    source, built = where / f"{form}-{copies}.c", where / f"{form}-{copies}.o"
    source.write_text(HEAD + "\n".join(functions) + "\n", encoding="ascii")
    done = processes.captured(["gcc", *FLAGS, *INCLUDES, "-c", "-o", built, source])
    if done.returncode:
        raise FailedError(f"{form} does not compile: {done.stderr.strip()}")
    return built


def code_of(built: Path) -> str:
    """The disassembly of the first function, and of what the compiler moved out of it."""
    words = ["objdump", "-dr", "--no-show-raw-insn", built]
    listed = processes.captured(words).stdout.split("\n\n")
    names = ("<f0>:", "<f0.cold>:")
    found = [piece.strip("\n") for piece in listed if any(name in piece for name in names)]
    return "\n\n".join(found)


def likely_bytes(built: Path) -> int:
    """Bytes of the first function up to its first return, which does not count."""
    listed = processes.captured(["objdump", "-d", "--insn-width=16", "--disassemble=f0", built])
    found = RETURN.search(listed.stdout)
    if not found:
        raise FailedError(f"{built.name}: no return in the function")
    return int(found[1], 16)


def measure(form: str, where: Path, empty: Counter[str]) -> Site:
    """Measure one form; `empty` has the sizes of a function without a site."""
    one, many = compiled(form, 1, where), compiled(form, 1 + COPIES, where)
    grown = sections(many)
    grown.subtract(sections(one))
    sizes = {part: round(grown[part] / COPIES) - empty[part] for part in ("text", *PARTS[3:])}
    likely = likely_bytes(one)
    sizes |= {"text-likely": likely, "text-unlikely": sizes["text"] - likely}
    return Site(form, {part: sizes[part] for part in PARTS}, code_of(one))


def recorded_entries() -> int:
    """The number of function entries that gcc records in the sources that programs and modules
    share: the nops that could become calls, in either build. Files with variants of benchmarks are
    left out, because a variant is a function for every layout."""
    listed = processes.captured(["make", "-s", "-C", ROOT / "native", "list-shared"])
    entries = 0
    with tempfile.TemporaryDirectory() as directory:
        built = Path(directory) / "recorded.o"
        for name in listed.stdout.split():
            if name.startswith(VARIANTS):
                continue
            words = ["gcc", *FLAGS, *RECORDING, *INCLUDES, '-DKBUILD_MODNAME="kmarkers"']
            done = processes.captured([*words, "-c", "-o", built, ROOT / name])
            if done.returncode:
                raise FailedError(f"{name} does not compile: {done.stderr.strip()}")
            shown = processes.captured(["objdump", "-h", "-w", built]).stdout
            found = re.search(r" __mcount_loc +([0-9a-f]+) ", shown)
            entries += int(found[1], 16) // 8 if found else 0
    return entries


def require_tools() -> None:
    """Raise UnableError without a compiler."""
    try:
        processes.captured(["gcc", "--version"])
        processes.captured(["objdump", "--version"])
    except OSError as error:
        raise UnableError(f"sizes of sites need gcc and objdump: {error}") from None


def all_sites() -> Iterator[Site]:
    """Measure every form."""
    require_tools()
    with tempfile.TemporaryDirectory() as directory:
        where = Path(directory)
        one, many = compiled("none", 1, where), compiled("none", 1 + COPIES, where)
        grown = sections(many)
        grown.subtract(sections(one))
        empty = Counter({part: size // COPIES for part, size in grown.items()})
        for form in SITES:
            yield measure(form, where, empty)


def rows() -> dict[tuple[str, str], int]:
    """All numbers that are read from objects, by benchmark and variant."""
    found = {
        ("site-size", f"{site.form}:{part}"): size
        for site in all_sites()
        for part, size in site.sizes.items()
    }
    found["call-sites", "recorded-entries"] = recorded_entries()
    return found
