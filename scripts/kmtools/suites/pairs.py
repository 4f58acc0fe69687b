# SPDX-License-Identifier: GPL-2.0-only
"""Chooses the combinations of kernel, processor, mitigations, number of CPUs and preemption model
that are tested: the rows of the processor table.

This is pairwise testing: each possible pair of values occurs in at least one row. The choice is
deterministic.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace

# The preemption model of kernel 5.10, which has no parameter preempt=.
AS_BUILT = "as built"
# The preemption models of each kernel. Kernel 7.2 rejects the models "none" and "voluntary".
KERNELS = {
    "6.1": ("none", "voluntary", "full"),
    "6.12": ("none", "voluntary", "full"),
    "7.2": ("full", "lazy"),
    "5.10": (AS_BUILT,),
}
# QEMU's processor models that kernels treat differently. An emulated Opteron hangs when a kernel
# enables XSAVE, so XSAVE is disabled. AVX is disabled, too, because kernel 7.2 with AVX and without
# XSAVE crashes in the self-test of a cipher.
OPTERON = "Opteron_G5,-xsave,-avx"
MODELS = ("Skylake-Server", "EPYC-Milan", "EPYC", "SapphireRapids", "Haswell", OPTERON)
# Processor models of Bochs: AMD, Intel without indirect branch tracking, and Intel with indirect
# branch tracking. Bochs is slow, so these models run only one kernel, with few CPUs.
BOCHS_MODELS = ("ryzen", "corei7_skylake_x", "arrow_lake")
BOCHS_KERNEL = "6.12"
BOCHS_CPUS = (1, 2)
CALL_DEPTH = "call depth"
# The kernel parameters for each setting of mitigations.
MITIGATIONS = {"default": "", "off": "mitigations=off", CALL_DEPTH: "retbleed=stuff"}
# The kernels and processors with call depth tracking: kernels from 6.2 on, and Intel processors
# that need this mitigation.
TRACKS_DEPTH = (("6.12", "7.2"), ("Skylake-Server",))
CPUS = (2, 1, 4, 8)


@dataclass(frozen=True)
class Combination:
    """A combination to test: a row of the processor table. The first cells of the row are the
    values of the combination, the other cells are the results."""

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
        """The values of the combination as text: the first cells of a row of the table of
        processors."""
        shown = replace(self, model=f"Bochs {self.model}") if self.is_bochs else self
        return [str(value) for value in astuple(shown)]

    @property
    def pairs_of_values(self) -> set[tuple[tuple[int, object], tuple[int, object]]]:
        """All pairs of values of the combination. Each value has the form (column number,
        value)."""
        return set(itertools.combinations(enumerate(astuple(self)), 2))

    @property
    def kernel_parameters(self) -> str:
        """The kernel parameters that set the mitigations and the preemption model."""
        preempt = "" if self.preemption == AS_BUILT else f"preempt={self.preemption}"
        return " ".join(filter(None, (MITIGATIONS[self.mitigations], preempt)))


def list_bochs_combinations() -> list[Combination]:
    """Return all combinations of kernel, processor model, mitigations, number of CPUs and
    preemption model in which Bochs emulates the processor."""
    values = (BOCHS_MODELS, ("default", "off"), BOCHS_CPUS, KERNELS[BOCHS_KERNEL])
    return [Combination(BOCHS_KERNEL, *rest) for rest in itertools.product(*values)]


def list_qemu_combinations() -> list[Combination]:
    """Return all combinations of kernel, processor model, mitigations, number of CPUs and
    preemption model in which QEMU emulates the processor."""
    combinations = []
    for kernel, offered in KERNELS.items():
        for model, mitigations, cpus, preemption in itertools.product(
            MODELS, MITIGATIONS, CPUS, offered
        ):
            kernels, models = TRACKS_DEPTH
            if mitigations != CALL_DEPTH or (kernel in kernels and model in models):
                combinations.append(Combination(kernel, model, mitigations, cpus, preemption))
    return combinations


def choose_covering_combinations(combinations: Iterable[Combination]) -> list[Combination]:
    """Choose some of `combinations`, so that each pair of values that occurs at all occurs in a
    chosen combination. The method is a greedy set cover, without redundant elements."""
    left = list(combinations)
    missing = set().union(*(combination.pairs_of_values for combination in left))
    chosen = []
    while missing:
        best = max(left, key=lambda one: len(one.pairs_of_values & missing))
        chosen.append(best)
        missing -= best.pairs_of_values
    for combination in list(chosen):
        others = set().union(*(other.pairs_of_values for other in chosen if other != combination))
        if combination.pairs_of_values <= others:
            chosen.remove(combination)
    return chosen


def choose_tested_combinations() -> list[Combination]:
    """Return the rows of the processor table: first the combinations with a processor that QEMU
    emulates, sorted by kernel, then the combinations with a processor that Bochs emulates."""
    kernels = list(KERNELS)
    combinations = sorted(
        choose_covering_combinations(list_qemu_combinations()),
        key=lambda one: kernels.index(one.kernel),
    )
    return combinations + choose_covering_combinations(list_bochs_combinations())
