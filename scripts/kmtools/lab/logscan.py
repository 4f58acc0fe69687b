# SPDX-License-Identifier: GPL-2.0-only
"""Finds reports of faults in a kernel log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# Patterns of lines that begin a report of a fault. Lost log lines count as a fault, too. In a test
# kernel, grep -E applies the patterns after every test, so the patterns must mean the same in
# Python and as POSIX extended regular expressions.
FAULT_PATTERNS = (
    "WARNING: ",
    "BUG: ",
    "BUG at ",
    "Oops[:#]",
    "Kernel panic",
    "general protection",
    "Call Trace:",
    "invalid opcode:",
    "stack segment:",
    "double fault",
    "int3: [0-9]{4}",
    "divide error:",
    "unable to handle",
    "possible (circular|recursive) locking",
    "inconsistent lock state",
    "INFO: (possible |trying to register|SOFTIRQ-safe|HARDIRQ-safe)",
    r"\[ (BUG|INFO):? ",
    "turning off the locking correctness validator",
    "bad unlock balance",
    "held lock freed",
    "still has locks held",
    "lock held when returning to user space",
    "DEBUG_LOCKS_WARN_ON",
    "suspicious RCU",
    "[Ii]llegal context switch in RCU",
    "scheduling while atomic",
    "sleeping function called from invalid",
    "(soft|hard) lockup",
    "hung task",
    "blocked for more than [0-9]+ seconds",
    "rcu: INFO: ",
    "self-detected stall",
    "detected stalls",
    "(KASAN|KCSAN|KMSAN|KFENCE|UBSAN):",
    "DEADLOCK",
    "kmemleak: [1-9][0-9]* new",
    "kmemleak: .*disabled",
    "ODEBUG: ",
    "refcount_t: ",
    "list_(add|del) corruption",
    "slab.*corrupt",
    "objtool: ",
    "unwind.*(stack corrupt|bad frame)",
    "module: overflow in relocation",
    "Bad page",
    "nobody cared",
    "printk messages dropped",
    "ftrace bug",
    "jump_label: Fatal",
    r"x86/mm: Found insecure W\+X",
)
# Patterns of lines that match FAULT_PATTERNS but report no fault: the kernel command line, and
# warnings about flaws of the CPU. A kernel may print such warnings at every boot.
HARMLESS_PATTERNS = (
    "ommand line: ",
    "(Spectre|RETBleed|MDS|TAA|MMIO|SRSO|VMSCAPE|ITS)[^:]*: ?(WARNING|Vulnerable)",
    "Speculative Return Stack Overflow: WARNING: See ",
)

_FAULT = re.compile("|".join(f"(?:{pattern})" for pattern in FAULT_PATTERNS))
_HARMLESS = re.compile("|".join(f"(?:{pattern})" for pattern in HARMLESS_PATTERNS))


# Faults between these two lines of the log are ignored. A job writes the lines to /dev/kmsg before
# and after the use of foreign code, such as a third-party module without markers.
FOREIGN_BEGIN, FOREIGN_END = "kmarkers-job: foreign code begins", "kmarkers-job: foreign code ends"


def find_fault_lines(log: str) -> list[str]:
    """Return the lines of a kernel log that report a fault, except between FOREIGN_BEGIN and
    FOREIGN_END."""
    lines = log.splitlines()
    return [lines[number] for number in find_fault_indexes(lines)]


def find_fault_indexes(lines: Sequence[str]) -> Iterator[int]:
    """Yield the indexes of the lines that report a fault, except between FOREIGN_BEGIN and
    FOREIGN_END."""
    foreign = False
    for number, line in enumerate(lines):
        if FOREIGN_BEGIN in line or FOREIGN_END in line:
            foreign = FOREIGN_BEGIN in line
        elif not foreign and is_fault_line(line):
            yield number


def is_fault_line(line: str) -> bool:
    """Return True if a line of a kernel log reports a fault."""
    return _FAULT.search(line) is not None and _HARMLESS.search(line) is None


def select_fault_context(
    text: str, before: int = 2, after: int = 12, max_lines: int = 80
) -> list[str]:
    """Return the lines of a kernel log that report a fault, with `before` lines before and `after`
    lines after each; at most `max_lines` lines in all."""
    lines = text.splitlines()
    shown: set[int] = set()
    for number in find_fault_indexes(lines):
        shown.update(range(max(0, number - before), min(len(lines), number + after + 1)))
    return [lines[number] for number in sorted(shown)][:max_lines]
