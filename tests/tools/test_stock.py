# SPDX-License-Identifier: GPL-2.0-only
"""Tests of reading modules, and of finding their dependencies in a kernel's package."""

from __future__ import annotations

import gzip
import lzma
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kmtools.base.errors import UnableError
from kmtools.lab import stock


def write_fake_module(path: Path, *texts: str) -> Path:
    """Write a fake module with these .modinfo entries."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x7fELF\0" + b"".join(f"{text}\0".encode() for text in texts) + b"\1\0")
    return path


def make_kernel_with_modules(tree: Path, **modules: tuple[str, ...]) -> Any:
    """Make a fake kernel with modules; their files have dashes in their names."""
    for name, texts in modules.items():
        file = f"{name.replace('_', '-')}.ko"
        write_fake_module(tree / "usr/lib/modules/6.1/kernel" / file, "license=GPL", *texts)
    return SimpleNamespace(tree=tree, release="6.1")


def list_module_dependencies(kernel: Any, module: Path, scratch: Path) -> list[str]:
    """Return the names of the modules that must be loaded before the module `module`, in order."""
    return [path.stem for path in stock.copy_module_dependencies(kernel, [module], scratch)]


def test_dependencies_precede_a_module(tmp_path: Path) -> None:
    """A module's dependencies are listed in the order of loading, although file names have dashes
    and names of modules have underscores."""
    kernel = make_kernel_with_modules(
        tmp_path,
        usb_common=(),
        usb_core=("depends=usb-common",),
        dm_mod=("depends=",),
        other=(),
    )
    own = write_fake_module(tmp_path / "own.ko", "depends=usb-core,dm-mod,mine")
    assert list_module_dependencies(kernel, own, tmp_path / "s") == [
        "usb_common",
        "usb_core",
        "dm_mod",
    ]


def test_soft_dependencies_are_modules_or_algorithms(tmp_path: Path) -> None:
    kernel = make_kernel_with_modules(
        tmp_path, crc_generic=(), early=(), late=(), lib=("softdep=pre: crc early post: late",)
    )
    own = write_fake_module(tmp_path / "own.ko", "depends=lib", "softdep=pre: nowhere")
    assert list_module_dependencies(kernel, own, tmp_path / "s") == ["crc_generic", "early", "lib"]


def test_modules_of_a_package_are_copied_once(tmp_path: Path) -> None:
    """The files of another release, and names that the package lacks, are ignored. A cycle of
    dependencies ends."""
    kernel = make_kernel_with_modules(
        tmp_path, a=("softdep=pre: b-c",), b_c=("depends=a",), d=(), f=()
    )
    write_fake_module(tmp_path / "usr/lib/modules/6.2/e.ko")
    packed = tmp_path / "usr/lib/modules/6.1/kernel/d.ko"
    content = packed.read_bytes()
    packed.with_suffix(".ko.xz").write_bytes(lzma.compress(content))
    packed.unlink()
    scratch = tmp_path / "new/scratch"
    copies = stock.copy_kernel_package_modules(kernel, ["d", "e", "a", "b_c", "d", "f"], scratch)
    assert copies == [scratch / f"{name}.ko" for name in ("d", "b_c", "a", "f")]
    assert copies[0].read_bytes() == content
    assert len(list(scratch.iterdir())) == 4


@pytest.mark.parametrize(
    ("file", "name"),
    [("dm-mod.ko.xz", "dm_mod"), ("a_b-c.ko", "a_b_c"), ("x.ko.zst", "x")],
)
def test_name_of_a_module_is_derived_from_its_file(file: str, name: str) -> None:
    assert stock.get_module_name(Path("/folder-x") / file) == name


def test_entries_of_modinfo_are_found() -> None:
    """A text that contains "depends=" after another word, such as a parameter, is no entry."""
    texts = ("ELF", "depends=a-b,,c", "parm=x:depends=d", "softdep=pre: e f-g post: h")
    module = "\0".join([*texts, "softdep=post: i", ""]).encode()
    assert stock.list_module_dependencies(module) == ["a_b", "c"]
    assert stock.list_soft_dependencies(module) == ["e", "f_g"]
    assert stock.list_all_dependencies(module, {"e", "f_g_generic"}) == [
        *("e", "f_g_generic", "a_b", "c")
    ]


def compress_with_zstd(content: bytes) -> bytes:
    """Compress with the program zstd."""
    return subprocess.run(["zstd", "-cq"], input=content, capture_output=True, check=True).stdout


# For each suffix of a compressed module, the function that compresses.
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    ".xz": lzma.compress,
    ".gz": gzip.compress,
    ".zst": compress_with_zstd,
}


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_damaged_module_file_is_an_error(suffix: str, tmp_path: Path) -> None:
    """A compressed module is decompressed. If its file is empty, truncated, changed or not
    compressed, the error names the file."""
    if suffix == ".zst" and not shutil.which("zstd"):
        pytest.skip("zstd is missing: apt-get install zstd")
    content = bytes(range(256)) * 8
    good = COMPRESSIONS[suffix](content)
    path = tmp_path / f"dm-mod.ko{suffix}"
    path.write_bytes(good)
    assert stock.read_module_file(path) == content
    middle = len(good) // 2
    changed = good[:middle] + bytes([good[middle] ^ 0xFF]) + good[middle + 1 :]
    for damaged in (b"", good[:5], good[:middle], good[:-1], changed, content):
        path.write_bytes(damaged)
        with pytest.raises(UnableError, match=f"^{path} cannot be unpacked: .*"):
            stock.read_module_file(path)


def test_error_names_the_missing_zstd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "a.ko.zst").touch()
    with pytest.raises(UnableError, match=r"a\.ko\.zst is compressed: apt-get install zstd"):
        stock.read_module_file(tmp_path / "a.ko.zst")
