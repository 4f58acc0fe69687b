# SPDX-License-Identifier: GPL-2.0-only
"""Who may import whom in this package: a room those below it, and no two files each other."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

# From the ground up.
ROOMS = ("base", "lab", "measure", "analyse", "report", "check", "commands", "cli")
PACKAGE = "kmtools"


def imported(text: str, modules: Iterable[str]) -> Iterator[str]:
    """The modules of the package that a source imports, wherever it does so."""
    known = set(modules)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            yield from {name, name.rpartition(".")[0]} & known


def breaches(sources: Mapping[str, str]) -> list[str]:
    """What is imported against the rooms, or in a circle; `sources` is text by dotted name."""
    graph = {name: set(imported(text, sources)) - {name} for name, text in sources.items()}
    found = []
    for name, others in sorted(graph.items()):
        for other in sorted(others):
            rooms = [one.split(".")[1] for one in (name, other) if "." in one]
            if unknown := [room for room in rooms if room not in ROOMS]:
                found.append(f"{name}: there is no room {unknown[0]}")
            elif len(rooms) == 2 and ROOMS.index(rooms[0]) < ROOMS.index(rooms[1]):
                found.append(f"{name} imports {other}, which is in a room above it")
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found.append(f"a circle of imports: {' -> '.join(error.args[1])}")
    return found
