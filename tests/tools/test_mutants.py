# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the tables in tests/mutants: it must be possible to apply each mutant to the source."""

from __future__ import annotations

import pytest
from kmtools.base.paths import ROOT
from kmtools.suites.mutants import (
    ALL_MUTANTS,
    TABLES,
    Mutant,
    MutantError,
    Place,
    apply_mutant,
    parse_mutant_table,
)

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
def test_mutant_can_be_applied(mutant: Mutant) -> None:
    """The old lines of each mutant occur once in the source."""
    sound = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert apply_mutant(mutant, sound) != sound


def test_names_of_mutants_are_unique() -> None:
    """No two mutants have the same name."""
    names = [mutant.name for mutant in ALL_MUTANTS]
    assert len(set(names)) == len(names)


def test_every_mutant_line_is_parsed() -> None:
    """Each line that begins with @@ is parsed as a mutant."""
    lines = [line for table in TABLES for line in table.read_text(encoding="utf-8").splitlines()]
    heads = [line for line in lines if "@@ " in line[:3]]
    assert len(heads) == len(ALL_MUTANTS) > 100


def test_all_fields_of_a_mutant_are_parsed() -> None:
    """parse_mutant_table() returns all fields of a mutant."""
    (mutant,) = parse_mutant_table(ROW)
    assert (mutant.name, mutant.what, mutant.file) == ("a-name", "what is broken", "some/file.c")
    assert (mutant.place, mutant.suites) == (Place.KERNEL, ["core", "tables"])
    assert (mutant.tests, mutant.model) == (["one test: its end", "another"], "variant")
    assert mutant.edits == [("kept\n\ntaken\n", "kept\n\nput\n"), ("last\n", "")]
    assert apply_mutant(mutant, "last\nkept\n\ntaken\nend\n") == "kept\n\nput\nend\n"


@pytest.mark.parametrize("text", ["", "last\n", "kept\n\ntaken\nlast\nlast\n"])
def test_old_lines_must_occur_exactly_once(text: str) -> None:
    """If the old lines of a mutant do not occur exactly once, apply_mutant() raises an error."""
    (mutant,) = parse_mutant_table(ROW)
    with pytest.raises(MutantError, match="exactly once"):
        apply_mutant(mutant, text)


def test_invalid_mutant_is_refused() -> None:
    """A mutant whose tests run in an unknown place (not user, kernel and so on) is an error."""
    with pytest.raises(MutantError, match="cannot be read"):
        list(parse_mutant_table(ROW.replace("kernel core", "nowhere")))
