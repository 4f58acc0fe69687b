# SPDX-License-Identifier: GPL-2.0-only
"""Tests of code layouts: the loop of each variant begins at the offset in a cache line that its
layout prescribes."""

import re
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from kmtools.analyse.layouts import compute_offset_in_cache_line, find_layout_of_executed_copy
from kmtools.analyse.slopes import Slope
from kmtools.analyse.verdicts import estimate_difference
from kmtools.measure.samples import LAYOUTS
from kmtools.report.restable import BETWEEN, draw_layout_cost_bars
from nativeprograms import KMBENCH

pytestmark = pytest.mark.usefixtures("native_programs")

LINE = 64
FUNCTION = re.compile(r"^[0-9a-f]+ <(\w+)>:$")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(\w+)(?:\s+([0-9a-f]+) <)?")


def find_loop_offsets(program: Path) -> dict[str, set[int]]:
    """Return the offsets in a cache line at which a program's loops begin, keyed by function.
    Functions of variants are called VARIANT_LAYOUT. Functions that read the clock in each pass are
    left out, because their windows are inside the loop."""
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
                # With two clock readings between the target and the jump, the loop measures a
                # window in each pass. With one clock reading, there is no loop: the jump returns
                # from the cold path of a marker.
                if sum(clock >= int(target, 16) for clock in clocks) > 1:
                    each.add(name)
    return {name: begins for name, begins in found.items() if name not in each}


def test_loops_begin_at_the_offsets_of_their_layouts() -> None:
    found = find_loop_offsets(KMBENCH)
    layouts = range(LAYOUTS)
    rows = {name.rpartition("_")[0] for name in found}
    variants = {row for row in rows if all(f"{row}_{layout}" in found for layout in layouts)}
    # `found` also has the offsets of backward jumps from the cold paths of markers.
    wrong = [
        f"{row}_{layout}: {sorted(found[f'{row}_{layout}'])}"
        for row in sorted(variants)
        for layout in layouts
        if compute_offset_in_cache_line(layout) not in found[f"{row}_{layout}"]
    ]
    assert {"empty_none", "empty_jump", "empty_jump_16", "quiet_out", "entry_none"} <= variants
    assert not wrong


def test_four_copies_of_code_are_four_layouts() -> None:
    """A variant with four copies of its code has four layouts, at four offsets."""
    places = [
        compute_offset_in_cache_line(find_layout_of_executed_copy(layout, 4))
        for layout in range(LAYOUTS)
    ]
    assert places == [0] * 8 + [16] * 8 + [32] * 8 + [48] * 8
    random = np.random.default_rng(1)
    both = [
        Slope.from_fraction(
            block, block % 32, Fraction(1000 + round(random.normal()) + base * (block % 32 > 7))
        )
        for base in (0, 100)
        for block in range(512)
    ]
    few = estimate_difference(both[512:], both[:512], False, copies=4)
    many = estimate_difference(both[512:], both[:512], False)
    assert few.over_layouts is not None and many.over_layouts is not None
    assert few.over_layouts.half_width > 75 > 2 * many.over_layouts.half_width
    assert {one.layout for one in few.deltas} == {0, 2, 4, 6}


def test_layout_chart_has_a_bar_for_each_offset() -> None:
    """The bars are sorted by offset; their heights are the costs relative to the margin."""
    costs = {
        compute_offset_in_cache_line(layout): 0.7 * (layout in (7, 31)) for layout in range(LAYOUTS)
    }
    low, high = chr(0x2581), chr(0x2588)
    assert (
        draw_layout_cost_bars(costs, 0.18)
        == f"{low * 28}{high}{low * 2}{high} +0.000{BETWEEN}+0.700"
    )
    assert draw_layout_cost_bars({0: 0.0, 8: 0.05}, 0.18).startswith(f"{low}{chr(0x2583)} ")
    for least in (-9.0, -0.7, -0.35, 50.0):
        ends = {0: least, 8: least + 0.7}
        assert draw_layout_cost_bars(ends, 0.18).startswith(f"{low}{high} ")
        assert draw_layout_cost_bars(ends, 4.9).startswith(f"{low}{chr(0x2582)} ")
    assert draw_layout_cost_bars({0: 1.5}, 0.0) == f"{low} +1.500{BETWEEN}+1.500"
