# SPDX-License-Identifier: GPL-2.0-only
"""Imports of the tools go down from room to room; whatever goes up or in a circle is found."""

from __future__ import annotations

import pytest
from kmtools.check import lint, rooms

SOUND = {
    "kmtools": "",
    "kmtools.base": "",
    "kmtools.base.paths": "import os\n",
    "kmtools.check.ktap": "",
    "kmtools.lab.apt": "from kmtools.base.paths import ROOT\n",
    "kmtools.report.page": "from kmtools.lab import apt\nfrom kmtools.base import paths\n",
}


def test_these_tools_keep_to_it() -> None:
    assert lint.lint_rooms(lint.Sources()) == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("base.paths", "from kmtools.check import ktap", "base.paths imports kmtools.check.ktap,"),
        ("lab.apt", "def f():\n    import kmtools.check.ktap\n", "lab.apt imports kmtools.check"),
        ("lab.deb", "from kmtools.attic.box import X", "kmtools.lab.deb: there is no room attic"),
        ("lab.deb", "from kmtools.lab.tar import x", "kmtools.lab.deb -> kmtools.lab.tar"),
    ],
)
def test_a_breach_is_found(name: str, text: str, said: str) -> None:
    tar = "from kmtools.lab import deb\n"
    tree = SOUND | {"kmtools.attic.box": "", "kmtools.lab.deb": "", "kmtools.lab.tar": tar}
    assert rooms.breaches(tree) == []
    (found,) = rooms.breaches(tree | {f"kmtools.{name}": text})
    assert said in found
