# SPDX-License-Identifier: GPL-2.0-only
"""A fake QMP monitor of QEMU, with CPUs whose state a test sets."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

IDT = 0xFFFFFE0000000000
# The address of the kernel's entry code for int3 (asm_exc_int3).
ENTRY = 0xFFFFFFFF9A200B40


@dataclass
class FakeCpu:
    """The state of one CPU; `place` is its instruction pointer. The function `next` is called
    before each query of the registers, and may change the state."""

    place: int = 0xFFFFFFFF99000000
    flags: int = 0x246
    halted: bool = False
    user: bool = False
    stack: list[int] = field(default_factory=list)
    next: Callable[[FakeCpu], None] = lambda cpu: None

    def format_registers(self, cpu_number: int) -> str:
        """Return the output of the monitor command `info registers` for CPU `cpu_number`."""
        self.next(self)
        return (
            f"\r\nCPU#{cpu_number}\r\nRAX=0000000000000001 RBX=0000000000000002\r\n"
            f"RSI=0 RDI=0 RBP=0 RSP={get_cpu_stack_pointer(cpu_number):016x}\r\n"
            f"RIP={self.place:016x} RFL={self.flags:08x} [---Z-P-] CPL={3 if self.user else 0}"
            f" II=0 A20=1 SMM=0 HLT={int(self.halted)}\r\n"
            f"GDT=     fffffe0000001000 0000007f\r\nIDT=     {IDT:016x} 00000fff\r\n"
        )


def get_cpu_stack_pointer(cpu_number: int) -> int:
    """Return the stack pointer of CPU `cpu_number`."""
    return 0xFFFFC90000000000 + cpu_number * 0x10000


def make_idt_entry(handler: int) -> list[int]:
    """Return the two words of an IDT entry for the address `handler`."""
    low = (handler >> 16 & 0xFFFF) << 48 | 0x8E00 << 32 | 0x10 << 16 | handler & 0xFFFF
    return [low, handler >> 32]


class FakeMonitor:
    """Serves QMP on a Unix socket, one connection after the other."""

    def __init__(self, path: Path, cpus: list[FakeCpu], memory: dict[int, int]) -> None:
        self.cpus = cpus
        self.memory = memory
        self.state = "running"
        self.asked: list[str] = []
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        threading.Thread(target=self._serve_connections, daemon=True).start()

    def _serve_connections(self) -> None:
        while True:
            line, _ = self._server.accept()
            with line, line.makefile("rw") as qmp:
                self._send_message(qmp, {"QMP": {"version": {}}})
                for request in qmp:
                    # QMP may send an event before any answer.
                    self._send_message(qmp, {"event": "RTC_CHANGE"})
                    self._send_message(qmp, self._answer_request(json.loads(request)))

    @staticmethod
    def _send_message(qmp: TextIO, message: dict[str, Any]) -> None:
        qmp.write(json.dumps(message) + "\r\n")
        qmp.flush()

    def _answer_request(self, request: dict[str, Any]) -> dict[str, Any]:
        command = request["execute"]
        self.asked.append(command)
        if command == "query-status":
            return {"return": {"status": self.state}}
        if command == "human-monitor-command":
            arguments = request["arguments"]
            return {"return": self._run_human_command(arguments["command-line"])}
        if command in ("qmp_capabilities", "stop", "cont"):
            return {"return": {}}
        return {"error": {"desc": f"there is no {command}"}}

    def _run_human_command(self, command: str) -> str:
        if command == "info registers -a":
            return "".join(cpu.format_registers(number) for number, cpu in enumerate(self.cpus))
        words = re.fullmatch(r"x /(\d+)([gb])x 0x([0-9a-f]+)", command)
        assert words, command
        address, size = int(words[3], 16), 8 if words[2] == "g" else 1
        found = [self._read_word(address + size * n) for n in range(int(words[1]))]
        known = [f"0x{word:0{2 * size}x}" for word in found if word is not None]
        # QEMU prints two words per line, and stops at unreadable memory.
        return "".join(
            f"{address + 16 * n:016x}: {' '.join(known[2 * n : 2 * n + 2])}\r\n"
            for n in range((len(known) + 1) // 2)
        )

    def _read_word(self, address: int) -> int | None:
        if IDT + 48 <= address < IDT + 64:
            return make_idt_entry(ENTRY)[(address - IDT - 48) // 8]
        for number, cpu in enumerate(self.cpus):
            index = (address - get_cpu_stack_pointer(number)) // 8
            if 0 <= index < len(cpu.stack):
                return cpu.stack[index]
        return self.memory.get(address)
