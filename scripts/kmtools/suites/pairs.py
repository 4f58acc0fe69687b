# SPDX-License-Identifier: GPL-2.0-only
"""Chooses the combinations of kernel, processor, mitigations, number of CPUs and preemption model
that are tested: the rows of the table of processors.

This is pairwise testing: each possible pair of values occurs in at least one row. The choice is
deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from itertools import combinations, product

# The preemption models of each kernel. Kernel 5.10 has no parameter preempt=, and kernel 7.2
# rejects the models "none" and "voluntary".
AS_BUILT = "as built"
KERNELS = {
    "6.1": ("none", "voluntary", "full"),
    "6.12": ("none", "voluntary", "full"),
    "7.2": ("full", "lazy"),
    "5.10": (AS_BUILT,),
}
# QEMU's processor models that kernels treat differently. An emulated Opteron hangs when a kernel
# enables XSAVE, so XSAVE is disabled. AVX is disabled, too, because with AVX and no XSAVE kernel
# 7.2 crashes in the self-test of a cipher.
OPTERON = "Opteron_G5,-xsave,-avx"
MODELS = ("Skylake-Server", "EPYC-Milan", "EPYC", "SapphireRapids", "Haswell", OPTERON)
# Processor models of Bochs: AMD, Intel without indirect branch tracking, and Intel with it. Bochs
# is slow, so these models run only one kernel, with few CPUs.
BOCHS_MODELS = ("ryzen", "corei7_skylake_x", "arrow_lake")
BOCHS_KERNEL = "6.12"
BOCHS_CPUS = (1, 2)
CALL_DEPTH = "call depth"
# The kernel parameters for each setting of mitigations.
MITIGATIONS = {"default": "", "off": "mitigations=off", CALL_DEPTH: "retbleed=stuff"}
# The kernels and processors with call depth tracking: kernels from 6.2 on, and Intel processors
# that need it.
TRACKS_DEPTH = (("6.12", "7.2"), ("Skylake-Server",))
CPUS = (2, 1, 4, 8)


@dataclass(frozen=True)
class Row:
    """A combination to test: a row of the table, without its results."""

    kernel: str
    model: str
    mitigations: str
    cpus: int
    preemption: str

    @property
    def is_bochs(self) -> bool:
        """True if Bochs emulates the processor; otherwise QEMU does."""
        return self.model in BOCHS_MODELS

    @property
    def cells(self) -> list[str]:
        """The first cells of the row, which identify it in the table."""
        shown = replace(self, model=f"Bochs {self.model}") if self.is_bochs else self
        return [str(value) for value in astuple(shown)]

    @property
    def pairs(self) -> set[tuple[tuple[int, object], tuple[int, object]]]:
        """All pairs of values of the row. Each value is given with the number of its column."""
        return set(combinations(enumerate(astuple(self)), 2))

    @property
    def append(self) -> str:
        """The kernel parameters of this row."""
        preempt = "" if self.preemption == AS_BUILT else f"preempt={self.preemption}"
        return " ".join(filter(None, (MITIGATIONS[self.mitigations], preempt)))


def list_bochs_combinations() -> list[Row]:
    """Return all combinations of kernel, processor model, mitigations, number of CPUs and
    preemption model in which Bochs emulates the processor."""
    values = (BOCHS_MODELS, ("default", "off"), BOCHS_CPUS, KERNELS[BOCHS_KERNEL])
    return [Row(BOCHS_KERNEL, *row) for row in product(*values)]


def list_qemu_combinations() -> list[Row]:
    """Return all combinations of kernel, processor model, mitigations, number of CPUs and
    preemption model in which QEMU emulates the processor."""
    rows = []
    for kernel, offered in KERNELS.items():
        for model, mitigations, cpus, preemption in product(MODELS, MITIGATIONS, CPUS, offered):
            kernels, models = TRACKS_DEPTH
            if mitigations != CALL_DEPTH or (kernel in kernels and model in models):
                rows.append(Row(kernel, model, mitigations, cpus, preemption))
    return rows


def choose_covering_rows(rows: Iterable[Row]) -> list[Row]:
    """Return some of the rows that together contain each pair of values that occurs in `rows`: a
    greedy set cover, without redundant rows."""
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


def choose_table_rows() -> list[Row]:
    """Return the rows of the table: those of QEMU, sorted by kernel, then those of Bochs."""
    kernels = list(KERNELS)
    rows = sorted(
        choose_covering_rows(list_qemu_combinations()), key=lambda row: kernels.index(row.kernel)
    )
    return rows + choose_covering_rows(list_bochs_combinations())
