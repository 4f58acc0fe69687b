# SPDX-License-Identifier: GPL-2.0-only
"""Measures the sizes of sites in objects that are compiled for this purpose, and disassembles the
sites.

Two objects are compiled: one with a single function, which contains only a site, and one with
COPIES further copies of this function. The size of the site is the growth of the object per copy,
minus the growth per copy of a function without a site. Text before the first return counts as
likely to be executed, the rest as unlikely. The heads of tables do not count, because a file has
only one head of each table.
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
# The beginning of the paths of sources with variants of benchmarks.
VARIANT_SOURCES = "bench_modules/ops_"
PARTS = ("text", "text-likely", "text-unlikely", "data", "tables", "strings")
RECORD_ENTRIES_FLAGS = ("-pg", "-mfentry", "-mrecord-mcount", "-mnop-mcount")
# Compiler flags like those of modules and kmbench, but without padding between functions, which is
# not part of a site.
FLAGS = (
    "-std=gnu11", "-O2", "-D_GNU_SOURCE", "-DNATIVE_BUILD", "-fno-pie", "-fcf-protection=none",
    "-fno-align-functions", "-fno-align-jumps", "-fno-align-labels", "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables", "-fno-optimize-sibling-calls",
)  # fmt: skip
INCLUDES = tuple(f"-I{ROOT / part}" for part in ("native/include", "include", "bench_modules"))
# An SDT note has a nop at its site in user space, but not in modules. SDT_NOTES_WITHOUT_NOP omits
# the nop.
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
# The SDT flavours whose table record has twelve bytes.
SDT_FLAVOURS = ("sdt-jump", "sdt-breakpoint", "sdt-nop", "sdt-split")
RETURN = re.compile(r"^\s*([0-9a-f]+):\s+(?:[0-9a-f]{2} )*c3\s*\tret", re.M)
# Sections whose bytes do not count: the heads of tables, because further sites add no heads; notes,
# comments, debugging information and relocations.
UNCOUNTED_SECTIONS = re.compile(r".*_heads$|\.note\.gnu.*|\.comment|\.debug.*|\.rela.*")


@dataclass(frozen=True)
class Site:
    """The size and the code of a site of the form `form`, a key of SITES. `sizes` has the bytes of
    the site in each part of the object file; `code` is the disassembly of a function with only the
    site."""

    form: str
    sizes: Mapping[str, int]
    code: str


def find_object_part_of_section(section: str) -> str | None:
    """Return the part of an object to which the section with the name `section` belongs; None if
    the bytes of the section are not counted. count_bytes_before_return() later counts the part of
    the text before the first return."""
    if UNCOUNTED_SECTIONS.fullmatch(section):
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


def measure_object_part_sizes(built: Path) -> Counter[str]:
    """Return the number of bytes in each part, such as text, of the object file `built`."""
    done = processes.capture_output(["objdump", "-h", "-w", built])
    sizes: Counter[str] = Counter()
    for line in done.stdout.splitlines():
        words = line.split()
        if (
            len(words) > 2
            and words[0].isdigit()
            and (part := find_object_part_of_section(words[1]))
        ):
            sizes[part] += int(words[2], 16)
    return sizes


def compile_site_form(form: str, copies: int, folder: Path) -> Path:
    """Compile, in the folder `folder`, an object with `copies` functions, each with a site of the
    form `form`, a key of SITES."""
    site = SITES[form]
    functions = [f"void f{n}(long a, long b) {{ {site.format(n)}; }}" for n in range(copies)]
    source, built = folder / f"{form}-{copies}.c", folder / f"{form}-{copies}.o"
    source.write_text(HEAD + "\n".join(functions) + "\n", encoding="ascii")
    done = processes.capture_output(["gcc", *FLAGS, *INCLUDES, "-c", "-o", built, source])
    if done.returncode:
        raise FailedError(f"site form {form} does not compile: {done.stderr.strip()}")
    return built


def disassemble_site(built: Path) -> str:
    """Return the disassembly of the first function in the object file `built`, and of the code that
    the compiler moved out of this function."""
    words = ["objdump", "-dr", "--no-show-raw-insn", built]
    listed = processes.capture_output(words).stdout.split("\n\n")
    names = ("<f0>:", "<f0.cold>:")
    found = [piece.strip("\n") for piece in listed if any(name in piece for name in names)]
    return "\n\n".join(found)


def count_bytes_before_return(built: Path) -> int:
    """Return the number of bytes that are likely to be executed: the bytes before the first return
    in the first function of the object file `built`."""
    listed = processes.capture_output(
        ["objdump", "-d", "--insn-width=16", "--disassemble=f0", built]
    )
    found = RETURN.search(listed.stdout)
    if not found:
        raise FailedError(f"{built.name}: function f0 has no return instruction")
    return int(found[1], 16)


def measure_site_form(form: str, folder: Path, empty_sizes: Counter[str]) -> Site:
    """Measure the form `form` of a site, with objects in the folder `folder`; `empty_sizes` has the
    bytes of a function without a site, by part of the object."""
    one, many = compile_site_form(form, 1, folder), compile_site_form(form, 1 + COPIES, folder)
    grown = measure_object_part_sizes(many)
    grown.subtract(measure_object_part_sizes(one))
    sizes = {part: round(grown[part] / COPIES) - empty_sizes[part] for part in ("text", *PARTS[3:])}
    likely = count_bytes_before_return(one)
    sizes |= {"text-likely": likely, "text-unlikely": sizes["text"] - likely}
    return Site(form, {part: sizes[part] for part in PARTS}, disassemble_site(one))


def count_recorded_function_entries() -> int:
    """Return the number of function entries that gcc records with -mrecord-mcount in the sources
    that user-space programs and modules share. Sources with variants of benchmarks are left out,
    because these sources have a function for each variant and layout."""
    listed = processes.capture_output(["make", "-s", "-C", ROOT / "native", "list-shared"])
    entries = 0
    with tempfile.TemporaryDirectory() as directory:
        built = Path(directory) / "recorded.o"
        for name in listed.stdout.split():
            if name.startswith(VARIANT_SOURCES):
                continue
            words = ["gcc", *FLAGS, *RECORD_ENTRIES_FLAGS, *INCLUDES, '-DKBUILD_MODNAME="kmarkers"']
            done = processes.capture_output([*words, "-c", "-o", built, ROOT / name])
            if done.returncode:
                raise FailedError(f"{name} does not compile: {done.stderr.strip()}")
            shown = processes.capture_output(["objdump", "-h", "-w", built]).stdout
            found = re.search(r" __mcount_loc +([0-9a-f]+) ", shown)
            entries += int(found[1], 16) // 8 if found else 0
    return entries


def require_compiler_tools() -> None:
    """Raise UnableError if gcc or objdump is missing."""
    try:
        processes.capture_output(["gcc", "--version"])
        processes.capture_output(["objdump", "--version"])
    except OSError as error:
        raise UnableError(f"gcc and objdump are needed to measure sites: {error}") from None


def measure_all_site_forms() -> Iterator[Site]:
    """Yield the sizes and the disassembly of every form of a site."""
    require_compiler_tools()
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        one, many = (
            compile_site_form("none", 1, folder),
            compile_site_form("none", 1 + COPIES, folder),
        )
        grown = measure_object_part_sizes(many)
        grown.subtract(measure_object_part_sizes(one))
        empty_sizes = Counter({part: size // COPIES for part, size in grown.items()})
        for form in SITES:
            yield measure_site_form(form, folder, empty_sizes)


def measure_object_sizes() -> dict[tuple[str, str], int]:
    """Return all sizes and counts that are read from objects, by benchmark and variant."""
    found = {
        ("site-size", f"{site.form}:{part}"): size
        for site in measure_all_site_forms()
        for part, size in site.sizes.items()
    }
    found["call-sites", "recorded-entries"] = count_recorded_function_entries()
    return found
