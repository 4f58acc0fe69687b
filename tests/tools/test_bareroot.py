# SPDX-License-Identifier: GPL-2.0-only
"""Tests of minimal Debian systems: their tarballs, their network settings, and the directories
with packages that were downloaded for them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from kmtools.base.errors import UnableError
from kmtools.lab import bareroot
from kmtools.lab.bareroot import Root, copy_network_settings, link_missing_packages

# The output of apt-config; only three of the options concern the network.
APT_CONFIG = """\
APT::Architecture "amd64";
Acquire::http::Proxy "http://proxy:1/";
Acquire::http::Proxy-Auto-Detect "/usr/bin/detect";
Acquire::Retries "5";
Acquire::ForceIPv4 "true";
Acquire::Languages "none";
DPkg::Post-Invoke "true";
"""
NETWORK_OPTIONS = """\
Acquire::http::Proxy "http://proxy:1/";
Acquire::Retries "5";
Acquire::ForceIPv4 "true";
"""
# A script that replaces mmdebstrap and copies the options of apt and the source list. If the source
# list contains the first line of the file `fails`, the script prints the remaining lines of
# `fails`, and fails.
FAKE_MMDEBSTRAP = """
while [ $# -gt 3 ]; do
    case $1 in --aptopt=*) cp "${1#*=}" "$HERE/options" ;; esac
    shift
done
cat "$3" >>"$HERE/lists"
echo "system of $1" >"$2"
read -r word <"$HERE/fails" || exit 0
grep -q "$word" "$3" || exit 0
sed 1d "$HERE/fails" >&2
exit 1
"""


class TwoListsMirror:
    """A mirror with two source lists: with and without the security archive."""

    def list_apt_source_lists(self, suite: str) -> list[list[str]]:
        """Return the two source lists."""
        return [[f"deb main {suite}", f"deb security {suite}"], [f"deb main {suite}"]]


@pytest.fixture
def fake_apt_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a fake apt-config and a fake mmdebstrap at the head of PATH; return their directory."""
    directory = tmp_path / "bin"
    directory.mkdir()
    (tmp_path / "fails").touch()
    scripts = {"apt-config": f"cat <<'EOF'\n{APT_CONFIG}EOF\n", "mmdebstrap": FAKE_MMDEBSTRAP}
    for name, script in scripts.items():
        (directory / name).write_text(f"#!/bin/sh\n{script}")
        (directory / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(directory), prepend=":")
    monkeypatch.setenv("HERE", str(tmp_path))
    monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(bareroot, "find_debian_mirror", TwoListsMirror)
    return directory


def write_fake_packages(directory: Path, *names: str) -> None:
    """Write files with these names, each with its name as content."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / name).write_text(name)


@pytest.mark.parametrize("same_file_system", [True, False])
def test_cached_packages_are_linked_or_copied_without_replacement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same_file_system: bool
) -> None:
    def refuse_link(*_: object, **__: object) -> None:
        raise OSError("Invalid cross-device link")

    if not same_file_system:
        monkeypatch.setattr(os, "link", refuse_link)
    write_fake_packages(tmp_path / "a", "new.deb", "old.deb", "lock", "partial.deb.part")
    write_fake_packages(tmp_path / "b", "other.deb")
    (tmp_path / "b" / "old.deb").write_text("as it was")
    link_missing_packages(tmp_path / "a", tmp_path / "b")
    assert {p.name: p.read_text() for p in (tmp_path / "b").iterdir()} == {
        "new.deb": "new.deb",
        "old.deb": "as it was",
        "other.deb": "other.deb",
    }


def test_downloaded_packages_of_a_removed_root_are_kept(tmp_path: Path) -> None:
    shared = tmp_path / "cache" / "packages"
    roots = [Root(tmp_path / name, shared, None) for name in ("first", "second")]
    for root in roots:
        write_fake_packages(root.private_package_dir, f"{root.path.name}.deb")
        write_fake_packages(root.path, "file")
    assert roots[0].private_package_dir != roots[1].private_package_dir
    for root in roots:
        root.remove_root_and_overlay()
    assert sorted(p.name for p in shared.iterdir()) == ["first.deb", "second.deb"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache"]


def test_root_without_a_cache_keeps_no_packages(tmp_path: Path) -> None:
    root = Root(tmp_path / "root", None, None)
    write_fake_packages(root.path, "file")
    root.remove_root_and_overlay()
    assert not list(tmp_path.iterdir())


# The path of each file with network settings on this machine, and the path in a root.
NETWORK_FILES = {
    "etc/resolv.conf": "etc/resolv.conf",
    "etc/hosts": "etc/hosts",
    "etc/apt/auth.conf": "etc/apt/auth.conf",
    "etc/apt/auth.conf.d/mirror.conf": "etc/apt/auth.conf.d/mirror.conf",
    "etc/pip.conf": "etc/pip.conf",
    "etc/ssl/certs/ca-certificates.crt": "etc/machine-certificates.crt",
}


def write_files(directory: Path, files: Mapping[str, str]) -> None:
    """Write files with these contents by their paths below `directory`."""
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


@pytest.fixture
def minimal_apt_root(
    tmp_path: Path, fake_apt_programs: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Return a minimal root with directories of apt, and with a dangling symbolic link
    etc/resolv.conf. The user of this machine has no settings, and apt-config prints a few
    options."""
    (tmp_path / "root" / "etc/apt/apt.conf.d").mkdir(parents=True)
    (tmp_path / "root" / "etc/apt/auth.conf.d").mkdir()
    (tmp_path / "root" / "etc/resolv.conf").symlink_to(tmp_path / "outside")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "root"


def test_network_settings_are_copied_into_a_root(minimal_apt_root: Path, tmp_path: Path) -> None:
    """A root gets the network settings of this machine, and no other file. If a setting is a
    symbolic link in the root, a file replaces the link; the target of the link is not written."""
    machine = tmp_path / "machine"
    write_files(machine, {name: f"the machine's {name}" for name in NETWORK_FILES})
    write_files(machine, {"etc/passwd": "private", "etc/apt/auth.conf.d/mirror.bak": "private"})
    copy_network_settings(minimal_apt_root, machine)
    found = {
        str(p.relative_to(minimal_apt_root)): p.read_text()
        for p in minimal_apt_root.rglob("*")
        if p.is_file()
    }
    assert found == {
        **{target: f"the machine's {name}" for name, target in NETWORK_FILES.items()},
        "etc/apt/apt.conf.d/99machine": f'{NETWORK_OPTIONS}APT::Get::Assume-Yes "true";\n',
        "etc/dpkg/dpkg.cfg.d/fast": "force-unsafe-io\n",
    }
    assert (
        not (minimal_apt_root / "etc/resolv.conf").is_symlink()
        and not (tmp_path / "outside").exists()
    )


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_passwords_of_apt_keep_their_file_mode(
    minimal_apt_root: Path, tmp_path: Path, mode: int
) -> None:
    """Only the users who can read the original file can read the copy."""
    machine = tmp_path / "machine"
    names = ("etc/apt/auth.conf", "etc/apt/auth.conf.d/mirror.conf")
    write_files(machine, dict.fromkeys(names, "password"))
    write_files(minimal_apt_root, {names[0]: "of the root"})
    for name in names:
        (machine / name).chmod(mode)
    copy_network_settings(minimal_apt_root, machine)
    assert {(minimal_apt_root / name).stat().st_mode & 0o777 for name in names} == {mode}
    assert {(minimal_apt_root / name).read_text() for name in names} == {"password"}


def test_machine_without_network_settings_changes_no_file_of_a_root(
    minimal_apt_root: Path, tmp_path: Path
) -> None:
    """Settings that this machine lacks are not changed in the root."""
    write_files(minimal_apt_root, {"etc/hosts": "of the root", "etc/pip.conf": "of the root"})
    (tmp_path / "machine").mkdir()
    copy_network_settings(minimal_apt_root, tmp_path / "machine")
    assert (
        (minimal_apt_root / "etc/hosts").read_text()
        == (minimal_apt_root / "etc/pip.conf").read_text()
        == "of the root"
    )
    assert (minimal_apt_root / "etc/resolv.conf").is_symlink()
    assert sorted(p.name for p in (minimal_apt_root / "etc").iterdir()) == [
        *("apt", "dpkg", "hosts", "pip.conf", "resolv.conf")
    ]


def test_pip_settings_of_the_user_override_settings_of_the_machine(
    minimal_apt_root: Path, tmp_path: Path
) -> None:
    """Of several files with settings of pip, a root gets one: ~/.pip/pip.conf before
    ~/.config/pip/pip.conf before /etc/pip.conf."""
    for name in ("machine/etc/pip.conf", "home/.config/pip/pip.conf", "home/.pip/pip.conf"):
        write_files(tmp_path, {name: name})
        copy_network_settings(minimal_apt_root, tmp_path / "machine")
        assert (minimal_apt_root / "etc/pip.conf").read_text() == name


@pytest.mark.usefixtures("fake_apt_programs")
@pytest.mark.parametrize(
    ("fails", "lists"),
    [
        ("", "deb main a\ndeb security a\n"),
        ("security\nE: no security\n", "deb main a\ndeb security a\ndeb main a\n"),
    ],
)
def test_root_tarball_is_made_with_the_network_options_of_this_machine(
    tmp_path: Path, fails: str, lists: str
) -> None:
    """mmdebstrap gets the network options of apt-config. If mmdebstrap fails, the next source list
    is tried. Only the tarball remains."""
    (tmp_path / "fails").write_text(fails)
    path = bareroot.ensure_debian_root_tarball("a")
    assert path.read_text() == "system of a\n"
    assert [file.name for file in path.parent.iterdir()] == ["a.tar"]
    options = (tmp_path / "options").read_text()
    assert options == NETWORK_OPTIONS + 'Acquire::Check-Valid-Until "false";\n'
    assert (tmp_path / "lists").read_text() == lists


@pytest.mark.usefixtures("fake_apt_programs")
@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ("I: trying\nE: no such suite\nE: giving up\n", "E: no such suite"),
        ("first\nlast\n", "last"),
    ],
)
def test_error_of_mmdebstrap_is_reported(tmp_path: Path, errors: str, expected: str) -> None:
    (tmp_path / "fails").write_text(f"main\n{errors}")
    with pytest.raises(UnableError) as error:
        bareroot.ensure_debian_root_tarball("a")
    assert str(error.value) == f"a: a minimal Debian system cannot be made: {expected}"
    assert not list((tmp_path / "cache" / "roots").iterdir())


def test_missing_mmdebstrap_is_reported(
    fake_apt_programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fake_apt_programs / "mmdebstrap").unlink()
    (fake_apt_programs / "cat").symlink_to("/bin/cat")
    monkeypatch.setenv("PATH", str(fake_apt_programs))
    with pytest.raises(UnableError, match="apt-get install mmdebstrap"):
        bareroot.ensure_debian_root_tarball("a")


@pytest.fixture
def unpacked_system(
    tmp_path: Path, fake_apt_programs: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Make the tarball of a small system for the suite `a`, and return the directory that was
    packed. The user of this machine has a pip configuration, and seems to be root."""
    system = tmp_path / "system"
    write_fake_packages(tmp_path / "home" / ".pip", "pip.conf")
    for name in ("etc/passwd", "etc/group", "etc/apt/apt.conf.d/00own"):
        write_fake_packages((system / name).parent, Path(name).name)
    subprocess.run(["tar", "-C", system, "-cf", tmp_path / "a.tar", "."], check=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("os.chown", lambda *_: None)
    monkeypatch.setattr(bareroot, "copy_secret_file", lambda *_: None)
    monkeypatch.setattr(
        bareroot, "ensure_debian_root_tarball", lambda suite: tmp_path / f"{suite}.tar"
    )
    return system


@pytest.mark.usefixtures("unpacked_system")
def test_unpacked_root_reuses_packages_of_earlier_roots(tmp_path: Path) -> None:
    """A root with a cache starts with the packages that earlier roots of the suite downloaded, even
    if an earlier root was not removed, and with the directory into which apt downloads. No other
    file of an earlier root remains."""
    cache, path = tmp_path / "cache", tmp_path / "root"
    shared = cache / "roots" / "a.packages"
    write_fake_packages(shared, "first.deb")
    write_fake_packages(path, "file")
    write_fake_packages(path.with_name("root.packages"), "second.deb", "lock")
    root = bareroot.unpack_debian_root("a", path, True)
    assert root == Root(path, shared, cache)
    assert sorted(p.name for p in shared.iterdir()) == ["first.deb", "second.deb"]
    names = sorted(p.name for p in root.private_package_dir.iterdir())
    assert names == ["first.deb", "partial", "second.deb"]
    assert (root.private_package_dir / "partial").is_dir()
    assert sorted(p.name for p in path.iterdir()) == ["dev", "etc", "home", "proc", "srv", "sys"]


@pytest.mark.usefixtures("unpacked_system")
def test_unpacked_root_has_the_network_settings_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: dict[str, str] = {}
    owners: list[tuple[str, int, int]] = []
    home, path = tmp_path / "home", tmp_path / "root"
    monkeypatch.setattr("os.chown", lambda to, *ids: owners.append((str(to), *ids)))
    monkeypatch.setattr("shutil.copyfile", lambda a, b: copied.update({str(b): str(a)}))
    assert bareroot.unpack_debian_root("a", path, False) == Root(path, None, None)
    settings = (path / "etc/apt/apt.conf.d/99machine").read_text()
    assert settings == NETWORK_OPTIONS + 'APT::Get::Assume-Yes "true";\n'
    assert (path / "etc/dpkg/dpkg.cfg.d/fast").read_text() == "force-unsafe-io\n"
    assert copied[f"{path}/etc/pip.conf"] == f"{home}/.pip/pip.conf"
    assert copied[f"{path}/etc/hosts"] == "/etc/hosts"
    assert (path / "etc/passwd").read_text() == "passwduser:x:1000:1000::/home/user:/bin/sh\n"
    assert (path / "etc/group").read_text() == "groupuser:x:1000:\n"
    assert owners == [(f"{path}/home/user", 1000, 1000)]
