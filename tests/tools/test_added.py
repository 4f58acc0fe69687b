# SPDX-License-Identifier: GPL-2.0-only
"""Tests of adding kernels from packages and directories."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from kmtools.base.errors import UnableError
from kmtools.lab import added, build, catalogue, unpack

SUITE = catalogue.load_kernel_entries()[0].suite

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="adding a kernel needs root")


@pytest.fixture
def system_with_kernel(laboratory: Path) -> Path:
    """Make the directory of an unpacked Debian suite, and a root directory with a kernel; return
    the root directory."""
    unpack.get_distro_suite_dir(SUITE).mkdir(parents=True)
    root = laboratory / "system"
    headers = root / "usr" / "src" / "headers-9.9"
    modules = root / "usr" / "lib" / "modules" / "9.9-strange"
    for directory in (headers, modules, root / "boot"):
        directory.mkdir(parents=True)
    (root / "lib").symlink_to("usr/lib")
    (headers / "Makefile").touch()
    (modules / "build").symlink_to("/usr/src/headers-9.9")
    (root / "boot" / "vmlinuz-9.9-strange").write_text("kernel")
    (root / "etc").mkdir()
    (root / "etc" / "secret").touch()
    return root


def test_kernel_is_added_from_a_root_directory_and_removed(system_with_kernel: Path) -> None:
    kernel = added.add_kernel("strange", [system_with_kernel], SUITE)
    assert kernel.release == "9.9-strange"
    assert catalogue.require_unpacked_kernel("strange") == kernel
    assert kernel.image.read_text() == "kernel"
    assert not (kernel.tree / "etc").exists()
    assert catalogue.load_kernel_entries()[-1].role == catalogue.ADDED
    build.get_object_dir("strange", system_with_kernel).mkdir(parents=True)
    added.remove_kernel("strange")
    with pytest.raises(UnableError, match="unknown kernel 'strange'"):
        catalogue.require_unpacked_kernel("strange")
    assert not kernel.tree.exists()
    assert not build.get_object_dir("strange", system_with_kernel).exists()


def test_interrupted_removal_is_completed_by_the_next_fetch(
    system_with_kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = added.add_kernel("strange", [system_with_kernel], SUITE).tree
    with monkeypatch.context() as during:
        during.setattr(shutil, "rmtree", interrupt_rmtree)
        with pytest.raises(KeyboardInterrupt):
            added.remove_kernel("strange")
    assert "strange" not in {entry.name for entry in catalogue.load_kernel_entries()}
    assert any(path.name.startswith(".new-") for path in tree.parent.iterdir())
    with unpack.hold_fetch_lock(0):
        pass
    assert not any("strange" in path.name for path in tree.parent.iterdir())


def interrupt_rmtree(path: Path, ignore_errors: bool = False) -> None:
    """Replace rmtree(): raise KeyboardInterrupt if the directory exists."""
    if path.exists() or not ignore_errors:
        raise KeyboardInterrupt


def test_adding_a_kernel_of_kernels_txt_is_refused(system_with_kernel: Path) -> None:
    with pytest.raises(UnableError, match=r"is in kernels\.txt"):
        added.add_kernel(catalogue.get_default_kernel_name(), [system_with_kernel], SUITE)


@pytest.mark.parametrize(
    ("name", "path", "suite", "reason"),
    [
        ("a/b", "system", SUITE, "is no valid name"),
        ("x", "nothing", SUITE, "neither a directory nor a"),
        ("x", "system", "potato", "unknown suite 'potato'"),
        ("x", "system/etc", SUITE, "has none of the folders"),
        ("x", "system/usr", SUITE, "the headers of 9.9-strange are missing"),
    ],
)
def test_kernel_that_cannot_be_added_leaves_no_files(
    system_with_kernel: Path, laboratory: Path, name: str, path: str, suite: str, reason: str
) -> None:
    (system_with_kernel / "usr" / "boot").mkdir()
    before = sorted((laboratory / "cache" / "kernels").iterdir())
    with pytest.raises(UnableError, match=reason):
        added.add_kernel(name, [laboratory / path], suite)
    assert sorted((laboratory / "cache" / "kernels").iterdir()) == before


def test_error_about_a_missing_compiler_names_the_kernel_to_fetch(laboratory: Path) -> None:
    names: dict[str, str] = {}
    for entry in catalogue.load_kernel_entries():
        names.setdefault(entry.suite, entry.name)
    assert len(names) > 1
    for suite, first in names.items():
        said = f"^the compiler of {suite} is not unpacked; run: scripts/kmarkers lab fetch {first}$"
        with pytest.raises(UnableError, match=said):
            added.validate_added_kernel("x", [], suite)


def test_adding_a_kernel_without_headers_is_refused(system_with_kernel: Path) -> None:
    (system_with_kernel / "usr" / "src" / "headers-9.9" / "Makefile").unlink()
    with pytest.raises(UnableError, match=r"the headers of 9\.9-strange are missing"):
        added.add_kernel("strange", [system_with_kernel], SUITE)
