# SPDX-License-Identifier: GPL-2.0-only
"""Finds the archive of a suite: the mirror in the apt configuration of this machine if the machine
runs the distribution of that suite, else the one that KMARKERS_DEBIAN or KMARKERS_UBUNTU names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from email import message_from_string
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.paths import cache_dir

APT_DIR = Path("/etc/apt")
OS_RELEASE = Path("/etc/os-release")
DEBIAN, UBUNTU = "debian", "ubuntu"
# On a machine of another distribution the user names an archive in the environment: its URI, as
# apt's configuration has it. These are the keys that must have signed it.
DEBIAN_SETTING, UBUNTU_SETTING = "KMARKERS_DEBIAN", "KMARKERS_UBUNTU"
DEBIAN_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Debian 13 has a package of Ubuntu's keys, which is unpacked beside the compilers.
UBUNTU_KEYS_SUITE, UBUNTU_KEYS_PACKAGE = "trixie", "ubuntu-keyring"
UBUNTU_KEYS_TREE = f"{UBUNTU_KEYS_SUITE}-{UBUNTU_KEYS_PACKAGE}"


@dataclass(frozen=True)
class Source:
    """A source of packages: a URI and a suite."""

    uri: str
    suite: str
    components: tuple[str, ...]
    signed_by: str = ""

    def line(self, suite: str) -> str:
        """Return a one-line apt source for another suite at the same URI."""
        option = f" [signed-by={self.signed_by}]" if self.signed_by else ""
        return f"deb{option} {self.uri} {suite} main"


@dataclass(frozen=True)
class Mirror:
    """The archive and, if the machine has one, its security part."""

    archive: Source
    security: Source | None

    def candidates(self, suite: str) -> list[list[str]]:
        """Return source lists to try for a suite, the most complete one first."""
        lines = [self.archive.line(suite)]
        if suite == "experimental":  # incomplete by design: the rest comes from sid
            return [[self.archive.line("sid"), *lines]]
        if self.security is None:
            return [lines]
        return [[*lines, self.security.line(f"{suite}-security")], lines]


def parse_one_line(text: str) -> list[Source]:
    """Parse a sources.list."""
    found = []
    for line in text.splitlines():
        match = re.match(r"deb\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)\s*(.*)", line.split("#", 1)[0])
        if match is None:
            continue
        options = dict(option.split("=", 1) for option in (match[1] or "").split() if "=" in option)
        keyring = options.get("signed-by", "")
        found.append(Source(match[2], match[3], tuple(match[4].split()), keyring))
    return found


def parse_deb822(text: str) -> list[Source]:
    """Parse a .sources file."""
    kept = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    found: list[Source] = []
    for stanza in re.split(r"\n\s*\n", kept):
        fields = message_from_string(stanza)
        if "deb" not in fields.get("types", "").split():
            continue
        if fields.get("enabled", "yes").strip().lower() in ("no", "false"):
            continue
        components = tuple(fields.get("components", "").split())
        # An inline key block is of no use as a file name.
        keyring = fields.get("signed-by", "").strip()
        keyring = keyring if keyring.startswith("/") else ""
        for uri in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                found.append(Source(uri, suite, components, keyring))
    return found


def read_all(apt_dir: Path = APT_DIR) -> list[Source]:
    """Read every source of the machine in the order of apt."""
    found: list[Source] = []
    for path in (apt_dir / "sources.list", *sorted((apt_dir / "sources.list.d").glob("*"))):
        if path.is_file() and path.suffix == ".list":
            found += parse_one_line(path.read_text())
        elif path.is_file() and path.suffix == ".sources":
            found += parse_deb822(path.read_text())
    return found


def os_field(name: str) -> str:
    """Return what /etc/os-release says about this machine."""
    match = re.search(rf'^{name}="?([a-z]+)', OS_RELEASE.read_text(), re.M)
    return match[1] if match else ""


def codename() -> str:
    """Return the machine's own suite."""
    return os_field("VERSION_CODENAME") or "stable"


def choose(sources: Iterable[Source], own: str) -> Mirror:
    """Return the archive and its security part, chosen from all sources of a machine."""
    with_main = [source for source in sources if "main" in source.components]
    archives = [s for s in with_main if s.suite in (own, "stable", "testing", "unstable", "sid")]
    security = [s for s in with_main if s.suite in (f"{own}-security", "stable-security")]
    if not archives:
        raise UnableError(f"the apt configuration of this machine names no archive for {own} main")
    return Mirror(archives[0], security[0] if security else None)


def named_archive(setting: str, distribution: str) -> str:
    """Return the archive of a distribution that is not the machine's own."""
    uri = os.environ.get(setting, "").rstrip("/")
    if re.fullmatch(r"[a-z]+://\S+", uri):
        return uri
    wrong = f"{setting} is no URI: {uri!r}" if uri else f"{setting} is not set"
    raise UnableError(
        f"this machine's apt knows no archive of {distribution}, and {wrong}: set it to a mirror's"
        f" URI, as apt's configuration on {distribution} has it"
    )


def machine_mirror() -> Mirror:
    """Return the mirror of Debian that this machine uses, or the named one if the machine runs
    another distribution."""
    if os_field("ID") == DEBIAN:
        return choose(read_all(), codename())
    if not Path(DEBIAN_KEYS).is_file():
        raise UnableError(
            f"the keys of Debian's archive are missing: {DEBIAN_KEYS}; run scripts/setup"
        )
    uri = named_archive(DEBIAN_SETTING, "Debian")
    archive = Source(uri, "stable", ("main",), DEBIAN_KEYS)
    return Mirror(archive, replace(archive, uri=f"{uri}-security"))


@dataclass(frozen=True)
class UbuntuMirror:
    """Ubuntu's archive, which has all parts of a suite."""

    uri: str
    keys: Path

    def candidates(self, suite: str) -> list[list[str]]:
        """Return the one source list for a suite such as ubuntu-noble."""
        name = suite.removeprefix(f"{UBUNTU}-")
        head = f"deb [signed-by={self.keys}] {self.uri}"
        return [[f"{head} {name}{end} main universe" for end in ("", "-updates", "-security")]]


def is_ubuntu(suite: str) -> bool:
    """Tell whether a suite is one of Ubuntu's archive."""
    return suite.startswith(f"{UBUNTU}-")


def mirror_of(suite: str) -> Mirror | UbuntuMirror:
    """Return the mirror of a suite."""
    if not is_ubuntu(suite):
        return machine_mirror()
    own = os_field("ID") == UBUNTU
    if own:
        uri = choose(read_all(), codename()).archive.uri
    else:
        uri = named_archive(UBUNTU_SETTING, "Ubuntu")
    keys = "usr/share/keyrings/ubuntu-archive-keyring.gpg"
    return UbuntuMirror(uri, cache_dir() / "suites" / UBUNTU_KEYS_TREE / keys)
