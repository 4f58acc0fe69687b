# SPDX-License-Identifier: GPL-2.0-only
"""kmarkers lint: each fault of layers and names is put into a tiny tree, and found."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from kmtools.lint import layers, names

C = {"base/a.h": "", "base/a.c": '#include "a.h"\n', "patcher/b.h": "", "markers/c.c": ""}
TREE = {**C, "scripts/kmtools/base/one.py": "", "scripts/kmtools/lab/two.py": ""}
UP = "from kmtools.lab import two\n"
DOWN = "from kmtools.base import one\n"


def planted(root: Path, changes: dict[str, str]) -> list[str]:
    """What is said of a tiny tree with some files more, or other ones."""
    for name, text in (TREE | changes).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return list(layers.breaches(root))


def test_the_tree_is_clean() -> None:
    assert list(layers.breaches()) == []


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("base/d.c", "", ""),
        ("patcher/b.c", '#include "../base/a.h"\n', ""),
        ("patcher/b.c", "# include <kmarkers/nothing_of_ours.h>\n", ""),
        ("base/a.c", '#include "../patcher/b.h"\n', "base may not know patcher"),
        ("markers/c.c", '#include "../patcher/b.h"\n', "a private header of patcher"),
        ("tests/kernel/t.c", '#include "../../patcher/b.h"\n', ""),
        ("elsewhere/a.c", "", "elsewhere/a.c: is on no layer"),
        ("scripts/kmtools/lab/two.py", DOWN, ""),
        ("scripts/kmtools/base/one.py", UP, "base may not know lab"),
        ("scripts/kmtools/base/one.py", f"def late():\n    {UP}", "base may not know lab"),
        ("scripts/kmtools/base/one.py", "import kmtools.lab.two\n", "base may not know lab"),
    ],
)
def test_a_planted_fault_is_found(tmp_path: Path, file: str, text: str, said: str) -> None:
    found = planted(tmp_path, {file: text})
    assert [line for line in found if said in line] == found
    assert len(found) == (1 if said else 0)


def test_headers_and_modules_in_a_circle(tmp_path: Path) -> None:
    headers = {"base/a.h": '#include "b.h"\n', "base/b.h": '#include "a.h"\n'}
    modules = {
        "scripts/kmtools/lab/two.py": "from kmtools.lab import three\n",
        "scripts/kmtools/lab/three.py": "from kmtools.lab.four import f\n",
        "scripts/kmtools/lab/four.py": "from kmtools.lab.two import g\n",
    }
    found = planted(tmp_path, headers | modules)
    assert found[0] == "circle: base/a.h <-> base/b.h"
    assert len(found) == 4 and all("kmtools/lab/" in line for line in found[1:])


def module(root: Path, **sources: str) -> list[str]:
    """What is said of the names of a module of these files."""
    for name, text in sources.items():
        (root / f"{name}.c").write_text(text)
        subprocess.run(["gcc", "-c", f"{name}.c"], cwd=root, check=True)
    (root / "kmarkers_some.mod").write_text("".join(f"/src/{name}.o\n" for name in sources))
    return list(names.of_module(root / "kmarkers_some.ko", root))


def test_names_of_objects(tmp_path: Path) -> None:
    static = "static void twice(void) {}\nvoid patcher_"
    found = module(
        tmp_path,
        a=f"{static}a(void) {{ twice(); }}\nvoid stray(void) {{}}\n",
        b=f"int marker_state; {static}b(void) {{ twice(); }}\n",
    )
    assert found == [
        "a.o: stray has none of the prefixes",
        "kmarkers_some: twice is in more than one file",
    ]


def test_objects_in_a_circle(tmp_path: Path) -> None:
    """A label of the assembler is a use, too: it hid a circle in entry/."""
    found = module(
        tmp_path,
        hit='asm(".globl entry_call\\nentry_call: call entry_write\\n");\n',
        events="int entry_on(void); int entry_write(void) { return entry_on(); }\n",
        switch="void entry_call(void); void *entry_on(void) { return entry_call; }\n",
        top="int entry_on(void); int entry_main(void) { return entry_on(); }\n",
    )
    assert found == [
        "circle: events.o <-> hit.o",
        "circle: events.o <-> switch.o",
        "circle: hit.o <-> switch.o",
    ]
