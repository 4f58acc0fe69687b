# SPDX-License-Identifier: GPL-2.0-only
"""Tests of finding the dependencies of modules in a kernel's package."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kmtools.lab import stock


def write_module(path: Path, *texts: str) -> Path:
    """Write a fake module with these .modinfo entries."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x7fELF\0" + b"".join(f"{text}\0".encode() for text in texts) + b"\1\0")
    return path


def make_kernel(tree: Path, **modules: tuple[str, ...]) -> Any:
    """Make a fake kernel with modules; their files have dashes in their names."""
    for name, texts in modules.items():
        file = f"{name.replace('_', '-')}.ko"
        write_module(tree / "usr/lib/modules/6.1/kernel" / file, "license=GPL", *texts)
    return SimpleNamespace(tree=tree, release="6.1")


def list_module_dependencies(kernel: Any, module: Path, scratch: Path) -> list[str]:
    """Return the names of the modules that must be loaded before the module `module`, in order."""
    return [path.stem for path in stock.copy_module_dependencies(kernel, [module], scratch)]


def test_dependencies_precede_a_module(tmp_path: Path) -> None:
    """A module's dependencies are listed in the order of loading, although file names have dashes
    and names of modules have underscores."""
    kernel = make_kernel(
        tmp_path,
        usb_common=(),
        usb_core=("depends=usb-common",),
        dm_mod=("depends=",),
        other=(),
    )
    own = write_module(tmp_path / "own.ko", "depends=usb-core,dm-mod,mine")
    assert list_module_dependencies(kernel, own, tmp_path / "s") == [
        "usb_common",
        "usb_core",
        "dm_mod",
    ]


def test_soft_dependencies_are_modules_or_algorithms(tmp_path: Path) -> None:
    kernel = make_kernel(
        tmp_path, crc_generic=(), early=(), late=(), lib=("softdep=pre: crc early post: late",)
    )
    own = write_module(tmp_path / "own.ko", "depends=lib", "softdep=pre: nowhere")
    assert list_module_dependencies(kernel, own, tmp_path / "s") == ["crc_generic", "early", "lib"]
