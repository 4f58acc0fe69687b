# SPDX-License-Identifier: GPL-2.0-only
"""Tests that the loops of the benchmarks begin where their layouts say."""

import re
import subprocess
from pathlib import Path

import pytest
from kmtools.analyse.layouts import place_of
from kmtools.measure.samples import LAYOUTS
from kmtools.report.restable import BETWEEN, strip
from nativeprograms import KMBENCH

pytestmark = pytest.mark.usefixtures("native_programs")

LINE = 64
FUNCTION = re.compile(r"^[0-9a-f]+ <(\w+)>:$")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(\w+)(?:\s+([0-9a-f]+) <)?")


def loops(program: Path) -> dict[str, set[int]]:
    """Where in a cache line, in bytes, the loops of each variant begin at each layout.

    A variant that reads the clock in each pass is left out: its windows are inside.
    """
    words: list[str | Path] = ["objdump", "-d", "--no-show-raw-insn", program]
    code = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found: dict[str, set[int]] = {}
    each: set[str] = set()
    name = ""
    clocks: list[int] = []
    for line in code.splitlines():
        if function := FUNCTION.match(line):
            name, clocks = function[1], []
        elif instruction := INSTRUCTION.match(line):
            at, mnemonic, target = instruction.groups()
            if mnemonic == "rdtsc":
                clocks.append(int(at, 16))
            elif mnemonic[0] == "j" and target and int(target, 16) <= int(at, 16):
                found.setdefault(name, set()).add(int(target, 16) % LINE)
                # A cold path behind the window jumps back over one reading.
                if sum(clock >= int(target, 16) for clock in clocks) > 1:
                    each.add(name)
    return {name: begins for name, begins in found.items() if name not in each}


def test_loops_begin_where_their_layouts_say() -> None:
    found = loops(KMBENCH)
    layouts = range(LAYOUTS)
    rows = {name.rpartition("_")[0] for name in found}
    variants = {row for row in rows if all(f"{row}_{layout}" in found for layout in layouts)}
    # A cold path of a marker may jump backwards too.
    wrong = [
        f"{row}_{layout}: {sorted(found[f'{row}_{layout}'])}"
        for row in sorted(variants)
        for layout in layouts
        if place_of(layout) not in found[f"{row}_{layout}"]
    ]
    assert {"empty_none", "empty_jump", "empty_jump_16", "quiet_out", "entry_none"} <= variants
    assert not wrong


def test_a_bar_for_each_place() -> None:
    """In the order of places, and of a height that counts against the margin."""
    dear = {place_of(layout): 0.7 * (layout in (7, 31)) for layout in range(LAYOUTS)}
    low, high = chr(0x2581), chr(0x2588)
    assert strip(dear, 0.18) == f"{low * 28}{high}{low * 2}{high} +0.000{BETWEEN}+0.700"
    assert strip({0: 0.0, 8: 0.05}, 0.18).startswith(f"{low}{chr(0x2583)} ")
    assert strip({0: 1.5}, 0.0) == f"{low} +1.500{BETWEEN}+1.500"
