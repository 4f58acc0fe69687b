# SPDX-License-Identifier: GPL-2.0-only
"""Finds the floor of each source, and which source uses which: include, call, object or import."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from kmtools.base.paths import sources
from kmtools.check import csource
from kmtools.check.csource import CSource, Definition

OBJECTS = re.compile(r"^(\w+)-y\s*[:+]?=(.*)", re.M)
PREFIXED = re.compile(r"\$\(addprefix\s+([^,\s]+),([^)]*)\)")
SINGLE = re.compile(r"^obj-\S+\s*[:+]?=(.*)", re.M)
Pair = tuple[str, str]  # a floor, and a floor that it uses


@dataclass(frozen=True)
class Edge:
    """A use of one file by another: where it is, and a text that names it."""

    user: Path
    used: Path
    line: int
    what: str


@dataclass(frozen=True)
class Floor:
    """A group of files, and the floors below that these may know."""

    name: str
    what: str
    files: Sequence[str]
    knows: Sequence[str] = ()
    inside: bool = False
    open: bool = False
    beside: bool = False


def floor_of(path: Path, floors: Sequence[Floor]) -> Floor | None:
    """Return the floor of a file: the one with the longest pattern that matches it."""
    matches = [
        (len(pattern), floor)
        for floor in floors
        for pattern in floor.files
        if fnmatchcase(str(path), pattern)
    ]
    return max(matches, key=lambda match: match[0])[1] if matches else None


def way(after: Mapping[Path, set[Path]], start: Path, goal: Path) -> list[Path]:
    """Return a shortest chain of uses from one file to another, or an empty list."""
    ways = {start: [start]}
    queue = [start]
    for path in queue:
        if path == goal:
            return ways[path]
        for following in sorted(after.get(path, ())):
            if following not in ways:
                ways[following] = [*ways[path], following]
                queue.append(following)
    return []


def parsed(text: str) -> ast.Module | Exception:
    """Return the syntax tree of Python code, or why there is none."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError) as error:
        return error


@dataclass
class Plan:
    """The files of a tree, and the table of its floors."""

    root: Path
    table: Mapping[str, Any]
    files: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.files = self.files or sorted(sources(self.root))

    def text(self, path: Path) -> str:
        """Return the text of a file."""
        return (self.root / path).read_text(errors="replace")

    @cached_property
    def c_floors(self) -> list[Floor]:
        """The floors of the C sources."""
        return [Floor(**row) for row in self.table["c"]]

    @cached_property
    def python_floors(self) -> list[Floor]:
        """The floors of the Python sources: each one knows those before it."""
        rows = self.table["python"]["floors"]
        names = [row["name"] for row in rows]
        return [Floor(**row, knows=names[:place]) for place, row in enumerate(rows)]

    @cached_property
    def c(self) -> dict[Path, CSource]:
        """The C sources, headers included."""
        found = [path for path in self.files if path.suffix in (".c", ".h")]
        return {path: csource.parse(path, self.text(path)) for path in found}

    @cached_property
    def python(self) -> dict[Path, ast.Module | Exception]:
        """The Python sources, or why they cannot be parsed."""
        return {path: parsed(self.text(path)) for path in self.files if path.suffix == ".py"}

    @cached_property
    def trees(self) -> dict[Path, ast.Module]:
        """The Python sources that can be parsed."""
        return {path: tree for path, tree in self.python.items() if isinstance(tree, ast.Module)}

    @cached_property
    def modules(self) -> dict[str, Path]:
        """The files that can be imported, by name."""
        found = {}
        for root in map(Path, self.table["python"]["roots"]):
            for path in self.trees:
                if path.is_relative_to(root):
                    parts = path.relative_to(root).with_suffix("").parts
                    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
                    found[name] = path
        return found

    def header(self, user: Path, name: str, quoted: bool) -> Path | None:
        """Return the file of this tree that an #include names."""
        places = [str(user.parent)] if quoted else []
        for pattern, more in self.table["headers"].items():
            places += more if fnmatchcase(str(user), pattern) else []
        for place in [*places, "include"]:
            path = _plain(Path(place, name))
            if path in self.c:
                return path
        return None

    @cached_property
    def includes(self) -> list[Edge]:
        """The includes of one file of this tree by another."""
        edges = []
        for path, source in self.c.items():
            for include in source.includes:
                header = self.header(path, include.name, include.quoted)
                if header and header != path:
                    edges.append(Edge(path, header, include.line, f"includes {include.name}"))
        return edges

    @cached_property
    def imports(self) -> list[Edge]:
        """The imports of one module of this tree by another."""
        return [edge for path, tree in self.trees.items() for edge in self._imports(path, tree)]

    def _imports(self, path: Path, tree: ast.Module) -> Iterator[Edge]:
        own = next((name for name, file in self.modules.items() if file == path), "")
        package = own if path.name == "__init__.py" else own.rpartition(".")[0]
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    parts = package.split(".")
                    above = parts[: len(parts) - node.level + 1]
                    base = ".".join([*above, *([base] if base else [])])
                inner = [f"{base}.{alias.name}".lstrip(".") for alias in node.names]
                names = [name if name in self.modules else base for name in inner]
            for name in dict.fromkeys(names):
                used = self.modules.get(name)
                if used and used != path:
                    assert isinstance(node, ast.stmt)
                    yield Edge(path, used, node.lineno, f"imports {name}")

    @cached_property
    def global_names(self) -> dict[str, list[Definition]]:
        """The definitions that other C files can use, by name."""
        found = defaultdict(list)
        for path, source in self.c.items():
            for definition in source.definitions:
                if path.suffix == ".c" and not definition.static:
                    found[definition.name].append(definition)
        return found

    def visible(self, path: Path) -> set[Path]:
        """Return the headers that a file includes, also through other headers."""
        seen: set[Path] = set()
        queue = [path]
        for file in queue:
            new = self._included[file] - seen
            seen |= new
            queue += sorted(new)
        return seen

    @cached_property
    def _included(self) -> dict[Path, set[Path]]:
        found: dict[Path, set[Path]] = defaultdict(set)
        for edge in self.includes:
            found[edge.user].add(edge.used)
        return found

    def words(self, path: Path) -> dict[str, int]:
        """Return the words of a C file, and those of macros and inline functions that it uses."""
        words = dict(self.c[path].words)
        behind: dict[str, list[str]] = defaultdict(list)
        for header in self.visible(path) | {path}:
            for definition in self.c[header].definitions:
                if definition.kind == "macro" or header != path:
                    behind[definition.name] += definition.words
        queue = list(words)
        for word in queue:
            for more in behind.get(word, ()):
                if more not in words:
                    words[more] = words[word]
                    queue.append(more)
        return words

    def has_rules_for_names(self, path: Path) -> bool:
        """Return whether the table's rules for names hold in a file."""
        return any(fnmatchcase(str(path), pattern) for pattern in self.table["names"]["files"])

    @cached_property
    def uses(self) -> list[Edge]:
        """The uses of a function or an object of one C file by another."""
        edges = []
        for path, source in self.c.items():
            if path.suffix != ".c":
                continue
            own = {definition.name for definition in source.definitions}
            for word, line in self.words(path).items():
                for one in self._meant(path, word) if word not in own else ():
                    verb = "calls" if one.kind == "function" else "uses"
                    edges.append(Edge(path, one.path, line, f"{verb} {one.shown} of {one.path}"))
        return edges

    def _meant(self, path: Path, word: str) -> list[Definition]:
        """Return what a name means in a file: there may be a definition for each build."""
        found = self.global_names.get(word, [])
        if not self.has_rules_for_names(path):
            found = [one for one in found if one.kind == "function"]
        beside = [one for one in found if one.path.parent == path.parent]
        mine = floor_of(path, self.c_floors)
        if beside or not mine:
            return beside
        floors = [(floor_of(one.path, self.c_floors), one) for one in found]
        below = [one for floor, one in floors if floor and floor.name in mine.knows]
        return below or [one for floor, one in floors if floor and not floor.beside]

    def linked(self) -> dict[str, list[Path]]:
        """Return the kernel modules and the sources of each."""
        found: dict[str, list[Path]] = {}
        for path in self.files:
            if path.name != "Kbuild":
                continue
            text = PREFIXED.sub(_prefixed, self.text(path).replace("\\\n", " "))
            several: dict[str, list[str]] = defaultdict(list)
            for name, objects in OBJECTS.findall(text):
                several[name] += objects.split()
            for objects in SINGLE.findall(text):
                for module in objects.split():
                    name = module.removesuffix(".o")
                    if module.endswith(".o"):
                        several.setdefault(name, [module])
            for name, objects in several.items():
                paths = [_plain(path.parent / one).with_suffix(".c") for one in objects]
                found[name] = [one for one in paths if one in self.c]
        return found


def _prefixed(match: re.Match[str]) -> str:
    return " ".join(match[1] + word for word in match[2].split())


def _plain(path: Path) -> Path:
    """Return a path without '..'."""
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return Path(*parts)


def between(edges: Sequence[Edge], floors: Sequence[Floor]) -> list[Pair]:
    """Return the pairs of floors of which one uses the other, in the order of the table."""
    found = set()
    for edge in edges:
        user, used = floor_of(edge.user, floors), floor_of(edge.used, floors)
        if user and used and user is not used:
            found.add((user.name, used.name))
    names = [floor.name for floor in floors]
    return sorted(found, key=lambda pair: (names.index(pair[0]), names.index(pair[1])))


def facts(plan: Plan) -> str:
    """Return in words which floor uses which. The last floor, tests, uses all and is left out."""
    said = []
    for edges, floors in ((plan.includes, plan.c_floors), (plan.imports, plan.python_floors)):
        pairs = [pair for pair in between(edges, floors) if pair[0] != "tests"]
        said += [f"{user} knows {used}" for user, used in pairs]
    return "; ".join(said)
