# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the paths and compiler options in compile_commands.json."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT
from kmtools.lab import catalogue, database
from kmtools.lab.catalogue import Kernel

COMMON = "/usr/src/linux-headers-1-common"
OLD = f"""cmd_/src/patcher/batch.o :=  gcc-12 -Wp,-MMD,/src/patcher/.batch.o.d -nostdinc \
-I{COMMON}/include -I./include -include {COMMON}/include/linux/kconfig.h -D__KERNEL__ \
-fconserve-stack -mindirect-branch=thunk \
-I/src/include -include /src/include/compat/compat.h -DKBUILD_MODNAME='"kmarkers_patcher"' -c \
-o /src/patcher/batch.o /src/patcher/batch.c   ; ./tools/objtool/objtool --orc /src/patcher/batch.o
"""
NEW = """savedcmd_patcher/insn.o := x86_64-linux-gnu-gcc-16 -I/usr/src/linux-headers-1/include \
-fmin-function-alignment=16 -std=gnu11 -c -o patcher/insn.o patcher/insn.c
"""
LINK = "cmd_/src/patcher/all.o := ld -r -o /src/patcher/all.o @/src/patcher/all.mod\n"


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Return a fake kernel with unpacked headers."""
    monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path))
    made = Kernel("k", "s", "linux-image-1", "1", "1-k", "vmlinuz")
    headers = made.tree / "usr/src/linux-headers-1"
    headers.mkdir(parents=True)
    modules = made.tree / "usr/lib/modules/1-k"
    modules.mkdir(parents=True)
    (modules / "build").symlink_to("/usr/src/linux-headers-1")
    return made


def list_compile_commands(kernel: Kernel, tmp_path: Path, *records: str) -> list[database.Command]:
    """Return the compile commands that are made from .cmd files with the texts `records`."""
    for number, text in enumerate(records):
        (tmp_path / "objects").mkdir(exist_ok=True)
        (tmp_path / "objects" / f".{number}.o.cmd").write_text(text.replace("\\\n", ""))
    return list(database.read_module_compile_commands(kernel, tmp_path / "objects"))


def test_compile_commands_translate_paths_of_the_chroot(kernel: Kernel, tmp_path: Path) -> None:
    (one,) = list_compile_commands(kernel, tmp_path, OLD, LINK)
    assert one["directory"] == f"{kernel.tree}/usr/src/linux-headers-1"
    assert one["file"] == str(ROOT / "patcher" / "batch.c")
    common = f"{kernel.tree}{COMMON}/include"
    wanted = ["gcc", "-nostdinc", f"-I{common}", "-I./include", "-include"]
    wanted += [f"{common}/linux/kconfig.h", "-D__KERNEL__", f"-I{ROOT}/include", "-include"]
    wanted += [f"{ROOT}/include/compat/compat.h", '-DKBUILD_MODNAME="kmarkers_patcher"']
    assert one["arguments"] == [*wanted, "-c", str(ROOT / "patcher" / "batch.c")]


def test_compile_commands_translate_relative_paths_of_newer_kernels(
    kernel: Kernel, tmp_path: Path
) -> None:
    (one,) = list_compile_commands(kernel, tmp_path, NEW)
    assert (one["directory"], one["file"]) == (str(ROOT), str(ROOT / "patcher" / "insn.c"))
    headers = f"-I{kernel.tree}/usr/src/linux-headers-1/include"
    assert one["arguments"] == ["gcc", headers, "-std=gnu11", "-c", str(ROOT / "patcher/insn.c")]


def test_every_source_of_user_space_programs_has_an_entry() -> None:
    done = subprocess.run(
        ["make", "-C", ROOT / "native", "-n", "-B", "all"],
        capture_output=True,
        text=True,
        check=True,
    )
    found = list(database.parse_program_compile_commands(done.stdout))
    files = {Path(one["file"]) for one in found}
    assert all(path.is_file() for path in files)
    assert {ROOT / "native" / "main.c", ROOT / "patcher" / "batch.c"} <= files
    assert all("-Iinclude" in one["arguments"] for one in found)


def get_clang_messages(entry: database.Command) -> str:
    """Compile the source file of `entry` with clang -fsyntax-only; return the messages of
    clang."""
    command = ["clang", *entry["arguments"][1:], "-fsyntax-only", "-w"]
    done = subprocess.run(
        command, cwd=entry["directory"], capture_output=True, text=True, check=False
    )
    return done.stderr


@pytest.mark.skipif(not shutil.which("clang"), reason="clang is missing: apt-get install clang")
def test_clang_accepts_entries_of_compile_commands_json() -> None:
    """Run clang on some entries of the compile_commands.json that `make clangd` wrote."""
    if not (ROOT / database.NAME).is_file() or not catalogue.find_unpacked_kernel(
        catalogue.get_default_kernel_name()
    ):
        pytest.skip("compile_commands.json is missing: run make clangd")
    found = json.loads((ROOT / database.NAME).read_text())
    by_name = {Path(one["file"]).name: one for one in reversed(found)}
    for name in ("batch.c", "main.c", "connect.c", "ops_loop.c"):
        assert get_clang_messages(by_name[name]) == ""
