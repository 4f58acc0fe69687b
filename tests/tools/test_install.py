# SPDX-License-Identifier: GPL-2.0-only
"""Tests of scripts/install with built files that are empty, in a copy of the files that it reads.
test_packages.py tests it with programs that were built."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT

RELEASE, VERSION = "6.1.0-57-amd64", "6.1.192"
MODULES = ("patcher/kmarkers_patcher", "markers/kmarkers_markers")


class Tree:
    """A source tree with scripts/install, modules that were built, and headers of a kernel."""

    def __init__(self, path: Path) -> None:
        self.path, self.root, self.kdir = path / "tree", path / "root", path / "headers"
        for name in ("scripts/install", "include/kmarkers/version.h"):
            (self.path / name).parent.mkdir(parents=True)
            shutil.copy(ROOT / name, self.path / name)
        (self.path / "Kbuild").write_text("obj-m += patcher/ markers/\n")
        (self.path / "Module.symvers").touch()
        self.write_kernel_headers(RELEASE)
        for module in MODULES:
            (self.path / module).parent.mkdir()
            self.write_module(module, RELEASE)

    def write_module(self, module: str, release: str) -> None:
        """Write the file of a module that was built for a kernel release."""
        text = f"\xff\n\0version=1\0vermagic={release} SMP preempt \0\n\0name=x\0"
        (self.path / f"{module}.ko").write_text(text, encoding="latin-1")

    def copy_sources(self) -> None:
        """Copy the sources of what `install command` and `install dev` install from this tree."""
        for name in ("include", "native/include", "packaging", "scripts"):
            shutil.copytree(ROOT / name, self.path / name, dirs_exist_ok=True)
        for name in ("kmarkers.mk", "entry.mk", "results/published.csv"):
            (self.path / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, self.path / name)

    def write_kernel_headers(self, release: str) -> None:
        """Write headers for a kernel release. As in Debian's headers of Linux 6.1, the target
        kernelrelease prints only the version."""
        for name, text in (
            ("include/generated/utsrelease.h", f'#define UTS_RELEASE "{release}"\n'),
            ("Makefile", f"kernelrelease:\n\t@echo {VERSION}\n"),
        ):
            (self.kdir / name).parent.mkdir(parents=True, exist_ok=True)
            (self.kdir / name).write_text(text)

    def install(self, *words: str, **variables: object) -> subprocess.CompletedProcess[str]:
        """Run scripts/install in the tree, with the root directory and headers of this object."""
        own = {"DESTDIR": self.root, "KDIR": self.kdir, **variables}
        return subprocess.run(
            ["scripts/install", *words],
            cwd=self.path,
            env={**os.environ, **{name: str(value) for name, value in own.items()}},
            capture_output=True,
            text=True,
            check=False,
        )

    def list_files(self) -> set[str]:
        """Return the paths of the files below the root directory."""
        paths = [path for path in self.root.rglob("*") if not path.is_dir()]
        return {str(path.relative_to(self.root)) for path in paths}


@pytest.fixture(name="tree")
def make_source_tree(tmp_path: Path) -> Tree:
    """Return a source tree with built modules."""
    return Tree(tmp_path)


def list_module_files(release: str) -> set[str]:
    """Return the files that are installed with the modules for a kernel release."""
    folder = f"lib/modules/{release}/updates/kmarkers"
    files = {f"{folder}/{Path(module).name}.ko" for module in MODULES}
    return {*files, f"usr/local/lib/kmarkers/{release}/Module.symvers"}


def test_modules_are_installed_for_the_release_of_the_headers(tree: Tree) -> None:
    done = tree.install("modules")
    assert (done.returncode, done.stderr) == (0, "")
    assert tree.list_files() == list_module_files(RELEASE)


@pytest.mark.parametrize("text", [None, "#define OTHER 1\n"])
def test_headers_without_a_release_are_refused(tree: Tree, text: str | None) -> None:
    header = tree.kdir / "include/generated/utsrelease.h"
    header.unlink()
    if text:
        header.write_text(text)
    done = tree.install("modules")
    assert done.returncode == 2
    assert done.stderr.startswith(f"install: '{header}' has no kernel release; set KDIR to ")
    assert not tree.root.exists()


@pytest.mark.parametrize("module", MODULES)
def test_modules_for_another_kernel_are_refused(tree: Tree, module: str) -> None:
    tree.write_module(module, "6.1.0-57-rt-amd64")
    done = tree.install("modules")
    assert (done.returncode, done.stdout) == (2, "")
    why = f"{module}.ko was built for kernel '6.1.0-57-rt-amd64', not for {RELEASE}"
    assert done.stderr == f"install: {why}; run make modules with the same KDIR\n"
    assert not tree.root.exists()


def test_missing_module_symvers_is_reported(tree: Tree) -> None:
    (tree.path / "Module.symvers").unlink()
    done = tree.install("modules")
    assert done.returncode == 2
    assert done.stderr == "install: Module.symvers is missing; run make modules\n"
    assert not tree.root.exists()


def test_uninstall_removes_modules_of_all_kernels(tree: Tree) -> None:
    tree.install("modules")
    tree.write_kernel_headers("7.2.12")
    for module in MODULES:
        tree.write_module(module, "7.2.12")
    tree.install("modules")
    assert tree.list_files() == list_module_files(RELEASE) | list_module_files("7.2.12")
    other = "lib/modules/7.2.12/updates/dkms/kmarkers_patcher.ko"
    (tree.root / other).parent.mkdir()
    (tree.root / other).touch()
    done = tree.install("--remove", "modules", KDIR="/nowhere")
    assert (done.returncode, done.stderr) == (0, "")
    assert tree.list_files() == {other}
    assert not list(tree.root.rglob("kmarkers"))


def test_uninstall_in_an_unbuilt_tree_removes_files_of_kmarkers(tree: Tree) -> None:
    tree.copy_sources()
    pages = {f"man{page[-1]}/{page}" for page in ("kmarkers.1", "kmbench.1", "kmarkers-event.9")}
    cached = "share/kmarkers/scripts/kmtools/base/__pycache__/paths.cpython-311.pyc"
    names = {"bin/kmbench", "lib/libkmbench.a", cached, *(f"share/man/{page}" for page in pages)}
    kept = {"share/man/man1/other.1", "share/man/man9/kmarkersother.9"}
    for name in names | kept:
        path = tree.root / "usr/local" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    done = tree.install("--remove", KDIR="/nowhere")
    assert (done.returncode, done.stderr) == (0, "")
    assert tree.list_files() == {f"usr/local/{name}" for name in kept}
    assert not list(tree.root.rglob("kmarkers"))


@pytest.mark.parametrize("package", ["kmarkers.spec", "kmarkers.install"])
def test_removal_of_a_package_removes_compiled_python_modules(package: str, tmp_path: Path) -> None:
    cached = tmp_path / "kmarkers/scripts/kmtools/base/__pycache__"
    cached.mkdir(parents=True)
    for path in (cached / "paths.cpython-313.pyc", cached.with_name("paths.py")):
        path.touch()
    text = (ROOT / "packaging" / package).read_text(encoding="utf-8")
    if package.endswith(".spec"):
        text = text.partition("\n%preun\n")[2].partition("\n%")[0]
    else:
        text = f"{text}\npre_remove\n"
    for share in ("%{_datadir}/%{name}", "/usr/share/kmarkers"):
        text = text.replace(share, str(tmp_path / "kmarkers"))
    subprocess.run(["sh", "-e", "-c", text], check=True)
    assert [path.name for path in cached.parent.iterdir()] == ["paths.py"]


def test_all_users_may_read_what_is_installed(tree: Tree) -> None:
    tree.copy_sources()
    for name in ("native/kmbench", "man/kmarkers.1"):
        (tree.path / "build" / name).parent.mkdir(parents=True)
        (tree.path / "build" / name).touch(0o755)
    before = os.umask(0o077)
    try:
        done = tree.install("command", "modules")
    finally:
        os.umask(before)
    assert (done.returncode, done.stderr) == (0, "")
    paths = [path for path in tree.root.rglob("*") if not path.is_symlink()]
    assert [path for path in paths if path.stat().st_mode & 0o044 != 0o044] == []
    assert [path for path in paths if path.is_dir() and path.stat().st_mode & 0o011 != 0o011] == []
