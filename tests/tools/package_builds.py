# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the RPM and Arch packages, which are built with the compiler. The suite package-builds
runs this file."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT
from nativeprograms import LIBRARIES
from test_packages import PAGES, list_files_below, run_successfully

# To save time, compile each variant of a benchmark once instead of once for each code layout.
COMPILER_FLAGS = {"EXTRA": "-DBENCH_UNTIMED"}


def clone_tree_with_programs(scratch: Path) -> Path:
    """Clone the last commit to a subdirectory of `scratch`, and add the programs and manual pages
    that were built in this tree; return the clone."""
    if not (ROOT / ".git").exists():
        pytest.skip(f"{ROOT} is not a git checkout")
    tree = scratch / "tree"
    subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "clone", "-q", str(ROOT), str(tree)], check=True
    )
    for name in ("native/kmbench", *(f"native/{name}" for name in LIBRARIES), "man"):
        (tree / "build" / name).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", ROOT / "build" / name, tree / "build" / name], check=True)
    return tree


def list_installed_files(tree: Path, libdir: str) -> set[str]:
    """Return the paths of the files that scripts/install of `tree` installs, with libraries in
    `libdir`. The paths of manual pages are without .gz."""
    root = tree.parent / "root"
    words = (tree / "scripts" / "install", "command", "dev", "dkms")
    zsh = "/usr/share/zsh/site-functions"
    run_successfully(*words, DESTDIR=root, PREFIX="/usr", LIBDIR=libdir, ZSHDIR=zsh)
    return {f"/{name}" for name in list_files_below(root)}


def find_missing_tool_error(tools: Sequence[str]) -> str:
    """Return an error text that names the first missing program and the remedy; "" if no program is
    missing."""
    missing = [tool for tool in tools if not shutil.which(tool)]
    return f"{missing[0]} is missing: run scripts/setup --packages" if missing else ""


@PAGES
@pytest.mark.skipif(
    bool(find_missing_tool_error(["rpmbuild"])), reason=find_missing_tool_error(["rpmbuild"])
)
def test_rpm_packages_have_the_files_of_scripts_install(tmp_path: Path, programs: None) -> None:
    tree = clone_tree_with_programs(tmp_path)
    packages = run_successfully(tree / "scripts" / "package", "rpm", **COMPILER_FLAGS).split()
    assert len(packages) == 3
    # Ignore files that rpmbuild adds: licences, and links for debuggers.
    query = "[%{FILEMODES:perms} %{FILENAMES}\n]"
    listed = run_successfully("rpm", "-qp", "--qf", query, *packages).splitlines()
    paths = [line.partition(" ")[2] for line in listed if not line.startswith("d")]
    added = ("/usr/share/licenses/", "/usr/lib/.build-id/")
    held = [path.removesuffix(".gz") for path in paths if not path.startswith(added)]
    assert len(held) == len(set(held))
    assert set(held) == list_installed_files(tree, "/usr/lib64")


@PAGES
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run makepkg as nobody")
@pytest.mark.skipif(
    bool(find_missing_tool_error(["makepkg", "pacman"])),
    reason=find_missing_tool_error(["makepkg", "pacman"]),
)
def test_arch_packages_have_the_files_of_scripts_install(programs: None) -> None:
    with tempfile.TemporaryDirectory() as name:
        tree = clone_tree_with_programs(Path(name))
        wanted = list_installed_files(tree, "/usr/lib")
        subprocess.run(["chown", "-R", "nobody", name], check=True)
        script = tree / "scripts" / "package"
        as_nobody = ("setpriv", "--reuid=nobody", "--clear-groups")
        packages = run_successfully(*as_nobody, script, "arch", HOME=name, **COMPILER_FLAGS).split()
        assert len(packages) == 2
        held = []
        for package in packages:
            with tarfile.open(package) as tar:
                found = [f"/{member.name}" for member in tar if not member.isdir()]
            held += [path.removesuffix(".gz") for path in found if not path.startswith("/.")]
        assert sorted(held) == sorted(wanted)
