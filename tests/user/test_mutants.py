# SPDX-License-Identifier: GPL-2.0-only
"""Deliberate breakages must fit the code that they break."""

from __future__ import annotations

import pytest
from lablib import ROOT
from mutants import broken
from mutations import MUTANTS, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_breakage_can_still_be_made(mutant: Mutant) -> None:
    """A change of the code that makes one impossible is found at once."""
    sound = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert broken(mutant, sound) != sound
