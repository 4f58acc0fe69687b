# SPDX-License-Identifier: GPL-2.0-only
"""Reads mutations.txt: the deliberate breakages that mutants.py makes, and who must notice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from kmtools.base.errors import UnableError

TABLE = Path(__file__).with_name("mutations.txt")
HEAD = re.compile(
    r"([\w-]+): (.+)\n(user|sanitized|kernel)((?: \w+)*): ((?:.*,\n)*[^;\n]+)(?:; model (\S+))?\n"
)


class MutantError(UnableError):
    """The breakage could not be made, built or run."""


class Ground(Enum):
    """Where the tests of a mutant run."""

    USER = "user"
    SANITIZED = "sanitized"
    KERNEL = "kernel"


@dataclass(frozen=True)
class Mutant:
    """One breakage: what to replace by what, and the tests of which one must fail.

    `model` names the variant of tests/model/variants.py that is broken in the same way, `suites`
    those of tests/vm/suites that the tests are in, if they are no cases.
    """

    name: str
    what: str
    file: str
    edits: Sequence[tuple[str, str]]
    tests: Sequence[str]
    ground: Ground = Ground.USER
    model: str = ""
    suites: Sequence[str] = ()


def read(text: str) -> Iterator[Mutant]:
    """Every mutant of a table."""
    for section in re.split(r"^--- ", text, flags=re.M)[1:]:
        file, _, rest = section.partition("\n")
        for mutant in re.split(r"^@@ ", rest, flags=re.M)[1:]:
            head = HEAD.match(mutant)
            if head is None:
                raise MutantError(f"{TABLE.name}, {file}: cannot be read: {mutant}")
            name, what, ground, suites, tests, model = head.groups(default="")
            hunks = re.split(r"^\.\.\.\n", mutant[head.end() :].rstrip("\n") + "\n", flags=re.M)
            yield Mutant(
                *(name, what, file, [edit(hunk) for hunk in hunks], re.split(r",\s+", tests)),
                *(Ground(ground), model, suites.split()),
            )


def edit(hunk: str) -> tuple[str, str]:
    """The lines of a hunk as they are, and as they become."""
    lines = hunk.splitlines(keepends=True)
    old, new = ("".join(line[1:] or line for line in lines if line[0] != sign) for sign in "+-")
    return old, new
