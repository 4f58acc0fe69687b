# SPDX-License-Identifier: GPL-2.0-only
"""Checks the layout of the sources against house.toml: floors, circles, names and sizes.

Each breach is printed as a line with file, line number and reason.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.paths import ROOT
from kmtools.check.csource import Definition
from kmtools.check.floors import Edge, Floor, Plan, facts, floor_of, way

TABLE = Path(__file__).with_name("house.toml")
DRAWN = Path("Documentation/floors.svg")
BUDGETED = {".c", ".h", ".py", ".sh"}


@dataclass(frozen=True, order=True)
class Breach:
    """A place in the sources that house.toml does not allow."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def circles(edges: Sequence[Edge]) -> Iterator[Breach]:
    """Yield each use that leads back to its user."""
    after: dict[Path, set[Path]] = defaultdict(set)
    for edge in edges:
        after[edge.user].add(edge.used)
    seen = set()
    for edge in edges:
        pair = (edge.user, edge.used)
        if pair in seen or not (back := way(after, edge.used, edge.user)):
            continue
        seen.add(pair)
        leads = " -> ".join(str(path) for path in back)
        yield Breach(edge.user, edge.line, f"a circle: {edge.what}, and back: {leads}")


def against(edges: Sequence[Edge], floors: Sequence[Floor]) -> Iterator[Breach]:
    """Yield the uses of a floor that the user's floor may not know, each pair of files once."""
    seen = set()
    for edge in edges:
        mine, other = floor_of(edge.user, floors), floor_of(edge.used, floors)
        pair = (edge.user, edge.used)
        if not mine or not other or mine is other or other.name in mine.knows or pair in seen:
            continue
        seen.add(pair)
        text = f"{edge.what}: {mine.name} may not know {other.name}"
        yield Breach(edge.user, edge.line, text)


def homeless(plan: Plan) -> Iterator[Breach]:
    """Yield the sources that belong to no floor."""
    for paths, floors in ((plan.c, plan.c_floors), (plan.python, plan.python_floors)):
        for path in paths:
            if floor_of(path, floors) is None:
                yield Breach(path, 1, "belongs to no floor of house.toml")


def unreadable(plan: Plan) -> Iterator[Breach]:
    """Yield the Python sources that cannot be parsed."""
    for path, read in plan.python.items():
        if isinstance(read, Exception):
            yield Breach(path, getattr(read, "lineno", None) or 1, f"not valid Python: {read}")


def private(plan: Plan) -> Iterator[Breach]:
    """Yield the private headers that another directory includes."""
    for edge in plan.includes:
        mine, other = (floor_of(path, plan.c_floors) for path in (edge.user, edge.used))
        public = edge.used.parts[0] == "include" or edge.user.parts[0] == edge.used.parts[0]
        if public or not mine or not other or mine.inside or other.open:
            continue
        text = f"{edge.what}, a private header of {other.name}"
        yield Breach(edge.user, edge.line, text)


def sizes(plan: Plan) -> Iterator[Breach]:
    """Yield the files and functions above their budgets, and exceptions that no file needs."""
    budget = plan.table["budget"]
    spare = dict.fromkeys(plan.table["tables"])
    for path in plan.files:
        text = plan.text(path) if path.suffix in BUDGETED or not path.suffix else ""
        if not path.suffix and not text.startswith("#!"):
            continue
        lines = len(text.splitlines())
        if lines <= budget["file"]:
            continue
        excepted = [pattern for pattern in plan.table["tables"] if fnmatchcase(str(path), pattern)]
        for pattern in excepted:
            spare.pop(pattern, None)
        if not excepted:
            text = f"{lines} lines; the budget is {budget['file']}"
            yield Breach(path, lines, text)
    for pattern in spare:
        yield Breach(Path(pattern), 1, "exception not needed: no such file is above the budget")
    for path, source in plan.c.items():
        for one in source.definitions:
            lines = one.last - one.line + 1
            if one.kind == "function" and lines > budget["function"]:
                text = f"{one.shown} has {lines} lines; the budget is {budget['function']}"
                yield Breach(path, one.line, text)


def names(plan: Plan) -> Iterator[Breach]:
    """Yield the names that other files see and that have no prefix of their directory."""
    rules = plan.table["names"]
    for name, definitions in plan.global_names.items():
        if name.startswith(tuple(rules["prefixes"])) or name in rules["others"]:
            continue
        for one in definitions:
            if plan.has_rules_for_names(one.path):
                text = f"{one.shown} is not static and has none of the prefixes"
                yield Breach(one.path, one.line, text)


def twice(plan: Plan) -> Iterator[Breach]:
    """Yield the functions and objects whose name two files of a module have."""
    for module, paths in plan.linked().items():
        first: dict[str, Definition] = {}
        for path in paths:
            if not plan.has_rules_for_names(path):
                continue
            for one in plan.c[path].definitions:
                other = first.setdefault(one.name, one)
                if one.kind == "macro" or other.kind == "macro" or other.path == path:
                    continue
                text = f"{one.shown} is also in {other.path}:{other.line}, of module {module}"
                yield Breach(path, one.line, text)


def breaches(plan: Plan) -> list[Breach]:
    """Return all places that house.toml does not allow."""
    headers = [edge for edge in plan.includes if edge.user.suffix == ".h"]
    found = [*homeless(plan), *unreadable(plan), *private(plan)]
    found += [*sizes(plan), *names(plan), *twice(plan)]
    for edges in (headers, plan.uses, plan.imports):
        found += circles(edges)
    found += against([*plan.includes, *plan.uses], plan.c_floors)
    found += against(plan.imports, plan.python_floors)
    return sorted(found)


def stale(plan: Plan, drawn: str) -> Iterator[Breach]:
    """Yield a breach if the figure does not show the floors and arrows of the sources."""
    if f"<desc>{facts(plan)}</desc>" not in drawn:
        yield Breach(DRAWN, 1, "floors or arrows are out of date: run kmarkers check house --draw")


def plan_of_tree() -> Plan:
    """Return the plan of this tree."""
    return Plan(ROOT, tomllib.loads(TABLE.read_text()))


def measure() -> list[Breach]:
    """Return the breaches in this tree."""
    plan = plan_of_tree()
    return [*breaches(plan), *stale(plan, plan.text(DRAWN))]


def show(draw: bool) -> int:
    """Print the breaches in this tree, after the figure is drawn if asked; return the exit code."""
    if draw:
        if find_spec("matplotlib") is None:
            raise UnableError("drawing needs matplotlib: apt-get install python3-matplotlib")
        figure = import_module("kmtools.check.floorfigure")
        figure.draw(plan_of_tree(), ROOT / DRAWN)
    found = measure()
    for breach in found:
        print(breach)
    return 1 if found else 0
