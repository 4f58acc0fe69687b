# SPDX-License-Identifier: GPL-2.0-only
"""Deliberate breakages must fit the code that they break."""

from __future__ import annotations

import pytest
from kmtools.base.paths import ROOT
from kmtools.check.mutants import ALL_MUTANTS, broken
from kmtools.check.mutations import Mutant


@pytest.mark.parametrize("mutant", ALL_MUTANTS, ids=lambda mutant: mutant.name)
def test_breakage_can_still_be_made(mutant: Mutant) -> None:
    """A change of the code that makes one impossible is found at once."""
    sound = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert broken(mutant, sound) != sound


def test_names_are_unique() -> None:
    """A name stands for one breakage."""
    names = [mutant.name for mutant in ALL_MUTANTS]
    assert len(set(names)) == len(names)
