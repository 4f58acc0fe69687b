# SPDX-License-Identifier: GPL-2.0-only
"""Reads the sites of a module from its file: markers, SDT probes and immediate values, with their
places.

The records are those of include/kmarkers/table.h, with the relocations that the kernel applies when
it loads the module.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from kmtools.base.errors import UnableError
from kmtools.lab.stock import unpacked

# The exceptions that pyelftools raises for damaged files.
DAMAGE = (ELFError, AssertionError, AttributeError, LookupError, TypeError, ValueError)

# A site: struct patcher_site. A note has four bytes more.
SITE_BYTES, NOTE_BYTES, KEY_AT, SIZE_AT = 12, 16, 4, 9
# Fields of struct marker.
NAME_AT, FUNCTION_AT, FILE_AT, LINE_AT, STATE_AT, FLAVOUR_AT = 0, 16, 24, 32, 36, 37
MARKER_FLAVOURS = (
    "generic", "immediate", "jump", "cmp_flip", "xor_flip", "typed", "function", "tracepoint",
)  # fmt: skip
SDT_FLAVOURS = ("jump", "breakpoint", "nop", "split", "note")
# The key of these flavours is a struct sdt_origin, which begins with the address of the probe.
SDT_BRANCHES = {"jump", "breakpoint"}
# Fields of struct sdt_probe.
PROVIDER_AT, PROBE_NAME_AT = 0, 24
SUFFIX = "__imv"
# The prefix of symbols for the padding before a function, and aliases that the kernel gives to
# functions.
PADDING, ALIASES = "__pfx_", {"init_module", "cleanup_module"}
REMEDIES = {
    "marker": "use _trace_mark(), or make its function noinline and not __init",
    "SDT probe": "make its function noinline and not __init",
    "imv_read() of": "use _imv_read(), or make its function noinline and not __init",
}


class Place(NamedTuple):
    """A place in the file of a module: the number of a section, and an offset in the section."""

    section: int
    offset: int

    def __add__(self, more: object) -> Place:
        """Return the place `more` bytes after this one."""
        assert isinstance(more, int)
        return Place(self.section, self.offset + more)


@dataclass(frozen=True)
class Site:
    """A site of a module, or a marker that has none because it reads its state from memory.

    `function` is the function whose text has the site, `of` is the function in the source; they
    differ if the compiler inlined. `place` is the file and line, if they are recorded.
    """

    kind: str
    name: str
    flavour: str
    place: str
    of: str
    function: str
    is_freed: bool

    @property
    def fault(self) -> str:
        """Why the module cannot be loaded with this site, and the remedy; empty if it can."""
        if not self.is_freed:
            return ""
        where = ", ".join(part for part in (self.place, self.of) if part)
        named = f"{self.kind} {self.name}{f' ({where})' if where else ''}"
        return f"{named} is in {self.function}, which is freed after init: {REMEDIES[self.kind]}"


class Module:
    """The file of a module: its sections, symbols and relocations."""

    def __init__(self, path: Path) -> None:
        """Read a file; raises UnableError if it is no module."""
        data = unpacked(path)
        try:
            self._read(ELFFile(BytesIO(data)))
        except DAMAGE as error:
            raise UnableError(f"{path} is no module: {error or type(error).__name__}") from error

    def _read(self, elf: Any) -> None:
        if elf["e_type"] != "ET_REL":
            raise ELFError("a module is a relocatable ELF file")
        sections = list(elf.iter_sections())
        self.names = [section.name for section in sections]
        self.data = [
            b"" if section["sh_type"] == "SHT_NOBITS" else section.data() for section in sections
        ]
        table = elf.get_section_by_name(".symtab")
        self.symbols = list(table.iter_symbols()) if table else []
        self.targets: dict[Place, Place] = {}
        for section in sections:
            if section["sh_type"] == "SHT_RELA":
                self._relocate(section)
        self.functions = self._sorted("STT_FUNC")
        self.objects = self._sorted("STT_OBJECT")

    def _relocate(self, section: Any) -> None:
        for each in section.iter_relocations():
            symbol = self.symbols[each["r_info_sym"]]
            number = symbol["st_shndx"]
            # Symbols of other modules have no section here.
            if isinstance(number, int):
                to = Place(number, symbol["st_value"] + each["r_addend"])
                self.targets[Place(section["sh_info"], each["r_offset"])] = to

    def _sorted(self, kind: str) -> list[tuple[Place, str]]:
        found = sorted(
            (Place(symbol["st_shndx"], symbol["st_value"]), symbol.name)
            for symbol in self.symbols
            if symbol["st_info"]["type"] == kind and isinstance(symbol["st_shndx"], int)
        )
        named = [pair for pair in found if not pair[1].startswith(PADDING)]
        places = {place for place, name in named if name not in ALIASES}
        return [
            (place, name) for place, name in named if name not in ALIASES or place not in places
        ]

    def records(self, table: str, size: int) -> Iterator[Place]:
        """Yield the place of each record of a table."""
        wanted = f".discard_kmarkers_{table}"
        for number, name in enumerate(self.names):
            if name == wanted:
                for offset in range(0, len(self.data[number]), size):
                    yield Place(number, offset)

    def byte(self, at: Place) -> int:
        """Return a byte."""
        return self.data[at.section][at.offset]

    def number(self, at: Place) -> int:
        """Return an unsigned number of 32 bits."""
        return int.from_bytes(self.data[at.section][at.offset : at.offset + 4], "little")

    def pointed(self, at: Place) -> Place:
        """Return the target of a pointer, which is absolute or relative to itself."""
        return self.targets[at]

    def text(self, at: Place) -> str:
        """Return the string at the target of a pointer."""
        to = self.pointed(at)
        return self.data[to.section][to.offset :].split(b"\0", 1)[0].decode(errors="replace")

    def symbol(self, symbols: list[tuple[Place, str]], at: Place) -> str:
        """Return the name of the last symbol up to a place in its section, or "?"."""
        index = bisect_right(symbols, at, key=lambda pair: pair[0]) - 1
        return symbols[index][1] if index >= 0 and symbols[index][0].section == at.section else "?"

    def is_freed(self, at: Place) -> bool:
        """Tell whether a place is in a section that the kernel frees after init."""
        return str(self.names[at.section]).startswith(".init.")


def read_sites(path: Path) -> list[Site]:
    """Return the sites of a module's file, by kind and then in the order of its records.

    Raises UnableError for a file that is no module, or whose tables are not those of this version.
    """
    module = Module(path)
    try:
        return [*_immediates(module), *_probes(module)]
    except (KeyError, IndexError) as error:
        raise UnableError(f"{path}: its tables are not those of this version") from error


def _immediates(module: Module) -> Iterator[Site]:
    markers = {
        marker + STATE_AT: marker for marker in map(module.pointed, module.records("markers", 4))
    }
    seen = set()
    for record in module.records("imv", SITE_BYTES):
        at, key = module.pointed(record), module.pointed(record + KEY_AT)
        marker = markers.get(key)
        seen.add(key)
        if marker:
            yield _marker(module, marker, at)
        else:
            name = module.symbol(module.objects, key).removesuffix(SUFFIX)
            where = (module.symbol(module.functions, at), module.is_freed(at))
            yield Site("imv_read() of", name, "immediate", "", "", *where)
    for key, marker in markers.items():
        if key not in seen:
            yield _marker(module, marker, None)


def _marker(module: Module, marker: Place, at: Place | None) -> Site:
    function = module.text(marker + FUNCTION_AT)
    return Site(
        "marker",
        module.text(marker + NAME_AT),
        MARKER_FLAVOURS[module.byte(marker + FLAVOUR_AT)],
        f"{module.text(marker + FILE_AT)}:{module.number(marker + LINE_AT)}",
        function,
        module.symbol(module.functions, at) if at else function,
        at is not None and module.is_freed(at),
    )


def _probes(module: Module) -> Iterator[Site]:
    for table, size in (("sdt", SITE_BYTES), ("sdtnote", NOTE_BYTES)):
        for record in module.records(table, size):
            at, probe = module.pointed(record), module.pointed(record + KEY_AT)
            flavour = SDT_FLAVOURS[module.byte(record + SIZE_AT)]
            if flavour in SDT_BRANCHES:
                probe = module.pointed(probe)
            provider = module.text(module.pointed(probe + PROVIDER_AT))
            name = f"{provider}:{module.text(probe + PROBE_NAME_AT)}"
            where = (module.symbol(module.functions, at), module.is_freed(at))
            yield Site("SDT probe", name, flavour, "", "", *where)
