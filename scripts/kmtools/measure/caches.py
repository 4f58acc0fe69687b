# SPDX-License-Identifier: GPL-2.0-only
"""Compares the buffer of cold data with the last-level cache, and chooses the memory of test
kernels for a buffer that is large enough.

The benchmarks cold-branch* read random bytes of a buffer. The buffer should be
BUFFER_TO_CACHE_RATIO times as large as the last-level cache, because bytes in the cache are not
read from memory. bench_modules/ops_cold_branch.c chooses the size of the buffer: at most
MAX_BUFFER_BYTES bytes, and at most a quarter of the available memory.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from kmtools.measure.rundir import Tier

BUFFER_TO_CACHE_RATIO = 8
MIB = 1 << 20
MAX_BUFFER_BYTES = 512 * MIB
# The size of the last-level cache if the kernel does not report it; the same number is in
# bench_modules/caches.c.
ASSUMED_CACHE_BYTES = 32 * MIB
# The variants of cold-branch* that read the buffer of cold data.
BUFFER_VARIANTS = ("memory", "variable-compare", "memory-4k", "memory-2m")
# The memory of a test kernel that has no buffer of cold data, in MiB.
USUAL_MEMORY = 1024
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
MEMINFO = Path("/proc/meminfo")


def read_last_level_cache_bytes() -> int:
    """Return the size of the last-level cache of this machine; ASSUMED_CACHE_BYTES if the kernel
    does not report it."""
    sizes = [0]
    for folder in CACHES.glob("index*"):
        with suppress(OSError, ValueError):
            level, size = (
                (folder / name).read_text(encoding="utf-8").strip() for name in ("level", "size")
            )
            if int(level) > 1:
                sizes.append(int(size.removesuffix("K")) * 1024)
    return max(sizes) or ASSUMED_CACHE_BYTES


def choose_guest_memory() -> int:
    """Return the memory in MiB of a test kernel that measures on the real CPU: USUAL_MEMORY plus
    four times the buffer of cold data, because the buffer gets at most a quarter of the available
    memory. Return at most half of the available memory of this machine, but never less than
    USUAL_MEMORY."""
    buffer = min(
        1 << (BUFFER_TO_CACHE_RATIO * read_last_level_cache_bytes() - 1).bit_length(),
        MAX_BUFFER_BYTES,
    )
    found = re.search(r"^MemAvailable: *(\d+) kB", MEMINFO.read_text(encoding="utf-8"), re.M)
    most = int(found[1]) // 1024 // 2 if found else USUAL_MEMORY
    return max(USUAL_MEMORY, min(USUAL_MEMORY + 4 * buffer // MIB, most))


def describe_too_small_buffer(tier: Tier, benchmark: str, variant: str) -> str:
    """Return a caveat if a variant read a buffer that is less than BUFFER_TO_CACHE_RATIO times as
    large as the last-level cache; else an empty text."""
    buffer, cache = (tier.env.get(name, "") for name in ("cold_buffer_bytes", "last_cache_bytes"))
    reads = benchmark.startswith("cold-branch") and variant in BUFFER_VARIANTS
    if not reads or not (buffer.isdecimal() and cache.isdecimal()):
        return ""
    times = int(buffer) / max(1, int(cache))
    if times >= BUFFER_TO_CACHE_RATIO:
        return ""
    last = f"the last-level cache of {int(cache) // MIB} MiB"
    return (
        f"its buffer has {int(buffer) // MIB} MiB, {times:.1f} times {last}: part of the buffer is"
        " in the cache, so reads from memory would cost more"
    )
