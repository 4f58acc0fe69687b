# SPDX-License-Identifier: GPL-2.0-only
"""Reads the sites (markers, SDT probes and immediate values) from the ELF file of a module.

The tables that include/kmarkers/table.h defines are parsed, and their relocations are applied as
the kernel applies them when it loads the module.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from kmtools.base.errors import UnableError
from kmtools.lab.stock import read_module_file

# The exceptions that pyelftools raises when it reads a damaged file.
DAMAGE = (
    *(ELFError, ArithmeticError, AssertionError, AttributeError, LookupError, TypeError),
    *(ValueError, zlib.error),
)

# Sizes and offsets in bytes:
# SITE_BYTES: the size of struct patcher_site.
# NOTE_BYTES: the size of a note's record; a note is a probe without an instruction of its own.
# KEY_AT, SIZE_AT: the offsets of the members key and size in struct patcher_site and in a note's
# record.
# FLAGS_AT: the offset of the upper byte of the member flags in struct patcher_site.
SITE_BYTES, NOTE_BYTES, KEY_AT, SIZE_AT, FLAGS_AT = 12, 16, 4, 9, 11
# Member offsets in struct marker.
NAME_AT, FUNCTION_AT, FILE_AT, LINE_AT, STATE_AT, FLAVOUR_AT = 0, 16, 24, 32, 36, 37
MARKER_FLAVOURS = (
    "generic", "immediate", "jump", "cmp_flip", "xor_flip", "typed", "function", "tracepoint",
)  # fmt: skip
SDT_FLAVOURS = ("jump", "breakpoint", "nop", "split", "note")
# The flavours of SDT probes whose sites have a key that points to a struct sdt_origin. The first
# member of this struct points to the probe.
SDT_BRANCHES = {"jump", "breakpoint"}
# Member offsets in struct sdt_probe.
PROVIDER_AT, PROBE_NAME_AT = 0, 24
# The symbol suffix of immediate values.
SUFFIX = "__imv"
# Symbols that are not names of functions in the source. PADDING: the symbol prefix for the padding
# before a function. ALIASES: symbols that module_init() and module_exit() define.
PADDING, ALIASES = "__pfx_", {"init_module", "cleanup_module"}
# How a site of an immediate value is described, by the upper byte of the site's flags. The keys
# are, in order: no flag, IMV_BRANCH, IMV_FLIP, IMV_COMPARE, and IMV_COMPARE with IMV_SIGNED.
VALUE_KINDS = {
    0: "imv_read() of",
    1: "imv_branch() of",
    2: "imv_cmp_flip() or imv_xor_flip() of",
    4: "comparison with",
    12: "comparison with",
}
REMEDIES = {
    "marker": "use _trace_mark(), or make its function noinline and not __init",
    "SDT probe": "make its function noinline and not __init",
    **dict.fromkeys(
        VALUE_KINDS.values(), "use _imv_read(), or make its function noinline and not __init"
    ),
}


class Position(NamedTuple):
    """A position in the file of a module: the index of a section, and an offset in this section."""

    section: int
    offset: int

    def __add__(self, byte_count: object) -> Position:
        """Return the position `byte_count` bytes after this one."""
        assert isinstance(byte_count, int)
        return Position(self.section, self.offset + byte_count)


@dataclass(frozen=True)
class Site:
    """A site of a module; or a marker that has no site, because it loads its state from memory.

    `of` is the function that contains the site in the source. `function` is the function that
    contains the site in the machine code: another function if the compiler inlined `of`. `place` is
    FILE:LINE, empty if not recorded.
    """

    kind: str
    name: str
    flavour: str
    place: str
    of: str
    function: str
    is_freed: bool

    @property
    def load_obstacle(self) -> str:
        """The reason why a module with this site cannot be loaded, with the remedy; empty if the
        module can be loaded."""
        if not self.is_freed:
            return ""
        where = ", ".join(part for part in (self.place, self.of) if part)
        named = f"{self.kind} {self.name}{f' ({where})' if where else ''}"
        return f"{named} is in {self.function}, which is freed after init: {REMEDIES[self.kind]}"


class Module:
    """The sections, symbols and relocations of a module's ELF file."""

    def __init__(self, path: Path) -> None:
        """Read a file; raise UnableError if it is not a module."""
        data = read_module_file(path)
        try:
            self._read_elf(ELFFile(BytesIO(data)))
        except DAMAGE as error:
            why = error or type(error).__name__
            raise UnableError(f"{path} is not a kernel module: {why}") from error

    def _read_elf(self, elf: Any) -> None:
        if elf["e_type"] != "ET_REL":
            raise ELFError("a module is a relocatable ELF file")
        sections = list(elf.iter_sections())
        self.names = [section.name for section in sections]
        self.data = [
            b"" if section["sh_type"] == "SHT_NOBITS" else section.data() for section in sections
        ]
        table = elf.get_section_by_name(".symtab")
        self.symbols = list(table.iter_symbols()) if table else []
        self.targets: dict[Position, Position] = {}
        for section in sections:
            if section["sh_type"] == "SHT_RELA":
                self._apply_relocations(section)
        self.functions = self._list_sorted_symbols("STT_FUNC")
        self.objects = self._list_sorted_symbols("STT_OBJECT")

    def _apply_relocations(self, section: Any) -> None:
        for each in section.iter_relocations():
            symbol = self.symbols[each["r_info_sym"]]
            number = symbol["st_shndx"]
            # Leave out undefined symbols (of the kernel or of other modules): they have no section.
            if isinstance(number, int):
                to = Position(number, symbol["st_value"] + each["r_addend"])
                self.targets[Position(section["sh_info"], each["r_offset"])] = to

    def _list_sorted_symbols(self, kind: str) -> list[tuple[Position, str]]:
        found = sorted(
            (Position(symbol["st_shndx"], symbol["st_value"]), symbol.name)
            for symbol in self.symbols
            if symbol["st_info"]["type"] == kind and isinstance(symbol["st_shndx"], int)
        )
        named = [pair for pair in found if not pair[1].startswith(PADDING)]
        places = {place for place, name in named if name not in ALIASES}
        return [
            (place, name) for place, name in named if name not in ALIASES or place not in places
        ]

    def list_table_records(self, table: str, size: int) -> Iterator[Position]:
        """Yield the position of each record, of `size` bytes, in a table."""
        wanted = f".discard_kmarkers_{table}"
        for number, name in enumerate(self.names):
            if name == wanted:
                for offset in range(0, len(self.data[number]), size):
                    yield Position(number, offset)

    def read_byte(self, position: Position) -> int:
        """Return the byte at a position."""
        return self.data[position.section][position.offset]

    def read_u32(self, position: Position) -> int:
        """Return the unsigned 32-bit number at a position."""
        return int.from_bytes(
            self.data[position.section][position.offset : position.offset + 4], "little"
        )

    def follow_pointer(self, position: Position) -> Position:
        """Return the position to which the pointer at `position` points, from the relocation of the
        pointer. The pointer may be absolute or relative."""
        return self.targets[position]

    def read_string(self, position: Position) -> str:
        """Return the string to which the pointer at `position` points."""
        to = self.follow_pointer(position)
        return self.data[to.section][to.offset :].split(b"\0", 1)[0].decode(errors="replace")

    def find_symbol_at(self, symbols: list[tuple[Position, str]], position: Position) -> str:
        """Return the name of the last symbol at or before a position in the same section; else
        "?"."""
        index = bisect_right(symbols, position, key=lambda pair: pair[0]) - 1
        return (
            symbols[index][1]
            if index >= 0 and symbols[index][0].section == position.section
            else "?"
        )

    def is_in_init_section(self, position: Position) -> bool:
        """Return True if a position is in a section that the kernel frees after the init
        function."""
        return str(self.names[position.section]).startswith(".init.")


def read_module_sites(path: Path) -> list[Site]:
    """Return the sites in a module's file: first the sites of immediate values and markers, then
    the sites of SDT probes.

    Raise UnableError if the file is not a module, or if its tables are of another version.
    """
    module = Module(path)
    try:
        return [*_read_imv_and_marker_sites(module), *_read_sdt_sites(module)]
    except (KeyError, IndexError) as error:
        raise UnableError(
            f"{path}: the tables of sites cannot be read; rebuild the module with this version of"
            " kmarkers"
        ) from error


def _read_imv_and_marker_sites(module: Module) -> Iterator[Site]:
    """Yield the sites of immediate values and of markers, then the markers without a site."""
    markers = {
        marker + STATE_AT: marker
        for marker in map(module.follow_pointer, module.list_table_records("markers", 4))
    }
    seen = set()
    for record in module.list_table_records("imv", SITE_BYTES):
        at, key = module.follow_pointer(record), module.follow_pointer(record + KEY_AT)
        marker = markers.get(key)
        seen.add(key)
        if marker:
            yield _make_marker_site(module, marker, at)
        else:
            name = module.find_symbol_at(module.objects, key).removesuffix(SUFFIX)
            where = (module.find_symbol_at(module.functions, at), module.is_in_init_section(at))
            kind = VALUE_KINDS[module.read_byte(record + FLAGS_AT)]
            yield Site(kind, name, "immediate", "", "", *where)
    for key, marker in markers.items():
        if key not in seen:
            yield _make_marker_site(module, marker, None)


def _make_marker_site(module: Module, marker: Position, position: Position | None) -> Site:
    """Return the site of the struct marker at `marker`. `position` is the position of the site's
    instruction; None for a marker without a site."""
    function = module.read_string(marker + FUNCTION_AT)
    return Site(
        "marker",
        module.read_string(marker + NAME_AT),
        MARKER_FLAVOURS[module.read_byte(marker + FLAVOUR_AT)],
        f"{module.read_string(marker + FILE_AT)}:{module.read_u32(marker + LINE_AT)}",
        function,
        module.find_symbol_at(module.functions, position) if position else function,
        position is not None and module.is_in_init_section(position),
    )


def _read_sdt_sites(module: Module) -> Iterator[Site]:
    for table, size in (("sdt", SITE_BYTES), ("sdtnote", NOTE_BYTES)):
        for record in module.list_table_records(table, size):
            at, probe = module.follow_pointer(record), module.follow_pointer(record + KEY_AT)
            flavour = SDT_FLAVOURS[module.read_byte(record + SIZE_AT)]
            if flavour in SDT_BRANCHES:
                probe = module.follow_pointer(probe)
            provider = module.read_string(module.follow_pointer(probe + PROVIDER_AT))
            name = f"{provider}:{module.read_string(probe + PROBE_NAME_AT)}"
            where = (module.find_symbol_at(module.functions, at), module.is_in_init_section(at))
            yield Site("SDT probe", name, flavour, "", "", *where)
