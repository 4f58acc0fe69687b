# SPDX-License-Identifier: GPL-2.0-only
"""Tests of failures while a kernel is fetched: the message, the files that remain, and the next
attempt."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from fakemirror import BROKEN, CHANGED, ENTRY, FULL, NEW, NO_SUITE, NOT_FOUND, OLD, FakeMirror
from kmtools.base.errors import UnableError
from kmtools.lab import cache, catalogue, kernels, unpack
from kmtools.lab.apt import (
    FetchError,
    ListedFile,
    NotOnMirrorError,
    PrivateApt,
    make_fetch_error,
)


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMirror:
    """Make a fake mirror with two releases of a kernel."""
    return FakeMirror(tmp_path, monkeypatch)


def test_newest_kernel_is_fetched_once(mirror: FakeMirror) -> None:
    kernel = kernels.ensure_kernel_is_unpacked(ENTRY)
    assert (kernel.release, kernel.version) == (NEW, "2")
    assert kernel.image.read_text() == f"linux-image-{NEW}"
    assert (unpack.get_distro_suite_dir("s") / "usr/bin/make").is_file()
    asked = mirror.log
    assert kernels.ensure_kernel_is_unpacked(ENTRY) == kernel
    assert mirror.log == asked


def test_newer_kernel_is_fetched_on_update_only(
    mirror: FakeMirror, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(catalogue, "find_kernel_entry", lambda name: ENTRY)
    aside = mirror.dir.parent / "aside"
    aside.mkdir()
    for deb in mirror.dir.glob(f"*{NEW}*"):
        deb.rename(aside / deb.name)
    assert kernels.ensure_kernel_is_unpacked(ENTRY).release == OLD
    objects = [
        mirror.cache / "objects" / name for name in ("k", "k@lint", "k.2", "k2", "5.10", "j.k")
    ]
    for directory in objects:
        directory.mkdir(parents=True)
    for deb in aside.iterdir():
        deb.rename(mirror.dir / deb.name)
    kernels.fetch_kernels(["k"])
    assert (mirror.dir / "log").read_text().count("update") == 1
    kernels.fetch_kernels(["k"], update=True)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"k: {OLD} (1) is unpacked"
    assert said[1].startswith(f"k: {NEW} (2) is unpacked in ")
    assert [directory.exists() for directory in objects] == [False] * 2 + [True] * 4
    mirror.let_apt_succeed()
    kernels.fetch_kernels(["k"], update=True)
    for deb in mirror.dir.glob(f"*{NEW}*"):
        deb.unlink()
    kernels.fetch_kernels(["k"], update=True)
    assert capsys.readouterr().out == f"k: {NEW} (2) is unpacked\n" * 2
    assert mirror.log == ["update", "update"]


@pytest.mark.parametrize("apt_message", [BROKEN, FULL, CHANGED, f"{NOT_FOUND}\n{BROKEN}", ""])
def test_temporary_error_does_not_select_an_older_kernel(
    mirror: FakeMirror, apt_message: str
) -> None:
    mirror.make_apt_fail(f"linux-headers-{NEW}.refused", apt_message)
    with pytest.raises(FetchError) as caught:
        kernels.ensure_kernel_is_unpacked(ENTRY)
    assert apt_message in str(caught.value)
    assert not isinstance(caught.value, NotOnMirrorError)
    assert unpack.find_complete_kernel(ENTRY) is None
    mirror.let_apt_succeed()
    assert kernels.ensure_kernel_is_unpacked(ENTRY).release == NEW
    # After a failed download, the next attempt begins with a new download of the package lists.
    assert mirror.log[0] == "update"


def test_older_kernel_is_fetched_if_the_newest_is_not_on_the_mirror(
    mirror: FakeMirror, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror.make_apt_fail(f"linux-headers-{NEW}.refused", NOT_FOUND)
    assert kernels.ensure_kernel_is_unpacked(ENTRY).release == OLD
    said = capsys.readouterr().err
    assert f"k: there is no linux-image-{NEW} 2: s: apt-get download" in said
    assert NOT_FOUND in said


def test_fetch_fails_if_no_release_is_on_the_mirror(mirror: FakeMirror) -> None:
    for release in (OLD, NEW):
        mirror.make_apt_fail(f"linux-image-{release}.refused", NOT_FOUND)
    with pytest.raises(NotOnMirrorError, match="k: no version could be downloaded"):
        kernels.ensure_kernel_is_unpacked(ENTRY)


def test_error_about_a_missing_image_lists_available_images(mirror: FakeMirror) -> None:
    """The list has the images with headers, or says that there are none."""
    other = replace(ENTRY, image="linux-image-9.9-amd64")
    with pytest.raises(NotOnMirrorError, match=rf"s has no linux-image-9.9.*\n  linux-image-{OLD}"):
        kernels.ensure_kernel_is_unpacked(other)
    for deb in mirror.dir.glob("linux-headers-*"):
        deb.unlink()
    with pytest.raises(NotOnMirrorError, match=r"s has no linux-image-6.1.* are:\n  none$"):
        kernels.ensure_kernel_is_unpacked(ENTRY)


def test_missing_security_suite_is_reported_and_left_out(
    mirror: FakeMirror, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror.make_apt_fail("no-security", NO_SUITE)
    apt = PrivateApt("s")
    apt.update_package_lists()
    assert "-security" not in (apt.dir / "sources.list").read_text()
    assert f"{NO_SUITE}\ns: trying without the security archive" in capsys.readouterr().err


def test_fetch_fails_if_the_security_suite_is_unreachable(mirror: FakeMirror) -> None:
    mirror.make_apt_fail("no-security", BROKEN)
    apt = PrivateApt("s")
    with pytest.raises(FetchError, match="Connection failed"):
        apt.update_package_lists()
    assert not apt.has_package_lists
    assert "-security" in (apt.dir / "sources.list").read_text()


def test_fetch_fails_if_the_mirror_lacks_the_suite(mirror: FakeMirror) -> None:
    mirror.make_apt_fail("stale", NO_SUITE)
    with pytest.raises(NotOnMirrorError, match="does not have a Release file"):
        PrivateApt("s").update_package_lists()


@pytest.mark.parametrize(
    ("apt_message", "absent"),
    [
        (NOT_FOUND, True),
        (f"{NOT_FOUND}\nE: Unable to fetch some archives, maybe run apt-get update?", True),
        (f"{NO_SUITE}\nE: Some index files failed to download. They have been ignored.", True),
        ("E: Failed to fetch file:/m/x  File not found - /m/x (2: No such file)", True),
        ("E: Unable to locate package x", True),
        ("N: Unable to locate package x\nE: No packages found", True),
        ("E: Unable to correct problems, you have held broken packages.", True),
        ("E: Failed to fetch mirror://m/x  503  Service Unavailable [IP: ::1 80]", False),
        ("E: Failed to fetch mirror://m/404x  Could not resolve 'm'", False),
        ("E: Some index files failed to download.", False),
        (FULL, False),
        (CHANGED, False),
        ("", False),
    ],
)
def test_apt_messages_about_absent_packages_are_recognised(apt_message: str, absent: bool) -> None:
    assert isinstance(make_fetch_error("x", apt_message), NotOnMirrorError) is absent


def test_fetch_of_a_kernel_needs_root(mirror: FakeMirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(UnableError, match="fetching a kernel needs root"):
        kernels.ensure_kernel_is_unpacked(ENTRY)
    assert not mirror.cache.exists()


def test_missing_disk_space_is_reported_before_downloads(
    mirror: FakeMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(mirror.dir)
    monkeypatch.setattr(unpack, "NEEDED_BYTES", 3 << 30)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage._replace(free=100 << 20))
    with pytest.raises(UnableError, match=r"has 100 MiB free, a kernel .* needs up to 3072 MiB"):
        kernels.ensure_kernel_is_unpacked(ENTRY)
    assert not (mirror.dir / "log").exists()
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage._replace(free=4 << 30))
    assert kernels.ensure_kernel_is_unpacked(ENTRY).release == NEW


def test_interrupted_download_is_completed(mirror: FakeMirror) -> None:
    mirror.make_apt_fail(f"linux-image-{NEW}.cut", "")
    with pytest.raises(FetchError):
        kernels.ensure_kernel_is_unpacked(ENTRY)
    sizes = {deb.name: deb.stat().st_size for deb in PrivateApt("s").archives.iterdir()}
    assert len(sizes) == 2
    assert sizes[f"linux-image-{NEW}_2_amd64.deb"] == 100
    assert unpack.find_complete_kernel(ENTRY) is None
    mirror.let_apt_succeed()
    assert kernels.ensure_kernel_is_unpacked(ENTRY).release == NEW


def test_file_of_the_right_size_with_another_content_is_downloaded_again(
    mirror: FakeMirror,
) -> None:
    cache.tag_cache_dir()
    apt = PrivateApt("s")
    apt.update_package_lists()
    name = f"linux-image-{NEW}_2_amd64.deb"
    apt.archives.mkdir(parents=True, exist_ok=True)
    other = (mirror.dir / name).read_bytes().replace(f"image-{NEW}".encode(), b"X" * 19)
    (apt.archives / name).write_bytes(other)
    assert (apt.archives / name).stat().st_size == (mirror.dir / name).stat().st_size
    (path,) = apt.download_packages([f"linux-image-{NEW}"])
    assert path.read_bytes() == (mirror.dir / name).read_bytes()
    assert kernels.ensure_kernel_is_unpacked(ENTRY).image.read_text() == f"linux-image-{NEW}"


@pytest.mark.parametrize(
    ("digest", "complete"),
    [
        (f"SHA256:{hashlib.sha256(b'abc').hexdigest()}", True),
        (f"SHA256:{hashlib.sha256(b'abd').hexdigest()}", False),
        ("MD5Sum:0", True),
        ("SHA512:0", True),
        ("", True),
    ],
)
def test_downloads_are_compared_with_sha256_digests_only(
    tmp_path: Path, digest: str, complete: bool
) -> None:
    """A file with a wrong digest is removed; a file with a wrong size is kept."""
    path = tmp_path / "a.deb"
    assert not ListedFile(3, digest).verify_download(path)
    path.write_text("abc")
    assert not ListedFile(4, digest).verify_download(path) and path.exists()
    assert ListedFile(3, digest).verify_download(path) is path.exists() is complete


@pytest.mark.parametrize(
    ("ahead", "renewed"),
    [(-3500, False), (-3700, True), (60, True), (1 - time.time(), True)],
    ids=["young", "old", "future", "1970"],
)
def test_package_lists_are_renewed_after_an_hour_or_if_their_date_is_wrong(
    mirror: FakeMirror, ahead: float, renewed: bool
) -> None:
    """The date of the lists is `ahead` seconds after the present. A clock that was wrong gives a
    date in the future, or in 1970."""
    apt = PrivateApt("s")
    apt.update_package_lists()
    date = time.time() + ahead
    os.utime(apt.dir / "updated", (date, date))
    apt.update_package_lists()
    apt.update_package_lists()
    assert mirror.log == ["update"] * (1 + renewed)


def test_broken_package_is_downloaded_again(mirror: FakeMirror) -> None:
    whole = {deb: deb.read_bytes() for deb in mirror.dir.glob("linux-headers-*")}
    for deb, content in whole.items():
        deb.write_bytes(content[:200] + bytes(len(content) - 200))
    with pytest.raises(UnableError, match="cannot unpack linux-headers-"):
        kernels.ensure_kernel_is_unpacked(ENTRY)
    assert not catalogue.get_kernel_dir("k").exists()
    for deb, content in whole.items():
        deb.write_bytes(content)
    assert kernels.ensure_kernel_is_unpacked(ENTRY).image.read_text() == f"linux-image-{NEW}"


def test_full_disk_keeps_downloaded_packages(mirror: FakeMirror) -> None:
    tar = mirror.dir.parent / "bin/tar"
    tar.write_text(
        '#!/bin/sh\nprintf "tar: x: No space left on device\\ntar: ends\\n" >&2\nexit 2\n'
    )
    tar.chmod(0o755)
    with pytest.raises(UnableError) as caught:
        kernels.ensure_kernel_is_unpacked(ENTRY)
    assert str(caught.value).endswith(
        ": tar: x: No space left on device; free some space and run the command again"
    )
    assert unpack.find_complete_kernel(ENTRY) is None
    asked = mirror.log
    assert "download" in asked
    tar.unlink()
    assert kernels.ensure_kernel_is_unpacked(ENTRY).release == NEW
    assert mirror.log == asked


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_interrupted_unpacking_leaves_no_final_tree(
    mirror: FakeMirror, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def raise_error(*_: object) -> NoReturn:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(unpack, "find_vmlinuz", raise_error)
        with pytest.raises(type(error)):
            kernels.ensure_kernel_is_unpacked(ENTRY)
    assert unpack.find_complete_kernel(ENTRY) is None
    assert list((mirror.cache / "kernels").iterdir()) == []
    assert kernels.ensure_kernel_is_unpacked(ENTRY).release == NEW


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("renamed", ["k", ".new-k"])
def test_old_tree_is_kept_if_the_new_tree_cannot_be_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renamed: str, error: BaseException
) -> None:
    """If one of the two renames that replace a tree fails or is interrupted, the old tree stays."""
    (tmp_path / "k").mkdir()
    (tmp_path / "k/old").touch()
    rename = Path.rename

    def rename_or_raise(path: Path, target: Path) -> Path:
        if path.name == renamed:
            raise error
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", rename_or_raise)
    with pytest.raises(type(error)), unpack.replace_tree(tmp_path / "k") as tree:
        (tree / "new").touch()
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == [
        "k",
        "k/old",
    ]


def test_fetch_removes_trees_of_killed_fetches(mirror: FakeMirror) -> None:
    left = [mirror.cache / "kernels/.new-k-abc", mirror.cache / "suites/.new-s-abc"]
    cache.tag_cache_dir()
    for tree in left:
        (tree / "usr").mkdir(parents=True)
    kernels.ensure_kernel_is_unpacked(ENTRY)
    assert not any(tree.exists() for tree in left)
