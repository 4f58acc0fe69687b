# SPDX-License-Identifier: GPL-2.0-only
"""Inspects the CPUs of a silent guest through QEMU's monitor, and decides whether the guest hangs.

One inspection stops the guest, reads the registers and the stack of every CPU and resumes the
guest. A series of inspections distinguishes a hang from a long computation.

A CPU in an endless int3 loop has the same saved address and registers in each inspection. If memory
has no int3 at this address, QEMU executes a stale translation. QEMU invalidates a translation when
a CPU stores to the translated code, but another CPU may translate the old byte again before the
store completes.

In core kernel text, a stale translation is a fault of QEMU. In the code of a module, kmarkers
repeats the store after the last round of synchronisation, and this second store removes the stale
translation. But the last round does not end if a CPU loops with interrupts disabled, because this
CPU takes no part in the round. So a hang in a module is a fault of QEMU only if interrupts were
disabled at the int3.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kmtools.lab.qmp import Monitor, MonitorError

BREAKPOINT = 0xCC
# The value in Cpu.memory_bytes for a byte on a page that is not mapped.
UNREADABLE = -1
# The interrupt vector of breakpoints; an IDT entry has 16 bytes.
VECTOR = 3
ENTRY_BYTES = 16
# The maximum length of the kernel's entry code for int3 (asm_exc_int3), in bytes.
ENTRY_CODE_BYTES = 0x100
# Above the return address into the entry code, the stack has two areas, sized in words: REGISTERS,
# with 15 registers and an error code, and PUSHED, the interrupt frame, which the CPU has pushed.
REGISTERS = 16
PUSHED = 5
STACK_WORDS = 192
# The interrupt flag in RFLAGS.
INTERRUPTS_ON = 1 << 9
# A CPU with interrupts disabled is judged to hang if its instruction pointer has at most this
# number of different values in all inspections of a series.
MAX_STUCK_ADDRESSES = 8
# A CPU is judged to be in an endless int3 loop if, in at least this share of the inspections, this
# CPU handles the same int3, enters the handler or returns from the handler.
INT3_LOOP_SHARE = 0.7
KERNEL_FROM = 1 << 63
# Core kernel text is within KERNEL_BYTES of the entry code. Modules are above MODULES_FROM, also
# with KASLR.
KERNEL_BYTES = 64 << 20
MODULES_FROM = 0xFFFFFFFFC0000000


@dataclass(frozen=True)
class Cpu:
    """The state of one CPU in one inspection.

    `rip` is the instruction pointer. `entry` is the address of the kernel's entry code for int3.
    `trap` has the registers that the CPU and the entry code saved, if the CPU handles an int3.
    `memory_bytes` has two bytes of memory: the byte before the saved instruction pointer, and the
    byte at the saved instruction pointer.
    """

    number: int
    registers: str
    rip: int
    interrupts: bool
    idle: bool
    stack: tuple[int, ...] = ()
    entry: int = 0
    trap: tuple[int, ...] = ()
    memory_bytes: tuple[int, ...] = ()

    @property
    def saved_int3_address(self) -> int:
        """The saved instruction pointer minus one. This is the address of the int3, unless the
        handler has already decremented the saved pointer."""
        return self.trap[REGISTERS] - 1

    @property
    def int3_address(self) -> int:
        """The address of the int3, also if the handler has already decremented the saved
        instruction pointer."""
        if len(self.memory_bytes) < 2 or self.memory_bytes[0] == BREAKPOINT:
            return self.saved_int3_address
        before, at = self.memory_bytes
        # The byte before the saved pointer is not an int3, or cannot be read. The int3 is at the
        # saved pointer in two cases: the byte at the pointer is an int3, or only the byte at the
        # pointer can be read.
        return self.saved_int3_address + (
            at == BREAKPOINT or (before == UNREADABLE and at != UNREADABLE)
        )

    @property
    def is_in_kernel_text(self) -> bool:
        """True if the int3 is in core kernel text, not in a module."""
        near = abs(self.saved_int3_address - self.entry) < KERNEL_BYTES
        return near and self.saved_int3_address < MODULES_FROM

    @property
    def were_interrupts_enabled(self) -> bool:
        """True if interrupts were enabled at the int3."""
        return bool(self.trap[REGISTERS + 2] & INTERRUPTS_ON)


@dataclass(frozen=True)
class Finding:
    """The reason why a guest hangs. `stale` is True if QEMU executes an int3 that is no longer in
    memory."""

    reason: str
    stale: bool = False


def read_register(name: str, registers: str) -> int:
    """Return the value of a register in the output of `info registers`."""
    found = re.search(rf"\b{name}\s*=\s*([0-9a-f]+)", registers)
    if found is None:
        raise MonitorError(f"the emulator does not show the register {name}")
    return int(found[1], 16)


def read_memory(monitor: Monitor, cpu: int, address: int, count: int, size: str = "g") -> list[int]:
    """Read `count` words of memory through a CPU's page tables. Return fewer words if a page is not
    mapped."""
    said = monitor.execute_hmp_command(f"x /{count}{size}x 0x{address:x}", cpu)
    lines = [line.partition(":")[2] for line in said.splitlines()]
    return [int(word, 16) for line in lines for word in re.findall(r"\b0x([0-9a-f]+)", line)]


def read_bytes_before_and_at(monitor: Monitor, cpu: int, address: int) -> tuple[int, ...]:
    """Return the byte before `address` and the byte at `address`. The two bytes are read
    separately, because they may be on different pages."""
    pairs = (read_memory(monitor, cpu, at, 1, "b") for at in (address - 1, address))
    return tuple(found[0] if found else UNREADABLE for found in pairs)


def read_int3_entry(monitor: Monitor, cpu: int, registers: str) -> int:
    """Return the address of the kernel's int3 handler from the IDT; 0 if the IDT cannot be read."""
    gate = read_memory(monitor, cpu, read_register("IDT", registers) + VECTOR * ENTRY_BYTES, 2)
    if len(gate) < 2:
        return 0
    low, high = gate
    return (high & 0xFFFFFFFF) << 32 | (low >> 48) << 16 | low & 0xFFFF


def find_trap_frame(stack: Sequence[int], entry: int) -> tuple[int, ...]:
    """Return the registers and the interrupt frame that int3 saved on a stack; an empty tuple if
    the stack has no such frame."""
    for number, word in enumerate(stack):
        saved = tuple(stack[number + 1 : number + 1 + REGISTERS + PUSHED])
        if entry < word < entry + ENTRY_CODE_BYTES and len(saved) == REGISTERS + PUSHED:
            return saved
    return ()


def inspect_cpu(monitor: Monitor, number: int, registers: str) -> Cpu:
    """Read the state of one CPU of a stopped guest."""
    idle = read_register("HLT", registers) == 1
    if "RIP=" not in registers:
        # The CPU is not in 64-bit mode: it runs firmware or early boot code, or is not started.
        return Cpu(number, registers.strip(), read_register("EIP", registers), True, idle)
    interrupts, rip = (
        bool(read_register("RFL", registers) & INTERRUPTS_ON),
        read_register("RIP", registers),
    )
    cpu = Cpu(number, registers.strip(), rip, interrupts, idle)
    if read_register("CPL", registers) != 0:
        return cpu
    stack = read_memory(monitor, number, read_register("RSP", registers), STACK_WORDS)
    entry = read_int3_entry(monitor, number, registers)
    trap = find_trap_frame(stack, entry) if entry else ()
    memory_bytes = read_bytes_before_and_at(monitor, number, trap[REGISTERS]) if trap else ()
    return replace(cpu, stack=tuple(stack), entry=entry, trap=trap, memory_bytes=memory_bytes)


def inspect_guest_cpus(monitor: Monitor) -> list[Cpu]:
    """Stop the guest, read the state of every CPU, and resume the guest."""
    state = monitor.execute_qmp_command("query-status")["status"]
    if state != "running":
        raise MonitorError(f"the emulator says that the guest is {state}")
    monitor.execute_qmp_command("stop")
    try:
        shown = re.split(
            r"^CPU#(\d+)$", monitor.execute_hmp_command("info registers -a"), flags=re.M
        )
        pairs = zip(shown[1::2], shown[2::2], strict=True)
        return [inspect_cpu(monitor, int(number), registers) for number, registers in pairs]
    finally:
        monitor.execute_qmp_command("cont")


def find_hang_reason(inspections: Sequence[Sequence[Cpu]]) -> Finding | None:
    """Return the reason why a guest hangs, found from a series of inspections; None if the guest
    does not hang."""
    if not inspections or not inspections[0]:
        return None
    by_cpu = list(zip(*inspections, strict=True))
    for seen in by_cpu:
        if finding := find_int3_loop(seen) or find_stuck_cpu(seen):
            return finding
    if all(cpu.idle for seen in by_cpu for cpu in seen):
        return Finding("every CPU is idle, and no interrupt wakes one")
    return None


def find_int3_loop(cpu_states: Sequence[Cpu]) -> Finding | None:
    """Return a finding if a CPU executed the same int3 in most inspections of a series, that is, in
    an endless loop. `cpu_states` has the state of this CPU in each inspection."""
    traps = Counter(drop_saved_rip(cpu) for cpu in cpu_states if cpu.trap)
    if not traps:
        return None
    trap, times = traps.most_common(1)[0]
    alike = [cpu for cpu in cpu_states if cpu.trap and drop_saved_rip(cpu) == trap]
    first = max(alike, key=lambda cpu: cpu.int3_address)
    at = first.int3_address
    between = sum(is_near_int3(cpu, at) for cpu in cpu_states)
    if times + between < INT3_LOOP_SHARE * len(cpu_states):
        return None
    if any(at - cpu.saved_int3_address > 1 for cpu in alike):
        return None
    gone = all(
        {*cpu.memory_bytes} - {UNREADABLE} and BREAKPOINT not in cpu.memory_bytes for cpu in alike
    )
    there = {cpu.memory_bytes[at - cpu.saved_int3_address] for cpu in alike}
    holds = ", ".join(sorted("?" if byte == UNREADABLE else f"{byte:02x}" for byte in there))
    said = f"CPU {first.number} executes a breakpoint at {at:x} endlessly"
    stale = gone and (first.is_in_kernel_text or not first.were_interrupts_enabled)
    return Finding(f"{said}; memory holds {holds} there", stale)


def is_near_int3(cpu: Cpu, address: int) -> bool:
    """Return True if a CPU is at the int3 at `address`, or in the kernel's entry code for int3, and
    has no complete trap frame."""
    if cpu.trap:
        return False
    entering = cpu.entry <= cpu.rip < cpu.entry + ENTRY_CODE_BYTES
    return abs(cpu.rip - address) <= 1 or entering


def drop_saved_rip(cpu: Cpu) -> tuple[int, ...]:
    """Return the saved registers without the instruction pointer, because the handler may have
    decremented it."""
    return cpu.trap[:REGISTERS] + cpu.trap[REGISTERS + 1 :]


def find_stuck_cpu(cpu_states: Sequence[Cpu]) -> Finding | None:
    """Return a finding if a CPU has interrupts disabled in all inspections of a series, and its
    instruction pointer has at most MAX_STUCK_ADDRESSES different values. `cpu_states` has the state
    of this CPU in each inspection."""
    places = sorted({cpu.rip for cpu in cpu_states})
    if any(cpu.interrupts or cpu.idle for cpu in cpu_states) or len(places) > MAX_STUCK_ADDRESSES:
        return None
    # A CPU at a low address does not hang: it decompresses the kernel with interrupts disabled.
    if places[0] < KERNEL_FROM:
        return None
    where = ", ".join(f"{rip:x}" for rip in places)
    return Finding(f"CPU {cpu_states[0].number} takes no interrupt and stays at {where}")
