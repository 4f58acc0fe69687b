# SPDX-License-Identifier: GPL-2.0-only
"""The shell scripts of test kernels: those of tests/vm, and the first process."""

from __future__ import annotations

import re
import subprocess
from collections import Counter

import pytest
from kmtools.base.paths import ROOT

SCRIPTS = ROOT / "tests" / "vm"
SOURCED = re.compile(r"^\s*\. /tests/(\S+)", re.MULTILINE)
FUNCTION = re.compile(r"^([a-z_]+)\(\)", re.MULTILINE)
SHARED = re.compile(r"^([a-z_]+)=", re.MULTILINE)


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


@pytest.mark.parametrize("name", sorted(path.name for path in SCRIPTS.glob("*.sh")))
def test_no_variable_of_all_replaces_another(name: str) -> None:
    texts = read_with(name, {}).values()
    variables = Counter(found for text in texts for found in set(SHARED.findall(text)))
    assert not [variable for variable, times in variables.items() if times > 1]


def test_first_process_touches_no_other_system() -> None:
    text = (ROOT / "scripts" / "guest" / "init").read_text()
    # Only what comes before its first command is run here: the rest would mount and power off.
    head, command, _ = text.partition("\n/bin/busybox --install")
    assert command
    done = subprocess.run(["sh", "-c", head], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "first process of a test kernel" in done.stderr
