# SPDX-License-Identifier: GPL-2.0-only
"""Chooses the rows of the table of processors: kernels, processors, mitigations, CPUs, preemption
models.

Pairwise testing: rows are chosen so that each possible pair of values occurs in at least one row.
The choice is deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from itertools import combinations, product

# The preemption models that each kernel offers. 5.10 has no parameter for the model, and 7.2
# refuses none and voluntary.
AS_BUILT = "as built"
KERNELS = {
    "6.1": ("none", "voluntary", "full"),
    "6.12": ("none", "voluntary", "full"),
    "7.2": ("full", "lazy"),
    "5.10": (AS_BUILT,),
}
# Processors that QEMU emulates and that kernels treat differently. With XSAVE, an emulated Opteron
# hangs when a kernel enables XSAVE. AVX needs XSAVE: with AVX alone, 7.2 crashes in its self-test
# of a cipher.
OPTERON = "Opteron_G5,-xsave,-avx"
MODELS = ("Skylake-Server", "EPYC-Milan", "EPYC", "SapphireRapids", "Haswell", OPTERON)
# Processors of Bochs, which is slow: AMD's, Intel's without indirect branch tracking, and with it.
# They run one kernel, with few CPUs.
BOCHS_MODELS = ("ryzen", "corei7_skylake_x", "arrow_lake")
BOCHS_KERNEL = "6.12"
BOCHS_CPUS = (1, 2)
CALL_DEPTH = "call depth"
# The kernel parameters for each setting of mitigations.
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
    def by_bochs(self) -> bool:
        """Whether Bochs emulates the processor; otherwise QEMU does."""
        return self.model in BOCHS_MODELS

    @property
    def cells(self) -> list[str]:
        """The first cells of the row, which identify it in the table."""
        shown = replace(self, model=f"Bochs {self.model}") if self.by_bochs else self
        return [str(value) for value in astuple(shown)]

    @property
    def pairs(self) -> set[tuple[tuple[int, object], tuple[int, object]]]:
        """All pairs of values of the row, with their columns."""
        return set(combinations(enumerate(astuple(self)), 2))

    @property
    def append(self) -> str:
        """The kernel parameters of this row."""
        preempt = "" if self.preemption == AS_BUILT else f"preempt={self.preemption}"
        return " ".join(filter(None, (MITIGATIONS[self.mitigations], preempt)))


def rows_of_bochs() -> list[Row]:
    """Return all combinations that Bochs runs."""
    values = (BOCHS_MODELS, ("default", "off"), BOCHS_CPUS, KERNELS[BOCHS_KERNEL])
    return [Row(BOCHS_KERNEL, *row) for row in product(*values)]


def rows_of_qemu() -> list[Row]:
    """Return all possible combinations that QEMU runs."""
    rows = []
    for kernel, offered in KERNELS.items():
        for model, mitigations, cpus, preemption in product(MODELS, MITIGATIONS, CPUS, offered):
            kernels, models = TRACKS_DEPTH
            if mitigations != CALL_DEPTH or (kernel in kernels and model in models):
                rows.append(Row(kernel, model, mitigations, cpus, preemption))
    return rows


def choose(rows: Iterable[Row]) -> list[Row]:
    """Return rows that together contain every pair of values of all rows, those with most new pairs
    first."""
    left = list(rows)
    missing = set().union(*(row.pairs for row in left))
    chosen = []
    while missing:
        best = max(left, key=lambda row: len(row.pairs & missing))
        chosen.append(best)
        missing -= best.pairs
    for row in list(chosen):
        others = set().union(*(other.pairs for other in chosen if other != row))
        if row.pairs <= others:
            chosen.remove(row)
    return chosen


def table() -> list[Row]:
    """Return the rows of the table: those of QEMU, sorted by kernel, and those of Bochs."""
    kernels = list(KERNELS)
    rows = sorted(choose(rows_of_qemu()), key=lambda row: kernels.index(row.kernel))
    return rows + choose(rows_of_bochs())
