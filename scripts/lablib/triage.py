# SPDX-License-Identifier: GPL-2.0-only
"""Tells a crash of the emulator from one of ours.

An emulator that translates code may run a breakpoint long after the byte was replaced, and
kills stock kernels now and then without any module of ours. A crash is taken for such a one
only if nothing of ours is in its trace; then the same boot is tried again.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from lablib import logscan
from lablib.machine import Result

MOST_RETRIES = 2


def our_frames(console: str, modules: Collection[str]) -> list[str]:
    """Return the lines of a kernel log that name code of our modules in a trace."""
    names = "|".join(re.escape(name) for name in modules)
    frame = re.compile(rf"\+0x[0-9a-f]+/0x[0-9a-f]+ \[(?:{names})[\] ]")
    return [line for line in console.splitlines() if frame.search(line)]


def emulators_crash(result: Result, modules: Collection[str]) -> str | None:
    """Return what a crash looked like if nothing speaks for it being ours, else None."""
    if result.exit_code is not None:
        return None
    if result.emulator_failed:
        return "the emulator itself died"
    faults = logscan.scan_log(result.console)
    if not result.status.strip():
        # None of our modules was loaded yet.
        return faults[0].strip() if faults else "the kernel did not boot"
    if not faults or our_frames(result.console, modules):
        return None
    return re.sub(r"^\[ *[0-9.]+\](\[[^]]*\])? *", "", faults[0])
