# SPDX-License-Identifier: GPL-2.0-only
"""Checks includes and imports against the layers of layers.toml: reports includes and imports that
lead to a higher layer or form a cycle."""

from __future__ import annotations

import ast
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from kmtools.base.paths import ROOT, list_sources

TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<((?:kmarkers|compat)/[^>]+)>)', re.M)
Edge = tuple[Path, Path]  # a file, and a file that it includes or imports


def find_layer_of_file(path: Path, layers: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the layer of the file `path`: the layer with the longest file pattern that matches the
    path; None if no pattern matches."""
    fits = [(len(p), one) for one in layers for p in one["files"] if fnmatchcase(str(path), p)]
    return max(fits, key=lambda fit: fit[0], default=(0, None))[1]


def list_include_edges(root: Path, files: set[Path]) -> Iterator[Edge]:
    """Yield (file, included file) for each #include in one of `files` that includes another of
    `files`. The paths are relative to `root`."""
    for path in sorted(file for file in files if file.suffix in (".c", ".h")):
        for own, shared in INCLUDE.findall(
            (root / path).read_text(encoding="utf-8", errors="replace")
        ):
            used = Path("include", shared) if shared else Path(os.path.normpath(path.parent / own))
            if used in files:
                yield path, used


def list_import_edges(root: Path, files: set[Path]) -> Iterator[Edge]:
    """Yield (file, imported file) for each import in a Python module of `files` that imports
    another module of `files`. The paths are relative to `root`."""
    for path in sorted(one for one in files if one.parts[0] == "scripts" and one.suffix == ".py"):
        for node in ast.walk(ast.parse((root / path).read_text(encoding="utf-8"))):
            names = [one.name for one in getattr(node, "names", ()) if isinstance(one, ast.alias)]
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{name}" for name in names)]
            for name in names if isinstance(node, ast.Import | ast.ImportFrom) else ():
                used = Path("scripts", *name.split(".")).with_suffix(".py")
                if used in files and used != path:
                    yield path, used


def find_cycles(edges: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a line for each edge that is part of a cycle; an edge (a, b) means that a uses b."""
    uses: dict[str, set[str]] = {}
    for user, used in edges:
        uses.setdefault(user, set()).add(used)

    def can_reach(start: str, goal: str, seen: set[str]) -> bool:
        seen |= (new := uses.get(start, set()) - seen)
        return goal in new or any(can_reach(one, goal, seen) for one in new)

    pairs = {tuple(sorted((a, b))) for a in uses for b in uses[a] if can_reach(b, a, set())}
    yield from (f"cycle: {a} <-> {b}" for a, b in sorted(pairs) if a != b)


def find_layer_violations(root: Path = ROOT, table: Mapping[str, Any] = TABLE) -> Iterator[str]:
    """Yield a line for each include or import by a file below `root` that `table`, the content of
    layers.toml, does not allow."""
    files = set(list_sources(root))
    for kind, ending, find in (
        ("c", r"\.[ch]$", list_include_edges),
        ("python", r"\.py$", list_import_edges),
    ):
        names, edges = [one["name"] for one in table[kind]], [*find(root, files)]
        layers = {p: find_layer_of_file(p, table[kind]) for p in files if re.search(ending, p.name)}
        yield from (f"{path}: belongs to no layer" for path in sorted(layers) if not layers[path])
        for user, used in edges:
            mine, other = layers[user], layers[used]
            if not mine or not other or mine == other:
                continue
            own = used.parts[0] in ("include", user.parts[0]) or mine.get("inside") or kind != "c"
            if other["name"] not in mine.get("knows", names[: names.index(mine["name"])]):
                yield f"{user}: uses {used}: layer {mine['name']} may not use {other['name']}"
            elif not own and not other.get("open"):
                yield f"{user}: uses {used}, a private header of {other['name']}"
        yield from find_cycles((str(a), str(b)) for a, b in edges)
