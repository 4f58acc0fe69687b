# SPDX-License-Identifier: GPL-2.0-only
"""Which modules of a kernel's own package are loaded before those of others."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kmtools.lab import stock


def module(path: Path, *texts: str) -> Path:
    """Write a file that has these texts in .modinfo."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x7fELF\0" + b"".join(f"{text}\0".encode() for text in texts) + b"\1\0")
    return path


def kernel_in(tree: Path, **modules: tuple[str, ...]) -> Any:
    """A kernel whose package has modules; their files are called with dashes."""
    for name, texts in modules.items():
        file = f"{name.replace('_', '-')}.ko"
        module(tree / "usr/lib/modules/6.1/kernel" / file, "license=GPL", *texts)
    return SimpleNamespace(tree=tree, release="6.1")


def names(kernel: Any, own: Path, scratch: Path) -> list[str]:
    """The names of what is loaded before a module, in order."""
    return [path.stem for path in stock.needed(kernel, [own], scratch)]


def test_what_a_module_needs_comes_before_it(tmp_path: Path) -> None:
    """Files write names with dashes; the kernel has them with underscores."""
    kernel = kernel_in(
        tmp_path,
        usb_common=(),
        usb_core=("depends=usb-common",),
        dm_mod=("depends=",),
        other=(),
    )
    own = module(tmp_path / "own.ko", "depends=usb-core,dm-mod,mine")
    assert names(kernel, own, tmp_path / "s") == ["usb_common", "usb_core", "dm_mod"]


def test_soft_dependencies_are_modules_or_algorithms(tmp_path: Path) -> None:
    kernel = kernel_in(
        tmp_path, crc_generic=(), early=(), late=(), lib=("softdep=pre: crc early post: late",)
    )
    own = module(tmp_path / "own.ko", "depends=lib", "softdep=pre: nowhere")
    assert names(kernel, own, tmp_path / "s") == ["crc_generic", "early", "lib"]
