# SPDX-License-Identifier: GPL-2.0-only
"""Checks the symbols of objects with nm: reports names without a prefix, functions defined twice in
a module, and objects with cyclic dependencies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.processes import captured
from kmtools.lint.layers import TABLE, circles

# Macros make these names: the kernel's names, names of layouts of the same code, and symbols that
# make a client depend on a module.
MADE = re.compile(r"__|(init|cleanup)_module$|\w+\.|\w+_\d+$|\w+_tables_need_")


def symbols(path: Path) -> list[tuple[str, str]]:
    """Return the names of an object, each with nm's letter for it."""
    done = captured(["nm", path])
    if done.returncode:
        raise UnableError(f"nm cannot read {path}: {done.stderr.strip()}")
    words = [line.split()[-2:] for line in done.stdout.splitlines()]
    return [(name, letter) for letter, name in words if not MADE.match(name)]


def of_module(module: Path, root: Path) -> Iterator[str]:
    """Yield each fault in the names of a module; the list of its objects is in the file beside
    it."""
    listed = module.with_suffix(".mod").read_text().split()
    own = [root / name.removeprefix("/src/") for name in listed]
    used = {path: symbols(path) for path in own}
    owner = {name: path for path in own for name, letter in used[path] if letter in "TDBRA"}
    for name, path in sorted(owner.items()):
        if not name.startswith(tuple(TABLE["names"]["prefixes"])):
            yield f"{path.relative_to(root)}: {name} has none of the prefixes"
    functions = Counter(name for path in own for name, letter in used[path] if letter in "tT")
    for name in sorted(name for name, count in functions.items() if count > 1):
        yield f"{module.stem}: {name} is in more than one file"
    edges = [
        (str(path.relative_to(root)), str(owner[name].relative_to(root)))
        for path in own
        for name, letter in used[path]
        if letter == "U" and name in owner
    ]
    yield from circles(edges)


def breaches(root: Path) -> list[str]:
    """Return the faults in the names of the modules that were built in a directory."""
    modules = [path for path in sorted(root.glob("*/*.ko")) if path.parent.name != "tests"]
    if not modules:
        raise UnableError(f"no module was built in {root}")
    return [line for module in modules for line in of_module(module, root)]
