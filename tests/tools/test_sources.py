# SPDX-License-Identifier: GPL-2.0-only
"""Tests of finding the package archive of a Debian or Ubuntu suite, on any distribution."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from kmtools.base.errors import UnableError
from kmtools.base.paths import get_cache_dir
from kmtools.lab import sources


def test_one_line_apt_sources_are_parsed() -> None:
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


def test_deb822_apt_sources_are_parsed() -> None:
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


def test_unusual_deb822_fields_are_parsed() -> None:
    """Names of fields have any case. Each URI is combined with each suite. A key in the file itself
    is no name of a keyring. A source without Enabled is enabled."""
    text = """\
types: deb
uris: mirror://a mirror://b
suites: one two
components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .

\t
Types: deb
Enabled: False
URIs: mirror://off
Suites: one

Types: deb
Enabled: yes
URIs: mirror://c
Suites: one
"""
    parts = ("main", "contrib")
    assert sources.parse_deb822_sources(text) == [
        sources.Source("mirror://a", "one", parts),
        sources.Source("mirror://a", "two", parts),
        sources.Source("mirror://b", "one", parts),
        sources.Source("mirror://b", "two", parts),
        sources.Source("mirror://c", "one", ()),
    ]


def test_files_of_sources_are_read_in_the_order_of_apt(tmp_path: Path) -> None:
    """sources.list is read first, then the files in sources.list.d by name. Only .list and
    .sources files are read."""
    assert sources.read_apt_sources(tmp_path) == []
    folder = tmp_path / "sources.list.d"
    (folder / "directory.list").mkdir(parents=True)
    (folder / "directory.sources").mkdir()
    for name in ("c.list", "a.list", "d.list.save", "e.conf"):
        (folder / name).write_text(f"deb mirror://{name} one main\n")
    (folder / "b.sources").write_text("Types: deb\nURIs: mirror://b.sources\nSuites: one\n")
    (tmp_path / "sources.list").write_text("deb mirror://first one main\n")
    assert [one.uri for one in sources.read_apt_sources(tmp_path)] == [
        f"mirror://{name}" for name in ("first", "a.list", "b.sources", "c.list")
    ]


@pytest.mark.parametrize(
    ("listed", "archive", "security"),
    [
        (["one"], 0, None),
        # The archive of a vendor, in brave.list, precedes Debian's, in debian.sources.
        (["other", "stable", "one"], 2, None),
        (["stable", "testing"], 0, None),
        (["testing", "one-security"], 0, 1),
        (["unstable", "stable-security", "one-security"], 0, 1),
        (["other-security", "sid"], 1, None),
        (["one-updates", "other"], None, None),
    ],
)
def test_first_apt_source_with_the_release_is_chosen(
    listed: list[str], archive: int | None, security: int | None
) -> None:
    found = [sources.Source(f"mirror://{suite}", suite, ("x", "main")) for suite in listed]
    found.append(sources.Source("mirror://x", "one", ("contrib",)))
    if archive is None:
        with pytest.raises(UnableError, match="names no archive for one main"):
            sources.choose_mirror(found, "one")
        return
    mirror = sources.choose_mirror(found, "one")
    assert mirror.archive == found[archive]
    assert mirror.security == (None if security is None else found[security])


@pytest.mark.parametrize(
    ("text", "codename"),
    [
        ('VERSION_CODENAME="trixie"\n', "trixie"),
        ("NAME=x\nVERSION_CODENAME=sid\n", "sid"),
        ("UBUNTU_VERSION_CODENAME=noble\n", "stable"),
        ("", "stable"),
    ],
)
def test_codename_of_this_machine_is_read(
    text: str, codename: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "OS_RELEASE", tmp_path / "os-release")
    (tmp_path / "os-release").write_text(text)
    assert sources.read_machine_codename() == codename


def test_names_of_ubuntu_suites_begin_with_ubuntu() -> None:
    found = [
        sources.is_ubuntu_suite(name) for name in ("ubuntu-noble", "ubuntu", "noble", "bookworm")
    ]
    assert found == [True, False, False, False]


def test_mirror_is_chosen_among_vendor_sources() -> None:
    found = [
        sources.Source("mirror://vendor", "bookworm", ("tools",)),
        sources.Source("mirror://a", "bookworm", ("main",), "/keys/a.gpg"),
        sources.Source("mirror://s", "bookworm-security", ("main",)),
    ]
    mirror = sources.choose_mirror(found, "bookworm")
    assert mirror.list_apt_source_lists("trixie") == [
        [
            "deb [signed-by=/keys/a.gpg] mirror://a trixie main",
            "deb mirror://s trixie-security main",
        ],
        ["deb [signed-by=/keys/a.gpg] mirror://a trixie main"],
    ]
    assert [line.split()[-2] for line in mirror.list_apt_source_lists("experimental")[0]] == [
        "sid",
        "experimental",
    ]


def test_missing_archive_in_apt_sources_is_an_error() -> None:
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


def test_debian_suites_use_archives_of_debian(
    tmp_path: Path,
    simulate_distro: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KMARKERS_DEBIAN", "mirror://named/debian/")
    simulate_distro(UBUNTU, UBUNTU_SOURCES)
    with pytest.raises(UnableError, match=r"keys of Debian's archive are missing.*scripts/setup"):
        sources.find_mirror("bookworm")
    (tmp_path / "keys").touch()
    assert sources.find_mirror("bookworm").list_apt_source_lists("bookworm")[0] == [
        f"deb [signed-by={tmp_path}/keys] mirror://named/debian bookworm main",
        f"deb [signed-by={tmp_path}/keys] mirror://named/debian-security bookworm-security main",
    ]
    simulate_distro("ID=debian\nVERSION_CODENAME=trixie\n", "deb mirror://d trixie main\n")
    assert sources.find_mirror("bookworm").list_apt_source_lists("bookworm") == [
        ["deb mirror://d bookworm main"]
    ]


@pytest.mark.parametrize("setting", [None, "", "named", "mirror://a b"])
def test_unset_or_invalid_archive_variable_is_an_error(
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


def test_ubuntu_suites_use_archives_of_ubuntu(
    simulate_distro: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KMARKERS_UBUNTU", "mirror://named/ubuntu")
    for release, listed, uri in (
        (UBUNTU, UBUNTU_SOURCES, "mirror://u"),
        ("ID=debian\n", "deb mirror://d stable main\n", "mirror://named/ubuntu"),
    ):
        simulate_distro(release, listed)
        (lines,) = sources.find_mirror("ubuntu-jammy").list_apt_source_lists("ubuntu-jammy")
        heads = [line.rpartition("] ")[2] for line in lines]
        parts = ("jammy", "jammy-updates", "jammy-security")
        assert heads == [f"{uri} {part} main universe" for part in parts]
        # The source list requires signatures that were made with Ubuntu's keys.
        keys = "suites/trixie-ubuntu-keyring/usr/share/keyrings/ubuntu-archive-keyring.gpg"
        assert all(line.startswith(f"deb [signed-by={get_cache_dir() / keys}] ") for line in lines)
