# SPDX-License-Identifier: GPL-2.0-only
"""Adds names of functions to the kernel addresses in look.log, which records inspections of CPUs.

The package of a kernel has no list of symbols, so the kernel is booted again to read
/proc/kallsyms. With KASLR, each boot loads the kernel at another address. look.log also contains
the address of the int3 entry code. The difference between this address and the address of the same
code in /proc/kallsyms is the offset between the two boots.
"""

from __future__ import annotations

import bisect
import re
import tempfile
from pathlib import Path

from kmtools.lab import catalogue
from kmtools.lab.machine import Request, boot_guest

KALLSYMS_FILE = "kallsyms"
INT3_ENTRY_SYMBOL = "asm_exc_int3"
INT3_ENTRY_LINE = re.compile(r"^int3 entry code: ([0-9a-f]+)$", re.M)
ADDRESS = re.compile(r"\bffffffff[0-9a-f]{8}\b")
# The maximum offset of an address from the start of a kernel function, in bytes. An address with a
# larger offset belongs to a module, and gets no name.
MOST_BYTES = 1 << 20

Symbols = list[tuple[int, str]]


def parse_kallsyms(text: str) -> Symbols:
    """Return the addresses and names of functions in the text of /proc/kallsyms, sorted."""
    rows = (line.split() for line in text.splitlines())
    return sorted((int(row[0], 16), row[2]) for row in rows if len(row) == 3 and row[1] in "tTwW")


def boot_and_read_kallsyms(kernel: str, out: Path) -> Symbols:
    """Boot a kernel, read its /proc/kallsyms, and return its functions."""
    with tempfile.TemporaryDirectory(prefix="kmarkers-symbols-") as scratch:
        job = Path(scratch, "job")
        job.write_text(f"cat /proc/kallsyms >/results/{KALLSYMS_FILE}\n", encoding="utf-8")
        result = boot_guest(Request(kernel, job, out, silence=0.0))
    return (
        parse_kallsyms((result.results / KALLSYMS_FILE).read_text(encoding="utf-8"))
        if result.results
        else []
    )


def add_function_names(text: str, symbols: Symbols) -> str:
    """Return `text` with FUNCTION+OFFSET added after each kernel text address. The address is
    corrected for KASLR before its function is looked up."""
    entry = INT3_ENTRY_LINE.search(text)
    starts = [address for address, _ in symbols]
    usual = next((address for address, name in symbols if name == INT3_ENTRY_SYMBOL), None)
    if entry is None or usual is None:
        return text
    moved = int(entry[1], 16) - usual

    def append_function_name(found: re.Match[str]) -> str:
        address = int(found[0], 16) - moved
        number = bisect.bisect_right(starts, address) - 1
        if number < 0 or address - starts[number] > MOST_BYTES:
            return found[0]
        return f"{found[0]} {symbols[number][1]}+0x{address - starts[number]:x}"

    return ADDRESS.sub(append_function_name, text)


def add_function_names_to_file(kernel: str, record: Path) -> str:
    """Add the kernel's function names to the addresses in the file `record`; return the new text of
    the file."""
    text = record.read_text(encoding="utf-8")
    if INT3_ENTRY_LINE.search(text):
        text = add_function_names(
            text,
            boot_and_read_kallsyms(
                catalogue.find_kernel_entry(kernel).name, record.parent / "symbols"
            ),
        )
        record.write_text(text, encoding="utf-8")
    return text
