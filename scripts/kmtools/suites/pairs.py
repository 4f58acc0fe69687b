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

# The preemption models of each kernel. 5.10 has no parameter preempt=, and 7.2 rejects none and
# voluntary.
AS_BUILT = "as built"
KERNELS = {
    "6.1": ("none", "voluntary", "full"),
    "6.12": ("none", "voluntary", "full"),
    "7.2": ("full", "lazy"),
    "5.10": (AS_BUILT,),
}
# QEMU's processor models that kernels treat differently. An emulated Opteron hangs when a kernel
# enables XSAVE, so XSAVE is disabled, and with it AVX: with AVX and no XSAVE, 7.2 crashes in the
# self-test of a cipher.
OPTERON = "Opteron_G5,-xsave,-avx"
MODELS = ("Skylake-Server", "EPYC-Milan", "EPYC", "SapphireRapids", "Haswell", OPTERON)
# Processor models of Bochs: AMD, Intel without indirect branch tracking, and Intel with it. Bochs
# is slow, so they run one kernel, with few CPUs.
BOCHS_MODELS = ("ryzen", "corei7_skylake_x", "arrow_lake")
BOCHS_KERNEL = "6.12"
BOCHS_CPUS = (1, 2)
CALL_DEPTH = "call depth"
# The kernel parameters for each setting of mitigations.
MITIGATIONS = {"default": "", "off": "mitigations=off", CALL_DEPTH: "retbleed=stuff"}
# The kernels and processors with call depth tracking: Intel processors that need it, from 6.2 on.
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
        """All pairs of values of the row; a value is a pair: number of its column, value."""
        return set(combinations(enumerate(astuple(self)), 2))

    @property
    def append(self) -> str:
        """The kernel parameters of this row."""
        preempt = "" if self.preemption == AS_BUILT else f"preempt={self.preemption}"
        return " ".join(filter(None, (MITIGATIONS[self.mitigations], preempt)))


def list_bochs_rows() -> list[Row]:
    """Return all possible combinations with a processor of Bochs."""
    values = (BOCHS_MODELS, ("default", "off"), BOCHS_CPUS, KERNELS[BOCHS_KERNEL])
    return [Row(BOCHS_KERNEL, *row) for row in product(*values)]


def list_qemu_rows() -> list[Row]:
    """Return all possible combinations with a processor of QEMU."""
    rows = []
    for kernel, offered in KERNELS.items():
        for model, mitigations, cpus, preemption in product(MODELS, MITIGATIONS, CPUS, offered):
            kernels, models = TRACKS_DEPTH
            if mitigations != CALL_DEPTH or (kernel in kernels and model in models):
                rows.append(Row(kernel, model, mitigations, cpus, preemption))
    return rows


def choose_rows(rows: Iterable[Row]) -> list[Row]:
    """Choose rows that together contain each pair of values of all rows (greedy set cover), and
    drop redundant ones."""
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
    rows = sorted(choose_rows(list_qemu_rows()), key=lambda row: kernels.index(row.kernel))
    return rows + choose_rows(list_bochs_rows())
