# SPDX-License-Identifier: GPL-2.0-only
"""Tests of minimal Debian systems: downloaded packages, and network settings of this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from kmtools.lab.bareroot import Root, copy_network_settings, link_packages


def write_packages(directory: Path, *names: str) -> None:
    """Write files with these names, each with its name as content."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / name).write_text(name)


@pytest.mark.parametrize("same_file_system", [True, False])
def test_packages_are_linked_or_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same_file_system: bool
) -> None:
    def refuse_link(*_: object, **__: object) -> None:
        raise OSError("Invalid cross-device link")

    if not same_file_system:
        monkeypatch.setattr(os, "link", refuse_link)
    write_packages(tmp_path / "a", "new.deb", "old.deb", "lock", "partial.deb.part")
    write_packages(tmp_path / "b", "other.deb")
    (tmp_path / "b" / "old.deb").write_text("as it was")
    link_packages(tmp_path / "a", tmp_path / "b")
    assert {p.name: p.read_text() for p in (tmp_path / "b").iterdir()} == {
        "new.deb": "new.deb",
        "old.deb": "as it was",
        "other.deb": "other.deb",
    }


def test_packages_of_a_removed_root_are_kept(tmp_path: Path) -> None:
    shared = tmp_path / "cache" / "packages"
    roots = [Root(tmp_path / name, shared, None) for name in ("first", "second")]
    for root in roots:
        write_packages(root.private_packages, f"{root.path.name}.deb")
        write_packages(root.path, "file")
    assert roots[0].private_packages != roots[1].private_packages
    for root in roots:
        root.remove_trees()
    assert sorted(p.name for p in shared.iterdir()) == ["first.deb", "second.deb"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache"]


def test_root_without_a_cache_keeps_no_packages(tmp_path: Path) -> None:
    root = Root(tmp_path / "root", None, None)
    write_packages(root.path, "file")
    root.remove_trees()
    assert not list(tmp_path.iterdir())


# The files with network settings: where this machine has them, and where a root gets them.
NETWORK_FILES = {
    "etc/resolv.conf": "etc/resolv.conf",
    "etc/hosts": "etc/hosts",
    "etc/apt/auth.conf": "etc/apt/auth.conf",
    "etc/apt/auth.conf.d/mirror.conf": "etc/apt/auth.conf.d/mirror.conf",
    "etc/pip.conf": "etc/pip.conf",
    "etc/ssl/certs/ca-certificates.crt": "etc/machine-certificates.crt",
}
APT_CONFIG = """#!/bin/sh
[ "$*" = dump ] && cat <<'END'
Acquire::http::Proxy "http://proxy:3128";
Acquire::http::Proxy-Auto-Detect "/usr/bin/detect";
Acquire::Retries "3";
Dir::Etc "etc/apt";
END
"""


def write_files(directory: Path, files: Mapping[str, str]) -> None:
    """Write files with these contents by their paths below `directory`."""
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a root that has only directories of apt and a dangling link to the name servers. This
    machine has a user without settings, and an apt-config with a few options."""
    (tmp_path / "root" / "etc/apt/apt.conf.d").mkdir(parents=True)
    (tmp_path / "root" / "etc/apt/auth.conf.d").mkdir()
    (tmp_path / "root" / "etc/resolv.conf").symlink_to(tmp_path / "outside")
    write_files(tmp_path, {"bin/apt-config": APT_CONFIG})
    (tmp_path / "bin" / "apt-config").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "root"


def test_network_settings_are_copied_into_a_root(bare: Path, tmp_path: Path) -> None:
    """A root gets the network settings of this machine, and no other file. A file replaces a
    symbolic link of the root, whose target is not written."""
    machine = tmp_path / "machine"
    write_files(machine, {name: f"the machine's {name}" for name in NETWORK_FILES})
    write_files(machine, {"etc/passwd": "private", "etc/apt/auth.conf.d/mirror.bak": "private"})
    copy_network_settings(bare, machine)
    found = {str(p.relative_to(bare)): p.read_text() for p in bare.rglob("*") if p.is_file()}
    assert found == {
        **{target: f"the machine's {name}" for name, target in NETWORK_FILES.items()},
        "etc/apt/apt.conf.d/99machine": 'Acquire::http::Proxy "http://proxy:3128";\n'
        'Acquire::Retries "3";\nAPT::Get::Assume-Yes "true";\n',
        "etc/dpkg/dpkg.cfg.d/fast": "force-unsafe-io\n",
    }
    assert not (bare / "etc/resolv.conf").is_symlink() and not (tmp_path / "outside").exists()


def test_machine_without_network_settings_changes_no_file_of_a_root(
    bare: Path, tmp_path: Path
) -> None:
    """What this machine lacks stays as it is in the root."""
    write_files(bare, {"etc/hosts": "of the root", "etc/pip.conf": "of the root"})
    (tmp_path / "machine").mkdir()
    copy_network_settings(bare, tmp_path / "machine")
    assert (bare / "etc/hosts").read_text() == (bare / "etc/pip.conf").read_text() == "of the root"
    assert (bare / "etc/resolv.conf").is_symlink()
    assert sorted(p.name for p in (bare / "etc").iterdir()) == [
        *("apt", "dpkg", "hosts", "pip.conf", "resolv.conf")
    ]


def test_pip_settings_of_the_user_come_before_those_of_the_machine(
    bare: Path, tmp_path: Path
) -> None:
    """Of several files with settings of pip, a root gets one: ~/.pip/pip.conf before
    ~/.config/pip/pip.conf before /etc/pip.conf."""
    for name in ("machine/etc/pip.conf", "home/.config/pip/pip.conf", "home/.pip/pip.conf"):
        write_files(tmp_path, {name: name})
        copy_network_settings(bare, tmp_path / "machine")
        assert (bare / "etc/pip.conf").read_text() == name
