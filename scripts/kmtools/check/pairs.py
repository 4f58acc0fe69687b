# SPDX-License-Identifier: GPL-2.0-only
"""The rows of the table of processors: kernels, processors, mitigations, CPUs, preemption models.

Of all combinations so many are chosen that each two values that can be together are so in a row.
The choice is always the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from itertools import combinations, product

# The preemption models that each kernel offers. 5.10 has no parameter for it, and 7.2 refuses none
# and voluntary.
AS_BUILT = "as built"
KERNELS = {
    "6.1": ("none", "voluntary", "full"),
    "6.12": ("none", "voluntary", "full"),
    "7.2": ("full", "lazy"),
    "5.10": (AS_BUILT,),
}
# Processors that QEMU emulates, of which kernels have different opinions.
MODELS = ("Skylake-Server", "EPYC-Milan", "EPYC", "SapphireRapids", "Haswell", "Opteron_G5")
CALL_DEPTH = "call depth"
# The words on the kernel's command line for each.
MITIGATIONS = {"default": "", "off": "mitigations=off", CALL_DEPTH: "retbleed=stuff"}
# Call depths are tracked on processors of Intel that need it, from 6.2 on.
TRACKS_DEPTH = (("6.12", "7.2"), ("Skylake-Server",))
CPUS = (2, 1, 4, 8)


@dataclass(frozen=True)
class Row:
    """A row of the table, without its results."""

    kernel: str
    model: str
    mitigations: str
    cpus: int
    preemption: str

    @property
    def cells(self) -> list[str]:
        """The first cells of the row, by which it is found again."""
        return [str(value) for value in astuple(self)]

    @property
    def pairs(self) -> set[tuple[tuple[int, object], tuple[int, object]]]:
        """Each two values of the row, with their columns."""
        return set(combinations(enumerate(astuple(self)), 2))

    @property
    def append(self) -> str:
        """What the kernel's command line has beyond that of others."""
        preempt = "" if self.preemption == AS_BUILT else f"preempt={self.preemption}"
        return " ".join(filter(None, (MITIGATIONS[self.mitigations], preempt)))


def all_rows() -> list[Row]:
    """Return all combinations that can be."""
    rows = []
    for kernel, offered in KERNELS.items():
        for model, mitigations, cpus, preemption in product(MODELS, MITIGATIONS, CPUS, offered):
            kernels, models = TRACKS_DEPTH
            if mitigations != CALL_DEPTH or (kernel in kernels and model in models):
                rows.append(Row(kernel, model, mitigations, cpus, preemption))
    return rows


def choose(rows: Iterable[Row]) -> list[Row]:
    """Return rows that have each pair of values of all rows, those with most new pairs first."""
    left = list(rows)
    missing = set().union(*(row.pairs for row in left))
    chosen = []
    while missing:
        best = max(left, key=lambda row: len(row.pairs & missing))
        chosen.append(best)
        missing -= best.pairs
    return chosen


def table() -> list[Row]:
    """Return the rows of the table, sorted by kernel."""
    kernels = list(KERNELS)
    return sorted(choose(all_rows()), key=lambda row: kernels.index(row.kernel))
