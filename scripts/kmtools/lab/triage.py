# SPDX-License-Identifier: GPL-2.0-only
"""Distinguishes crashes and hangs that the emulator causes from crashes and hangs that kmarkers
causes.

QEMU may execute a translated int3 long after the byte was replaced, and sometimes crashes stock
kernels without any module of kmarkers. After a failure that is attributed to QEMU, the boot is
repeated. A crash is attributed to QEMU if its trace contains no code of kmarkers. Code of unloaded
modules has no symbols, so an address without a symbol counts as code of kmarkers. A hang is
attributed to QEMU if a CPU endlessly executes an int3 that is not in memory, in core kernel text or
with interrupts disabled.

A crash at an int3 in core kernel text is attributed to QEMU if memory has a nop or a jump at the
address, even if the trace contains code of kmarkers. The address is then a static key or a function
entry of the kernel, which kmarkers does not patch, and the kernel has already replaced its own int3
by the nop or jump.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from kmtools.lab import logscan
from kmtools.lab.result import Result

MOST_RETRIES = 2

# A line with an address that has no symbol: a RIP line (0010 is the kernel's code segment), or a
# frame of a call trace.
NAMELESS = re.compile(r"\bRIP: 0010:0x|^(?:\[[^]]*\])* +(?:\? )?0x[0-9a-f]+$")
# Lines of an Oops with an address. An address in the module area counts as code of kmarkers,
# because only modules of kmarkers are loaded.
FAULT = re.compile(r"\b(?:page fault for address:|opcode bytes at(?: RIP)?) (?:0x)?([0-9a-f]+)")
MODULE_SPACE = range(0xFFFFFFFFA0000000, 0xFFFFFFFFFF000000)

# Lines of an Oops caused by an unhandled int3: the first line, the RIP line with an address in core
# kernel text, and the Code line with the bytes in memory. RIP points to the byte in angle brackets;
# the int3 was at the byte before.
BREAKPOINT = re.compile(r"\bint3: 0000 \[#1\]")
KERNEL_RIP = re.compile(r"\bRIP: 0010:(\w[\w.]*\+0x[0-9a-f]+)/0x[0-9a-f]+$")
HELD = re.compile(r"\bCode: .*?(?:0f <1f> 44 00 00|66 <90>|(?:e9|eb) <)")


def find_stale_breakpoint(console: str) -> str | None:
    """Return the symbol and offset of an int3 in core kernel text that crashed the kernel and is no
    longer in memory; None if the crash has another cause."""
    faults = logscan.find_fault_lines(console)
    if not faults or not BREAKPOINT.search(faults[0]):
        return None
    lines = console[console.index(faults[0]) :].splitlines()
    place = next((line for line in lines if "RIP: " in line), "")
    code = next((line for line in lines if "Code: " in line), "")
    found = KERNEL_RIP.search(place)
    return found[1] if found and HELD.search(code) else None


def find_kmarkers_frames(console: str, modules: Collection[str]) -> list[str]:
    """Return the lines of a log with an address in one of `modules`, the modules of kmarkers, or
    with an address without a symbol."""
    names = "|".join(re.escape(name) for name in modules)
    frame = re.compile(rf"\+0x[0-9a-f]+/0x[0-9a-f]+ \[(?:{names})[\] ]")
    return [
        line
        for line in console.splitlines()
        if frame.search(line) or has_address_without_symbol(line)
    ]


def has_address_without_symbol(line: str) -> bool:
    """Return True if a line has an address without a symbol or, in a line that matches FAULT, an
    address in the module area."""
    fault = FAULT.search(line)
    in_module_space = fault is not None and int(fault[1], 16) in MODULE_SPACE
    return in_module_space or NAMELESS.search(line) is not None


def find_emulator_fault(result: Result, modules: Collection[str]) -> str | None:
    """Return a description of a crash or hang that the emulator caused, else None. A failure under
    KVM is never attributed to the emulator."""
    if result.exit_code is not None or result.ran_under_kvm:
        return None
    if result.finding:
        return f"a hang: {result.finding.reason}" if result.finding.stale else None
    if result.emulator_failed:
        return "the emulator exited with an error"
    faults = logscan.find_fault_lines(result.console)
    if not result.status.strip():
        # The emulator is the cause: the guest's job has printed nothing, so no module of kmarkers
        # was loaded.
        return faults[0].strip() if faults else "the kernel did not boot"
    if place := find_stale_breakpoint(result.console):
        return f"a breakpoint at {place} that is no longer in memory"
    if not faults or find_kmarkers_frames(result.console, modules):
        return None
    return re.sub(r"^\[ *[0-9.]+\](\[[^]]*\])? *", "", faults[0])
