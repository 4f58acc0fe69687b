# SPDX-License-Identifier: GPL-2.0-only
"""Adds names of functions to the addresses in a record of looks at a guest.

A distribution's package has no list of the kernel's symbols, so the kernel is booted once more and
/proc/kallsyms read. The address of the breakpoint entry code in the record gives the load address
of the recorded kernel.
"""

from __future__ import annotations

import bisect
import re
import tempfile
from pathlib import Path

from kmtools.lab import catalogue
from kmtools.lab.machine import Request, boot

LIST = "kallsyms"
ENTRY = "asm_exc_int3"
SAID_ENTRY = re.compile(r"^entry of breakpoints: ([0-9a-f]+)$", re.M)
ADDRESS = re.compile(r"\bffffffff[0-9a-f]{8}\b")
# The largest distance from a symbol: addresses further away are code of modules.
MOST_BYTES = 1 << 20

Symbols = list[tuple[int, str]]


def parse(text: str) -> Symbols:
    """Read the kernel's functions from lines of /proc/kallsyms."""
    rows = (line.split() for line in text.splitlines())
    return sorted((int(row[0], 16), row[2]) for row in rows if len(row) == 3 and row[1] in "tTwW")


def fetch(kernel: str, out: Path) -> Symbols:
    """Boot a kernel and read its symbols."""
    with tempfile.TemporaryDirectory(prefix="kmarkers-symbols-") as scratch:
        job = Path(scratch, "job")
        job.write_text(f"cat /proc/kallsyms >/results/{LIST}\n")
        result = boot(Request(kernel, job, out, silence=0.0))
    return parse((result.results / LIST).read_text()) if result.results else []


def annotate(text: str, symbols: Symbols) -> str:
    """Put a name behind every address of the kernel's code, wherever the kernel was loaded."""
    entry = SAID_ENTRY.search(text)
    starts = [address for address, _ in symbols]
    usual = next((address for address, name in symbols if name == ENTRY), None)
    if entry is None or usual is None:
        return text
    moved = int(entry[1], 16) - usual

    def named(found: re.Match[str]) -> str:
        address = int(found[0], 16) - moved
        number = bisect.bisect_right(starts, address) - 1
        if number < 0 or address - starts[number] > MOST_BYTES:
            return found[0]
        return f"{found[0]} {symbols[number][1]}+0x{address - starts[number]:x}"

    return ADDRESS.sub(named, text)


def name_addresses(kernel: str, record: Path) -> str:
    """Rewrite a record of looks with names; return it."""
    text = record.read_text()
    if SAID_ENTRY.search(text):
        text = annotate(text, fetch(catalogue.find(kernel).name, record.parent / "symbols"))
        record.write_text(text)
    return text
