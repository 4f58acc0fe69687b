# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers sites` with an object file for user space whose tables are named as in a
module. module_sites.py tests the command with modules of a kernel."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from kmtools.base.errors import UnableError
from kmtools.base.paths import ROOT
from kmtools.cli import main

pytest.importorskip("elftools", reason="pyelftools is missing: run scripts/setup --tools")
from kmtools.lab.modulesites import Site, read_module_sites

SOURCE = """
#include <linux/kernel.h>
#include <kmarkers/marker.h>
#include <kmarkers/sdt.h>
SDT_PROVIDER_DEFINE(mine);
SDT_PROBE_DEFINE1(mine, , , start, "int");
DEFINE_IMV(unsigned int, limit) = 1500;
DEFINE_IMV(bool, fast);
int unused(void);
int unused(void) { return 0; }
static inline __attribute__((always_inline)) void set_up(int mode)
{
	trace_mark(set_up, "mode %d", mode);
	SDT_PROBE1(mine, , , start, mode);
}
int work(int n);
int work(int n)
{
	trace_mark(length, "length %d", n);
	_trace_mark(slow, "nothing");
	if (imv_branch(fast) || imv_xor_flip(fast))
		set_up(n);
	return imv_read(limit);
}
#ifdef EARLY
int early(int n);
__attribute__((section(".init.text"))) int early(int n)
{
	_trace_mark(early_slow, "nothing");
	set_up(n);
	return imv_equal((unsigned int)n, limit) ? 1 : imv_read(limit);
}
#endif
"""
FLAGS = ["-std=gnu11", "-O2", "-D_GNU_SOURCE", "-DNATIVE_BUILD", "-fno-pie"]
FLAGS += ["-fno-strict-aliasing", "-fcf-protection=none"]
FLAGS += [f"-I{ROOT}/native/include", f"-I{ROOT}/include"]
TABLES = ("imv", "markers", "sdt", "sdtnote")


def compile_fake_module(folder: Path, text: str, *flags: str) -> Path:
    """Compile a source to an object file whose tables are named as in a module; return the file."""
    (folder / "mine.c").write_text(text)
    words = ["gcc", *FLAGS, *flags, "-c", "-o", "mine.o", "mine.c"]
    subprocess.run(words, check=True, cwd=folder)
    names = [f"--rename-section=kmarkers_{table}=.discard_kmarkers_{table}" for table in TABLES]
    subprocess.run(["objcopy", *names, "mine.o", "mine.ko"], check=True, cwd=folder)
    return folder / "mine.ko"


def find_file_and_line(text: str) -> str:
    """Return FILE:LINE of the line of SOURCE that contains `text`."""
    (number,) = [n for n, line in enumerate(SOURCE.splitlines(), 1) if text in line]
    return f"mine.c:{number}"


def make_sdt_site(function: str, is_freed: bool = False) -> Site:
    return Site("SDT probe", "mine:start", "jump", "", "", function, is_freed)


def make_imv_site(kind: str, name: str, function: str, is_freed: bool = False) -> Site:
    return Site(kind, name, "immediate", "", "", function, is_freed)


LENGTH, SLOW, SET_UP = (
    find_file_and_line(f"mark({name},") for name in ("length", "slow", "set_up")
)
WORK = [
    Site("marker", "length", "jump", LENGTH, "work", "work", False),
    Site("marker", "slow", "generic", SLOW, "work", "work", False),
    Site("marker", "set_up", "jump", SET_UP, "set_up", "work", False),
    make_imv_site("imv_branch() of", "fast", "work"),
    make_imv_site("imv_cmp_flip() or imv_xor_flip() of", "fast", "work"),
    make_imv_site("imv_read() of", "limit", "work"),
    make_sdt_site("work"),
]
EARLY = [
    Site(
        "marker", "early_slow", "generic", find_file_and_line("early_slow"), "early", "early", False
    ),
    Site("marker", "set_up", "jump", SET_UP, "set_up", "early", True),
    make_imv_site("comparison with", "limit", "early", True),
    make_imv_site("imv_read() of", "limit", "early", True),
    make_sdt_site("early", True),
]


def test_listed_sites_have_names_and_source_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each site has its function in the machine code; a marker also has its function in the source,
    which may be inlined."""
    module = compile_fake_module(tmp_path, SOURCE)
    assert sorted(read_module_sites(module), key=str) == sorted(WORK, key=str)
    assert main(["sites", str(module)]) == 0
    said = capsys.readouterr()
    head, *rows = said.out.splitlines()
    assert head == f"{module}:" and len(rows) == 1 + len(WORK) and not said.err
    assert ["marker", "length", "jump", "work", LENGTH] in [row.split() for row in rows]
    assert ["imv_read()", "of", "limit", "immediate", "work", "-"] in [row.split() for row in rows]


def test_sites_that_are_freed_after_init_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A marker without a site may be in a freed function."""
    module = compile_fake_module(tmp_path, SOURCE, "-DEARLY")
    assert sorted(read_module_sites(module), key=str) == sorted([*WORK, *EARLY], key=str)
    assert main(["sites", str(module)]) == 1
    freed = "is in early, which is freed after init: "
    imv = "use _imv_read(), or make its function noinline and not __init"
    assert sorted(capsys.readouterr().err.splitlines()) == [
        f"{module}: error: SDT probe mine:start {freed}make its function noinline and not __init",
        f"{module}: error: comparison with limit {freed}{imv}",
        f"{module}: error: imv_read() of limit {freed}{imv}",
        f"{module}: error: marker set_up ({SET_UP}, set_up) {freed}use _trace_mark(), or make its"
        " function noinline and not __init",
    ]


def test_module_without_kmarkers_tables_has_no_sites(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = compile_fake_module(tmp_path, "int work(void) { return 0; }\n")
    assert main(["sites", str(module)]) == 0
    said = capsys.readouterr().out
    assert said == f"{module}: no markers, SDT probes or immediate values\n"


def test_command_sites_refuses_files_other_than_modules(tmp_path: Path) -> None:
    """Refused are a linked program, a text file, and a module whose tables lack their
    relocations."""
    program, text = tmp_path / "program", tmp_path / "text"
    text.write_text("no module")
    module = compile_fake_module(tmp_path, "int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-o", program, tmp_path / "mine.o"], check=True)
    for path in (program, text):
        with pytest.raises(UnableError, match=f"{path} is not a kernel module: "):
            read_module_sites(path)
    assert read_module_sites(module) == []
    module = compile_fake_module(tmp_path, SOURCE)
    subprocess.run(
        ["objcopy", "--remove-section=.rela.discard_kmarkers_markers", module], check=True
    )
    with pytest.raises(UnableError, match="the tables of sites cannot be read; rebuild the module"):
        read_module_sites(module)
