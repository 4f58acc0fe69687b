# SPDX-License-Identifier: GPL-2.0-only
"""Distinguishes crashes and hangs caused by the emulator from those caused by our code.

An emulator that translates code may run a breakpoint long after the byte was replaced, and
sometimes crashes stock kernels without any module of ours. A crash counts as the emulator's only if
its trace contains no code of ours; then the boot is repeated. Code of unloaded modules has no
symbols, so an address without a symbol counts as ours. A hang counts as the emulator's only if a
CPU was seen to execute, in the kernel's own text, a breakpoint that memory does not hold.

A crash at a breakpoint of the kernel's own text counts as the emulator's if memory holds a nop or a
jump there, whatever else is in its trace. These places are static keys and function entries of the
kernel, which kmarkers never changes, and the kernel has already removed its breakpoint there.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from kmtools.lab import logscan
from kmtools.lab.result import Result

MOST_RETRIES = 2

# 0010 is the kernel's own segment; in a call trace a frame without a name is a bare address.
NAMELESS = re.compile(r"\bRIP: 0010:0x|^(?:\[[^]]*\])* +(?:\? )?0x[0-9a-f]+$")
# The kernel's module space holds only our modules, with or without a name.
FAULT = re.compile(r"\b(?:page fault for address:|opcode bytes at(?: RIP)?) (?:0x)?([0-9a-f]+)")
MODULE_SPACE = range(0xFFFFFFFFA0000000, 0xFFFFFFFFFF000000)

# A breakpoint that no handler accepted, its address in the kernel itself, and the code in memory:
# the breakpoint was at the byte before the one in brackets.
BREAKPOINT = re.compile(r"\bint3: 0000 \[#1\]")
KERNEL_PLACE = re.compile(r"\bRIP: 0010:(\w[\w.]*\+0x[0-9a-f]+)/0x[0-9a-f]+$")
HELD = re.compile(r"\bCode: .*?(?:0f <1f> 44 00 00|66 <90>|(?:e9|eb) <)")


def stale_breakpoint(console: str) -> str | None:
    """Return the place of a breakpoint in the kernel's own text that crashed the kernel and is no
    longer in memory; None if there is none."""
    faults = logscan.scan_log(console)
    if not faults or not BREAKPOINT.search(faults[0]):
        return None
    lines = console[console.index(faults[0]) :].splitlines()
    place = next((line for line in lines if "RIP: " in line), "")
    code = next((line for line in lines if "Code: " in line), "")
    found = KERNEL_PLACE.search(place)
    return found[1] if found and HELD.search(code) else None


def our_frames(console: str, modules: Collection[str]) -> list[str]:
    """Return the lines of a trace with code of our modules, which may be unloaded by then."""
    names = "|".join(re.escape(name) for name in modules)
    frame = re.compile(rf"\+0x[0-9a-f]+/0x[0-9a-f]+ \[(?:{names})[\] ]")
    return [line for line in console.splitlines() if frame.search(line) or is_nameless(line)]


def is_nameless(line: str) -> bool:
    """Tell whether a line shows an address that may have been one of our code."""
    fault = FAULT.search(line)
    in_module_space = fault is not None and int(fault[1], 16) in MODULE_SPACE
    return in_module_space or NAMELESS.search(line) is not None


def emulators_crash(result: Result, modules: Collection[str]) -> str | None:
    """Return a description of a crash or hang that the emulator caused, else None. Under KVM no
    emulator is at fault."""
    if result.exit_code is not None or result.under_kvm:
        return None
    if result.finding:
        return f"the emulator's: {result.finding.reason}" if result.finding.stale else None
    if result.emulator_failed:
        return "the emulator itself died"
    faults = logscan.scan_log(result.console)
    if not result.status.strip():
        # None of our modules was loaded yet.
        return faults[0].strip() if faults else "the kernel did not boot"
    if place := stale_breakpoint(result.console):
        return f"a breakpoint at {place}, where memory holds none"
    if not faults or our_frames(result.console, modules):
        return None
    return re.sub(r"^\[ *[0-9.]+\](\[[^]]*\])? *", "", faults[0])
