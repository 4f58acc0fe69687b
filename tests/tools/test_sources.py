# SPDX-License-Identifier: GPL-2.0-only
"""Tests of finding the package archive of a Debian or Ubuntu suite, on any distribution."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from kmtools.base.errors import UnableError
from kmtools.lab import sources


def test_one_line_sources_are_parsed() -> None:
    text = """\
# deb mirror://commented bookworm main
deb [arch=amd64 signed-by=/keys/a.gpg] mirror://a/debian bookworm main contrib # note
deb-src mirror://a/debian bookworm main
deb mirror://b/security bookworm-security main
"""
    assert sources.parse_one_line_sources(text) == [
        sources.Source("mirror://a/debian", "bookworm", ("main", "contrib"), "/keys/a.gpg"),
        sources.Source("mirror://b/security", "bookworm-security", ("main",)),
    ]


def test_deb822_sources_are_parsed() -> None:
    text = """\
Types: deb deb-src
# a comment inside a stanza
URIs: mirror://a/debian
Suites: bookworm
 bookworm-updates
Components: main
Signed-By: /keys/a.gpg

Types: deb
Enabled: no
URIs: mirror://off
Suites: bookworm
Components: main

Types: deb-src
URIs: mirror://src
Suites: bookworm
Components: main
"""
    assert sources.parse_deb822_sources(text) == [
        sources.Source("mirror://a/debian", "bookworm", ("main",), "/keys/a.gpg"),
        sources.Source("mirror://a/debian", "bookworm-updates", ("main",), "/keys/a.gpg"),
    ]


def test_mirror_is_chosen_among_other_sources() -> None:
    found = [
        sources.Source("mirror://vendor", "bookworm", ("tools",)),
        sources.Source("mirror://a", "bookworm", ("main",), "/keys/a.gpg"),
        sources.Source("mirror://s", "bookworm-security", ("main",)),
    ]
    mirror = sources.choose_mirror(found, "bookworm")
    assert mirror.list_source_lists("trixie") == [
        [
            "deb [signed-by=/keys/a.gpg] mirror://a trixie main",
            "deb mirror://s trixie-security main",
        ],
        ["deb [signed-by=/keys/a.gpg] mirror://a trixie main"],
    ]
    assert [line.split()[-2] for line in mirror.list_source_lists("experimental")[0]] == [
        "sid",
        "experimental",
    ]


def test_machine_without_archive_is_an_error() -> None:
    with pytest.raises(UnableError, match="no archive for bookworm"):
        sources.choose_mirror([sources.Source("mirror://v", "bookworm", ("tools",))], "bookworm")


UBUNTU = """ID=ubuntu
VERSION_CODENAME=noble
ID_LIKE=debian
"""
UBUNTU_SOURCES = "deb mirror://u noble main universe\ndeb mirror://u noble-security main\n"


@pytest.fixture
def simulate_distro(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Return a function that simulates a distribution: it replaces os-release and apt's sources."""
    monkeypatch.setattr(sources, "OS_RELEASE", tmp_path / "os-release")
    monkeypatch.setattr(sources, "DEBIAN_KEYS", str(tmp_path / "keys"))
    monkeypatch.setattr(sources.read_apt_sources, "__defaults__", (tmp_path,))

    def write_release_and_sources(release: str, source_list: str) -> None:
        (tmp_path / "os-release").write_text(release)
        (tmp_path / "sources.list").write_text(source_list)

    return write_release_and_sources


def test_suites_of_debian_come_from_debian(
    tmp_path: Path,
    simulate_distro: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KMARKERS_DEBIAN", "mirror://named/debian/")
    simulate_distro(UBUNTU, UBUNTU_SOURCES)
    with pytest.raises(UnableError, match=r"keys of Debian's archive are missing.*scripts/setup"):
        sources.find_mirror("bookworm")
    (tmp_path / "keys").touch()
    assert sources.find_mirror("bookworm").list_source_lists("bookworm")[0] == [
        f"deb [signed-by={tmp_path}/keys] mirror://named/debian bookworm main",
        f"deb [signed-by={tmp_path}/keys] mirror://named/debian-security bookworm-security main",
    ]
    simulate_distro("ID=debian\nVERSION_CODENAME=trixie\n", "deb mirror://d trixie main\n")
    assert sources.find_mirror("bookworm").list_source_lists("bookworm") == [
        ["deb mirror://d bookworm main"]
    ]


@pytest.mark.parametrize("setting", [None, "", "named", "mirror://a b"])
def test_unset_archive_variable_is_an_error(
    setting: str | None,
    tmp_path: Path,
    simulate_distro: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If apt has no archive of a distribution, KMARKERS_DEBIAN or KMARKERS_UBUNTU must be set."""
    (tmp_path / "keys").touch()
    for name, release, suite in (
        ("DEBIAN", UBUNTU, "bookworm"),
        ("UBUNTU", "ID=debian\n", "ubuntu-noble"),
    ):
        monkeypatch.delenv(f"KMARKERS_{name}", raising=False)
        if setting is not None:
            monkeypatch.setenv(f"KMARKERS_{name}", setting)
        simulate_distro(release, UBUNTU_SOURCES)
        wrong = f"is no URI: {setting!r}" if setting else "is not set"
        with pytest.raises(UnableError, match=f"KMARKERS_{name} {wrong}"):
            sources.find_mirror(suite)


def test_suites_of_ubuntu_come_from_ubuntu(
    simulate_distro: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KMARKERS_UBUNTU", "mirror://named/ubuntu")
    for release, listed, uri in (
        (UBUNTU, UBUNTU_SOURCES, "mirror://u"),
        ("ID=debian\n", "deb mirror://d stable main\n", "mirror://named/ubuntu"),
    ):
        simulate_distro(release, listed)
        (lines,) = sources.find_mirror("ubuntu-jammy").list_source_lists("ubuntu-jammy")
        heads = [line.rpartition("] ")[2] for line in lines]
        parts = ("jammy", "jammy-updates", "jammy-security")
        assert heads == [f"{uri} {part} main universe" for part in parts]
        # The source list requires signatures that were made with Ubuntu's keys.
        assert all("[signed-by=/" in line for line in lines)
