# SPDX-License-Identifier: GPL-2.0-only
"""Deliberate breakages must fit the code that they break."""

from __future__ import annotations

import pytest
from kmtools.base.paths import ROOT
from kmtools.suites.mutants import ALL_MUTANTS, TABLES, Ground, Mutant, MutantError, broken, read

ROW = """
--- some/file.c
@@ a-name: what is broken
kernel core tables: one test: its end,
another; model variant
 kept

-taken
+put
...
-last
"""


@pytest.mark.parametrize("mutant", ALL_MUTANTS, ids=lambda mutant: mutant.name)
def test_breakage_can_still_be_made(mutant: Mutant) -> None:
    """A change of the code that makes a mutant impossible is found here."""
    sound = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert broken(mutant, sound) != sound


def test_names_are_unique() -> None:
    """A name stands for one breakage."""
    names = [mutant.name for mutant in ALL_MUTANTS]
    assert len(set(names)) == len(names)


def test_no_row_is_passed_by() -> None:
    """Every line that begins a mutant is one."""
    lines = [line for table in TABLES for line in table.read_text(encoding="utf-8").splitlines()]
    heads = [line for line in lines if "@@ " in line[:3]]
    assert len(heads) == len(ALL_MUTANTS) > 100


def test_rows_are_read_as_they_are_meant() -> None:
    """A row describes a mutant completely, and its lines are a diff."""
    (mutant,) = read(ROW)
    assert (mutant.name, mutant.what, mutant.file) == ("a-name", "what is broken", "some/file.c")
    assert (mutant.ground, mutant.suites) == (Ground.KERNEL, ["core", "tables"])
    assert (mutant.tests, mutant.model) == (["one test: its end", "another"], "variant")
    assert mutant.edits == [("kept\n\ntaken\n", "kept\n\nput\n"), ("last\n", "")]
    assert broken(mutant, "last\nkept\n\ntaken\nend\n") == "kept\n\nput\nend\n"


@pytest.mark.parametrize("text", ["", "last\n", "kept\n\ntaken\nlast\nlast\n"])
def test_lines_that_are_not_there_once_are_refused(text: str) -> None:
    """A mutant that breaks nothing, or another line, is an error."""
    (mutant,) = read(ROW)
    with pytest.raises(MutantError, match="exactly once"):
        broken(mutant, text)


def test_an_unreadable_row_is_refused() -> None:
    """A row without tests is not mistaken for a mutant without effect."""
    with pytest.raises(MutantError, match="cannot be read"):
        list(read(ROW.replace("kernel core", "nowhere")))
