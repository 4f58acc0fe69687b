# SPDX-License-Identifier: GPL-2.0-only
"""Checks the symbols of objects with nm: reports names without a prefix, functions that two files
of a module define, and objects that depend on each other in a cycle."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kmtools.base.errors import FailedError
from kmtools.base.processes import capture_output
from kmtools.lint.layers import TABLE, find_cycles

# Matches symbols that macros generate: symbols of the kernel's macros, copies of a benchmark's loop
# at other code alignments, and symbols that make a client depend on a module.
MADE = re.compile(r"__|(init|cleanup)_module$|\w+\.|\w+_\d+$|\w+_tables_need_")


def read_object_symbols(path: Path) -> list[tuple[str, str]]:
    """Return the symbols of an object, each as (name, type letter of nm), without symbols that
    macros generate."""
    done = capture_output(["nm", path])
    if done.returncode:
        raise FailedError(f"nm cannot read {path}: {done.stderr.strip()}")
    words = [line.split()[-2:] for line in done.stdout.splitlines()]
    return [(name, letter) for letter, name in words if not MADE.match(name)]


def find_module_symbol_faults(module: Path, root: Path) -> Iterator[str]:
    """Yield a line for each fault in the symbols of `module`, a .ko file below the build directory
    `root`. The .mod file next to the .ko file lists the objects of the module."""
    objects = module.with_suffix(".mod").read_text(encoding="utf-8").split()
    own = [root / name.removeprefix("/src/") for name in objects]
    used = {path: read_object_symbols(path) for path in own}
    owner = {name: path for path in own for name, letter in used[path] if letter in "TDBRA"}
    for name, path in sorted(owner.items()):
        if not name.startswith(tuple(TABLE["names"]["prefixes"])):
            yield f"{path.relative_to(root)}: symbol {name} has no prefix of layers.toml"
    functions = Counter(name for path in own for name, letter in used[path] if letter in "tT")
    for name in sorted(name for name, count in functions.items() if count > 1):
        yield f"{module.stem}: function {name} is defined in more than one file"
    edges = [
        (str(path.relative_to(root)), str(owner[name].relative_to(root)))
        for path in own
        for name, letter in used[path]
        if letter == "U" and name in owner
    ]
    yield from find_cycles(edges)


def find_all_symbol_faults(root: Path) -> list[str]:
    """Return a line for each fault in the symbols of the modules that were built in the directory
    `root`."""
    modules = [path for path in sorted(root.glob("*/*.ko")) if path.parent.name != "tests"]
    if not modules:
        raise FailedError(f"no module was built in {root}")
    return [line for module in modules for line in find_module_symbol_faults(module, root)]
