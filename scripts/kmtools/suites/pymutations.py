# SPDX-License-Identifier: GPL-2.0-only
"""Makes random mutants of Python sources with the operators of cosmic-ray.

The Python of build/mutation, which has cosmic-ray, runs this file as a program with the arguments
FOLDER SEED COUNT. It prints one JSON list per line: file, line, operator, changed source.
"""

from __future__ import annotations

import ast
import json
import marshal
import random
import re
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

# The subfolder whose files are tests: they are not changed.
TESTS = "suites"
BODIES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Reducer(ast.NodeTransformer):
    """Removes from a syntax tree what has no effect: annotations, docstrings, and statements under
    `if TYPE_CHECKING`. All nodes get the same position."""

    def visit(self, node: ast.AST) -> ast.AST:
        """Reduce a node and its children."""
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return ast.Pass(lineno=1, col_offset=0)
        if isinstance(node, BODIES) and ast.get_docstring(node, clean=False) is not None:
            node.body[0] = ast.Expr(ast.Constant(""))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Name("object", ast.Load())
        for name in {"lineno", "end_lineno", "col_offset", "end_col_offset"} & {*node._attributes}:
            setattr(node, name, int("lineno" in name))
        return self.generic_visit(node)


def compile_for_comparison(text: str) -> bytes:
    """Return the compiled code of a source, without positions, annotations and docstrings; the same
    bytes for two sources that do the same thing."""
    tree = ast.parse(text)
    Reducer().visit(tree)
    ast.fix_missing_locations(tree)
    return marshal.dumps(compile(tree, "", "exec"), 2)


def find_changed_line(old: str, new: str) -> int:
    """Return the number of the first line in which two sources differ."""
    pairs = zip_longest(old.splitlines(), new.splitlines())
    return next(n for n, (one, other) in enumerate(pairs, 1) if one != other)


def draw_random_python_mutants(folder: Path, seed: int) -> Iterator[tuple[str, int, str, str]]:
    """Yield random mutants of the Python files of a folder, without end. Files in the subfolder
    TESTS are left out. Each mutant is drawn in two steps: a syntax node and an operator, then one
    of the ways in which this operator can change this node. In each step, all choices are equally
    likely. A mutant has a file, a line, the name of an operator, and the changed source."""
    from cosmic_ray import plugins  # noqa: PLC0415 # only build/mutation has this package
    from cosmic_ray.ast import ast_nodes, get_ast  # noqa: PLC0415
    from cosmic_ray.mutating import mutate_code  # noqa: PLC0415

    classes = {name: plugins.get_operator(name) for name in sorted(plugins.operator_names())}
    operators = [(name, one()) for name, one in classes.items() if not one.arguments()]
    files = sorted(set(folder.rglob("*.py")) - set((folder / TESTS).rglob("*.py")))
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    nodes = [(file, [*ast_nodes(get_ast(text))]) for file, text in texts.items()]
    places = [(file, n) for file, some in nodes for n in range(len(some))]
    by_file = dict(nodes)
    drawn = set()
    chance = random.Random(seed)
    while True:
        (file, place), (name, operator) = chance.choice(places), chance.choice(operators)
        ways = len([*operator.mutation_positions(by_file[file][place])])
        if not ways:
            continue
        before = by_file[file][:place]
        occurrence = chance.randrange(ways) + sum(
            len([*operator.mutation_positions(node)]) for node in before
        )
        try:
            new = mutate_code(texts[file], operator, occurrence)
        except AttributeError:
            # cosmic-ray 8.7 cannot replace an exception whose name has a dot.
            continue
        if new is None or (file, new) in drawn or has_same_effect(texts[file], new):
            continue
        drawn.add((file, new))
        what = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name.rpartition("/")[2]).lower()
        yield str(file.relative_to(folder)), find_changed_line(texts[file], new), what, new


def has_same_effect(old: str, new: str) -> bool:
    """Return True if two sources are compiled to the same code, or the second cannot be
    compiled."""
    sound = compile_for_comparison(old)
    try:
        return compile_for_comparison(new) == sound
    except SyntaxError:
        return True


def main() -> None:
    """Print random mutants of a folder, one JSON array per line."""
    folder, seed, count = sys.argv[1:]
    mutants = draw_random_python_mutants(Path(folder), int(seed))
    for _ in range(int(count)):
        print(json.dumps(next(mutants)))


if __name__ == "__main__":
    main()
