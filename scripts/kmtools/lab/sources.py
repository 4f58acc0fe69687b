# SPDX-License-Identifier: GPL-2.0-only
"""Finds the package archive (mirror) of a Debian or Ubuntu suite.

If this machine runs the distribution of the suite, the machine's apt configuration names the
mirror. On other machines, the environment variable KMARKERS_DEBIAN or KMARKERS_UBUNTU names the
mirror.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from email import message_from_string
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.paths import get_cache_dir

APT_DIR = Path("/etc/apt")
OS_RELEASE = Path("/etc/os-release")
DEBIAN, UBUNTU = "debian", "ubuntu"
# The environment variables with the URIs of Debian's and Ubuntu's archives, for machines with
# another distribution.
DEBIAN_SETTING, UBUNTU_SETTING = "KMARKERS_DEBIAN", "KMARKERS_UBUNTU"
# The keyring that verifies the signature of Debian's archive.
DEBIAN_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
# The package of Debian 13 with Ubuntu's keyring, and the directory to which the package is
# unpacked.
UBUNTU_KEYS_SUITE, UBUNTU_KEYS_PACKAGE = "trixie", "ubuntu-keyring"
UBUNTU_KEYS_TREE = f"{UBUNTU_KEYS_SUITE}-{UBUNTU_KEYS_PACKAGE}"


@dataclass(frozen=True)
class Source:
    """A package source of apt: a URI, a suite, its components, and the keyring that verifies its
    signature."""

    uri: str
    suite: str
    components: tuple[str, ...]
    signed_by: str = ""

    def format_apt_source_line(self, suite: str) -> str:
        """Return a one-line apt source for another suite at the same URI."""
        option = f" [signed-by={self.signed_by}]" if self.signed_by else ""
        return f"deb{option} {self.uri} {suite} main"


@dataclass(frozen=True)
class Mirror:
    """A Debian archive, and the security archive if the apt configuration of this machine has
    one."""

    archive: Source
    security: Source | None

    def list_apt_source_lists(self, suite: str) -> list[list[str]]:
        """Return alternative source lists for a Debian suite, the most complete one first."""
        lines = [self.archive.format_apt_source_line(suite)]
        if suite == "experimental":  # experimental is incomplete by design; dependencies are in sid
            return [[self.archive.format_apt_source_line("sid"), *lines]]
        if self.security is None:
            return [lines]
        return [[*lines, self.security.format_apt_source_line(f"{suite}-security")], lines]


def parse_one_line_sources(text: str) -> list[Source]:
    """Parse the text of a sources.list file, which has one source per line."""
    found = []
    for line in text.splitlines():
        match = re.match(r"deb\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)\s*(.*)", line.split("#", 1)[0])
        if match is None:
            continue
        options = dict(option.split("=", 1) for option in (match[1] or "").split() if "=" in option)
        keyring = options.get("signed-by", "")
        found.append(Source(match[2], match[3], tuple(match[4].split()), keyring))
    return found


def parse_deb822_sources(text: str) -> list[Source]:
    """Parse the text of a .sources file, in the deb822 format."""
    kept = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    found: list[Source] = []
    for stanza in re.split(r"\n\s*\n", kept):
        fields = message_from_string(stanza)
        if "deb" not in fields.get("types", "").split():
            continue
        if fields.get("enabled", "yes").strip().lower() in ("no", "false"):
            continue
        components = tuple(fields.get("components", "").split())
        # Signed-By contains the name of a key file, or the key itself, which is ignored here.
        keyring = fields.get("signed-by", "").strip()
        keyring = keyring if keyring.startswith("/") else ""
        for uri in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                found.append(Source(uri, suite, components, keyring))
    return found


def read_apt_sources(apt_dir: Path = APT_DIR) -> list[Source]:
    """Read all package sources of this machine, in the order in which apt reads them."""
    found: list[Source] = []
    for path in (apt_dir / "sources.list", *sorted((apt_dir / "sources.list.d").glob("*"))):
        if path.is_file() and path.suffix == ".list":
            found += parse_one_line_sources(path.read_text(encoding="utf-8", errors="replace"))
        elif path.is_file() and path.suffix == ".sources":
            found += parse_deb822_sources(path.read_text(encoding="utf-8", errors="replace"))
    return found


def read_os_release_field(name: str) -> str:
    """Return the value of a field of /etc/os-release."""
    match = re.search(rf'^{name}="?([a-z]+)', OS_RELEASE.read_text(encoding="utf-8"), re.M)
    return match[1] if match else ""


def read_machine_codename() -> str:
    """Return the codename of this machine's release; "stable" if /etc/os-release has none."""
    return read_os_release_field("VERSION_CODENAME") or "stable"


def choose_mirror(sources: Iterable[Source], release: str) -> Mirror:
    """Choose the archive and the security archive of the release `release` among `sources`, this
    machine's package sources: the first source that names the release or, if there is none, another
    suite of Debian. Many vendors call the only suite of their archive "stable"."""
    with_main = [source for source in sources if "main" in source.components]
    names = (release, "stable", "testing", "unstable", "sid")
    archives = [s for s in with_main if s.suite in names]
    archives.sort(key=lambda source: source.suite != release)
    security = [s for s in with_main if s.suite in (f"{release}-security", "stable-security")]
    if not archives:
        raise UnableError(
            f"the apt configuration of this machine names no archive for {release} main"
        )
    return Mirror(archives[0], security[0] if security else None)


def read_archive_setting(setting: str, distribution: str) -> str:
    """Return the URI of an archive from the environment variable `setting`; raise UnableError if
    the variable has no URI."""
    uri = os.environ.get(setting, "").rstrip("/")
    if re.fullmatch(r"[a-z]+://\S+", uri):
        return uri
    wrong = f"{setting} is no URI: {uri!r}" if uri else f"{setting} is not set"
    raise UnableError(
        f"apt of this machine has no archive of {distribution}, and {wrong}: set it to the URI of a"
        f" mirror, as in the apt configuration of a machine with {distribution}"
    )


def find_debian_mirror() -> Mirror:
    """Return the Debian mirror of this machine's apt configuration, or the mirror in
    KMARKERS_DEBIAN if the machine runs another distribution."""
    if read_os_release_field("ID") == DEBIAN:
        return choose_mirror(read_apt_sources(), read_machine_codename())
    if not Path(DEBIAN_KEYS).is_file():
        raise UnableError(
            f"the keys of Debian's archive are missing: {DEBIAN_KEYS}; run scripts/setup"
        )
    uri = read_archive_setting(DEBIAN_SETTING, "Debian")
    archive = Source(uri, "stable", ("main",), DEBIAN_KEYS)
    return Mirror(archive, replace(archive, uri=f"{uri}-security"))


@dataclass(frozen=True)
class UbuntuMirror:
    """An archive of Ubuntu, which also contains the updates and security updates of a suite."""

    uri: str
    keys: Path

    def list_apt_source_lists(self, suite: str) -> list[list[str]]:
        """Return a single source list, for a suite such as ubuntu-noble."""
        name = suite.removeprefix(f"{UBUNTU}-")
        head = f"deb [signed-by={self.keys}] {self.uri}"
        return [[f"{head} {name}{end} main universe" for end in ("", "-updates", "-security")]]


def is_ubuntu_suite(suite: str) -> bool:
    """Return True if a suite belongs to Ubuntu, such as ubuntu-noble."""
    return suite.startswith(f"{UBUNTU}-")


def find_mirror(suite: str) -> Mirror | UbuntuMirror:
    """Return the mirror of a suite of Debian or Ubuntu."""
    if not is_ubuntu_suite(suite):
        return find_debian_mirror()
    own = read_os_release_field("ID") == UBUNTU
    if own:
        uri = choose_mirror(read_apt_sources(), read_machine_codename()).archive.uri
    else:
        uri = read_archive_setting(UBUNTU_SETTING, "Ubuntu")
    keys = "usr/share/keyrings/ubuntu-archive-keyring.gpg"
    return UbuntuMirror(uri, get_cache_dir() / "suites" / UBUNTU_KEYS_TREE / keys)
