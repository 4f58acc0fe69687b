# SPDX-License-Identifier: GPL-2.0-only
"""Compares the buffer of cold data with the last cache, and sizes the memory of test kernels by it.

The benchmarks cold-branch* read random bytes of a buffer that should be TIMES times as large as the
last-level cache; else, part of what they call memory is in the cache. Its size is chosen in
bench_modules/ops_cold_branch.c: at most MOST_BUFFER bytes, and at most a quarter of the available
memory.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from kmtools.measure.rundir import Tier

TIMES = 8
MIB = 1 << 20
MOST_BUFFER = 512 * MIB
# The size that is assumed for a last cache of which nothing is known, as in bench_modules/caches.c.
UNKNOWN_CACHE = 32 * MIB
# The variants of cold-branch* that read the buffer.
READING = ("memory", "variable-compare", "memory-4k", "memory-2m")
# The memory of a test kernel without such a buffer, in MiB.
USUAL_MEMORY = 1024
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
MEMINFO = Path("/proc/meminfo")


def read_last_cache_bytes() -> int:
    """Return the size of the last-level cache of this machine; UNKNOWN_CACHE if the kernel does not
    tell it."""
    sizes = [0]
    for folder in CACHES.glob("index*"):
        with suppress(OSError, ValueError):
            level, size = ((folder / name).read_text().strip() for name in ("level", "size"))
            if int(level) > 1:
                sizes.append(int(size.removesuffix("K")) * 1024)
    return max(sizes) or UNKNOWN_CACHE


def choose_guest_memory() -> int:
    """Return the memory in MiB of a test kernel that measures on the real CPU: enough for the
    buffer of cold data, of which four must fit into its available memory. It takes at most half of
    the available memory of this machine, but never less than USUAL_MEMORY."""
    buffer = min(1 << (TIMES * read_last_cache_bytes() - 1).bit_length(), MOST_BUFFER)
    found = re.search(r"^MemAvailable: *(\d+) kB", MEMINFO.read_text(), re.M)
    most = int(found[1]) // 1024 // 2 if found else USUAL_MEMORY
    return max(USUAL_MEMORY, min(USUAL_MEMORY + 4 * buffer // MIB, most))


def describe_small_buffer(tier: Tier, benchmark: str, variant: str) -> str:
    """Return a caveat if a variant read a buffer that is too small for the last cache; else an
    empty text."""
    buffer, cache = (tier.env.get(name, "") for name in ("cold_buffer_bytes", "last_cache_bytes"))
    reads = benchmark.startswith("cold-branch") and variant in READING
    if not reads or not (buffer.isdecimal() and cache.isdecimal()):
        return ""
    times = int(buffer) / max(1, int(cache))
    if times >= TIMES:
        return ""
    sizes = f"{int(buffer) // MIB} MiB, {times:.1f} times the last cache of {int(cache) // MIB} MiB"
    return f"its buffer has {sizes}: part of it is in the cache, so memory would cost more"
