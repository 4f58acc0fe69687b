# SPDX-License-Identifier: GPL-2.0-only
"""kmarkers check house: each fault that it looks for is put into a tiny tree, and found."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT
from kmtools.check import csource, floors, house, lint
from kmtools.check.floors import Plan
from kmtools.cli import main

TABLE = tomllib.loads("""
[budget]
file = 12
function = 5
[tables]
"*table.c" = "a row for each thing"
[names]
prefixes = ["low_", "high_"]
others = ["init_module"]
files = ["low/*", "high/*"]
[headers]
"beside/*" = ["beside/include"]
[[c]]
name = "low"
what = "low"
files = ["low/*", "include/low.h"]
knows = []
[[c]]
name = "high"
what = "high"
files = ["high/*"]
knows = ["low"]
[[c]]
name = "beside"
what = "beside"
files = ["beside/*"]
knows = ["low"]
inside = true
[python]
roots = ["py"]
[[python.floors]]
name = "first"
what = "first"
files = ["py/first/*"]
[[python.floors]]
name = "second"
what = "second"
files = ["py/second/*", "py/*"]
""")

# These files have no fault, but each is close to one.
SOUND = {
    "include/low.h": "void low_do(void);\n",
    "low/Kbuild": "obj-m := low.o\nlow-y := a.o \\\n\tb.o\n",
    "low/own.h": "extern int low_state;\nvoid low_help(void);\nint low_table(void);\n",
    "low/a.c": """\
#include <low.h>
#include "own.h"
static int state = sizeof("a { brace");
/* low_table() is not called here; low_help() is. } */
void low_do(void)
{
	low_help();
}
""",
    "low/b.c": '#include "own.h"\nvoid low_help(void)\n{\n\tlow_state[0] = 1;\n}\n',
    "low/table.c": '#include "own.h"\nint low_state[] = { 1 }, *low_other;\n'
    + "\n" * 12
    + "int low_table(void)\n{\n\treturn 1;\n}\n",
    "high/Kbuild": "obj-m := high.o\n",
    "high/high.c": "#include <low.h>\nint init_module(void)\n{\n\tlow_do();\n\treturn 0;\n}\n",
    "beside/include/low.h": '#include "../../low/own.h"\n',
    "beside/b.c": "#include <low.h>\nvoid anything(void)\n{\n\tlow_help();\n}\n",
    "py/first/__init__.py": "",
    "py/first/a.py": "from . import b\n",
    "py/first/b.py": "import sys\n",
    "py/second/__init__.py": "",
    "py/second/c.py": "from first import a\nimport first.b\n",
    "py/alone.py": "def late():\n    from second import c\n",
}


def found(root: Path, changes: dict[str, str] | None = None) -> list[str]:
    """Return the messages about the sound tree with some of its files replaced."""
    files = SOUND | (changes or {})
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    plan = Plan(root, TABLE, sorted(map(Path, files)))
    return [str(breach) for breach in house.breaches(plan)]


def floor_beside(root: Path, changes: dict[str, str]) -> Plan:
    """Return the plan of the changed sound tree with the floor "beside" marked so."""
    found(root, changes)
    rows = [row | {"beside": row["name"] == "beside"} for row in TABLE["c"]]
    return Plan(root, TABLE | {"c": rows}, sorted(map(Path, SOUND)))


def test_a_sound_tree_has_no_breach(tmp_path: Path) -> None:
    assert found(tmp_path) == []


def test_c_files_that_call_each_other(tmp_path: Path) -> None:
    back = (
        '#include "own.h"\n#define low_macro() low_do()\nvoid low_do(void);\nvoid low_help(void)\n'
    )
    for call in ("low_do();", "hand(low_do);", "low_macro();"):
        lines = found(tmp_path, {"low/b.c": f"{back}{{\n\t{call}\n}}\n"})
        assert lines == [
            "low/a.c:7: a circle: calls low_help() of low/b.c, and back: low/b.c -> low/a.c",
            "low/b.c:6: a circle: calls low_do() of low/a.c, and back: low/a.c -> low/b.c",
        ]


def test_what_is_no_call(tmp_path: Path) -> None:
    harmless = '\tthis->low_do = "low_do()"; /* low_do() */\n\tlow_do: f(.low_do = 1);\n'
    text = f'#include "own.h"\nvoid low_help(void)\n{{\n{harmless}}}\n'
    assert found(tmp_path, {"low/b.c": text.replace("low_do: ", "")}) == []


def test_c_files_that_use_objects_of_each_other(tmp_path: Path) -> None:
    changes = {"low/b.c": SOUND["low/b.c"] + "int low_own;\n"}
    changes["low/table.c"] = SOUND["low/table.c"].replace("return 1", "return low_own")
    assert found(tmp_path, changes) == [
        "low/b.c:4: a circle: uses low_state of low/table.c, and back: low/table.c -> low/b.c",
        "low/table.c:17: a circle: uses low_own of low/b.c, and back: low/b.c -> low/table.c",
    ]
    # Tests have a list of their cases beside the objects that the cases use.
    table = TABLE | {"names": TABLE["names"] | {"files": []}}
    assert house.breaches(Plan(tmp_path, table, sorted(map(Path, SOUND)))) == []


def test_a_use_against_the_floors_without_an_include(tmp_path: Path) -> None:
    text = "int high_try(void);\nextern int high_state;\nint low_up(void)\n{\n\treturn USED;\n}\n"
    high = SOUND["high/high.c"] + "int high_state;\nint high_try(void)\n{\n\treturn 0;\n}\n"
    for used, said in (
        ("high_try()", "calls high_try() of high/high.c"),
        ("high_state", "uses high_state of high/high.c"),
    ):
        changes = {"low/c.c": text.replace("USED", used), "high/high.c": high}
        assert found(tmp_path, changes) == [f"low/c.c:5: {said}: low may not know high"]


def test_a_call_of_what_a_floor_beside_replaces(tmp_path: Path) -> None:
    text = SOUND["low/a.c"].replace("low_help();", "anything();")
    plan = floor_beside(tmp_path, {"low/a.c": text})
    assert house.breaches(plan) == []


def test_a_circle_through_a_header_inline(tmp_path: Path) -> None:
    inline = "static inline void low_go(void)\n{\n\tlow_do();\n}\n"
    lines = found(
        tmp_path,
        {
            "low/own.h": SOUND["low/own.h"] + inline,
            "low/b.c": '#include "own.h"\nvoid low_help(void)\n{\n\tlow_go();\n}\n',
        },
    )
    assert lines[1:] == [
        "low/b.c:4: a circle: calls low_do() of low/a.c, and back: low/a.c -> low/b.c"
    ]


def test_headers_that_include_each_other(tmp_path: Path) -> None:
    lines = found(
        tmp_path,
        {"low/own.h": '#include "other.h"\n', "low/other.h": '\n#include "own.h"\n'},
    )
    assert lines == [
        "low/other.h:2: a circle: includes own.h, and back: low/own.h -> low/other.h",
        "low/own.h:1: a circle: includes other.h, and back: low/other.h -> low/own.h",
    ]


def test_modules_that_import_each_other(tmp_path: Path) -> None:
    lines = found(tmp_path, {"py/first/b.py": "def late():\n    from first.a import x\n"})
    assert lines == [
        "py/first/a.py:1: a circle: imports first.b, and back: py/first/b.py -> py/first/a.py",
        "py/first/b.py:2: a circle: imports first.a, and back: py/first/a.py -> py/first/b.py",
    ]


def test_an_include_against_the_floors(tmp_path: Path) -> None:
    changes = {"low/b.c": SOUND["low/b.c"] + "#include <high.h>\n", "include/high.h": ""}
    assert found(tmp_path, changes) == ["include/high.h:1: belongs to no floor of house.toml"]
    changes = {"low/c.c": '\n#include "../high/high.h"\n', "high/high.h": ""}
    assert found(tmp_path, changes) == [
        "low/c.c:2: includes ../high/high.h, a private header of high",
        "low/c.c:2: includes ../high/high.h: low may not know high",
    ]


def test_a_private_header_of_a_floor_below(tmp_path: Path) -> None:
    text = '#include "../low/own.h"\n' + SOUND["high/high.c"]
    assert found(tmp_path, {"high/high.c": text}) == [
        "high/high.c:1: includes ../low/own.h, a private header of low"
    ]


def test_an_open_floor_has_no_private_headers(tmp_path: Path) -> None:
    text = '#include "../low/own.h"\n' + SOUND["high/high.c"]
    found(tmp_path, {"high/high.c": text})
    table = TABLE | {"c": [TABLE["c"][0] | {"open": True}, *TABLE["c"][1:]]}
    assert house.breaches(Plan(tmp_path, table, sorted(map(Path, SOUND)))) == []


@pytest.mark.parametrize(
    "text", ["import second.c\n", "from second import c\n", "from ..second.c import x\n"]
)
def test_an_import_against_the_floors(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, {"py/first/b.py": text, "py/second/c.py": ""}) == [
        "py/first/b.py:1: imports second.c: first may not know second"
    ]


@pytest.mark.parametrize(("text", "line"), [("import sys\nif\n", 2), ("x = '\0'\n", 1)])
def test_a_file_that_is_not_python(tmp_path: Path, text: str, line: int) -> None:
    (breach,) = found(tmp_path, {"py/first/b.py": text})
    assert breach.startswith(f"py/first/b.py:{line}: not valid Python: ")


def test_files_and_functions_above_the_budget(tmp_path: Path) -> None:
    body = "\n".join(["\tlow_help();"] * 4)
    long = f"static int\nlow_long(void)\n{{\n{body}\n}}\n"
    lines = found(tmp_path, {"low/b.c": SOUND["low/b.c"] + long, "low/table.c": ""})
    assert lines == [
        "*table.c:1: exception not needed: no such file is above the budget",
        "low/b.c:6: low_long() has 8 lines; the budget is 5",
        "low/b.c:13: 13 lines; the budget is 12",
    ]


@pytest.mark.parametrize("name", ["low/run", "py/guest/init"])
def test_a_script_without_a_suffix_above_the_budget(tmp_path: Path, name: str) -> None:
    assert found(tmp_path, {name: "#!/bin/sh\n" + ":\n" * 12}) == [
        f"{name}:13: 13 lines; the budget is 12"
    ]
    # A file without an interpreter is no script.
    assert found(tmp_path, {name: "word\n" * 13}) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("void find(int a)\n{\n}\n", "find()"),
        ("const struct row *find(void)\n{\n}\n", "find()"),
        ("__printf(1, 2) void __find(const char *a, ...)\n{\n}\n", "__find()"),
        ("int find;\n", "find"),
        ("struct row { int a; } find = { .a = 1 };\n", "find"),
        ("unsigned long find[3] __aligned(8);\n", "find"),
        ("int (*find)(int low_a);\n", "find"),
        ("DEFINE_MUTEX(find);\n", "find"),
    ],
)
def test_a_name_without_a_prefix(tmp_path: Path, text: str, name: str) -> None:
    assert found(tmp_path, {"low/c.c": f"\n{text}"}) == [
        f"low/c.c:2: {name} is not static and has none of the prefixes"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "static int find(void)\n{\n}\n",
        "int find(void);\n",
        "extern struct row find;\n",
        "struct find;\nstruct find {\n\tint a;\n};\n",
        "typedef int find(void);\n",
        "static DEFINE_PER_CPU(int, find);\n",
        "#define FIND(a) int find_##a\nFIND(low_a)\nstatic int b;\n",
        "#ifdef FIND \\\n int find;\n#endif\n",
    ],
)
def test_what_is_no_global_name(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, {"low/c.c": text}) == []


@pytest.mark.parametrize("text", ["static int state;\n", "static void state(void)\n{\n}\n"])
def test_statics_of_one_name_in_a_module(tmp_path: Path, text: str) -> None:
    lines = found(tmp_path, {"low/b.c": text + SOUND["low/b.c"]})
    assert [line.replace("()", "") for line in lines] == [
        "low/b.c:1: state is also in low/a.c:3, of module low"
    ]
    # Another module may use the same name.
    assert found(tmp_path, {"high/high.c": text + SOUND["high/high.c"]}) == []


def test_statics_of_one_name_in_objects_with_a_prefix(tmp_path: Path) -> None:
    changes = {
        "high/Kbuild": "obj-m := high.o\nhigh-y := high.o $(addprefix ../low/,more.o state.o)\n",
        "high/high.c": SOUND["high/high.c"] + "static int state;\n",
        "low/state.c": "static int state;\n",
    }
    assert found(tmp_path, changes) == [
        "low/state.c:1: state is also in high/high.c:7, of module high"
    ]


def test_the_table_names_base(tmp_path: Path) -> None:
    """A global name without a prefix and a static one of another file, in base/ of this tree."""
    for directory in ("base", "patcher"):
        shutil.copytree(ROOT / directory, tmp_path / directory)
    words, lock = (tmp_path / "base" / name for name in ("words.c", "lock.c"))
    words.write_text(words.read_text() + "int unnamed;\nstatic int shared;\n")
    lock.write_text(lock.read_text() + "static int shared;\n")
    files = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    plan = Plan(tmp_path, house.plan_of_tree().table, files)
    said = [breach.text for breach in (*house.names(plan), *house.twice(plan))]
    assert [line.split(" in ")[0] for line in said] == [
        "unnamed is not static and has none of the prefixes",
        "shared is also",
    ]


def test_a_figure_of_other_floors(tmp_path: Path) -> None:
    assert found(tmp_path) == []
    plan = Plan(tmp_path, TABLE, sorted(map(Path, SOUND)))
    assert floors.facts(plan) == "high knows low; beside knows low; second knows first"
    drawn = f"<svg><desc>{floors.facts(plan)}</desc></svg>"
    assert list(house.stale(plan, drawn)) == []
    (breach,) = house.stale(plan, drawn.replace("high knows low; ", ""))
    assert "run kmarkers check house --draw" in str(breach)


def test_make_lint_shows_every_breach(monkeypatch: pytest.MonkeyPatch) -> None:
    breach = house.Breach(Path("a.c"), 3, "find is not static")
    monkeypatch.setattr(house, "measure", lambda: [breach])
    assert lint.TOOLS["house"](lint.Sources(files=[])) == ["a.c:3: find is not static"]


def test_the_command_ends_with_1_for_a_breach(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    breaches = [house.Breach(Path("a.c"), 3, "find is not static")]
    monkeypatch.setattr(house, "measure", lambda: breaches)
    assert main(["check", "house"]) == 1
    assert capsys.readouterr().out == "a.c:3: find is not static\n"
    breaches.clear()
    assert main(["check", "house"]) == 0


def test_names_are_those_that_the_compiler_sees() -> None:
    """The names read from the text of a file are those in its object."""
    objects = ROOT / "build" / "native"
    built = [
        path for name in ("patcher", "immediate", "markers") for path in objects.glob(f"{name}/*.o")
    ]
    sources = {path: path.relative_to(objects).with_suffix(".c") for path in built}
    # Objects that were compiled from the present file.
    there = [
        path
        for path in built
        if (ROOT / sources[path]).is_file()
        and path.stat().st_mtime > (ROOT / sources[path]).stat().st_mtime
    ]
    if not there:
        pytest.skip("there are no objects of the user-space build: make native")
    words = ["nm", "--print-file-name", "--defined-only", "--extern-only", *map(str, there)]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    names = {(line.split(":")[0], line.split()[-1]) for line in said.splitlines()}
    read = {
        (str(path), one.name)
        for path in there
        for one in csource.parse(sources[path], (ROOT / sources[path]).read_text()).definitions
        if not one.static
    }
    assert names == read
    assert len(names) > 50
