# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers sites`, which lists the sites in a module file, and of builds with ccflags-y
and KBUILD_EXTRA_SYMBOLS on the command line of make. The suite `headers` of `make check-full` runs
these tests."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from kmtools.base.errors import UnableError
from kmtools.base.paths import ROOT
from kmtools.cli import main
from kmtools.lab import build, catalogue, chroot, shell, unpack
from kmtools.lab.modulesites import Site, read_module_sites

SOURCE = """
#include <linux/module.h>
#include <kmarkers/marker.h>
#include <kmarkers/sdt.h>
SDT_PROVIDER_DEFINE(mine);
SDT_PROBE_DEFINE1(mine, , , start, "int");
static DEFINE_IMV(unsigned int, limit) = 1500;
#ifdef EARLY
/* The compiler inlines set_up() into the init function. */
static int set_up(int mode)
{
	trace_mark(mine_set_up, "mode %d", mode);
	SDT_PROBE1(mine, , , start, mode);
	return imv_read(limit) == 3;
}
static int __init mine_init(void) { return set_up(3); }
#else
static int __init mine_init(void) { _trace_mark(mine_init, "nothing"); return 0; }
#endif
noinline int mine_work(int n);
noinline int mine_work(int n)
{
	trace_mark(mine_length, "length %u", n);
	SDT_PROBE1(mine, , , start, n);
	return n > imv_read(limit) || imv_equal((unsigned int)n, limit);
}
EXPORT_SYMBOL_GPL(mine_work);
static void __exit mine_exit(void) { }
module_init(mine_init);
module_exit(mine_exit);
MODULE_LICENSE("GPL");
"""


def build_module_with_sites(tmp_path: Path, name: str, *make_args: str) -> Path:
    """Build SOURCE as a module in a directory called `name`; return the module file."""
    kernel = catalogue.get_default_kernel_name()
    if why := chroot.find_chroot_obstacle():
        pytest.skip(why)
    if not catalogue.find_unpacked_kernel(kernel):
        pytest.skip(f"kernel {kernel} is missing: run scripts/setup {kernel}")
    folder = tmp_path / name
    folder.mkdir(parents=True)
    (folder / "mine.c").write_text(SOURCE)
    (folder / "Kbuild").write_text("include $(KMARKERS)/kmarkers.mk\nobj-m := mine.o\n")
    log = tmp_path / "log"
    assert build.build_modules(kernel, ROOT, tmp_path / "ours", shell.OPTIONS, log) == 0
    out = tmp_path / "out" / name
    code = build.build_modules(kernel, folder, out, ["-s", *make_args], log, kmarkers_source=ROOT)
    assert (code, log.read_text()) == (0, "")
    return out / "mine.ko"


def list_site_properties(sites: list[Site]) -> list[tuple[str, str, str, str]]:
    """Return the kind, name, flavour and function of each site, sorted."""
    return sorted((site.kind, site.name, site.flavour, site.function) for site in sites)


WORK = [
    ("SDT probe", "mine:start", "jump", "mine_work"),
    ("imv_read() of", "limit", "immediate", "mine_work"),
    ("marker", "mine_length", "jump", "mine_work"),
    ("comparison with", "limit", "immediate", "mine_work"),
]


def test_sites_of_a_module_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = build_module_with_sites(tmp_path, "fine")
    sites = read_module_sites(module)
    assert list_site_properties(sites) == sorted(
        [*WORK, ("marker", "mine_init", "generic", "mine_init")]
    )
    line = SOURCE.splitlines().index('\ttrace_mark(mine_length, "length %u", n);') + 1
    assert f"mine.c:{line}" in [site.place for site in sites]
    assert main(["sites", str(module)]) == 0
    assert "mine_length" in capsys.readouterr().out


def test_sites_in_freed_init_functions_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = build_module_with_sites(tmp_path, "early", "ccflags-y=-DEARLY")
    early = [(kind, name, flavour, "mine_init") for kind, name, flavour, _ in WORK[:2]]
    early.append(("marker", "mine_set_up", "jump", "mine_init"))
    assert list_site_properties(read_module_sites(module)) == sorted([*WORK, *early])
    assert main(["sites", str(module)]) == 1
    said = capsys.readouterr().err
    assert "error: marker mine_set_up (mine.c:12, set_up) is in mine_init, which is freed" in said
    assert said.count("use _trace_mark()") == 1 and said.count("use _imv_read()") == 1
    assert "error: SDT probe mine:start is in mine_init, which is freed after init" in said


def test_command_line_flags_add_to_the_flags_of_kmarkers(tmp_path: Path) -> None:
    module = build_module_with_sites(
        tmp_path, "given", "ccflags-y=-DGIVEN", "KBUILD_EXTRA_SYMBOLS=/dev/null"
    )
    assert len(read_module_sites(module)) == 5


def test_module_built_in_two_directories_is_identical(tmp_path: Path) -> None:
    script = """for folder in /tmp/a /tmp/another/place; do
        mkdir -p $folder && cp /src/mine.c /src/Kbuild $folder/
        make -s -C $1 M=$folder KCFLAGS=-g0 KMARKERS=/kmarkers modules || exit 1
        ! grep -c $folder $folder/mine.ko || exit 1
    done
    cmp /tmp/a/mine.ko /tmp/another/place/mine.ko"""
    build_module_with_sites(tmp_path, "twice")
    kernel = catalogue.require_unpacked_kernel(catalogue.get_default_kernel_name())
    binds = [
        (tmp_path / "twice", "src"),
        (build.get_object_dir(kernel.name, ROOT), "kmarkers"),
        *build.list_kernel_binds(kernel),
    ]
    words = ["sh", "-c", script, "sh", f"/usr/lib/modules/{kernel.release}/build"]
    log = tmp_path / "twice.log"
    code = chroot.run_in_chroot(unpack.get_distro_suite_dir(kernel.suite), binds, words, log)
    assert code == 0, log.read_text()


def test_error_names_the_damaged_module_file(tmp_path: Path) -> None:
    data = build_module_with_sites(tmp_path, "fine").read_bytes()
    damaged = tmp_path / "damaged.ko"
    drawn = random.Random(1)
    for number in range(300):
        changed = bytearray(data[: drawn.randrange(len(data))] if number % 3 == 0 else data)
        for _ in range(number % 3 * 40):
            changed[drawn.randrange(min(len(changed), 1 << 16))] = drawn.randrange(256)
        damaged.write_bytes(changed)
        try:
            read_module_sites(damaged)
        except UnableError as error:
            assert str(damaged) in str(error)
