# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the lint rules about layers and symbol names: each violation is found in a tiny source
tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from kmtools.lint import layers, names

C = {"base/a.h": "", "base/a.c": '#include "a.h"\n', "patcher/b.h": "", "markers/c.c": ""}
TREE = {**C, "scripts/kmtools/base/one.py": "", "scripts/kmtools/lab/two.py": ""}
UP = "from kmtools.lab import two\n"
DOWN = "from kmtools.base import one\n"


def find_layer_violations_in_tree(root: Path, changes: dict[str, str]) -> list[str]:
    """Return the messages about the source tree TREE after adding or replacing the files of
    `changes`."""
    for name, text in (TREE | changes).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return list(layers.find_layer_violations(root))


def test_source_tree_has_no_layer_violation() -> None:
    assert list(layers.find_layer_violations()) == []


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("base/d.c", "", ""),
        ("patcher/b.c", '#include "../base/a.h"\n', ""),
        ("patcher/b.c", "# include <kmarkers/nothing_of_ours.h>\n", ""),
        ("base/a.c", '#include "../patcher/b.h"\n', "base may not use patcher"),
        ("markers/c.c", '#include "../patcher/b.h"\n', "a private header of patcher"),
        ("tests/kernel/t.c", '#include "../../patcher/b.h"\n', ""),
        ("elsewhere/a.c", "", "elsewhere/a.c: belongs to no layer"),
        ("scripts/kmtools/lab/two.py", DOWN, ""),
        ("scripts/kmtools/base/one.py", UP, "base may not use lab"),
        ("scripts/kmtools/base/one.py", f"def late():\n    {UP}", "base may not use lab"),
        ("scripts/kmtools/base/one.py", "import kmtools.lab.two\n", "base may not use lab"),
    ],
)
def test_each_inserted_layer_violation_is_found(
    tmp_path: Path, file: str, text: str, said: str
) -> None:
    found = find_layer_violations_in_tree(tmp_path, {file: text})
    assert [line for line in found if said in line] == found
    assert len(found) == (1 if said else 0)


def test_cycles_of_headers_and_modules_are_found(tmp_path: Path) -> None:
    headers = {"base/a.h": '#include "b.h"\n', "base/b.h": '#include "a.h"\n'}
    modules = {
        "scripts/kmtools/lab/two.py": "from kmtools.lab import three\n",
        "scripts/kmtools/lab/three.py": "from kmtools.lab.four import f\n",
        "scripts/kmtools/lab/four.py": "from kmtools.lab.two import g\n",
    }
    found = find_layer_violations_in_tree(tmp_path, headers | modules)
    assert found[0] == "cycle: base/a.h <-> base/b.h"
    assert len(found) == 4 and all("kmtools/lab/" in line for line in found[1:])


def find_symbol_name_faults(root: Path, **sources: str) -> list[str]:
    """Compile a module with these source files; return the messages about the names of its
    symbols."""
    for name, text in sources.items():
        (root / f"{name}.c").write_text(text)
        subprocess.run(["gcc", "-c", f"{name}.c"], cwd=root, check=True)
    (root / "kmarkers_some.mod").write_text("".join(f"/src/{name}.o\n" for name in sources))
    return list(names.find_module_symbol_faults(root / "kmarkers_some.ko", root))


def test_wrong_symbol_names_in_object_files_are_found(tmp_path: Path) -> None:
    static = "static void twice(void) {}\nvoid patcher_"
    found = find_symbol_name_faults(
        tmp_path,
        a=f"{static}a(void) {{ twice(); }}\nvoid stray(void) {{}}\n",
        b=f"int marker_state; {static}b(void) {{ twice(); }}\n",
    )
    assert found == [
        "a.o: symbol stray has no prefix of layers.toml",
        "kmarkers_some: function twice is defined in more than one file",
    ]


def test_cycle_of_object_files_is_found(tmp_path: Path) -> None:
    """Three object files use symbols of each other; each pair is reported. A reference in assembler
    code counts as a use of the symbol."""
    found = find_symbol_name_faults(
        tmp_path,
        hit='asm(".globl entry_call\\nentry_call: call entry_write\\n");\n',
        events="int entry_on(void); int entry_write(void) { return entry_on(); }\n",
        switch="void entry_call(void); void *entry_on(void) { return entry_call; }\n",
        top="int entry_on(void); int entry_main(void) { return entry_on(); }\n",
    )
    assert found == [
        "cycle: events.o <-> hit.o",
        "cycle: events.o <-> switch.o",
        "cycle: hit.o <-> switch.o",
    ]


def test_layer_edges_are_includes_and_imports_of_tree_files(tmp_path: Path) -> None:
    """Headers and packages of others, and an import of the module itself, are left out."""
    texts = {
        "a/x.c": '#include "x.h"\n # include <kmarkers/p.h>\n#include <linux/q.h>\n#include "n"\n',
        "a/x.h": '#include "../b/y.h"\n#include <compat/c.h>\n// #include "z.h"\n',
        "a/x.txt": '#include "x.h"\n',
        "a/z.h": "",
        "b/y.h": "",
        "include/kmarkers/p.h": "",
        "include/compat/c.h": "",
        "include/linux/q.h": "",
        "scripts/k/a.py": "import k.b as c, os\nimport k.a\ndef f():\n    from k import c, d\n",
        "scripts/k/b.py": "from k.c import b\nfrom . import a\n",
        "scripts/k/c.py": "global x\n",
        "tests/t.py": "import k.b\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    files = {Path(name) for name in texts}
    assert [f"{a} {b}" for a, b in layers.list_include_edges(tmp_path, files)] == [
        "a/x.c a/x.h",
        "a/x.c include/kmarkers/p.h",
        "a/x.h b/y.h",
        "a/x.h include/compat/c.h",
    ]
    assert [f"{a} {b}" for a, b in layers.list_import_edges(tmp_path, files)] == [
        "scripts/k/a.py scripts/k/b.py",
        "scripts/k/a.py scripts/k/c.py",
        "scripts/k/b.py scripts/k/c.py",
    ]
