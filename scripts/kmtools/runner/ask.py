# SPDX-License-Identifier: GPL-2.0-only
"""The request for a run of tests: a set, a kernel, options NAME=VALUE."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field

from kmtools.base.errors import UnableError, positive


@dataclass(frozen=True)
class Ask:
    """A request: the set whose form the tests have, the kernel's name ("" if none was given), the
    options."""

    form: str = "full"
    named: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    def text(self, name: str, default: str = "") -> str:
        """Return the value of an option."""
        return self.options.get(name) or default

    def words(self, name: str) -> list[str]:
        """Return the value of an option as a list; commas or blanks separate the words."""
        return self.text(name).replace(",", " ").split()

    def flag(self, name: str) -> bool:
        """Return whether an option has a value other than 0."""
        return self.text(name) not in ("", "0")

    def number(self, name: str, default: int | str) -> int:
        """Return the value of an option that is a number above 0."""
        try:
            return positive(self.text(name, str(default)))
        except argparse.ArgumentTypeError as error:
            raise UnableError(f"-o {name}: {error}") from None

    def choice(self, name: str, known: Mapping[str, object] | tuple[str, ...]) -> list[str]:
        """Return the values of an option that are in a list, or raise UnableError."""
        for word in self.words(name):
            if word not in known:
                raise UnableError(f"-o {name}: no {word!r}; there are: {', '.join(known)}")
        return self.words(name)
