# SPDX-License-Identifier: GPL-2.0-only
"""Inspects the CPUs of a silent guest, and decides whether it hangs.

One look stops the guest, reads the registers and the stack of every CPU and lets the guest go on.
Several looks together distinguish a guest in a long computation from one that hangs.

A CPU that executes a breakpoint for ever returns to the same address with the same registers each
time. If memory holds no breakpoint there, the emulator runs a stale translation of the breakpoint:
it drops a translation when a CPU stores, and another CPU may translate the old byte again before it
is overwritten. In the kernel's own text this is the emulator's fault; in a module's code it may be
ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kmtools.lab.qmp import Monitor, MonitorError

BREAKPOINT = 0xCC
# The value for a byte whose page is not mapped.
UNREADABLE = -1
# The interrupt vector of breakpoints; an IDT entry has 16 bytes.
VECTOR = 3
ENTRY_BYTES = 16
# The greatest length of the kernel's entry code for breakpoints.
ENTRY_CODE_BYTES = 0x100
# The stack above the return address into that code: 15 registers, an error code, and the CPU's
# interrupt frame.
REGISTERS = 16
PUSHED = 5
STACK_WORDS = 192
INTERRUPTS_ON = 1 << 9
# A CPU that does not hang is seen at more addresses than this, or takes an interrupt.
FEW_PLACES = 8
# The share of looks that must find the CPU at the same breakpoint, entering its handler or
# returning.
MOST = 0.7
KERNEL_FROM = 1 << 63
# A kernel's text is around its entry code. Modules are above this address, wherever the text is.
KERNEL_BYTES = 64 << 20
MODULES_FROM = 0xFFFFFFFFC0000000


@dataclass(frozen=True)
class Cpu:
    """One CPU at one look.

    `entry` is where the kernel's code for breakpoints begins. `trap` holds the registers that a
    breakpoint saved. `held` are the two bytes in memory before and at the saved address.
    """

    number: int
    registers: str
    place: int
    interrupts: bool
    idle: bool
    stack: tuple[int, ...] = ()
    entry: int = 0
    trap: tuple[int, ...] = ()
    held: tuple[int, ...] = ()

    @property
    def trapped_at(self) -> int:
        """The saved address minus one: the address of the breakpoint, unless the handler has
        already stepped the saved address back."""
        return self.trap[REGISTERS] - 1

    @property
    def breakpoint_at(self) -> int:
        """The address of the breakpoint, also if the handler has already stepped the saved address
        back."""
        if len(self.held) < 2 or self.held[0] == BREAKPOINT:
            return self.trapped_at
        before, at = self.held
        # Code that was executed is mapped.
        return self.trapped_at + (at == BREAKPOINT or (before == UNREADABLE and at != UNREADABLE))

    @property
    def in_kernel_text(self) -> bool:
        """Whether the breakpoint is in the kernel itself, and not in a module."""
        near = abs(self.trapped_at - self.entry) < KERNEL_BYTES
        return near and self.trapped_at < MODULES_FROM


@dataclass(frozen=True)
class Finding:
    """The reason why a guest hangs; `stale` if the emulator runs code that memory no longer
    holds."""

    reason: str
    stale: bool = False


def field(name: str, registers: str) -> int:
    """Return a register from the output of the monitor."""
    found = re.search(rf"\b{name}\s*=\s*([0-9a-f]+)", registers)
    if found is None:
        raise MonitorError(f"the emulator does not show {name}")
    return int(found[1], 16)


def memory(monitor: Monitor, cpu: int, address: int, count: int, size: str = "g") -> list[int]:
    """Return words of memory as a CPU sees them; fewer if part of it is not mapped."""
    said = monitor.human(f"x /{count}{size}x 0x{address:x}", cpu)
    lines = [line.partition(":")[2] for line in said.splitlines()]
    return [int(word, 16) for line in lines for word in re.findall(r"\b0x([0-9a-f]+)", line)]


def bytes_around(monitor: Monitor, cpu: int, address: int) -> tuple[int, ...]:
    """Return the bytes before and at an address, each of which may be on a page of its own."""
    pairs = (memory(monitor, cpu, place, 1, "b") for place in (address - 1, address))
    return tuple(found[0] if found else UNREADABLE for found in pairs)


def breakpoint_entry(monitor: Monitor, cpu: int, registers: str) -> int:
    """Return where the kernel's code for breakpoints begins; 0 if that cannot be read."""
    gate = memory(monitor, cpu, field("IDT", registers) + VECTOR * ENTRY_BYTES, 2)
    if len(gate) < 2:
        return 0
    low, high = gate
    return (high & 0xFFFFFFFF) << 32 | (low >> 48) << 16 | low & 0xFFFF


def trap_on(stack: Sequence[int], entry: int) -> tuple[int, ...]:
    """Return the registers and the CPU's frame that a breakpoint saved on a stack."""
    for number, word in enumerate(stack):
        saved = tuple(stack[number + 1 : number + 1 + REGISTERS + PUSHED])
        if entry < word < entry + ENTRY_CODE_BYTES and len(saved) == REGISTERS + PUSHED:
            return saved
    return ()


def look_at(monitor: Monitor, number: int, registers: str) -> Cpu:
    """Look at one CPU of a guest that is stopped."""
    idle = field("HLT", registers) == 1
    if "RIP=" not in registers:
        # It runs the firmware or the beginning of the kernel, or was not started yet.
        return Cpu(number, registers.strip(), field("EIP", registers), True, idle)
    interrupts, place = bool(field("RFL", registers) & INTERRUPTS_ON), field("RIP", registers)
    cpu = Cpu(number, registers.strip(), place, interrupts, idle)
    if field("CPL", registers) != 0:
        return cpu
    stack = memory(monitor, number, field("RSP", registers), STACK_WORDS)
    entry = breakpoint_entry(monitor, number, registers)
    trap = trap_on(stack, entry) if entry else ()
    held = bytes_around(monitor, number, trap[REGISTERS]) if trap else ()
    return replace(cpu, stack=tuple(stack), entry=entry, trap=trap, held=held)


def look(monitor: Monitor) -> list[Cpu]:
    """Stop the guest, look at every CPU, and let it go on."""
    state = monitor.ask("query-status")["status"]
    if state != "running":
        raise MonitorError(f"the emulator says that the guest is {state}")
    monitor.ask("stop")
    try:
        shown = re.split(r"^CPU#(\d+)$", monitor.human("info registers -a"), flags=re.M)
        pairs = zip(shown[1::2], shown[2::2], strict=True)
        return [look_at(monitor, int(number), registers) for number, registers in pairs]
    finally:
        monitor.ask("cont")


def judge(looks: Sequence[Sequence[Cpu]]) -> Finding | None:
    """Return the reason why a guest hangs, or None if it does not hang."""
    if not looks or not looks[0]:
        return None
    by_cpu = list(zip(*looks, strict=True))
    for seen in by_cpu:
        if finding := trapped(seen) or deaf(seen):
            return finding
    if all(cpu.idle for seen in by_cpu for cpu in seen):
        return Finding("every CPU is idle, and nothing wakes one")
    return None


def trapped(seen: Sequence[Cpu]) -> Finding | None:
    """Return a finding if a CPU executes one breakpoint for ever."""
    traps = Counter(saved_but_address(cpu) for cpu in seen if cpu.trap)
    if not traps:
        return None
    trap, times = traps.most_common(1)[0]
    alike = [cpu for cpu in seen if cpu.trap and saved_but_address(cpu) == trap]
    first = max(alike, key=lambda cpu: cpu.breakpoint_at)
    at = first.breakpoint_at
    between = sum(enters_or_returns(cpu, at) for cpu in seen)
    if times + between < MOST * len(seen):
        return None
    if any(at - cpu.trapped_at > 1 for cpu in alike):
        return None
    gone = all({*cpu.held} - {UNREADABLE} and BREAKPOINT not in cpu.held for cpu in alike)
    there = {cpu.held[at - cpu.trapped_at] for cpu in alike}
    holds = ", ".join(sorted("?" if byte == UNREADABLE else f"{byte:02x}" for byte in there))
    said = f"CPU {first.number} executes a breakpoint at {at:x} for ever"
    return Finding(f"{said}; memory holds {holds} there", gone and first.in_kernel_text)


def enters_or_returns(cpu: Cpu, address: int) -> bool:
    """Whether a CPU is at a breakpoint, or in the first or last steps of the kernel's entry."""
    if cpu.trap:
        return False
    entering = cpu.entry <= cpu.place < cpu.entry + ENTRY_CODE_BYTES
    return abs(cpu.place - address) <= 1 or entering


def saved_but_address(cpu: Cpu) -> tuple[int, ...]:
    """Return the saved registers without the address, which the handler may step back by one."""
    return cpu.trap[:REGISTERS] + cpu.trap[REGISTERS + 1 :]


def deaf(seen: Sequence[Cpu]) -> Finding | None:
    """Return a finding if a CPU takes no interrupt and stays at a few addresses."""
    places = sorted({cpu.place for cpu in seen})
    if any(cpu.interrupts or cpu.idle for cpu in seen) or len(places) > FEW_PLACES:
        return None
    # The code that unpacks the kernel is below its text, and takes no interrupts either.
    if places[0] < KERNEL_FROM:
        return None
    where = ", ".join(f"{place:x}" for place in places)
    return Finding(f"CPU {seen[0].number} takes no interrupt and stays at {where}")
