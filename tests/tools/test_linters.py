# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the linters that `kmarkers check lint` runs: which files each linter checks, and how the
kernel's checkpatch.pl is extracted."""

from __future__ import annotations

import io
import queue
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from fakemirror import ENTRY, NEW, FakeMirror
from kmtools.base.errors import FailedError, UnableError
from kmtools.lab import cache, catalogue, unpack
from kmtools.lint import checkpatch, layers, linters, names
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally

CHECKPATCH_FILES = ["checkpatch.pl", "const_structs.checkpatch", "spelling.txt"]


def test_shell_scripts_are_found_by_suffix_and_by_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scripts that other scripts source are left out, because shellcheck reads sourced scripts."""
    monkeypatch.setattr(linters, "ROOT", tmp_path)
    shell = {"a.sh": "# shellcheck source=lib/common.sh\n. ./common.sh\n", "b.sh": ""}
    shell |= {"sh": "#!/bin/sh\n", "bash": "#!/usr/bin/env bash\n", "dash": "#! /bin/dash -e\n"}
    others = {"lib/common.sh": "", "python": "#!/usr/bin/env python3\n", "LICENSE": "the sh\n"}
    others |= {"a.c": "#!/bin/sh\n", "b.py": "#!/bin/sh\n", "a.txt": "", "fish": "#!/bin/fish\n"}
    (tmp_path / "lib").mkdir()
    for name, text in (shell | others).items():
        (tmp_path / name).write_text(text)
    tree = linters.Sources([Path(name) for name in sorted(shell | others)])
    assert [str(path) for path in tree.list_shell_scripts()] == sorted(shell)


def test_files_without_a_licence_in_the_first_three_lines_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linters, "ROOT", tmp_path)
    licence = f"# {linters.LICENCE}\n"
    licensed = {"a.c": licence, "b.py": f"#!\n\n{licence}", "tool": f"#!/bin/sh\n{licence}"}
    exempt = {"a.csv": "", "a.svg": "", "LICENSE": "", "LICENSES/a.txt": ""}
    faulty = {"c.c": "", "d.py": f"\n\n\n{licence}", "script": "#!/bin/sh\n"}
    (tmp_path / "LICENSES").mkdir()
    files = licensed | exempt | faulty
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = linters.find_unlicensed_files(linters.Sources([Path(name) for name in files]))
    assert found == [f"{name}: the first 3 lines lack {linters.LICENCE}" for name in faulty]


def make_kernel_source(names: list[str]) -> bytes:
    """Return a compressed archive of kernel sources that has these files in the folder scripts."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:xz") as tar:
        for name in (*(f"scripts/{name}" for name in names), "scripts/other.pl", "init/main.c"):
            member = tarfile.TarInfo(f"linux-source-6.1/{name}")
            member.size = len(name)
            tar.addfile(member, io.BytesIO(name.encode()))
    return archive.getvalue()


def test_checkpatch_is_extracted_once_from_the_kernel_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache directory has the script and the files that it reads. The large source package is
    deleted. If a file is missing later, all are extracted again."""
    mirror = FakeMirror(tmp_path, monkeypatch)
    source = make_kernel_source(CHECKPATCH_FILES)
    mirror.add_package("linux-source-6.1", "1", "usr/src/linux-source-6.1.tar.xz", source)
    folder = mirror.cache / "checkpatch"
    for downloads, missing in ((1, ""), (1, "spelling.txt"), (2, "")):
        assert checkpatch.ensure_checkpatch_is_extracted() == folder / "checkpatch.pl"
        texts = {path.name: path.read_text() for path in folder.iterdir()}
        assert texts == {name: f"scripts/{name}" for name in CHECKPATCH_FILES}
        assert not [*mirror.cache.rglob("*.deb")]
        assert len([each for each in mirror.log if each != "update"]) == downloads
        if missing:
            (folder / missing).unlink()


def test_checkpatch_is_extracted_once_and_not_during_a_fetch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fetch of a kernel could remove the source package that is read. Of two processes that wait,
    one extracts the files."""
    mirror = FakeMirror(tmp_path, monkeypatch)
    source = make_kernel_source(CHECKPATCH_FILES)
    mirror.add_package("linux-source-6.1", "1", "usr/src/linux-source-6.1.tar.xz", source)
    waits: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr(cache, "print_step", waits.put)
    with ThreadPoolExecutor(2) as pool:
        with cache.hold_cache_lock("fetch"):
            both = [pool.submit(checkpatch.ensure_checkpatch_is_extracted) for _ in range(2)]
            for _ in both:
                waits.get(timeout=20)
            assert not (mirror.dir / "log").exists()
        for one in both:
            assert one.result(20).is_file()
    assert mirror.log == ["update", "download"]


def test_damaged_kernel_source_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror = FakeMirror(tmp_path, monkeypatch)
    mirror.add_package("linux-source-6.1", "1", "usr/src/linux-source-6.1.tar.xz", b"no archive")
    with pytest.raises(UnableError, match=r"cannot extract checkpatch from linux-source-6.1_1"):
        checkpatch.ensure_checkpatch_is_extracted()
    assert not (mirror.cache / "checkpatch" / "checkpatch.pl").exists()


def test_files_with_the_same_disabled_warnings_share_a_command(tmp_path: Path) -> None:
    """For a file, the warnings of all prefixes of its path are disabled."""
    paths = [Path(name) for name in ("base/a.c", "patcher/main.c", "base/b.c", "tests/kernel/a.c")]
    first, *others = checkpatch.make_checkpatch_commands(Path("s.pl"), paths, tmp_path / "types")
    macros = "COMPLEX_MACRO,MULTISTATEMENT_MACRO_USE_DO_WHILE,MACRO_WITH_FLOW_CONTROL"
    shared = f"--ignore={macros},EMBEDDED_FUNCTION_NAME"
    options = ["--no-tree", "--no-summary", "--terse", "--show-types", "--max-line-length=100"]
    options.append(f"--typedefsfile={tmp_path}/types")
    assert first == ["perl", "s.pl", *options, shared, "-f", "base/a.c", "base/b.c"]
    assert [words[-3:] for words in others] == [
        [f"{shared},OPEN_BRACE", "-f", "patcher/main.c"],
        [
            f"{shared},MEMORY_BARRIER,AVOID_EXTERNS,MSLEEP,QUOTED_WHITESPACE_BEFORE_NEWLINE",
            "-f",
            "tests/kernel/a.c",
        ],
    ]
    assert (tmp_path / "types").read_text() == (
        "bench_op\nmarker_probe_func\nmarker_typed_func\nva_list\n"
    )


def test_checkpatch_checks_every_c_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are divided among several commands of checkpatch. The findings of all these
    commands are returned, without empty lines."""
    checked: list[str] = []

    def return_one_finding(words: list[str], tool: str) -> list[str]:
        files = words[words.index("-f") + 1 :]
        checked.extend(files)
        return [f"{tool}: {files[0]}", "", " "]

    monkeypatch.setattr(
        checkpatch, "ensure_checkpatch_is_extracted", lambda: tmp_path / "checkpatch.pl"
    )
    monkeypatch.setattr(linters, "run_linter_program", return_one_finding)
    names = ("base/a.c", "base/a.h", "patcher/main.c", "scripts/a.py", "native/a.S")
    found = linters.run_checkpatch(linters.Sources([Path(name) for name in names]))
    assert checked == ["base/a.c", "base/a.h", "patcher/main.c"]
    assert found == ["checkpatch: base/a.c", "checkpatch: patcher/main.c"]


def test_packages_for_linters_are_unpacked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tree for linters contains sparse and perl but no kernel package; the test kernel is used
    as the kernel."""
    mirror = FakeMirror(tmp_path, monkeypatch)
    for name in linters.LINT_TOOLS:
        mirror.add_package(name, "1", f"usr/bin/{name}")
    monkeypatch.setattr(catalogue, "find_kernel_entry", lambda name: ENTRY)
    kernel = linters.unpack_lint_kernel()
    assert (kernel.name, kernel.release, kernel.suite) == ("k", NEW, "s-lint")
    tree = unpack.get_distro_suite_dir(kernel.suite)
    programs = {path.name for path in (tree / "usr/bin").iterdir() if path.is_file()}
    assert programs == {"make", *linters.LINT_TOOLS}
    assert not (tree / f"usr/src/linux-{NEW}").exists()
    asked = mirror.log
    assert linters.unpack_lint_kernel() == kernel and mirror.log == asked


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("echo a; echo b >&2; exit 3", ["a", "b"]),
        ("exit 3", ["sh: exit code 3"]),
        ("echo a", []),
    ],
)
def test_output_of_a_failed_linter_is_returned_as_findings(script: str, found: list[str]) -> None:
    assert linters.run_linter_program(["sh", "-c", script], "sh") == found


def test_linter_that_is_not_installed_is_skipped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line of findings is a failure. All linters run unless some are named."""
    tools = {
        "good": lambda _: [],
        "bad": lambda _: ["x:1: y", "x:2: z"],
        "lame": lambda _: linters.run_linter_program(["no-such-program"], "lame"),
    }
    monkeypatch.setattr(linters, "TOOLS", tools)
    monkeypatch.setattr(linters, "Sources", lambda: None)
    bad = ["bad: x:1: y", "bad: x:2: z"]
    lame = ["lame: no-such-program is not installed: run scripts/setup --lint"]
    assert linters.run_linters() == Tally(1, bad, lame)
    assert capsys.readouterr().out.splitlines() == [
        "good        clean",
        "bad         2 lines of findings",
        "    x:1: y",
        "    x:2: z",
        "lame        SKIP: no-such-program is not installed: run scripts/setup --lint",
    ]
    assert linters.run_linters(["bad"]) == Tally(0, bad)


@pytest.mark.parametrize(
    ("form", "tools", "what", "loud"),
    [
        ("full", "", "every linter", False),
        ("short", "", "every linter", False),
        ("weekly", "ruff", "ruff", False),
        ("named", "", "every linter", True),
        ("named", "ruff,mypy", "ruff, mypy", True),
    ],
)
def test_linter_output_is_shown_if_the_test_lint_is_named(
    form: str,
    tools: str,
    what: str,
    loud: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    calls: list[list[str]] = []

    def record_linter_names(names: list[str]) -> Tally:
        calls.append(names)
        print("words")
        return Tally(1)

    monkeypatch.setattr(linters, "run_linters", record_linter_names)
    request = SuiteRequest(form, options={"tools": tools})
    (suite,) = linters.make_requested_lint_suites(request, ["lint"])
    assert (suite.name, suite.what, suite.loud) == ("lint", what, loud)
    assert suite.run(tmp_path / "log") == Tally(1)
    assert calls == [tools.replace(",", " ").split()]
    assert capsys.readouterr().out == ("words\n" if loud else "")
    monkeypatch.setattr(linters, "LINTERS", tmp_path)
    assert suite.obstacle() == "the linters are missing: run scripts/setup --lint"
    (tmp_path / "mypy").touch()
    assert suite.obstacle() == ""


@pytest.mark.parametrize(
    ("code", "warnings", "found"),
    [
        (0, [], []),
        (0, ["a.c:1:2: warning: x"], ["a.c:1:2: warning: x"]),
        (2, ["a.c:1:2: warning: x"], ["a.c:1:2: warning: x"]),
        (2, [], [f"line {n}" for n in range(2, 12)]),
    ],
)
def test_failed_build_without_warnings_shows_its_last_ten_lines(
    code: int,
    warnings: list[str],
    found: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Objects of an earlier build are deleted if the caller asks for it, and kept otherwise."""
    lines = warnings or [f"line {n}" for n in range(12)]
    objects, calls = tmp_path / "objects", []
    objects.mkdir()

    def write_build_log(kernel: object, folder: Path, words: list[str], log: Path) -> int:
        calls.append((words, objects.exists()))
        log.write_text("\n".join(lines))
        return code

    monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(linters, "unpack_lint_kernel", lambda: SimpleNamespace(name="6.1"))
    monkeypatch.setattr(linters, "get_object_dir", lambda *names: objects)
    monkeypatch.setattr(linters, "update_source_copy", lambda *names: None)
    monkeypatch.setattr(linters, "run_kbuild", write_build_log)
    words = ["-s", "KMARKERS_TESTS=m", "KCFLAGS=-DBENCH_UNTIMED", "W=1"]
    assert linters.collect_build_warnings(["W=1"]) == found
    assert linters.collect_build_warnings(["W=1"], from_scratch=True) == found
    assert calls == [(words, True), (words, False)]
    monkeypatch.setattr(names, "find_all_symbol_faults", lambda root: [f"{root}"])
    faults = linters.compile_and_find_symbol_faults()
    assert faults == (found or [str(objects)])


def test_folder_without_built_modules_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The symbols of test modules are not checked."""
    for name in ("b/two.ko", "a/one.ko", "tests/t.ko"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(names, "find_module_symbol_faults", lambda path, root: [path.stem] * 2)
    assert names.find_all_symbol_faults(tmp_path) == ["one", "one", "two", "two"]
    with pytest.raises(FailedError, match=f"^no module was built in {tmp_path}/a$"):
        names.find_all_symbol_faults(tmp_path / "a")
    with pytest.raises(FailedError, match=rf"^nm cannot read {tmp_path}/a/one\.ko: "):
        names.read_object_symbols(tmp_path / "a" / "one.ko")


def test_names_of_generated_symbols_are_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ["patcher_init", "my_init_module", "loop_a", "tables_need_x"]
    made = [
        "__this_module",
        "init_module",
        "cleanup_module",
        "f.cold",
        "loop_64",
        "x_tables_need_y",
    ]
    lines = "".join(f"0000000000000010 T {name}\n" for name in kept + made)
    lines += "                 U printk\n"
    done = SimpleNamespace(returncode=0, stdout=lines)
    monkeypatch.setattr(names, "capture_output", lambda words: done)
    wanted = [*((name, "T") for name in kept), ("printk", "U")]
    assert names.read_object_symbols(tmp_path) == wanted


@pytest.mark.parametrize(
    ("edges", "cycles"),
    [
        ("ab bc", []),
        ("aa", []),
        ("ab ba", ["a <-> b"]),
        ("ab bc ca cd", ["a <-> b", "a <-> c", "b <-> c"]),
        ("xy yx ab", ["x <-> y"]),
    ],
)
def test_each_pair_of_a_dependency_cycle_is_reported(edges: str, cycles: list[str]) -> None:
    found = layers.find_cycles((edge[0], edge[1]) for edge in edges.split())
    assert list(found) == [f"cycle: {pair}" for pair in cycles]


def test_longest_matching_pattern_decides_the_layer_of_a_file() -> None:
    rows = [{"name": "all", "files": ["*"]}, {"name": "own", "files": ["a/*", "x"]}]
    assert layers.find_layer_of_file(Path("a/b.c"), rows) == rows[1]
    assert layers.find_layer_of_file(Path("b.c"), rows) == rows[0]
    assert layers.find_layer_of_file(Path("b.c"), rows[1:]) is None
