# SPDX-License-Identifier: GPL-2.0-only
"""The request for a test run: a set of tests, a test kernel, options NAME=VALUE."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from kmtools.base.errors import UnableError, parse_positive_int

Value = TypeVar("Value")


@dataclass(frozen=True)
class SuiteRequest:
    """A request for a test run. `form` is the requested set of tests, which also selects the length
    of each test: "short", "full" or "weekly". If the user named the tests, `form` is "named", and
    each test has its full length. `kernel` is the name of the test kernel ("" if the user named
    none), `options` are the options of tests."""

    form: str = "full"
    kernel: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    def get_option_text(self, name: str, default: str = "") -> str:
        """Return the value of an option, or the default if the option has no value."""
        return self.options.get(name) or default

    def get_option_words(self, name: str) -> list[str]:
        """Return the value of an option as a list of words, separated by commas or blanks."""
        return self.get_option_text(name).replace(",", " ").split()

    def is_option_set(self, name: str) -> bool:
        """Return true if an option has a value other than 0."""
        return self.get_option_text(name) not in ("", "0")

    def parse_option(self, name: str, default: str, parse: Callable[[str], Value]) -> Value:
        """Return the value of an option, converted by `parse`, a function for the parameter `type`
        of argparse."""
        try:
            return parse(self.get_option_text(name, default))
        except argparse.ArgumentTypeError as error:
            raise UnableError(f"-o {name}: {error}") from None

    def get_option_number(self, name: str, default: int | str) -> int:
        """Return the value of an option, which must be a whole number above 0."""
        return self.parse_option(name, str(default), parse_positive_int)

    def get_option_numbers(self, name: str) -> list[int]:
        """Return the words of an option, which must be whole numbers above 0."""
        words = self.get_option_words(name)
        return self.parse_option(name, "", lambda _: [*map(parse_positive_int, words)])

    def get_option_choices(
        self, name: str, known: Mapping[str, object] | tuple[str, ...]
    ) -> list[str]:
        """Return the words of an option; raise UnableError for a word that is not in `known`."""
        for word in self.get_option_words(name):
            if word not in known:
                raise UnableError(f"-o {name}: {word!r} is not one of {', '.join(known)}")
        return self.get_option_words(name)
