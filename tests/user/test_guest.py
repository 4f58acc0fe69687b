# SPDX-License-Identifier: GPL-2.0-only
"""The shell scripts of tests/vm: what is read together does not replace what was read before."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from lablib import ROOT

SCRIPTS = ROOT / "tests" / "vm"
SOURCED = re.compile(r"^\s*\. /tests/(\S+)", re.MULTILINE)
FUNCTION = re.compile(r"^([a-z_]+)\(\)", re.MULTILINE)


def read_with(name: str, seen: dict[str, str]) -> dict[str, str]:
    """A script and all that it reads, once each, by name."""
    if name not in seen:
        seen[name] = (SCRIPTS / name).read_text()
        for other in SOURCED.findall(seen[name]):
            read_with(other, seen)
    return seen


@pytest.mark.parametrize("name", sorted(path.name for path in SCRIPTS.glob("*.sh")))
def test_no_function_replaces_another(name: str) -> None:
    texts = read_with(name, {}).values()
    functions = Counter(found for text in texts for found in FUNCTION.findall(text))
    assert not [function for function, times in functions.items() if times > 1]
